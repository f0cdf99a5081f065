"""Looks at a study bring every change once, whoever makes it, and leave the store as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy import event

import bopp
from bopp import Float, Params, Problem, Recipe, Study, Trial, pseudo
from bopp.errors import BoppError, StoreError, StudyError
from bopp.study import following, identity, schema
from bopp.study.catalogue import delete_study
from bopp.study.following import Following, Held, Look
from support.stores import engine_of, mark, small_store
from support.studies import wait_for
from support.workers import opened

MANY = """INSERT INTO bopp_trials (study, number, params, state, value, origin, ticket, revision)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
    SELECT study, i, params, state, value, origin, 'ticket ' || i, i + 1 FROM bopp_trials, n"""
READS = ("SELECT", "PRAGMA", "BEGIN", "SHOW", "SET", "ROLLBACK", "COMMIT")


def looking(url: str, name: str = "many") -> Study:
    return bopp.open_study(url, name, read_only=True)


class Follower:
    """Applies what the looks bring."""

    def __init__(self, study: Study):
        self.study = study
        self.following: Following = study.follow()
        self.known: dict[int, Trial] = {}

    def look(self) -> Look:
        look = self.following.look()
        self.known |= {trial.number: trial for trial in look.changed}
        return look

    def look_whole(self) -> Look:
        while not (look := self.look()).whole:
            assert look.changed
        return look

    def check(self) -> None:
        """Read on to the end, and compare with the study."""
        look = self.look_whole()
        assert [self.known[number] for number in sorted(self.known)] == list(self.study.trials)
        assert list(look.queued) == self.study.queued
        assert look.paused == self.study.paused
        assert self.look().changed == ()  # nothing comes twice


def parts_of(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Have a look read at most this many trials."""
    monkeypatch.setattr(following, "PART", size)
    for name in ("BY_NUMBER", "BY_REVISION"):
        monkeypatch.setattr(following, name, getattr(following, name).limit(size))


def add_failed(study: Study, count: int) -> None:
    """Add this many failed trials in one revision."""
    study.observe_all([Trial(0, {"x": 0.5, "y": i / count}, "failed", error="out") for i in range(count)])


@pytest.fixture
def pair(url: str) -> Iterator[tuple[Study, Follower]]:
    """A study, and one who follows it."""
    with opened(url) as study, looking(url) as other:
        yield study, Follower(other)


def params(rng: np.random.Generator) -> Params:
    return {"x": float(rng.random()), "y": float(rng.random())}


def act(study: Study, rng: np.random.Generator) -> None:
    """Something that somebody may do to a study, at random."""
    trials = study.trials
    chosen = int(rng.integers(len(trials))) if trials else 0
    acts: list[Callable[[], Any]] = [
        lambda: study.ask(),
        lambda: study.ask(2),
        lambda: study.tell(chosen, float(rng.random())),
        lambda: study.tell(chosen, float(rng.random())),
        lambda: study.fail(chosen, "spilled"),
        lambda: study.amend(chosen, float(rng.random()), "mistyped"),
        lambda: study.drop(chosen, "spilled"),
        lambda: study.retry(chosen),
        lambda: study.note(chosen, f"note {rng.integers(5)}"),
        lambda: study.enqueue(params(rng)),
        lambda: study.observe(params(rng), float(rng.random())),
        lambda: study.observe_all([Trial(0, params(rng), "failed", error="out")] * 5),
        lambda: study.pause("for lunch"),
        lambda: study.resume(),
        lambda: study.release(chosen),
    ]
    with suppress(BoppError):  # such as one that a second tell of the same trial raises
        acts[int(rng.integers(len(acts)))]()


# What the looks bring


