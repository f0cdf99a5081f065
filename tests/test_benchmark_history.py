import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import history
import pending
import regret
import speed
import store
from history import Measurement, measurement, recall, remember, table
from report import commit, heading

OLD = Measurement(
    "speed", "2026-11-15", "0.1.0", "d6742e2", "AMD EPYC", "3.11.7", "2.4.6", "1.17.1", {"n = 50": 0.007}
)
NEW = replace(OLD, date="2026-12-01", commit="96a7eb0-dirty", figures={"n = 50": 0.0065, "n = 5000": 7.5})

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Git in a folder of its own, whatever repository the tests run in."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    author = ["-c", "user.name=tester", "-c", "user.email=tester@localhost", "-c", "commit.gpgsign=false"]

    def run(*words: str) -> str:
        command = ["git", *author, *words]
        return subprocess.check_output(command, cwd=tmp_path, stderr=subprocess.DEVNULL, text=True).strip()

    return run


def test_measurements_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert recall(path) == []
    with pytest.raises(ValueError, match="JSON"):
        remember(replace(OLD, figures={"n = 50": float("nan")}), path)
    assert not path.exists()
    remember(OLD, path)
    remember(NEW, path)
    assert recall(path) == [OLD, NEW]
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("line", ["{", "[]", '{"benchmark": "speed"}', '{"benchmrak": 1}'])
def test_a_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    remember(OLD, path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=r"history\.jsonl, line 2"):
        recall(path)


def test_a_measurement_says_where_it_comes_from() -> None:
    measured = measurement("store", {"pairs": 123.456789})
    assert measured.figures == {"pairs": 123.5}
    assert measured.commit == commit()
    assert measured.commit in heading()
    assert measured.machine in heading()
    assert f"Python {measured.python}" in heading()


def test_a_table_has_a_column_for_each_measurement_and_gaps_where_nothing_was_measured() -> None:
    lines = table([OLD, NEW]).splitlines()
    assert lines[0] == "|  | 2026-11-15 d6742e2 | 2026-12-01 96a7eb0-dirty |"
    assert "| numpy | 2.4.6 | 2.4.6 |" in lines
    assert lines[-2:] == ["| n = 50 | 0.007 | 0.0065 |", "| n = 5000 | - | 7.5 |"]


@pytest.mark.parametrize(("last", "shown"), [("1", [NEW]), ("2", [OLD, NEW])])
def test_the_command_prints_the_last_measurements_of_a_benchmark(
    last: str,
    shown: list[Measurement],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    measurements = [OLD, replace(OLD, benchmark="store"), NEW]
    monkeypatch.setattr(history, "recall", lambda: measurements)
    monkeypatch.setattr(sys, "argv", ["history.py", "speed", "--last", last])
    history.main()
    assert capsys.readouterr().out == f"# speed\n\n{table(shown)}\n\n"


def test_the_history_of_this_checkout_has_every_benchmark() -> None:
    benchmarks = {measured.benchmark for measured in recall()}
    assert benchmarks >= {"speed", "regret", "store", "pending", "mixed", "batch"}


def test_a_checkout_is_named_by_its_commit_and_whether_its_code_differs(tmp_path: Path, git: Git) -> None:
    git("init", "--quiet")
    (tmp_path / "code.py").write_text("a = 1\n")
    (tmp_path / "table.md").write_text("1\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Begin")
    name = git("rev-parse", "--short", "HEAD")
    assert commit(tmp_path) == name
    (tmp_path / "table.md").write_text("2\n")
    assert commit(tmp_path) == name
    (tmp_path / "code.py").write_text("a = 2\n")
    assert commit(tmp_path) == f"{name}-dirty"


@pytest.mark.usefixtures("git")
def test_outside_of_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commit(tmp_path) == "unknown"
    monkeypatch.setenv("PATH", str(tmp_path))  # no Git at all
    assert commit() == "unknown"


def test_the_figures_that_are_kept_are_those_of_the_tables() -> None:
    figures = speed.key_figures("one thread", 50, {"bopp": 0.01, "gpsampler": 0.04})
    assert figures == {"one thread, n = 50: cpu s": 0.01, "one thread, n = 50: / gpsampler": 0.25}
    assert speed.key_figures("one thread", 50, {"bopp": 0.01}) == {"one thread, n = 50: cpu s": 0.01}

    runs = [regret.Run(peer, "branin", seed, 60, 5) for peer in ("bopp", "sobol") for seed in (0, 1)]
    outcomes = {run: regret.Outcome(-1.0 - run.seed, 2.0, 3) for run in runs}
    assert regret.key_figures(outcomes, ["bopp", "sobol", "tpe"], ["branin", "levy8"]) == {
        "bopp, all": -1.5,
        "sobol, all": -1.5,
        "bopp, branin": -1.5,
        "bopp, CPU s per run": 2.0,
        "bopp, repeated points": 6,
    }

    regrets = {pending.Run("expected", "2 workers", "branin", seed, 50): float(seed) for seed in (1, 2)}
    assert pending.key_figures(regrets) == {"2 workers, expected": 1.5}

    costs = [store.Cost("SQLite", pairs=100.0, kept=0.004, bare=0.001)]
    assert store.key_figures(costs) == {
        "SQLite: pairs per second": 100.0,
        "SQLite: its share of ask, ms": pytest.approx(3.0),
    }
