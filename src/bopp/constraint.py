"""Constraints: what a trial must meet. `AtMost` and `AtLeast` are measured, `Holds` and `Linear` are known.

A constraint that is known beforehand is a *condition*: params meet it or not, without an evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bopp.errors import NoResultError, RecipeError
from bopp.legible import brief
from bopp.option import Fixed
from bopp.scales import is_finite
from bopp.space import Params, Space

ROUNDING = 1e-9  # of the terms of a sum and its bound: by so much a linear condition may be missed


class Constraint:
    """What a trial must meet: `AtMost`, `AtLeast`, `Holds` or `Linear`."""

    name: str


@dataclass(frozen=True)
class AtMost(Constraint):
    """The measured value of this name must not be above the bound."""

    name: str
    bound: float

    def margin(self, value: Any) -> Any:
        return self.bound - value


@dataclass(frozen=True)
class AtLeast(Constraint):
    """The measured value of this name must not be below the bound."""

    name: str
    bound: float

    def margin(self, value: Any) -> Any:
        return value - self.bound


@dataclass(frozen=True)
class Holds(Constraint):
    """A condition on the params that can be checked without an evaluation; `name` describes it in words.

    Every suggestion meets it. The predicate is called for thousands of params, so it should be quick.
    """

    name: str
    predicate: Callable[[Params], bool]

    def __call__(self, params: Params) -> bool:
        try:
            return bool(self.predicate(dict(params)))
        except NoResultError:
            raise
        except Exception as error:  # no reason to end a run: it only leaves open which trial is the best
            raise NoResultError(f"the constraint {self.name!r} raised {error!r} for {params}") from error


@dataclass(frozen=True)
class Linear(Constraint):
    """A condition on a weighted sum of params, such as Linear({"a": 1, "b": 2}, at_most=3).

    Every suggestion meets it. A parameter that does not apply counts as 0. A sum may miss its bound by a
    billionth of what is added up.

    Args:
        coefficients: the weight of each parameter in the sum; a Float, an Int or a Fixed number.
        at_most, at_least: the largest and the smallest sum, either or both.
        equals: the only sum, as of a mixture whose shares add up to 1.
        name: the condition in words; None is the formula.
    """

    coefficients: Mapping[str, float]
    at_most: float | None = None
    at_least: float | None = None
    equals: float | None = None
    name: str = field(default="", kw_only=True)

    def __init__(
        self,
        coefficients: Mapping[str, float],
        at_most: float | None = None,
        at_least: float | None = None,
        equals: float | None = None,
        name: str | None = None,
    ):
        if not isinstance(coefficients, Mapping) or not coefficients:
            example = 'Linear({"a": 1, "b": 2}, at_most=3)'
            raise RecipeError(
                f"Linear: wanted coefficients by name as in {example}, got {brief(coefficients)}"
            )
        for key in coefficients:
            if not isinstance(key, str):
                raise RecipeError(f"Linear: wanted names of parameters, got {brief(key)}")
        weights = {key: _finite(f"coefficient of {key!r}", one) for key, one in coefficients.items()}
        if not any(weights.values()):
            raise RecipeError(f"Linear: wanted a coefficient that is not 0, got {brief(dict(coefficients))}")
        given = {"at_most": at_most, "at_least": at_least, "equals": equals}
        bounds = {key: None if one is None else _finite(key, one) for key, one in given.items()}
        said = [key for key, one in bounds.items() if one is not None]
        if not said or ("equals" in said and len(said) > 1):
            got = ", ".join(f"{key}={bounds[key]!r}" for key in said) or "none of them"
            raise RecipeError(f"Linear: wanted equals, or at_most or at_least or both, got {got}")
        for key, one in {"coefficients": weights, **bounds}.items():
            object.__setattr__(self, key, one)
        low, high = self.bounds
        if low > high:
            raise RecipeError(f"Linear: at_least must not be above at_most, got {low!r}, {high!r}")
        object.__setattr__(self, "name", self.formula if name is None else name)

    def __hash__(self) -> int:
        return hash(
            (frozenset(self.coefficients.items()), self.at_most, self.at_least, self.equals, self.name)
        )

    def __call__(self, params: Params) -> bool:
        terms = [one * params[key] for key, one in self.coefficients.items() if key in params]
        total, size = sum(terms), sum(map(abs, terms))
        low, high = self.bounds
        if not math.isfinite(size):
            return False
        below = low == -math.inf or total >= low - ROUNDING * (size + abs(low))
        return below and (high == math.inf or total <= high + ROUNDING * (size + abs(high)))

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest sum, infinite where there is none."""
        if self.equals is not None:
            return self.equals, self.equals
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most

    @property
    def formula(self) -> str:
        """The condition as people write it: a + 2 b <= 3."""
        terms = " ".join(_term(key, one) for key, one in self.coefficients.items())
        terms = f"-{terms[2:]}" if terms.startswith("- ") else terms[2:]
        if self.equals is not None:
            return f"{terms} = {self.equals:.12g}"
        lower = "" if self.at_least is None else f"{self.at_least:.12g} <= "
        if self.at_most is None:
            return f"{terms} >= {self.at_least:.12g}"
        return f"{lower}{terms} <= {self.at_most:.12g}"

    def check(self, space: Space) -> None:
        """Refuse parameters that the space lacks, and those that are no numbers."""
        for name in self.coefficients:
            if name not in space.parameters:
                raise RecipeError(
                    f"{self.name!r}: wanted parameters of the space, {list(space.parameters)}, got {name!r}"
                )
            parameter = space.parameters[name]
            constant = isinstance(parameter, Fixed) and is_finite(parameter.value)
            if not parameter.numeric and not constant:
                raise RecipeError(
                    f"{self.name!r}: wanted a Float, an Int or a Fixed number in a sum, "
                    f"got {name!r}, {brief(parameter)}; Holds takes any condition"
                )
            ends = [getattr(parameter, end, 0.0) for end in ("value", "low", "high")]
            weight = self.coefficients[name]
            if not math.isfinite(len(self.coefficients) * weight * max(abs(float(end)) for end in ends)):
                raise RecipeError(
                    f"{self.name!r}: wanted a sum that a float can hold, got {weight!r} times {name!r}, "
                    f"{brief(parameter)}"
                )


