"""Parameters: a number or a choice on one side, columns of the unit cube on the other.

checked()        the same parameter with its settings in their own types, or an error that says what is wrong
gridded          whether the values can be told apart and tried one by one
check(value)     the value in the parameter's own type, or an error that says what was wanted
encode(value)    the columns, each in [0, 1], of a value as `check` returns it
decode(columns)  the value at, or nearest to, the columns
snap(U)          the columns (m, width) of the values nearest to those of U
near(value)      other values to try in its place, where values lie on a grid
around(U)        the columns of all that is near to the values at the rows of U, and the row it is near to

NumPy's logarithms and powers of an array differ in the last bit by processor and by place in the array; its
sums, products and quotients do not. The columns of a value on a grid come from the latter, or one at a time
from `math`, so that `snap` agrees with `encode` after `decode` in every bit.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import SpaceError

EXACT_LEVELS = 2**50  # a column tells this many evenly spaced integers apart without fail
EXACT_LOG_LEVELS = 2**40  # the same on a logarithmic column, where spacing shrinks towards the top
TABULATED = 4096  # logarithmic integers up to this many are encoded in advance
DOUBT = 1e-12  # NumPy's powers are true to this part of their size, and to much less

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Float:
    """A real number between `low` and `high`; `log=True` where factors matter rather than differences."""

    low: float
    high: float
    log: bool = False

    def checked(self) -> Float:
        low, high = _real("low", self.low), _real("high", self.high)
        _check_range(low, high, self.log)
        return Float(low, high, bool(self.log))

    @property
    def width(self) -> int:
        return 1

    @property
    def levels(self) -> float:
        return math.inf

    @property
    def gridded(self) -> bool:
        return False

    def check(self, value: Any) -> float:
        number = _real("value", value)
        if not self.low <= number <= self.high:
            raise SpaceError(f"wanted a number in [{self.low!r}, {self.high!r}], got {value!r}")
        return number

    def encode(self, value: Any) -> list[float]:
        return [_to_unit(value, self.low, self.high, self.log)]

    def decode(self, u: Sequence[float]) -> float:
        return _from_unit(u[0], self.low, self.high, self.log)

    def snap(self, U: Array) -> Array:
        return U

    def near(self, value: Any) -> Iterable[float]:
        return ()

    def around(self, U: Array) -> tuple[Array, Rows]:
        return U[:0], np.empty(0, dtype=np.intp)

    def values(self) -> Iterable[float]:
        raise SpaceError("a Float has no end of values")


@dataclass(frozen=True)
class Int:
    """A whole number from `low` to `high`, both included; `log=True` where factors matter.

    A range with more integers than a float can tell apart takes further columns, which hold what the
    column before them could not.
    """

    low: int
    high: int
    log: bool = False

    def checked(self) -> Int:
        low, high = _whole("low", self.low), _whole("high", self.high)
        _check_range(low, high, self.log)
        if high > 10**300 or low < -(10**300):
            raise SpaceError(f"wanted integers below 1e300, got low={low}, high={high}")
        return Int(low, high, bool(self.log))

    @property
    def width(self) -> int:
        return 1 + (self._rest.width if self._rest else 0)

    @property
    def levels(self) -> int:
        return self.high - self.low + 1

    @property
    def gridded(self) -> bool:
        return self._rest is None

    def check(self, value: Any) -> int:
        number = _whole("value", value)
        if not self.low <= number <= self.high:
            raise SpaceError(f"wanted an integer from {self.low} to {self.high}, got {value!r}")
        return number

    def encode(self, value: Any) -> list[float]:
        u = self._place(value)
        return [u, *self._rest.encode(value - self._nearest(u))] if self._rest else [u]

    def decode(self, u: Sequence[float]) -> int:
        number = self._nearest(u[0]) + (self._rest.decode(u[1:]) if self._rest else 0)
        return min(max(number, self.low), self.high)

    def snap(self, U: Array) -> Array:
        if self._rest:
            return U  # finer than a float can tell: as good as continuous
        if not self.log:
            return _even(U, self.high - self.low)
        return self._columns(self._above(U[:, 0]))

    def near(self, value: Any) -> Iterable[int]:
        if self._rest:
            return ()
        steps = [2**power for power in range(self.levels.bit_length())]
        numbers = (value + sign * step for step in steps for sign in (-1, 1))
        return (number for number in numbers if self.low <= number <= self.high)

    def around(self, U: Array) -> tuple[Array, Rows]:
        if self._rest:
            return U[:0], np.empty(0, dtype=np.intp)
        steps = 2.0 ** np.arange(self.levels.bit_length())
        above = self._above(U[:, 0])[:, None] + np.column_stack([-steps, steps]).ravel()
        row, step = np.nonzero((above >= 0) & (above < self.levels))
        return self._columns(above[row, step]), row

    def values(self) -> Iterable[int]:
        return range(self.low, self.high + 1)

    def _place(self, number: int) -> float:
        return _to_unit(number, self.low, self.high, self.log)

    def _nearest(self, u: float) -> int:
        span = self.high - self.low
        if self.log and self.high < 2 * self.low:
            number = self.low + round(self.low * math.expm1(u * _log_ratio(self.high, self.low)))
        elif self.log:
            number = round(_from_unit(u, self.low, self.high, log=True))
        elif self.gridded:
            number = self.low + math.floor(u * span + 0.5)  # as `_even` does
        else:
            mantissa, scale = u.as_integer_ratio()
            number = self.low + (2 * mantissa * span + scale) // (2 * scale)  # exact rounding
        return min(max(number, self.low), self.high)

    def _above(self, u: Array) -> Array:
        """By how much `_nearest` exceeds `low`, of every number in u at once."""
        if not self.log:
            return np.floor(u * (self.high - self.low) + 0.5)
        if self.high < 2 * self.low:
            size = above = float(self.low) * np.expm1(u * _log_ratio(self.high, self.low))
        else:
            size = np.exp((1.0 - u) * math.log(self.low) + u * math.log(self.high))
            above = size - self.low
        whole = np.rint(above)
        for i in np.flatnonzero(np.abs(above - whole) > 0.5 - DOUBT * size):
            whole[i] = self._nearest(float(u[i])) - self.low
        return np.clip(whole, 0, self.high - self.low)

    def _columns(self, above: Array) -> Array:
        """The columns (m, 1) of the integers that exceed `low` by so much."""
        if not self.log:
            return (above / (self.high - self.low))[:, None]
        if self.levels <= TABULATED:
            return self._table[above.astype(np.intp), None]
        return np.array([self._place(self.low + int(k)) for k in above.tolist()]).reshape(-1, 1)

    @cached_property
    def _table(self) -> Array:
        return np.array([self._place(number) for number in self.values()])

    @cached_property
    def _rest(self) -> Int | None:
        """The range of `value - nearest(encode(value))` where that is not always zero."""
        reach = (self.high - self.low) // (EXACT_LOG_LEVELS if self.log else EXACT_LEVELS)
        return Int(-reach, reach) if reach else None


@dataclass(frozen=True)
class Choice:
    """One of several options, any hashable values; `ordered=True` where neighbours in the list are alike.

    Unordered options take a column each (0 or 1), one or two options and ordered ones a single column.
    """

    options: Sequence[Hashable]
    ordered: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.options, list):
            object.__setattr__(self, "options", tuple(self.options))

    def checked(self) -> Choice:
        if isinstance(self.options, str | bytes) or not isinstance(self.options, Sequence):
            raise SpaceError(f"wanted a list of options, got {self.options!r}")
        options = tuple(
            option.item() if isinstance(option, np.generic) else option for option in self.options
        )
        if not options:
            raise SpaceError("wanted at least one option, got none")
        for option in options:
            try:
                hash(option)
            except TypeError:
                raise SpaceError(f"wanted hashable options, got {option!r}") from None
        choice = Choice(options, bool(self.ordered))
        if len(choice._index) < len(options):
            raise SpaceError(f"wanted different options, got {list(options)!r}")
        return choice

    @property
    def width(self) -> int:
        return len(self.options) if self._one_hot else 1

    @property
    def levels(self) -> int:
        return len(self.options)

    @property
    def gridded(self) -> bool:
        return True

    def check(self, value: Any) -> Any:
        return self.options[self.index(value)]

    def encode(self, value: Any) -> list[float]:
        index = self.index(value)
        if self._one_hot:
            return [float(i == index) for i in range(len(self.options))]
        return [index / max(len(self.options) - 1, 1)]

    def decode(self, u: Sequence[float]) -> Any:
        if self._one_hot:
            return self.options[int(np.argmax(u))]
        return self.options[math.floor(u[0] * (len(self.options) - 1) + 0.5)]

    def snap(self, U: Array) -> Array:
        if self._one_hot:
            return np.asarray(np.eye(len(self.options))[np.argmax(U, axis=1)])
        return _even(U, max(len(self.options) - 1, 1)) * (len(self.options) > 1)

    def near(self, value: Any) -> Iterable[Any]:
        return (option for option in self.options if option is not value)

    def around(self, U: Array) -> tuple[Array, Rows]:
        count = len(self.options)
        columns = np.eye(count) if self._one_hot else np.arange(count)[:, None] / max(count - 1, 1)
        index = np.argmax(U, axis=1) if self._one_hot else np.floor(U[:, 0] * (count - 1) + 0.5)
        row, other = np.nonzero(np.arange(count) != index[:, None])
        return columns[other], row

    def values(self) -> Iterable[Any]:
        return self.options

    @property
    def _one_hot(self) -> bool:
        return len(self.options) > 2 and not self.ordered

    @cached_property
    def _index(self) -> dict[tuple[type, Hashable], int]:
        return {(type(option), option): i for i, option in enumerate(self.options)}  # 1 is not True

    def index(self, value: Any) -> int:
        """The place of an option in the list."""
        try:
            index = self._index.get((type(value), value))
            return self.options.index(value) if index is None else index
        except (ValueError, TypeError):
            raise SpaceError(f"wanted one of {list(self.options)!r}, got {value!r}") from None


Parameter = Float | Int | Choice


def _even(U: Array, steps: int) -> Array:
    return np.asarray(np.floor(U * steps + 0.5) / steps)


def _real(name: str, value: Any) -> float:
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise SpaceError(f"{name}: wanted a finite number, got {value!r}")


def _whole(name: str, value: Any) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value) and value == int(value):
        return int(value)
    raise SpaceError(f"{name}: wanted a whole number, got {value!r}")


def _check_range(low: float, high: float, log: bool) -> None:
    if not low < high:
        raise SpaceError(f"low must be below high, got low={low!r}, high={high!r}")
    if log and low <= 0:
        raise SpaceError(f"log wants low above 0, got low={low!r}")


def _log_ratio(value: float, low: float) -> float:
    """log(value / low), exact also where the two are close or their quotient is not a float."""
    return math.log1p((value - low) / low) if value < 2 * low else math.log(value) - math.log(low)


def _to_unit(value: float, low: float, high: float, log: bool) -> float:
    if log:
        u = _log_ratio(value, low) / _log_ratio(high, low)
    elif isinstance(value, int) or high - low < math.inf:
        u = (value - low) / (high - low)  # of whole numbers, rounded once at any size
    else:
        u = (value / 2 - low / 2) / (high / 2 - low / 2)
    return min(max(u, 0.0), 1.0)


def _from_unit(u: float, low: float, high: float, log: bool) -> float:
    if u <= 0.0 or u >= 1.0:
        return low if u <= 0.0 else high
    if not log:
        value = (1.0 - u) * low + u * high
    elif high < 2 * low:
        value = low + low * math.expm1(u * _log_ratio(high, low))
    else:
        value = math.exp(min((1.0 - u) * math.log(low) + u * math.log(high), math.log(high)))
    return min(max(value, low), high)


KINDS: dict[str, type] = {"Float": Float, "Int": Int, "Choice": Choice}
