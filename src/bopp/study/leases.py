"""Leases: a trial belongs to its worker while that worker is alive; if it falls silent, another gets it.

A worker's heartbeat renews each lease every sixth of its length. A lease runs out after two thirds of its
length by the clock of the store, and is over if nobody renews it for another quarter by the clock of whoever
looks: if the store's clock is set forward, all leases may run out at once, but are renewed before anybody
takes the trials.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from bopp.arguments import checked_seconds
from bopp.study import identity
from bopp.study.store import Moment

RENEWED = 1 / 6  # of its length, between two renewals
RUNS_OUT = 2 / 3  # of its length, after the last renewal


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
        seen, before = time.monotonic(), self._suspects
        suspects = {lease: before.get(lease, seen) for lease in leases if lease.ran_out(now)}
        self._suspects = suspects  # of several threads, the one that looks last counts
        return [
            lease
            for lease in leases
            if identity.is_dead(lease.worker) or seen - suspects.get(lease, seen) >= lease.seconds / 4
        ]


def checked(seconds: Any) -> float | None:
    """The length of a lease; None holds a trial until it is told."""
    return checked_seconds("lease", seconds, finite=True)


def until(now: Moment, seconds: float) -> float:
    """When a lease of this many seconds runs out if it begins now."""
    return now.seconds + seconds * RUNS_OUT
