"""Trial columns: the trials of a study in a form that pages sort, filter, count and draw by ten thousands.

Rows are the trials by number. A trial itself takes two kilobytes; a row takes some hundred bytes, and what
follows from all of them (the best so far, the front, an order) is computed at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

STATES: tuple[State, ...] = ("asked", "done", "failed", "dropped")
CODES: dict[str, int] = {state: code for code, state in enumerate(STATES, start=1)}
UNREAD = 0
LONGEST_REMARK = 500  # characters that a filter can find

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TrialColumns:
    """The trials of a study so far; never changed, only replaced.

    rows     (n,) with these columns:
             state    the code of its state
             values   (k,) every declared value; NaN where there is none
             gains    (m,) the objectives, larger is better, of a trial that may be best: real, with every
                      objective, known to meet the constraints; else NaN
             unknown  whether it would be among these, but for a condition that cannot be checked here
             broken   whether it is finished and breaks a constraint
             params   (p,) numbers by which values of the parameters are put in order; NaN where one is absent
    remarks  what else there is to say of some, by number
    """

    problem: Problem
    rows: npt.NDArray[np.void]
    remarks: Mapping[int, str]

    @staticmethod
    def empty(problem: Problem) -> TrialColumns:
        """The columns of a study before it is read."""
        columns = [
            ("values", np.float64, (len(problem.names),)),
            ("gains", np.float64, (len(problem.objectives),)),
            ("params", np.float64, (len(problem.space.parameters),)),
            ("state", np.uint8),
            ("unknown", np.bool_),
            ("broken", np.bool_),
        ]
        return TrialColumns(problem, np.empty(0, np.dtype(columns, align=True)), {})

    def __len__(self) -> int:
        return len(self.rows)

    def after(self, changed: Sequence[Trial]) -> TrialColumns:
        """The columns after these trials were added or changed."""
        if not changed:
            return self
        more = np.zeros(max(0, 1 + max(trial.number for trial in changed) - len(self)), self.rows.dtype)
        for name in ("values", "gains", "params"):
            more[name] = np.nan
        rows = np.concatenate([self.rows, more])
        numbers, names = [trial.number for trial in changed], self.problem.names
        values = np.array([[trial.values.get(name) for name in names] for trial in changed], np.float64)
        rows["state"][numbers] = [CODES[trial.state] for trial in changed]
        rows["values"][numbers] = values
        rows["gains"][numbers], rows["unknown"][numbers] = self._gains(changed, values)
        rows["params"][numbers] = self._params(changed)
        if self.problem.constraints:
            rows["broken"][numbers] = [bool(broken_by(self.problem, trial)) for trial in changed]
        return TrialColumns(self.problem, rows, {**self.remarks, **self._remarks(changed)})

    def count(self, state: State) -> int:
        """How many trials are in this state."""
        return int((self.rows["state"] == CODES[state]).sum())

    @property
    def finding(self) -> str:
        """The best value and its trial, or how large the front is, in words."""
        best = self.best
        if len(self.problem.objectives) > 1 and not self.rows["unknown"].any():
            return f"front of {len(self.front)}"
        if best is None:
            return "cannot be told here" if has_absent(self.problem) else "none yet"
        return f"{self.rows['values'][best, 0]:.6g} in trial {best}"

    @property
    def best(self) -> int | None:
        """The number of the best trial of a single objective, the first one if several are equally good.

        As in a result, there is none as long as another may be better that cannot be checked here.
        """
        gains = self.rows["gains"]
        if len(self.problem.objectives) > 1 or self.rows["unknown"].any() or np.isnan(gains).all():
            return None
        return int(np.nanargmax(gains[:, 0]))

    @property
    def front(self) -> list[int]:
        """The numbers of the trials that no other is better than; none if some cannot be checked here."""
        gains = self.rows["gains"]
        whole = np.flatnonzero(~np.isnan(gains).any(axis=1))
        if self.rows["unknown"].any() or not len(whole):
            return []
        return [int(number) for number in whole[nondominated(gains[whole])]]

    @property
    def breaking(self) -> list[int]:
        """How many finished trials break each limit of a measured value, in the order of the limits."""
        with np.errstate(over="ignore"):
            margins = [limit.margin(self._value(limit.name)) for limit in self.problem.limits]
        return [int((margin < 0.0).sum()) for margin in margins]

    def best_so_far(self) -> Array:
        """The best value (n,) of a single objective up to each trial; NaN before the first."""
        gains = np.where(self.rows["unknown"].any(), np.nan, self.rows["gains"][:, 0])
        return np.asarray(self.problem.gain(np.fmax.accumulate(gains)))

    def ranked(self, objective: str | None = None) -> Numbers:
        """The numbers of finished trials by an objective, or the first: those that may be best first."""
        name = next(iter(self.problem.objectives)) if objective is None else objective
        values = self.problem.gain(self._value(name), name)
        done = np.flatnonzero(~np.isnan(values))
        order: Numbers = np.lexsort((-values[done], np.isnan(self.rows["gains"][done, 0])))
        return done[order]

    def chosen(self, state: str = "", text: str = "", broken: bool = False) -> Numbers:
        """The numbers of trials in a state, with a text in what there is to say of them; all by default."""
        states = self.rows["state"]
        there = states == CODES.get(state, 255) if state else states != UNREAD
        if broken:
            there &= self.rows["broken"]
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

    def _column(self, by: str) -> Array:
        kind, _, name = by.partition(":")
        if kind == "value" and name in self.problem.names:
            return self._value(name)
        if kind == "param" and name in self.problem.space.parameters:
            return np.asarray(self.rows["params"][:, list(self.problem.space.parameters).index(name)])
        return self.rows["state"].astype(float) if by == "state" else np.arange(len(self), dtype=float)

    def _value(self, name: str) -> Array:
        """The values (n,) of this name."""
        return np.asarray(self.rows["values"][:, self.problem.names.index(name)])

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

    def _params(self, trials: Sequence[Trial]) -> list[list[float]]:
        parameters = self.problem.space.parameters.items()
        return [[_number(one, trial._params.get(name)) for name, one in parameters] for trial in trials]

    def _remarks(self, changed: Sequence[Trial]) -> dict[int, str]:
        said = {trial.number: remark(self.problem, trial) for trial in changed if self._has_remark(trial)}
        return {number: cut(one_line(text), LONGEST_REMARK) for number, text in said.items()}

    def _has_remark(self, trial: Trial) -> bool:
        """Whether there may be a remark, or was one; a plain value has none, and is quickly passed over."""
        plain = trial.state == "done" and len(self.problem.names) == 1 and not self.problem.constraints
        return not plain or bool(trial.notes or trial.superseded) or trial.number in self.remarks


def thinned(numbers: Numbers, heights: Array, most: int) -> Numbers:
    """At most this many of the numbers (n,), two or more: the highest and the lowest of every stretch."""
    if len(numbers) <= most:
        return numbers
    length = -(-len(numbers) // (most // 2))
    square = np.pad(heights, (0, -len(heights) % length), "edge").reshape(-1, length)
    starts = length * np.arange(len(square))
    ends = [starts + square.argmin(axis=1), starts + square.argmax(axis=1)]
    return np.asarray(numbers[np.unique(np.concatenate(ends))])


def _number(parameter: Parameter, value: Any) -> float:
    """A number by which values of a parameter are put in order; NaN where there is none."""
    if type(value) is float and parameter.numeric:
        return value
    try:
        return float(value) if parameter.numeric else parameter.place(value)
    except (BoppError, ArithmeticError, LookupError, TypeError, ValueError):  # absent, or of an earlier space
        return np.nan
