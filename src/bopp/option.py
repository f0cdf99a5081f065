"""Options: Choice, one of several values, and Fixed, a value that is not searched for."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.parameter import Parameter, Rows, When, is_plain
from bopp.scales import even

MOST_MARKS = 30  # how many options of a Choice are labelled along an axis, at most


@dataclass(frozen=True, repr=False)
class Choice(Parameter):
    """One of several options, any hashable values; `ordered=True` if neighbours in the list are alike.

    Three or more unordered options take a column each (0 or 1); any other options share a single column.
    """

    options: Sequence[Hashable]
    ordered: bool = False
    when: When = None

    def __post_init__(self) -> None:
        super().__post_init__()
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
        choice = Choice(options, bool(self.ordered), self.when)
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
        fitting = [option for option in self.options if typed(option) == text]
        if len(fitting) != 1:
            raise SpaceError(f"wanted one of {', '.join(map(typed, self.options))}, got {text!r}")
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
    def middle(self) -> list[float]:
        return [1.0 / self.width] * self.width if self._one_hot else [0.5]

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


@dataclass(frozen=True, repr=False)
class Fixed(Parameter):
    """A value that is passed to the objective and never changes; it takes no part in the search."""

    value: Hashable
    when: When = None

    def checked(self) -> Fixed:
        value = self.value.item() if isinstance(self.value, np.generic) else self.value
        try:
            hash(value)
        except TypeError:
            raise SpaceError(f"wanted a hashable value, got {value!r}") from None
        return Fixed(value, self.when)

    @property
    def width(self) -> int:
        return 0

    @property
    def levels(self) -> int:
        return 1

    @property
    def numeric(self) -> bool:
        return False

    def check(self, value: Any) -> Any:
        given = value.item() if isinstance(value, np.generic) else value
        try:
            same = isinstance(given, bool) == isinstance(self.value, bool) and bool(given == self.value)
        except (TypeError, ValueError):  # an array
            same = False
        if not same and given is not self.value:  # NaN is not even equal to itself
            raise SpaceError(f"wanted {self.value!r}, which is fixed, got {value!r}")
        return self.value

    def encode(self, value: Any) -> list[float]:
        return []

    def decode(self, u: Sequence[float]) -> Any:
        return self.value

    def snap(self, U: Array) -> Array:
        return U

    def around(self, U: Array) -> tuple[Array, Rows]:
        return U[:0], np.empty(0, dtype=np.intp)

    def values(self) -> Iterable[Any]:
        return [self.value]

    def parse(self, text: str) -> Any:
        if text != typed(self.value):
            raise SpaceError(f"wanted {typed(self.value)}, which is fixed, got {text!r}")
        return self.value

    def to_json(self, value: Any) -> Any:
        return value if is_plain(value) else {"option": 0}

    def from_json(self, value: Any) -> Any:
        return self.value if value == {"option": 0} else value

    def place(self, value: Any) -> float:
        return 0.5

    def marks(self) -> list[Any]:
        return [self.value]

    def spread(self, count: int) -> list[Any]:
        return [self.value]


def typed(option: Any) -> str:
    """An option as people type it: text as it is, anything else as its `repr`."""
    return option if isinstance(option, str) else repr(option)
