"""Polytope: linear conditions at points of the cube: which points meet them, and the nearest that do.

    x      (m, p) the numbers of the parameters that conditions name, in their units; 0 if one does not apply
    A      (k, p) the coefficients of the conditions: lower <= A x <= upper
    slope  (m, p) dx/du: the width of the range, or, where ratios matter, x times its logarithmic width

Moves are measured in the cube, as the model measures distances; conditions are met in the user's units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bopp.conditions import Mask
from bopp.constraint import ROUNDING, Linear
from bopp.data import Array
from bopp.number import Float, Int
from bopp.parameter import Parameter
from bopp.space import Space

ROUNDS = 30  # of mending a point
TURNS = 12  # changes of a discrete parameter in a point that is mended
STRICT = 0.25  # of what a condition may be missed by: how well a point is mended
NODES = 2000  # of the tree in which a mixed-integer program is searched
INFEASIBLE = 2  # what SciPy says of a program without a solution
RIDGE = 1e-8  # so that a condition may follow from others
AT = 1e-12  # how near to a bound, in units of the sum's size, counts as at it


@dataclass(frozen=True)
class Axis:
    """A numeric parameter as conditions see it: evenly spaced numbers, or all of a range, in one column."""

    parameter: Parameter
    column: int
    low: float
    high: float
    log: bool
    step: float | None  # None if all numbers of the range are there

    @staticmethod
    def of(parameter: Parameter, column: int) -> Axis | None:
        """None if its values cannot be changed to meet a condition: one that is fixed, held, or huge."""
        if not isinstance(parameter, Float | Int) or (isinstance(parameter, Int) and not parameter.gridded):
            return None
        low, high = float(parameter.low), float(parameter.high)
        if isinstance(parameter, Float) and parameter.step is None:
            return Axis(parameter, column, low, high, parameter.log, None)
        step = float(parameter.step or 1)
        return Axis(parameter, column, low, low + (parameter.levels - 1) * step, parameter.log, step)

    def slope(self, x: Array) -> Array:
        return x * math.log(self.high / self.low) if self.log else np.full(len(x), self.high - self.low)

    def number(self, u: Array) -> Array:
        """The numbers of a continuous parameter, up to the last bit as `decode` has them."""
        if not self.log:
            return np.clip((1.0 - u) * self.low + u * self.high, self.low, self.high)
        x = np.exp((1.0 - u) * math.log(self.low) + u * math.log(self.high))
        return np.asarray(np.clip(np.where(u <= 0.0, self.low, x), self.low, self.high))

    def unit(self, x: Array) -> Array:
        """The column of numbers within the range."""
        if not self.log:
            u = (x - self.low) / (self.high - self.low)
        elif self.high < 2.0 * self.low:
            u = np.log1p((x - self.low) / self.low) / math.log1p((self.high - self.low) / self.low)
        else:
            u = np.log(x / self.low) / math.log(self.high / self.low)
        u = np.clip(u, 0.0, 1.0)
        return u if self.step is None else np.asarray(self.parameter.snap(u[:, None])[:, 0])


class Polytope:
    """Linear conditions on the parameters of a space."""

    def __init__(self, space: Space, conditions: Sequence[Linear]):
        self.space = space
        self.names = [n for n in space.parameters if any(n in one.coefficients for one in conditions)]
        sides = [(one.coefficients, bounds) for one in conditions for bounds in _sides(*one.bounds)]
        self.A = np.array([[one.get(n, 0.0) for n in self.names] for one, _ in sides])
        self.lower, self.upper = np.array([bounds for _, bounds in sides]).reshape(-1, 2).T
        self.equal: Mask = self.lower == self.upper
        self._bound = np.max(
            [np.where(np.isinf(b), 0.0, np.abs(b)) for b in (self.lower, self.upper)], axis=0
        )
        columns = [space.columns[name] for name in self.names]
        self._axes = [
            Axis.of(space.parameters[n], at.start) for n, at in zip(self.names, columns, strict=True)
        ]
        self._moving = np.array([axis is not None for axis in self._axes], dtype=np.bool_)
        self._real = np.array([axis is not None and axis.step is None for axis in self._axes], dtype=np.bool_)
        self._column = np.array([0 if axis is None else axis.column for axis in self._axes], dtype=np.intp)
        self._low, self._high = (
            np.array([math.nan if axis is None else getattr(axis, end) for axis in self._axes])
            for end in ("low", "high")
        )
        self._always = not any(space.parameters[name].conditions for name in self.names)

    def numbers(self, U: Array) -> Array:
        """x at points of the grid."""
        X = np.empty((len(U), len(self.names)))
        for j, (name, axis) in enumerate(zip(self.names, self._axes, strict=True)):
            if axis is not None and axis.step is None:
                X[:, j] = axis.number(U[:, axis.column])
            else:
                X[:, j] = self.space.parameters[name].decode_all(U[:, self.space.columns[name]])
        return X if self._always else np.where(self._applying(U), X, 0.0)

    def met(self, U: Array, share: float = 1.0) -> Mask:
        """Which rows of U, points of the grid, meet all conditions, up to a share of the rounding."""
        X = self.numbers(U)
        missing = _missing(X @ self.A.T, self.lower, self.upper)
        return np.asarray((np.abs(missing) <= share * self._slack(X)).all(axis=1))

    def mended(self, U: Array, kept: Mask | None = None) -> Array:
        """Points of the grid, each moved to where it meets the conditions, if that was found.

        Points that do already stay as they are, bit for bit, and so do columns that are kept.
        """
        rows = np.flatnonzero(~self.met(U, STRICT))
        if len(rows) == 0:
            return U
        V, X = U[rows], self.numbers(U[rows])
        free = self._applying(V) & self._moving
        if kept is not None:
            free &= ~kept[rows][:, self._column]
        new = self._slid(self._stepped(X, free), free & self._real)
        for j, axis in enumerate(self._axes):
            moved = np.flatnonzero(new[:, j] != X[:, j])
            if axis is not None and len(moved):
                V[moved, axis.column] = axis.unit(new[moved, j])
        mended = U.copy()
        mended[rows] = V
        return mended

    def along(self, U: Array, way: Array, free: Mask) -> Array:
        """Directions in the cube without what would leave the conditions that are met with equality at U."""
        X = self.numbers(U)
        B = self._in_cube(X, free)  # (m, k, d): how fast each sum changes in the cube
        rates = np.einsum("mkd,md->mk", B, way)
        sums, size = X @ self.A.T, self._size(X)
        leaving = ((rates > 0.0) & (sums >= self.upper - AT * size)) | (
            (rates < 0.0) & (sums <= self.lower + AT * size)
        )
        active = self.equal | leaving
        if not active.any():
            return way
        B = B * active[:, :, None]
        return np.asarray(way - np.einsum("mkd,mk->md", B, _solved(B, rates * active)))

    def nearest(self, u: Array, goal: Array) -> Array | None:
        """The point with conditions met that is nearest to a goal, where the same parameters apply as at u.

        None if there is none; u itself if none was found in time. By a mixed-integer linear program, in which
        distances are added up column by column.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import, and seldom used

        free = (self._applying(u[None, :]) & self._moving)[0]
        x, wanted = self.numbers(u[None, :])[0], self.numbers(goal[None, :])[0]
        axes = [axis for axis, one in zip(self._axes, free, strict=True) if one and axis is not None]
        rest, A, count = self.A @ np.where(free, 0.0, x), self.A[:, free], len(axes)
        if count == 0:
            return u if bool(self.met(u[None, :])[0]) else None
        low = np.array([axis.low for axis in axes])
        unit = np.array([axis.high - axis.low if axis.step is None else axis.step for axis in axes])
        top = np.array([(axis.high - axis.low) / one for axis, one in zip(axes, unit, strict=True)])
        goals = (np.clip(wanted[free], low, low + top * unit) - low) / unit
        size = np.maximum(np.abs(A * unit).max(axis=1, initial=0.0), 1e-300)[:, None]
        sums = LinearConstraint(
            np.hstack([A * unit / size, np.zeros_like(A)]),
            (self.lower - rest - A @ low) / size[:, 0],
            (self.upper - rest - A @ low) / size[:, 0],
        )
        one = np.eye(count)
        away = [
            LinearConstraint(np.hstack([one, -one]), -np.inf, goals),
            LinearConstraint(np.hstack([-one, -one]), -np.inf, -goals),
        ]
        whole = np.array([axis.step is not None for axis in axes], dtype=float)
        found = milp(
            np.concatenate([np.zeros(count), 1.0 / np.maximum(top, 1.0)]),
            integrality=np.concatenate([whole, np.zeros(count)]),
            bounds=Bounds(np.zeros(2 * count), np.concatenate([np.rint(top), top])),
            constraints=[sums, *away],
            options={"node_limit": NODES},
        )
        if found.x is None:
            return None if found.status == INFEASIBLE else u
        steps = np.where(whole > 0.0, np.rint(found.x[:count]), found.x[:count])
        point = u.copy()
        for axis, number in zip(axes, low + steps * unit, strict=True):
            point[axis.column] = axis.unit(np.clip(np.array([number]), axis.low, axis.high))[0]
        return np.asarray(self.mended(point[None, :])[0])

    def kinds(self, U: Array) -> list[Array]:
        """One of the points for each way in which different parameters apply, or have values that stay."""
        fixed = np.where(self._moving, 0.0, self.numbers(U))
        keys = np.hstack([fixed, self._applying(U)])
        return [U[first] for first in np.sort(np.unique(keys, axis=0, return_index=True)[1])]

    def _applying(self, U: Array) -> Mask:
        if self._always:
            return np.ones((len(U), len(self.names)), dtype=np.bool_)
        there = self.space.there(U)
        return np.stack([there[name] for name in self.names], axis=1)

    def _size(self, X: Array) -> Array:
        return np.asarray(np.abs(X) @ np.abs(self.A).T + self._bound)

    def _slack(self, X: Array) -> Array:
        return ROUNDING * self._size(X)

    def _slopes(self, X: Array) -> Array:
        columns = [
            np.zeros(len(X)) if axis is None else axis.slope(X[:, j]) for j, axis in enumerate(self._axes)
        ]
        return np.stack(columns, axis=1)

    def _in_cube(self, X: Array, free: Mask) -> Array:
        B = np.zeros((len(X), len(self.A), self.space.dimension))
        slopes = self._slopes(X)
        for j, axis in enumerate(self._axes):
            if axis is not None:
                B[:, :, axis.column] = self.A[:, j] * (slopes[:, j] * free[:, axis.column])[:, None]
        return B

    def _slid(self, X: Array, free: Mask) -> Array:
        """Continuous numbers, moved by the least in the cube: Newton's method on what is missing.

        Numbers that arrive at an end of their range stay there, and conditions that were missed are kept to;
        a point that gets stuck with these has one more chance without.
        """
        X, rows = X.copy(), np.flatnonzero(free.any(axis=1))
        blocked, active = ~free, np.broadcast_to(self.equal, (len(X), len(self.A))).copy()
        before, again = np.full(len(X), np.inf), np.ones(len(X), dtype=np.bool_)
        for _ in range(ROUNDS):
            x = X[rows]
            missing = _missing(x @ self.A.T, self.lower, self.upper)
            parts = np.abs(missing) / np.maximum(self._slack(x), 1e-300)
            left = parts.max(axis=1, initial=0.0)
            stuck = left > 0.99 * before[rows]
            anew = stuck & again[rows]
            chance = rows[anew]
            blocked[chance], active[chance], again[chance] = ~free[chance], self.equal, False
            on = (left > 0.1 * STRICT) & (~stuck | anew)
            before[rows] = np.where(anew, np.inf, left)
            rows, x, missing = rows[on], x[on], missing[on]
            if len(rows) == 0:
                break
            active[rows] |= missing != 0.0
            held = blocked[rows]
            slope = np.where(held, 0.0, self._slopes(x))
            B = self.A * slope[:, None, :] * active[rows][:, :, None]  # in the cube's metric
            step = slope * np.einsum("mkp,mk->mp", B, _solved(B, missing))
            target = np.where(held, x, x + step)
            X[rows] = np.where(held, x, np.clip(target, self._low, self._high))
            blocked[rows] |= (target < self._low) | (target > self._high)
        return X

    def _stepped(self, X: Array, free: Mask) -> Array:
        """Numbers on steps, one changed at a time, so that the continuous ones can do the rest."""
        discrete = np.flatnonzero((free & ~self._real).any(axis=0)).tolist()
        if not discrete:
            return X
        X, rows = X.copy(), np.flatnonzero((free & ~self._real).any(axis=1))
        real, A = free[:, self._real].astype(np.float64), self.A[:, self._real]
        ends = A * np.stack([self._low, self._high])[:, None, self._real]  # (2, k, continuous ones)
        now = (real * X[:, self._real]) @ A.T
        lower = self.lower + now - real @ ends.max(axis=0).T
        upper = self.upper + now - real @ ends.min(axis=0).T
        for _ in range(TURNS):
            x, sums, slack = X[rows], X[rows] @ self.A.T, self._slack(X[rows])
            missing, cost = _cost(sums, lower[rows], upper[rows], slack)
            best, new = cost * (1.0 - 1e-9), x.copy()
            for j in discrete:
                for number in self._changes(j, x[:, j], missing):
                    number = np.where(free[rows, j], number, x[:, j])
                    there_sums = sums + (number - x[:, j])[:, None] * self.A[:, j]
                    _, there_cost = _cost(there_sums, lower[rows], upper[rows], slack)
                    better = there_cost < best
                    best = np.where(better, there_cost, best)
                    new[better] = x[better]
                    new[better, j] = number[better]
            X[rows] = new
            rows = rows[(best < cost * (1.0 - 1e-9)) & (best > 0.0)]
            if len(rows) == 0:
                break
        return X

    def _changes(self, j: int, x: Array, missing: Array) -> list[Array]:
        """Other numbers of a parameter on steps, each of which would about meet one of the conditions."""
        axis = self._axes[j]
        if axis is None or axis.step is None:
            return []
        found = []
        last = round((axis.high - axis.low) / axis.step)
        here = np.rint((x - axis.low) / axis.step)
        for k in np.flatnonzero(self.A[:, j]):
            exact = missing[:, k] / (self.A[k, j] * axis.step)
            for away in (np.floor(exact + 1e-9), np.ceil(exact - 1e-9)):
                place = np.clip(here + away, 0, last)
                found.append(np.minimum(axis.low + place * axis.step, axis.high))
        return found


