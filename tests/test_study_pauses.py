"""While a study is paused nobody gets a trial of it; what is under way is told, and runs wait and go on."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import bopp
from bopp import Float, Params, Recipe, Study
from bopp.errors import PausedStudy, StoreError, StudyError
from bopp.run.loop import Limits
from bopp.run.progress import Meter
from bopp.study import runner, schema
from bopp.study.exchange import exported, imported
from bopp.study.ledger import LONGEST_TEXT
from bopp.study.pauses import Pause
from bopp.study.runner import run_study
from support.stores import engine_of, execute
from support.studies import PATIENCE, wait_for
from support.workers import SPACE, bowl, kept, opened, started, succeeded

OVEN = "the oven is being cleaned"
HOSTILE = "\x1b[2J [red]x[/red]\r\nsecond \x00 line \ud800"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """An empty store in a file."""
    return f"sqlite:///{tmp_path}/a.db"


def revision_of(url: str) -> int:
    with engine_of(url).begin() as connection:
        return int(connection.execute(sa.select(schema.studies.c.revision)).scalar_one())


def since(study: Study) -> Pause:
    """The pause of a study that has one."""
    assert study.paused is not None
    return study.paused


# The study


def test_once_takes_a_revision_and_twice_changes_nothing(url: str) -> None:
    with opened(url) as study, opened(url) as other:
        first, before = revision_of(url), datetime.now(UTC)
        study.resume()
        assert (study.paused, revision_of(url)) == (None, first)
        study.pause(OVEN)
        pause = since(other)
        assert (pause, pause.reason, revision_of(url)) == (study.paused, OVEN, first + 1)
        assert pause.at.tzinfo is not None
        assert abs(pause.at - before) < timedelta(minutes=1)
        study.pause("another")
        other.pause()
        assert (study.paused, revision_of(url)) == (pause, first + 1)
        other.resume()
        assert (study.paused, revision_of(url)) == (None, first + 2)
        study.resume()
        other.resume()
        assert revision_of(url) == first + 2
        other.pause()
        assert since(study).reason is None
        assert study.paused != pause


def test_of_many_who_pause_at_once_one_does(url: str) -> None:
    def pause(number: int) -> None:
        with opened(url) as study:
            study.pause(str(number))

    with opened(url) as study:
        first = revision_of(url)
        with futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(pause, range(4)))
        assert since(study).reason in set("0123")
        assert first < revision_of(url) <= first + 4


@pytest.mark.parametrize("there", ["nothing", "queued", "given back", "told"])
def test_nobody_gets_a_trial_whatever_there_is(file: str, there: str) -> None:
    with opened(file) as study, opened(file) as other:
        if there == "queued":
            study.enqueue({"x": 0.5, "y": 1.0})
        elif there == "given back":
            study.release(study.ask())
        elif there == "told":
            study.tell(study.ask(), 1.0)
        study.pause(OVEN)
        trials, revision = study.trials, revision_of(file)
        for asking in (study, other):
            for ask in (asking.ask, lambda one=asking: one.ask(2), lambda one=asking: one.ask_within(5)):
                with pytest.raises(PausedStudy) as refused:
                    ask()
        assert [word for word in ("'many'", OVEN, "bopp resume") if word not in str(refused.value)] == []
        assert isinstance(refused.value, StudyError)
        assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
        assert (study.trials, revision_of(file)) == (trials, revision)
        study.resume()
        assert other.ask().number == (1 if there == "told" else 0)


@pytest.mark.parametrize("count", [0, 2])
def test_who_found_a_trial_before_the_pause_does_not_get_it_after(url: str, count: int) -> None:
    with opened(url, lease=None) as study, opened(url) as other:
        plan = study._asking._plan

        def planned(budget: float) -> object:
            found = plan(budget)
            if len(other.trials) == count:
                other.pause(OVEN)
            return found

        study._asking._plan = planned  # type: ignore[method-assign,assignment]
        with pytest.raises(PausedStudy) as refused:
            study.ask(3)
        assert (refused.value.study, refused.value.reason) == (study.name, OVEN)
        assert (len(study.trials), study.held) == (count, frozenset())
        other.resume()
        assert [trial.number for trial in other.ask(3)] == [0, 1, 2]


def test_all_else_works_as_always(url: str) -> None:
    with opened(url) as study:
        trials = study.ask(5)
        study.tell(trials[0], 3.0)
        study.fail(trials[1], "broke")
        study.pause()
        study.tell(trials[2], 1.0)
        study.fail(trials[3], "broke too")
        study.amend(0, 2.0, "a slip")
        study.retry(1)
        study.note(0, "a note")
        study.drop(3, "wrong")
        study.observe({"x": 0.5, "y": 0.0}, 0.5)
        study.enqueue({"x": 0.25})
        assert states(study) == ["done", "asked", "done", "dropped", "asked", "done"]
        assert study.best.number == 5
        study.renew()
        study.release(trials[4])
        study.switch_recipe(Recipe.random())
        assert study.paused is not None


def test_a_spent_budget_is_spent(file: str) -> None:
    with opened(file) as study, opened(file) as other:
        study.tell(study.ask(), 1.0)
        left = study.ask()
        study.pause()
        assert other.ask_within(2) is None
        study.release(left)
        with pytest.raises(PausedStudy):  # there is one to take over
            other.ask_within(2)


def test_whoever_looks_sees_the_pause_and_cannot_end_it(url: str) -> None:
    with opened(url) as study, bopp.open_study(url, "many", read_only=True) as seen:
        assert seen.paused is None
        study.pause(OVEN)
        assert since(seen) == study.paused
        with pytest.raises(StudyError, match="read_only"):
            seen.resume()
        assert since(seen).reason == OVEN


def test_a_study_that_is_gone_is_not_paused(file: str) -> None:
    with opened(file) as study:
        bopp.delete_study(file, "many")
        uses: list[Callable[[], object]] = [lambda: study.paused, study.pause, study.resume]
        for use in uses:
            with pytest.raises(StudyError, match="no longer in its store"):
                use()


def test_any_text_is_a_reason_and_may_be_left_out(url: str) -> None:
    escaped = HOSTILE.replace("\x00", r"\x00").replace("\ud800", r"\ud800")
    given = [(None, None), ("", None), (" \n", None), ("0", "0"), (HOSTILE, escaped)]
    with opened(url) as study:
        for wrong in (3, b"why", ["why"], True):
            with pytest.raises(StudyError, match="reason"):
                study.pause(wrong)  # type: ignore[arg-type]
            assert study.paused is None
        for reason, kept in given:
            study.pause(reason)
            assert since(study).reason == kept
            study.resume()
        study.pause("x" * 20_000)
        assert len(since(study).reason or "") < LONGEST_TEXT + 30
        assert len(str(study.paused)) < 250


def test_a_pause_in_words() -> None:
    now = datetime.now(UTC)
    here = now.astimezone()
    assert str(Pause(now)) == f"since {here:%H:%M}"
    assert str(Pause(now, OVEN)) == f"since {here:%H:%M} ({OVEN})"
    before = now - timedelta(days=3)
    assert str(Pause(before)) == f"since {before.astimezone():%Y-%m-%d %H:%M}"
    shown = str(Pause(now, HOSTILE))
    assert shown.isprintable()
    assert "second" in shown


def test_it_outlives_another_space_and_an_export_does_not_carry_it(file: str) -> None:
    with opened(file) as study:
        study.tell(study.ask(), 1.0)
        before = exported(study)
        study.pause(OVEN)
        pause = study.paused
        assert exported(study) == before
        imported(file, before, "copy")
    with bopp.open_study(file, "copy") as copy:
        assert copy.paused is None
        assert copy.ask().number == 1
    with bopp.open_study(file, "many", {**SPACE, "x": Float(0, 2)}, migrate=True) as study:
        assert study.paused == pause


@pytest.mark.parametrize(
    "text",
    [
        *("7", "{}", '{"at": null, "reason": null}', '{"at": "2026-01-01", "reason": ""}'),
        '{"at": "2026-01-01T00:00:00+00:00", "reason": 7}',
        '{"at": "0001-01-01T00:00:00+14:00", "reason": null}',
    ],
)
def test_a_pause_that_cannot_be_read_is_refused(tmp_path: Path, file: str, text: str) -> None:
    with opened(file) as study:
        execute(tmp_path / "a.db", "UPDATE bopp_studies SET seal = NULL, paused = ?", text)
        for use in (lambda: study.paused, study.ask, study.pause, study.resume):
            with pytest.raises(StudyError, match="cannot be read"):
                use()


@pytest.mark.fault(42)
def test_a_pause_that_changes_on_the_disk_is_noticed_by_who_has_seen_it(tmp_path: Path, file: str) -> None:
    path = tmp_path / "a.db"
    with opened(file) as study:
        study.pause(OVEN)
        assert study.paused is not None
        execute(path, "UPDATE bopp_studies SET paused = replace(paused, 'oven', 'oveo')")
        for use in (lambda: study.paused, study.ask, study.resume):
            with pytest.raises(StoreError, match="'many'"):
                use()
        execute(path, "UPDATE bopp_studies SET paused = NULL")
    with pytest.raises(StoreError, match="'many'"):
        opened(file)


def test_the_rest_of_the_row_is_read_once(file: str) -> None:
    """It may be long, and whoever waits looks twice a second."""
    with opened(file) as study:
        study.pause(OVEN)
        asked: list[str] = []
        sa.event.listen(study._store._engine, "before_cursor_execute", lambda *event: asked.append(event[2]))
        for _ in range(3):
            assert study.paused
    assert sum("recipe" in statement for statement in asked) == 1
    assert sum("paused" in statement for statement in asked) == 4


# Runs


class Heard(Meter):
    """A meter that remembers what was said of pauses."""

    def __init__(self) -> None:
        self.said: list[str | None] = []

    def paused(self, since: str | None) -> None:
        self.said.append(since)


@contextmanager
def running(
    study: Study,
    budget: float = 4,
    ends: Limits | None = None,
    objective: Callable[[Params], float] = bowl,
    workers: int | None = None,
    executor: Any = None,
) -> Iterator[tuple[threading.Thread, Heard]]:
    """A run in a thread of its own, which must have ended in the end."""
    heard, limits = Heard(), ends or Limits.from_now(None, None, None)
    arguments = (study, objective, budget, workers, None, executor, limits, heard)
    thread = threading.Thread(target=run_study, args=arguments)
    thread.start()
    try:
        yield thread, heard
    finally:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits looks more often than it would."""
    monkeypatch.setattr(runner, "LOOK", 0.02)


