"""Problem: something to minimise under constraints, or in several objectives at once.

All objectives are minimised, and a constraint is met where its value is at most zero.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import bopp
from contest.points import sobol_points
from contest.task import Params

Array = npt.NDArray[np.float64]
Columns = Sequence[Array]
Functions = Callable[[Array], tuple[Columns, Columns]]

KNOWN = Path(__file__).parent / "known.json"
BUDGET = 60  # evaluations of a run, given points included


class Outcome(NamedTuple):
    """What one evaluation gives."""

    objectives: list[float]
    constraints: list[float]


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem.

    name         unique among all problems
    space        parameters by name, as bopp has them; peers translate
    functions    points (n, d) -> a column (n,) for each objective, and one for each constraint
    objectives   how many there are
    constraints  how many there are
    reference    the corner that bounds the hypervolume; none if there is one objective
    """

    name: str
    space: Mapping[str, bopp.Parameter]
    functions: Functions
    objectives: int
    constraints: int
    reference: tuple[float, ...] = ()

    @property
    def group(self) -> str:
        """Which table it counts for."""
        return "constrained" if self.objectives == 1 else "objectives"

    @property
    def dimension(self) -> int:
        return len(self.space)

    @property
    def given(self) -> int:
        """How many points every optimizer is given to begin with."""
        return max(5, min(self.dimension + 1, 10))

    def given_points(self, seed: int) -> list[Params]:
        """The beginning of the scrambled Sobol sequence of a seed."""
        space = bopp.Space(self.space)
        return [space.decode(u) for u in sobol_points(space.dimension, self.given, seed)]

    def evaluate(self, params: Params) -> Outcome:
        """The values at one point."""
        objectives, constraints = self.values(np.array([[float(params[name]) for name in self.space]]))
        return Outcome(objectives[0].tolist(), constraints[0].tolist())

    def values(self, X: Array) -> tuple[Array, Array]:
        """Objectives (n, objectives) and constraints (n, constraints) at points (n, d)."""
        objectives, constraints = self.functions(X)
        nothing = np.empty((len(X), 0))
        return np.column_stack([nothing, *objectives]), np.column_stack([nothing, *constraints])

    @property
    def known(self) -> dict[str, float]:
        """What is known of the solution, as `goals_known.py` found it.

        best    the best value that meets all constraints
        worst   the worst such value of a random sample
        volume  the hypervolume of all that can be reached
        """
        return _known()[self.name]


@cache
def _known() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(KNOWN.read_text())
    return found


def box(*bounds: tuple[float, float]) -> dict[str, bopp.Parameter]:
    """A space of numbers x1, x2, ... within these bounds."""
    return {f"x{number}": bopp.Float(low, high) for number, (low, high) in enumerate(bounds, start=1)}


def cube(dimension: int, low: float = 0.0, high: float = 1.0) -> dict[str, bopp.Parameter]:
    """A space of so many numbers with equal bounds."""
    return box(*[(low, high)] * dimension)
