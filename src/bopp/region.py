"""Region: a space of which only a part is allowed, by conditions that are known without an evaluation.

The part may be small, a ten-thousandth of the space, or flat, as mixtures whose shares add up to 1 are. So
some of its points are found first: the *pool*, which depends on the space and the conditions alone. They are
drawn at random, moved to where linear conditions are met, and walk about inside until they are spread over
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.conditions import Mask
from bopp.constraint import Condition, Holds, Linear, met
from bopp.data import Array
from bopp.errors import SpaceError
from bopp.held import Held
from bopp.memory import Memory
from bopp.polytope import Polytope
from bopp.space import Params, Space

POOL = 1000  # points that are kept
COUNTABLE = 5000  # a space of fewer points is looked through
BATCH = 1000  # points that are drawn at first; twice as many each time after that
MOST = 300_000  # points that are drawn at most
ENOUGH = 30  # points found, after some drawing, from which walks can reach the rest
SOME = 20_000  # that much drawing
PROGRAMS = 24  # points by mixed-integer programs, where mending does not find any
FEW = 20  # points that have to be found without these
SPREADING = 12  # steps of the walks that spread the pool
STEPS = 2  # steps of the walks of a suggestion
WALKS = 200  # of so many candidates of a suggestion
TRIES = 6  # ever shorter, before a step is given up
FEWER_TRIES = 4  # the same for a suggestion
REMEMBERED = 16  # pools of the latest regions

Test = Callable[[Array], Mask]


class Region(Space):
    """The part of a space in which conditions hold; what it suggests meets all of them."""

    def __init__(self, space: Space, conditions: Sequence[Condition]):
        super().__init__(space)
        self.conditions = tuple(conditions)
        self._every = Space(space)
        self._predicates = [one for one in self.conditions if isinstance(one, Holds)]
        linear = [one for one in self.conditions if isinstance(one, Linear)]
        self._polytope = Polytope(self, linear) if linear else None

    def __repr__(self) -> str:
        return f"Region({self.parameters!r}, {self.conditions!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self.conditions == other.conditions and super().__eq__(other)

    __hash__ = None

    @cached_property
    def size(self) -> float:
        """How many different params are allowed; of a space with very many, how many there are."""
        return len(self._pool) if self._is_small else self._every.size

    @cached_property
    def grid(self) -> Array:
        """Every allowed point of a space without Floats, or with Floats in steps."""
        return self._pool if self._is_small else self._every.grid[self.allowed(self._every.grid)]

    @cached_property
    def whole(self) -> Space:
        """The space in which nothing is settled, with all of its points."""
        return self._every.whole

    def holding(self, params: Params) -> Region:
        return Region(super().holding(params), self.conditions)

    def free(self, U: Array) -> Mask:
        """Discrete columns are not moved little by little: there may be nothing allowed half-way."""
        return super().free(U) & ~self.discrete

    def allowed(self, U: Array) -> Mask:
        """Which rows of U decode to params that meet all conditions."""
        good = np.ones(len(U), dtype=np.bool_)
        if self._polytope is not None:
            good = self._polytope.met(self.snap(U))
        rows = np.flatnonzero(good) if self._predicates else good[:0]
        for row, params in zip(rows, self.decode_all(U[rows]) if len(rows) else (), strict=True):
            good[row] = all(met(predicate, params) for predicate in self._predicates)
        return good

    def inside(self, U: Array, kept: Mask | None = None) -> Array:
        return U if self._polytope is None else self._polytope.mended(U, kept)

    def along(self, U: Array, way: Array, free: Mask) -> Array:
        return way if self._polytope is None else self._polytope.along(U, way, free)

    def moves(self, U: Array) -> tuple[Array, npt.NDArray[np.intp]]:
        """Allowed points that differ from a row of U in one discrete parameter, and in what that asks for."""
        points, owner = super().moves(U)
        moved = self.inside(points, kept=points != U[owner])
        good = self.allowed(moved)
        return moved[good], owner[good]

    def candidates(self, count: int, rng: np.random.Generator) -> Array:
        """Points of the pool, some of which have walked on; an error if no point is found."""
        chosen = self._pool[_some(len(self._pool), count, rng)]
        if not self._is_small:
            walks = min(count, WALKS)
            chosen[:walks] = self._walked(chosen[:walks], self.allowed, rng, STEPS, FEWER_TRIES)
        return chosen

    @property
    def _is_small(self) -> bool:
        return self._every.size < COUNTABLE

    @property
    def _pool(self) -> Array:
        held = [(name, one) for name, one in self.parameters.items() if isinstance(one, Held)]
        settled = tuple((name, one.columns.tobytes()) for name, one in held)
        return _pools((self.whole, self.conditions), settled, self._found)

    def _found(self) -> Array:
        """About a thousand allowed points, the same ones every time."""
        if self._is_small:
            grid = self._every.grid[self.allowed(self._every.grid)]
            if len(grid) == 0:
                raise SpaceError(f"none of the {self._every.size:g} different params meets {self._named()}")
            return grid
        rng = np.random.default_rng(0)
        draw = self._drawn if self._polytope is None else self._drawn_linear(self._polytope, rng)
        if not self._predicates and self._polytope is not None:
            return draw(POOL, rng)
        found, tried, batch = np.empty((0, self.dimension)), 0, BATCH
        while len(found) < POOL and tried < MOST and not (len(found) >= ENOUGH and tried >= SOME):
            U = draw(min(batch, MOST - tried), rng)
            for part in np.array_split(U, max(1, len(U) // BATCH)):  # no more calls than it takes
                found = np.vstack([found, part[self.allowed(part)]])
                tried += len(part)
                if len(found) >= POOL:
                    break
            batch = 2 * batch
        if len(found) == 0:
            raise SpaceError(
                f"none of {tried} params meets {self._named()}: nothing can be suggested. "
                "A condition that holds only where numbers are equal, or nearly so, can be met if it is "
                "declared as Linear(..., equals=...)"
            )
        if len(found) >= POOL:
            return found[:POOL]
        return self._spread(found, self.allowed, rng)

    def _drawn(self, count: int, rng: np.random.Generator) -> Array:
        return self.snap(rng.random((count, self.dimension)))

    def _drawn_linear(
        self, polytope: Polytope, rng: np.random.Generator
    ) -> Callable[[int, np.random.Generator], Array]:
        """Draws points that meet the linear conditions, by walks from some that were found."""
        U = self._drawn(2 * POOL, rng)
        found = U[polytope.met(U)]
        if len(found) < POOL:
            mended = polytope.mended(U)
            found = mended[polytope.met(mended)]
        if len(found) < FEW:
            found = np.vstack([found, self._programmed(polytope, U, rng)])
        pool = self._spread(found, polytope.met, rng)

        def draw(count: int, rng: np.random.Generator) -> Array:
            if count == len(pool):
                return pool
            return self._walked(pool[_some(len(pool), count, rng)], polytope.met, rng, STEPS)

        return draw

    def _programmed(self, polytope: Polytope, U: Array, rng: np.random.Generator) -> Array:
        """Points near random ones that meet the linear conditions; an error if no point does."""
        kinds = polytope.kinds(U)[:PROGRAMS]
        first = [polytope.nearest(u, u) for u in kinds]
        possible = [u for u, point in zip(kinds, first, strict=True) if point is not None]
        if not possible:
            raise SpaceError(
                f"no params meet {self._named(Linear)}: wanted conditions that do not contradict each other"
            )
        goals = U[:PROGRAMS]
        more = [polytope.nearest(possible[i % len(possible)], goal) for i, goal in enumerate(goals)]
        points = np.array([point for point in [*first, *more] if point is not None])
        points = points[polytope.met(points)]
        if len(points) == 0:
            raise SpaceError(f"no params were found that meet {self._named(Linear)}")
        return np.unique(points, axis=0)

    def _spread(self, found: Array, test: Test, rng: np.random.Generator) -> Array:
        """As many points as a pool has, from those found, and by walks from these."""
        start = np.vstack([found, found[rng.integers(len(found), size=max(0, POOL - len(found)))]])
        return self._walked(start[:POOL], test, rng, SPREADING)

    def _walked(
        self, U: Array, test: Test, rng: np.random.Generator, steps: int, tries: int = TRIES
    ) -> Array:
        """Points that have walked within what the test allows: hit and run, in directions of three kinds.

        A step goes anywhere on a line through the cube, and nearer to where it began as long as it would end
        outside of the region (Neal's slice sampling, by shrinkage).
        """
        U = U.copy()
        for _ in range(steps):
            way = self._ways(U, rng)
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.stack([(0.0 - U) / way, (1.0 - U) / way])
            ends = np.where(np.isfinite(ends), ends, np.array([-np.inf, np.inf])[:, None, None])
            low = np.maximum(ends.min(axis=0).max(axis=1), -2.0)
            high = np.minimum(ends.max(axis=0).min(axis=1), 2.0)
            on = np.flatnonzero(high > low)
            for _ in range(tries):
                t = low[on] + (high[on] - low[on]) * rng.random(len(on))
                V = self.inside(self.snap(np.clip(U[on] + t[:, None] * way[on], 0.0, 1.0)))
                good = test(V)
                U[on[good]] = V[good]
                low[on] = np.where(t < 0.0, t, low[on])
                high[on] = np.where(t < 0.0, high[on], t)
                on = on[~good]
                if len(on) == 0:
                    break
        return U

    def _ways(self, U: Array, rng: np.random.Generator) -> Array:
        """Directions to walk in: from one point to another, along one column, or any."""
        others = U[rng.permutation(len(U))] - U[rng.permutation(len(U))]
        any_way = rng.standard_normal(U.shape)
        one = np.zeros_like(U)
        one[np.arange(len(U)), rng.integers(U.shape[1], size=len(U))] = 1.0
        kind = rng.random((len(U), 1))
        way = np.where(kind < 0.6, others, np.where(kind < 0.8, one, any_way))
        return self.along(U, way, super().free(U))

    def _named(self, kind: Any = object) -> str:
        names = [repr(one.name) for one in self.conditions if isinstance(one, kind)]
        return f"the condition {names[0]}" if len(names) == 1 else f"all of the conditions {', '.join(names)}"


def _some(size: int, count: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Indices below `size`: each of them once before any is there twice."""
    rounds = [rng.permutation(size) for _ in range(-(-count // size))]
    return np.concatenate(rounds)[:count] if rounds else np.empty(0, dtype=np.intp)


_pools: Memory[Array] = Memory(REMEMBERED)
