"""Problems on which settings may be chosen. None of them is in the table."""

import numpy as np

from goals.problem import Array, Columns, Problem, box, cube


def g4(X: Array) -> tuple[Columns, Columns]:
    """Himmelblau's problem, number 4 of Koziel and Michalewicz (1999)."""
    a, b, c, d, e = X.T
    u = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
    v = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2
    w = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
    value = 5.3578547 * c**2 + 0.8356891 * a * e + 37.293239 * a - 40792.141
    return [value], [u - 92, -u, v - 110, 90 - v, w - 25, 20 - w]


def g6(X: Array) -> tuple[Columns, Columns]:
    """A sliver between two circles, number 6 of Koziel and Michalewicz (1999)."""
    x, y = X.T
    within = (x - 6) ** 2 + (y - 5) ** 2 - 82.81
    return [(x - 10) ** 3 + (y - 20) ** 3], [100 - (x - 5) ** 2 - (y - 5) ** 2, within]


def g8(X: Array) -> tuple[Columns, Columns]:
    """Many peaks, of which few are allowed, number 8 of Koziel and Michalewicz (1999)."""
    x, y = X.T
    with np.errstate(divide="ignore", invalid="ignore"):
        value = -(np.sin(2 * np.pi * x) ** 3) * np.sin(2 * np.pi * y) / (x**3 * (x + y))
    return [np.where(x > 0, value, 0.0)], [x**2 - y + 1, 1 - x + (y - 4) ** 2]


