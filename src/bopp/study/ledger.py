"""Ledger: the trials of one study as rows of a store; unchanged rows are read once and remembered.

Every change takes the next revision of its study, which locks the study's row until the change is committed:
so changes are seen in the order of their revisions, and none is missed.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
import sqlalchemy as sa

from bopp.data import Array, History
from bopp.errors import StudyError, TellError, reading
from bopp.plain import read_some_params, read_trial, write_params, write_trial
from bopp.problem import Problem
from bopp.space import Params
from bopp.study.leases import Lease
from bopp.study.schema import as_of, queue, studies, trials, version_at
from bopp.trial import Answer, Trial

LONGEST_TEXT = 10_000  # characters of an error or a note

NOTHING = -(2**62)  # as a revision: before all others, even those of a damaged store

APART = ("values", "noise", "measurements")  # the first value has its own column, the rest is in `more`
FIELDS = [trials.c[field.name] for field in fields(Trial) if field.name not in APART]
FIELDS += [trials.c.value, trials.c.more]

# statements that every ask and tell needs, built once
MY, SINCE = sa.bindparam("my", type_=sa.BigInteger), sa.bindparam("since", type_=sa.BigInteger)
TICKET = sa.bindparam("my_ticket", type_=sa.Text)
LOCK = studies.update().where(studies.c.id == MY).values(revision=studies.c.revision + 1)
REVISION = sa.select(studies.c.revision).where(studies.c.id == MY)
CHANGE = (
    trials.update()
    .where(trials.c.study == MY, trials.c.number == sa.bindparam("my_number", type_=sa.Integer))
    .values(
        {
            column: sa.bindparam(f"new_{column.name}", type_=column.type)
            for column in (*FIELDS, trials.c.revision)
        }
    )
)
CLAIMED = sa.select(*FIELDS).where(trials.c.ticket == TICKET)
RUNNING = (
    sa.select(trials.c.number, trials.c.ticket, trials.c.worker, trials.c.lease, trials.c.lease_until)
    .where(trials.c.study == MY, trials.c.state == "asked", trials.c.lease.is_not(None))
    .order_by(trials.c.number)
)
WAITING = (
    sa.select(queue.c.ticket, queue.c.params)
    .where(queue.c.study == MY, queue.c.popped.is_not(sa.true()))
    .order_by(queue.c.place)
)
FIRST = WAITING.limit(1)


@dataclass(frozen=True)
class Claim:
    """A worker's hold on a trial: for `seconds` unless renewed, or until it is told if that is None."""

    ticket: str
    seconds: float | None = None
    until: float | None = None


