"""The command line with spaces and objectives as people write them: steps, conditions, fixed values."""

import csv
import io
import json
from pathlib import Path

import pytest

from bopp import open_study
from bopp.trial import Trial
from support.commands import Bopp
from support.studies import assert_refused

STUDY = """
[study]
name = "oven"
budget = 6

[objective]
python = "baking:{function}"

[space]
degrees = {{ type = "float", low = 20, high = 80, step = 0.5 }}
volume = {{ type = "int", low = 10, high = 200, step = 10 }}
method = {{ type = "choice", options = ["stir", "shake", "leave"] }}
speed = {{ type = "int", low = 100, high = 900, step = 100, when = {{ method = ["stir", "shake"] }} }}
blade = {{ type = "choice", options = ["flat", "bent"], when = {{ method = "stir" }} }}
sizes = {{ type = "choice", options = [[1, 2], [3]] }}
epochs = {{ type = "fixed", value = 30 }}
"""
CODE = """
import asyncio


def residue(degrees, volume, method, sizes, epochs, speed=0, blade=None):
    assert (type(degrees), type(volume), epochs) == (float, int, 30)
    assert (speed > 0, blade is not None) == (method != "leave", method == "stir")
    return (degrees - 48) ** 2 / 100 + abs(speed - 400) / 100 + volume / 200 + len(sizes)


async def later(**params):
    await asyncio.sleep(0)
    return residue(**params)


def misspelt(degrees, volume, methods, sizes, epochs, speed=0, blade=None):
    return 0.0


def strict(degrees, volume, method, sizes, epochs, speed, blade):
    return 0.0
"""


@pytest.fixture
def here(here: Path) -> Path:
    """A folder with the objectives, in which the commands are called."""
    (here / "baking.py").write_text(CODE)
    (here / "study.toml").write_text(STUDY.format(function="residue"))
    return here


@pytest.mark.parametrize("function", ["residue", "later"])
def test_an_objective_by_keyword_or_async_is_run(bopp: Bopp, here: Path, function: str) -> None:
    (here / "study.toml").write_text(STUDY.format(function=function))
    ended = bopp("run", "--workers", 2)
    assert ended.code == 0, ended.err
    with open_study(f"sqlite:///{here}/study.db", "oven", read_only=True) as study:
        assert [trial.state for trial in study.trials] == ["done"] * 6


@pytest.mark.parametrize(("function", "words"), [("misspelt", ["methods"]), ("strict", ["speed", "blade"])])
def test_an_objective_that_does_not_fit_is_named_before_the_run(
    bopp: Bopp, here: Path, function: str, words: list[str]
) -> None:
    (here / "study.toml").write_text(STUDY.format(function=function))
    assert_refused(bopp("run"), 2, *words)
    assert json.loads(bopp("trials", "--json").out) == []


def test_trials_that_lack_a_parameter_have_an_empty_cell(bopp: Bopp, here: Path) -> None:
    leave = ["degrees=48.3", "volume=15", "method=leave", "sizes=(3,)"]  # what is fixed may be left out
    stir = ["degrees=48", "volume=20", "method=stir", "speed=400", "blade=bent", "epochs=30"]
    assert bopp("observe", 3, *leave).code == 0
    assert bopp("observe", 2, *stir, "sizes=(1, 2)").code == 0
    lines = bopp("trials").out.splitlines()
    header = lines[0]
    assert lines[1][header.index("speed") : header.index("sizes")].strip() == ""
    assert lines[2][header.index("speed") : header.index("sizes")].split() == ["400", "bent"]
    rows = list(csv.DictReader(io.StringIO(bopp("trials", "--csv").out)))
    assert [(row["method"], row["speed"], row["blade"]) for row in rows] == [
        ("leave", "", ""),
        ("stir", "400", "bent"),
    ]
    records = json.loads(bopp("trials", "--json").out)
    assert list(records[0]["params"]) == ["degrees", "volume", "method", "sizes", "epochs"]
    assert "blade" in bopp("best").out
    assert json.loads(bopp("best", "--json").out)["params"]["sizes"] == [1, 2]
    assert "speed, blade" in bopp("status").out


def test_a_queued_part_is_asked_for_told_exported_and_imported(bopp: Bopp, here: Path) -> None:
    assert "1 in the queue" in bopp("enqueue", "blade=bent", "degrees=30.25").err
    assert "2 in the queue" in bopp("enqueue", "method=leave").err
    first, second = json.loads(bopp("ask", "--count", 2, "--json").out)
    assert (first["params"]["method"], first["params"]["blade"]) == ("stir", "bent")
    assert first["params"]["degrees"] == 30.25
    assert {"speed", "blade"}.isdisjoint(second["params"])
    assert second["params"]["method"] == "leave"
    assert bopp("tell", 0, 1.5).code == 0
    assert bopp("tell", 1, "--failed", "burnt").code == 0
    assert bopp("export", "--out", "oven.jsonl").code == 0
    assert bopp("import", "oven.jsonl", "sqlite:///other.db").code == 0
    assert bopp("trials", "sqlite:///other.db").out == bopp("trials").out


def test_a_dropped_trial_whose_params_no_longer_fit_is_shown(
    bopp: Bopp, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bopp("observe", 3, "degrees=48", "volume=10", "method=leave", "sizes=(3,)")
    old = Trial(1, {"degrees": 48.0, "oven": "old"}, "dropped")
    with open_study(f"sqlite:///{here}/study.db", "oven", read_only=True) as study:
        trials = (*study.trials, old)
    monkeypatch.setattr("bopp.study.study.Study.trials", property(lambda _: trials))
    assert [line.split()[:3] for line in bopp("trials").out.splitlines()[2:]] == [["1", "dropped", "48"]]
    rows = list(csv.DictReader(io.StringIO(bopp("trials", "--csv").out)))
    assert (rows[1]["state"], rows[1]["degrees"], rows[1]["volume"]) == ("dropped", "48.0", "")
    assert json.loads(bopp("trials", "--json").out)[1]["params"] == {"degrees": 48.0, "oven": "old"}
