"""Live: what a run shows as it goes: a table on a terminal, a line for each trial elsewhere."""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bopp.called import Objective
from bopp.cli.terminal import say
from bopp.legible import one_line
from bopp.result import Result, finding
from bopp.run.progress import Meter, spent
from bopp.space import Params
from bopp.trial import Trial
from bopp.view.values import best_of, broken_by

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

SHOWN = 8  # trials, the latest ones
LIKE = ("encoding", "errors", "line_buffering")  # of an output that is opened anew


@contextmanager
def live(name: str, budget: int | None, so_far: Result, resume: str = "bopp resume") -> Iterator[Meter]:
    """A meter that reports on the error stream; `resume` is the command that ends a pause."""
    if not sys.stderr.isatty():
        yield Lines(budget, resume)
        return
    from rich.console import Console
    from rich.live import Live

    # no refresh thread, since processes are forked while the table is shown
    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as screen:
        yield Screen(name, budget, screen, so_far, resume)


@dataclass(frozen=True)
class Unbroken:
    """An objective in its own process that may print, to a log if there is one, although nobody can read it.

    After `| head` nobody does; on a full disk, what is printed is lost and not the trial.
    """

    objective: Objective
    log: Path | None = None

    def __call__(self, params: Params) -> Any:
        outputs = {1: "stdout", 2: "stderr"}
        if self.log is not None:
            # if the log cannot be written, output goes where it went before
            with suppress(OSError), self.log.open("ab") as file:
                for number in outputs:
                    os.dup2(file.fileno(), number)
        for number, name in outputs.items():
            if _nobody_reads(number):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            file = io.BufferedWriter(_Lossy(number, "wb", closefd=False))
            as_before = {way: getattr(getattr(sys, name), way) for way in LIKE}
            setattr(sys, name, io.TextIOWrapper(file, **as_before))
        return self.objective(params)


class _Lossy(io.FileIO):
    """A file to which writing never fails."""

    def write(self, data: Any) -> int:
        with suppress(OSError):
            return super().write(data)
        return len(data)


def _nobody_reads(stream: int) -> bool:
    """Whether the other end of a pipe was closed (not known on Windows)."""
    if not hasattr(select, "poll"):
        return False
    look = select.poll()
    look.register(stream, 0)
    return any(event & select.POLLERR for _, event in look.poll(0))


class Lines(Meter):
    """Prints a line for each trial, as long as somebody reads them."""

    def __init__(self, budget: int | None, resume: str = "bopp resume"):
        self._total = "" if budget is None else f" of {budget}"
        self._resume = resume

    def told(self, trial: Trial, result: Result) -> None:
        self.say(
            f"{spent(result)}{self._total}: trial {trial.number} {_outcome(trial, result)}; "
            + finding(result, "no best yet")
        )

    def paused(self, since: str | None) -> None:
        if since:
            self.say(f"paused {since}; to go on: {self._resume}")

    def interrupted(self) -> None: ...

    def say(self, text: str) -> None:
        say(one_line(text))


class Screen(Meter):
    """Shows a table that is redrawn in place."""

    def __init__(
        self, name: str, budget: int | None, screen: Live, so_far: Result, resume: str = "bopp resume"
    ):
        self._name = name
        self._budget = budget
        self._screen = screen
        self._began = time.monotonic()
        self._ended_here: float = 0
        self._latest: deque[tuple[str, str]] = deque(maxlen=SHOWN)
        self._result = so_far
        self._resume = resume
        self._paused: str | None = None

    def waiting(self) -> None:
        with suppress(OSError):  # a terminal that is gone is no reason to end a study
            self._screen.update(self._drawn(), refresh=True)

    def told(self, trial: Trial, result: Result) -> None:
        self._ended_here += result.problem.cost(trial)
        self._result = result
        self._latest.append((str(trial.number), _outcome(trial, result)))
        self.waiting()

    def dropped(self, reason: str) -> None:
        self._latest.append(("", reason))
        self.waiting()

    def paused(self, since: str | None) -> None:
        self._paused = since
        self.waiting()

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        done = spent(self._result)
        facts = Table.grid(padding=(0, 2))
        for name, fact in self._facts(done):
            facts.add_row(Text(name, style="dim"), Text(one_line(fact)))
        if self._budget:
            facts.add_row("", ProgressBar(self._budget, done, width=40))
        latest = Table.grid(padding=(0, 2))
        latest.add_row(Text("trial", style="dim"), Text("value", style="dim"))
        for number, outcome in self._latest:
            latest.add_row(number, Text(one_line(outcome), no_wrap=True, overflow="ellipsis"))
        return Group(Text(one_line(self._name), style="bold"), facts, Text(), latest)

    def _facts(self, done: float) -> Iterator[tuple[str, str]]:
        yield "trials", f"{done} of {self._budget}" if self._budget else str(done)
        states = [trial.state for trial in self._result.trials]
        yield "running, failed", f"{states.count('asked')}, {states.count('failed')}"
        several = len(self._result.problem.objectives) > 1
        yield "front" if several else "best", _best(self._result)
        if self._paused:
            yield "paused", f"{self._paused}; to go on: {self._resume}"
        elapsed = time.monotonic() - self._began
        yield "time", str(timedelta(seconds=round(elapsed)))
        if self._budget and self._ended_here:
            left = elapsed / self._ended_here * max(0, self._budget - done)
            yield "time left", f"about {timedelta(seconds=round(left))}"


def _outcome(trial: Trial, result: Result) -> str:
    if trial.state == "failed":
        return f"failed: {trial.reason}"
    values = ", ".join(f"{name} {'-' if x is None else f'{x:.6g}'}" for name, x in trial.values.items())
    broken = broken_by(result.problem, trial)
    told = f"{trial.value:.6g}" if len(trial.values) == 1 else values
    return f"{told} ({', '.join(broken)})" if broken else told


def _best(result: Result) -> str:
    """The best value with its params, or how large the front is."""
    if len(result.problem.objectives) > 1:
        return f"{len(result.front)} trials"
    if (best := best_of(result)) is None:
        return "no best yet"
    at = ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in best.params.items()
    )
    return f"{best.value:.6g} at {at}"
