"""Board: what all pages of a server share: the store, the studies being watched, the processes beside."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bopp.dashboard.beside import Beside
from bopp.dashboard.followed import PATIENCE, Followed, in_thread
from bopp.dashboard.keys import Keys
from bopp.dashboard.views import Views
from bopp.errors import BoppError, StoreError, StudyError
from bopp.study.address import is_url, shown, understood
from bopp.study.catalogue import names
from bopp.study.config import load

PREPARED = 5.0  # seconds for which the first link waits until a study is read
MOST = 8  # studies that are followed at once
MOST_OUTCOMES = 100  # that no page has shown yet


@dataclass(frozen=True)
class Outcome:
    """What came of a change: that it was done; or what was wrong with `act`, and what had been typed."""

    said: str
    act: str | None = None
    typed: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Board:
    """The state of a server, which its one event loop changes.

    source     a study file, or the URL of a store
    url        the store, which may have a password
    own        the study of the study file, which need not be there yet
    """

    source: str
    url: str
    own: str | None
    read_only: bool
    keys: Keys = field(default_factory=Keys)
    hands: Beside = field(default_factory=Beside)  # changes studies
    mind: Beside = field(default_factory=Beside)  # looks for suggestions, which takes longer
    eyes: Beside = field(default_factory=Beside)  # computes what takes long
    followed: dict[str, Followed] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], Outcome] = field(
        default_factory=dict
    )  # by session and key, to be shown once

    def __post_init__(self) -> None:
        self.views = Views(self.eyes)
        self._names: list[str] | None = None  # as they were found last
        self._naming: asyncio.Future[list[str]] | None = None

    @staticmethod
    def of(source: str, read_only: bool) -> Board:
        """The board of a study file or of a store, which must be there unless a study file names it."""
        if is_url(source):
            if understood(source)[1] == ":memory:":
                raise StudyError("wanted a file or a server, got sqlite://, which no other process can see")
            names(source)
            return Board(source, source, None, read_only)
        config = load(Path(source))
        return Board(source, config.store, config.name, read_only)

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
                await self.follow(names[0]).sight(PREPARED)

    def follow(self, name: str) -> Followed:
        """A study as it is watched by this server."""
        followed = self.followed.pop(name, None) or Followed(self.source, name)
        self.followed[name] = followed  # the latest last
        if len(self.followed) > MOST:
            idle = next((one for one in self.followed.values() if one.idle), None)
            if idle is not None:
                self.followed.pop(idle.name).close()
        return followed

    def keep(self, session: str, outcome: Outcome) -> str:
        """Keep the outcome of a change until a page shows it; the key under which that finds it."""
        key = secrets.token_hex(8)
        self.outcomes[session, key] = outcome
        while len(self.outcomes) > MOST_OUTCOMES:
            self.outcomes.pop(next(iter(self.outcomes)))
        return key

    def end_streams(self) -> None:
        """End the event streams, which would otherwise never end."""
        for study in self.followed.values():
            study.end()

    def close(self) -> None:
        """End everything that was begun here."""
        for study in self.followed.values():
            study.close()
        for one in (self.hands, self.mind, self.eyes):
            one.close()
