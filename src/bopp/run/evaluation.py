"""Evaluation: calling the objective so that an error in it ends its trial and not the run.

evaluation.submit(trial)        start it
evaluation.wait(deadline)       the trials that have ended since, each with what it returned or an error text
evaluation.running              how many are under way
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self

from bopp.errors import CommandError
from bopp.space import Params
from bopp.trial import Trial, measurement

PULSE = 0.5  # seconds between checks for a process that died silently: its children may hold its pipe open

Objective = Callable[[Params], Any]
Returned = tuple[Any, str | None]
Ended = tuple[Trial, Any, str | None]


class Evaluation(Protocol):
    """Where trials are evaluated."""

    @property
    def running(self) -> int: ...

    def submit(self, trial: Trial) -> None: ...

    def wait(self, deadline: float) -> list[Ended]: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class InThisProcess:
    """Evaluates in this process, one trial after another."""

    def __init__(self, objective: Objective):
        self._objective = objective
        self._trials: list[Trial] = []

    @property
    def running(self) -> int:
        return len(self._trials)

    def submit(self, trial: Trial) -> None:
        self._trials.append(trial)

    def wait(self, deadline: float) -> list[Ended]:
        trials, self._trials = self._trials, []
        return [(trial, *evaluate(self._objective, trial.params)) for trial in trials]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def evaluate(objective: Objective, params: Params) -> Returned:
    """What the objective returned, as any process can be sent it; or the text of what went wrong."""
    try:
        returned = objective(dict(params))
        if isinstance(returned, Mapping):
            return {name: measurement(value) for name, value in returned.items()}, None
        return measurement(returned), None
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except CommandError as error:
        return None, str(error)
    except BaseException as error:  # whatever else the user's code raises is a failed trial
        return None, described(error)


def described(error: BaseException) -> str:
    """The error as text: its type and its message."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an error that cannot be turned into text
        return type(error).__name__
