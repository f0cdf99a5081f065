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
from dataclasses import dataclass
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


class Supervisor:
    """A supervisor as its parent sees it: it takes params and answers with what became of them.

    It is to be made and given work where nothing can interrupt.

    Args:
        objective: what to evaluate.
        beside: the other supervisors.
        start_method: how `multiprocessing` starts it; None is to fork on Linux, elsewhere the usual way.
    """

    def __init__(self, objective: Objective, beside: list[Supervisor], start_method: str | None = None):
        context: Any = get_context(start_method or ("fork" if sys.platform == "linux" else None))
        method = context.get_start_method()
        self.line, its_end = context.Pipe()
        forks = method == "fork"
        others = [self.line, *(one.line for one in beside)] if forks else []  # which it inherits
        parent = os.getpid() if forks else None
        work = _Work(its_end, objective, parent, "spawn" if method == "spawn" else "fork")
        self._process = context.Process(target=_supervise, args=(work, others))
        try:
            with warnings.catch_warnings():
                if start_method is None:  # what other threads may hold, a supervisor does not use
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


@dataclass(frozen=True)
class _Work:
    """What a supervisor knows: where params come from, the objective, and how it starts an evaluation."""

    line: Connection
    objective: Objective
    parent: int | None  # None: it was not forked, so the end of the line tells that the parent is gone
    start_method: str

    def check(self) -> None:
        if self.parent is not None and os.getppid() != self.parent:
            raise EOFError("the parent is gone")


def _supervise(work: _Work, others: list[Connection]) -> None:
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
        while (params := _next(work)) is not None:
            work.line.send_bytes(_evaluated(work, params))


def _next(work: _Work) -> Params | None:
    """The next params; None if there are none to come."""
    while not work.line.poll(PULSE):
        work.check()
    params: Params | None = work.line.recv()
    return params


def _evaluated(work: _Work, params: Params) -> bytes:
    """What an evaluation answered, or that it ended without an answer; pickled."""
    context: Any = get_context(work.start_method)
    answer: Connection
    answer, question = context.Pipe(duplex=False)
    child = context.Process(target=_evaluate, args=(question, work.objective, params))
    child.start()
    question.close()
    try:
        while answer not in (ready := wait([answer, work.line], PULSE)) and child.is_alive():
            work.check()
            if work.line in ready:
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
    descendants.end_started()
    question.send(returned)


def _end(child: BaseProcess) -> None:
    """End an evaluation and whatever it started."""
    if child.pid is not None:
        descendants.end_tree(child.pid)
    child.kill()
    child.join()
    descendants.end_adopted()
