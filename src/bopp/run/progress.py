"""Progress: one line on a terminal or in a notebook, with what was found and the pace of suggestions."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bopp import notebook
from bopp.result import Result, finding
from bopp.trial import Trial

if TYPE_CHECKING:
    from rich.progress import Progress

WIDTH = 20  # characters of the bar in a notebook
NONE_YET = "best none yet"
INTERRUPTED = "Interrupted: returning what is there."
RESUME = "to go on: study.resume(), or bopp resume"
OFTEN = 0.1  # seconds between updates in a notebook, each of which is a message to the browser


class Meter:
    """What a run reports its progress to; this one shows nothing."""

    def suggested(self, seconds: float) -> None: ...

    def waiting(self) -> None: ...

    def told(self, trial: Trial, result: Result) -> None: ...

    def dropped(self, reason: str) -> None:
        self.say(reason)

    def paused(self, since: str | None) -> None:
        if since:
            self.say(f"paused {since}; {RESUME}")

    def interrupted(self) -> None:
        self.say(INTERRUPTED)

    def say(self, text: str) -> None: ...


@contextmanager
def meter(budget: float, shown: bool, first: str = NONE_YET) -> Iterator[Meter]:
    """A progress bar on stderr, a line below the cell of a notebook, or a meter that shows nothing.

    `first` is what there is to show of earlier trials.
    """
    if not shown:
        yield Meter()
        return
    if display := notebook.display():
        line = Line(display, budget, first)
        try:
            yield line
        finally:
            line.show()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[found]}"),
        TextColumn("{task.fields[pace]} s a suggestion"),
        TimeRemainingColumn(),
    )
    # no refresh thread, because processes are forked while the bar is shown
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as bar:
        yield Bar(bar, budget, first)


def spent(result: Result) -> float:
    """What the trials that have ended cost, in real evaluations; those observed elsewhere are free."""
    costs = sum(result.problem.cost(trial) for trial in result.trials if trial.spent)
    return costs if result.problem.fidelity is None else round(costs, 2)


def failures(result: Result) -> int:
    """How many of these have failed."""
    return sum(trial.state == "failed" and trial.origin != "observed" for trial in result.trials)


class Bar(Meter):
    """Reports to a rich progress bar."""

    def __init__(self, bar: Progress, budget: float, first: str):
        self._bar = bar
        self._task = bar.add_task("", total=budget, found=first, pace="-")
        self._seconds: list[float] = []

    def suggested(self, seconds: float) -> None:
        self._seconds.append(seconds)
        self._bar.update(self._task, pace=_pace(self._seconds))

    def told(self, trial: Trial, result: Result) -> None:
        self._bar.update(self._task, completed=spent(result), found=found(result), refresh=True)

    def say(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)


class Line(Meter):
    """Reports to a line of text below the cell of a notebook, which is replaced in place.

    Neither ipywidgets nor a thread is needed.
    """

    def __init__(self, display: Any, budget: float, first: str):
        self._budget = budget
        self._began = self._shown_at = time.monotonic()
        self._done: float = 0
        self._ended_here: float = 0
        self._found = first
        self._seconds: list[float] = []
        self._handle = display(self._drawn(), raw=True, display_id=True)

    def suggested(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def told(self, trial: Trial, result: Result) -> None:
        self._done, self._found = spent(result), found(result)
        self._ended_here += result.problem.cost(trial)
        if time.monotonic() - self._shown_at >= OFTEN:
            self.show()

    def say(self, text: str) -> None:
        print(text, file=sys.stderr)

    def show(self) -> None:
        """Replace what was shown before."""
        self._shown_at = time.monotonic()
        self._handle.update(self._drawn(), raw=True)

    def _drawn(self) -> dict[str, str]:
        filled = min(WIDTH, int(WIDTH * self._done // self._budget))
        parts = [
            f"{'━' * filled}{'─' * (WIDTH - filled)} {self._done}/{self._budget}",
            self._found,
            f"{_pace(self._seconds)} s a suggestion",
        ]
        left = self._budget - self._done
        if self._ended_here and left > 0:
            seconds = (time.monotonic() - self._began) / self._ended_here * left
            parts.append(f"about {timedelta(seconds=round(seconds))} left")
        return {"text/plain": "  ".join(parts)}


def found(result: Result) -> str:
    """The best value so far, or how large the front is, and how many trials failed if any did."""
    best, failed = finding(result, NONE_YET), failures(result)
    return f"{best}, {failed} failed" if failed else best


def _pace(seconds: list[float]) -> str:
    return f"{sum(seconds) / len(seconds):.3f}" if seconds else "-"
