"""Distribution: which share of the trials of one or more studies is at or below each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bopp.data import Array
from bopp.errors import RecipeError
from bopp.result import Result
from bopp.view.values import finished, values_of


@dataclass(frozen=True, eq=False)
class Distribution:
    """The values (n,) of the finished trials in ascending order, and the share at or below each."""

    name: str
    values: Array
    shares: Array


def distributions(results: Mapping[str, Result]) -> list[Distribution]:
    """The distribution of the values of each result; all must have the same objective."""
    found: list[Distribution] = []
    aims = [list(result.problem.objectives.items()) for result in results.values()]
    for (name, result), aim in zip(results.items(), aims, strict=True):
        if aim != aims[0]:
            raise RecipeError(
                f"a distribution wants studies of one objective, got {aims[0]} and {aim} in {name!r}"
            )
        view = "a distribution" if len(results) == 1 else f"a distribution of {name!r}"
        values = np.sort(values_of(result, finished(result, view)))
        found.append(Distribution(name, values, np.arange(1, len(values) + 1) / len(values)))
    return found
