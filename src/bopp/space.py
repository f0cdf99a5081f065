"""The search space: named parameters on one side, the unit cube on the other.

    params   a dict, one value per name, in the user's units
    u        a row of the cube: each parameter owns one column or a few, each in [0, 1]

A point of the cube that some params encode to is *on the grid*; `snap` moves any point to the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.parameter import Parameter

Params = dict[str, Any]


class Space:
    """Named parameters, and the mapping between them and the unit cube."""

    def __init__(self, parameters: Mapping[str, Parameter] | Space):
        if isinstance(parameters, Space):
            parameters = parameters.parameters
        if not isinstance(parameters, Mapping):
            raise SpaceError(f"wanted a dict of name to Float, Int or Choice, got {parameters!r}")
        if not parameters:
            raise SpaceError("wanted at least one parameter, got an empty space")
        for name, parameter in parameters.items():
            if not isinstance(name, str):
                raise SpaceError(f"wanted parameter names that are strings, got {name!r}")
            if not isinstance(parameter, Parameter):
                raise SpaceError(f"{name!r}: wanted a Float, Int or Choice, got {parameter!r}")
        self.parameters: dict[str, Parameter] = {
            name: _named(name, parameter.checked) for name, parameter in parameters.items()
        }

    def __repr__(self) -> str:
        return f"Space({self.parameters!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.parameters.items()) == list(other.parameters.items())

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def dimension(self) -> int:
        return sum(parameter.width for parameter in self.parameters.values())

    @cached_property
    def size(self) -> float:
        """How many different params there are; infinite with a Float."""
        levels = [parameter.levels for parameter in self.parameters.values()]
        return math.inf if math.inf in levels else math.prod(levels)

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Which columns of the cube belong to which parameter."""
        ends = np.cumsum([parameter.width for parameter in self.parameters.values()])
        return {
            name: slice(int(end) - parameter.width, int(end))
            for (name, parameter), end in zip(self.parameters.items(), ends, strict=True)
        }

    def check(self, params: Mapping[str, Any]) -> Params:
        """The params in their parameters' own types; an error names what does not fit."""
        if not isinstance(params, Mapping):
            raise SpaceError(f"wanted a dict of params, got {params!r}")
        missing = [name for name in self.parameters if name not in params]
        unknown = [name for name in params if name not in self.parameters]
        if missing or unknown:
            raise SpaceError(
                f"wanted the params {list(self.parameters)}: missing {missing}, unknown {unknown}"
            )
        return {
            name: _named(name, parameter.check, params[name]) for name, parameter in self.parameters.items()
        }

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The row of the cube (d,) for `params`."""
        return self._row(self.check(params))

    def decode(self, u: Array) -> Params:
        """The params at a row of the cube, or at the point of the grid nearest to it."""
        return {
            name: self.parameters[name].decode(u[columns].tolist()) for name, columns in self.columns.items()
        }

    def point(self, u: Array) -> Array:
        """The row of the cube for the params at `u`, bit for bit as `encode` returns it."""
        return self._row(self.decode(u))

    def snap(self, U: Array) -> Array:
        """The points of the grid nearest to the rows of U."""
        if not self.discrete.any():
            return U
        parts = [self.parameters[name].snap(U[:, columns]) for name, columns in self.columns.items()]
        return np.hstack(parts)

    @cached_property
    def real(self) -> npt.NDArray[np.bool_]:
        """Columns of a parameter with infinitely many values, such as a Float."""
        return self._mark(lambda parameter: math.isinf(parameter.levels))

    @cached_property
    def discrete(self) -> npt.NDArray[np.bool_]:
        """Columns whose values lie on a grid that a float can resolve."""
        return self._mark(lambda parameter: parameter.gridded)

    @cached_property
    def unordered(self) -> npt.NDArray[np.bool_]:
        """Columns of a parameter whose values have no order, such as a Choice that is not `ordered`."""
        return self._mark(lambda parameter: parameter.unordered)

    def moves(self, U: Array) -> tuple[Array, npt.NDArray[np.intp]]:
        """Points of the grid that differ from a row of U in one discrete parameter, and the row's index.

        For an Int, only values a power of two away are tried.
        """
        points, owners = [], []
        for name, columns in self.columns.items():
            values, owner = self.parameters[name].around(U[:, columns])
            points.append(U[owner])
            points[-1][:, columns] = values
            owners.append(owner)
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        return np.concatenate(points)[order], owner[order]

    @cached_property
    def grid(self) -> Array:
        """Every point of a space without Floats."""
        parts = [np.array([p.encode(value) for value in p.values()]) for p in self.parameters.values()]
        places = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
        return np.hstack([part[place] for part, place in zip(parts, places, strict=True)])

    def _row(self, params: Params) -> Array:
        """The row of the cube for params that are known to fit."""
        return np.array([u for name, p in self.parameters.items() for u in p.encode(params[name])])

    def _mark(self, wanted: Callable[[Parameter], bool]) -> npt.NDArray[np.bool_]:
        return np.repeat(
            [wanted(parameter) for parameter in self.parameters.values()],
            [parameter.width for parameter in self.parameters.values()],
        )


def _named(name: str, check: Callable[..., Any], *arguments: Any) -> Any:
    """What the check returns; its error is prefixed with the parameter's name."""
    try:
        return check(*arguments)
    except SpaceError as error:
        raise SpaceError(f"{name!r}: {error}") from None
