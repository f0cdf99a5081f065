"""Pseudo-points: everything you know but did not measure.

A policy is a function from what is known to points with values and noises:

    policy(known: Known) -> Data

The model sees these points for one suggestion and then forgets them. Each policy sees real data only;
combine policies with `+`. Any function with this signature is a policy, alone or in a sum:

    def mirror(known):
        return Data(1.0 - known.data.X, known.data.y)

    recipe = replace(Recipe.default(), pseudo=Pending() + mirror)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.known import Known

MOST_SHOWN = (
    1000  # pending or failed points in a model: that many cost a tenth of a second, ten times more minutes
)

Policy = Callable[[Known], Data]
Valuation = Callable[[Known, Array], Array]


def generate(policy: Policy, known: Known) -> Data:
    """The points of a policy, or an error if the model cannot use them."""
    points = policy(known)
    if not isinstance(points, Data) or points.X.shape[1] != known.dimension:
        raise RecipeError(f"{policy!r} must return Data with {known.dimension} columns, got {points!r}")
    if not (np.isfinite(points.X).all() and np.isfinite(points.y).all() and (points.noise >= 0.0).all()):
        raise RecipeError(f"{policy!r} must return finite points and values and noises >= 0, got {points!r}")
    return points


class _Adds:
    """Gives a policy its `+`, which also takes a plain function on either side."""

    def __add__(self, other: Policy) -> Sum:
        return Sum((*_parts(self), *_parts(other)))

    def __radd__(self, other: Policy) -> Sum:
        return Sum((*_parts(other), *_parts(self)))


@dataclass(frozen=True)
class Sum(_Adds):
    """The points of several policies together."""

    policies: tuple[Policy, ...] = ()

    def __post_init__(self) -> None:
        for policy in self.policies:
            if not callable(policy):
                raise RecipeError(f"wanted policies, which are functions of what is known, got {policy!r}")

    def __call__(self, known: Known) -> Data:
        points = Data.empty(known.dimension)
        for place, policy in enumerate(self.policies):
            own = replace(known, key=(*known.key, place))  # no two policies draw the same numbers
            points += generate(policy, own)
        return points


none = Sum()
"""No pseudo-points: plain Bayesian optimization."""


@dataclass(frozen=True)
class Neighbours(_Adds):
    """The paper's policy: neighbours of observed points, with the values of those points.

    Args:
        tau0: scale of the distance; the neighbours lie tau_t = tau0 / (d * l_t) away, in widths of the cube.
        shape: "box" draws uniformly within tau_t in each coordinate, "corner" exactly tau_t away in each.
        per_point: neighbours per observation, so that l_t = per_point * |D_t|.
        count: l_t as a function of t, in place of `per_point`.
        distance: tau_t as a function of t, in place of `tau0`.
        doubt: give a copied value the model's noise, as in the paper, or the squared difference that the
            prior expects over that distance, if it is larger. With `doubt=False`, copies of nearly
            noise-free values fake flat slopes, and the mean between them swings far beyond the data.

    A step that would leave the cube goes the other way.
    """

    tau0: float = 0.001
    shape: Literal["box", "corner"] = "box"
    per_point: int = 1
    count: Callable[[int], int] | None = None
    distance: Callable[[int], float] | None = None
    doubt: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.tau0, int | float) or not 0.0 <= self.tau0 < np.inf:
            raise RecipeError(f"Neighbours: tau0 must be a finite number >= 0, got {self.tau0!r}")
        if self.shape not in ("box", "corner"):
            raise RecipeError(f"Neighbours: shape must be 'box' or 'corner', got {self.shape!r}")
        if not isinstance(self.per_point, int) or self.per_point < 0:
            raise RecipeError(f"Neighbours: per_point must be an integer >= 0, got {self.per_point!r}")
        for name in ("count", "distance"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise RecipeError(f"Neighbours: {name} must be a function of t or None, got {function!r}")

    def __call__(self, known: Known) -> Data:
        n, d = known.data.X.shape
        l_t = self.count(known.t) if self.count else self.per_point * n
        if not isinstance(l_t, int | np.integer) or l_t < 0:
            raise RecipeError(f"Neighbours: count must return an integer >= 0, got {l_t!r}")
        if l_t == 0 or n == 0:
            return none(known)
        tau_t = self.distance(known.t) if self.distance else self.tau0 / (d * l_t)
        rng = known.generator()
        source = known.data[np.resize(rng.permutation(n), l_t)]
        step = rng.uniform(-tau_t, tau_t, (l_t, d))
        if self.shape == "corner":
            step = np.copysign(tau_t, step)
        leaves = (source.X + step < 0.0) | (source.X + step > 1.0)
        X = np.clip(source.X + np.where(leaves, -step, step), 0.0, 1.0)
        expected = known.posterior.difference(source.X, X) - known.posterior.noise
        doubt = np.maximum(0.0, expected) if self.doubt else 0.0
        return Data(X, source.y, source.noise + doubt)


@dataclass(frozen=True)
class Pending(_Adds):
    """Points under evaluation, with the value expected of them, so that they are not suggested again.

    `value` is a key of `VALUATIONS`, which docs/pending.md compares, or a function of what is known and the
    points. Of more than 1000 points, the model sees the latest 500, and 500 spaced evenly among the others.
    """

    value: str | Valuation = "expected"

    def __post_init__(self) -> None:
        _check_valuation("Pending", self.value)

    def __call__(self, known: Known) -> Data:
        X = _shown(known.pending)
        return Data(X, _valuation(self.value)(known, X))


@dataclass(frozen=True)
class Failed(_Adds):
    """Points whose evaluation failed, with a poor value, so that the search keeps away from them.

    `value` is a key of `VALUATIONS` or a function of what is known and the points. Of more than 1000 points,
    the model sees the latest 500, and 500 spaced evenly among the others.
    """

    value: str | Valuation = "pessimistic"

    def __post_init__(self) -> None:
        _check_valuation("Failed", self.value)

    def __call__(self, known: Known) -> Data:
        X = _shown(known.failed)
        return Data(X, _valuation(self.value)(known, X))


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
    return float(known.posterior(known.data.X)[0].max())


def _same(X: Array, value: float) -> Array:
    return np.full(len(X), value)


def _valuation(value: str | Valuation) -> Valuation:
    return VALUATIONS[value] if isinstance(value, str) else value


def _check_valuation(policy: str, value: str | Valuation) -> None:
    if not callable(value) and value not in tuple(VALUATIONS):
        wanted = ", ".join(map(repr, VALUATIONS))
        raise RecipeError(f"{policy}: value must be one of {wanted} or a function, got {value!r}")


def _parts(policy: Any) -> tuple[Policy, ...]:
    return policy.policies if isinstance(policy, Sum) else (policy,)
