"""Whatever happens to a store, a dashboard says so, goes on showing what it saw, and recovers by itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import bopp
from bopp import AtMost, Choice, Float, Int, Problem, Recipe, Study, pseudo
from bopp.dashboard import actions
from bopp.dashboard.actions import Form
from bopp.dashboard.watch import StudyWatch
from bopp.errors import ConfigError
from bopp.study import schema
from bopp.study.catalogue import delete_study
from bopp.view.values import broken_by, remark
from support.commands import Bopp
from support.dashboards import (
    PATIENCE,
    Answer,
    Client,
    Dashboard,
    Elements,
    Linked,
    dashboard,
    served,
    wait_for,
)
from support.postgres import Server
from support.stores import engine_of, mark, small_store

SOON = 10.0  # seconds for a page that takes one or two on an idle machine, or a minute if it waits
SPACE = {"x": Float(0, 1), "y": Float(0, 1)}


class Stream:
    """The events of a study as they arrive: when, and what each says."""

    def __init__(self, client: Client, name: str):
        self.heard: list[tuple[float, dict[str, Any]]] = []
        self._client, self._name, self._ended = client, name, False
        threading.Thread(target=self._listen, daemon=True).start()
        wait_for(lambda: self.heard)

    def _listen(self) -> None:
        with suppress(OSError, HTTPException):
            for line in self._client.events(self._name):
                if line.startswith(b"data: "):
                    self.heard.append((time.time(), json.loads(line.removeprefix(b"data: "))))
                if self._ended:
                    return

    @property
    def trouble(self) -> str | None:
        """What the last event says is wrong."""
        said: str | None = self.heard[-1][1]["trouble"]
        return said

    def hear_of(self, words: str) -> float:
        """Wait until a trouble is told in such words; how many seconds that took."""
        began, known = time.monotonic(), len(self.heard) - 1
        wait_for(lambda: any(re.search(words, said["trouble"] or "") for _, said in self.heard[known:]))
        return time.monotonic() - began

    def recover(self) -> float:
        """Wait until there is no trouble; how many seconds that took."""
        began = time.monotonic()
        wait_for(lambda: self.trouble is None)
        return time.monotonic() - began

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True


def facts_of(answer: Answer) -> dict[str, str]:
    """What the overview says of a study: finding, done, failed, asked, queued."""
    return answer.page.texts_by_id("dd")


def trouble_of(answer: Answer) -> str:
    return answer.page.texts_by_id("div").get("trouble", "")


def has_trial(answer: Answer, number: int) -> bool:
    """Whether a table shows a trial."""
    return bool(answer.page.having(id=f"trial-{number}"))


@dataclass
class Desk:
    """A dashboard over a file in which each test has a study of its own, and a browser in front of it."""

    running: Linked
    client: Client
    path: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def study(self, name: str, count: int = 0) -> Study:
        """A study with so many trials, open for writing."""
        study = bopp.open_study(self.url, name, SPACE, recipe=Recipe.random(), lease=None)
        for number in range(count):
            study.observe({"x": number / 100, "y": 0.5}, float(number))
        return study

    def facts(self, name: str) -> dict[str, str]:
        return facts_of(self.quick("/study", name=name))

    def quick(self, path: str, status: int = 200, /, **query: object) -> Answer:
        """A page that is there soon whatever the store does."""
        began = time.monotonic()
        answer = self.client.get(path, **query)
        assert answer.status == status, (path, answer.text)
        assert time.monotonic() - began < SOON, path
        return answer

    def check_pages(self, name: str, words: str) -> None:
        """Every page answers with what was seen last, and says what is wrong."""
        paths = ("/study", "/trials", "/model", "/parallel", "/work", "/trial", "/data/convergence")
        with ThreadPoolExecutor(len(paths)) as browsers:
            asked = {path: browsers.submit(self.quick, path, name=name, number=3) for path in paths}
        found = {path: answer.result() for path, answer in asked.items()}
        assert found.pop("/data/convergence").text.startswith("{")
        for path, answer in found.items():
            assert re.search(words, trouble_of(answer)), path
        assert has_trial(found["/trials"], 3)
        assert "Trial 3" in found["/trial"].text
        assert facts_of(found["/study"])["done"] == "30"

    def look_around(self, name: str) -> None:
        """Open the pages whose trials have to be read."""
        assert has_trial(self.quick("/trials", name=name), 3)
        assert self.quick("/trial", name=name, number=3).status == 200
        self.quick("/", all="yes")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk in this process."""
    path = tmp_path / "a.db"
    bopp.open_study(f"sqlite:///{path}", "first", SPACE).close()
    with served(f"sqlite:///{path}") as running:
        yield Desk(running, Client(running), path)


