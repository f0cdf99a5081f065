"""bopp observe --csv: a table of earlier results, all of it or nothing."""

import time
from pathlib import Path

import pytest

from bopp import AtMost, Choice, Float, Int, Problem, open_study
from support.commands import Bopp
from support.studies import assert_refused

SPACE = {
    "method": Choice(["stir", "shake", "leave"]),
    "speed": Int(1, 9, when={"method": ["stir", "shake"]}),
    "heat": Float(0, 1),
}


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/a.db"
    open_study(url, "p", SPACE).close()
    return url


def saved(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_table_is_added_in_one_go(bopp: Bopp, store: str, tmp_path: Path) -> None:
    content = '\ufeffmethod;speed;heat;value;"the; day"\r\nstir;3;0.5;1.25;"mon\r\nday"\r\nleave;;0.25;;\r\n'
    ended = bopp("observe", "--csv", saved(tmp_path, content), "--in", store)
    assert ended == (0, "", "2 trials added, 1 of them failed\n")
    with open_study(store, "p", read_only=True) as study:
        first, second = study.trials
    assert (first.params, first.value) == ({"method": "stir", "speed": 3, "heat": 0.5}, 1.25)
    assert first.measurements == {"the; day": "mon\r\nday"}
    assert first.told_at is not None
    assert (second.state, second.params) == ("failed", {"method": "leave", "heat": 0.25})
    assert {first.origin, second.origin} == {"observed"}


def test_the_column_of_the_value_can_be_named(bopp: Bopp, store: str, tmp_path: Path) -> None:
    path = saved(tmp_path, "method,heat,accuracy\nleave,0.5,1\n")
    assert bopp("observe", "--csv", path, "--in", store).code == 2
    assert bopp("observe", "--csv", path, "--column", "accuracy", "--in", store).code == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("0.5", "heat=1", "--csv", "table.csv"), "got both"),
        (("--csv", "table.csv", "--noise", "1"), "got both"),
        (("--csv", "table.csv"), "line 4, column 'speed'"),  # and what is before it is not added either
        (("--csv", "nowhere.csv"), "cannot read nowhere.csv"),
        (("--csv", "binary.csv"), r"b'\xff'"),
        ((), "--csv FILE"),
        (("0.5",), "--csv FILE"),
    ],
)
def test_a_wrong_request_is_one_line(
    bopp: Bopp, store: str, here: Path, words: tuple[str, ...], named: str
) -> None:
    saved(here, "method,speed,heat,value\nstir,3,0.5,1\nstir,3,0.5,1\nstir,12,0.5,1\n")
    (here / "binary.csv").write_bytes(b"\xff\xfe\x00")
    assert_refused(bopp("observe", *words, "--in", store), 2, named)
    with open_study(store, "p", read_only=True) as study:
        assert study.trials == ()


def test_what_trials_prints_goes_into_another_study(bopp: Bopp, tmp_path: Path) -> None:
    problem = Problem(SPACE, {"error": "minimize"}, [AtMost("memory", 8.0)])
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in "ab"]
    for url in urls:
        open_study(url, "p", problem).close()
    with open_study(urls[0], "p") as study:
        stirred, left = {"method": "stir", "speed": 2, "heat": 0.1}, {"method": "leave", "heat": 1 / 3}
        noted = study.observe(stirred, {"error": 0.1, "memory": 7, "a,b": 'c"'}, noise={"error": 0.01})
        study.note(noted, "=1+1, or\nso")
        study.fail(study.ask(), "broke; badly")
        study.observe(left, {"error": None, "memory": 3})
        study.ask()
        before = study.trials
    shown = bopp("trials", urls[0]).out.splitlines()
    assert shown[0].split() == ["trial", "state", "error", "memory", *SPACE, "remark"]
    path = saved(tmp_path, bopp("trials", urls[0], "--csv").out)
    ended = bopp("observe", "--csv", path, "--in", urls[1])
    assert ended == (0, "", "3 trials added, 1 of them failed; 1 left out\n")
    with open_study(urls[1], "p", read_only=True) as study:
        after = study.trials
    kept = ("params", "state", "values", "noise", "measurements", "error", "notes")
    for was, now in zip(before, after, strict=False):
        assert [getattr(was, name) for name in kept] == [getattr(now, name) for name in kept]
        assert now.origin == "observed"
    assert len(after) == 3


def test_a_thousand_rows_take_seconds(bopp: Bopp, store: str, tmp_path: Path) -> None:
    rows = "".join(f"shake,{1 + i % 9},{i / 1000},{i}\n" for i in range(1000))
    path = saved(tmp_path, f"method,speed,heat,value\n{rows}")
    began = time.perf_counter()
    assert bopp("observe", "--csv", path, "--in", store).code == 0
    assert time.perf_counter() - began < 20.0  # about one on an idle machine
    with open_study(store, "p", read_only=True) as study:
        assert [trial.value for trial in study.trials] == [float(i) for i in range(1000)]
