"""Plain: bopp's values in a form that JSON can hold, and back, with everything checked on reading.

    write_x(...) -> strings, numbers, true, false, null, lists and dicts of these        read_x(...) -> x

The parts of a recipe are written by the module `parts`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, get_args

from bopp.errors import BoppError, NoResultError, SpaceError, StudyError, reading
from bopp.kinds import KINDS
from bopp.parameter import Parameter, is_plain
from bopp.parts import SWITCH, has_parts_of_yours, read_part, write_part, written_alike
from bopp.problem import AtLeast, AtMost, Holds, Linear, Problem
from bopp.recipe import Recipe
from bopp.space import Params, Space
from bopp.trial import DICTS, FIELDS, TEXTS, TIMES, Origin, State, Superseded, Trial

BOUNDS = ("at_most", "at_least", "equals")
LIMITS = {kind.__name__: kind for kind in (AtMost, AtLeast)}


def write_space(space: Space) -> dict[str, Any]:
    """The declarations of a space."""
    return {name: write_parameter(name, parameter) for name, parameter in space.parameters.items()}


def read_space(rows: Mapping[str, Any]) -> Space:
    """The space that `write_space` wrote."""
    return Space({name: read_parameter(row) for name, row in rows.items()})


def write_problem(problem: Problem) -> dict[str, Any]:
    """The objectives, constraints, fidelities and reference of a problem; its space is written separately."""
    constraints = [_write_constraint(constraint) for constraint in problem.constraints]
    written: dict[str, Any] = {"objectives": dict(problem.objectives), "constraints": constraints}
    if (fidelity := problem.fidelity) is not None:
        levels = [_write_option(fidelity.name, level) for level in fidelity.levels]
        written["fidelities"] = {fidelity.name: [levels, list(fidelity.costs)]}
    if problem.reference is not None:
        written["reference"] = dict(problem.reference)
    return written


def read_problem(space: Space, row: Mapping[str, Any]) -> Problem:
    """The problem that `write_problem` wrote; the predicate of a `Holds` has to be passed in again."""
    if not isinstance(row["objectives"], dict):
        raise BoppError(f"wanted objectives by name, got {row['objectives']!r}")
    constraints = [_read_constraint(one) for one in row["constraints"]]
    fidelities = _read_fidelities(row.get("fidelities"))
    return Problem(space, row["objectives"], constraints, fidelities, row.get("reference"))


def write_params(space: Space, params: Params) -> dict[str, Any]:
    """The values of params; an option that JSON would change is written as its index in the list.

    What does not fit the space any more is written as it is, or as its text if JSON cannot hold it.
    """
    written: dict[str, Any] = {}
    for name, value in params.items():
        try:
            written[name] = space.parameters[name].to_json(value)
        except (KeyError, SpaceError):
            written[name] = value if is_plain(value) else str(value)
    return written


def read_params(space: Space, row: Mapping[str, Any]) -> Params:
    """The params that `write_params` wrote, if they fit the space."""
    return space.check(_read_values(space, row))


def read_some_params(space: Space, row: Mapping[str, Any]) -> Params:
    """Some of the params, as `write_params` wrote them, if they fit the space."""
    return space.check_part(_read_values(space, row))


def _read_values(space: Space, row: Mapping[str, Any]) -> Params:
    """Params as they were written, which need not fit the space any more."""
    found = {}
    for name, value in row.items():
        try:
            found[name] = space.parameters[name].from_json(value)
        except (KeyError, BoppError):
            found[name] = value
    return found


def write_trial(space: Space, trial: Trial) -> dict[str, Any]:
    """Every field of a trial."""
    past = [_write_answer(one) for one in trial.superseded]
    return {**_write_answer(trial), "params": write_params(space, trial._params), "superseded": past}


def read_trial(problem: Problem, row: Mapping[str, Any], number: int) -> Trial:
    """The trial that `write_trial` wrote, if it is a valid one."""
    if row.keys() != FIELDS.keys() or type(row["number"]) is not int:
        raise BoppError(f"wanted trial {number}, got {dict(row)!r}")
    params = read_params if row["state"] != "dropped" else _read_values
    read: dict[str, Any] = {
        "params": params(problem.space, row["params"]),
        "origin": one_of(get_args(Origin), row["origin"]),
        "superseded": tuple(Superseded(**_read_answer(past)) for past in row["superseded"]),
    }
    trial = Trial(**{**_read_answer(row), **read})
    # in the order of the problem, whose constraints may have been declared in another
    ordered = {name: trial.values[name] for name in problem.names if name in trial.values}
    trial = replace(trial, values={**ordered, **trial.values})
    if trial.number != number or not problem.fits(trial):
        raise BoppError(f"wanted trial {number} with a value if it is done, got {dict(row)!r}")
    return trial


def _write_answer(trial: Trial | Superseded) -> dict[str, Any]:
    row = {field.name: getattr(trial, field.name) for field in fields(trial)}
    times = {name: row[name] and row[name].isoformat() for name in (*TIMES, "at") if name in row}
    dicts = {name: {key: _write_number(value) for key, value in row[name].items()} for name in DICTS}
    return {**row, **times, **dicts}


def _read_answer(row: Mapping[str, Any]) -> dict[str, Any]:
    texts = all(isinstance(row.get(name), str | None) for name in TEXTS)
    if not texts or not all(isinstance(row.get(name, ""), str) for name in ("at", "reason")):
        raise BoppError(f"wanted texts as {', '.join(TEXTS)}, got {dict(row)!r}")
    times = {name: read_time(row[name]) for name in (*TIMES, "at") if name in row}
    dicts = {name: {key: read_number(one) for key, one in row[name].items()} for name in DICTS}
    return {**row, **times, **dicts, "state": one_of(get_args(State), row["state"])}


def write_recipe(recipe: Recipe) -> dict[str, Any]:
    """The parts of a recipe, each by its name and settings."""
    return {field.name: write_part(getattr(recipe, field.name)) for field in fields(recipe)}


def read_recipe(parts: Mapping[str, Any]) -> Recipe:
    """The recipe that `write_recipe` wrote."""
    yours = [name for name, part in parts.items() if has_parts_of_yours(part)]
    if yours:
        raise StudyError(
            f"the recipe of this study has parts of your own ({', '.join(yours)}): open it with recipe="
        )
    with reading(f"the recipe of this study cannot be read ({SWITCH})", StudyError):
        return Recipe(**{name: read_part(part) for name, part in parts.items()})


def other_part(parts: Mapping[str, Any], recipe: Recipe) -> str | None:
    """The name of the first part in which a recipe differs from the written one, or None if they agree.

    Parts are compared as values, so a setting that a later version added counts with its default. Parts of
    your own are the same if they are written alike.
    """
    mine = write_recipe(recipe)
    for name in dict.fromkeys([*parts, *mine]):
        if name not in mine:
            return name
        if has_parts_of_yours([parts.get(name), mine[name]]):
            same = written_alike(parts.get(name), mine[name])
        else:
            same = _reads_as(parts, name) == getattr(recipe, name)
        if not same:
            return name
    return None


def _reads_as(parts: Mapping[str, Any], name: str) -> Any:
    """A part as it was written, or by default if it was not; None if this version cannot make it."""
    try:
        return getattr(read_recipe({name: parts[name]} if name in parts else {}), name)
    except StudyError:
        return None


def check_format(what: str, got: Any, format: int) -> None:
    """Refuse any other format than this one, which is the newest."""
    if type(got) is not int or not 1 <= got <= format:
        raise BoppError(f"wanted {what} of format {format}, got {got!r}: use a newer bopp")


def one_of(words: tuple[Any, ...], word: Any) -> Any:
    """The word, if it is one of `words`."""
    if word not in words:
        raise BoppError(f"wanted one of {list(words)}, got {word!r}")
    return word


def write_parameter(name: str, parameter: Parameter) -> dict[str, Any]:
    """The declaration of one parameter."""
    kind = next(kind for kind in KINDS.values() if isinstance(parameter, kind))  # not a subclass of yours
    settings = {field.name: getattr(parameter, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    written = {setting: _write_setting(name, setting, value) for setting, value in settings.items()}
    return {"kind": kind.__name__, **written}


def _write_setting(name: str, setting: str, value: Any) -> Any:
    if setting == "when":
        return value and {other: [_write_option(name, one) for one in values] for other, values in value}
    if setting == "options":
        return [_write_option(name, one) for one in value]
    return _write_option(name, value)


def _read_setting(setting: str, value: Any) -> Any:
    if setting == "when":
        return value and {other: [_read_option(one) for one in values] for other, values in value.items()}
    return list(map(_read_option, value)) if type(value) is list else _read_option(value)


def read_parameter(row: Mapping[str, Any]) -> Parameter:
    """The parameter that `write_parameter` wrote."""
    kind = KINDS[row["kind"]]
    wanted = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    given = {setting: value for setting, value in row.items() if setting != "kind"}
    switches = [given[name] for name, field in wanted.items() if isinstance(field.default, bool)]
    if not all(type(one) is bool for one in switches):
        raise BoppError(f"wanted the declaration of a parameter, got {row!r}")
    return kind(**{name: _read_setting(name, one) for name, one in given.items()})


def _write_option(name: str, option: Any) -> Any:
    if isinstance(option, tuple):
        return {"tuple": [_write_option(name, part) for part in option]}
    if not is_plain(option):
        raise BoppError(
            f"{name!r}: JSON takes options that are text, numbers, None or tuples of these, got {option!r}"
        )
    return option


def _read_option(option: Any) -> Any:
    return tuple(map(_read_option, option["tuple"])) if isinstance(option, dict) else option


def _read_fidelities(row: Any) -> Any:
    if row is None:
        return None
    return {
        name: dict(zip(map(_read_option, levels), costs, strict=True))
        for name, (levels, costs) in row.items()
    }


def _write_constraint(constraint: AtMost | AtLeast | Holds | Linear) -> dict[str, Any]:
    kind = type(constraint).__name__
    if isinstance(constraint, Linear):
        said = {key: one for key in BOUNDS if (one := getattr(constraint, key)) is not None}
        return {"kind": kind, "name": constraint.name, "coefficients": dict(constraint.coefficients), **said}
    if isinstance(constraint, Holds):
        predicate = constraint.predicate
        written = predicate.written if isinstance(predicate, Absent) else write_part(predicate)
        return {"kind": kind, "name": constraint.name, "predicate": written}
    return {"kind": kind, "name": constraint.name, "bound": constraint.bound}


def _read_constraint(row: Mapping[str, Any]) -> AtMost | AtLeast | Holds | Linear:
    if row["kind"] == Linear.__name__:
        bounds = {key: row[key] for key in BOUNDS if key in row}
        return Linear(row["coefficients"], **bounds, name=row["name"])
    if row["kind"] == Holds.__name__:
        return Holds(row["name"], Absent(row["name"], row["predicate"]))
    return LIMITS[row["kind"]](row["name"], row["bound"])


@dataclass(frozen=True)
class Absent:
    """Takes the place of a function of your own, which JSON cannot hold."""

    name: str
    written: Any

    def __call__(self, params: Params) -> bool:
        raise NoResultError(
            f"the condition {self.name!r} is a function of your own, which has to be passed in"
        )


def has_absent(problem: Problem) -> bool:
    """Whether a condition is a function of your own that was not passed in again."""
    return any(isinstance(one, Holds) and isinstance(one.predicate, Absent) for one in problem.conditions)


def _write_number(value: Any) -> Any:
    return {"number": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def read_number(value: Any) -> Any:
    """A number, also one that JSON cannot hold, or whatever else a measurement is."""
    return float(value["number"]) if isinstance(value, dict) else value


def read_time(text: str | None) -> datetime | None:
    """A moment, which must be given with its zone."""
    if text is None:
        return None
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise BoppError(f"wanted a time with its zone, got {text!r}")
    return time