@pytest.fixture(scope="module")
def other_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with a process of its own, whose files can be moved about."""
    path = tmp_path_factory.mktemp("desk") / "a.db"
    bopp.open_study(f"sqlite:///{path}", "first", SPACE).close()
    with dashboard(f"sqlite:///{path}") as running:
        yield Desk(running, Client(running), path)


@pytest.fixture
def whole(other_process: Desk) -> Iterator[Desk]:
    """That desk, with its file as it was once the test is over."""
    desk = other_process
    copy = desk.path.with_suffix(".copy")
    shutil.copy(desk.path, copy)
    yield desk
    os.replace(copy, desk.path)


# The store in trouble


@pytest.mark.endurance
def test_a_locked_store_is_said_to_be_silent_until_it_is_free(other_process: Desk) -> None:
    desk = other_process
    with desk.study("locked", 30), Stream(desk.client, "locked") as events:
        desk.look_around("locked")
        with closing(sqlite3.connect(desk.path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            events.hear_of("has not answered for [2-9] s")
            desk.check_pages("locked", "has not answered")
            assert "has not answered" in desk.quick("/trial", name="locked", number=99).text
            assert "first" in desk.quick("/", all="yes").text
            other.execute("COMMIT")
        events.recover()
        assert trouble_of(desk.quick("/study", name="locked")) == ""


@pytest.mark.endurance
def test_a_store_that_is_gone_is_missed_and_found_again(whole: Desk) -> None:
    desk, away = whole, whole.path.with_suffix(".away")
    with desk.study("gone", 30):
        pass
    with Stream(desk.client, "gone") as events:
        desk.look_around("gone")
        os.rename(desk.path, away)
        events.hear_of("no longer there|there is no file")
        desk.check_pages("gone", "no longer there|there is no file")
        assert "there is no file" in desk.quick("/", 404, all="yes").text
        os.rename(away, desk.path)
        events.recover()
        assert desk.facts("gone")["done"] == "30"
        desk.path.unlink()
        events.hear_of("no longer there|there is no file")
        with desk.study("gone", 2):  # as a run creates it
            events.recover()
            assert desk.facts("gone")["done"] == "2"
            assert not has_trial(desk.quick("/trials", name="gone"), 3)


@pytest.mark.endurance
def test_a_store_that_another_replaces_is_opened_anew(whole: Desk, tmp_path: Path) -> None:
    desk = whole
    with desk.study("same", 30):
        pass
    kept = tmp_path / "kept.db"
    shutil.copy(desk.path, kept)
    other = Desk(desk.running, desk.client, tmp_path / "other.db")
    with other.study("same", 4), Desk(desk.running, desk.client, tmp_path / "without.db").study("else"):
        pass
    with Stream(desk.client, "same") as events:
        desk.look_around("same")
        os.replace(other.path, desk.path)
        events.hear_of("replaced by another")
        events.recover()
        assert desk.facts("same")["done"] == "4"
        os.replace(tmp_path / "without.db", desk.path)
        events.hear_of("has no study 'same'; it has: 'else'")
        answer = desk.quick("/study", name="same")
        assert "has no study" in trouble_of(answer)
        assert facts_of(answer)["done"] == "4"
        os.replace(kept, desk.path)
        events.recover()
        assert desk.facts("same")["done"] == "30"


@pytest.mark.endurance
def test_a_store_is_shown_as_it_is_and_a_newer_one_refused(whole: Desk, tmp_path: Path) -> None:
    desk, old = whole, tmp_path / "old.db"
    small_store(f"sqlite:///{old}")
    os.replace(old, desk.path)
    before = desk.path.read_bytes()
    with Stream(desk.client, "small") as events:
        events.recover()
        counts = dict.fromkeys(("done", "failed", "asked", "queued"), "1")
        assert desk.facts("small") == {"finding": "1.5 in trial 0", **counts}
        for path in ("/trials", "/model", "/parallel", "/work", "/data/parallel"):
            desk.quick(path, name="small")
        desk.quick("/trial", name="small", number=0)
        assert desk.path.read_bytes() == before
        with bopp.open_study(desk.url, "small", lease=None) as writer:
            writer.tell(2, 2.5)
        wait_for(lambda: desk.facts("small")["finding"] == "2.5 in trial 2")
        mark(desk.url, schema.newest() + 1)
        events.hear_of("use a newer bopp")
        answer = desk.quick("/study", name="small")
        assert "use a newer bopp" in trouble_of(answer)
        assert facts_of(answer)["done"] == "2"
        mark(desk.url, schema.newest())
        events.recover()
        assert trouble_of(desk.quick("/study", name="small")) == ""


@pytest.mark.endurance
def test_a_damaged_row_is_told_in_words(whole: Desk) -> None:
    desk = whole
    with desk.study("damaged", 30), Stream(desk.client, "damaged") as events:
        assert desk.facts("damaged")["done"] == "30"
        change(desk.url, "UPDATE bopp_trials SET params = replace(params, '0.03', '0.73') WHERE number = 3")
        refusal = desk.quick("/trial", name="damaged", number=3).text
        assert "trial 3 of" in refusal
        assert "the store is damaged" in refusal
        desk.quick("/trial", name="damaged", number=4)
        shutil.copy(desk.path, desk.path.with_suffix(".again"))
        os.replace(desk.path.with_suffix(".again"), desk.path)  # opened anew, every row is read
        events.hear_of("trial 3 of 'damaged' is not as bopp wrote it")
        answer = desk.quick("/study", name="damaged")
        assert "the store is damaged" in trouble_of(answer)
        assert facts_of(answer)["done"] == "30"
        change(desk.url, "UPDATE bopp_trials SET params = replace(params, '0.73', '0.03') WHERE number = 3")
        events.recover()
        desk.quick("/trial", name="damaged", number=3)


def change(url: str, statement: str) -> None:
    """Change rows behind bopp's back."""
    with engine_of(url).begin() as connection:
        connection.exec_driver_sql(statement)


