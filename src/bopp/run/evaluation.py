"""Evaluation: calling the objective so that an error in it ends its trial and not the run.

evaluation.submit(trial)        start it
evaluation.wait(deadline)       the trials that have ended since, each with what it returned or a failure
evaluation.running              how many are under way
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from bopp.called import Objective
from bopp.errors import CommandError, MissingCommand
from bopp.legible import described
from bopp.space import Params
from bopp.trial import Trial, measurement

PULSE = 0.5  # seconds between checks for a process that died silently: its children may hold its pipe open

LONGEST_TRACEBACK = 8000  # characters, from the end
OURS = str(Path(__file__).parents[1])  # the folder of bopp


@dataclass(frozen=True)
class Failure:
    """Why an evaluation has no value; `hopeless` if no other params could do better."""

    error: str
    traceback: str | None = None
    hopeless: bool = False


Returned = tuple[Any, Failure | None]
Ended = tuple[Trial, Any, Failure | None]


class Evaluation(Protocol):
    """Where trials are evaluated."""

    @property
    def running(self) -> int: ...

    def submit(self, trial: Trial) -> None: ...

    def wait(self, deadline: float) -> list[Ended]: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class InThisProcess(Evaluation):
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

    def __exit__(self, *_: object) -> None: ...


def evaluate(objective: Objective, params: Params) -> Returned:
    """What the objective returned, as any process can be sent it; or what went wrong."""
    try:
        returned = objective(dict(params))
        if returned is None:
            return None, Failure("the objective returned None")
        if isinstance(returned, Mapping):
            return {name: measurement(value) for name, value in returned.items()}, None
        return measurement(returned), None
    except KeyboardInterrupt:
        raise
    except CommandError as error:
        return None, Failure(str(error), hopeless=isinstance(error, MissingCommand))
    except BaseException as error:  # whatever else the user's code raises is a failed trial
        return None, Failure(described(error), _traceback(error))


def _traceback(error: BaseException) -> str | None:
    """The traceback of an error, from the first line of the user's code on."""
    try:
        text = "".join(traceback.format_exception(type(error), error, _theirs(error.__traceback__)))
    except Exception:  # an error that cannot be turned into text
        return None
    return text if len(text) <= LONGEST_TRACEBACK else f"...{text[-LONGEST_TRACEBACK:]}"


def _theirs(place: TracebackType | None) -> TracebackType | None:
    """The traceback without the calls by which bopp reached the objective."""
    begin = place
    while begin and begin.tb_frame.f_code.co_filename.startswith(OURS):
        begin = begin.tb_next
    return begin or place
