"""Interrupts: Ctrl-C and requests to terminate, put off while something must not be cut short."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C and requests to terminate until the block ends; a second one acts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    usual = {number: signal.getsignal(number) for number in numbers}
    pending: list[tuple[int, FrameType | None]] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        pending.append((number, frame))
        if len(pending) > 1:
            usual[number](number, frame)  # type: ignore[operator, misc]

    for number, handler in usual.items():
        if callable(handler):
            signal.signal(number, put_off)
    try:
        yield
    finally:
        for number, handler in usual.items():
            if callable(handler):
                signal.signal(number, handler)
        for number, frame in pending[:1]:
            usual[number](number, frame)  # type: ignore[operator, misc]
