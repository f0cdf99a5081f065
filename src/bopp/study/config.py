"""Config: a study described by a file, study.toml; a mistake in it becomes one line that names the field."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bopp.errors import BoppError, ConfigError
from bopp.problem import Constraint, Direction, Problem
from bopp.recipe import Recipe
from bopp.space import Params, Space
from bopp.study.address import censored, discreet, is_url, placed
from bopp.study.command import Command
from bopp.study.constraints import FILE, Named, constraints
from bopp.study.function import python_objective
from bopp.study.knowing import Place, known
from bopp.study.sources import Taught
from bopp.study.tables import RECIPES, ObjectiveTable, StudyTable, Url, parameter, read_table, shown, wanted

TABLES = "[study], [objective], [space], [[constraint]] and [[knowledge]]"


@dataclass(frozen=True)
class Config:
    """What a study file says, checked, with every default filled in."""

    path: Path
    folder: Path
    name: str
    store: str = field(repr=False)  # it may have a password
    seed: int | None  # None: that of the study, or a random one for a new study
    recipe: Recipe | None  # None: the study's own, or bopp's default for a new study
    study: StudyTable = field(repr=False)  # as it is written: budget, workers, limits
    problem: Problem  # without constraints
    plain: bool  # whether it is only said in which direction to search
    source: str | Command | None
    knowledge: tuple[Taught, ...] = ()
    constraints: tuple[Constraint | Named, ...] = ()

    @property
    def space(self) -> Space:
        """The space, with the levels of a fidelity."""
        return self.problem.space

    @property
    def declared(self) -> tuple[Space | Problem, Direction | None]:
        """What is to be found and in which direction, as `open_study` takes them.

        Functions of constraints are imported from the file's folder.
        """
        if self.plain:
            return self.space, self.problem.direction
        with _within_file(self.path):
            met = [one.imported(self.folder) if isinstance(one, Named) else one for one in self.constraints]
            return _constrained(self.problem, met), None

    @property
    def refers(self) -> bool:
        """Whether a constraint is a function, which a store cannot hold."""
        return any(isinstance(one, Named) for one in self.constraints)

    def objective(self) -> Callable[[Params], Any]:
        """The function or the program to call; a function is imported from the file's folder."""
        if isinstance(self.source, Command):
            return self.source
        with _within_file(self.path):
            if self.source is None:
                without = "without it: bopp ask and bopp tell"
                raise ConfigError(f"[objective]: wanted one to run; {without}", field="[objective]")
            with _within("[objective] python:"):
                return python_objective(self.source, self.folder)


def load(path: Path) -> Config:
    """The study that a file describes; nothing is imported or run."""
    if is_url(str(path)):
        raise ConfigError(f"wanted a study file, got the URL {discreet(str(path))!r}")
    with _within_file(path):
        document = _parsed(path)
        for name in document:
            if name not in ("study", "objective", "space", "constraint", "knowledge"):
                raise ConfigError(f"{discreet(name)}: no such table; wanted {TABLES}", field=discreet(name))
        return _config(path, document)


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
        last = f"line {len(text.splitlines())}, its end"
        raise ConfigError(str(error).replace("end of document", last)) from None
    if not document:
        raise ConfigError(f"there is nothing in it; wanted {TABLES}")
    return document


def _config(path: Path, document: dict[str, Any]) -> Config:
    folder = path.parent.resolve()
    study = read_table("[study]", StudyTable, document.get("study", {}))
    space, objective = _space(document.get("space", {})), document.get("objective")
    if study.objectives is not None:
        _check_objectives(study, document["study"])
    objectives = study.objectives or {"value": study.direction}
    with _within("[study]"):
        problem = Problem(space, objectives, (), _fidelities(study.fidelities), study.reference)
    store = _resolved(study.store, folder)
    rules = constraints(document.get("constraint", []))
    known_problem = _constrained(problem, [one for one in rules if not isinstance(one, Named)])
    place = Place(path, folder, (store, study.name))
    return Config(
        path=path,
        folder=folder,
        name=study.name,
        store=store,
        seed=None if study.seed == "random" else study.seed,
        recipe=RECIPES[study.recipe](),
        study=study,
        problem=problem,
        plain=study.objectives is None and study.fidelities is None and not rules,
        source=None if objective is None else _source(objective, problem.space, folder),
        knowledge=known(document.get("knowledge", []), known_problem, place),
        constraints=rules,
    )


def _constrained(problem: Problem, constraints: Iterable[Constraint]) -> Problem:
    with _within(FILE):
        return Problem(problem.space, problem.objectives, constraints, problem.fidelity, problem.reference)


def _check_objectives(study: StudyTable, given: Mapping[str, Any]) -> None:
    """Refuse what objectives with names of their own leave no room for."""
    if "direction" in given:
        raise ConfigError(
            "[study] direction: wanted it without objectives, which have their own", field="[study] direction"
        )
    if study.target is not None and len(study.objectives or ()) > 1:
        raise ConfigError("[study] target: wanted it with one objective only", field="[study] target")


def _source(row: Any, space: Space, folder: Path) -> str | Command:
    table = read_table("[objective]", ObjectiveTable, row)
    if table.python is not None and table.command is None:
        for name in ("shell", "stdin"):
            if getattr(table, name):
                raise ConfigError(
                    f"[objective] {name}: wanted it with a command only, got it with python",
                    field=f"[objective] {name}",
                )
        return table.python
    if table.command is None or table.python is not None:
        got = "neither" if table.command is None else "both"
        raise ConfigError(f"[objective]: wanted one of python and command, got {got}", field="[objective]")
    command = Command(table.command, table.shell, folder, space.conditional, table.stdin)
    with _within("[objective] command:"):
        command.check(space.parameters)
    return command


def _space(table: Any) -> Space:
    if not isinstance(table, dict) or not table:
        raise ConfigError(
            f"[space]: wanted at least one parameter, got {shown(table) if table else 'none'}",
            field="[space]",
        )
    parameters = {name: parameter(f"[space] {name}:", row) for name, row in table.items()}
    with _within("[space]"):
        return Space(parameters)


def _fidelities(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The levels of a list, or of a list of pairs with their costs."""

    def costs(given: Any) -> Any:
        paired = isinstance(given, tuple) and all(isinstance(one, tuple) and len(one) == 2 for one in given)
        return dict(given) if paired else given

    return None if table is None else {name: costs(given) for name, given in table.items()}


def _resolved(url: str, folder: Path) -> str:
    """The URL, with the path of a file made absolute, so that it means the same in any folder."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        got = shown(url)
        raise ConfigError(f"[study] store: wanted {wanted(Url)}, got {got}", field="[study] store") from None
    if parsed.get_backend_name() != "sqlite":
        return url
    if parsed.database in (None, "", ":memory:"):
        raise ConfigError(
            "[study] store: wanted a file or a server, got a store in memory, which would be lost",
            field="[study] store",
        )
    return placed(parsed, folder)


@contextmanager
def _within(where: str) -> Iterator[None]:
    """Have an error begin with the place in the file that is wrong."""
    try:
        yield
    except BoppError as error:
        field = f"{where.removesuffix(':')} {getattr(error, 'parameter', None) or ''}".strip()
        raise ConfigError(f"{where} {error}", field=field) from error


@contextmanager
def _within_file(path: Path) -> Iterator[None]:
    """Have an error begin with the name of the file, in one line and without passwords."""
    try:
        yield
    except ConfigError as error:
        lines = f"{path}: {censored(str(error))}".splitlines()
        raise ConfigError(" ".join(line.strip() for line in lines), field=error.field) from error
