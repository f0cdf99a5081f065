"""Parallel coordinates: a picture of every trial at once; it needs the `plot` extra."""

from __future__ import annotations

import math
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.parameter import Choice, Float, Int, Parameter
from bopp.plot import FEW, LINE, canvas, ends, finished_trials, options_shown, plain, saved
from bopp.result import Result
from bopp.trial import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORSE, BETTER, GREY = "#cdd8e4", "#1f4a7d", "#777777"


def parallel(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """Each trial as a line through its params to its value, the better the darker; failed ones are dashed."""
    finished = finished_trials(result, "a parallel plot")
    values = np.array([trial.value for trial in finished], dtype=float)
    low, high = ends(values, result.best.value or 0.0)
    scale: Parameter = Float(low, high) if low < high else Choice([f"{low:.6g}"])
    heights = np.array([_place(scale, value) for value in np.clip(values, low, high).tolist()])
    size = len(result.space.parameters)
    figure, ((axes,),) = canvas(1, 1, (max(4.8, 1.6 + 1.3 * size), 5.0))
    _draw_trials(axes, result, finished, heights)
    for column, parameter in enumerate(result.space.parameters.values()):
        _draw_scale(axes, column, _ticks(parameter))
    ticks = _ticks(scale)
    if (values < low).any():
        ticks[0] = (0.0, f"\u2264 {ticks[0][1]}")
    if (values > high).any():
        ticks[-1] = (1.0, f"\u2265 {ticks[-1][1]}")
    _draw_scale(axes, size, ticks, right=True)
    names = [*(plain(name) for name in result.space.parameters), "value"]
    slanted = {"rotation": 20, "ha": "left"} if max(map(len, names)) > FEW else {}
    axes.set_xticks(range(size + 1), names, **slanted)
    axes.tick_params(axis="x", top=False, bottom=False, labeltop=True, labelbottom=False)
    axes.set(yticks=[], ylim=(-0.03, 1.03), xlim=(-0.15, size + 0.15))
    axes.set_title(f"{result.direction}: best {result.best.value:.6g}")
    axes.spines[:].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    return saved(figure, path)


def _draw_trials(axes: Axes, result: Result, finished: list[Trial], heights: Array) -> None:
    """The lines of the trials, the best on top; failed ones end in a cross before they reach a value."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    def through(trial: Trial) -> list[float]:
        return [_place(parameter, trial.params[name]) for name, parameter in result.space.parameters.items()]

    size = len(result.space.parameters)
    failed = [through(trial) for trial in result.trials if trial.state == "failed"]
    if failed:
        segments = [np.column_stack([range(size), row]) for row in failed]
        axes.add_collection(LineCollection(segments, colors=GREY, linewidths=0.8, linestyles="dashed"))
        axes.plot([size - 1] * len(failed), [row[-1] for row in failed], "x", color=GREY)
        axes.plot([], [], "x--", lw=0.8, color=GREY, label="failed")
    better = heights if result.direction == "maximize" else -heights
    levels, ranks = np.unique(better, return_inverse=True)  # by rank: most trials of a run are nearly as good
    behind = (len(levels) - 1 - ranks) / max(len(levels) - 1, 1)
    colours = LinearSegmentedColormap.from_list("worse", [BETTER, WORSE])(behind)
    rows = np.column_stack([[through(trial) for trial in finished], heights])
    order = np.argsort(better, kind="stable")
    segments = [np.column_stack([range(size + 1), rows[i]]) for i in order]
    width = 0.8 if len(finished) > 100 else 1.3
    axes.add_collection(LineCollection(segments, colors=colours[order], linewidths=width))
    axes.plot(range(size + 1), rows[finished.index(result.best)], color=LINE, lw=2.5, label="best")


def _draw_scale(axes: Axes, column: int, ticks: list[tuple[float, str]], right: bool = False) -> None:
    """An upright axis with marks, its labels on one side."""
    axes.plot([column, column], [0.0, 1.0], color="black", lw=1.0)
    axes.plot([column] * len(ticks), [place for place, _ in ticks], "_", color="black", ms=6)
    size = 6 if len(ticks) > 16 else 8
    paper = {"boxstyle": "square,pad=0.1", "color": "white", "alpha": 0.75, "lw": 0}
    for place, label in ticks:
        axes.annotate(
            label,
            (column, place),
            (6 if right else -6, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=size,
            bbox=paper,
        )


def _place(parameter: Parameter, value: Any) -> float:
    """Where a value stands on an axis from 0 to 1."""
    if not isinstance(parameter, Choice):
        return parameter.encode(value)[0]
    last = len(parameter.options) - 1
    return parameter.index(value) / last if last else 0.5


def _ticks(parameter: Parameter) -> list[tuple[float, str]]:
    """Places on an axis from 0 to 1 and what stands there: some options, or both ends and round numbers."""
    if isinstance(parameter, Choice):
        shown, labels = options_shown(parameter)
        return [
            (_place(parameter, parameter.options[i]), label) for i, label in zip(shown, labels, strict=True)
        ]
    low, high = parameter.low, parameter.high
    inner: dict[float, float] = {}
    for number in _round_numbers(float(low), float(high), parameter.log):
        number = round(number) if isinstance(parameter, Int) else number
        if low < number < high and 0.06 < (place := _place(parameter, number)) < 0.94:
            inner[place] = number
    numbers = {0.0: low} | inner | {1.0: high}
    for digits in range(6, 18):
        labels = [f"{float(number):.{digits}g}" for number in numbers.values()]
        if len(set(labels)) == len(labels):
            break
    return list(zip(numbers, labels, strict=True))


def _round_numbers(low: float, high: float, log: bool = False) -> list[float]:
    """About five numbers between low and high: multiples of a power of ten, or such powers themselves."""
    if log and math.log10(high) - math.log10(low) > 2.0:
        exponents = _round_numbers(math.log10(low), math.log10(high))
        return [10.0**exponent for exponent in exponents if exponent.is_integer()]
    least = high / 5 - low / 5
    if least < 1e-300:
        return []
    power = 10.0 ** math.floor(math.log10(least))
    step = next((factor * power for factor in (1, 2, 5) if factor * power > 0.99 * least), 10 * power)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
