"""The front of several objectives: where its trials and the others lie, and what it dominates over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import MissingExtra, NoResultError, RecipeError, installation
from bopp.front import found_reference
from bopp.legible import brief
from bopp.problem import Problem
from bopp.result import Result
from bopp.trial import Trial
from bopp.view.canvas import FEW, bounded, drawable
from bopp.view.style import BROKEN, DOTS, GREY, LINE, finish, limits, panels
from bopp.view.values import spent_after

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST = np.finfo(np.float64).max
MOST = 4  # objectives that are shown if nobody says which
WIDEST = 3  # panels in a row, at most

Place = Literal["front", "dominated", "broken", "incomplete"]
LOOKS: dict[Place, tuple[str, dict[str, Any]]] = {
    "dominated": ("dominated", {"color": DOTS}),
    "incomplete": ("not all measured", {"color": GREY, "facecolors": "none"}),
    "broken": ("breaks a constraint", BROKEN),
    "front": ("front", {"color": LINE, "zorder": 4}),
}


@dataclass(frozen=True, eq=False)
class Front:
    """The finished trials by their objectives.

    names      the objectives
    numbers    the finished trials
    values     (n, k) their values; NaN where one was not measured
    places     where each trial is: "front", "dominated", "broken" if it breaks a constraint, "incomplete" if
               something that decides this was not measured, or it was a cheap evaluation
    reference  (k,) the values that a trial must surpass in all objectives to be worth anything; None where
               nobody said so and no trial tells
    """

    names: list[str]
    numbers: list[int]
    values: Array
    places: list[Place]
    reference: Array | None


@dataclass(frozen=True, eq=False)
class Hypervolume:
    """The volume that the front dominates: between its trials and the reference, in units of the objectives.

    numbers    the finished trials, in order
    spent      how many real evaluations had been spent once each of them had ended, failed ones included
    volumes    (n,) the hypervolume after each of these
    reference  the values that a trial must surpass in all objectives to count
    """

    numbers: list[int]
    spent: list[float]
    volumes: Array
    reference: Mapping[str, float]


def front(result: Result, names: Sequence[str] | None = None) -> Front:
    """The finished trials by some of the objectives; None is all of them, or the first four."""
    problem, done = result.problem, _finished(result, "a front")
    chosen = list(problem.objectives)[:MOST] if names is None else _checked(problem, names)
    best = {trial.number for trial in result.front}
    columns = [list(problem.objectives).index(name) for name in chosen]
    gains = _gains(problem, done)
    counted = _counted(problem, done)
    at = _reference(problem, gains[counted])
    return Front(
        names=chosen,
        numbers=[trial.number for trial in done],
        values=(gains * problem.signs)[:, columns],
        places=[
            _place(problem, trial, trial.number in best, c) for trial, c in zip(done, counted, strict=True)
        ],
        reference=None if at is None else (at * problem.signs)[columns],
    )


def hypervolume(result: Result, reference: Mapping[str, float] | None = None) -> Hypervolume:
    """The hypervolume of the front after each finished trial; the reference is that of all of them."""
    problem, done = result.problem, _finished(result, "a hypervolume")
    try:
        import moocore
    except ImportError as error:
        raise MissingExtra(f"hypervolumes want moocore: {installation('front')}", extra="front") from error
    gains, counted = _gains(problem, done), _counted(problem, done)
    at = _reference(problem, gains[counted], reference)
    if at is None:
        raise NoResultError(
            "a hypervolume wants a reference, or a trial that has all objectives and meets the constraints, "
            f"got none in {len(done)} finished trials"
        )
    above = gains[counted] / 2.0 - at / 2.0  # halves, as a difference of two floats may be larger than any
    size = np.maximum(above.max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    best, volume, volumes = gains[:0], 0.0, []
    for row, counts in zip(gains, counted, strict=True):
        if counts and (row > at).all() and not (best >= row).all(axis=1).any():
            best = np.vstack([best[(best > row).any(axis=1)], row])
            shares = (best / 2.0 - at / 2.0) / size  # so that no product overflows on the way
            volume = float(
                moocore.hypervolume(-shares, ref=np.zeros(len(at)))
            )  # smaller is better to moocore
            with np.errstate(over="ignore", under="ignore"):
                volume = float(min(volume * np.prod(2.0 * size), LARGEST))
        volumes.append(volume)
    spent = spent_after(result)
    return Hypervolume(
        numbers=[trial.number for trial in done],
        spent=[spent[trial.number] for trial in done],
        volumes=np.array(volumes),
        reference=dict(zip(problem.objectives, (at * problem.signs).tolist(), strict=True)),
    )


def _finished(result: Result, view: str) -> list[Trial]:
    names = list(result.problem.objectives)
    if len(names) < 2:
        raise RecipeError(f"{view} wants several objectives, got {names}; plot_convergence shows one")
    done = [trial for trial in result.trials if trial.state == "done"]
    if not done:
        raise NoResultError(f"{view} wants a finished trial, got none in {len(result.trials)} trials")
    return done


def _checked(problem: Problem, names: Any) -> list[str]:
    found = [] if isinstance(names, str) or not isinstance(names, Sequence) else list(names)
    if (
        len(found) < 2
        or len(set(found)) < len(found)
        or any(name not in problem.objectives for name in found)
    ):
        wanted = list(problem.objectives)
        raise RecipeError(f"names: wanted two or more of the objectives {wanted}, got {brief(names)}")
    return found


def _gains(problem: Problem, trials: Sequence[Trial]) -> Array:
    """The objectives (n, k) of finished trials, larger is better; NaN where one was not measured."""
    rows = [[trial.values[name] for name in problem.objectives] for trial in trials]
    return np.array(rows, dtype=np.float64) * problem.signs


def _counted(problem: Problem, trials: Sequence[Trial]) -> npt.NDArray[np.bool_]:
    """Which trials (n,) may be on the front: real ones that have every objective and meet the constraints."""
    whole = ~np.isnan(_gains(problem, trials)).any(axis=1)
    met = [problem.real(trial) and problem.feasible(trial) for trial in trials]
    return np.asarray(whole & np.array(met))


def _place(problem: Problem, trial: Trial, best: bool, counted: bool) -> Place:
    if best:
        return "front"
    if problem.broken(trial):
        return "broken"
    return "dominated" if counted else "incomplete"


def _reference(problem: Problem, gains: Array, given: Mapping[str, float] | None = None) -> Array | None:
    """The reference (k,) that is given, or that of the problem, or one found out; larger is better."""
    if given is not None:
        problem = Problem(problem.space, problem.objectives, reference=given)
    if problem.reference_point is not None:
        return problem.reference_point
    with np.errstate(over="ignore"):  # a range may be larger than any float
        return np.clip(found_reference(gains), -LARGEST, LARGEST) if len(gains) else None


def draw_front(result: Result, names: Sequence[str] | None = None, title: str | None = None) -> Figure:
    """A panel for each pair of objectives; a staircase bounds what the front of two dominates."""
    shown = front(result, names)
    pairs = list(combinations(range(len(shown.names)), 2))
    figure = panels(len(pairs), WIDEST, height=4.8 if len(pairs) == 1 else None)
    reach = [_limits(shown, column) for column in range(len(shown.names))]
    for axes, (across, up) in zip(figure.axes, pairs, strict=True):
        axes.set(xlim=reach[across], ylim=reach[up])
        _draw_pair(axes, result.problem, shown, across, up)
        if len(result.problem.objectives) == 2:
            _draw_stairs(axes, result.problem, shown)
    low, high = np.transpose(reach)
    beyond = int(((shown.values < low) | (shown.values > high)).any(axis=1).sum())
    return finish(figure, result, title, f"{beyond} beyond the picture" if beyond else "")


def _draw_pair(axes: Axes, problem: Problem, shown: Front, across: int, up: int) -> None:
    """The trials by two objectives, the front on top, and the reference if it is near."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    x, y = bounded(shown.values[:, [across, up]]).T
    inside = (left <= x) & (x <= right) & (bottom <= y) & (y <= top)
    places = np.array(shown.places)
    for place, (label, look) in LOOKS.items():
        here = (places == place) & inside
        if here.any():
            axes.scatter(x[here], y[here], label=label, **{"s": 18, "zorder": 3, "clip_on": False, **look})
    if shown.reference is not None:
        a, b = bounded(shown.reference[[across, up]])
        if left <= a <= right and bottom <= b <= top:
            axes.scatter(a, b, s=60, marker="+", color="black", linewidths=1.2, label="reference")
    axes.set_xlabel(_label(problem, shown.names[across], wide=len(shown.names) == 2))
    axes.set_ylabel(_label(problem, shown.names[up], wide=False))