def g9(X: Array) -> tuple[Columns, Columns]:
    """Seven parameters, number 9 of Koziel and Michalewicz (1999)."""
    a, b, c, d, e, f, g = X.T
    value = (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2 + 10 * e**6 + 7 * f**2 + g**4
    return [value - 4 * f * g - 10 * f - 8 * g], [
        2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e - 127,
        7 * a + 3 * b + 10 * c**2 + d - e - 282,
        23 * a + b**2 + 6 * f**2 - 8 * g - 196,
        4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * g,
    ]


def keane(X: Array) -> tuple[Columns, Columns]:
    """Keane's bumps, whose best is on the border."""
    squares = np.cos(X) ** 2
    above = (squares**2).sum(axis=1) - 2 * squares.prod(axis=1)
    below = np.sqrt((np.arange(1, X.shape[1] + 1) * X**2).sum(axis=1))
    value = -np.abs(above) / np.maximum(below, 1e-12)
    return [value], [0.75 - X.prod(axis=1), X.sum(axis=1) - 7.5 * X.shape[1]]


def spring(X: Array) -> tuple[Columns, Columns]:
    """The weight of a spring (Hedar and Fukushima, 2006); constraints count to 100, as in BoTorch."""
    w, d, n = X.T
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = (4 * d**2 - w * d) / (12566 * w**3 * (d - w)) + 1 / (5108 * w**2) - 1
    constraints = [1 - d**3 * n / (71785 * w**4), bend, 1 - 140.45 * w / (n * d**2), (w + d) / 1.5 - 1]
    return [w**2 * d * (n + 2)], [np.fmin(one, 100.0) for one in constraints]


def truss(X: Array) -> tuple[Columns, Columns]:
    """The volume of a truss of three bars (Ray and Saini, 2001)."""
    x, y = X.T
    root, load, most = np.sqrt(2), 2.0, 2.0
    below = root * x**2 + 2 * x * y
    return [(2 * root * x + y) * 100], [
        (root * x + y) / below * load - most,
        y / below * load - most,
        1 / (root * y + x) * load - most,
    ]


def bird(X: Array) -> tuple[Columns, Columns]:
    """Mishra's bird within a circle."""
    x, y = X.T
    value = np.sin(y) * np.exp((1 - np.cos(x)) ** 2) + np.cos(x) * np.exp((1 - np.sin(y)) ** 2) + (x - y) ** 2
    return [value], [(x + 5) ** 2 + (y + 5) ** 2 - 25]


def gomez_levy(X: Array) -> tuple[Columns, Columns]:
    """The camel with six humps, on islands (Gomez and Levy, 1982)."""
    x, y = X.T
    value = 4 * x**2 - 2.1 * x**4 + x**6 / 3 + x * y - 4 * y**2 + 4 * y**4
    return [value], [-np.sin(4 * np.pi * x) + 2 * np.sin(2 * np.pi * y) ** 2 - 1.5]


def ackley(X: Array) -> tuple[Columns, Columns]:
    """Ackley's function in half a ball (Eriksson and Poloczek, 2021)."""
    far = np.sqrt((X**2).mean(axis=1))
    value = -20 * np.exp(-0.2 * far) - np.exp(np.cos(2 * np.pi * X).mean(axis=1)) + 20 + np.e
    return [value], [X.sum(axis=1), np.linalg.norm(X, axis=1) - 5]


def kursawe(X: Array) -> tuple[Columns, Columns]:
    """A front of several pieces (Kursawe, 1991)."""
    first = -10 * np.exp(-0.2 * np.sqrt(X[:, :-1] ** 2 + X[:, 1:] ** 2)).sum(axis=1)
    return [first, (np.abs(X) ** 0.8 + 5 * np.sin(X**3)).sum(axis=1)], []


def fonseca(X: Array) -> tuple[Columns, Columns]:
    """Two bells on a plain (Fonseca and Fleming, 1995)."""
    shift = 1 / np.sqrt(X.shape[1])
    return [1 - np.exp(-((X + sign * shift) ** 2).sum(axis=1)) for sign in (-1, 1)], []


def poloni(X: Array) -> tuple[Columns, Columns]:
    """A front of two pieces (Poloni, 1997)."""
    x, y = X.T
    a = 0.5 * np.sin(1) - 2 * np.cos(1) + np.sin(2) - 1.5 * np.cos(2)
    b = 1.5 * np.sin(1) - np.cos(1) + 2 * np.sin(2) - 0.5 * np.cos(2)
    c = 0.5 * np.sin(x) - 2 * np.cos(x) + np.sin(y) - 1.5 * np.cos(y)
    d = 1.5 * np.sin(x) - np.cos(x) + 2 * np.sin(y) - 0.5 * np.cos(y)
    return [1 + (a - c) ** 2 + (b - d) ** 2, (x + 3) ** 2 + (y + 1) ** 2], []


def viennet(X: Array) -> tuple[Columns, Columns]:
    """Three objectives of two parameters (Viennet et al., 1996)."""
    x, y = X.T
    far = x**2 + y**2
    second = (3 * x - 2 * y + 4) ** 2 / 8 + (x - y + 1) ** 2 / 27 + 15
    return [0.5 * far + np.sin(far), second, 1 / (far + 1) - 1.1 * np.exp(-far)], []


def zdt6(X: Array) -> tuple[Columns, Columns]:
    """A concave front that few points are near to (Zitzler et al., 2000)."""
    first = 1 - np.exp(-4 * X[:, 0]) * np.sin(6 * np.pi * X[:, 0]) ** 6
    distance = 1 + 9 * X[:, 1:].mean(axis=1) ** 0.25
    return [first, distance * (1 - (first / distance) ** 2)], []


def dtlz7(X: Array) -> tuple[Columns, Columns]:
    """A front of several pieces, here of two objectives (Deb et al., 2005, with the distance of BoTorch)."""
    first, distance = X[:, 0], 2 + 9 * X[:, 1:].mean(axis=1)
    return [first, distance * (2 - first / distance * (1 + np.sin(3 * np.pi * first)))], []


def bnh(X: Array) -> tuple[Columns, Columns]:
    """Two objectives, two constraints (Binh and Korn, 1997)."""
    x, y = X.T
    objectives = [4 * (x**2 + y**2), (x - 5) ** 2 + (y - 5) ** 2]
    return objectives, [(x - 5) ** 2 + y**2 - 25, 7.7 - (x - 8) ** 2 - (y + 3) ** 2]


def osy(X: Array) -> tuple[Columns, Columns]:
    """Two objectives, six constraints (Osyczka and Kundu, 1995)."""
    a, b, c, d, e, f = X.T
    first = -(25 * (a - 2) ** 2 + (b - 2) ** 2 + (c - 1) ** 2 + (d - 4) ** 2 + (e - 1) ** 2)
    return [first, (X**2).sum(axis=1)], [
        2 - a - b,
        a + b - 6,
        b - a - 2,
        a - 3 * b - 2,
        (c - 3) ** 2 + d - 4,
        4 - (e - 3) ** 2 - f,
    ]


CHOOSING = [
    Problem("g4", box((78, 102), (33, 45), *[(27, 45)] * 3), g4, 1, 6),
    Problem("g6", box((13, 100), (0, 100)), g6, 1, 2),
    Problem("g8", cube(2, 0, 10), g8, 1, 2),
    Problem("g9", cube(7, -10, 10), g9, 1, 4),
    Problem("keane4", cube(4, 0, 10), keane, 1, 2),
    Problem("spring", box((0.01, 1), (0.01, 1), (0.01, 20)), spring, 1, 4),
    Problem("truss", cube(2, 0.001, 1), truss, 1, 3),
    Problem("bird", box((-10, 0), (-6.5, 0)), bird, 1, 1),
    Problem("gomez-levy", box((-1, 0.75), (-1, 1)), gomez_levy, 1, 1),
    Problem("ackley5", cube(5, -5, 10), ackley, 1, 2),
    Problem("kursawe", cube(3, -5, 5), kursawe, 2, 0, (-14.0, 2.0)),
    Problem("fonseca", cube(3, -4, 4), fonseca, 2, 0, (1.1, 1.1)),
    Problem("poloni", cube(2, -np.pi, np.pi), poloni, 2, 0, (20.0, 30.0)),
    Problem("viennet", cube(2, -3, 3), viennet, 3, 0, (9.0, 18.0, 0.25)),
    Problem("zdt6", cube(4), zdt6, 2, 0, (1.1, 11.0)),
    Problem("dtlz7", cube(5), dtlz7, 2, 0, (15.0, 15.0)),
    Problem("bnh", box((0, 5), (0, 3)), bnh, 2, 2, (150.0, 55.0)),
    Problem("osy", box((0, 10), (0, 10), (1, 5), (0, 6), (1, 5), (0, 10)), osy, 2, 6, (-25.0, 90.0)),
]
