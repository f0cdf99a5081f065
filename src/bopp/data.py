"""Data: points of the unit cube with their values and noises."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class History:
    """All trials so far: those with a value, and the points of pending (m, d) and failed (m, d) ones."""

    data: Data
    pending: Array
    failed: Array

    def __len__(self) -> int:
        return len(self.data) + len(self.pending) + len(self.failed)

    @property
    def X(self) -> Array:
        return np.vstack([self.data.X, self.pending, self.failed])


def _frozen(values: npt.ArrayLike) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
