"""Options: Choice, one of several values, and Fixed, a value that is not searched for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bopp import codewords
from bopp.data import Array
from bopp.errors import SpaceError
from bopp.legible import brief, cut
from bopp.parameter import Parameter, Rows, When, is_plain

MOST_MARKS = 30  # how many options of a Choice are labelled along an axis, at most
MOST_COLUMNS = (
    100  # up to so many unordered options have a column each: a suggestion then takes 0.3 s at most
)
TRIES = 100  # how many others of more options a search tries in the place of one


@dataclass(frozen=True, repr=False)
class Choice(Parameter):
    """One of several options.

    Args:
        options: a list of different hashable values.
        ordered: whether neighbors in the list are alike, as in ["small", "medium", "large"].
        when: for which values of other parameters it applies: {"optimizer": ["sgd"]}. None: always.

    From 3 to 100 unordered options take a column each (0 or 1); ordered ones, and two, share a single column.

    More than 100 unordered options share 64 columns, whatever their number: each is a codeword, about as far
    from all others as options with a column of their own are. Since they share columns, what the model learns
    about one also shifts, slightly and at random, what it expects of others; and a search tries a hundred
    others at a time. docs/design.md has figures.
    """

    options: Sequence[Hashable]
    ordered: bool = False
    when: When = None
    numeric = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.options, str | bytes) or not isinstance(self.options, Sequence):
            raise SpaceError(f"wanted a list of options, got {brief(self.options)}")
        options = tuple(
            option.item() if isinstance(option, np.generic) else option for option in self.options
        )
        if not options:
            raise SpaceError("wanted at least one option, got none")
        for option in options:
            _check_option(option, "options")
        self._set(options=options, ordered=bool(self.ordered))
        if len(self._index) < len(options):
            raise SpaceError(f"wanted different options, got {brief(list(options))}")

    @property
    def width(self) -> int:
        if self._coded:
            return codewords.BITS
        return len(self.options) if self._one_hot else 1

    @property
    def levels(self) -> int:
        return len(self.options)

    def check(self, value: Any) -> Any:
        return self.options[self.index(value)]

    def check_all(self, values: Sequence[Any]) -> Sequence[Any]:
        known = self._index.keys()
        return (
            values if known >= set(zip(map(type, values), values, strict=True)) else super().check_all(values)
        )

    def encode(self, value: Any) -> list[float]:
        row: list[float] = self._columns(np.array([self.index(value)]))[0].tolist()
        return row

    def decode(self, u: Sequence[float]) -> Any:
        return self.options[int(self._at(np.array([u]))[0])]

    def decode_all(self, U: Array) -> Sequence[Any]:
        return [self.options[place] for place in self._at(U).tolist()]

    def snap(self, U: Array) -> Array:
        return self._columns(self._at(U))

    def around(self, U: Array) -> tuple[Array, Rows]:
        here, count = self._at(U)[:, None], len(self.options)
        if self._coded:
            tried = codewords.others(U, TRIES, count).astype(np.intp)
        else:
            tried = np.broadcast_to(np.arange(count), (len(U), count))
        row, place = np.nonzero(tried != here)
        return self._columns(tried[row, place]), row

    def values(self) -> Iterable[Any]:
        return self.options

    @property
    def unordered(self) -> bool:
        return not self.ordered

    def parse(self, text: str) -> Any:
        fitting = [option for option in self.options if typed(option) == text]
        if len(fitting) != 1:
            raise SpaceError(
                f"wanted one of {cut(', '.join(map(typed, self.options)), 1000)}, got {brief(text)}"
            )
        return fitting[0]

    def to_json(self, value: Any) -> Any:
        return value if is_plain(value) else {"option": self.index(value)}

    def from_json(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        place = value["option"]
        if type(place) is not int or not 0 <= place < len(self.options):
            raise SpaceError(f"wanted the place of an option, got {brief(value)}")
        return self.options[place]

    def place(self, value: Any) -> float:
        last = len(self.options) - 1
        return self.index(value) / last if last else 0.5

    def marks(self) -> list[Any]:
        return list(self.options[:: -(-len(self.options) // MOST_MARKS)])

    def spread(self, count: int) -> list[Any]:
        return list(self.options[:: -(-len(self.options) // MOST_COLUMNS)])

    @property
    def middle(self) -> list[float]:
        return [1.0 / self.width] * self.width if self._one_hot else [0.5] * self.width

    def points(self) -> Array:
        return self._columns(np.arange(len(self.options)))

    @property
    def _one_hot(self) -> bool:
        return 2 < len(self.options) <= MOST_COLUMNS and not self.ordered

    @property
    def _coded(self) -> bool:
        return len(self.options) > MOST_COLUMNS and not self.ordered

    def _columns(self, index: Rows) -> Array:
        """The columns (m, width) of the options with these indices."""
        if self._coded:
            return codewords.columns(index.astype(np.uint64))
        if self._one_hot:
            return np.asarray((index[:, None] == np.arange(len(self.options))).astype(np.float64))
        return (index / max(len(self.options) - 1, 1))[:, None]

    def _at(self, U: Array) -> Rows:
        """The index of the option nearest to each row of U, or of the one that its codeword falls to."""
        if self._coded:
            return codewords.index(U, len(self.options)).astype(np.intp)
        if self._one_hot:
            return np.asarray(np.argmax(U, axis=1))
        return np.floor(U[:, 0] * (len(self.options) - 1) + 0.5).astype(np.intp)

    @cached_property
    def _index(self) -> dict[tuple[type, Hashable], int]:
        return {(type(option), option): i for i, option in enumerate(self.options)}  # by type, as 1 == True

    def index(self, value: Any) -> int:
        """The index of an option in the list."""
        try:
            index = self._index.get((type(value), value))
            return self.options.index(value) if index is None else index
        except (ValueError, TypeError):
            raise SpaceError(f"wanted one of {brief(list(self.options), 1000)}, got {brief(value)}") from None


@dataclass(frozen=True, repr=False)
class Fixed(Parameter):
    """A value that is passed to the objective and never changes; it takes no part in the search.

    Args:
        value: any hashable value.
        when: for which values of other parameters it applies: {"optimizer": ["sgd"]}. None: always.
    """

    value: Hashable
    when: When = None
    width, levels, numeric = 0, 1, False

    def __post_init__(self) -> None:
        super().__post_init__()
        value = self.value.item() if isinstance(self.value, np.generic) else self.value
        _check_option(value, "values")
        self._set(value=value)

    def check(self, value: Any) -> Any:
        given = value.item() if isinstance(value, np.generic) else value
        try:
            same = isinstance(given, bool) == isinstance(self.value, bool) and bool(given == self.value)
        except (TypeError, ValueError):  # an array
            same = False
        if not same and given is not self.value:  # NaN is not even equal to itself
            raise SpaceError(f"wanted {brief(self.value)}, which is fixed, got {brief(value)}")
        return self.value

    def encode(self, value: Any) -> list[float]:
        return []

    def decode(self, u: Sequence[float]) -> Any:
        return self.value

    def values(self) -> Iterable[Any]:
        return [self.value]

    def parse(self, text: str) -> Any:
        if text != typed(self.value):
            raise SpaceError(f"wanted {cut(typed(self.value), 200)}, which is fixed, got {brief(text)}")
        return self.value

    def to_json(self, value: Any) -> Any:
        return value if is_plain(value) else {"option": 0}

    def from_json(self, value: Any) -> Any:
        return self.value if value == {"option": 0} else value

    def place(self, value: Any) -> float:
        return 0.5

    def marks(self) -> list[Any]:
        return [self.value]


def _check_option(option: Any, what: str) -> None:
    try:
        hash(option)
    except TypeError:
        raise SpaceError(f"wanted hashable {what}, got {brief(option)}") from None
    try:
        repr(option)
    except Exception:  # an integer of thousands of digits, or a class whose repr is broken
        raise SpaceError(f"wanted {what} that can be written as text, got {brief(option)}") from None


def typed(option: Any) -> str:
    """An option as people type it: text as it is, anything else as its `repr`."""
    return option if isinstance(option, str) else repr(option)
