"""Outputs that are full or closed, and commands that are said to be pasted."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bopp import open_study
from bopp.cli.terminal import pasted
from support.commands import Bopp
from support.studies import url_of, written

CHATTY = """\
import sys
def loss(params):
    print("a line", flush=True)
    print("a line", file=sys.stderr, flush=True)
    return params["x"]
"""


@pytest.fixture
def here(here: Path) -> Path:
    written(here, code=CHATTY, recipe="random", budget=2)
    return here


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    program = f"{shlex.quote(sys.executable)} -m bopp"
    return subprocess.run(["/bin/sh", "-c", f"{program} {line}"], cwd=folder, capture_output=True, text=True)


def values(folder: Path) -> list[float | None]:
    with open_study(url_of(folder), "a study", read_only=True) as study:
        return [trial.values.get("value") for trial in study.trials]


@pytest.mark.parametrize(
    ("where", "code", "says", "prints"),
    [
        (">/dev/full", 3, True, False),
        *(
            pytest.param(*row, marks=pytest.mark.endurance)
            for row in (
                (">&- 2>&- <&-", 0, False, False),
                ("2>/dev/full", 0, False, True),
                ("2>&-", 0, False, True),
                (">&-", 0, True, False),
                ("<&-", 0, True, True),
                (">/dev/full 2>/dev/full", 3, False, False),
            )
        ),
    ],
)
def test_a_run_outlives_its_outputs(where: str, code: int, says: bool, prints: bool, here: Path) -> None:
    ended = run(here, f"run {where}")
    assert ended.returncode == code
    assert len(values(here)) == 2
    assert None not in values(here)
    assert ("best " in ended.stderr) == says
    assert ("\nx  0." in f"\n{ended.stdout}") == prints
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    assert ("No space left" in ended.stderr) == (code == 3 and says)


@pytest.mark.endurance
def test_a_result_that_cannot_be_written_is_an_error(here: Path) -> None:
    assert run(here, "run").returncode == 0
    for words in ("best", "export"):
        ended = run(here, f"{words} >/dev/full")
        assert (ended.returncode, ended.stderr.count("\n")) == (3, 1)
        assert "No space left" in ended.stderr


HOSTILE = [
    *("plain", "two words", "it's", "$(touch hacked)", "`touch hacked`", "; touch hacked", "-rf", "--debug"),
    *("--", "-", "~", "*", "!!", '"', "\\", "a\\", "", "#", "=x", "ünïcödé ☃", "\x1b[2J", "a\nb", "\u202e"),
    *("tab\t", "%s\x01\\n", "\udcff"),
]
SHOW = 'bopp() { for word in "$@"; do printf "%s\\0" "$word"; done; }; '


def words_of(line: str, folder: Path) -> list[str]:
    """What bopp gets from a line that is pasted into a shell."""
    ended = subprocess.run(["/bin/sh", "-c", SHOW + line], cwd=folder, capture_output=True, check=True)
    return [os.fsdecode(word) for word in ended.stdout.split(b"\0")[:-1]]


@pytest.mark.fault(44)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_command_can_be_pasted_whatever_it_names(text: str, tmp_path: Path) -> None:
    line = pasted("worker", "sqlite:///x.db", text, command=text, budget=None)
    assert line.isprintable()
    command, *rest = words_of(line, tmp_path)
    assert command == "worker"
    options = [f"--command={text}"]
    if text.startswith("-"):
        assert rest == [*options, "--", "sqlite:///x.db", text]
    else:
        assert rest == ["sqlite:///x.db", text, *options]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["-x.toml", "a $(touch hacked) b.toml", "--debug", "it's.toml"])
def test_a_run_that_is_stopped_says_how_to_go_on(
    name: str, here: Path, bopp: Bopp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bopp.study.runner.run_study", interrupted)
    written(here, 'command = "echo {x} {y}"').rename(here / name)
    ended = bopp("run", "--budget", 4, "--", name)
    assert ended.code == 130
    words = words_of(ended.err.strip().rpartition("To go on: ")[2], here)
    assert words == ["run", "--budget", "4", "--", name]
    assert not (here / "hacked").exists()
