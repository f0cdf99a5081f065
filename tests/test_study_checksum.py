"""A bit that flips in a store is noticed and named, or changes nothing; the other studies stay readable."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from bopp import AtMost, Choice, Float, Int, Problem, Recipe, open_study, pseudo
from bopp.errors import BoppError, StoreError
from bopp.study import schema
from bopp.study.catalogue import find, overview
from bopp.study.checksum import COVERED, with_checksum
from bopp.study.definition import Definition
from bopp.study.ledger import Ledger
from bopp.study.pauses import Pauses
from bopp.study.store import Store
from support.commands import Bopp
from support.faults import Figure

PROBLEM = Problem(
    {"rate": Float(1e-5, 1, log=True), "kind": Choice(["a", (1, 2), None]), "n": Int(1, 9)},
    {"error": "minimize"},
    [AtMost("memory", 6.0)],
)
RANDOM = Recipe.random()
Seen = dict[str, tuple[Any, ...]]


def fill(url: str) -> None:
    """Three studies, with everything that a row can hold."""
    with open_study(url, "named", PROBLEM, seed=7, recipe=RANDOM) as study:
        for number in range(12):
            trial = study.ask()
            study.tell(trial, {"error": number / 7, "memory": 3.0, "host": "müller"}, noise={"error": 0.1})
        study.fail(study.ask(), "broke", "Traceback:\n" + 20 * '  File "train.py", line 3\n')
        study.fail(study.ask(), "broke")
        study.retry(13, reason="mended")
        study.amend(2, {"error": 0.25, "memory": 4.0}, "read off the wrong scale")
        study.drop(3, "the wrong sample")
        study.note(4, "a note\nof two lines")
        study.enqueue({"n": 3})
        study.enqueue({"n": 4})
        study.ask()
    with open_study(url, "plain", {"x": Float(0, 1)}, "maximize", recipe=RANDOM) as study:
        for number in range(40):
            study.tell(study.ask(), float(number))
        study.enqueue({"x": 0.5})
        study.switch_recipe(Recipe.default())
    knowledge = pseudo.Limits(at_least=0)
    with open_study(url, "queued", {"x": Float(0, 1)}, recipe=RANDOM, knowledge=knowledge) as study:
        study.enqueue({"x": 0.25})
        study.pause("the oven is being cleaned")


def everything(url: str) -> Seen:
    """All that can be read of each study."""

    def look(connection: sa.Connection) -> Seen:
        seen: Seen = {}
        for name in connection.execute(sa.select(schema.studies.c.name)).scalars():
            row = find(connection, name)
            assert row is not None
            study = Definition.read(row)
            ledger = Ledger(study.id, study.problem, study.name)
            pause = Pauses(ledger, study.id).found(connection)
            seen[name] = (study, ledger.trials(connection), ledger.queued(connection), pause)
        return seen

    with Store(url, "look") as store:
        return store.read(look)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Seen]:
    path = tmp_path_factory.mktemp("whole") / "a.db"
    fill(f"sqlite:///{path}")
    return path.read_bytes(), everything(f"sqlite:///{path}")


def flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :]


def silent(whole: tuple[bytes, Seen], path: Path, flips: list[tuple[int, int]]) -> tuple[int, list[Any]]:
    """How many flips were noticed, and which of the others changed what is read."""
    (content, seen), noticed, wrong = whole, 0, []
    for place, bit in flips:
        path.write_bytes(flipped(content, place, bit))
        try:
            if everything(f"sqlite:///{path}") != seen:
                wrong.append((place, bit))
        except BoppError as error:
            assert str(error)  # noqa: PT017
            noticed += 1
    return noticed, wrong


@pytest.mark.endurance
@pytest.mark.fault(42)
def test_a_bit_that_flips_in_the_file_is_noticed_or_changes_nothing(
    tmp_path: Path, whole: tuple[bytes, Seen], figure: Figure
) -> None:
    rng = random.Random(5)
    flips = [(rng.randrange(len(whole[0])), rng.randrange(8)) for _ in range(150)]
    noticed, wrong = silent(whole, tmp_path / "b.db", flips)
    assert wrong == []
    assert noticed > 30
    figure(f"150 flips: {noticed} noticed, 0 values changed silently")


@pytest.mark.fault(42)
@pytest.mark.slow
def test_every_byte_of_the_file_may_flip(tmp_path: Path, whole: tuple[bytes, Seen], figure: Figure) -> None:
    content = whole[0]
    used = [place for place in range(len(content)) if content[place : place + 8] != b"\0" * 8]
    rng = random.Random(0)
    noticed, wrong = silent(whole, tmp_path / "b.db", [(place, rng.randrange(8)) for place in used])
    assert wrong == []
    figure(f"{len(used)} flips, one in every byte: {noticed} noticed, 0 values changed silently")


def cells(path: Path) -> list[tuple[str, int, str, Any]]:
    """Every cell that a checksum protects."""
    found = []
    with closing(sqlite3.connect(path)) as database:
        for table, names in COVERED.items():
            for row, *values in database.execute(f"SELECT rowid, {', '.join(names)} FROM {table.name}"):
                found += [(table.name, row, name, value) for name, value in zip(names, values, strict=True)]
    return found


def changed(value: Any) -> Any:
    """The value after a bit has flipped: the last digit, or the last letter."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value ^ 1
    if isinstance(value, float):
        return float.fromhex(value.hex()) * (1 + 2**-52) if value else 5e-324
    return value[:-1] + chr(ord(value[-1]) ^ 1)


