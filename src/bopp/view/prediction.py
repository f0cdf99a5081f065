"""Predictions: what the model expects of any params, in the unit of the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.fidelity import searching
from bopp.knowledge import Account
from bopp.model import Model, learn
from bopp.problem import Problem
from bopp.pseudo import Sum, sources
from bopp.pseudo.policy import parts
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.threads import one_thread
from bopp.view.values import finished

LARGEST = np.finfo(np.float64).max
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)  # E[g(z)], z standard normal, by Gauss and Hermite


class Prediction(NamedTuple):
    """What is expected of the objective, and how far it may be off: one standard deviation."""

    mean: float
    sd: float


@one_thread()
def predictions(
    result: Result, params: Sequence[Mapping[str, Any]], recipe: Recipe | None = None
) -> list[Prediction]:
    """Mean and standard deviation of the objective at each of the params, without noise of measurements.

    The model is that of `model_of`.
    """
    if isinstance(params, str) or not isinstance(params, Sequence):
        raise SpaceError(f"wanted a dict of params or a list of them, got {params!r}")
    finished(result, "a prediction")
    U = np.array([result.space.encode(one) for one in params]).reshape(-1, result.space.dimension)
    model = model_of(result, recipe)
    return expected(result.problem, model, *model.beliefs(U))


def model_of(result: Result, recipe: Recipe | None = None) -> Model:
    """What is believed of a result; None is the default recipe with the sources that the result has."""
    problem, history = result.problem, result.history()
    return learn(
        problem.space, history, searching(recipe_of(result, recipe), problem.fidelity, problem.space, history)
    )


def accounts_of(result: Result, recipe: Recipe | None = None) -> tuple[Account, ...]:
    """What became of each source of knowledge; without measured values each is trusted as its user said."""
    name = result.problem.objective
    if all(trial.values.get(name) is None for trial in result.trials):
        return tuple(
            Account(source, source.trust, 0.0) for source in sources(recipe_of(result, recipe).pseudo)
        )
    return model_of(result, recipe).accounts


def recipe_of(result: Result, recipe: Recipe | None = None) -> Recipe:
    """The recipe given, or the default one with the sources that the result has."""
    if recipe is not None:
        return recipe
    default = Recipe.default()
    return replace(default, pseudo=Sum((*parts(default.pseudo), *result.sources)))


def expected(problem: Problem, model: Model, mean: Array, sd: Array) -> list[Prediction]:
    """What the model believes (m,) as means and standard deviations in the unit of the objective."""
    values = in_units(problem, model, mean[:, None] + sd[:, None] * NODES)
    size = np.abs(values).max(initial=0.0) or 1.0  # squares of large values would overflow
    shares, weights = values / size, WEIGHTS / WEIGHTS.sum()
    middle = shares @ weights
    off = np.sqrt((shares - middle[:, None]) ** 2 @ weights)
    return [Prediction(*pair) for pair in np.transpose([middle * size, off * size]).tolist()]


def in_units(problem: Problem, model: Model, z: Array) -> Array:
    """The model's values as values of the objective, within the limits that are known."""
    with np.errstate(over="ignore"):
        values = np.asarray(np.clip(problem.gain(model.scale.inverse(z)), -LARGEST, LARGEST))
    for account in model.accounts:
        if account.trust > 0.0:  # one that a value has broken has none
            values = np.clip(values, *account.source.limits())
    return values
