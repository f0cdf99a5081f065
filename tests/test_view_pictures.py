"""What each picture shows, read from the figure; tests/test_view_drawing.py has hostile names and values."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from bopp import Choice, Fixed, Float, Int, Optimizer, Problem, Result
from bopp.errors import BoppError, RecipeError, SpaceError
from bopp.parameter import Parameter
from bopp.problem import Direction
from bopp.view.calibration import calibration as calibration_of
from bopp.view.canvas import DPI, SIZE, save
from bopp.view.contour import contour as contour_of
from support.figures import dots_of, legend_of, png_size, run_of, title_of

METHODS = [
    *("plot_convergence", "plot_slice", "plot_contour", "plot_parallel", "plot_importance"),
    *("plot_calibration", "plot_timeline", "plot_edf"),
]
CONDITIONAL: dict[str, Parameter] = {
    "method": Choice(["sgd", "adam", "none"]),
    "momentum": Float(0, 1, when={"method": ["sgd"]}),
    "beta": Float(0.1, 0.95, step=0.1, when={"method": ["adam"]}),
    "epochs": Fixed(30),
    "n": Int(10, 95, step=10),
}


@pytest.fixture(scope="module")
def plain() -> Result:
    return run_of({"x": Float(0, 1), "y": Float(0, 1), "c": Choice(["u", "v"])}, [3.0, None, 1.0, 2.0, 0.5])


@pytest.fixture(scope="module")
def conditional() -> Result:
    """Trials of every method, some failed; the best is of adam."""
    opt = Optimizer(CONDITIONAL)
    rng = np.random.default_rng(0)
    for number in range(18):
        opt.enqueue(opt.space.decode(rng.random(opt.space.dimension)))
        trial = opt.ask()
        level = {"sgd": 1.0, "adam": 0.0, "none": 2.0}[trial.params["method"]]
        opt.tell(trial, None if number % 6 == 5 else level + trial.params["n"] / 100)
    return opt.result


# Slices


def outlying(direction: Direction = "minimize") -> Result:
    """Values from 0 to 1 on a line, and an outlier at x = 0.5."""
    opt = Optimizer({"x": Float(0, 1), "c": Choice(["u", "v"])}, direction)
    for x in np.linspace(0.0, 1.0, 21):
        opt.enqueue({"x": x, "c": "u"})
        opt.tell(opt.ask(), x)
    opt.enqueue({"x": 0.5, "c": "v"})
    opt.tell(opt.ask(), 1e6 if direction == "minimize" else -1e6)
    return opt.result


@pytest.mark.parametrize(("direction", "marker"), [("minimize", 1), ("maximize", 0)])
def test_slices_share_a_scale_that_outliers_do_not_rule(direction: Direction, marker: int) -> None:
    figure = outlying(direction).plot_slice()
    (limits,) = {axes.get_ylim() for axes in figure.axes}
    assert -3.5 < limits[0] < 0.0
    assert 1.0 < limits[1] < 4.5
    for axes in figure.axes:
        beyond = dots_of(axes, "beyond the picture")
        assert beyond.tolist() == [[beyond[0][0], limits[marker]]]
        assert len(dots_of(axes)) == 21
        assert not any(row.get_clip_on() for row in axes.collections if row.get_label() == "evaluation")
    (left, right), across = figure.axes[0].get_xlim(), dots_of(figure.axes[0])[:, 0]
    assert left < across.min() == 0.0  # dots at the limits are not cut
    assert right > across.max() == 1.0


def test_slices_have_a_legend_a_title_and_the_best(plain: Result) -> None:
    figure = plain.plot_slice(title="a study")
    assert title_of(figure) == "a study\nminimize: best 0.5 in trial 4"
    assert {"evaluation", "best", "mean of the model", "two standard deviations"} <= set(legend_of(figure))
    assert len(set(legend_of(figure))) == len(legend_of(figure))
    for axes, name in zip(figure.axes, ("x", "y", "c"), strict=True):
        place = plain.space.parameters[name].place(plain.best.params[name])
        np.testing.assert_allclose(dots_of(axes, "best"), [[place, 0.5]], rtol=1e-12)
    assert [axes.get_ylabel() for axes in figure.axes] == ["value", "", ""]


def inside(figure: Figure) -> bool:
    """Whether everything that is written lies within the picture, and no legend on any panel."""
    renderer: Any = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    figure.draw(renderer)
    whole = figure.bbox.padded(1.0)
    panels = [axes.get_window_extent(renderer) for axes in figure.axes]
    legends = [legend.get_window_extent(renderer) for legend in figure.legends]
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes] + legends
    fits = all(
        whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
        for box in boxes
        if box is not None
    )
    return fits and not any(legend.overlaps(panel) for legend in legends for panel in panels)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_cut_and_no_legend_lies_on_the_data(
    method: str, plain: Result, conditional: Result
) -> None:
    names = {"n" * 60: Float(0, 1), "another quite long name": Choice(["long option a", "long option b"])}
    long = run_of(names, [1.0, 2.0, None, 0.0])
    for result in (plain, conditional, long):
        assert inside(getattr(result, method)(title="a study with a name of some length"))


def test_the_mean_of_an_option_that_lies_beyond_the_picture_is_marked() -> None:
    opt = Optimizer({"c": Choice(["u", "v"]), "n": Int(1, 3)})
    for number in range(30):
        opt.enqueue({"c": "u", "n": 1 + number % 3})
        opt.tell(opt.ask(), number / 30)
    for n in (1, 2, 3):
        opt.enqueue({"c": "v", "n": n})
        opt.tell(opt.ask(), 1e4)
    figure = opt.result.plot_slice()
    axes, whole = figure.axes
    assert axes.get_ylim()[1] < 3.0
    assert dots_of(axes, "mean beyond the picture").tolist() == [[1.0, axes.get_ylim()[1]]]
    assert whole.get_xticks().tolist() == np.round(whole.get_xticks()).tolist()


# Convergence


def test_what_was_observed_elsewhere_costs_nothing() -> None:
    opt = Optimizer({"x": Float(0, 1)})
    for number, x in enumerate((0.1, 0.2, 0.3)):
        opt.observe({"x": x}, 5.0 - number)
    (axes,) = opt.result.plot_convergence().axes  # of nothing but these
    assert dots_of(axes).tolist() == [[0, 5.0], [1, 4.0], [2, 3.0]]  # counted as in tables
    assert axes.get_xlabel() == "trial, all observed elsewhere"
    for number, x in enumerate((0.4, 0.5, 0.6)):
        opt.enqueue({"x": x})
        opt.tell(opt.ask(), None if number == 1 else 1.0 + number)
    figure = opt.result.plot_convergence()
    (axes,) = figure.axes
    assert dots_of(axes, "observed elsewhere").tolist() == [[0, 5.0], [0, 4.0], [0, 3.0]]
    assert dots_of(axes).tolist() == [[1, 1.0], [3, 3.0]]
    assert dots_of(axes, "failed")[:, 0].tolist() == [2]
    assert axes.get_xlabel() == "evaluations spent"
    assert title_of(figure) == "minimize: best 1 in trial 3"  # as bopp status says
    assert all(tick == round(tick) for tick in axes.get_xticks())


# One size, one way to say where to


def test_every_picture_has_the_same_resolution_and_width(plain: Result, tmp_path: Path) -> None:
    for method in METHODS:
        width = getattr(plain, method)().get_size_inches()[0]
        assert width >= SIZE[0]
        assert width == SIZE[0] or method in ("plot_slice", "plot_parallel")  # which grow with the parameters
    figure = plain.plot_convergence(tmp_path / "drawn.png")
    assert png_size(tmp_path / "drawn.png") == tuple(int(DPI * inches) for inches in figure.get_size_inches())
    save(figure, tmp_path, "saved")  # as bopp plot does
    assert png_size(tmp_path / "saved.png") == png_size(tmp_path / "drawn.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn.png", "saved.png", "saved.svg"]


@pytest.mark.parametrize("method", METHODS)
def test_the_path_is_the_first_argument_or_a_keyword_a_text_or_a_path(
    method: str, plain: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **_: Path(path).touch())
    draw: Callable[..., Figure] = getattr(plain, method)
    draw(str(tmp_path / "a.svg"))
    draw(path=tmp_path / "b.SVG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.SVG"]


@pytest.mark.parametrize("path", ["picture", "picture.pie", "a.png/", ".png", "", 7, b"a.png", {"x"}])
def test_a_path_of_an_unknown_kind_is_refused_before_anything_is_computed(
    path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nothing = Result(Problem({"x": Float(0, 1)}), ())  # of which every picture would be refused
    for method in METHODS:
        with pytest.raises(RecipeError) as caught:
            getattr(nothing, method)(path)
        assert repr(path) in str(caught.value)
        assert "png" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_text_in_place_of_names_is_named(plain: Result) -> None:
    names: Any = "x"
    for draw in (plain.plot_slice, plain.plot_contour):
        with pytest.raises(SpaceError, match="text 'x'"):
            draw(names=names)
        with pytest.raises(RecipeError, match="path"):
            draw("x")


def test_a_figure_is_a_picture_to_a_notebook_and_says_elsewhere_how_to_save_it(
    plain: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    figure: Any = plain.plot_convergence()
    assert figure._repr_png_().startswith(b"\x89PNG\r\n")
    figure.show(warn=False)
    assert capsys.readouterr() == ("", "")
    figure.show()
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert "figure.savefig(" in shown.err


# Conditional and fixed parameters


@pytest.mark.parametrize("method", METHODS)
def test_fixed_parameters_are_not_drawn(method: str, conditional: Result) -> None:
    figure = getattr(conditional, method)()
    names = [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]
    assert "epochs" not in [axes.get_xlabel() for axes in figure.axes] + names


def test_a_slice_that_does_not_go_through_the_best_trial_says_so(conditional: Result) -> None:
    figure = conditional.plot_slice()
    sgd = [trial for trial in conditional.trials if "momentum" in trial.params]
    titles = {axes.get_xlabel(): axes.get_title() for axes in figure.axes}
    centre = conditional.problem.best(sgd).number
    assert titles == {"method": "", "momentum": f"through trial {centre}", "beta": "", "n": ""}
    stars = {axes.get_xlabel(): len(dots_of(axes, "best")) for axes in figure.axes}
    assert stars == {"method": 1, "momentum": 0, "beta": 1, "n": 1}
    without = [trial for trial in conditional.trials if "momentum" not in trial.params]
    renumbered = tuple(replace(trial, number=number) for number, trial in enumerate(without))
    left = Result(conditional.problem, renumbered).plot_slice()
    assert [axes.get_xlabel() for axes in left.axes] == ["method", "beta", "n"]
    assert title_of(left).endswith("\nin no finished trial: momentum")


def test_an_absent_parameter_has_a_mark_below_its_axis(conditional: Result) -> None:
    (axes,) = conditional.plot_parallel().axes
    texts: list[Any] = list(axes.texts)
    absent = {text.xy[0]: text.xy[1] for text in texts if text.get_text() == "absent"}
    assert list(absent) == [1, 2]
    assert all(axes.get_ylim()[0] < place < 0.0 for place in absent.values())
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        *("method", "momentum", "beta", "n", "value")
    ]


# Contour


def test_a_contour_shows_heights_trials_and_the_best(plain: Result) -> None:
    figure = plain.plot_contour(names=["x", "y"])
    axes, bar = figure.axes
    shown = contour_of(plain, ["x", "y"])
    np.testing.assert_allclose(dots_of(axes), shown.tried, rtol=1e-12)
    np.testing.assert_allclose(dots_of(axes, "failed"), shown.failed, rtol=1e-12)
    best = plain.best.params
    np.testing.assert_allclose(dots_of(axes, "best"), [[best["x"], best["y"]]], rtol=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert bar.get_ylabel() == "value, mean of the model"
    low, high = bar.get_ylim()
    assert low <= np.nanmin(shown.mean) + 0.2
    assert high >= np.nanmax(shown.mean) - 0.2


def test_options_are_cells_and_what_does_not_apply_stays_blank(conditional: Result) -> None:
    axes = conditional.plot_contour(names=["method", "beta"]).axes[0]
    (mesh,) = [one for one in axes.collections if hasattr(one, "get_coordinates")]
    array: Any = mesh.get_array()
    heights = np.ma.getmaskarray(array).reshape(9, 3)
    np.testing.assert_array_equal(heights, [[True, False, True]] * 9)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["sgd", "adam", "none"]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_better_heights_are_darker(direction: Direction) -> None:
    result = run_of({"x": Float(0, 1), "c": Choice(["u", "v"])}, [1.0, 2.0, 3.0], direction)
    axes = result.plot_contour().axes[0]
    (mesh,) = [one for one in axes.collections if hasattr(one, "get_coordinates")]
    low, high = (sum(mesh.get_cmap()(place)[:3]) for place in (0.0, 1.0))
    assert (low < high) == (direction == "minimize")


# Calibration


def test_calibration_shows_intervals_and_says_how_many_hold() -> None:
    result = run_of({"x": Float(0, 1)}, list(np.sin(np.arange(30.0))))
    figure, shown = result.plot_calibration(), calibration_of(result)
    (axes,) = figure.axes
    held = int(shown.inside.sum())
    assert 0 < held < 30
    assert title_of(figure).endswith(f"\n{held} of 30 values ({held / 30:.0%}) lie in their 95 % interval")
    low, high = axes.get_ylim()
    assert axes.get_xlim() == (low, high)
    for label, here in (("in its interval", shown.inside), ("outside of it", ~shown.inside)):
        dots = dots_of(axes, label)
        np.testing.assert_allclose(dots[:, 0], shown.observed[here], rtol=1e-12)
        np.testing.assert_allclose(dots[:, 1], shown.predicted[here], rtol=1e-12)
    bars = [row.get_segments() for row in axes.collections if hasattr(row, "get_segments")]
    assert sum(map(len, bars)) == 30


def test_calibration_says_what_lies_beyond_the_picture() -> None:
    result = run_of({"x": Float(0, 1)}, [*np.linspace(0, 1, 20), 1e9])
    figure = result.plot_calibration()
    assert title_of(figure).endswith("; 1 beyond the picture")
    assert figure.axes[0].get_xlim()[1] < 2.0


# Distribution


def test_a_distribution_for_each_study(plain: Result) -> None:
    other = run_of({"z": Float(0, 1)}, [4.0, 0.75])  # of another space, but of the same objective
    figure = plain.plot_edf(others={"other $": other}, title="mine")
    (axes,) = figure.axes
    assert legend_of(figure) == ["mine (4 trials)", r"other \$ (2 trials)"]
    one, two = (np.array(line.get_data()).T for line in axes.lines)
    assert one[1:-1].tolist() == [[0.5, 0.25], [1.0, 0.5], [2.0, 0.75], [3.0, 1.0]]
    assert two[1:-1].tolist() == [[0.75, 0.5], [4.0, 1.0]]
    assert (one[0, 1], one[-1, 1]) == (0.0, 1.0)
    assert axes.get_xlim()[0] <= 0.5
    assert axes.get_xlim()[1] >= 4.0
    assert legend_of(plain.plot_edf()) == ["this study (4 trials)"]
    others: Any = [other]
    with pytest.raises(BoppError, match="wanted others as a dict"):
        plain.plot_edf(others=others)
