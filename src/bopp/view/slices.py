"""Slices: what the model believes along one parameter, with all others as in the best trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array, Data
from bopp.errors import NoResultError
from bopp.model import Model
from bopp.parameter import Parameter
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.space import Space
from bopp.threads import one_thread
from bopp.trial import Trial
from bopp.view.canvas import NARROW, bounded, drawable
from bopp.view.coordinates import axis_of, name_marks, size_of_marks
from bopp.view.points import through
from bopp.view.prediction import in_units, model_of
from bopp.view.sources import points_of, trend_of
from bopp.view.style import BAND, COLOURS, LINE, SMALL, arrows, dots, finish, limits, panels, star
from bopp.view.values import best_of, best_value, checked_names, finished, ranked, searched, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 101  # along a range of numbers
WIDEST = 4  # panels in a row, at most
SAYING, MARKERS = COLOURS[1:], ("D", "s", "P", "X", "p", "h")  # of sources of knowledge
NEAR = 0.25  # of the variance of the values: a point is near if the model expects no more difference to it


@dataclass(frozen=True, eq=False)
class Said:
    """What a source of knowledge says along a slice, in the unit of the objective.

    source  its name
    along   values of the parameter
    values  (m,) what it says there
    trend   whether this is a trend that the model follows, all along the slice, or points near it
    """

    source: str
    along: list[Any]
    values: Array
    trend: bool = False


@dataclass(frozen=True, eq=False)
class Slice:
    """What is believed along one parameter, in the unit of the objective, and what was observed.

    along      values of the parameter, from one end to the other
    mean       (m,) the mean of the model there
    low, high  (m,) two of the model's standard deviations to either side
    tried      the parameter's value in each finished trial that has it
    told       (n,) the values of these trials
    best       which of these is the best trial of the result; None if that lacks the parameter
    centre     the number of the trial that the slice goes through
    said       what sources of knowledge say here
    """

    name: str
    parameter: Parameter
    along: list[Any]
    mean: Array
    low: Array
    high: Array
    tried: list[Any]
    told: Array
    best: int | None
    centre: int
    said: tuple[Said, ...] = ()


@one_thread()
def slices(result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None) -> list[Slice]:
    """A slice through the best trial for each of these parameters, or for all of them if `names` is None.

    The model is that of `model_of`. Where the best trial lacks the parameter, the slice goes through the best
    of those that have it; a parameter that no finished trial has is left out. If no trial meets the
    constraints, slices go through the best of those that do not.
    """
    names = searched(result.space) if names is None else checked_names(result.space, names)
    trials = ranked(result, finished(result, "a slice"))
    there = [name for name in names if any(name in trial._params for trial in trials)]
    if not there:
        raise NoResultError(f"a slice wants a finished trial that has {' or '.join(map(repr, names))}")
    model = model_of(result, recipe)
    return [_slice(result, trials, model, name) for name in there]


def _slice(result: Result, trials: list[Trial], model: Model, name: str) -> Slice:
    having = [trial for trial in trials if name in trial._params]
    parameter = result.space.parameters[name]
    along = parameter.spread(POINTS)
    points, _ = through(result.space, [*having, *trials], {name: along})
    mean, sd = model.beliefs(points)
    band = np.array([mean - 2.0 * sd, mean, mean + 2.0 * sd])
    low, middle, high = np.sort(in_units(result.problem, model, band), axis=0)
    best, in_order = best_of(result), sorted(having, key=lambda trial: trial.number)
    return Slice(
        name=name,
        parameter=parameter,
        along=along,
        mean=middle,
        low=low,
        high=high,
        tried=[trial._params[name] for trial in in_order],
        told=values_of(result, in_order),
        best=in_order.index(best) if best in in_order else None,
        centre=having[0].number,
        said=_said(result, [*having, *trials], model, name, along),
    )


def _said(result: Result, trials: list[Trial], model: Model, name: str, along: list[Any]) -> tuple[Said, ...]:
    """The trend of the model along the slice, if it has one, and the points of each source near it."""
    said, parameter = [], result.space.parameters[name]
    if trend := trend_of(model, through(result.space, trials, {name: along})[0]):
        said.append(Said(trend[0], along, in_units(result.problem, model, trend[1]), trend=True))
    for source, points in points_of(model.accounts):
        if len(near := _near(result.space, trials, model, name, points)):
            values = list(parameter.decode_all(near.X[:, result.space.columns[name]]))
            said.append(Said(source, values, in_units(result.problem, model, near.y)))
    return tuple(said)


def _near(space: Space, trials: list[Trial], model: Model, name: str, points: Data) -> Data:
    """Those of the points that lie near the slice."""
    columns = space.columns[name]
    inside = ((points.X >= 0.0) & (points.X <= 1.0)).all(axis=1)
    points = points[np.flatnonzero(inside)]
    points = points[np.flatnonzero(space.applies(points.X)[:, columns].all(axis=1))]
    if not len(points):
        return points
    onto, _ = through(space, trials, {name: space.parameters[name].decode_all(points.X[:, columns])})
    off = model.beliefs.average([belief.difference(points.X, onto) for belief in model.beliefs])
    return points[np.flatnonzero(off <= NEAR * model.data.y.var())]


def draw_slices(
    result: Result, names: Sequence[str] | None = None, recipe: Recipe | None = None, title: str | None = None
) -> Figure:
    """The model's mean and two standard deviations along each parameter, through the best trial."""
    shown = slices(result, names, recipe)
    figure = panels(len(shown), WIDEST)
    values = values_of(result, finished(result, "a slice"))
    low, high = limits(values, [best_value(result)], *(one.mean for one in shown))
    best = best_of(result)
    sources = list(dict.fromkeys(said.source for one in shown for said in one.said))
    for axes, one in zip(figure.axes, shown, strict=True):
        _draw_slice(axes, one, low, high, sources)
        axes.set(ylim=(low, high), xlabel=drawable(one.name))
        if best is not None and one.centre != best.number:
            axes.set_title(f"through trial {one.centre}", size=SMALL)
        if (spec := axes.get_subplotspec()) is None or spec.is_first_col():
            axes.set_ylabel(drawable(result.problem.objective))
        else:
            axes.tick_params(labelleft=False)
    left_out = [name for name in names or searched(result.space) if name not in {one.name for one in shown}]
    note = f"in no finished trial: {drawable(', '.join(left_out), 48)}" if left_out else ""
    return finish(figure, result, title, note)