def test_a_change_of_any_cell_is_noticed(tmp_path: Path, whole: tuple[bytes, Seen]) -> None:
    """Past the database, as if the pages had been flipped and their structure were still sound."""
    path = tmp_path / "b.db"
    path.write_bytes(whole[0])
    rng, tried = random.Random(1), set[Any]()
    for table, row, name, value in sorted(cells(path), key=lambda _: rng.random()):
        if (table, name, value is None) in tried:
            continue
        path.write_bytes(whole[0])
        with (
            closing(sqlite3.connect(path)) as database,
            suppress(sqlite3.IntegrityError),
        ):  # taken: try another
            database.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", [changed(value), row])
            database.commit()
            tried.add((table, name, value is None))
        if (table, name, value is None) not in tried:
            continue
        with pytest.raises(BoppError):
            everything(f"sqlite:///{path}")
    assert len(tried) > 30


def test_what_is_damaged_is_named_and_the_rest_can_be_seen(
    tmp_path: Path, whole: tuple[bytes, Seen], bopp: Bopp
) -> None:
    path = tmp_path / "b.db"
    path.write_bytes(whole[0])
    url = f"sqlite:///{path}"
    with closing(sqlite3.connect(path)) as database:
        [(number,)] = database.execute("SELECT id FROM bopp_studies WHERE name = 'plain'")
        change = f"UPDATE bopp_trials SET value = 7.5 WHERE study = {number} AND number = 5"
        database.execute(change)
        database.commit()
    with open_study(url, "plain", lease=None) as study:
        for use in (lambda: study.trials, lambda: study.ask(), lambda: study.observe({"x": 0.5}, 1.0)):
            with pytest.raises(StoreError, match=r"trial 5 of 'plain'.*damaged") as why:
                use()
    assert f"study = {number} and number = 5" in str(why.value)
    with open_study(url, "named", read_only=True) as study:
        assert study.trials == whole[1]["named"][1]
    ended = bopp("status", url)
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == ["study", "named", "plain", "queued"]
    assert "'plain' cannot be read: trial 5 of 'plain' is not as bopp wrote it" in ended.err
    with closing(sqlite3.connect(path)) as database:  # as the message says
        database.execute(f"UPDATE bopp_trials SET seal = NULL WHERE study = {number} AND number = 5")
        database.commit()
    with open_study(url, "plain", read_only=True) as study:
        assert study.trials[5].value == 7.5


