"""Kernels: correlation as a function of the scaled squared distance.

    r2     squared distance after dividing each column by its length-scale
    value  k(r2), 1 at r2 = 0
    slope  dk / d(r2), from which every gradient in bopp follows

`ard=True` gives each column its own length-scale, `ard=False` one for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bopp.data import Array


class Kernel(Protocol):
    """A stationary correlation; any object with these two members will do."""

    @property
    def ard(self) -> bool: ...

    def __call__(self, r2: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class SquaredExponential:
    """Infinitely smooth: exp(-r2 / 2), the kernel of the paper."""

    ard: bool = True

    def __call__(self, r2: Array) -> tuple[Array, Array]:
        value = r2 * -0.5
        np.exp(value, out=value)
        return value, -0.5 * value


@dataclass(frozen=True)
class Matern52:
    """Twice differentiable: (1 + a + a^2 / 3) exp(-a) with a = sqrt(5 r2)."""

    ard: bool = True

    def __call__(self, r2: Array) -> tuple[Array, Array]:
        value = r2 * (5.0 / 3.0)  # reuse a few arrays: allocating costs more than arithmetic
        a = r2 * 5.0
        np.sqrt(a, out=a)
        decay = np.negative(a)
        np.exp(decay, out=decay)
        a += 1.0
        value += a
        value *= decay
        a *= decay
        a *= -5.0 / 6.0
        return value, a


def squared_distance(A: Array, B: Array) -> Array:
    """r2 between the rows of A (m, d) and B (n, d): (m, n), without an m x n x d array."""
    return distance_to_prepared(A, *prepared(B))


def prepared(B: Array) -> tuple[Array, Array]:
    """The part of `squared_distance` that depends on B alone, to reuse it for many A."""
    return -2.0 * B.T, np.einsum("ij,ij->i", B, B)


def distance_to_prepared(A: Array, minus_two_B: Array, squared_B: Array) -> Array:
    """`squared_distance` from A to B, given what `prepared(B)` returned."""
    r2 = A @ minus_two_B
    r2 += np.einsum("ij,ij->i", A, A)[:, None]
    r2 += squared_B[None, :]
    return np.maximum(r2, 0.0, out=r2)
