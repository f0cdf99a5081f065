"""Convergence: the value of each trial in turn, and the best so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bopp.data import Array
from bopp.result import Result
from bopp.view.values import finished, values_of


@dataclass(frozen=True, eq=False)
class Convergence:
    """How the values changed from trial to trial.

    numbers  the finished trials, counted from 0
    values   (n,) their values
    best     (n,) the best of these so far that meets the constraints; NaN before the first one
    failed   numbers of the trials that failed
    """

    numbers: list[int]
    values: Array
    best: Array
    failed: list[int]


def convergence(result: Result) -> Convergence:
    """The values of the finished trials in order, and the best so far."""
    trials = finished(result, "a convergence plot")
    values = values_of(result, trials)
    feasible = [result.problem.feasible(trial) for trial in trials]
    gains = np.where(feasible, result.problem.gain(values), np.nan)
    return Convergence(
        numbers=[trial.number for trial in trials],
        values=values,
        best=result.problem.gain(np.fmax.accumulate(gains)),  # fmax prefers any number to NaN
        failed=[trial.number for trial in result.trials if trial.state == "failed"],
    )
