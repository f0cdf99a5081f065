"""Cache: what the worker process computes of studies, kept until something changes."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

from bopp.dashboard.format import reason
from bopp.dashboard.worker_process import WorkerProcess
from bopp.errors import StoreError

MOST = 60  # results that are kept
REST = 5.0  # times as long as it took before something is computed anew that has changed


@dataclass(frozen=True)
class CachedResult:
    """What was computed: a value, or an error that says why there is none.

    of       what it was computed of: the generation and the revision of a study
    seconds  how long that took
    passes   whether that is a fault that may have passed when it is tried again
    current  whether there is nothing newer to come
    """

    of: Hashable
    value: Any = None
    error: str | None = None
    seconds: float = 0.0
    at: float = 0.0
    passes: bool = False
    current: bool = True

    @property
    def rests(self) -> bool:
        """Whether it was computed so lately that it is not yet worth computing anew."""
        return time.monotonic() - self.at < REST * self.seconds


class ResultCache:
    """Computes each thing once for all who want to see it, and not again and again while a study runs."""

    def __init__(self, process: WorkerProcess):
        self._process = process
        self._known: OrderedDict[Hashable, CachedResult] = OrderedDict()
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    async def get(
        self,
        of: Hashable,
        patience: float,
        function: Callable[..., Any],
        /,
        *arguments: Hashable,
        rests: bool = True,
    ) -> CachedResult | None:
        """What the function returns, now or a while ago; None if that is not known in time.

        It is computed anew if what it was computed of has changed; if it `rests`, not too often.
        """
        key, until = (function.__name__, *arguments), time.monotonic() + patience
        while (left := until - time.monotonic()) > 0:
            known = self._known.get(key)
            if known is not None and (known.of == of or known.passes or (rests and known.rests)):
                break
            if key not in self._tasks:
                task = asyncio.create_task(self._compute(key, of, function, arguments))
                task.add_done_callback(lambda _: self._tasks.pop(key, None))
                self._tasks[key] = task
            await asyncio.wait({self._tasks[key]}, timeout=left)
        known = self._known.get(key)
        if known is None:
            return None
        if known.passes:
            del self._known[key]  # it is told once, and then tried again
        return known if known.of == of and not known.passes else replace(known, current=False)

    async def _compute(
        self, key: Hashable, of: Hashable, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        began = time.monotonic()
        value, error, passes = None, None, False
        try:
            value = await self._process.call(function, *arguments)
        except Exception as wrong:  # whatever it is, the page says so
            error, passes = reason(wrong), isinstance(wrong, StoreError)
        now = time.monotonic()
        self._known[key] = CachedResult(of, value, error, now - began, now, passes)
        self._known.move_to_end(key)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