def _sides(low: float, high: float) -> list[tuple[float, float]]:
    """The bounds of a sum, each for itself: how exactly one is met must not hang on the size of the other."""
    if low == high or math.isinf(low) or math.isinf(high):
        return [(low, high)]
    return [(low, math.inf), (-math.inf, high)]


def _missing(sums: Array, lower: Array, upper: Array) -> Array:
    """What sums (m, k) lack: above 0 to the lower bound, below 0 to the upper."""
    return np.asarray(np.maximum(lower - sums, 0.0) + np.minimum(upper - sums, 0.0))


def _cost(sums: Array, lower: Array, upper: Array, slack: Array) -> tuple[Array, Array]:
    """What sums lack beyond rounding, and all of it together (m,), in slacks."""
    missing = _missing(sums, lower, upper)
    missing[np.abs(missing) <= 0.1 * STRICT * slack] = 0.0
    return missing, np.abs(missing / np.maximum(slack, 1e-300)).sum(axis=1)


def _solved(B: Array, right: Array) -> Array:
    """The least y (m, k) with B B' y = right, for B (m, k, d); rows of zeros have no part in it."""
    size = np.sqrt(np.einsum("mkd,mkd->mk", B, B))
    there = size > 1e-300
    scale = np.where(there, 1.0 / np.where(there, size, 1.0), 0.0)
    if B.shape[1] == 1:
        return np.asarray(right * scale**2)
    unit = B * scale[:, :, None]
    G = np.einsum("mkd,mld->mkl", unit, unit)
    G[:, range(G.shape[1]), range(G.shape[1])] += RIDGE
    y = np.linalg.solve(G, (right * scale)[:, :, None])
    return np.asarray(y[:, :, 0] * scale)
