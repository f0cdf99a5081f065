"""Functions with known Sobol indices: ten to choose a method on, and ten others to confirm it on.

x (m, d)   points; a column is uniform over [0, 1], or over the numbers of the options of a Choice
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from bopp import Choice, Float, Parameter
from bopp.data import Array
from bopp.paper.functions import HARTMANN_A, HARTMANN_ALPHA, HARTMANN_P

POINTS = 2**17  # for the indices, from random points: an error of about 0.003


@dataclass(frozen=True)
class Function:
    """A function of points, and how many options each column has; 0 for numbers between 0 and 1."""

    name: str
    formula: Callable[[Array], Array]
    options: tuple[int, ...]

    @property
    def space(self) -> dict[str, Parameter]:
        return {
            f"x{i}": Choice(range(count)) if count else Float(0, 1) for i, count in enumerate(self.options)
        }

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Random points."""
        U = rng.random((count, len(self.options)))
        return np.where(self.options, np.floor(U * self.options), U)


@dataclass(frozen=True)
class Indices:
    """Sobol indices of a function: of each parameter alone, and of all that it is involved in."""

    first: Array
    total: Array


@cache
def indices(function: Function) -> Indices:
    """The indices from two independent samples of points (Saltelli et al. 2010, Table 2 (b) and (f))."""
    rng = np.random.default_rng(0)
    A, B = function.draw(POINTS, rng), function.draw(POINTS, rng)
    of_A, of_B = function.formula(A), function.formula(B)
    variance, centre = np.concatenate([of_A, of_B]).var(), of_A.mean()
    first, total = [], []
    for column in range(A.shape[1]):
        exchanged = A.copy()
        exchanged[:, column] = B[:, column]
        of_exchanged = function.formula(exchanged)
        first.append(np.mean((of_B - centre) * (of_exchanged - of_A)) / variance)
        total.append(np.mean((of_A - of_exchanged) ** 2) / (2.0 * variance))
    return Indices(np.maximum(first, 0.0), np.array(total))


def linear(*weights: float) -> Callable[[Array], Array]:
    return lambda x: np.asarray(x @ np.array(weights))


def bowl(weights: list[float], centre: list[float]) -> Callable[[Array], Array]:
    return lambda x: np.asarray((x - centre) ** 2 @ np.array(weights))


def ishigami(x: Array) -> Array:
    a, b, c = (2.0 * np.pi * x[:, :3] - np.pi).T
    return np.asarray(np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a))


def g(*a: float) -> Callable[[Array], Array]:
    """Sobol's g-function; the larger a_i, the less important x_i."""
    return lambda x: np.asarray(np.prod((np.abs(4.0 * x - 2.0) + a) / (1.0 + np.array(a)), axis=1))


def friedman(x: Array) -> Array:
    together = 10.0 * np.sin(np.pi * x[:, 0] * x[:, 1])
    return np.asarray(together + 20.0 * (x[:, 2] - 0.5) ** 2 + 10.0 * x[:, 3] + 5.0 * x[:, 4])


def curves(x: Array) -> Array:
    """One curve for each of five parameters."""
    return np.asarray(
        np.sin(6.0 * x[:, 0])
        + 2.0 * (x[:, 1] - 0.3) ** 2
        + 0.5 * np.exp(x[:, 2])
        + np.abs(x[:, 3] - 0.6)
        + 0.3 * np.cos(9.0 * x[:, 4])
    )


def products(x: Array) -> Array:
    """Two pairs of parameters, each of which does little alone."""
    centred = x - 0.5
    return np.asarray(8.0 * centred[:, 0] * centred[:, 1] + 4.0 * centred[:, 2] * x[:, 3] + 0.5 * x[:, 4])


def hartmann(x: Array) -> Array:
    away = np.sum(HARTMANN_A * (x[:, None, :] - HARTMANN_P) ** 2, axis=2)
    return np.asarray(-np.exp(-away) @ HARTMANN_ALPHA)


def borehole(x: Array) -> Array:
    """The flow of water through a borehole (Harper, Gupta 1983); the radius of influence evenly here."""
    low = np.array([0.05, 100.0, 63070.0, 990.0, 63.1, 700.0, 1120.0, 9855.0])
    high = np.array([0.15, 50000.0, 115600.0, 1110.0, 116.0, 820.0, 1680.0, 12045.0])
    radius, influence, upper, upper_head, lower, lower_head, length, conductivity = (low + x * (high - low)).T
    logs = np.log(influence / radius)
    leak = 2.0 * length * upper / (logs * radius**2 * conductivity)
    return np.asarray(2.0 * np.pi * upper * (upper_head - lower_head) / (logs * (1.0 + leak + upper / lower)))


