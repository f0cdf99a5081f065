"""Distribution: which share of the trials of one or more studies is at or below each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bopp.data import Array
from bopp.errors import RecipeError
from bopp.result import Result
from bopp.view.canvas import bounded, drawable
from bopp.view.style import COLOURS, finish, limits, panel
from bopp.view.values import best_value, finished, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def draw_distribution(
    result: Result, others: Mapping[str, Result] | None = None, title: str | None = None
) -> Figure:
    """The share of the trials that are at or below each value, beside that of other studies."""
    others = {} if others is None else others
    if not isinstance(others, Mapping) or not all(isinstance(other, Result) for other in others.values()):
        raise RecipeError(f"wanted others as a dict of name to Result, got {others!r}")
    name = "this study" if title is None else str(title)
    if name in others:
        raise RecipeError(f"wanted a different name for each study, got {name!r} twice")
    shown = distributions({name: result, **others})
    figure, axes = panel()
    low, high = limits(np.concatenate([one.values for one in shown]), [best_value(result)])
    for place, one in enumerate(shown):
        values = np.clip(bounded(one.values), low, None)
        axes.step(
            [low, *values, max(high, values[-1])],
            [0.0, *one.shares, 1.0],
            where="post",
            color=COLOURS[place % len(COLOURS)],
            linestyle=("-", "--", ":")[place // len(COLOURS) % 3],
            label=f"{drawable(one.name)} ({len(one.values)} trials)",
        )
    axes.set(xlim=(low, high), xlabel=drawable(result.problem.objective))
    axes.set(ylim=(0.0, 1.02), ylabel="share of trials at or below")
    return finish(figure, result, title)
