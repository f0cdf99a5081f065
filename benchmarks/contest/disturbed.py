"""Disturbed: BBOB functions as a laboratory would see them, with noise, with crashes, with idle parameters.

noise       told values carry Gaussian noise of 1 % or 10 % of the function's range, or noise with heavy
            tails; it depends on the task and the number of the evaluation alone: the same for all peers
crash       a fifth of the box gives no value: what lies beyond a plane (seed 1) or in a ball (seed 2)
irrelevant  four of eight parameters, at random places, do nothing

The functions are those of ioh on [-5, 5]^5, the irrelevant ones on [-5, 5]^4. The optimum is never in the
part of the box that crashes, but may be close to it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from contest.bbob import Bbob
from contest.high import lowest
from contest.task import Measured, Params, Task

Array = npt.NDArray[np.float64]

FUNCTIONS = {"choosing": (2, 6, 13, 17, 20, 22), "table": (1, 3, 8, 10, 15, 18, 21, 23)}
DIMENSION = 5
RELEVANT, IDLE = 4, 4
CRASHING = 0.2  # of the volume of the box
NOISES: dict[str, Callable[[np.random.Generator], float]] = {  # in units of the range
    "gauss01": lambda rng: 0.01 * rng.standard_normal(),
    "gauss10": lambda rng: 0.10 * rng.standard_normal(),
    "heavy02": lambda rng: 0.02 * rng.standard_t(2),
}


def tasks(part: str) -> list[Task]:
    """The tasks to choose settings on, or those of the table."""
    functions = FUNCTIONS[part]
    instances = {1: 1, 2: 2} if part == "choosing" else {1: 4, 2: 4}  # by seed
    seeded = [(function, *both) for both in instances.items() for function in functions]
    return [
        *[_noisy(Noisy(Bbob(f, DIMENSION, instances[1]), noise, 1)) for noise in NOISES for f in functions],
        *[_crashing(Crashing(Bbob(f, DIMENSION, instance), seed)) for f, seed, instance in seeded],
        *[_irrelevant(Irrelevant(Bbob(f, RELEVANT, instance), seed)) for f, seed, instance in seeded],
    ]


@dataclass(frozen=True)
class Noisy:
    """A function whose told values carry noise."""

    bbob: Bbob
    noise: str
    seed: int

    def __call__(self, params: Params, number: int) -> Measured:
        truth = self.bbob(params, number).truth
        rng = np.random.default_rng([self.seed, number, self.bbob.function, *self.noise.encode()])
        return Measured(float(truth + NOISES[self.noise](rng) * value_range(self.bbob)), truth)


@cache
def value_range(bbob: Bbob) -> float:
    """How far the values spread, without the few that are far higher than all others."""
    values = bbob.problem(_sobol()[:1000].tolist())
    return float(np.quantile(values, 0.95) - np.min(values))


@dataclass(frozen=True)
class Crashing:
    """A function without a value in a part of the box that nobody is told of."""

    bbob: Bbob
    seed: int

    def __call__(self, params: Params, number: int) -> Measured:
        x = np.array([params[name] for name in self.bbob.space])
        if crash_region(self.bbob, self.seed).holds(x):
            return Measured(None, math.inf)
        return self.bbob(params, number)


@dataclass(frozen=True, eq=False)
class Beyond:
    """The points on the far side of a plane."""

    direction: Array
    offset: float

    @classmethod
    def random(cls, rng: np.random.Generator) -> "Beyond":
        direction = rng.standard_normal(DIMENSION)
        return cls(direction, float(np.quantile(_sobol() @ direction, 1.0 - CRASHING)))

    def holds(self, x: Array) -> bool:
        return bool(x @ self.direction > self.offset)


@dataclass(frozen=True, eq=False)
class Ball:
    """The points near a centre."""

    centre: Array
    radius: float

    @classmethod
    def random(cls, rng: np.random.Generator) -> "Ball":
        centre = rng.uniform(-5, 5, DIMENSION)
        return cls(centre, float(np.quantile(np.linalg.norm(_sobol() - centre, axis=1), CRASHING)))

    def holds(self, x: Array) -> bool:
        return bool(np.linalg.norm(x - self.centre) < self.radius)


@cache
def crash_region(bbob: Bbob, seed: int) -> Beyond | Ball:
    """The first random region that leaves the optimum out."""
    rng = np.random.default_rng([bbob.function, bbob.instance, seed])
    best = np.array(bbob.problem.optimum.x)
    shape = Beyond if seed == 1 else Ball
    while (region := shape.random(rng)).holds(best):
        pass
    return region


@dataclass(frozen=True)
class Irrelevant:
    """A function of some of the parameters."""

    bbob: Bbob
    seed: int

    def __call__(self, params: Params, number: int) -> Measured:
        names = zip(self.bbob.space, self.relevant, strict=True)
        return self.bbob({inner: params[outer] for inner, outer in names}, number)

    @cached_property
    def relevant(self) -> list[str]:
        """The names of the parameters that do something."""
        rng = np.random.default_rng([self.bbob.function, self.bbob.instance, self.seed])
        places = rng.permutation(RELEVANT + IDLE)[:RELEVANT]
        return [f"x{place}" for place in sorted(places)]


def _noisy(evaluate: Noisy) -> Task:
    bbob, noise, seed = evaluate.bbob, evaluate.noise, evaluate.seed
    return Task(
        name=f"noise-f{bbob.function:02}-{noise}-i{bbob.instance}-s{seed}",
        group="noise",
        kind=f"f{bbob.function:02}-{noise}",
        space=bbob.space,
        evaluate=evaluate,
        optimum=lowest(bbob.function, bbob.instance),
        seed=seed,
        noisy=True,
    )


def _crashing(evaluate: Crashing) -> Task:
    bbob, seed = evaluate.bbob, evaluate.seed
    return Task(
        name=f"crash-f{bbob.function:02}-i{bbob.instance}-s{seed}",
        group="crash",
        kind=f"f{bbob.function:02}",
        space=bbob.space,
        evaluate=evaluate,
        optimum=lowest(bbob.function, bbob.instance),
        seed=seed,
    )


def _irrelevant(evaluate: Irrelevant) -> Task:
    bbob, seed = evaluate.bbob, evaluate.seed
    return Task(
        name=f"irrelevant-f{bbob.function:02}-i{bbob.instance}-s{seed}",
        group="irrelevant",
        kind=f"f{bbob.function:02}",
        space=Bbob(bbob.function, RELEVANT + IDLE, bbob.instance).space,
        evaluate=evaluate,
        optimum=lowest(bbob.function, bbob.instance),
        seed=seed,
    )


@cache
def _sobol() -> Array:
    """4096 points that fill the box evenly."""
    return np.asarray(10.0 * qmc.Sobol(DIMENSION, seed=0).random_base2(12) - 5.0)
