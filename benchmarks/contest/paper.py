"""Paper: the four models of the paper on its own data, on the paper's scales, which are not logarithmic.

Nothing in bopp was chosen on them for this contest, so all belong to the table. A seed also picks the split
of the data and the weights that a network starts from.
"""

from dataclasses import dataclass
from functools import cache

import bopp
from bopp.paper.problems import LEVENBERG_MARQUARDT, Problem, problem
from contest.task import Measured, Params, Task

SEEDS = {"choosing": (), "table": (1, 2)}
SPACES: dict[str, dict[str, bopp.Parameter]] = {  # so that listing the tasks need not load the data
    "svm_wine": {"C": bopp.Float(0.001, 1000.0), "kernel_scale": bopp.Float(0.0001, 1.0)},
    "nn_wine": {"neurons": bopp.Float(1.0, 100.0), "learning_rate": bopp.Float(1e-6, 1.0)},
    "nn_cancer": LEVENBERG_MARQUARDT.parameters,
    "nn_housing": LEVENBERG_MARQUARDT.parameters,
}


def tasks(part: str) -> list[Task]:
    """The tasks to choose settings on, of which there are none, or those of the table."""
    return [_task(name, seed) for name in SPACES for seed in SEEDS[part]]


@dataclass(frozen=True)
class Evaluate:
    """What the paper reports, with the sign turned where larger is better."""

    name: str
    seed: int

    def __call__(self, params: Params, number: int) -> Measured:
        value = float(model(self.name, self.seed)(params))
        return Measured(value, value)


@cache
def model(name: str, seed: int) -> Problem:
    """One of the paper's problems, its data loaded and split."""
    return problem(name, seed)


def _task(name: str, seed: int) -> Task:
    return Task(
        name=f"paper-{name}-s{seed}",
        group="paper",
        kind=name,
        space=SPACES[name],
        evaluate=Evaluate(name, seed),
        budget=50,
        seed=seed,
    )
