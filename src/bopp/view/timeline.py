"""Timeline: who worked on which trial, from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bopp.errors import NoResultError
from bopp.result import Result
from bopp.trial import State, Trial
from bopp.view.canvas import SIZE, drawable
from bopp.view.style import DOTS, LINE, finish, panel, star
from bopp.view.values import best_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"done": DOTS, "failed": LINE, "asked": "#e8c468"}  # by state
UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
THINNEST = 0.002  # of the width: a shorter trial would not be seen


@dataclass(frozen=True)
class Bar:
    """A trial from the moment it was asked for until it was told; one under way ends with the last event.

    row         which row it lies in
    start, end  seconds after the first trial was asked for
    """

    number: int
    row: int
    start: float
    end: float
    state: State


@dataclass(frozen=True)
class Timeline:
    """The bars, and whose each row is; a worker that had several trials at once has several rows.

    began  when the first trial was asked for
    """

    began: datetime
    rows: tuple[str, ...]
    bars: tuple[Bar, ...]


def timeline(result: Result) -> Timeline:
    """The trials that were asked for here; those without times and dropped ones are left out."""
    trials = [
        (trial.asked_at, trial)
        for trial in result.trials
        if trial.asked_at is not None and trial.counts and trial.origin != "observed"
    ]
    if not trials:
        raise NoResultError(
            f"a timeline wants a trial that was asked for here and has its time, "
            f"got none in {len(result.trials)} trials"
        )
    trials.sort(key=lambda pair: (_who(pair[1]), pair[0], pair[1].number))
    began = min(asked for asked, _ in trials)
    last = max(trial.told_at or asked for asked, trial in trials)
    rows: list[str] = []
    free: list[datetime] = []  # from when on each row has room
    bars = []
    for asked, trial in trials:
        end = max(trial.told_at or last, asked)
        who = _who(trial)
        row = next((i for i, name in enumerate(rows) if name == who and free[i] <= asked), len(rows))
        if row == len(rows):
            rows.append(who)
            free.append(end)
        free[row] = end
        since, until = ((time - began).total_seconds() for time in (asked, end))
        bars.append(Bar(trial.number, row, since, until, trial.state))
    return Timeline(began, tuple(rows), tuple(sorted(bars, key=lambda bar: bar.number)))


def draw_timeline(result: Result, title: str | None = None) -> Figure:
    """Each trial as a bar in the row of its worker, from when it was asked for to when it was told."""
    shown = timeline(result)
    figure, axes = panel(max(SIZE[1] / 2, 1.4 + 0.28 * len(shown.rows)))
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
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(len(names) - 0.4, -0.6), xlim=(-0.01 * length / size, 1.01 * length / size or 1.0))
    axes.set_xlabel(f"{unit} since {shown.began:%Y-%m-%d %H:%M:%S %Z}".strip())
    return finish(figure, result, title)


def _draw_bars(axes: Axes, shown: Timeline, size: float, thinnest: float) -> None:
    """The bars of each state in its colour, in units of this many seconds."""
    from matplotlib.collections import PolyCollection

    for state, colour in COLOURS.items():
        corners = []
        for bar in shown.bars:
            if bar.state == state:
                left, right = bar.start / size, max(bar.end, bar.start + thinnest) / size
                bottom, top = bar.row - 0.4, bar.row + 0.4
                corners.append([(left, bottom), (right, bottom), (right, top), (left, top)])
        if corners:
            label = "under way" if state == "asked" else state
            axes.add_collection(PolyCollection(corners, color=colour, ec="white", lw=0.3, label=label))


def _who(trial: Trial) -> str:
    """The worker as host/pid, without what tells it from earlier processes; empty if nobody knows."""
    parts = (trial.worker or "").split("/")
    return "/".join(parts[:2])
