"""Evaluation: calling the objective so that whatever it does, raise, crash or hang, is the end of a trial.

Here, in this process; in Processes, one for each trial; or as Futures of an executor, on other machines too.

evaluation.submit(trial)        start it
evaluation.wait(deadline)       the trials that ended since, each with a value or an error text
evaluation.running              how many are under way
"""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from numbers import Real
from typing import Any, Protocol, Self

import numpy as np

from bopp.errors import CommandError, RecipeError, TellError
from bopp.space import Params
from bopp.trial import Trial, number_of

PULSE = 0.5  # seconds between looks for a process that died in silence: its children may hold its pipe open

PR_SET_PDEATHSIG = 1  # of prctl(2)

Objective = Callable[[Params], Any]
Ended = tuple[Trial, float, str | None]


class Evaluation(Protocol):
    """Where trials are evaluated."""

    @property
    def running(self) -> int: ...

    def submit(self, trial: Trial) -> None: ...

    def wait(self, deadline: float) -> list[Ended]: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def evaluator(objective: Objective, workers: int, timeout: float | None, executor: Any = None) -> Evaluation:
    """The executor, if there is one; processes for several workers or a time-out; otherwise this process."""
    if not callable(objective):
        raise RecipeError(f"objective must be a function of a dict of params, got {objective!r}")
    if not isinstance(workers, int | np.integer) or workers < 1:
        raise RecipeError(f"workers must be an integer >= 1, got {workers!r}")
    if timeout is not None and not (isinstance(timeout, Real) and timeout > 0):
        raise RecipeError(f"trial_timeout must be above 0 seconds, got {timeout!r}")
    if executor is not None:
        if timeout is not None:
            raise RecipeError("trial_timeout: an executor has no way to end an evaluation; leave one out")
        return Futures(objective, executor)
    if workers == 1 and timeout is None:
        return Here(objective)
    return Processes(objective, timeout)


def evaluate(objective: Objective, params: Params) -> tuple[float, str | None]:
    """The value of the objective, or NaN and the text of what went wrong."""
    try:
        return number_of(objective(dict(params))), None
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except TellError as error:
        return math.nan, f"objective: {error}"
    except CommandError as error:
        return math.nan, str(error)
    except BaseException as error:  # whatever else the user's code raises is a failed trial
        return math.nan, _described(error)


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an error that cannot say what it is
        return type(error).__name__


class Here:
    """Evaluates in this process, one after the other."""

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


@dataclass(frozen=True)
class _Run:
    trial: Trial
    process: BaseProcess
    answer: Connection
    deadline: float


class Processes:
    """Evaluates each trial in a fresh process; one that is killed or out of time ends its trial, no other."""

    def __init__(self, objective: Objective, timeout: float | None):
        self._objective = objective
        self._timeout = math.inf if timeout is None else timeout
        self._runs: list[_Run] = []

    @property
    def running(self) -> int:
        return len(self._runs)

    def submit(self, trial: Trial) -> None:
        answer, question = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=_child, args=(question, self._objective, trial.params))
        try:
            with warnings.catch_warnings():  # the threads of a study wait while this process forks
                warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
                process.start()
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise RecipeError(f"workers: this objective cannot be sent to a process: {error}") from error
        question.close()
        self._runs.append(_Run(trial, process, answer, time.monotonic() + self._timeout))

    def wait(self, deadline: float) -> list[Ended]:
        until = min([deadline, *(run.deadline for run in self._runs)])
        ready = wait([run.answer for run in self._runs], max(0.0, min(until - time.monotonic(), PULSE)))
        now = time.monotonic()
        ended = [
            run
            for run in self._runs
            if run.answer in ready or now >= run.deadline or not run.process.is_alive()
        ]
        self._runs = [run for run in self._runs if run not in ended]
        return [(run.trial, *self._outcome(run)) for run in ended]

    def _outcome(self, run: _Run) -> tuple[float, str | None]:
        try:
            if run.answer.poll():
                value, error = run.answer.recv()
                return value, error
            if run.process.is_alive():
                return math.nan, f"no value within {self._timeout} seconds"
        except (EOFError, OSError):  # it died before, or while, it answered
            run.process.join()
        finally:
            _end(run)
        return math.nan, f"the process ended with exit code {run.process.exitcode} and no value"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            _end(run)


class Futures:
    """Evaluates on an executor: a Dask client, or any of concurrent.futures."""

    def __init__(self, objective: Objective, executor: Any):
        if hasattr(executor, "get_executor"):  # a Dask client; not pure: params asked for twice run twice
            executor = executor.get_executor(pure=False)
        if not isinstance(executor, futures.Executor):
            raise RecipeError(
                f"executor must be a Dask client or a concurrent.futures.Executor, got {executor!r}"
            )
        self._objective = objective
        self._executor = executor
        self._runs: dict[futures.Future[tuple[float, str | None]], Trial] = {}

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._runs:
            future.cancel()


def _answer(future: futures.Future[tuple[float, str | None]]) -> tuple[float, str | None]:
    """What a future holds; where its workers were lost with it, again and again, a failure."""
    try:
        return future.result()
    except Exception as error:
        return math.nan, _described(error)


def _child(question: Connection, objective: Objective, params: Params) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its children
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # a group of its own, so that what the objective starts can be ended with it
    end_with_parent()
    question.send(evaluate(objective, params))


def end_with_parent() -> None:
    """Let this process be killed when the one that started it ends, even if that was killed (on Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(run: _Run) -> None:
    """End the process and whatever it started."""
    if hasattr(os, "killpg") and run.process.pid is not None:
        with suppress(ProcessLookupError, PermissionError):  # not a group yet, or gone already
            os.killpg(run.process.pid, signal.SIGKILL)
    run.process.kill()
    run.process.join()
    run.answer.close()
