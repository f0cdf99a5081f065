"""Distribution: which share of the trials of one or more studies is at or below each value."""

from __future__ import annotations

from collections.abc import Mapping
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


def distributions(results: Mapping[str, Result]) -> dict[str, Array]:
    """The values (n,) of the finished trials of each result, ascending; all must have the same objective."""
    found = {}
    aims = [list(result.problem.objectives.items()) for result in results.values()]
    for (name, result), aim in zip(results.items(), aims, strict=True):
        if aim != aims[0]:
            raise RecipeError(
                f"a distribution wants studies of one objective, got {aims[0]} and {aim} in {name!r}"
            )
        view = "a distribution" if len(results) == 1 else f"a distribution of {name!r}"
        found[name] = np.sort(values_of(result, finished(result, view)))
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
    low, high = limits(np.concatenate(list(shown.values())), [best_value(result)])
    for place, (one, exact) in enumerate(shown.items()):
        values = np.clip(bounded(exact), low, None)
        axes.step(
            [low, *values, max(high, values[-1])],
            [*np.linspace(0.0, 1.0, len(values) + 1), 1.0],
            where="post",
            color=COLOURS[place % len(COLOURS)],
            linestyle=("-", "--", ":")[place // len(COLOURS) % 3],
            label=f"{drawable(one)} ({len(values)} trials)",
        )
    axes.set(xlim=(low, high), xlabel=drawable(result.problem.objective))
    axes.set(ylim=(0.0, 1.02), ylabel="share of trials at or below")
    return finish(figure, result, title)
