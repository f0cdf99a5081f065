"""Config: a study as a file, study.toml; what is wrong in it becomes one line that names the field."""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
import sqlalchemy as sa
from msgspec import Meta

from bopp.errors import ConfigError, SpaceError
from bopp.parameter import Choice, Float, Int, Parameter
from bopp.space import Params, Space
from bopp.study.command import Command
from bopp.study.function import REFERENCE, python_objective
from bopp.suggest import Recipe
from bopp.trial import Direction

Table = TypeVar("Table", bound=msgspec.Struct)

TABLES = "[study], [objective] and [space]"
LARGEST = sys.float_info.max
LONGEST_GOT = 100  # characters of what came, in a message
RECIPES: dict[str, Callable[[], Recipe]] = {
    "default": Recipe.default,
    "random": Recipe.random,
    "paper-ucb": lambda: Recipe.paper("ucb"),
    "paper-pi": lambda: Recipe.paper("pi"),
    "paper-ei": lambda: Recipe.paper("ei"),
}

Text = Annotated[str, Meta(pattern=r"\A.*\S.*\Z", description="a line of text")]
Lines = Annotated[str, Meta(description="a text")]
Url = Annotated[str, Meta(description='the URL of a database such as "sqlite:///study.db"')]
Reference = Annotated[str, Meta(pattern=REFERENCE, description='"module:function"')]
Way = Annotated[Direction, Meta(description='"minimize" or "maximize"')]
RecipeName = Annotated[
    Literal["default", "random", "paper-ucb", "paper-pi", "paper-ei"],
    Meta(description=f"one of {', '.join(RECIPES)}"),
]
Kind = Annotated[Literal["float", "int", "choice"], Meta(description='"float", "int" or "choice"')]
Truth = Annotated[bool, Meta(description="true or false")]
Whole = Annotated[int, Meta(description="an integer")]
Count = Annotated[int, Meta(ge=1, description="an integer >= 1")]
Seed = Annotated[int, Meta(ge=0, description="an integer >= 0")]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST, description="a finite number")]
Seconds = Annotated[float, Meta(gt=0, le=LARGEST, description="a finite number of seconds above 0")]
Options = Annotated[list[Any], Meta(description="a list of options")]


class StudyTable(msgspec.Struct, frozen=True, kw_only=True):
    name: Text
    store: Url = "sqlite:///study.db"
    direction: Way = "minimize"
    budget: Count
    seed: Seed = 0
    recipe: RecipeName = "default"
    workers: Count = 1
    timeout: Seconds | None = None
    target: Number | None = None
    lease: Seconds = 60.0


class ObjectiveTable(msgspec.Struct, frozen=True):
    python: Reference | None = None
    command: Lines | None = None
    shell: Truth = False


class FloatTable(msgspec.Struct, frozen=True):
    type: Kind
    low: Number
    high: Number
    log: Truth = False

    def parameter(self) -> Parameter:
        return Float(self.low, self.high, self.log).checked()


class IntTable(msgspec.Struct, frozen=True):
    type: Kind
    low: Whole
    high: Whole
    log: Truth = False

    def parameter(self) -> Parameter:
        return Int(self.low, self.high, self.log).checked()


class ChoiceTable(msgspec.Struct, frozen=True):
    type: Kind
    options: Options
    ordered: Truth = False

    def parameter(self) -> Parameter:
        return Choice(tuple(map(_option, self.options)), self.ordered).checked()


KINDS: dict[str, type[FloatTable | IntTable | ChoiceTable]] = {
    "float": FloatTable,
    "int": IntTable,
    "choice": ChoiceTable,
}


@dataclass(frozen=True)
class Config:
    """What a study file says, checked, with every default filled in."""

    path: Path
    folder: Path
    name: str
    store: str
    direction: Direction
    budget: int
    seed: int
    recipe: Recipe
    workers: int
    timeout: float | None
    target: float | None
    lease: float
    space: Space
    source: str | Command | None

    def objective(self) -> Callable[[Params], Any]:
        """The function or the program to call; a function is imported from the file's folder."""
        if self.source is None:
            raise _in_file(self.path, "[objective]: wanted one to run; without it: bopp ask and bopp tell")
        if isinstance(self.source, Command):
            return self.source
        try:
            return python_objective(self.source, self.folder)
        except ConfigError as error:
            raise _in_file(self.path, f"[objective] python: {error}") from error


def load(path: Path) -> Config:
    """The study that a file describes; nothing is imported or run."""
    try:
        document = _parsed(path)
        for name in document:
            if name not in ("study", "objective", "space"):
                raise ConfigError(f"{name}: no such table; wanted {TABLES}")
        return _config(path, document)
    except ConfigError as error:
        raise _in_file(path, str(error)) from error


