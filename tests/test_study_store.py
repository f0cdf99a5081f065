from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bopp import Choice, Float, Int, Problem, Recipe, Study, Trial, delete_study, open_study
from bopp.errors import BoppError, StoreError, StudyError
from bopp.parameter import Parameter
from bopp.study import faults, schema, sqlite
from support.faults import Figure
from support.forks import in_child
from support.stores import execute
from support.studies import repeat_writes

pytestmark = pytest.mark.contract
SPACE: dict[str, Parameter] = {"x": Float(0, 1), "n": Int(1, 5), "c": Choice(["a", (1, 2)])}
PARAMS = {"x": 0.5, "n": 2, "c": (1, 2)}
RANDOM = Recipe.random()


def opened(path: Path, **definition: Any) -> Study:
    return open_study(
        f"sqlite:///{path}", "a", **{"space": SPACE, "recipe": RANDOM, "lease": None, **definition}
    )


def filled(path: Path, told: int = 3) -> tuple[Trial, ...]:
    """The trials of a new study: some told, one failed, one under way; and params that wait."""
    with opened(path) as study:
        for number in range(told):
            study.tell(study.ask(), float(number))
        study.fail(study.ask(), "why")
        study.ask()
        study.enqueue(PARAMS)
        return study.trials


def sound(path: Path) -> bool:
    connection = sqlite3.connect(path)
    answer = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    return bool(answer == "ok")


# files that are cut off, foreign or gone


@pytest.mark.fault(7)
def test_a_file_that_is_cut_off_anywhere_never_has_fewer_trials(tmp_path: Path, figure: Figure) -> None:
    trials = filled(tmp_path / "whole.db", told=40)
    whole = (tmp_path / "whole.db").read_bytes()
    page = 4096
    assert len(whole) > 6 * page
    ends = [end + step for end in range(0, len(whole), page) for step in (-1, 0, 1, 100, 513, 2048)]
    lengths = sorted(
        {*range(2, 120, 7), *ends, *range(len(whole) - 40, len(whole), 5)} & set(range(2, len(whole)))
    )
    assert len(lengths) > 60
    for length in lengths:
        path = tmp_path / "cut.db"
        path.write_bytes(whole[:length])
        for definition in ({}, {"space": None, "recipe": None}):
            try:
                with opened(path, **definition) as study:
                    assert study.trials == trials, length
            except (StoreError, StudyError) as error:
                assert len(str(error)) > 20  # noqa: PT017
        assert path.read_bytes() == whole[:length]
    figure(f"cut at {len(lengths)} places: 0 trials missed")


@pytest.mark.fault(33)
@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("begin", ["BEGIN", "SELECT 1"])
def test_a_file_in_wal_mode_is_opened_while_another_reads_it(tmp_path: Path, where: str, begin: str) -> None:
    path = tmp_path / "a.db"
    trials = filled(path)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    with ExitStack() as stack:
        if where == "here":
            reader = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            reader.execute(begin)
            reader.execute("SELECT count(*) FROM bopp_trials").fetchall()
        else:
            words = [sys.executable, "-c", READER, str(path), begin]
            other = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE))
            stack.callback(other.kill)
            assert other.stdout
            other.stdout.readline()
        for _ in range(3):  # the reader keeps new pages out of the file
            with opened(path) as study:
                trials = (*trials, *(study.tell(trial, 1.0) for trial in study.ask(20)))
            with open_study(f"sqlite:///{path}", "a", read_only=True) as seen:
                assert seen.trials == trials
    assert opened(path).trials == trials


READER = """
import sqlite3, sys, time
reader = sqlite3.connect(sys.argv[1], isolation_level=None)
reader.execute(sys.argv[2])
reader.execute("SELECT count(*) FROM bopp_trials").fetchall()
print("reads", flush=True)
time.sleep(600)
"""


@pytest.mark.fault(34)
@pytest.mark.parametrize("left", [0, 1])
def test_a_file_that_is_cut_to_nothing_is_refused_and_left_alone(tmp_path: Path, left: int) -> None:
    """To SQLite, one byte is an empty database too."""
    filled(tmp_path / "a.db")
    (tmp_path / "a.db").write_bytes(b"S"[:left])
    for space in (SPACE, None):
        with pytest.raises(StoreError, match=f"{left} bytes"):
            opened(tmp_path / "a.db", space=space)
    with pytest.raises(StoreError, match="no study"):
        open_study(f"sqlite:///{tmp_path}/a.db", "a", read_only=True)
    assert (tmp_path / "a.db").read_bytes() == b"S"[:left]
    (tmp_path / "a.db").unlink()
    assert opened(tmp_path / "a.db").ask().number == 0


