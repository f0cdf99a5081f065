"""Definition: what identifies a study, kept in a row of its store, and whether a caller wants the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import sqlalchemy as sa

from bopp.arguments import checked_recipe, checked_seed, is_seed
from bopp.errors import StudyError, reading
from bopp.parts import SWITCH, written_alike
from bopp.plain import read_problem, read_space, write_problem, write_recipe, write_space
from bopp.problem import Declaration, Direction, Problem, checked_direction
from bopp.recipe import Recipe
from bopp.study import seal, sources
from bopp.study.schema import studies
from bopp.study.sources import LEARN, Row, Taught, taught

MIGRATE = "to go on in the new one with the trials that fit: open_study(..., migrate=True), or bopp migrate"


@dataclass(frozen=True)
class Definition:
    """What identifies a study; only recipe and knowledge can be changed later, and only by a switch."""

    id: int
    name: str
    problem: Problem
    seed: int
    parts: dict[str, Any]  # of the recipe, as plain values

    @property
    def knowledge(self) -> list[Row]:
        """The sources among the parts."""
        return sources.split(self.parts)[1]

    @staticmethod
    def read(row: sa.RowMapping) -> Definition:
        """The definition that a row holds."""
        check(row)
        with reading(f"the study {row['name']!r} cannot be read", StudyError):
            seed, parts = _loads(row["seed"]), _loads(row["recipe"])
            if not is_seed(seed):
                raise StudyError("wanted a seed from 0 to 2**63 - 1")
            if not isinstance(parts, dict) or not parts:
                raise StudyError(f"wanted the parts of a recipe, got {_short(parts)}")
            problem = read_problem(read_space(_loads(row["space"])), _loads(row["problem"]))
            return Definition(row["id"], row["name"], problem, int(seed), parts)


@dataclass(frozen=True)
class Wanted:
    """What a caller says a study is, or should become; None where nothing was said."""

    problem: Problem | None = None
    direction: Direction | None = None
    seed: int | None = None
    new_seed: int = 0  # of a study that is to be created
    recipe: Recipe | None = None
    whole: bool = False  # whether a Problem was given, rather than a space
    knowledge: tuple[Taught, ...] = ()
    compares: bool = False  # whether a study that is there must have this knowledge

    @staticmethod
    def checked(
        space: Declaration | Problem | None,
        direction: Direction | None,
        seed: int | EllipsisType | None,
        recipe: Recipe | None,
        knowledge: Any = None,
        compares: bool = True,
    ) -> Wanted:
        """What was given, checked."""
        return Wanted(
            problem=None if space is None else Problem.of(space, direction),
            direction=None if direction is None else checked_direction(direction),
            seed=None if seed in (None, ...) else checked_seed(seed),
            new_seed=0 if seed is ... else checked_seed(seed),
            recipe=None if recipe is None else checked_recipe(recipe),
            whole=isinstance(space, Problem),
            knowledge=(known := taught(knowledge, recipe)),
            compares=compares and (knowledge is not None or bool(known)),
        )

    def columns(self) -> dict[str, Any]:
        """The columns of a new study as plain values, with defaults where nothing was said."""
        if self.problem is None:
            raise StudyError("a new study wants a space")
        return {
            "space": write_space(self.problem.space),
            "problem": write_problem(self.problem),
            "seed": self.new_seed,
            "recipe": sources.write(checked_recipe(self.recipe), self.knowledge, self.problem),
        }

    def compare(self, study: Definition) -> None:
        """Refuse a study that is not the one wanted, and name what differs."""
        if self.problem is not None:
            mine, theirs = write_space(self.problem.space), write_space(study.problem.space)
            _compare(study.name, "space", theirs, mine, f"; {MIGRATE}")
        if self.problem is not None and self.whole:
            mine, theirs = write_problem(self.problem), write_problem(study.problem)
            _compare(study.name, "objectives", _listed(theirs["objectives"]), _listed(mine["objectives"]))
            if not written_alike(_sorted(theirs["constraints"]), _sorted(mine["constraints"])):
                had, got = _short(theirs["constraints"]), _short(mine["constraints"])
                raise StudyError(f"{study.name!r} has constraints {had}, got {got}", study=study.name)
            for what in ("fidelities", "reference"):
                _compare(study.name, what, theirs.get(what, {}), mine.get(what, {}))
        elif self.direction is not None:
            _compare(study.name, "direction", study.problem.direction, self.direction)
        if self.seed is not None:
            _compare(study.name, "seed", study.seed, self.seed)
        if self.recipe is not None and (part := sources.other_in_recipe(study.parts, self.recipe)):
            stored, given = study.parts.get(part), write_recipe(self.recipe).get(part)
            raise StudyError(
                f"{study.name!r} has recipe {part!r} {_short(stored)}, got {_short(given)}; {SWITCH}",
                study=study.name,
            )
        if self.compares:
            self._compare_knowledge(study)

    def _compare_knowledge(self, study: Definition) -> None:
        if sources.are_in(self.knowledge, study.knowledge, study.problem):
            return
        had, got = sources.described(study.knowledge), sources.described(self.knowledge)
        other = "the same with other data" if had == got else got
        raise StudyError(f"{study.name!r} knows {had}; got {other}; {LEARN}", study=study.name)


def written(columns: Mapping[str, Any]) -> dict[str, str]:
    """Plain values as the texts of columns."""
    return {name: json.dumps(value, allow_nan=False) for name, value in columns.items()}


def check(row: sa.RowMapping) -> None:
    """Refuse the row of a study that is not as it was written."""
    seal.check(row, seal.STUDY, f"the study {row['name']!r}", f"bopp_studies where id = {row['id']}")


def redefine(connection: sa.Connection, id: int, **columns: Any) -> None:
    """Change columns of a study, given as plain values."""
    rewrite(connection, id, written(columns))


def rewrite(connection: sa.Connection, id: int, columns: Mapping[str, str | None]) -> None:
    """Change columns of a study, given as they are written."""
    mine = studies.c.id == id
    row = connection.execute(sa.select(*studies.c).where(mine)).mappings().first()
    if row is None:
        raise StudyError("the study is no longer in its store")
    check(row)
    new = seal.sealed({**row, **columns}, seal.STUDY)
    connection.execute(studies.update().where(mine).values({name: new[name] for name in (*columns, "seal")}))


def rewrite_recipe(
    connection: sa.Connection, id: int, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Change the parts of a study's recipe, and return them."""
    text = connection.execute(sa.select(studies.c.recipe).where(studies.c.id == id)).scalar()
    with reading("the recipe of this study cannot be read", StudyError):
        parts = _loads(text) if text is not None else {}
        if not isinstance(parts, dict):
            raise StudyError(f"wanted the parts of a recipe, got {_short(parts)}")
    new = change(parts)
    redefine(connection, id, recipe=new)
    return new