def test_a_study_that_is_deleted_is_missed_until_it_is_made_anew(desk: Desk) -> None:
    with desk.study("deleted", 30):
        pass
    with Stream(desk.client, "deleted") as events:
        desk.look_around("deleted")
        delete_study(desk.url, "deleted")
        events.hear_of("has no study 'deleted'|no longer in its store")
        desk.check_pages("deleted", "has no study 'deleted'|no longer in its store")
        with desk.study("deleted", 1):
            events.recover()
            assert desk.facts("deleted")["done"] == "1"


def test_a_study_that_is_redefined_is_opened_anew(desk: Desk) -> None:
    with desk.study("narrow", 3), Stream(desk.client, "narrow") as events:
        assert "0 to 1" in desk.quick("/work", name="narrow").text
        space = {"x": Float(0, 0.75), "y": Float(0, 1)}
        with bopp.open_study(desk.url, "narrow", space, migrate=True):
            events.hear_of("another space, recipe or knowledge")
            events.recover()
        assert "0 to 0.75" in desk.quick("/work", name="narrow").text


@pytest.mark.slow
def test_a_server_that_is_stopped_or_cut_off_is_waited_for(
    postgres_server: Server, postgres_url: str
) -> None:
    space = {"x": Float(0, 1), "y": Float(0, 1)}
    with bopp.open_study(postgres_url, "far", space, recipe=Recipe.random(), lease=None) as study:
        for number in range(30):
            study.observe({"x": number / 100, "y": 0.5}, float(number))
        with dashboard(postgres_url) as running:
            desk = Desk(running, Client(running), Path("nowhere"))
            with Stream(desk.client, "far") as events:
                desk.look_around("far")
                assert postgres_server.kill_connections(postgres_url) > 0
                study.observe({"x": 0.5, "y": 0.25}, 1.0)
                wait_for(lambda: desk.facts("far")["done"] == "31")
                study.drop(30, "as before")
                wait_for(lambda: desk.facts("far")["done"] == "30")
                desk.look_around("far")
                postgres_server.stop()
                events.hear_of("has not answered")
                desk.check_pages("far", "has not answered|refused|connection")
                postgres_server.start()
                events.recover()
                study.observe({"x": 0.5, "y": 0.25}, -1.0)
                wait_for(lambda: desk.facts("far")["finding"] == "-1 in trial 31")


