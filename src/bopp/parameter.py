"""Parameters: a number or a choice on one side, columns of the unit cube on the other.

NumPy's logarithms and powers of an array can differ in the last bit with the processor and the position in
the array; its sums, products and quotients cannot. So the columns of values on a grid are computed with the
latter, or one at a time with `math`, and `snap` agrees bit for bit with `decode` followed by `encode`.
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
from bopp.scales import (
    check_range,
    even,
    from_unit,
    log_ratio,
    real,
    round_numbers,
    to_unit,
    typed_number,
    whole,
)

EXACT_LEVELS = 2**50  # one column can always tell this many evenly spaced integers apart
EXACT_LOG_LEVELS = 2**40  # the same on a logarithmic column, where spacing shrinks towards the top
MOST_MARKS = 30  # how many options of a Choice are labelled along an axis, at most
TABULATED = 4096  # a logarithmic Int with up to this many values is encoded in advance
DOUBT = 1e-12  # the relative error of NumPy's exponentials is far below this

Rows = npt.NDArray[np.intp]


class Parameter:
    """What every kind of parameter has to do; a new kind is a subclass of this and an entry in `KINDS`."""

    @property
    def width(self) -> int:
        """How many columns of the cube it takes."""
        raise NotImplementedError

    @property
    def levels(self) -> float:
        """How many values it has."""
        raise NotImplementedError

    @property
    def gridded(self) -> bool:
        """Whether its values can be told apart and tried one by one."""
        return True

    @property
    def unordered(self) -> bool:
        """Whether its values have no order, so that nothing lies between two of them."""
        return False

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers along an axis, rather than names side by side."""
        return True

    @property
    def logarithmic(self) -> bool:
        """Whether that axis is logarithmic."""
        return False

    def checked(self) -> Parameter:
        """The same parameter with its settings in their proper types, or an error that says what is wrong."""
        raise NotImplementedError

    def check(self, value: Any) -> Any:
        """The value in the parameter's own type, or an error that says what was wanted."""
        raise NotImplementedError

    def encode(self, value: Any) -> list[float]:
        """The columns, each in [0, 1], of a value that `check` returned."""
        raise NotImplementedError

    def decode(self, u: Sequence[float]) -> Any:
        """The value at these columns, or the nearest one on a grid."""
        raise NotImplementedError

    def snap(self, U: Array) -> Array:
        """U (m, width) with each row moved to the columns of the nearest value."""
        raise NotImplementedError

    def around(self, U: Array) -> tuple[Array, Rows]:
        """Other values to try for each row of U, as columns, and the index of the row that each belongs to.

        All other options of a Choice, the values a power of two away for an Int, and none without a grid.
        """
        raise NotImplementedError

    def values(self) -> Iterable[Any]:
        """Every value, in order."""
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """The value that somebody typed; `check` decides whether it is in range."""
        return typed_number(text)

    def to_json(self, value: Any) -> Any:
        """The value in a form that JSON can hold."""
        return value

    def from_json(self, value: Any) -> Any:
        """The value that `to_json` wrote; `check` decides whether it is a valid one."""
        return value

    def place(self, value: Any) -> float:
        """The position of a value on an axis from 0 to 1."""
        return self.encode(value)[0]

    def marks(self) -> list[Any]:
        """Values to label along an axis: both ends, and round numbers between them."""
        raise NotImplementedError

    def spread(self, count: int) -> list[Any]:
        """About `count` values, from one end to the other."""
        steps = np.linspace(0.0, 1.0, count).tolist()
        return list(dict.fromkeys(self.decode([u] + [0.5] * (self.width - 1)) for u in steps))


@dataclass(frozen=True)
class Float(Parameter):
    """A real number between `low` and `high`; `log=True` if ratios matter, not differences."""

    low: float
    high: float
    log: bool = False

    def checked(self) -> Float:
        low, high = real("low", self.low), real("high", self.high)
        check_range(low, high, self.log)
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
        number = real("value", value)
        if not self.low <= number <= self.high:
            raise SpaceError(f"wanted a number in [{self.low!r}, {self.high!r}], got {value!r}")
        return number

    def encode(self, value: Any) -> list[float]:
        return [to_unit(value, self.low, self.high, self.log)]

    def decode(self, u: Sequence[float]) -> float:
        return from_unit(u[0], self.low, self.high, self.log)

    def snap(self, U: Array) -> Array:
        return U

    def around(self, U: Array) -> tuple[Array, Rows]:
        return U[:0], np.empty(0, dtype=np.intp)

    def values(self) -> Iterable[float]:
        raise SpaceError("a Float has no end of values")

    @property
    def logarithmic(self) -> bool:
        return self.log

    def marks(self) -> list[float]:
        inner = (number for number in round_numbers(self.low, self.high, self.log))
        return [self.low, *(n for n in inner if _is_inside(self, n)), self.high]


