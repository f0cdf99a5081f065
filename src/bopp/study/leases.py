"""Leases: a trial belongs to its worker while that worker is alive; if it falls silent, another gets it.

A worker renews each lease every sixth of its length. A lease runs out after two thirds of its length by the
clock of the store, and is over if nobody renews it for another quarter by the clock of whoever looks: if the
store's clock is set forward, all leases may run out at once, but are renewed before anybody takes the trials.
"""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bopp.arguments import checked_seconds
from bopp.errors import StoreError
from bopp.study import identity
from bopp.study.store import Moment

if TYPE_CHECKING:
    from bopp.study.tickets import Tickets


@dataclass(frozen=True)
class Lease:
    """Who holds a trial, for how many seconds, and until when by the clock of the store."""

    number: int
    ticket: str
    worker: str | None
    seconds: float
    until: float

    def ran_out(self, now: Moment) -> bool:
        """Whether its end has passed, or is so far ahead that the clock was set back or restarted."""
        return not now.seconds < self.until <= now.seconds + self.seconds


class Watch:
    """Tells which leases are over."""

    def __init__(self) -> None:
        self._suspects: dict[Lease, float] = {}

    def over(self, leases: list[Lease], now: Moment) -> list[Lease]:
        """The leases whose worker is dead, and those that ran out and have not been renewed since."""
        seen = time.monotonic()
        self._suspects = {lease: self._suspects.get(lease, seen) for lease in leases if lease.ran_out(now)}
        return [
            lease
            for lease in leases
            if identity.is_dead(lease.worker) or seen - self._suspects.get(lease, seen) >= lease.seconds / 4
        ]


def checked(seconds: Any) -> float | None:
    """The length of a lease; None holds a trial until it is told."""
    return checked_seconds("lease", seconds, finite=True)


def until(now: Moment, seconds: float) -> float:
    """When a lease of this many seconds runs out if it begins now."""
    return now.seconds + seconds * 2 / 3


class Heartbeat:
    """A thread that renews the leases of tickets as long as the tickets and this process exist."""

    def __init__(self, tickets: Tickets, seconds: float):
        self._tickets = weakref.ref(tickets)
        self._every = seconds / 6
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="bopp leases", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(self._every):
            tickets = self._tickets()
            if tickets is None:
                return
            with suppress(StoreError):  # the next ask or tell will report it
                tickets.renew()
            del tickets
