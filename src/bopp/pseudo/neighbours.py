"""Neighbours: the paper's own pseudo-points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bopp.data import Data
from bopp.errors import RecipeError
from bopp.known import Known
from bopp.pseudo.policy import Adds, none


@dataclass(frozen=True)
class Neighbours(Adds):
    """The paper's policy: neighbours of observed points, with the values of those points.

    Args:
        tau0: scale of the distance; the neighbours lie tau_t = tau0 / (d * l_t) away, in widths of the cube.
        shape: "box" draws uniformly within tau_t in each coordinate, "corner" exactly tau_t away in each.
        per_point: neighbours per observation, so that l_t = per_point * |D_t|.
        count: l_t as a function of t, in place of `per_point`.
        distance: tau_t as a function of t, in place of `tau0`.
        doubt: give a copied value the model's noise, as in the paper, or the squared difference that the
            prior expects over that distance, if it is larger. With `doubt=False`, copies of nearly
            noise-free values fake flat slopes, and the mean between them swings far beyond the data.

    A step that would leave the cube goes the other way.
    """

    tau0: float = 0.001
    shape: Literal["box", "corner"] = "box"
    per_point: int = 1
    count: Callable[[int], int] | None = None
    distance: Callable[[int], float] | None = None
    doubt: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.tau0, int | float) or not 0.0 <= self.tau0 < np.inf:
            raise RecipeError(f"Neighbours: tau0 must be a finite number >= 0, got {self.tau0!r}")
        if self.shape not in ("box", "corner"):
            raise RecipeError(f"Neighbours: shape must be 'box' or 'corner', got {self.shape!r}")
        if not isinstance(self.per_point, int) or self.per_point < 0:
            raise RecipeError(f"Neighbours: per_point must be an integer >= 0, got {self.per_point!r}")
        for name in ("count", "distance"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise RecipeError(f"Neighbours: {name} must be a function of t or None, got {function!r}")

    def __call__(self, known: Known) -> Data:
        n, d = known.data.X.shape
        l_t = self.count(known.t) if self.count else self.per_point * n
        if not isinstance(l_t, int | np.integer) or l_t < 0:
            raise RecipeError(f"Neighbours: count must return an integer >= 0, got {l_t!r}")
        if l_t == 0 or n == 0:
            return none(known)
        tau_t = self.distance(known.t) if self.distance else self.tau0 / (d * l_t)
        rng = known.generator()
        source = known.data[np.resize(rng.permutation(n), l_t)]
        step = rng.uniform(-tau_t, tau_t, (l_t, d))
        if self.shape == "corner":
            step = np.copysign(tau_t, step)
        leaves = (source.X + step < 0.0) | (source.X + step > 1.0)
        X = np.clip(source.X + np.where(leaves, -step, step), 0.0, 1.0)
        expected = known.posterior.difference(source.X, X) - known.posterior.noise
        doubt = np.maximum(0.0, expected) if self.doubt else 0.0
        return Data(X, source.y, source.noise + doubt)
