"""Trial: one evaluation, from the moment it is asked for; and what counts as a value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, Literal, get_origin, get_type_hints

from bopp.errors import NoResultError, TellError
from bopp.legible import brief
from bopp.space import Params

State = Literal["asked", "done", "failed", "dropped"]
Origin = Literal["suggested", "queued", "observed"]

LONGEST_MEASUREMENT = 1000  # characters of what is no number
NO_REASON = "no reason was given"
ANSWER = ("state", "values", "noise", "measurements", "error", "traceback", "told_at")  # what is told
FRAME = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)
LIBRARIES = re.compile(r"site-packages|dist-packages|[/\\]lib[/\\]python3|^<frozen")


@dataclass(frozen=True)
class Answer:
    """How an evaluation ended: with every declared value, or with an error that says why there are none.

    A value that was not measured is None; at least one is a number.
    """

    values: Mapping[str, float | None] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    traceback: str | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"a failure, {self.error}"
        return repr(next(iter(self.values.values()))) if len(self.values) == 1 else repr(dict(self.values))


@dataclass(frozen=True)
class Superseded:
    """What a trial had been told before somebody took that back: since when it no longer counts, and why."""

    state: State
    at: datetime
    reason: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    error: str | None = None
    traceback: str | None = None
    told_at: datetime | None = None
    noise: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """One evaluation: its params and, once told, its values or an error that says why there are none.

    Args:
        number: its place among the trials, from 0.
        params: the setting; as an attribute, a new dict at every access, so that changing it does not change
            the trial.
        state: "asked" until it is told, then "done" or "failed"; "dropped" if it should not count.
        values: every value that the problem declares, by name, objectives first; None where one was not
            measured, until a later tell adds it.
        error: why it failed.
        origin: "suggested", "queued" by the user, or "observed" elsewhere.
        asked_at: when it was asked for.
        told_at: when it was told first.
        worker: who evaluates it.
        notes: whatever users wrote about it.
        noise: the standard deviations of these measurements, by name, if they are known.
        measurements: whatever else the evaluation returned; suggestions ignore it.
        traceback: where an exception came from.
        superseded: what it had been told before, if that was retried, amended or dropped.
    """

    number: int
    params: Params
    state: State = "asked"
    values: Mapping[str, float | None] = field(default_factory=dict)
    error: str | None = None
    origin: Origin = "suggested"
    asked_at: datetime | None = None
    told_at: datetime | None = None
    worker: str | None = None
    notes: str | None = None
    noise: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, Any] = field(default_factory=dict)
    traceback: str | None = None
    superseded: tuple[Superseded, ...] = ()

    def __hash__(self) -> int:
        return hash((self.number, self.state, self.asked_at, self.told_at))

    @property
    def _params(self) -> Params:
        """The params without a copy, to be read only."""
        params: Params = self.__dict__["params"]
        return params

    @property
    def value(self) -> float:
        """The value of the objective, or of the first of several.

        Raises:
            NoResultError: if there is none, because the trial failed, is not finished, or was not measured.
        """
        if (value := self._value) is None:
            why = self.reason or ("it was not measured" if self.values else f"it is {self.state}")
            raise NoResultError(f"trial {self.number} has no value: {why}")
        return value

    @property
    def _value(self) -> float | None:
        """The same, or None."""
        return next(iter(self.values.values()), None)

    @property
    def unmeasured(self) -> list[str]:
        """The names of declared values that it was told without, and that a later tell may add."""
        return [name for name, value in self.values.items() if value is None]

    @property
    def counts(self) -> bool:
        """Whether it is part of the search, and of its budget unless it was observed elsewhere."""
        return self.state != "dropped"

    @property
    def place(self) -> str | None:
        """Where an exception came from: the last line of the traceback that is not in a library."""
        frames = FRAME.findall(self.traceback or "")
        own = [frame for frame in frames if not LIBRARIES.search(frame[0])] or frames
        for file, line in own[-1:]:
            name = "cell" if "ipykernel" in file else PurePath(file).name  # a notebook's files mean nothing
            return f"{name}, line {line}"
        return None

    @property
    def reason(self) -> str | None:
        """Why it failed, and where, in short."""
        return f"{self.error} ({self.place})" if self.place else self.error

    @property
    def spent(self) -> bool:
        """Whether it has used up a part of the budget: it has ended, and was not observed elsewhere."""
        return self.state in ("done", "failed") and self.origin != "observed"

    def reopened(self, at: datetime, reason: str) -> Trial:
        """A failed trial, to be evaluated again."""
        if self.state != "failed":
            raise TellError(
                f"wanted a failed trial to retry, got trial {self.number}, which is {self.state}",
                trial=self.number,
            )
        return self._without_answer("asked", at, reason)

    def amended(self, answer: Answer, at: datetime, reason: str) -> Trial:
        """The trial with another answer in place of the one that it had."""
        if self.state not in ("done", "failed"):
            raise TellError(
                f"wanted a trial that was told, got trial {self.number}, which is {self.state}",
                trial=self.number,
            )
        return self._without_answer("asked", at, reason).told(answer, at)

    def dropped(self, at: datetime, reason: str) -> Trial:
        """The trial as one that does not count."""
        if not self.counts:
            raise TellError(
                f"trial {self.number} was dropped before ({self.superseded[-1].reason})", trial=self.number
            )
        return self._without_answer("dropped", at, reason)

    def restored(self) -> Trial:
        """A dropped trial as it was before it was dropped."""
        *earlier, last = self.superseded
        answer = {name: getattr(last, name) for name in ANSWER}
        return replace(self, **answer, superseded=tuple(earlier))

    def told(self, answer: Answer, at: datetime | None) -> Trial:
        """The trial with its answer; unchanged if it was told the same before.

        What was not measured is filled in by a later answer that has it. What is there stays: a later answer
        has the same or None in its place.
        """
        told = replace(
            self,
            state="done" if answer.error is None else "failed",
            values=answer.values,
            noise=answer.noise,
            measurements=answer.measurements,
            error=NO_REASON if answer.error == "" else answer.error,
            traceback=answer.traceback,
            told_at=at,
        )
        if self.state == "asked":
            return told
        if self.state == "dropped":
            raise TellError(
                f"trial {self.number} was dropped ({self.superseded[-1].reason}), got {answer}",
                trial=self.number,
            )
        shared = [name for name, value in told.values.items() if value is not None]
        shared = [name for name in shared if name not in self.unmeasured]
        if self.state != told.state or _part(self, shared) != _part(told, shared):
            was, now = (_in_short(trial) for trial in (self, told))
            why = f": {answer.error}" if self.unmeasured and answer.error else ""
            raise TellError(f"trial {self.number} was told {was} already, got {now}{why}", trial=self.number)
        return self._completed(told)

    def _completed(self, other: Trial) -> Trial:
        """The trial with what another has that was not measured here, and its further measurements."""
        new = [name for name in self.unmeasured if other.values.get(name) is not None]
        if not new:
            return self
        return replace(
            self,
            values={name: other.values[name] if name in new else self.values[name] for name in self.values},
            noise={**self.noise, **{name: sd for name, sd in other.noise.items() if name in new}},
            measurements={**other.measurements, **self.measurements},
        )

    def _without_answer(self, state: State, at: datetime, reason: str) -> Trial:
        past = Superseded(**{name: getattr(self, name) for name in ANSWER}, at=at, reason=reason)
        blank = Trial(self.number, {}, state)
        answer = {name: getattr(blank, name) for name in ANSWER}
        return replace(self, **answer, superseded=(*self.superseded, past))


class _Copied:
    """A field of a frozen dataclass that holds a dict and hands out copies of it."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else dict(owner.__dict__[self._name])

    def __set__(self, owner: Any, mapping: Mapping[str, Any]) -> None:
        owner.__dict__[self._name] = dict(mapping)


