"""Drive: ask, evaluate and tell, until there is nothing left to ask for or a reason to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np

from bopp.errors import LateTell, RecipeError
from bopp.evaluation import Evaluation
from bopp.progress import Meter
from bopp.result import Result
from bopp.trial import Direction, Trial

Callback = Callable[[Any, Trial], object]


class Taker(Protocol):
    """Who takes the values."""

    @property
    def result(self) -> Result: ...

    def tell(self, trial: Trial, value: Any) -> Trial: ...

    def fail(self, trial: Trial, error: str) -> Trial: ...


@dataclass(frozen=True)
class Limits:
    """What ends a run before its budget."""

    target: float | None
    deadline: float
    callback: Callback | None

    def reached(self, trial: Trial, direction: Direction) -> bool:
        """Whether a trial is as good as the target."""
        if trial.value is None or self.target is None:
            return False
        return trial.value <= self.target if direction == "minimize" else trial.value >= self.target


def checked_budget(budget: Any) -> int:
    """A number of trials, if it can be one."""
    if not isinstance(budget, int | np.integer) or budget < 1:
        raise RecipeError(f"budget must be an integer >= 1, got {budget!r}")
    return int(budget)


def limits(target: float | None, time_limit: float | None, callback: Callback | None) -> Limits:
    """The limits of a run that begins now."""
    if target is not None and not (isinstance(target, Real) and target == target):
        raise RecipeError(f"target must be a number or None, got {target!r}")
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit > 0):
        raise RecipeError(f"time_limit must be a number of seconds above 0 or None, got {time_limit!r}")
    if callback is not None and not callable(callback):
        raise RecipeError(f"callback must be a function or None, got {callback!r}")
    return Limits(target, math.inf if time_limit is None else time.monotonic() + time_limit, callback)


def drive(
    taker: Taker,
    ask: Callable[[], Trial | None],
    evaluation: Evaluation,
    workers: int,
    show: Meter,
    limits: Limits,
) -> bool:
    """Keep the workers busy until `ask` has nothing more; true where a limit ended it before."""
    while time.monotonic() < limits.deadline:
        while evaluation.running < workers:
            began = time.perf_counter()
            trial = ask()
            if trial is None:
                break
            show.suggested(time.perf_counter() - began)
            evaluation.submit(trial)
        if not evaluation.running:
            return False
        show.waiting()
        stop = False
        for trial, value, error in evaluation.wait(limits.deadline):
            try:
                told = taker.fail(trial, error) if error else taker.tell(trial, value)
            except LateTell as late:
                show.dropped(str(late))
                continue
            result = taker.result
            show.told(told, result)
            stop |= limits.reached(told, result.direction)
            stop |= limits.callback is not None and bool(limits.callback(taker, told))
        if stop:
            return True
    return True
