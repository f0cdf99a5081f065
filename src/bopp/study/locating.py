"""Locating: which study somebody means, by a study file or by the URL of a store.

What is needed to open one is imported when that happens, so that a command line answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bopp.errors import ConfigError, StudyError

if TYPE_CHECKING:
    from bopp.study.config import Config
    from bopp.study.sources import Taught
    from bopp.study.study import Study


def is_url(source: str) -> bool:
    """Whether a store is meant and not a study file."""
    from bopp.study.address import is_url

    return is_url(source)


def existing(source: str, name: str | None, read_only: bool = True) -> Study:
    """A study that exists already; by default nothing in its store is changed.

    Functions of constraints, which a store cannot hold, come from the study file, if they can be had.
    """
    from bopp.study.catalogue import open_study
    from bopp.study.config import load

    url, name = located(source, name)
    study = open_study(url, name, read_only=read_only)  # first: it may be created while this looks for it
    if not is_url(source) and (config := load(Path(source))).refers:
        with suppress(ConfigError, StudyError):
            whole = open_study(url, name, config.declared[0], read_only=read_only)
            study.close()
            return whole
    return study


def located(source: str, name: str | None) -> tuple[str, str]:
    """The URL of the store that a study is in, which may have a password, and the name of the study."""
    from bopp.study.config import load

    if is_url(source):
        return source, name or only(source)
    config = load(Path(source))
    return config.store, name or config.name


def held_open(source: str, name: str | None) -> Study:
    """A study whose trials are held until they are told; one of a study file is created if need be."""
    from bopp.study.catalogue import open_study
    from bopp.study.config import load

    if is_url(source):
        return open_study(source, name or only(source), lease=None)
    return opened(load(Path(source)), name, lease=None)


def opened(config: Config, name: str | None, lease: float | None, earlier: Sequence[Taught] = ()) -> Study:
    """The study of a study file, under its name or another."""
    from bopp.study.opening import open_config

    return open_config(config, config.name if name is None else name, lease, earlier)


def only(url: str) -> str:
    """The name of the only study of a store."""
    from bopp.study.address import shown
    from bopp.study.catalogue import names

    there = names(url)
    if len(there) != 1:
        raise StudyError(f"{shown(url)} has {len(there)} studies, name one: {', '.join(map(repr, there))}")
    return there[0]
