"""Results with two objectives."""

from bopp import Float, Problem, Result, Trial
from bopp.problem import Direction

SPACE = {"x": Float(0, 100)}


BOTH: dict[str, Direction] = {"error": "minimize", "speed": "maximize"}


def result_of(problem: Problem, *rows: tuple[float | None, ...] | None) -> Result:
    """Trials with these values of a problem; None is a failed trial."""
    trials = [
        Trial(n, {"x": float(n)}, "failed", error="no")
        if row is None
        else Trial(n, {"x": float(n)}, "done", dict(zip(problem.names, row, strict=True)))
        for n, row in enumerate(rows)
    ]
    return Result(problem, tuple(trials))


FIVE: dict[str, Direction] = dict.fromkeys("abcde", "minimize")
