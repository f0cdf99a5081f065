"""Following: a study as others change it, in reads so short that no writer waits for them.

A look reads at most `PART` trials: first all in turn, by their numbers, and from then on what has changed, in
the order of the revisions. So a study of any size is read in as many looks as it takes, while others go on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bopp.errors import StudyError
from bopp.space import Params
from bopp.study import schema
from bopp.study.definition import Definition
from bopp.study.leases import Lease, Watch
from bopp.study.ledger import MY, Ledger
from bopp.study.pauses import WHOLE, Pause, Pauses
from bopp.study.reading import COLUMNS, Reader, uncollected
from bopp.study.schema import studies, trials
from bopp.study.store import Moment, Store
from bopp.trial import Trial

PART = 2000  # trials in one look
FEW = 500  # trials under way that are looked up one by one
REPLACED, MISSING = "the file was replaced by another", "the file is no longer there"

SINCE, AFTER = sa.bindparam("since", type_=sa.BigInteger), sa.bindparam("after", type_=sa.BigInteger)
NUMBERS = sa.bindparam("numbers", expanding=True, type_=sa.Integer)

REVISION = sa.select(studies.c.revision, studies.c.seal).where(studies.c.id == MY)
MINE = sa.select(*COLUMNS).where(trials.c.study == MY)
SOME = MINE.where(trials.c.number.in_(NUMBERS)).order_by(trials.c.number)
BY_NUMBER = MINE.where(trials.c.number > AFTER).order_by(trials.c.number).limit(PART)
BY_REVISION = (  # in words by which databases find their way along the index of revisions
    MINE.where(trials.c.revision >= SINCE, (trials.c.revision > SINCE) | (trials.c.number > AFTER))
    .order_by(trials.c.revision, trials.c.number)
    .limit(PART)
)


@dataclass(frozen=True)
class Held:
    """A trial that a worker has: with a lease, or until it is told; `lost` once the worker fell silent."""

    number: int
    worker: str | None
    lease: float | None
    lost: bool = False


@dataclass(frozen=True)
class Look:
    """What was seen of a study at a moment.

    changed   the trials that were added or changed since the last look, in the order in which that happened
    whole     whether these are all; otherwise the next look has more
    leased    the trials under way that go to another if their worker falls silent; none before it is whole
    queued    the params that wait to be asked for
    paused    since when the study is paused, and why; None if it is not
    """

    at: datetime
    revision: int
    changed: tuple[Trial, ...]
    whole: bool
    leased: tuple[Held, ...]
    queued: tuple[Params, ...]
    paused: Pause | None


class Following:
    """Looks at a study again and again; not for several threads at once."""

    def __init__(self, store: Store, definition: Definition):
        self._store = store
        self._definition = definition
        self._id = definition.id
        self._ledger = Ledger(definition.id, definition.problem, definition.name)
        self._reader = Reader(definition.id, definition.problem, definition.name)
        self._pauses = Pauses(self._ledger, definition.id)
        self._watch = Watch()
        self._first = True  # whether the trials are being read for the first time
        self._place = (0, -1)  # after which revision, and number in it, or number alone, to go on reading
        self._seen = 0  # the revision of the last look
        self._checksum: tuple[Any, ...] = ()  # of the study when it was found to be the same
        self._asked: frozenset[int] = frozenset()
        self._queue: tuple[Params, ...] = ()
        self._file = self._identity()

    def look(self) -> Look:
        """What there is to see now."""
        if self._file != (there := self._identity()):
            raise StudyError(f"{self._store!r}: {REPLACED if there else MISSING}")
        now, rows, leases, pause = self._store.read(self._look)
        with uncollected():
            changed = tuple(self._reader.read(rows))  # after the transaction: it takes longer than that
        over = self._watch.over(leases, now)
        whole = len(rows) < PART
        if self._first and whole:
            self._place = (self._place[0] + 1, -1)
        elif rows:
            last = rows[-1]
            after = self._place[0] if self._first else last.revision
            self._place = (after + 1, -1) if whole else (after, last.number)
        self._first = self._first and not whole
        leased = tuple(Held(lease.number, lease.worker, lease.seconds, lease in over) for lease in leases)
        return Look(now.utc, self._seen, changed, whole, leased, self._queue, pause)

    def some(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """Some of the trials, by their numbers, as the store has them."""

        def read(connection: sa.Connection) -> list[Trial]:
            chosen = {"my": self._id, "numbers": list(numbers)}
            return self._reader.read(connection.execute(SOME, chosen).all())

        return {trial.number: trial for trial in self._store.read(read)} if numbers else {}

    def _look(self, connection: sa.Connection) -> tuple[Moment, Sequence[Any], list[Lease], Pause | None]:
        """What there is now, before the rows of trials are read; all of it may be looked up again."""
        schema.check_newest(connection)  # a newer bopp may have migrated the store since
        now, revision = self._store.now(connection), self._revision(connection)
        if self._first and self._place[1] < 0:
            self._place = (revision, -1)
        rows = self._rows(connection)
        asked = self._asked.difference(row.number for row in rows)
        self._asked = asked.union(row.number for row in rows if row.state == "asked")
        chosen = sorted(self._asked) if len(self._asked) <= FEW else None  # by number, where they are few
        leases = self._ledger.leases(connection, chosen) if self._asked and len(rows) < PART else []
        if revision != self._seen:
            self._queue = tuple(params for _, params in self._ledger.queued(connection))
            self._seen = revision
        return now, rows, leases, self._pauses.found(connection)

    def _revision(self, connection: sa.Connection) -> int:
        """The revision of the study; refused if it is gone, put back, or no longer what it was."""
        row = self._ledger.row(connection, REVISION)
        revision, checksum = row["revision"], row["seal"]
        if type(revision) is not int or revision < self._seen:
            raise StudyError(f"{self._store!r}: {REPLACED}, or put back to an earlier state")
        if (checksum,) != self._checksum:
            self._check_definition(connection)
            self._checksum = (checksum,)
        return revision

    def _check_definition(self, connection: sa.Connection) -> None:
        """Refuse a study that was redefined; its row may be long, and is read only if its checksum is new."""
        known, found = self._definition, Definition.read(self._ledger.row(connection, WHOLE))
        same = (found.problem.space, found.parts) == (known.problem.space, known.parts)
        if not same or found.knowledge != known.knowledge:
            raise StudyError(f"{known.name!r} has another space, recipe or knowledge now")

    def _rows(self, connection: sa.Connection) -> Sequence[Any]:
        """The next trials: the first time by their numbers, then those that changed since a revision."""
        place = dict(zip(("since", "after"), self._place, strict=True)) | {"my": self._id}
        with uncollected():
            return connection.execute(BY_NUMBER if self._first else BY_REVISION, place).all()

    def _identity(self) -> tuple[int, int] | None:
        """What tells the file from another that takes its place; None for a server, or if it is gone."""
        if isinstance(self._store.path, Path):
            with suppress(OSError):
                found = os.stat(self._store.path)
                return found.st_dev, found.st_ino
        return None
