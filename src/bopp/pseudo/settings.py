"""Settings: what people write as settings of a source, as values that can be compared and stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np

from bopp.errors import RecipeError
from bopp.legible import brief
from bopp.scales import is_finite
from bopp.space import Space

Pairs = tuple[tuple[str, Any], ...]
Named = Annotated[Any, "a dict by names of parameters, kept as pairs"]
Names = Annotated[Sequence[Any], "names of parameters"]
Expected = Annotated[Sequence[Any], "triples of params, value and by how much that may be off"]


def paired(what: str, given: Any) -> Pairs:
    """A dict by names as pairs of name and value."""
    rows = given.items() if isinstance(given, Mapping) else given
    try:
        found = tuple((name, _plain(value)) for name, value in rows)
    except (TypeError, ValueError):
        found = ((0, None),)
    if not all(isinstance(name, str) for name, _ in found):
        raise RecipeError(f"{what}: wanted a dict by names of parameters, got {brief(given)}")
    return found


def numbers(what: str, given: Any) -> tuple[tuple[str, float], ...]:
    """A dict of names to finite numbers as pairs."""
    return tuple((name, number(f"{what} {name!r}", value)) for name, value in paired(what, given))


def number(what: str, value: Any) -> float:
    """A finite number."""
    if is_finite(value):
        return float(value)
    raise RecipeError(f"{what}: wanted a finite number, got {brief(value)}")


def checked_trust(what: str, trust: Any) -> None:
    if isinstance(trust, bool) or not isinstance(trust, int | float) or not 0.0 < trust < 1.0:
        raise RecipeError(f"{what}: trust must be a number above 0 and below 1, got {brief(trust)}")


def name_of(function: Any) -> str:
    """What a function of the user's is called, or the kind of an object that is none."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def names_in(space: Space, what: str, names: Iterable[str]) -> None:
    """Refuse names that the space does not have."""
    if unknown := [name for name in names if name not in space.parameters]:
        raise RecipeError(f"{what}: wanted names among {list(space.parameters)}, got {brief(unknown[0])}")


def without(space: Space, name: str) -> Space:
    """The space without one of its parameters."""
    return Space({other: parameter for other, parameter in space.parameters.items() if other != name})


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value
