"""The results in docs/reproduction are whole, and its table is that of its runs."""

from collections import Counter
from pathlib import Path

import pytest

from bopp.paper.experiment import perform
from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Folder, Key, Run, Setting
from bopp.paper.table import render

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def folder() -> Folder:
    return Folder(DOCS / "reproduction")


@pytest.fixture(scope="module")
def runs(folder: Folder) -> dict[Key, Run]:
    return {run.key: run for run in folder.runs()}


def test_the_experiment_is_whole(folder: Folder, runs: dict[Key, Run]) -> None:
    assert folder.setting == Setting()
    counts = Counter((key.problem, key.acquisition, key.variant, key.kernel) for key in runs)
    cells = [(a, v) for a in ACQUISITIONS for v in VARIANTS]
    assert {counts[name, *cell, "ard"] for name in SYNTHETIC for cell in cells} == {20}
    assert min(counts[name, *cell, "ard"] for name in REAL for cell in cells) >= 10
    assert min(counts[name, "ucb", variant, "isotropic"] for name in REAL for variant in VARIANTS) >= 10
    assert {len(run.values) for run in runs.values()} == {105}


def test_the_table_is_that_of_the_runs(folder: Folder) -> None:
    assert (folder.path / "table.md").read_text() == render(folder)


@pytest.mark.parametrize("problem", [*SYNTHETIC, "svm_wine"])
@pytest.mark.parametrize("repeat", [0, 9])
def test_the_runs_begin_as_they_would_today(problem: str, repeat: int, runs: dict[Key, Run]) -> None:
    key = Key(repeat, problem, "ei", "pp001")
    assert perform(key, Setting(iterations=0)).values == pytest.approx(runs[key].values[:5], rel=1e-5)


def test_no_figure_is_left_to_be_filled_in() -> None:
    for path in (DOCS / "reproduction.md", DOCS.parent / "README.md"):
        assert "@" not in path.read_text()


def test_every_picture_of_the_page_is_there() -> None:
    named = [
        part.split(")")[0].split("#")[0] for part in (DOCS / "reproduction.md").read_text().split("](")[1:]
    ]
    assert sum(name.endswith(".png") for name in named) == 9
    assert [name for name in named if not (DOCS / name).exists()] == []
