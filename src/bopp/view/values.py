"""The values of a result: which trials have one, and how far an axis of values reaches."""

from __future__ import annotations

import math

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError
from bopp.result import Result
from bopp.trial import Trial


def finished(result: Result, view: str) -> list[Trial]:
    """The finished trials; an error if there are none, or if there are several objectives."""
    name = result.problem.objective
    trials = [trial for trial in result.trials if name in trial.values]
    if not trials:
        raise NoResultError(
            f"{view} wants at least one finished trial, got none in {len(result.trials)} trials"
        )
    return trials


def values_of(result: Result, trials: list[Trial]) -> Array:
    """The values (n,) of finished trials."""
    return np.array([trial.values[result.problem.objective] for trial in trials])


def best_of(result: Result) -> Trial | None:
    """The best trial, or None if none meets the constraints."""
    try:
        return result.best
    except NoResultError:
        return None


def ends(values: Array, best: float = math.nan) -> tuple[float, float]:
    """An interval with the best value, if there is one, and the others except for a tenth at either end."""
    low = np.quantile(values, 0.1, method="lower")  # actual values: interpolating could overflow
    high = np.quantile(values, 0.9, method="higher")
    return float(np.fmin(best, low)), float(np.fmax(best, high))
