"""Six classic functions to minimise on the unit cube, with their optima moved off centre."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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


@dataclass(frozen=True)
class Function:
    """A function on the unit cube whose least value and one place of it are known."""

    name: str
    dimension: int
    optimum: float
    minimiser: Array
    evaluate: Callable[[Array], float]


def branin(x: Array) -> float:
    parabola = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return float(parabola**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10)


def hartmann6(x: Array) -> float:
    return -float(HARTMANN_ALPHA @ np.exp(-np.sum(HARTMANN_A * (x - HARTMANN_P) ** 2, axis=1)))


def ackley(x: Array) -> float:
    # expm1 keeps the value near the optimum free of cancellation
    bowl = -20 * np.expm1(-0.2 * np.sqrt(np.mean(x**2)))
    ripples = -np.e * np.expm1(np.mean(np.cos(2 * np.pi * x)) - 1)
    return float(bowl + ripples)


def levy(x: Array) -> float:
    w = 1 + (x - 1) / 4
    inner = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + np.sum(inner) + last)


def rosenbrock(x: Array) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def styblinski_tang(x: Array) -> float:
    return float(np.sum(x**4 - 16 * x**2 + 5 * x) / 2)


def on_cube(
    name: str,
    formula: Callable[[Array], float],
    low: list[float],
    high: list[float],
    minimiser: list[float],
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
    """Move the landscape by up to a quarter of the box per dimension, its optimum off the centre.

    The six formulas have the same least value on all of R^d as in their usual box (Branin has it
    infinitely often), so what moves into the box is never better than the known optimum.
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


HARTMANN_BEST = [0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053]

FUNCTIONS = {
    function.name: function
    for function in (
        on_cube("branin", branin, [-5, 0], [10, 15], [np.pi, 2.275]),
        on_cube("hartmann6", hartmann6, [0] * 6, [1] * 6, HARTMANN_BEST),
        on_cube("ackley5", ackley, [-32.768] * 5, [32.768] * 5, [0] * 5),
        on_cube("levy8", levy, [-10] * 8, [10] * 8, [1] * 8),
        on_cube("rosenbrock4", rosenbrock, [-5] * 4, [10] * 4, [1] * 4),
        on_cube("styblinski_tang6", styblinski_tang, [-5] * 6, [5] * 6, [-2.903534027771177] * 6),
    )
}
