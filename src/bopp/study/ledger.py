"""Ledger: the trials of one study as rows of a store; unchanged rows are read once and remembered.

Every change takes the next revision of its study, which locks the study's row until the change is committed:
so changes are seen in the order of their revisions, and none is missed.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from bopp.errors import StudyError, TellError, reading
from bopp.plain import read_some_params, write_params, write_trial
from bopp.problem import Problem
from bopp.space import Params
from bopp.study import checksum
from bopp.study.known import Known
from bopp.study.leases import Lease
from bopp.study.reading import COLUMNS, Reader, uncollected
from bopp.study.schema import queue, studies, trials
from bopp.trial import DICTS, TEXTS, Answer, Trial

LONGEST_TEXT = 10_000  # characters of an error or a note

# statements that every ask and tell needs, built once
MY, SINCE = sa.bindparam("my", type_=sa.BigInteger), sa.bindparam("since", type_=sa.BigInteger)
TICKET = sa.bindparam("my_ticket", type_=sa.Text)
LOCK = studies.update().where(studies.c.id == MY).values(revision=studies.c.revision + 1)
REVISION = sa.select(studies.c.revision).where(studies.c.id == MY)
LATEST = sa.select(sa.func.max(trials.c.revision)).where(trials.c.study == MY).scalar_subquery()
REVISIONS = sa.select(studies.c.revision, LATEST.label("latest")).where(studies.c.id == MY)
CHANGE = (
    trials.update()
    .where(trials.c.study == MY, trials.c.number == sa.bindparam("my_number", type_=sa.Integer))
    .values({column: sa.bindparam(f"new_{column.name}", type_=column.type) for column in COLUMNS})
)
READ_ALL = sa.select(*COLUMNS).where(trials.c.study == MY).order_by(trials.c.number)
READ_CHANGED = READ_ALL.where(trials.c.revision > SINCE)
WAITS = queue.c.popped.is_not(sa.true())
QUEUED = sa.select(*queue.c, WAITS.label("waits")).where(queue.c.study == MY).order_by(queue.c.place)
NEXT = QUEUED.where(WAITS).limit(1)
CLAIMED = sa.select(*COLUMNS).where(trials.c.ticket == TICKET)
RUNNING = (
    sa.select(trials.c.number, trials.c.ticket, trials.c.worker, trials.c.lease, trials.c.lease_until)
    .where(trials.c.study == MY, trials.c.state == "asked", trials.c.lease.is_not(None))
    .order_by(trials.c.number)
)


@dataclass(frozen=True)
class Claim:
    """A worker's hold on a trial: for `lease` seconds unless renewed, or until it is told if that is None."""

    ticket: str
    lease: float | None = None
    lease_until: float | None = None

    @staticmethod
    def free() -> Claim:
        """The claim of nobody: whoever asks next gets the trial."""
        return Claim(new_ticket(), 0.0, 0.0)