def _draw_stairs(axes: Axes, problem: Problem, shown: Front) -> None:
    """The edge of what the front dominates: on its good side no trial was found yet."""
    best = shown.values[np.array(shown.places) == "front"]
    if not len(best):
        return
    x, y = bounded(best[np.argsort(best[:, 0], kind="stable")]).T
    small = [problem.objectives[name] == "minimize" for name in shown.names]
    worst_x, worst_y = axes.get_xlim()[small[0]], axes.get_ylim()[small[1]]
    if small[0]:
        x, y = np.array([x[0], *x, worst_x]), np.array([worst_y, *y, y[-1]])
    else:
        x, y = np.array([worst_x, *x, x[-1]]), np.array([y[0], *y, worst_y])
    axes.step(x, y, where="post" if small[0] else "pre", color=LINE, lw=1.0, zorder=2)


def _limits(shown: Front, column: int) -> tuple[float, float]:
    """The ends of an axis: it has the front, other values but outliers, and the reference if it is near."""
    values = bounded(shown.values[:, column])
    told = ~np.isnan(values)
    if not told.any():
        return 0.0, 1.0
    near = [] if shown.reference is None else [shown.reference[[column]]]
    return limits(values[told], values[told & (np.array(shown.places) == "front")], *near)


def _label(problem: Problem, name: str, wide: bool) -> str:
    better = "smaller" if problem.objectives[name] == "minimize" else "larger"
    return f"{drawable(name, 2 * FEW if wide else FEW)} ({better} is better)"
