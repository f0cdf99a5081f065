"""No model: the points of the scrambled Sobol sequence that follow the given ones."""

from collections.abc import Mapping

import bopp
from contest.points import sobol_points
from contest.task import Params


class Sobol:
    def __init__(self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool):
        self.space = bopp.Space(space)
        self.points = sobol_points(self.space.dimension, budget, seed)
        self.told = 0

    def ask(self) -> Params:
        return self.space.decode(self.points[self.told])

    def tell(self, params: Params, value: float | None) -> None:
        self.told += 1
