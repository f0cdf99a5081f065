"""Written: spaces, params and trials as plain values that JSON can hold, and back, all of it checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from datetime import datetime
from typing import Any, get_args

from bopp.errors import BoppError
from bopp.parameter import Choice, Float, Int, Parameter
from bopp.space import Params, Space
from bopp.trial import Origin, State, Trial, fits

UNREADABLE = (LookupError, TypeError, AttributeError, RecursionError, ValueError, OverflowError)
"""What reading raises where a document is not what it should be."""

NEEDED = {field.name for field in fields(Trial) if field.default is MISSING} | {"state", "value", "error"}
KNOWN = {field.name for field in fields(Trial)}


def written_space(space: Space) -> dict[str, Any]:
    """The declarations of a space."""
    return {name: _declared(name, parameter) for name, parameter in space.parameters.items()}


def read_space(rows: Mapping[str, Any]) -> Space:
    """The space that `written_space` wrote."""
    return Space({name: _parameter(row) for name, row in rows.items()})


def written_params(space: Space, params: Params) -> dict[str, Any]:
    """The values of params; an option that JSON would change is written as its place in the list."""
    return {name: _written_value(space.parameters[name], value) for name, value in params.items()}


def read_params(space: Space, row: Mapping[str, Any]) -> Params:
    """The params that `written_params` wrote."""
    return space.check({name: _read_value(space.parameters.get(name), value) for name, value in row.items()})


def written_trial(space: Space, trial: Trial) -> dict[str, Any]:
    """All that a trial is."""
    row = asdict(trial)
    row["params"] = written_params(space, trial.params)
    row["asked_at"] = trial.asked_at and trial.asked_at.isoformat()
    row["told_at"] = trial.told_at and trial.told_at.isoformat()
    return row


def read_trial(space: Space, row: Mapping[str, Any], number: int) -> Trial:
    """The trial that `written_trial` wrote, if it can be one."""
    state, value = one_of(get_args(State), row["state"]), row["value"]
    texts = all(isinstance(row.get(name), str | None) for name in ("error", "worker", "notes"))
    numbered = type(row["number"]) is int and row["number"] == number
    if not NEEDED <= row.keys() <= KNOWN or not numbered or not fits(state, value) or not texts:
        raise BoppError(f"wanted trial {number} with a value if it is done, got {dict(row)!r}")
    read = {"params": read_params(space, row["params"]), "origin": one_of(get_args(Origin), row["origin"])}
    times = {name: _time(row.get(name)) for name in ("asked_at", "told_at")}
    return Trial(**{**row, **read, **times})


def one_of(words: tuple[Any, ...], word: Any) -> Any:
    """The word, if it is among the words."""
    if word not in words:
        raise BoppError(f"wanted one of {list(words)}, got {word!r}")
    return word


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise BoppError(f"wanted a time with its zone, got {text!r}")
    return time


def _declared(name: str, parameter: Parameter) -> dict[str, Any]:
    kind = type(parameter).__name__
    if isinstance(parameter, Choice):
        options = [_option(name, option) for option in parameter.options]
        return {"kind": kind, "options": options, "ordered": parameter.ordered}
    return {"kind": kind, "low": parameter.low, "high": parameter.high, "log": parameter.log}


def _parameter(row: dict[str, Any]) -> Parameter:
    switch = row["ordered"] if row["kind"] == "Choice" else row["log"]
    if type(switch) is not bool or (row["kind"] == "Choice" and not isinstance(row["options"], list)):
        raise BoppError(f"wanted the declaration of a parameter, got {row!r}")
    if row["kind"] == "Choice":
        return Choice([_read_option(option) for option in row["options"]], row["ordered"])
    kinds: dict[str, type[Float] | type[Int]] = {"Float": Float, "Int": Int}
    return kinds[row["kind"]](row["low"], row["high"], row["log"])


def _option(name: str, option: Any) -> Any:
    if isinstance(option, tuple):
        return {"tuple": [_option(name, part) for part in option]}
    if not is_plain(option):
        raise BoppError(
            f"{name!r}: JSON takes options that are text, numbers, None or tuples of these, got {option!r}"
        )
    return option


def _read_option(option: Any) -> Any:
    return tuple(map(_read_option, option["tuple"])) if isinstance(option, dict) else option


def _written_value(parameter: Parameter, value: Any) -> Any:
    if isinstance(parameter, Choice) and not is_plain(value):
        return {"option": parameter.index(value)}
    return value


def _read_value(parameter: Parameter | None, value: Any) -> Any:
    if not isinstance(parameter, Choice) or not isinstance(value, dict):
        return value
    place = value["option"]
    if type(place) is not int or not 0 <= place < len(parameter.options):
        raise BoppError(f"wanted the place of an option, got {value!r}")
    return parameter.options[place]


def is_plain(value: Any) -> bool:
    """Whether a value is the same after JSON."""
    return value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))
