"""Predictions: what the model expects of any params, in the unit of the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.problem import Problem
from bopp.result import Result
from bopp.suggest import Model, Recipe, believe
from bopp.threads import one_thread
from bopp.view.values import finished

LARGEST = np.finfo(np.float64).max
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(
    32
)  # E[g(z)] for a standard normal z, by Gauss and Hermite


class Prediction(NamedTuple):
    """What is expected of the objective, and how far it may be off: one standard deviation."""

    mean: float
    sd: float


@one_thread()
def predictions(
    result: Result, params: Sequence[Mapping[str, Any]], recipe: Recipe | None = None
) -> list[Prediction]:
    """Mean and standard deviation of the objective at each of the params, without noise of measurements.

    The model is that of the recipe; None is the default one.
    """
    if isinstance(params, str) or not isinstance(params, Sequence):
        raise SpaceError(f"wanted a dict of params or a list of them, got {params!r}")
    finished(result, "a prediction")
    U = np.array([result.space.encode(one) for one in params]).reshape(-1, result.space.dimension)
    model = believe(result.history().data, Recipe.default() if recipe is None else recipe)
    mean, sd = model.beliefs(U)
    values = in_units(result.problem, model, mean[:, None] + sd[:, None] * NODES)
    size = np.abs(values).max(initial=0.0) or 1.0  # squares of large values would overflow
    parts, weights = values / size, WEIGHTS / WEIGHTS.sum()
    middle = parts @ weights
    off = np.sqrt((parts - middle[:, None]) ** 2 @ weights)
    return [Prediction(*pair) for pair in np.transpose([middle * size, off * size]).tolist()]


def in_units(problem: Problem, model: Model, z: Array) -> Array:
    """The model's values as values of the objective, bounded by the largest float."""
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(problem.gain(model.scale.inverse(z)), -LARGEST, LARGEST))
