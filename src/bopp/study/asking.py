"""Asking: the next trial of a study, given to exactly one of those who ask."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import sqlalchemy as sa

from bopp import log
from bopp.errors import PausedStudy, StoreError
from bopp.fidelity import LEAST, suggest_within
from bopp.plain import read_recipe
from bopp.pseudo import Sum
from bopp.pseudo.policy import parts
from bopp.recipe import Recipe
from bopp.run.progress import RESUME
from bopp.space import Params
from bopp.study import identity
from bopp.study.definition import Definition
from bopp.study.known import Known
from bopp.study.leases import Lease, Watch, until
from bopp.study.ledger import Claim, Ledger, new_ticket
from bopp.study.pauses import Pause, Pauses
from bopp.study.sources import Taught, read_sources
from bopp.study.store import Store
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


@dataclass
class Asking:
    """Plans the next trial outside of any transaction, and claims it in one: the first to claim gets it."""

    store: Store
    ledger: Ledger
    tickets: Tickets
    pauses: Pauses
    definition: Definition
    given: Recipe | None
    knowledge: tuple[Taught, ...]
    watch: Watch = field(default_factory=Watch)

    @cached_property
    def recipe(self) -> Recipe:
        """How it suggests; read only when needed, so that a study can be looked at without it."""
        own = read_recipe(self.definition.parts) if self.given is None else self.given
        if not self.definition.knowledge:
            return own
        known = read_sources(self.definition.knowledge, self.definition.problem, self.knowledge)
        return replace(own, pseudo=Sum((*parts(own.pseudo), *known)))

    def ask(self, budget: float, run: object = None) -> Trial | None:
        """The next trial; None once `budget` is spent and there is none to take over.

        While the study is paused, nobody gets one: that is an error, unless there would be none anyway.
        """
        ticket = new_ticket()
        with self.store.suggesting(self.definition.id):
            while plan := self._plan(budget):
                try:
                    trial = self.store.write(partial(self._claim, plan, ticket))
                    if trial:
                        self.tickets.hold(ticket, Hold(trial.number, run))
                except StoreError:  # the store cannot be told either that the trial is free
                    raise
                except BaseException:  # the caller never gets this trial, so give it back
                    with suppress(StoreError):  # if that fails, its lease runs out
                        self.tickets.give_back(ticket)
                    raise
                if trial:
                    self._log(plan, trial)
                    return trial
        return None

    def _plan(self, budget: float) -> Plan | None:
        known, over, queued, pause = self.store.read(self._look)
        number, left = len(known.trials), budget - known.begun
        if not over and left < LEAST:
            return None
        if pause:
            name = self.definition.name
            raise PausedStudy(
                f"the study {name!r} is paused {pause}; {RESUME}", study=name, reason=pause.reason
            )
        if over:
            old = known.trials[over[0].number]
            return Plan(old.number, old._params, old.origin, replaces=over[0])
        for ticket, part in queued:
            whole = self.definition.problem.space.is_whole(part)
            return Plan(number, part if whole else self._suggested(known, part, left), "queued", pops=ticket)
        return Plan(number, self._suggested(known, {}, left), "suggested")

    def _suggested(self, known: Known, part: Params, left: float) -> Params:
        """Params that have these already."""
        problem, key = self.definition.problem, (self.definition.seed, len(known.trials))
        problem.check_searchable()
        space = problem.region.holding(part) if part else problem.region
        return space.decode(suggest_within(left, problem.fidelity, space, self.recipe, known.history(), key))

    def _look(
        self, connection: sa.Connection
    ) -> tuple[Known, list[Lease], list[tuple[str, Params]], Pause | None]:
        """The trials, the leases of other workers that are over, the head of the queue, and the pause."""
        running = self.ledger.leases(connection)  # before the trials, which then include all of these
        held = self.tickets.held
        others = [lease for lease in running if lease.ticket not in held]
        over = self.watch.over(others, self.store.now(connection))
        known, queued = self.ledger.known(connection), self.ledger.queued(connection, first=True)
        return known, over, queued, self.pauses.found(connection)

    def _log(self, plan: Plan, trial: Trial) -> None:
        if plan.replaces and plan.replaces.seconds:  # 0 if it was given back
            log.taken_over(trial, plan.replaces.worker, self.definition.name)
        else:
            log.asked(trial, self.definition.name)

    def _claim(self, plan: Plan, ticket: str, connection: sa.Connection) -> Trial | None:
        """Claim the planned trial for this process; None if somebody else was faster, or paused the study."""
        now, revision = self.store.now(connection), self.ledger.lock(connection)
        if done := self.ledger.claimed(connection, ticket):
            return done
        if self.pauses.found(connection):
            return None
        lease = self.tickets.lease
        claim = Claim(ticket, lease, None if lease is None else until(now, lease))
        if plan.replaces:
            taken = self.ledger.take_over(connection, plan.replaces, revision, claim, identity.name())
            return self.ledger.claimed(connection, ticket) if taken else None
        if len(self.ledger.trials(connection)) != plan.number:
            return None
        if plan.pops and not self.ledger.pop(connection, plan.pops):
            return None
        trial = Trial(plan.number, plan.params, origin=plan.origin, asked_at=now.utc, worker=identity.name())
        self.ledger.add(connection, [trial], revision, [claim])
        return trial
