"""Outcomes: how values of the objective become values of the model, and back.

An outcome looks at the observed `y` (larger is better) and returns a `Scale`: the model's unit. Pseudo-points
are in that unit too; only those who write parts of a recipe ever see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from bopp.data import Array

CONSTANT = 1e-14  # a spread below this fraction of the largest |y| is rounding, not information
LARGEST = 1e100
FIRST = 10  # margins of a constraint that tell of which size they usually are
HEAVY = 100.0  # times as large are those that make all others look the same
POWERS = np.linspace(-1.0, 3.0, 41)


@dataclass(frozen=True)
class Scale:
    """A monotone map z = power((y / size - shift) / spread), after Yeo and Johnson where power is not 1.

    `low` and `high` are the ends of the observed z, beyond which nothing is known of a power.
    """

    size: float = 1.0
    shift: float = 0.0
    spread: float = 1.0
    power: float = 1.0
    power_shift: float = 0.0
    power_spread: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    def __call__(self, y: Array) -> Array:
        z = (np.asarray(y) / self.size - self.shift) / self.spread
        if self.power != 1.0:
            z = yeo_johnson(z, self.power)
        return np.asarray((z - self.power_shift) / self.power_spread)

    def noise(self, y: Array, variance: Array) -> Array:
        """The noise variance at y, converted from the unit of y to the model's unit."""
        z = (np.asarray(y) / self.size - self.shift) / self.spread
        exponent = np.where(z >= 0, self.power, 2.0 - self.power)
        slope = (1.0 + np.abs(z)) ** (exponent - 1.0) / self.power_spread
        with np.errstate(over="ignore"):
            sd = np.sqrt(variance) / self.size / self.spread * slope
        return np.asarray(np.minimum(sd, math.sqrt(LARGEST)) ** 2)

    def inverse(self, z: Array) -> Array:
        """The model's values z as values of the objective.

        A power ends or explodes a little beyond the data that it was chosen for. So there the inverse goes on
        as a straight line: with the slope that it has at the end of the data, but no steeper than the data
        are from end to end. Hence s beyond the z that were observed is at most s / 2 times the observed
        range beyond the y that were, as the z of n values with sd 1 are at least 2 apart.
        """
        z = np.asarray(z)
        if self.power != 1.0:
            inside = np.clip(z, self.low, self.high)
            beyond = z - inside
            z = self._straightened(inside)
            if np.any(beyond):
                z = z + beyond * np.where(beyond > 0, *self._slopes())
        return np.asarray((z * self.spread + self.shift) * self.size)

    def _straightened(self, z: Array) -> Array:
        return yeo_johnson_inverse(z * self.power_spread + self.power_shift, self.power)

    def _slopes(self) -> tuple[float, float]:
        """How steeply the inverse goes on above and below the observed z."""
        ends = np.array([self.high, self.low])
        y = self._straightened(ends)
        steepest = (y[0] - y[1]) / (self.high - self.low)
        exponent = np.where(y >= 0, self.power, 2.0 - self.power)
        above, below = np.minimum((1.0 + np.abs(y)) ** (1.0 - exponent) * self.power_spread, steepest)
        return float(above), float(below)


Outcome = Callable[[Array], Scale]


def raw(y: Array) -> Scale:
    """The values as they are, as in the paper; scaled down only if their squares might overflow."""
    return Scale(size=max(1.0, float(np.abs(y).max(initial=0.0)) / LARGEST))


def standardised(y: Array) -> Scale:
    """Mean 0 and standard deviation 1, whatever the unit of y, even where y^2 would overflow."""
    size = float(np.abs(y).max(initial=0.0)) or 1.0
    parts = y / size
    shift = float(parts.mean()) if len(y) else 0.0
    spread = float(parts.std()) if len(y) else 0.0
    return Scale(size, shift, spread if spread > CONSTANT else 1.0)


def power(y: Array) -> Scale:
    """Standardised, then bent by the Yeo-Johnson power that makes y most like a Gaussian sample."""
    scale = standardised(y)
    z = scale(y)
    if len(y) < 3 or z.std() < 0.5:  # it is 1, or 0 if y is constant
        return scale
    bent = yeo_johnson(z, POWERS[:, None])
    jacobian = (np.sign(z) * np.log1p(np.abs(z))).sum()
    likelihood = -0.5 * len(y) * np.log(bent.var(axis=1) + 1e-30) + (POWERS - 1.0) * jacobian
    best = int(np.argmax(likelihood))
    bending = replace(
        scale,
        power=float(POWERS[best]),
        power_shift=float(bent[best].mean()),
        power_spread=float(bent[best].std()),
    )
    seen = bending(y)
    return replace(bending, low=float(seen.min()), high=float(seen.max()))


