"""Worker process: runs slow functions beside the server, so that no page waits for a model.

What takes long or much memory, a suggestion or a picture, happens there. The process is started when it is
needed, ends when it has been idle for a while, and never outlives the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from bopp.errors import StoreError
from bopp.run.interrupts import SIGNALS, follow_parent

IDLE = 300.0  # seconds after which the process ends
LOST = (
    "the process that worked on this was killed, perhaps for lack of memory; see whether it was done before "
    "you try again"
)

T = TypeVar("T")


class WorkerProcess:
    """A process that calls one function at a time."""

    def __init__(self) -> None:
        self._process: ProcessPoolExecutor | None = None
        self._calls = 0  # begun so far
        self._running = 0

    async def call(self, function: Callable[..., T], /, *arguments: object) -> T:
        """What the function returns or raises, called there."""
        loop = asyncio.get_running_loop()
        self._calls += 1
        self._running += 1
        try:
            return await asyncio.wrap_future(self._submit(function, *arguments))
        except BrokenProcessPool:
            self._process = None  # the next call starts another
            raise StoreError(LOST) from None
        finally:
            self._running -= 1
            loop.call_later(IDLE, self._rest, self._calls)

    def close(self) -> None:
        """End the process, be it in the middle of something."""
        if self._process is not None:
            for process in list((self._process._processes or {}).values()):
                process.kill()
            self._process.shutdown()  # and wait: Python complains if it exits at the same moment
            self._process = None

    def _submit(self, function: Callable[..., T], /, *arguments: object) -> Future[T]:
        """The call, handed over; to another process if the last one was killed while it was idle."""
        if self._process is not None:
            with suppress(BrokenProcessPool):
                return self._process.submit(function, *arguments)
        self._process = ProcessPoolExecutor(1, get_context("spawn"), partial(follow_parent, *SIGNALS))
        return self._process.submit(function, *arguments)

    def _rest(self, calls: int) -> None:
        if calls == self._calls and not self._running:
            self.close()
