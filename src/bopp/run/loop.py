"""Loop: ask, evaluate and tell, until there is nothing left to ask for or there is a reason to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

from bopp.arguments import checked_seconds
from bopp.errors import LateTell, ObjectiveError, RecipeError, TellError
from bopp.legible import brief
from bopp.problem import Problem
from bopp.result import Result
from bopp.run.evaluation import Evaluation, Failure
from bopp.run.failures import Failures, explained
from bopp.run.interrupts import heeded
from bopp.run.progress import Meter
from bopp.trial import Trial

Callback = Callable[[Any, Trial], object]


class Recorder(Protocol):
    """Keeps the trials of a run and takes their values: an Optimizer or a Study."""

    @property
    def result(self) -> Result: ...

    def tell(self, trial: Trial, value: Any) -> Trial: ...

    def fail(self, trial: Trial, error: str, traceback: str | None = None) -> Trial: ...

    def retry(self, *trials: Trial, reason: str) -> list[Trial]: ...


@dataclass(frozen=True)
class Limits:
    """What may end a run before its budget is spent."""

    target: float | None
    deadline: float
    callback: Callback | None
    failures: Failures

    @staticmethod
    def from_now(
        target: float | None, time_limit: float | None, callback: Callback | None, failures: Any = "stop"
    ) -> Limits:
        """The limits of a run that begins now."""
        if target is not None and not (isinstance(target, Real) and target == target):
            raise RecipeError(f"target must be a number or None, got {brief(target)}")
        if callback is not None and not callable(callback):
            raise RecipeError(f"callback must be a function or None, got {callback!r}")
        seconds = checked_seconds("time_limit", time_limit)
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        return Limits(target, deadline, callback, Failures(failures))

    def checked(self, problem: Problem) -> Limits:
        """The limits, if they are some for this problem."""
        if self.target is not None and len(problem.objectives) > 1:
            raise RecipeError(
                f"target: wanted one objective, got {list(problem.objectives)}; "
                "a callback may end a run for any reason"
            )
        return self

    def end_after(self, trial: Trial, recorder: Recorder, result: Result) -> bool:
        """Whether to stop after a told trial: it has reached the target, or the callback wants to stop."""
        reached = self.target is not None and result.problem.reaches(trial, self.target)
        return bool(self.callback is not None and self.callback(recorder, trial)) or reached


def run_trials(
    recorder: Recorder,
    ask: Callable[[], Trial | None],
    evaluation: Evaluation,
    workers: int,
    meter: Meter,
    limits: Limits,
) -> bool:
    """Keep the workers busy until `ask` has nothing more; returns true if a limit ended the run first.

    If the same failure is all that happens, its trials are taken back, and the run ends with an error.
    """
    with heeded() as check:
        while time.monotonic() < limits.deadline:
            check()
            while evaluation.running < workers and (trial := _asked(ask, meter)):
                evaluation.submit(trial)
            if not evaluation.running:
                return False
            meter.waiting()
            if _tell_ended(recorder, evaluation, meter, limits, check):
                return True
        return True


def _asked(ask: Callable[[], Trial | None], meter: Meter) -> Trial | None:
    began = time.perf_counter()
    trial = ask()
    if trial is not None:
        meter.suggested(time.perf_counter() - began)
    return trial


def _tell_ended(
    recorder: Recorder,
    evaluation: Evaluation,
    meter: Meter,
    limits: Limits,
    check: Callable[[], None],
) -> bool:
    """Tell what has ended since; true if that is a reason to stop."""
    stop = False
    for trial, returned, failure in evaluation.wait(limits.deadline):
        if failure is not None:
            check()  # it may be the interrupt that made it fail
        limits.failures.check(failure)
        try:
            told, failure = _tell(recorder, trial, returned, failure)
        except LateTell as late:
            meter.dropped(str(late))
            continue
        result = recorder.result
        meter.told(told, result)
        if alike := limits.failures.alike(told, returned, failure, result):
            recorder.retry(*alike, reason="all evaluations failed alike")
            raise ObjectiveError(explained(alike))
        stop |= limits.end_after(told, recorder, result)
    return stop


def _tell(
    recorder: Recorder, trial: Trial, returned: Any, failure: Failure | None
) -> tuple[Trial, Failure | None]:
    """The trial as told, with its failure if there was one; a value that cannot be told is one too."""
    if failure is None:
        try:
            return recorder.tell(trial, returned), None
        except LateTell:
            raise
        except TellError as wrong:
            failure = Failure(f"objective: {wrong}")
    return recorder.fail(trial, failure.error, failure.traceback), failure