@dataclass(frozen=True)
class Int(Parameter):
    """A whole number from `low` to `high`, both included; `log=True` if ratios matter, not differences.

    A range with more integers than a float can tell apart takes extra columns, each of which holds the
    remainder that the one before could not.
    """

    low: int
    high: int
    log: bool = False

    def checked(self) -> Int:
        low, high = whole("low", self.low), whole("high", self.high)
        check_range(low, high, self.log)
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
        number = whole("value", value)
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
            return U  # finer than a float can resolve: as good as continuous
        if not self.log:
            return even(U, self.high - self.low)
        return self._columns(self._above(U[:, 0]))

    def around(self, U: Array) -> tuple[Array, Rows]:
        if self._rest:
            return U[:0], np.empty(0, dtype=np.intp)
        steps = 2.0 ** np.arange(self.levels.bit_length())
        above = self._above(U[:, 0])[:, None] + np.column_stack([-steps, steps]).ravel()
        row, step = np.nonzero((above >= 0) & (above < self.levels))
        return self._columns(above[row, step]), row

    def values(self) -> Iterable[int]:
        return range(self.low, self.high + 1)

    @property
    def logarithmic(self) -> bool:
        return self.log

    def marks(self) -> list[int]:
        inner = dict.fromkeys(map(round, round_numbers(float(self.low), float(self.high), self.log)))
        return [self.low, *(n for n in inner if _is_inside(self, n)), self.high]

    def _place(self, number: int) -> float:
        return to_unit(number, self.low, self.high, self.log)

    def _nearest(self, u: float) -> int:
        span = self.high - self.low
        if self.log and self.high < 2 * self.low:
            number = self.low + round(self.low * math.expm1(u * log_ratio(self.high, self.low)))
        elif self.log:
            number = round(from_unit(u, self.low, self.high, log=True))
        elif self.gridded:
            number = self.low + math.floor(u * span + 0.5)  # as `even` does
        else:
            mantissa, scale = u.as_integer_ratio()
            number = self.low + (2 * mantissa * span + scale) // (2 * scale)  # exact rounding
        return min(max(number, self.low), self.high)

    def _above(self, u: Array) -> Array:
        """`_nearest(u) - low`, for a whole array u at once."""
        if not self.log:
            return np.floor(u * (self.high - self.low) + 0.5)
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
        """The columns (m, 1) of the integers `low + above`."""
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
        """The range of `value - _nearest(_place(value))`, or None if that is always zero."""
        reach = (self.high - self.low) // (EXACT_LOG_LEVELS if self.log else EXACT_LEVELS)
        return Int(-reach, reach) if reach else None


@dataclass(frozen=True)
class Choice(Parameter):
    """One of several options, any hashable values; `ordered=True` if neighbours in the list are alike.

    Three or more unordered options take a column each (0 or 1); any other options share a single column.
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
        return even(U, max(len(self.options) - 1, 1)) * (len(self.options) > 1)

    def around(self, U: Array) -> tuple[Array, Rows]:
        count = len(self.options)
        columns = np.eye(count) if self._one_hot else np.arange(count)[:, None] / max(count - 1, 1)
        index = np.argmax(U, axis=1) if self._one_hot else np.floor(U[:, 0] * (count - 1) + 0.5)
        row, other = np.nonzero(np.arange(count) != index[:, None])
        return columns[other], row

    def values(self) -> Iterable[Any]:
        return self.options

    @property
    def unordered(self) -> bool:
        return not self.ordered

    @property
    def numeric(self) -> bool:
        return False

    def parse(self, text: str) -> Any:
        fitting = [option for option in self.options if _typed(option) == text]
        if len(fitting) != 1:
            raise SpaceError(f"wanted one of {', '.join(map(_typed, self.options))}, got {text!r}")
        return fitting[0]

    def to_json(self, value: Any) -> Any:
        return value if is_plain(value) else {"option": self.index(value)}

    def from_json(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        place = value["option"]
        if type(place) is not int or not 0 <= place < len(self.options):
            raise SpaceError(f"wanted the place of an option, got {value!r}")
        return self.options[place]

    def place(self, value: Any) -> float:
        last = len(self.options) - 1
        return self.index(value) / last if last else 0.5

    def marks(self) -> list[Any]:
        return list(self.options[:: -(-len(self.options) // MOST_MARKS)])

    def spread(self, count: int) -> list[Any]:
        return list(self.options)

    @property
    def _one_hot(self) -> bool:
        return len(self.options) > 2 and not self.ordered

    @cached_property
    def _index(self) -> dict[tuple[type, Hashable], int]:
        return {(type(option), option): i for i, option in enumerate(self.options)}  # by type, as 1 == True

    def index(self, value: Any) -> int:
        """The index of an option in the list."""
        try:
            index = self._index.get((type(value), value))
            return self.options.index(value) if index is None else index
        except (ValueError, TypeError):
            raise SpaceError(f"wanted one of {list(self.options)!r}, got {value!r}") from None


KINDS: dict[str, type[Parameter]] = {"Float": Float, "Int": Int, "Choice": Choice}


def is_plain(value: Any) -> bool:
    """Whether a value comes back from JSON unchanged."""
    return value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))


def _typed(option: Any) -> str:
    """An option as people type it: text as it is, anything else as its `repr`."""
    return option if isinstance(option, str) else repr(option)


def _is_inside(parameter: Float | Int, number: float) -> bool:
    """Whether a mark lies between both ends and well clear of them."""
    return parameter.low < number < parameter.high and 0.06 < parameter.place(number) < 0.94
