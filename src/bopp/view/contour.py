"""Contour: the model's mean over two parameters, with all others as in the best trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError, SpaceError
from bopp.problem import Direction
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.threads import one_thread
from bopp.trial import Trial
from bopp.view.canvas import FEW, NARROW, bounded, drawable
from bopp.view.coordinates import Axis, axis_of, name_marks
from bopp.view.importance import importance
from bopp.view.points import through
from bopp.view.prediction import in_units, model_of
from bopp.view.style import LARGE, SMALL, finish, panel, shades, star
from bopp.view.values import best_of, checked_names, ends, finished, ranked, searched

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

POINTS = 51  # along a range of numbers
SMOOTH = 20  # so many values along an axis are drawn as lines of equal height, fewer as cells
LEVELS = 12
HEIGHTS = ("#1f4a7d", "#8fb0cf", "#f2ede4")


@dataclass(frozen=True, eq=False)
class Contour:
    """What is believed over two parameters, in the unit of the objective, and what was tried.

    Places are positions along the two axes, each of which goes from 0 to 1.

    x, y    (k,), (m,) the places of the grid along both axes
    mean    (m, k) the mean of the model there; NaN where one of the parameters does not apply
    tried   (n, 2) the places of the finished trials that have both parameters
    failed  (f, 2) the places of the failed trials that have both
    best    which of the finished trials is the best of the result; None if that lacks one of the parameters
    centre  the number of the trial that the others are taken from
    """

    axes: tuple[Axis, Axis]
    x: Array
    y: Array
    mean: Array
    tried: Array
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
    across, up = (result.space.parameters[name].spread(POINTS) for name in (one, other))
    pairs = {one: across * len(up), other: [value for value in up for _ in across]}
    points, there = through(result.space, [*having, *trials], pairs)
    model = model_of(result, recipe)
    mean = np.where(there, in_units(result.problem, model, model.beliefs.mean(points)), np.nan)
    best, done = best_of(result), sorted(having, key=lambda trial: trial.number)
    failed = [trial for trial in result.trials if trial.state == "failed"]
    failed = [trial for trial in failed if {one, other} <= trial._params.keys()]
    return Contour(
        axes=(axis_of(one, result.space.parameters[one]), axis_of(other, result.space.parameters[other])),
        x=_places(result, one, across),
        y=_places(result, other, up),
        mean=mean.reshape(len(up), len(across)),
        tried=_dots(result, (one, other), done),
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
    pairs = combinations(names, 2)
    together = [pair for pair in pairs if any(set(pair) <= trial._params.keys() for trial in trials)]
    if not together:
        raise NoResultError("a contour wants two parameters that a finished trial has together, got none")
    return max(together, key=lambda pair: shares[pair[0]] + shares[pair[1]])


def _pair(result: Result, names: Sequence[str]) -> tuple[str, str]:
    found = checked_names(result.space, names)
    if len(found) != 2 or found[0] == found[1]:
        raise SpaceError(f"a contour wants two different parameters, got {names!r}")
    return found[0], found[1]


def _places(result: Result, name: str, values: Sequence[object]) -> Array:
    return np.array([result.space.parameters[name].place(value) for value in values])


def _dots(result: Result, names: tuple[str, str], trials: Sequence[Trial]) -> Array:
    rows = [_places(result, name, [trial._params[name] for trial in trials]) for name in names]
    return np.column_stack(rows)


def draw_contour(
    result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None, title: str | None = None
) -> Figure:
    """The model's mean over two parameters, the trials that have both, and the best of all."""
    shown = contour(result, names, recipe)
    figure, axes = panel(5.0)
    surface = _draw_mean(axes, shown, result.direction)
    bar = figure.colorbar(surface, ax=axes, extend=_extend(shown.mean))
    bar.set_label(f"{drawable(result.problem.objective)}, mean of the model", size=LARGE)
    bar.ax.tick_params(labelsize=SMALL)
    look: dict[str, Any] = {"s": 16, "clip_on": False, "zorder": 3}
    axes.scatter(
        *shown.tried.T, color="white", edgecolors="black", linewidths=0.6, label="evaluation", **look
    )
    if len(shown.failed):
        axes.scatter(*shown.failed.T, marker="x", color="black", linewidths=0.8, label="failed", **look)
    if shown.best is not None:
        star(axes, *shown.tried[shown.best])
    across, up = shown.axes
    name_marks(axes, across, room=60)
    labels = [drawable(mark.label, FEW) for mark in up.marks]
    axes.set_yticks([mark.place for mark in up.marks], labels)
    axes.set(xlabel=drawable(across.name), ylabel=drawable(up.name))
    best = best_of(result)
    other = best is not None and shown.centre != best.number
    return finish(figure, result, title, f"others as in trial {shown.centre}" if other else "")


def _draw_mean(axes: Axes, shown: Contour, direction: Direction) -> ScalarMappable:
    """Heights, the better the darker: even steps where both parameters have many values, otherwise cells."""
    mean = bounded(shown.mean)
    low, high = ends(mean[~np.isnan(mean)])
    if high - low <= NARROW * max(abs(low), abs(high)):  # equal but for rounding
        low, high = low - (0.05 * abs(low) or 1.0), high + (0.05 * abs(high) or 1.0)
    if 1e-323 < high - low < 1e-300:  # matplotlib divides by it
        raise NoResultError(f"heights from {low:.3g} to {high:.3g} are beyond what a contour can be drawn of")
    colours = shades(*(HEIGHTS if direction == "minimize" else HEIGHTS[::-1]))
    if all(axis.numeric for axis in shown.axes) and min(mean.shape) > SMOOTH:
        levels = np.linspace(low, high, LEVELS + 1)
        return axes.contourf(shown.x, shown.y, mean, levels=levels, cmap=colours, extend=_extend(mean))
    edges = _edges(shown.x), _edges(shown.y)
    return axes.pcolormesh(*edges, mean, vmin=low, vmax=high, cmap=colours)


def _extend(mean: Array) -> Literal["both", "neither"]:
    """At which ends of the colours some heights lie beyond them."""
    heights = mean[~np.isnan(mean)]
    return "neither" if (float(heights.min()), float(heights.max())) == ends(heights) else "both"


def _edges(places: Array) -> Array:
    """The edges (n + 1,) of cells around places (n,) between 0 and 1."""
    if len(places) == 1:
        return np.array([0.0, 1.0])
    middles = (places[1:] + places[:-1]) / 2.0
    return np.array([2 * places[0] - middles[0], *middles, 2 * places[-1] - middles[-1]])
