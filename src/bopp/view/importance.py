"""Importance: which parameters the values depend on, as far as the model can tell.

A, B (N, d)   two samples of points of the grid, independent of each other
f             the mean of the model, in its own unit
"""

from __future__ import annotations

import numpy as np

from bopp.data import Array
from bopp.result import Result
from bopp.space import Space
from bopp.suggest import Recipe, believe
from bopp.threads import one_thread
from bopp.view.values import finished

POINTS = 1024  # N, a power of two as Sobol sequences need
FLAT = 1e-6  # a mean with an sd below this, in the model's unit, is constant up to rounding


@one_thread()
def importance(result: Result, recipe: Recipe | None = None) -> dict[str, float]:
    """The share of the variation of the model's mean that involves each parameter, from 0 to 1.

    The model is that of the recipe; None is the default one. These are total Sobol indices over the whole
    space, in the model's unit, where outliers weigh little. They add up to 1 if no parameter's
    effect depends on another's, and to more otherwise. Far from all trials, the mean is the average of all
    values: in a run that kept to one option, that parameter may look more important than it is.
    """
    finished(result, "importance")
    beliefs = believe(result.history().data, Recipe.default() if recipe is None else recipe).beliefs
    space = result.space
    A, B = _samples(space)
    f = beliefs.mean(A)
    if f.std() < FLAT:
        return dict.fromkeys(space.parameters, 0.0)
    indices = {}
    for name, columns in space.columns.items():
        exchanged = A.copy()
        exchanged[:, columns] = B[:, columns]
        # Jansen 1999: E[(f(A) - f(A_B))^2] / (2 V); also Saltelli et al. 2010, Table 2 (f)
        index = np.mean((f - beliefs.mean(exchanged)) ** 2) / (2.0 * f.var())
        indices[name] = float(min(index, 1.0))
    return indices


def _samples(space: Space) -> tuple[Array, Array]:
    """A and B, the same at each call."""
    from scipy.stats import qmc  # takes half a second to import, so only where it is used

    d = space.dimension
    U = qmc.Sobol(2 * d, rng=np.random.default_rng(0)).random(POINTS)
    return space.snap(U[:, :d]), space.snap(U[:, d:])