Condition = Holds | Linear


def checked_constraint(constraint: Any) -> AtMost | AtLeast | Holds | Linear:
    """The constraint, if it is a valid one."""
    if not isinstance(constraint, AtMost | AtLeast | Holds | Linear):
        raise RecipeError(f"wanted constraints AtMost, AtLeast, Holds or Linear, got {brief(constraint)}")
    check_name("a constraint", constraint.name)
    if isinstance(constraint, Linear):
        return constraint
    if isinstance(constraint, Holds):
        if not callable(constraint.predicate):
            raise RecipeError(
                f"{constraint.name!r}: wanted a function of params, got {constraint.predicate!r}"
            )
        return constraint
    bound = constraint.bound
    if not is_finite(bound):
        raise RecipeError(f"{constraint.name!r}: wanted a finite number as bound, got {brief(bound)}")
    return type(constraint)(constraint.name, float(bound) + 0.0)


def check_name(what: str, name: Any) -> None:
    """Refuse a name that is no text."""
    if not isinstance(name, str) or not name:
        argument = "constraints" if what == "a constraint" else "objectives"
        raise RecipeError(f"wanted a text as the name of {what}, got {brief(name)}", argument=argument)


def met(condition: Condition, params: Params) -> bool:
    """Whether params meet a condition; that this cannot be told is an error in what was declared."""
    try:
        return condition(params)
    except NoResultError as error:
        raise RecipeError(str(error)) from error.__cause__


def _finite(what: str, value: Any) -> float:
    if not is_finite(value):
        raise RecipeError(f"Linear: wanted a finite number as {what}, got {brief(value)}")
    return float(value) + 0.0  # turns -0.0 into 0.0


def _term(name: str, coefficient: float) -> str:
    size = "" if abs(coefficient) == 1.0 else f"{abs(coefficient):.12g} "
    return f"{'-' if coefficient < 0 else '+'} {size}{name}"
