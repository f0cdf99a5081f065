import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bopp.cli import terminal
from bopp.paper import experiment, problems, table, theory_figures
from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Folder, Key, Run, Setting
from support.commands import Bopp
from support.studies import assert_refused

COMMANDS = ("run", "table", "figures", "theory", "pack")
ALL_COMMANDS = [
    *("init", "run", "worker", "switch", "pause", "resume", "dashboard", "learn", "knowledge"),
    *("status", "best", "trials", "plot", "export", "import"),
    *("ask", "tell", "observe", "enqueue", "retry", "amend", "drop", "migrate", "delete", "paper"),
]
TINY = Setting(iterations=2)


class Request(NamedTuple):
    """What the command asked the experiment for."""

    folder: Folder
    keys: Sequence[Key]
    setting: Setting
    workers: int


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What was asked for, of an experiment that runs nothing."""
    seen: list[Request] = []

    def run(*request: Any) -> Iterator[Key]:
        seen.append(Request(*request))
        yield from seen[-1].keys

    monkeypatch.setattr(experiment, "run", run)
    return seen


@pytest.fixture(scope="module")
def made() -> list[Run]:
    keys = experiment.plan(["dropwave", "hart6_shifted"], ["ucb"], ["bo", "pp01"], range(2))
    return [experiment.perform(key, TINY) for key in keys]


@pytest.fixture
def tiny(tmp_path: Path, made: list[Run]) -> Path:
    """The folder of a small experiment."""
    folder = Folder(tmp_path / "tiny")
    folder.prepare(TINY)
    for run in made:
        folder.save(run)
    return folder.path


def listed(text: str) -> list[str]:
    """The commands that a help lists."""
    lines = text.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    return [line.split()[0] for line in lines]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(bopp: Bopp, command: str) -> None:
    ended = bopp("paper", command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert "--out" in ended.out
    assert f"bopp paper {command} [OPTIONS]" in ended.out.splitlines()[0]


@pytest.mark.parametrize(("words", "commands"), [((), ALL_COMMANDS), (("paper",), list(COMMANDS))])
def test_the_help_lists_the_commands_and_answers_no_command(
    bopp: Bopp, words: tuple[str, ...], commands: list[str]
) -> None:
    ended = bopp(*words, "--help")
    assert (ended.code, ended.err, listed(ended.out)) == (0, "", commands)
    assert words or "--debug" in ended.out
    ended = bopp(*words)
    assert ended.code == 2
    assert (ended.out + ended.err).startswith("Usage: ")
    assert listed(ended.out + ended.err) == commands


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("rn",), ["rn"]),
        (("run",), ["--out"]),
        (("run", "--out", "new", "more"), ["more"]),
        (("run", "--out", "new", "--pace", "3"), ["--pace"]),
        (("run", "--out", "new", "--repeats", "0"), ["--repeats", "1"]),
        (("run", "--out", "new", "--problems", "ackley"), ["'ackley'", *problems.NAMES]),
        (("run", "--out", "new", "--problems", " , "), ["--problems", "names", "' , '"]),
        (("run", "--out", "new", "--variants", ","), ["--variants", "','", *VARIANTS]),
        (("run", "--out", "new", "--shortest", "0"), ["--shortest"]),
        (("run", "--out", "new", "--acquisitions", "ucb,kg"), ["--acquisitions", "'kg'", *ACQUISITIONS]),
        (("run", "--out", "new", "--variants", "bo,pp1"), ["--variants", "'pp1'", *VARIANTS]),
        (("run", "--out", "new", "--kernel", "matern"), ["--kernel", "'matern'", "ard", "isotropic"]),
        (("theory", "--out", "new", "--dimension", "3"), ["--dimension"]),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_wrong_request_is_one_line_and_leaves_nothing(
    bopp: Bopp,
    words: tuple[str, ...],
    named: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    requests: list[Request],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(bopp("paper", *words), 2, *named)
    assert list(tmp_path.iterdir()) == []
    assert requests == []


@pytest.mark.parametrize("command", ["table", "figures", "pack"])
def test_a_folder_without_an_experiment_is_one_line(bopp: Bopp, command: str, tmp_path: Path) -> None:
    for out in (tmp_path, tmp_path / "nowhere"):
        assert_refused(bopp("paper", command, "--out", out), 2, out, "holds no experiment", "bopp paper run")


def test_the_whole_experiment_is_the_papers(bopp: Bopp, tmp_path: Path, requests: list[Request]) -> None:
    ended = bopp("paper", "run", "--out", tmp_path)
    assert ended == (0, "", f"2800 runs are in {tmp_path}. Next: bopp paper table --out={tmp_path}\n")
    (request,) = requests
    assert request.keys == experiment.plan([*SYNTHETIC, *REAL])
    assert request.setting == Setting() == Folder(tmp_path).setting
    assert request.folder.path == tmp_path
    assert request.workers >= 1


def test_a_name_that_comes_twice_is_run_once(bopp: Bopp, tmp_path: Path, requests: list[Request]) -> None:
    words = "--problems hart6,all --acquisitions ucb,ei,ucb --variants bo,bo --repeats 2"
    assert bopp("paper", "run", "--out", tmp_path, *words.split()).code == 0
    assert len(set(requests[0].keys)) == len(requests[0].keys) == 2 * (8 * 2 + 4)


def test_options_reach_the_experiment(bopp: Bopp, tmp_path: Path, requests: list[Request]) -> None:
    words = (
        "--problems nn_wine --acquisitions pi,ei --variants pp0,bo --repeats 3 --first-repeat 20 "
        "--kernel isotropic --maximiser gradients --iterations 7 --evaluations 50 --shortest 0.02 "
        "--fit bayesian --noisy "
        "--outcome standardised --count-initial --splits each --metric accuracy --workers 3"
    )
    ended = bopp("paper", "run", "--out", tmp_path, *words.split())
    assert ended.code == 0
    shown = f"bopp paper table --out={tmp_path} --kernel=isotropic --maximiser=gradients"
    assert ended.err.splitlines()[-1].endswith(f"Next: {shown}")
    (request,) = requests
    assert request.keys == experiment.plan(
        ["nn_wine"], ["pi", "ei"], ["pp0", "bo"], range(20, 23), "isotropic", "gradients"
    )
    assert request.setting == Setting(
        iterations=7,
        evaluations=50,
        shortest=0.02,
        fit="bayesian",
        noisy=True,
        outcome="standardised",
        count_initial=True,
        splits="each",
        metric="accuracy",
    )
    assert request.workers == 3


def test_quick_is_a_small_whole_of_which_parts_can_be_chosen(
    bopp: Bopp, tmp_path: Path, requests: list[Request]
) -> None:
    assert bopp("paper", "run", "--out", tmp_path / "a", "--quick").code == 0
    assert requests[0].keys == experiment.plan(
        [*SYNTHETIC, *REAL], variants=["bo", "pp001", "pp0"], repeats=range(2)
    )
    assert requests[0].setting == Setting(iterations=10)
    words = "--quick --repeats 3 --iterations 4 --variants bo --problems hart6"
    assert bopp("paper", "run", "--out", tmp_path / "b", *words.split()).code == 0
    assert requests[1].keys == experiment.plan(["hart6"], variants=["bo"], repeats=range(3))
    assert requests[1].setting == Setting(iterations=4)


def test_only_what_is_missing_is_run(bopp: Bopp, tiny: Path, requests: list[Request]) -> None:
    words = "--problems dropwave --acquisitions ucb --variants bo,pp01 --repeats 3 --iterations 2"
    ended = bopp("paper", "run", "--out", tiny, *words.split())
    assert ended.code == 0
    assert ended.err.splitlines()[0] == "4 of 6 runs are there already."
    assert requests[0].keys == [Key(2, "dropwave", "ucb", "bo"), Key(2, "dropwave", "ucb", "pp01")]


def test_progress_is_a_line_now_and_then_and_a_bar_on_a_terminal(
    bopp: Bopp, tmp_path: Path, requests: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "SPEAKS_EVERY", -1.0)
    words = "--problems dropwave --acquisitions ucb --variants bo --repeats 3"
    ended = bopp("paper", "run", "--out", tmp_path, *words.split())
    assert ended.err.splitlines()[:-1] == [f"{n} of 3 runs, about 0 min left" for n in (1, 2, 3)]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ended = bopp("paper", "run", "--out", tmp_path, *words.split())
    assert (ended.code, ended.out) == (0, "")
    assert "3/3" in ended.err


def test_ctrl_c_is_exit_code_130_and_says_how_to_go_on(
    bopp: Bopp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Iterator[Key]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(experiment, "run", interrupted)
    ended = bopp("paper", "run", "--out", tmp_path, "--problems", "dropwave")
    assert ended == (130, "", "Stopped. What is done is kept; the same command goes on.\n")


def test_the_table_of_a_tiny_experiment(bopp: Bopp, tiny: Path) -> None:
    ended = bopp("paper", "table", "--out", tiny)
    assert (ended.code, ended.err) == (0, "")
    assert "| Dropwave, S_T" in ended.out
    assert "after 2 iterations; kernel ard, maximiser direct" in ended.out
    assert_refused(bopp("paper", "table", "--out", tiny, "--kernel", "isotropic"), 2, tiny, "isotropic")
    assert_refused(bopp("paper", "table", "--out", tiny, "--maximiser", "gradients"), 2, tiny, "gradients")


def test_the_table_for_other_programs(bopp: Bopp, tiny: Path) -> None:
    ended = bopp("paper", "table", "--out", tiny, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == table.as_rows(Folder(tiny))


def test_figures_of_a_tiny_experiment(bopp: Bopp, tiny: Path) -> None:
    ended = bopp("paper", "figures", "--out", tiny)
    assert ended.code == 0
    paths = [tiny / "figures" / f"figure-2-ucb-synthetic.{kind}" for kind in ("png", "svg")]
    assert ended.out.splitlines() == [str(path) for path in paths]
    assert all(path.stat().st_size > 1000 for path in paths)
    missing = ended.err.splitlines()
    assert len(missing) == 6
    assert all(line.startswith("no runs for figure-") for line in missing)


@pytest.mark.parametrize("options", [(), ("--curves",)])
def test_a_packed_experiment_gives_the_same_table(bopp: Bopp, tiny: Path, options: tuple[str, ...]) -> None:
    runs, shown = Folder(tiny).runs(), bopp("paper", "table", "--out", tiny).out
    ended = bopp("paper", "pack", "--out", tiny, *options)
    assert ended == (0, f"{tiny / 'runs.jsonl.gz'}\n", "")
    assert list((tiny / "runs").iterdir()) == []
    assert Folder(tiny).runs() == ([run.best_so_far() for run in runs] if options else runs)
    assert bopp("paper", "table", "--out", tiny).out == shown


def test_theory_prints_its_check_and_its_pictures(
    bopp: Bopp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theory_figures, "draw", lambda found, folder: [folder / "theory-regret.png"])
    ended = bopp("paper", "theory", "--out", tmp_path / "new", "--draws", 2, "--horizon", 3)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == str(tmp_path / "new" / "theory" / "theory-regret.png")
    assert "2 functions on [0, 1]^1" in ended.out


def program(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bopp", *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.mark.endurance
def test_the_program_runs_an_experiment_to_its_table(tmp_path: Path, bopp: Bopp) -> None:
    words = "--problems dropwave --acquisitions ucb --variants bo,pp0 --repeats 1 --iterations 1"
    ended = program("paper", "run", "--out", tmp_path, *words.split())
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == f"2 runs are in {tmp_path}. Next: bopp paper table --out={tmp_path}\n"
    assert "| Dropwave, S_T" in bopp("paper", "table", "--out", tmp_path).out
