"""Watch: a study that is looked at while somebody wants to see it; one look serves every page."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeVar

from bopp.dashboard.format import reason
from bopp.dashboard.trial_columns import TrialColumns
from bopp.errors import StoreError
from bopp.problem import Problem
from bopp.study.following import Look
from bopp.study.opening import existing
from bopp.trial import Trial

EVERY = 0.5  # seconds between two looks
AWAY = 15.0  # seconds after which a study is no longer looked at if nobody wants to see it
SLOW = 2.0  # seconds after which a look that has not ended is a trouble
PATIENCE = 1.0  # seconds that a page waits for trials that it shows
LATELY = 4000  # trials that pages showed lately, which are kept in case the store does not answer
LATEST = 20  # trials that a snapshot has whole, besides those that are running and the best
MOST = 100  # running trials, or trials of a front, that a snapshot has whole

VERSIONS, GENERATIONS = count(1), count(1)  # of the whole process, so that none is ever taken for another

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Snapshot(Look):
    """A study as it was seen last; `kept` has some of its trials: the latest, the running ones, the best."""

    name: str
    url: str
    problem: Problem
    knows: bool  # whether it has sources of knowledge
    generation: int  # how often it has been opened
    columns: TrialColumns
    kept: Mapping[int, Trial]

    @property
    def running(self) -> list[Trial]:
        """The trials that were asked for and not told, of which the latest are kept."""
        return [trial for trial in self.kept.values() if trial.state == "asked"]

    @property
    def by_hand(self) -> list[Trial]:
        """The running trials that somebody asked for by hand, which no lease takes away."""
        leased = {held.number for held in self.leased}
        return [trial for trial in self.running if trial.number not in leased]

    @property
    def leading(self) -> list[Trial]:
        """The best trial, or the front, of which the first are kept."""
        return [self.kept[number] for number in _leading(self.columns) if number in self.kept]


class OpenStudy:
    """An open study that is looked at again and again; not by several threads at once, except `some`."""

    def __init__(self, source: str, name: str):
        self._study = existing(source, name)
        self._following = self._study.follow()
        self._generation = next(GENERATIONS)
        self._snapshot: Snapshot | None = None

    def close(self) -> None:
        self._study.close()

    def look(self) -> Snapshot:
        """What there is to see now: the very same as before if nothing has changed."""
        study, before, look = self._study, self._snapshot, self._following.look()
        if before is not None and not look.changed and _shown(before) == _shown(look):
            return before
        columns = before.columns if before else TrialColumns.empty(study.problem)
        columns = columns.after(look.changed)
        self._snapshot = Snapshot(
            **vars(replace(look, changed=())),  # which the columns have
            name=study.name,
            url=study.url,
            problem=study.problem,
            knows=bool(study.definition.knowledge),
            generation=self._generation,
            columns=columns,
            kept=self._kept(columns, look, before.kept if before else {}),
        )
        return self._snapshot

    def some(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """Some of the trials, by number, as the store has them."""
        return self._following.some(numbers)

    def _kept(self, columns: TrialColumns, look: Look, before: Mapping[int, Trial]) -> dict[int, Trial]:
        """The trials that are kept whole, some of which may have to be read again."""
        asked, leased = columns.chosen("asked").tolist(), {held.number for held in look.leased}
        by_hand = [number for number in asked if number not in leased][-MOST:]
        latest = range(max(0, len(columns) - LATEST), len(columns))
        wanted = sorted({*latest, *by_hand, *sorted(leased)[-MOST:], *_leading(columns)})
        known = {**before, **{trial.number: trial for trial in look.changed}}
        missing = [number for number in wanted if number not in known]
        if missing and look.whole:
            known |= self.some(missing)
        return {number: known[number] for number in wanted if number in known}


class StudyWatch:
    """Looks at a study as long as somebody wants to see it, and tells when anything has changed.

    version   grows with every change of what there is to see
    snapshot  the study as it was seen last; None if it could not be opened yet
    trouble   why there is nothing newer, in words
    """

    def __init__(self, source: str, name: str):
        self.name = name
        self.version = next(VERSIONS)
        self.snapshot: Snapshot | None = None
        self.trouble: str | None = None
        self._source = source
        self._study: OpenStudy | None = None
        self._lately: tuple[Snapshot | None, Mapping[int, Trial]] = (None, {})  # as they were in this one
        self._wanted, self._over = 0.0, False
        self._begun = self._ended = 0  # looks
        self._task: asyncio.Task[None] | None = None
        self._changed, self._looked, self._soon = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def look(self, patience: float) -> Snapshot | None:
        """The study as it is now; as it was seen last, or None, if the store does not answer in time."""
        self._want()
        self._soon.set()
        until, number = time.monotonic() + patience, self._begun + 1  # a look that begins after this moment
        while self._ended < number or not (self.trouble or (self.snapshot and self.snapshot.whole)):
            try:
                await asyncio.wait_for(self._looked.wait(), until - time.monotonic())
            except TimeoutError:
                break
        return self.snapshot

    async def changes(self, version: int, every: float) -> AsyncIterator[bool]:
        """True whenever something has changed since a version; false if nothing has for `every` seconds."""
        while not self._over:
            self._want()
            if self.version == version:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), every)
            changed, version = self.version != version, self.version  # the next change may come meanwhile
            yield changed

    def some(self, numbers: Sequence[int]) -> list[Trial]:
        """Some of the trials, in this order: as seen last, or as the store has them; from a thread."""
        snapshot, (of, lately) = self.snapshot, self._lately
        found = {**(lately if of is snapshot else {}), **(snapshot.kept if snapshot else {})}
        missing = [number for number in numbers if number not in found]
        if missing:
            read = self._read(missing)
            found |= read
            self._lately = (snapshot, found if len(found) <= LATELY else read)
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
            self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while time.monotonic() - self._wanted < AWAY:
            self._soon.clear()
            self._begun += 1
            look = asyncio.wrap_future(in_thread(self._look))
            began = time.monotonic()
            while not (await asyncio.wait({look}, timeout=SLOW))[0]:
                self._show(self.snapshot, f"the store has not answered for {time.monotonic() - began:.0f} s")
            try:
                self._show(look.result(), None)
            except Exception as error:  # whatever it is, the page says so, and the next look may succeed
                self._show(self.snapshot, reason(error))
            self._ended = self._begun
            self._looked.set()
            self._looked = asyncio.Event()
            if self.trouble or self.snapshot is None or self.snapshot.whole:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._soon.wait(), EVERY)

    def _show(self, snapshot: Snapshot | None, trouble: str | None) -> None:
        if snapshot is not self.snapshot or trouble != self.trouble:
            self.snapshot, self.trouble = snapshot, trouble
            self.version = next(VERSIONS)
            self._changed.set()
            self._changed = asyncio.Event()

    def _look(self) -> Snapshot:
        try:
            if self._study is None:
                self._study = OpenStudy(self._source, self.name)
            return self._study.look()
        except BaseException:
            self._close()  # the next look opens it anew, in case it was replaced
            raise

    def _read(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """Some of the trials, as the store has them, unless it takes too long."""
        study = self._study  # which another thread may close meanwhile
        if study is None:
            raise StoreError(self.trouble or "the study is not open")
        try:
            return in_thread(study.some, numbers).result(PATIENCE)
        except TimeoutError:
            raise StoreError(self.trouble or f"the store has not answered for {PATIENCE:.0f} s") from None
        except Exception as error:
            raise StoreError(reason(error)) from error

    def _close(self) -> None:
        study, self._study = self._study, None
        if study is not None:
            study.close()


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


def _leading(columns: TrialColumns) -> list[int]:
    best = columns.best
    return columns.front[:MOST] if best is None else [best]


def _shown(look: Look) -> tuple[object, ...]:
    """All that a page shows of a look but the trials."""
    return look.whole, look.revision, look.leased, look.queued, look.paused
