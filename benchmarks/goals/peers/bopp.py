"""Bopp as it comes, and with the reference point of the hypervolume."""

from collections.abc import Mapping
from typing import Any

import bopp
from contest.task import Params
from goals.problem import Outcome, Problem


class Bopp:
    def __init__(self, problem: Problem, seed: int, **knowing: Any):
        self.names = [f"f{number + 1}" for number in range(problem.objectives)]
        self.limits = [f"c{number + 1}" for number in range(problem.constraints)]
        declared = bopp.Problem(
            problem.space,
            objectives=dict.fromkeys(self.names, "minimize"),
            constraints=[bopp.AtMost(name, 0.0) for name in self.limits],
            **knowing,
        )
        self.optimizer = bopp.Optimizer(declared, seed=seed)
        self.asked: bopp.Trial | None = None

    def ask(self) -> Params:
        self.asked = self.optimizer.ask()
        return dict(self.asked.params)

    def tell(self, params: Params, outcome: Outcome) -> None:
        if self.asked is None:
            self.optimizer.observe(params, self._named(outcome))
        else:
            self.optimizer.tell(self.asked, self._named(outcome))
        self.asked = None

    def _named(self, outcome: Outcome) -> Mapping[str, float]:
        values = [*outcome.objectives, *outcome.constraints]
        return dict(zip([*self.names, *self.limits], values, strict=True))


def bopp_with_reference(problem: Problem, seed: int) -> Bopp:
    """Bopp, told the reference point of the hypervolume, as BoTorch is."""
    corner = {f"f{number + 1}": value for number, value in enumerate(problem.reference)}
    return Bopp(problem, seed, reference=corner)
