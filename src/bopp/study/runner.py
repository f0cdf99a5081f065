"""Runner: work on a study, alongside everyone else who does, until it has as many trials as its budget."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bopp.called import Objective
from bopp.errors import NoResultError, PausedStudy, StoreError
from bopp.run.loop import Limits, run_trials
from bopp.run.place import default_workers, evaluator
from bopp.run.progress import Meter
from bopp.trial import Trial

if TYPE_CHECKING:
    from bopp.study.pauses import Pause
    from bopp.study.study import Study

LOOK = 0.5  # seconds between looks at the trials of others, or at a pause, once there is nothing else to do
RARELY = 5.0  # seconds between looks at a long pause: of hundreds of workers, each connects to a server anew
SHARE = 0.02  # of the time waited at a pause so far is the time to the next look, between these two


def run_study(
    study: Study,
    objective: Objective,
    budget: float,
    workers: int | None,
    timeout: float | None,
    executor: Any,
    limits: Limits,
    meter: Meter,
    start_method: str | None = None,
) -> None:
    """Ask, evaluate and tell; trials still untold at the end are given back.

    While the study is paused, what is under way is finished, and then it waits until somebody resumes it.
    """
    at_once = default_workers(executor) if workers is None else workers
    ask = _Ask(study, budget, limits, meter)
    try:
        with evaluator(objective, at_once, timeout, executor, start_method) as evaluation:
            while not run_trials(study, ask, evaluation, at_once, meter, limits):
                if _reached(study, limits) or not (ask.refused or study.others_at_work):
                    return
                # if another worker falls silent its trial comes here; if the study is resumed, a new one
                time.sleep(max(0.0, min(ask.wait, limits.deadline - time.monotonic())))
    finally:
        with suppress(StoreError):  # if that fails, their leases run out
            study.release_all(ask)


class _Ask:
    """Asks for the trials of one run, which are told from those of another run on the same study by it."""

    def __init__(self, study: Study, budget: float, limits: Limits, meter: Meter):
        self.refused = False  # whether there would be a trial if the study were not paused
        self._study, self._budget, self._limits, self._meter = study, budget, limits, meter
        self._pause: Pause | None = None
        self._since = 0.0

    def __call__(self) -> Trial | None:
        """The next trial, unless there is none, or the study is paused."""
        if _reached(self._study, self._limits):
            return None
        if self._pause and self._study.paused == self._pause:
            return None
        try:
            trial, self.refused = self._study.ask_within(self._budget, self), False
        except PausedStudy:
            trial, self.refused = None, True
        self._notice(self._study.paused if self.refused else None)
        return trial

    @property
    def wait(self) -> float:
        """How many seconds to wait before asking again."""
        return min(max(LOOK, SHARE * (time.monotonic() - self._since)), RARELY) if self._pause else LOOK

    def _notice(self, pause: Pause | None) -> None:
        """Say once that the study is paused, or no longer."""
        if pause != self._pause:
            self._pause, self._since = pause, time.monotonic()
            self._meter.paused(str(pause) if pause else None)


def _reached(study: Study, limits: Limits) -> bool:
    if limits.target is None:
        return False
    try:
        return study.problem.reaches(study.best, limits.target)
    except NoResultError:
        return False
