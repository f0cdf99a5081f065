"""Studies of several values on the command line: declared in a file, told by hand, run as programs."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

from bopp import Problem, open_study
from bopp.constraint import Holds, Linear
from support.commands import Bopp
from support.studies import assert_refused
from support.studies import url_of as url

STUDY = """
[study]
name = "oven"
budget = 4
recipe = "random"
objectives = { error = "minimize", latency = "minimize" }
reference = { error = 2.0, latency = 100.0 }

[space]
degrees = { type = "float", low = 20, high = 80 }
minutes = { type = "int", low = 5, high = 60 }

[[constraint]]
name = "memory"
at_most = 16.0

[[constraint]]
linear = { degrees = 1.0, minutes = 2.0 }
at_most = 150.0
"""
SHORT = """
[[constraint]]
name = "short"
python = "baking:short"
"""
BAKING = """
def short(params):
    return params["minutes"] < 30


def loss(params):
    return {"error": params["degrees"], "latency": None if params["minutes"] > 15 else 3.0, "memory": 2.0}
"""
PROGRAM = """
import json, sys
error, latency = float(sys.argv[1]), None if int(sys.argv[2]) > 30 else 3.0
print(json.dumps({"error": error, "latency": latency, "memory": 2, "host": "b"}))
"""


@pytest.fixture
def here(here: Path) -> Path:
    (here / "study.toml").write_text(STUDY)
    (here / "baking.py").write_text(BAKING)
    return here


def test_values_are_told_one_after_the_other(here: Path, bopp: Bopp) -> None:
    assert bopp("ask", "--count", "2").code == 0
    told = bopp("tell", "0", "error=0.1,latency=none,memory=NONE")
    assert (told.code, told.err.count("not measured")) == (0, 2)
    assert bopp("tell", "0", "error=none,latency=3,memory=2").code == 0
    assert_refused(bopp("tell", "0", "error=0.2,latency=none,memory=none"), 2, "already")
    assert bopp("tell", "1", "error=none,latency=7,memory=none").code == 0
    assert "None" not in bopp("trials").out
    values = [row["values"] for row in json.loads(bopp("trials", "--json").out)]
    assert values[0] == {"error": 0.1, "latency": 3.0, "memory": 2.0}
    assert values[1] == {"error": None, "latency": 7.0, "memory": None}
    amended = bopp("amend", "1", "error=0.5,latency=none,memory=1", "--reason", "mixed up")
    assert "is now error 0.5, latency not measured, memory 1.0" in amended.err


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("error=0.1", "got none of latency, memory"),
        ("error=0.1,latency=3", "got none of memory"),
        ("0.1", "error=...,latency=...,memory=..."),
        ("error=none,latency=none,memory=none", "error or latency or memory"),
        ("error=non,latency=3,memory=1", "'non'"),
        ("none", "error=...,latency=...,memory=..."),
        ("eror=0.1,latency=3,memory=7", "got none of error"),
        ("error=0.1,latency=3,memory=7,memory=8", "each once"),
        ("=5", "each once"),
    ],
)
def test_a_slip_is_no_gap(here: Path, bopp: Bopp, text: str, named: str) -> None:
    bopp("ask")
    assert_refused(bopp("tell", "0", text), 2, named)
    with open_study(url(here), "oven", read_only=True) as study:
        assert study.trials[0].state == "asked"


def test_the_file_is_the_problem(here: Path, bopp: Bopp) -> None:
    (here / "study.toml").write_text(STUDY + SHORT)
    assert bopp("ask", "--count", "3").code == 0
    with open_study(url(here), "oven", read_only=True) as study:
        _, linear, _ = study.problem.constraints
        assert isinstance(linear, Linear)
        assert all(trial.params["minutes"] < 30 for trial in study.trials)
        assert all(linear(trial.params) for trial in study.trials)
    for old, new, named in (
        ("latency = 100.0", "latency = 99.0", "reference"),
        ("at_most = 16.0", "at_most = 17.0", "constraints"),
        ('latency = "minimize"', 'latency = "maximize"', "objectives"),
        ("baking:short", "baking:loss", "constraints"),
    ):
        (here / "study.toml").write_text((STUDY + SHORT).replace(old, new))
        assert_refused(bopp("ask"), 2, f"'oven' has {named}")


def test_a_function_and_a_program_leave_gaps(here: Path, bopp: Bopp) -> None:
    (here / "train.py").write_text(PROGRAM)
    program = f"{shlex.quote(sys.executable)} train.py {{degrees}} {{minutes}}"
    for name, objective in (("a", 'python = "baking:loss"'), ("b", f"command = '''{program}'''")):
        text = STUDY.replace('"oven"', f'"{name}"').replace("budget = 4", "budget = 8")
        (here / "study.toml").write_text(text + f"\n[objective]\n{objective}\n" + SHORT * (name == "a"))
        bopp("run")
        with open_study(url(here), name, read_only=True) as study:
            assert [trial.state for trial in study.trials] == ["done"] * 8
            longest = 15 if name == "a" else 30
            for trial in study.trials:
                assert trial.unmeasured == (["latency"] if trial.params["minutes"] > longest else [])


def test_a_worker_keeps_to_the_conditions_of_its_file(here: Path, bopp: Bopp) -> None:
    text = STUDY + '\n[objective]\npython = "baking:loss"\n' + SHORT
    (here / "study.toml").write_text(text)
    assert_refused(bopp("worker", url(here), "oven", "--file", "study.toml"), 2, "no file")
    assert bopp("ask").code == 0
    assert bopp("tell", "0", "error=1,latency=none,memory=none").code == 0
    bopp("worker")
    with open_study(url(here), "oven", read_only=True) as study:
        assert [trial.state for trial in study.trials] == ["done"] * 4
        assert all(trial.params["minutes"] < 30 for trial in study.trials)


def test_one_that_is_opened_in_python_is_the_same(here: Path, bopp: Bopp) -> None:
    (here / "study.toml").write_text(STUDY + SHORT)
    assert bopp("ask").code == 0
    baking = import_module("baking")
    with open_study(url(here), "oven", read_only=True) as study:
        known = study.problem
    constraints = [*known.constraints[:2], Holds("short", baking.short)]
    problem = Problem(known.space, known.objectives, constraints, reference=known.reference)
    with open_study(url(here), "oven", problem, lease=None) as study:
        assert study.ask().params["minutes"] < 30
