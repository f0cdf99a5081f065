"""Pictures of a result, each a function that returns a figure; they need the `plot` extra.

course   what happened: convergence, the timeline of the workers, the distribution of the values
front    the trials by their objectives, and the front of them
lines    every trial as a line across all parameters
model    what the model believes: slices, contour, importance, calibration
style    colours, titles, legends and limits that all of them share
"""

from bopp.view.drawing.course import convergence, edf, timeline
from bopp.view.drawing.front import front
from bopp.view.drawing.lines import coordinates
from bopp.view.drawing.model import calibration, contour, importances, slices

__all__ = [
    "calibration",
    "contour",
    "convergence",
    "coordinates",
    "edf",
    "front",
    "importances",
    "slices",
    "timeline",
]
