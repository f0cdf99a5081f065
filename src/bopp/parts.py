"""Parts: the parts of a recipe in a form that JSON can hold, and back as far as they are the engine's own.

A part of the engine is written by its name in `PARTS` and its settings. A part of your own is written by its
qualified name, such as `__main__.mirror`, and cannot be read back: whoever opens a study has to pass it in
again. What is passed in must have the same qualified name and, if it is a dataclass, the same settings. The
code of functions is not compared: a lambda may take the place of another lambda of the same function.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from bopp import acquisition, fit, initial, kernels, outcome, pseudo, search
from bopp.errors import StudyError, reading

PARTS: dict[str, Any] = {
    "acquisition.MES": acquisition.MES,
    "acquisition.UCB": acquisition.UCB,
    "acquisition.ei": acquisition.ei,
    "acquisition.est": acquisition.est,
    "acquisition.log_ei": acquisition.log_ei,
    "acquisition.paper_beta": acquisition.paper_beta,
    "acquisition.pi": acquisition.pi,
    "acquisition.theorem_beta": acquisition.theorem_beta,
    "fit.LogNormal": fit.LogNormal,
    "fit.MAP": fit.MAP,
    "fit.Priors": fit.Priors,
    "fit.SliceSampling": fit.SliceSampling,
    "initial.Sobol": initial.Sobol,
    "initial.Uniform": initial.Uniform,
    "kernels.Matern52": kernels.Matern52,
    "kernels.SquaredExponential": kernels.SquaredExponential,
    "outcome.Squeezed": outcome.Squeezed,
    "outcome.margin": outcome.margin,
    "outcome.power": outcome.power,
    "outcome.raw": outcome.raw,
    "outcome.standardised": outcome.standardised,
    "pseudo.Cheap": pseudo.Cheap,
    "pseudo.Earlier": pseudo.Earlier,
    "pseudo.Failed": pseudo.Failed,
    "pseudo.Guesses": pseudo.Guesses,
    "pseudo.Images": pseudo.Images,
    "pseudo.Limits": pseudo.Limits,
    "pseudo.Neighbours": pseudo.Neighbours,
    "pseudo.Pending": pseudo.Pending,
    "pseudo.Sum": pseudo.Sum,
    "search.Direct": search.Direct,
    "search.Gradients": search.Gradients,
}
"""The names by which studies and results store parts. They stay the same wherever a part is defined."""

NAMES = {id(part): name for name, part in PARTS.items()}
SWITCH = "to go on with another: Study.switch_recipe, or on the command line bopp switch"


def name_of(part: Any) -> str | None:
    """The name in `PARTS` of a class or function of the engine; None for anything else."""
    return NAMES.get(id(part))


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
    if (name := name_of(part)) and not isinstance(part, type):
        return {"part": name}
    if not is_dataclass(part) or isinstance(part, type):
        return _write_yours(part, inside)
    kind = {"part": name} if (name := name_of(type(part))) else {"yours": _qualified(part)}
    settings = [field.name for field in fields(part) if field.init]
    return {**kind, "settings": {name: write_part(getattr(part, name), inside) for name in settings}}


def read_part(part: Any) -> Any:
    if isinstance(part, list):
        return tuple(read_part(one) for one in part)
    if not isinstance(part, dict):
        return part
    if "number" in part:
        return float(part["number"])
    found = PARTS.get(str(part.get("part")))
    if found is None or inspect.isclass(found) != ("settings" in part):
        raise StudyError(f"the recipe of this study has a part that this bopp lacks: {part!r}; {SWITCH}")
    if not inspect.isclass(found):
        return found
    return found(**{name: read_part(setting) for name, setting in part["settings"].items()})


def _write_yours(part: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    """A part of your own, or a setting of one: by its name, and what is in it if it is a dict or an array."""
    written = {"yours": _qualified(part)}
    if isinstance(part, dict):
        return written | {"settings": write_part(list(part.items()), inside)}
    if isinstance(part, np.ndarray) and not part.dtype.hasobject:
        return written | {"settings": [str(part.dtype), list(part.shape), crc32(part.tobytes())]}
    return written


def _qualified(part: Any) -> str:
    """The module and the qualified name of a function or class, or of that of an object."""
    if isinstance(part, partial):
        return _qualified(part.func)
    kind = part if hasattr(part, "__qualname__") else type(part)
    return f"{getattr(kind, '__module__', '')}.{kind.__qualname__}"


def written_alike(stored: Any, given: Any) -> bool:
    """Whether two parts are written alike; settings that the stored one lacks count with their defaults."""
    if isinstance(stored, list) and isinstance(given, list):
        return len(stored) == len(given) and all(map(written_alike, stored, given))
    if not isinstance(stored, dict) or not isinstance(given, dict):
        return type(stored) is type(given) and bool(stored == given)
    if "part" in stored and "part" in given and not has_parts_of_yours([stored, given]):
        with reading("the recipe of this study cannot be read", StudyError):
            return bool(read_part(stored) == read_part(given))
    return stored.keys() == given.keys() and all(written_alike(stored[key], given[key]) for key in stored)
