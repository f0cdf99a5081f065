"""Toys: small data, and what is known of them, for tests of several modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bopp import Choice, Float, Int, Parameter
from bopp.belief import Belief, Beliefs
from bopp.data import Array, Data
from bopp.fit import MAP
from bopp.gp import GP, Posterior
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.known import Known
from bopp.outcome import Scale
from bopp.quadratic import BOWL
from bopp.space import Space

KERNELS: tuple[Kernel, ...] = (SquaredExponential(), Matern52())


def smooth(n: int, d: int, seed: int) -> Data:
    """n random points of the cube with the values of a smooth function, mean 0 and sd 1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(3.0 * X @ rng.uniform(0.5, 1.5, d)) + X @ rng.uniform(-0.5, 0.5, d)
    return Data(X, (y - y.mean()) / y.std())


def peaked(n: int, d: int, seed: int) -> Data:
    """As `smooth`, but the best is inside the cube: what a model expects there is no corner."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(4.0 * X).sum(axis=1) + 0.5 * np.sin(8.0 * X @ rng.uniform(0.5, 1.5, d))
    return Data(X, (y - y.mean()) / y.std())


def known(
    data: Data,
    gp: GP | None = None,
    pending: Array | None = None,
    failed: Array | None = None,
    t: int = 1,
    seed: int = 0,
) -> Known:
    """What is known after `data`, with no point pending or failed unless given."""
    nowhere = np.empty((0, data.X.shape[1]))
    model = gp or GP(Matern52(), np.full(data.X.shape[1], 0.4), 1.2, 1e-3)
    space = Space({f"x{i}": Float(0, 1) for i in range(data.X.shape[1])})
    return Known(
        space,
        Scale(),
        data,
        model.condition(data),
        nowhere if pending is None else pending,
        nowhere if failed is None else failed,
        t,
        (seed,),
    )


def gp_of(belief: Belief) -> GP:
    """The process that a belief of it came from."""
    assert isinstance(belief, Posterior)
    return belief.gp


def data_of(belief: Belief) -> Data:
    """The data that a belief has seen."""
    assert isinstance(belief, Posterior)
    return belief.data


def features(U: Array) -> Array:
    """Functions of the cube (m, ...) of which a quadratic trend is a sum, each weighted by a N(0, 1)."""
    u = (U - 0.5) * np.sqrt(12.0 / U.shape[1])
    pairs = (u[:, :, None] * u[:, None, :]).reshape(len(u), -1)
    round_bowl = np.sqrt(BOWL) * (u**2).sum(axis=1, keepdims=True)
    return np.hstack([np.ones((len(u), 1)), np.sqrt(2.0) * u, pairs, round_bowl])


def slope(f: Callable[[Array], float], x: Array, step: float = 1e-5) -> Array:
    """The gradient of f at x by central differences."""
    return np.array([(f(x + step * e) - f(x - step * e)) / (2.0 * step) for e in np.eye(len(x))])


def near(parameter: Parameter, value: Any) -> list[Any]:
    """The values that are tried in place of one."""
    columns, _ = parameter.around(np.array([parameter.encode(value)]))
    return [parameter.decode(row) for row in columns.tolist()]


def spelled_out(parameter: Parameter, value: Any) -> list[Any]:
    """The same, one by one: other options, and integers that are a power of two away."""
    if isinstance(parameter, Choice):
        return [option for option in parameter.options if option is not value]
    if not isinstance(parameter, Int) or not parameter.gridded:
        return []
    steps = [2**power for power in range(parameter.levels.bit_length())]
    numbers = (value + sign * step for step in steps for sign in (-1, 1))
    return [number for number in numbers if parameter.low <= number <= parameter.high]


@dataclass(frozen=True, eq=False)
class Flat:
    """A belief of one's own, not a Gaussian process: the average of what was seen, and doubt far from it."""

    data: Data
    noise: float = 1e-3

    def __call__(self, U: Array) -> tuple[Array, Array]:
        return self.mean(U), np.sqrt(0.1 + self._away(U)[0])

    def mean(self, U: Array) -> Array:
        return np.full(len(U), self.data.y.mean())

    def gradient(self, U: Array) -> tuple[Array, Array, Array, Array]:
        mean, sd = self(U)
        return mean, sd, np.zeros_like(U), self._away(U)[1] / (2.0 * sd[:, None])

    def sample(self, U: Array, count: int, rng: np.random.Generator) -> Array:
        mean, sd = self(U)
        return mean + sd * rng.standard_normal((count, len(U)))

    def difference(self, A: Array, B: Array) -> Array:
        return np.asarray(np.sum((A - B) ** 2, axis=1))

    def condition(self, extra: Data) -> Flat:
        return Flat(self.data + extra)

    def _away(self, U: Array) -> tuple[Array, Array]:
        gap = U - self.data.X.mean(axis=0)
        return np.sum(gap**2, axis=1), 2.0 * gap


def flat(data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
    """A fit that believes it."""
    return Beliefs.even([Flat(data)])


@dataclass(frozen=True)
class Counted:
    """A fit that counts its calls."""

    inner: MAP = MAP()
    calls: list[int] = field(default_factory=list, compare=False)

    def __call__(self, data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        self.calls.append(len(data))
        return self.inner(data, kernel, rng)
