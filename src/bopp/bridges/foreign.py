"""Foreign parameters: what other tools search over, as parameters of bopp, and the way between the two."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bopp.errors import SpaceError
from bopp.parameter import Choice, Float, Int, Parameter
from bopp.space import Params, Space

ROUNDING = Fraction(1, 10**9)  # of a step: what is lost where steps are no round numbers in binary


def unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Foreign:
    """A parameter, and how its values become theirs and theirs become its."""

    parameter: Parameter
    theirs: Callable[[Any], Any] = unchanged
    ours: Callable[[Any], Any] = unchanged


class Translation:
    """A space, and how its params become theirs and theirs become its."""

    def __init__(self, parameters: Mapping[str, Foreign]):
        self.parameters = dict(parameters)
        self.space = Space({name: foreign.parameter for name, foreign in self.parameters.items()})

    def theirs(self, params: Params) -> dict[str, Any]:
        return {name: self.parameters[name].theirs(value) for name, value in params.items()}

    def ours(self, values: Mapping[str, Any]) -> Params:
        known = self.parameters
        return self.space.check(
            {name: known[name].ours(value) if name in known else value for name, value in values.items()}
        )


def real(low: float, high: float, log: bool = False) -> Foreign:
    """A real number from low to high."""
    return Foreign(Float(low, high, log)) if low != high else options([low])


def whole(low: int, high: int, log: bool = False) -> Foreign:
    """A whole number from low to high."""
    return Foreign(Int(low, high, log)) if low != high else options([low])


def stepped(low: Any, high: Any, step: Any, origin: Any, log: bool = False) -> Foreign:
    """Those of origin, origin + step, origin + 2 step and so on that lie between low and high."""
    first = math.ceil(_ratio(low - origin, step) - ROUNDING)
    last = math.floor(_ratio(high - origin, step) + ROUNDING)
    if first > last:
        raise SpaceError(f"wanted a step that fits between {low} and {high}, got {step}")

    def value(place: int) -> Any:
        return min(max(origin + place * step, low), high)

    if first == last:
        return options([value(first)])
    return Foreign(
        Int(first, last, log), theirs=value, ours=lambda value: round(_ratio(value - origin, step))
    )


def options(values: Sequence[Any]) -> Foreign:
    """One of the values; numbers in order are taken as ordered, and what is no plain value by its place."""
    values = list(values)
    if not values:
        raise SpaceError("wanted at least one option, got none")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    distinct = len({(type(value), value) for value in plain if _is_plain(value)}) == len(plain)
    if distinct:
        return Foreign(Choice(plain, ordered=_in_order(plain)))
    return Foreign(
        Choice(range(len(values))), theirs=values.__getitem__, ours=lambda value: _place(values, value)
    )


def _is_plain(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and value == value)


def _in_order(values: Sequence[Any]) -> bool:
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return False
    return sorted(values) in (values, values[::-1])


def _place(values: Sequence[Any], value: Any) -> int:
    for place, option in enumerate(values):
        if option is value or (type(option) is type(value) and np.array_equal(option, value)):
            return place
    raise SpaceError(f"wanted one of {values!r}, got {value!r}")


def _ratio(width: Any, step: Any) -> Fraction:
    """width / step, exact also for integers of any size."""
    return Fraction(width) / Fraction(step)
