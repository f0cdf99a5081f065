"""Looking never writes."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bopp import Float, Recipe, Study, open_study
from bopp.errors import BoppError, StoreError, StudyError
from bopp.parameter import Parameter
from bopp.study import schema, sqlite
from bopp.study.catalogue import names
from bopp.study.store import Store
from support.commands import Bopp
from support.forks import in_child
from support.postgres import Server
from support.stores import MIGRATION, mark, migrations, small_store

SPACE: dict[str, Parameter] = {"x": Float(0, 1)}
LOOKS = {name: [name] for name in ("status", "best", "trials", "export")} | {
    "plot": ["plot", "--kind", "slices"]  # one picture: all are drawn of the same trials
}
NOBODY = 65534

KILLED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")  # so that half of the change is in the file
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE bopp_trials SET value = 77, notes = hex(zeroblob(3000))")
connection.execute("UPDATE bopp_trials SET notes = hex(zeroblob(9000))")
os.kill(os.getpid(), signal.SIGKILL)
"""

WRITING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE bopp_trials SET value = 77")
print("writing", flush=True)
input()
"""


def state(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """All there is to know of the files in a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
        for path in files
    }


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    before, listed = state(folder), folder.stat().st_mtime_ns
    yield
    assert state(folder) == before
    assert folder.stat().st_mtime_ns == listed  # nor was there a file in between


@contextmanager
def closed(path: Path) -> Iterator[None]:
    """Nobody may write this file, nor into its folder; but root may."""
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        yield
    finally:
        path.parent.chmod(0o755)
        path.chmod(0o644)


def as_nobody(act: Callable[[], object]) -> int:
    """The exit code of a fork for which permissions hold."""

    def child() -> object:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        return act()

    return in_child(child)


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that every account may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def old(folder: Path) -> Path:
    """The file of a small store."""
    small_store(f"sqlite:///{folder}/a.db")
    return folder / "a.db"


@pytest.fixture
def made(folder: Path) -> Path:
    """The file of a store with many trials, long enough for several pages."""
    with open_study(f"sqlite:///{folder}/a.db", "a", SPACE, recipe=Recipe.random(), lease=None) as study:
        for number in range(40):
            study.note(study.tell(study.ask(), float(number)), "n" * 300)
        study.ask()
    (folder / "a.db.lock").unlink()
    return folder / "a.db"


def looked(path: Path, name: str = "small") -> Study:
    return open_study(f"sqlite:///{path}", name, read_only=True)


def values(study: Study) -> list[float | None]:
    with study:
        return [trial.values.get("value") for trial in study.trials]


# commands