def layers(x: Array) -> Array:
    """A choice of four that shifts the values and decides what the first number is good for."""
    kind = x[:, 0].astype(int)
    shift, slope = np.array([0.0, 0.4, 0.5, 2.0])[kind], np.array([2.0, 1.0, -1.0, 0.5])[kind]
    return np.asarray(shift + slope * x[:, 1] + 2.0 * (x[:, 2] - 0.7) ** 2 + 0.5 * x[:, 3])


def cosines(x: Array) -> Array:
    return np.asarray(np.cos(np.pi * x * [1, 2, 3, 1, 2, 3]) @ np.array([2.0, 1.5, 1.0, 0.5, 0.25, 0.1]))


def styblinski_tang(x: Array) -> Array:
    z = 10.0 * x - 5.0
    return np.asarray((z**4 - 16.0 * z**2 + 5.0 * z) @ np.array([1.0, 0.8, 0.5, 0.2]))


def rosenbrock(x: Array) -> Array:
    z = 4.0 * x - 2.0
    return np.asarray(np.sum(100.0 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (1.0 - z[:, :-1]) ** 2, axis=1))


def circuit(x: Array) -> Array:
    """The voltage of a push-pull circuit without an output transformer (Ben-Ari, Steinberg 2007)."""
    low = np.array([50.0, 25.0, 0.5, 1.2, 0.25, 50.0])
    high = np.array([150.0, 70.0, 3.0, 2.5, 1.2, 300.0])
    b1, b2, f, c1, c2, gain = (low + x * (high - low)).T
    base = 12.0 * b2 / (b1 + b2)
    load = gain * (c2 + 9.0)
    shared = load + f
    bias = (base + 0.74) * load / shared + 11.35 * f / shared + 0.74 * f * load / (shared * c1)
    return np.asarray(bias)


def branin(x: Array) -> Array:
    a, b = 15.0 * x[:, 0] - 5.0, 15.0 * x[:, 1]
    parabola = b - 5.1 / (4.0 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0
    return np.asarray(parabola**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0)


def ackley(x: Array) -> Array:
    z = (4.0 * x - 2.0) * [1.0, 0.7, 0.4, 0.2]
    waves = np.exp(np.mean(np.cos(2.0 * np.pi * z), axis=1))
    return np.asarray(20.0 + np.exp(1.0) - 20.0 * np.exp(-0.2 * np.sqrt(np.mean(z**2, axis=1))) - waves)


def saddle(x: Array) -> Array:
    return np.asarray(x[:, 0] * x[:, 1] + 2.0 * (x[:, 2] - 0.5) * (x[:, 3] - 0.2) + 0.3 * x[:, 4])


def optimizers(x: Array) -> Array:
    """Two choices and three numbers; of the first choice, one option is far the worst."""
    shift = np.array([0.0, 0.2, 3.0])[x[:, 0].astype(int)]
    away = np.array([0.3, 0.6, 0.5])[x[:, 0].astype(int)]
    return np.asarray(shift + 0.4 * x[:, 1] + 5.0 * (x[:, 2] - away) ** 2 + (x[:, 3] - 0.5) ** 2)


CHOSEN_ON = [
    Function("linear5", linear(1.0, 0.8, 0.6, 0.4, 0.2), (0,) * 5),
    Function("cosines6", cosines, (0,) * 6),
    Function("g4", g(0.5, 0.5, 3.0, 9.0), (0,) * 4),
    Function("styblinski4", styblinski_tang, (0,) * 4),
    Function("rosenbrock4", rosenbrock, (0,) * 4),
    Function("circuit6", circuit, (0,) * 6),
    Function("branin5", branin, (0,) * 5),
    Function("ackley4", ackley, (0,) * 4),
    Function("saddle5", saddle, (0,) * 5),
    Function("optimizers5", optimizers, (3, 2, 0, 0, 0)),
]
CONFIRMED_ON = [
    Function("linear6", linear(8.0, 4.0, 2.0, 1.0, 0.5, 0.0), (0,) * 6),
    Function("curves6", curves, (0,) * 6),
    Function("bowl5", bowl([4.0, 3.0, 2.0, 1.0, 0.5], [0.3, 0.6, 0.2, 0.7, 0.4]), (0,) * 5),
    Function("ishigami4", ishigami, (0,) * 4),
    Function("g6", g(0.0, 1.0, 4.5, 9.0, 99.0, 99.0), (0,) * 6),
    Function("friedman7", friedman, (0,) * 7),
    Function("hartmann6", hartmann, (0,) * 6),
    Function("borehole8", borehole, (0,) * 8),
    Function("products5", products, (0,) * 5),
    Function("layers5", layers, (4, 0, 0, 0, 0)),
]
