"""The problems of several objectives of the table. Nothing may be chosen on them.

Definitions and reference points are those of BoTorch; a test compares them. The forest is in its own file.
"""

from functools import partial

import numpy as np

from goals.forest import FOREST
from goals.problem import Array, Columns, Problem, cube


def _zdt(X: Array) -> tuple[Array, Array, Array]:
    """The first objective, the distance from the front, and the share of one in the other."""
    distance = 1 + 9 * X[:, 1:].mean(axis=1)
    return X[:, 0], distance, X[:, 0] / distance


def zdt1(X: Array) -> tuple[Columns, Columns]:
    """A convex front (Zitzler et al., 2000)."""
    first, distance, share = _zdt(X)
    return [first, distance * (1 - np.sqrt(share))], []


def zdt2(X: Array) -> tuple[Columns, Columns]:
    """A concave front (Zitzler et al., 2000)."""
    first, distance, share = _zdt(X)
    return [first, distance * (1 - share**2)], []


def zdt3(X: Array) -> tuple[Columns, Columns]:
    """A front of five pieces (Zitzler et al., 2000, without the factor of the distance, as in BoTorch)."""
    first, _, share = _zdt(X)
    return [first, 1 - np.sqrt(share) - share * np.sin(10 * np.pi * first)], []


def dtlz2(X: Array, objectives: int) -> tuple[Columns, Columns]:
    """A front that is part of a sphere (Deb et al., 2005)."""
    angles, others = X[:, : objectives - 1] * np.pi / 2, X[:, objectives - 1 :]
    size = 1 + ((others - 0.5) ** 2).sum(axis=1)
    columns = []
    for number in range(objectives):
        last = objectives - 1 - number
        column = size * np.cos(angles[:, :last]).prod(axis=1)
        columns.append(column * np.sin(angles[:, last]) if number else column)
    return columns, []


def branin_currin(X: Array) -> tuple[Columns, Columns]:
    """Branin's function and Currin's (Belakaria et al., 2019)."""
    x, y = X.T
    u, v = 15 * x - 5, 15 * y
    branin = (v - 5.1 / (4 * np.pi**2) * u**2 + 5 / np.pi * u - 6) ** 2
    branin = branin + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10
    with np.errstate(divide="ignore"):  # the limit at y = 0 is right
        factor = 1 - np.exp(-1 / (2 * y))
    above = 2300 * x**3 + 1900 * x**2 + 2092 * x + 60
    below = 100 * x**3 + 500 * x**2 + 4 * x + 20
    return [branin, factor * above / below], []


def vehicle_safety(X: Array) -> tuple[Columns, Columns]:
    """Mass, acceleration and intrusion of a car in a crash (Tanabe and Ishibuchi, 2020)."""
    a, b, c, d, e = X.T
    mass = 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e
    acceleration = (
        6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d + 0.0861 * a * e
        + 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2
    )  # fmt: skip
    intrusion = (
        -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c - 0.0118 * b * d
        - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2
    )  # fmt: skip
    return [mass, acceleration, intrusion], []


OBJECTIVES = [
    Problem("zdt1", cube(6), zdt1, 2, 0, (11.0, 11.0)),
    Problem("zdt2", cube(6), zdt2, 2, 0, (11.0, 11.0)),
    Problem("zdt3", cube(6), zdt3, 2, 0, (11.0, 11.0)),
    Problem("dtlz2-2", cube(6), partial(dtlz2, objectives=2), 2, 0, (1.1, 1.1)),
    Problem("dtlz2-3", cube(6), partial(dtlz2, objectives=3), 3, 0, (1.1, 1.1, 1.1)),
    Problem("branin-currin", cube(2), branin_currin, 2, 0, (18.0, 6.0)),
    Problem(
        "vehicle-safety", cube(5, 1.0, 3.0), vehicle_safety, 3, 0, (1864.72022, 11.81993945, 0.2903999384)
    ),
    FOREST,
]
