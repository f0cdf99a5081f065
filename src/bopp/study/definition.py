"""Definition: what identifies a study, kept in a row of its store, and whether a caller wants the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import sqlalchemy as sa

from bopp.arguments import checked_recipe, checked_seed, is_seed
from bopp.errors import StudyError, reading
from bopp.legible import brief
from bopp.parts import SWITCH
from bopp.plain import other_part, read_problem, read_space, write_problem, write_recipe, write_space
from bopp.problem import Declaration, Direction, Problem, checked_direction
from bopp.recipe import Recipe
from bopp.study import checksum
from bopp.study.schema import studies
from bopp.study.sources import LEARN, Row, Taught, are_in, described, taught, without_knowledge

COLUMNS = ("space", "problem", "seed", "recipe", "knowledge")
LONGEST = 300  # characters of what differs, in a message
MIGRATE = "to go on in the new one with the trials that fit: open_study(..., migrate=True), or bopp migrate"


@dataclass(frozen=True)
class Definition:
    """What identifies a study; only recipe and knowledge can be changed later, and only by a switch."""

    id: int
    name: str
    problem: Problem
    seed: int
    parts: dict[str, Any]  # of the recipe, as plain values
    knowledge: list[Row]  # as it was written

    @staticmethod
    def read(row: Mapping[Any, Any]) -> Definition:
        """The definition that a row holds."""
        check(row)
        with reading(f"the study {row['name']!r} cannot be read", StudyError):
            columns = {name: loads(row[name]) for name in COLUMNS}
            return Definition.of(row["id"], row["name"], columns)

    @staticmethod
    def of(id: int, name: str, columns: Mapping[str, Any]) -> Definition:
        """The definition that these plain values are."""
        if not is_seed(columns["seed"]):
            raise StudyError("wanted a seed from 0 to 2**63 - 1")
        problem = read_problem(read_space(columns["space"]), columns["problem"])
        parts, rows = _checked_parts(columns["recipe"]), _checked_rows(columns["knowledge"])
        return Definition(id, name, problem, columns["seed"], parts, rows)


@dataclass(frozen=True)
class Wanted:
    """What a caller says a study is, or should become; None where nothing was said."""

    problem: Problem | None = None
    direction: Direction | None = None
    seed: int | None = None
    new_seed: int = 0  # of a study that is to be created
    recipe: Recipe | None = None  # without sources, which are among the knowledge
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
    ) -> Wanted:
        """What was given, checked."""
        return Wanted(
            problem=None if space is None else Problem.of(space, direction),
            direction=None if direction is None else checked_direction(direction),
            seed=None if seed in (None, ...) else checked_seed(seed),
            new_seed=0 if seed is ... else checked_seed(seed),
            recipe=None if recipe is None else without_knowledge(checked_recipe(recipe)),
            whole=isinstance(space, Problem),
            knowledge=(known := taught(knowledge, recipe)),
            compares=knowledge is not None or bool(known),
        )

    def columns(self) -> dict[str, Any]:
        """The columns of a new study as plain values, with defaults where nothing was said."""
        if self.problem is None:
            raise StudyError("a new study wants a space")
        return {
            "space": write_space(self.problem.space),
            "problem": write_problem(self.problem),
            "seed": self.new_seed,
            "recipe": write_recipe(checked_recipe(self.recipe)),
            "knowledge": [one.written(self.problem) for one in self.knowledge],
        }

    def compare(self, study: Definition) -> None:
        """Refuse a study that is not the one wanted, and name what differs."""
        if self.problem is not None:
            theirs, mine = write_space(study.problem.space), write_space(self.problem.space)
            _compare(study.name, "space", theirs, mine, f"; {MIGRATE}")
        if self.problem is not None and self.whole:
            theirs, mine = _comparable(study.problem), _comparable(self.problem)
            for what in theirs:
                _compare(study.name, what, theirs[what], mine[what])
        elif self.direction is not None:
            _compare(study.name, "direction", study.problem.direction, self.direction)
        if self.seed is not None:
            _compare(study.name, "seed", study.seed, self.seed)
        if self.recipe is not None and (part := other_part(study.parts, self.recipe)):
            stored, given = study.parts.get(part), write_recipe(self.recipe).get(part)
            raise StudyError(
                f"{study.name!r} has recipe {part!r} {_short(stored)}, got {_short(given)}; {SWITCH}",
                study=study.name,
            )
        if self.compares and not are_in(self.knowledge, study.knowledge, study.problem):
            had, got = described(study.knowledge), described(self.knowledge)
            other = "the same with other data" if had == got else got
            raise StudyError(f"{study.name!r} knows {had}; got {other}; {LEARN}", study=study.name)


def written(columns: Mapping[str, Any]) -> dict[str, str]:
    """Plain values as the texts of columns."""
    return {name: json.dumps(value, allow_nan=False) for name, value in columns.items()}


def check(row: Mapping[Any, Any]) -> None:
    """Refuse the row of a study that is not as it was written."""
    checksum.check(studies, row, f"the study {row['name']!r}", f"bopp_studies where id = {row['id']}")


def rewrite(connection: sa.Connection, id: int, columns: Mapping[str, str | None]) -> dict[str, Any]:
    """Change columns of a study, given as they are written, and return its row."""
    row = connection.execute(sa.select(*studies.c).where(studies.c.id == id)).mappings().first()
    if row is None:
        raise StudyError("the study is no longer in its store")
    check(row)
    new = checksum.with_checksum(studies, {**row, **columns})
    changed = {name: new[name] for name in (*columns, "seal")}
    connection.execute(studies.update().where(studies.c.id == id).values(changed))
    return new


def loads(text: str | bytes) -> Any:
    """What a JSON text holds; Python's JSON would also take NaN."""
    return json.loads(text, parse_constant=_no_number)


