"""Tables: what the tables of a study file may hold; a mistake in one becomes a line that names the field.

A table has the fields of a dataclass: [study], [objective] and [[constraint]] of one defined here, a
parameter or a source of knowledge of its own class, so that a new kind of these needs no table. The
annotation of a field says what it may hold.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from bopp.errors import ConfigError, SpaceError
from bopp.kinds import KINDS
from bopp.parameter import Parameter, When
from bopp.problem import Direction
from bopp.pseudo import settings
from bopp.recipe import Recipe
from bopp.run.failures import Policy
from bopp.study.address import discreet
from bopp.study.function import REFERENCE

Table = TypeVar("Table")

LARGEST = sys.float_info.max
LONGEST_GOT = 100  # characters of a wrong value, in a message
RECIPES: dict[str, Callable[[], Recipe | None]] = {
    "default": lambda: None,  # the study's own, or bopp's default for a new study
    "random": Recipe.random,
    "paper-ucb": lambda: Recipe.paper("ucb"),
    "paper-pi": lambda: Recipe.paper("pi"),
    "paper-ei": lambda: Recipe.paper("ei"),
}
GUESS = "{ at = { rate = 0.01 }, value = 0.2, give_or_take = 0.05 }"
PARAMETERS = {name.lower(): kind for name, kind in KINDS.items()}


def _listed(names: Iterable[str]) -> str:
    *others, last = (f'"{name}"' for name in names)
    return f"{', '.join(others)} or {last}"


Text = Annotated[str, Meta(pattern=r"\A.*\S.*\Z", description="a line of text")]
Lines = Annotated[str, Meta(description="a text")]
Url = Annotated[str, Meta(description='the URL of a database such as "sqlite:///study.db"')]
Reference = Annotated[str, Meta(pattern=REFERENCE, description='"module:function"')]
FailurePolicy = Annotated[Policy, Meta(description='"stop" or "continue"')]
Way = Annotated[Direction, Meta(description='"minimize" or "maximize"')]
RecipeName = Annotated[
    str, Meta(pattern=rf"\A(?:{'|'.join(RECIPES)})\Z", description=f"one of {', '.join(RECIPES)}")
]
StartMethod = Annotated[
    Literal["fork", "spawn", "forkserver"],  # of which Windows has "spawn" alone
    Meta(description='"fork", "spawn" or "forkserver"'),
]
Truth = Annotated[bool, Meta(description="true or false")]
Whole = Annotated[int, Meta(description="an integer")]
Count = Annotated[int, Meta(ge=1, description="an integer >= 1")]
Seed = (
    Annotated[int, Meta(ge=0, le=2**63 - 1, description='an integer from 0 to 2**63 - 1, or "random"')]
    | Literal["random"]
)
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST, description="a finite number")]
Seconds = Annotated[float, Meta(gt=0, le=LARGEST, description="a finite number of seconds above 0")]
Options = Annotated[list[Any], Meta(description="a list of options")]

Value = Annotated[Any, Meta(description="a text, a number, true or false")]
Names = Annotated[list[Any], Meta(description='a list of names such as ["a", "b"]')]
Named = Annotated[dict[str, Any], Meta(description="a table such as { x = 0.5 }")]
Guesses = Annotated[list[Any], Meta(description=f"a list of tables such as {GUESS}")]
Conditions = Annotated[dict[str, Any], Meta(description='a table such as { optimizer = ["sgd"] }')]
Objectives = Annotated[
    dict[str, Direction],
    Meta(min_length=1, description='a table such as { error = "minimize", speed = "maximize" }'),
]
Numbers = Annotated[dict[str, float], Meta(description="a table of numbers such as { a = 1.0, b = 2.5 }")]
Fidelities = Annotated[dict[str, Any], Meta(description="a table such as { epochs = [1, 9, 81] }")]

DESCRIBED: dict[Any, Any] = {
    float: Number,
    float | None: Number | None,
    int: Whole,
    int | None: Whole | None,
    bool: Truth,
    Sequence: Options,
    Hashable: Value,
    When: Conditions | None,
    settings.Names: Names,
    settings.Named: Named,
    settings.Expected: Guesses,
}
"""What a file may hold for a field of a parameter or a source, by its annotation; it has no other field."""


@dataclass(frozen=True, kw_only=True)
class StudyTable:
    name: Text
    store: Url = "sqlite:///study.db"
    direction: Way = "minimize"
    budget: Count
    seed: Seed = 0
    recipe: RecipeName = "default"
    workers: Count = 1
    start_method: StartMethod | None = None
    trial_timeout: Seconds | None = None
    time_limit: Seconds | None = None
    target: Number | None = None
    lease: Seconds = 60.0
    failures: FailurePolicy = "stop"
    fidelities: Fidelities | None = None
    objectives: Objectives | None = None
    reference: Numbers | None = None


@dataclass(frozen=True)
class ObjectiveTable:
    python: Reference | None = None
    command: Lines | None = None
    shell: Truth = False
    stdin: Truth = False


@dataclass(frozen=True)
class ConstraintTable:
    name: Text | None = None
    at_most: Number | None = None
    at_least: Number | None = None
    equals: Number | None = None
    linear: Numbers | None = None
    python: Reference | None = None


@dataclass(frozen=True, kw_only=True)
class GuessTable:
    at: Named
    value: Number
    give_or_take: Number


def parameter(where: str, row: Any) -> Parameter:
    """The parameter that a table of [space] describes."""
    if not isinstance(row, dict):
        wanted = 'a table such as { type = "int", ... }'
        raise ConfigError(f"{where} wanted {wanted}, got {shown(row)}", field=where.removesuffix(":"))
    kind: type[Parameter] = PARAMETERS[one_of(PARAMETERS, f"{where} type", row.get("type"))]
    try:
        return read_table(where, kind, row, "type")
    except SpaceError as error:
        raise ConfigError(f"{where} {error}", field=where.removesuffix(":")) from None


def read_table(where: str, kind: type[Table], table: Any, *also: str) -> Table:
    """The table with each field in its type; it may have the fields in `also`, which are left out."""
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: wanted a table, got {shown(table)}", field=where)
    kinds, required = field_kinds(kind), _required(kind)
    for name in table:
        if name not in (*also, *kinds):
            raise ConfigError(
                f"{where} {discreet(name)}: no such field; wanted {', '.join([*also, *kinds])}",
                field=f"{where} {discreet(name)}",
            )
    given = [name for name in kinds if name in table or name in required]
    return kind(**{name: _converted(f"{where} {name}", kinds[name], table.get(name)) for name in given})


def field_kinds(kind: Any) -> dict[str, Any]:
    """The fields of a dataclass, each with what a file may hold for it."""
    hints = get_type_hints(kind, include_extras=True)
    types = {field.name: hints[field.name] for field in fields(kind)}
    kinds = {name: DESCRIBED.get(hint, DESCRIBED.get(get_origin(hint), hint)) for name, hint in types.items()}
    return {name: kind for name, kind in kinds.items() if _described(kind)}


def _required(kind: Any) -> set[str]:
    return {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}


def one_of(names: Iterable[str], where: str, value: Any) -> str:
    """The value, if it is one of the names."""
    if value in tuple(names):
        return str(value)
    raise ConfigError(f"{where}: wanted {_listed(names)}, got {shown(value)}", field=where)


def _converted(where: str, kind: Any, value: Any) -> Any:
    try:
        found = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise ConfigError(f"{where}: wanted {wanted(kind)}, got {shown(value)}", field=where) from None
    if kind is Guesses:
        return [_guess(f"{where} {number}:", row) for number, row in enumerate(found, 1)]
    if kind is Value or isinstance(found, list):
        return _option(where, found)
    if isinstance(found, dict):
        return {name: _option(where, one) for name, one in found.items()}
    return found


def _guess(where: str, row: Any) -> tuple[dict[str, Any], float, float]:
    if not isinstance(row, dict):
        raise ConfigError(f"{where} wanted a table such as {GUESS}, got {shown(row)}")
    table = read_table(where, GuessTable, row)
    return table.at, table.value, table.give_or_take


def _option(where: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_option(where, one) for one in value)
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    plain = "texts, finite numbers, true, false or lists of these"
    raise ConfigError(f"{where}: wanted {plain}, got {shown(value)}", field=where)


def wanted(kind: Any) -> str:
    """What a field of this kind may hold, in words."""
    return str(_described(kind)[0].description)


def _described(kind: Any) -> list[Any]:
    """The descriptions in a kind of field."""
    return [part.__metadata__[0] for part in (kind, *get_args(kind)) if hasattr(part, "__metadata__")]


def shown(value: Any) -> str:
    """A value as it is written in the file, or nearly so."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        value = discreet(value)
    text = repr(value) if isinstance(value, float) else json.dumps(value, default=str, ensure_ascii=False)
    text = text if isinstance(value, str) else discreet(text)
    return text if len(text) <= LONGEST_GOT else f"{text[:LONGEST_GOT]}..."
