"""Foreign parameters: what other tools search over, as parameters of bopp, and how values translate."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from bopp.errors import SpaceError
from bopp.kinds import in_order
from bopp.number import Float, Int
from bopp.option import Choice
from bopp.parameter import Parameter, is_plain
from bopp.space import Params, Space

OFF = Fraction(1, 10**6)  # in steps: a value further than this from a step is not on it
ROUNDING = 1e-12  # relative to the number of steps: the error of steps that are not exact in binary


def unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Foreign:
    """A parameter, and how its values translate to those of the other tool and back.

    `number` translates any number of theirs, also one between two steps or beyond the range.
    """

    parameter: Parameter
    theirs: Callable[[Any], Any] = unchanged
    ours: Callable[[Any], Any] = unchanged
    number: Callable[[Any], Any] = unchanged

    def where(self, when: Mapping[str, Sequence[Any]] | None) -> Foreign:
        """The same, with a condition under which it applies, in values of ours."""
        return replace(self, parameter=replace(self.parameter, when=when)) if when else self  # type: ignore[type-var]


class Translation:
    """A space, and how its params translate to those of the other tool and back."""

    def __init__(self, parameters: Mapping[str, Foreign]):
        self.parameters = dict(parameters)
        self.space = Space({name: foreign.parameter for name, foreign in self.parameters.items()})

    def theirs(self, params: Params) -> dict[str, Any]:
        return {name: self.parameters[name].theirs(value) for name, value in params.items()}

    def ours(self, values: Mapping[str, Any]) -> Params:
        return self.space.check({name: self._ours(name, value) for name, value in values.items()})

    def value(self, name: str, value: Any) -> Any:
        """One of their values as one of ours."""
        return self.space.parameters[name].check(self._ours(name, value))

    def _ours(self, name: str, value: Any) -> Any:
        try:
            return self.parameters[name].ours(value) if name in self.parameters else value
        except (TypeError, ValueError, OverflowError) as error:
            raise SpaceError(f"{name!r}: wanted a value of this parameter, got {value!r}: {error}") from None


def real(low: float, high: float, log: bool = False) -> Foreign:
    """A real number from low to high."""
    return Foreign(Float(low, high, log)) if low != high else options([low])


def whole(low: int, high: int, log: bool = False) -> Foreign:
    """A whole number from low to high."""
    return Foreign(Int(low, high, log)) if low != high else options([low])


def stepped(low: Any, high: Any, step: Any, origin: Any, log: bool = False) -> Foreign:
    """A number from low to high that is a whole number of steps from the origin."""
    if not step > 0:
        raise SpaceError(f"wanted a step above 0, got {step}")
    first, last = -_whole_steps(origin - low, step), _whole_steps(high - origin, step)
    if first > last:
        raise SpaceError(f"wanted a step that fits between {low} and {high}, got {step}")

    def value(place: int) -> Any:
        return min(max(origin + place * step, low), high)

    def place(value: Any) -> int:
        ratio = _ratio(value - origin, step)
        if isinstance(value, bool) or abs(ratio - round(ratio)) > OFF or not first <= round(ratio) <= last:
            raise SpaceError(f"wanted {low} to {high} in steps of {step} from {origin}")
        return round(ratio)

    def number(value: Any) -> float:
        return float(value - origin) / float(step)

    if first == last:
        return options([value(first)])
    return Foreign(Int(first, last, log), value, place, number)


def options(values: Sequence[Any]) -> Foreign:
    """One of the values, ordered if they are sorted numbers; by index if some are not plain or repeat."""
    values = list(values)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    ordered = in_order(plain)
    if len({(type(value), value) for value in plain if is_plain(value)}) == len(plain):
        return Foreign(Choice(plain, ordered))
    places = Choice(range(len(values)), ordered)
    return Foreign(places, theirs=values.__getitem__, ours=lambda value: _place(values, value))


def _place(values: Sequence[Any], value: Any) -> int:
    for same in (operator.is_, alike):
        for place, option in enumerate(values):
            if same(option, value):
                return place
    raise SpaceError(f"wanted one of {values!r}, got {value!r}")


def alike(a: Any, b: Any) -> bool:
    """Whether two options are the same: of one type, and equal in all that they hold; NaN equals NaN."""
    if a is b or type(a) is not type(b):
        return a is b
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and alike(a.tolist(), b.tolist())
    try:
        return bool(a == b or (a != a and b != b))
    except (TypeError, ValueError):  # data frames, and others whose == gives no single bool
        return False


def _whole_steps(width: Any, step: Any) -> int:
    """How many times the step fits into the width."""
    ratio = _ratio(width, step)
    exact = isinstance(width, Integral) and isinstance(step, Integral)
    return math.floor(ratio if exact else ratio + Fraction(ROUNDING) * max(Fraction(1), abs(ratio)))


def _ratio(width: Any, step: Any) -> Fraction:
    """width / step, exact for integers of any size."""
    numbers = (int(one) if isinstance(one, Integral) else float(one) for one in (width, step))
    return Fraction(next(numbers)) / Fraction(next(numbers))
