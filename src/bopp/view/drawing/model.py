"""Pictures of what the model believes: slices, contour, importance and calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError
from bopp.parameter import Parameter
from bopp.problem import Direction
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.view.calibration import calibration as calibration_of
from bopp.view.canvas import FEW, SIZE, bounded, canvas, drawable
from bopp.view.contour import Contour
from bopp.view.contour import contour as contour_of
from bopp.view.coordinates import Axis, axis_of
from bopp.view.drawing.style import (
    BAND,
    COLOURS,
    DOTS,
    GREY,
    LARGE,
    LINE,
    SMALL,
    arrows,
    dots,
    finish,
    limits,
    plain,
    star,
)
from bopp.view.importance import importance
from bopp.view.slices import Said, Slice
from bopp.view.slices import slices as slices_of
from bopp.view.values import best_of, ends, finished, searched, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

WIDEST = 4  # slices in a row, at most
SMOOTH = 20  # so many values along an axis are drawn as lines of equal height, fewer as cells
LEVELS = 12
SAYING, MARKERS = COLOURS[1:], ("D", "s", "P", "X", "p", "h")  # of sources of knowledge
NARROW = 1e-12  # of its size is the least range that matplotlib divides into marks
HEIGHTS = ("#1f4a7d", "#8fb0cf", "#f2ede4")


def slices(
    result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None, title: str | None = None
) -> Figure:
    """The model's mean and two standard deviations along each parameter, through the best trial."""
    shown = slices_of(result, names, recipe)
    rows = -(-len(shown) // WIDEST)
    columns = -(-len(shown) // rows)
    size = max(SIZE[0], 3.2 * columns), 1.2 + 2.8 * rows
    figure, grid = canvas(rows, columns, size)
    low, high = limits(result, values_of(result, finished(result, "a slice")), *(one.mean for one in shown))
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    best = best_of(result)
    sources = list(dict.fromkeys(said.source for one in shown for said in one.said))
    for place, (axes, one) in enumerate(zip(grid.flat, shown, strict=False)):
        _draw_slice(axes, one, low, high, sources)
        axes.set_ylim(low, high)
        axes.set_xlabel(drawable(one.name), size=LARGE)
        if best is not None and one.centre != best.number:
            axes.set_title(f"through trial {one.centre}", size=SMALL)
        plain(axes)
        if place % columns:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel(drawable(result.problem.objective), size=LARGE)
    left_out = [name for name in names or searched(result.space) if name not in {one.name for one in shown}]
    note = f"in no finished trial: {drawable(', '.join(left_out), 48)}" if left_out else ""
    return finish(figure, result, title, note)


def contour(
    result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None, title: str | None = None
) -> Figure:
    """The model's mean over two parameters, the trials that have both, and the best of all."""
    shown = contour_of(result, names, recipe)
    figure, ((axes,),) = canvas(1, 1, (SIZE[0], 5.0))
    surface = _draw_mean(axes, shown, result.direction)
    bar = figure.colorbar(surface, ax=axes, extend="both" if _is_cut(shown.mean) else "neither")
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
    _mark(axes, shown.axes)
    best = best_of(result)
    other = best is not None and shown.centre != best.number
    return finish(figure, result, title, f"others as in trial {shown.centre}" if other else "")


def importances(result: Result, title: str | None = None) -> Figure:
    """The share of each parameter in the variation with its interval, the most important on top."""
    found = importance(result)
    names = sorted(searched(result.space), key=lambda name: -found[name].share)
    shares, low, high = np.array([found[name] for name in names]).T
    figure, ((axes,),) = canvas(1, 1, (SIZE[0], 1.4 + 0.3 * len(names)))
    axes.barh(range(len(names)), shares, height=0.7, color=DOTS)
    beyond = np.maximum([shares - low, high - shares], 0.0)
    axes.errorbar(shares, range(len(names)), xerr=beyond, fmt="none", ecolor=GREY, capsize=3)
    for row, (share, end) in enumerate(zip(shares, np.maximum(shares, high), strict=True)):
        axes.annotate(f"{share:.2f}", (end, row), (5, 0), textcoords="offset points", va="center", size=SMALL)
    axes.set_yticks(range(len(names)), [drawable(name) for name in names])
    axes.set(xlim=(0.0, 1.1), ylim=(len(names) - 0.4, -0.6))
    axes.set_xlabel("share of the variation, with an interval of 90 %", size=LARGE)
    axes.set_xticks(np.linspace(0.0, 1.0, 6))
    plain(axes)
    axes.tick_params(axis="y", length=0)
    return finish(figure, result, title)


def calibration(result: Result, recipe: Recipe | None = None, title: str | None = None) -> Figure:
    """The value of each trial, and what the model predicts for it from all others, with 95 % intervals."""
    shown = calibration_of(result, recipe)
    figure, ((axes,),) = canvas(1, 1, (SIZE[0], 5.0))
    low, high = limits(result, shown.observed)
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
    axes.set(xlim=(low, high), ylim=(low, high))
    name = drawable(result.problem.objective)
    axes.set_xlabel(f"{name}, observed", size=LARGE)
    axes.set_ylabel(f"{name}, predicted without it", size=LARGE)
    plain(axes)
    count, rate = int(shown.inside.sum()), shown.inside.mean()
    note = f"{count} of {len(observed)} values ({rate:.0%}) lie in their 95 % interval"
    if not seen.all():
        note += f"; {len(observed) - int(seen.sum())} beyond the picture"
    return finish(figure, result, title, note)


def _draw_slice(axes: Axes, one: Slice, bottom: float, top: float, sources: list[str]) -> None:
    """A line with a band for numbers, a dot with a bar for each option, the finished trials and sources."""
    parameter = one.parameter
    mean, low, high = bounded([one.mean, one.low, one.high])
    if parameter.numeric:
        drawn = _is_drawn_in_units(parameter, one.along)
        position: Callable[[Any], float] = float if drawn else parameter.place
        along, tried = ([position(value) for value in values] for values in (one.along, one.tried))
        axes.fill_between(along, low, high, color=BAND, lw=0, label="two standard deviations")
        axes.plot(along, mean, color=LINE, zorder=4, label="mean of the model")
        if not drawn:
            marks = axis_of(one.name, parameter).marks
            _name_options(axes, [(mark.place, mark.label) for mark in marks])
        elif parameter.logarithmic:
            axes.set_xscale("log")
        elif all(isinstance(value, int) for value in one.along):
            axes.locator_params(axis="x", integer=True)
    else:
        position = parameter.place
        along, tried = ([position(value) for value in values] for values in (one.along, one.tried))
        bars = np.array([mean - low, high - mean])
        look: dict[str, Any] = {"fmt": "_", "ms": 14, "mew": 2, "zorder": 4, "color": LINE}
        axes.errorbar(along, mean, bars, label="mean and two standard deviations", **look)
        axes.set_xlim(-0.08, 1.08)
        hollow = {"color": LINE, "facecolors": "none", "zorder": 4}
        arrows(axes, np.array(along), mean, bottom, top, "mean beyond the picture", **hollow)
        _name_options(axes, [(parameter.place(mark), str(mark)) for mark in parameter.marks()])
    dots(axes, np.array(tried), one.told, bottom, top, "evaluation", s=12 if len(tried) < 100 else 6)
    for said in one.said:
        x, rank = np.array([position(value) for value in said.along]), sources.index(said.source)
        _draw_said(axes, said, x, rank, (bottom, top), line=parameter.numeric)
    if one.best is not None:
        star(axes, tried[one.best], one.told[one.best])


def _draw_said(axes: Axes, said: Said, x: Array, rank: int, ends: tuple[float, float], line: bool) -> None:
    """A dashed line for a trend, one for each option if these are no numbers; hollow marks for points."""
    y, name = bounded(said.values), drawable(said.source)
    look: dict[str, Any] = {"color": SAYING[rank % len(SAYING)]}
    if not said.trend:
        look |= {"marker": MARKERS[rank % len(MARKERS)], "facecolors": "none", "linewidths": 0.8}
        dots(axes, x, y, *ends, f"points of {name}", s=14 if len(x) < 100 else 8, **look)
        return
    look |= {"ls": "--", "lw": 1.2, "zorder": 4, "label": f"trend of {name}"}
    if line:
        axes.plot(x, y, **look)
    else:
        axes.hlines(y, x - 0.06, x + 0.06, **look)


def _is_drawn_in_units(parameter: Parameter, along: list[Any]) -> bool:
    """Whether matplotlib can draw a range of numbers with its margins; others are drawn from 0 to 1."""
    low, high = float(along[0]), float(along[-1])
    size = max(abs(low), abs(high))
    if parameter.logarithmic:
        return low > 1e-150 and size < 1e150 and high - low > NARROW * size
    return 1e-280 < size < 1e300 and high - low > NARROW * size


def _name_options(axes: Axes, marks: list[tuple[float, str]], room: int = 24) -> None:
    """Names under an axis, upright where they would not fit side by side."""
    labels = [drawable(label, FEW) for _, label in marks]
    axes.set_xticks([place for place, _ in marks], labels)
    if sum(map(len, labels)) > room:
        axes.tick_params(axis="x", rotation=90, labelsize=6 if len(labels) > 16 else SMALL)


def _draw_mean(axes: Axes, shown: Contour, direction: Direction) -> ScalarMappable:
    """Heights, the better the darker: even steps where both parameters have many values, otherwise cells."""
    from matplotlib.colors import LinearSegmentedColormap

    mean = bounded(shown.mean)
    low, high = ends(mean[~np.isnan(mean)])
    if high - low <= NARROW * max(abs(low), abs(high)):  # equal but for rounding
        low, high = low - (0.05 * abs(low) or 1.0), high + (0.05 * abs(high) or 1.0)
    if 1e-323 < high - low < 1e-300:  # matplotlib divides by it
        raise NoResultError(f"heights from {low:.3g} to {high:.3g} are beyond what a contour can be drawn of")
    shades = HEIGHTS if direction == "minimize" else HEIGHTS[::-1]
    colours = LinearSegmentedColormap.from_list("heights", shades)
    if all(axis.numeric for axis in shown.axes) and min(mean.shape) > SMOOTH:
        levels = np.linspace(low, high, LEVELS + 1)
        return axes.contourf(
            shown.x, shown.y, mean, levels=levels, cmap=colours, extend="both" if _is_cut(mean) else "neither"
        )
    edges = _edges(shown.x), _edges(shown.y)
    return axes.pcolormesh(*edges, mean, vmin=low, vmax=high, cmap=colours)


def _is_cut(mean: Array) -> bool:
    """Whether some heights lie beyond the colours."""
    heights = mean[~np.isnan(mean)]
    return (float(heights.min()), float(heights.max())) != ends(heights)


def _edges(places: Array) -> Array:
    """The edges (n + 1,) of cells around places (n,) between 0 and 1."""
    if len(places) == 1:
        return np.array([0.0, 1.0])
    middles = (places[1:] + places[:-1]) / 2.0
    return np.array([2 * places[0] - middles[0], *middles, 2 * places[-1] - middles[-1]])


def _mark(axes: Axes, names: tuple[Axis, Axis]) -> None:
    """Marks and names of both axes, which go from 0 to 1."""
    across, up = names
    _name_options(axes, [(mark.place, mark.label) for mark in across.marks], room=60)
    labels = [drawable(mark.label, FEW) for mark in up.marks]
    axes.set_yticks([mark.place for mark in up.marks], labels, size=6 if len(labels) > 16 else SMALL)
    axes.set_xlabel(drawable(across.name), size=LARGE)
    axes.set_ylabel(drawable(up.name), size=LARGE)
    plain(axes)
