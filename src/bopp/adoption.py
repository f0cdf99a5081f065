"""Adoption: trials of an earlier space as trials of the present one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bopp.errors import SpaceError, TellError
from bopp.problem import Problem
from bopp.space import Params
from bopp.trial import Trial

OUTSIDE = "outside of the space: "


def adopted(
    problem: Problem, trials: Iterable[Trial], at: datetime, values: Mapping[str, Any] | None = None
) -> tuple[Trial, ...]:
    """The trials with params of this problem's space; those that do not fit it are dropped, at this time.

    `values` has the values that new parameters had so far. A trial that was dropped because it did not fit an
    earlier space counts again if it fits this one.
    """
    return tuple(_adopted(problem, trial, number, at, values or {}) for number, trial in enumerate(trials))


def check_trial(problem: Problem, trial: Any, number: int) -> None:
    """Refuse what is no trial with this number, or does not have what its state requires."""
    if not isinstance(trial, Trial) or trial.number != number or not problem.fits(trial):
        raise TellError(
            f"trials: wanted trial {number} with a value if it is done, got {trial!r}", trial=number
        )


def _adopted(problem: Problem, trial: Trial, number: int, at: datetime, values: Mapping[str, Any]) -> Trial:
    check_trial(problem, trial, number)
    was_outside = not trial.counts and trial.superseded[-1].reason.startswith(OUTSIDE)
    if not trial.counts and not was_outside:
        return trial
    try:
        params = _moved(problem, trial, values)
    except SpaceError as error:
        return trial if was_outside else trial.dropped(at, f"{OUTSIDE}{error}")
    return replace(trial.restored() if was_outside else trial, params=params)


def _moved(problem: Problem, trial: Trial, values: Mapping[str, Any]) -> Params:
    """The params of a trial in this space: whatever does not apply there is left out."""
    space = problem.space
    if gone := [name for name in trial.params if name not in space.parameters]:
        raise TellError(
            f"trials: {gone[0]!r} is no longer in the space: keep it as Fixed(...), "
            "and the trials that had this value count",
            trial=trial.number,
        )
    params = space.cut({**values, **trial.params})
    if new := [name for name in space.missing(params) if name not in values]:
        raise TellError(
            f"trials: {new[0]!r} is new in the space: wanted the value that it had so far", trial=trial.number
        )
    return space.check(params)