@pytest.mark.usefixtures("often")
def test_a_run_waits_says_so_once_and_goes_on(file: str) -> None:
    with opened(file) as study, opened(file) as other:
        for reason in (OVEN, None):
            other.pause(reason)
            with running(study, 4 if reason else 6) as (thread, heard):
                wait_for(partial(len, heard.said), "nothing was said")
                time.sleep(0.1)
                assert thread.is_alive()
                assert heard.said == [str(other.paused)]
                other.resume()
            assert heard.said[1:] == [None]
        assert states(study) == ["done"] * 6


@pytest.mark.usefixtures("often")
def test_a_run_that_is_paused_while_it_runs_tells_what_it_has(file: str) -> None:
    with opened(file) as study, opened(file) as other, futures.ThreadPoolExecutor(2) as pool:

        def slow(params: Params) -> float:
            if params["x"] == 0.5:
                other.pause(OVEN)
                time.sleep(0.2)
            return bowl(params)

        study.enqueue({"x": 0.25, "y": 0.0})
        study.enqueue({"x": 0.5, "y": 0.0})
        with running(study, 5, objective=slow, workers=2, executor=pool) as (_, heard):
            wait_for(lambda: states(other).count("done") >= 2, "not told")
            time.sleep(0.2)
            assert set(states(other)) == {"done"}
            assert len(other.trials) < 5
            assert heard.said == [str(other.paused)]
            other.resume()
        assert states(other) == ["done"] * 5


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("why", ["time", "target", "observed", "budget"])
def test_what_ends_a_run_ends_its_wait(file: str, why: str) -> None:
    with opened(file) as study, opened(file) as other:
        other.tell(other.ask(), 1.0)
        taken = other.ask()
        other.pause()
        target, limit = (None if why in ("time", "budget") else 0.5), (0.5 if why == "time" else None)
        ends = Limits.from_now(target, limit, None)
        with running(study, 2 if why == "budget" else 9, ends) as (thread, heard):
            if why != "time":
                time.sleep(0.15)
                assert thread.is_alive()
            if why in ("target", "budget"):
                other.tell(taken, 0.25)
            elif why == "observed":
                other.observe({"x": 0.5, "y": 0.0}, 0.25)
        assert other.paused is not None
        assert len(heard.said) == (0 if why == "budget" else 1)
        assert len(study.trials) == (3 if why == "observed" else 2)


