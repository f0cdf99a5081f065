"""Progress: one line on the terminal, with the best value and the time that suggestions take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from bopp.errors import NoResultError
from bopp.result import Result
from bopp.trial import Trial

if TYPE_CHECKING:
    from rich.progress import Progress


class Meter(Protocol):
    """What a run reports its progress to."""

    def suggested(self, seconds: float) -> None: ...

    def waiting(self) -> None: ...

    def told(self, trial: Trial, result: Result) -> None: ...

    def dropped(self, reason: str) -> None: ...

    def interrupted(self) -> None: ...


@contextmanager
def meter(budget: int, shown: bool) -> Iterator[Meter]:
    """A progress bar on stderr, or a meter that shows nothing."""
    if not shown:
        yield Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best {task.fields[best]}"),
        TextColumn("{task.fields[pace]} s a suggestion"),
        TimeRemainingColumn(),
    )
    # no refresh thread, because processes are forked while the bar is shown
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as bar:
        yield Bar(bar, budget)


def spent(result: Result) -> int:
    """How many trials have ended; those observed elsewhere cost nothing here."""
    return sum(trial.spent for trial in result.trials)


class Silent:
    """Reports nothing."""

    def suggested(self, seconds: float) -> None: ...

    def waiting(self) -> None: ...

    def told(self, trial: Trial, result: Result) -> None: ...

    def dropped(self, reason: str) -> None: ...

    def interrupted(self) -> None: ...


class Bar:
    """Reports to a rich progress bar."""

    def __init__(self, bar: Progress, budget: int):
        self._bar = bar
        self._task = bar.add_task("", total=budget, best="none yet", pace="-")
        self._seconds: list[float] = []

    def suggested(self, seconds: float) -> None:
        self._seconds.append(seconds)
        self._bar.update(self._task, pace=f"{sum(self._seconds) / len(self._seconds):.3f}")

    def waiting(self) -> None: ...

    def told(self, trial: Trial, result: Result) -> None:
        try:
            best = f"{result.best.value:.6g}"
        except NoResultError:
            best = "none yet"
        self._bar.update(self._task, completed=spent(result), best=best, refresh=True)

    def dropped(self, reason: str) -> None:
        self._bar.console.print(reason, markup=False, highlight=False)

    def interrupted(self) -> None:
        self._bar.console.print("Interrupted: returning what is there.")
