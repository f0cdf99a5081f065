"""Quadratic: the covariance of quadratic functions of the cube, as a trend that a process may have under it.

    k(a, b) = (1 + a.b)^2 + BOWL |a|^2 |b|^2        a, b: points around the middle of the cube

The first term has every quadratic function in it, the second bowls that are round. Most functions that
people minimise get worse with the distance from somewhere, and a round bowl has d + 2 coefficients where an
arbitrary quadratic function has (d + 1)(d + 2) / 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bopp.data import Array

BOWL = 8.0  # how many times the variance of any other quadratic term a round bowl has


@dataclass(frozen=True, eq=False)
class Centred:
    """Points (n, d) around the middle of the cube, in a unit in which |u|^2 is 1 on average over the cube.

    So the variance of the trend hardly depends on the dimension, and corners promise no more in many.
    """

    points: Array

    @staticmethod
    def of(U: Array) -> Centred:
        return Centred((U - 0.5) * math.sqrt(12.0 / U.shape[1]))

    @property
    def slope(self) -> float:
        """How fast the points change with those of the cube."""
        return math.sqrt(12.0 / self.points.shape[1])

    @cached_property
    def squares(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.points, self.points))

    @property
    def variance(self) -> Array:
        """k(a, a) (n,) for each point."""
        return np.asarray((1.0 + self.squares) ** 2 + BOWL * self.squares**2)

    @property
    def variance_slope(self) -> Array:
        """dk(a, a)/da (n, d), by the coordinates of the cube."""
        factor = (4.0 * self.slope) * (1.0 + (1.0 + BOWL) * self.squares)
        return np.asarray(factor[:, None] * self.points)

    def products(self, other: Centred) -> Array:
        """1 + a.b (m, n), of which `covariance` and `pull` are made."""
        found = self.points @ other.points.T
        found += 1.0
        return np.asarray(found)

    def covariance(self, other: Centred, products: Array) -> Array:
        """k(a, b) (m, n)"""
        value = products * products
        value += (BOWL * self.squares)[:, None] * other.squares
        return value

    def difference(self, other: Centred) -> Array:
        """The expected squared difference (n,) between each point and the one of the same row of another."""
        products = 1.0 + np.einsum("ij,ij->i", self.points, other.points)
        arbitrary = (1.0 + self.squares) ** 2 + (1.0 + other.squares) ** 2 - 2.0 * products**2
        return np.asarray(arbitrary + BOWL * (self.squares - other.squares) ** 2)

    def pull(self, other: Centred, products: Array, weights: Array) -> Array:
        """sum_i weights_i dk(a, b_i)/da (m, d), by the coordinates of the cube; weights (n,) or (m, n)."""
        arbitrary = (products * weights) @ other.points
        bowl = self.points * (BOWL * (weights @ other.squares)).reshape(-1, 1)
        return np.asarray((2.0 * self.slope) * (arbitrary + bowl))
