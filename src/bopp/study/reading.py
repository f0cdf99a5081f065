"""Reading: the rows of trials in a store, many at once.

Rows in which nothing was taken back, which are most, are checked column by column. Where a column holds
anything odd, and where something was taken back, rows are read one by one, which takes several times as long
and says what is wrong.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from json.scanner import make_scanner
from math import isfinite
from operator import methodcaller
from typing import Any, get_args
from zlib import crc32

from bopp.errors import BoppError, StudyError, reading
from bopp.plain import read_number, read_params, read_time, read_trial
from bopp.problem import Problem
from bopp.space import Params
from bopp.study import checksum
from bopp.study.schema import trials
from bopp.trial import DICTS, FIELDS, TEXTS, TIMES, Origin, Trial

Row = Sequence[Any]

NAMES = (*checksum.COVERED[trials], "seal")
COLUMNS = [trials.c[name] for name in NAMES]
PAST = NAMES.index("superseded")
STATES, ORIGINS = {"asked", "done", "failed"}, set(get_args(Origin))
ODD = (BoppError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
AT_ONCE = 5000  # rows

decoded = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]


class Reader:
    """Makes rows of a study, with the columns of COLUMNS, into trials."""

    def __init__(self, id: int, problem: Problem, name: str | None = None):
        self._id = id
        self._problem = problem
        self._names = problem.names
        self._alone = len(self._names) == 1
        self._of = "" if name is None else f" of {name!r}"

    def read(self, rows: Sequence[Row]) -> list[Trial]:
        """The trials in these rows; an error names the first that is not valid."""
        found: list[Trial] = []
        for start in range(0, len(rows), AT_ONCE):
            found += self._some(rows[start : start + AT_ONCE])
        return found

    def _some(self, rows: Sequence[Row]) -> list[Trial]:
        if not _are_as_written(rows):
            for row in rows:
                self._check(row)
        plain = iter(self._plain([row for row in rows if row[PAST] is None]))
        return [(next(plain) if row[PAST] is None else None) or self._one(row) for row in rows]

    def _check(self, row: Row) -> None:
        if row[-1] is not None and row[-1] != checksum.checksum(row[:-1]):
            number = str(row[1])[:20]
            where = f"bopp_trials where study = {self._id} and number = {number}"
            raise checksum.damaged(f"trial {number}{self._of}", where)

    def _one(self, row: Row) -> Trial:
        """The trial in a row, whatever that holds."""
        named = dict(zip(NAMES, row, strict=True))
        with reading(f"trial {str(named['number'])[:20]}{self._of} cannot be read", StudyError):
            apart = {name: {} for name in DICTS} | json.loads(named["more"] or "{}")
            if named["value"] is not None or named["state"] == "done":  # NULL: it was not measured
                apart["values"] = {self._names[0]: named["value"], **apart["values"]}
            apart["params"] = json.loads(named["params"])
            apart["superseded"] = json.loads(named["superseded"] or "[]")
            whole = {name: named[name] for name in FIELDS if name in named} | apart
            return read_trial(self._problem, whole, named["number"])

    def _plain(self, rows: Sequence[Row]) -> Sequence[Trial | None]:
        """The trials in rows without a past; None in place of each where one is not valid, or seems not."""
        if len(rows) > 1:
            try:
                return self._at_once(dict(zip(NAMES, zip(*rows, strict=True), strict=True)))
            except ODD:
                pass
        return [None] * len(rows)

    def _at_once(self, row: dict[str, Sequence[Any]]) -> list[Trial]:
        """The trials in columns by name; raises one of ODD where anything is not valid."""
        texts = all({str, type(None)}.issuperset(map(type, row[name])) for name in TEXTS)
        words = STATES.issuperset(row["state"]) and ORIGINS.issuperset(row["origin"])
        if not (texts and words and {int}.issuperset(map(type, row["number"]))):
            raise ValueError("odd")
        answers = list(map(self._answer, row["state"], row["value"], row["more"], row["traceback"]))
        columns: dict[str, Iterable[Any]] = {
            **row,
            **{name: map(read_time, row[name]) for name in TIMES},
            **dict(zip(DICTS, zip(*answers, strict=True), strict=True)),
            "params": self._params([_whole(text) for text in row["params"]]),
            "superseded": repeat(()),
        }
        return list(map(_made, *(columns[name] for name in FIELDS)))

    def _params(self, written: list[Any]) -> Iterable[Params]:
        """All of these params, checked a column at a time where every parameter always applies."""
        space = self._problem.space
        known = space.parameters
        if space.conditional or any(len(row) != len(known) for row in written):
            return [read_params(space, row) for row in written]
        columns = [
            parameter.check_all([parameter.from_json(row[name]) for row in written])
            for name, parameter in known.items()
        ]
        return [dict(zip(known, values, strict=True)) for values in zip(*columns, strict=True)]

    def _answer(
        self, state: str, value: Any, more: str | None, traceback: str | None
    ) -> tuple[Params, Params, Params]:
        """Values, noise and measurements."""
        if more is None and (traceback is None or state == "failed"):
            if value is None and state != "done":
                return {}, {}, {}
            if state == "done" and self._alone and type(value) is float and isfinite(value):
                return {self._names[0]: value}, {}, {}
        apart = {} if more is None else _whole(more)
        values, noise, others = (
            {key: read_number(one) for key, one in apart.pop(name, {}).items()} for name in DICTS
        )
        if value is not None or state == "done":  # NULL: it was not measured
            values = {self._names[0]: value, **values}
        values = {name: values.pop(name) for name in self._names if name in values} | values
        trial = Trial(0, {}, state, values, noise=noise, traceback=traceback)  # type: ignore[arg-type]
        if apart or not self._problem.fits(trial):
            raise ValueError("odd")
        return values, noise, others


def _made(*fields: Any) -> Trial:
    """A trial with these fields: in a third of the time, since a frozen class sets them one by one."""
    trial = object.__new__(Trial)
    trial.__dict__.update(zip(FIELDS, fields, strict=True))
    return trial


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for garbage among many new objects, none of which is: a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _are_as_written(rows: Sequence[Row]) -> bool:
    """Whether all rows have their checksums."""
    if not rows:
        return True
    *columns, checksums = zip(*rows, strict=True)
    texts = map(checksum.BETWEEN.join, zip(*map(_texts, columns), strict=True))
    return tuple(map("%08x".__mod__, map(crc32, map(methodcaller("encode"), texts)))) == checksums


def _texts(column: Sequence[Any]) -> Iterable[str]:
    first = column[0]
    alike = (first is None or type(first) is str) and column.count(first) == len(column)
    return repeat(str(first), len(column)) if alike else map(str, column)


def _whole(text: str) -> Any:
    """What a JSON text holds."""
    try:
        found, end = decoded(text, 0)
    except StopIteration:  # as the scanner says it, which would end a `map` in silence
        end = -1
    if end != len(text):
        raise ValueError("wanted one JSON value")
    return found