def margin(y: Array) -> Scale:
    """As `power`, for margins of a constraint, whose zero has to be told from values near it.

    Where some are a hundred times larger than the first ones usually were, all are first drawn to zero as by
    a logarithm: in the unit of the largest, zero and the values around it would be the same.
    """
    size = np.abs(y)
    usual = float(np.median(size[:FIRST])) if len(y) else 0.0
    if not usual > 0.0 or not (size / HEAVY > usual).any():
        return power(y)
    usual = max(usual, float(size.max()) / LARGEST)
    return MarginScale(**asdict(power(_drawn(y, usual))), usual=usual)


@dataclass(frozen=True)
class MarginScale(Scale):
    """The scale of margins that are drawn to zero; `usual` is the size from which on that matters."""

    usual: float = 1.0

    def __call__(self, y: Array) -> Array:
        return super().__call__(_drawn(y, self.usual))

    def noise(self, y: Array, variance: Array) -> Array:
        with np.errstate(over="ignore"):
            sd = np.minimum(np.sqrt(variance) / (self.usual + np.abs(y)), math.sqrt(LARGEST))
        return super().noise(_drawn(y, self.usual), sd**2)

    def inverse(self, z: Array) -> Array:
        drawn = super().inverse(z)
        with np.errstate(over="ignore"):
            return np.asarray(np.sign(drawn) * self.usual * np.expm1(np.abs(drawn)))


def _drawn(y: Array, usual: float) -> Array:
    """sign(y) log(1 + |y| / usual), as Eriksson and Poloczek (2021) have it."""
    return np.asarray(np.sign(y) * np.log1p(np.abs(y) / usual))


@dataclass(frozen=True)
class Squeezed:
    """An outcome of values that are first squeezed: those below `middle` are drawn to it as by a logarithm.

    For values of which many are so much worse than those that matter that these would hardly differ.
    """

    outcome: Outcome
    middle: float
    spread: float

    def __call__(self, y: Array) -> Scale:
        squeezed = _squeezed(y, self.middle, self.spread)
        lowest = float(squeezed.min(initial=self.middle))
        scale = asdict(self.outcome(squeezed))
        return SqueezedScale(**scale, middle=self.middle, below=self.spread, lowest=lowest)


@dataclass(frozen=True)
class SqueezedScale(Scale):
    """The scale of squeezed values; `lowest` is the lowest that was observed, as it was squeezed."""

    middle: float = 0.0
    below: float = 1.0
    lowest: float = 0.0

    def __call__(self, y: Array) -> Array:
        return super().__call__(_squeezed(y, self.middle, self.below))

    def noise(self, y: Array, variance: Array) -> Array:
        steep = 1.0 + _depth(y, self.middle, self.below)
        return super().noise(_squeezed(y, self.middle, self.below), variance / steep**2)

    def inverse(self, z: Array) -> Array:
        """As that of a scale; below all that was observed it goes on as a straight line."""
        y = super().inverse(z)
        inside = np.clip(y, self.lowest, self.middle)
        depth = (self.middle - inside) / self.below
        straight = (np.minimum(y, self.middle) - inside) * np.exp(depth)
        return np.asarray(np.maximum(y, self.middle) - self.below * np.expm1(depth) + straight)


def unsqueezed(outcome: Outcome) -> Outcome:
    """The outcome without a squeezing."""
    return outcome.outcome if isinstance(outcome, Squeezed) else outcome


def _depth(y: Array, middle: float, spread: float) -> Array:
    """How far values lie below the middle, in spreads."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.maximum((middle - np.asarray(y)) / spread, 0.0))


def _squeezed(y: Array, middle: float, spread: float) -> Array:
    depth = _depth(y, middle, spread)
    return np.where(depth > 0.0, middle - spread * np.log1p(depth), y)


def yeo_johnson(z: Array, power: npt.ArrayLike) -> Array:
    """((1 + z)^power - 1) / power for z >= 0, its mirror image with 2 - power below (Yeo, Johnson 2000)."""
    exponent = np.where(z >= 0, power, 2.0 - np.asarray(power))
    logs = np.log1p(np.abs(z))
    safe = np.where(exponent == 0.0, 1.0, exponent)
    size = np.where(exponent == 0.0, logs, np.expm1(exponent * logs) / safe)
    return np.asarray(np.copysign(size, z))


def yeo_johnson_inverse(t: Array, power: float) -> Array:
    """The z for which yeo_johnson(z, power) = t; a t outside the image is first moved just inside."""
    exponent = np.where(t >= 0, power, 2.0 - power)
    safe = np.where(exponent == 0.0, 1.0, exponent)
    inside = np.maximum(exponent * np.abs(t), -1.0 + 1e-9)
    logs = np.where(exponent == 0.0, np.abs(t), np.log1p(inside) / safe)
    return np.asarray(np.copysign(np.expm1(logs), t))
