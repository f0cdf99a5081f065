"""Tickets: the trials that this process asked for and has not told, and its holds on them."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass

from bopp.errors import StoreError
from bopp.guard import Guard
from bopp.run.interrupts import uninterrupted
from bopp.study import heartbeat
from bopp.study.leases import RENEWED, until
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
        self._heartbeat: threading.Event | None = None  # ends it; None while there is none

    @property
    def held(self) -> dict[str, Hold]:
        """The tickets, and what they hold."""
        with self._guard:
            return dict(self._mine())

    def of(self, number: int) -> list[str]:
        """The tickets with which a trial was asked for here, even if it has gone to another since."""
        with self._guard:
            lost = [self._lost[number]] if number in self._lost else []
            return [*self._of(number), *lost]

    def hold(self, ticket: str, hold: Hold) -> None:
        """Hold a trial that was claimed with a ticket, and renew its lease from now on."""
        with uninterrupted(), self._guard:
            self._mine()[ticket] = hold
            if self._heartbeat is None and self.lease is not None and self._store.is_shared:
                self._heartbeat = heartbeat.start(self._beat, self.lease * RENEWED)

    def lose(self, number: int, told: bool = False) -> None:
        """Stop holding a trial, but remember a ticket of it in case it is still told here.

        Of one that was `told` here, there is such a ticket if it was asked for twice: the other is late.
        """
        with self._guard:
            tickets = self._of(number)
            for ticket in tickets:
                del self._held[ticket]
            if len(tickets) > told:
                self._lost[number] = tickets[-1]

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
        with self._guard:
            tickets = self._of(number)
        for ticket in tickets:
            self.give_back(ticket)

    def give_back(self, ticket: str) -> None:
        """Give back the trial that was asked for with this ticket."""
        with self._guard:
            self._mine().pop(ticket, None)
        self._store.write(lambda connection: self._ledger.release(connection, ticket))

    def close(self) -> None:
        """Give back trials unless they are held until they are told."""
        with suppress(StoreError):  # if that fails, their leases run out
            for ticket in self.held if self.lease is not None else ():
                self.give_back(ticket)
        with self._guard:
            self._end_heartbeat()

    def _beat(self) -> bool:
        """Renew the leases; false once there are none, and the heartbeat ends."""
        self.renew()
        with self._guard:
            if not self._mine():
                self._end_heartbeat()
            return bool(self._held)

    def _end_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.set()
            self._heartbeat = None

    def _mine(self) -> dict[str, Hold]:
        """What this process holds, and not the one that it was forked from."""
        if os.getpid() != self._process:
            self._process, self._heartbeat = os.getpid(), None
            self._held.clear()
        return self._held

    def _of(self, number: int) -> list[str]:
        """The tickets that hold a trial, in the order in which they were claimed."""
        return [ticket for ticket, hold in self._mine().items() if hold.number == number]
