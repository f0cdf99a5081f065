"""Mixed integer: the 24 BBOB functions with whole numbers, from COCO's suite bbob-mixint.

Four fifths of the parameters are integers with 2, 4, 8 or 16 values, a fifth are floats. The values
of an integer are spread over the box of the BBOB function, so that the fewer there are, the larger the jumps;
COCO moves each function so that its minimum is at one of them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import bopp
from contest.high import lowest
from contest.task import Measured, Params, Task

FUNCTIONS = range(1, 25)
INSTANCES = {"choosing": {5: 1, 10: 2}, "table": {5: 4, 10: 5}}  # by dimension
VALUES = (2, 4, 8, 16)  # how many an integer has
SCALE = {  # what COCO multiplies the values of BBOB by, the minimum included; 1 elsewhere
    **dict.fromkeys((12,), 1e-4),
    **dict.fromkeys((2, 10), 1e-3),
    **dict.fromkeys((6, 8, 9, 11), 1e-2),
    **dict.fromkeys((3, 4, 13, 15, 20, 24), 0.1),
    **dict.fromkeys((17, 19, 23), 10.0),
}


def tasks(part: str) -> list[Task]:
    """The tasks to choose settings on, or those of the table."""
    return [
        _task(function, dimension, instance)
        for dimension, instance in INSTANCES[part].items()
        for function in FUNCTIONS
    ]


@dataclass(frozen=True)
class Evaluate:
    """The value of a function of bbob-mixint."""

    function: int
    dimension: int
    instance: int

    def __call__(self, params: Params, number: int) -> Measured:
        x = [params[name] for name in space(self.dimension)]
        value = float(problem(self.function, self.dimension, self.instance)(x))
        return Measured(value, value)


@cache
def problem(function: int, dimension: int, instance: int) -> Any:
    """A function of COCO, which takes a point as a list."""
    return _suite().get_problem_by_function_dimension_instance(function, dimension, instance)


@cache
def _suite() -> Any:
    """All of bbob-mixint; its problems live as long as it does."""
    import cocoex

    return cocoex.Suite("bbob-mixint", "", "")


@cache
def space(dimension: int) -> dict[str, bopp.Parameter]:
    """The bounds that COCO gives all functions of a dimension, a multiple of five: integers first."""
    each = dimension // 5
    integers: list[bopp.Parameter] = [bopp.Int(0, values - 1) for values in VALUES for _ in range(each)]
    parameters = [*integers, *[bopp.Float(-5, 5)] * each]
    return {f"x{i}": parameter for i, parameter in enumerate(parameters)}


def _task(function: int, dimension: int, instance: int) -> Task:
    return Task(
        name=f"mixint-f{function:02}-d{dimension:02}-i{instance}",
        group="mixed-integer",
        kind=f"f{function:02}",
        space=space(dimension),
        evaluate=Evaluate(function, dimension, instance),
        optimum=lowest(function, instance) * SCALE.get(function, 1.0),
        seed=instance,
    )
