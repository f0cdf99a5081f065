"""Course: the trials of a study as columns, for pages that sort, filter, count and draw tens of thousands.

Rows are the trials by number. A trial itself takes two kilobytes; a row takes some hundred bytes, and what
follows from all of them (the best so far, the front, an order) is computed at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import BoppError, NoResultError
from bopp.front import nondominated
from bopp.legible import cut, one_line
from bopp.parameter import Parameter
from bopp.plain import has_absent
from bopp.problem import Problem
from bopp.trial import State, Trial
from bopp.view.values import broken_by, remark

UNREAD = "unread"
STATES: tuple[State, ...] = ("asked", "done", "failed", "dropped")
CODES: dict[str, int] = {UNREAD: 0} | {state: place for place, state in enumerate(STATES, start=1)}
LONGEST_REMARK = 500  # characters that a filter can find

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Course:
    """The trials of a study so far; never changed, only replaced.

    state    (n,) codes of their states
    values   (n, k) every declared value; NaN where there is none
    gains    (n, m) the objectives, larger is better, of trials that may be best: real, with every objective,
             known to meet the constraints; NaN elsewhere
    unknown  (n,) whether each would be among these, but for a condition that cannot be checked here
    broken   (n,) whether each is finished and breaks a constraint
    params   (n, p) numbers by which values of the parameters are put in order; NaN where one is absent
    spent    (n,) what each has cost of the budget
    remarks  what else there is to say of some, by number
    """

    problem: Problem
    state: npt.NDArray[np.uint8]
    values: Array
    gains: Array
    unknown: npt.NDArray[np.bool_]
    broken: npt.NDArray[np.bool_]
    params: Array
    spent: Array
    remarks: Mapping[int, str]

    @staticmethod
    def empty(problem: Problem) -> Course:
        """The course of a study before it is read."""
        columns = len(problem.names), len(problem.objectives), len(problem.space.parameters)
        values, gains, params = (np.empty((0, width)) for width in columns)
        none = np.empty(0, dtype=np.bool_)
        return Course(problem, np.empty(0, np.uint8), values, gains, none, none, params, np.empty(0), {})

    def __len__(self) -> int:
        return len(self.state)

    def after(self, changed: Sequence[Trial]) -> Course:
        """The course after these trials were added or changed."""
        if not changed:
            return self
        size = max(len(self), 1 + max(trial.number for trial in changed))
        rows = [trial.number for trial in changed]
        grown = replace(
            self,
            state=_grown(self.state, size),
            values=_grown(self.values, size, np.nan),
            gains=_grown(self.gains, size, np.nan),
            unknown=_grown(self.unknown, size),
            broken=_grown(self.broken, size),
            params=_grown(self.params, size, np.nan),
            spent=_grown(self.spent, size),
            remarks={**self.remarks, **self._remarks(changed)},
        )
        names = self.problem.names
        grown.state[rows] = [CODES[trial.state] for trial in changed]
        grown.values[rows] = [[trial.values.get(name) for name in names] for trial in changed]
        grown.gains[rows], grown.unknown[rows] = self._gains(changed, grown.values[rows])
        grown.broken[rows] = [
            bool(self.problem.constraints and broken_by(self.problem, trial)) for trial in changed
        ]
        grown.params[rows] = self._params(changed)
        grown.spent[rows] = [self.problem.cost(trial) if trial.spent else 0.0 for trial in changed]
        return grown

    def count(self, state: State) -> int:
        """How many trials are in this state."""
        return int((self.state == CODES[state]).sum())

    @property
    def finding(self) -> str:
        """The best value and its trial, or how large the front is, in words."""
        best = self.best
        if len(self.problem.objectives) > 1 and not self.unknown.any():
            return f"front of {len(self.front)}"
        if best is None:
            return "cannot be told here" if has_absent(self.problem) else "none yet"
        return f"{self.values[best, 0]:.6g} in trial {best}"

    @property
    def best(self) -> int | None:
        """The number of the best trial of a single objective, the first one if several are equally good.

        As in a result, there is none as long as another may be better that cannot be checked here.
        """
        if len(self.problem.objectives) > 1 or self.unknown.any() or np.isnan(self.gains).all():
            return None
        return int(np.nanargmax(self.gains[:, 0]))

    @property
    def front(self) -> list[int]:
        """The numbers of the trials that no other is better than; none if some cannot be checked here."""
        if self.unknown.any():
            return []
        whole = np.flatnonzero(~np.isnan(self.gains).any(axis=1))
        return [int(number) for number in whole[nondominated(self.gains[whole])]] if len(whole) else []

    @property
    def breaking(self) -> list[int]:
        """How many finished trials break each limit of a measured value, in the order of the limits."""
        columns = {name: self.values[:, place] for place, name in enumerate(self.problem.names)}
        with np.errstate(over="ignore"):
            margins = [limit.margin(columns[limit.name]) for limit in self.problem.limits]
        return [int((margin < 0.0).sum()) for margin in margins]

    def best_so_far(self) -> Array:
        """The best value (n,) of a single objective up to each trial; NaN before the first."""
        gains = np.full(len(self), np.nan) if self.unknown.any() else self.gains[:, 0]
        return np.asarray(self.problem.gain(np.fmax.accumulate(gains)))

    def ranked(self, objective: str | None = None) -> Numbers:
        """The numbers of finished trials by an objective, or the first: those that may be best first."""
        name = next(iter(self.problem.objectives)) if objective is None else objective
        values = self.problem.gain(self.values[:, self.problem.names.index(name)], name)
        done = np.flatnonzero(~np.isnan(values))
        order: Numbers = np.lexsort((-values[done], np.isnan(self.gains[done, 0])))
        return done[order]

    def chosen(self, state: str = "", text: str = "", broken: bool = False) -> Numbers:
        """The numbers of trials in a state, with a text in what there is to say of them; all by default."""
        there = self.state != CODES[UNREAD]
        if state:
            there &= self.state == CODES.get(state, 255)
        if broken:
            there = there & self.broken
        found = np.flatnonzero(there)
        if not text:
            return found
        word = text.casefold()
        return np.array([i for i in found.tolist() if word in self.remarks.get(i, "").casefold()], np.intp)

    def ordered(self, numbers: Numbers, by: str, falling: bool = False) -> Numbers:
        """These numbers by a column: "number", "state", a value or a parameter; absent ones come last."""
        key = self._column(by)[numbers]
        order = np.argsort(-key if falling else key, kind="stable")  # NaN comes last either way
        return numbers[order]

    def columns(self) -> list[str]:
        """The columns by which trials can be put in order."""
        values = [f"value:{name}" for name in self.problem.names]
        return ["number", "state", *values, *(f"param:{name}" for name in self.problem.space.parameters)]

    def _column(self, by: str) -> Array:
        kind, _, name = by.partition(":")
        if kind == "value" and name in self.problem.names:
            return self.values[:, self.problem.names.index(name)]
        if kind == "param" and name in self.problem.space.parameters:
            return self.params[:, list(self.problem.space.parameters).index(name)]
        return self.state.astype(float) if by == "state" else np.arange(len(self), dtype=float)

    def _gains(self, trials: Sequence[Trial], values: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        """The gains of trials that may be best, and which of the others might be if it could be checked."""
        gains = np.column_stack(
            [self.problem.gain(values[:, place], name) for place, name in enumerate(self.problem.objectives)]
        )
        whole = ~np.isnan(gains).any(axis=1)
        unknown = np.zeros_like(whole)
        if self.problem.constraints or self.problem.fidelity is not None:
            counts = [one and self._counts(trial) for one, trial in zip(whole, trials, strict=True)]
            unknown |= [one is None for one in counts]
            whole &= [one is True for one in counts]
        return np.where(whole[:, None], gains, np.nan), unknown

    def _counts(self, trial: Trial) -> bool | None:
        """Whether a finished trial is real and meets the constraints; None if that cannot be checked here."""
        try:
            return self.problem.real(trial) and self.problem.feasible(trial)
        except NoResultError:
            return None

    def _params(self, trials: Sequence[Trial]) -> Array:
        columns = []
        for name, parameter in self.problem.space.parameters.items():
            numbers = [_number(parameter, trial._params.get(name)) for trial in trials]
            columns.append(np.array(numbers, dtype=np.float64))
        return np.column_stack(columns)

    def _remarks(self, changed: Sequence[Trial]) -> dict[int, str]:
        said = {trial.number: remark(self.problem, trial) for trial in changed if self._has_remark(trial)}
        return {number: cut(one_line(text), LONGEST_REMARK) for number, text in said.items()}

    def _has_remark(self, trial: Trial) -> bool:
        plain = trial.state == "done" and len(self.problem.names) == 1 and not self.problem.constraints
        return not plain or bool(trial.notes or trial.superseded) or trial.number in self.remarks


def thinned(numbers: Numbers, heights: Array, most: int) -> Numbers:
    """At most this many of the numbers (n,), two or more: the highest and the lowest of every stretch."""
    if len(numbers) <= most:
        return numbers
    length = -(-len(numbers) // (most // 2))
    rows = len(numbers) // length
    square = heights[: rows * length].reshape(rows, length)
    first = np.arange(rows) * length
    ends = [first + square.argmin(axis=1), first + square.argmax(axis=1)]
    if len(rest := heights[rows * length :]):  # a stretch that is shorter
        ends.append(rows * length + np.array([rest.argmin(), rest.argmax()]))
    return np.asarray(numbers[np.unique(np.concatenate(ends))])


def _grown(column: Any, size: int, blank: float = 0) -> Any:
    """A copy of a column with this many rows."""
    grown = np.full((size, *column.shape[1:]), blank, dtype=column.dtype)
    grown[: len(column)] = column
    return grown


def _number(parameter: Parameter, value: Any) -> float:
    """A number by which values of a parameter are put in order; NaN where there is none."""
    if type(value) is float and parameter.numeric:
        return value
    try:
        return float(value) if parameter.numeric else parameter.place(value)
    except (BoppError, ArithmeticError, LookupError, TypeError, ValueError):  # absent, or of an earlier space
        return np.nan
