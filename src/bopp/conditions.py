"""Conditions: which parameters of a space apply, given the values of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.legible import brief
from bopp.parameter import Parameter

Mask = npt.NDArray[np.bool_]

FEW = 256  # numbers that are faster compared than looked up


@dataclass(frozen=True, eq=False)
class Condition:
    """Another parameter, the values that it must have, and the columns (k, width) of these."""

    name: str
    values: tuple[Any, ...]
    columns: Array

    def met(self, params: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> bool:
        """Whether the other parameter applies and has one of the values."""
        if self.name not in params:
            return False
        return tuple(parameters[self.name].encode(params[self.name])) in self._rows

    def met_at(self, U: Array) -> Mask:
        """Whether each row of U (m, width), the columns of the other parameter, has one of the values."""
        if self.columns.size <= FEW:
            return np.asarray((U[:, None] == self.columns).all(axis=2).any(axis=1))
        return np.array([tuple(u) in self._rows for u in U.tolist()], dtype=np.bool_)

    @cached_property
    def _rows(self) -> frozenset[tuple[float, ...]]:
        return frozenset(map(tuple, self.columns.tolist()))


class Conditions:
    """The conditions of all parameters, which may be nested.

    order     the names, every one after those that its condition names
    deciding  the names that some condition has
    """

    def __init__(self, parameters: Mapping[str, Parameter]):
        self._parameters = parameters
        self.order = _parents_first(parameters)
        self._of = {
            name: [self._condition(name, *one) for one in parameters[name].conditions] for name in self.order
        }
        named = {condition.name for conditions in self._of.values() for condition in conditions}
        self.deciding = [name for name in self.order if name in named]

    def apply(self, name: str, params: Mapping[str, Any]) -> bool:
        """Whether a parameter applies, given those params that come before it in `order`."""
        return all(condition.met(params, self._parameters) for condition in self._of[name])

    def wanted(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """The other parameters that have to apply for all of these to, each with the values that do."""
        needed, wanted = set(names), dict[str, list[Any]]()
        for name in reversed(self.order):
            for condition in self._of[name] if name in needed else ():
                other = condition.name
                needed.add(other)
                values = wanted.get(other, condition.values)
                wanted[other] = [one for one in values if condition.met({other: one}, self._parameters)]
        return wanted

    def words(self, name: str) -> str:
        """When a parameter applies, as a sentence."""
        conditions = self._parameters[name].conditions
        words = [f"{other} is {' or '.join(map(repr, values))}" for other, values in conditions]
        return f"{name!r} applies only where {' and '.join(words)}"

    def there(self, U: Array, columns: Mapping[str, slice]) -> dict[str, Mask]:
        """For each parameter, at which rows of U, points of the grid, it applies (m,)."""
        there: dict[str, Mask] = {}
        for name in self.order:
            there[name] = np.ones(len(U), dtype=np.bool_)
            for condition in self._of[name]:
                there[name] &= condition.met_at(U[:, columns[condition.name]]) & there[condition.name]
        return there

    def combinations(self, names: list[str]) -> list[dict[str, Any]]:
        """Every combination of the values of these parameters, which are as in `order`."""
        found: list[dict[str, Any]] = [{}]
        for name in names:
            values = [{name: value} for value in self._parameters[name].values()]
            found = [
                {**params, **more}
                for params in found
                for more in (values if self.apply(name, params) else [{}])
            ]
        return found

    def _condition(self, name: str, other: str, values: tuple[Any, ...]) -> Condition:
        parent = self._parameters[other]
        if not parent.gridded:
            raise SpaceError(
                f"{name!r}: when wants a Choice, an Int or a Fixed, or a Float with a step, "
                f"got {other!r}, {brief(parent)}",
                parameter=name,
            )
        found: dict[tuple[float, ...], Any] = {}
        for value in values:
            try:
                checked = parent.check(value)
            except SpaceError as error:
                if parent.width:  # a Fixed has just one value, whichever others it might have had
                    raise SpaceError(f"{name!r}: when {other!r}: {error}", parameter=name) from None
                continue
            row = parent.encode(checked)
            if not parent.suggests(checked):
                raise SpaceError(
                    f"{name!r}: when {other!r}: wanted a value on its steps, got {brief(value)}",
                    parameter=name,
                )
            found[tuple(row)] = checked
        return Condition(other, tuple(found.values()), np.array([*found]).reshape(len(found), parent.width))


def _parents_first(parameters: Mapping[str, Parameter]) -> list[str]:
    """The names in an order in which every parameter comes after those that its condition names."""
    waiting = {name: [other for other, _ in one.conditions] for name, one in parameters.items()}
    for name, needed in waiting.items():
        if unknown := [other for other in needed if other not in parameters]:
            raise SpaceError(
                f"{name!r}: when names {unknown[0]!r}, which is not in the space", parameter=name
            )
    order: list[str] = []
    while waiting:
        ready = [name for name, needed in waiting.items() if all(other in order for other in needed)]
        if not ready:
            raise SpaceError(f"wanted conditions that do not go round in a circle, got {list(waiting)}")
        order += ready
        waiting = {name: needed for name, needed in waiting.items() if name not in ready}
    return order
