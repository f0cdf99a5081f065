"""The examples run as they stand; tune_regression.py is in test_documents.py, where its code is shown."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bopp

pytestmark = pytest.mark.endurance
EXAMPLES = Path(__file__).parent.parent / "examples"
PATIENCE = 120.0  # seconds for what takes a few on an idle machine


def example(folder: Path, name: str, *words: str, answers: str = "") -> str:
    """What an example prints, in a folder of its own, to somebody who types these answers."""
    ended = subprocess.run(
        [sys.executable, EXAMPLES / name, *words],
        cwd=folder,
        input=answers,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_the_laboratory_keeps_what_was_typed_and_shows_what_is_still_to_be_tried(tmp_path: Path) -> None:
    shown = example(tmp_path, "laboratory.py", answers="41.5\nfailed the flask broke\n\n")
    asked = re.findall(r"^trial (\d): (.*)$", shown, re.MULTILINE)
    assert [number for number, _ in asked] == ["0", "1", "2"]
    assert shown.endswith("Kept: 3 trials in sqlite:///laboratory.db\n")
    again = example(tmp_path, "laboratory.py", answers="60\n12.25\nfailed\n\n")
    assert again.splitlines()[1] == f"trial 2: {asked[2][1]}"
    assert "best so far: 60.0 with" in again
    study = bopp.open_study(f"sqlite:///{tmp_path / 'laboratory.db'}", "yield")
    assert [(trial.state, trial.values.get("value") or trial.error) for trial in study.trials[:5]] == [
        ("done", 41.5),
        ("failed", "the flask broke"),
        ("done", 60.0),
        ("done", 12.25),
        ("failed", "no reason given"),
    ]
    assert [trial.state for trial in study.trials[5:]] == ["asked"] * 3


def test_a_laboratory_without_any_yield_goes_on(tmp_path: Path) -> None:
    answers = "failed one\nfailed two\nfailed three\n\n"
    assert "Kept: 6 trials" in example(tmp_path, "laboratory.py", answers=answers)


def test_a_slip_of_the_pen_is_asked_for_again(tmp_path: Path) -> None:
    assert "Kept: 3 trials" in example(tmp_path, "laboratory.py", answers="41,5\n41.5\n\n")


def test_a_mixture_adds_up(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, EXAMPLES / "mixture.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 0, ended.stderr
    found = re.match(r"best roughness: ([\d.]+)\n", ended.stdout)
    assert found
    assert float(found[1]) < 1.3  # the best there is has about 1.0, a random one 5
    assert ended.stdout.endswith("shares: 1.000000000\nfirings that broke a condition: 0\n")


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_four_workers_share_a_study(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    words = [request.getfixturevalue("postgres_url")] if store == "postgres" else []
    shown = example(tmp_path, "four_workers.py", *words)
    shares = re.match(r"60 trials by 4 workers: \[(.*)\]\nbest value: ([\d.]+) at \{", shown)
    assert shares, shown
    assert sum(map(int, shares[1].split(", "))) == 60
    assert float(shares[2]) < 2000.0  # the mean over the box is about 60,000
    assert (tmp_path / "four_workers.db").exists() == (store == "sqlite")


def test_a_program_is_tuned(tmp_path: Path) -> None:
    folder = tmp_path / "command"
    shutil.copytree(EXAMPLES / "command", folder)
    ended = subprocess.run(
        [sys.executable, "-m", "bopp", "run", "command/study.toml", "--budget", "16", "--workers", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 0, ended.stderr
    assert [line.split()[0] for line in ended.stdout.splitlines()] == ["lc", "lp", "pb", "nice", "finder"]
    study = bopp.open_study(f"sqlite:///{folder / 'study.db'}", "smallest file")
    assert len(study.trials) == 16
    for trial in study.trials:  # as the comment in the file says
        assert (trial.state == "failed") == (trial.params["lc"] + trial.params["lp"] > 4)
    values = [trial.value for trial in study.trials if trial.state == "done"]
    assert study.best.value == min(values) < max(values)


def test_the_lightest_beam_that_holds_is_found(tmp_path: Path) -> None:
    shown = example(tmp_path, "constrained.py")
    found = re.match(r"best weight: ([\d.]+) kg, bending: ([\d.]+) mm\n", shown)
    assert found
    assert float(found[1]) < 55.0  # 50.97 is the best there is, of oak; of aluminium it is 78
    assert float(found[2]) <= 10.0
    assert "'material': 'oak'" in shown
    assert re.search(r"^\d+ of 40 beams bent too far$", shown, re.MULTILINE)
    assert "constraints met with a chance of" in shown


def test_the_front_of_two_objectives_is_printed_and_drawn(tmp_path: Path) -> None:
    shown = example(tmp_path, "two_objectives.py")
    front = re.findall(r"^error 1e(-[\d.]+) for (\d+): ", shown, re.MULTILINE)
    errors, work = ([float(row[place]) for row in front] for place in (0, 1))
    assert len(front) > 4
    assert errors == sorted(errors, reverse=True)
    assert work == sorted(work)
    volume = re.search(r"^hypervolume: (\d+)$", shown, re.MULTILINE)
    assert volume
    assert float(volume[1]) > 14_000
    assert (tmp_path / "front.png").stat().st_size > 10_000
