"""Branches: on which value of which other parameter it hangs that only some trials have a parameter.

Tools whose objectives ask for parameters as they run do not say so; it is inferred from the trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bopp.parameter import Parameter
from bopp.space import Params

MOST_VALUES = 1000  # of a parameter on which others may hang

When = dict[str, list[Any]]
Place = tuple[float, ...]


def branches(trials: Sequence[Params], parameters: Mapping[str, Parameter]) -> dict[str, When | None]:
    """The parameters that can be modelled, each after the one it hangs on, with the `when` of those that do.

    A parameter that some trials lack, though no value of another one tells which, is left out.
    """
    having = {name: [name in trial for trial in trials] for name in parameters}
    varying = [name for name, there in having.items() if any(there) and not all(there)]
    found: dict[str, When | None] = {name: None for name in parameters if name not in varying}
    places: dict[str, list[Place | None]] = {}
    while varying:
        for name in found.keys() - places.keys():
            places[name] = _places(name, parameters[name], trials)
        ready = {name: _condition(having[name], places, parameters) for name in varying}
        found |= {name: when for name, when in ready.items() if when}
        if not any(ready.values()):
            break
        varying = [name for name in varying if not ready[name]]
    return found


def _places(name: str, parameter: Parameter, trials: Sequence[Params]) -> list[Place | None]:
    """The value of a parameter in each trial, by its columns; none if too many values could be told apart."""
    if not parameter.gridded or parameter.levels > MOST_VALUES:
        return []
    return [tuple(parameter.encode(trial[name])) if name in trial else None for trial in trials]


def _condition(
    having: Sequence[bool], places: Mapping[str, list[Place | None]], parameters: Mapping[str, Parameter]
) -> When | None:
    """The simplest condition that tells which trials have a parameter: rather on options than on numbers."""
    found: list[tuple[bool, float, str, When]] = []
    for name, where in places.items():
        inside = {place for there, place in zip(having, where, strict=False) if there}
        outside = {place for there, place in zip(having, where, strict=False) if not there} - {None}
        if inside and outside and None not in inside and not inside & outside:
            parameter = parameters[name]
            values = _values(parameter, inside, outside)
            found.append((not parameter.unordered, parameter.levels, name, {name: values}))
    return min(found, key=lambda row: row[:3])[3] if found else None


def _values(parameter: Parameter, inside: set[Place | None], outside: set[Place | None]) -> list[Any]:
    """The values seen with the parameter; of numbers that begin or end at one, all from there on."""
    values = [(value, tuple(parameter.encode(value))) for value in parameter.values()]
    seen = [value for value, place in values if place in inside]
    others = [value for value, place in values if place in outside]
    if parameter.numeric and seen[0] > others[-1]:
        return [value for value, _ in values if value >= seen[0]]
    if parameter.numeric and seen[-1] < others[0]:
        return [value for value, _ in values if value <= seen[-1]]
    return seen
