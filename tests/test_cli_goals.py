"""The command line with several objectives and constraints."""

import json
from pathlib import Path

import pytest

from bopp import AtMost, Float, Problem, open_study
from support.commands import Bopp
from support.studies import assert_refused

PROBLEM = Problem({"x": Float(0, 1)}, {"error": "minimize", "speed": "maximize"}, [AtMost("memory", 16.0)])
ROWS = [(3.0, 1.0, 1.0), (1.0, 2.0, 17.25), (2.0, 1.5, 3.0), (2.5, 4.0, 4.0)]

FILE = """
[study]
name = "traded"
store = "sqlite:///traded.db"
budget = 4
objectives = { error = "minimize", speed = "maximize" }

[objective]
python = "traded_here:measured"

[space]
x = { type = "float", low = 0.0, high = 1.0 }

[[constraint]]
name = "memory"
at_most = 16.0
"""
OBJECTIVE = """
def measured(x):
    return {'error': x, 'speed': 2 * x, 'memory': %s}


def short(params):
    return params['x'] < 0.9
"""


@pytest.fixture
def traded(here: Path) -> str:
    """The URL of a study with a front of two, and one trial that breaks its constraint."""
    url = f"sqlite:///{here}/a.db"
    with open_study(url, "traded", PROBLEM) as study:
        for place, (error, speed, memory) in enumerate(ROWS):
            study.observe({"x": place / 4}, {"error": error, "speed": speed, "memory": memory})
    return url


def write(folder: Path, memory: str, more: str = "") -> None:
    """A study file, and its objective."""
    (folder / "study.toml").write_text(FILE + more)
    (folder / "traded_here.py").write_text(OBJECTIVE % memory)


def test_best_is_the_front(bopp: Bopp, traded: str) -> None:
    lines = bopp("best", traded).out.splitlines()
    assert lines[0].split() == ["trial", "state", "error", "speed", "memory", "x", "remark"]
    assert [line.split()[:5] for line in lines[1:]] == [
        ["2", "done", "2", "1.5", "3"],
        ["3", "done", "2.5", "4", "4"],
    ]
    rows = json.loads(bopp("best", traded, "--json").out)
    assert [row["number"] for row in rows] == [2, 3]
    assert rows[0]["params"] == {"x": 0.5}


def test_a_front_of_nothing_has_the_exit_code_of_no_best(bopp: Bopp, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    with open_study(url, "p", PROBLEM) as study:
        assert_refused(bopp("best", url), 4)
        study.observe({"x": 0.5}, {"error": 1.0, "speed": 1.0, "memory": 17.0})
    assert_refused(bopp("best", url), 4, "none of 1 finished trials")


def test_status_counts_the_front_and_trials_say_what_they_break(bopp: Bopp, traded: str) -> None:
    assert "front of 2" in bopp("status", traded).out
    assert bopp("status", traded, "traded").out.splitlines()[4].split() == ["best", "front", "of", "2"]
    rows = bopp("trials", traded).out.splitlines()
    assert rows[2].endswith("memory 17.25 > 16")
    assert rows[1].split()[-1] == "0"


def test_pictures_of_several_objectives_and_of_one(bopp: Bopp, traded: str) -> None:
    drawn = bopp("plot", traded, "--out", "all")
    assert drawn.code == 0
    names = {Path(line).name for line in drawn.out.splitlines()}
    assert names == {f"{kind}.{ending}" for kind in ("convergence", "front") for ending in ("png", "svg")}
    assert "timeline" in drawn.err  # all were observed elsewhere
    assert "--objective with one of error, speed" in drawn.err
    assert_refused(bopp("plot", traded, "--kind", "slices"), 2, "--objective with one of error, speed")
    for name in ("speed", "memory"):
        one = bopp("plot", traded, "--kind", "slices", "--objective", name, "--out", name)
        assert (one.code, len(one.out.splitlines())) == (0, 2)
    assert_refused(bopp("plot", traded, "--objective", "size"), 2, "size")
    assert_refused(bopp("plot", traded, "--kind", "front", "--objective", "speed"), 2, "several objectives")


@pytest.mark.parametrize(("memory", "code"), [("1.0", 0), ("20.0", 4)])
def test_a_run_ends_with_its_front(bopp: Bopp, here: Path, memory: str, code: int) -> None:
    write(here, memory)
    ended = bopp("run")
    assert ended.code == code, ended.err
    if code:
        assert "(memory 20 > 16); front of 0" in ended.err
        assert "none of 4 finished trials" in ended.err
    else:
        assert "4 trials in sqlite:///" in ended.err
        assert ended.out.splitlines()[0].split()[:2] == ["trial", "state"]
        assert len(ended.out.splitlines()) > 1


def test_looking_takes_the_functions_that_a_study_file_names(bopp: Bopp, here: Path) -> None:
    write(here, "20 * x", "\n[[constraint]]\nname = 'short'\npython = 'traded_here:short'\n")
    assert bopp("run").code == 0
    assert "error=...,speed=...,memory=..." in bopp("ask").err
    assert "front of" in bopp("status", "study.toml", "traded").out
    assert bopp("best").code == 0
    url = "sqlite:///traded.db"
    assert "cannot be told here" in bopp("status", url).out
    assert "passed in" not in bopp("trials", url).out