def _parsed(path: Path) -> dict[str, Any]:
    if path.is_dir():
        raise ConfigError("wanted a file, got a folder")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        document = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"there is no such file in {str(path.parent.resolve())!r}") from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        if error.object.startswith(b"SQLite format 3"):
            raise ConfigError(f"wanted a study file, got a database: sqlite:///{path}?") from None
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"line {line}: wanted UTF-8, got the byte 0x{error.object[error.start]:02x}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(_placed(str(error), len(text.splitlines()))) from None
    if not document:
        raise ConfigError(f"there is nothing in it; wanted {TABLES}")
    return document


def _placed(text: str, last: int) -> str:
    """A message of tomllib with its line in front."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", text, re.DOTALL)
    if not found:
        return text
    return f"line {found[2] or last}: {found[1]}" + (f" at column {found[3]}" if found[3] else "")


def _config(path: Path, document: dict[str, Any]) -> Config:
    folder = path.parent.resolve()
    study = _read("[study]", StudyTable, document.get("study", {}))
    objective = document.get("objective")
    space = _space(document.get("space", {}))
    return Config(
        path=path,
        folder=folder,
        name=study.name,
        store=_resolved(study.store, folder),
        direction=study.direction,
        budget=study.budget,
        seed=study.seed,
        recipe=RECIPES[study.recipe](),
        workers=study.workers,
        timeout=study.timeout,
        target=study.target,
        lease=study.lease,
        space=space,
        source=None if objective is None else _source(objective, space, folder),
    )


def _source(row: Any, space: Space, folder: Path) -> str | Command:
    table = _read("[objective]", ObjectiveTable, row)
    if table.python is not None and table.command is None:
        if table.shell:
            raise ConfigError("[objective] shell: wanted it with a command only, got it with python")
        return table.python
    if table.command is None or table.python is not None:
        got = "neither" if table.command is None else "both"
        raise ConfigError(f"[objective]: wanted one of python and command, got {got}")
    command = Command(table.command, table.shell, folder)
    try:
        command.check(space.parameters)
    except ConfigError as error:
        raise ConfigError(f"[objective] command: {error}") from None
    return command


def _space(table: Any) -> Space:
    if not isinstance(table, dict) or not table:
        raise ConfigError(f"[space]: wanted at least one parameter, got {_shown(table) if table else 'none'}")
    return Space({name: _parameter(f"[space] {name}:", row) for name, row in table.items()})


def _parameter(where: str, row: Any) -> Parameter:
    if not isinstance(row, dict):
        raise ConfigError(f'{where} wanted a table such as {{ type = "int", ... }}, got {_shown(row)}')
    kind = _converted(f"{where} type", Kind, row.get("type"))
    try:
        return _read(where, KINDS[kind], row).parameter()
    except SpaceError as error:
        raise ConfigError(f"{where} {error}") from None


def _option(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_option, value))
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    wanted = "texts, finite numbers, true, false or lists of these"
    raise SpaceError(f"options: wanted {wanted}, got {_shown(value)}")


def _resolved(url: str, folder: Path) -> str:
    """The URL, with a path to a file that means the same in any folder."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        shown = _shown(re.sub(r"://.*@", "://***@", url))  # no password
        raise ConfigError(f"[study] store: wanted {_wanted(Url)}, got {shown}") from None
    if parsed.get_backend_name() != "sqlite":
        return url
    if parsed.database in (None, "", ":memory:"):
        raise ConfigError(
            "[study] store: wanted a file or a server, got a store in memory, which would be lost"
        )
    return parsed.set(database=str(folder / parsed.database)).render_as_string(hide_password=False)


def _read(where: str, kind: type[Table], table: Any) -> Table:
    """The table with each field in its type; an error names the field."""
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: wanted a table, got {_shown(table)}")
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for name in table:
        if name not in fields:
            raise ConfigError(f"{where} {name}: no such field; wanted {', '.join(fields)}")
    given = [field for name, field in fields.items() if name in table or field.required]
    return kind(
        **{
            field.name: _converted(f"{where} {field.name}", field.type, table.get(field.name))
            for field in given
        }
    )


def _converted(where: str, kind: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise ConfigError(f"{where}: wanted {_wanted(kind)}, got {_shown(value)}") from None


def _wanted(kind: Any) -> str:
    described = next(part for part in (kind, *get_args(kind)) if hasattr(part, "__metadata__"))
    return str(described.__metadata__[0].description)


def _shown(value: Any) -> str:
    """A value of the file as the file has it, or nearly so."""
    if value is None:
        return "nothing"
    text = repr(value) if isinstance(value, float) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= LONGEST_GOT else f"{text[:LONGEST_GOT]}..."


def _in_file(path: Path, text: str) -> ConfigError:
    return ConfigError(" ".join(line.strip() for line in f"{path}: {text}".splitlines()))
