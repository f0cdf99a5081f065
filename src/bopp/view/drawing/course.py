"""Pictures of what happened: convergence, the timeline of the workers, the distribution of the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.errors import RecipeError
from bopp.result import Result
from bopp.view.canvas import FEW, SIZE, bounded, canvas, drawable
from bopp.view.convergence import convergence as convergence_of
from bopp.view.distribution import distributions
from bopp.view.drawing.style import (
    BROKEN,
    COLOURS,
    DOTS,
    GREY,
    LARGE,
    LINE,
    LONGEST_LINE,
    dots,
    finish,
    limits,
    plain,
    star,
)
from bopp.view.front import hypervolume
from bopp.view.timeline import Timeline
from bopp.view.timeline import timeline as timeline_of
from bopp.view.values import best_of, broken_by, spent_after

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATES = {"done": DOTS, "failed": LINE, "asked": "#e8c468"}
UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
THINNEST = 0.002  # of the width: a shorter trial would not be seen


def convergence(result: Result, title: str | None = None) -> Figure:
    """The value of each finished trial over the evaluations spent, the best so far, and where one failed.

    Of several objectives it is the hypervolume of the front.
    """
    if len(result.problem.objectives) > 1:
        return _growth(result, title)
    shown = convergence_of(result)
    figure, ((axes,),) = canvas(1, 1, SIZE)
    counted = any([*shown.spent, *shown.failed_spent])
    along = np.array(shown.spent if counted else shown.numbers)
    failed = shown.failed_spent if counted else shown.failed
    low, high = limits(result, shown.values)
    observed, broken = np.array(shown.observed) & counted, np.array(shown.broken)
    here = ~observed & ~broken
    if here.any():
        dots(axes, along[here], shown.values[here], low, high, "evaluation")
    if broken.any():
        dots(axes, along[broken], shown.values[broken], low, high, "breaks a constraint", **BROKEN)
    observed &= ~broken
    if observed.any():
        dots(
            axes, along[observed], shown.values[observed], low, high, "observed elsewhere", facecolors="none"
        )
    if not np.isnan(shown.best[-1]):
        axes.step(along, bounded(shown.best), where="post", color=LINE, label="best so far")
    if failed:
        low -= 0.05 * (high - low)  # room for the crosses
        _at_the_bottom(axes, failed, "failed", marker="x", color=GREY)
    axes.set_ylim(low, high)
    axes.set_ylabel(drawable(result.problem.objective), size=LARGE)
    _count(axes, [*along, *failed], counted)
    plain(axes)
    return finish(figure, result, title)


def _growth(result: Result, title: str | None) -> Figure:
    """The hypervolume over the evaluations spent, and where trials failed or broke a constraint."""
    shown, spent = hypervolume(result), spent_after(result)
    figure, ((axes,),) = canvas(1, 1, SIZE)
    counted = any(spent.values())
    along = np.array(shown.spent if counted else shown.numbers)
    volumes = bounded(shown.volumes)
    grown = np.diff(volumes, prepend=0.0) > 0.0
    axes.step(along, volumes, where="post", color=LINE, label="hypervolume")
    axes.scatter(along[grown], volumes[grown], s=16, color=LINE, zorder=3, clip_on=False, label="front grew")
    ended = {
        "failed": [trial for trial in result.trials if trial.state == "failed"],
        "breaks a constraint": [trial for trial in result.trials if broken_by(result.problem, trial)],
    }
    places = {
        word: [spent[one.number] if counted else one.number for one in ones] for word, ones in ended.items()
    }
    top = float(volumes.max()) * 1.05 or 1.0
    axes.set_ylim(-0.07 * top if any(places.values()) else 0.0, top)
    for (word, where), look in zip(places.items(), ({"marker": "x", "color": GREY}, BROKEN), strict=True):
        if where:
            _at_the_bottom(axes, where, word, s=16, **look)
    axes.set_ylabel("hypervolume of the front", size=LARGE)
    _count(axes, [*along, *places["failed"]], counted)
    plain(axes)
    reference = ", ".join(f"{drawable(name, FEW)} {at:.4g}" for name, at in shown.reference.items())
    return finish(figure, result, title, f"beyond {reference}" if len(reference) < LONGEST_LINE else "")


def _at_the_bottom(axes: Axes, places: list[float] | list[int], label: str, **look: Any) -> None:
    """A mark for each trial that has no height."""
    bottom = axes.get_xaxis_transform()
    axes.scatter(places, [0.02] * len(places), transform=bottom, label=label, **look)


def _count(axes: Axes, places: list[float], counted: bool) -> None:
    """The axis of evaluations spent, or of trials if none was."""
    first, last = min(places), max(places)
    margin = 0.03 * (last - first) or 0.5
    axes.set_xlim(first - margin, last + margin)
    axes.locator_params(axis="x", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
    axes.set_xlabel("evaluations spent" if counted else "trial, all observed elsewhere", size=LARGE)


def timeline(result: Result, title: str | None = None) -> Figure:
    """Each trial as a bar in the row of its worker, from when it was asked for to when it was told."""
    shown = timeline_of(result)
    figure, ((axes,),) = canvas(1, 1, (SIZE[0], max(SIZE[1] / 2, 1.4 + 0.28 * len(shown.rows))))
    length = max(bar.end for bar in shown.bars)
    size, unit = next((pair for pair in UNITS if length >= 2.0 * pair[0]), UNITS[-1])
    _draw_bars(axes, shown, size, THINNEST * length or 1.0)
    best = best_of(result)
    for bar in shown.bars:
        if best is not None and bar.number == best.number:
            star(axes, (bar.start + bar.end) / 2 / size, bar.row)
    names = [drawable(name) or "this process" for name in shown.rows]
    firsts = [name if name not in names[:row] else "" for row, name in enumerate(names)]
    axes.set_yticks(range(len(names)), firsts)
    axes.set(ylim=(len(names) - 0.4, -0.6), xlim=(-0.01 * length / size, 1.01 * length / size or 1.0))
    axes.set_xlabel(f"{unit} since {shown.began:%Y-%m-%d %H:%M:%S %Z}".strip(), size=LARGE)
    plain(axes)
    axes.tick_params(axis="y", length=0)
    return finish(figure, result, title)


def edf(result: Result, others: Mapping[str, Result] | None = None, title: str | None = None) -> Figure:
    """The share of the trials that are at or below each value, beside that of other studies."""
    others = {} if others is None else others
    if not isinstance(others, Mapping) or not all(isinstance(other, Result) for other in others.values()):
        raise RecipeError(f"wanted others as a dict of name to Result, got {others!r}")
    name = "this study" if title is None else str(title)
    if name in others:
        raise RecipeError(f"wanted a different name for each study, got {name!r} twice")
    shown = distributions({name: result, **others})
    figure, ((axes,),) = canvas(1, 1, SIZE)
    low, high = limits(result, np.concatenate([one.values for one in shown]))
    for place, one in enumerate(shown):
        values = np.clip(bounded(one.values), low, None)
        axes.step(
            [low, *values, max(high, values[-1])],
            [0.0, *one.shares, 1.0],
            where="post",
            color=COLOURS[place % len(COLOURS)],
            linestyle=("-", "--", ":")[place // len(COLOURS) % 3],
            label=drawable(one.name) + f" ({len(one.values)} trials)",
        )
    axes.set(xlim=(low, high), ylim=(0.0, 1.02))
    axes.set_xlabel(drawable(result.problem.objective), size=LARGE)
    axes.set_ylabel("share of trials at or below", size=LARGE)
    plain(axes)
    return finish(figure, result, title)


def _draw_bars(axes: Axes, shown: Timeline, size: float, thinnest: float) -> None:
    """The bars of each state in its colour, in units of this many seconds."""
    from matplotlib.collections import PolyCollection

    for state, colour in STATES.items():
        ends = [
            (bar.row, bar.start / size, max(bar.end, bar.start + thinnest) / size)
            for bar in shown.bars
            if bar.state == state
        ]
        corners = [
            [(left, row - 0.4), (right, row - 0.4), (right, row + 0.4), (left, row + 0.4)]
            for row, left, right in ends
        ]
        if corners:
            label = "under way" if state == "asked" else state
            axes.add_collection(PolyCollection(corners, color=colour, ec="white", lw=0.3, label=label))
