"""Knowing: the [[knowledge]] of a study file as sources; what it refers to is read when a study wants it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bopp.errors import BoppError, ConfigError
from bopp.informed import bind
from bopp.legible import brief
from bopp.problem import Problem
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits, Source
from bopp.result import Result
from bopp.rows import read_pairs, read_text
from bopp.study import catalogue, exchange
from bopp.study.address import censored, is_url, placed, shown, understood
from bopp.study.function import python_objective
from bopp.study.sources import FILE, OPTION, Taught
from bopp.study.tables import Number, Reference, Text, Way, Whole, one_of, read_table
from bopp.study.tables import shown as shown_value

SQLITE = b"SQLite format 3\0"  # how a database begins
NOBODY = (("minimize", ()),)  # stands for studies that are not read yet


@dataclass(frozen=True)
class Place:
    """Where knowledge is written: in a study file, and for which study, by its store and name."""

    path: Path
    folder: Path
    study: tuple[str, str]


@dataclass(frozen=True)
class CheapTable:
    """Where the values of a stand-in come from."""

    csv: Text | None = None
    column: Text | None = None
    python: Reference | None = None
    points: Whole | None = None
    direction: Way | None = None
    trust: Number | None = None

    def source(self, where: str, place: Place) -> Taught:
        if (self.csv is None) == (self.python is None):
            got = "neither" if self.csv is None else "both"
            raise ConfigError(f"{where} wanted one of csv and python, got {got}")
        for name, way in (("points", "python"), ("column", "csv")):
            if getattr(self, name) is not None and getattr(self, way) is None:
                raise ConfigError(f"{where} {name}: wanted it with {way} only")
        given = {name: getattr(self, name) for name in ("direction", "points", "trust")}
        outline = Cheap((), **{name: value for name, value in given.items() if value is not None})
        origin = self.python or (self.csv if self.column is None else f"{self.csv}, column {self.column}")

        def read(problem: Problem) -> Source:
            return replace(outline, values=self._values(place.folder, problem))

        return Taught(outline, FILE, origin, partial(_read, f"{place.path}: {where}", read))

    def _values(self, folder: Path, problem: Problem) -> Any:
        if self.csv is None:
            return python_objective(str(self.python), folder)
        file = folder / self.csv
        text = read_text(file)
        try:
            return read_pairs(problem, text, self.column)
        except BoppError as error:
            raise ConfigError(f"{file}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class EarlierTable:
    """Which earlier studies, of a store or an export."""

    store: Text
    study: Text | None = None
    trust: Number | None = None

    def source(self, where: str, place: Place, by: str = FILE) -> Taught:
        outline = Earlier(NOBODY) if self.trust is None else Earlier(NOBODY, self.trust)
        try:
            origin = shown(self.store) if is_url(self.store) else self.store
        except BoppError as error:
            raise ConfigError(f"{where} store: {error}") from None
        if self.study is not None:
            origin = f"{origin}, study {self.study}"

        def read(problem: Problem) -> Source:
            results = _results(self, place)
            told = [one for one in results if any(trial._value is not None for trial in one.trials)]
            studies = [one for one in told if len(one.problem.objectives) == 1]
            if not studies:
                raise ConfigError("wanted a study of one objective with values, got none")
            return replace(outline, studies=studies)

        told = where if by == OPTION else f"{place.path}: {where}"
        return Taught(outline, by, origin, partial(_read, told, read))


KNOWLEDGE: dict[str, Any] = {
    "images": Images,
    "guesses": Guesses,
    "cheap": CheapTable,
    "earlier": EarlierTable,
    "limits": Limits,
}


def known(rows: Any, problem: Problem, place: Place) -> tuple[Taught, ...]:
    """What the tables of a file say, as far as that can be told without reading what they refer to."""
    if not isinstance(rows, list):
        raise ConfigError(
            f"{FILE}: wanted each table under {FILE}, in double brackets, got {shown_value(rows)}"
        )
    return tuple(_known(f"{FILE} {number}", row, problem, place) for number, row in enumerate(rows, 1))


def earlier(text: str, place: Place) -> Taught:
    """The earlier studies that somebody named on the command line, from the folder where that was."""
    where = f"{OPTION} {brief(text)}:"
    if is_url(text):
        return EarlierTable(store=text).source(where, replace(place, folder=Path.cwd()), OPTION)
    text = os.path.relpath(text, place.folder)  # so that it means the same from any folder
    return EarlierTable(store=text).source(where, place, OPTION)


def _known(where: str, row: Any, problem: Problem, place: Place) -> Taught:
    if not isinstance(row, dict):
        raise ConfigError(f"{where}: wanted a table, got {shown_value(row)}")
    kind = one_of(KNOWLEDGE, f"{where}: kind", row.get("kind"))
    where = f"{where} {kind}:"
    try:
        said = read_table(where, KNOWLEDGE[kind], row, "kind")
        return Taught(bind(said, problem), FILE) if isinstance(said, Source) else said.source(where, place)
    except ConfigError:
        raise
    except BoppError as error:
        raise ConfigError(_of(where, error)) from None


def _read(where: str, read: Callable[[Problem], Source], problem: Problem) -> Source:
    """What is read, if it says something about the problem; an error says where it was asked for."""
    try:
        return bind(read(problem), problem)
    except BoppError as error:
        raise ConfigError(_of(where, error)) from None


def _results(table: EarlierTable, place: Place) -> list[Result]:
    """The results in a store or an export, but for those of the study itself."""
    url = table.store
    if is_url(url):
        url = placed(sa.make_url(url), place.folder)
        path = understood(url)[1]
        if isinstance(path, Path) and not os.path.exists(path):
            raise ConfigError(f"there is no file {censored(str(path))!r}")
    else:
        file = place.folder / url
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read {file}: {error.strerror}") from None
        if content.startswith(exchange.EXPORT):
            return [exchange.result_of(content)]
        if not content.startswith(SQLITE):
            raise ConfigError(f"wanted a database or what bopp export wrote, got {file}: {content[:20]!r}")
        url = f"sqlite:///{file}"
    if table.study is not None:
        with catalogue.open_study(url, table.study, read_only=True) as study:
            return [study.result]
    named = _all(url)
    if understood(url) == understood(place.study[0]):
        named = [(name, result) for name, result in named if name != place.study[1]]
    return [result for _, result in named]


def _all(url: str) -> list[tuple[str, Result]]:
    found = []
    for name, result in catalogue.overview(url, lambda result: result):
        if isinstance(result, BoppError):
            raise ConfigError(f"{name!r} cannot be read: {result}")
        found.append((name, result))
    return found


def _of(where: str, error: BoppError) -> str:
    """What is wrong with a source, whose kind `where` has named already."""
    kind, _, rest = str(error).partition(": ")
    return f"{where} {rest if kind.lower() in KNOWLEDGE else error}"
