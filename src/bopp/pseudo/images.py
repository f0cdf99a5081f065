"""Images: places that must have the same value as a measured one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations, product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bopp.called import Called, called
from bopp.data import Array
from bopp.errors import RecipeError, SpaceError
from bopp.legible import brief, described
from bopp.parameter import Parameter
from bopp.pseudo.policy import Source
from bopp.pseudo.settings import Named, Names, checked_trust, names_in, numbers, without
from bopp.scales import is_number
from bopp.space import Params, Space

if TYPE_CHECKING:
    from bopp.bridges.sources import Translator
    from bopp.problem import Problem

MOST = 24  # images of one point
ROUNDING = 1e-6  # by which an image may miss the value of a grid that it is meant to have
WANTED = 'Images: exchange: wanted names such as ("a", "b"), or blocks of names of the same length'
MARGIN = 0.25  # of a period: how far beyond an end of the range what comes after it is shown
TRIED = 8  # points at which a function is tried before a run

Equal = Callable[..., Mapping[str, Any] | Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Images(Source):
    """A symmetry of the objective: measured points have images with the same value.

    Args:
        exchange: parameters that may be exchanged, as in ("a", "b", "c"), or blocks of parameters, as in
            (("x1", "y1"), ("x2", "y2")).
        mirror: a dict of names to the values about which they may be mirrored, each on its own.
        period: a dict of names to the period after which the same values come again.
        equal: a function of params, by keyword or as a dict, to other params with the same value, or to a
            list of them. Numbers beyond a range, or between the values of a grid, are no image; the level of
            a fidelity that it leaves out is that of the params.
        trust: how sure you are, between 0 and 1, before anything is measured.

    With several of these, their combinations are images as well, 24 of a point at most; of more than four
    that may be exchanged, any two are. A parameter with log=True is mirrored by ratio. The fit sees images
    too, and none of a measured point is suggested.
    """

    exchange: Names = ()
    mirror: Named = ()
    period: Named = ()
    equal: Equal | None = None
    trust: float = 0.97
    holds_for_all_values: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "exchange", _blocks(self.exchange))
        object.__setattr__(self, "mirror", numbers("Images: mirror", self.mirror))
        object.__setattr__(self, "period", numbers("Images: period", self.period))
        checked_trust("Images", self.trust)
        if self.equal is not None and not callable(self.equal):
            raise RecipeError(f"Images: equal must be a function of params, got {self.equal!r}")
        if any(length <= 0.0 for _, length in self.period):
            raise RecipeError(f"Images: wanted periods above 0, got {dict(self.period)}")
        if not (self.exchange or self.mirror or self.period or self.equal):
            raise RecipeError("Images: wanted one of exchange, mirror, period and equal, got none")

    def bind(self, problem: Problem) -> Images:
        space = problem.space
        names_in(space, "Images: exchange", [name for block in self.exchange for name in block])
        for names in zip(*self.exchange, strict=True):
            kinds = [space.parameters[name] for name in names]
            if any(kind != kinds[0] for kind in kinds):
                raise RecipeError(f"Images: wanted parameters alike to exchange, got {_shown(names, kinds)}")
        names_in(space, "Images", [name for name, _ in (*self.mirror, *self.period)])
        for name, _ in (*self.mirror, *self.period):
            if not space.parameters[name].numeric:
                raise RecipeError(f"Images: wanted a number to mirror or repeat, got {name!r}")
        for name, about in self.mirror:
            if space.parameters[name].logarithmic and about <= 0.0:
                raise RecipeError(f"Images: mirror {name!r}: wanted a number above 0, got {about!r}")
            if not 0.0 < space.parameters[name].position(about) < 1.0:
                raise RecipeError(f"Images: mirror {name!r}: wanted a number within its range, got {about!r}")
        for name, length in self.period:
            if space.parameters[name].logarithmic:
                raise RecipeError(
                    f"Images: wanted a period of a linear parameter, got {name!r} with log=True"
                )
            low, *_, high = space.parameters[name].marks()
            if length * (1.0 - MARGIN) >= high - low:
                raise RecipeError(
                    f"Images: period {name!r}: wanted one within its range of {high - low!r}, got {length!r}"
                )
        if self.equal is None:
            return self
        level = problem.fidelity
        equal = self.equal if level is None else levelled(self.equal, space, level.name)
        tried = space.snap(np.random.default_rng(0).random((TRIED, space.dimension)))
        _by_function(equal, space, tried)  # so that what is wrong with it does not end a run
        return replace(self, equal=equal)

    def translate(self, to: Translator) -> Self:
        to.check_alike(self.exchange)
        return replace(
            self,
            mirror={name: to.number(name, about) for name, about in self.mirror},
            period={name: to.length(name, length) for name, length in self.period},
            equal=self.equal and to.function_to_params(self.equal, "Images: equal"),
        )

    def twins(self, space: Space, X: Array) -> Array:
        moves = [
            [_permutation(space, self.exchange, order) for order in _orders(len(self.exchange))],
            *([_kept, _mirror(space, name, about)] for name, about in self.mirror),
            *([_kept, *_shifts(space, name, length)] for name, length in self.period),
        ]
        found: list[Array] = []
        for moved in islice(product(*moves), 1, MOST + 1):  # the first keeps everything
            image = X
            for move in moved:
                image = move(image)
            found.append(_on_grid(space, image))
        if self.equal is not None:
            inside = [X, *(_inside(image) for image in found)]
            found += [one for image in inside for one in _by_function(self.equal, space, image)]
        return np.array(found[:MOST]).reshape(min(len(found), MOST), *X.shape)


def _orders(count: int) -> list[tuple[int, ...]]:
    """All orders of up to four things; of more, first those in which two have changed places."""
    if count <= 4:
        return list(permutations(range(count)))
    same = tuple(range(count))
    pairs = (
        tuple(b if one == a else a if one == b else one for one in same) for a, b in combinations(same, 2)
    )
    return list(islice(dict.fromkeys([same, *pairs, *islice(permutations(same), 2 * MOST)]), MOST + 1))


def _inside(X: Array) -> Array:
    """The rows that lie in the cube; NaN in place of the others."""
    outside = np.any((X < 0.0) | (X > 1.0), axis=1)
    inside = X.copy()
    inside[outside] = np.nan
    return inside


def _on_grid(space: Space, X: Array) -> Array:
    """The rows; NaN in place of those in the cube that lie between the values of a grid, where nothing is."""
    image = X.copy()
    inside = np.flatnonzero(~np.isnan(_inside(X)).any(axis=1))
    if len(inside):
        image[inside] = space.snap(X[inside])
        image[inside[np.abs(image[inside] - X[inside]).max(axis=1) > ROUNDING]] = np.nan
    return image


def _kept(X: Array) -> Array:
    return X


def _permutation(space: Space, group: Sequence[Any], order: Sequence[int]) -> Callable[[Array], Array]:
    columns = np.arange(space.dimension)
    for block, place in zip(group, order, strict=True):
        for name, other in zip(block, group[place], strict=True):
            columns[space.columns[name]] = np.arange(space.dimension)[space.columns[other]]
    return lambda X: X[:, columns]


def _mirror(space: Space, name: str, about: float) -> Callable[[Array], Array]:
    column, centre = space.columns[name].start, space.parameters[name].position(about)

    def moved(X: Array) -> Array:
        image, u = X.copy(), 2.0 * centre - X[:, column]
        image[:, column] = np.clip(u, 0.0, 1.0)
        image[(u < -1e-9) | (u > 1.0 + 1e-9)] = np.nan
        return image

    return moved


def _shifts(space: Space, name: str, length: float) -> list[Callable[[Array], Array]]:
    """Moves by whole periods, either way, as far as the range goes and a little beyond its ends."""
    column, parameter = space.columns[name].start, space.parameters[name]
    by = parameter.position(parameter.marks()[0] + length)
    margin = MARGIN * by

    def shift(periods: int) -> Callable[[Array], Array]:
        def moved(X: Array) -> Array:
            image = X.copy()
            image[:, column] += periods * by
            image[(image[:, column] < -margin) | (image[:, column] > 1.0 + margin)] = np.nan
            return image

        return moved

    most = min(MOST // 2, math.floor(1.0 / by + MARGIN))
    return [shift(sign * periods) for periods in range(1, max(most, 1) + 1) for sign in (1, -1)]


@dataclass(frozen=True)
class Levelled:
    """A function of params for a problem with fidelities: what it gives has the level that it was given.

    `bare` if it knows nothing of levels and gets params without one.
    """

    function: Equal
    level: str
    bare: bool

    def __post_init__(self) -> None:
        named = self.function.function if isinstance(self.function, Called) else self.function
        for name in ("__module__", "__name__", "__qualname__"):  # it is known by the name of the function
            if hasattr(named, name):
                object.__setattr__(self, name, getattr(named, name))

    def __call__(self, params: Params, /) -> Any:
        own = {name: value for name, value in params.items() if name != self.level or not self.bare}
        level = {self.level: params[self.level]}
        return [level | dict(one) if isinstance(one, Mapping) else one for one in _listed(self.function(own))]


def levelled(equal: Equal, space: Space, level: str) -> Levelled:
    """The function for a space with a level, which it may take and return or leave out."""
    if isinstance(equal, Levelled):
        return equal
    try:
        asked = called(equal, without(space, level))
    except RecipeError:
        return Levelled(called(equal, space, "Images: equal"), level, bare=False)
    return Levelled(asked, level, bare=isinstance(asked, Called) and asked.by_keyword)


def _by_function(equal: Equal, space: Space, X: Array) -> list[Array]:
    """The images that a function of params gives of each row."""
    asked = called(equal, space, "Images: equal")
    rows = [[] if np.isnan(u).any() else _given(asked, space, space.decode(u)) for u in X]
    most = max(map(len, rows), default=0)
    missing = np.full(space.dimension, np.nan)
    return [np.array([row[place] if place < len(row) else missing for row in rows]) for place in range(most)]


def _given(equal: Equal, space: Space, params: Params) -> list[Array]:
    """The rows of the images that a function gives of params."""
    wanted = f"Images: equal: wanted params with the same value as {brief(params)}"
    try:
        listed = _listed(equal(dict(params)))
    except Exception as error:
        raise RecipeError(f"{wanted}, got {described(error)}") from error
    rows = []
    for one in listed:
        try:
            rows.append(_encoded(space, one))
        except SpaceError as error:
            raise RecipeError(f"{wanted}, got {brief(one)}: {error}") from None
    return [row for row in rows if row is not None]


def _encoded(space: Space, params: Any) -> Array | None:
    """The row of params, whose numbers may be off by rounding; None if one is no value of its parameter."""
    meant = params
    for name, parameter in space.parameters.items() if isinstance(params, Mapping) else ():
        value = params.get(name)
        if parameter.numeric and is_number(value):
            if (nearest := _nearest(parameter, value)) is None:
                return None
            meant = {**meant, name: nearest}
    return space.encode(meant)


def _nearest(parameter: Parameter, value: Any) -> Any:
    """The value of a parameter that a number is up to rounding; None if there is none."""
    try:
        u = parameter.position(value)
    except SpaceError:
        return value if value != value else None  # NaN is no number, for the parameter to refuse
    if not -ROUNDING <= u <= 1.0 + ROUNDING:
        return None
    if parameter.gridded:
        on = parameter.decode([u])
        return on if abs(parameter.position(on) - u) <= ROUNDING else None
    low, *_, high = parameter.marks()
    inside = min(max(value, low), high)
    return inside if math.isinf(parameter.levels) else round(inside)


def _listed(found: Any) -> list[Any]:
    """What a function gave: one or several."""
    several = isinstance(found, Iterable) and not isinstance(found, Mapping | str)
    return list(found) if several else [found]


def _blocks(exchange: Any) -> tuple[tuple[str, ...], ...]:
    """Blocks of names that may be exchanged; a single name is a block of one."""
    listed = isinstance(exchange, Sequence) and not isinstance(exchange, str)
    if listed and all(isinstance(one, str | list | tuple) for one in exchange):
        blocks = tuple((one,) if isinstance(one, str) else tuple(one) for one in exchange)
        names = [name for block in blocks for name in block]
        whole = len({len(block) for block in blocks}) == 1 and len(set(names)) == len(names)
        if not blocks or (len(blocks) > 1 and whole and all(isinstance(name, str) for name in names)):
            return blocks
    raise RecipeError(f"{WANTED}, got {brief(exchange)}")


def _shown(names: Sequence[str], kinds: Sequence[Parameter]) -> str:
    return ", ".join(f"{name!r} {kind!r}" for name, kind in zip(names, kinds, strict=True))
