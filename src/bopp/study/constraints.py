"""Constraints: what the tables [[constraint]] of a study file say must be met."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bopp.constraint import Linear
from bopp.errors import BoppError, ConfigError
from bopp.problem import AtLeast, AtMost, Constraint, Holds
from bopp.study.function import python_objective
from bopp.study.tables import ConstraintTable, read_table, shown

FILE = "[[constraint]]"
MEMORY = '{ name = "memory", at_most = 16.0 }'
WAYS = ("at_most", "at_least", "equals")


@dataclass(frozen=True)
class Named:
    """A condition on params by its function, "module:function", which is imported when a study wants it."""

    where: str
    name: str
    python: str

    def imported(self, folder: Path) -> Holds:
        """The condition itself."""
        try:
            return Holds(self.name, python_objective(self.python, folder))
        except ConfigError as error:
            raise ConfigError(f"{self.where} python: {error}") from error


def constraints(rows: Any) -> tuple[Constraint | Named, ...]:
    """What the tables say; nothing is imported."""
    if not isinstance(rows, list):
        raise ConfigError(f"{FILE}: wanted each table under {FILE}, in double brackets, got {shown(rows)}")
    tables = [_constraints(f"{FILE} {number}:", row) for number, row in enumerate(rows, 1)]
    return tuple(one for found in tables for one in found)


def _constraints(where: str, row: Any) -> Iterable[Constraint | Named]:
    if not isinstance(row, dict):
        raise ConfigError(f"{where} wanted a table such as {MEMORY}, got {shown(row)}")
    table = read_table(where, ConstraintTable, row)
    bounds = {way: getattr(table, way) for way in WAYS if getattr(table, way) is not None}
    if table.python is not None:
        if table.linear is not None or bounds:
            other = "linear" if table.linear is not None else next(iter(bounds))
            raise ConfigError(f"{where} {other}: wanted it without python, which says yes or no itself")
        return [Named(where, table.name or table.python, table.python)]
    if table.linear is not None:
        try:
            return [Linear(table.linear, **bounds, name=table.name)]
        except BoppError as error:
            raise ConfigError(f"{where} {str(error).removeprefix('Linear: ')}") from None
    if table.name is None:
        raise ConfigError(f"{where} wanted the name of a measured value, linear or python, got none of them")
    if table.equals is not None:
        raise ConfigError(f"{where} equals: wanted it with linear only; measured values are never exact")
    if not bounds:
        raise ConfigError(f"{where} wanted at_most or at_least, or both, got neither")
    kinds: dict[str, type[AtMost | AtLeast]] = {"at_most": AtMost, "at_least": AtLeast}
    return [kinds[way](table.name, bound) for way, bound in bounds.items()]
