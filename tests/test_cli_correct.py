from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from bopp import open_study
from support.commands import Bopp
from support.studies import assert_refused

STUDY = """
[study]
name = "oven"
budget = 6
recipe = "random"

[objective]
python = "baking:loss"

[space]
degrees = { type = "float", low = 20, high = 80, step = 0.5 }
minutes = { type = "int", low = 5, high = 60 }
"""
BUG = "def loss(params):\n    return params['degree']\n"
FIXED = "def loss(params):\n    return params['degrees']\n"


@pytest.fixture
def here(here: Path) -> Path:
    (here / "study.toml").write_text(STUDY)
    (here / "baking.py").write_text(BUG)
    return here


def mend(here: Path) -> None:
    (here / "baking.py").write_text(FIXED)
    sys.modules.pop("baking")


def states(here: Path) -> list[str]:
    with open_study(f"sqlite:///{here}/study.db", "oven", read_only=True) as study:
        return [trial.state for trial in study.trials]


def test_a_bug_is_shown_mended_and_forgotten(here: Path, bopp: Bopp) -> None:
    ended = bopp("run")
    assert ended.code == 5
    for words in ("KeyError: 'degree'", 'baking.py", line 2, in loss', "--failures continue"):
        assert words in ended.err
    assert "failed: KeyError: 'degree' (baking.py, line 2)" in ended.err
    assert states(here) == ["asked"] * 3
    assert bopp("trials", "--errors").out.count("KeyError: 'degree'") == 3
    assert "failed before: " in bopp("trials").out
    mend(here)
    assert bopp("run").code == 0
    assert states(here) == ["done"] * 6


def test_who_goes_on_regardless_can_retry(here: Path, bopp: Bopp) -> None:
    assert bopp("run", "--failures", "continue", "--budget", 4).code == 4
    (here / "study.toml").write_text(STUDY.replace("budget = 6", 'budget = 6\nfailures = "continue"'))
    assert bopp("run").code == 4
    assert states(here) == ["failed"] * 6
    assert "(baking.py, line 2)" in bopp("trials").out
    mend(here)
    assert bopp("retry", "2", "4", "--reason", "mended").err.endswith(": 2, 4\n")
    assert bopp("retry").err.endswith(": 0, 1, 3, 5\n")
    assert bopp("retry").err == "No trial has failed\n"
    assert bopp("run").code == 0
    assert states(here) == ["done"] * 6
    (here / "study.toml").write_text(STUDY.replace("budget = 6", 'budget = 6\nfailures = "go"'))
    assert_refused(bopp("run"), 2, "failures", '"go"')


def test_a_program_that_does_not_exist_stops_at_once(here: Path, bopp: Bopp) -> None:
    command = 'command = "no-such-program {degrees} {minutes}"'
    (here / "study.toml").write_text(STUDY.replace('python = "baking:loss"', command))
    assert_refused(bopp("run"), 5, "'no-such-program'")
    assert states(here) == ["asked"]


def by_hand(here: Path, bopp: Bopp) -> None:
    for value in ("0.9", "7", "0.8"):
        bopp("ask")
        number = len(states(here)) - 1
        assert bopp("tell", number, value).code == 0


def test_a_mistyped_value_is_amended_and_a_wrong_one_dropped(here: Path, bopp: Bopp) -> None:
    by_hand(here, bopp)
    ended = bopp("amend", 1, "-0.7", "--reason", "a slip of the hand")
    assert (ended.code, "7.0" in ended.err, "-0.7" in ended.err) == (0, True, True)
    assert bopp("drop", 2, "--reason", "the wrong flour").code == 0
    trials = json.loads(bopp("trials", "--json").out)
    assert [trial["state"] for trial in trials] == ["done", "done", "dropped"]
    past = trials[1]["superseded"][0]
    assert (past["values"], past["reason"]) == ({"value": 7.0}, "a slip of the hand")
    assert past["at"] > past["told_at"]
    table = bopp("trials").out
    assert "a slip of the hand" in table
    assert "the wrong flour" in table
    assert bopp("best").out.split()[:2] == ["value", "-0.7"]


