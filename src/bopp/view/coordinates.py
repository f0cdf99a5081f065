"""Parallel coordinates: every trial as a line across one axis for each parameter and one for the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.number import Float
from bopp.parameter import Parameter
from bopp.result import Result
from bopp.trial import Trial
from bopp.view.canvas import FEW, LETTERS, SIZE, drawable
from bopp.view.style import BETTER, GREY, LARGE, LINE, SMALL, WORSE, finish, panel, shades
from bopp.view.values import best_of, best_value, ends, finished, searched, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ABSENT = -0.12  # where a trial crosses the axis of a parameter that it lacks: below the axis


@dataclass(frozen=True)
class Mark:
    """A label beside an axis that goes from 0 to 1."""

    place: float
    label: str


@dataclass(frozen=True)
class Axis:
    """An axis with its marks: numbers, or the names of options."""

    name: str
    marks: tuple[Mark, ...]
    numeric: bool = True


@dataclass(frozen=True)
class Line:
    """A trial as a line.

    places  where it crosses the axes, `ABSENT` where it lacks the parameter; a failed trial ends before the
            axis of values
    rank    0 for the best value, 1 for the next best, and so on; equal values share a rank, and so do
            outliers at the same end of the axis; None if the trial failed
    best    whether this is the best trial of the result
    """

    number: int
    places: tuple[float, ...]
    rank: int | None
    best: bool

    @property
    def failed(self) -> bool:
        return self.rank is None


@dataclass(frozen=True)
class Coordinates:
    """The axes, with that of the values last, and the lines: finished trials first, then failed ones."""

    axes: tuple[Axis, ...]
    lines: tuple[Line, ...]


def coordinates(result: Result) -> Coordinates:
    """All finished and failed trials; outlying values are drawn at the end of their axis."""
    trials = finished(result, "a parallel plot")
    values, best = values_of(result, trials), best_of(result)
    low, high = ends(values, best_value(result))
    heights = _heights(values, low, high)
    levels, found = np.unique(result.problem.gain(heights), return_inverse=True)
    ranks = len(levels) - 1 - found
    rows = zip(trials, heights.tolist(), ranks.tolist(), strict=True)
    lines = [
        Line(trial.number, (*_places(result, trial), height), rank, trial == best)
        for trial, height, rank in rows
    ]
    failed = [trial for trial in result.trials if trial.state == "failed"]
    lines += [Line(trial.number, _places(result, trial), None, False) for trial in failed]
    axes = [_axis(result, name, [*trials, *failed]) for name in searched(result.space)]
    return Coordinates((*axes, Axis(result.problem.objective, _value_marks(values, low, high))), tuple(lines))


def axis_of(name: str, parameter: Parameter) -> Axis:
    """The axis of a parameter, from 0 to 1."""
    values = parameter.marks()
    labels = _told_apart(values) if parameter.numeric else [str(value) for value in values]
    marks = [Mark(parameter.place(value), label) for value, label in zip(values, labels, strict=True)]
    return Axis(name, tuple(marks), parameter.numeric)


def _axis(result: Result, name: str, trials: list[Trial]) -> Axis:
    """The axis of a parameter, with one more mark if some of the trials lack it."""
    axis = axis_of(name, result.space.parameters[name])
    if all(name in trial._params for trial in trials):
        return axis
    return replace(axis, marks=(Mark(ABSENT, "absent"), *axis.marks))


def _places(result: Result, trial: Trial) -> tuple[float, ...]:
    """Where a trial crosses the axes of the parameters."""
    return tuple(
        result.space.parameters[name].place(trial._params[name]) if name in trial._params else ABSENT
        for name in searched(result.space)
    )


def _heights(values: Array, low: float, high: float) -> Array:
    """The positions of the values (n,) between low and high, from 0 to 1."""
    if low == high:
        return np.full(len(values), 0.5)
    axis = Float(low, high)
    return np.array([axis.place(value) for value in np.clip(values, low, high).tolist()])


def _value_marks(values: Array, low: float, high: float) -> tuple[Mark, ...]:
    """The marks of the axis of values; if outliers are drawn at an end, its label says so."""
    marks = [Mark(0.5, f"{low:.6g}")] if low == high else list(axis_of("", Float(low, high)).marks)
    if (values < low).any():
        marks[0] = replace(marks[0], label=f"\N{LESS-THAN OR EQUAL TO} {marks[0].label}")
    if (values > high).any():
        marks[-1] = replace(marks[-1], label=f"\N{GREATER-THAN OR EQUAL TO} {marks[-1].label}")
    return tuple(marks)


def _told_apart(numbers: Sequence[float]) -> list[str]:
    """The numbers to six digits, or to as many as it takes to tell them apart."""
    for digits in range(6, 18):
        labels = [f"{float(number):.{digits}g}" for number in numbers]
        if len(set(labels)) == len(labels):
            break
    return labels


def name_marks(axes: Axes, axis: Axis, room: int) -> None:
    """Names under an axis, upright where there is no room for so many letters."""
    labels = [drawable(mark.label, FEW) for mark in axis.marks]
    axes.set_xticks([mark.place for mark in axis.marks], labels)
    if sum(map(len, labels)) > room:
        axes.tick_params(axis="x", rotation=90)


def size_of_marks(axis: Axis) -> int:
    """The size of letters at which the marks of a short axis do not lie on each other."""
    return 6 if len(axis.marks) > 16 else SMALL


def draw_coordinates(result: Result, title: str | None = None) -> Figure:
    """Each trial as a line through its params to its value, the better the darker; failed ones are dashed."""
    shown = coordinates(result)
    last = len(shown.axes) - 1
    figure, axes = panel(5.0, max(SIZE[0], 1.6 + 1.3 * last))
    _draw_failed(axes, [line for line in shown.lines if line.failed])
    _draw_finished(axes, [line for line in shown.lines if not line.failed])
    for column, axis in enumerate(shown.axes):
        _draw_axis(axes, column, axis, right=column == last)
    names = [drawable(axis.name) for axis in shown.axes]
    slanted: dict[str, Any] = {"rotation": 20, "ha": "left"} if max(map(len, names)) > FEW else {}
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

    lines = sorted(lines, key=lambda line: -(line.rank or 0))
    ranks = np.array([line.rank for line in lines])
    colours = shades(BETTER, WORSE)(ranks / max(ranks.max(), 1))
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
            fontsize=size_of_marks(axis),
            bbox=paper,
        )
