"""Slices: what the model believes along one parameter, with all others as in the best trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bopp.data import Array, Data
from bopp.errors import NoResultError
from bopp.model import Model
from bopp.parameter import Parameter
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.threads import one_thread
from bopp.trial import Trial
from bopp.view.points import through
from bopp.view.prediction import in_units, model_of
from bopp.view.sources import points_of, trend_of
from bopp.view.values import best_of, checked_names, finished, ranked, searched, values_of

POINTS = 101  # along a range of numbers
NEAR = 0.25  # of the variance of the values: a point is near if the model expects no more difference to it


@dataclass(frozen=True, eq=False)
class Said:
    """What a source of knowledge says along a slice, in the unit of the objective.

    source  its name
    along   values of the parameter
    values  (m,) what it says there
    trend   whether this is a trend that the model follows, all along the slice, or points near it
    """

    source: str
    along: list[Any]
    values: Array
    trend: bool = False


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
    said       what sources of knowledge say here
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
    said: tuple[Said, ...] = ()


@one_thread()
def slices(result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None) -> list[Slice]:
    """A slice through the best trial for each of these parameters, or for all of them if `names` is None.

    The model is that of `model_of`. Where the best trial lacks the parameter, the slice goes through the best
    of those that have it; a parameter that no finished trial has is left out. If no trial meets the
    constraints, slices go through the best of those that do not.
    """
    names = searched(result.space) if names is None else checked_names(result.space, names)
    trials = ranked(result, finished(result, "a slice"))
    there = [name for name in names if any(name in trial._params for trial in trials)]
    if not there:
        raise NoResultError(f"a slice wants a finished trial that has {' or '.join(map(repr, names))}")
    model = model_of(result, recipe)
    return [_slice(result, trials, model, name) for name in there]


def _slice(result: Result, trials: list[Trial], model: Model, name: str) -> Slice:
    having = [trial for trial in trials if name in trial._params]
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
        tried=[trial._params[name] for trial in in_order],
        told=values_of(result, in_order),
        best=None if best is None or name not in best._params else in_order.index(best),
        centre=having[0].number,
        said=_said(result, [*having, *trials], model, name, along),
    )


def _said(result: Result, trials: list[Trial], model: Model, name: str, along: list[Any]) -> tuple[Said, ...]:
    """The trend of the model along the slice, if it has one, and the points of each source near it."""
    said = []
    if trend := trend_of(model, through(result.space, trials, {name: along})[0]):
        said.append(Said(trend[0], along, in_units(result.problem, model, trend[1]), trend=True))
    for source, points in points_of(model.accounts):
        near = _near(result, trials, model, name, points)
        columns = near.X[:, result.space.columns[name]].tolist()
        values = [result.space.parameters[name].decode(u) for u in columns]
        if values:
            said.append(Said(source, values, in_units(result.problem, model, near.y)))
    return tuple(said)


def _near(result: Result, trials: list[Trial], model: Model, name: str, points: Data) -> Data:
    """Those of the points that lie near the slice."""
    space = result.space
    columns = space.columns[name]
    inside = ((points.X >= 0.0) & (points.X <= 1.0)).all(axis=1)
    points = points[np.flatnonzero(inside)]
    points = points[np.flatnonzero(space.applies(points.X)[:, columns].all(axis=1))]
    if not len(points):
        return points
    values = [space.parameters[name].decode(u) for u in points.X[:, columns].tolist()]
    onto, _ = through(space, trials, {name: values})
    off = model.beliefs.average([belief.difference(points.X, onto) for belief in model.beliefs])
    return points[np.flatnonzero(off <= NEAR * model.data.y.var())]
