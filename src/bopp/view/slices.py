"""Slices: what the model believes along one parameter, with all others as in the best trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError
from bopp.parameter import Parameter
from bopp.result import Result
from bopp.suggest import Model, Recipe, believe
from bopp.threads import one_thread
from bopp.trial import Trial
from bopp.view.points import through
from bopp.view.prediction import in_units
from bopp.view.values import best_of, checked_names, finished, ranked, searched, values_of

POINTS = 101  # along a range of numbers


@dataclass(frozen=True, eq=False)
class Slice:
    """What is believed along one parameter, in the unit of the objective, and what was observed.

    along      values of the parameter, from one end to the other
    mean       (m,) the mean of the model there
    low, high  (m,) two of the model's standard deviations to either side
    tried      the parameter's value in each finished trial that has it
    told       (n,) the values of these trials
    best       which of these is the best trial of the result; None if that lacks the parameter
    centre     the number of the trial that the slice goes through
    """

    name: str
    parameter: Parameter
    along: list[Any]
    mean: Array
    low: Array
    high: Array
    tried: list[Any]
    told: Array
    best: int | None
    centre: int


@one_thread()
def slices(result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None) -> list[Slice]:
    """A slice through the best trial for each of these parameters, or for all of them if `names` is None.

    The model is that of the recipe; None is the default one. Where the best trial lacks the parameter, the
    slice goes through the best of those that have it; a parameter that no finished trial has is left out.
    If no trial meets the constraints, slices go through the best of those that do not.
    """
    names = searched(result.space) if names is None else checked_names(result.space, names)
    trials = ranked(result, finished(result, "a slice"))
    there = [name for name in names if any(name in trial.params for trial in trials)]
    if not there:
        raise NoResultError(f"a slice wants a finished trial that has {' or '.join(map(repr, names))}")
    model = believe(result.history().data, Recipe.default() if recipe is None else recipe)
    return [_slice(result, trials, model, name) for name in there]


def _slice(result: Result, trials: list[Trial], model: Model, name: str) -> Slice:
    having = [trial for trial in trials if name in trial.params]
    parameter = result.space.parameters[name]
    along = parameter.spread(POINTS)
    points, _ = through(result.space, [*having, *trials], {name: along})
    mean, sd = model.beliefs(points)
    ends = np.array([mean, mean - 2.0 * sd, mean + 2.0 * sd])
    middle, one, other = in_units(result.problem, model, ends)
    best, in_order = best_of(result), sorted(having, key=lambda trial: trial.number)
    return Slice(
        name=name,
        parameter=parameter,
        along=along,
        mean=middle,
        low=np.minimum(one, other),
        high=np.maximum(one, other),
        tried=[trial.params[name] for trial in in_order],
        told=values_of(result, in_order),
        best=None if best is None or name not in best.params else in_order.index(best),
        centre=having[0].number,
    )
