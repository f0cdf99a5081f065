"""No model: the points of the scrambled Sobol sequence that follow the given ones."""

import bopp
from contest.points import sobol_points
from contest.task import Params
from goals.problem import BUDGET, Outcome, Problem


class Sobol:
    def __init__(self, problem: Problem, seed: int):
        self.space = bopp.Space(problem.space)
        self.points = sobol_points(self.space.dimension, BUDGET, seed)
        self.told = 0

    def ask(self) -> Params:
        return self.space.decode(self.points[self.told])

    def tell(self, params: Params, outcome: Outcome) -> None:
        self.told += 1
