from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import faults
from support.faults import FAULTS, YET_TO_COME

HERE = Path(__file__).parent
pytest_plugins = ["pytester"]


def test_every_fault_has_a_test() -> None:
    wanted = set(FAULTS) - YET_TO_COME
    assert faults.marked(HERE) == wanted  # one that is marked is not yet to come any more


def test_the_page_lists_every_fault() -> None:
    lines = (HERE.parent / "docs/faults.md").read_text(encoding="utf-8").splitlines()
    for number, (done, promise) in FAULTS.items():
        assert any(line.startswith(f"| {number} | {done} | {promise} | ") for line in lines), number


@dataclass
class Report:
    user_properties: list[tuple[str, Any]]
    nodeid: str = "test_a.py::test"
    keywords: tuple[str, ...] = ()


def test_reports_become_a_table() -> None:
    about_4 = [("fault", 4), ("fault", 5), ("figure", "100 kills"), ("figure 5", "the same")]
    evidence = faults.gathered(
        {
            "passed": [Report(about_4), Report([]), Report([("fault", 4), ("figure", "20 more")])],
            "failed": [Report([("fault", 5), ("figure", "not shown")])],
            "error": [Report([("fault", 5)])],
            "skipped": [Report([("fault", 6)])],
        }
    )
    shown = {int(row[0]): row[3:] for row in faults.rows(evidence)}
    assert shown[4] == ["2 passed", "100 kills; 20 more"]
    assert shown[5] == ["1 passed, 2 failed", "100 kills; the same"]
    assert shown[6] == ["1 skipped", ""]
    assert shown[7] == ["not run", ""]


def test_the_figure_of_a_small_size_gives_way_to_that_of_the_full_size() -> None:
    small = Report([("fault", 4), ("figure", "10")], "t.py::test[10]")
    full = Report([("fault", 4), ("figure", "100")], "t.py::test[100]", ("slow",))
    other = Report([("fault", 4), ("figure", "7")], "t.py::test_other[10]")
    assert faults.gathered({"passed": [small, other]})[4].figures == {"10", "7"}
    assert faults.gathered({"passed": [small, full, other]})[4].figures == {"100", "7"}
    assert faults.gathered({"passed": [small, other], "failed": [full]})[4].figures == {"10", "7"}


TESTS = """
import pytest

@pytest.mark.fault(4)
@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_kills(figure, kills):
    figure(f"{kills} kills")

@pytest.mark.fault(5, 6)
def test_that_fails(figure):
    figure("nothing")
    assert False

def test_of_no_fault():
    assert False
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run tests as those of bopp are run."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (HERE, HERE.parent / "benchmarks"))))
    pytester.makeconftest('pytest_plugins = ["support.faults"]')
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider -m 'not slow'\nmarkers =\n  slow\n  fault")

    def run(source: str, *words: str) -> pytest.RunResult:
        pytester.makepyfile(source)
        return pytester.runpytest_subprocess(*words)

    return run


@pytest.mark.endurance
def test_a_run_of_the_faults_ends_with_a_table(
    run: Callable[..., pytest.RunResult], pytester: pytest.Pytester
) -> None:
    ended = run(TESTS, "-n", "2", "-m", "fault", "--fault-table", "page.md")
    ended.assert_outcomes(passed=2, failed=1)
    ended.stdout.re_match_lines(
        [r" 4  kill -9 at .* 2 passed +100 kills", r" 5  .* 1 failed$", r" 6  .* 1 failed$"]
    )
    page = (pytester.path / "page.md").read_text(encoding="utf-8")
    assert (
        "| 4 | kill -9 at 100 random moments | no told result lost, the file sound | 2 passed | 100 kills |"
        in page
    )


@pytest.mark.endurance
def test_any_other_run_shows_no_table(run: Callable[..., pytest.RunResult]) -> None:
    ended = run(TESTS)
    ended.assert_outcomes(passed=1, failed=2, deselected=1)
    assert "kill -9" not in ended.stdout.str()


@pytest.mark.endurance
def test_a_number_of_no_fault_is_refused(run: Callable[..., pytest.RunResult]) -> None:
    ended = run("import pytest\n@pytest.mark.fault(99)\ndef test_it(): ...")
    assert ended.ret != 0
    assert "wanted numbers of faults.py, got {99}" in ended.stdout.str() + ended.stderr.str()
