"""Study: ask and tell with a memory that survives; many processes and machines may share one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, cast, overload

import numpy as np
import sqlalchemy as sa

from bopp.drive import Callback, checked_budget, limits
from bopp.errors import LateTell, RecipeError, StoreError, TellError
from bopp.evaluation import Objective
from bopp.progress import meter
from bopp.result import Result
from bopp.space import Params, Space
from bopp.study import identity, leases
from bopp.study.leases import Heartbeat, Lease, Watch, until
from bopp.study.ledger import Claim, Ledger, new_ticket, storable
from bopp.study.recipes import read_recipe
from bopp.study.runner import work
from bopp.study.store import Moment, Store
from bopp.suggest import Recipe, suggest
from bopp.trial import Direction, Origin, Trial, number_of, settled


@dataclass(frozen=True)
class Definition:
    """What makes a study the one it is; it never changes."""

    id: int
    name: str
    space: Space
    direction: Direction
    seed: int
    parts: dict[str, Any]  # of the recipe, written


@dataclass(frozen=True)
class Plan:
    """What the next trial is to be, if nobody comes before: one to take over, to pop or to begin."""

    number: int
    params: Params
    origin: Origin
    replaces: Lease | None = None
    pops: str | None = None


class Study:
    """Suggests settings and keeps every answer, in a store; `open_study` makes one.

    A trial that was asked for belongs to its worker while that one lives. `lease` is for how many seconds a
    worker may be silent before its trial goes to another; with `lease=None` it is held until it is told.
    """

    def __init__(
        self, store: Store, definition: Definition, recipe: Recipe | None = None, lease: float | None = 60.0
    ):
        self._store = store
        self._definition = definition
        self._ledger = Ledger(definition.id, definition.space, definition.direction)
        self._recipe = recipe
        self._lease = leases.checked(lease)
        self._process = os.getpid()
        self._tickets: dict[int, str] = {}
        self._lost: dict[int, str] = {}  # tickets of trials that went to others
        self._watch = Watch()
        self._heartbeat: Heartbeat | None = None

    @property
    def name(self) -> str:
        return self._definition.name

    @property
    def url(self) -> str:
        """Where the study lives, without a password."""
        return repr(self._store)

    @property
    def space(self) -> Space:
        return self._definition.space

    @property
    def direction(self) -> Direction:
        return self._definition.direction

    @property
    def seed(self) -> int:
        return self._definition.seed

    @property
    def definition(self) -> Definition:
        """What makes this study the one it is."""
        return self._definition

    @property
    def recipe(self) -> Recipe:
        """How it suggests; a recipe with parts of your own is there if you opened the study with it."""
        if self._recipe is None:
            self._recipe = read_recipe(self._definition.parts)
        return self._recipe

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, in the order in which they were asked for or observed."""

        def look(connection: sa.Connection) -> tuple[Trial, ...]:
            self._ledger.revision(connection)  # of a study that is there
            return self._ledger.trials(connection)

        return self._store.read(look)

    @property
    def result(self) -> Result:
        """What is known so far."""
        return Result(self.space, self.direction, self.trials)

    @property
    def best(self) -> Trial:
        """The best finished trial."""
        return self.result.best

    @property
    def queued(self) -> list[Params]:
        """The params that were enqueued and not yet asked for."""
        return [params for _, params in self._store.read(self._ledger.queued)]

    def __repr__(self) -> str:
        return f"Study({self.name!r} in {self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, count: int) -> list[Trial]: ...

    def ask(self, count: int | None = None) -> Trial | list[Trial]:
        """The next trial to evaluate, or `count` of them to evaluate at once."""
        if count is None:
            return cast(Trial, self.ask_within(math.inf))
        if not isinstance(count, int | np.integer) or count < 1:
            raise RecipeError(f"ask: count must be an integer >= 1, got {count!r}")
        return [cast(Trial, self.ask_within(math.inf)) for _ in range(count)]

    def ask_within(self, budget: float) -> Trial | None:
        """The next trial; None where as many as the budget were asked for, and none is to be taken over."""
        ticket = new_ticket()
        with self._store.turn(self._definition.id):
            while plan := self._plan(budget):
                self._hold(plan.number, ticket)
                try:
                    trial = self._store.write(partial(self._claim, plan, ticket))
                except KeyboardInterrupt:  # nobody will know that it is ours
                    self.release(plan.number)
                    raise
                if trial:
                    return trial
                del self._held[plan.number]
        return None

    @property
    def held(self) -> frozenset[int]:
        """Numbers of the trials that were asked for here and not yet told."""
        return frozenset(self._held)

    def tell(self, trial: Trial | int, value: Any) -> Trial:
        """Take the value of a trial, given as such or by its number; None, NaN, infinities are failures.

        A second tell of the same value changes nothing; a different value is refused. Where a trial went to
        another worker meanwhile, the first value that arrives counts.
        """
        return self._settle(trial, number_of(value))

    def fail(self, trial: Trial | int, error: str) -> Trial:
        """Take note that a trial failed, and why."""
        return self._settle(trial, math.nan, _text("error", error or ""))

    def observe(self, params: Mapping[str, Any], value: Any) -> Trial:
        """Take a result from elsewhere, which was never asked for."""
        params, number, ticket = self.space.check(params), number_of(value), new_ticket()

        def work(connection: sa.Connection) -> Trial:
            now, revision = self._store.now(connection), self._ledger.lock(connection)
            if done := self._ledger.claimed(connection, ticket):
                return done
            asked = self._begun(connection, params, "observed", now)
            told = settled(asked, number, now.utc)
            self._ledger.add(connection, told, revision, Claim(ticket))
            return told

        return self._store.write(work)

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Have `ask` hand out these params once, before any suggestion of its own."""
        params, ticket = self.space.check(params), new_ticket()
        self._store.write(lambda connection: self._ledger.push(connection, ticket, params))

    def note(self, trial: Trial | int, text: str) -> Trial:
        """Keep a note with a trial, in place of the one before."""
        kept = _text("note", text)
        return self._change(trial, lambda known, _: replace(known, notes=kept))

    def release(self, trial: Trial | int) -> None:
        """Give back a trial of ours: whoever asks next gets it."""
        self._store.check_writable()
        ticket = self._held.pop(self._number(trial), None)
        if ticket:
            self._store.write(lambda connection: self._ledger.release(connection, ticket))

    def renew(self) -> None:
        """Say that this process is alive, and keeps what it asked for."""
        tickets = list(self._held.values())

        def work(connection: sa.Connection) -> None:
            if expires := until(self._store.now(connection), self._lease):
                self._ledger.renew(connection, tickets, expires)

        if tickets:
            self._store.write(work)

    @property
    def others_at_work(self) -> bool:
        """Whether trials are under way elsewhere that would come here if their workers fell silent."""
        running = self._store.read(self._ledger.leases)
        return any(lease.ticket not in self._held.values() for lease in running)

    def optimize(
        self,
        objective: Objective,
        budget: int = 50,
        workers: int | None = None,
        *,
        executor: Any = None,
        progress: bool = True,
        target: float | None = None,
        time_limit: float | None = None,
        trial_timeout: float | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Evaluate until the study has `budget` trials, together with all others who work on it.

        Run again, it goes on where it was; Ctrl-C returns what is there. It waits for the trials of others,
        which come here if their workers fall silent.

        Args:
            objective: takes a dict of params and returns a number; an exception or NaN is a failed trial.
            budget: trials in total, failed ones included, those observed elsewhere not.
            workers: how many evaluations at once, in processes of their own if more than one (1; with a Dask
                client, as many as its cluster has threads).
            executor: a Dask client, or an executor of concurrent.futures, to evaluate elsewhere (None).
            progress: show a progress bar with the best value (True).
            target: stop once a value, of whomever, is as good as this (None).
            time_limit: start no evaluation after so many seconds, and end those in other processes (None).
            trial_timeout: an evaluation that takes more seconds than this is a failed trial (None).
            callback: called with the study and each trial told here; what is true ends the run (None).
        """
        self._store.check_writable()
        checked_budget(budget)
        ends = limits(target, time_limit, callback)
        with meter(budget, progress) as show:
            try:
                work(self, objective, budget, workers, trial_timeout, executor, ends, show)
            except KeyboardInterrupt:
                show.interrupted()
        return self.result

    def close(self) -> None:
        """Give back what was asked for and not told, and let go of the database."""
        if self._heartbeat:
            self._heartbeat.stop()
            self._heartbeat = None
        for number in list(self._held) if self._lease is not None else ():
            self.release(number)
        self._store.close()

    def _plan(self, budget: float) -> Plan | None:
        def look(
            connection: sa.Connection,
        ) -> tuple[tuple[Trial, ...], list[Lease], list[tuple[str, Params]]]:
            running = self._ledger.leases(connection)  # first: each of these trials is then known
            others = [lease for lease in running if lease.ticket not in self._held.values()]
            over = self._watch.over(others, self._store.now(connection))
            return self._ledger.trials(connection), over, self._ledger.queued(connection, first=True)

        known, over, queued = self._store.read(look)
        if over:
            old = known[over[0].number]
            return Plan(old.number, old.params, old.origin, replaces=over[0])
        if sum(trial.origin != "observed" for trial in known) >= budget:
            return None
        for ticket, params in queued:
            return Plan(len(known), params, "queued", pops=ticket)
        u = suggest(self.space, self.recipe, self._ledger.history(known), (self.seed, len(known)))
        return Plan(len(known), self.space.decode(u), "suggested")

    def _claim(self, plan: Plan, ticket: str, connection: sa.Connection) -> Trial | None:
        """The trial of a plan, which is ours from now on; None where somebody came before."""
        now, revision = self._store.now(connection), self._ledger.lock(connection)
        if done := self._ledger.claimed(connection, ticket):
            return done
        claim = Claim(ticket, self._lease, until(now, self._lease))
        if plan.replaces:
            taken = self._ledger.take_over(connection, plan.replaces, revision, claim, identity.name())
            return self._ledger.claimed(connection, ticket) if taken else None
        trial = self._begun(connection, plan.params, plan.origin, now)
        if trial.number != plan.number or (plan.pops and not self._ledger.pop(connection, plan.pops)):
            return None
        self._ledger.add(connection, trial, revision, claim)
        return trial

    def _begun(self, connection: sa.Connection, params: Params, origin: Origin, now: Moment) -> Trial:
        number = len(self._ledger.trials(connection))
        return Trial(number, params, origin=origin, asked_at=now.utc, worker=identity.name())

    @property
    def _held(self) -> dict[int, str]:
        """Numbers of trials, and the tickets with which this process asked; a fork begins with none."""
        if os.getpid() != self._process:
            self._process, self._tickets, self._heartbeat = os.getpid(), {}, None
        return self._tickets

    def _hold(self, number: int, ticket: str) -> None:
        self._lose(number)
        self._held[number] = ticket
        if self._lease is not None and not (self._heartbeat and self._heartbeat.alive):
            self._heartbeat = Heartbeat(self, self._lease)

    def _lose(self, number: int) -> None:
        """Remember a ticket that no longer holds its trial, for what may still be told with it."""
        if number in self._held:
            self._lost[number] = self._held.pop(number)

    def _settle(self, trial: Trial | int, value: float, error: str | None = None) -> Trial:
        number = self._number(trial)
        ticket = self._held.get(number, self._lost.get(number))

        def tell(known: Trial, connection: sa.Connection) -> Trial:
            lost = ticket is not None and (
                known.state != "asked" or self._ledger.claimed(connection, ticket) is None
            )
            if lost and known.state == "asked" and not math.isfinite(value):
                raise LateTell(
                    f"trial {number} went to {known.worker} meanwhile; the failure here is dropped"
                )
            try:
                return settled(known, value, self._store.now(connection).utc, error)
            except TellError as refused:
                if lost:
                    raise LateTell(f"{refused}: somebody else told it meanwhile") from None
                raise

        try:
            told = self._change(trial, tell)
        except LateTell:
            self._lose(number)
            raise
        except StoreError as lost:
            outcome = repr(value) if math.isfinite(value) else f"a failure, {error or value}"
            raise StoreError(f"{lost} (trial {number} still has to be told {outcome})") from lost
        self._held.pop(number, None)
        return told

    def _change(self, trial: Trial | int, change: Callable[[Trial, sa.Connection], Trial]) -> Trial:
        number = self._number(trial)

        def work(connection: sa.Connection) -> Trial:
            revision = self._ledger.lock(connection)
            known = self._ledger.trials(connection)
            if not 0 <= number < len(known) or (
                isinstance(trial, Trial) and known[number].params != trial.params
            ):
                what = f" with params {trial.params}" if isinstance(trial, Trial) else ""
                raise TellError(f"trial {number}{what} was not asked for in {self!r}")
            changed = change(known[number], connection)
            if changed != known[number]:
                self._ledger.change(connection, changed, revision)
            return changed

        return self._store.write(work)

    def _number(self, trial: Trial | int) -> int:
        if isinstance(trial, Trial):
            return trial.number
        if isinstance(trial, int | np.integer) and not isinstance(trial, bool):
            return int(trial)
        raise TellError(f"wanted a trial that ask returned, or its number, got {trial!r}")


def _text(what: str, text: Any) -> str:
    if not isinstance(text, str):
        raise TellError(f"wanted a text as {what}, got {text!r}")
    return storable(text)