def test_a_new_file_is_there_at_once_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    migrate = schema.migrate

    def watched(connection: sa.Connection) -> None:
        seen.append([path.name for path in tmp_path.iterdir() if not path.name.startswith(".")])
        migrate(connection)

    monkeypatch.setattr(schema, "migrate", watched)
    (tmp_path / "a.db").symlink_to(tmp_path / "b.db")
    opened(tmp_path / "a.db").close()
    assert seen == [["a.db"]]
    assert (tmp_path / "a.db").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"a.db", "b.db"}


def test_a_new_file_where_no_links_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another may appear after the look at the path, just before the new file is put there."""
    (tmp_path / "theirs").mkdir()
    opened(tmp_path / "theirs" / "a.db").tell(opened(tmp_path / "theirs" / "a.db").ask(), 1.0)

    def refused(_: object, path: object) -> None:
        if Path(str(path)).name == "a.db":
            shutil.copyfile(tmp_path / "theirs" / "a.db", tmp_path / "a.db")
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refused)
    assert opened(tmp_path / "a.db").best.value == 1.0
    assert opened(tmp_path / "b.db").ask().number == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a.db", "b.db", "b.db.lock", "theirs"}


@pytest.mark.parametrize("end", ["-journal", "-wal"])
def test_what_another_file_left_is_not_taken_for_a_part_of_a_new_one(tmp_path: Path, end: str) -> None:
    (tmp_path / f"a.db{end}").write_bytes(b"old")
    with pytest.raises(StoreError, match="left of another"):
        opened(tmp_path / "a.db")
    assert [path.name for path in tmp_path.iterdir()] == [f"a.db{end}"]
    assert (tmp_path / f"a.db{end}").read_bytes() == b"old"


@pytest.mark.fault(7)
def test_a_file_that_is_cut_off_while_it_is_in_use(tmp_path: Path) -> None:
    filled(tmp_path / "a.db", told=40)
    study = opened(tmp_path / "a.db")
    with (tmp_path / "a.db").open("rb+") as file:
        file.truncate(3 * 4096)
    with pytest.raises(StoreError, match=r"malformed.*recover") as caught:
        _ = study.trials
    assert caught.value.url == study.url
    with pytest.raises(StoreError):
        study.ask()


@pytest.mark.parametrize(
    "content", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000, b"{}", b"\0" * 8192, b"\x80\x80"]
)
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.db").write_bytes(content)
    for space in (SPACE, None):
        with pytest.raises(StoreError, match=r"not a database|malformed"):
            opened(tmp_path / "a.db", space=space)
    assert (tmp_path / "a.db").read_bytes() == content


@pytest.mark.parametrize("name", ["", "nowhere/a.db", "x" * 300, "x/" * 3000 + "y"])
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    """A folder, a file in a folder that is not there, and names that are too long."""
    with pytest.raises(StoreError, match="folder" if len(name) < 20 else None):
        opened(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def everything(study: Study, trial: Trial) -> list[Callable[[], object]]:
    return [
        *(lambda: study.trials, lambda: study.queued, lambda: study.best),
        *(lambda: study.ask(), lambda: study.tell(trial, 1.0), lambda: study.fail(trial, "e")),
        *(lambda: study.observe(PARAMS, 1.0), lambda: study.enqueue(PARAMS)),
        *(lambda: study.note(trial, "n"), lambda: study.renew()),
    ]


@pytest.mark.fault(20)
def test_a_folder_that_is_deleted_in_mid_run(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    study = opened(folder / "a.db", lease=60.0)
    trial = study.ask()
    kept = tmp_path / "kept"
    folder.rename(kept)
    for use in everything(study, trial):
        with pytest.raises(StoreError, match="folder exist"):
            use()
    assert not folder.exists()
    kept.rename(folder)
    assert study.tell(trial, 2.0).value == 2.0  # as if nothing had been
    assert [one.value for one in opened(folder / "a.db").trials] == [2.0]
    study.close()


@pytest.mark.fault(20)
def test_a_value_that_could_not_be_kept_is_named(tmp_path: Path) -> None:
    study = opened(tmp_path / "a.db")
    trial = study.ask()
    (tmp_path / "a.db").unlink()
    with pytest.raises(StoreError, match=r"to be told 2\.5"):
        study.tell(trial, 2.5)
    with pytest.raises(StoreError, match="failure, boom"):
        study.fail(trial, "boom")
    assert not (tmp_path / "a.db").exists()


def test_a_file_that_is_emptied_in_mid_run(tmp_path: Path) -> None:
    study = opened(tmp_path / "a.db")
    trial = study.ask()
    (tmp_path / "a.db").write_bytes(b"")
    for use in everything(study, trial)[:-1]:
        with pytest.raises(StoreError, match="emptied"):
            use()
    assert (tmp_path / "a.db").read_bytes() == b""


@pytest.mark.parametrize("how", ["the file", "its rows"])
def test_a_study_that_is_deleted_or_made_anew_is_left_alone(tmp_path: Path, how: str) -> None:
    study = opened(tmp_path / "a.db")
    trial = study.tell(study.ask(), 1.0)
    if how == "the file":
        (tmp_path / "a.db").unlink()
    else:
        execute(tmp_path / "a.db", "DELETE FROM bopp_trials")
        with pytest.raises(BoppError):
            study.tell(trial, 1.0)
        execute(tmp_path / "a.db", "DELETE FROM bopp_studies")
        for use in everything(study, trial)[3:8]:
            with pytest.raises(StudyError, match="no longer"):
                use()
        with pytest.raises(StudyError):
            _ = study.trials
    new = opened(tmp_path / "a.db", space={"z": Float(5, 6)})
    with pytest.raises(StudyError):
        study.ask()
    new.tell(new.ask(), 5.0)
    [kept] = open_study(new.url, "a").trials
    assert (list(kept.params), kept.value) == (["z"], 5.0)


# read-only


@pytest.mark.fault(20)
def test_a_store_that_is_opened_for_reading_alone_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = filled(tmp_path / "a.db")
    uri = sqlite.uri
    monkeypatch.setattr(sqlite, "uri", lambda path, mode: uri(path, "ro"))
    study = opened(tmp_path / "a.db")
    assert study.trials == trials
    for change in everything(study, trials[-1])[3:9]:
        with pytest.raises(StoreError, match="read-only"):
            change()
    monkeypatch.undo()
    assert opened(tmp_path / "a.db").trials == trials


# no room


def fill_up(study: Study) -> tuple[list[Trial], str]:
    """What could be told until there was no room, and why no more."""
    told = []
    for number in range(500):
        try:
            trial = study.ask()
            told.append(study.tell(study.note(trial, "n" * 5000), float(number)))
        except StoreError as error:
            return told, str(error)
    raise AssertionError("there was room for everything")


def after_no_room(path: Path, study: Study, told: list[Trial]) -> None:
    """Nothing is lost, nothing is half done, and it goes on."""
    assert sound(path)
    assert study.trials[: len(told)] == tuple(told)
    assert len(study.trials) - len(told) <= 1
    again = opened(path)
    assert again.trials == study.trials
    for trial in again.trials[len(told) :]:
        again.tell(trial, 0.0)
    again.tell(again.ask(), 7.0)
    assert [one.number for one in again.trials] == list(range(len(again.trials)))
    assert sound(path)


@pytest.mark.fault(20)
def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    opened(path)

    def child() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        study = opened(path)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        told, why = fill_up(study)
        assert "nothing of this change was kept" in why, why
        assert told
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        after_no_room(path, study, told)

    assert in_child(child) == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for little."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


@pytest.mark.fault(20)
def test_a_full_disk(disk: Path, figure: Figure) -> None:
    study = opened(disk / "a.db")
    told, why = fill_up(study)
    assert "disk is full" in why
    assert told
    assert sound(disk / "a.db")
    resize(disk, "4m")
    after_no_room(disk / "a.db", study, told)
    figure(f"a disk full after {len(told)} trials: 0 lost, 0 half done, and on it goes with more room")


@pytest.mark.fault(20)
def test_a_new_store_on_a_full_disk(disk: Path) -> None:
    resize(disk, "16k")
    with pytest.raises(StoreError, match="full"):
        opened(disk / "a.db")
    resize(disk, "1m")
    assert opened(disk / "a.db").ask().number == 0


# rows that are damaged


BAD = ("abc", "", "NaN", "{}", "1e999", "[" * 50_000, "9" * 400, b"\xff\x00", 7, -1, 2**62, 9e999, None)
COLUMNS = {
    "bopp_trials": [column.name for column in schema.trials.columns],
    "bopp_studies": [column.name for column in schema.studies.columns],
    "bopp_queue": [column.name for column in schema.queue.columns],
}
FREE = {"value", "error", "asked_at", "told_at", "worker", "notes"}  # other values may be right as well


def use(path: Path, definition: dict[str, Any]) -> tuple[tuple[Trial, ...], list[dict[str, Any]]]:
    """Read all, then go through every kind of change."""
    study = opened(path, lease=60.0, **definition)
    before, queued = study.trials, study.queued
    study.tell(study.ask(), 1.0)
    study.tell(study.ask(), 2.0)
    study.note(0, "z")
    study.enqueue(PARAMS)
    study.observe(PARAMS, 4.0)
    after = opened(path).trials
    assert after == study.trials
    assert after[1:3] == before[1:3]
    assert len(after) >= len(before) + 2
    return before, queued


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Trial, ...]]:
    path = tmp_path_factory.mktemp("whole") / "a.db"
    trials = filled(path)
    execute(
        path, "UPDATE bopp_trials SET lease = 60.0, lease_until = ? WHERE number = 4", time.monotonic() + 30
    )
    return path, trials


@pytest.mark.fault(27)
@pytest.mark.parametrize(
    "column", [f"{table}.{column}" for table, columns in COLUMNS.items() for column in columns]
)
def test_damaged_columns_are_noticed(
    tmp_path: Path, whole: tuple[Path, tuple[Trial, ...]], column: str, figure: Figure
) -> None:
    (source, trials), path = whole, tmp_path / "a.db"
    table, _, name = column.partition(".")
    for value in BAD:
        for number in (1, 4) if table == "bopp_trials" else (None,):
            shutil.copy(source, path)
            try:
                where = "" if number is None else f" WHERE number = {number}"
                execute(path, f"UPDATE {table} SET seal = NULL{where}")  # as whoever writes on purpose would
                execute(path, f"UPDATE {table} SET {name} = ?{where}", value)
            except sqlite3.Error:
                continue  # what the database refuses cannot be there
            try:
                found, queued = use(
                    path, {} if name in ("space", "recipe") else {"space": None, "recipe": None}
                )
            except BoppError as error:
                assert str(error)  # noqa: PT017
                continue
            assert len(found) == len(trials), value
            if name in FREE and number is not None:
                field = "values" if name == "value" else name
                found = tuple(replace(one, **{field: getattr(trials[one.number], field)}) for one in found)
            assert found == trials, value
            assert queued == [PARAMS], value
    figure(
        f"{len(BAD)} wrong values in each of {sum(map(len, COLUMNS.values()))} columns: noticed or harmless"
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM bopp_trials WHERE number = 0", "trial 0 is missing"),
        ("DELETE FROM bopp_trials WHERE number = 1", "trial 1 is missing"),
        ("UPDATE bopp_trials SET state = 'x', seal = NULL WHERE number = 1", "trial 1"),
    ],
)
def test_damage_is_noticed_again_and_again(tmp_path: Path, damage: str, said: str) -> None:
    with opened(tmp_path / "a.db") as study:
        trials = study.ask(3)
        study.tell(trials[0], 1.0)  # the last to change is the first in order
    execute(tmp_path / "a.db", damage)
    study = opened(tmp_path / "a.db")
    for _ in range(3):
        with pytest.raises(StudyError, match=said):
            _ = study.trials
        with pytest.raises(StudyError, match=said):
            study.ask()


@pytest.mark.fault(27)
def test_text_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    trials = filled(tmp_path / "a.db")
    execute(tmp_path / "a.db", "CREATE TABLE other AS SELECT * FROM bopp_trials ORDER BY number DESC")
    execute(tmp_path / "a.db", "DELETE FROM bopp_trials")
    execute(tmp_path / "a.db", "INSERT INTO bopp_trials SELECT * FROM other")
    assert opened(tmp_path / "a.db").trials == trials  # in order, whatever their order in the file
    for column in ("params", "error", "state", "notes", "worker"):
        shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
        execute(tmp_path / "b.db", f"UPDATE bopp_trials SET seal = NULL, {column} = CAST(x'fffe' AS TEXT)")
        study = opened(tmp_path / "b.db")
        with pytest.raises(BoppError):
            _ = study.trials


@pytest.mark.fault(27)
def test_nothing_that_is_stored_is_executed(tmp_path: Path) -> None:
    """Pickles, templates and code are texts like others."""
    filled(tmp_path / "a.db")
    marker = tmp_path / "executed"
    hostile = [
        f"__import__('os').system('touch {marker}')",
        f"cos\nsystem\n(S'touch {marker}'\ntR.",
        f'{{"py/reduce": [{{"py/function": "os.system"}}, {{"py/tuple": ["touch {marker}"]}}]}}',
        f"!!python/object/apply:os.system ['touch {marker}']",
    ]
    for table, columns in COLUMNS.items():
        for column in columns:
            for text in hostile:
                shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
                with suppress(Exception):  # what is raised is the matter of other tests
                    execute(tmp_path / "b.db", f"UPDATE {table} SET seal = NULL")
                    execute(tmp_path / "b.db", f"UPDATE {table} SET {column} = ?", text)
                    with open_study(f"sqlite:///{tmp_path}/b.db", "a", lease=None) as study:
                        study.ask()
    assert not marker.exists()


# what a store promises


def test_a_change_is_whole_or_not_at_all(tmp_path: Path) -> None:
    study = opened(tmp_path / "a.db")
    study.enqueue(PARAMS)
    before = (tmp_path / "a.db").read_bytes()
    add = study._ledger.add

    def fails(*arguments: Any) -> None:
        add(*arguments)
        raise KeyboardInterrupt

    study._ledger.add = fails  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        study.ask()
    study._ledger.add = add  # type: ignore[method-assign]
    assert study.queued == [PARAMS]
    assert study.trials == ()
    assert (tmp_path / "a.db").read_bytes() == before
    assert study.ask().params == PARAMS


def test_a_repeated_transaction_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a connection that was lost while the server committed."""
    both: dict[str, float | None] = {"error": 1.0, "cost": 2.0}
    problem = Problem(SPACE, dict.fromkeys(both, "minimize"))
    repeat_writes(monkeypatch)
    with open_study(url, "a", problem, recipe=RANDOM) as study:
        study.enqueue(PARAMS)
        study.enqueue({**PARAMS, "n": 5})
        trials = study.ask(3)
        study.tell(0, {**both, "cost": None})
        assert study.tell(0, both).values == both
        study.fail(1, "e")
        study.note(0, "cold")
        study.release(trials[2])
        study.observe(PARAMS, both)
        assert [one.number for one in study.observe_all([Trial(0, PARAMS, "done", both)] * 2)] == [4, 5]
        study.amend(0, {**both, "cost": 3.0}, "once")
        study.retry(1)
        assert study.queued == []
    with open_study(url, "a") as study:
        assert [(trial.origin, trial.state) for trial in study.trials] == [
            *(("queued", "done"), ("queued", "asked"), ("suggested", "asked")),
            *[("observed", "done")] * 3,
        ]
        assert [len(trial.superseded) for trial in study.trials] == [1, 1, 0, 0, 0, 0]
        assert study.trials[0].notes == "cold"
    delete_study(url, "a")
    with pytest.raises(StudyError, match="no study 'a'"):
        delete_study(url, "a")


def test_a_lock_that_stays_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "BUSY", 0.2)
    study = opened(tmp_path / "a.db")
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert study.trials == ()
    with pytest.raises(StoreError, match="locked"):
        study.enqueue(PARAMS)
    other.execute("ROLLBACK")
    other.close()
    study.enqueue(PARAMS)


def test_no_file_stays_open(tmp_path: Path) -> None:
    study = opened(tmp_path / "a.db")
    study.tell(study.ask(), 1.0)
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("Linux alone")
    links = [os.readlink(path) for path in folder.iterdir() if path.is_symlink() and path.exists()]
    assert [link for link in links if str(tmp_path) in link] == []


@pytest.mark.parametrize("wrong", [{"seed": 5}, {"space": {"z": Float(0, 1)}}, {"name": "b", "space": None}])
def test_a_study_that_is_refused_leaves_no_connection(postgres_url: str, wrong: dict[str, Any]) -> None:
    open_study(postgres_url, "a", SPACE).close()
    definition: dict[str, Any] = {"name": "a", "space": SPACE, **wrong}
    gc.collect()  # what other tests left
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(StudyError):
            open_study(postgres_url, **definition)
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
