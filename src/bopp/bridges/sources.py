"""Sources: knowledge in the values of another tool, as the same knowledge in values of bopp.

Where the other tool has options that are no plain values, bopp has their places; where it has steps, bopp
has their numbers. All else is the same on both sides.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from bopp.bridges.foreign import Translation, alike, unchanged
from bopp.called import called
from bopp.errors import RecipeError, SpaceError
from bopp.informed import listed as listed
from bopp.legible import brief
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Policy
from bopp.space import Params

__all__ = ["listed", "translated"]

Rows = Iterable[tuple[Any, float]]


def translated(policy: Policy, translation: Translation) -> Policy:
    """A source in values of ours; a policy of your own is left as it is, and so is one with nothing to do."""
    if all(foreign.theirs is unchanged for foreign in translation.parameters.values()):
        return policy
    match policy:
        case Guesses(values=values, near=near, good=good):
            return replace(
                policy,
                values=[(_params(translation, params), value, off) for params, value, off in values],
                near=_params(translation, near),
                good={name: [_end(translation, name, one) for one in wanted] for name, wanted in good},
            )
        case Images(exchange=exchange, mirror=mirror, period=period, equal=equal):
            _check_exchange(translation, exchange)
            return replace(
                policy,
                mirror={name: _number(translation, name, about) for name, about in mirror},
                period={name: _length(translation, name, length) for name, length in period},
                equal=equal and _Equal(called(equal, translation.space, "Images: equal"), translation),
            )
        case Cheap(values=values) if callable(values):
            return replace(
                policy, values=_Theirs(called(values, translation.space, "Cheap: the function"), translation)
            )
        case Cheap(values=rows):
            return replace(policy, values=_rows(translation, rows))
        case Earlier(studies=studies):
            return replace(policy, studies=[(way, _rows(translation, rows)) for way, rows in studies])
    return policy


@dataclass(frozen=True, eq=False)
class _Theirs:
    """A function of their params as one of ours."""

    function: Callable[[Params], Any]
    translation: Translation

    def __call__(self, params: Params, /) -> Any:
        return self.function(self.translation.theirs(params))


@dataclass(frozen=True, eq=False)
class _Equal:
    """A function from their params to other params, or a list of them, as one of ours."""

    function: Callable[[Params], Any]
    translation: Translation

    def __call__(self, params: Params, /) -> Any:
        found = self.function(self.translation.theirs(params))
        listed = [found] if isinstance(found, Mapping) else found
        return [_params(self.translation, one) for one in listed]


def _params(translation: Translation, params: Any) -> Params:
    return {name: _value(translation, name, value) for name, value in dict(params).items()}


def _value(translation: Translation, name: str, value: Any) -> Any:
    """One of their values as one of ours; that of a name which they do not have is refused elsewhere."""
    foreign = translation.parameters.get(name)
    if foreign is None or foreign.theirs is unchanged:
        return value
    if foreign.parameter.numeric:
        return translation.value(name, value)
    options = [(place, foreign.theirs(place)) for place in foreign.parameter.values()]
    for same in (operator.is_, _alike, _written_alike):
        for place, option in options:
            if same(option, value):
                return place
    wanted = brief([option for _, option in options])
    raise SpaceError(f"{name!r}: wanted one of {wanted}, got {brief(value)}")


def _alike(option: Any, value: Any) -> bool:
    return alike(_tupled(option), _tupled(value))  # a source keeps lists as tuples


def _written_alike(option: Any, value: Any) -> bool:
    return type(option) is type(value) and repr(option) == repr(value)  # an estimator may be a copy


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list | tuple) else value


def _number(translation: Translation, name: str, value: Any) -> Any:
    """A number, which may lie between two steps or beyond the range."""
    foreign = translation.parameters.get(name)
    try:
        return value if foreign is None else foreign.number(value)
    except (TypeError, ValueError, OverflowError):
        raise SpaceError(f"{name!r}: wanted a number, got {brief(value)}") from None


def _length(translation: Translation, name: str, length: float) -> float:
    return float(_number(translation, name, length) - _number(translation, name, 0.0))


def _end(translation: Translation, name: str, value: Any) -> Any:
    """An end of a range of numbers, or an option."""
    foreign = translation.parameters.get(name)
    read = _number if foreign is not None and foreign.parameter.numeric else _value
    return read(translation, name, value)


def _rows(translation: Translation, rows: Rows) -> list[tuple[Params, float]]:
    """Params with their values, but for those with an option that is none here."""
    found = []
    for params, value in rows:
        with suppress(SpaceError):
            found.append(({name: _end(translation, name, one) for name, one in params}, value))
    return found


def _check_exchange(translation: Translation, blocks: Iterable[tuple[str, ...]]) -> None:
    """Refuse to exchange parameters that differ, though the numbers of their steps are the same."""
    for names in zip(*blocks, strict=True):
        known = {name: translation.parameters[name] for name in names if name in translation.parameters}
        values = {name: [one.theirs(at) for at in one.parameter.spread(3)] for name, one in known.items()}
        if not all(alike(*pair) for pair in zip(values.values(), list(values.values())[1:], strict=False)):
            raise RecipeError(f"Images: wanted parameters alike to exchange, got values {brief(values)}")
