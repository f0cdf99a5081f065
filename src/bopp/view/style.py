"""Style: colours, titles, legends and limits that all pictures share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError
from bopp.result import Result
from bopp.view.canvas import SIZE, bounded, canvas, drawable
from bopp.view.values import ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

DOTS, LINE, BAND = "#8a9bb0", "#b3364a", "#f0d3d8"
WORSE, BETTER, GREY = "#cdd8e4", "#1f4a7d", "#777777"
COLOURS = ("#b3364a", "#1f4a7d", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#000000")
GOLD = "#f2b233"  # the best trial
BROKEN = {"color": "#e69f00", "facecolors": "none", "marker": "s"}  # a trial that breaks a constraint
LARGE, SMALL = 10, 8  # sizes of letters: titles and names; legends and marks
MOST_COLUMNS = 4  # of a legend
LONGEST_LINE = 72  # letters of a title that fit into the narrowest picture


def panel(height: float = SIZE[1], width: float = SIZE[0]) -> tuple[Figure, Axes]:
    """A figure with one panel."""
    figure, ((axes,),) = canvas(1, 1, (width, height))
    _strip(axes)
    return figure, axes


def panels(count: int, widest: int, height: float | None = None) -> Figure:
    """A figure with so many panels in rows, at most `widest` in each."""
    rows = -(-count // widest)
    columns = -(-count // rows)
    size = max(SIZE[0], 3.2 * columns), 1.2 + 2.8 * rows if height is None else height
    figure, grid = canvas(rows, columns, size)
    for axes in grid.flat[count:]:
        axes.remove()
    for axes in figure.axes:
        _strip(axes)
    return figure


def finish(figure: Figure, result: Result, title: str | None, note: str = "") -> Figure:
    """The figure with a title on top, and a legend below where it hides nothing."""
    figure.suptitle("\n".join(line for line in (*_heading(result, title), note) if line), fontsize=LARGE)
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.06)  # nothing touches the edge
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    _place_legend(figure, entries)
    return figure


def _place_legend(figure: Figure, entries: dict[str, Any]) -> None:
    """A legend below the picture, in as many columns as there is room for."""
    look: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": SMALL}
    for columns in range(min(len(entries), MOST_COLUMNS), 0, -1):
        legend = figure.legend(list(entries.values()), list(entries), ncols=columns, **look)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _heading(result: Result, title: str | None) -> list[str]:
    """The title, if there is one, what is optimised, and the best value of it."""
    titles = [] if title is None else [drawable(str(title), LONGEST_LINE)]
    aims = [
        direction if name == "value" else f"{direction} {drawable(name)}"
        for name, direction in result.problem.objectives.items()
    ]
    aim, found = ", ".join(aims), _found(result)
    if len(aim) + len(found) + 2 <= LONGEST_LINE:
        return [*titles, f"{aim}: {found}"]
    return [*titles, f"{aim}:", found] if len(aim) < LONGEST_LINE else [*titles, *aims, found]


def _found(result: Result) -> str:
    """The best value, or the size of the front, in words."""
    try:
        if len(result.problem.objectives) == 1:
            return f"best {result.best.value:.6g} in trial {result.best.number}"
        done = sum(trial.state == "done" for trial in result.trials)
        return f"front of {len(result.front)} in {done} finished trials"
    except NoResultError:
        if any(trial._value is not None for trial in result.trials):
            return "no trial is known to meet the constraints"
        return "no trial has a value"


def limits(values: Array, best: Iterable[float], *curves: Array) -> tuple[float, float]:
    """The ends of an axis with a margin: it has all values but outliers, and the best, which may be NaN.

    Curves stretch it as far as they are near, so that what a model makes of an outlier does not press the
    rest together.
    """
    low, high = ends(bounded(values), *bounded(list(best)))
    heights = bounded(np.concatenate([[low, high], *curves]))
    near = heights[(2 * low - high <= heights) & (heights <= 2 * high - low)]
    low, high = float(near.min()), float(near.max())
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def dots(axes: Axes, x: Array, y: Array, low: float, high: float, label: str, **style: Any) -> None:
    """A dot for each value between the limits; arrows at the limits for those beyond."""
    x, y = np.asarray(x, dtype=np.float64), bounded(y)
    inside = (low <= y) & (y <= high)
    look = {"s": 16, "color": DOTS, "zorder": 3, "clip_on": False, **style}
    axes.scatter(x[inside], y[inside], label=label, **look)
    arrows(axes, x, y, low, high, "beyond the picture", **look)


def arrows(axes: Axes, x: Array, y: Array, low: float, high: float, label: str, **style: Any) -> None:
    """An arrow at the limit for each value beyond it."""
    for marker, beyond, edge in (("^", y > high, high), ("v", y < low, low)):
        if beyond.any():
            place = x[beyond], np.full(int(beyond.sum()), edge)
            axes.scatter(*place, label=label, **{**style, "s": 28, "marker": marker, "clip_on": False})


def star(axes: Axes, x: float, y: float) -> None:
    """A mark for the best trial."""
    axes.scatter(
        x, y, s=110, color=GOLD, marker="*", ec="black", lw=0.6, zorder=5, clip_on=False, label="best"
    )


def _strip(axes: Axes) -> None:
    """No frame where nothing is written, names in the size of titles, and numbers in that of marks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_fontsize(LARGE)


def shades(*colours: str) -> Colormap:
    """What turns numbers from 0 to 1 into colours between these."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", colours)
