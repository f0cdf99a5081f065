"""Stores: a small one whose rows are known, and tables of a version to come."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bopp import Float, Problem, Recipe
from bopp.plain import write_problem, write_recipe, write_space
from bopp.study import schema

PROBLEM = Problem({"x": Float(0, 1)}, {"value": "maximize"})
STUDY = {
    "id": 1,
    "name": "small",
    "space": json.dumps(write_space(PROBLEM.space)),
    "problem": json.dumps(write_problem(PROBLEM)),
    "seed": "7",
    "recipe": json.dumps(write_recipe(Recipe.random())),
    "knowledge": "[]",
    "created_at": "2024-01-01T00:00:00+00:00",
    "revision": 5,
}
MIGRATION = (
    "ALTER TABLE bopp_trials ADD COLUMN color TEXT",
    "UPDATE bopp_trials SET color = 'red'",
    "CREATE TABLE bopp_colors (name TEXT)",
)


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)


def trial(number: int, state: str, value: float | None) -> dict[str, Any]:
    return {
        "study": 1,
        "number": number,
        "params": json.dumps({"x": number / 10}),
        "state": state,
        "value": value,
        "origin": "suggested",
        "ticket": f"t{number}",
        "revision": number + 1,
    }


def small_store(url: str) -> None:
    """A store with a study, three trials and a queue."""
    with engine_of(url).begin() as connection:
        schema.migrate(connection)
        connection.execute(schema.studies.insert().values(STUDY))
        for row in (trial(0, "done", 1.5), trial(1, "failed", None), trial(2, "asked", None)):
            connection.execute(schema.trials.insert().values(row))
        waiting = {"ticket": "q", "study": 1, "place": 4, "params": '{"x": 0.75}', "popped": False}
        connection.execute(schema.queue.insert().values(waiting))


def execute(path: Path, statement: str, *values: Any) -> None:
    """Change a file past bopp."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


def mark(url: str, version: int) -> None:
    """Have a store say that it is of a version."""
    with engine_of(url).begin() as connection:
        connection.execute(schema.schema.update().values(version=version))


def migrations(monkeypatch: pytest.MonkeyPatch, *steps: tuple[str, ...]) -> None:
    """Have bopp know these migrations as well."""
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, *steps))
