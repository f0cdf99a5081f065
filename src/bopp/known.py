"""Known: what a pseudo-point policy and an acquisition function may look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from bopp.data import Array, Data
from bopp.gp import Posterior
from bopp.outcome import Scale
from bopp.space import Space


@dataclass(frozen=True, eq=False)
class Known:
    """All that is known when a point is to be suggested; in the cube, in the model's unit, larger is better.

    space      the space, to encode params of yours: known.space.encode({"rate": 0.1, ...})
    scale      the unit of the model, for values of yours: known.scale(y), larger is better
    data       real observations, never pseudo-points
    posterior  what the model believes: of the real data for a policy, with pseudo-points for an acquisition
    pending    (m, d) points under evaluation
    failed     (m, d) points whose evaluation failed
    t          the iteration, counted from 1 after the initial design
    rng        randomness of this suggestion, for a policy
    """

    space: Space
    scale: Scale
    data: Data
    posterior: Posterior
    pending: Array
    failed: Array
    t: int
    rng: np.random.Generator

    @property
    def best(self) -> float:
        """f+, the best observed value."""
        return float(self.data.y.max())

    @property
    def dimension(self) -> int:
        return int(self.data.X.shape[1])

    @cached_property
    def maximum(self) -> Maximum:
        """What the model believes about the maximum of the function."""
        probes = self.space.snap(np.random.default_rng(0).random((1000, self.dimension)))
        mean, sd = self.posterior(np.vstack([probes, self.data.X]))
        return Maximum(mean, sd, self.best)


@dataclass(frozen=True, eq=False)
class Maximum:
    """The distribution of the maximum over probe points, taken as independent (Wang, Jegelka 2017)."""

    mean: Array
    sd: Array
    least: float

    @cached_property
    def _cdf(self) -> tuple[Array, Array]:
        spread = float(self.sd.max())
        top = max(self.least, float((self.mean + 6.0 * self.sd).max()))
        values = np.linspace(self.least, top + 1e-9 * max(spread, 1e-9), 400)
        logs = log_ndtr((values[:, None] - self.mean) / self.sd).sum(axis=1)
        return values, np.exp(logs)

    def quantiles(self, count: int) -> Array:
        """`count` values that the maximum may have, evenly spread over its distribution above `least`."""
        values, cdf = self._cdf
        levels = cdf[0] + (1.0 - cdf[0]) * (np.arange(count) + 0.5) / count
        return np.asarray(np.interp(levels, cdf, values))

    @property
    def expected(self) -> float:
        """Least + integral of Pr(maximum > w) over w above least: EST's estimate (Wang et al. 2016)."""
        values, cdf = self._cdf
        return float(self.least + np.trapezoid(1.0 - cdf, values))
