"""Place: where the trials of a run are evaluated, depending on what the user asked for."""

from __future__ import annotations

from typing import Any

from bopp.arguments import checked_count, checked_seconds
from bopp.called import Objective
from bopp.errors import RecipeError
from bopp.run.evaluation import Evaluation, InThisProcess
from bopp.run.futures import Futures
from bopp.run.processes import Processes


def evaluator(objective: Objective, workers: int, timeout: float | None, executor: Any = None) -> Evaluation:
    """The executor, if there is one; processes for several workers or a time-out; otherwise this process."""
    if not callable(objective):
        raise RecipeError(f"objective must be a function of a dict of params, got {objective!r}")
    workers = checked_count("workers", workers)
    timeout = checked_seconds("trial_timeout", timeout)
    if executor is not None:
        if timeout is not None:
            raise RecipeError("trial_timeout: an executor has no way to end an evaluation; leave one out")
        return Futures(objective, executor)
    if workers == 1 and timeout is None:
        return InThisProcess(objective)
    return Processes(objective, timeout)
