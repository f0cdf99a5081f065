"""Heartbeat: a thread that renews the leases of the trials that this process holds.

The thread runs while its study holds trials, and does not keep the interpreter alive. A suspended process is
silent, because its threads are suspended with it. So is a process whose objective runs in it and keeps the
interpreter's lock (the GIL) in compiled code: its leases run out, and another worker may take its trials.
Objectives that run in child processes cannot stop this thread.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress


def start(renew: Callable[[], bool], every: float) -> threading.Event:
    """Call a method every so many seconds until it returns false; the event ends that sooner.

    The thread holds the object of the method weakly, so it ends with a study that nobody closed, too.
    """
    end = threading.Event()
    arguments = (weakref.WeakMethod(renew, lambda _: end.set()), every, end)
    threading.Thread(target=_beat, args=arguments, name="bopp heartbeat", daemon=True).start()
    return end


def _beat(method: weakref.WeakMethod[Callable[[], bool]], every: float, end: threading.Event) -> None:
    while not end.wait(every):
        renew = method()
        if renew is None:
            return
        with suppress(Exception):  # a database that cannot be reached now may be reached at the next beat
            if not renew():
                return
        del renew
