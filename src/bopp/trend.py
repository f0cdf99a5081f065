"""Trend: what is expected of a function before its own data, from functions that resemble it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bopp.data import Array, Data
from bopp.gp import Posterior
from bopp.outcome import Scale, standardised

STEP = 1e-3  # of a standard deviation of y, over which the steepness of a power is taken


@dataclass(frozen=True, eq=False)
class Resemblance:
    """The mean of what is believed of another function, as a function of the whole cube.

    Its values are in the unit of `scale`, which suits the function itself.
    """

    posterior: Posterior
    columns: npt.NDArray[np.intp]
    scale: Scale

    def bent(self, scale: Scale, data: Data) -> Resemblance | None:
        """The same with its values bent as those of the objective are; None if they do not rise with these.

        What differs from the objective by a factor and a shift no longer does once each has been bent by a
        power of its own. So a line through `data`, which are in the unit of `scale`, brings both to one unit
        before the power of the objective is taken of both.
        """
        seen = self.posterior.data
        y, here, own = scale.inverse(data.y), self.scale.inverse(self(data.X)), self.scale.inverse(seen.y)
        unit, other = standardised(y), standardised(own)
        z = unit(y)
        steepness = scale(unit.inverse(z + STEP)) - scale(
            unit.inverse(z - STEP)
        )  # in any unit, however small
        factor, shift = _line(other(here), z, steepness**2)
        values = scale(unit.inverse(factor * other(own) + shift))
        if factor <= 0.0 or not np.isfinite(values).all():
            return None
        bent = Data(seen.X, standardised(values)(values), seen.noise)
        return replace(self, posterior=self.posterior.again(bent))

    def __call__(self, U: Array) -> Array:
        return self.posterior.mean(U[:, self.columns])

    def gradient(self, U: Array) -> tuple[Array, Array]:
        slope = np.zeros_like(U)
        value, slope[:, self.columns] = self.posterior.mean_gradient(U[:, self.columns])
        return value, slope


def _line(x: Array, y: Array, weights: Array) -> tuple[float, float]:
    """Factor and shift of the line through points, the squares of whose distances have these weights."""
    share = weights / weights.sum()
    x_mean, y_mean = share @ x, share @ y
    spread = share @ (x - x_mean) ** 2
    factor = share @ ((x - x_mean) * (y - y_mean)) / spread if spread > 0.0 else 0.0
    return float(factor), float(y_mean - factor * x_mean)


@dataclass(frozen=True, eq=False)
class Trend:
    """A weighted sum of resemblances, and a shift."""

    terms: tuple[Resemblance, ...]
    factors: tuple[float, ...]
    shift: float = 0.0

    def __call__(self, U: Array) -> Array:
        total = np.full(len(U), self.shift)
        for factor, term in zip(self.factors, self.terms, strict=True):
            total += factor * term(U)
        return total

    def gradient(self, U: Array) -> tuple[Array, Array]:
        total, slope = np.full(len(U), self.shift), np.zeros_like(U)
        for factor, term in zip(self.factors, self.terms, strict=True):
            value, by_u = term.gradient(U)
            total += factor * value
            slope += factor * by_u
        return total, slope


@dataclass(frozen=True, eq=False)
class Trended:
    """A belief of what a trend leaves over, in units of `scale`, with the trend added to it; a `Belief`."""

    rest: Posterior
    trend: Trend
    scale: float

    @property
    def noise(self) -> float:
        return self.scale**2 * self.rest.noise

    def __call__(self, U: Array) -> tuple[Array, Array]:
        mean, sd = self.rest(U)
        return self.trend(U) + self.scale * mean, self.scale * sd

    def mean(self, U: Array) -> Array:
        return np.asarray(self.trend(U) + self.scale * self.rest.mean(U))

    def gradient(self, U: Array) -> tuple[Array, Array, Array, Array]:
        mean, sd, by_mean, by_sd = self.rest.gradient(U)
        value, slope = self.trend.gradient(U)
        s = self.scale
        return value + s * mean, s * sd, slope + s * by_mean, s * by_sd

    def sample(self, U: Array, count: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.trend(U) + self.scale * self.rest.sample(U, count, rng))

    def difference(self, A: Array, B: Array) -> Array:
        change = self.trend(A) - self.trend(B)
        return np.asarray(change**2 + self.scale**2 * self.rest.difference(A, B))

    def condition(self, extra: Data) -> Trended:
        return Trended(self.rest.condition(self.left_over(extra)), self.trend, self.scale)

    def left_over(self, data: Data) -> Data:
        """What the trend leaves over of data, in units of `scale`."""
        return Data(data.X, (data.y - self.trend(data.X)) / self.scale, data.noise / self.scale**2)

    def agreement(self, points: Data) -> float:
        """As `Posterior.agreement`."""
        return self.rest.agreement(self.left_over(points))
