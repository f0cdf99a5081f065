"""Importance: which parameters the values depend on, and how sure that is.

A, B (N, d)   two samples of points of the grid, independent of each other
f (N, s)      functions drawn from what is believed, see effects.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bopp.data import Array, Data
from bopp.outcome import standardised
from bopp.result import Result
from bopp.threads import one_thread
from bopp.view.effects import Effects
from bopp.view.values import finished

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
