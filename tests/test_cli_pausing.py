"""bopp pause and bopp resume, and what the other commands do with a paused study."""

from __future__ import annotations

import re
import shlex
import signal
import time
from pathlib import Path

import pytest

import bopp as library
from bopp import Recipe, Study
from support.commands import Bopp
from support.studies import PARAMETERS, assert_plain, assert_refused, started, url_of, wait_for, written

OVEN = "the oven is being cleaned"
SLOW = """
import time
from pathlib import Path


def loss(params):
    time.sleep(0.02 if Path("fast").exists() else 0.6)
    return params["x"]
"""


@pytest.fixture
def here(here: Path) -> Path:
    """A folder with a study file whose study has no trial yet, in which the commands are called."""
    written(here, code=SLOW, recipe="random", budget=6, workers=2)
    opened(here).close()
    return here


def opened(where: Path | str) -> Study:
    url = where if isinstance(where, str) else url_of(where)
    return library.open_study(url, "a study", PARAMETERS, recipe=Recipe.random())


def states(study: Study) -> list[str]:
    return [trial.state for trial in study.trials]


@pytest.mark.parametrize("source", ["folder", "file name", "sqlite", "postgres name"])
def test_a_study_is_paused_and_resumed_from_every_source(
    bopp: Bopp, here: Path, source: str, request: pytest.FixtureRequest
) -> None:
    where, _, named = source.partition(" ")
    url = str(request.getfixturevalue("postgres_url")) if where == "postgres" else url_of(here)
    words = {"folder": [], "file": [str(here / "study.toml")]}.get(where, [url]) + ["a study"] * bool(named)
    with opened(url) as study:
        ended = bopp("pause", *words, "--reason", OVEN)
        assert (ended.code, ended.out) == (0, "")
        assert shlex.split(ended.err.rpartition("To go on: ")[2]) == ["bopp", "resume", *words]
        pause = study.paused
        assert pause is not None
        assert pause.reason == OVEN
        ended = bopp("pause", *words, "--reason", "another")
        assert (ended.code, f"{pause} already" in ended.err, study.paused) == (0, True, pause)
        ended = bopp("resume", *words)
        assert (ended.code, str(pause) in ended.err, study.paused) == (0, True, None)
        ended = bopp("resume", *words)
        assert (ended.code, "not paused" in ended.err) == (0, True)


@pytest.mark.endurance
def test_no_password_is_shown(bopp: Bopp, here: Path, postgres_url: str) -> None:
    opened(postgres_url).close()
    ended = bopp("pause", postgres_url.replace("postgres@", "postgres:s3cret@"))
    assert (ended.code, "s3cret" in ended.err) == (0, False)


def test_status_has_a_line_for_a_pause_alone(bopp: Bopp, here: Path) -> None:
    assert "paused" not in bopp("status").out
    for reason, shown in ((None, ""), ("why \x1b[2J\nnot", ": why \\x1b[2J not")):
        bopp("pause", *([] if reason is None else ["--reason", reason]))
        ended = bopp("status")
        facts = dict(re.split(r"  +", line, maxsplit=1) for line in ended.out.splitlines() if "  " in line)
        since = r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00:00"
        assert re.fullmatch(since + re.escape(shown), facts["paused"])
        assert_plain(ended.out)
        bopp("resume")
    assert "paused" not in bopp("status").out


def test_what_is_asked_by_hand_is_refused(bopp: Bopp, here: Path) -> None:
    bopp("pause", "--reason", OVEN)
    assert_refused(bopp("ask"), 2, "'a study'", OVEN, "bopp resume")
    assert bopp("enqueue", "x=0.25", "y=1").code == 0
    bopp("resume")
    assert bopp("ask").code == 0


@pytest.mark.endurance
def test_a_run_with_two_workers_waits_and_goes_on(bopp: Bopp, here: Path) -> None:
    with started(here, "run") as run, opened(here) as study:
        wait_for(lambda: "done" in states(study), "nothing was told")
        assert bopp("pause", "--reason", OVEN).code == 0
        wait_for(lambda: "asked" not in states(study), "what was under way was not told")
        there = len(study.trials)
        assert there < 6
        time.sleep(0.7)
        assert states(study) == ["done"] * there
        assert run.process.poll() is None
        pause = study.paused
        (here / "fast").touch()
        assert bopp("resume").code == 0
        ended = run.end()
        assert ended.code == 0
        assert states(study) == ["done"] * 6
    lines = [line.split(":")[0] for line in ended.err.splitlines()]
    assert [line for line in lines if line.endswith(" of 6")] == [f"{n} of 6" for n in range(1, 7)]
    assert ended.err.count(f"paused {pause}; to go on: bopp resume study.toml\n") == 1


@pytest.mark.parametrize(
    ("number", "command"),
    [(signal.SIGINT, "run"), pytest.param(signal.SIGTERM, "worker", marks=pytest.mark.endurance)],
)
def test_ctrl_c_ends_a_wait(bopp: Bopp, here: Path, number: int, command: str) -> None:
    bopp("pause")
    words = ["study.toml"] if command == "run" else [url_of(here), "a study"]
    with started(here, command, *words) as waiting:

        def said() -> bool:
            return b"paused since" in Path(f"/proc/self/fd/{waiting.err.fileno()}").read_bytes()

        wait_for(said, "nothing was said")
        time.sleep(0.1)
        waiting.process.send_signal(number)
        ended = waiting.end()  # within PATIENCE; without a signal it would wait for good
    assert (ended.code, ended.out) == (130, "")
    first, last = (shlex.split(line.rpartition("o go on: ")[2]) for line in ended.err.splitlines())
    assert first == ["bopp", "resume", *words]
    assert last[: 2 + len(words)] == ["bopp", command, *words]
    with opened(here) as study:
        assert study.trials == ()
