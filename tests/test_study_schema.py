from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bopp import Float, Recipe, open_study
from bopp.errors import BoppError, StoreError, StudyError
from bopp.parameter import Parameter
from bopp.study import schema
from bopp.study.store import Store
from support.faults import Figure
from support.stores import MIGRATION, engine_of, mark, migrations, small_store

pytestmark = [pytest.mark.contract, pytest.mark.usefixtures("closed_stores")]
SPACE: dict[str, Parameter] = {"x": Float(0, 1)}


def version(url: str) -> list[int]:
    with engine_of(url).begin() as connection:
        return list(connection.execute(sa.select(schema.schema.c.version)).scalars())


@pytest.mark.parametrize("versions", [[], [2, 2], [1, 2], [0], [-1], [None], ["two"], [1.5], [b"2"]])
def test_versions_that_are_none_are_refused(tmp_path: Path, versions: list[Any]) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE bopp_schema (version INTEGER)")
    connection.executemany("INSERT INTO bopp_schema VALUES (?)", [[one] for one in versions])
    connection.commit()
    connection.close()
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(StudyError, match="damaged"):
        open_study(f"sqlite:///{tmp_path}/a.db", "a", SPACE)
    assert (tmp_path / "a.db").read_bytes() == before


@pytest.mark.parametrize("table", ["bopp_studies", "bopp_trials", "bopp_queue"])
def test_a_store_without_one_of_its_tables_is_refused(url: str, table: str) -> None:
    open_study(url, "a", SPACE).close()
    with engine_of(url).begin() as connection:
        connection.exec_driver_sql(f"DROP TABLE {table} {'CASCADE' if url.startswith('postgres') else ''}")
    store = Store(url)
    store.close()

    def use() -> None:
        with open_study(url, "a", SPACE, recipe=None) as study:
            study.enqueue({"x": 0.5})
            study.ask()

    with pytest.raises(BoppError, match=r"no such table|does not exist"):
        use()


def test_tables_of_others_are_left_alone(url: str) -> None:
    with engine_of(url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE trials (x INTEGER)")
        connection.exec_driver_sql("INSERT INTO trials VALUES (5)")
    with open_study(url, "a", SPACE, recipe=Recipe.random()) as study:
        study.tell(study.ask(), 1.0)
    with engine_of(url).begin() as connection:
        assert connection.exec_driver_sql("SELECT x FROM trials").scalar() == 5


# versions


def test_a_new_store_has_the_newest_version_and_the_tables_that_are_used(url: str) -> None:
    Store(url).close()
    assert version(url) == [schema.newest()] == [1 + len(schema.MIGRATIONS)]
    found = sa.inspect(engine_of(url))
    for table in (schema.schema, schema.studies, schema.trials, schema.queue):
        assert {column["name"] for column in found.get_columns(table.name)} == {c.name for c in table.columns}
    assert "bopp_trials_revision" in [index["name"] for index in found.get_indexes("bopp_trials")]


@pytest.mark.fault(22)
@pytest.mark.parametrize("steps", [1, 2])
def test_an_older_store_is_migrated_and_keeps_its_data(
    url: str, steps: int, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    small_store(url)
    migrations(monkeypatch, *(MIGRATION, ("UPDATE bopp_trials SET color = color || 'dish'",))[:steps])
    with pytest.raises(StudyError, match=f"version 1, this bopp reads {1 + steps}"):
        open_study(url, "small", read_only=True)
    assert version(url) == [1]
    for _ in range(2):  # a second time there is nothing to do
        with open_study(url, "small") as study:
            assert version(url) == [1 + steps]
            assert (study.direction, study.seed) == ("maximize", 7)
            assert [(t.state, t.values.get("value"), t.params["x"]) for t in study.trials] == [
                ("done", 1.5, 0.0),
                ("failed", None, 0.1),
                ("asked", None, 0.2),
            ]
            assert study.queued == [{"x": 0.75}]
    with open_study(url, "small", read_only=True) as study:
        assert study.best.value == 1.5
    with engine_of(url).begin() as connection:
        colors = connection.exec_driver_sql("SELECT color FROM bopp_trials").scalars().all()
    assert colors == ["red" if steps == 1 else "reddish"] * 3
    with open_study(url, "small") as study:
        assert study.ask().params == {"x": 0.75}
        assert study.tell(2, 3.0).value == 3.0
        assert study.best.number == 2
    figure("a store of version 1 taken to versions 2 and 3")


def test_a_new_store_takes_every_migration(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations(monkeypatch, MIGRATION)
    with open_study(url, "a", SPACE, recipe=Recipe.random()) as study:
        study.tell(study.ask(), 1.0)
    assert version(url) == [2]
    assert sa.inspect(engine_of(url)).has_table("bopp_colors")


@pytest.mark.fault(22)
def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    small_store(url)
    mark(url, schema.newest() + 1)
    before = (tmp_path / "a.db").read_bytes()
    for space in (SPACE, None):
        with pytest.raises(StudyError, match=f"version {schema.newest() + 1}.*newer bopp"):
            open_study(url, "small", space)
    assert (tmp_path / "a.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


@pytest.mark.fault(22)
@pytest.mark.parametrize("from_version", [0, 1])
def test_a_migration_that_fails_leaves_the_store_as_it_was(
    url: str, monkeypatch: pytest.MonkeyPatch, from_version: int
) -> None:
    if from_version:
        small_store(url)
    half = ("CREATE TABLE bopp_half (x INTEGER)", "UPDATE bopp_schema SET version = 77", "NONSENSE")
    with monkeypatch.context() as patch:
        migrations(patch, MIGRATION, half)
        with pytest.raises(StoreError):
            open_study(url, "small", SPACE)
    if from_version or url.startswith("postgresql"):
        found = sa.inspect(engine_of(url))
        assert not found.has_table("bopp_half")
        assert not found.has_table("bopp_colors")
        assert found.has_table("bopp_trials") == bool(from_version)
    else:
        assert list(Path(url.removeprefix("sqlite:///")).parent.iterdir()) == []
    if from_version:
        assert version(url) == [1]
    with open_study(url, "small", SPACE) as study:
        assert version(url) == [1]
        assert len(study.trials) == 3 * from_version
