"""Calibration: what the model would have predicted for each trial if it had not seen its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import RecipeError
from bopp.gp import Posterior
from bopp.model import Model, believe
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.threads import one_thread
from bopp.view.canvas import bounded, drawable
from bopp.view.prediction import in_units
from bopp.view.style import DOTS, GREY, LINE, dots, finish, limits, panel
from bopp.view.values import best_value, finished, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 1.959964  # standard deviations to either side of a normal mean, between which 95 % lie


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predictions of the finished trials, each from all others, in the unit of the objective.

    observed   (n,) their values
    predicted  (n,) what the model expects without each of them
    low, high  (n,) the interval in which it expects the value with a probability of 95 %
    inside     (n,) whether the value lies there
    """

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
    interval = np.array([mean - WIDTH * sd, mean, mean + WIDTH * sd])
    low, middle, high = np.sort(in_units(result.problem, model, interval), axis=0)
    return Calibration(
        observed=values_of(result, trials),
        predicted=middle,
        low=low,
        high=high,
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


def draw_calibration(result: Result, recipe: Recipe | None = None, title: str | None = None) -> Figure:
    """The value of each trial, and what the model predicts for it from all others, with 95 % intervals."""
    shown = calibration(result, recipe)
    figure, axes = panel(5.0)
    low, high = limits(shown.observed, [best_value(result)])
    observed, predicted = bounded(shown.observed), bounded(shown.predicted)
    bottom, top = np.clip(bounded([shown.low, shown.high]), low, high)
    seen = (low <= observed) & (observed <= high)
    for inside, colour, label in ((True, DOTS, "in its interval"), (False, LINE, "outside of it")):
        here = (shown.inside == inside) & seen
        if here.any():
            width = 1.2 if len(observed) < 100 else 0.5
            axes.vlines(observed[here], bottom[here], top[here], color=colour, lw=width, alpha=0.6)
            dots(axes, observed[here], predicted[here], low, high, label, color=colour)
    axes.plot([low, high], [low, high], color=GREY, lw=0.8, ls="--", label="as predicted", zorder=1)
    name = drawable(result.problem.objective)
    axes.set(xlim=(low, high), xlabel=f"{name}, observed")
    axes.set(ylim=(low, high), ylabel=f"{name}, predicted without it")
    count, rate = int(shown.inside.sum()), shown.inside.mean()
    note = f"{count} of {len(observed)} values ({rate:.0%}) lie in their 95 % interval"
    if not seen.all():
        note += f"; {len(observed) - int(seen.sum())} beyond the picture"
    return finish(figure, result, title, note)
