"""Study: ask and tell with a memory that outlives the process; many processes and machines may share one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast, overload

import sqlalchemy as sa

from bopp import pseudo
from bopp.arguments import checked_count, checked_recipe, failed
from bopp.called import Function, called
from bopp.errors import BoppError, StoreError, StudyError
from bopp.knowledge import Account
from bopp.optimizer import Knowledge
from bopp.plain import write_recipe
from bopp.problem import Problem
from bopp.pseudo import Source
from bopp.recipe import Recipe
from bopp.result import Findings, Result
from bopp.run.failures import Policy
from bopp.run.loop import Callback, Limits
from bopp.run.progress import found, meter
from bopp.space import Params
from bopp.study.asking import Asking
from bopp.study.definition import Definition, rewrite, written
from bopp.study.following import Following
from bopp.study.ledger import Ledger, new_ticket, number_of, storable_answer
from bopp.study.pauses import Pause, Pauses, checked
from bopp.study.recording import Recording
from bopp.study.runner import run_study
from bopp.study.sources import Taught, taught, without_knowledge
from bopp.study.store import Store
from bopp.study.tickets import Tickets
from bopp.trial import Trial
from bopp.view.prediction import accounts_of

if TYPE_CHECKING:
    from bopp.view.explanation import Explanation


class Study(Findings):
    """Suggests settings and keeps every answer in a store; `open_study` makes one.

    A trial belongs to the worker that asked for it as long as that worker is alive. `lease` is how many
    seconds a worker may be silent before its trial goes to another; with `lease=None` the trial is held until
    it is told.

    Threads may share a study, and each may ask, tell or run `optimize`.
    """

    def __init__(
        self,
        store: Store,
        definition: Definition,
        recipe: Recipe | None = None,
        lease: float | None = 60.0,
        knowledge: tuple[Taught, ...] = (),
    ):
        self._store = store
        self._definition = definition
        self._ledger = Ledger(definition.id, definition.problem, definition.name)
        self._tickets = Tickets(store, self._ledger, lease)
        self._pauses = Pauses(self._ledger, definition.id)
        self._recipe, self._knowledge = recipe, knowledge  # as they were given, with functions of your own
        self._begin()
        self._recording = Recording(store, self._ledger, self._tickets)

    @property
    def name(self) -> str:
        return self._definition.name

    @property
    def url(self) -> str:
        """Where the study lives, without a password."""
        return repr(self._store)

    @property
    def problem(self) -> Problem:
        """The space, the objective with its direction, and the constraints."""
        return self._definition.problem

    @property
    def seed(self) -> int:
        return self._definition.seed

    @property
    def definition(self) -> Definition:
        """What identifies this study."""
        return self._definition

    @property
    def recipe(self) -> Recipe:
        """How it suggests; a recipe with parts of your own is known only if you opened the study with it."""
        return self._asking.recipe

    @property
    def knowledge(self) -> tuple[Account, ...]:
        """What became of each source of knowledge: how far it is trusted now, and what it was worth."""
        return accounts_of(self.result, self.recipe)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, in the order in which they were asked for or observed."""

        def look(connection: sa.Connection) -> tuple[Trial, ...]:
            self._ledger.check_there(connection)
            return self._ledger.trials(connection)

        return self._store.read(look)

    @property
    def result(self) -> Result:
        """What is known so far."""
        known: tuple[Source, ...] = ()
        if self._definition.knowledge:
            with suppress(StudyError):  # parts of your own, or of another version: look without them
                known = pseudo.sources(self.recipe.pseudo)
        return Result(self.problem, self.trials, known, self.seed)

    def follow(self) -> Following:
        """Looks at the study again and again, as others change it."""
        return Following(self._store, self._definition)

    def explain(self, trial: Trial | int) -> Explanation:
        """What the model believed of a trial when it was suggested, and what drew it there.

        It is computed anew, with the recipe that the study has now. A value that was told while the trial was
        being suggested counts as known.
        """
        return self.result.explain(trial, self.recipe, seed=self.seed)

    @property
    def queued(self) -> list[Params]:
        """The params that were enqueued and not yet asked for."""
        return [params for _, params in self._store.read(self._ledger.queued)]

    @property
    def held(self) -> frozenset[int]:
        """Numbers of the trials that were asked for here and not yet told."""
        return frozenset(hold.number for hold in self._tickets.held.values())

    @property
    def paused(self) -> Pause | None:
        """Since when the study is paused, and why; None if it is not."""
        return self._store.read(self._pauses.found)

    @property
    def others_at_work(self) -> bool:
        """Whether others, elsewhere or another run here, have trials that come here if they fall silent."""
        running, held = self._store.read(self._ledger.leases), self._tickets.held
        by_hand = [ticket for ticket, hold in held.items() if hold.run is None]
        return any(lease.ticket not in by_hand for lease in running)

    def __repr__(self) -> str:
        return f"Study({self.name!r} in {self.url!r})"

    def _repr_html_(self) -> str:
        from bopp.view.page import page

        return page(self.result, self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, count: int) -> list[Trial]: ...

    def ask(self, count: int | None = None) -> Trial | list[Trial]:
        """The next trial to evaluate, or `count` of them to evaluate at once; refused while it is paused."""
        if count is None:
            return cast(Trial, self.ask_within(math.inf))
        asked: list[Trial] = []
        try:
            for _ in range(checked_count("ask: count", count)):
                asked.append(cast(Trial, self.ask_within(math.inf)))
        except BoppError:  # paused in between, say: nobody would know of those that were asked for already
            for trial in asked:
                with suppress(StoreError):
                    self.release(trial)
            raise
        return asked

    def ask_within(self, budget: float, run: object = None) -> Trial | None:
        """The next trial; None once `budget` is spent and there is none to take over.

        `run` says who asks, if it will give back what it leaves untold. A paused study refuses to hand out a
        trial with `PausedStudy`.
        """
        return self._asking.ask(budget, run)

    def tell(self, trial: Trial | int, value: Any, noise: Any = None) -> Trial:
        """Record the value of a trial, given itself or by its number; None, NaN and infinities are failures.

        A second tell of the same value changes nothing; a different value is refused. Of several values,
        those that were None may be told later, by anybody. If the trial has gone to another worker in the
        meantime, the first value that arrives counts.

        Args:
            value: a number, or a dict of every declared name to a number, or to None for one that was not
                measured; further names are kept with the trial as measurements.
            noise: the standard deviation of this measurement, where it is known, or a dict of them by name.
        """
        return self._recording.tell(trial, self.problem.answer(value, noise))

    def fail(self, trial: Trial | int, error: str, traceback: str | None = None) -> Trial:
        """Record that a trial failed, and why.

        Args:
            trial: a trial that `ask` returned, or its number.
            error: what went wrong, in a line.
            traceback: where, as Python prints it.
        """
        return self._recording.tell(trial, failed(error, traceback))

    def retry(self, *trials: Trial | int, reason: str = "retried") -> list[Trial]:
        """Have failed trials, or all that failed if none is named, evaluated again by whoever asks next."""
        return self._recording.correct(trials, Trial.reopened, reason)

    def amend(self, trial: Trial | int, value: Any, reason: str, noise: Any = None) -> Trial:
        """Put another value in place of the one that was told; what it was stays in the trial's record.

        Args:
            trial: a trial that was told, or its number.
            value: the right value, as in `tell`.
            reason: why it is changed, in words.
            noise: as in `tell`.
        """
        answer = storable_answer(self.problem.answer(value, noise))
        return self._recording.correct([trial], lambda known, *why: known.amended(answer, *why), reason)[0]

    def drop(self, trial: Trial | int, reason: str) -> Trial:
        """Let a trial no longer count, for suggestions and budget; what it was stays in its record."""
        [dropped] = self._recording.correct([trial], Trial.dropped, reason)
        self._tickets.lose(dropped.number)
        return dropped

    def observe(self, params: Mapping[str, Any], value: Any, noise: Any = None) -> Trial:
        """Record a result from elsewhere that was never asked for.

        Args:
            params: the setting, in your units.
            value: as in `tell`.
            noise: as in `tell`.
        """
        answer = self.problem.answer(value, noise)
        trial = Trial(0, self.space.check(params)).told(answer, None)
        return self.observe_all([trial])[0]

    def observe_all(self, trials: Iterable[Trial]) -> tuple[Trial, ...]:
        """Record finished trials from elsewhere, such as those of `Result.from_pandas`: all of them or none.

        They get new numbers here; trials under way and dropped ones are left out.
        """
        finished = [trial for trial in trials if trial.state in ("done", "failed")]
        return self._recording.add(self.problem, finished)

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Have `ask` hand out these params once, before any suggestion; those left out are suggested."""
        params, ticket = self.problem.checked_part(params), new_ticket()
        self._store.write(lambda connection: self._ledger.push(connection, ticket, params))

    def note(self, trial: Trial | int, text: str) -> Trial:
        """Keep a note with a trial, below any earlier ones."""
        return self._recording.note(trial, text)

    def release(self, trial: Trial | int) -> None:
        """Give back a trial that is held here: whoever asks next gets it."""
        self._store.check_writable()
        self._tickets.release(number_of(trial))

    def release_all(self, run: object) -> None:
        """Give back every trial that this run asked for and did not tell."""
        for ticket, hold in self._tickets.held.items():
            if hold.run is run:
                self._tickets.give_back(ticket)

    def renew(self) -> None:
        """Tell the store that this process is alive and keeps the trials it asked for."""
        self._tickets.renew()

    def pause(self, reason: str | None = None) -> None:
        """Have nobody get a trial until `resume`; those under way may be told, and workers wait.

        A study that is paused already stays so, for the reason that it has.
        """
        reason = checked(reason)
        self._store.write(
            lambda connection: self._pauses.begin(connection, self._store.now(connection).utc, reason)
        )

    def resume(self) -> None:
        """End a pause: whoever waits goes on within seconds."""
        self._store.check_writable()
        if pause := self.paused:
            self._store.write(lambda connection: self._pauses.end(connection, pause))

    def switch_recipe(self, recipe: Recipe) -> None:
        """Suggest with another recipe from now on; whoever has the study open already keeps the old one.

        What the study knows it knows with any recipe, unless that has sources of knowledge itself.
        """
        own, before = taught((), checked_recipe(recipe)), self._definition.knowledge
        recipe = without_knowledge(recipe)
        known = {"knowledge": [one.written(self.problem) for one in own]} if own else {}
        self._redefine({"recipe": write_recipe(recipe), **known})
        self._recipe = recipe
        if own or self._definition.knowledge != before:
            self._knowledge = own
        self._begin()

    def switch_knowledge(self, knowledge: Knowledge) -> None:
        """Know this and nothing else from now on, besides the trials; (): nothing.

        Whoever has the study open already goes on with what it knew.
        """
        self.know(taught(knowledge))

    def know(self, knowledge: tuple[Taught, ...]) -> None:
        """Know this from now on, of which some may have to be read first."""
        self._redefine({"knowledge": [one.written(self.problem) for one in knowledge]})
        self._knowledge = knowledge
        self._begin()

    def optimize(
        self,
        objective: Function,
        budget: int = 50,
        workers: int | None = None,
        *,
        executor: Any = None,
        start_method: str | None = None,
        progress: bool = True,
        target: float | None = None,
        time_limit: float | None = None,
        trial_timeout: float | None = None,
        failures: Policy = "stop",
        callback: Callback | None = None,
    ) -> Result:
        """Evaluate until the study has `budget` trials, together with everyone else who works on it.

        Run again, it goes on where it stopped; Ctrl-C returns what is there. In the end it waits for the
        trials of other workers, and takes over those of workers that fall silent.

        Args:
            objective: takes the params by keyword or as a dict, and returns a number, or a dict with every
                name that the problem declares; an exception or NaN is a failed trial. It may be async.
            budget: how many evaluations in all, by all workers and in all runs, failed ones included, but not
                those that were observed elsewhere. With fidelities it counts real ones, a cheap one by its
                share of the cost.
            workers: how many evaluations to run at once, each in its own process if more than one (1; with a
                Dask client, as many as its cluster has threads).
            executor: a Dask client, or an executor of concurrent.futures, to evaluate elsewhere (None).
            start_method: how to start processes: "fork", "spawn" or "forkserver"; None is to fork on Linux,
                which a program that has initialized CUDA cannot do, and elsewhere Python's default (None).
            progress: show a progress bar with the best value, or with the size of the front (True).
            target: stop once a value is as good as this, whoever told it; of one objective only (None).
            time_limit: after this many seconds start no evaluation, and end those in other processes (None).
            trial_timeout: an evaluation that takes more seconds than this is a failed trial (None).
            failures: "stop" ends a run in which the first three evaluations fail alike, and takes these back;
                "continue" does not ("stop").
            callback: called with the study and each trial told here; a true return value ends the run (None).
        """
        self._store.check_writable()
        budget = checked_count("budget", budget)
        limits = Limits.from_now(target, time_limit, callback, failures).checked(self.problem)
        function = called(objective, self.space)
        try:
            with meter(budget, progress, found(self.result) if progress else "") as show:
                try:
                    ends = (workers, trial_timeout, executor, limits, show, start_method)
                    run_study(self, function, budget, *ends)
                except KeyboardInterrupt:
                    show.interrupted()
                    raise
        except KeyboardInterrupt:
            return self.result  # from here, a store that is busy is not waited for
        return self.result

    def close(self) -> None:
        """Give back trials that were not told, unless `lease` is None, and close the database."""
        self._tickets.close()
        self._store.close()

    def _redefine(self, columns: Mapping[str, Any]) -> None:
        """Put recipe or knowledge into the store, and take over both as they are there now."""
        texts, id = written(columns), self._definition.id
        new = self._store.write(lambda connection: Definition.read(rewrite(connection, id, texts)))
        self._definition = replace(self._definition, parts=new.parts, knowledge=new.knowledge)

    def _begin(self) -> None:
        """Suggest as the definition says now."""
        shared = (self._store, self._ledger, self._tickets, self._pauses)
        self._asking = Asking(*shared, self._definition, self._recipe, self._knowledge)
