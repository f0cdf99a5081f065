"""Known: what a pseudo-point policy and an acquisition function may look at."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from bopp.belief import Belief
from bopp.data import Array, Data
from bopp.space import Space

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Known:
    """All that is known when suggesting a point: in the cube, in the model's unit, larger is better.

    space      the space, to encode your own params: known.space.encode({"rate": 0.1, ...})
    scale      the model's unit, to convert your own values: known.scale(y), larger is better
    data       real observations, never pseudo-points
    posterior  what the model believes: from real data for a policy, from pseudo-points too for an acquisition
    pending    (m, d) points under evaluation
    failed     (m, d) points whose evaluation failed
    t          the iteration, counted from 1 after the initial design
    key        the seed of a policy's randomness; see `generator`
    sign       1 if larger values of the objective itself are better, -1 if smaller ones are
    incumbent  the best observed value to improve on, if not all of `data` count
    ceiling    the highest value that there can be
    output     the name of the value, where a trial has several: an objective or a constraint
    """

    space: Space
    scale: Callable[[Array], Array]
    data: Data
    posterior: Belief
    pending: Array
    failed: Array
    t: int
    key: tuple[int, ...] = (0,)
    sign: float = 1.0
    incumbent: float | None = None
    ceiling: float = math.inf
    output: str = "value"
    _found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def best(self) -> float:
        """f+, the best observed value."""
        return float(self.data.y.max()) if self.incumbent is None else self.incumbent

    @property
    def dimension(self) -> int:
        return int(self.data.X.shape[1])

    def in_model(self, value: npt.ArrayLike) -> Array:
        """Values of the objective itself, in its own unit and direction, as those of the model."""
        return self.scale(self.sign * np.asarray(value, dtype=np.float64))

    def generator(self, name: str = "") -> np.random.Generator:
        """Random numbers for this suggestion: the same name gives the same numbers at every call."""
        return np.random.default_rng([*self.key, crc32(name.encode())] if name else self.key)

    def once(self, compute: Callable[[Known], T]) -> T:
        """`compute(self)`, computed once and kept, as an acquisition is called many times per suggestion."""
        if compute not in self._found:
            self._found[compute] = compute(self)
        found: T = self._found[compute]
        return found
