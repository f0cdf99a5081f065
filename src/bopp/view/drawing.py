"""Pictures of a result; they need the `plot` extra."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from bopp.result import Result
from bopp.suggest import Recipe
from bopp.view.canvas import FEW, LETTERS, bounded, canvas, drawable, saved
from bopp.view.convergence import convergence as convergence_of
from bopp.view.coordinates import Axis, Line
from bopp.view.coordinates import coordinates as coordinates_of
from bopp.view.importance import importance
from bopp.view.slices import Slice
from bopp.view.slices import slices as slices_of
from bopp.view.values import best_of, ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, LINE, BAND = "#8a9bb0", "#b3364a", "#e7b7be"
WORSE, BETTER, GREY = "#cdd8e4", "#1f4a7d", "#777777"
WIDEST = 4  # slices in a row


def convergence(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """The value of each finished trial, the best so far, and a mark where a trial failed."""
    shown = convergence_of(result)
    numbers, failed = np.array(shown.numbers) + 1, np.array(shown.failed) + 1
    values, best = bounded(shown.values), bounded(shown.best)
    low, high = ends(values, best[-1])
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin
    figure, ((axes,),) = canvas(1, 1, (6.4, 4.0))
    inside = np.clip(values, low, high)
    axes.scatter(numbers, inside, s=18, color=DOTS, label="evaluation", clip_on=False)
    for marker, beyond in (("^", values > high), ("v", values < low)):
        if beyond.any():
            edge = numbers[beyond], inside[beyond]
            axes.scatter(*edge, s=40, marker=marker, color=DOTS, label="beyond the picture", clip_on=False)
    if not np.isnan(best[-1]):
        axes.step(numbers, best, where="post", color=LINE, label="best so far")
    axes.set_ylim(low, high)
    if len(failed):
        bottom = axes.get_xaxis_transform()
        axes.scatter(
            failed, [0.02] * len(failed), marker="x", color="black", transform=bottom, label="failed"
        )
    axes.set(xlabel="evaluation", ylabel=drawable(result.problem.objective), title=_title(result))
    axes.legend(framealpha=0.9)
    return saved(figure, path)


def slices(
    result: Result,
    names: Sequence[str] | None = None,
    path: str | PathLike[str] | None = None,
    recipe: Recipe | None = None,
) -> Figure:
    """The model's mean and two standard deviations along each parameter, through the best trial."""
    shown = slices_of(result, names, recipe)
    rows, columns = -(-len(shown) // WIDEST), min(len(shown), WIDEST)
    figure, grid = canvas(rows, columns, (3.2 * columns + 0.6, 3.0 * rows))
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    for axes, one in zip(grid.flat, shown, strict=False):
        _draw_slice(axes, one)
        axes.set(xlabel=drawable(one.name), ylabel=drawable(result.problem.objective))
    return saved(figure, path)


def coordinates(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """Each trial as a line through its params to its value, the better the darker; failed ones are dashed."""
    shown = coordinates_of(result)
    last = len(shown.axes) - 1
    figure, ((axes,),) = canvas(1, 1, (max(4.8, 1.6 + 1.3 * last), 5.0))
    _draw_failed(axes, [line for line in shown.lines if line.failed])
    _draw_finished(axes, [line for line in shown.lines if not line.failed])
    for column, axis in enumerate(shown.axes):
        _draw_axis(axes, column, axis, right=column == last)
    names = [drawable(axis.name) for axis in shown.axes]
    slanted = {"rotation": 20, "ha": "left"} if max(map(len, names)) > FEW else {}
    axes.set_xticks(range(len(names)), names, **slanted)
    axes.tick_params(axis="x", top=False, bottom=False, labeltop=True, labelbottom=False)
    axes.set(yticks=[], ylim=(-0.03, 1.03), xlim=(-0.15, last + 0.15), title=_title(result))
    axes.spines[:].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    return saved(figure, path)


def importances(
    result: Result, path: str | PathLike[str] | None = None, recipe: Recipe | None = None
) -> Figure:
    """How much of the variation involves each parameter, with the most important on top."""
    indices = importance(result, recipe)
    names = sorted(indices, key=lambda name: -indices[name])
    shares = [indices[name] for name in names]
    figure, ((axes,),) = canvas(1, 1, (6.4, 1.0 + 0.3 * len(names)))
    bars = axes.barh(range(len(names)), shares, height=0.7, color=DOTS)
    axes.bar_label(bars, [f"{share:.2f}" for share in shares], padding=3)
    axes.set_yticks(range(len(names)), [drawable(name) for name in names])
    axes.set(
        xlim=(0.0, 1.1), ylim=(len(names) - 0.4, -0.6), xlabel="part of the variation that it is involved in"
    )
    axes.set_xticks(np.linspace(0.0, 1.0, 6))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return saved(figure, path)


def _title(result: Result) -> str:
    """What is optimised, and the best value of it."""
    name, best = result.problem.objective, best_of(result)
    aim = result.direction if name == "value" else f"{result.direction} {drawable(name)}"
    if best is None:
        return f"{aim}: no trial meets the constraints"
    return f"{aim}: best {best.values[name]:.6g}"


def _draw_slice(axes: Axes, one: Slice) -> None:
    """A line with a band for numbers, a dot with a bar for each option, and the finished trials."""
    parameter = one.parameter
    mean, low, high = bounded([one.mean, one.low, one.high])
    if parameter.numeric:
        along, tried = ([float(value) for value in values] for values in (one.along, one.tried))
        axes.fill_between(along, low, high, color=BAND, lw=0)
        axes.plot(along, mean, color=LINE)
        axes.set_xscale("log" if parameter.logarithmic else "linear")
    else:
        along, tried = ([parameter.place(value) for value in values] for values in (one.along, one.tried))
        axes.errorbar(along, mean, np.array([mean - low, high - mean]), fmt="o", color=LINE)
        marks = parameter.marks()
        labels = [drawable(str(mark), FEW) for mark in marks]
        axes.set_xticks([parameter.place(mark) for mark in marks], labels)
        if sum(map(len, labels)) > 24:
            axes.tick_params(axis="x", rotation=90, labelsize=6 if len(labels) > 16 else 8)
    axes.scatter(tried, bounded(one.told), s=12, color=DOTS, zorder=3)


def _draw_failed(axes: Axes, lines: list[Line]) -> None:
    """Dashed lines that end in a cross before they reach a value."""
    from matplotlib.collections import LineCollection

    if lines:
        segments = [list(enumerate(line.places)) for line in lines]
        axes.add_collection(LineCollection(segments, colors=GREY, linewidths=0.8, linestyles="dashed"))
        axes.plot(*zip(*(segment[-1] for segment in segments), strict=True), "x", color=GREY)
        axes.plot([], [], "x--", lw=0.8, color=GREY, label="failed")


def _draw_finished(axes: Axes, lines: list[Line]) -> None:
    """Lines to the values, the best on top; coloured by rank, as most trials of a run have similar values."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    lines = sorted(lines, key=lambda line: -(line.rank or 0))
    ranks = np.array([line.rank for line in lines])
    colours = LinearSegmentedColormap.from_list("worse", [BETTER, WORSE])(ranks / max(ranks.max(), 1))
    segments = [list(enumerate(line.places)) for line in lines]
    width = 0.8 if len(lines) > 100 else 1.3
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=width))
    for line in lines:
        if line.best:
            axes.plot(range(len(line.places)), line.places, color=LINE, lw=2.5, label="best")


def _draw_axis(axes: Axes, column: int, axis: Axis, right: bool) -> None:
    """A vertical axis with marks, labelled on one side."""
    axes.plot([column, column], [0.0, 1.0], color="black", lw=1.0)
    axes.plot([column] * len(axis.marks), [mark.place for mark in axis.marks], "_", color="black", ms=6)
    paper = {"boxstyle": "square,pad=0.1", "color": "white", "alpha": 0.75, "lw": 0}
    for mark in axis.marks:
        axes.annotate(
            drawable(mark.label, LETTERS if axis.numeric else FEW),
            (column, mark.place),
            (6 if right else -6, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=6 if len(axis.marks) > 16 else 8,
            bbox=paper,
        )
