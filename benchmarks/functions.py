"""Six classic functions to minimise on the unit cube, with their optima moved off centre."""

import numpy as np

from bopp.data import Array
from bopp.paper.functions import HARTMANN_BEST, Function, hartmann6, on_cube, shifted

__all__ = ["FUNCTIONS", "Array", "Function", "shifted"]


def branin(x: Array) -> float:
    parabola = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return float(parabola**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10)


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


# The six formulas have the same minimum on all of R^d as in their usual box (Branin attains it infinitely
# often), as `shifted` requires.
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
