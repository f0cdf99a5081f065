"""Opening: the study of a study file, which must know what the file says."""

from __future__ import annotations

from collections.abc import Sequence

from bopp.errors import ConfigError
from bopp.study import sources
from bopp.study.catalogue import open_wanted
from bopp.study.config import Config
from bopp.study.definition import Definition, Wanted
from bopp.study.sources import FILE, OPTION, Taught
from bopp.study.study import Study


def open_config(config: Config, name: str, lease: float | None, earlier: Sequence[Taught] = ()) -> Study:
    """Open the study of a file, or create it with what the file and `earlier` know.

    Of one that is there, only what is written in the file is compared, and not the data behind it, which may
    have grown since.
    """
    knowledge = (*config.knowledge, *earlier)
    settings = (*config.declared, config.seed, config.recipe)
    study = open_wanted(config.store, name, Wanted.checked(*settings, knowledge, compares=False), lease)
    try:
        _compare(config, study.definition, earlier)
        return study
    except BaseException:
        study.close()
        raise


def _compare(config: Config, study: Definition, earlier: Sequence[Taught]) -> None:
    kept = [row for row in study.knowledge if sources.giver_of(row) == FILE]
    if not sources.are_in(config.knowledge, kept, study.problem):
        had, got = sources.described(kept), sources.described(config.knowledge)
        raise ConfigError(
            f"{config.path}: {FILE}: {study.name!r} knows {had}; the file says {got}; "
            "to go on with what the file says: bopp learn"
        )
    kept = [row for row in study.knowledge if sources.giver_of(row) == OPTION]
    for one in earlier:
        if not any(one.is_in(row, study.problem) for row in kept):
            raise ConfigError(
                f"{OPTION} {one.origin}: {study.name!r} does not know it; to go on with it: bopp learn, with "
                "the same option"
            )
