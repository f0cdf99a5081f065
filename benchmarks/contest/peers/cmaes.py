"""CMA-ES of the package cmaes, from the best of the given points."""

from collections.abc import Mapping

import numpy as np
from cmaes import CMA

import bopp
from contest.peers.cube import Array, Cube
from contest.task import Params

SIGMA = 0.3  # of the width of the cube


class Cmaes:
    """Integers and choices are rounded; an evaluation that crashed counts as the worst so far."""

    def __init__(self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool):
        self.cube, self.seed = Cube(space), seed
        self.start: Array = np.full(self.cube.dimension, 0.5)
        self.best, self.worst = np.inf, -np.inf
        self.strategy: CMA | None = None
        self.asked: Array | None = None
        self.population: list[tuple[Array, float]] = []

    def ask(self) -> Params:
        if self.strategy is None:
            bounds = np.array([[0.0, 1.0]] * self.cube.dimension)
            self.strategy = CMA(self.start, SIGMA, bounds=bounds, seed=self.seed)
        self.asked = self.strategy.ask()
        return self.cube.decode(self.asked)

    def tell(self, params: Params, value: float | None) -> None:
        if value is not None:
            self.worst = max(self.worst, value)
        if self.strategy is None or self.asked is None:
            if value is not None and value < self.best:
                self.start, self.best = self.cube.encode(params), value
            return
        known = self.worst if np.isfinite(self.worst) else 0.0
        self.population.append((self.asked, known if value is None else value))
        if len(self.population) == self.strategy.population_size:
            self.strategy.tell(self.population)
            self.population = []
