"""Importance: which parameters the values depend on, and how sure that is.

A, B (N, d)   two samples of points of the grid, independent of each other
f (N, s)      functions drawn from what is believed, see effects.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bopp.data import Array, Data
from bopp.outcome import standardised
from bopp.result import Result
from bopp.threads import one_thread
from bopp.view.canvas import drawable
from bopp.view.effects import Effects
from bopp.view.style import DOTS, GREY, SMALL, finish, panel
from bopp.view.values import finished, searched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 512  # N, a power of two as Sobol sequences need
THETAS, EACH = 16, 8  # sets of hyper-parameters, and functions with each of these
INTERVAL = (0.05, 0.95)


class Share(NamedTuple):
    """The part of the variation that a parameter is involved in, and an interval of 90 %."""

    share: float
    low: float
    high: float


@one_thread()
def importance(result: Result) -> dict[str, Share]:
    """The share of each parameter in the variation of the values, from 0 to 1, with an interval of 90 %.

    A share is a total Sobol index over the whole space, in the unit of the values, divided by the sum of
    those of all parameters: shares add up to 1. It is the mean over functions that agree with the trials, and
    the interval has 90 % of these. What trials do not tell is shared out evenly, with wide intervals. If
    all values are equal, no parameter has a share.
    """
    finished(result, "importance")
    space, told = result.space, result.history().data
    scale = standardised(told.y)
    data = Data(told.X, scale(told.y), scale.noise(told.y, told.noise))
    effects = Effects.of(space, data)
    if data.y.std() < 0.5 or not effects.curves:  # it is 1, or 0 if all values are equal
        return dict.fromkeys(space.parameters, Share(0.0, 0.0, 0.0))
    weights = effects.draw(THETAS, EACH, np.random.default_rng(0))
    A, B = _samples(space.dimension)
    f = effects.sample(space.snap(A), weights)
    parts = []
    for columns in space.columns.values():
        exchanged = A.copy()
        exchanged[:, columns] = B[:, columns]
        # Jansen 1999: E[(f(A) - f(A_B))^2] / 2; also Saltelli et al. 2010, Table 2 (f)
        parts.append(0.5 * np.mean((f - effects.sample(space.snap(exchanged), weights)) ** 2, axis=0))
    shares = np.array(parts) / np.sum(parts, axis=0)
    rows = np.transpose([shares.mean(axis=1), *np.quantile(shares, INTERVAL, axis=1)])
    return {name: Share(*row) for name, row in zip(space.parameters, rows.tolist(), strict=True)}


def _samples(d: int) -> tuple[Array, Array]:
    """A and B before they are moved to the grid, the same at each call."""
    from scipy.stats import qmc  # takes half a second to import, so only where it is used

    U = qmc.Sobol(2 * d, rng=np.random.default_rng(0)).random(POINTS)
    return U[:, :d], U[:, d:]


def draw_importance(result: Result, title: str | None = None) -> Figure:
    """The share of each parameter in the variation with its interval, the most important on top."""
    found = importance(result)
    names = sorted(searched(result.space), key=lambda name: -found[name].share)
    shares, low, high = np.array([found[name] for name in names]).T
    figure, axes = panel(1.4 + 0.3 * len(names))
    axes.barh(range(len(names)), shares, height=0.7, color=DOTS)
    beyond = np.maximum([shares - low, high - shares], 0.0)
    axes.errorbar(shares, range(len(names)), xerr=beyond, fmt="none", ecolor=GREY, capsize=3)
    for row, (share, end) in enumerate(zip(shares, np.maximum(shares, high), strict=True)):
        axes.annotate(f"{share:.2f}", (end, row), (5, 0), textcoords="offset points", va="center", size=SMALL)
    axes.set_yticks(range(len(names)), [drawable(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(0.0, 1.1), ylim=(len(names) - 0.4, -0.6), xticks=np.linspace(0.0, 1.0, 6))
    axes.set_xlabel("share of the variation, with an interval of 90 %")
    return finish(figure, result, title)
