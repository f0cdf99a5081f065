"""Pauses: while a study is paused nobody gets a trial of it; those under way are told as ever."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from bopp.errors import StudyError, reading
from bopp.legible import brief, cut, one_line
from bopp.plain import read_time
from bopp.study.definition import check, rewrite
from bopp.study.ledger import MY, Ledger, storable
from bopp.study.schema import studies

LONGEST = 200  # characters of a reason, where it is one part of a line

PAUSED = sa.select(studies.c.paused).where(studies.c.id == MY)
WHOLE = sa.select(*studies.c).where(studies.c.id == MY)


@dataclass(frozen=True)
class Pause:
    """Since when a study is paused, and why."""

    at: datetime
    reason: str | None = None

    def __str__(self) -> str:
        here = self.at.astimezone()
        today = here.date() == datetime.now().astimezone().date()
        why = "" if self.reason is None else f" ({cut(one_line(self.reason), LONGEST)})"
        return f"since {here:{'%H:%M' if today else '%Y-%m-%d %H:%M'}}{why}"


class Pauses:
    """Finds, begins and ends the pause of a study, within transactions that the caller begins and ends.

    Several threads may use it: what it remembers is never changed, only replaced as a whole.
    """

    def __init__(self, ledger: Ledger, id: int):
        self._ledger = ledger
        self._id = id
        self._last: tuple[Any, Pause | None] = (None, None)  # as it was written, and what that means

    def found(self, connection: sa.Connection) -> Pause | None:
        """The pause that the study is in.

        The rest of its row may be long, and is read only where there is a pause that was not seen before.
        """
        paused = self._ledger.row(connection, PAUSED)["paused"]
        if paused is None:
            return None
        last = self._last
        if paused != last[0]:
            whole = self._ledger.row(connection, WHOLE)
            check(whole)
            self._last = last = (whole["paused"], _read(whole["paused"]))
        return last[1]

    def begin(self, connection: sa.Connection, at: datetime, reason: str | None) -> None:
        """Pause the study, unless it is paused."""
        if self.found(connection) is None:
            self._ledger.lock(connection)
            if self.found(connection) is None:  # nor has anybody paused it while this waited for the lock
                rewrite(
                    connection, self._id, {"paused": json.dumps({"at": at.isoformat(), "reason": reason})}
                )

    def end(self, connection: sa.Connection, pause: Pause) -> None:
        """End this pause, unless it has ended."""
        if self.found(connection) == pause:
            self._ledger.lock(connection)
            if self.found(connection) == pause:
                rewrite(connection, self._id, {"paused": None})


def checked(reason: Any) -> str | None:
    """Why a study is paused, as every database accepts it; None if that is not said."""
    if reason is not None and not isinstance(reason, str):
        raise StudyError(f"pause: wanted a reason in words, or None, got {brief(reason)}")
    return storable(reason) if reason and reason.strip() else None


def _read(text: Any) -> Pause | None:
    if text is None:
        return None
    with reading(f"the pause of the study cannot be read: {brief(text)}", StudyError):
        row = json.loads(text)
        at, reason = read_time(row["at"]), row["reason"]
        if at is None or not isinstance(reason, str | None):
            raise ValueError("wanted a time, and a reason or null")
        at.astimezone()  # as it is shown, which not every time can be
        return Pause(at, reason)
