"""Optimizer: ask where to evaluate, tell what came out; minimize and maximize do both for a function."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypedDict, Unpack, get_args, overload

import numpy as np

from bopp.data import History
from bopp.drive import Callback, checked_budget, drive, limits
from bopp.errors import RecipeError, TellError
from bopp.evaluation import Objective, evaluator
from bopp.parameter import Parameter
from bopp.progress import meter
from bopp.result import Result
from bopp.space import Params, Space
from bopp.suggest import Recipe, suggest
from bopp.trial import Direction, Origin, State, Trial, fits, history_of, number_of, settled


class Optimizer:
    """Suggests settings and learns from their values, in memory.

    Args:
        space: a dict of name to Float, Int or Choice.
        direction: "minimize" or "maximize".
        seed: the same seed and the same values give the same suggestions.
        recipe: how to suggest; None is `Recipe.default()`.
        trials: those of an earlier optimizer, to go on from as it would have.
    """

    def __init__(
        self,
        space: Mapping[str, Parameter] | Space,
        direction: Direction = "minimize",
        seed: int = 0,
        recipe: Recipe | None = None,
        trials: Iterable[Trial] = (),
    ):
        if direction not in ("minimize", "maximize"):
            raise RecipeError(f"direction must be 'minimize' or 'maximize', got {direction!r}")
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise RecipeError(f"seed must be an integer >= 0, got {seed!r}")
        if recipe is not None and not isinstance(recipe, Recipe):
            raise RecipeError(f"recipe must be a Recipe or None, got {recipe!r}")
        self.space = Space(space)
        self.direction: Direction = direction
        self.seed = int(seed)
        self.recipe = Recipe.default() if recipe is None else recipe
        self._trials = [_checked(trial, number) for number, trial in enumerate(trials)]
        self._rows = [self.space.encode(trial.params) for trial in self._trials]
        self._queue: deque[Params] = deque()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, in the order in which they were asked for or observed."""
        return tuple(self._trials)

    @property
    def result(self) -> Result:
        """What is known so far."""
        return Result(self.space, self.direction, self.trials)

    @property
    def best(self) -> Trial:
        """The best finished trial."""
        return self.result.best

    @overload
    def ask(self) -> Trial: ...

    @overload
    def ask(self, count: int) -> list[Trial]: ...

    def ask(self, count: int | None = None) -> Trial | list[Trial]:
        """The next trial to evaluate, or `count` of them to evaluate at once."""
        if count is None:
            return self._ask()
        if not isinstance(count, int | np.integer) or count < 1:
            raise RecipeError(f"ask: count must be an integer >= 1, got {count!r}")
        return [self._ask() for _ in range(count)]

    def tell(self, trial: Trial, value: Any) -> Trial:
        """Take the value of a trial: a number, or None, NaN or an infinity for one that failed.

        A second tell of the same value changes nothing; a different value is refused.
        """
        return self._settle(self._own(trial), number_of(value))

    def fail(self, trial: Trial, error: str) -> Trial:
        """Take note that a trial failed, and why."""
        return self._settle(self._own(trial), math.nan, error)

    def observe(self, params: Mapping[str, Any], value: Any) -> Trial:
        """Take a result from elsewhere, which was never asked for."""
        params, number = self.space.check(params), number_of(value)
        return self._settle(self._add(params, "observed"), number)

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Have `ask` hand out these params before any suggestion of its own."""
        self._queue.append(self.space.check(params))

    def _ask(self) -> Trial:
        if self._queue:
            return self._add(self._queue.popleft(), "queued")
        u = suggest(self.space, self.recipe, self._history(), (self.seed, len(self._trials)))
        return self._add(self.space.decode(u), "suggested")

    def _history(self) -> History:
        X = np.array(self._rows).reshape(-1, self.space.dimension)
        return history_of(self._trials, X, self.direction)

    def _add(self, params: Params, origin: Origin) -> Trial:
        trial = Trial(len(self._trials), params, origin=origin, asked_at=datetime.now(UTC))
        self._rows.append(self.space.encode(params))
        self._trials.append(trial)
        return trial

    def _own(self, trial: Trial) -> Trial:
        if not isinstance(trial, Trial):
            raise TellError(f"tell wants a trial that ask returned, got {trial!r}")
        known = 0 <= trial.number < len(self._trials)
        if not known or self._trials[trial.number].params != trial.params:
            raise TellError(f"trial {trial.number} with params {trial.params} was not asked for here")
        return self._trials[trial.number]

    def _settle(self, trial: Trial, value: float, error: str | None = None) -> Trial:
        self._trials[trial.number] = settled(trial, value, datetime.now(UTC), error)
        return self._trials[trial.number]


def _checked(trial: Trial, number: int) -> Trial:
    right = isinstance(trial, Trial) and trial.number == number and trial.state in get_args(State)
    if not right or not fits(trial.state, trial.value):
        raise TellError(f"trials: wanted trial {number} with a value if it is done, got {trial!r}")
    return trial


class Options(TypedDict, total=False):
    """The settings of a run, for `minimize` and `maximize` alike."""

    seed: int
    workers: int
    recipe: Recipe | None
    progress: bool
    start: Iterable[Mapping[str, Any]]
    target: float | None
    time_limit: float | None
    trial_timeout: float | None
    callback: Callback | None


def minimize(
    objective: Objective,
    space: Mapping[str, Parameter] | Space,
    budget: int = 50,
    **options: Unpack[Options],
) -> Result:
    """Find the params of least value in `budget` evaluations; Ctrl-C ends the run and returns what is there.

    Args:
        objective: takes a dict of params and returns a number; an exception or NaN is a failed trial.
        space: a dict of name to Float, Int or Choice.
        budget: how many evaluations, failed ones included.
        seed: with one worker, the same seed gives the same run (0).
        workers: how many evaluations at once, each in a process of its own if more than one (1).
        recipe: how to suggest (None: `Recipe.default()`).
        progress: show a progress bar with the best value (True).
        start: params to evaluate first (none).
        target: stop once a value is as good as this (None).
        time_limit: start no evaluation after so many seconds, and end those in other processes (None).
        trial_timeout: an evaluation that takes more seconds than this is a failed trial (None).
        callback: called with the optimizer and each told trial; what is true ends the run (None).
    """
    return _run("minimize", objective, space, budget, **_known(options))


def maximize(
    objective: Objective,
    space: Mapping[str, Parameter] | Space,
    budget: int = 50,
    **options: Unpack[Options],
) -> Result:
    """Find the params of largest value in `budget` evaluations; the arguments are those of `minimize`."""
    return _run("maximize", objective, space, budget, **_known(options))


def _known(options: Options) -> Options:
    unknown = [name for name in options if name not in Options.__annotations__]
    if unknown:
        raise RecipeError(f"wanted options among {list(Options.__annotations__)}, got {unknown}")
    return options


def _run(
    direction: Direction,
    objective: Objective,
    space: Mapping[str, Parameter] | Space,
    budget: int,
    seed: int = 0,
    workers: int = 1,
    recipe: Recipe | None = None,
    progress: bool = True,
    start: Iterable[Mapping[str, Any]] = (),
    target: float | None = None,
    time_limit: float | None = None,
    trial_timeout: float | None = None,
    callback: Callback | None = None,
) -> Result:
    checked_budget(budget)
    ends = limits(target, time_limit, callback)
    optimizer = Optimizer(space, direction, seed, recipe)
    for params in start:
        optimizer.enqueue(params)

    def ask() -> Trial | None:
        asked = sum(trial.origin != "observed" for trial in optimizer.trials)
        return optimizer.ask() if asked < budget else None

    with evaluator(objective, workers, trial_timeout) as evaluation, meter(budget, progress) as show:
        try:
            drive(optimizer, ask, evaluation, workers, show, ends)
        except KeyboardInterrupt:
            show.interrupted()
    return optimizer.result
