"""Versions: stores as an older bopp made them."""

import json
from typing import Any

import sqlalchemy as sa

from bopp import Recipe
from bopp.plain import write_recipe
from bopp.study import schema

STUDY = {
    "id": 1,
    "name": "old",
    "space": json.dumps({"x": {"kind": "Float", "low": 0.0, "high": 1.0, "log": False}}),
    "direction": '"maximize"',
    "seed": "7",
    "recipe": json.dumps(write_recipe(Recipe.random())),
    "created_at": "2024-01-01T00:00:00+00:00",
    "revision": 5,
}


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


def store_of_version(number: int, url: str) -> None:
    """A store as an older version made it, with a study, three trials and a queue."""
    with engine_of(url).begin() as connection:
        for statement in (statement for step in schema.STEPS[:number] for statement in step):
            connection.exec_driver_sql(statement)
        connection.execute(schema.schema.update().values(version=number))
        connection.execute(schema.studies.insert().values(STUDY))
        for row in (trial(0, "done", 1.5), trial(1, "failed", None), trial(2, "asked", None)):
            connection.execute(schema.trials.insert().values(row))
        waiting = {"ticket": "q", "study": 1, "place": 4, "params": '{"x": 0.75}', "popped": False}
        connection.execute(schema.queue.insert().values(waiting))
