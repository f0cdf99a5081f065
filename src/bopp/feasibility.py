"""Feasibility: a score times the chance that measured constraints are met.

A constraint is met where its margin is at least zero. It has a model like any other value, and the chance of
it at a point is that of a Gaussian above the level that zero has in the model's unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from bopp.acquisition import LOG_ROOT_TWO_PI
from bopp.belief import Beliefs
from bopp.data import Array
from bopp.search import Score


@dataclass(frozen=True, eq=False)
class Chance:
    """The chance that one constraint is met; `level` is its zero in the model's unit."""

    beliefs: Beliefs
    level: float

    def values(self, U: Array) -> Array:
        """The logarithm (m,) of the chance at the rows of U."""
        rows = [scipy.special.log_ndtr((mean - self.level) / sd) for mean, sd in (b(U) for b in self.beliefs)]
        return self._average(rows)[0]

    def gradient(self, U: Array) -> tuple[Array, Array]:
        """The logarithm (m,) of the chance and its gradient (m, d) at the rows of U."""
        rows, slopes = [], []
        for belief in self.beliefs:
            mean, sd, mean_slope, sd_slope = belief.gradient(U)
            z = (mean - self.level) / sd
            rows.append(scipy.special.log_ndtr(z))
            by_z = np.exp(-0.5 * z**2 - LOG_ROOT_TWO_PI - rows[-1]) / sd
            slopes.append(by_z[:, None] * (mean_slope - z[:, None] * sd_slope))
        chance, shares = self._average(rows)
        return chance, np.asarray(np.einsum("sm,smd->md", shares, np.array(slopes)))

    def _average(self, rows: list[Array]) -> tuple[Array, Array]:
        """The logarithm (m,) of the average chance, and the share (s, m) of each belief in it."""
        if len(rows) == 1:
            return rows[0], np.ones((1, len(rows[0])))
        weighted = np.array(rows) + np.log(self.beliefs.weights)[:, None]
        average = np.logaddexp.reduce(weighted, axis=0)
        return average, np.exp(weighted - average)


@dataclass(frozen=True, eq=False)
class FeasibleScore:
    """A score together with the chances that constraints are met.

    A score that is a logarithm, or may be below 0, gets the sum of their logarithms; one that is `positive`
    is multiplied by their product. With no score at all, nothing is looked for but feasibility.
    """

    score: Score | None
    chances: tuple[Chance, ...]
    positive: bool = False

    def values(self, U: Array) -> Array:
        """The score (m,) at the rows of U."""
        chance = np.sum([one.values(U) for one in self.chances], axis=0)
        if self.score is None:
            return np.asarray(chance)
        score = self.score.values(U)
        return np.asarray(score * np.exp(chance) if self.positive else score + chance)

    def gradient(self, U: Array) -> tuple[Array, Array]:
        """The score (m,) and its gradient (m, d) at the rows of U."""
        chances, slopes = zip(*(one.gradient(U) for one in self.chances), strict=True)
        chance, by_chance = np.sum(chances, axis=0), np.sum(slopes, axis=0)
        if self.score is None:
            return chance, by_chance
        score, slope = self.score.gradient(U)
        if not self.positive:
            return score + chance, slope + by_chance
        factor = np.exp(chance)
        return score * factor, factor[:, None] * (slope + score[:, None] * by_chance)
