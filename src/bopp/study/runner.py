"""Runner: work on a study, together with all others who do, until it has as many trials as its budget."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bopp.drive import Limits, drive
from bopp.errors import NoResultError, StoreError
from bopp.evaluation import Objective, evaluator
from bopp.progress import Meter
from bopp.trial import Trial

if TYPE_CHECKING:
    from bopp.study.study import Study

LOOK = 0.5  # seconds between looks at the trials of others, once there is nothing else to do


def work(
    study: Study,
    objective: Objective,
    budget: float,
    workers: int | None,
    timeout: float | None,
    executor: Any,
    limits: Limits,
    show: Meter,
) -> None:
    """Ask, evaluate and tell; trials that are not told in the end are given back."""
    at_once = _threads(executor) if workers is None else workers
    before = study.held

    def ask() -> Trial | None:
        if _reached(study, limits):
            return None
        return study.ask_within(budget)

    try:
        with evaluator(objective, at_once, timeout, executor) as evaluation:
            while not drive(study, ask, evaluation, at_once, show, limits):
                if _reached(study, limits) or not study.others_at_work:
                    return
                time.sleep(LOOK)  # a trial of somebody who falls silent comes here
    finally:
        with suppress(StoreError):  # then their leases run out
            for number in study.held - before:
                study.release(number)


def _reached(study: Study, limits: Limits) -> bool:
    if limits.target is None:
        return False
    try:
        return limits.reached(study.best, study.direction)
    except NoResultError:
        return False


def _threads(executor: Any) -> int:
    """As many evaluations at once as a Dask cluster has threads; elsewhere one."""
    return max(1, sum(executor.nthreads().values())) if hasattr(executor, "nthreads") else 1
