"""Numbers: Float and Int, on a scale that is linear or logarithmic, continuous or in steps.

NumPy's logarithms and powers of an array can differ in the last bit with the processor and the position in
the array; its sums, products and quotients cannot. So the columns of values on a grid are computed with the
latter, or one at a time with `math`, and `snap` agrees bit for bit with `decode` followed by `encode`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.legible import brief
from bopp.parameter import Parameter, Rows, When
from bopp.scales import (
    check_range,
    check_step,
    even,
    from_unit,
    log_ratio,
    position,
    real,
    round_numbers,
    steps_between,
    to_unit,
    whole,
)

LARGEST = 2**53  # a float can tell all integers up to this one apart
EXACT_LEVELS = 2**50  # NumPy's arithmetic can tell this many evenly spaced integers apart
EXACT_LOG_LEVELS = 2**40  # the same on a logarithmic column, where spacing shrinks towards the top
LOG_BITS = 43  # of a longer one, numbers of so many significant bits come back from their column as they are
TABULATED = 4096  # a logarithmic Int with up to this many values is encoded in advance
ROUNDING = 1e-12  # relative to a number of steps: what computing low, high or the step may have done to it
DOUBT = 1e-12  # the relative error of NumPy's exponentials is far below this


class Number(Parameter):
    """A number between two ends, in one column; Float or Int."""

    low: Any
    high: Any
    log: bool
    width = 1

    @property
    def logarithmic(self) -> bool:
        return self.log

    def place(self, value: Any) -> float:
        return to_unit(value, self.low, self.high, self.log)

    def position(self, value: Any) -> float:
        number = real("value", value)
        if self.log and number <= 0.0:
            raise SpaceError(f"wanted a number above 0, got {brief(value)}")
        return position(number, float(self.low), float(self.decode([1.0])), self.log)

    def _marks(self, inner: Iterable[Any]) -> list[Any]:
        """Both ends, and those numbers between them that are well clear of them."""
        clear = [n for n in inner if self.low < n < self.high and 0.06 < self.place(n) < 0.94]
        return [self.low, *clear, self.high]

    def _holds(self, values: Sequence[float]) -> bool:
        return not values or (self.low <= min(values) and max(values) <= self.high)


@dataclass(frozen=True, repr=False)
class Float(Number):
    """A real number between `low` and `high`.

    Args:
        low: the smallest value.
        high: the largest value.
        log: whether ratios matter rather than differences; wants `low` above 0.
        step: suggestions are `low` plus a whole number of steps; other numbers can still be observed.
        when: for which values of other parameters it applies: {"optimizer": ["sgd"]}. None: always.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    when: When = None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = real("low", self.low), real("high", self.high)
        check_range(low, high, self.log)
        step = None if self.step is None else real("step", self.step)
        check_step(low, high, step, self.log)
        if step is not None and (
            steps_between(low, high, step) > EXACT_LEVELS or step < 4 * math.ulp(max(abs(low), abs(high)))
        ):
            raise SpaceError(f"wanted a step that a float can resolve, got {step!r}")
        self._set(low=low, high=high, log=bool(self.log), step=step)

    @property
    def levels(self) -> float:
        return self._steps.levels if self._steps else math.inf

    @property
    def gridded(self) -> bool:
        return self._steps is not None

    def check(self, value: Any) -> float:
        number = real("value", value)
        if not self.low <= number <= self.high:
            raise SpaceError(f"wanted a number in [{self.low!r}, {self.high!r}], got {brief(value)}")
        return number if self.step is None else self._written(number)

    def check_all(self, values: Sequence[Any]) -> Sequence[Any]:
        plain = self.step is None and _are(float, values) and all(map(math.isfinite, values))
        return values if plain and self._holds(values) else super().check_all(values)

    def encode(self, value: Any) -> list[float]:
        if self._steps is None or self.step is None:
            return [to_unit(value, self.low, self.high, self.log)]
        place = round(steps_between(self.low, value, self.step))
        if 0 <= place < self._steps.levels and self._at(place) == value:
            return self._steps.encode(place)
        return [to_unit(value, self.low, self._at(self._steps.high), log=False)]

    def decode(self, u: Sequence[float]) -> float:
        if self._steps:
            return self._at(self._steps.decode(u))
        return from_unit(u[0], self.low, self.high, self.log)

    def decode_all(self, U: Array) -> Sequence[float]:
        if self._steps:
            places = self._steps.decode_all(U)
            numbers = {place: self._at(place) for place in set(places)}
            return [numbers[place] for place in places]
        if self.log:
            return super().decode_all(U)
        u = np.clip(U[:, 0], 0.0, 1.0)
        inner = np.clip((1.0 - u) * self.low + u * self.high, self.low, self.high)  # as `from_unit` does
        found: list[float] = inner.tolist()
        return found

    def snap(self, U: Array) -> Array:
        return self._steps.snap(U) if self._steps else U

    def around(self, U: Array) -> tuple[Array, Rows]:
        return self._steps.around(U) if self._steps else super().around(U)

    def values(self) -> Iterable[float]:
        if self._steps is None:
            raise SpaceError("a Float without a step has no end of values")
        return map(self._at, self._steps.values())

    def marks(self) -> list[float]:
        return self._marks(round_numbers(self.low, self.high, self.log))

    @cached_property
    def _steps(self) -> Int | None:
        """The number of steps from `low`; None without a step."""
        if self.step is None:
            return None
        steps = steps_between(self.low, self.high, self.step)
        return Int(0, math.floor(steps + ROUNDING * min(steps, 1e9)))

    def _written(self, number: float) -> float:
        """The number on the steps that this one, computed as 0.1 + 0.2, was meant to be; or itself."""
        on = self.decode(self.encode(number))
        return on if abs(on - number) <= 2 * math.ulp(max(abs(self.low), abs(self.high))) else number

    def _at(self, place: int) -> float:
        """The number that is so many steps from `low`, as people write it: 0.3, not 0.30000000000000004."""
        return min(float(Decimal(repr(self.low)) + place * Decimal(repr(self.step))), self.high)


