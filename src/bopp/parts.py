"""Parts: the parts of a recipe in a form that JSON can hold, and back as far as they are the engine's own.

A part is written as its module and name, such as `pseudo.Neighbours`, with its settings. Only names in the
engine's own modules, the `ROOMS`, are read back. A function of your own is written by name for comparison
only and cannot be read back: whoever opens a study has to pass it in again. A lambda, or a function made
within another, has no name that says anything: it is also written by a checksum of what it is made of.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
from dataclasses import fields, is_dataclass
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bopp import acquisition, fit, initial, kernels, outcome, pseudo, search
from bopp.errors import StudyError, reading

ROOMS = {
    room.__name__.rpartition(".")[2]: room
    for room in (acquisition, fit, initial, kernels, outcome, pseudo, search)
}
FUNCTIONS = (
    *(acquisition.pi, acquisition.ei, acquisition.log_ei, acquisition.est),
    *(acquisition.paper_beta, acquisition.theorem_beta),
    *(outcome.raw, outcome.standardised, outcome.power),
)
DEEPEST = 12  # parts within parts that are compared by what is in them
SWITCH = "to go on with another: Study.switch_recipe, or on the command line bopp switch"


def has_parts_of_yours(part: Any) -> bool:
    """Whether anything in a written recipe is not part of the engine."""
    if isinstance(part, dict):
        return "yours" in part or any(map(has_parts_of_yours, part.values()))
    return isinstance(part, list) and any(map(has_parts_of_yours, part))


def write_part(part: Any, within: tuple[Any, ...] = ()) -> Any:
    """A part, or a setting of one; `within` holds the parts around it, as a part may refer back to them."""
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, float) and not math.isfinite(part):
        return {"number": str(part)}
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if any(part is one for one in within):
        return {"yours": "itself"}
    inside = (*within, part)
    if isinstance(part, tuple | list):
        return [write_part(one, inside) for one in part]
    if is_dataclass(part) and not isinstance(part, type) and (name := _name(type(part))):
        return {"part": name, "settings": _settings(part, inside)}
    if name := _name(part):
        return {"part": name}
    return _write_yours(part, inside)


def _settings(part: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    return {field.name: write_part(getattr(part, field.name), inside) for field in fields(part) if field.init}


def read_part(part: Any) -> Any:
    if isinstance(part, list):
        return tuple(read_part(one) for one in part)
    if not isinstance(part, dict):
        return part
    if "number" in part:
        return float(part["number"])
    room, _, word = str(part.get("part")).partition(".")
    found: Any = getattr(ROOMS.get(room), word, None)
    if _name(found) != part.get("part") or inspect.isclass(found) != ("settings" in part):
        raise StudyError(f"the recipe of this study has a part that this bopp lacks: {part!r}; {SWITCH}")
    if not inspect.isclass(found):
        return found
    return found(**{name: read_part(setting) for name, setting in part["settings"].items()})


def _name(thing: Any) -> str | None:
    """The name `room.word` of a dataclass or function of the engine; None for anything else."""
    function = any(thing is one for one in FUNCTIONS)  # not `in`: == with an array has no single truth value
    if not function and not (inspect.isclass(thing) and is_dataclass(thing)):
        return None
    room, word = thing.__module__.partition(".")[2].partition(".")[0], thing.__name__
    return f"{room}.{word}" if getattr(ROOMS.get(room), word, None) is thing else None


def _write_yours(part: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    """A part of your own by its name, and by what it is made of if the name alone does not identify it."""
    kind = part if hasattr(part, "__qualname__") else type(part)
    written = {"yours": f"{getattr(kind, '__module__', '')}.{kind.__qualname__}"}
    if len(inside) > DEEPEST:
        return written
    if isinstance(part, partial):
        settings: Any = [part.func, part.args, *sorted(part.keywords.items())]
    elif isinstance(part, MethodType):
        settings = [part.__self__]
    elif isinstance(part, dict):
        settings = list(part.items())
    elif isinstance(part, set | frozenset):
        settings = sorted(map(repr, part))
    elif isinstance(part, np.ndarray) and not part.dtype.hasobject:
        settings = [str(part.dtype), part.shape, hashlib.sha256(part.tobytes()).hexdigest()]
    elif is_dataclass(part) and not isinstance(part, type):
        return written | {"settings": _settings(part, inside)}
    elif isinstance(part, FunctionType) and ("<" in part.__qualname__ or part.__closure__):
        version = ".".join(map(str, sys.version_info[:2]))
        made_of = hashlib.sha256(repr(_made_of(part, inside)).encode()).hexdigest()
        return written | {"code": f"{version} {made_of}"}
    else:
        settings = _attributes(part)
    return written | {"settings": write_part(settings, inside)} if settings else written


def _attributes(part: Any) -> list[tuple[str, Any]]:
    """What an object holds; nothing for a module, a class or a function, whose names identify them."""
    if isinstance(part, ModuleType | type | FunctionType):
        return []
    names = [*getattr(part, "__dict__", ()), *getattr(type(part), "__slots__", ())]
    return [(name, getattr(part, name)) for name in sorted(names) if hasattr(part, name)]


def _made_of(function: FunctionType, inside: tuple[Any, ...]) -> Any:
    """What tells two functions of the same name apart: code, defaults, and the variables they close over."""
    cells = [_content(cell) for cell in function.__closure__ or ()]
    named = sorted((function.__kwdefaults__ or {}).items())
    return [_code(function.__code__), write_part([function.__defaults__, named, cells], inside)]


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # still empty
        return None


def _code(code: CodeType) -> Any:
    return [code.co_code, code.co_names, code.co_varnames, list(map(_constant, code.co_consts))]


def _constant(constant: Any) -> Any:
    if isinstance(constant, CodeType):
        return _code(constant)
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)


def written_alike(stored: Any, given: Any) -> bool:
    """Whether two parts are written alike, as far as the stored one can tell."""
    if isinstance(stored, list) and isinstance(given, list):
        return len(stored) == len(given) and all(map(written_alike, stored, given))
    if not isinstance(stored, dict) or not isinstance(given, dict):
        return type(stored) is type(given) and bool(stored == given)
    if "part" in stored and "part" in given and not has_parts_of_yours([stored, given]):
        with reading("the recipe of this study cannot be read", StudyError):
            return bool(read_part(stored) == read_part(given))
    if "yours" not in stored or "yours" not in given:
        return stored.keys() == given.keys() and all(written_alike(stored[key], given[key]) for key in stored)
    if stored["yours"] != given["yours"] or not written_alike(stored.get("settings"), given.get("settings")):
        return "settings" not in stored and stored["yours"] == given["yours"]  # earlier versions wrote none
    codes = [str(one.get("code")).split() for one in (stored, given)]
    return codes[0][0] != codes[1][0] or codes[0] == codes[1]  # other Python versions compile to other code
