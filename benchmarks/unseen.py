"""Eleven functions on the unit cube, of 2 to 8 dimensions, on which no setting of bopp was chosen."""

import numpy as np
import scipy

from bopp.data import Array
from bopp.paper.functions import HARTMANN_ALPHA, griewank, on_cube

HARTMANN3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
HARTMANN3_P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
ROTATION = scipy.stats.special_ortho_group.rvs(6, random_state=0)
STRETCH = 10.0 ** np.linspace(0.0, 2.0, 6)


def camel(x: Array) -> float:
    a, b = x
    return float((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)


def goldstein_price(x: Array) -> float:
    a, b = x
    one = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    two = 30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2)
    return float(np.log(one * two))


def hartmann3(x: Array) -> float:
    return -float(HARTMANN_ALPHA @ np.exp(-np.sum(HARTMANN3_A * (x - HARTMANN3_P) ** 2, axis=1)))


def dixon_price(x: Array) -> float:
    rest = np.arange(2, len(x) + 1) * (2 * x[1:] ** 2 - x[:-1]) ** 2
    return float((x[0] - 1) ** 2 + rest.sum())


def powell(x: Array) -> float:
    a, b, c, d = x
    return float((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4)


def zakharov(x: Array) -> float:
    weighted = 0.5 * np.arange(1, len(x) + 1) @ x
    return float(x @ x + weighted**2 + weighted**4)


def ellipsoid(x: Array) -> float:
    return float(STRETCH @ (ROTATION @ x) ** 2)


def cosines(x: Array) -> float:
    return float(x @ x - 0.1 * np.cos(5 * np.pi * x).sum())


def powers(x: Array) -> float:
    return float(np.sum(np.abs(x) ** np.arange(2, len(x) + 2)))


def valley(x: Array) -> float:
    return float(np.log1p(np.sum((x[1:] - x[:-1] ** 2) ** 2) * 20 + np.sum((x - 1) ** 2)))


DIXON3 = [1.0, 2.0**-0.5, 2.0**-0.75]
OTHERS = {
    function.name: function
    for function in (
        on_cube("camel2", camel, [-2, -1], [2, 1], [0.08984201, -0.71265640]),
        on_cube("goldstein_price2", goldstein_price, [-2, -2], [2, 2], [0, -1]),
        on_cube("hartmann3", hartmann3, [0] * 3, [1] * 3, [0.11461434, 0.55564885, 0.85254695]),
        on_cube("dixon_price3", dixon_price, [-5] * 3, [5] * 3, DIXON3),
        on_cube("powell4", powell, [-4] * 4, [5] * 4, [0] * 4),
        on_cube("zakharov5", zakharov, [-5] * 5, [10] * 5, [0] * 5),
        on_cube("griewank5", griewank, [-10] * 5, [10] * 5, [0] * 5),
        on_cube("ellipsoid6", ellipsoid, [-5] * 6, [5] * 6, [0] * 6),
        on_cube("cosines6", cosines, [-1] * 6, [1] * 6, [0] * 6),
        on_cube("valley7", valley, [-2] * 7, [3] * 7, [1] * 7),
        on_cube("powers8", powers, [-1] * 8, [1] * 8, [0] * 8),
    )
}
