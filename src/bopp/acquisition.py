"""Acquisition functions: how promising a point is, given the model's mean and sd there.

    acquisition(mean (m,), sd (m,), known: Known) -> score, dscore/dmean, dscore/dsd   each (m,)

Larger is better. A function may return the score alone; its derivatives are then taken by finite differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import scipy

from bopp.data import Array
from bopp.errors import RecipeError
from bopp.known import Known

Scores = tuple[Array, Array, Array]
Acquisition = Callable[[Array, Array, Known], Scores | Array]
F = TypeVar("F", bound=Callable[..., object])

LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
FAR_TAIL = -30.0  # below this, the series in log_h is exact to rounding
LEAST_GAIN = 1e-5  # in the model's unit: so much is sought even where the best value is at its ceiling


def pi(mean: Array, sd: Array, known: Known) -> Scores:
    """Probability of improvement, Phi(Z)."""
    z = (mean - known.best) / sd
    density = _density(z)
    return scipy.special.ndtr(z), density / sd, -density * z / sd


def ei(mean: Array, sd: Array, known: Known) -> Scores:
    """Expected improvement, (mean - f+) Phi(Z) + sd phi(Z); what is above the ceiling is no improvement."""
    score, by_mean, by_sd = _excess(mean, sd, known.best)
    if known.ceiling == math.inf:
        return score, by_mean, by_sd
    above = _excess(mean, sd, _ceiling(known))  # (min(f, c) - f+)+ = (f - f+)+ - (f - c)+
    return score - above[0], by_mean - above[1], by_sd - above[2]


def _excess(mean: Array, sd: Array, level: float) -> Scores:
    """How far f is above a level on average, counting 0 where it is below."""
    certain = sd == 0.0
    gap = mean - level
    if certain.any():  # there the excess is the difference, and z an infinity
        z = np.where(certain, np.copysign(np.inf, gap), gap / np.where(certain, 1.0, sd))
        z = np.where(certain & (gap == 0.0), 0.0, z)
        score = np.where(certain, np.maximum(gap, 0.0), sd * np.exp(log_h(np.where(certain, 0.0, z))[0]))
        return score, scipy.special.ndtr(z), _density(z)
    z = gap / sd
    return sd * np.exp(log_h(z)[0]), scipy.special.ndtr(z), _density(z)


def _ceiling(known: Known) -> float:
    return max(known.ceiling, known.best + LEAST_GAIN)


def logarithmic(acquisition: F) -> F:
    """Mark a function, class or instance whose score is a logarithm, so that exp(score) is averaged."""
    if isinstance(acquisition, type):
        setattr(acquisition, "logarithmic", True)  # noqa: B010 - not every F has the attribute
    else:
        acquisition.__dict__["logarithmic"] = True  # an instance may be frozen
    return acquisition


def is_logarithmic(acquisition: Acquisition) -> bool:
    return getattr(acquisition, "logarithmic", False)


def is_positive(acquisition: Acquisition) -> bool:
    """Whether a score is never below 0, so that it can be multiplied by a density."""
    return acquisition in (pi, ei)


@logarithmic
def log_ei(mean: Array, sd: Array, known: Known) -> Scores:
    """Logarithm of the expected improvement, exact where the improvement itself underflows to zero."""
    z = (mean - known.best) / sd
    log_ratio, by_z = log_h(z)
    if known.ceiling == math.inf:
        return np.log(sd) + log_ratio, by_z / sd, (1.0 - by_z * z) / sd
    top = (mean - _ceiling(known)) / sd
    log_above, by_top = log_h(top)
    above = np.minimum(np.exp(log_above - log_ratio), 1.0 - 1e-12)  # the part that is no improvement
    by_z, by_top = by_z / (1.0 - above), by_top * above / (1.0 - above)
    score = np.log(sd) + log_ratio + np.log1p(-above)
    return score, (by_z - by_top) / sd, (1.0 - by_z * z + by_top * top) / sd


@dataclass(frozen=True)
class UCB:
    """Upper confidence bound, mean + sqrt(beta) sd; `beta` is a number or a function of t and d."""

    beta: float | Callable[[int, int], float] = 4.0

    def __post_init__(self) -> None:
        if callable(self.beta) or (isinstance(self.beta, int | float) and 0.0 <= self.beta < math.inf):
            return
        raise RecipeError(
            f"UCB: beta must be a finite number >= 0 or a function of t and d, got {self.beta!r}"
        )

    def __call__(self, mean: Array, sd: Array, known: Known) -> Scores:
        beta = self.beta(known.t, known.dimension) if callable(self.beta) else self.beta
        root = math.sqrt(beta)
        return mean + root * sd, np.ones_like(mean), np.full_like(sd, root)


def paper_beta(t: int, d: int, delta: float = 0.1) -> float:
    """beta_t of the paper's experiments: 2 log(t^(d/2 + 2) pi^2 / (3 delta))."""
    return 2.0 * ((d / 2 + 2) * math.log(t) + math.log(math.pi**2 / (3 * delta)))


