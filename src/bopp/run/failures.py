"""Failures: a bug in the objective fails every trial alike, and is noticed before it burns the budget."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from bopp.errors import ObjectiveError, RecipeError
from bopp.legible import brief
from bopp.result import Result
from bopp.run.evaluation import Failure
from bopp.trial import Trial

Policy = Literal["stop", "continue"]

ALIKE = 3  # failures of one kind in a row, with no success yet, that end a run
NUMBER = re.compile(r"[-+]?\d[\d.eE+-]*")


class Failures:
    """What to do about failures: "stop" ends a run that only fails, and always alike; "continue" never does.

    A value that is NaN or infinite is the objective's own word that there is none, and no bug.
    """

    def __init__(self, policy: Any = "stop"):
        if policy not in get_args(Policy):
            raise RecipeError(f'failures must be "stop" or "continue", got {brief(policy)}')
        self._stops = policy == "stop"
        self._alike: list[Trial] = []

    def check(self, failure: Failure | None) -> None:
        """End the run at once if no evaluation can succeed, such as one by a program that does not exist."""
        if self._stops and failure is not None and failure.hopeless:
            raise ObjectiveError(failure.error)

    def alike(self, told: Trial, returned: Any, failure: Failure | None, result: Result) -> list[Trial]:
        """The latest trials if they failed alike and there are enough of them to end the run; else none."""
        if not self._stops or told.state != "failed" or _reported(returned, failure, result):
            self._alike = []
        elif self._alike and _kind(self._alike[-1]) == _kind(told):
            self._alike.append(told)
        else:
            self._alike = [told]
        succeeded = any(trial.state == "done" and trial.origin != "observed" for trial in result.trials)
        return self._alike if len(self._alike) >= ALIKE and not succeeded else []


def explained(trials: list[Trial]) -> str:
    """Why a run was ended after these trials, and how to go on regardless."""
    last = trials[-1]
    return (
        f"{len(trials)} evaluations in a row failed alike and none has succeeded, so the run was stopped:\n\n"
        f"{(last.traceback or last.error or '').rstrip()}\n\n"
        "They do not count against the budget. "
        'To go on regardless: failures="continue", or bopp run --failures continue'
    )


def _reported(returned: Any, failure: Failure | None, result: Result) -> bool:
    """Whether the objective returned all that it should, if only to say that there is no value."""
    if failure is not None:
        return False
    return not isinstance(returned, Mapping) or returned.keys() >= set(result.problem.names)


def _kind(trial: Trial) -> tuple[str, str]:
    """The type of an exception and the line that raised it; of other errors, the text without its numbers."""
    error = trial.error or ""
    return (error.partition(":")[0], trial.place) if trial.place else (NUMBER.sub("#", error), "")
