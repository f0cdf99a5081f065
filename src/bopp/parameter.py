"""Parameter: what every kind of parameter has to do, and when one applies.

A parameter has a value on one side and columns of the unit cube on the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.legible import brief
from bopp.scales import typed_number

Rows = npt.NDArray[np.intp]
When = Mapping[str, Any] | tuple[tuple[str, tuple[Any, ...]], ...] | None


class Parameter:
    """What every kind of parameter has to do; a new kind is a subclass of this and an entry in `KINDS`.

    `when` says for which values of other parameters it applies: {"optimizer": ["sgd"]}. None: always.
    """

    when: When

    def __repr__(self) -> str:
        rows = [(field, getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        settings = [f"{field.name}={value!r}" for field, value in rows if field.default is not None or value]
        return f"{type(self).__name__}({', '.join(settings)})"

    @property
    def conditions(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """The names in `when`, each with the values that it must have."""
        return tuple(dict(self.when or ()).items())

    def __post_init__(self) -> None:
        """Check the settings and convert them to their proper types."""
        self._set(when=_conditions(self.when))

    def _set(self, **settings: Any) -> None:
        for name, setting in settings.items():
            object.__setattr__(self, name, setting)

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

    def check(self, value: Any) -> Any:
        """The value in the parameter's own type, or an error that says what was wanted."""
        raise NotImplementedError

    def check_all(self, values: Sequence[Any]) -> Sequence[Any]:
        """Each value as `check` returns it; many at once where none of them is odd."""
        return [self.check(value) for value in values]

    def encode(self, value: Any) -> list[float]:
        """The columns, each in [0, 1], of a value that `check` returned."""
        raise NotImplementedError

    def decode(self, u: Sequence[float]) -> Any:
        """The value at these columns, or the nearest one on a grid."""
        raise NotImplementedError

    def decode_all(self, U: Array) -> Sequence[Any]:
        """The value at each row of U (m, width), as `decode` returns it."""
        return [self.decode(u) for u in U.tolist()]

    def suggests(self, value: Any) -> bool:
        """Whether a suggestion can be this value, which `check` returned; one between two steps cannot."""
        return bool(self.decode(self.encode(value)) == value)

    def snap(self, U: Array) -> Array:
        """U (m, width) with each row moved to the columns of the nearest value on a grid."""
        return U

    def around(self, U: Array) -> tuple[Array, Rows]:
        """Other values to try for each row of U, as columns, and the index of the row that each belongs to.

        All other options of a Choice, or some of very many, the values a power of two away for an Int, and
        none without a grid.
        """
        return U[:0], np.empty(0, dtype=np.intp)

    def values(self) -> Iterable[Any]:
        """Every value, in order."""
        raise NotImplementedError

    def points(self) -> Array:
        """The columns (levels, width) of every value, in order."""
        return np.array([self.encode(value) for value in self.values()])

    @property
    def middle(self) -> list[float]:
        """The columns where it does not apply: as far from one end as from the other."""
        return [0.5] * self.width

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

    def position(self, value: Any) -> float:
        """Where a number lies on that axis; it may lie beyond the ends."""
        raise SpaceError(f"wanted a parameter that is a number, got one of {type(self).__name__}")

    def marks(self) -> list[Any]:
        """Values to label along an axis: both ends, and round numbers between them."""
        raise NotImplementedError

    def spread(self, count: int) -> list[Any]:
        """About `count` values, from one end to the other; of options all, or a hundred of more."""
        steps = np.linspace(0.0, 1.0, count).tolist()
        return list(dict.fromkeys(self.decode([u]) for u in steps))


def is_plain(value: Any) -> bool:
    """Whether a value comes back from JSON unchanged."""
    return value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))


def _conditions(when: Any) -> When:
    """Conditions as values that can be compared and hashed."""
    if when is None:
        return None
    pairs = when.items() if isinstance(when, Mapping) else when
    try:
        found = tuple((name, _listed(values)) for name, values in pairs)
    except (TypeError, ValueError):
        found = ()
    if not found or not all(isinstance(name, str) and values for name, values in found):
        raise SpaceError(f'when: wanted a dict such as {{"optimizer": ["sgd"]}}, got {brief(when)}')
    return found


def _listed(values: Any) -> tuple[Any, ...]:
    if isinstance(values, set | frozenset):
        values = sorted(values, key=repr)  # the same in every process
    rows = values if isinstance(values, list | tuple | range | np.ndarray) else [values]
    return tuple(one.item() if isinstance(one, np.generic) else one for one in rows)
