"""Runner: work on a study, alongside everyone else who does, until it has as many trials as its budget."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bopp.called import Objective
from bopp.errors import NoResultError, StoreError
from bopp.run.loop import Limits, run_trials
from bopp.run.place import evaluator
from bopp.run.progress import Meter
from bopp.trial import Trial

if TYPE_CHECKING:
    from bopp.study.study import Study

LOOK = 0.5  # seconds between looks at the trials of others, once there is nothing else to do


def run_study(
    study: Study,
    objective: Objective,
    budget: float,
    workers: int | None,
    timeout: float | None,
    executor: Any,
    limits: Limits,
    meter: Meter,
) -> None:
    """Ask, evaluate and tell; trials still untold at the end are given back."""
    at_once = _threads(executor) if workers is None else workers
    run = object()  # tells its trials from those of another run on the same study

    def ask() -> Trial | None:
        if _reached(study, limits):
            return None
        return study.ask_within(budget, run)

    try:
        with evaluator(objective, at_once, timeout, executor) as evaluation:
            while not run_trials(study, ask, evaluation, at_once, meter, limits):
                if _reached(study, limits) or not study.others_at_work:
                    return
                time.sleep(LOOK)  # if another worker falls silent, its trial comes here
    finally:
        with suppress(StoreError):  # if that fails, their leases run out
            study.release_all(run)


def _reached(study: Study, limits: Limits) -> bool:
    if limits.target is None:
        return False
    try:
        return study.problem.reaches(study.best, limits.target)
    except NoResultError:
        return False


def _threads(executor: Any) -> int:
    """How many evaluations to run at once: as many as a Dask cluster has threads, otherwise one."""
    return max(1, sum(executor.nthreads().values())) if hasattr(executor, "nthreads") else 1
