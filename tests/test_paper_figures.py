import sys
from pathlib import Path

import numpy as np
import pytest

from bopp.errors import MissingExtra, PaperError
from bopp.paper.figures import PICTURES, draw, figure, missing
from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.runs import VARIANTS, Acquisition, Folder, Kernel, Key, Maximiser, Run, Setting, Variant


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "runs")
    folder.prepare(Setting(iterations=40))
    return folder


def run(
    problem: str,
    variant: Variant,
    repeat: int,
    acquisition: Acquisition = "ucb",
    kernel: Kernel = "ard",
    maximiser: Maximiser = "direct",
) -> Run:
    rng = np.random.default_rng([repeat, VARIANTS.index(variant)])
    key = Key(repeat, problem, acquisition, variant, kernel, maximiser)
    return Run(key, problem in SYNTHETIC, tuple(rng.random(45).tolist()), None, 0.0)


def keep(folder: Folder, *problems: str, repeats: int = 3, acquisition: Acquisition = "ucb") -> None:
    for problem in problems:
        for variant in VARIANTS:
            for repeat in range(repeats):
                folder.save(run(problem, variant, repeat, acquisition))


def test_the_papers_order_of_figures() -> None:
    assert [picture.name for picture in PICTURES] == [
        "figure-1-ucb-real",
        "figure-2-ucb-synthetic",
        "figure-3-pi-real",
        "figure-4-pi-synthetic",
        "figure-5-ei-real",
        "figure-6-ei-synthetic",
        "figure-7-ucb-real-isotropic",
    ]


def test_figures_with_runs_are_drawn_and_the_others_named(folder: Folder, tmp_path: Path) -> None:
    keep(folder, "hart6", acquisition="pi")
    folder.save(run("nn_wine", "bo", 0, kernel="isotropic"))
    folder.save(run("nn_wine", "bo", 0, "ei", maximiser="gradients"))
    paths = draw(folder, tmp_path / "new" / "pictures")
    names = [f"{name}.{kind}" for name in (PICTURES[3].name, PICTURES[6].name) for kind in ("png", "svg")]
    assert [path.name for path in paths] == names
    assert all(path.stat().st_size > 1000 for path in paths)
    assert missing(folder) == [picture.name for picture in PICTURES if picture.number not in (4, 7)]


def test_redrawing_changes_nothing_and_new_runs_do(folder: Folder, tmp_path: Path) -> None:
    keep(folder, "hart6", repeats=1)
    first = [path.read_bytes() for path in draw(folder, tmp_path)]
    assert [path.read_bytes() for path in draw(folder, tmp_path)] == first
    folder.save(run("hart6", "pp01", 9))
    assert all(a != b.read_bytes() for a, b in zip(first, draw(folder, tmp_path), strict=True))


def test_lines_are_means_and_bands_a_quarter_of_the_sd() -> None:
    runs = [run("dropwave", variant, repeat) for variant in VARIANTS for repeat in range(4)]
    panel = figure(PICTURES[1], runs, initial=5).axes[0]
    for variant, line in zip(VARIANTS, panel.get_lines(), strict=True):
        curves = np.array([each.curve(5) for each in runs if each.key.variant == variant])
        assert curves.shape == (4, 41)
        assert np.array_equal(line.get_xdata(), np.arange(41))
        assert line.get_ydata() == pytest.approx(curves.mean(axis=0))
        assert (line.get_linestyle() == "--") == (variant == "pp0")
    assert len(panel.collections) == 4  # the control has no band
    curves = np.array([each.curve(5) for each in runs if each.key.variant == "bo"])
    band = np.asarray(panel.collections[0].get_paths()[0].vertices)
    assert band[:, 1].max() == pytest.approx((curves.mean(axis=0) + curves.std(axis=0) / 4).max())


def test_panels_say_what_they_show() -> None:
    runs = [run("svm_wine", "bo", repeat) for repeat in range(3)] + [run("svm_wine", "pp0", 0)]
    drawn = figure(PICTURES[0], runs, initial=5)
    assert [axes.get_title() for axes in drawn.axes] == ["SVM_wine", "NN_wine", "NN_cancer", "NN_housing"]
    assert [[text.get_text() for text in axes.texts] for axes in drawn.axes] == [
        ["n = 1 to 3"],
        *[["no runs"]] * 3,
    ]
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["UCB", "UCB-PP0 (control)"]
    assert drawn.axes[0].get_ylabel() == "$f$"
    assert drawn.axes[0].get_xlim() == (0, 40)


def test_first_iterations_do_not_squash_the_rest() -> None:
    key = Key(0, REAL[3], "ucb", "bo")
    falling = Run(key, False, (-500.0,) * 6 + tuple(np.linspace(8.0, 9.0, 99)), None, 0.0)
    low, high = figure(PICTURES[0], [falling], initial=5).axes[3].get_ylim()
    assert 7.5 < low < 8.1
    assert 9.0 < high < 9.5


def test_flat_curves_can_be_drawn(folder: Folder, tmp_path: Path) -> None:
    folder.save(Run(Key(0, "griewank", "pi", "bo"), True, (0.0,) * 45, None, 0.0))
    assert len(draw(folder, tmp_path)) == 2


def test_nothing_to_draw_is_an_error(folder: Folder, tmp_path: Path) -> None:
    folder.save(run("dropwave_shifted", "bo", 0))
    with pytest.raises(PaperError, match="nothing to draw"):
        draw(folder, tmp_path)
    assert len(missing(folder)) == 7


def test_a_place_that_cannot_be_written_to_is_named(folder: Folder, tmp_path: Path) -> None:
    keep(folder, "hart6", repeats=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(PaperError, match=r"cannot write to .*file"):
        draw(folder, tmp_path / "file")


def test_missing_matplotlib_is_named(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(folder, "hart6", repeats=1)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(MissingExtra, match=r"bopp\[plot\]"):
        draw(folder, tmp_path)
