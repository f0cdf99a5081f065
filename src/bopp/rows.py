"""Rows: trials as rows of a table, for spreadsheets and data frames; and measurements of a table as trials.

A column has the name of a field of a trial, of a declared value, of a parameter or of a measurement. A name
that stands for two of these gets its group in front: "params.state" beside the state of the trial.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

from bopp.errors import BoppError, ConfigError, NoResultError, SpaceError, TellError
from bopp.legible import cell, from_cell
from bopp.number import Float, Int
from bopp.option import typed
from bopp.parameter import Parameter
from bopp.problem import Problem
from bopp.scales import real, whole
from bopp.space import Params
from bopp.trial import DICTS, FIELDS, NO_REASON, Answer, State, Trial, number_of

FIRST = ("number", "state")
LAST = tuple(name for name in FIELDS if name not in {*FIRST, *DICTS, "params", "traceback", "superseded"})
OURS = {"number", "state", "origin"}  # a table with all of these was written by bopp
BREAKS = "breaks"  # which constraints a trial breaks, in words, where the problem has any
SKIPPED = {*FIRST, *LAST} - {"error", "notes"}  # in such a table

Rows = Iterable[tuple[str, Mapping[str, Any]]]
"""Where a row stands, for errors, and its cells by column."""


def columns(
    problem: Problem, trials: Sequence[Trial], written: Callable[[Any], Any] = lambda value: value
) -> dict[str, list[Any]]:
    """The trials as columns of a table, with None where there is nothing; `written` is applied to params."""
    measured = dict.fromkeys(name for trial in trials for name in trial.measurements)
    noisy = [name for name in problem.names if any(name in trial.noise for trial in trials)]
    groups = {
        "values": problem.names,
        "params": list(problem.space.parameters),
        "measurements": [name for name in measured if name not in problem.names],
    }
    last = (*LAST, BREAKS) if problem.constraints else LAST
    names = _named(groups, [*FIRST, *last, "noise", *(f"noise.{name}" for name in problem.names)])
    found: dict[str, list[Any]] = {field: [getattr(trial, field) for trial in trials] for field in FIRST}
    for name in groups["values"]:  # what a failed trial has of them is among its measurements
        cells = [trial.values.get(name, trial.measurements.get(name)) for trial in trials]
        found[names["values", name]] = cells
    found |= {f"noise.{name}": [trial.noise.get(name) for trial in trials] for name in noisy}
    for name in groups["params"]:
        found[names["params", name]] = [
            written(trial._params[name]) if name in trial._params else None for trial in trials
        ]
    found |= {field: [getattr(trial, field) for trial in trials] for field in LAST}
    if problem.constraints:
        found[BREAKS] = [_broken(problem, trial) for trial in trials]
    for name in groups["measurements"]:
        found[names["measurements", name]] = [trial.measurements.get(name) for trial in trials]
    return found


def observed(problem: Problem, names: Sequence[str], rows: Rows, value: str | None = None) -> list[Trial]:
    """The measurements of a table as observed trials; an error names the row and the column.

    Args:
        names: the columns: one for each parameter and declared value; others are measurements. Those that
            bopp writes of a trial are known; rows that it wrote of trials without an answer are left out. A
            blank among several values is one that was not measured, unless a column "error" has a reason.
        value: the column of the only objective, if it does not have its name.
    """
    table = Table.of(problem, names, value)
    found: list[Trial] = []
    for where, row in rows:
        if table.is_told(row, where):
            found.append(table.trial(row, where, len(found)))
    return found


def write_csv(problem: Problem, trials: Sequence[Trial]) -> Iterator[str]:
    """The trials as rows of a CSV file, for `read_csv`; no cell is a formula or acts on a terminal."""
    table = columns(problem, trials, written=typed)
    for row in ([*table], *zip(*table.values(), strict=True)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(map(_written, row))
        yield line.getvalue()


def read_csv(problem: Problem, text: str, value: str | None = None) -> tuple[list[Trial], int]:
    """The measurements of a CSV file as observed trials, and how many rows were left out.

    Cells are separated by commas or by semicolons; the first line has the names of the columns.
    """
    names, rows = _csv_table(problem, text)
    trials = observed(problem, names, rows, value)
    return trials, len(rows) - len(trials)


def read_text(file: Path) -> str:
    """The text of a CSV file, with the ends of lines as they are."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: wanted UTF-8, got {error.object[error.start : error.end]!r}") from None


