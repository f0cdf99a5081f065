"""Held: a parameter that is held to some of its values, while others are searched for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.option import TRIES
from bopp.parameter import Parameter, Rows, When


@dataclass(frozen=True, eq=False)
class Held(Parameter):
    """A parameter that is held to some of its values; its columns stay as they are."""

    parameter: Parameter
    allowed: tuple[Any, ...]
    columns: Array
    unordered = True

    @staticmethod
    def of(parameter: Parameter, values: Iterable[Any]) -> Held:
        allowed = tuple(values)
        rows = [parameter.encode(value) for value in allowed]
        return Held(parameter, allowed, np.array(rows).reshape(len(rows), parameter.width))

    @property
    def when(self) -> When:  # type: ignore[override]
        return self.parameter.when

    def __post_init__(self) -> None: ...

    @property
    def width(self) -> int:
        return self.parameter.width

    @property
    def levels(self) -> int:
        return len(self.allowed)

    @property
    def numeric(self) -> bool:
        return self.parameter.numeric

    @property
    def logarithmic(self) -> bool:
        return self.parameter.logarithmic

    def position(self, value: Any) -> float:
        return self.parameter.position(value)

    def marks(self) -> list[Any]:
        return self.parameter.marks()

    def check(self, value: Any) -> Any:
        return self.parameter.check(value)

    def encode(self, value: Any) -> list[float]:
        return self.parameter.encode(value)

    def decode(self, u: Sequence[float]) -> Any:
        return self.allowed[int(self._nearest(np.array([u]))[0])]

    def decode_all(self, U: Array) -> Sequence[Any]:
        return [self.allowed[place] for place in self._nearest(U).tolist()]

    def suggests(self, value: Any) -> bool:
        return self.parameter.suggests(value)

    def snap(self, U: Array) -> Array:
        return self.columns[self._nearest(U)]

    def around(self, U: Array) -> tuple[Array, Rows]:
        here = self._nearest(U)[:, None]
        others = min(self.levels - 1, TRIES)
        tried = np.sort((here + 1 + np.arange(others) * (self.levels - 1) // max(others, 1)) % self.levels)
        return self.columns[tried.ravel()], np.repeat(np.arange(len(U)), others)

    def values(self) -> Iterable[Any]:
        return self.allowed

    def _nearest(self, U: Array) -> Rows:
        if len(self.allowed) == 1:
            return np.zeros(len(U), dtype=np.intp)
        rows = [np.argmin(((u - self.columns) ** 2).sum(axis=1)) for u in U]
        return np.array(rows, dtype=np.intp)
