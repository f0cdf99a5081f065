"""Typed: values and params as somebody typed them, on a command line or into a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bopp.errors import ConfigError, SpaceError
from bopp.problem import Problem
from bopp.space import Params, Space


def typed_values(problem: Problem, text: str) -> float | dict[str, float | None]:
    """What somebody typed as values; a slip of the hand is refused and not taken for a failure."""
    if "=" not in text and len(problem.names) == 1:
        return _number("value", text)
    pairs = [(name.strip(), number) for name, _, number in (word.partition("=") for word in text.split(","))]
    fields = dict(pairs)
    if "" in fields or len(fields) < len(pairs) or "=" not in text:
        wanted = ",".join(f"{name}=..." for name in problem.names)
        unmeasured = "; none for one that was not measured" if len(problem.names) > 1 else ""
        raise ConfigError(f"wanted {wanted}, each once{unmeasured}, got {text!r}")
    return named_values(problem, fields)


def named_values(problem: Problem, fields: Mapping[str, str]) -> dict[str, float | None]:
    """Values as somebody typed them under their names; "none" is for one not measured."""
    missing = [name for name in problem.names if name not in fields]
    if missing:
        raise ConfigError(f"wanted values of {', '.join(problem.names)}, got none of {', '.join(missing)}")
    found = {
        name: None if number.strip().lower() == "none" else _number(name, number)
        for name, number in fields.items()
    }
    if all(found[name] is None for name in problem.names):
        typed = ", ".join(f"{name}={number}" for name, number in fields.items())
        raise ConfigError(
            f"wanted a number as {' or '.join(problem.names)}, got {typed!r}; a failure is told as one"
        )
    return found


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"wanted a number as {name}, got {text!r}") from None


def typed_params(space: Space, words: Sequence[str]) -> Params:
    """The params given as name=value words, each parsed by its parameter."""
    fields: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise _unknown(space, word)
        if name in fields:
            raise ConfigError(f"wanted {name} once, got it twice: {' '.join(words)}")
        fields[name] = text
    return named_params(space, fields)


def named_params(space: Space, fields: Mapping[str, str]) -> Params:
    """The params that somebody typed under their names, each parsed by its parameter."""
    params: dict[str, Any] = {}
    for name, text in fields.items():
        if name not in space.parameters:
            raise _unknown(space, f"{name}={text}")
        try:
            params[name] = space.parameters[name].parse(text)
        except SpaceError as error:
            raise ConfigError(f"{name}: {error}") from None
    return params


def typed_noise(text: str) -> float | None:
    """The standard deviation that somebody typed; None if nothing was."""
    return _number("noise", text) if text.strip() else None


def _unknown(space: Space, word: str) -> ConfigError:
    wanted = ", ".join(f"{name}=..." for name in space.parameters)
    return ConfigError(f"wanted {wanted}, got {word!r}")
