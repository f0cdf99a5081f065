"""Leases: while its worker lives, a trial stays its own; a trial whose worker is silent goes to another.

A worker renews its leases every sixth of their length. A lease runs out after two thirds of it, by the clock
of the store, and is over when nobody has renewed it for another quarter, by the clock of whoever looks: a
clock that was set forward may end every lease at once, but then its owners renew them before they are taken.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bopp.errors import RecipeError, StoreError
from bopp.study import identity
from bopp.study.store import Moment

if TYPE_CHECKING:
    from bopp.study.study import Study


@dataclass(frozen=True)
class Lease:
    """Who holds a trial, for how many seconds, and until when by the clock of the store."""

    number: int
    ticket: str
    worker: str | None
    seconds: float
    until: float

    def ran_out(self, now: Moment) -> bool:
        """Whether the time is over, or so far ahead that the clock was set back or began anew."""
        return not now.seconds < self.until <= now.seconds + self.seconds


class Watch:
    """Tells which leases are over."""

    def __init__(self) -> None:
        self._suspects: dict[Lease, float] = {}

    def over(self, leases: list[Lease], now: Moment) -> list[Lease]:
        """The leases whose worker is dead, and those that ran out and were not renewed since."""
        seen = time.monotonic()
        self._suspects = {lease: self._suspects.get(lease, seen) for lease in leases if lease.ran_out(now)}
        return [
            lease
            for lease in leases
            if identity.is_dead(lease.worker) or seen - self._suspects.get(lease, seen) >= lease.seconds / 4
        ]


def checked(seconds: Any) -> float | None:
    """The length of a lease, if it can be one."""
    if seconds is None or (isinstance(seconds, int | float) and 0 < seconds < math.inf):
        return seconds
    raise RecipeError(f"lease must be a number of seconds above 0 or None, got {seconds!r}")


def until(now: Moment, seconds: float | None) -> float | None:
    """When a lease of so many seconds that begins now runs out."""
    return None if seconds is None else now.seconds + seconds * 2 / 3


class Heartbeat:
    """A thread that renews the leases of a study for as long as this process lives."""

    def __init__(self, study: Study, seconds: float):
        self._study = weakref.ref(study)
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
            study = self._study()
            if study is None:
                return
            with suppress(StoreError):  # whoever asks or tells next will hear of it
                study.renew()
            del study
