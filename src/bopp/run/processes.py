"""Processes: each trial gets its own, so that a crash or a hang ends that trial and nothing else."""

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
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Self

from bopp.errors import RecipeError
from bopp.run.evaluation import PULSE, Ended, Failure, Objective, Returned, evaluate
from bopp.space import Params
from bopp.trial import Trial

PR_SET_PDEATHSIG = 1  # from prctl(2)


@dataclass(frozen=True)
class _Run:
    trial: Trial
    process: BaseProcess
    answer: Connection
    deadline: float


class Processes:
    """Evaluates each trial in a fresh process; one that is killed or times out ends only its own trial."""

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
            with warnings.catch_warnings():  # safe here: a study's threads wait while this process forks
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

    def _outcome(self, run: _Run) -> Returned:
        try:
            if run.answer.poll():
                value, failure = run.answer.recv()
                return value, failure
            if run.process.is_alive():
                return None, Failure(f"no value within {self._timeout} seconds")
        except (EOFError, OSError):  # it died before it could answer, or while answering
            run.process.join()
        finally:
            _end(run)
        return None, Failure(f"the process ended with exit code {run.process.exitcode} and no value")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            _end(run)


def _child(question: Connection, objective: Objective, params: Params) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its children
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # a group of its own, so that what the objective starts can be ended with it
    end_with_parent()
    question.send(evaluate(objective, params))


def end_with_parent() -> None:
    """Have this process killed when its parent ends, even if the parent is killed (on Linux)."""
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
