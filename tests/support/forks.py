"""Forks: what a child of this process does, and how it ends."""

import os
import signal
import sys
import threading
from collections.abc import Callable


def in_child(work: Callable[[], object]) -> int:
    """The exit code of a fork of this process that does some work and no more."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if work() in (None, True) else 3
        except BaseException as error:
            print(f"child: {error!r}", file=sys.__stderr__, flush=True)
        finally:
            os._exit(code)
    killer = threading.Timer(600.0, os.kill, (pid, signal.SIGKILL))  # should it hang
    killer.start()
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        killer.cancel()


def forked(count: int, act: Callable[[], object]) -> list[int]:
    """The exit codes of so many forks that do the same at once."""
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os._exit(in_child(act))
        pids.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
