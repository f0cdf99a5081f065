"""Opening: the study that somebody means, by a study file or by the URL of its store.

What is needed to open one is imported when that happens, so that a command line answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bopp.errors import ConfigError, StudyError

if TYPE_CHECKING:
    from bopp.study.config import Config
    from bopp.study.sources import Taught
    from bopp.study.study import Study


def existing(source: str, name: str | None, read_only: bool = True) -> Study:
    """A study that exists already; by default nothing in its store is changed.

    Functions of constraints, which a store cannot hold, come from the study file, if they can be had.
    """
    from bopp.study.catalogue import open_study

    url, name, config = located(source, name)
    study = open_study(url, name, read_only=read_only)  # first: with a space, it would be created
    if config is not None and config.refers:
        with suppress(ConfigError, StudyError):
            whole = open_study(url, name, config.declared[0], read_only=read_only)
            study.close()
            return whole
    return study


def held_open(source: str, name: str | None) -> Study:
    """A study whose trials are held until they are told; one of a study file is created if need be."""
    from bopp.study.catalogue import open_study

    url, name, config = located(source, name)
    return open_study(url, name, lease=None) if config is None else open_config(config, name, lease=None)


def open_config(config: Config, name: str, lease: float | None, earlier: Sequence[Taught] = ()) -> Study:
    """Open the study of a file, or create it with what the file and `earlier` know.

    Of one that is there, only what is written in the file is compared, and not the data behind it, which may
    have grown since.
    """
    from bopp.study.catalogue import open_wanted
    from bopp.study.definition import Wanted

    knowledge = (*config.knowledge, *earlier)
    wanted = Wanted.checked(*config.declared, config.seed, config.recipe, knowledge)
    study = open_wanted(config.store, name, replace(wanted, compares=False), lease)
    try:
        _check_knowledge(study, config, earlier)
        return study
    except BaseException:
        study.close()
        raise


def located(source: str, name: str | None) -> tuple[str, str, Config | None]:
    """The URL of a study's store, which may have a password, the study's name, and its file if it has one."""
    from bopp.study.address import is_url
    from bopp.study.config import load

    if is_url(source):
        return source, name or _only(source), None
    config = load(Path(source))
    return config.store, name or config.name, config


def _only(url: str) -> str:
    """The name of the only study of a store."""
    from bopp.study.address import shown
    from bopp.study.catalogue import names

    there = names(url)
    if len(there) != 1:
        raise StudyError(f"{shown(url)} has {len(there)} studies, name one: {', '.join(map(repr, there))}")
    return there[0]


def _check_knowledge(study: Study, config: Config, earlier: Sequence[Taught]) -> None:
    """Refuse a study that does not know what its file says, or what somebody named besides."""
    from bopp.study.sources import FILE, OPTION, are_in, described

    rows, problem = study.definition.knowledge, study.problem
    kept = [row for row in rows if row.get("by") == FILE]
    if not are_in(config.knowledge, kept, problem):
        raise ConfigError(
            f"{config.path}: {FILE}: {study.name!r} knows {described(kept)}; the file says "
            f"{described(config.knowledge)}; to go on with what the file says: bopp learn"
        )
    for one in earlier:
        if not any(one.is_in(row, problem) for row in rows if row.get("by") == OPTION):
            raise ConfigError(
                f"{OPTION} {one.origin}: {study.name!r} does not know it; to go on with it: bopp learn, with "
                "the same option"
            )