def _no_number(word: str) -> None:
    raise StudyError(f"wanted finite numbers, got {word}")


def _checked_parts(parts: Any) -> dict[str, Any]:
    if not isinstance(parts, dict) or not parts:
        raise StudyError(f"wanted the parts of a recipe, got {_short(parts)}")
    return parts


def _checked_rows(rows: Any) -> list[Row]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise StudyError(f"wanted sources of knowledge, got {_short(rows)}")
    return rows


def _comparable(problem: Problem) -> dict[str, Any]:
    """A problem as plain values, without its space; constraints may be given in any order."""
    row = write_problem(problem)
    return {
        "objectives": ", ".join(f"{direction} {name}" for name, direction in row["objectives"].items()),
        "constraints": sorted(row["constraints"], key=_text),
        "fidelities": row.get("fidelities", {}),
        "reference": row.get("reference", {}),
    }


def _compare(name: str, field: str, stored: Any, given: Any, remedy: str = "") -> None:
    """Refuse plain values that differ, and name the first part of a dict that does."""
    if not isinstance(stored, dict):
        if _text(stored) != _text(given):
            got = brief(given, LONGEST)
            raise StudyError(f"{name!r} has {field} {brief(stored, LONGEST)}, got {got}", study=name)
        return
    for part in dict.fromkeys([*stored, *given]):
        if part not in given or part not in stored:
            where = "the study, not in what came" if part in stored else "what came, not in the study"
            raise StudyError(f"{name!r} has another {field}: {part!r} is in {where}{remedy}", study=name)
        if _text(stored[part]) != _text(given[part]):
            raise StudyError(
                f"{name!r} has {field} {part!r} {_short(stored[part])}, got {_short(given[part])}{remedy}",
                study=name,
            )


def _text(value: Any) -> str:
    """A plain value as a text that tells 1 from True and from 1.0."""
    return json.dumps(value, sort_keys=True)


def _short(value: Any) -> str:
    return json.dumps(value)[:LONGEST]