class Ledger:
    """Reads and writes trials, within transactions that the caller begins and ends.

    Several threads may use it: what it remembers is never changed, only replaced as a whole.
    """

    def __init__(self, id: int, problem: Problem, name: str | None = None):
        self._id = id
        self._problem = problem
        self._space = problem.space
        self.name = name
        self._reader = Reader(id, problem, name)
        self._known = Known(problem)
        self._queue_read = False

    def trials(self, connection: sa.Connection) -> tuple[Trial, ...]:
        """Every trial, in order."""
        return self.known(connection).trials

    def known(self, connection: sa.Connection) -> Known:
        """Every trial, and what follows from them."""
        before = self._known
        first = not before.trials
        with uncollected():
            rows = connection.execute(
                READ_ALL if first else READ_CHANGED, {"my": self._id, "since": before.revision}
            ).all()
            if not rows:
                return before
            self._known = known = before.after(self._reader.read(rows), [row.revision for row in rows])
        return known

    def find(self, connection: sa.Connection, trial: Trial | int) -> Trial:
        """A trial, given itself or by its number, as the store has it."""
        number, known = number_of(trial), self.trials(connection)
        there = 0 <= number < len(known)
        if isinstance(trial, Trial) and (not there or known[number]._params != trial._params):
            raise TellError(
                f"trial {number} with params {trial.params} was not asked for in this study", trial=number
            )
        if not there:
            raise TellError(f"trial {number} was not asked for in this study", trial=number)
        return known[number]

    def lock(self, connection: sa.Connection) -> int:
        """The revision for the change to come; other writers wait until it is committed."""
        connection.execute(LOCK, {"my": self._id})
        row = self.row(connection, REVISIONS)
        revision, latest = row["revision"], row["latest"]
        before = max(0 if latest is None else latest, self._known.revision)
        if type(revision) is not int or revision <= before:
            raise StudyError(f"wanted a revision after {before!r}, got {revision!r}: the store is damaged")
        return revision

    def row(self, connection: sa.Connection, columns: sa.Select[Any]) -> sa.RowMapping:
        """What this selects in the row of the study; refused if that was deleted."""
        row = connection.execute(columns, {"my": self._id}).mappings().first()
        if row is None:
            raise StudyError("the study is no longer in its store")
        return row

    def check_there(self, connection: sa.Connection) -> None:
        """Refuse a study that was deleted."""
        self.row(connection, REVISION)

    def claimed(self, connection: sa.Connection, ticket: str) -> Trial | None:
        """The trial that a ticket holds."""
        rows = connection.execute(CLAIMED, {"my_ticket": ticket}).all()
        return self._reader.read(rows)[0] if rows else None

    def add(
        self, connection: sa.Connection, new: Sequence[Trial], revision: int, claims: Sequence[Claim]
    ) -> None:
        """Insert new trials."""
        pairs = zip(new, claims, strict=True)
        rows = [{**self._written(trial, revision), **vars(claim)} for trial, claim in pairs]
        if rows:
            connection.execute(trials.insert(), rows)

    def change(self, connection: sa.Connection, trial: Trial, revision: int) -> None:
        """Replace the trial of this number."""
        row = {f"new_{name}": value for name, value in self._written(trial, revision).items()}
        if connection.execute(CHANGE, {"my": self._id, "my_number": trial.number, **row}).rowcount != 1:
            raise StudyError(f"trial {trial.number} is no longer in its store")

    def hand_out(self, connection: sa.Connection, number: int) -> None:
        """Let whoever asks next have a trial, and nobody who had it before."""
        mine = (trials.c.study == self._id) & (trials.c.number == number)
        connection.execute(trials.update().where(mine).values(**vars(Claim.free())))

    def leases(self, connection: sa.Connection, numbers: Sequence[int] | None = None) -> list[Lease]:
        """The leases of trials under way, which would go to another if their worker fell silent.

        Of some `numbers` only, they are found without looking at all trials.
        """
        chosen = RUNNING if numbers is None else RUNNING.where(trials.c.number.in_(numbers))
        leases = [Lease(*row) for row in connection.execute(chosen, {"my": self._id})]
        for lease in leases:
            if not isinstance(lease.seconds, float) or not isinstance(lease.until, float):
                raise StudyError(f"trial {lease.number} has no lease that can be read: {lease!r}")
        return leases

    def take_over(
        self, connection: sa.Connection, lease: Lease, revision: int, claim: Claim, worker: str
    ) -> bool:
        """Give a trial to another worker; false if it was renewed, told or taken in the meantime."""
        known = self.claimed(connection, lease.ticket)
        if known is None:
            return False
        same = (trials.c.ticket == lease.ticket) & (trials.c.lease_until == lease.until)
        taken = trials.update().where(same, trials.c.state == "asked")
        row = self._written(replace(known, worker=worker), revision)
        return connection.execute(taken.values(**row, **vars(claim))).rowcount == 1

    def renew(self, connection: sa.Connection, tickets: list[str], until: float) -> None:
        """Extend leases. This takes no revision: nobody's view of the trials changes."""
        mine = trials.c.ticket.in_(tickets) & (trials.c.state == "asked")
        connection.execute(trials.update().where(mine).values(lease_until=until))

    def release(self, connection: sa.Connection, ticket: str) -> None:
        """End a lease, so that whoever asks next gets the trial."""
        mine = (trials.c.ticket == ticket) & (trials.c.state == "asked")
        connection.execute(trials.update().where(mine).values(lease=0.0, lease_until=0.0))

    def queued(self, connection: sa.Connection, first: bool = False) -> list[tuple[str, Params]]:
        """The tickets and params that wait to be asked for, oldest first; or only the oldest."""
        alone = first and self._queue_read  # once, all are read: one that is gone by a flipped bit is noticed
        rows = connection.execute(NEXT if alone else QUEUED, {"my": self._id}).mappings().all()
        waiting = [row for row in map(self._checked, rows) if row["waits"]]
        self._queue_read = True
        return [(row["ticket"], self._params(row["params"])) for row in waiting[: 1 if first else None]]

    def push(self, connection: sa.Connection, ticket: str, params: Params) -> None:
        """Put params at the end of the queue, once per ticket."""
        place = self.lock(connection)
        if not connection.execute(sa.select(queue.c.place).where(queue.c.ticket == ticket)).first():
            row = {"ticket": ticket, "study": self._id, "place": place, "popped": False}
            row["params"] = self._text(params)
            connection.execute(queue.insert().values(checksum.with_checksum(queue, row)))

    def requeue(self, connection: sa.Connection, ticket: str, params: Params) -> None:
        """Replace params in the queue."""
        self._change_queued(connection, ticket, {"params": self._text(params)})

    def pop(self, connection: sa.Connection, ticket: str) -> bool:
        """Take a ticket from the queue; false if it is gone."""
        return self._change_queued(connection, ticket, {"popped": True})

    def _change_queued(self, connection: sa.Connection, ticket: str, change: dict[str, Any]) -> bool:
        """Change what waits with this ticket; false if it is gone."""
        waiting = (queue.c.ticket == ticket) & queue.c.popped.is_not(sa.true())
        row = connection.execute(sa.select(*queue.c).where(waiting)).mappings().first()
        if row is None:
            return False
        changed = checksum.with_checksum(queue, {**self._checked(row), **change})
        return connection.execute(queue.update().where(waiting).values(changed)).rowcount == 1

    def _checked(self, row: sa.RowMapping) -> dict[str, Any]:
        """A row of the queue, if it is as it was written."""
        of = "" if self.name is None else f" of {self.name!r}"
        what = f"a queued setting{of}, {str(row['params'])[:60]!r},"
        checksum.check(queue, row, what, f"bopp_queue where ticket = {str(row['ticket'])[:40]!r}")
        return dict(row)

    def _text(self, params: Params) -> str:
        return json.dumps(write_params(self._space, params), allow_nan=False)

    def _params(self, text: Any) -> Params:
        with reading(f"queued params cannot be read: {str(text)[:200]!r}", StudyError):
            return read_some_params(self._space, json.loads(text))

    def _written(self, trial: Trial, revision: int) -> dict[str, Any]:
        """The columns of a trial, with their checksum."""
        row = write_trial(self._space, trial)
        apart = {name: row.pop(name) for name in DICTS}
        first = next(iter(apart["values"]), None)
        value = apart["values"].pop(first, None)
        more = {name: part for name, part in apart.items() if part}
        past = row.pop("superseded")
        row |= {name: row[name] and clean(row[name]) for name in TEXTS}
        row |= {
            "study": self._id,
            "revision": revision,
            "value": None if value is None else value + 0.0,  # not all databases keep -0.0
            "params": json.dumps(row["params"], allow_nan=False),
            "more": json.dumps(more, allow_nan=False) if more else None,
            "superseded": json.dumps(past, allow_nan=False) if past else None,
        }
        return checksum.with_checksum(trials, row)


def number_of(trial: Trial | int) -> int:
    """The number of a trial, given itself or by its number."""
    if isinstance(trial, Trial):
        return trial.number
    if isinstance(trial, int | np.integer) and not isinstance(trial, bool):
        return int(trial)
    raise TellError(f"wanted a trial that ask returned, or its number, got {trial!r}")


def new_ticket() -> str:
    """A random word that nobody else has."""
    return uuid.uuid4().hex


def storable_answer(answer: Answer) -> Answer:
    """An answer whose texts every database accepts."""
    error, place = (text and storable(text) for text in (answer.error, answer.traceback))
    return replace(answer, error=error, traceback=place)


def storable(text: str) -> str:
    """A text that every database accepts, and not too long."""
    text = clean(text)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}... ({len(text)} characters)"


def clean(text: str) -> str:
    """A text that every database accepts: no NUL, only valid Unicode."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", r"\x00")
