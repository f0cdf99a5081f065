"""Beliefs: what a model believes about a function that it has seen at a few points.

U, A, B (m, d)   points of the cube         all values in the model's unit, larger is better
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bopp.data import Array, Data
from bopp.errors import RecipeError


class Belief(Protocol):
    """What is believed about a function; any object with these members will do."""

    @property
    def noise(self) -> float:
        """The variance of a measurement around the function."""
        ...

    def __call__(self, U: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (m,) of the function at the rows of U."""
        ...

    def mean(self, U: Array) -> Array:
        """The mean (m,) alone, which is cheaper."""
        ...

    def gradient(self, U: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and standard deviation (m,) and their gradients (m, d)."""
        ...

    def sample(self, U: Array, count: int, rng: np.random.Generator) -> Array:
        """`count` functions (count, m) drawn from the belief, each at all rows of U."""
        ...

    def difference(self, A: Array, B: Array) -> Array:
        """The squared difference (m,) between f at the rows of A and of B, as expected before any data."""
        ...

    def condition(self, extra: Data) -> Belief:
        """What is believed after also seeing `extra`."""
        ...


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Several beliefs, each with a weight; the weights sum to 1."""

    beliefs: tuple[Belief, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(map(callable, self.beliefs)):
            raise RecipeError(f"wanted beliefs, such as gp.condition(data), got {self.beliefs!r}")
        weights = np.array(self.weights, dtype=float)
        if len(weights) != len(self.beliefs) or not (weights > 0.0).all() or abs(weights.sum() - 1.0) > 1e-9:
            raise RecipeError(
                f"wanted a weight above 0 for each of {len(self.beliefs)} beliefs, together 1, "
                f"got {self.weights!r}"
            )

    @staticmethod
    def even(beliefs: Sequence[Belief]) -> Beliefs:
        """These beliefs with equal weights."""
        return Beliefs(tuple(beliefs), (1.0 / max(len(beliefs), 1),) * len(beliefs))

    def __len__(self) -> int:
        return len(self.beliefs)

    def __iter__(self) -> Iterator[Belief]:
        return iter(self.beliefs)

    def __call__(self, U: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (m,) of the mixture at the rows of U."""
        means, sds = zip(*(belief(U) for belief in self.beliefs), strict=True)
        mean = self.average(means)
        variance = self.average([sd**2 + (one - mean) ** 2 for one, sd in zip(means, sds, strict=True)])
        return mean, np.sqrt(variance)

    def mean(self, U: Array) -> Array:
        """The mean (m,) alone."""
        return self.average([belief.mean(U) for belief in self.beliefs])

    def average(self, rows: Sequence[Array]) -> Array:
        """The weighted average of one array per belief."""
        return np.asarray(np.tensordot(self.weights, np.array(rows), axes=1))