def test_a_server_is_watched_as_well(postgres_url: str) -> None:
    fill(postgres_url)
    seen = everything(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for change, name in (
            (b"UPDATE bopp_trials SET value = 7.5 WHERE number = 5", "plain"),
            (b"UPDATE bopp_trials SET told_at = asked_at WHERE number = 1", "named"),
            (b"UPDATE bopp_queue SET popped = NOT popped", "queued"),
            (b"UPDATE bopp_studies SET seed = '8'", "named"),
        ):
            connection.execute(change)
            with (
                pytest.raises(StoreError, match="damaged"),
                open_study(postgres_url, name, read_only=True) as study,
            ):
                _ = study.trials, study.queued
    left = overview(postgres_url, lambda result: len(result.trials))
    assert isinstance(left, list)
    assert {name: isinstance(found, StoreError) for name, found in left} == dict.fromkeys(seen, True)


def test_the_same_row_has_the_same_checksum_in_every_database(tmp_path: Path, postgres_url: str) -> None:
    """Copied cell by cell from a file to a server, all rows are as bopp wrote them."""
    path = tmp_path / "a.db"
    fill(f"sqlite:///{path}")
    open_study(postgres_url, "x", {"x": Float(0, 1)}).close()
    with closing(sqlite3.connect(path)) as file, psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(b"DELETE FROM bopp_studies")
        for table in (schema.studies, schema.trials, schema.queue):
            columns = [column.name for column in table.c]
            places = ", ".join(["%s"] * len(columns))
            insert = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places})"
            for row in file.execute(f"SELECT {', '.join(columns)} FROM {table.name}"):
                row = [
                    bool(cell) if name == "popped" else cell for name, cell in zip(columns, row, strict=True)
                ]
                server.execute(insert.encode(), row)
    assert everything(postgres_url) == everything(f"sqlite:///{path}")


TRIAL = {"study": 7, "number": 3, "revision": 12, "params": '{"x": 0.1}', "state": "done", "value": 0.1}
TRIAL |= {"origin": "suggested", "asked_at": "2026-01-01T00:00:00+00:00", "worker": "ü"}
LATER = {"told_at": "t", "error": "e", "notes": "n", "more": "m", "traceback": "b", "superseded": "s"}
STUDY = {"id": 7, "name": "s", "seed": "0", "knowledge": "[]"}
QUEUED = {"ticket": "t", "study": 7, "place": 5, "params": '{"x": 0.1}', "popped": False}


@pytest.mark.parametrize(
    ("table", "row", "checksum"),
    [
        (schema.trials, TRIAL, "56a79ef4"),
        (schema.trials, TRIAL | LATER, "9297ba50"),
        (schema.studies, STUDY, "b4aa3c62"),
        (schema.studies, STUDY | {"paused": "{}"}, "67ad365e"),
        (schema.queue, QUEUED, "8e919d2b"),
        (schema.queue, QUEUED | {"popped": True}, "abbc3caa"),
    ],
)
def test_checksums_are_for_ever(table: sa.TableClause, row: dict[str, Any], checksum: str) -> None:
    """Those of rows that were written once must stay valid."""
    assert with_checksum(table, row)["seal"] == checksum


def test_every_change_has_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    url = f"sqlite:///{path}"
    fill(url)
    with open_study(url, "named", PROBLEM, lease=60.0) as study, open_study(url, "named") as other:
        study.release(study.ask())
        other.release(other.ask())  # taken over
        other.tell(other.ask(), {"error": 1.0, "memory": 1.0})
        other.observe({"rate": 0.1, "kind": "a", "n": 2}, {"error": 1.0, "memory": 1.0})
    wider = PROBLEM.in_space({**PROBLEM.space.parameters, "n": Int(1, 12), "new": Float(0, 1)})
    open_study(url, "named", wider, migrate={"new": 0.5}).close()
    with closing(sqlite3.connect(path)) as database:
        for table in COVERED:
            assert database.execute(f"SELECT count(*) FROM {table.name} WHERE seal IS NULL").fetchone() == (
                0,
            )
    everything(url)