def read_pairs(problem: Problem, text: str, value: str | None = None) -> list[tuple[Params, float]]:
    """The params and values of a stand-in for the only objective, from a CSV file.

    It needs columns for one parameter and for the value, no more. A blank cell leaves the parameter out, a
    number may lie beyond its range, and a row without a value is passed over.
    """
    names, rows = _csv_table(problem, text)
    table = Table.of_stand_in(problem, names, value)
    pairs = [table.pair(row, where) for where, row in rows if table.is_told(row, where)]
    return [(params, found) for params, found in pairs if math.isfinite(found)]


@dataclass(frozen=True)
class Table:
    """Which columns of a table have the params, the values and their noise, and what else it has, by name."""

    problem: Problem
    params: Mapping[str, str]
    values: Mapping[str, str]
    noise: Mapping[str, str]
    others: Mapping[str, str]
    noted: bool
    ours: bool

    @staticmethod
    def of(problem: Problem, names: Sequence[str], value: str | None = None) -> Table:
        """The table with these columns."""
        table = Table._of_some(problem, names, value)
        parameters = problem.space.parameters.items()
        needed = [name for name, one in parameters if one.width and not one.conditions]
        missing = [name for name in needed if name not in table.params]
        missing += [name for name in problem.names if name not in table.values]
        if missing:
            raise TellError(f"wanted columns for {', '.join(map(repr, missing))}, got {list(names)}")
        return table

    @staticmethod
    def of_stand_in(problem: Problem, names: Sequence[str], value: str | None = None) -> Table:
        """The table with these columns, which may lack parameters."""
        table = Table._of_some(problem, names, value)
        if problem.objective not in table.values:
            raise TellError(
                f"wanted a column for {problem.objective!r}, got {list(names)}; "
                'where it has another name: column = "..."'
            )
        if not table.params:
            wanted = list(problem.space.parameters)
            raise TellError(f"wanted a column for one of the parameters {wanted}, got {list(names)}")
        return table

    @staticmethod
    def _of_some(problem: Problem, names: Sequence[str], value: str | None) -> Table:
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise TellError(f"wanted each column once, got {twice[0]!r} more than once")
        params = _found("params", problem.space.parameters, names)
        values = _found("values", problem.names, names)
        if value is not None:
            values[problem.objective] = _checked_column(value, names, params.values())
        for column in set(params.values()) & set(values.values()):
            raise TellError(
                f"column {column!r}: wanted 'params.{column}' and 'values.{column}' to tell them apart"
            )
        noise = {name: f"noise.{name}" for name in problem.names if f"noise.{name}" in names}
        rest = [name for name in names if name not in {*params.values(), *values.values(), *noise.values()}]
        if "noise" in rest and len(problem.objectives) == 1:
            noise.setdefault(problem.objective, "noise")
        ours = set(rest) >= OURS
        skipped = (*SKIPPED, *([BREAKS] if problem.constraints else []))
        rest = [name for name in rest if name not in noise.values() and not (ours and name in skipped)]
        others = {name.removeprefix("measurements."): name for name in rest if name != "notes"}
        return Table(problem, params, values, noise, others, "notes" in rest, ours)

    def is_told(self, row: Mapping[str, Any], where: str) -> bool:
        """Whether a row has an answer; one that bopp wrote of a trial under way or dropped has none."""
        if self.ours and row["state"] not in get_args(State):
            wanted = ", ".join(get_args(State))
            raise TellError(f"{where}, column 'state': wanted one of {wanted}, got {row['state']!r}")
        return not self.ours or row["state"] in ("done", "failed")

    def trial(self, row: Mapping[str, Any], where: str, number: int) -> Trial:
        """The observed trial of a row: a blank is a value that was not measured, without any it failed."""
        found, blank = self._cells(row, where, _value)
        given = _numbers(row, where, self.values)
        noise = {name: sd for name, sd in _numbers(row, where, self.noise).items() if sd is not None}
        failed = self._failed(row, given)
        others = {
            name: _measured(row[column])
            for name, column in self.others.items()
            if not _is_blank(row[column]) and name not in given and not (failed and column == "error")
        }
        try:
            params = self.problem.space.check(self.problem.space.filled(found, blank))
            answer = self.problem.answer({**others, **given}, noise or None)
        except BoppError as error:
            raise TellError(f"{where}: {error}") from None
        if failed:
            kept = {name: number for name, number in answer.values.items() if number is not None}
            reason = self._reason(row) or answer.error or NO_REASON
            answer = Answer(measurements=kept | dict(answer.measurements), error=reason)
        notes = row["notes"] if self.noted and not _is_blank(row["notes"]) else None
        trial = Trial(number, params, origin="observed", notes=None if notes is None else str(notes))
        return trial.told(answer, None)

    def pair(self, row: Mapping[str, Any], where: str) -> tuple[Params, float]:
        """The params that a row has, which may lie beyond their ranges, and its value; NaN for none."""
        found, blank = self._cells(row, where, _value_anywhere)
        params = self.problem.space.filled(
            found, {name: blank[name] for name in blank if name in self.params}
        )
        given = _numbers(row, where, self.values)
        value = None if self._failed(row, given) else given[self.problem.objective]
        return params, math.nan if value is None else value

    def _failed(self, row: Mapping[str, Any], given: Mapping[str, float | None]) -> bool:
        """Whether a row is of a failed trial: it says so, or lacks values and gives a reason."""
        if self.ours and row["state"] == "failed":
            return True
        numbers = [number for number in given.values() if number is not None]
        lacking = len(numbers) < len(given) and self._reason(row) is not None
        return not numbers or lacking or not all(map(math.isfinite, numbers))

    def _reason(self, row: Mapping[str, Any]) -> str | None:
        """Why a row has no value, if it says so."""
        there = "error" in self.others.values() and not _is_blank(row["error"])
        return str(row["error"]) if there else None

    def _cells(
        self, row: Mapping[str, Any], where: str, read: Callable[[Parameter, Any], Any]
    ) -> tuple[Params, Params]:
        """The params that a row has, and what its blanks mean for those that apply."""
        found: Params = {}
        blank: Params = {}
        for name, parameter in self.problem.space.parameters.items():
            cell = row[self.params[name]] if name in self.params else None
            if not _is_blank(cell):
                found[name] = _cell(where, self.params[name], partial(read, parameter), cell)
            else:
                for value in _of_blank(parameter, cell):
                    blank.setdefault(name, value)  # the blank itself, if it is an option
        return found, blank


