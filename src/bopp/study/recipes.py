"""Recipes as plain values that JSON can hold, and back.

A part is written by its name in its room, `pseudo.Neighbours`, with its settings. Reading finds names in the
rooms of the engine alone. A function of your own is written by its name, to be compared, and cannot be read:
whoever opens the study has to bring it along.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from bopp import acquisition, fit, initial, kernels, outcome, pseudo, search
from bopp.errors import BoppError, StudyError
from bopp.suggest import Recipe
from bopp.written import UNREADABLE

ROOMS = {
    room.__name__.rpartition(".")[2]: room
    for room in (acquisition, fit, initial, kernels, outcome, pseudo, search)
}
FUNCTIONS = (
    *(acquisition.pi, acquisition.ei, acquisition.log_ei, acquisition.est),
    *(acquisition.paper_beta, acquisition.theorem_beta),
    *(outcome.raw, outcome.standardised, outcome.power),
)


def written_recipe(recipe: Recipe) -> dict[str, Any]:
    """The parts of a recipe, each by its name and settings."""
    return {field.name: _written(getattr(recipe, field.name)) for field in fields(recipe)}


def read_recipe(parts: Mapping[str, Any]) -> Recipe:
    """The recipe that `written_recipe` wrote."""
    yours = [name for name, part in parts.items() if has_parts_of_yours(part)]
    if yours:
        raise StudyError(
            f"the recipe of this study has parts of your own ({', '.join(yours)}): open it with recipe="
        )
    try:
        return Recipe(**{name: _read(part) for name, part in parts.items()})
    except StudyError:
        raise
    except (*UNREADABLE, BoppError) as error:
        raise StudyError(f"the recipe of this study cannot be read: {error}") from error


def has_parts_of_yours(part: Any) -> bool:
    """Whether something in a written recipe is not of the engine."""
    if isinstance(part, dict):
        return "yours" in part or any(map(has_parts_of_yours, part.values()))
    return isinstance(part, list) and any(map(has_parts_of_yours, part))


def _written(part: Any) -> Any:
    if isinstance(part, tuple | list):
        return [_written(one) for one in part]
    if isinstance(part, float) and not math.isfinite(part):
        return {"number": str(part)}
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if is_dataclass(part) and not isinstance(part, type) and (name := _name(type(part))):
        return {"part": name, "settings": {f.name: _written(getattr(part, f.name)) for f in fields(part)}}
    if name := _name(part):
        return {"part": name}
    kind = part if hasattr(part, "__qualname__") else type(part)
    return {"yours": f"{kind.__module__}.{kind.__qualname__}"}


def _read(part: Any) -> Any:
    if isinstance(part, list):
        return tuple(_read(one) for one in part)
    if not isinstance(part, dict):
        return part
    if "number" in part:
        return float(part["number"])
    room, _, word = str(part.get("part")).partition(".")
    found: Any = getattr(ROOMS.get(room), word, None)
    if _name(found) != part.get("part") or inspect.isclass(found) != ("settings" in part):
        raise StudyError(f"the recipe of this study has a part that this bopp lacks: {part!r}")
    if not inspect.isclass(found):
        return found
    return found(**{name: _read(setting) for name, setting in part["settings"].items()})


def _name(thing: Any) -> str | None:
    """The name of a part of the engine, `room.word`: a dataclass, or a function that is one."""
    if not (inspect.isclass(thing) and is_dataclass(thing)) and thing not in FUNCTIONS:
        return None
    room, word = thing.__module__.rpartition(".")[2], thing.__name__
    return f"{room}.{word}" if getattr(ROOMS.get(room), word, None) is thing else None
