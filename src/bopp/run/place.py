"""Place: where the trials of a run are evaluated, depending on what the user asked for."""

from __future__ import annotations

from multiprocessing import get_all_start_methods
from typing import Any

from bopp.arguments import checked_count, checked_seconds
from bopp.called import Objective
from bopp.errors import RecipeError
from bopp.run.evaluation import Evaluation, InThisProcess
from bopp.run.futures import Futures
from bopp.run.processes import Processes


def evaluator(
    objective: Objective,
    workers: int,
    timeout: float | None,
    executor: Any = None,
    start_method: str | None = None,
) -> Evaluation:
    """The executor, if there is one; processes for several workers or a time-out; otherwise this process."""
    if not callable(objective):
        raise RecipeError(f"objective must be a function of a dict of params, got {objective!r}")
    workers = checked_count("workers", workers)
    timeout = checked_seconds("trial_timeout", timeout)
    methods = get_all_start_methods()
    if start_method is not None and start_method not in methods:
        raise RecipeError(f"start_method must be None or one of {', '.join(methods)}, got {start_method!r}")
    if executor is not None:
        if start_method is not None:
            raise RecipeError("start_method: an executor starts its own processes; leave one out")
        if timeout is not None:
            raise RecipeError("trial_timeout: an executor has no way to end an evaluation; leave one out")
        return Futures(objective, executor)
    if workers == 1 and timeout is None:
        return InThisProcess(objective)
    return Processes(objective, timeout, start_method)


def default_workers(executor: Any) -> int:
    """How many evaluations to run at once: as many as a Dask cluster has threads, otherwise one."""
    return max(1, sum(executor.nthreads().values())) if hasattr(executor, "nthreads") else 1
