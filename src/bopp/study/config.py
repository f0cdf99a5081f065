"""Config: a study described by a file, study.toml; a mistake in it becomes one line that names the field."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bopp.errors import BoppError, ConfigError, SpaceError
from bopp.fidelity import Fidelity
from bopp.problem import Constraint, Direction, Problem
from bopp.recipe import Recipe
from bopp.run.failures import Policy
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
    direction: Direction
    budget: int
    seed: int | None  # None: that of the study, or a random one for a new study
    recipe: Recipe | None  # None: the study's own, or bopp's default for a new study
    workers: int
    start_method: str | None
    trial_timeout: float | None
    time_limit: float | None
    target: float | None
    lease: float
    failures: Policy
    space: Space  # with the levels of a fidelity
    source: str | Command | None
    knowledge: tuple[Taught, ...] = ()
    fidelity: Fidelity | None = None
    objectives: Mapping[str, Direction] | None = None  # None: a single one, in this direction
    constraints: tuple[Constraint | Named, ...] = ()
    reference: Mapping[str, float] | None = None

    @property
    def declared(self) -> tuple[Space | Problem, Direction | None]:
        """What is to be found and in which direction, as `open_study` takes them.

        Functions of constraints are imported from the file's folder.
        """
        if self.fidelity is None and self.objectives is None and not self.constraints:
            return self.space, self.direction
        try:
            met = [one.imported(self.folder) if isinstance(one, Named) else one for one in self.constraints]
            return self.problem(met), None
        except ConfigError as error:
            raise _in_file(self.path, error) from error

    @property
    def refers(self) -> bool:
        """Whether a constraint is a function, which a store cannot hold."""
        return any(isinstance(one, Named) for one in self.constraints)

    def problem(self, constraints: Iterable[Constraint]) -> Problem:
        """What is to be found under these constraints."""
        objectives = {"value": self.direction} if self.objectives is None else self.objectives
        where = "[study]"
        try:
            Problem(self.space, objectives, (), self.fidelity, self.reference)
            where = FILE
            return Problem(self.space, objectives, constraints, self.fidelity, self.reference)
        except BoppError as error:
            raise ConfigError(f"{where} {error}") from None

    def objective(self) -> Callable[[Params], Any]:
        """The function or the program to call; a function is imported from the file's folder."""
        if self.source is None:
            wanted = "[objective]: wanted one to run; without it: bopp ask and bopp tell"
            raise _in_file(self.path, ConfigError(wanted, field="[objective]"))
        if isinstance(self.source, Command):
            return self.source
        try:
            return python_objective(self.source, self.folder)
        except ConfigError as error:
            where = "[objective] python"
            raise _in_file(self.path, ConfigError(f"{where}: {error}", field=where)) from error


def load(path: Path) -> Config:
    """The study that a file describes; nothing is imported or run."""
    if is_url(str(path)):
        raise ConfigError(f"wanted a study file, got the URL {discreet(str(path))!r}")
    try:
        document = _parsed(path)
        for name in document:
            if name not in ("study", "objective", "space", "constraint", "knowledge"):
                raise ConfigError(f"{discreet(name)}: no such table; wanted {TABLES}", field=discreet(name))
        return _config(path, document)
    except ConfigError as error:
        raise _in_file(path, error) from error


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
    """A message of tomllib with the line number in front."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", text, re.DOTALL)
    if not found:
        return text
    return f"line {found[2] or last}: {found[1]}" + (f" at column {found[3]}" if found[3] else "")


def _config(path: Path, document: dict[str, Any]) -> Config:
    folder = path.parent.resolve()
    study = read_table("[study]", StudyTable, document.get("study", {}))
    objective = document.get("objective")
    space, fidelity = _space(document.get("space", {})), _fidelity(study.fidelities)
    if fidelity is not None:
        try:
            space = fidelity.within(space)
        except SpaceError as error:
            raise ConfigError(f"[space] {error}") from None
    if study.objectives is not None:
        _check_objectives(study, document["study"])
    store = _resolved(study.store, folder)
    place = Place(path, folder, (store, study.name))
    config = Config(
        path=path,
        folder=folder,
        name=study.name,
        store=store,
        direction=study.direction,
        budget=study.budget,
        seed=None if study.seed == "random" else study.seed,
        recipe=RECIPES[study.recipe](),
        workers=study.workers,
        start_method=study.start_method,
        trial_timeout=study.trial_timeout,
        time_limit=study.time_limit,
        target=study.target,
        lease=study.lease,
        failures=study.failures,
        space=space,
        source=None if objective is None else _source(objective, space, folder),
        fidelity=fidelity,
        objectives=study.objectives,
        constraints=constraints(document.get("constraint", [])),
        reference=study.reference,
    )
    problem = config.problem(one for one in config.constraints if not isinstance(one, Named))
    return replace(config, knowledge=known(document.get("knowledge", []), problem, place))


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
    try:
        command.check(space.parameters)
    except ConfigError as error:
        raise ConfigError(f"[objective] command: {error}", field="[objective] command") from None
    return command


def _space(table: Any) -> Space:
    if not isinstance(table, dict) or not table:
        raise ConfigError(
            f"[space]: wanted at least one parameter, got {shown(table) if table else 'none'}",
            field="[space]",
        )
    parameters = {name: parameter(f"[space] {name}:", row) for name, row in table.items()}
    try:
        return Space(parameters)
    except SpaceError as error:
        raise ConfigError(f"[space] {error}", field=f"[space] {error.parameter or ''}".strip()) from None


def _fidelity(table: Any) -> Fidelity | None:
    """The levels of a list, or of a list of pairs with their costs."""
    if table is None:
        return None

    def costs(given: Any) -> Any:
        paired = isinstance(given, tuple) and all(isinstance(one, tuple) and len(one) == 2 for one in given)
        return dict(given) if paired else given

    try:
        return Fidelity.of({name: costs(given) for name, given in table.items()})
    except BoppError as error:
        raise ConfigError(f"[study] {error}") from None


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


def _in_file(path: Path, error: ConfigError) -> ConfigError:
    lines = f"{path}: {censored(str(error))}".splitlines()
    return ConfigError(" ".join(line.strip() for line in lines), field=error.field)
