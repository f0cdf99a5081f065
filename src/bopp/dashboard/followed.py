"""Followed: a study that is looked at while somebody wants to see it; one look serves every page."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from typing import TypeVar

from bopp.dashboard.seen import Seen, Watching
from bopp.errors import BoppError, StoreError
from bopp.legible import described
from bopp.study.address import censored
from bopp.trial import Trial

EVERY = 0.5  # seconds between two looks
AWAY = 15.0  # seconds after which a study is no longer looked at if nobody wants to see it
SLOW = 2.0  # seconds after which a look that has not ended is a trouble
PATIENCE = 1.0  # seconds that a page waits for trials that it shows
LATELY = 4000  # trials that pages showed lately, which are kept in case the store does not answer

VERSIONS, GENERATIONS = count(1), count(1)  # of the whole process, so that none is ever taken for another

T = TypeVar("T")


class Followed:
    """Looks at a study as long as somebody wants to see it, and tells when anything has changed.

    version  grows with every change of what there is to see
    seen     the study as it was seen last; None if it could not be opened yet
    trouble  why there is nothing newer, in words
    """

    def __init__(self, source: str, name: str):
        self.name = name
        self.version = next(VERSIONS)
        self.seen: Seen | None = None
        self.trouble: str | None = None
        self._source = source
        self._watching: Watching | None = None
        self._lately: tuple[Seen | None, Mapping[int, Trial]] = (None, {})  # as they were in this sight
        self._wanted, self._over = 0.0, False
        self._begun = self._ended = 0  # looks
        self._task: asyncio.Task[None] | None = None
        self._changed, self._looked, self._soon = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def sight(self, patience: float) -> Seen | None:
        """The study as it is now; as it was seen last, or None, if the store does not answer in time."""
        self._want()
        self._soon.set()
        until, number = time.monotonic() + patience, self._begun + 1  # a look that begins after this moment
        while self._ended < number or not (self.trouble or (self.seen and self.seen.whole)):
            try:
                await asyncio.wait_for(self._looked.wait(), until - time.monotonic())
            except TimeoutError:
                break
        return self.seen

    def changes(self, every: float) -> AsyncIterator[bool]:
        """True whenever something has changed from now on; false if nothing has for `every` seconds."""
        return self._changes(every, self.version)

    async def _changes(self, every: float, version: int) -> AsyncIterator[bool]:
        while not self._over:
            self._want()
            if self.version == version:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), every)
            changed, version = self.version != version, self.version  # the next change may come meanwhile
            yield changed

    def some(self, numbers: Sequence[int]) -> list[Trial]:
        """Some of the trials, in this order: as seen last, or as the store has them; from a thread."""
        seen, (of, lately) = self.seen, self._lately
        found = {**(lately if of is seen else {}), **(seen.kept if seen else {})}
        missing = [number for number in numbers if number not in found]
        if missing:
            read = self._read(missing)
            found |= read
            self._lately = (seen, found if len(found) <= LATELY else read)
        return [found[number] for number in numbers if number in found]

    @property
    def idle(self) -> bool:
        """Whether nobody wants to see it now."""
        return self._task is None or self._task.done()

    def end(self) -> None:
        """Let everybody who waits for changes go."""
        self._over = True
        self._changed.set()

    def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
        self._close()

    def _want(self) -> None:
        """Have it looked at from now on."""
        self._wanted = time.monotonic()
        if self.idle:
            self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while time.monotonic() - self._wanted < AWAY:
            self._soon.clear()
            self._begun += 1
            look = asyncio.wrap_future(in_thread(self._look))
            began = time.monotonic()
            while not (await asyncio.wait({look}, timeout=SLOW))[0]:
                self._show(self.seen, f"the store has not answered for {time.monotonic() - began:.0f} s")
            try:
                self._show(look.result(), None)
            except Exception as error:  # whatever it is, the page says so, and the next look may succeed
                self._show(self.seen, _words(error))
            self._ended = self._begun
            self._looked.set()
            self._looked = asyncio.Event()
            if self.trouble or self.seen is None or self.seen.whole:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._soon.wait(), EVERY)

    def _show(self, seen: Seen | None, trouble: str | None) -> None:
        if seen is not self.seen or trouble != self.trouble:
            self.seen, self.trouble = seen, trouble
            self.version = next(VERSIONS)
            self._changed.set()
            self._changed = asyncio.Event()

    def _look(self) -> Seen:
        try:
            if self._watching is None:
                self._watching = Watching(self._source, self.name, next(GENERATIONS))
            return self._watching.look()
        except BaseException:
            self._close()  # the next look opens it anew, in case it was replaced
            raise

    def _read(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """Some of the trials, as the store has them, unless it takes too long."""
        watching = self._watching  # which another thread may close meanwhile
        if watching is None:
            raise StoreError(self.trouble or "the study is not open")
        try:
            return in_thread(watching.some, numbers).result(PATIENCE)
        except TimeoutError:
            raise StoreError(self.trouble or f"the store has not answered for {PATIENCE:.0f} s") from None
        except Exception as error:
            raise StoreError(_words(error)) from error

    def _close(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.close()


def _words(error: Exception) -> str:
    return censored(str(error) if isinstance(error, BoppError) else described(error))


def in_thread(function: Callable[..., T], /, *arguments: object) -> Future[T]:
    """What a function returns or raises, called in a thread that keeps no process from ending."""
    future: Future[T] = Future()

    def call() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future
