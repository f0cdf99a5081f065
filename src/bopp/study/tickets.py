"""Tickets: the trials that this process asked for and has not told, and its holds on them."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from dataclasses import dataclass

from bopp.errors import StoreError
from bopp.guard import Guard
from bopp.study import keeping
from bopp.study.leases import RENEWED, RUNS_OUT, until
from bopp.study.ledger import Ledger
from bopp.study.store import Store


@dataclass(frozen=True)
class Hold:
    """What a ticket holds: the number of a trial, and which run of `optimize` evaluates it, if one does."""

    number: int
    run: object = None


class Tickets:
    """The tickets with which this process holds trials; while there are any, their leases are renewed.

    Each ask has a ticket of its own, so threads that share a study never touch each other's. A forked process
    begins with none: the trials stay with the process that asked for them.
    """

    def __init__(self, store: Store, ledger: Ledger, lease: float | None):
        self.lease = lease
        self._store = store
        self._ledger = ledger
        self._guard = Guard()
        self._process = os.getpid()
        self._held: dict[str, Hold] = {}
        self._lost: dict[int, str] = {}
        weakref.finalize(self, _leave, self._held)

    @property
    def held(self) -> dict[str, Hold]:
        """The tickets, and what they hold."""
        with self._guard:
            return dict(self._mine())

    def of(self, number: int) -> list[str]:
        """The tickets with which a trial was asked for here, even if it has gone to another since."""
        with self._guard:
            lost = [self._lost[number]] if number in self._lost else []
            return [*(ticket for ticket, hold in self._mine().items() if hold.number == number), *lost]

    def hold(self, ticket: str, hold: Hold) -> None:
        """Hold a trial that was claimed with a ticket, and renew its lease from now on."""
        with self._guard:
            self._mine()[ticket] = hold
            if self.lease is not None and (address := self._store.address):
                keeping.hold(ticket, address, self.lease * RENEWED, RUNS_OUT)

    def lose(self, number: int) -> None:
        """Stop holding a trial, but remember its ticket in case the trial is still told here."""
        with self._guard:
            for ticket in self._drop(number):
                self._lost[number] = ticket

    def told(self, number: int) -> None:
        """Stop holding a trial that was told; if it was asked for here twice, the other tell will be late."""
        with self._guard:
            for ticket in self._drop(number)[1:]:
                self._lost[number] = ticket

    def renew(self) -> None:
        """Tell the store that this process is alive and keeps the trials it asked for."""
        tickets, lease = list(self.held), self.lease
        if not tickets or lease is None:
            return
        self._store.write(
            lambda connection: self._ledger.renew(
                connection, tickets, until(self._store.now(connection), lease)
            )
        )

    def release(self, number: int) -> None:
        """Give a trial back: whoever asks next gets it."""
        for ticket in [ticket for ticket, hold in self.held.items() if hold.number == number]:
            self.give_back(ticket)

    def give_back(self, ticket: str) -> None:
        """Give back the trial that was asked for with this ticket."""
        with self._guard:
            _leave(self._mine(), [ticket])
        self._store.write(lambda connection: self._ledger.release(connection, ticket))

    def close(self) -> None:
        """Give back trials unless they are held until they are told."""
        with suppress(StoreError):  # if that fails, their leases run out
            for ticket in self.held if self.lease is not None else ():
                self.give_back(ticket)

    def _mine(self) -> dict[str, Hold]:
        """What this process holds, and not the one that it was forked from."""
        if os.getpid() != self._process:
            self._process = os.getpid()
            self._held.clear()
        return self._held

    def _drop(self, number: int) -> list[str]:
        """The tickets that held a trial and no longer do, in the order in which they were claimed."""
        dropped = [ticket for ticket, hold in self._mine().items() if hold.number == number]
        _leave(self._held, dropped)
        return dropped


def _leave(held: dict[str, Hold], tickets: list[str] | None = None) -> None:
    """Hold and renew these tickets no longer; by default, all of them."""
    for ticket in list(held) if tickets is None else tickets:
        if held.pop(ticket, None):
            keeping.leave(ticket)
