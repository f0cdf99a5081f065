"""Supervisor: a process that evaluates one trial after another, each in a child of its own.

It ends whatever an evaluation leaves behind, and everything if its parent is gone, however that ended. It is
forked once and then forks for itself: so the parent, where signals are handled and threads may run, does not.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import warnings
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from bopp.called import Objective
from bopp.errors import RecipeError
from bopp.run import descendants
from bopp.run.evaluation import PULSE, Failure, Returned, evaluate
from bopp.run.interrupts import SIGNALS
from bopp.space import Params

FAREWELL = 5.0  # seconds for a supervisor to end what it started

processes: Any = get_context("fork" if sys.platform == "linux" else None)


class Supervisor:
    """A supervisor as its parent sees it: it takes params and answers with what became of them.

    It is to be made and given work where nothing can interrupt.
    """

    def __init__(self, objective: Objective, beside: list[Supervisor]):
        self.line, its_end = processes.Pipe()
        forks = processes.get_start_method() == "fork"
        others = [self.line, *(one.line for one in beside)] if forks else []  # which a fork inherits
        self._process = processes.Process(target=_supervise, args=(its_end, others, objective, os.getpid()))
        try:
            with warnings.catch_warnings():  # what other threads may hold, a supervisor does not use
                warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
                self._process.start()
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise RecipeError(f"workers: this objective cannot be sent to a process: {error}") from error
        its_end.close()

    def begin(self, params: Params) -> None:
        """Evaluate these params."""
        with suppress(OSError):  # it was killed: to be seen when its answer is wanted
            self.line.send(params)

    def answer(self) -> Returned:
        """What the evaluation came to, once the line is ready; raises EOFError if the supervisor is gone."""
        value, failure = self.line.recv()
        return value, failure

    @property
    def alive(self) -> bool:
        return bool(self._process.is_alive())

    def dismiss(self) -> None:
        """Have it end an evaluation under way, with all that this started, and then itself."""
        with suppress(OSError):
            self.line.send(None)
        self.line.close()

    def wait_until_gone(self) -> None:
        """Wait until it has ended, but not for ever."""
        self._process.join(FAREWELL)
        self._process.kill()
        self._process.join()


def _supervise(line: Connection, others: list[Connection], objective: Objective, parent: int) -> None:
    for number in SIGNALS:  # they are for the parent, whose end is the end of this process too
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or it could not wait for its children
    signal.set_wakeup_fd(-1)
    gc.freeze()  # what it has of its parent, such as a connection, is not its own to close
    descendants.call("supervisor")
    descendants.lead_group()
    descendants.adopt()
    for other in others:
        other.close()
    with suppress(EOFError, OSError):  # the parent is gone
        while (params := _next(line, parent)) is not None:
            line.send_bytes(_evaluated(line, objective, params, parent))


def _next(line: Connection, parent: int) -> Params | None:
    """The next params; None if there are none to come."""
    while not line.poll(PULSE):
        _check(parent)
    params: Params | None = line.recv()
    return params


def _evaluated(line: Connection, objective: Objective, params: Params, parent: int) -> bytes:
    """What an evaluation answered, or that it ended without an answer; pickled."""
    answer: Connection
    answer, question = processes.Pipe(duplex=False)
    child = processes.Process(target=_evaluate, args=(question, objective, params))
    child.start()
    question.close()
    try:
        while answer not in (ready := wait([answer, line], PULSE)) and child.is_alive():
            _check(parent)
            if line in ready:
                raise EOFError("dismissed, or the parent is gone")
            descendants.forget_ended(child.pid)
        with suppress(EOFError, OSError):  # it died before it could answer, or while answering
            if answer.poll():
                return answer.recv_bytes()
        child.join()
        return pickle.dumps(
            (None, Failure(f"the process ended with exit code {child.exitcode} and no value"))
        )
    finally:
        _end(child)
        answer.close()


def _evaluate(question: Connection, objective: Objective, params: Params) -> None:
    """Evaluate in this process, which is ended once it has answered."""
    for number in SIGNALS[1:]:  # but not Ctrl-C, which is for the whole run
        signal.signal(number, signal.SIG_DFL)
    descendants.call("evaluation")
    descendants.lead_group()
    descendants.end_with_parent()
    returned = evaluate(objective, params)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # a stream that is closed, or not what it was
            stream.flush()
    question.send(returned)


def _end(child: BaseProcess) -> None:
    """End an evaluation and whatever it started."""
    if child.pid is not None:
        descendants.end_group(child.pid)
    child.kill()
    child.join()
    descendants.end_adopted()


def _check(parent: int) -> None:
    if hasattr(os, "getppid") and os.getppid() != parent:
        raise EOFError("the parent is gone")
