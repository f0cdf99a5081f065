"""Contour: the model's mean over two parameters, with all others as in the best trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError, SpaceError
from bopp.parameter import Parameter
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.threads import one_thread
from bopp.trial import Trial
from bopp.view.coordinates import Axis, axis_of
from bopp.view.importance import importance
from bopp.view.points import through
from bopp.view.prediction import in_units, model_of
from bopp.view.values import best_of, checked_names, finished, ranked, searched, values_of

POINTS = 51  # along a range of numbers
MOST = 100  # of options: more cells than this side by side cannot be told apart


@dataclass(frozen=True, eq=False)
class Contour:
    """What is believed over two parameters, in the unit of the objective, and what was tried.

    Places are positions along the two axes, each of which goes from 0 to 1.

    x, y    (k,), (m,) the places of the grid along both axes
    mean    (m, k) the mean of the model there; NaN where one of the parameters does not apply
    tried   (n, 2) the places of the finished trials that have both parameters
    told    (n,) the values of these trials
    failed  (f, 2) the places of the failed trials that have both
    best    which of the finished trials is the best of the result; None if that lacks one of the parameters
    centre  the number of the trial that the others are taken from
    """

    axes: tuple[Axis, Axis]
    x: Array
    y: Array
    mean: Array
    tried: Array
    told: Array
    failed: Array
    best: int | None
    centre: int


@one_thread()
def contour(result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None) -> Contour:
    """The mean over these two parameters, or over the two most important ones if `names` is None.

    The model is that of `model_of`. Where the best trial lacks one of the parameters, the others are as in
    the best trial that has both.
    """
    trials = ranked(result, finished(result, "a contour"))
    one, other = _most_important(result, trials) if names is None else _pair(result, names)
    having = [trial for trial in trials if {one, other} <= trial._params.keys()]
    if not having:
        raise NoResultError(f"a contour wants a finished trial that has {one!r} and {other!r}, got none")
    across, up = (_along(result.space.parameters[name]) for name in (one, other))
    pairs = {one: across * len(up), other: [value for value in up for _ in across]}
    points, there = through(result.space, [*having, *trials], pairs)
    model = model_of(result, recipe)
    mean = np.where(there, in_units(result.problem, model, model.beliefs.mean(points)), np.nan)
    x, y = _places(result, one, across), _places(result, other, up)
    best, done = best_of(result), sorted(having, key=lambda trial: trial.number)
    failed = [
        trial for trial in result.trials if trial.state == "failed" and {one, other} <= trial._params.keys()
    ]
    return Contour(
        axes=(axis_of(one, result.space.parameters[one]), axis_of(other, result.space.parameters[other])),
        x=x,
        y=y,
        mean=mean.reshape(len(y), len(x)),
        tried=_dots(result, (one, other), done),
        told=values_of(result, done),
        failed=_dots(result, (one, other), failed),
        best=done.index(best) if best in done else None,
        centre=having[0].number,
    )


def _most_important(result: Result, trials: list[Trial]) -> tuple[str, str]:
    """The two parameters that the values depend on most, of those that some finished trial has together."""
    names = searched(result.space)
    if len(names) < 2:
        raise NoResultError(f"a contour wants two parameters, got only {names[0]!r}")
    shares = {name: found.share for name, found in importance(result).items()}
    pairs = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]
    together = [pair for pair in pairs if any(set(pair) <= trial._params.keys() for trial in trials)]
    if not together:
        raise NoResultError("a contour wants two parameters that a finished trial has together, got none")
    return max(together, key=lambda pair: shares[pair[0]] + shares[pair[1]])


def _pair(result: Result, names: Sequence[str]) -> tuple[str, str]:
    found = checked_names(result.space, names)
    if len(found) != 2 or found[0] == found[1]:
        raise SpaceError(f"a contour wants two different parameters, got {names!r}")
    return found[0], found[1]


def _along(parameter: Parameter) -> list[Any]:
    values = parameter.spread(POINTS)
    return values[:: -(-len(values) // MOST)]


def _places(result: Result, name: str, values: Sequence[object]) -> Array:
    return np.array([result.space.parameters[name].place(value) for value in values])


def _dots(result: Result, names: tuple[str, str], trials: Sequence[Trial]) -> Array:
    rows = [_places(result, name, [trial._params[name] for trial in trials]) for name in names]
    return np.column_stack(rows)