class Ledger:
    """Reads and writes trials, within transactions that the caller begins and ends."""

    def __init__(self, id: int, problem: Problem):
        self._id = id
        self._problem = problem
        self._space = problem.space
        self._trials: list[Trial] = []
        self._rows: list[Array] = []
        self._revision = NOTHING

    def trials(self, connection: sa.Connection) -> tuple[Trial, ...]:
        """Every trial, in order."""
        since = {"my": self._id, "since": self._revision}
        rows = connection.execute(_changed(version_at(connection)), since).mappings().all()
        changed = [self._read(row) for row in rows]
        revisions = [row["revision"] for row in rows]
        new = [trial.number for trial in changed if not 0 <= trial.number < len(self._trials)]
        for expected, number in enumerate(sorted(new), start=len(self._trials)):
            if number != expected:
                raise StudyError(f"trial {expected} is missing: the store is damaged")
        if not all(type(revision) is int and revision > 0 for revision in revisions):
            raise StudyError("a trial has no revision: the store is damaged")
        for trial in changed:
            at = slice(trial.number, trial.number + 1)  # replaces a known trial or appends a new one
            self._trials[at], self._rows[at] = [trial], [self._problem.point(trial)]
        self._revision = max([self._revision, *revisions])
        return tuple(self._trials)

    def find(self, connection: sa.Connection, trial: Trial | int) -> Trial:
        """A trial, given itself or by its number, as the store has it."""
        number, known = number_of(trial), self.trials(connection)
        there = 0 <= number < len(known)
        if isinstance(trial, Trial) and (not there or known[number].params != trial.params):
            raise TellError(f"trial {number} with params {trial.params} was not asked for in this study")
        if not there:
            raise TellError(f"trial {number} was not asked for in this study")
        return known[number]

    def history(self, known: tuple[Trial, ...]) -> History:
        """The known trials, which must be the first ones here, as the engine sees them."""
        X = np.array(self._rows[: len(known)]).reshape(-1, self._space.dimension)
        return self._problem.history(known, X)

    def lock(self, connection: sa.Connection) -> int:
        """The revision for the change to come; other writers wait until it is committed."""
        connection.execute(LOCK, {"my": self._id})
        revision = self.revision(connection)
        if type(revision) is not int or revision <= max(0, self._revision):
            raise StudyError(
                f"wanted a revision after {self._revision}, got {revision!r}: the store is damaged"
            )
        return int(revision)

    def revision(self, connection: sa.Connection) -> Any:
        """The revision of the last change."""
        revision = connection.execute(REVISION, {"my": self._id}).scalar()
        if revision is None:
            raise StudyError("the study is no longer in its store")
        return revision

    def claimed(self, connection: sa.Connection, ticket: str) -> Trial | None:
        """The trial that a ticket holds."""
        row = connection.execute(CLAIMED, {"my_ticket": ticket}).mappings().first()
        return None if row is None else self._read(row)

    def add(self, connection: sa.Connection, trial: Trial, revision: int, claim: Claim) -> None:
        """Insert a new trial."""
        held = {"ticket": claim.ticket, "lease": claim.seconds, "lease_until": claim.until}
        row = {"study": self._id, "revision": revision, **self._written(trial), **held}
        connection.execute(trials.insert(), row)

    def change(self, connection: sa.Connection, trial: Trial, revision: int) -> None:
        """Replace the trial of this number."""
        row = {f"new_{name}": value for name, value in self._written(trial).items()}
        change = {"my": self._id, "my_number": trial.number, "new_revision": revision, **row}
        if connection.execute(CHANGE, change).rowcount != 1:
            raise StudyError(f"trial {trial.number} is no longer in its store")

    def reopen(self, connection: sa.Connection, trial: Trial, revision: int) -> None:
        """Replace the trial of this number, and hand it to whoever asks next."""
        self.change(connection, trial, revision)
        mine = (trials.c.study == self._id) & (trials.c.number == trial.number)
        free = {"ticket": new_ticket(), "lease": 0.0, "lease_until": 0.0}
        connection.execute(trials.update().where(mine).values(**free))

    def leases(self, connection: sa.Connection) -> list[Lease]:
        """The leases of trials under way, which would go to another if their worker fell silent."""
        leases = [Lease(*row) for row in connection.execute(RUNNING, {"my": self._id})]
        for lease in leases:
            if not isinstance(lease.seconds, float) or not isinstance(lease.until, float):
                raise StudyError(f"trial {lease.number} has no lease that can be read: {lease!r}")
        return leases

    def take_over(
        self, connection: sa.Connection, lease: Lease, revision: int, claim: Claim, worker: str
    ) -> bool:
        """Give a trial to another worker; false if it was renewed, told or taken in the meantime."""
        held = {"ticket": claim.ticket, "lease": claim.seconds, "lease_until": claim.until}
        same = (trials.c.ticket == lease.ticket) & (trials.c.lease_until == lease.until)
        taken = trials.update().where(same, trials.c.state == "asked")
        return connection.execute(taken.values(worker=worker, revision=revision, **held)).rowcount == 1

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
        rows = connection.execute(FIRST if first else WAITING, {"my": self._id})
        return [(row.ticket, self._params(row.params)) for row in rows]

    def push(self, connection: sa.Connection, ticket: str, params: Params) -> None:
        """Put params at the end of the queue, once per ticket."""
        place = self.lock(connection)
        if not connection.execute(sa.select(queue.c.place).where(queue.c.ticket == ticket)).first():
            row = {"ticket": ticket, "study": self._id, "place": place, "popped": False}
            connection.execute(queue.insert().values(params=self._text(params), **row))

    def requeue(self, connection: sa.Connection, ticket: str, params: Params) -> None:
        """Replace params in the queue."""
        mine = queue.update().where(queue.c.ticket == ticket)
        connection.execute(mine.values(params=self._text(params)))

    def pop(self, connection: sa.Connection, ticket: str) -> bool:
        """Take a ticket from the queue; false if it is gone."""
        waiting = (queue.c.ticket == ticket) & queue.c.popped.is_not(sa.true())
        return connection.execute(queue.update().where(waiting).values(popped=True)).rowcount == 1

    def _text(self, params: Params) -> str:
        return json.dumps(write_params(self._space, params), allow_nan=False)

    def _params(self, text: str) -> Params:
        with reading(f"queued params cannot be read: {text[:200]!r}", StudyError):
            return read_some_params(self._space, json.loads(text))

    def _written(self, trial: Trial) -> dict[str, Any]:
        row = write_trial(self._space, trial)
        apart = {name: row.pop(name) for name in APART}
        first = next(iter(apart["values"]), None)
        row["value"] = apart["values"].pop(first, None)
        more = {name: part for name, part in apart.items() if part}
        row["more"] = json.dumps(more, allow_nan=False) if more else None
        past = row.pop("superseded")
        row["superseded"] = json.dumps(past, allow_nan=False) if past else None
        return {**row, "params": json.dumps(row["params"], allow_nan=False)}

    def _read(self, row: sa.RowMapping) -> Trial:
        with reading(f"trial {row['number']} cannot be read", StudyError):
            written = {column.name: row[column.name] for column in FIELDS}
            value, more = written.pop("value"), written.pop("more")
            apart = {"values": {}} if more is None else {"values": {}, **json.loads(more)}
            if value is not None:
                apart["values"] = {next(iter(self._problem.objectives)): value, **apart["values"]}
            apart["params"] = json.loads(written["params"])
            apart["superseded"] = json.loads(written["superseded"] or "[]")
            return read_trial(self._problem, {**written, **apart}, written["number"])


def number_of(trial: Trial | int) -> int:
    """The number of a trial, given itself or by its number."""
    if isinstance(trial, Trial):
        return trial.number
    if isinstance(trial, int | np.integer) and not isinstance(trial, bool):
        return int(trial)
    raise TellError(f"wanted a trial that ask returned, or its number, got {trial!r}")


@cache
def _changed(version: int) -> sa.Select[Any]:
    """Selects the trials that changed since a revision, from a store of this version."""
    changed = (trials.c.study == MY) & (trials.c.revision > SINCE)
    return sa.select(*as_of(version, *FIELDS, trials.c.revision)).where(changed).order_by(trials.c.number)


def new_ticket() -> str:
    """A random word that nobody else has."""
    return uuid.uuid4().hex


def storable_answer(answer: Answer) -> Answer:
    """An answer whose texts every database accepts."""
    error, place = (text and storable(text) for text in (answer.error, answer.traceback))
    return replace(answer, error=error, traceback=place)


def storable(text: str) -> str:
    """A text that every database accepts: no NUL, only valid Unicode, not too long."""
    clean = text.encode("utf-8", "backslashreplace").decode().replace("\0", r"\x00")
    return clean if len(clean) <= LONGEST_TEXT else f"{clean[:LONGEST_TEXT]}... ({len(clean)} characters)"
