"""The constrained problems of the table. Nothing may be chosen on them.

The definitions are those of BoTorch where it has the problem; a test compares them.
"""

import numpy as np

from bopp.paper.functions import hartmann6
from goals.problem import Array, Columns, Problem, box, cube


def gramacy(X: Array) -> tuple[Columns, Columns]:
    """A straight slope cut off by a wavy line and a circle (Gramacy et al., 2016)."""
    x, y = X.T
    wave = 1.5 - x - 2 * y - 0.5 * np.sin(2 * np.pi * (x**2 - 2 * y))
    return [x + y], [wave, x**2 + y**2 - 1.5]


def townsend(X: Array) -> tuple[Columns, Columns]:
    """Waves within a heart (Townsend, 2014)."""
    x, y = X.T
    t = np.arctan2(x, y)
    radius = 2 * np.cos(t) - np.cos(2 * t) / 2 - np.cos(3 * t) / 4 - np.cos(4 * t) / 8
    value = -(np.cos((x - 0.1) * y) ** 2) - x * np.sin(3 * x + y)
    return [value], [x**2 + y**2 - radius**2 - (2 * np.sin(t)) ** 2]


def hartmann(X: Array) -> tuple[Columns, Columns]:
    """Hartmann's function of six parameters within the unit ball (Letham et al., 2019)."""
    return [np.array([hartmann6(x) for x in X])], [np.linalg.norm(X, axis=1) - 1.0]


def speed_reducer(X: Array) -> tuple[Columns, Columns]:
    """The weight of a gear box (Lemonge et al., 2010)."""
    a, m, z, l1, l2, d1, d2 = X.T
    weight = (
        0.7854 * a * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
        - 1.508 * a * (d1**2 + d2**2)
        + 7.4777 * (d1**3 + d2**3)
        + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    )
    return [weight], [
        27.0 / (a * m**2 * z) - 1,
        397.5 / (a * m**2 * z**2) - 1,
        1.93 * l1**3 / (m * z * d1**4) - 1,
        1.93 * l2**3 / (m * z * d2**4) - 1,
        np.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (0.1 * d1**3) - 1100,
        np.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (0.1 * d2**3) - 850,
        m * z - 40,
        5 - a / m,
        a / m - 12,
        (1.5 * d1 + 1.9) / l1 - 1,
        (1.1 * d2 + 1.9) / l2 - 1,
    ]


def welded_beam(X: Array) -> tuple[Columns, Columns]:
    """The cost of a welded beam (Coello Coello and Mezura Montes, 2002)."""
    h, l, t, b = X.T  # noqa: E741 (the names of the engineers)
    load, length, young, shear = 6000.0, 14.0, 30e6, 12e6
    moment = load * (length + l / 2)
    radius = np.sqrt(0.25 * (l**2 + (h + t) ** 2))
    polar = 2 * np.sqrt(2) * h * l * (l**2 / 12 + 0.25 * (h + t) ** 2)
    buckling = 4.013 * young * t * b**3 * 6 / length**2 * (1 - 0.25 * t * np.sqrt(young / shear) / length)
    t1, t2 = load / (np.sqrt(2) * h * l), moment * radius / polar
    beam = 0.04811 * t * b * (14.0 + l)
    return [1.10471 * h**2 * l + beam], [
        np.sqrt(t1**2 + t1 * t2 * l / radius + t2**2) - 13600.0,
        6 * load * length / (b * t**2) - 30000.0,
        h - b,
        0.10471 * h**2 + beam - 5.0,
        4 * load * length**3 / (young * t**3 * b) - 0.25,
        load - buckling,
    ]


def pressure_vessel(X: Array) -> tuple[Columns, Columns]:
    """The cost of a vessel whose walls come in sixteenths of an inch (Coello Coello and Mezura Montes, 2002).

    As in BoTorch, the cost is that of the rounded walls, and the constraints are on those before rounding.
    """
    shell, head, radius, length = X.T
    s, h = (np.round(wall / 0.0625) * 0.0625 for wall in (shell, head))
    cost = (
        0.6224 * s * radius * length + 1.7781 * h * radius**2 + 3.1661 * s**2 * length + 19.84 * s**2 * radius
    )
    return [cost], [
        0.0193 * radius - shell,
        0.00954 * radius - head,
        1296000.0 - np.pi * radius**2 * length - 4 / 3 * np.pi * radius**3,
        length - 240.0,
    ]


CONSTRAINED = [
    Problem("gramacy", cube(2), gramacy, 1, 2),
    Problem("townsend", box((-2.25, 2.5), (-2.5, 1.75)), townsend, 1, 1),
    Problem("hartmann6-ball", cube(6), hartmann, 1, 1),
    Problem(
        "speed-reducer",
        box((2.6, 3.6), (0.7, 0.8), (17.0, 28.0), (7.3, 8.3), (7.8, 8.3), (2.9, 3.9), (5.0, 5.5)),
        speed_reducer,
        1,
        11,
    ),
    Problem("welded-beam", box((0.125, 10.0), *[(0.1, 10.0)] * 3), welded_beam, 1, 6),
    Problem(
        "pressure-vessel",
        box((0.0, 10.0), (0.0, 10.0), (10.0, 50.0), (150.0, 200.0)),
        pressure_vessel,
        1,
        4,
    ),
]
