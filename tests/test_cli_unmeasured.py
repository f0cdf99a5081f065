"""Studies of several values on the command line: declared in a file, told by hand, run as programs."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from bopp import AtMost, Problem, open_study
from bopp.constraint import Holds, Linear
from support.commands import Bopp

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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "baking.py").write_text(BAKING)
    sys.modules.pop("baking", None)
    yield tmp_path
    sys.modules.pop("baking", None)


def url(here: Path) -> str:
    return f"sqlite:///{here}/study.db"


def test_values_are_told_one_after_the_other(here: Path, bopp: Bopp) -> None:
    assert bopp("ask", "--count", "2").code == 0
    told = bopp("tell", "0", "error=0.1,latency=none,memory=NONE")
    assert (told.code, told.err.strip()) == (
        0,
        "trial 0 done: error 0.1, latency not measured, memory not measured",
    )
    assert bopp("tell", "0", "error=none,latency=3,memory=2").code == 0
    with open_study(url(here), "oven", read_only=True) as study:
        assert study.trials[0].values == {"error": 0.1, "latency": 3.0, "memory": 2.0}
    assert "already" in bopp("tell", "0", "error=0.2,latency=none,memory=none").err
    assert bopp("tell", "1", "error=none,latency=7,memory=none").code == 0
    shown = bopp("trials").out
    assert "None" not in shown
    assert [row["values"] for row in json.loads(bopp("trials", "--json").out)] == [
        {"error": 0.1, "latency": 3.0, "memory": 2.0},
        {"error": None, "latency": 7.0, "memory": None},
    ]
    amended = bopp("amend", "1", "error=0.5,latency=none,memory=1", "--reason", "mixed up")
    assert amended.err.strip() == (
        "trial 1: error not measured, latency 7.0, memory not measured is now "
        "error 0.5, latency not measured, memory 1.0"
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("error=0.1", "got 'error=0.1', without latency, memory"),
        (
            "error=0.1,latency=3",
            "none for one that was not measured, got 'error=0.1,latency=3', without memory",
        ),
        ("0.1", "wanted error=...,latency=...,memory=..., each once"),
        ("error=none,latency=none,memory=none", "wanted a number as error or latency or memory"),
        ("error=non,latency=3,memory=1", "wanted a number as error, got 'non'"),
        ("none", "wanted error=...,latency=...,memory=..., each once"),
    ],
)
def test_a_slip_is_no_gap(here: Path, bopp: Bopp, text: str, complaint: str) -> None:
    bopp("ask")
    ended = bopp("tell", "0", text)
    assert ended.code == 2
    assert complaint in ended.err
    with open_study(url(here), "oven", read_only=True) as study:
        assert study.trials[0].state == "asked"


def test_a_table_with_gaps_goes_out_and_comes_in(here: Path, bopp: Bopp) -> None:
    (here / "earlier.csv").write_text(
        "degrees,minutes,error,latency,memory\n30,10,1,,2\n40,10,,7,2\n50,10,,,\n"
    )
    assert "3 trials added, 1 of them failed" in bopp("observe", "--csv", "earlier.csv").err
    (here / "again.csv").write_text(bopp("trials", "--csv").out)
    assert "3 trials added, 1 of them failed" in bopp("observe", "--csv", "again.csv").err
    with open_study(url(here), "oven", read_only=True) as study:
        first, second = study.trials[:3], study.trials[3:]
    assert [trial.values for trial in first] == [trial.values for trial in second]
    assert first[0].values == {"error": 1.0, "latency": None, "memory": 2.0}


def test_the_file_is_the_problem(here: Path, bopp: Bopp) -> None:
    (here / "study.toml").write_text(STUDY + SHORT)
    assert bopp("ask", "--count", "3").code == 0
    with open_study(url(here), "oven", read_only=True) as study:
        problem = study.problem
        assert problem.objectives == {"error": "minimize", "latency": "minimize"}
        assert problem.reference == {"error": 2.0, "latency": 100.0}
        limit, linear, short = problem.constraints
        assert limit == AtMost("memory", 16.0)
        assert linear == Linear({"degrees": 1.0, "minutes": 2.0}, at_most=150.0)
        assert isinstance(short, Holds)
        assert all(trial.params["minutes"] < 30 for trial in study.trials)
        assert all(linear(trial.params) for trial in study.trials)
    for old, new, named in (
        ("latency = 100.0", "latency = 99.0", "reference"),
        ("at_most = 16.0", "at_most = 17.0", "constraints"),
        ('latency = "minimize"', 'latency = "maximize"', "objectives"),
        ("baking:short", "baking:loss", "constraints"),
    ):
        (here / "study.toml").write_text((STUDY + SHORT).replace(old, new))
        ended = bopp("ask")
        assert ended.code == 2
        assert f"'oven' has {named}" in ended.err


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
    ended = bopp("worker", url(here), "oven", "--file", "study.toml")
    assert ended.code == 2
    assert "there is no file" in ended.err
    assert bopp("ask").code == 0
    assert bopp("tell", "0", "error=1,latency=none,memory=none").code == 0
    bopp("worker", url(here), "oven", "--file", "study.toml")
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
