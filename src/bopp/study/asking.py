"""Asking: the next trial of a study, given to exactly one of those who ask."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa

from bopp import log
from bopp.errors import PausedStudy, StoreError
from bopp.fidelity import LEAST, suggest_within
from bopp.recipe import Recipe
from bopp.run.progress import RESUME
from bopp.space import Params
from bopp.study import identity, sources
from bopp.study.definition import Definition
from bopp.study.known import Known
from bopp.study.leases import Lease, Watch, until
from bopp.study.ledger import Claim, Ledger, new_ticket
from bopp.study.pauses import Pause, Pauses
from bopp.study.sources import Taught
from bopp.study.store import Moment, Store
from bopp.study.tickets import Hold, Tickets
from bopp.trial import Origin, Trial


@dataclass(frozen=True)
class Plan:
    """The next trial, unless someone else claims it first: one to take over, to pop or to begin."""

    number: int
    params: Params
    origin: Origin
    replaces: Lease | None = None
    pops: str | None = None


class Asking:
    """Plans the next trial outside of any transaction, and claims it in one: the first to claim gets it."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        tickets: Tickets,
        pauses: Pauses,
        definition: Definition,
        recipe: Recipe | None,
        knowledge: tuple[Taught, ...] = (),
    ):
        self._store = store
        self._ledger = ledger
        self._tickets = tickets
        self._pauses = pauses
        self._definition = definition
        self._given = recipe
        self._knowledge = knowledge
        self._recipe: Recipe | None = None
        self._watch = Watch()

    @property
    def recipe(self) -> Recipe:
        """How it suggests; read only when needed, so that a study can be looked at without it."""
        if self._recipe is None:
            parts, problem = self._definition.parts, self._definition.problem
            self._recipe = sources.read(parts, problem, self._given, self._knowledge)
        return self._recipe

    def ask(self, budget: float, run: object = None) -> Trial | None:
        """The next trial; None once `budget` is spent and there is none to take over.

        While the study is paused, nobody gets one: that is an error, unless there would be none anyway.
        """
        ticket = new_ticket()
        with self._store.suggesting(self._definition.id):
            while plan := self._plan(budget):
                try:
                    trial = self._store.write(partial(self._claim, plan, ticket))
                    if trial:
                        self._tickets.hold(ticket, Hold(trial.number, run))
                except StoreError:  # the store cannot be told either that the trial is free
                    raise
                except BaseException:  # the caller never gets this trial, so give it back
                    with suppress(StoreError):  # if that fails, its lease runs out
                        self._tickets.give_back(ticket)
                    raise
                if trial:
                    self._log(plan, trial)
                    return trial
        return None

    def begun(self, connection: sa.Connection, params: Params, origin: Origin, now: Moment) -> Trial:
        """A new trial that this process begins now."""
        number = len(self._ledger.trials(connection))
        return Trial(number, params, origin=origin, asked_at=now.utc, worker=identity.name())

    def _plan(self, budget: float) -> Plan | None:
        known, over, queued, pause = self._store.read(self._look)
        number, left = len(known.trials), budget - known.begun
        if not over and left < LEAST:
            return None
        if pause:
            name = self._definition.name
            raise PausedStudy(
                f"the study {name!r} is paused {pause}; {RESUME}", study=name, reason=pause.reason
            )
        if over:
            old = known.trials[over[0].number]
            return Plan(old.number, old._params, old.origin, replaces=over[0])
        for ticket, part in queued:
            whole = self._definition.problem.space.is_whole(part)
            return Plan(number, part if whole else self._suggested(known, part, left), "queued", pops=ticket)
        return Plan(number, self._suggested(known, {}, left), "suggested")

    def _suggested(self, known: Known, part: Params, left: float) -> Params:
        """Params that have these already."""
        problem, key = self._definition.problem, (self._definition.seed, len(known.trials))
        problem.check_searchable()
        space = problem.region.holding(part) if part else problem.region
        return space.decode(suggest_within(left, problem.fidelity, space, self.recipe, known.history(), key))

    def _look(
        self, connection: sa.Connection
    ) -> tuple[Known, list[Lease], list[tuple[str, Params]], Pause | None]:
        """The trials, the leases of other workers that are over, the head of the queue, and the pause."""
        running = self._ledger.leases(connection)  # before the trials, which then include all of these
        held = self._tickets.held
        others = [lease for lease in running if lease.ticket not in held]
        over = self._watch.over(others, self._store.now(connection))
        known, queued = self._ledger.known(connection), self._ledger.queued(connection, first=True)
        return known, over, queued, self._pauses.found(connection)

    def _log(self, plan: Plan, trial: Trial) -> None:
        if plan.replaces and plan.replaces.seconds:  # 0 if it was given back
            log.taken_over(trial, plan.replaces.worker, self._definition.name)
        else:
            log.asked(trial, self._definition.name)

    def _claim(self, plan: Plan, ticket: str, connection: sa.Connection) -> Trial | None:
        """Claim the planned trial for this process; None if somebody else was faster, or paused the study."""
        now, revision = self._store.now(connection), self._ledger.lock(connection)
        if done := self._ledger.claimed(connection, ticket):
            return done
        if self._pauses.found(connection):
            return None
        lease = self._tickets.lease
        claim = Claim(ticket, lease, None if lease is None else until(now, lease))
        if plan.replaces:
            taken = self._ledger.take_over(connection, plan.replaces, revision, claim, identity.name())
            return self._ledger.claimed(connection, ticket) if taken else None
        trial = self.begun(connection, plan.params, plan.origin, now)
        if trial.number != plan.number or (plan.pops and not self._ledger.pop(connection, plan.pops)):
            return None
        self._ledger.add(connection, trial, revision, claim)
        return trial
