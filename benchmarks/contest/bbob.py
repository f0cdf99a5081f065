"""The 24 noiseless functions of BBOB, as the package ioh has them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ioh

import bopp
from contest.task import Measured, Params, Task

FUNCTIONS = range(1, 25)
DIMENSIONS = (2, 5, 10)
INSTANCES = {"choosing": (1, 2, 3), "table": (4, 5)}


@dataclass(frozen=True)
class Bbob:
    """One function, rotated and shifted as its instance says, on the box from -5 to 5."""

    function: int
    dimension: int
    instance: int

    def __call__(self, params: Params, number: int) -> Measured:
        value = float(self.problem([params[name] for name in self.space]))
        return Measured(value, value)

    @cached_property
    def problem(self) -> Any:
        return ioh.get_problem(self.function, self.instance, self.dimension, ioh.ProblemClass.BBOB)

    @cached_property
    def space(self) -> dict[str, bopp.Parameter]:
        return {f"x{i}": bopp.Float(-5, 5) for i in range(self.dimension)}


def tasks(part: str) -> list[Task]:
    """Every function in every dimension, with the instances of one part of the contest."""
    return [
        _task(Bbob(function, dimension, instance))
        for instance in INSTANCES[part]
        for dimension in DIMENSIONS
        for function in FUNCTIONS
    ]


def _task(bbob: Bbob) -> Task:
    return Task(
        name=f"bbob-f{bbob.function:02}-d{bbob.dimension:02}-i{bbob.instance}",
        group="bbob",
        kind=f"f{bbob.function:02}",
        space=bbob.space,
        evaluate=bbob,
        optimum=float(bbob.problem.optimum.y),
        budget=100,
        given=5,
        seed=bbob.instance,
    )
