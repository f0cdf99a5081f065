"""Style: colours, titles, legends and limits that all pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.errors import NoResultError
from bopp.result import Result
from bopp.view.canvas import bounded, drawable
from bopp.view.values import best_of, best_value, ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, LINE, BAND = "#8a9bb0", "#b3364a", "#f0d3d8"
WORSE, BETTER, GREY = "#cdd8e4", "#1f4a7d", "#777777"
COLOURS = ("#b3364a", "#1f4a7d", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#000000")
GOLD = "#f2b233"  # the best trial
BROKEN = {"color": "#e69f00", "facecolors": "none", "marker": "s"}  # a trial that breaks a constraint
LARGE, SMALL = 10, 8  # sizes of letters: titles and names; legends and marks
MOST_COLUMNS = 4  # of a legend
LONGEST_LINE = 72  # letters of a title that fit into the narrowest picture


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
    best = best_of(result)
    if len(aims) > 1:
        found = _front_in_words(result)
    elif best is not None:
        found = f"best {best.value:.6g} in trial {best.number}"
    elif any(trial._value is not None for trial in result.trials):
        found = "no trial is known to meet the constraints"
    else:
        found = "no trial has a value"
    aim = ", ".join(aims)
    if len(aim) + len(found) + 2 <= LONGEST_LINE:
        return [*titles, f"{aim}: {found}"]
    return [*titles, f"{aim}:", found] if len(aim) < LONGEST_LINE else [*titles, *aims, found]


def _front_in_words(result: Result) -> str:
    done = sum(trial.state == "done" for trial in result.trials)
    try:
        return f"front of {len(result.front)} in {done} finished trials"
    except NoResultError:  # a condition that cannot be checked here
        return "no trial is known to meet the constraints"


def limits(result: Result, values: Array, *curves: Array) -> tuple[float, float]:
    """The ends of an axis of values, with a margin; outliers lie beyond them.

    Curves stretch it as far as they are near, lest what a model makes of an outlier press the rest together.
    """
    low, high = ends(bounded(values), float(bounded(best_value(result))))
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
        [x],
        [y],
        s=110,
        marker="*",
        color=GOLD,
        edgecolors="black",
        linewidths=0.6,
        zorder=5,
        clip_on=False,
        label="best",
    )


def plain(axes: Axes) -> None:
    """No frame where nothing is written, and numbers in the size of marks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL)
