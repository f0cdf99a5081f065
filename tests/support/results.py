"""Results: of an objective at random points, and one in which every field of a trial is used."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from bopp import Choice, Float, Int, Optimizer, Problem, Result, Trial
from bopp.parameter import Parameter
from bopp.space import Params

RICH: dict[str, Parameter] = {
    "x": Float(-1.7e308, 1.7e308),
    "Lernrate 🙂 '\"\0": Float(1e-320, 1e-310, log=True),
    "n": Int(-(2**52), 2**52),
    "m": Int(1, 2**53, log=True),
    "shape": Choice([(1, 2), (3,), (), ((4, None), "x")]),
    "kind": Choice([None, True, 1, 1.0, "1", "é", 2**70]),
    "size": Choice([8, 16, 32], ordered=True),
}


def sampled(problem: Problem, objective: Callable[[Params], Mapping[str, float]], count: int) -> Result:
    """The values of an objective at random points."""
    rng = np.random.default_rng(0)
    points = [problem.space.decode(rng.random(problem.space.dimension)) for _ in range(count)]
    return Result(problem, tuple(Trial(i, one, "done", objective(one)) for i, one in enumerate(points)))


def rich(seed: int = 0, count: int = 12) -> Result:
    """A result with finished, failed, pending, queued and observed trials in a space of every kind."""
    opt = Optimizer(RICH, direction="maximize", seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(count):
        opt.observe(
            opt.space.decode(rng.random(opt.space.dimension)), rng.normal() * 10.0 ** rng.integers(-300, 300)
        )
    opt.tell(opt.ask(), math.nan)
    opt.fail(opt.ask(), "Überlauf: \0 🙂 'quoted'")
    opt.enqueue(opt.trials[0].params)
    opt.ask(2)
    return opt.result
