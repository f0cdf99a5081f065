"""Search: the point of the space where a score is largest.

    search(score, space, history, rng) -> u (d,), a point of the grid

`score.values(U)` returns the scores (m,), `score.gradient(U)` the scores and their gradients (m, d). No point
of the history is suggested again while the space has others. In a region, only points that are allowed are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy

from bopp.data import Array, History
from bopp.errors import RecipeError
from bopp.legible import brief
from bopp.space import Space

SAME = 1e-6  # Floats closer than this fraction of their range count as equal
ARRIVED = 1e-4  # an ascent ends where its next step is shorter than this
LONGEST_STEP = 0.3
FAIR_START = 5  # steps before an ascent may be given up
SHORT = 12  # steps of a thrifty ascent
ANCHORS = 5  # how many of the best observed points to search around
ENUMERABLE = 5000  # a space of fewer points is searched by trying them all
WORST = -1e300  # what DIRECT is told of points that are not allowed
ROUNDING = 1e-8  # scores that differ by less than this fraction differ only by the processor's rounding


class Score(Protocol):
    """Something to maximise over the cube."""

    def values(self, U: Array) -> Array: ...

    def gradient(self, U: Array) -> tuple[Array, Array]: ...


Search = Callable[[Score, Space, History, np.random.Generator], Array]


@dataclass(frozen=True)
class Gradients:
    """Multi-start gradient ascent, all starts in one batch, in turn with changes of discrete parameters.

    Args:
        candidates: random points, from which half of the starts are chosen; doubled if any parameter is
            discrete.
        local: points near the best observed ones, from which the other half is chosen.
        starts: how many ascents in total.
        steps: the most steps that an ascent may take.
        finalists: with discrete parameters, how many of the ascents go on with changes of these; None is all.
        ample: with more observations than this, proportionally fewer points are tried, down to a fifth, and
            fewer ascents.
    """

    candidates: int = 500
    local: int = 250
    starts: int = 10
    steps: int = 50
    finalists: int | None = 4
    ample: float = 200

    def __post_init__(self) -> None:
        for name in ("candidates", "local", "starts", "steps", "finalists"):
            value = getattr(self, name)
            if name == "finalists" and value is None:
                continue
            if not isinstance(value, int) or value < 1:
                raise RecipeError(f"Gradients: {name} must be an integer >= 1, got {brief(value)}")
        if not isinstance(self.ample, int | float) or not self.ample > 0:
            raise RecipeError(f"Gradients: ample must be above 0, got {brief(self.ample)}")

    def __call__(self, score: Score, space: Space, history: History, rng: np.random.Generator) -> Array:
        if space.size < ENUMERABLE:
            U = space.grid
            return best_fresh(U[ranked(score.values(U))], space, history, rng)
        mixed = bool(space.discrete.any())
        share = min(1.0, max(0.2, self.ample / len(history.data)))
        count = max(1, int((2 * self.candidates if mixed else self.candidates) * share))
        wide = space.candidates(count, rng)
        near = self._near(history, max(1, int(self.local * share)), rng)
        U = space.inside(space.snap(np.vstack([wide, near])))
        U = U[space.allowed(U)]  # all that are wide
        values = score.values(U)
        far, local = ranked(values[:count]), count + ranked(values[count:])
        most = max(1, round(self.starts * math.sqrt(share)))
        starts = U[np.concatenate([far[: most - most // 2], local[: most // 2]])]
        free = ~space.unordered & space.free(starts)
        thrifty = mixed and self.finalists is not None
        steps = min(self.steps, SHORT) if thrifty else self.steps
        tops, top_values = ascend(score, starts, free, steps, race=thrifty or not mixed, space=space)
        if mixed:
            tops, top_values = self._changed(score, np.vstack([space.snap(tops), starts]), space)
        order = ranked(np.concatenate([top_values, values]))
        return best_fresh(np.vstack([tops, U])[order], space, history, rng)

    def _changed(self, score: Score, U: Array, space: Space) -> tuple[Array, Array]:
        """Where changes of discrete parameters lead to, from all of U or from the finalists among them."""
        if self.finalists is None:
            return _alternate(score, U, space, self.steps)
        distinct = np.array(list({u.tobytes(): u for u in U}.values()))
        best = distinct[ranked(score.values(distinct))[: self.finalists]]
        return _alternate(score, best, space, self.steps, thrifty=True)

    def _near(self, history: History, count: int, rng: np.random.Generator) -> Array:
        """Points around the best observed ones, at distances of every scale, since narrow peaks are there."""
        best = history.data.X[np.argsort(-history.data.y, kind="stable")[:ANCHORS]]
        anchors = best[rng.integers(len(best), size=count)]
        distance = 10.0 ** rng.uniform(-4.0, -0.5, (count, 1))
        return np.clip(anchors + distance * rng.standard_normal(anchors.shape), 0.0, 1.0)


@dataclass(frozen=True)
class Direct:
    """DIRECT, deterministic and gradient-free, as in the paper; `evaluations` bounds its work."""

    evaluations: int = 1000

    def __post_init__(self) -> None:
        if not isinstance(self.evaluations, int) or self.evaluations < 1:
            raise RecipeError(f"Direct: evaluations must be an integer >= 1, got {brief(self.evaluations)}")

    def __call__(self, score: Score, space: Space, history: History, rng: np.random.Generator) -> Array:
        tried: list[Array] = []
        values: list[float] = []

        def loss(u: Array) -> float:
            point = space.inside(space.snap(u[None, :]))
            tried.append(point[0])
            values.append(float(score.values(point)[0]) if space.allowed(point)[0] else WORST)
            return -values[-1]

        bounds = [(0.0, 1.0)] * space.dimension
        most = self.evaluations  # iterations too: each evaluates at least once, and SciPy allocates for all
        scipy.optimize.direct(loss, bounds, maxfun=most, maxiter=most, locally_biased=False)
        U, found = np.array(tried), np.array(values)
        if len(outside := np.flatnonzero(found == WORST)):
            U[outside] = space.candidates(len(outside), rng)
            found[outside] = score.values(U[outside])
        order = np.argsort(-found, kind="stable")  # to the last bit, as inside DIRECT
        return best_fresh(U[order], space, history, rng)


def ascend(
    score: Score,
    U: Array,
    free: npt.NDArray[np.bool_],
    steps: int,
    race: bool = False,
    space: Space | None = None,
) -> tuple[Array, Array]:
    """Climb from all rows of U at once inside the cube, moving columns that are `free` (d,) or (m, d).

    With a space, from allowed points to allowed points: a step along its linear conditions, and back to them.

    Projected BFGS. Each start has its own inverse Hessian H and step length. A start whose step did not help
    tries a shorter one in the next round while the others go on; one that has arrived stops. In a race, one
    with no hope of passing the leader stops too.
    """
    tops, values, rows = U.copy(), np.empty(len(U)), np.arange(len(U))
    value, slope = score.gradient(U)
    free = np.broadcast_to(free, U.shape)
    steepest = np.abs(np.where(free, slope, 0.0)).max(axis=1, initial=0.0)
    unit = np.maximum(steepest, 1e-300)  # of score, for each start
    slope = slope / unit[:, None]
    H = np.broadcast_to(0.2 * np.eye(U.shape[1]), (*U.shape, U.shape[1])).copy()
    length: Array = np.ones(len(U))
    leader, moved = value.max(initial=-np.inf), True
    for step in range(steps):
        if moved:
            pull, way = _directions(U, slope, H, free, space)
        target = np.minimum(np.maximum(U + length[:, None] * way, 0.0), 1.0)
        if space is not None:
            target = space.inside(target)
        s = target - U
        going = np.abs(s).max(axis=1, initial=0.0) > ARRIVED
        if race and step >= FAIR_START:
            promise = unit * np.einsum("mi,mi->m", pull, way)  # twice what a parabola would gain
            going &= value + promise >= leader
        if not going.all():  # the others have stopped for good: take them out of the batch
            tops[rows], values[rows] = U, value
            if not going.any():
                return tops, values
            on, states = np.flatnonzero(going), (U, value, slope, unit, H, length, pull, way, target, s)
            U, value, slope, unit, H, length, pull, way, target, s = (x.take(on, axis=0) for x in states)
            rows, free = rows[on], free[on]
        new_value, new_slope = score.gradient(target)
        new_slope = new_slope / unit[:, None]
        better = new_value > value + 1e-4 * unit * np.einsum("mi,mi->m", pull, s)
        if space is not None:
            better &= space.allowed(target)
        length = np.where(better, 1.0, 0.3 * length)
        up = np.flatnonzero(better)
        if moved := len(up) > 0:
            y = slope - new_slope
            H[up] = _bfgs(H.take(up, axis=0), s.take(up, axis=0), y.take(up, axis=0), first=step == 0)
            U, slope = np.where(better[:, None], target, U), np.where(better[:, None], new_slope, slope)
            value = np.where(better, new_value, value)
            leader = np.maximum(leader, value.max())
    tops[rows], values[rows] = U, value
    return tops, values


def _directions(
    U: Array, slope: Array, H: Array, free: npt.NDArray[np.bool_], space: Space | None
) -> tuple[Array, Array]:
    """Slopes and quasi-Newton steps, both zero in columns that are not free or would leave the cube."""
    blocked = ~free | ((U <= 0.0) & (slope < 0.0)) | ((U >= 1.0) & (slope > 0.0))
    pull = np.where(blocked, 0.0, slope)
    pull = pull if space is None else space.along(U, pull, ~blocked)
    way = np.where(blocked, 0.0, (H @ pull[:, :, None])[:, :, 0])
    way = way if space is None else space.along(U, way, ~blocked)
    way /= np.maximum(1.0, np.abs(way).max(axis=1, initial=0.0) / LONGEST_STEP)[:, None]
    return pull, way


def _bfgs(H: Array, s: Array, y: Array, first: bool) -> Array:
    """The inverse Hessians after steps s that changed the slopes by -y; unchanged if not concave along s."""
    sy = np.einsum("mi,mi->m", s, y)
    yy = np.einsum("mi,mi->m", y, y)
    curved = (sy > 1e-10 * np.sqrt(yy * np.einsum("mi,mi->m", s, s))) & (yy > 1e-300)
    sy = np.where(curved, sy, 1.0)
    if first:
        scaled = (sy / np.where(curved, yy, 1.0))[:, None, None] * np.eye(H.shape[1])
        H = np.where(curved[:, None, None], scaled, H)
    Hy = np.einsum("mij,mj->mi", H, y)
    stretch = (1.0 + np.einsum("mi,mi->m", y, Hy) / sy) / sy
    cross = s[:, :, None] * Hy[:, None, :] / sy[:, None, None]
    update = (stretch[:, None] * s)[:, :, None] * s[:, None, :]
    update -= cross
    update -= cross.transpose(0, 2, 1)
    update += H
    return update if curved.all() else np.where(curved[:, None, None], update, H)


def _alternate(
    score: Score, U: Array, space: Space, steps: int, rounds: int = 10, thrifty: bool = False
) -> tuple[Array, Array]:
    """Climb the continuous columns and change single discrete parameters, in turn, until neither helps.

    A thrifty search makes all the changes that help before it climbs, and climbs on only from what they have
    moved.
    """
    U, value = (U, score.values(U)) if thrifty else _climbed(score, U, space, steps, race=False)
    known: dict[bytes, tuple[Array, float]] = {}  # the best move from each point tried so far
    for turn in range(rounds):
        moved = _moved(score, U, value, space, known, rounds if thrifty else 1)
        on = np.flatnonzero(moved) if thrifty and turn else np.arange(len(U))
        if not moved.any() and not (thrifty and turn == 0):
            break
        if not space.discrete.all():
            most = min(steps, SHORT) if thrifty else steps
            U[on], value[on] = _climbed(score, U[on], space, most, race=thrifty)
    return U, value


def _climbed(score: Score, U: Array, space: Space, steps: int, race: bool) -> tuple[Array, Array]:
    return ascend(score, U, ~space.discrete & space.free(U), steps, race, space)


def _moved(
    score: Score, U: Array, value: Array, space: Space, known: dict[bytes, tuple[Array, float]], most: int
) -> npt.NDArray[np.bool_]:
    """Move the rows of U, so many times at most, to the best point one change away; which have moved."""
    moved = np.zeros(len(U), dtype=bool)
    for _ in range(most):
        new = {u.tobytes(): u for u in U if u.tobytes() not in known}
        known.update(zip(new, _best_moves(score, list(new.values()), space), strict=True))
        best, best_value = map(np.array, zip(*(known[u.tobytes()] for u in U), strict=True))
        better = best_value > value + ROUNDING * np.abs(value)
        if not better.any():
            break
        U[better], value[better] = best[better], best_value[better]
        moved |= better
    return moved


def _best_moves(score: Score, U: list[Array], space: Space) -> list[tuple[Array, float]]:
    """The best point that is one move away from each of U, with its score."""
    points, owner = space.moves(np.array(U).reshape(-1, space.dimension))
    if len(points) == 0:
        return [(u, -np.inf) for u in U]
    values = score.values(points)
    parts = np.split(np.arange(len(points)), np.searchsorted(owner, np.arange(1, len(U))))
    best = [part[_foremost(values[part])] if len(part) else None for part in parts]
    return [(u, -np.inf) if i is None else (points[i], values[i]) for u, i in zip(U, best, strict=True)]


def best_fresh(U: Array, space: Space, history: History, rng: np.random.Generator) -> Array:
    """The first of the points, best first, that is fresh; failing that, any fresh one there is.

    Where only images of trials are left, these count as fresh; where nothing is, the best is used again.
    """
    for taken in (history.taken,) if history.twins is None else (history.taken, history.X):
        if (found := _first_fresh(U, space, taken, rng)) is not None:
            return found
    again = U[0] if space.allowed(U[:1])[0] else space.candidates(1, rng)[0]
    return np.asarray(again)


def _first_fresh(U: Array, space: Space, taken: Array, rng: np.random.Generator) -> Array | None:
    fresh = partial(_fresh, space=space, taken=taken, seen=_exact(space, taken))
    for u in U:
        if (found := fresh(u)) is not None:
            return found
    scarce = space.size < ENUMERABLE + 2 * len(taken)
    spare = space.grid if scarce else space.candidates(1000, rng)
    return next((found for u in rng.permutation(spare) if (found := fresh(u)) is not None), None)


def ranked(values: Array) -> npt.NDArray[np.intp]:
    """The indices of the values, largest first; values that are equal up to rounding keep their order."""
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    size = np.abs(falling)
    with np.errstate(invalid="ignore"):  # inf - inf: equal infinities are in order already
        equal = falling[:-1] - falling[1:] <= ROUNDING * np.minimum(size[:-1], size[1:])
    group = np.zeros(len(values), dtype=np.intp)
    group[1:] = np.cumsum(~equal)
    return np.asarray(order[np.lexsort((order, group))])


def _foremost(values: Array) -> int:
    """The first index in `ranked(values)`, without the sorting if the largest value has no rival."""
    first = int(np.argmax(values))
    top = float(values[first])
    rivals = np.count_nonzero(values >= top - 2.0 * ROUNDING * abs(top))
    return first if rivals == 1 else int(ranked(values)[0])


def _fresh(u: Array, space: Space, taken: Array, seen: set[bytes] | None) -> Array | None:
    """The point of the grid at u, or None if it is not allowed or a trial has used it."""
    u = space.point(u)
    if seen is not None:
        used = (u + 0.0).tobytes() in seen  # -0.0 becomes 0.0
    else:
        used = bool((np.abs(taken - u) <= np.where(space.real, SAME, 0.0)).all(axis=1).any())
    return u if not used and space.allowed(u[None, :])[0] else None


def _exact(space: Space, taken: Array) -> set[bytes] | None:
    """The points that trials have used, if only the very same point counts as used: looked up at once."""
    return None if space.real.any() else {u.tobytes() for u in taken + 0.0}
