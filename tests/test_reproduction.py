"""The results in docs/reproduction are whole, and its tables are those of its runs."""

from collections import Counter
from pathlib import Path

import pytest

from bopp.paper.cells import cells
from bopp.paper.experiment import perform
from bopp.paper.problems import ANCESTORS, REAL, SHIFTED, SYNTHETIC
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Folder, Kernel, Key, Maximiser, Run, Setting, Variant
from bopp.paper.statistics import summarise
from bopp.paper.table import render

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def folder() -> Folder:
    return Folder(DOCS / "reproduction")


@pytest.fixture(scope="module")
def second() -> Folder:
    return Folder(DOCS / "reproduction" / "second")


@pytest.fixture(scope="module")
def runs(folder: Folder) -> dict[Key, Run]:
    return {run.key: run for run in folder.runs()}


def test_the_experiment_is_whole(folder: Folder, runs: dict[Key, Run]) -> None:
    assert folder.setting == Setting()
    counts = Counter((key.problem, key.acquisition, key.variant, key.kernel) for key in runs)
    columns = [(a, v) for a in ACQUISITIONS for v in VARIANTS]
    assert {counts[name, *column, "ard"] for name in (*SYNTHETIC, *REAL) for column in columns} == {20}
    assert {counts[name, "ucb", variant, "isotropic"] for name in REAL for variant in VARIANTS} == {20}
    assert {counts[name, rule, "bo", "ard"] for name in ANCESTORS for rule in ACQUISITIONS} == {10}
    assert {len(run.values) for run in runs.values()} == {105}


def test_the_second_arm_is_whole(second: Folder) -> None:
    assert second.setting == Setting(iterations=50, fit="starts")
    runs = second.runs()
    repeats = {key.repeat for key in (run.key for run in runs)}
    assert repeats == set(range(len(repeats)))
    wanted = {
        Key(repeat, name, rule, variant, "ard", "gradients")
        for repeat in repeats
        for name in SHIFTED
        for rule in ACQUISITIONS
        for variant in ("bo", "pp01", "pp0")
    }
    assert {run.key for run in runs} == wanted
    assert all(run.machine for run in runs)


@pytest.mark.parametrize("variant", ["pp01", "pp0"])
def test_the_second_arm_excludes_an_effect_of_a_tenth_of_a_standard_deviation(
    second: Folder, variant: Variant
) -> None:
    found = cells(second, "ard", "gradients")
    it = summarise([cell.pairs for cell in found if cell.variant == variant and cell.pairs])
    assert it.cells == it.varied == 12
    assert -0.1 < it.low < it.high < 0.1


@pytest.mark.parametrize(
    ("path", "kernel", "maximiser"),
    [
        ("table.md", "ard", "direct"),
        ("table-isotropic.md", "isotropic", "direct"),
        ("second/table.md", "ard", "gradients"),
    ],
)
def test_the_tables_are_those_of_the_runs(path: str, kernel: Kernel, maximiser: Maximiser) -> None:
    place = DOCS / "reproduction" / path
    assert place.read_text() == render(Folder(place.parent), kernel, maximiser)


@pytest.mark.parametrize("path", ["table.md", "table-isotropic.md", "second/table.md"])
def test_the_page_quotes_the_tables(path: str) -> None:
    page = (DOCS / "reproduction.md").read_text()
    text = (DOCS / "reproduction" / path).read_text()
    sums = text[text.index("| all cells") :].split("\n\n")[0].splitlines()
    assert len(sums) > 3
    for row in sums[2:]:
        figures = [part.strip() for part in row.strip("|").split("|")][1:]
        assert any(
            figures == [part.strip() for part in line.strip("|").split("|")][1:] for line in page.splitlines()
        )


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
    assert sum(name.endswith(".png") for name in named) == 12
    assert [name for name in named if not (DOCS / name).exists()] == []
