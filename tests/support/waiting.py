"""Waiting for something that another process does."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 60.0  # seconds for a busy machine to start something


def wait_until(true: Callable[[], bool], seconds: float = LONG) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
