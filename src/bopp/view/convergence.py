"""Convergence: the value of each trial in turn, and the best so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bopp.data import Array
from bopp.result import Result
from bopp.view.values import best_of, broken_by, finished, spent_after, values_of


@dataclass(frozen=True, eq=False)
class Convergence:
    """How the values changed from trial to trial.

    numbers       the finished trials, counted from 0
    spent         how many real evaluations had been spent once each of them had ended, failed ones included;
                  a trial that was observed elsewhere costs none
    observed      whether each was observed elsewhere
    values        (n,) their values
    best          (n,) the best of these so far that meets the constraints; NaN before the first one
    broken        whether each breaks a constraint
    failed        numbers of the trials that failed
    failed_spent  how many evaluations had been spent with each of these
    """

    numbers: list[int]
    spent: list[float]
    observed: list[bool]
    values: Array
    best: Array
    broken: list[bool]
    failed: list[int]
    failed_spent: list[float]


def convergence(result: Result) -> Convergence:
    """The values of the finished trials in order, and the best so far."""
    trials = finished(result, "a convergence plot")
    values = values_of(result, trials)
    known = best_of(result) is not None
    chosen = [known and result.problem.real(trial) and result.problem.feasible(trial) for trial in trials]
    gains = np.where(chosen, result.problem.gain(values), np.nan)
    spent = spent_after(result)
    failed = [trial.number for trial in result.trials if trial.state == "failed"]
    return Convergence(
        numbers=[trial.number for trial in trials],
        spent=[spent[trial.number] for trial in trials],
        observed=[trial.origin == "observed" for trial in trials],
        values=values,
        best=result.problem.gain(np.fmax.accumulate(gains)),  # fmax prefers any number to NaN
        broken=[bool(broken_by(result.problem, trial)) for trial in trials],
        failed=failed,
        failed_spent=[spent[number] for number in failed],
    )
