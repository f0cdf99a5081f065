"""The front of several objectives: where its trials and the others lie, and what it dominates over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import MissingExtra, NoResultError, RecipeError, installation
from bopp.front import found_reference
from bopp.legible import brief
from bopp.problem import Problem
from bopp.result import Result
from bopp.trial import Trial
from bopp.view.values import spent_after

LARGEST = np.finfo(np.float64).max
MOST = 4  # objectives that are shown if nobody says which

Place = Literal["front", "dominated", "broken", "incomplete"]


@dataclass(frozen=True, eq=False)
class Front:
    """The finished trials by their objectives.

    names      the objectives
    numbers    the finished trials
    values     (n, k) their values; NaN where one was not measured
    places     where each trial is: "front", "dominated", "broken" if it breaks a constraint, "incomplete" if
               something that decides this was not measured, or it was a cheap evaluation
    reference  (k,) the values that a trial must surpass in all objectives to be worth anything; None where
               nobody said so and no trial tells
    """

    names: list[str]
    numbers: list[int]
    values: Array
    places: list[Place]
    reference: Array | None


@dataclass(frozen=True, eq=False)
class Hypervolume:
    """The volume that the front dominates: between its trials and the reference, in units of the objectives.

    numbers    the finished trials, in order
    spent      how many real evaluations had been spent once each of them had ended, failed ones included
    volumes    (n,) the hypervolume after each of these
    reference  the values that a trial must surpass in all objectives to count
    """

    numbers: list[int]
    spent: list[float]
    volumes: Array
    reference: Mapping[str, float]


def front(result: Result, names: Sequence[str] | None = None) -> Front:
    """The finished trials by some of the objectives; None is all of them, or the first four."""
    problem, done = result.problem, _finished(result, "a front")
    chosen = list(problem.objectives)[:MOST] if names is None else _checked(problem, names)
    best = {trial.number for trial in result.front}
    columns = [list(problem.objectives).index(name) for name in chosen]
    gains = _gains(problem, done)
    counted = _counted(problem, done)
    at = _reference(problem, gains[counted])
    signs = _signs(problem)
    return Front(
        names=chosen,
        numbers=[trial.number for trial in done],
        values=(gains * signs)[:, columns],
        places=[
            _place(problem, trial, trial.number in best, c) for trial, c in zip(done, counted, strict=True)
        ],
        reference=None if at is None else (at * signs)[columns],
    )


def hypervolume(result: Result, reference: Mapping[str, float] | None = None) -> Hypervolume:
    """The hypervolume of the front after each finished trial; the reference is that of all of them."""
    problem, done = result.problem, _finished(result, "a hypervolume")
    volume_of = _moocore().hypervolume
    gains, counted = _gains(problem, done), _counted(problem, done)
    at = _reference(problem, gains[counted], reference)
    if at is None:
        raise NoResultError(
            "a hypervolume wants a reference, or a trial that has all objectives and meets the constraints, "
            f"got none in {len(done)} finished trials"
        )
    above = gains[counted] / 2.0 - at / 2.0  # halves, as a difference of two floats may be larger than any
    size = np.maximum(above.max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    best, volume, volumes = gains[:0], 0.0, []
    for row, counts in zip(gains, counted, strict=True):
        if counts and (row > at).all() and not (best >= row).all(axis=1).any():
            best = np.vstack([best[(best > row).any(axis=1)], row])
            shares = (best / 2.0 - at / 2.0) / size  # so that no product overflows on the way
            volume = float(volume_of(-shares, ref=np.zeros(len(at))))  # smaller is better to moocore
            with np.errstate(over="ignore", under="ignore"):
                volume = float(min(volume * np.prod(2.0 * size), LARGEST))
        volumes.append(volume)
    spent = spent_after(result)
    return Hypervolume(
        numbers=[trial.number for trial in done],
        spent=[spent[trial.number] for trial in done],
        volumes=np.array(volumes),
        reference=dict(zip(problem.objectives, (at * _signs(problem)).tolist(), strict=True)),
    )


def _finished(result: Result, view: str) -> list[Trial]:
    names = list(result.problem.objectives)
    if len(names) < 2:
        raise RecipeError(f"{view} wants several objectives, got {names}; plot_convergence shows one")
    done = [trial for trial in result.trials if trial.state == "done"]
    if not done:
        raise NoResultError(f"{view} wants a finished trial, got none in {len(result.trials)} trials")
    return done


def _checked(problem: Problem, names: Any) -> list[str]:
    found = [] if isinstance(names, str) or not isinstance(names, Sequence) else list(names)
    if (
        len(found) < 2
        or len(set(found)) < len(found)
        or any(name not in problem.objectives for name in found)
    ):
        wanted = list(problem.objectives)
        raise RecipeError(f"names: wanted two or more of the objectives {wanted}, got {brief(names)}")
    return found


def _signs(problem: Problem) -> Array:
    """What turns values (k,) of the objectives into larger-is-better, and back."""
    return np.array([float(problem.gain(1.0, name)) for name in problem.objectives])


def _gains(problem: Problem, trials: Sequence[Trial]) -> Array:
    """The objectives (n, k) of finished trials, larger is better; NaN where one was not measured."""
    rows = [[trial.values[name] for name in problem.objectives] for trial in trials]
    return np.array(rows, dtype=np.float64) * _signs(problem)


def _counted(problem: Problem, trials: Sequence[Trial]) -> npt.NDArray[np.bool_]:
    """Which trials (n,) may be on the front: real ones that have every objective and meet the constraints."""
    whole = ~np.isnan(_gains(problem, trials)).any(axis=1)
    met = [problem.real(trial) and problem.feasible(trial) for trial in trials]
    return np.asarray(whole & np.array(met))


def _place(problem: Problem, trial: Trial, best: bool, counted: bool) -> Place:
    if best:
        return "front"
    if problem.broken(trial):
        return "broken"
    return "dominated" if counted else "incomplete"


def _reference(problem: Problem, gains: Array, given: Mapping[str, float] | None = None) -> Array | None:
    """The reference (k,) that is given, or that of the problem, or one found out; larger is better."""
    if given is None:
        given = problem.reference
    else:
        given = Problem(problem.space, problem.objectives, reference=given).reference
    if given is not None:
        return np.array([given[name] for name in problem.objectives]) * _signs(problem)
    with np.errstate(over="ignore"):  # a range may be larger than any float
        return np.clip(found_reference(gains), -LARGEST, LARGEST) if len(gains) else None


def _moocore() -> Any:
    try:
        import moocore
    except ImportError as error:
        raise MissingExtra(f"hypervolumes want moocore: {installation('front')}", extra="front") from error
    return moocore
