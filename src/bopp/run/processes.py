"""Processes: each trial gets its own, so that a crash or a hang ends that trial and nothing else."""

from __future__ import annotations

import atexit
import math
import os
import time
from dataclasses import dataclass
from multiprocessing.connection import wait

from bopp.called import Objective
from bopp.run.evaluation import PULSE, Ended, Evaluation, Failure, Returned
from bopp.run.interrupts import uninterrupted
from bopp.run.supervisor import Supervisor
from bopp.trial import Trial


@dataclass(frozen=True)
class _Run:
    trial: Trial
    supervisor: Supervisor
    deadline: float


class Processes(Evaluation):
    """Evaluates each trial in a fresh process; one that is killed or times out ends only its own trial.

    Supervisors start these processes, one for each trial at once. They know the objective as it was when they
    were started themselves.
    """

    def __init__(self, objective: Objective, timeout: float | None, start_method: str | None = None):
        self._objective = objective
        self._start_method = start_method
        self._timeout = math.inf if timeout is None else timeout
        self._idle: list[Supervisor] = []
        self._runs: list[_Run] = []
        self._process = os.getpid()
        atexit.register(self._dismiss)  # before multiprocessing waits for them, should no block have ended

    @property
    def running(self) -> int:
        return len(self._runs)

    def submit(self, trial: Trial) -> None:
        with uninterrupted():
            supervisor = self._idle.pop() if self._idle else self._supervisor()
            self._runs.append(_Run(trial, supervisor, time.monotonic() + self._timeout))
            supervisor.begin(trial.params)

    def wait(self, deadline: float) -> list[Ended]:
        until = min([deadline, *(run.deadline for run in self._runs)])
        lines = [run.supervisor.line for run in self._runs]
        ready = wait(lines, max(0.0, min(until - time.monotonic(), PULSE)))
        now = time.monotonic()
        ended = [
            run
            for run in self._runs
            if run.supervisor.line in ready or now >= run.deadline or not run.supervisor.alive
        ]
        rows = [(run.trial, *self._outcome(run)) for run in ended]
        self._runs = [run for run in self._runs if run not in ended]
        return rows

    def _supervisor(self) -> Supervisor:
        return Supervisor(self._objective, self._supervisors, self._start_method)

    @property
    def _supervisors(self) -> list[Supervisor]:
        return [*self._idle, *(run.supervisor for run in self._runs)]

    def _outcome(self, run: _Run) -> Returned:
        supervisor = run.supervisor
        try:
            if supervisor.line.poll():
                answer = supervisor.answer()
                self._idle.append(supervisor)
                return answer
            timed_out = supervisor.alive
        except (EOFError, OSError):
            timed_out = False
        supervisor.dismiss()
        supervisor.wait_until_gone()
        lost = "the process that looked after it was killed"
        return None, Failure(f"no value within {self._timeout} seconds" if timed_out else lost)

    def __exit__(self, *_: object) -> None:
        with uninterrupted():
            try:
                self._dismiss()
            finally:
                self._dismiss()  # does nothing unless a second signal cut the first call short
            for supervisor in self._supervisors:
                supervisor.wait_until_gone()
        atexit.unregister(self._dismiss)

    def _dismiss(self) -> None:
        for supervisor in self._supervisors if os.getpid() == self._process else ():  # a fork has none
            supervisor.dismiss()
