"""The picture of a front: trials by their objectives, two by two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.problem import Problem
from bopp.result import Result
from bopp.view.canvas import FEW, SIZE, bounded, canvas, drawable
from bopp.view.drawing.style import BROKEN, DOTS, GREY, LARGE, LINE, finish, plain
from bopp.view.front import Front, Place
from bopp.view.front import front as front_of
from bopp.view.values import ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDEST = 3  # panels in a row, at most
LOOKS: dict[Place, tuple[str, dict[str, Any]]] = {
    "dominated": ("dominated", {"color": DOTS}),
    "incomplete": ("not all measured", {"color": GREY, "facecolors": "none"}),
    "broken": ("breaks a constraint", BROKEN),
    "front": ("front", {"color": LINE, "zorder": 4}),
}


def front(result: Result, names: Sequence[str] | None = None, title: str | None = None) -> Figure:
    """A panel for each pair of objectives; a staircase bounds what the front of two dominates."""
    shown = front_of(result, names)
    pairs = list(combinations(range(len(shown.names)), 2))
    rows = -(-len(pairs) // WIDEST)
    columns = -(-len(pairs) // rows)
    size = (max(SIZE[0], 3.2 * columns), 4.8 if len(pairs) == 1 else 1.2 + 2.8 * rows)
    figure, grid = canvas(rows, columns, size)
    reach = [_limits(shown, column) for column in range(len(shown.names))]
    for axes in grid.flat[len(pairs) :]:
        axes.remove()
    for axes, pair in zip(grid.flat, pairs, strict=False):
        corner = reach[pair[0]], reach[pair[1]]
        _draw_pair(axes, result.problem, shown, pair, corner)
        if len(result.problem.objectives) == 2:
            _draw_stairs(axes, result.problem, shown, corner)
    low, high = np.transpose(reach)
    beyond = int(((shown.values < low) | (shown.values > high)).any(axis=1).sum())
    return finish(figure, result, title, f"{beyond} beyond the picture" if beyond else "")


def _draw_pair(
    axes: Axes,
    problem: Problem,
    shown: Front,
    pair: tuple[int, int],
    reach: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    """The trials by two objectives, the front on top, and the reference if it is near."""
    (left, right), (bottom, top) = reach
    x, y = bounded(shown.values[:, pair[0]]), bounded(shown.values[:, pair[1]])
    inside = (left <= x) & (x <= right) & (bottom <= y) & (y <= top)
    places = np.array(shown.places)
    for place, (label, look) in LOOKS.items():
        here = (places == place) & inside
        if here.any():
            axes.scatter(x[here], y[here], label=label, **{"s": 18, "zorder": 3, "clip_on": False, **look})
    if shown.reference is not None:
        a, b = bounded(shown.reference[list(pair)])
        if left <= a <= right and bottom <= b <= top:
            axes.scatter([a], [b], s=60, marker="+", color="black", linewidths=1.2, label="reference")
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.set_xlabel(_label(problem, shown.names[pair[0]], wide=len(shown.names) == 2), size=LARGE)
    axes.set_ylabel(_label(problem, shown.names[pair[1]], wide=False), size=LARGE)
    plain(axes)


def _draw_stairs(
    axes: Axes, problem: Problem, shown: Front, reach: tuple[tuple[float, float], tuple[float, float]]
) -> None:
    """The edge of what the front dominates: on its good side no trial was found yet."""
    best = shown.values[np.array(shown.places) == "front"]
    if not len(best):
        return
    x, y = bounded(best[np.argsort(best[:, 0], kind="stable")]).T
    small = [problem.objectives[name] == "minimize" for name in shown.names]
    worst_x, worst_y = reach[0][small[0]], reach[1][small[1]]
    if small[0]:
        x, y = np.array([x[0], *x, worst_x]), np.array([worst_y, *y, y[-1]])
    else:
        x, y = np.array([worst_x, *x, x[-1]]), np.array([y[0], *y, worst_y])
    axes.step(x, y, where="post" if small[0] else "pre", color=LINE, lw=1.0, zorder=2)


def _limits(shown: Front, column: int) -> tuple[float, float]:
    """The ends of an axis: it has the front, other values but outliers, and the reference if it is near."""
    values = bounded(shown.values[:, column])
    told = ~np.isnan(values)
    if not told.any():
        return 0.0, 1.0
    low, high = ends(values[told])
    best: Array = values[told & (np.array(shown.places) == "front")]
    low, high = min([low, *best]), max([high, *best])
    if shown.reference is not None:
        at = float(bounded(shown.reference[column]))
        if 2.0 * low - high <= at <= 2.0 * high - low:
            low, high = min(low, at), max(high, at)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _label(problem: Problem, name: str, wide: bool) -> str:
    better = "smaller" if problem.objectives[name] == "minimize" else "larger"
    return f"{drawable(name, 2 * FEW if wide else FEW)} ({better} is better)"
