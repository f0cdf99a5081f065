"""AverageScore: what a search maximises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bopp import acquisition as acquisitions
from bopp import knowledge
from bopp.acquisition import Acquisition, differentiated
from bopp.data import Array
from bopp.errors import RecipeError
from bopp.known import Known


@dataclass(frozen=True, eq=False)
class AverageScore:
    """The acquisition as a score over the cube, averaged over the beliefs by their weights.

    Where sources say that the best point probably is, it is multiplied by their density to a power, after
    pi-BO (Hvarfner et al. 2022), whose power falls as 1 / n. To a score that is a logarithm, or may be below
    0, the logarithm of that is added.
    """

    acquisition: Acquisition
    knowns: tuple[Known, ...]
    weights: tuple[float, ...]
    accounts: tuple[knowledge.Account, ...] = ()
    power: float = 0.0

    def values(self, U: Array) -> Array:
        """The score (m,) at the rows of U."""
        rows = []
        for known in self.knowns:
            score = self.acquisition(*known.posterior(U), known)
            rows.append(np.asarray(score[0] if isinstance(score, tuple) else score, dtype=np.float64))
            if rows[-1].shape != U.shape[:1] or np.isnan(rows[-1]).all():
                raise RecipeError(f"the acquisition must return {len(U)} scores, got {score!r}")
        return self._favoured(U, self._average(rows)[0], np.zeros_like(U))[0]

    def gradient(self, U: Array) -> tuple[Array, Array]:
        """The score (m,) and its gradient (m, d) at the rows of U."""
        rows, slopes = [], []
        for known in self.knowns:
            mean, sd, mean_slope, sd_slope = known.posterior.gradient(U)
            score, by_mean, by_sd = differentiated(self.acquisition, mean, sd, known)
            rows.append(score)
            slopes.append(by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope)
        score, shares = self._average(rows)
        slope = sum(share[:, None] * slope for share, slope in zip(shares, slopes, strict=True))
        return self._favoured(U, score, slope)

    def _average(self, rows: list[Array]) -> tuple[Array, Array]:
        """The average (m,) of the scores, and the share (s, m) of each in its gradient."""
        if len(rows) == 1:
            return rows[0], np.ones((1, len(rows[0])))
        scores, weights = np.array(rows), np.array(self.weights)[:, None]
        if not acquisitions.is_logarithmic(self.acquisition):
            return (weights * scores).sum(axis=0), np.broadcast_to(weights, scores.shape)
        weighted = scores + np.log(weights)  # the logarithm of the average of exp(score)
        average = np.logaddexp.reduce(weighted, axis=0)
        return average, np.exp(weighted - average)

    def _favoured(self, U: Array, score: Array, slope: Array) -> tuple[Array, Array]:
        """The score and its gradient where sources say that the best point probably is."""
        favoured = knowledge.favour(self.accounts, self.knowns[0].space, U)
        if favoured is None:
            return score, slope
        density, by_u = self.power * favoured[0], self.power * favoured[1]
        if not acquisitions.is_positive(self.acquisition):
            return score + density, slope + by_u
        factor = np.exp(density)
        return score * factor, factor[:, None] * (slope + score[:, None] * by_u)
