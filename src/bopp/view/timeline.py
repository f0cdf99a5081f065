"""Timeline: who worked on which trial, from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bopp.errors import NoResultError
from bopp.result import Result
from bopp.trial import State, Trial


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


def _who(trial: Trial) -> str:
    """The worker as host/pid, without what tells it from earlier processes; empty if nobody knows."""
    parts = (trial.worker or "").split("/")
    return "/".join(parts[:2])
