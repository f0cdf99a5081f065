"""Importance: which parameters the values depend on, as far as the model can tell.

A, B (N, d)   two samples of points of the grid, independent of each other
f             the posterior mean, in the model's unit
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from bopp.data import Array
from bopp.errors import NoResultError
from bopp.gp import Posterior
from bopp.result import Result
from bopp.space import Space
from bopp.suggest import Recipe, believe
from bopp.threads import one_thread

POINTS = 1024  # N, a power of two as Sobol sequences want
FLAT = 1e-6  # a mean whose sd is below this part of the sd of the data is constant but for rounding


@one_thread()
def importance(result: Result) -> dict[str, float]:
    """The part of the variation of the default model's mean that a parameter takes part in, from 0 to 1.

    These are total Sobol indices over the whole space, in the model's unit, where outliers weigh little. They
    add up to 1 if each parameter acts for itself, and to more where the effect of one depends on another.
    Where no trial has been, the mean is the average of all values: in a run that kept to one option, that
    parameter looks more important than it may be.
    """
    if not any(trial.state == "done" for trial in result.trials):
        raise NoResultError(f"importance wants a finished trial, got none in {len(result.trials)} trials")
    _, (posterior, *_) = believe(result.history(), Recipe.default(), (0, 0))
    space = result.space
    A, B = _samples(space)
    f = _mean(posterior, A)
    if f.std() < FLAT:
        return dict.fromkeys(space.parameters, 0.0)
    indices = {}
    for name, columns in space.columns.items():
        exchanged = A.copy()
        exchanged[:, columns] = B[:, columns]
        # Jansen 1999: E[(f(A) - f(A_B))^2] / (2 V); also Saltelli et al. 2010, Table 2 (f)
        index = np.mean((f - _mean(posterior, exchanged)) ** 2) / (2.0 * f.var())
        indices[name] = float(min(index, 1.0))
    return indices


def _samples(space: Space) -> tuple[Array, Array]:
    """A and B, the same at each call."""
    from scipy.stats import qmc  # half a second to import: only where it is used

    d = space.dimension
    U = qmc.Sobol(2 * d, rng=np.random.default_rng(0)).random(POINTS)
    return space.snap(U[:, :d]), space.snap(U[:, d:])


def _mean(posterior: Posterior, U: Array) -> Array:
    """The mean alone: n steps a point, where mean and standard deviation together take n^2."""
    alpha = solve_triangular(posterior.L, posterior.whitened, trans="T", lower=True)
    parts = np.array_split(U, -(-len(U) // 64))
    return np.concatenate([posterior.gp.covariance(part, posterior.data.X)[0] @ alpha for part in parts])
