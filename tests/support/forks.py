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
