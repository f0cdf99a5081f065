"""Guesses: what an expert expects, of values and of where the best one is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bopp.data import Array, Data
from bopp.errors import RecipeError, SpaceError
from bopp.known import Known
from bopp.legible import brief
from bopp.pseudo.policy import Source, none
from bopp.pseudo.settings import Expected, Named, Names, Pairs, checked_trust, names_in, number, paired
from bopp.space import Space

if TYPE_CHECKING:
    from bopp.bridges.sources import Translator
    from bopp.problem import Problem

FAR = 1e6  # in the model's unit: what is guessed beyond this is passed over
WITHIN = (1e-6, 1e6)  # widths of a range
EDGE = 0.1  # of its range: how far from a good range, or from an end, a value may still be
TAIL = 1.0  # degrees of freedom of the density around a guess: far away it falls slowly


@dataclass(frozen=True)
class Guesses(Source):
    """What an expert expects.

    Args:
        values: triples of params, value and by how much that may be off, one standard deviation:
            [({"rate": 0.01}, 0.9, 0.05)]. Params that are left out are taken as in the best trial, the level
            of a fidelity as the real one.
        near: params near which the best ones probably are; those left out may have any value.
        within: how near, in widths of the ranges: one standard deviation.
        good: a dict of names to ranges (low, high), or lists of options, in which they are probably best.
        more: names of parameters of which more is never worse.
        less: names of parameters of which less is never worse.
        trust: how sure you are, between 0 and 1, before anything is measured.

    Values are shown to the model; all else steers the search, less so with every evaluation.
    """

    values: Expected = ()
    near: Named = ()
    within: float = 0.1
    good: Named = ()
    more: Names = ()
    less: Names = ()
    trust: float = 0.7

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(map(_guess, _listed("values", self.values))))
        object.__setattr__(self, "near", paired("Guesses: near", self.near))
        object.__setattr__(self, "good", tuple(map(_range, paired("Guesses: good", self.good))))
        for name in ("more", "less"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else _listed(name, given))
        if both := [name for name in self.more if name in self.less]:
            raise RecipeError(
                f"Guesses: wanted more or less of each to be never worse, got both of {both[0]!r}"
            )
        checked_trust("Guesses", self.trust)
        if not WITHIN[0] <= number("Guesses: within", self.within) <= WITHIN[1]:
            wanted = f"from {WITHIN[0]:g} to {WITHIN[1]:g}"
            raise RecipeError(f"Guesses: within must be above 0, {wanted}, got {brief(self.within)}")
        if not (self.values or self.near or self.good or self.more or self.less):
            raise RecipeError("Guesses: wanted one of values, near, good, more and less, got none")

    def bind(self, problem: Problem) -> Guesses:
        space, level = problem.space, problem.fidelity
        values = [(dict(params), value, off) for params, value, off in self.values]
        if level is not None:  # a guess is one of the real level, unless it has another
            for params, _, _ in values:
                if params:
                    params.setdefault(level.name, level.real)
        for params, _, _ in values:
            space.check_part(params)
        if self.near:
            space.check_part(dict(self.near))
        names_in(space, "Guesses", [*dict(self.good), *self.more, *self.less])
        for name, wanted in self.good:
            if not space.parameters[name].numeric:
                for value in wanted:
                    space.check_one(name, value)
            else:
                _check_range(space, name, wanted)
        for name in (*self.more, *self.less):
            if not space.parameters[name].numeric:
                raise RecipeError(
                    f"Guesses: wanted a number of which more or less is never worse, got {name!r}"
                )
        return replace(self, values=values)

    def translate(self, to: Translator) -> Self:
        return replace(
            self,
            values=[(to.params(params), value, off) for params, value, off in self.values],
            near=to.params(self.near),
            good={name: [to.number_or_option(name, one) for one in wanted] for name, wanted in self.good},
        )

    def __call__(self, known: Known) -> Data:
        if not self.values:
            return none(known)
        best = known.data.X[np.argmax(known.posterior.mean(known.data.X))]
        X = np.repeat(best[None, :], len(self.values), axis=0)
        for row, (params, _, _) in zip(X, self.values, strict=True):
            for name, value in known.space.check_part(dict(params)).items():
                row[known.space.columns[name]] = known.space.parameters[name].encode(value)
        value, off = np.array([[value, off] for _, value, off in self.values]).T
        with np.errstate(over="ignore", invalid="ignore"):
            y = known.in_model(value)
            variance = ((known.in_model(value + off) - known.in_model(value - off)) / 2.0) ** 2
        told = np.isfinite(y) & (np.abs(y) < FAR) & (variance < FAR)  # beyond, a guess says nothing
        return Data(known.space.snap(X[told]), y[told], variance[told])

    def favour(self, space: Space, U: Array) -> tuple[Array, Array] | None:
        if not (self.near or self.good or self.more or self.less):
            return None
        offsets = self._offsets(space, U)
        distance, slope = np.zeros(len(U)), np.zeros_like(U)
        for at, off, scale in offsets:
            distance += np.sum((off / scale) ** 2, axis=1)
            slope[:, at] += 2.0 * off / scale**2
        weight = 0.5 * (len(offsets) + TAIL)  # a density of Student's t
        return -weight * np.log1p(distance / TAIL), -weight * slope / (TAIL + distance)[:, None]

    def _offsets(self, space: Space, U: Array) -> list[tuple[slice, Array, float]]:
        """The columns of each parameter with how far they are from where it is best, and how far is far."""
        columns, found = space.columns, []
        near = [(name, U[:, columns[name]] - _encoded(space, name, value)) for name, value in self.near]
        good = [(name, _outside(space, name, wanted, U[:, columns[name]])) for name, wanted in self.good]
        ends = [(name, U[:, columns[name]] - end) for name, end in self._ends]
        for offsets, scale in ((near, self.within), (good, EDGE), (ends, EDGE)):
            for name, off in offsets:
                parameter = space.parameters[name]
                if parameter.when is not None:  # of one that does not apply nothing is said
                    off = np.where(space.applies(space.snap(U))[:, columns[name]], off, 0.0)
                found.append((columns[name], off, scale if parameter.numeric else 1.0))
        return found

    @property
    def _ends(self) -> list[tuple[str, float]]:
        """Where parameters are best of which more, or less, is never worse."""
        return [*((name, 1.0) for name in self.more), *((name, 0.0) for name in self.less)]

    def draw(self, space: Space, count: int, rng: np.random.Generator) -> Array:
        U = rng.random((count, space.dimension))
        for name, value in self.near:
            parameter, centre = space.parameters[name], _encoded(space, name, value)
            step = self.within if parameter.numeric else 0.0
            U[:, space.columns[name]] = centre + step * rng.standard_normal((count, parameter.width))
        for name, wanted in self.good:
            at = space.columns[name]
            U[:, at] -= _outside(space, name, wanted, U[:, at])
        for name, end in self._ends:
            U[:, space.columns[name]] = end
        return np.clip(U, 0.0, 1.0)

    def starts(self, space: Space, sign: float) -> list[Array]:
        if not self.near:
            return []
        u = np.full(space.dimension, np.nan)
        for name, value in space.check_part(dict(self.near)).items():
            u[space.columns[name]] = space.parameters[name].encode(value)
        return [u]


def _encoded(space: Space, name: str, value: Any) -> Array:
    return np.array(space.parameters[name].encode(space.check_one(name, value)))


def _outside(space: Space, name: str, wanted: tuple[Any, ...], U: Array) -> Array:
    """How far the columns of a parameter are from the values that are good."""
    parameter = space.parameters[name]
    if parameter.numeric:
        low, high = sorted(map(parameter.position, wanted))
        return np.asarray(U - np.clip(U, low, high))
    good = np.array([_encoded(space, name, value) for value in wanted])
    nearest = good[np.argmin(((U[:, None, :] - good) ** 2).sum(axis=2), axis=1)]
    return np.asarray(U - nearest)


def _check_range(space: Space, name: str, wanted: tuple[Any, ...]) -> None:
    try:
        ends = [space.parameters[name].position(one) for one in wanted]
    except SpaceError as error:
        raise RecipeError(f"Guesses: good {name!r}: {error}") from None
    if len(ends) != 2 or ends[0] == ends[1]:
        raise RecipeError(f"Guesses: good {name!r}: wanted a range (low, high), got {brief(wanted)}")
    low, *_, high = space.parameters[name].marks()
    if max(wanted) < low or min(wanted) > high:
        raise RecipeError(
            f"Guesses: good {name!r}: wanted a range that meets that of the parameter, {brief((low, high))}, "
            f"got {brief(wanted)}"
        )


def _guess(given: Any) -> tuple[Pairs, float, float]:
    if not isinstance(given, list | tuple) or len(given) != 3:
        raise RecipeError(
            f"Guesses: values: wanted params, value and by how much it may be off, got {brief(given)}"
        )
    params, value, off = given
    if number("Guesses: values", off) <= 0.0:
        raise RecipeError(f"Guesses: values: wanted a standard deviation above 0, got {brief(off)}")
    return paired("Guesses: values", params), number("Guesses: values", value), float(off)


def _range(pair: tuple[str, Any]) -> tuple[str, tuple[Any, ...]]:
    name, wanted = pair
    if not isinstance(wanted, tuple) or not wanted:
        raise RecipeError(
            f"Guesses: good {name!r}: wanted a range (low, high) or a list of options, got {brief(wanted)}"
        )
    return name, wanted


def _listed(what: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise RecipeError(f"Guesses: {what}: wanted a list, got {brief(given)}")
    return tuple(given)
