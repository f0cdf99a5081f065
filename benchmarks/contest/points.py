"""The given points of a task: the beginning of the scrambled Sobol sequence of its seed."""

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

import bopp
from contest.task import Params, Task


def sobol_points(dimension: int, count: int, seed: int) -> npt.NDArray[np.float64]:
    """The first points of the scrambled Sobol sequence of a seed."""
    # a power of two keeps the sequence balanced; a shorter draw is its beginning
    points = qmc.Sobol(dimension, rng=seed).random_base2(max(count - 1, 1).bit_length())
    return np.asarray(points[:count], dtype=np.float64)


def given_points(task: Task) -> list[Params]:
    """The params that every optimizer is given to begin with."""
    space = bopp.Space(task.space)
    return [space.decode(u) for u in sobol_points(space.dimension, task.given, task.seed)]