WRONG: list[tuple[tuple[object, ...], str]] = [
    (("amend", 0, "2"), "'--reason'"),
    (("amend", 0, "2", "--reason", " "), "reason"),
    (("amend", 0, "two", "--reason", "x"), "'two'"),
    (("amend", 9, "2", "--reason", "x"), "trial 9"),
    (("drop", 0), "'--reason'"),
    (("drop", -1, "--reason", "x"), "trial -1"),
    (("retry", 0), "trial 0, which is done"),
    (("delete",), "--yes"),
    (("delete", "study.toml", "bread"), "'bread'"),
    (("enqueue", "minutes=6", "minutes=7"), "minutes once"),
    (("run", "--failures", "go"), "--failures"),
]


def test_a_wrong_correction_is_one_line_and_changes_nothing(here: Path, bopp: Bopp) -> None:
    by_hand(here, bopp)
    before = bopp("trials", "--json").out
    for words, said in WRONG:
        assert_refused(bopp(*words), 2, said)
    assert bopp("trials", "--json").out == before


def test_a_study_is_deleted_with_a_word_or_by_somebody_at_a_terminal(
    here: Path, bopp: Bopp, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand(here, bopp)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", terminal)
        for answer, left in (("n", 0), ("", 0), ("y", 2)):
            os.write(ours, f"{answer}\n".encode())
            ended = bopp("delete")
            assert "'oven' with 3 trials" in ended.err + ended.out
            assert bopp("status").code == left
    os.close(ours)
    bopp("ask")
    assert bopp("delete", "--yes").code == 0
    assert_refused(bopp("status"), 2, "'oven'")


def test_a_changed_space_names_the_command_that_takes_it_over(here: Path, bopp: Bopp) -> None:
    by_hand(here, bopp)
    wider = STUDY.replace("high = 80", "high = 90") + 'fan = { type = "choice", options = ["on", "off"] }\n'
    (here / "study.toml").write_text(wider)
    assert_refused(bopp("ask"), 2, "bopp migrate")
    assert_refused(bopp("migrate"), 2, "'fan'")
    ended = bopp("migrate", "fan=off")
    assert (ended.code, "3 of 3 trials" in ended.err) == (0, True)
    assert bopp("ask").code == 0
    (here / "study.toml").write_text(wider.replace("low = 20", "low = 79.5"))
    kept = sum(trial["params"]["degrees"] >= 79.5 for trial in json.loads(bopp("trials", "--json").out))
    assert bopp("migrate").err.endswith(f"with {kept} of 4 trials\n")


@pytest.mark.parametrize("words", [(), ("run",), ("amend",), ("paper",), ("paper", "run")])
def test_h_helps(bopp: Bopp, words: tuple[str, ...]) -> None:
    assert bopp(*words, "-h").out == bopp(*words, "--help").out != ""


@pytest.mark.endurance
def test_a_closed_pipe_does_not_end_a_study(here: Path) -> None:
    (here / "baking.py").write_text("def loss(params):\n    print('x' * 99999, flush=True)\n    return 1.0\n")
    ended = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m bopp run 2>&1 | head -n 1; exit ${{PIPESTATUS[0]}}'],
        cwd=here,
        capture_output=True,
    )
    assert ended.returncode == 0
    assert states(here) == ["done"] * 6


@pytest.mark.parametrize(
    "words",
    [
        *(("retry",), ("amend", 0, 1, "--reason", "x"), ("drop", 0, "--reason", "x"), ("migrate",)),
        *(("pause",), ("resume",)),
    ],
)
def test_there_is_nothing_to_change_before_the_first_run(
    here: Path, bopp: Bopp, words: tuple[object, ...]
) -> None:
    assert_refused(bopp(*words), 2, "no file")
    assert not (here / "study.db").exists()
