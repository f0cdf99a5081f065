"""Task: something to minimise, in a form that bopp and every peer can be set to work on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import bopp

Params = dict[str, Any]


class Measured(NamedTuple):
    """What one evaluation gives: the value that an optimizer is told, and the true one.

    The told value is None if the evaluation crashed, and carries noise if the task is noisy. A crash has
    the true value inf.
    """

    value: float | None
    truth: float


@dataclass(frozen=True, eq=False)
class Task:
    """One problem with one set of given points.

    name      such as "bbob-f01-d05-i4", unique in the contest
    group     which table it counts for, such as "bbob" or "tuning"
    kind      the function or data set without dimension, instance and seed, such as "f01"
    space     parameters by name, as bopp has them; peers translate
    evaluate  params and the number of the evaluation (0, 1, ...) -> Measured; the same for the same arguments
    optimum   the lowest true value there can be; None if nobody knows
    budget    evaluations, given points included
    given     how many points every optimizer is given to begin with
    seed      of the given points, of the noise, and of the optimizers
    noisy     whether told values carry noise, so that a point may be worth a second evaluation
    """

    name: str
    group: str
    kind: str
    space: Mapping[str, bopp.Parameter]
    evaluate: Callable[[Params, int], Measured]
    optimum: float | None = None
    budget: int = 60
    given: int = 5
    seed: int = 0
    noisy: bool = False
