"""Convergence: the value of each trial and the best so far; of several objectives the hypervolume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.conditions import Mask
from bopp.data import Array
from bopp.result import Result
from bopp.view.canvas import FEW, bounded, drawable
from bopp.view.front import hypervolume
from bopp.view.style import BROKEN, GREY, LINE, LONGEST_LINE, dots, finish, limits, panel
from bopp.view.values import best_of, best_value, broken_by, finished, spent_after, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Convergence:
    """How the values changed from trial to trial.

    numbers   the finished trials, counted from 0
    spent     how many real evaluations had been spent once each of them had ended, failed ones included;
              a trial that was observed elsewhere costs none
    observed  (n,) whether each was observed elsewhere
    values    (n,) their values
    best      (n,) the best of these so far that meets the constraints; NaN before the first one
    broken    (n,) whether each breaks a constraint
    """

    numbers: list[int]
    spent: list[float]
    observed: Mask
    values: Array
    best: Array
    broken: Mask


def convergence(result: Result) -> Convergence:
    """The values of the finished trials in order, and the best so far."""
    trials = finished(result, "a convergence plot")
    values, spent = values_of(result, trials), spent_after(result)
    known = best_of(result) is not None
    chosen = [known and result.problem.real(trial) and result.problem.feasible(trial) for trial in trials]
    gains = np.where(chosen, result.problem.gain(values), np.nan)
    return Convergence(
        numbers=[trial.number for trial in trials],
        spent=[spent[trial.number] for trial in trials],
        observed=np.array([trial.origin == "observed" for trial in trials]),
        values=values,
        best=result.problem.gain(np.fmax.accumulate(gains)),  # fmax prefers any number to NaN
        broken=np.array([bool(broken_by(result.problem, trial)) for trial in trials]),
    )


def draw_convergence(result: Result, title: str | None = None) -> Figure:
    """The value of each finished trial over the evaluations spent, the best so far, and where one failed.

    Of several objectives it is the hypervolume of the front.
    """
    if len(result.problem.objectives) > 1:
        return _draw_growth(result, title)
    shown, (along, counted) = convergence(result), _along(result)
    figure, axes = panel()
    x = np.array([along[number] for number in shown.numbers])
    low, high = limits(shown.values, [best_value(result)])
    observed = shown.observed & ~shown.broken & counted
    kinds: list[tuple[str, Mask, dict[str, Any]]] = [
        ("evaluation", ~observed & ~shown.broken, {}),
        ("breaks a constraint", shown.broken, BROKEN),
        ("observed elsewhere", observed, {"facecolors": "none"}),
    ]
    for label, here, look in kinds:
        if here.any():
            dots(axes, x[here], shown.values[here], low, high, label, **look)
    if not np.isnan(shown.best[-1]):
        axes.step(x, bounded(shown.best), where="post", color=LINE, label="best so far")
    if failed := [along[trial.number] for trial in result.trials if trial.state == "failed"]:
        low -= 0.05 * (high - low)  # room for the crosses
        _at_the_bottom(axes, failed, "failed", marker="x", color=GREY)
    axes.set(ylim=(low, high), ylabel=drawable(result.problem.objective))
    _count(axes, [*x, *failed], counted)
    return finish(figure, result, title)


def _draw_growth(result: Result, title: str | None) -> Figure:
    """The hypervolume over the evaluations spent, and where trials failed or broke a constraint."""
    shown, (along, counted) = hypervolume(result), _along(result)
    figure, axes = panel()
    x = np.array([along[number] for number in shown.numbers])
    volumes = bounded(shown.volumes)
    grown = np.diff(volumes, prepend=0.0) > 0.0
    axes.step(x, volumes, where="post", color=LINE, label="hypervolume")
    axes.scatter(x[grown], volumes[grown], s=16, color=LINE, zorder=3, clip_on=False, label="front grew")
    failed = [along[trial.number] for trial in result.trials if trial.state == "failed"]
    broken = [along[trial.number] for trial in result.trials if broken_by(result.problem, trial)]
    if failed:
        _at_the_bottom(axes, failed, "failed", s=16, marker="x", color=GREY)
    if broken:
        _at_the_bottom(axes, broken, "breaks a constraint", s=16, **BROKEN)
    top = float(volumes.max()) * 1.05 or 1.0
    axes.set(ylim=(-0.07 * top if failed or broken else 0.0, top), ylabel="hypervolume of the front")
    _count(axes, [*x, *failed], counted)
    reference = ", ".join(f"{drawable(name, FEW)} {at:.4g}" for name, at in shown.reference.items())
    return finish(figure, result, title, f"beyond {reference}" if len(reference) < LONGEST_LINE else "")


def _along(result: Result) -> tuple[dict[int, float], bool]:
    """Where each trial stands: the evaluations spent when it had ended, or its number if none was spent."""
    spent = spent_after(result)
    counted = any(spent.values())
    return (spent if counted else {number: float(number) for number in spent}), counted


def _at_the_bottom(axes: Axes, places: Sequence[float], label: str, **look: Any) -> None:
    """A mark for each trial that has no height."""
    axes.scatter(places, [0.02] * len(places), transform=axes.get_xaxis_transform(), label=label, **look)


def _count(axes: Axes, places: Sequence[float], counted: bool) -> None:
    """The axis of evaluations spent, or of trials if none was."""
    first, last = min(places), max(places)
    margin = 0.03 * (last - first) or 0.5
    axes.locator_params(axis="x", integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])
    axes.set(
        xlim=(first - margin, last + margin),
        xlabel="evaluations spent" if counted else "trial, all observed elsewhere",
    )
