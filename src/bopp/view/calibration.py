"""Calibration: what the model would have predicted for each trial if it had not seen its value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import RecipeError
from bopp.gp import Posterior
from bopp.model import Model, believe
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.threads import one_thread
from bopp.view.prediction import in_units
from bopp.view.values import finished, values_of

WIDTH = 1.959964  # standard deviations to either side of a normal mean, between which 95 % lie


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predictions of the finished trials, each from all others, in the unit of the objective.

    numbers    the finished trials
    observed   (n,) their values
    predicted  (n,) what the model expects without each of them
    low, high  (n,) the interval in which it expects the value with a probability of 95 %
    inside     (n,) whether the value lies there
    """

    numbers: list[int]
    observed: Array
    predicted: Array
    low: Array
    high: Array
    inside: npt.NDArray[np.bool_]


@one_thread()
def calibration(result: Result, recipe: Recipe | None = None) -> Calibration:
    """Every finished trial as the model of all others predicts it, noise included.

    The model is that of the recipe; None is the default one. It is the one without sources of knowledge, by
    which they are judged: what they say was weighed against the very values that would be left out. Its
    hyper-parameters stay those of all trials, so it looks a little better than it would be.
    """
    trials = finished(result, "calibration", least=2)
    model = believe(result.history().data, Recipe.default() if recipe is None else recipe)
    mean, sd = _left_out(model)
    ends = np.array([mean, mean - WIDTH * sd, mean + WIDTH * sd])
    middle, one, other = in_units(result.problem, model, ends)
    return Calibration(
        numbers=[trial.number for trial in trials],
        observed=values_of(result, trials),
        predicted=middle,
        low=np.minimum(one, other),
        high=np.maximum(one, other),
        inside=np.abs(model.data.y - mean) <= WIDTH * sd,
    )


def _left_out(model: Model) -> tuple[Array, Array]:
    """Mean and standard deviation (n,) of each observation given all others, over all beliefs."""
    means, variances = [], []
    for belief in model.beliefs:
        if not isinstance(belief, Posterior) or len(belief.data) != len(model.data):
            raise RecipeError(
                f"calibration wants a fit that gives Gaussian processes of all observations, got {belief!r}"
            )
        mean, sd = belief.leave_one_out()
        means.append(mean)
        variances.append(sd**2)
    mean = model.beliefs.average(means)
    spread = [variance + (one - mean) ** 2 for variance, one in zip(variances, means, strict=True)]
    return mean, np.sqrt(model.beliefs.average(spread))
