"""Tickets: the trials that this process asked for and has not told, and its holds on them."""

from __future__ import annotations

import os

from bopp.study.leases import Heartbeat, until
from bopp.study.ledger import Ledger
from bopp.study.store import Store


class Tickets:
    """The ticket with which this process holds each trial; while there are any, their leases are renewed.

    A forked process begins with none: the trials stay with the process that asked for them.
    """

    def __init__(self, store: Store, ledger: Ledger, lease: float | None):
        self.lease = lease
        self._store = store
        self._ledger = ledger
        self._process = os.getpid()
        self._held: dict[int, str] = {}
        self._lost: dict[int, str] = {}
        self._heartbeat: Heartbeat | None = None

    @property
    def held(self) -> dict[int, str]:
        """Numbers of trials, and their tickets."""
        if os.getpid() != self._process:
            self._process, self._held, self._heartbeat = os.getpid(), {}, None
        return self._held

    def of(self, number: int) -> str | None:
        """The ticket with which a trial was asked for here, even if the trial has gone to another since."""
        return self.held.get(number, self._lost.get(number))

    def hold(self, number: int, ticket: str) -> None:
        """Hold a trial, and renew its lease from now on."""
        self.lose(number)
        self.held[number] = ticket
        if self.lease is not None and not (self._heartbeat and self._heartbeat.alive):
            self._heartbeat = Heartbeat(self, self.lease)

    def lose(self, number: int) -> None:
        """Stop holding a trial, but remember its ticket in case the trial is still told here."""
        if number in self.held:
            self._lost[number] = self.held.pop(number)

    def drop(self, number: int) -> str | None:
        """Stop holding a trial; returns its ticket."""
        return self.held.pop(number, None)

    def renew(self) -> None:
        """Tell the store that this process is alive and keeps the trials it asked for."""
        tickets, lease = list(self.held.values()), self.lease
        if not tickets or lease is None:
            return
        self._store.write(
            lambda connection: self._ledger.renew(
                connection, tickets, until(self._store.now(connection), lease)
            )
        )

    def release(self, number: int) -> None:
        """Give a trial back: whoever asks next gets it."""
        if ticket := self.drop(number):
            self._store.write(lambda connection: self._ledger.release(connection, ticket))

    def close(self) -> None:
        """Stop renewing, and give back trials unless they are held until they are told."""
        if self._heartbeat:
            self._heartbeat.stop()
            self._heartbeat = None
        for number in list(self.held) if self.lease is not None else ():
            self.release(number)
