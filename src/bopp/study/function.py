"""Function: an objective that is a Python function, found by its name."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from bopp.errors import ConfigError
from bopp.space import Params

REFERENCE = r"\A[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*\Z"
"""module:function, both with dots if need be."""


def python_objective(text: str, folder: Path) -> Callable[[Params], Any]:
    """The function named by `module:function`; modules are looked up in the folder first."""
    if not re.search(REFERENCE, text):
        raise ConfigError(f'wanted "module:function", got {text!r}')
    name, _, words = text.partition(":")
    if name.endswith(".py"):
        raise ConfigError(f"wanted a module, not a file: {name.removesuffix('.py')}:{words}, got {text!r}")
    module = _imported(name, folder.resolve())
    found: Any = module
    for word in words.split("."):
        if not hasattr(found, word):
            raise ConfigError(f"no function {word!r} in {_file(module) or name}; {_near(word, found)}")
        found = getattr(found, word)
    if not callable(found):
        raise ConfigError(f"wanted a function, got {words} of type {type(found).__name__} in {_file(module)}")
    return found  # type: ignore[no-any-return]


def _imported(name: str, folder: Path) -> ModuleType:
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    _check_not_taken(name.partition(".")[0], folder)
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent and f"{name}.".startswith(f"{absent}."):
            raise ConfigError(f"no module {absent!r} in {str(folder)!r} or on Python's path") from error
        raised = f"{type(error).__name__}: {error}{_place(error, folder)}"
        raise ConfigError(f"module {name!r} raised while it was imported: {raised}") from error


def _check_not_taken(name: str, folder: Path) -> None:
    """Refuse a module that Python would not load because it has already loaded another of that name."""
    spec, loaded = PathFinder.find_spec(name, [str(folder)]), sys.modules.get(name)
    if loaded is None or spec is None or spec.origin is None:
        return
    file = _file(loaded)
    if file is None or Path(file).resolve() != Path(spec.origin).resolve():
        raise ConfigError(
            f"rename {spec.origin!r}: Python has already loaded {name!r} from {file or 'within'}"
        )


def _file(module: ModuleType) -> str | None:
    return getattr(module, "__file__", None)


def _place(error: BaseException, folder: Path) -> str:
    """The line of the user's code at which an import failed, if there is one."""
    if isinstance(error, SyntaxError):
        return ""  # its message already says the line
    ours = (__file__, importlib.__file__)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename not in ours]
    frames = [frame for frame in frames if not frame.filename.startswith("<frozen ")]
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return "".join(f" ({frame.filename}, line {frame.lineno})" for frame in (inside or frames)[-1:])


def _near(word: str, found: Any) -> str:
    members = getattr(found, "__dict__", {})
    names = [name for name, member in members.items() if callable(member) and not name.startswith("_")]
    near = get_close_matches(word, names, cutoff=0.5) or sorted(names)[:5]
    return f"there is {', '.join(near)}" if near else "there is none at all"
