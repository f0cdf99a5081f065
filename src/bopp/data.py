"""Data: points of the unit cube with values and noises. History: all trials, finished or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, init=False)
class Data:
    """n points `X` (n, d) with values `y` (n,), larger is better, and noises `noise` (n,).

    A point's noise is a variance in the unit of `y`, on top of the noise that the model gives to every point.
    """

    X: Array
    y: Array
    noise: Array

    def __init__(self, X: npt.ArrayLike, y: npt.ArrayLike, noise: npt.ArrayLike = 0.0):
        X, y = _frozen(X), _frozen(y)
        if X.ndim != 2 or y.shape != X.shape[:1]:
            raise ValueError(f"Data wants X (n, d) and y (n,), got {X.shape} and {y.shape}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "noise", _frozen(np.broadcast_to(noise, y.shape)))

    @staticmethod
    def empty(dimension: int) -> Data:
        return Data(np.empty((0, dimension)), np.empty(0))

    def __len__(self) -> int:
        return len(self.y)

    def __add__(self, other: Data) -> Data:
        noise = np.concatenate([self.noise, other.noise])
        return Data(np.vstack([self.X, other.X]), np.concatenate([self.y, other.y]), noise)

    def __getitem__(self, rows: slice | npt.NDArray[np.intp]) -> Data:
        return Data(self.X[rows], self.y[rows], self.noise[rows])

    def thinned(self, most: int) -> Data:
        """At most so many of the points, spaced evenly among them."""
        if len(self) <= most:
            return self
        return self[np.linspace(0, len(self) - 1, most).astype(np.intp)]


@dataclass(frozen=True, eq=False)
class History:
    """All trials so far, in order.

    X           (n, d) their points
    state       (n,)   "done", "asked" or "failed"
    values      (n, k) objectives, larger is better, then constraints, at least 0 where met; NaN if unknown
    noise       (n, k) variances of these measurements if they are known, else 0
    allowed     (n,)   whether their params meet the conditions that are known beforehand
    objectives  how many of the columns are objectives
    reference   (objectives,) values above which a front counts; None where that is to be found out
    names       of the columns
    signs       of the columns, -1 where the values as they were told are better if smaller, else 1
    twins       (m, d) further points that are not to be suggested again
    """

    X: Array
    state: npt.NDArray[np.str_]
    values: Array
    noise: Array
    twins: Array | None = None
    objectives: int = 1
    reference: Array | None = None
    names: tuple[str, ...] = ("value",)
    signs: tuple[float, ...] = (1.0,)
    allowed: npt.NDArray[np.bool_] = field(default_factory=lambda: np.array(True))

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed", np.broadcast_to(self.allowed, len(self.X)))

    @staticmethod
    def of(data: Data, pending: Array, failed: Array) -> History:
        """The history with observations first, then pending points, then failed ones."""
        missing = np.full(len(pending) + len(failed), np.nan)
        return History(
            np.vstack([data.X, pending, failed]),
            np.repeat(["done", "asked", "failed"], [len(data), len(pending), len(failed)]),
            np.concatenate([data.y, missing])[:, None],
            np.concatenate([data.noise, np.zeros(len(missing))])[:, None],
        )

    def __len__(self) -> int:
        return len(self.X)

    @property
    def sign(self) -> float:
        """That of the first column."""
        return self.signs[0]

    @property
    def taken(self) -> Array:
        """The points that are not to be suggested again."""
        return self.X if self.twins is None else np.vstack([self.X, self.twins])

    @cached_property
    def data(self) -> Data:
        """The observations of the objective, or of the first of several."""
        known = (self.state == "done") & ~np.isnan(self.values[:, 0])
        return Data(self.X[known], self.values[known, 0], self.noise[known, 0])

    @cached_property
    def outputs(self) -> tuple[History, ...]:
        """A history of each value alone: first the objectives, then the constraints."""
        return tuple(
            History(self.X, self.state, self.values[:, [k]], self.noise[:, [k]], names=(name,), signs=(sign,))
            for k, (name, sign) in enumerate(zip(self.names, self.signs, strict=True))
        )

    @property
    def single(self) -> bool:
        """Whether there is one objective and nothing else to heed."""
        return bool(self.values.shape[1] == 1)

    @cached_property
    def feasible(self) -> npt.NDArray[np.bool_]:
        """Which trials (n,) have every value, with all constraints met."""
        measured = self.allowed & (self.state == "done") & ~np.isnan(self.values).any(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(measured & (self.values[:, self.objectives :] >= 0.0).all(axis=1))

    @cached_property
    def pending(self) -> Array:
        """The points (m, d) under evaluation."""
        return np.asarray(self.X[self.state == "asked"])

    @cached_property
    def failed(self) -> Array:
        """The points (m, d) whose evaluation failed."""
        return np.asarray(self.X[self.state == "failed"])


def _frozen(values: npt.ArrayLike) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