def _named(groups: Mapping[str, Sequence[str]], reserved: Sequence[str]) -> dict[tuple[str, str], str]:
    """A column for each name of each group; a name that is used twice gets the group in front."""
    uses = Counter([*reserved, *(name for names in groups.values() for name in names)])
    taken = set(uses)
    found = {}
    for group, names in groups.items():
        for name in names:
            column = name
            while column in taken and (uses[name] > 1 or column != name):
                column = f"{group}.{column}"
            taken.add(column)
            found[group, name] = column
    return found


def _broken(problem: Problem, trial: Trial) -> str | None:
    """The constraints that a trial breaks, in words, as far as they can be checked here."""
    with suppress(NoResultError):
        if trial.state == "done" and (words := problem.broken(trial)):
            return "; ".join(words)
    return None


def _found(group: str, wanted: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """The columns of a group, by name, as far as they are there."""
    there = set(names)
    pairs = ((name, column) for name in wanted for column in (name, f"{group}.{name}") if column in there)
    return dict(pairs)


def _checked_column(value: str, names: Sequence[str], params: Collection[str]) -> str:
    """The column of the value that somebody named."""
    if value in params:
        raise TellError(f"column: wanted that of the value, got {value!r}, which is a parameter")
    if value not in names:
        others = [name for name in names if name not in params]
        raise TellError(f"column: wanted one of {others}, got {value!r}")
    return value


def _is_blank(cell: Any) -> bool:
    blank = isinstance(cell, float) and math.isnan(cell)
    return cell is None or blank or (isinstance(cell, str) and not cell.strip())


def _of_blank(parameter: Parameter, cell: Any) -> Iterator[Any]:
    """What a blank cell means where the parameter applies: what is fixed, or an option that is blank."""
    if parameter.width == 0:
        yield parameter.decode(())
        return
    for option in (cell, None, "") if isinstance(cell, str) else (None,):
        with suppress(SpaceError):
            yield parameter.check(option)


def _cell(where: str, column: str, read: Callable[[Any], Any], cell: Any) -> Any:
    """What is read from a cell; an error says where it is."""
    try:
        return read(cell)
    except BoppError as error:
        raise TellError(f"{where}, column {column!r}: {error}") from None


def _value(parameter: Parameter, cell: Any) -> Any:
    """The value of a parameter: text is read as if somebody typed it."""
    if not isinstance(cell, str):
        return parameter.check(cell)
    try:
        return parameter.check(parameter.parse(cell))
    except SpaceError:
        if cell == cell.strip():
            raise
    return _value(parameter, cell.strip())


def _value_anywhere(parameter: Parameter, cell: Any) -> Any:
    """The value of a parameter, of which a number may lie beyond the range."""
    if isinstance(parameter, Int):
        return whole("value", parameter.parse(cell))
    return real("value", parameter.parse(cell)) if isinstance(parameter, Float) else _value(parameter, cell)


def _numbers(row: Mapping[str, Any], where: str, columns: Mapping[str, str]) -> dict[str, float | None]:
    """The numbers in these columns, by name; None for a blank."""
    return {name: _cell(where, column, _number, row[column]) for name, column in columns.items()}


def _number(cell: Any) -> float | None:
    """A declared value or a noise; None for a blank."""
    if _is_blank(cell):
        return None
    if not isinstance(cell, str):
        return number_of(cell)
    try:
        return float(cell)
    except ValueError:
        raise TellError(f"wanted a number, got {cell!r}") from None


def _written(value: Any) -> Any:
    value = value.isoformat() if isinstance(value, datetime) else value
    return cell(value) if isinstance(value, str) else value


def _measured(cell: Any) -> Any:
    if isinstance(cell, str):
        with suppress(ValueError):
            return float(cell) if math.isfinite(float(cell)) else cell
    return cell.isoformat() if hasattr(cell, "isoformat") else cell


def _csv_table(problem: Problem, text: str) -> tuple[list[str], list[tuple[str, Mapping[str, Any]]]]:
    """The names of the columns of a CSV file, and its rows."""
    lines = io.StringIO(text, newline="").readlines()
    rows = _csv_rows(lines, max(",;", key=partial(_width, lines)))
    _, names = next(rows, ("", []))
    known = {*problem.names, *problem.space.parameters}
    names = list(map(from_cell, names))
    names = [name if name in known else name.strip() for name in names]
    cells: list[tuple[str, Mapping[str, Any]]] = []
    for where, row in rows:
        if len(row) != len(names):
            raise TellError(f"{where}: wanted {len(names)} cells, as in the first line, got {len(row)}")
        cells.append((where, dict(zip(names, map(from_cell, row), strict=True))))
    return names, cells


def _width(lines: Sequence[str], delimiter: str) -> int:
    """How many cells the first row has that is not empty, if this is between them."""
    with suppress(csv.Error):
        return next((len(row) for row in csv.reader(lines, delimiter=delimiter) if row), 0)
    return 0


def _csv_rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """The rows of a CSV file that are not blank, each with the line where it begins."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begins = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield f"line {begins}", row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise TellError(f"line {begins}: {error}") from None
