"""Outcomes: how values of the objective become values of the model, and back.

An outcome looks at the observed `y` (larger is better) and returns a `Scale`: the model's unit. Pseudo-points
live in the model's unit; the user never sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bopp.data import Array

CONSTANT = 1e-14  # a spread below this part of the largest |y| is rounding, not information
LARGEST = 1e100
POWERS = np.linspace(-1.0, 3.0, 41)


@dataclass(frozen=True)
class Scale:
    """A monotone map z = power((y / size - shift) / spread), after Yeo and Johnson where power is not 1."""

    size: float = 1.0
    shift: float = 0.0
    spread: float = 1.0
    power: float = 1.0
    power_shift: float = 0.0
    power_spread: float = 1.0

    def __call__(self, y: Array) -> Array:
        z = (np.asarray(y) / self.size - self.shift) / self.spread
        if self.power != 1.0:
            z = yeo_johnson(z, self.power)
        return np.asarray((z - self.power_shift) / self.power_spread)

    def noise(self, y: Array, variance: Array) -> Array:
        """The variance in the model's unit of a noise that has this variance in the unit of y, at y."""
        z = (np.asarray(y) / self.size - self.shift) / self.spread
        exponent = np.where(z >= 0, self.power, 2.0 - self.power)
        slope = (1.0 + np.abs(z)) ** (exponent - 1.0) / self.power_spread
        return np.asarray((np.sqrt(variance) / self.size / self.spread * slope) ** 2)

    def inverse(self, z: Array) -> Array:
        """The values of the objective that the model's values stand for."""
        z = np.asarray(z) * self.power_spread + self.power_shift
        if self.power != 1.0:
            z = yeo_johnson_inverse(z, self.power)
        return np.asarray((z * self.spread + self.shift) * self.size)


Outcome = Callable[[Array], Scale]


def raw(y: Array) -> Scale:
    """The values as they are: the paper's reading. Only values whose squares would overflow are shrunk."""
    return Scale(size=max(1.0, float(np.abs(y).max(initial=0.0)) / LARGEST))


def standardised(y: Array) -> Scale:
    """Mean 0 and standard deviation 1, whatever the unit of y, also where y^2 would overflow."""
    size = float(np.abs(y).max(initial=0.0)) or 1.0
    parts = y / size
    shift = float(parts.mean()) if len(y) else 0.0
    spread = float(parts.std()) if len(y) else 0.0
    return Scale(size, shift, spread if spread > CONSTANT else 1.0)


def power(y: Array) -> Scale:
    """Standardised, then bent by the Yeo-Johnson power that makes y most like a Gaussian sample."""
    scale = standardised(y)
    z = scale(y)
    if len(y) < 3 or z.std() < 0.5:  # 1, or 0 where y is constant
        return scale
    bent = yeo_johnson(z, POWERS[:, None])
    jacobian = (np.sign(z) * np.log1p(np.abs(z))).sum()
    likelihood = -0.5 * len(y) * np.log(bent.var(axis=1) + 1e-30) + (POWERS - 1.0) * jacobian
    best = int(np.argmax(likelihood))
    return replace(
        scale,
        power=float(POWERS[best]),
        power_shift=float(bent[best].mean()),
        power_spread=float(bent[best].std()),
    )


def yeo_johnson(z: Array, power: npt.ArrayLike) -> Array:
    """((1 + z)^power - 1) / power for z >= 0, its mirror image with 2 - power below (Yeo, Johnson 2000)."""
    exponent = np.where(z >= 0, power, 2.0 - np.asarray(power))
    logs = np.log1p(np.abs(z))
    safe = np.where(exponent == 0.0, 1.0, exponent)
    size = np.where(exponent == 0.0, logs, np.expm1(exponent * logs) / safe)
    return np.asarray(np.copysign(size, z))


def yeo_johnson_inverse(t: Array, power: float) -> Array:
    """The z with yeo_johnson(z, power) = t; beyond the end of a bounded image, the last z that is there."""
    exponent = np.where(t >= 0, power, 2.0 - power)
    safe = np.where(exponent == 0.0, 1.0, exponent)
    inside = np.maximum(exponent * np.abs(t), -1.0 + 1e-9)
    logs = np.where(exponent == 0.0, np.abs(t), np.log1p(inside) / safe)
    return np.asarray(np.copysign(np.expm1(logs), t))
