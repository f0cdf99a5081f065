"""Classic functions with known optima, on the unit cube; to be minimised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bopp.data import Array

HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN_BEST = (0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053)


@dataclass(frozen=True)
class Function:
    """A function on the unit cube whose minimum, and one point that attains it, are known."""

    name: str
    dimension: int
    optimum: float
    minimiser: Array
    evaluate: Callable[[Array], float]


def dropwave(x: Array) -> float:
    square = float(x @ x)
    return -(1.0 + float(np.cos(12.0 * np.sqrt(square)))) / (0.5 * square + 2.0)


def griewank(x: Array) -> float:
    waves = np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1))))
    return float(x @ x) / 4000.0 - float(waves) + 1.0


def hartmann6(x: Array) -> float:
    return -float(HARTMANN_ALPHA @ np.exp(-np.sum(HARTMANN_A * (x - HARTMANN_P) ** 2, axis=1)))


def rastrigin(x: Array) -> float:
    return float(np.sum(x**2 + 10.0 * (1.0 - np.cos(2.0 * np.pi * x))))


def on_cube(
    name: str,
    formula: Callable[[Array], float],
    low: Sequence[float],
    high: Sequence[float],
    minimiser: Sequence[float],
) -> Function:
    """Map a formula from its usual box onto the unit cube."""
    lower, width, best = np.array(low), np.subtract(high, low), np.array(minimiser)
    return Function(
        name=name,
        dimension=len(low),
        optimum=formula(best),
        minimiser=(best - lower) / width,
        evaluate=lambda u: formula(lower + width * u),
    )


def shifted(function: Function, seed: int) -> Function:
    """Move the landscape by up to a quarter of the box per dimension, so that its optimum is off centre.

    Only for a formula whose minimum on all of R^d is that in its usual box: then what moves into the box is
    never better than the known optimum.
    """
    rng = np.random.default_rng([seed, 1])
    target = np.array([off_centre(u, rng) for u in function.minimiser])
    shift = target - function.minimiser
    return replace(function, minimiser=target, evaluate=lambda u: function.evaluate(u - shift))


def off_centre(u: float, rng: np.random.Generator) -> float:
    """Draw a coordinate near u that is in [0.1, 0.9] and further than 0.1 from the centre."""
    while True:
        target = u + rng.uniform(-0.25, 0.25)
        if 0.1 < abs(target - 0.5) <= 0.4:
            return target
