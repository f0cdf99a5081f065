"""The picture of parallel coordinates: every trial as a line across all parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bopp.result import Result
from bopp.view.canvas import FEW, LETTERS, SIZE, canvas, drawable
from bopp.view.coordinates import ABSENT, Axis, Line
from bopp.view.coordinates import coordinates as coordinates_of
from bopp.view.drawing.style import BETTER, GREY, LARGE, LINE, SMALL, WORSE, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def coordinates(result: Result, title: str | None = None) -> Figure:
    """Each trial as a line through its params to its value, the better the darker; failed ones are dashed."""
    shown = coordinates_of(result)
    last = len(shown.axes) - 1
    figure, ((axes,),) = canvas(1, 1, (max(SIZE[0], 1.6 + 1.3 * last), 5.0))
    _draw_failed(axes, [line for line in shown.lines if line.failed])
    _draw_finished(axes, [line for line in shown.lines if not line.failed])
    for column, axis in enumerate(shown.axes):
        _draw_axis(axes, column, axis, right=column == last)
    names = [drawable(axis.name) for axis in shown.axes]
    slanted = {"rotation": 20, "ha": "left"} if max(map(len, names)) > FEW else {}
    axes.set_xticks(range(len(names)), names, size=LARGE, **slanted)
    axes.tick_params(axis="x", top=False, bottom=False, labeltop=True, labelbottom=False)
    bottom = min(place for axis in shown.axes for place in (0.0, *(mark.place for mark in axis.marks)))
    axes.set(yticks=[], ylim=(bottom - 0.03, 1.03), xlim=(-0.15, last + 0.15))
    axes.spines[:].set_visible(False)
    return finish(figure, result, title)


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
    axes.plot([], [], color=WORSE, label="worse")
    axes.plot([], [], color=BETTER, label="better")
    for line in lines:
        if line.best:
            axes.plot(range(len(line.places)), line.places, color=LINE, lw=2.5, label="best")


def _draw_axis(axes: Axes, column: int, axis: Axis, right: bool) -> None:
    """A vertical axis with marks, labelled on one side."""
    axes.plot([column, column], [0.0, 1.0], color="black", lw=1.0)
    marks = [mark for mark in axis.marks if mark.place != ABSENT]
    axes.plot([column] * len(marks), [mark.place for mark in marks], "_", color="black", ms=6)
    paper = {"boxstyle": "square,pad=0.1", "color": "white", "alpha": 0.75, "lw": 0}
    for mark in axis.marks:
        axes.annotate(
            drawable(mark.label, LETTERS if axis.numeric else FEW),
            (column, mark.place),
            (6 if right else -6, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=6 if len(axis.marks) > 16 else SMALL,
            bbox=paper,
        )
