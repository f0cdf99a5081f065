"""Optimizer: ask where to evaluate, tell what came out; minimize, maximize and optimize do both for you."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, overload

import numpy as np

from bopp import log
from bopp.adoption import adopted, check_trial
from bopp.arguments import checked_count, checked_reason, checked_recipe, checked_seed, failed
from bopp.called import Function, called
from bopp.errors import TellError
from bopp.fidelity import LEAST, suggest_within
from bopp.guard import Guard
from bopp.informed import bind_knowledge
from bopp.problem import Constraint, Declaration, Direction, Problem
from bopp.pseudo import Policy, Source, Sum, sources
from bopp.recipe import Recipe
from bopp.result import Findings, Result
from bopp.run.failures import Policy as Failures
from bopp.run.loop import Callback, Limits, run_trials
from bopp.run.place import default_workers, evaluator
from bopp.run.progress import found, meter
from bopp.space import Params
from bopp.trial import Answer, Origin, Trial

Knowledge = Source | Sum | Iterable[Policy]


class Optimizer(Findings):
    """Suggests settings and learns from their values, in memory.

    Threads may share one: whatever one of them does, the others wait for it, also for a suggestion.

    Args:
        space: a dict such as {"rate": Float(1e-4, 1, log=True), "layers": (1, 8)}; or a `Problem`, which has
            directions of its own.
        direction: "minimize" or "maximize"; None is "minimize", or what a `Problem` says.
        seed: the same seed and the same values give the same suggestions. None draws one, which is kept as
            `optimizer.seed`.
        recipe: how to suggest; None is `Recipe.default()`.
        trials: those of an earlier optimizer, to continue just as it would have.
        knowledge: what you know but did not measure, such as [pseudo.Images(exchange=("a", "b"))].
    """

    problem: Problem

    def __init__(
        self,
        space: Declaration | Problem,
        direction: Direction | None = None,
        seed: int | None = 0,
        recipe: Recipe | None = None,
        trials: Iterable[Trial] = (),
        knowledge: Knowledge = (),
    ):
        self.problem = Problem.of(space, direction)
        self.seed = checked_seed(seed)
        self.recipe = bind_knowledge(checked_recipe(recipe), knowledge, self.problem)
        self._trials = list(trials)
        for number, trial in enumerate(self._trials):
            check_trial(self.problem, trial, number)
        self._rows = [self.problem.point(trial) for trial in self._trials]
        self._queue: deque[Params] = deque()
        self._released: deque[int] = deque()
        self._guard = Guard()  # held wherever these are changed

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, in the order in which it was asked for or observed."""
        return tuple(self._trials)

    @property
    def result(self) -> Result:
        """What is known so far."""
        return Result(self.problem, self.trials, sources(self.recipe.pseudo), self.seed)

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, count: int) -> list[Trial]: ...

    def ask(self, count: int | None = None) -> Trial | list[Trial]:
        """The next trial to evaluate, or `count` of them to evaluate at once."""
        if count is None:
            return self._ask()
        return [self._ask() for _ in range(checked_count("ask: count", count))]

    def tell(self, trial: Trial, value: Any, noise: Any = None) -> Trial:
        """Record the value of a trial: a number, or None, NaN or an infinity if it failed.

        Telling the same value again changes nothing; a different value is refused. Of several values, those
        that were None may be told later, when they have been measured.

        Args:
            value: a number, or a dict with a number for every declared name, or None for one that was not
                measured; other names are kept with the trial as measurements.
            noise: the standard deviation of this measurement, if known, or a dict of them by name.
        """
        return self._settle(self._own(trial), self.problem.answer(value, noise))

    def fail(self, trial: Trial, error: str, traceback: str | None = None) -> Trial:
        """Record that a trial failed, and why.

        Args:
            trial: a trial that `ask` returned.
            error: what went wrong, in a line.
            traceback: where, as Python prints it.
        """
        return self._settle(self._own(trial), failed(error, traceback))

    def release(self, trial: Trial) -> None:
        """Give a trial back: the next `ask` hands it out again."""
        with self._guard:
            own = self._own(trial)
            if own.state == "asked" and own.number not in self._released:
                self._released.append(own.number)

    def retry(self, *trials: Trial, reason: str = "retried") -> list[Trial]:
        """Have failed trials, or all that failed if none is named, evaluated again."""
        with self._guard:
            chosen = trials or [trial for trial in self._trials if trial.state == "failed"]
            again = [self._own(trial).reopened(datetime.now(UTC), checked_reason(reason)) for trial in chosen]
            for trial in again:
                self._trials[trial.number] = trial
                self.release(trial)
            return again

    def observe(self, params: Mapping[str, Any], value: Any, noise: Any = None) -> Trial:
        """Record a result from elsewhere that was never asked for.

        Args:
            params: the setting, in your units.
            value: as in `tell`.
            noise: as in `tell`.
        """
        params, answer = self.space.check(params), self.problem.answer(value, noise)
        with self._guard:
            return self._settle(self._add(params, "observed"), answer)

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Have `ask` hand out these params before any suggestion of its own; those left out are suggested."""
        self._queue.append(self.problem.checked_part(params))

    def _ask(self, left: float = math.inf) -> Trial:
        """The next trial, where `left` of the budget is left."""
        with self._guard:
            while self._released:
                trial = self._trials[self._released.popleft()]
                if trial.state == "asked":
                    return trial
            part = self._queue[0] if self._queue else {}
            params = part if self.space.is_whole(part) else self._suggested(part, left)
            if part:
                self._queue.popleft()
            trial = self._add(params, "queued" if part else "suggested")
        log.asked(trial)
        return trial

    def _suggested(self, part: Params, left: float) -> Params:
        """Params that have these already."""
        self.problem.check_searchable()
        X = np.array(self._rows[: len(self._trials)]).reshape(-1, self.space.dimension)
        history = self.problem.history(self._trials, X)
        space = self.problem.region.holding(part) if part else self.problem.region
        key = (self.seed, len(self._trials))
        return space.decode(suggest_within(left, self.problem.fidelity, space, self.recipe, history, key))

    def _add(self, params: Params, origin: Origin) -> Trial:
        trial = Trial(len(self._trials), params, origin=origin, asked_at=datetime.now(UTC))
        self._rows[trial.number :] = [self.space.encode(params)]  # one too many if a fork came between
        self._trials.append(trial)
        return trial

    def _own(self, trial: Trial) -> Trial:
        if not isinstance(trial, Trial):
            raise TellError(f"tell wants a trial that ask returned, got {trial!r}")
        known = 0 <= trial.number < len(self._trials)
        if not known or self._trials[trial.number]._params != trial._params:
            raise TellError(
                f"trial {trial.number} with params {trial.params} was not asked for here", trial=trial.number
            )
        return self._trials[trial.number]

    def _settle(self, trial: Trial, answer: Answer) -> Trial:
        with self._guard:
            own = self._trials[trial.number]  # which another thread may have told since
            told = self._trials[own.number] = own.told(answer, datetime.now(UTC))
        if told is not own:
            log.told(told)
        return told


def optimize(
    objective: Function,
    problem: Declaration | Problem,
    budget: int = 50,
    *,
    seed: int | None = 0,
    workers: int | None = None,
    executor: Any = None,
    start_method: str | None = None,
    recipe: Recipe | None = None,
    knowledge: Knowledge = (),
    progress: bool = True,
    start: Iterable[Mapping[str, Any]] = (),
    trials: Iterable[Trial] = (),
    target: float | None = None,
    time_limit: float | None = None,
    trial_timeout: float | None = None,
    failures: Failures = "stop",
    callback: Callback | None = None,
    fidelities: Mapping[str, Any] | None = None,
) -> Result:
    """Solve a problem with `budget` evaluations; Ctrl-C ends the run and returns what it found so far.

    Args:
        objective: takes the params by keyword or as a dict, and returns a number, or a dict with every name
            that the problem declares; an exception or NaN is a failed trial. It may be async.
        problem: the space, the objectives with their directions, and the constraints. A space alone, such as
            {"rate": Float(1e-4, 1, log=True)}, is the problem of minimizing one value in it.
        budget: how many evaluations in all, failed ones and those of `trials` included, but not those that
            were observed elsewhere. With fidelities it counts real ones, a cheap one by its share of the
            cost, and the last one is real.
        seed: with one worker, the same seed gives the same run; None draws one, which is `result.seed`.
        workers: how many evaluations to run at once, each in its own process if more than one; None is 1, or
            with a Dask client as many as its cluster has threads.
        executor: a Dask client, or an executor of concurrent.futures, to evaluate elsewhere.
        start_method: how to start processes: "fork", "spawn" or "forkserver"; None is to fork on Linux,
            which a program that has initialized CUDA cannot do, and elsewhere Python's default.
        recipe: how to suggest; None is `Recipe.default()`.
        knowledge: what you know but did not measure: policies such as `pseudo.Images`, `pseudo.Guesses`,
            `pseudo.Cheap`, `pseudo.Earlier` and `pseudo.Limits`; docs/knowledge.md says which to use when.
        progress: show a progress bar with the best value, or with the size of the front.
        start: params to evaluate first.
        trials: what is known from an earlier run, such as `result.trials`; trials that do not fit the space
            are dropped, and unfinished ones are evaluated first.
        target: stop once a trial that meets the constraints is at least as good as this; of one objective.
        time_limit: start no evaluation after this many seconds, and end those running in other processes.
        trial_timeout: an evaluation that takes longer than this many seconds is a failed trial.
        failures: "stop" ends a run in which the first three evaluations fail alike; "continue" does not.
        callback: called with the optimizer and each trial that has ended; returning true ends the run.
        fidelities: how thorough an evaluation may be, as in {"epochs": [1, 9, 81]}; see `Problem`.
    """
    problem = Problem.of(problem)
    if fidelities is not None:
        problem = Problem(
            problem.space, problem.objectives, problem.constraints, fidelities, problem.reference
        )
    budget = checked_count("budget", budget)
    limits = Limits.from_now(target, time_limit, callback, failures).checked(problem)
    earlier = adopted(problem, trials, datetime.now(UTC))
    optimizer = Optimizer(problem, seed=seed, recipe=recipe, trials=earlier, knowledge=knowledge)
    for params in start:
        optimizer.enqueue(params)
    for trial in earlier:
        if trial.state == "asked":  # when an earlier run ended
            optimizer.release(trial)
    left = budget - sum(problem.cost(trial) for trial in earlier if trial.spent)

    def ask() -> Trial | None:
        nonlocal left
        if left < LEAST:
            return None
        trial = optimizer._ask(left)
        left -= problem.cost(trial)
        return trial

    at_once = default_workers(executor) if workers is None else workers
    function = called(objective, optimizer.space)
    with suppress(KeyboardInterrupt), meter(budget, progress, found(optimizer.result)) as show:
        try:
            with evaluator(function, at_once, trial_timeout, executor, start_method) as evaluation:
                run_trials(optimizer, ask, evaluation, at_once, show, limits)
        except KeyboardInterrupt:
            show.interrupted()
    return optimizer.result


def minimize(
    objective: Function,
    space: Declaration,
    budget: int = 50,
    *,
    constraints: Iterable[Constraint] = (),
    seed: int | None = 0,
    workers: int | None = None,
    executor: Any = None,
    start_method: str | None = None,
    recipe: Recipe | None = None,
    knowledge: Knowledge = (),
    progress: bool = True,
    start: Iterable[Mapping[str, Any]] = (),
    trials: Iterable[Trial] = (),
    target: float | None = None,
    time_limit: float | None = None,
    trial_timeout: float | None = None,
    failures: Failures = "stop",
    callback: Callback | None = None,
    fidelities: Mapping[str, Any] | None = None,
) -> Result:
    """Find the params with the lowest value with `budget` evaluations; Ctrl-C returns what was found so far.

    Args:
        objective: takes the params by keyword, as in f(rate, layers), or as a dict, and returns a number; an
            exception or NaN is a failed trial. It may return a dict with the number under "value"; anything
            else in it is kept with the trial. It may be async.
        space: a dict such as {"rate": Float(1e-4, 1, log=True), "layers": (1, 8)}.
        budget: how many evaluations in all, failed ones and those of `trials` included, but not those that
            were observed elsewhere. With fidelities it counts real ones, a cheap one by its share of the
            cost, and the last one is real.
        constraints: what the best params must meet: `AtMost` and `AtLeast` for values that are returned as
            well, `Holds` and `Linear` for the params, to which every suggestion keeps.
        seed: with one worker, the same seed gives the same run; None draws one, which is `result.seed`.
        workers: how many evaluations to run at once, each in its own process if more than one; None is 1, or
            with a Dask client as many as its cluster has threads.
        executor: a Dask client, or an executor of concurrent.futures, to evaluate elsewhere.
        start_method: how to start processes: "fork", "spawn" or "forkserver"; None is to fork on Linux,
            which a program that has initialized CUDA cannot do, and elsewhere Python's default.
        recipe: how to suggest; None is `Recipe.default()`.
        knowledge: what you know but did not measure: policies such as `pseudo.Images`, `pseudo.Guesses`,
            `pseudo.Cheap`, `pseudo.Earlier` and `pseudo.Limits`; docs/knowledge.md says which to use when.
        progress: show a progress bar with the best value.
        start: params to evaluate first.
        trials: what is known from an earlier run, such as `result.trials`; trials that do not fit the space
            are dropped, and unfinished ones are evaluated first.
        target: stop once a trial that meets the constraints is at least as good as this.
        time_limit: start no evaluation after this many seconds, and end those running in other processes.
        trial_timeout: an evaluation that takes longer than this many seconds is a failed trial.
        failures: "stop" ends a run in which the first three evaluations fail alike; "continue" does not.
        callback: called with the optimizer and each trial that has ended; returning true ends the run.
        fidelities: how thorough an evaluation may be, as in {"epochs": [1, 9, 81]}; see `Problem`.
    """
    return _optimize_one("minimize", **locals())


def maximize(
    objective: Function,
    space: Declaration,
    budget: int = 50,
    *,
    constraints: Iterable[Constraint] = (),
    seed: int | None = 0,
    workers: int | None = None,
    executor: Any = None,
    start_method: str | None = None,
    recipe: Recipe | None = None,
    knowledge: Knowledge = (),
    progress: bool = True,
    start: Iterable[Mapping[str, Any]] = (),
    trials: Iterable[Trial] = (),
    target: float | None = None,
    time_limit: float | None = None,
    trial_timeout: float | None = None,
    failures: Failures = "stop",
    callback: Callback | None = None,
    fidelities: Mapping[str, Any] | None = None,
) -> Result:
    """Find the params with the highest value with `budget` evaluations; Ctrl-C returns what was found so far.

    Args:
        objective: returns a number, the larger the better; otherwise as for `minimize`.
        space: what to search, and all further arguments are as for `minimize`.
    """
    return _optimize_one("maximize", **locals())


def _optimize_one(
    direction: Direction,
    objective: Function,
    space: Declaration,
    constraints: Iterable[Constraint],
    fidelities: Mapping[str, Any] | None,
    **settings: Any,
) -> Result:
    """Solve the problem of one value; the settings are those of `optimize`."""
    problem = Problem(space, {"value": direction}, constraints, fidelities)
    return optimize(objective, problem, **settings)
