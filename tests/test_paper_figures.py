import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from bopp.data import Array
from bopp.errors import MissingExtra, PaperError
from bopp.paper import figures
from bopp.paper.figures import PAPER, PICTURES, STYLES, Picture, draw, figure, missing
from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.runs import (
    ACQUISITIONS,
    VARIANTS,
    Acquisition,
    Folder,
    Kernel,
    Key,
    Maximiser,
    Run,
    Setting,
    Variant,
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "runs")
    folder.prepare(Setting(iterations=40))
    return folder


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the figures that are drawn, in place of their files."""
    names: list[str] = []

    def save(figure: Figure, folder: Path, name: str) -> list[Path]:
        assert figure.axes
        names.append(name)
        return [folder / f"{name}.png"]

    monkeypatch.setattr(figures, "save", save)
    return names


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


def falling(curve: Array, variant: Variant, repeat: int = 0, problem: str = "griewank") -> Run:
    """A run that has this curve: after the initial points, and after each iteration."""
    values = (float(curve[0]),) * 4 + tuple(curve.tolist())
    return Run(Key(repeat, problem, "ucb", variant), True, values, None, 0.0)


def runs_between(picture: Picture, levels: Sequence[tuple[float, float]]) -> Iterator[Run]:
    """Runs of all variants on all problems of a picture, each from one level to another."""
    for problem, (start, end) in zip(picture.problems, levels, strict=True):
        for variant, repeat in product(VARIANTS, (0, 300)):
            key = Key(repeat, problem, picture.acquisition, variant, picture.kernel, picture.maximiser)
            regret = problem not in REAL
            values = np.linspace(start, end, 105)[:: 1 if regret else -1]
            yield Run(key, regret, tuple(values.tolist()), None, 0.0)


class Parts(NamedTuple):
    """The lines of a panel, each in the order of variants."""

    means: list[Line2D]
    fronts: list[Line2D]
    points: list[Line2D]


def parts(panel: Axes) -> Parts:
    lines = panel.get_lines()
    return Parts(lines[0::4], lines[1::4], lines[2::4])  # the fourth is for the legend


def pixels(drawn: Figure, panel: Axes) -> Array:
    """The colours inside a panel, as drawn."""
    drawn.canvas.draw()
    image = np.asarray(drawn.canvas.buffer_rgba(), dtype=np.float64)[::-1, :, :3]  # type: ignore[attr-defined]
    box = panel.get_window_extent()
    return image[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)]


def height(panel: Axes, value: float) -> float:
    """Where a value is in a panel: 0 at the bottom, 1 at the top."""
    place = panel.transAxes.inverted().transform(panel.transData.transform((0.0, value)))
    return float(place[1])


def ticks(axis: Axis) -> Iterator[Text]:
    """The tick labels that are drawn."""
    low, high = sorted(axis.get_view_interval())
    for tick in axis.get_major_ticks():
        if low <= tick.get_loc() <= high and tick.label1.get_text():
            yield tick.label1


def labels(panel: Axes) -> list[str]:
    panel.figure.canvas.draw()
    return [text.get_text() for text in ticks(panel.yaxis)]


def texts(drawn: Figure) -> Iterator[Text]:
    """All text of a figure that is seen."""
    yield from drawn.legends[0].get_texts()
    for axes in drawn.axes:
        yield axes.title
        for axis in (axes.xaxis, axes.yaxis):
            yield axis.label
            yield from ticks(axis)


def test_the_papers_order_of_figures_and_ours_after_them() -> None:
    kinds = [f"{one}-{kind}" for one in ACQUISITIONS for kind in ("real", "synthetic")]
    kinds += ["ucb-real-isotropic", *(f"{one}-shifted" for one in ACQUISITIONS)]
    names = [f"figure-{number}-{kind}" for number, kind in enumerate(kinds, 1)]
    assert [picture.name for picture in PICTURES] == names


def test_figures_with_runs_are_drawn_and_the_others_named(
    folder: Folder, tmp_path: Path, saved: list[str]
) -> None:
    keep(folder, "hart6", acquisition="pi")
    folder.save(run("nn_wine", "bo", 0, kernel="isotropic"))
    folder.save(run("nn_wine", "bo", 0, "ei", maximiser="gradients"))
    draw(folder, tmp_path / "new" / "pictures")
    assert saved == [PICTURES[3].name, PICTURES[6].name]
    assert missing(folder) == [picture.name for picture in PAPER if picture.number not in (4, 7)]


@pytest.mark.usefixtures("saved")
def test_shifted_functions_are_drawn_from_runs_with_gradients(folder: Folder, tmp_path: Path) -> None:
    folder.save(run("hart6_shifted", "bo", 0, "pi", maximiser="gradients"))
    folder.save(run("hart6_shifted", "bo", 0, "ei"))
    assert {path.stem for path in draw(folder, tmp_path)} == {"figure-9-pi-shifted"}
    assert missing(folder) == []  # nobody asked for the paper's figures
    folder.save(run("hart6", "bo", 0))
    assert {path.stem for path in draw(folder, tmp_path)} == {"figure-2-ucb-synthetic", "figure-9-pi-shifted"}
    assert missing(folder) == [picture.name for picture in PAPER if picture.number != 2]


def test_redrawing_changes_nothing_and_new_runs_do(folder: Folder, tmp_path: Path) -> None:
    keep(folder, "hart6", repeats=1)
    paths = draw(folder, tmp_path)
    assert [path.name for path in paths] == [f"{PICTURES[1].name}.png", f"{PICTURES[1].name}.svg"]
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in draw(folder, tmp_path)] == first
    folder.save(run("hart6", "pp01", 9))
    assert all(a != b.read_bytes() for a, b in zip(first, draw(folder, tmp_path), strict=True))


def test_lines_are_means_and_bands_a_quarter_of_the_sd() -> None:
    runs = [run("dropwave", variant, repeat) for variant in VARIANTS for repeat in range(4)]
    panel = figure(PICTURES[1], runs, initial=5).axes[0]
    for variant, line, band in zip(VARIANTS, parts(panel).means, panel.collections, strict=True):
        curves = np.array([each.curve(5) for each in runs if each.key.variant == variant])
        assert curves.shape == (4, 41)
        assert np.array_equal(line.get_xdata(), np.arange(41))
        assert line.get_ydata() == pytest.approx(curves.mean(axis=0))
        edge = np.asarray(band.get_paths()[0].vertices)[:, 1]
        assert edge.max() == pytest.approx((curves.mean(axis=0) + curves.std(axis=0) / 4).max())
        assert edge.min() == pytest.approx((curves.mean(axis=0) - curves.std(axis=0) / 4).min())


@pytest.mark.parametrize("iterations", [5, 40, 50, 100, 130])
@pytest.mark.parametrize("variants", [VARIANTS, ("bo", "pp01", "pp0"), ("pp001",)])
def test_one_line_is_in_front_at_a_time_and_each_in_turn(
    variants: tuple[Variant, ...], iterations: int
) -> None:
    runs = [falling(np.linspace(2.0, 1.0, iterations + 1), variant) for variant in variants]
    drawn = parts(figure(PICTURES[1], runs, initial=5).axes[1])
    shown = np.isfinite([np.asarray(line.get_ydata(), dtype=float) for line in drawn.fronts])
    steps = shown[:, :-1] & shown[:, 1:]
    assert steps.sum(axis=0).tolist() == [1] * iterations
    assert steps.any(axis=1).all()
    assert min(line.get_zorder() for line in drawn.fronts) > max(line.get_zorder() for line in drawn.means)


def test_lines_that_coincide_are_all_seen() -> None:
    runs = [falling(np.linspace(2.0, 1.0, 101), variant) for variant in VARIANTS]
    drawn = figure(PICTURES[1], runs, initial=5)
    for line in parts(drawn.axes[1]).points:
        line.set_visible(False)
    stripes = pixels(drawn, drawn.axes[1])
    for style in STYLES.values():
        colour = [round(255 * part) for part in to_rgb(style.colour)]
        assert (abs(stripes - colour).max(axis=-1) <= 12).sum() > 20, style


def test_in_black_and_white_shapes_tell_the_lines_apart() -> None:
    runs = [falling(np.linspace(2.0, 1.0, 101), variant) for variant in VARIANTS]
    drawn = parts(figure(PICTURES[1], runs, initial=5).axes[1])
    shapes = {(line.get_marker(), line.get_markerfacecolor() == "white") for line in drawn.points}
    assert len(shapes) == len(VARIANTS)
    places = [int(x) for line in drawn.points for x in np.asarray(line.get_xdata())]
    assert len(places) == len(set(places)) > 20
    assert min(places) >= 5  # the axis ignores what is before
    gaps = np.diff(sorted(places))
    assert gaps.min() == gaps.max() == 4
    assert min(line.get_zorder() for line in drawn.points) > max(line.get_zorder() for line in drawn.fronts)


def test_panels_say_what_they_show() -> None:
    runs = [run("svm_wine", "bo", repeat) for repeat in range(3)] + [run("svm_wine", "pp0", 0)]
    drawn = figure(PICTURES[0], runs, initial=5)
    titles = ["SVM_wine (n = 1 to 3)", "NN_wine", "NN_cancer", "NN_housing"]
    assert [axes.get_title() for axes in drawn.axes] == titles
    assert [[text.get_text() for text in axes.texts] for axes in drawn.axes] == [[], *[["no runs"]] * 3]
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["UCB", "UCB-PP0 (control)"]
    assert drawn.axes[0].get_ylabel() == "$f$"
    assert drawn.axes[0].get_xlim() == (0, 40)


def test_first_iterations_do_not_squash_the_rest() -> None:
    key = Key(0, REAL[3], "ucb", "bo")
    falling = Run(key, False, (-500.0,) * 6 + tuple(np.linspace(8.0, 9.0, 99)), None, 0.0)
    low, high = figure(PICTURES[0], [falling], initial=5).axes[3].get_ylim()
    assert 7.5 < low < 8.1
    assert 9.0 < high < 9.5


def test_an_end_far_below_the_top_has_a_logarithmic_axis() -> None:
    runs = [falling(np.geomspace(15.0, 0.1, 101), "bo"), falling(np.geomspace(15.0, 0.15, 101), "pp0")]
    panel = figure(PICTURES[1], runs, initial=5).axes[1]
    assert panel.get_yscale() == "log"
    assert panel.get_ylabel() == "simple regret $S_T$ (log scale)"
    lower, upper = height(panel, 0.1), height(panel, 0.15)
    assert 0.03 < lower < upper - 0.05
    assert labels(panel) == ["0.1", "0.2", "0.5", "1", "2", "5", "10"]


def test_a_logarithmic_axis_shows_zero_as_zero() -> None:
    runs = [falling(np.r_[np.geomspace(20.0, 0.03, 80), np.zeros(21)], "bo")]
    runs += [falling(np.geomspace(20.0, 0.02, 101), "pp0")]
    panel = figure(PICTURES[1], runs, initial=5).axes[1]
    assert panel.get_yscale() == "symlog"
    assert panel.get_ylabel() == "simple regret $S_T$ (log above 0.01)"
    assert labels(panel) == ["0", "0.01", "0.1", "1", "10"]
    assert 0.03 < height(panel, 0.0) < height(panel, 0.02) - 0.1
    assert height(panel, 0.005) == pytest.approx((height(panel, 0.0) + height(panel, 0.01)) / 2)


@pytest.mark.parametrize("repeats", [16, 20])
def test_a_band_that_ends_near_or_below_zero_does_not_stretch_the_axis(repeats: int) -> None:
    curves = [np.r_[np.full(90, 2.0), np.full(11, end)] for end in [1.0] + [0.0] * (repeats - 1)]
    runs = [falling(curve, "bo", repeat) for repeat, curve in enumerate(curves)]
    panel = figure(PICTURES[1], runs, initial=5).axes[1]
    assert panel.get_ylabel() == "simple regret $S_T$ (log above 0.01)"
    assert height(panel, 0.0) == pytest.approx(1 - height(panel, 2.0)) == pytest.approx(0.05 / 1.1)


@pytest.mark.parametrize("problem", ["griewank", "dropwave"])
def test_the_data_choose_the_scale_and_not_the_problem(problem: str) -> None:
    axis = SYNTHETIC.index(problem)
    mild, steep = np.linspace(10.0, 1.5, 101), np.linspace(10.0, 0.5, 101)
    panels = [figure(PICTURES[1], [falling(y, "bo", 0, problem)], 5).axes[axis] for y in (mild, steep)]
    assert [panel.get_yscale() for panel in panels] == ["linear", "log"]
    assert panels[0].get_ylabel() == "simple regret $S_T$"


@pytest.mark.parametrize("values", [np.geomspace(0.001, 1.0, 105), np.linspace(-3.0, -0.5, 105)])
def test_rising_values_have_a_linear_axis(values: Array) -> None:
    rising = Run(Key(0, "nn_wine", "ucb", "bo"), False, tuple(values.tolist()), None, 0.0)
    assert figure(PICTURES[0], [rising], initial=5).axes[1].get_yscale() == "linear"


@pytest.mark.parametrize("picture", [PICTURES[0], PICTURES[1], PICTURES[7]], ids=lambda picture: picture.name)
def test_no_text_meets_another_or_a_curve(picture: Picture) -> None:
    levels = (0.9640002, 0.9640001), (20.0, 0.05), (3.0, 0.0), (0.7, 0.01)  # many digits, log, zero, log
    drawn = figure(picture, [*runs_between(picture, levels)], initial=5)
    drawn.canvas.draw()
    panels = [axes.get_window_extent() for axes in drawn.axes]
    assert not any(axes.yaxis.get_offset_text().get_text() for axes in drawn.axes)  # nothing to be added
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(drawn)]
    assert len(boxes) > 50
    for (name, box), (other, second) in combinations(boxes, 2):
        assert not box.overlaps(second), (name, other)
    for name, box in boxes:
        assert not any(box.overlaps(panel) for panel in panels), name
        assert 0 <= box.x0 < box.x1 <= drawn.bbox.x1, name
        assert 0 <= box.y0 < box.y1 <= drawn.bbox.y1, name


def test_flat_curves_can_be_drawn() -> None:
    runs = [Run(Key(0, "griewank", "pi", "bo"), True, (0.0,) * 45, None, 0.0)]
    figure(PICTURES[3], runs, initial=5).draw_without_rendering()


def test_nothing_to_draw_is_an_error(folder: Folder, tmp_path: Path) -> None:
    folder.save(run("dropwave_shifted", "bo", 0))
    with pytest.raises(PaperError, match="nothing to draw"):
        draw(folder, tmp_path)


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
