"""Guard: a lock for what several threads may change at once."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet


class Guard:
    """A lock that its owner may take again, that a forked process finds free, and that copies as a new one.

    In the child of a fork only the thread that forked goes on: a lock that another one held would never be
    released there.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _guards.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return Guard, ()

    def _after_fork(self) -> None:
        if self._lock.acquire(blocking=False):  # it was free, or is held by the thread that forked
            self._lock.release()
        else:
            self._lock = threading.RLock()


_guards: WeakSet[Guard] = WeakSet()


def _forked() -> None:
    for guard in list(_guards):
        guard._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
