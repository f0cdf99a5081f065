"""A study that survives: kept in SQLite or PostgreSQL, stopped, killed, resumed, shared by many."""

from bopp.study.catalogue import open_study
from bopp.study.study import Study

__all__ = ["Study", "open_study"]