def test_a_wait_looks_less_often_the_longer_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = runner._Ask(None, 1, Limits.from_now(None, None, None), Meter())  # type: ignore[arg-type]
    assert ask.wait == runner.LOOK
    ask._notice(Pause(datetime.now(UTC)))
    now = time.monotonic()
    waits = []
    for seconds in (0, 10, 100, 10_000):
        monkeypatch.setattr(time, "monotonic", lambda seconds=seconds: now + seconds)
        waits.append(ask.wait)
    assert waits == pytest.approx([0.5, 0.5, 2.0, 5.0], abs=0.01)


def test_a_wait_costs_next_to_nothing(file: str) -> None:
    with opened(file) as study:
        study.pause()
        before = time.thread_time()
        study.optimize(bowl, 3, progress=False, time_limit=0.6)
        assert time.thread_time() - before < 0.1
        assert study.trials == ()


def test_ctrl_c_ends_a_wait_at_once(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting(Meter):
        def paused(self, since: str | None) -> None:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    for pause in ("LOOK", "RARELY"):
        monkeypatch.setattr(runner, pause, 3 * PATIENCE)  # seconds to the next look
    with opened(file) as study:
        study.pause()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run_study(study, bowl, 3, 1, None, None, Limits.from_now(None, None, None), Interrupting())
        assert time.monotonic() - began < PATIENCE
        assert study.trials == ()


@pytest.mark.usefixtures("often")
def test_a_paused_run_suggests_what_one_does_that_never_was(file: str) -> None:
    recipe = Recipe.default()
    with opened("sqlite://", recipe) as unbroken:
        unbroken.optimize(bowl, 9, progress=False)
        wanted = kept(unbroken.trials)
    with opened(file, recipe) as study, opened(file, recipe) as other:
        timers = []

        def callback(*_: Any) -> None:
            if len(study.trials) in (2, 6, 7):
                other.pause(OVEN)
                timers.append(threading.Timer(0.1, other.resume))
                timers[-1].start()

        study.optimize(bowl, 9, progress=False, callback=callback)
        assert len(timers) == 3
        assert kept(study.trials) == wanted


# Processes


def evaluate(folder: str, params: Params) -> float:
    """An objective that takes its time, and notes when it begins and ends."""
    with Path(folder, "begun").open("a") as file:
        file.write(f"{params['x']!r}\n")
    time.sleep(0.2)
    return bowl(params)


def work(url: str, folder: str, budget: int, workers: int) -> None:
    runner.LOOK = 0.1
    with opened(url) as study:
        study.optimize(lambda params: evaluate(folder, params), budget, workers, progress=False)


def begun(folder: Path) -> list[str]:
    path = folder / "begun"
    return path.read_text().split() if path.exists() else []


def states(study: Study) -> list[str]:
    return [trial.state for trial in study.trials]


@pytest.mark.endurance
def test_two_workers_finish_what_they_have_and_go_on_to_the_budget(postgres_url: str, tmp_path: Path) -> None:
    """In a file: test_cli_pausing.py."""
    url = postgres_url
    with opened(url) as study, started(work, (url, str(tmp_path), 12, 2)) as processes:
        wait_for(lambda: len(begun(tmp_path)) >= 3, "nobody works")
        study.pause(OVEN)
        wait_for(lambda: set(states(study)) == {"done"}, "trials under way are not told")
        there = len(study.trials)
        assert 3 <= there < 12
        time.sleep(0.3)
        assert len(begun(tmp_path)) == len(study.trials) == there
        assert processes[0].exitcode is None
        study.resume()
        succeeded(processes)
        assert states(study) == ["done"] * 12
        assert len(begun(tmp_path)) == len(set(begun(tmp_path))) == 12
        assert [trial.value for trial in study.trials] == [bowl(trial.params) for trial in study.trials]


@pytest.mark.endurance
@pytest.mark.parametrize(("url", "when"), [("file", "waiting"), ("postgres", "evaluating")], indirect=["url"])
def test_killed_while_paused_another_goes_on_once_it_is_resumed(url: str, tmp_path: Path, when: str) -> None:
    with opened(url) as study, started(work, (url, str(tmp_path), 5, 1)) as [process]:
        wait_for(lambda: len(begun(tmp_path)) >= 2, "nobody works")
        study.pause(OVEN)
        if when == "waiting":
            wait_for(lambda: set(states(study)) == {"done"}, "the trial under way is not told")
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        left = states(study)
        with started(work, (url, str(tmp_path), 5, 1)) as others:
            time.sleep(0.3)
            assert states(study) == left  # neither begun nor taken over
            study.resume()
            succeeded(others)
        assert states(study) == ["done"] * 5
        assert 5 <= len(begun(tmp_path)) <= 5 + left.count("asked")
