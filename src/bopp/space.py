"""The search space: named parameters on one side, the unit cube on the other.

    params   a dict, one value for each name that applies, in the user's units
    u        a row of the cube: each parameter owns one column or a few, each in [0, 1]

A point of the cube that some params encode to is *on the grid*; `snap` moves any point to the grid. The
columns of a parameter that does not apply at a point have the same middle values at every such point, so
that it puts no distance between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bopp.conditions import Conditions, Mask
from bopp.data import Array
from bopp.errors import SpaceError
from bopp.held import Held
from bopp.kinds import parameter as declared
from bopp.legible import brief
from bopp.parameter import Parameter

Params = dict[str, Any]

COUNTABLE = 5000  # combinations of the values that conditions name, up to which params are counted exactly


class Space:
    """Named parameters, and the mapping between them and the unit cube."""

    def __init__(self, parameters: Mapping[str, Any] | Space):
        if isinstance(parameters, Space):
            parameters = parameters.parameters
        if not isinstance(parameters, Mapping):
            raise SpaceError(f"wanted a dict of name to Float, Int, Choice or Fixed, got {brief(parameters)}")
        if not parameters:
            raise SpaceError("wanted at least one parameter, got an empty space")
        for name in parameters:
            if not isinstance(name, str):
                raise SpaceError(f"wanted parameter names that are strings, got {brief(name)}")
        self.parameters: dict[str, Parameter] = {
            name: _named(name, declared, one) for name, one in parameters.items()
        }
        if self.dimension == 0:
            raise SpaceError(f"wanted a parameter to search for, got only fixed ones: {list(parameters)}")
        self._conditions = Conditions(self.parameters)

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
        """How many different params there are; infinite with a Float that has no step."""
        levels = {name: parameter.levels for name, parameter in self.parameters.items()}
        if math.inf in levels.values():
            return math.inf
        deciding = self._conditions.deciding
        if math.prod(levels[name] for name in deciding) > COUNTABLE:
            return math.prod(levels.values())  # more than there are
        others = [name for name in self._conditions.order if name not in deciding]
        return sum(
            math.prod(levels[name] for name in others if self._conditions.apply(name, params))
            for params in self._conditions.combinations(deciding)
        )

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Which columns of the cube belong to which parameter."""
        ends = np.cumsum([parameter.width for parameter in self.parameters.values()])
        return {
            name: slice(int(end) - parameter.width, int(end))
            for (name, parameter), end in zip(self.parameters.items(), ends, strict=True)
        }

    @property
    def conditional(self) -> tuple[str, ...]:
        """The parameters that do not always apply."""
        return tuple(name for name, parameter in self.parameters.items() if parameter.conditions)

    def applying(self, params: Params) -> list[str]:
        """The parameters that apply, as far as params with valid values tell; they need not be complete."""
        kept: Params = {}
        names = []
        for name in self._conditions.order:
            if self._conditions.apply(name, kept):
                names.append(name)
                kept |= {name: params[name]} if name in params else {}
        return names

    def check(self, params: Mapping[str, Any]) -> Params:
        """The params in their parameters' own types; an error names what does not fit.

        Those that are fixed may be left out.
        """
        if not isinstance(params, Mapping):
            raise SpaceError(f"wanted a dict of params, got {brief(params)}")
        unknown = [name for name in params if name not in self.parameters]
        checked: Params = {}
        missing: list[str] = []
        for name in self._conditions.order:
            if not self._conditions.apply(name, checked):
                if name in params and not missing:
                    raise SpaceError(f"{self._conditions.words(name)}, got {brief(params)}", parameter=name)
            elif name in params:
                checked[name] = self.check_one(name, params[name])
            elif self.parameters[name].width:
                missing.append(name)
            else:
                checked[name] = self.parameters[name].decode(())
        if missing or unknown:
            wanted = [name for name in self.parameters if name in checked or name in missing]
            raise SpaceError(
                f"wanted the params {wanted}: missing {missing}, unknown {brief(unknown)}",
                parameter=(missing or unknown)[0],
            )
        return self._in_order(checked)

    def check_one(self, name: str, value: Any) -> Any:
        """The value of one parameter in its own type."""
        return _named(name, self.parameters[name].check, value)

    def check_part(self, params: Mapping[str, Any]) -> Params:
        """Some of the params in their own types, and whatever else these decide; the rest is left open."""
        if not isinstance(params, Mapping):
            raise SpaceError(f"wanted a dict of params, got {brief(params)}")
        unknown = [name for name in params if name not in self.parameters]
        if unknown or not params:
            got = brief(unknown) if unknown else "none"
            raise SpaceError(
                f"wanted some of the params {list(self.parameters)}, got {got}",
                parameter=next(iter(unknown), None),
            )
        found = {name: self.check_one(name, value) for name, value in params.items()}
        wanted = self._conditions.wanted(found)
        for other, values in wanted.items():
            encode = self.parameters[other].encode
            if not values or (other in found and encode(found[other]) not in map(encode, values)):
                names = [name for name in self.parameters if name in found or name in wanted]
                blamed = [name for name in names if other in dict(self.parameters[name].conditions)]
                raise SpaceError(
                    f"{', '.join(map(self._conditions.words, blamed))}, got {brief(params)}",
                    parameter=blamed[0],
                )
            if len(values) == 1:
                found[other] = values[0]
        for name in self._conditions.order:
            if self.parameters[name].width == 0 and self._conditions.apply(name, found):
                found[name] = self.parameters[name].decode(())
        return self._in_order(found)

    def is_whole(self, params: Params) -> bool:
        """Whether params that `check_part` returned have everything that applies."""
        return not self.missing(params)

    def missing(self, params: Mapping[str, Any]) -> list[str]:
        """The parameters that apply, are not fixed, and are not in the params."""
        varied = [name for name in self._conditions.order if self.parameters[name].width]
        return [name for name in varied if name not in params and self._conditions.apply(name, params)]

    def cut(self, params: Mapping[str, Any]) -> Params:
        """The params without those that do not apply, and with those that are fixed."""
        found: Params = {}
        for name in self._conditions.order:
            if self._conditions.apply(name, found):
                if name in params:
                    found[name] = params[name]
                elif self.parameters[name].width == 0:
                    found[name] = self.parameters[name].decode(())
        return self._in_order(found)

    def filled(self, params: Params, rest: Params) -> Params:
        """The params, with those of `rest` that they lack and that apply."""
        found = dict(params)
        for name in self._conditions.order:
            if name in rest and name not in found and self._conditions.apply(name, found):
                found[name] = rest[name]
        return found

    def holding(self, params: Params) -> Space:
        """A space with the same columns in which these params, which `check_part` returned, are settled."""
        allowed = self._conditions.wanted(params) | {name: [value] for name, value in params.items()}
        held = {name: Held.of(self.parameters[name], values) for name, values in allowed.items()}
        return Space({name: held.get(name, parameter) for name, parameter in self.parameters.items()})

    @cached_property
    def whole(self) -> Space:
        """The space in which nothing is settled."""
        if not any(isinstance(one, Held) for one in self.parameters.values()):
            return self
        return Space(
            {name: one.parameter if isinstance(one, Held) else one for name, one in self.parameters.items()}
        )

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The row of the cube (d,) for `params`."""
        return self._row(self.check(params))

    def decode(self, u: Array) -> Params:
        """The params at a row of the cube, or at the point of the grid nearest to it."""
        params: Params = {}
        for name in self._conditions.order:
            if self._conditions.apply(name, params):
                params[name] = self.parameters[name].decode(u[self.columns[name]].tolist())
        return self._in_order(params)

    def decode_all(self, U: Array) -> list[Params]:
        """The params at each row of U, as `decode` returns them."""
        if self._conditions.deciding:
            return [self.decode(u) for u in U]
        values = [one.decode_all(U[:, self.columns[name]]) for name, one in self.parameters.items()]
        return [dict(zip(self.parameters, row, strict=True)) for row in zip(*values, strict=True)]

    def point(self, u: Array) -> Array:
        """The row of the cube for the params at `u`, bit for bit as `encode` returns it."""
        return self._row(self.decode(u))

    def snap(self, U: Array) -> Array:
        """The points of the grid nearest to the rows of U."""
        if self.real.all() and not self._conditions.deciding:
            return U
        parts = [self.parameters[name].snap(U[:, columns]) for name, columns in self.columns.items()]
        snapped = np.hstack(parts)
        if not self._conditions.deciding:
            return snapped
        return np.where(self.applies(snapped), snapped, self._middle)

    def applies(self, U: Array) -> Mask:
        """Which columns (m, d) belong to parameters that apply at each row of U, a point of the grid."""
        mask = np.ones(U.shape, dtype=np.bool_)
        for name, there in self.there(U).items():
            mask[:, self.columns[name]] = there[:, None]
        return mask

    def there(self, U: Array) -> dict[str, Mask]:
        """For each parameter, at which rows of U, points of the grid, it applies (m,)."""
        return self._conditions.there(U, self.columns)

    def free(self, U: Array) -> Mask:
        """Which columns (m, d) can be moved, from a point of the grid, with the same parameters applying."""
        deciding = [self.columns[name] for name in self._conditions.deciding]
        free = self.applies(U) if deciding else np.ones(U.shape, dtype=np.bool_)
        for columns in deciding:
            free[:, columns] = False
        return free

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

    def candidates(self, count: int, rng: np.random.Generator) -> Array:
        """So many random points (count, d) to choose from; a `Region` has allowed ones, on the grid."""
        return rng.random((count, self.dimension))

    def allowed(self, U: Array) -> Mask:
        """Which rows of U may be suggested: all of them, or in a `Region` those that meet its conditions."""
        return np.ones(len(U), dtype=np.bool_)

    def inside(self, U: Array, kept: Mask | None = None) -> Array:
        """Points of the grid, moved by the least that linear conditions want, but not in columns `kept`."""
        return U

    def along(self, U: Array, way: Array, free: Mask) -> Array:
        """Directions (m, d) at points U without what would leave the linear conditions; only free columns."""
        return way

    def moves(self, U: Array) -> tuple[Array, npt.NDArray[np.intp]]:
        """Points of the grid that differ from a row of U in one discrete parameter, and the row's index.

        For an Int, only values a power of two away are tried.
        """
        points, owners = [], []
        there = self.applies(U)
        for name, columns in self.columns.items():
            rows = np.flatnonzero(there[:, columns].all(axis=1))
            values, owner = self.parameters[name].around(U[rows, columns])
            owner = rows[owner]
            points.append(U[owner])
            points[-1][:, columns] = values
            owners.append(owner)
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        moved = np.concatenate(points)[order]
        return (self.snap(moved) if self._conditions.deciding else moved), owner[order]

    @cached_property
    def grid(self) -> Array:
        """Every point of a space without Floats, or with Floats in steps."""
        if self._conditions.deciding:
            return np.array(
                [self._row(params) for params in self._conditions.combinations(self._conditions.order)]
            )
        parts = [parameter.points() for parameter in self.parameters.values()]
        places = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
        return np.hstack([part[place] for part, place in zip(parts, places, strict=True)])

    def _row(self, params: Params) -> Array:
        """The row of the cube for params that are known to fit."""
        rows = self.parameters.items()
        return np.array(
            [u for name, p in rows for u in (p.encode(params[name]) if name in params else p.middle)]
        )

    @cached_property
    def _middle(self) -> Array:
        return np.array([u for parameter in self.parameters.values() for u in parameter.middle])

    def _in_order(self, params: Params) -> Params:
        return {name: params[name] for name in self.parameters if name in params}

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
        raise SpaceError(f"{brief(name)}: {error}", parameter=name) from None