def _loads(text: str) -> Any:
    """What a JSON text holds; Python's JSON would also take NaN."""
    return json.loads(text, parse_constant=_no_number)


def _no_number(word: str) -> None:
    raise StudyError(f"wanted finite numbers, got {word}")


def _listed(objectives: Mapping[str, str]) -> str:
    """Objectives in their order, which matters: the first is the value of a trial."""
    return ", ".join(f"{direction} {name}" for name, direction in objectives.items())


def _sorted(constraints: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(constraints, key=lambda row: (row["kind"], row["name"], row.get("bound", 0.0)))


def _compare(name: str, field: str, stored: Any, given: Any, remedy: str = "") -> None:
    if not isinstance(stored, dict) or not isinstance(given, dict):
        if stored != given:
            raise StudyError(f"{name!r} has {field} {stored!r}, got {given!r}", study=name)
        return
    for part in dict.fromkeys([*stored, *given]):
        if part not in given or part not in stored:
            where = "the study, not in what came" if part in stored else "what came, not in the study"
            raise StudyError(f"{name!r} has another {field}: {part!r} is in {where}{remedy}", study=name)
        if stored[part] != given[part] or _kinds(stored[part]) != _kinds(given[part]):
            raise StudyError(
                f"{name!r} has {field} {part!r} {_short(stored[part])}, got {_short(given[part])}{remedy}",
                study=name,
            )


def _kinds(value: Any) -> Any:
    """The types within a value, to tell 1 from True and from 1.0."""
    if isinstance(value, dict):
        return {name: _kinds(part) for name, part in value.items()}
    return [_kinds(part) for part in value] if isinstance(value, list) else type(value)


def _short(value: Any) -> str:
    return json.dumps(value)[:300]