@dataclass(frozen=True, repr=False)
class Int(Number):
    """A whole number from `low` to `high`, both included.

    Args:
        low: the smallest value.
        high: the largest value.
        log: whether ratios matter rather than differences; wants `low` above 0.
        step: suggestions are `low` plus a whole number of steps; other integers can still be observed.
        when: for which values of other parameters it applies: {"optimizer": ["sgd"]}. None: always.

    Both ends may be as large as 2**53, and `high - low` too: every integer between them can be suggested. On
    a logarithmic scale with 2**40 values or more, suggestions are rounded to 43 significant bits, 12 digits.
    """

    low: int
    high: int
    log: bool = False
    step: int | None = None
    when: When = None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = whole("low", self.low), whole("high", self.high)
        check_range(low, high, self.log)
        if max(-low, high) > LARGEST:
            raise SpaceError(f"wanted integers up to 2**53, got low={brief(low)}, high={brief(high)}")
        step = None if self.step is None else whole("step", self.step)
        check_step(low, high, step if step != 1 else None, self.log)
        if (high - low) // (step or 1) > LARGEST:
            raise SpaceError(f"wanted at most 2**53 steps from low to high, got low={low}, high={high}")
        self._set(low=low, high=high, log=bool(self.log), step=step if step != 1 else None)

    @property
    def levels(self) -> int:
        return self._last + 1

    @property
    def gridded(self) -> bool:
        return self._last < (EXACT_LOG_LEVELS if self.log else EXACT_LEVELS)

    def check(self, value: Any) -> int:
        number = whole("value", value)
        if not self.low <= number <= self.high:
            raise SpaceError(f"wanted an integer from {self.low} to {self.high}, got {brief(value)}")
        return number

    def check_all(self, values: Sequence[Any]) -> Sequence[Any]:
        return values if _are(int, values) and self._holds(values) else super().check_all(values)

    def encode(self, value: Any) -> list[float]:
        return [self._place(value)]

    def decode(self, u: Sequence[float]) -> int:
        return min(max(self._nearest(u[0]), self.low), self.low + self._last * self._step)

    def decode_all(self, U: Array) -> Sequence[int]:
        if not self.gridded:
            return super().decode_all(U)
        low, step = self.low, self._step
        return [low + step * int(above) for above in self._above(np.clip(U[:, 0], 0.0, 1.0)).tolist()]

    def snap(self, U: Array) -> Array:
        if not self.gridded:
            return np.array([self.encode(self.decode(u)) for u in U.tolist()]).reshape(len(U), 1)
        if not self.log:
            return even(U, self._last)
        return self._columns(self._above(U[:, 0]))

    def around(self, U: Array) -> tuple[Array, Rows]:
        if not self.gridded:
            return super().around(U)
        steps = 2.0 ** np.arange(self.levels.bit_length())
        above = self._above(U[:, 0])[:, None] + np.column_stack([-steps, steps]).ravel()
        row, step = np.nonzero((above >= 0) & (above < self.levels))
        return self._columns(above[row, step]), row

    def values(self) -> Iterable[int]:
        return range(self.low, self.high + 1, self._step)

    def marks(self) -> list[int]:
        inner = map(round, round_numbers(float(self.low), float(self.high), self.log))
        return self._marks(dict.fromkeys(inner))

    @property
    def _step(self) -> int:
        return self.step or 1

    @cached_property
    def _last(self) -> int:
        """How many steps there are from `low` to the largest value."""
        return (self.high - self.low) // self._step

    def _place(self, number: int) -> float:
        return to_unit(number, self.low, self.low + self._last * self._step, self.log)

    def _nearest(self, u: float) -> int:
        if self.log and not self.gridded:
            number = round(from_unit(u, self.low, self.high, log=True))
            if self.low < number < self.high:
                unit = 1 << max(number.bit_length() - LOG_BITS, 0)
                number = (number + unit // 2) // unit * unit
        elif self.log and self.high < 2 * self.low:
            number = self.low + round(self.low * math.expm1(u * log_ratio(self.high, self.low)))
        elif self.log:
            number = round(from_unit(u, self.low, self.high, log=True))
        elif self.gridded:
            number = self.low + self._step * math.floor(u * self._last + 0.5)  # as `even` does
        else:
            mantissa, scale = u.as_integer_ratio()
            steps = (2 * mantissa * self._last + scale) // (2 * scale)  # exact rounding
            number = self.low + self._step * steps
        return min(max(number, self.low), self.high)

    def _above(self, u: Array) -> Array:
        """How many steps `_nearest(u)` is above `low`, for a whole array u at once."""
        if not self.log:
            return np.floor(u * self._last + 0.5)
        if self.high < 2 * self.low:
            size = above = float(self.low) * np.expm1(u * log_ratio(self.high, self.low))
        else:
            size = np.exp((1.0 - u) * math.log(self.low) + u * math.log(self.high))
            above = size - self.low
        whole = np.rint(above)
        for i in np.flatnonzero(np.abs(above - whole) > 0.5 - DOUBT * size):
            whole[i] = self._nearest(float(u[i])) - self.low
        return np.clip(whole, 0, self.high - self.low)

    def _columns(self, above: Array) -> Array:
        """The columns (m, 1) of the integers that are so many steps above `low`."""
        if not self.log:
            return (above / self._last)[:, None]
        if self.levels <= TABULATED:
            return self._table[above.astype(np.intp), None]
        return np.array([self._place(self.low + int(k)) for k in above.tolist()]).reshape(-1, 1)

    @cached_property
    def _table(self) -> Array:
        return np.array([self._place(number) for number in self.values()])


def _are(kind: type, values: Sequence[Any]) -> bool:
    """Whether all values are of this very type."""
    return {kind}.issuperset(map(type, values))
