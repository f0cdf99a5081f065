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

from bopp import Float, Recipe, Study, Trial, open_study
from bopp.errors import BoppError, StoreError, StudyError
from bopp.parameter import Parameter
from bopp.study import schema, sqlite
from bopp.study.catalogue import names
from bopp.study.store import Store
from support.commands import Bopp
from support.forks import in_child
from support.postgres import Server
from support.stores import MIGRATION, mark, migrations, small_store
from support.studies import assert_refused, files

SPACE: dict[str, Parameter] = {"x": Float(0, 1)}
ALL = [*map(float, range(40)), None]  # the values of the store with many trials
LOOKS = [*([name] for name in ("status", "best", "trials", "export")), ["plot", "--kind", "slices"]]
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


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store with many trials, long enough for several pages."""
    path = tmp_path_factory.mktemp("made") / "a.db"
    with open_study(f"sqlite:///{path}", "a", SPACE, recipe=Recipe.random(), lease=None) as study:
        for number in range(40):
            study.note(study.tell(study.ask(), float(number)), "n" * 300)
        study.ask()
    return path.read_bytes()


@pytest.fixture
def made(folder: Path, content: bytes) -> Path:
    """The file of a store with many trials."""
    (folder / "a.db").write_bytes(content)
    return folder / "a.db"


def looked(path: Path, name: str = "small") -> Study:
    return open_study(f"sqlite:///{path}", name, read_only=True)


def values(study: Study) -> list[float | None]:
    with study:
        return [trial.values.get("value") for trial in study.trials]


# commands


@pytest.mark.parametrize("command", LOOKS, ids=" ".join)
def test_a_command_that_looks_leaves_a_store_as_it_is(
    bopp: Bopp, old: Path, here: Path, command: list[str]
) -> None:
    space = '[space]\nx = { type = "float", low = 0.0, high = 1.0 }\n'
    (old.parent / "study.toml").write_text(
        f'[study]\nname = "small"\nbudget = 5\nstore = "sqlite:///a.db"\n{space}'
    )
    for words in ([f"sqlite:///{old}"], [f"sqlite:///{old}", "small"], [old.parent / "study.toml"]):
        with closed(old), unchanged(old.parent):
            ended = bopp(*command, *words)
        assert ended.code == 0
        assert all(line.startswith("Not drawn: ") for line in ended.err.splitlines())
        assert ended.out


def test_what_is_seen_in_a_small_store(bopp: Bopp, old: Path) -> None:
    trials = json.loads(bopp("trials", f"sqlite:///{old}", "--json").out)
    seen = [(trial["state"], trial["value"]) for trial in trials]
    assert seen == [("done", 1.5), ("failed", None), ("asked", None)]
    facts = bopp("status", f"sqlite:///{old}").out
    assert "1.5 in trial 0" in facts
    assert "queued       1" in facts


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
    with closing(sqlite3.connect(made, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE bopp_trials SET value = 77")
        began = time.monotonic()
        with unchanged(made.parent):
            assert values(looked(made, "a")) == ALL
        assert time.monotonic() - began < 5
    assert values(looked(made, "a")) == ALL


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
    assert files(made.parent) == {"a.db": before}
    with unchanged(made.parent):
        assert values(looked(made, "a")) == ALL


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
    assert values(study) == ALL
    assert [made.read_bytes()] == before


def test_whoever_may_only_read_is_told_of_half_a_change(made: Path) -> None:
    values(looked(made, "a"))
    struck(made)

    def act() -> bool:
        with pytest.raises(StoreError, match="half done"):
            looked(made, "a")
        return True

    began = time.monotonic()
    with closed(made), unchanged(made.parent):
        assert as_nobody(act) == 0
    assert time.monotonic() - began < 5
    assert values(looked(made, "a")) == ALL


def to_wal(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = wal").fetchone() == ("wal",)


def test_a_file_in_wal_mode_is_left_as_it_is(made: Path) -> None:
    to_wal(made)
    before = state(made.parent)
    assert values(looked(made, "a")) == ALL
    assert state(made.parent) == before
    with closed(made), unchanged(made.parent):
        assert as_nobody(lambda: values(looked(made, "a")) == ALL) == 0
    with closing(sqlite3.connect(made, isolation_level=None)) as other:
        change = "UPDATE bopp_trials SET notes = hex(zeroblob(9000)), value = 5, seal = NULL WHERE value >= 0"
        other.execute(change)
        after = made.read_bytes()
        assert values(looked(made, "a")) == [*[5.0] * 40, None]
        assert made.read_bytes() == after


# what cannot be looked at


def refusal(act: Callable[[], object]) -> tuple[type[BoppError], str]:
    with pytest.raises(BoppError) as error:
        act()
    return error.type, str(error.value)


CONTENTS = [b"", b"S", b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000, b"{}", b"\0" * 8192]


@pytest.mark.parametrize("wrong", [*CONTENTS, None], ids=lambda wrong: repr(wrong)[:20])
def test_what_is_no_store_is_refused_as_ever(folder: Path, wrong: bytes | None) -> None:
    if wrong is None:  # the database of another program
        with closing(sqlite3.connect(folder / "a.db")) as connection:
            connection.execute("CREATE TABLE bookmarks (name)")
    else:
        (folder / "a.db").write_bytes(wrong)
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


@pytest.mark.fault(7)
def test_a_file_without_its_end_is_refused_as_ever(made: Path) -> None:
    with made.open("rb+") as file:
        file.truncate(3 * 4096)
    with unchanged(made.parent):
        looking = refusal(lambda: looked(made, "a"))
    assert looking[0] is StoreError
    assert looking == refusal(lambda: open_study(f"sqlite:///{made}", "a"))


@pytest.mark.fault(22)
def test_what_a_store_does_not_have_or_allow_is_refused_and_leaves_nothing(
    bopp: Bopp, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{old}"
    with unchanged(old.parent):
        with pytest.raises(StudyError, match="no study 'b'"):
            open_study(url, "b", read_only=True)
        with pytest.raises(StudyError, match="none is created"):
            open_study(url, "b", SPACE, read_only=True)
        with pytest.raises(StudyError, match="seed 7, got 8"):
            open_study(url, "small", SPACE, seed=8, read_only=True)
        with open_study(url, "small", SPACE, "maximize", 7, read_only=True) as study:
            for change in changes(study):
                with pytest.raises(StudyError):
                    change()
        with monkeypatch.context() as patch:
            migrations(patch, MIGRATION)
            for command in LOOKS:  # looking migrates no older store
                assert_refused(bopp(*command, url), 2, "schema version 1", "reads 2", "migrated")
    mark(url, schema.newest() + 1)
    with unchanged(old.parent), pytest.raises(StudyError, match="newer bopp"):
        looked(old)


# changes


def changes(study: Study) -> list[Callable[[], object]]:
    return [
        study.ask,
        lambda: study.ask(2),
        lambda: study.tell(2, 1.0),
        lambda: study.fail(2, "why"),
        lambda: study.observe({"x": 0.5}, 1.0),
        lambda: study.observe_all([Trial(0, {"x": 0.5}, "done", {"value": 1.0})]),
        lambda: study.enqueue({"x": 0.5}),
        lambda: study.note(0, "n"),
        lambda: study.release(2),
        study.pause,
        study.resume,
        lambda: study.optimize(lambda params: params["x"], budget=9, progress=False),
        lambda: study.optimize(lambda params: params["x"], budget=1, progress=False),
    ]


def test_a_study_that_is_looked_at_refuses_changes(url: str) -> None:
    small_store(url)
    with open_study(url, "small", read_only=True) as study:
        seen = study.trials
        for change in changes(study):
            with pytest.raises(StudyError, match="read_only=True"):
                change()
        assert (study.trials, study.queued) == (seen, [{"x": 0.75}])
        assert (study.best.value, study.others_at_work) == (1.5, False)
    with open_study(url, "small") as study:
        assert study.trials == seen


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


@pytest.fixture
def reader(postgres_server: Server, postgres_url: str) -> Iterator[Callable[[], str]]:
    """Makes an account that may only read the tables that are there, and gives its address."""
    name = f"reader_{os.getpid()}_{time.monotonic_ns()}"

    def create() -> str:
        postgres_server.execute(f"CREATE ROLE {name} LOGIN")
        postgres_server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}", postgres_url)
        return postgres_url.replace("postgres@", f"{name}@")

    yield create
    postgres_server.kill_connections(postgres_url)
    postgres_server.execute(f"DROP OWNED BY {name}", postgres_url)
    postgres_server.execute(f"DROP ROLE {name}")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("here")
def test_whoever_may_only_select_can_look(
    bopp: Bopp, postgres_server: Server, postgres_url: str, reader: Callable[[], str]
) -> None:
    small_store(postgres_url)
    url = reader()
    for command in LOOKS:
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
