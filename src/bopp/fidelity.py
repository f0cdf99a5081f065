"""Fidelity: evaluations that can be had cheaper, and when to pay for which.

The level is a column of the cube like any other, whose length-scale says how much a cheap evaluation tells of
a real one. A point is searched for at the real level, and evaluated at the level that removes the most of the
model's doubt about its real value, for what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.data import Array, Data, History
from bopp.errors import RecipeError, SpaceError
from bopp.goals import incumbent, seek
from bopp.legible import brief
from bopp.option import Choice
from bopp.outcome import Squeezed
from bopp.recipe import Recipe
from bopp.score import AverageScore
from bopp.search import SAME
from bopp.space import Params, Space
from bopp.suggest import avoiding_images, designed, searched, suggest
from bopp.threads import one_thread

LEAST = 1.0 - 1e-9  # what has to be left of a budget: a real evaluation, up to rounding
FIRST = 4.0  # first evaluations at the cheapest level, in sizes of the initial design
RUNG = 4.0  # of so many first evaluations at a level, the best one goes on to the next
ENOUGH = 3  # real evaluations to tell how much they differ
SHARE = 0.4  # of the cost, at most, for cheap evaluations


@dataclass(frozen=True)
class Fidelity:
    """How thorough an evaluation may be: the levels of a parameter, cheapest first; the last is the real one.

    `costs` are those of the levels, in real evaluations.
    """

    name: str
    levels: tuple[Any, ...]
    costs: tuple[float, ...]

    @staticmethod
    def of(fidelities: Any) -> Fidelity:
        """What a dict of a name to levels says: a list of numbers, or a dict of levels to costs."""
        if isinstance(fidelities, Fidelity):
            return fidelities
        example = '{"epochs": [1, 9, 81]} or {"epochs": {1: 0.05, 9: 0.2, 81: 1.0}}'
        if not isinstance(fidelities, Mapping) or not fidelities:
            raise RecipeError(f"fidelities: wanted a dict such as {example}, got {brief(fidelities)}")
        if len(fidelities) > 1:
            raise RecipeError(f"fidelities: bopp takes one name as yet, got {brief(list(fidelities))}")
        ((name, given),) = fidelities.items()
        if not isinstance(given, Mapping | Sequence) or isinstance(given, str):
            raise RecipeError(
                f"fidelities: wanted levels as in {example}, got {brief(given)} for {brief(name)}"
            )
        costs = dict(given) if isinstance(given, Mapping) else dict(zip(given, given, strict=True))
        wrong = [cost for cost in costs.values() if not _is_cost(cost)]
        if wrong:
            raise RecipeError(
                f"fidelities: {name!r} wants costs that are numbers above 0, got {brief(wrong[0])}"
            )
        levels = sorted(costs, key=lambda level: float(costs[level]))
        dearest = float(costs[levels[-1]])
        shares = tuple(float(costs[level]) / dearest for level in levels)
        if len(levels) < 2 or len(set(shares)) < len(shares) or len(costs) < len(given):
            raise RecipeError(
                f"fidelities: {name!r} wants two levels or more of different costs, got {brief(given)}"
            )
        return Fidelity(name, tuple(Choice(levels).options), shares)

    @property
    def real(self) -> Any:
        """The level of a real evaluation."""
        return self.levels[-1]

    def is_real(self, params: Params) -> bool:
        return bool(params[self.name] == self.real)

    def cost(self, params: Params) -> float:
        return self.costs[self.levels.index(params[self.name])]

    def within(self, space: Space) -> Space:
        """The space with the level as its last parameter."""
        parameter = Choice(self.levels, ordered=True)
        if self.name in space.parameters and space.parameters[self.name] != parameter:
            raise SpaceError(
                f"{self.name!r} is a fidelity: wanted a space without it, got {space.parameters[self.name]}"
            )
        return Space({**space.parameters, self.name: parameter})


def _same(A: Array, B: Array) -> npt.NDArray[np.bool_]:
    """Which rows are the same point, up to the rounding of a value that was decoded and encoded again."""
    return np.asarray((np.abs(A - B) <= SAME).all(axis=1))


def _is_cost(cost: Any) -> bool:
    return isinstance(cost, Real) and not isinstance(cost, bool) and 0.0 < float(cost) < math.inf


@one_thread()
def suggest_within(
    left: float,
    fidelity: Fidelity | None,
    space: Space,
    recipe: Recipe,
    history: History,
    key: tuple[int, int],
) -> Array:
    """The next point, with so much of the budget left: as `suggest` has it, and its level if there are any.

    A cheap evaluation must leave enough for a real one.
    """
    if fidelity is None or space.parameters[fidelity.name].levels == 1:
        return suggest(space, recipe, history, key)
    ladder = Ladder.of(fidelity, space, history)
    real = ladder.held(ladder.last)
    if recipe.initial.size == math.inf:  # there is no model that could learn from cheap evaluations
        return suggest(real, recipe, history, key)
    cheap = [place for place, cost in enumerate(fidelity.costs[:-1]) if cost <= left - LEAST]
    first = ladder.first(recipe, cheap, key)
    if first is not None:
        return first
    sought = seek(real, ladder.searching(recipe), history, key, incumbent(ladder.reals))
    score = sought.objective
    trials = avoiding_images(ladder.expected(score), real, sought.trusted)
    u = searched(sought.score, real, recipe, trials, key)
    places = [*filter(ladder.frugal, cheap), ladder.last]
    places = [one for one in places if not ladder.has(u, one) and ladder.allows(u, one)] or [ladder.last]
    worth = [ladder.doubt_removed(score, u, place) / fidelity.costs[place] for place in places]
    return ladder.at(u, places[int(np.argmax(worth))])


def searching(recipe: Recipe, fidelity: Fidelity | None, space: Space, history: History) -> Recipe:
    """The recipe as a search after these trials uses it."""
    return recipe if fidelity is None else Ladder.of(fidelity, space, history).searching(recipe)


@dataclass(frozen=True, eq=False)
class Ladder:
    """The trials so far by their levels.

    X      (n, d) their points, all moved to the real level
    place  (n,)   their levels, the cheapest is 0
    """

    fidelity: Fidelity
    space: Space
    history: History
    X: Array
    place: npt.NDArray[np.intp]

    @staticmethod
    def of(fidelity: Fidelity, space: Space, history: History) -> Ladder:
        X, column = history.X.copy(), space.columns[fidelity.name]
        place = np.rint(X[:, column][:, 0] * (len(fidelity.levels) - 1)).astype(np.intp)
        X[:, column] = 1.0
        return Ladder(fidelity, space, history, X, place)

    @property
    def last(self) -> int:
        return len(self.fidelity.levels) - 1

    def held(self, place: int) -> Space:
        """The space at one level."""
        return self.space.holding({self.fidelity.name: self.fidelity.levels[place]})

    def at(self, u: Array, place: int) -> Array:
        """A point, moved to a level."""
        moved = u.copy()
        moved[self.space.columns[self.fidelity.name]] = place / self.last
        return moved

    def has(self, u: Array, place: int) -> bool:
        """Whether a point of the real level has a trial at this one."""
        return bool(_same(self.X[self.place == place], u).any())

    def allows(self, u: Array, place: int) -> bool:
        """Whether a point may be evaluated at a level."""
        return bool(self.space.allowed(self.at(u, place)[None, :])[0])

    @cached_property
    def reals(self) -> History:
        """The trials of the real level."""
        rows, every = self.place == self.last, self.history
        part = {name: getattr(every, name)[rows] for name in ("X", "state", "values", "noise", "allowed")}
        return replace(every, **part, twins=None)

    def searching(self, recipe: Recipe) -> Recipe:
        """The recipe for trials of all levels: values below the middle of the real ones are squeezed.

        Cheap evaluations are worse by far. The unit would be theirs, and the real ones hardly differ in it.
        """
        y = self.reals.data.y
        with np.errstate(all="ignore"):
            middle, spread = (np.median(y), y.std()) if len(y) >= ENOUGH else (0.0, 0.0)
        if not 0.0 < spread < math.inf:
            return recipe
        return replace(recipe, outcome=Squeezed(recipe.outcome, float(middle), float(spread)))

    def expected(self, score: AverageScore) -> History:
        """The trials as a search at the real level should see them: with the values that they may have there.

        On a grid these are the real ones alone, so that a point of a cheaper level may be suggested again.
        """
        if not self.space.real.any():
            return self.reals
        means = np.array([known.posterior.mean(self.X) for known in score.knowns])
        values = np.dot(score.weights, means)[:, None]
        return History(self.X, np.full(len(self.X), "done"), values, np.zeros_like(values))

    def frugal(self, place: int) -> bool:
        """Whether cheap evaluations stay within their share of the cost with one more."""
        costs = np.array(self.fidelity.costs)[self.place]
        cheap = costs[self.place < self.last].sum() + self.fidelity.costs[place]
        return bool(cheap <= SHARE * (costs.sum() + 1.0))

    def first(self, recipe: Recipe, cheap: list[int], key: tuple[int, int]) -> Array | None:
        """The next of the first evaluations, a cheap design whose best go up; None after it."""
        if (place := self.unfilled(recipe, cheap)) is None:
            return None
        if (row := self._rising(place)) is not None:
            return self.at(self.X[row], place)
        below = self.history.state[self.place < place]
        hopeless = len(below) > 0 and not (below == "asked").any()  # none that could go up will come
        return designed(self.held(place if hopeless else [*cheap, self.last][0]), recipe, self.history, key)

    def unfilled(self, recipe: Recipe, cheap: Sequence[int]) -> int | None:
        """The lowest level that lacks some of its first evaluations, of the cheap ones given and the real."""
        for place in [*cheap, self.last]:
            wanted = max(1, math.ceil(FIRST * recipe.initial.size / RUNG**place))
            if np.sum(self.place == place) < min(wanted, self.held(place).size):
                return place
        return None

    def _rising(self, place: int) -> int | None:
        """The best trial of the nearest level below whose point has none at this level or above."""
        above = self.X[self.place >= place]
        fitting = _same(self.held(self.last).snap(self.X), self.X)  # where some params are held
        rows = np.flatnonzero(~np.isnan(self.history.values[:, 0]) & (self.place < place) & fitting)
        rows = np.array(
            [row for row in rows if not _same(above, self.X[row]).any() and self.allows(self.X[row], place)],
            dtype=np.intp,
        )
        if len(rows) == 0:
            return None
        nearest = rows[self.place[rows] == self.place[rows].max()]
        return int(nearest[np.argmax(self.history.values[nearest, 0])])

    def doubt_removed(self, score: AverageScore, u: Array, place: int) -> float:
        """The part of the variance at a point of the real level that an evaluation at this one removes."""
        real, there = u[None, :], self.at(u, place)[None, :]
        parts = []
        for known in score.knowns:
            seen = known.posterior.condition(Data(there, known.posterior.mean(there)))
            parts.append(1.0 - float(seen(real)[1][0] / known.posterior(real)[1][0]) ** 2)
        return float(np.dot(score.weights, parts))
