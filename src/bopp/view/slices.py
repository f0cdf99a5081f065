"""Slices: what the model believes along one parameter, with all others as in the best trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.parameter import Parameter
from bopp.problem import Problem
from bopp.result import Result
from bopp.suggest import Model, Recipe, believe
from bopp.threads import one_thread
from bopp.trial import Trial
from bopp.view.values import best_of, finished, values_of

POINTS = 101  # along a range of numbers
LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class Slice:
    """What is believed along one parameter, in the unit of the objective, and what was observed.

    along      values of the parameter, from one end to the other
    mean       (m,) the mean of the model there
    low, high  (m,) two of the model's standard deviations to either side
    tried      the parameter's value in each finished trial
    told       (n,) the values of these trials
    """

    name: str
    parameter: Parameter
    along: list[Any]
    mean: Array
    low: Array
    high: Array
    tried: list[Any]
    told: Array


@one_thread()
def slices(result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None) -> list[Slice]:
    """A slice through the best trial for each of these parameters, or for all of them if `names` is None.

    The model is that of the recipe; None is the default one. If no trial meets the constraints, the slices go
    through the best of those that do not.
    """
    names = list(result.space.parameters) if names is None else list(names)
    unknown = [name for name in names if name not in result.space.parameters]
    if unknown or not names:
        raise SpaceError(f"wanted some of the parameters {list(result.space.parameters)}, got {names}")
    trials = finished(result, "a slice")
    model = believe(result.history().data, Recipe.default() if recipe is None else recipe)
    unconstrained = Problem(result.space, result.problem.objectives)
    centre = best_of(result) or unconstrained.best(trials)
    return [_slice(result, trials, model, centre, name) for name in names]


def _slice(result: Result, trials: list[Trial], model: Model, centre: Trial, name: str) -> Slice:
    parameter = result.space.parameters[name]
    along = parameter.spread(POINTS)
    points = [result.space.encode(centre.params | {name: value}) for value in along]
    mean, sd = model.beliefs(np.array(points))
    with np.errstate(over="ignore"):  # for values near the largest float
        gains = [model.scale.inverse(z) for z in (mean, mean - 2.0 * sd, mean + 2.0 * sd)]
    middle, one, other = np.clip(result.problem.gain(np.array(gains)), -LARGEST, LARGEST)
    return Slice(
        name=name,
        parameter=parameter,
        along=along,
        mean=middle,
        low=np.minimum(one, other),
        high=np.maximum(one, other),
        tried=[trial.params[name] for trial in trials],
        told=values_of(result, trials),
    )
