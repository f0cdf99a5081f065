"""Pictures of a result, each a function that returns a figure; they need the `plot` extra.

course   what happened: convergence, the timeline of the workers, the distribution of the values
front    the trials by their objectives, and the front of them
lines    every trial as a line across all parameters
model    what the model believes: slices, contour, importance, calibration
style    colours, titles, legends and limits that all of them share
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bopp.recipe import Recipe
from bopp.view.drawing.course import convergence, edf, timeline
from bopp.view.drawing.front import front
from bopp.view.drawing.lines import coordinates
from bopp.view.drawing.model import calibration, contour, importances, slices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "calibration",
    "contour",
    "convergence",
    "coordinates",
    "edf",
    "front",
    "importances",
    "kinds",
    "slices",
    "timeline",
]


def kinds(recipe: Recipe | None = None) -> dict[str, Callable[..., Figure]]:
    """The pictures by name, as functions of a result and a title; the model is that of the recipe."""
    return {
        "convergence": convergence,
        "front": front,
        "slices": partial(slices, recipe=recipe),
        "contour": partial(contour, recipe=recipe),
        "parallel": coordinates,
        "importance": importances,
        "calibration": partial(calibration, recipe=recipe),
        "timeline": timeline,
        "edf": edf,
    }