Trial.params = _Copied("params")  # type: ignore[assignment]

FIELDS = get_type_hints(Trial)
TEXTS = tuple(name for name, kind in FIELDS.items() if kind == str | None)
TIMES = tuple(name for name, kind in FIELDS.items() if kind == datetime | None)
DICTS = tuple(name for name, kind in FIELDS.items() if get_origin(kind) is Mapping)
"""The fields of a trial by their types, from which follows how they are stored, read and shown."""


def number_of(value: Any, name: str = "value") -> float:
    """A told value as a float: NaN for None, infinite if it is too large, an error if it is not a number."""
    if value is None:
        return math.nan
    kind = getattr(getattr(value, "dtype", None), "kind", "f")  # NumPy's scalars and arrays have one
    if not hasattr(value, "__float__") or getattr(value, "ndim", 0) != 0 or kind not in "biuf":
        raise TellError(f"wanted a number as {name}, got {brief(value)}")
    try:
        return float(value) + 0.0  # turns -0.0 into 0.0, as databases do
    except OverflowError:
        return math.inf
    except (TypeError, ValueError) as error:
        raise TellError(f"wanted a number as {name}, got {brief(value)}: {error}") from None


def measurement(value: Any) -> Any:
    """Anything, as it can be kept beside a trial: a number, a text, true, false or None; else its text."""
    if value is None or isinstance(value, bool):
        return value
    try:
        return number_of(value)
    except Exception:
        return _text_of(value)


def _text_of(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception:  # an object that cannot say what it is
        text = type(value).__name__
    return text if len(text) <= LONGEST_MEASUREMENT else f"{text[:LONGEST_MEASUREMENT]}..."


def _part(trial: Trial, names: Sequence[str]) -> list[tuple[float | None, float | None]]:
    """Some of the values of a trial, each with its noise."""
    return [(trial.values.get(name), trial.noise.get(name)) for name in names]


def _in_short(trial: Trial) -> str:
    if trial.state == "failed":
        return "'failed'"
    value = repr(trial._value) if len(trial.values) == 1 else repr(dict(trial.values))
    noise = [f"{sd!r}" for sd in trial.noise.values()]
    return f"{value} with noise {', '.join(noise)}" if noise else value
