"""Futures: trials evaluated by an executor, possibly on other machines."""

from __future__ import annotations

import time
from concurrent import futures
from typing import Any

from bopp.called import Objective
from bopp.errors import RecipeError
from bopp.legible import described
from bopp.run.evaluation import PULSE, Ended, Evaluation, Failure, Returned, evaluate
from bopp.trial import Trial


class Futures(Evaluation):
    """Evaluates on an executor: a Dask client or any `concurrent.futures.Executor`."""

    def __init__(self, objective: Objective, executor: Any):
        if hasattr(executor, "get_executor"):  # a Dask client; not pure: the same params may run twice
            executor = executor.get_executor(pure=False)
        if not isinstance(executor, futures.Executor):
            raise RecipeError(
                f"executor must be a Dask client or a concurrent.futures.Executor, got {executor!r}"
            )
        self._objective = objective
        self._executor = executor
        self._runs: dict[futures.Future[Returned], Trial] = {}

    @property
    def running(self) -> int:
        return len(self._runs)

    def submit(self, trial: Trial) -> None:
        self._runs[self._executor.submit(evaluate, self._objective, trial.params)] = trial

    def wait(self, deadline: float) -> list[Ended]:
        seconds = max(0.0, min(deadline - time.monotonic(), PULSE))
        done, _ = futures.wait(self._runs, seconds, futures.FIRST_COMPLETED)
        for future in done:
            if future.cancelled():
                raise RecipeError(
                    f"executor: trial {self._runs[future].number} was cancelled: is it still there?"
                )
        return [(self._runs.pop(future), *_answer(future)) for future in done]

    def __exit__(self, *_: object) -> None:
        for future in self._runs:
            future.cancel()


def _answer(future: futures.Future[Returned]) -> Returned:
    """What a future returned; a failure if it could not be run, say because it lost its workers too often."""
    try:
        return future.result()
    except Exception as error:
        return None, Failure(described(error))