def _draw_slice(axes: Axes, one: Slice, bottom: float, top: float, sources: list[str]) -> None:
    """A line with a band for numbers, a dot with a bar for each option, the finished trials and sources."""
    parameter = one.parameter
    drawn = parameter.numeric and _is_drawn_in_units(parameter, one.along)
    position: Callable[[Any], float] = float if drawn else parameter.place
    along, tried = (np.array([position(value) for value in values]) for values in (one.along, one.tried))
    mean, low, high = bounded([one.mean, one.low, one.high])
    if parameter.numeric:
        axes.fill_between(along, low, high, color=BAND, lw=0, label="two standard deviations")
        axes.plot(along, mean, color=LINE, zorder=4, label="mean of the model")
    else:
        look: dict[str, Any] = {"fmt": "_", "ms": 14, "mew": 2, "zorder": 4, "color": LINE}
        axes.errorbar(
            along, mean, [mean - low, high - mean], label="mean and two standard deviations", **look
        )
        axes.set_xlim(-0.08, 1.08)
        hollow = {"color": LINE, "facecolors": "none", "zorder": 4}
        arrows(axes, along, mean, bottom, top, "mean beyond the picture", **hollow)
    if not drawn:
        axis = axis_of(one.name, parameter)
        name_marks(axes, axis, room=24)
        axes.tick_params(axis="x", labelsize=size_of_marks(axis))
    elif parameter.logarithmic:
        axes.set_xscale("log")
    elif all(isinstance(value, int) for value in one.along):
        axes.locator_params(axis="x", integer=True)
    dots(axes, tried, one.told, bottom, top, "evaluation", s=12 if len(tried) < 100 else 6)
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
