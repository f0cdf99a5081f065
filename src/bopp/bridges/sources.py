"""Sources: knowledge in the values of another tool, as the same knowledge in values of bopp.

Where the other tool has options that are no plain values, bopp has their places; where it has steps, bopp
has their numbers. All else is the same on both sides.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from bopp.bridges.foreign import Translation, alike, unchanged
from bopp.called import Function, Objective, called
from bopp.errors import RecipeError, SpaceError
from bopp.legible import brief
from bopp.pseudo import Policy, Source
from bopp.space import Params

P = TypeVar("P", bound=Policy)


def translate(policy: P, translation: Translation) -> P:
    """A source in values of ours; a policy of your own is left as it is, and so is one with nothing to do."""
    same = all(foreign.theirs is unchanged for foreign in translation.parameters.values())
    return policy.translate(Translator(translation)) if isinstance(policy, Source) and not same else policy


@dataclass(frozen=True, eq=False)
class Translator:
    """Turns values of another tool, as sources have them, into values of ours.

    One of a name that the other tool does not have stays as it is: it is refused elsewhere.
    """

    translation: Translation

    def params(self, params: Any) -> Params:
        return {name: self.value(name, value) for name, value in dict(params).items()}

    def value(self, name: str, value: Any) -> Any:
        """A value that a trial may have."""
        foreign = self.translation.parameters.get(name)
        if foreign is None or foreign.theirs is unchanged:
            return value
        if foreign.parameter.numeric:
            return self.translation.value(name, value)
        options = [(place, foreign.theirs(place)) for place in foreign.parameter.values()]
        for same in (operator.is_, _alike, _written_alike):
            for place, option in options:
                if same(option, value):
                    return place
        wanted = brief([option for _, option in options])
        raise SpaceError(f"{name!r}: wanted one of {wanted}, got {brief(value)}")

    def number(self, name: str, value: Any) -> Any:
        """A number, which may lie between two steps or beyond the range."""
        foreign = self.translation.parameters.get(name)
        try:
            return value if foreign is None else foreign.number(value)
        except (TypeError, ValueError, OverflowError):
            raise SpaceError(f"{name!r}: wanted a number, got {brief(value)}") from None

    def length(self, name: str, length: float) -> float:
        """A distance between two numbers."""
        return float(self.number(name, length) - self.number(name, 0.0))

    def number_or_option(self, name: str, value: Any) -> Any:
        """An option, or a number that may lie between two steps or beyond the range."""
        foreign = self.translation.parameters.get(name)
        read = self.number if foreign is not None and foreign.parameter.numeric else self.value
        return read(name, value)

    def rows(self, rows: Iterable[tuple[Any, float]]) -> list[tuple[Params, float]]:
        """Params with their values, but for those with an option that is none here."""
        found = []
        for params, value in rows:
            with suppress(SpaceError):
                found.append(({name: self.number_or_option(name, one) for name, one in params}, value))
        return found

    def function(self, function: Function, what: str) -> Objective:
        """A function of their params as one of ours."""
        return _Theirs(called(function, self.translation.space, what), self.translation)

    def function_to_params(self, function: Function, what: str) -> Objective:
        """A function from their params to other params, or a list of them, as one of ours."""
        return _Equal(called(function, self.translation.space, what), self.translation)

    def check_alike(self, blocks: Iterable[tuple[str, ...]]) -> None:
        """Refuse to exchange parameters that differ, though the numbers of their steps are the same."""
        foreign = self.translation.parameters
        for names in zip(*blocks, strict=True):
            known = {name: foreign[name] for name in names if name in foreign}
            values = {name: [one.theirs(at) for at in one.parameter.spread(3)] for name, one in known.items()}
            if not all(alike(*pair) for pair in pairwise(values.values())):
                got = brief(values)
                raise RecipeError(f"Images: wanted parameters alike to exchange, got values {got}")


@dataclass(frozen=True, eq=False)
class _Theirs:
    function: Callable[[Params], Any]
    translation: Translation

    def __call__(self, params: Params, /) -> Any:
        return self.function(self.translation.theirs(params))


class _Equal(_Theirs):
    def __call__(self, params: Params, /) -> Any:
        found, to = super().__call__(params), Translator(self.translation)
        return [to.params(one) for one in ([found] if isinstance(found, Mapping) else found)]


def _alike(option: Any, value: Any) -> bool:
    return alike(_tupled(option), _tupled(value))  # a source keeps lists as tuples


def _written_alike(option: Any, value: Any) -> bool:
    return type(option) is type(value) and repr(option) == repr(value)  # an estimator may be a copy


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list | tuple) else value
