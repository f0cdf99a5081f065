"""Policy: a function from what is known to pseudo-points; Source: a policy that knows more than points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.known import Known
from bopp.space import Space

if TYPE_CHECKING:
    from bopp.bridges.sources import Translator
    from bopp.problem import Problem

Policy = Callable[[Known], Data]


def generate(policy: Policy, known: Known) -> Data:
    """The points of a policy, or an error if the model cannot use them."""
    points = policy(known)
    if not isinstance(points, Data) or points.X.shape[1] != known.dimension:
        raise RecipeError(f"{policy!r} must return Data with {known.dimension} columns, got {points!r}")
    if not (np.isfinite(points.X).all() and np.isfinite(points.y).all() and (points.noise >= 0.0).all()):
        raise RecipeError(f"{policy!r} must return finite points and values and noises >= 0, got {points!r}")
    return points


class Adds:
    """Gives a policy its `+`, which also takes a plain function on either side."""

    def __add__(self, other: Policy) -> Sum:
        return Sum((*parts(self), *parts(other)))

    def __radd__(self, other: Policy) -> Sum:
        return Sum((*parts(other), *parts(self)))


@dataclass(frozen=True)
class Sum(Adds):
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


@dataclass(frozen=True, eq=False)
class Relative:
    """Another function that resembles the objective, by some of its values, in a unit of their own.

    X        (m, k) its points, in some of the columns of the cube; it does not depend on the others
    y        (m,) its values
    columns  (k,) which columns these are
    sign     1 if larger is better, -1 if smaller is, None if that is as for the objective
    """

    X: Array
    y: Array
    columns: npt.NDArray[np.intp]
    sign: float | None = None


class Source(Adds):
    """A policy that says what somebody knows; how far it is trusted is learned from the measured values.

    A source overrides what it has to say. All of it is in the cube, larger is better.
    """

    trust: float = 0.5
    """How sure its user is of it before anything is measured, from 0 to 1."""

    holds_for_all_values: ClassVar[bool] = False
    """Whether what it says holds for every objective and every limited value, as a symmetry does."""

    @classmethod
    def overrides(cls, member: str) -> bool:
        """Whether sources of this kind have something to say in this member."""
        return getattr(cls, member) is not getattr(Source, member)

    @property
    def data_function(self) -> Callable[..., Any] | None:
        """The function that its data are read from when it is bound; None if it has them already."""
        return None

    def __call__(self, known: Known) -> Data:
        """Points with the values expected of them, in the model's unit."""
        return none(known)

    def bind(self, problem: Problem) -> Source:
        """The source as it can be stored and used for a problem; one that does not fit it is refused."""
        return self

    def translate(self, to: Translator) -> Self:
        """The same knowledge, said in values of another tool, in values of bopp."""
        return self

    def twins(self, space: Space, X: Array) -> Array:
        """Points (g, n, d) that have the same values as the rows of X; NaN where a row has none."""
        return np.empty((0, *X.shape))

    def relatives(self, space: Space) -> tuple[Relative, ...]:
        """Functions that resemble the objective."""
        return ()

    def favour(self, space: Space, U: Array) -> tuple[Array, Array] | None:
        """Where the best point probably is: a log density (m,), at most 0, and its gradient (m, d)."""
        return None

    def draw(self, space: Space, count: int, rng: np.random.Generator) -> Array:
        """Points (count, d) where the best one probably is."""
        return rng.random((count, space.dimension))

    def limits(self) -> tuple[float, float]:
        """The lowest and the highest value that there can be, in the objective's own unit."""
        return -np.inf, np.inf

    def starts(self, space: Space, sign: float) -> list[Array]:
        """Points (d,) to be evaluated first, with NaN in the columns about which nothing is said."""
        return []


def parts(policy: Any) -> tuple[Policy, ...]:
    """The policies that a sum is made of, or the policy itself."""
    return policy.policies if isinstance(policy, Sum) else (policy,)


def sources(policy: Policy) -> tuple[Source, ...]:
    """Those parts of a policy that are sources of knowledge."""
    return tuple(part for part in parts(policy) if isinstance(part, Source))


def without_sources(policy: Policy) -> Policy:
    """The policy without those parts."""
    if not sources(policy):
        return policy
    return Sum(tuple(part for part in parts(policy) if not isinstance(part, Source)))
