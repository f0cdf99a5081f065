"""Pictures of a result by name, each a function that returns a figure; they need the `plot` extra."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bopp.recipe import Recipe
from bopp.view.calibration import draw_calibration
from bopp.view.contour import draw_contour
from bopp.view.convergence import draw_convergence
from bopp.view.coordinates import draw_coordinates
from bopp.view.distribution import draw_distribution
from bopp.view.front import draw_front
from bopp.view.importance import draw_importance
from bopp.view.slices import draw_slices
from bopp.view.timeline import draw_timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def kinds(recipe: Recipe | None = None) -> dict[str, Callable[..., Figure]]:
    """The pictures by name, as functions of a result and a title; the model is that of the recipe."""
    return {
        "convergence": draw_convergence,
        "front": draw_front,
        "slices": partial(draw_slices, recipe=recipe),
        "contour": partial(draw_contour, recipe=recipe),
        "parallel": draw_coordinates,
        "importance": draw_importance,
        "calibration": partial(draw_calibration, recipe=recipe),
        "timeline": draw_timeline,
        "edf": draw_distribution,
    }