@pytest.mark.parametrize(
    ("part", "seed"),
    [(1, 0), (2000, 2), *(pytest.param(*one, marks=pytest.mark.endurance) for one in ((3, 1), (2000, 3)))],
)
def test_the_looks_bring_every_trial(url: str, seed: int, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parts_of(monkeypatch, part)
    rng = np.random.default_rng([seed, part])
    with opened(url) as leased, opened(url, lease=None) as held:
        for _ in range(15):
            act(leased, rng)
        with looking(url) as study:
            follower = Follower(study)
            for step in range(45):
                act(leased if rng.random() < 0.5 else held, rng)
                if rng.random() < 0.7:
                    follower.look()  # which may have a part only
                if step % 6 == 0:
                    follower.check()
            follower.check()
            states = {trial.state for trial in follower.known.values()}
            assert states >= {"done", "dropped"}


def test_what_changes_during_the_first_reading_is_not_missed(
    pair: tuple[Study, Follower], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts_of(monkeypatch, 4)
    study, follower = pair
    add_failed(study, 30)
    assert not follower.look().whole
    study.drop(1, "was read before")
    study.drop(29, "will be read later")
    study.observe({"x": 0.1, "y": 0.1}, 1.0)
    assert not follower.look().whole
    study.drop(2, "was read before")
    assert follower.look_whole().revision >= 4  # the end of the trials by number
    follower.check()


def test_the_looks_read_each_trial_once(
    pair: tuple[Study, Follower], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts_of(monkeypatch, 7)
    study, follower = pair
    add_failed(study, 50)
    looks = [follower.look()]
    while not looks[-1].whole:
        looks.append(follower.look())
    assert [len(look.changed) for look in looks] == [7] * 7 + [1]
    assert [follower.look().changed for _ in range(3)] == [()] * 3
    for note, number in enumerate((3, 40, 3)):
        study.note(number, f"note {note}")
    assert [trial.number for trial in follower.look_whole().changed] == [40, 3]  # in the order of the changes


def test_many_trials_of_one_revision_come_in_parts(
    pair: tuple[Study, Follower], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts_of(monkeypatch, 5)
    study, follower = pair
    assert follower.look_whole().changed == ()
    add_failed(study, 20)
    assert [len(follower.look().changed) for _ in range(5)] == [5, 5, 5, 5, 0]
    follower.check()


def test_some_trials_are_had_by_their_numbers(pair: tuple[Study, Follower]) -> None:
    study, follower = pair
    add_failed(study, 9)
    study.drop(4, "spilled")
    some = follower.following.some
    assert some([7, 4, 4, 99, -1]) == {4: study.trials[4], 7: study.trials[7]}
    assert some([]) == {}


# Who has what


def test_a_lease_is_seen_while_its_worker_lives(url: str) -> None:
    with opened(url) as study, opened(url, lease=None) as by_hand, looking(url) as other:
        trial, _ = study.ask(), by_hand.ask()
        follower = Follower(other)
        assert follower.look().leased == (Held(0, identity.name(), 60.0, lost=False),)
        study.release(trial)  # which changes no trial
        look = follower.look()
        assert (look.changed, look.leased) == ((), (Held(0, identity.name(), 0.0, lost=True),))
        assert by_hand.ask().number == 0  # who asks next gets it, until it is told
        assert follower.look().leased == ()
        study.tell(0, 1.0)
        assert follower.look().leased == ()


def test_a_lease_of_a_dead_process_is_lost_at_once(
    pair: tuple[Study, Follower], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, follower = pair
    said = "from bopp.study import identity; print(identity.name())"
    dead = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout
    with monkeypatch.context() as patch:
        patch.setattr(identity, "name", lambda: dead.strip())
        study.ask()
    study.ask()
    mine = Held(1, identity.name(), 60.0, lost=False)
    assert follower.look().leased == (Held(0, dead.strip(), 60.0, lost=True), mine)


def test_a_lease_that_nobody_renews_is_lost_after_a_while(url: str, pair: tuple[Study, Follower]) -> None:
    study, follower = pair
    study.ask()
    silent = "UPDATE bopp_trials SET worker = NULL, seal = NULL, ticket = 't', lease = 2, lease_until = 1"
    with engine_of(url).begin() as connection:
        connection.exec_driver_sql(silent)
    assert [held.lost for held in follower.look().leased] == [False]  # it may just have been renewed
    began = time.monotonic()
    wait_for(lambda: follower.look().leased[0].lost, "the lease lasts")
    assert time.monotonic() - began > 0.4


@pytest.mark.parametrize("few", [0, 500])
def test_leases_are_found_however_many_there_are_once_the_trials_are_read(
    pair: tuple[Study, Follower], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts_of(monkeypatch, 2)
    monkeypatch.setattr(following, "FEW", few)
    study, follower = pair
    study.ask(4)
    study.tell(1, 0.5)
    look = follower.look()
    assert (look.whole, look.leased) == (False, ())
    assert [held.number for held in follower.look_whole().leased] == [0, 2, 3]


def test_queue_and_pause_are_true_at_each_look(pair: tuple[Study, Follower]) -> None:
    study, follower = pair
    assert (follower.look().queued, follower.look().paused) == ((), None)
    study.enqueue({"x": 0.25, "y": 0.75})
    study.enqueue({"x": 0.5})
    study.pause("for lunch")
    look = follower.look()
    assert look.queued == ({"x": 0.25, "y": 0.75}, {"x": 0.5})
    assert look.paused == study.paused
    assert str(look.paused).endswith("(for lunch)")
    study.resume()
    study.ask()
    look = follower.look()
    assert (look.queued, look.paused) == (({"x": 0.5},), None)


# What is no longer the same


def refused(follower: Follower, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        follower.look()


def test_a_study_that_is_deleted_and_made_anew_is_another(url: str, pair: tuple[Study, Follower]) -> None:
    study, follower = pair
    study.observe({"x": 0.5, "y": 0.5}, 1.0)
    follower.look()
    delete_study(url, "many")
    refused(follower, "no longer in its store")
    with opened(url) as anew:
        anew.observe({"x": 0.5, "y": 0.5}, 1.0)
        refused(follower, "no longer in its store")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("a copy replaces it", "replaced by another"),
        ("another store replaces it", "replaced by another"),
        ("another store overwrites it", "no longer in its store"),  # the same file to the system
        ("an earlier state is put back", "earlier state"),
        ("it is gone", "no longer there"),
    ],
)
def test_a_file_that_is_no_longer_the_same_is_refused(tmp_path: Path, how: str, words: str) -> None:
    path, other = tmp_path / "a.db", tmp_path / "other.db"
    with opened(f"sqlite:///{path}") as study, looking(f"sqlite:///{path}") as seen:
        study.observe({"x": 0.5, "y": 0.5}, 1.0)
        follower = Follower(seen)
        follower.look()
        earlier = path.read_bytes()
        if "another store" in how:
            opened(f"sqlite:///{other}").close()
        else:
            shutil.copy(path, other)
        if "replaces" in how:
            os.replace(other, path)
        elif "overwrites" in how:
            path.write_bytes(other.read_bytes())
        elif "earlier" in how:
            study.observe({"x": 0.1, "y": 0.5}, 2.0)
            follower.look()
            path.write_bytes(earlier)
        else:
            path.unlink()
        refused(follower, words)


@pytest.mark.parametrize("what", ["space", "recipe", "knowledge"])
def test_a_study_that_suggests_otherwise_is_refused_and_a_paused_one_is_not(
    url: str, pair: tuple[Study, Follower], what: str
) -> None:
    study, follower = pair
    study.observe({"x": 0.5, "y": 0.25}, 1.0)
    follower.look()
    study.pause("which changes its row too")
    assert follower.look().paused is not None
    study.resume()
    assert follower.look().paused is None
    if what == "space":
        narrow = {"x": Float(0, 0.75), "y": study.space.parameters["y"]}
        bopp.open_study(url, "many", narrow, migrate=True).close()
    elif what == "recipe":
        study.switch_recipe(Recipe.default())
    else:
        study.switch_knowledge([pseudo.Limits(at_least=0.0)])
    refused(follower, "another space, recipe or knowledge")
    with looking(url) as anew:
        Follower(anew).check()


def test_a_damaged_row_is_refused_by_its_number(url: str, pair: tuple[Study, Follower]) -> None:
    study, follower = pair
    study.observe({"x": 0.5, "y": 0.25}, 1.0)
    with engine_of(url).begin() as connection:
        connection.exec_driver_sql("UPDATE bopp_trials SET value = 2.0")
    for read in (follower.look, lambda: follower.following.some([0])):
        with pytest.raises(StoreError, match="trial 0 of 'many'"):
            read()


# Newer stores


def test_a_store_that_a_newer_bopp_migrated_is_refused_until_it_is_put_back(url: str) -> None:
    small_store(url)
    with looking(url, "small") as study:
        follower = Follower(study)
        follower.check()
        assert [trial.state for trial in follower.known.values()] == ["done", "failed", "asked"]
        mark(url, schema.newest() + 1)
        refused(follower, "use a newer bopp")
        mark(url, schema.newest())
        follower.check()


# What a look costs


def contents(url: str) -> list[Any]:
    """Every row of a store."""
    tables = ("bopp_schema", "bopp_studies", "bopp_trials", "bopp_queue")
    with engine_of(url).begin() as connection:
        return [sorted(map(str, connection.exec_driver_sql(f"SELECT * FROM {table}"))) for table in tables]


@contextmanager
def statements() -> Iterator[list[tuple[str, Any]]]:
    """What databases are asked meanwhile."""
    heard: list[tuple[str, Any]] = []

    def hear(_: Any, __: Any, statement: str, given: Any, *___: Any) -> None:
        heard.append((" ".join(statement.split()), given))

    event.listen(sa.Engine, "before_cursor_execute", hear)
    try:
        yield heard
    finally:
        event.remove(sa.Engine, "before_cursor_execute", hear)


def test_a_look_only_reads(url: str, pair: tuple[Study, Follower]) -> None:
    study, follower = pair
    study.enqueue({"x": 0.5, "y": 0.5})
    study.ask(2)
    study.pause()
    before = contents(url)
    with statements() as heard:
        follower.check()
        follower.following.some([0, 1])
        asked = list(heard)
    assert contents(url) == before
    assert {words.split()[0] for words, _ in asked} <= {*READS, "select"}


def plan(path: Path, statement: str, given: Any) -> list[str]:
    """How SQLite finds the rows."""
    with closing(sqlite3.connect(path)) as connection:
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", given)]


@pytest.mark.endurance
def test_a_look_at_many_trials_in_which_nothing_changed_asks_for_little(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    problem = Problem({"x": Float(0, 1)})
    url = f"sqlite:///{path}"
    with bopp.open_study(url, "many", problem, recipe=Recipe.random()) as study:
        study.observe({"x": 0.5}, 1.0)
        with engine_of(url).begin() as connection:
            connection.exec_driver_sql(MANY)
            connection.exec_driver_sql("UPDATE bopp_studies SET revision = 20000")
        study.ask(3)
        with looking(url) as other:
            follower = Follower(other)
            looks = 1
            while not follower.look().whole:
                looks += 1
            assert looks == 1 + 20_003 // following.PART
            follower.look()
            with statements() as heard:
                assert follower.look().changed == ()
            assert len(heard) <= 8
            plans = [plan(path, *one) for one in heard if one[0].startswith("SELECT")]
            assert len(plans) >= 4
            assert not [step for steps in plans for step in steps if "SCAN bopp_trials" in step], plans
            study.tell(20_001, 1.0)
            with statements() as heard:
                assert [trial.number for trial in follower.look().changed] == [20_001]
                follower.following.some([5, 19_999])
            plans = [plan(path, *one) for one in heard if one[0].startswith("SELECT")]
            assert not [step for steps in plans for step in steps if "SCAN bopp_trials" in step], plans
