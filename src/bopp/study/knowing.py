"""Knowing: the [[knowledge]] of a study file as sources; what it refers to is read when a study wants it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bopp.errors import BoppError, ConfigError
from bopp.legible import brief
from bopp.problem import Problem
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits, Source
from bopp.result import Result
from bopp.rows import read_pairs
from bopp.study import catalogue, exchange
from bopp.study.address import censored, is_url, placed, shown, understood
from bopp.study.function import python_objective
from bopp.study.observing import text_of
from bopp.study.sources import FILE, OPTION, Taught
from bopp.study.tables import (
    CheapTable,
    EarlierTable,
    GuessesTable,
    GuessTable,
    ImagesTable,
    knowledge,
    read_table,
)
from bopp.study.tables import shown as shown_value

SQLITE = b"SQLite format 3\0"  # how a database begins
GUESS = "{ at = { rate = 0.01 }, value = 0.2, give_or_take = 0.05 }"
NOBODY = (("minimize", ()),)  # stands for studies that are not read yet


@dataclass(frozen=True)
class Place:
    """Where knowledge is written: in a study file, and for which study, by its store and name."""

    path: Path
    folder: Path
    study: tuple[str, str]


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
        return _earlier(where, EarlierTable(store=text), Place(place.path, Path.cwd(), place.study), OPTION)
    text = os.path.relpath(text, place.folder)  # so that it means the same from any folder
    return _earlier(where, EarlierTable(store=text), place, OPTION)


def _known(where: str, row: Any, problem: Problem, place: Place) -> Taught:
    guesses = ("values",) if isinstance(row, dict) and row.get("kind") == "guesses" else ()
    table = knowledge(where, row, *guesses)
    where = f"{where} {row['kind']}:"
    settings = {name: value for name, value in asdict(table).items() if value is not None}
    try:
        if isinstance(table, CheapTable):
            return _cheap(where, table, place)
        if isinstance(table, EarlierTable):
            return _earlier(where, table, place, FILE)
        if isinstance(table, GuessesTable):
            source: Source = Guesses(_guesses(where, row.get("values", [])), **settings)
        else:
            source = (Images if isinstance(table, ImagesTable) else Limits)(**settings)
        taught = Taught(source, FILE)
        taught.bound(problem)
        return taught
    except ConfigError:
        raise
    except BoppError as error:
        raise ConfigError(_of(where, error)) from None


def _guesses(where: str, rows: Any) -> list[tuple[Any, float, float]]:
    if not isinstance(rows, list):
        raise ConfigError(f"{where} values: wanted a list of tables such as {GUESS}, got {shown_value(rows)}")
    tables = [_guess(f"{where} values {number}:", row) for number, row in enumerate(rows, 1)]
    return [(table.at, table.value, table.give_or_take) for table in tables]


def _guess(where: str, row: Any) -> GuessTable:
    if not isinstance(row, dict):
        raise ConfigError(f"{where} wanted a table such as {GUESS}, got {shown_value(row)}")
    return read_table(where, GuessTable, row)


def _cheap(where: str, table: CheapTable, place: Place) -> Taught:
    if (table.csv is None) == (table.python is None):
        got = "neither" if table.csv is None else "both"
        raise ConfigError(f"{where} wanted one of csv and python, got {got}")
    for name, way in (("points", "python"), ("column", "csv")):
        if getattr(table, name) is not None and getattr(table, way) is None:
            raise ConfigError(f"{where} {name}: wanted it with {way} only")
    settings: dict[str, Any] = {"direction": table.direction, "points": table.points, "trust": table.trust}
    outline = Cheap((), **{name: value for name, value in settings.items() if value is not None})
    read: Callable[[Problem], Source]
    if table.csv is not None:
        origin = table.csv if table.column is None else f"{table.csv}, column {table.column}"
        read = partial(_from_csv, place.folder / table.csv, table.column, outline)
    else:
        origin = str(table.python)
        read = partial(_from_function, origin, place.folder, outline)
    return Taught(outline, FILE, origin, partial(_reading, f"{place.path}: {where}", read))


def _earlier(where: str, table: EarlierTable, place: Place, by: str) -> Taught:
    outline = Earlier(NOBODY) if table.trust is None else Earlier(NOBODY, table.trust)
    try:
        origin = shown(table.store) if is_url(table.store) else table.store
    except BoppError as error:
        raise ConfigError(f"{where} store: {error}") from None
    if table.study is not None:
        origin = f"{origin}, study {table.study}"
    read = partial(_from_studies, table, place, outline)
    told = where if by == OPTION else f"{place.path}: {where}"
    return Taught(outline, by, origin, partial(_reading, told, read))


def _reading(where: str, read: Callable[[Problem], Source], problem: Problem) -> Source:
    """What is read, if it says something about the problem; an error says where it was asked for."""
    try:
        return Taught(read(problem)).bound(problem)
    except BoppError as error:
        raise ConfigError(_of(where, error)) from None


def _from_csv(file: Path, column: str | None, outline: Cheap, problem: Problem) -> Source:
    text = text_of(file)
    try:
        pairs = read_pairs(problem, text, column)
    except BoppError as error:
        raise ConfigError(f"{file}: {error}") from None
    return Cheap(pairs, outline.direction, outline.points, outline.trust)


def _from_function(name: str, folder: Path, outline: Cheap, problem: Problem) -> Source:
    function = python_objective(name, folder)
    return Cheap(function, outline.direction, outline.points, outline.trust)


def _from_studies(table: EarlierTable, place: Place, outline: Earlier, problem: Problem) -> Source:
    results = _results(table, place)
    told = [one for one in results if any(trial._value is not None for trial in one.trials)]
    studies = [one for one in told if len(one.problem.objectives) == 1]
    if not studies:
        raise ConfigError("wanted a study of one objective with values, got none")
    return Earlier(studies, outline.trust)


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
    return f"{where} {rest if kind in ('Images', 'Guesses', 'Cheap', 'Earlier', 'Limits') else error}"
