"""Fitting: the model's hyper-parameters, from real data only.

    fit(data, kernel, rng) -> what is believed given the data: one belief, or several to average over

theta is the vector of logarithms of (length-scales, trend if any, signal variance, noise variance).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from bopp.belief import Beliefs
from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.gp import GP
from bopp.kernels import Kernel

Fit = Callable[[Data, Kernel, np.random.Generator], Beliefs]

LENGTHSCALES = (5e-3, 1e3)
VARIANCES = (1e-3, 1e3)
TRENDS = (1e-6, 10.0)
NOISES = (1e-8, 10.0)
ROUGH = 0.2  # a length-scale below this may be noise that was taken for a rough function
AROUND = 2.0  # standard deviations of the priors: how far from their middle a climb may begin
CLIMBED = 2  # of several starts
COARSE = 100  # with more points than this, a quarter of them is fitted first


@dataclass(frozen=True)
class LogNormal:
    """log of the hyper-parameter ~ N(mean, sd^2)"""

    mean: float
    sd: float


@dataclass(frozen=True)
class Priors:
    """What is believed about the hyper-parameters before any data, for standardised y on the unit cube.

    `trend` is that of the variance of a quadratic trend under the function; None is no trend.
    """

    lengthscale: LogNormal = LogNormal(-0.7, 1.0)
    variance: LogNormal = LogNormal(0.0, 1.0)
    noise: LogNormal = LogNormal(-10.0, 3.0)
    trend: LogNormal | None = LogNormal(-3.0, 3.0)

    def __post_init__(self) -> None:
        for prior in (self.lengthscale, self.variance, self.noise):
            if not isinstance(prior, LogNormal):
                raise RecipeError(f"Priors: wanted a LogNormal for each, got {prior!r}")
        if not isinstance(self.trend, LogNormal | None):
            raise RecipeError(f"Priors: trend must be a LogNormal or None, got {self.trend!r}")


UNTRENDED = Priors(trend=None)


@dataclass(frozen=True)
class MAP:
    """The hyper-parameters most probable under the data and the priors.

    Args:
        priors: None maximises the likelihood alone, without a trend.
        variance, noise: fixed values; None fits them.
        lengthscale: the smallest and the largest length-scale, in widths of the cube.
        largest: fit the hyper-parameters to at most this many of the points, spaced evenly among them.
        least_noise: the smallest noise that is fitted.
        tolerance: the fit of few points ends when a step gains less than this share of its logarithm.
        refit: fit anew when the data have grown by this share since the last time; 0 fits every time.
        seen: of more points than this, the model sees the best and others spaced evenly among the rest.
        second_noise: where few points look like a rough function, they are fitted once more beginning with
            this noise, and the better of the two fits counts. None leaves it at the first.
        starts: of so many points, the middle of the priors and random ones around it, the most probable two
            are climbed from, and the better end counts. 1 climbs from the middle, which may end higher.
    """

    priors: Priors | None = Priors()
    variance: float | None = None
    noise: float | None = None
    largest: int = 400
    lengthscale: tuple[float, float] = LENGTHSCALES
    least_noise: float = 1e-11
    tolerance: float = 1e-3
    refit: float = 0.1
    seen: float = 2000
    second_noise: float | None = 0.02
    starts: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.priors, Priors | None):
            raise RecipeError(f"{type(self).__name__}: priors must be Priors or None, got {self.priors!r}")
        for name in ("variance", "noise", "largest", "least_noise", "tolerance", "second_noise"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0.0 < value < np.inf):
                raise RecipeError(f"{type(self).__name__}: {name} must be above 0, got {value!r}")
        for name, low, high in (("refit", 0.0, 1.0), ("seen", 1.0, math.inf)):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and low <= value <= high):
                raise RecipeError(
                    f"{type(self).__name__}: {name} must be from {low:g} to {high:g}, got {value!r}"
                )
        if not isinstance(self.starts, int) or self.starts < 1:
            raise RecipeError(f"{type(self).__name__}: starts must be an integer >= 1, got {self.starts!r}")
        if len(self.lengthscale) != 2 or not 0.0 < self.lengthscale[0] <= self.lengthscale[1] < np.inf:
            wanted = "(low, high) with 0 < low <= high"
            raise RecipeError(
                f"{type(self).__name__}: lengthscale must be {wanted}, got {self.lengthscale!r}"
            )

    def __call__(self, data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        return Beliefs.even([self._gp(self._climb(data, kernel, rng), kernel).condition(data)])

    def milestone(self, n: int) -> int:
        """To how many of n values the hyper-parameters are fitted: the last time that it was due."""
        due = 1
        while (following := due + max(1, int(due * self.refit))) <= n:
            due = following
        return due if self.refit else n

    def log_density(self, theta: Array, data: Data, kernel: Kernel) -> tuple[float, Array]:
        """Logarithm of likelihood times prior, and its gradient in theta."""
        value, gradient = self._gp(theta, kernel).log_likelihood_gradient(data)
        prior, by_prior = self._log_prior(theta)
        return value + prior, gradient + by_prior

    def _climb(self, data: Data, kernel: Kernel, rng: np.random.Generator) -> Array:
        start, scale = self._prior((data.X.shape[1] if kernel.ard else 1) + len(self._others))
        firsts = self._promising(start, scale, data, kernel, rng) if self.starts > 1 else [start]
        climbs = [self._staged(first, scale, data, kernel) for first in firsts]
        theta, found = min(climbs, key=lambda climb: float(climb[1].fun))
        rough = theta[: -len(self._others)].min() < math.log(ROUGH)
        if self.second_noise is None or self.noise is not None or len(data) > COARSE or not rough:
            return theta
        noisy = np.append(start[:-1], math.log(self.second_noise))
        other, rival = self._staged(noisy, scale, data, kernel)
        return other if rival.fun < found.fun else theta

    def _promising(
        self, start: Array, scale: Array, data: Data, kernel: Kernel, rng: np.random.Generator
    ) -> Array:
        """The most probable of `start` and points around it."""
        around = start + AROUND * scale * rng.standard_normal((self.starts - 1, len(start)))
        thetas = np.clip(np.vstack([start, around]), *self._bounds(len(start)))
        part, *_ = self._stages(data)[0]
        gps = [self._gp(theta, kernel) for theta in thetas]
        heights = [
            gp.log_likelihood(part) + self._log_prior(theta)[0] for gp, theta in zip(gps, thetas, strict=True)
        ]
        return np.asarray(thetas[np.argsort(-np.array(heights), kind="stable")[:CLIMBED]])

    def _staged(self, theta: Array, scale: Array, data: Data, kernel: Kernel) -> tuple[Array, Any]:
        """Where a climb leads to, and what SciPy found at its end."""
        stages = self._stages(data)
        for part, steps, tolerance in stages:
            theta, found = self._climbed(theta, scale, part, kernel, steps, tolerance)
            if part is not stages[-1][0]:  # with more data the peak is narrower
                scale = scale * np.sqrt(found.hess_inv.todense().diagonal() * len(part) / len(data))
        return theta, found

    def _climbed(
        self, theta: Array, scale: Array, data: Data, kernel: Kernel, steps: int, tolerance: float
    ) -> tuple[Array, Any]:
        """Where so many steps in units of `scale` lead to, and what SciPy found on the way."""
        low, high = self._bounds(len(theta))
        theta = np.clip(theta, low, high)

        def loss(z: Array) -> Any:
            value, gradient = self.log_density(theta + scale * z, data, kernel)
            return -value, -gradient * scale

        bounds = list(zip((low - theta) / scale, (high - theta) / scale, strict=True))
        options = {"maxiter": steps, "ftol": tolerance, "gtol": 1e-3}
        found = scipy.optimize.minimize(
            loss, 0.0 * theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return np.clip(theta + scale * found.x, low, high), found

    def _stages(self, data: Data) -> list[tuple[Data, int, float]]:
        """With many points, fit a part of them to get close to the answer, then all of them to get there."""
        full = data.thinned(self.largest)
        if len(full) <= COARSE:
            return [(full, 40, self.tolerance)]
        return [(data.thinned(max(64, len(full) // 4)), 40, 1e-3), (full, 8, 1e-6)]

    def _log_prior(self, theta: Array) -> tuple[float, Array]:
        if self.priors is None:
            return 0.0, np.zeros_like(theta)
        mean, sd = self._prior(len(theta))
        z = (theta - mean) / sd
        return -0.5 * float(z @ z), -z / sd

    def _prior(self, size: int) -> tuple[Array, Array]:
        return _moments(self.priors or UNTRENDED, size)

    def _bounds(self, size: int) -> tuple[Array, Array]:
        variances = VARIANCES if self.variance is None else (self.variance, self.variance)
        noises = (self.least_noise, NOISES[1]) if self.noise is None else (self.noise, self.noise)
        others = {"trend": TRENDS, "variance": variances, "noise": noises}
        rows = [others[name] for name in self._others]
        low, high = np.log([self.lengthscale] * (size - len(rows)) + rows).T
        return low, high

    @property
    def _others(self) -> tuple[str, ...]:
        """The names of what theta has behind the length-scales."""
        return _others(self.priors or UNTRENDED)

    def _gp(self, theta: Array, kernel: Kernel) -> GP:
        names = self._others
        others = dict(zip(names, np.exp(theta)[-len(names) :].tolist(), strict=True))
        return GP(kernel, np.exp(theta[: -len(names)]), **others)


def MaximumLikelihood(
    variance: float | None = None,
    noise: float | None = None,
    largest: int = 1000,
    lengthscale: tuple[float, float] = LENGTHSCALES,
) -> MAP:
    """The hyper-parameters under which the data are most likely, fitted closely and for every suggestion."""
    return MAP(
        priors=None,
        variance=variance,
        noise=noise,
        largest=largest,
        lengthscale=lengthscale,
        least_noise=NOISES[0],
        tolerance=1e-5,
        refit=0.0,
        seen=math.inf,
        second_noise=None,
    )


@dataclass(frozen=True)
class SliceSampling(MAP):
    """Fully Bayesian: draws hyper-parameters from their posterior; the acquisition is averaged over them.

    Args:
        samples: how many to draw.
        burn_in, thinning: sweeps to discard before the first draw, and sweeps from one draw to the next.
    """

    samples: int = 10
    burn_in: int = 10
    thinning: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("samples", 1), ("burn_in", 0), ("thinning", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise RecipeError(f"SliceSampling: {name} must be an integer >= {least}, got {value!r}")

    def __call__(self, data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        part = data.thinned(self.largest)
        theta = self._climb(data, kernel, rng)
        low, high = self._bounds(len(theta))

        def log_density(theta: Array) -> float:
            if np.any(theta < low) or np.any(theta > high):
                return -np.inf
            return self._gp(theta, kernel).log_likelihood(part) + self._log_prior(theta)[0]

        drawn = []
        for sweep in range(self.burn_in + self.samples * self.thinning):
            for axis in np.flatnonzero(low < high):
                theta = slice_step(log_density, theta, int(axis), rng)
            if sweep >= self.burn_in and (sweep - self.burn_in) % self.thinning == 0:
                drawn.append(self._gp(theta, kernel).condition(data))
        return Beliefs.even(drawn)


def slice_step(
    log_density: Callable[[Array], float],
    theta: Array,
    axis: int,
    rng: np.random.Generator,
    width: float = 1.0,
) -> Array:
    """Redraw one coordinate from its slice: stepping out, then shrinking (Neal 2003, figures 3 and 5)."""

    def at(position: float) -> Array:
        moved = theta.copy()
        moved[axis] = position
        return moved

    level = log_density(theta) - rng.exponential()
    left = theta[axis] - width * rng.random()
    right = left + width
    while log_density(at(left)) > level:
        left -= width
    while log_density(at(right)) > level:
        right += width
    while True:
        position = rng.uniform(left, right)
        if log_density(at(position)) > level:
            return at(position)
        left, right = (position, right) if position < theta[axis] else (left, position)


@lru_cache
def _moments(priors: Priors, size: int) -> tuple[Array, Array]:
    """Mean and sd of theta."""
    others = [getattr(priors, name) for name in _others(priors)]
    rows = [priors.lengthscale] * (size - len(others)) + others
    return np.array([row.mean for row in rows]), np.array([row.sd for row in rows])


def _others(priors: Priors) -> tuple[str, ...]:
    return ("variance", "noise") if priors.trend is None else ("trend", "variance", "noise")


def telling(y: Array, most: float) -> npt.NDArray[np.intp]:
    """The rows of at most so many values that tell most: the best, a quarter, and others from end to end."""
    if len(y) <= most:
        return np.arange(len(y))
    order = np.argsort(-y, kind="stable")
    best, others = np.split(order, [int(most) // 4])
    spaced = np.linspace(0, len(others) - 1, int(most) - len(best)).astype(np.intp)
    return np.sort(np.append(best, others[spaced]))