# Runs


OBJECTIVE = """
import os, time

def loss(x, y):
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return (x - 0.3) ** 2 + y

def moderate(params):
    return params["x"] + params["y"] < 1.5
"""
STUDY = """
[study]
name = "{name}"
store = "sqlite:///runs.db"
budget = {budget}
recipe = "{recipe}"

[objective]
python = "rules:loss"

[space]
x = {{ type = "float", low = 0.0, high = 1.0 }}
y = {{ type = "float", low = 0.0, high = 1.0 }}

[[constraint]]
name = "not both large"
python = "rules:moderate"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A dashboard over a study file, whose store does not exist yet; others of its folder share the store."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "rules.py").write_text(OBJECTIVE)
    for name, budget, recipe in (("fast", 30, "random"), ("slow", 5, "random"), ("held", 8, "default")):
        (folder / f"{name}.toml").write_text(STUDY.format(name=name, budget=budget, recipe=recipe))
    with dashboard("fast.toml", folder=folder) as running:
        yield Desk(running, Client(running), folder / "runs.db")


def run(desk: Desk, name: str, pause: float = 0.0) -> subprocess.Popen[bytes]:
    """`bopp run` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "bopp", "run", f"{name}.toml"],
        cwd=desk.path.parent,
        env={**os.environ, "PAUSE": str(pause)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_a_study_that_is_not_there_yet_is_created_by_the_first_suggestion(tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text(
        '[study]\nname = "new"\nbudget = 8\n[space]\nx = { type = "float", low = 0.0, high = 1.0 }\n'
    )
    with served(tmp_path / "new.toml") as running:
        desk = Desk(running, Client(running), tmp_path / "study.db")
        assert trouble_of(desk.quick("/study", name="new"))
        assert "new" in desk.quick("/", all="yes").text
        with Stream(desk.client, "new") as events:
            assert desk.client.change("ask", "new", count="2").status == 200
            events.recover()
            for number, value in ((0, "0.5"), (1, "0.25")):
                told = desk.client.change("tell", "new", number=number, value__value=value, note="by hand")
                assert f"trial {number} is told" in told.text
            wait_for(lambda: desk.facts("new")["finding"] == "0.25 in trial 1")


@pytest.mark.parametrize("count", ["", "0", "51", "-1", "1e1", "9" * 5000, "0000000011999999", "\u00b2"])
def test_a_number_of_settings_that_nobody_could_try_is_refused(count: str) -> None:
    with pytest.raises(ConfigError, match="1 to 50"):
        actions.ask("sqlite:///nowhere.db", "nobody", Form({"count": count}))


@pytest.mark.endurance
def test_every_change_of_a_run_arrives_and_the_page_says_what_the_command_line_says(
    runs: Desk, bopp: Bopp
) -> None:
    store = f"sqlite:///{runs.path}"
    arrived: list[tuple[float, int]] = []  # when the page showed how many finished trials
    process = run(runs, "fast", pause=0.05)
    try:
        wait_for(lambda: runs.facts("fast").get("done"))
        with Stream(runs.client, "fast") as events:
            known = 0
            while process.poll() is None or known < len(events.heard):
                if known == len(events.heard):
                    time.sleep(0.01)
                    continue
                known = len(events.heard)
                arrived.append((events.heard[known - 1][0], int(runs.facts("fast")["done"])))
    finally:
        process.kill()
        assert process.wait(PATIENCE) == 0
    wait_for(lambda: runs.facts("fast")["done"] == "30")
    trials = json.loads(bopp("trials", store, "fast", "--json").out)
    told = sorted(datetime.fromisoformat(trial["told_at"]).timestamp() for trial in trials)
    late = []
    for count, at in enumerate(told, 1):
        if at > arrived[0][0] and (seen := [when for when, done in arrived if done >= count]):
            late.append(seen[0] - at)
    assert len(late) > 5
    assert median(late) < SOON  # 0.3 s on an idle machine
    shown = runs.facts("fast")
    best = json.loads(bopp("best", runs.path.parent / "fast.toml", "--json").out)
    status = bopp("status", runs.path.parent / "fast.toml").out
    assert f"{best['value']:.6g} in trial {best['number']}" == shown["finding"]
    said = dict(line.split(None, 1) for line in status.splitlines() if len(line.split(None, 1)) == 2)
    assert [said[key] for key in ("best", "done", "failed", "asked", "queued")] == [
        shown[key] for key in ("finding", "done", "failed", "asked", "queued")
    ]
    states = [trial["state"] for trial in trials]
    assert [states.count("done"), states.count("failed")] == [int(shown["done"]), int(shown["failed"])]


@pytest.mark.endurance
def test_a_worker_that_is_killed_is_said_to_be_silent_and_another_takes_over(runs: Desk) -> None:
    def held() -> str:
        text = runs.quick("/study", name="slow").text
        return text[text.find('id="workers"') : text.find('id="latest"')]

    first = run(runs, "slow", pause=600)
    try:
        wait_for(lambda: f"/{first.pid}" in held() and "lease of" in held())
        first.send_signal(signal.SIGKILL)
        first.wait(PATIENCE)
        began = time.monotonic()
        wait_for(lambda: "its worker fell silent" in held())
        assert time.monotonic() - began < SOON
        second = run(runs, "slow", pause=600)
        try:
            wait_for(lambda: f"/{second.pid}" in held() and "lease of" in held())
            assert f"/{first.pid}" not in held()
            assert "fell silent" not in held()
        finally:
            second.kill()
            second.wait(PATIENCE)
    finally:
        first.kill()
        first.wait(PATIENCE)


# Studies of every kind


def goals(x: float, y: float) -> dict[str, float]:
    return {"a": x, "b": y - x, "memory": x + y}


KINDS: dict[str, tuple[Problem, Callable[..., Any], list[Any]]] = {
    "goals": (Problem(SPACE, {"a": "minimize", "b": "maximize"}, [AtMost("memory", 1.0)]), goals, []),
    "knowing": (
        Problem(SPACE),
        lambda x, y: (x - 0.3) ** 2 + y,
        [pseudo.Guesses(values=[({"x": 0.3, "y": 0.0}, 0.0, 0.1)]), pseudo.Limits(at_least=0.0)],
    ),
    "conditional": (
        Problem({"way": Choice(["rest", "stir"]), "speed": Int(1, 9, when={"way": ["stir"]}), **SPACE}),
        lambda way, x, y, speed=0: x + y + speed / 10,
        [],
    ),
    "cheap": (Problem(SPACE, fidelities={"epochs": [1, 9]}), lambda x, y, epochs: x + y + 1 / epochs, []),
}


ENDURED = [pytest.param(kind, marks=pytest.mark.endurance) for kind in ("conditional", "cheap", "held")]


@pytest.mark.parametrize("kind", ["goals", "knowing", *ENDURED])
def test_every_page_of_every_kind_of_study_shows_what_it_should(
    kind: str, request: pytest.FixtureRequest
) -> None:
    desk: Desk = request.getfixturevalue("runs" if kind == "held" else "desk")
    if kind == "held":
        assert run(desk, "held").wait(PATIENCE) == 0
    else:
        problem, objective, knowledge = KINDS[kind]
        with bopp.open_study(desk.url, kind, problem, knowledge=knowledge) as study:
            study.optimize(objective, budget=8, progress=False)

    def page(path: str, words: str, **query: object) -> str:
        """A page, once it says this."""

        def look() -> str | None:
            text = desk.quick(path, name=kind, **query).text
            return text if re.search(words, text) else None

        return str(wait_for(look))

    with bopp.open_study(desk.url, kind, read_only=True) as study:
        last = next(trial for trial in reversed(study.trials) if trial.state == "done")
        broken = [trial for trial in study.trials if broken_by(study.problem, trial)]
        said = remark(study.problem, last)
        cells = [last.values[name] for name in study.problem.names]
        cells += [last.params.get(name, "") for name in study.space.parameters]
    overview = page("/study", 'id="finding"')
    finding = desk.facts(kind)["finding"]
    assert trouble_of(desk.quick("/study", name=kind)) == ""
    table = Elements(page("/trials", f'id="trial-{last.number}"'))
    shown = [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in cells]
    assert table.row_of(last.number) == ["done", *shown, said]
    assert len(table.having(**{"class": "done broken"})) == len(broken)
    why = page("/trial", "<dt>how</dt>", number=last.number)
    assert "<dt>expected</dt>" in why
    model = page("/model", "%")
    assert "This study cannot be shown" not in page("/work", "What to try next")
    page("/parallel", "data-chart")
    parallel = json.loads(desk.quick("/data/parallel", name=kind).text)
    assert parallel["lines"]
    assert desk.quick("/trials.csv", name=kind).text.count("\n") > 8
    if kind == "goals":
        front = json.loads(desk.quick("/data/front", name=kind).text)
        best = [n for n, place in zip(front["numbers"], front["places"], strict=True) if place == "front"]
        assert finding == f"front of {len(best)}"
        assert "memory \N{LESS-THAN OR EQUAL TO} 1" in overview
        assert json.loads(desk.quick("/data/parallel", name=kind, objective="b").text)["lines"]
        page("/model", "%", objective="memory")
    else:
        assert re.fullmatch(r"[-\d.e]+ in trial \d+", finding)
        assert json.loads(desk.quick("/data/convergence", name=kind).text)["numbers"]
    if kind == "knowing":
        assert "Limits" in page("/model", "trust")
        assert "Known besides" in why
    if kind == "held":
        assert "not both large" in overview
        assert "cannot be told here" not in overview
    if kind == "cheap":
        assert "epochs" in model


async def heard() -> list[bool]:
    """What is told of a change that comes while the one before, or that there was none, is being told."""
    watch = StudyWatch("sqlite:///nowhere.db", "nobody")
    changes = watch.changes(watch.version, 0.2)
    try:
        while await anext(changes):  # until it is known that there is no such file
            pass
        watch.version += 1
        told = [await anext(changes)]
        watch.version += 1
        told.append(await anext(changes))
        return [*told, await anext(changes)]
    finally:
        watch.close()


def test_a_change_that_comes_while_another_is_told_is_not_lost() -> None:
    assert asyncio.run(heard()) == [True, True, False]


# What is computed beside


def computing(running: Dashboard) -> list[int]:
    """The processes beside a dashboard."""
    children = Path(f"/proc/{running.process.pid}/task").glob("*/children")
    pids = [int(word) for file in children for word in file.read_text().split()]
    return [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.endurance
def test_a_picture_whose_process_is_killed_is_said_to_be_and_drawn_the_next_time(other_process: Desk) -> None:
    desk, running = other_process, other_process.running
    assert isinstance(running, Dashboard)
    with desk.study("drawn", 60):
        pass
    answers: list[Answer] = []

    def ask() -> None:
        answers.append(desk.client.get("/picture", name="drawn", kind="contour"))

    def killed() -> bool:
        """Kill whatever computes until the picture is answered."""
        for pid in computing(running):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(answers)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_for(killed)
    asking.join(PATIENCE)
    assert "was killed" in answers[0].text
    again = desk.client.get("/picture", name="drawn", kind="contour")
    assert again.status == 200
    assert again.content.startswith(b"\x89PNG")


@pytest.mark.endurance
def test_a_dashboard_ends_at_once_though_its_store_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with bopp.open_study(f"sqlite:///{path}", "locked", SPACE):
        pass
    with dashboard(f"sqlite:///{path}") as running:
        client = Client(running)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            client.get("/study", name="locked")
            other.execute("BEGIN EXCLUSIVE")
            client.get("/study", name="locked")
            began = time.monotonic()
            running.stop()
            assert time.monotonic() - began < SOON
