"""The values of a result: which trials have one, which is best, and how far an axis of values reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError, SpaceError
from bopp.legible import brief
from bopp.plain import has_absent
from bopp.problem import Problem
from bopp.result import Result, finding
from bopp.space import Space
from bopp.trial import Trial


def finished(result: Result, view: str, least: int = 1) -> list[Trial]:
    """The trials that have a value; an error if there are too few, or if there are several objectives."""
    name = result.problem.objective
    trials = [trial for trial in result.trials if trial.values.get(name) is not None]
    if len(trials) < least:
        wanted = "one finished trial" if least == 1 else f"{least} finished trials"
        raise NoResultError(
            f"{view} wants at least {wanted}, got {len(trials) or 'none'} in {len(result.trials)} trials"
        )
    return trials


def spent_after(result: Result) -> dict[int, float]:
    """How many real evaluations had been spent once each trial had ended, failed ones included."""
    costs = (result.problem.cost(trial) if trial.spent else 0 for trial in result.trials)
    return dict(zip((trial.number for trial in result.trials), accumulate(costs), strict=True))


def values_of(result: Result, trials: Sequence[Trial]) -> Array:
    """The values (n,) of finished trials."""
    return np.array([trial.values[result.problem.objective] for trial in trials], dtype=np.float64)


def best_of(result: Result) -> Trial | None:
    """The best trial, or None if none is known to meet the constraints."""
    try:
        return result.best
    except NoResultError:
        return None


def summary(result: Result) -> tuple[str, ...]:
    """How many trials are done, failed and under way, and what was found."""
    states = [trial.state for trial in result.trials]
    found = finding(result, "cannot be told here" if has_absent(result.problem) else "none yet")
    return *(str(states.count(state)) for state in ("done", "failed", "asked")), found.removeprefix("best ")


def broken_by(problem: Problem, trial: Trial) -> list[str]:
    """The constraints that a trial breaks, in words; none if it is not finished or they cannot be checked."""
    try:
        return problem.broken(trial) if trial.state == "done" else []
    except NoResultError:
        return []


def remark(problem: Problem, trial: Trial) -> str:
    """What else there is to say of a trial, in short: what it lacks and breaks, why it failed, notes."""
    said = [f"without {', '.join(trial.unmeasured)}"] if trial.unmeasured else []
    try:
        said += problem.broken(trial) if trial.state == "done" else []
    except NoResultError as reason:
        said.append(str(reason))
    said += [text for text in (trial.reason, trial.notes) if text]
    said += [f"{past.state} before: {past.reason}" for past in trial.superseded[-1:]]
    return "; ".join(said)


def best_value(result: Result) -> float:
    """The value of the best trial; NaN if there is none."""
    best = best_of(result)
    return math.nan if best is None else best.value


def ranked(result: Result, trials: Sequence[Trial]) -> list[Trial]:
    """Finished trials, the best first; those that meet the constraints before the others."""
    unknown = best_of(result) is None  # no trial meets the constraints, or they cannot be checked here
    met = [result.problem.real(trial) and (unknown or result.problem.feasible(trial)) for trial in trials]
    gains = result.problem.gain(values_of(result, trials))
    order = sorted(range(len(trials)), key=lambda i: (not met[i], -gains[i]))
    return [trials[i] for i in order]


def ends(values: Array, *best: float) -> tuple[float, float]:
    """An interval with the best values, of which some may be NaN, and all others but outliers.

    An outlier is farther from the inner eight tenths of the values than these are from each other.
    """
    low = np.quantile(values, 0.1, method="lower")  # actual values: interpolating could overflow
    high = np.quantile(values, 0.9, method="higher")
    with np.errstate(over="ignore"):
        reach = high - low
        near = values[(low - reach <= values) & (values <= high + reach)]
    return float(np.nanmin([near.min(), *best])), float(np.nanmax([near.max(), *best]))


def searched(space: Space) -> list[str]:
    """The parameters that are searched for: all but the fixed ones."""
    return [name for name, parameter in space.parameters.items() if parameter.width]


def checked_names(space: Space, names: Any) -> list[str]:
    """Some of the parameters that are searched for, or an error that lists them."""
    known = searched(space)
    if isinstance(names, str):
        raise SpaceError(f"wanted a list of parameters such as names={[names]}, got the text {names!r}")
    try:
        found = list(names)
    except TypeError:
        found = []
    if not found or any(name not in known for name in found):
        raise SpaceError(f"wanted some of the parameters {known}, got {brief(names)}")
    return found
