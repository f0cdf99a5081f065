"""Pending and Failed: trials that have no value, or not yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.known import Known
from bopp.pseudo.policy import Adds

MOST_SHOWN = (
    1000  # pending or failed points in a model: that many cost a tenth of a second, ten times more minutes
)

MANY = 500  # observations of which the mean alone is asked for, which is far cheaper

Valuation = Callable[[Known, Array], Array]


@dataclass(frozen=True)
class _Untold(Adds):
    """Points without a value, with the one that `value` gives them."""

    value: str | Valuation

    def __post_init__(self) -> None:
        if not callable(self.value) and self.value not in tuple(VALUATIONS):
            kind, wanted = type(self).__name__, ", ".join(map(repr, VALUATIONS))
            raise RecipeError(f"{kind}: value must be one of {wanted} or a function, got {self.value!r}")

    def _valued(self, X: Array, known: Known) -> Data:
        X, valuation = _shown(X), VALUATIONS[self.value] if isinstance(self.value, str) else self.value
        return Data(X, valuation(known, X) if len(X) else np.empty(0))


@dataclass(frozen=True)
class Pending(_Untold):
    """Points under evaluation, with the value expected of them, so that they are not suggested again.

    `value` is a key of `VALUATIONS`, which docs/pending.md compares, or a function of what is known and the
    points. Of more than 1000 points, the model sees the latest 500, and 500 spaced evenly among the others.
    """

    value: str | Valuation = "expected"

    def __call__(self, known: Known) -> Data:
        return self._valued(known.pending, known)


@dataclass(frozen=True)
class Failed(_Untold):
    """Points whose evaluation failed, with a poor value, so that the search keeps away from them.

    `value` is a key of `VALUATIONS` or a function of what is known and the points. Of more than 1000 points,
    the model sees the latest 500, and 500 spaced evenly among the others.
    """

    value: str | Valuation = "pessimistic"

    def __call__(self, known: Known) -> Data:
        return self._valued(known.failed, known)


VALUATIONS: dict[str, Valuation] = {
    "expected": lambda known, X: np.minimum(known.posterior(X)[0], _incumbent(known)),
    "incumbent": lambda known, X: _same(X, _incumbent(known)),
    "posterior": lambda known, X: known.posterior(X)[0],
    "pessimistic": lambda known, X: _pessimistic(known, X),
    "best": lambda known, X: _same(X, known.data.y.max()),
    "worst": lambda known, X: _same(X, known.data.y.min()),
    "mean": lambda known, X: _same(X, known.data.y.mean()),
}
"""Values for points that have none, in this order: the model's mean at the point, but no more than at the
incumbent; its mean at the incumbent; its mean at the point; that mean minus two standard deviations, but at
most the median observed value; and the best, worst and mean observed value."""


def _shown(X: Array) -> Array:
    """The points of which the model is told; the search keeps off the very places of all others too."""
    if len(X) <= MOST_SHOWN:
        return X
    latest, spaced = MOST_SHOWN // 2, MOST_SHOWN - MOST_SHOWN // 2
    earlier = np.arange(spaced) * (len(X) - latest) // spaced
    return np.vstack([X[earlier], X[-latest:]])


def _pessimistic(known: Known, X: Array) -> Array:
    """No better than the median, or an overconfident model would try the same failure for ever."""
    mean, sd = known.posterior(X)
    return np.minimum(mean - 2.0 * sd, np.median(known.data.y))


def _incumbent(known: Known) -> float:
    """The model's mean at the incumbent, the observed point where it is highest."""
    X = known.data.X
    return float((known.posterior.mean(X) if len(X) > MANY else known.posterior(X)[0]).max())


def _same(X: Array, value: float) -> Array:
    return np.full(len(X), value)
