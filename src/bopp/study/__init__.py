"""A study that survives: kept in SQLite or PostgreSQL, stopped, killed, resumed, shared by many."""

from bopp.study.catalogue import delete_study, open_study
from bopp.study.study import Study

__all__ = ["Study", "delete_study", "open_study"]
