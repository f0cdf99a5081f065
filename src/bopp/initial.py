"""Initial designs: the points to evaluate before there is a model.

initial(dimension, seed, number) -> u (d,)     initial.size   how many trials the design covers
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bopp.data import Array
from bopp.errors import RecipeError


class Initial(Protocol):
    """The points of the first `size` trials; any object with these two members will do."""

    @property
    def size(self) -> float: ...

    def __call__(self, dimension: int, seed: int, number: int) -> Array: ...


@dataclass(frozen=True)
class Sobol:
    """Points of a scrambled Sobol sequence, which fill the cube evenly."""

    size: float = 5

    def __post_init__(self) -> None:
        _check_size(self)

    def __call__(self, dimension: int, seed: int, number: int) -> Array:
        from scipy.stats import qmc  # takes half a second to import, so only where it is used

        sequence = qmc.Sobol(dimension, rng=np.random.default_rng(seed))
        if number:
            sequence.fast_forward(number)
        return np.asarray(sequence.random(1)[0])


@dataclass(frozen=True)
class Uniform:
    """Independent uniform points, as in the paper."""

    size: float = 5

    def __post_init__(self) -> None:
        _check_size(self)

    def __call__(self, dimension: int, seed: int, number: int) -> Array:
        return np.random.default_rng([seed, number]).random(dimension)


def _check_size(initial: Sobol | Uniform) -> None:
    if not isinstance(initial.size, int | float) or not initial.size >= 0:
        raise RecipeError(f"{type(initial).__name__}: size must be a number >= 0, got {initial.size!r}")
