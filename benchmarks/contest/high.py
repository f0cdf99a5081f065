"""High: BBOB functions of 20, 50 and 100 parameters, with 200 evaluations.

Most optimizers are chosen on few parameters. These tasks ask what is left of that where a grid, a
triangulation or a length scale for every parameter is no longer to be had.
"""

from contest.bbob import Bbob
from contest.task import Task

TASKS = {  # (dimension, instance): functions
    "choosing": {(20, 1): (2, 6, 13, 20), (50, 1): (9, 16, 20), (100, 1): (9, 16)},
    "table": {(20, 4): (3, 8, 10, 15, 17, 21), (50, 4): (8, 15, 17, 21), (100, 4): (8, 15, 17, 21)},
}


def tasks(part: str) -> list[Task]:
    """The tasks to choose settings on, or those of the table."""
    return [
        _task(Bbob(function, dimension, instance))
        for (dimension, instance), functions in TASKS[part].items()
        for function in functions
    ]


def lowest(function: int, instance: int) -> float:
    """The minimum of a BBOB function, which is the same in all dimensions and quick to have in two."""
    return float(Bbob(function, 2, instance).problem.optimum.y)


def _task(bbob: Bbob) -> Task:
    return Task(
        name=f"high-f{bbob.function:02}-d{bbob.dimension:03}-i{bbob.instance}",
        group="high",
        kind=f"f{bbob.function:02}",
        space=bbob.space,
        evaluate=bbob,
        optimum=lowest(bbob.function, bbob.instance),
        budget=200,
        given=10,
        seed=bbob.instance,
    )