def theorem_beta(t: int, d: int, delta: float = 0.1, a: float = 1.0, b: float = 1.0, r: float = 1.0) -> float:
    """beta_t of Theorem 1: 2 log(2 pi^2 t^2 / (3 delta)) + 2 d log(t^2 d b r sqrt(log(4 d a / delta)))."""
    confidence = 2.0 * math.log(2 * math.pi**2 * t**2 / (3 * delta))
    return confidence + 2.0 * d * math.log(t**2 * d * b * r * math.sqrt(math.log(4 * d * a / delta)))


@dataclass(frozen=True)
class MES:
    """Max-value entropy search: how much a value would reveal about the maximum (Wang, Jegelka 2017)."""

    samples: int = 16

    def __post_init__(self) -> None:
        if not isinstance(self.samples, int) or self.samples < 1:
            raise RecipeError(f"MES: samples must be an integer >= 1, got {self.samples!r}")

    def __call__(self, mean: Array, sd: Array, known: Known) -> Scores:
        g = (known.once(maximum).quantiles(self.samples)[:, None] - mean) / sd
        log_cdf = scipy.special.log_ndtr(g)
        ratio = np.exp(-0.5 * g**2 - LOG_ROOT_TWO_PI - log_cdf)  # phi / Phi
        score = (0.5 * g * ratio - log_cdf).mean(axis=0)
        by_g = -0.5 * ratio * (1.0 + g * (g + ratio))
        return score, -by_g.mean(axis=0) / sd, -(by_g * g).mean(axis=0) / sd


def est(mean: Array, sd: Array, known: Known) -> Scores:
    """EST: the chance of reaching the expected maximum, as (mean - estimate) / sd (Wang et al. 2016)."""
    z = (mean - known.once(maximum).expected) / sd
    return z, 1.0 / sd, -z / sd


def maximum(known: Known) -> Maximum:
    """What the model believes about the maximum of the function."""
    probes = known.space.snap(np.random.default_rng(0).random((1000, known.dimension)))
    mean, sd = known.posterior(np.vstack([probes, known.data.X]))
    return Maximum(mean, sd, known.best, known.ceiling)


@dataclass(frozen=True, eq=False)
class Maximum:
    """The distribution of the maximum over probe points, treated as independent (Wang, Jegelka 2017)."""

    mean: Array
    sd: Array
    least: float
    most: float = math.inf

    @cached_property
    def _cdf(self) -> tuple[Array, Array]:
        spread = float(self.sd.max())
        top = max(self.least, float((self.mean + 6.0 * self.sd).max()))
        top = min(top + 1e-9 * max(spread, 1e-9), max(self.most, self.least + LEAST_GAIN))
        values = np.linspace(self.least, top, 400)
        logs = scipy.special.log_ndtr((values[:, None] - self.mean) / self.sd).sum(axis=1)
        return values, np.exp(logs)

    def quantiles(self, count: int) -> Array:
        """`count` plausible values of the maximum, evenly spread over its distribution above `least`."""
        values, cdf = self._cdf
        levels = cdf[0] + (1.0 - cdf[0]) * (np.arange(count) + 0.5) / count
        return np.asarray(np.interp(levels, cdf, values))

    @property
    def expected(self) -> float:
        """Least + integral of Pr(maximum > w) over w above least: EST's estimate (Wang et al. 2016)."""
        values, cdf = self._cdf
        return float(self.least + np.trapezoid(1.0 - cdf, values))


def log_h(z: Array) -> tuple[Array, Array]:
    """log(phi(z) + z Phi(z)) and its derivative, to full precision for every z."""
    high = np.maximum(z, -1.0)
    cdf = scipy.special.ndtr(high)
    h = _density(high) + high * cdf
    low = np.minimum(z, -1.0)
    mills = math.sqrt(math.pi / 2) * scipy.special.erfcx(low / -math.sqrt(2.0))  # Phi / phi
    squared = low**2
    excess = 1.0 + low * mills  # h / phi
    if (far := low < FAR_TAIL).any():
        w = 1.0 / squared
        series = w * (1 - 3 * w * (1 - 5 * w * (1 - 7 * w * (1 - 9 * w * (1 - 11 * w)))))
        excess = np.where(far, series, excess)
    tail = -0.5 * squared - LOG_ROOT_TWO_PI + np.log(excess)
    near = z > -1.0
    return np.where(near, np.log(h), tail), np.where(near, cdf / h, mills / excess)


def differentiated(acquisition: Acquisition, mean: Array, sd: Array, known: Known) -> Scores:
    """The score with its derivatives, by central differences if the function does not return them."""
    result = acquisition(mean, sd, known)
    if isinstance(result, tuple):
        return result

    def score(mean: Array, sd: Array) -> Array:
        return np.asarray(acquisition(mean, sd, known), dtype=np.float64)

    step = 1e-5 * sd
    by_mean = (score(mean + step, sd) - score(mean - step, sd)) / (2 * step)
    by_sd = (score(mean, sd + step) - score(mean, sd - step)) / (2 * step)
    return np.asarray(result, dtype=np.float64), by_mean, by_sd


def _density(z: Array) -> Array:
    return np.exp(-0.5 * z**2 - LOG_ROOT_TWO_PI)