@pytest.mark.parametrize("command", LOOKS)
def test_a_command_that_looks_leaves_a_store_as_it_is(
    bopp: Bopp, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ((f"sqlite:///{old}",), (f"sqlite:///{old}", "small")):
        with closed(old), unchanged(old.parent):
            ended = bopp(*LOOKS[command], *words)
        assert ended.code == 0
        assert all(line.startswith("Not drawn: ") for line in ended.err.splitlines())
        assert ended.out


def test_what_is_seen_in_a_small_store(bopp: Bopp, old: Path) -> None:
    trials = json.loads(bopp("trials", f"sqlite:///{old}", "--json").out)
    assert [(trial["state"], trial["value"]) for trial in trials] == [
        ("done", 1.5),
        ("failed", None),
        ("asked", None),
    ]
    facts = bopp("status", f"sqlite:///{old}").out
    assert "1.5 in trial 0" in facts
    assert "queued       1" in facts


@pytest.mark.parametrize("command", LOOKS)
def test_a_study_file_is_looked_at_the_same_way(
    bopp: Bopp, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    space = '[space]\nx = { type = "float", low = 0.0, high = 1.0 }\n'
    (old.parent / "study.toml").write_text(
        f'[study]\nname = "small"\nbudget = 5\nstore = "sqlite:///a.db"\n{space}'
    )
    with unchanged(old.parent):
        assert bopp(*LOOKS[command], old.parent / "study.toml").code == 0


def test_several_studies_are_looked_at(bopp: Bopp, made: Path) -> None:
    open_study(f"sqlite:///{made}", "b", SPACE).close()
    with unchanged(made.parent):
        assert bopp("status", f"sqlite:///{made}").out.count("\n") == 3
        assert names(f"sqlite:///{made}") == ["a", "b"]


# files


def test_whoever_may_only_read_can_look(old: Path) -> None:
    values(looked(old))  # imports what it needs while it may

    def act() -> bool:
        with pytest.raises(PermissionError):
            (old.parent / "new").touch()
        return names(f"sqlite:///{old}") == ["small"] and values(looked(old)) == [1.5, None, None]

    with closed(old), unchanged(old.parent):
        assert as_nobody(act) == 0


def test_a_write_under_way_is_not_waited_for(made: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITING, str(made)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        assert writer.stdout.readline() == "writing\n"
        began = time.monotonic()
        with unchanged(made.parent):
            assert values(looked(made, "a")) == [*map(float, range(40)), None]
        assert time.monotonic() - began < 5
        writer.stdin.close()
    assert values(looked(made, "a")) == [*map(float, range(40)), None]


def test_a_commit_under_way_is_waited_for(made: Path) -> None:
    other = sqlite3.connect(made, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    other.execute("UPDATE bopp_trials SET value = 1, seal = NULL WHERE number = 0")
    timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    timer.start()
    assert values(looked(made, "a"))[:2] == [1.0, 1.0]
    timer.join()
    other.close()


def struck(path: Path) -> bytes:
    """The content of a file before a writer was killed in the middle of a change."""
    before = path.read_bytes()
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)]).returncode < 0
    assert Path(f"{path}-journal").stat().st_size > 0
    assert path.read_bytes() != before
    return before


def test_half_a_change_of_a_killed_writer_is_not_seen(bopp: Bopp, made: Path) -> None:
    before = struck(made)
    ended = bopp("best", f"sqlite:///{made}", "--json")
    assert (json.loads(ended.out)["value"], ended.err) == (0.0, "")
    assert made.read_bytes() == before
    assert [path.name for path in made.parent.iterdir()] == ["a.db"]
    with unchanged(made.parent):
        assert values(looked(made, "a")) == [*map(float, range(40)), None]


def test_a_writer_that_is_killed_while_somebody_looks(made: Path) -> None:
    study = looked(made, "a")
    seen = study.trials
    before = struck(made)
    assert study.trials == seen
    assert made.read_bytes() == before


def test_a_writer_that_is_killed_between_opening_and_reading(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, journal = looked(made, "a"), sqlite._journal
    before: list[bytes] = []

    def then_killed(connection: sqlite3.Connection) -> str:
        found = journal(connection)
        if not before:
            before.append(struck(made))
        return found

    monkeypatch.setattr(sqlite, "_journal", then_killed)
    assert values(study) == [*map(float, range(40)), None]
    assert [made.read_bytes()] == before


def test_whoever_may_only_read_is_told_of_half_a_change(made: Path) -> None:
    values(looked(made, "a"))
    struck(made)

    def act() -> bool:
        with pytest.raises(StoreError, match="a killed process left a change half done; whoever may write"):
            looked(made, "a")
        return True

    began = time.monotonic()
    with closed(made), unchanged(made.parent):
        assert as_nobody(act) == 0
    assert time.monotonic() - began < 5
    assert values(looked(made, "a")) == [*map(float, range(40)), None]


def to_wal(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = wal").fetchone() == ("wal",)


def test_a_file_in_wal_mode_is_left_as_it_is(made: Path) -> None:
    to_wal(made)
    before = state(made.parent)
    assert values(looked(made, "a")) == [*map(float, range(40)), None]
    assert state(made.parent) == before


def test_a_file_in_wal_mode_that_another_has_open(made: Path) -> None:
    to_wal(made)
    with closing(sqlite3.connect(made, isolation_level=None)) as other:
        other.execute(
            "UPDATE bopp_trials SET notes = hex(zeroblob(9000)), value = 5, seal = NULL WHERE value >= 0"
        )
        before = made.read_bytes()
        assert values(looked(made, "a")) == [*[5.0] * 40, None]
        assert made.read_bytes() == before


def test_a_file_in_wal_mode_for_whoever_may_only_read(made: Path) -> None:
    to_wal(made)
    values(looked(made, "a"))
    with closed(made), unchanged(made.parent):
        assert as_nobody(lambda: values(looked(made, "a")) == [*map(float, range(40)), None]) == 0


# what cannot be looked at


def refusal(act: Callable[[], object]) -> tuple[type[BoppError], str]:
    with pytest.raises(BoppError) as error:
        act()
    return error.type, str(error.value)


CONTENTS = [b"", b"S", b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000, b"{}", b"\0" * 8192]


@pytest.mark.parametrize("content", CONTENTS)
def test_what_is_no_store_is_refused_as_ever(folder: Path, content: bytes) -> None:
    (folder / "a.db").write_bytes(content)
    with unchanged(folder):
        looking = refusal(lambda: looked(folder / "a.db"))
    assert looking == refusal(lambda: open_study(f"sqlite:///{folder}/a.db", "small"))


@pytest.mark.parametrize("name", ["none.db", "nowhere/none.db", "."])
def test_a_store_that_is_not_there_is_refused_as_ever(folder: Path, name: str) -> None:
    with unchanged(folder):
        looking = refusal(lambda: looked(folder / name))
        assert looking == refusal(lambda: open_study(f"sqlite:///{folder / name}", "small"))


def test_memory_has_nothing_to_look_at() -> None:
    assert refusal(lambda: open_study("sqlite://", "a", read_only=True))[0] is StudyError


def test_the_database_of_another_program_is_refused_as_ever(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "a.db")) as connection:
        connection.execute("CREATE TABLE bookmarks (name)")
    with unchanged(folder):
        assert refusal(lambda: looked(folder / "a.db")) == (
            StudyError,
            f"sqlite:///{folder}/a.db has no studies",
        )


@pytest.mark.fault(7)
def test_a_file_without_its_end_is_refused_as_ever(made: Path) -> None:
    with made.open("rb+") as file:
        file.truncate(3 * 4096)
    with unchanged(made.parent):
        looking = refusal(lambda: looked(made, "a"))
    assert looking[0] is StoreError
    assert looking == refusal(lambda: open_study(f"sqlite:///{made}", "a"))


@pytest.mark.fault(22)
def test_a_newer_store_is_refused(old: Path) -> None:
    mark(f"sqlite:///{old}", schema.newest() + 1)
    with unchanged(old.parent), pytest.raises(StudyError, match="use a newer bopp"):
        looked(old)


@pytest.mark.fault(22)
@pytest.mark.parametrize("command", LOOKS)
def test_a_command_that_looks_migrates_no_older_store(
    bopp: Bopp, old: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    migrations(monkeypatch, MIGRATION)
    with unchanged(old.parent):
        ended = bopp(*LOOKS[command], f"sqlite:///{old}")
    assert ended.code == 2
    assert "schema version 1, this bopp reads 2" in ended.err
    assert "migrated" in ended.err


def test_a_study_that_is_not_there_is_not_created(old: Path) -> None:
    url = f"sqlite:///{old}"
    with unchanged(old.parent):
        with pytest.raises(StudyError, match=r"has no study 'b'; it has: 'small'\Z"):
            open_study(url, "b", read_only=True)
        with pytest.raises(StudyError, match=r"it has: 'small'. Opened to look, none is created"):
            open_study(url, "b", SPACE, read_only=True)
        with pytest.raises(StudyError, match="has seed 7, got 8"):
            open_study(url, "small", SPACE, seed=8, read_only=True)
        open_study(url, "small", SPACE, "maximize", 7, read_only=True).close()


# changes


def changes(study: Study) -> dict[str, Callable[[], object]]:
    return {
        "ask": study.ask,
        "ask some": lambda: study.ask(2),
        "tell": lambda: study.tell(2, 1.0),
        "fail": lambda: study.fail(2, "why"),
        "observe": lambda: study.observe({"x": 0.5}, 1.0),
        "enqueue": lambda: study.enqueue({"x": 0.5}),
        "note": lambda: study.note(0, "n"),
        "release": lambda: study.release(2),
        "optimize": lambda: study.optimize(lambda params: params["x"], budget=9, progress=False),
        "optimize no more": lambda: study.optimize(lambda params: params["x"], budget=1, progress=False),
    }


def test_a_study_that_is_looked_at_refuses_changes(url: str) -> None:
    small_store(url)
    with open_study(url, "small", read_only=True) as study:
        seen = study.trials
        for change in changes(study).values():
            with pytest.raises(
                StudyError, match=r"was opened to look \(read_only=True\), so nothing in it can"
            ):
                change()
        assert study.trials == seen
        assert study.queued == [{"x": 0.75}]
        assert study.best.value == 1.5
        assert study.others_at_work is False
    with open_study(url, "small") as study:
        assert study.trials == seen


def test_nothing_is_left_beside_a_file_that_refused_changes(old: Path) -> None:
    with unchanged(old.parent), looked(old) as study:
        for change in changes(study).values():
            with pytest.raises(StudyError):
                change()


def test_changes_of_others_are_seen(url: str) -> None:
    with (
        open_study(url, "a", SPACE, recipe=Recipe.random()) as study,
        open_study(url, "a", read_only=True) as other,
    ):
        assert other.trials == ()
        study.tell(study.ask(), 1.0)
        assert other.trials == study.trials
        study.enqueue({"x": 0.25})
        assert other.queued == study.queued == [{"x": 0.25}]


# servers


def role(server: Server, url: str, name: str) -> str:
    """The address of a database for one who may only read."""
    server.execute(f"CREATE ROLE {name} LOGIN")
    server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}", url)
    return url.replace("postgres@", f"{name}@")


@pytest.fixture
def reader(postgres_server: Server, postgres_url: str) -> Iterator[Callable[[], str]]:
    """Makes an account that may only read the tables that are there."""
    name = f"reader_{os.getpid()}_{time.monotonic_ns()}"
    yield lambda: role(postgres_server, postgres_url, name)
    postgres_server.kill_connections(postgres_url)
    postgres_server.execute(f"DROP OWNED BY {name}", postgres_url)
    postgres_server.execute(f"DROP ROLE {name}")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_whoever_may_only_select_can_look(
    bopp: Bopp,
    postgres_server: Server,
    postgres_url: str,
    reader: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    small_store(postgres_url)
    url = reader()
    for command in LOOKS.values():
        ended = bopp(*command, url)
        assert ended.code == 0
        assert all(line.startswith("Not drawn: ") for line in ended.err.splitlines())
    with open_study(url, "small", read_only=True) as study:
        assert [trial.values.get("value") for trial in study.trials] == [1.5, None, None]
    assert postgres_server.execute("SELECT count(*) FROM bopp_trials", postgres_url) == [(3,)]


def test_a_server_is_told_that_nothing_will_be_written(postgres_url: str) -> None:
    def setting(connection: sa.Connection) -> Any:
        return connection.exec_driver_sql("SHOW transaction_read_only").scalar()

    with Store(postgres_url) as store:
        assert store.read(setting) == "off"
    with Store(postgres_url, "look") as store:
        assert [store.read(setting) for _ in range(3)] == ["on"] * 3
        with pytest.raises(StoreError, match="read-only transaction"):
            store.read(lambda connection: connection.execute(schema.schema.update().values(version=1)))


def test_an_empty_database_is_refused_and_stays_empty(postgres_server: Server, postgres_url: str) -> None:
    with pytest.raises(StudyError, match="has no studies"):
        open_study(postgres_url, "a", SPACE, read_only=True)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert postgres_server.execute(tables, postgres_url) == [(0,)]
