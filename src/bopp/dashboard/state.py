"""State: what all pages of a server share: the store, the studies being watched, the worker processes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bopp.dashboard.cache import ResultCache
from bopp.dashboard.sessions import Sessions
from bopp.dashboard.watch import PATIENCE, StudyWatch, in_thread
from bopp.dashboard.worker_process import WorkerProcess
from bopp.errors import BoppError, StoreError, StudyError
from bopp.study.address import is_url, shown, understood
from bopp.study.catalogue import names
from bopp.study.config import load

PREPARED = 5.0  # seconds for which the first link waits until a study is read
MOST = 8  # studies that are watched at once
MOST_OUTCOMES = 100  # that no page has shown yet


@dataclass(frozen=True)
class Outcome:
    """What came of a change: that it was done; or what was wrong with `action`, and what had been typed."""

    said: str
    action: str | None = None
    typed: Mapping[str, str] = field(default_factory=dict)


class State:
    """The state of a server, which its one event loop changes.

    source     a study file, or the URL of a store
    url        the store, which may have a password
    own        the study of the study file, which need not be there yet
    writer     the process that changes studies
    suggester  the process that looks for suggestions, which takes longer
    results    what takes long to compute, by the process `renderer`
    outcomes   by session and key, to be shown once
    """

    def __init__(self, source: str, read_only: bool):
        self.source = source
        self.read_only = read_only
        self.sessions = Sessions()
        self.writer, self.suggester, self.renderer = WorkerProcess(), WorkerProcess(), WorkerProcess()
        self.results = ResultCache(self.renderer)
        self.watches: dict[str, StudyWatch] = {}
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self._names: list[str] | None = None  # as they were found last
        self._naming: asyncio.Future[list[str]] | None = None
        self.url = source
        self.own: str | None = None
        if not is_url(source):
            config = load(Path(source))
            self.url, self.own = config.store, config.name
        elif understood(source)[1] == ":memory:":
            raise StudyError("wanted a file or a server, got sqlite://, which no other process can see")
        else:
            names(source)  # which must be there

    @property
    def place(self) -> str:
        """The store, without a password."""
        return shown(self.url)

    def source_of(self, name: str) -> str:
        """By what a study is changed: its study file, which may create it; or the store, which has others."""
        return self.source if name == self.own else self.url

    async def names(self) -> list[str]:
        """The names of the studies; that of the study file first, even if it is not there yet."""
        try:
            there = await self._there()
        except StudyError:
            if self.own is None:
                raise
            return [self.own]  # the first change creates it
        return there if self.own is None else [self.own, *(name for name in there if name != self.own)]

    async def _there(self) -> list[str]:
        """The names of the studies in the store; as they were found last if it does not answer in time."""
        if self._naming is None or self._naming.done():
            self._naming = asyncio.wrap_future(in_thread(names, self.url))
        if (await asyncio.wait({self._naming}, timeout=PATIENCE))[0]:
            self._names = self._naming.result()
        if self._names is None:
            raise StoreError(f"{self.place} has not answered for {PATIENCE:.0f} s")
        return self._names

    async def prepare(self) -> None:
        """Read the study that a browser will probably be shown first, so that its page is there at once."""
        with suppress(BoppError):  # the page will say so
            names = await self.names()
            if self.own is not None or len(names) == 1:
                await self.watch(names[0]).look(PREPARED)

    def watch(self, name: str) -> StudyWatch:
        """The watch of a study, which all of its pages share."""
        watch = self.watches.pop(name, None) or StudyWatch(self.source, name)
        self.watches[name] = watch  # the latest last
        if len(self.watches) > MOST:
            idle = next((one for one in self.watches.values() if one.idle), None)
            if idle is not None:
                self.watches.pop(idle.name).close()
        return watch

    def keep(self, session: str, outcome: Outcome) -> str:
        """Keep the outcome of a change until a page shows it; the key under which that finds it."""
        key = secrets.token_hex(8)
        self.outcomes[session, key] = outcome
        while len(self.outcomes) > MOST_OUTCOMES:
            self.outcomes.pop(next(iter(self.outcomes)))
        return key

    def end_streams(self) -> None:
        """End the event streams, which would otherwise never end."""
        for watch in self.watches.values():
            watch.end()

    def close(self) -> None:
        """End everything that was begun here."""
        for watch in self.watches.values():
            watch.close()
        for process in (self.writer, self.suggester, self.renderer):
            process.close()
