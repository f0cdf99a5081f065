import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from bopp import AtMost, Choice, Float, Int, Optimizer, Problem, Result, Trial
from bopp.errors import BoppError, MissingExtra, NoResultError, SpaceError
from bopp.option import MOST_MARKS
from bopp.parameter import Parameter
from bopp.problem import Direction
from bopp.view.canvas import drawn
from bopp.view.drawing import (
    calibration,
    contour,
    convergence,
    coordinates,
    edf,
    importances,
    slices,
    timeline,
)
from bopp.view.drawing.style import LINE
from bopp.view.importance import importance
from bopp.view.slices import slices as slices_of
from support.figures import dots_of, legend_of, png_size, run_of, title_of

Draw = Callable[..., Figure]
ONE_PARAMETER: list[Draw] = [convergence, slices, importances, coordinates, timeline, edf]
PICTURES: list[Draw] = [*ONE_PARAMETER, contour, calibration]

MIXED: dict[str, Parameter] = {
    "x": Float(-1, 1),
    "lr": Float(1e-6, 1, log=True),
    "n": Int(1, 100),
    "m": Int(1, 2**53, log=True),
    "act": Choice(["relu", "tanh", (1, 2), None]),
    "size": Choice([8, 16, 32], ordered=True),
    "only": Choice(["one"]),
}


@pytest.fixture
def mixed() -> Result:
    return run_of(MIXED, [3.0, None, 1.0, 2.0, None, 0.5, 4.0])


def test_convergence_is_written(mixed: Result, tmp_path: Path) -> None:
    figure = mixed.plot_convergence(str(tmp_path / "convergence.png"))
    width, height = png_size(tmp_path / "convergence.png")
    assert width > height > 400
    assert len(figure.axes) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "convergence.png"]


@pytest.mark.parametrize(
    ("direction", "best"), [("minimize", [3.0, 1.0, 1.0, 0.5, 0.5]), ("maximize", [3.0, 3.0, 3.0, 3.0, 4.0])]
)
def test_convergence_shows_values_best_so_far_and_failures(direction: Direction, best: list[float]) -> None:
    result = run_of({"x": Float(0, 1)}, [3.0, None, 1.0, 2.0, None, 0.5, 4.0], direction)
    figure = result.plot_convergence()
    (axes,) = figure.axes
    marks = {str(row.get_label()): np.asarray(row.get_offsets()) for row in axes.collections}
    spent, values = [1, 3, 4, 6, 7], [3.0, 1.0, 2.0, 0.5, 4.0]
    np.testing.assert_array_equal(marks["evaluation"][:, 0], spent)
    np.testing.assert_allclose(marks["evaluation"][:, 1], np.clip(values, *axes.get_ylim()), rtol=1e-12)
    np.testing.assert_array_equal(marks["failed"][:, 0], [2, 5])
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), spent)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), best)
    assert axes.get_ylim()[0] <= min(best)
    assert axes.get_ylim()[1] >= max(best)
    number = 5 if direction == "minimize" else 6
    assert title_of(figure) == f"{direction}: best {best[-1]:g} in trial {number}"
    assert axes.get_xlabel() == "evaluations spent"


def test_slices_are_written(mixed: Result, tmp_path: Path) -> None:
    figure = mixed.plot_slice(path=str(tmp_path / "slices.png"))
    width, height = png_size(tmp_path / "slices.png")
    assert min(width, height) > 600
    assert [axes.get_xlabel() for axes in figure.axes] == list(MIXED)
    assert [axes.get_xscale() for axes in figure.axes] == ["linear", "log", "linear", "log"] + ["linear"] * 3
    labels = [label.get_text() for label in figure.axes[4].get_xticklabels()]
    assert labels == ["relu", "tanh", "(1, 2)", "None"]


def test_the_slices_asked_for_are_drawn(mixed: Result) -> None:
    assert [axes.get_xlabel() for axes in mixed.plot_slice(names=["n", "act"]).axes] == ["n", "act"]
    assert [axes.get_xlabel() for axes in mixed.plot_slice(names=("x",)).axes] == ["x"]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_slice_goes_through_the_values(direction: Direction) -> None:
    """In one dimension the model's mean passes close to smooth data, in the unit of the user."""
    opt = Optimizer({"x": Float(0, 10)}, direction)
    for x in np.linspace(0, 10, 11):
        opt.observe({"x": x}, 1e6 + 1e3 * x)
    (axes,) = opt.result.plot_slice().axes
    x, y = (np.asarray(row, dtype=float) for row in axes.lines[0].get_data())
    np.testing.assert_allclose(y, 1e6 + 1e3 * x, rtol=0, atol=300.0)
    dots = dots_of(axes)
    np.testing.assert_allclose(dots[:, 1], 1e6 + 1e3 * dots[:, 0], rtol=1e-12)


def test_dots_stand_above_their_option() -> None:
    """1, True and 1.0 are three options, though they are equal to Python."""
    opt = Optimizer({"c": Choice([1, True, 1.0, "x"])})
    for number, option in enumerate((1, True, 1.0, "x")):
        opt.observe({"c": option}, float(number))
    (axes,) = opt.result.plot_slice().axes
    dots = dots_of(axes)
    np.testing.assert_allclose(dots, [[0, 0.0], [1 / 3, 1.0], [2 / 3, 2.0], [1, 3.0]], rtol=1e-12)
    np.testing.assert_allclose(axes.get_xticks(), [0, 1 / 3, 2 / 3, 1], rtol=1e-12)


@pytest.mark.parametrize("names", [["speed"], ["x", "speed"], []])
def test_unknown_names_are_refused(mixed: Result, names: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        mixed.plot_slice(names=names)
    assert "'lr'" in str(caught.value)
    assert repr(names) in str(caught.value)


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_nothing_finished_is_nothing_to_draw(
    values: list[float | None], capfd: pytest.CaptureFixture[str]
) -> None:
    for draw in PICTURES:
        if draw is not timeline or not values:  # which shows failed trials too
            with pytest.raises(NoResultError, match="wants"):
                draw(run_of(MIXED, values))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        [0.0, 0.0],
        [None, 2.5, 2.5, 2.5],
        [1e300, -1e300, 3e299],
        [1.7e308, -1.7e308, None, 0.0],
        [1e-300, 2e-300, 0.0],
        [5e-324, 0.0, 1e-323],
        [*np.linspace(0, 1, 20), 1e300],
    ],
)
def test_values_of_any_size_are_drawn(
    values: list[float | None], draw: Callable[..., Any], tmp_path: Path
) -> None:
    if draw is calibration and sum(value is not None for value in values) < 2:
        values = [*values, 3.0]
    result = run_of({"x": Float(0, 1), "c": Choice(["u", "v", "w"])}, values)
    drawn(tmp_path / "a.png", lambda: draw(result))
    assert png_size(tmp_path / "a.png")[0] > 400


@pytest.mark.parametrize("draw", [slices, importances, coordinates, contour])
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("decades", Float(1e-150, 1e150, log=True)),
        ("narrow", Float(1e10, 1e10 + 1e-5)),
        ("narrow log", Float(1.0, 1.5, log=True)),
        ("wide", Int(0, 2**53)),
        ("wider", Int(-(2**52), 2**52)),
        ("", Float(0, 1)),
        ("a_b^c", Choice(["$5", "5_0", "%s", "{}"])),
        ("$\\frac$", Float(0, 1)),
        ("tex", Choice(["$\\x$", "$y$"])),
        ("\U0001f680 speed", Choice(["\U0001f4c8", "\u5b66\u4e60\u7387", "\u0645\u0631"])),
        ("tab\tnew\nnull\x00\ud800", Int(0, 1)),
        ("<script>", Choice([f"<b>{i}</b>" for i in range(30)])),
        ("n" * 600, Choice(["y" * 600, "z"])),
        ("\U0001f680" * 600, Choice(list(range(1000)), ordered=True)),
    ],
)
def test_ranges_and_names_of_any_kind_are_drawn(
    name: str, parameter: Parameter, draw: Callable[..., Any], tmp_path: Path
) -> None:
    beside = {"beside": Float(0, 1)} if draw is contour else {}
    figure = draw(run_of({name: parameter, **beside}, [1.0, 2.0, None, 0.0]))
    drawn(tmp_path / "a.png", lambda: figure)
    assert 400 < png_size(tmp_path / "a.png")[0] < 1200
    figure.set_layout_engine("none")  # it is laid out already, which takes most of the time
    drawn(tmp_path / "a.svg", lambda: figure)
    assert "<script>" not in (tmp_path / "a.svg").read_text()


def names_drawn(name: str) -> list[str]:
    """How each picture writes the name of a parameter."""
    result = run_of({name: Float(0, 1)}, [1.0])
    return [
        slices(result).axes[0].get_xlabel(),
        importances(result).axes[0].get_yticklabels()[0].get_text(),
        coordinates(result).axes[0].get_xticklabels()[0].get_text(),
    ]


def test_letters_that_the_font_lacks_are_escaped_and_the_others_kept() -> None:
    assert names_drawn("\U0001f680 sp\u00e9ed_1") == ["\\U0001f680 sp\u00e9ed_1"] * 3
    assert names_drawn("a\nb$") == ["a\\nb\\$"] * 3


def test_long_names_keep_their_beginning_and_end() -> None:
    for name in names_drawn("first" + 600 * "n" + "last"):
        assert name.startswith("firstn")
        assert name.endswith("nlast")
        assert "\u2026" in name
        assert len(name) < 40


def test_many_options_do_not_crowd_the_axis() -> None:
    for size in (MOST_MARKS, 10 * MOST_MARKS):
        result = run_of({"c": Choice([f"option {i}" for i in range(size)])}, [1.0])
        expected = [f"option {i}" for i in range(0, size, size // MOST_MARKS)]
        assert [label.get_text() for label in slices(result).axes[0].get_xticklabels()] == expected
        assert list(labels_of(coordinates(result).axes[0], 0)) == expected


def test_bars_are_the_importances_most_important_on_top(mixed: Result) -> None:
    expected = importance(mixed)
    (axes,) = importances(mixed).axes
    bars: Any = axes.patches
    assert axes.yaxis_inverted()
    names = [label.get_text() for label in axes.get_yticklabels()]
    shares = [bar.get_width() for bar in bars]
    assert dict(zip(names, shares, strict=True)) == {name: one.share for name, one in expected.items()}
    lines: Any = axes.collections[0]
    ends = [[segment[0][0], segment[1][0]] for segment in lines.get_segments()]
    np.testing.assert_allclose(ends, [expected[name][1:] for name in names])
    assert shares == sorted(shares, reverse=True)
    assert [bar.get_y() for bar in bars] == sorted(bar.get_y() for bar in bars)


def labels_of(axes: Axes, column: int) -> dict[str, float]:
    """The labels along one axis of a parallel plot, and where they stand."""
    texts: list[Any] = list(axes.texts)
    return {text.get_text(): text.xy[1] for text in texts if text.xy[0] == column}


def segments_of(axes: Axes) -> list[np.ndarray]:
    """The lines of failed trials, if any, and of the finished ones."""
    collections: list[Any] = list(axes.collections)
    return [np.array(lines.get_segments()) for lines in collections]


def test_lines_go_through_the_params_to_the_value(mixed: Result) -> None:
    (axes,) = coordinates(mixed).axes
    failed, done = segments_of(axes)
    assert done.shape == (5, len(MIXED) + 1, 2)
    assert failed.shape == (2, len(MIXED), 2)
    np.testing.assert_array_equal(done[:, :, 0], [range(len(MIXED) + 1)] * 5)
    finished = [trial for trial in mixed.trials if trial.state == "done"]
    ordered = sorted(finished, key=lambda trial: -trial.value)  # the best is drawn last
    for line, trial in zip(done[:, :, 1], ordered, strict=True):
        x, lr, n, m, act, size, only = line[:-1]
        assert x == pytest.approx((trial.params["x"] + 1) / 2)
        assert lr == pytest.approx(np.log10(trial.params["lr"]) / 6 + 1)
        assert n == pytest.approx((trial.params["n"] - 1) / 99)
        assert m == pytest.approx(np.log2(trial.params["m"]) / 53)
        assert act == pytest.approx(list(MIXED["act"].values()).index(trial.params["act"]) / 3)
        assert size == pytest.approx(np.log2(trial.params["size"] / 8) / 2)
        assert only == 0.5
        assert line[-1] == pytest.approx((trial.value - 0.5) / 3.5)


@pytest.mark.parametrize(("direction", "best"), [("minimize", 0.0), ("maximize", 1.0)])
def test_better_lines_are_darker_and_the_best_stands_out(direction: Direction, best: float) -> None:
    (axes,) = coordinates(run_of(MIXED, [3.0, 1.0, 2.0, 0.5, 4.0], direction)).axes
    lines: Any = axes.collections[0]
    heights = [segment[-1, 1] for segment in segments_of(axes)[0]]
    assert heights == sorted(heights, reverse=direction == "minimize")
    brightness = np.asarray(lines.get_edgecolor())[:, :3].sum(axis=1)
    assert (np.diff(brightness) < 0).all()
    (line,) = [line for line in axes.lines if line.get_label() == "best"]
    assert np.asarray(line.get_ydata())[-1] == best
    assert to_rgb(line.get_color()) == to_rgb(LINE)


def test_equal_values_are_equally_good() -> None:
    (axes,) = coordinates(run_of(MIXED, [2.5] * 4)).axes
    lines: Any = axes.collections[0]
    assert len(np.unique(np.asarray(lines.get_edgecolor()), axis=0)) == 1
    assert labels_of(axes, len(MIXED)) == {"2.5": 0.5}


def test_axes_are_labelled_in_the_unit_of_the_user(mixed: Result) -> None:
    (axes,) = coordinates(mixed).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == [*MIXED, "value"]
    assert labels_of(axes, 4) == pytest.approx({"relu": 0, "tanh": 1 / 3, "(1, 2)": 2 / 3, "None": 1})
    assert labels_of(axes, 5) == {"8": 0, "16": 0.5, "32": 1}
    ends: dict[int, tuple[float, float]] = {
        0: (-1, 1),
        1: (1e-6, 1),
        2: (1, 100),
        3: (1, 2**53),
        len(MIXED): (0.5, 4),
    }
    for column, (low, high) in ends.items():
        numbers, places = np.array([[float(text), y] for text, y in labels_of(axes, column).items()]).T
        assert [numbers.min(), numbers.max()] == pytest.approx([low, high], rel=1e-5)
        assert 4 <= len(numbers) <= 8
        shown = np.log if column in (1, 3) else np.asarray
        expected = (shown(numbers) - shown(low)) / (shown(high) - shown(low))
        np.testing.assert_allclose(places, expected, rtol=0, atol=1e-5)


def test_labels_of_a_narrow_range_differ() -> None:
    (axes,) = coordinates(run_of({"x": Float(1e6, 1e6 + 1e-3)}, [1.0])).axes
    texts: list[Any] = list(axes.texts)
    assert sum(text.xy[0] == 0 for text in texts) == len(labels_of(axes, 0)) > 3


def test_outliers_stand_at_the_end_of_the_axis_of_values() -> None:
    """A diverged run must not press the others together, and the end says that there is more."""
    (axes,) = coordinates(run_of({"x": Float(0, 1)}, [*np.linspace(0, 1, 21), 1e9])).axes
    heights = segments_of(axes)[0][:, -1, 1]
    assert sorted(heights)[10] > 0.4
    assert [text for text in labels_of(axes, 1) if text.startswith("\u2265 ")]
    assert not [text for text in labels_of(axes, 1) if text.startswith("\u2264 ")]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_bars_of_options_reach_from_low_to_high(direction: Direction) -> None:
    """Skewed values make bars of which the upper and the lower part differ."""
    result = run_of({"c": Choice(["u", "v", "w", "x"])}, [1.0, 2.0, 4.0, 8.0, 100.0], direction)
    (one,) = slices_of(result)
    (axes,) = slices(result).axes
    bars: Any = axes.containers[0]
    heights = np.array(bars[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(heights, np.column_stack([one.low, one.high]), rtol=1e-9)
    assert not np.allclose(one.high - one.mean, one.mean - one.low, rtol=0.1)


DATELESS: list[Draw] = [convergence, slices, importances, coordinates, edf]
CONSTRAINED = Problem({"x": Float(0, 1)}, {"error $": "minimize"}, [AtMost("memory", 10.0)])


def constrained(*rows: tuple[float, float]) -> Result:
    """Trials with these errors and memories."""
    trials = (
        Trial(i, {"x": i / len(rows)}, "done", {"error $": error, "memory": memory})
        for i, (error, memory) in enumerate(rows)
    )
    return Result(CONSTRAINED, tuple(trials))


def test_pictures_name_the_objective_and_the_best_that_meets_the_constraints() -> None:
    result = constrained((1.0, 11.0), (3.0, 10.0), (2.0, 5.0))
    (axes,) = convergence(result).axes
    assert all(title_of(draw(result)) == r"minimize error \$: best 2 in trial 2" for draw in DATELESS)
    assert axes.get_ylabel() == r"error \$"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [np.nan, 3.0, 2.0])
    assert slices(result).axes[0].get_ylabel() == r"error \$"
    (axes,) = coordinates(result).axes
    assert axes.get_xticklabels()[-1].get_text() == r"error \$"
    (line,) = [line for line in axes.lines if line.get_label() == "best"]
    assert np.asarray(line.get_ydata()).tolist() == [2 / 3, 0.5]


def test_values_beyond_the_picture_are_marked_on_their_side() -> None:
    """A trial that breaks a constraint may be far better than the best."""
    result = constrained((-1e9, 11.0), *((float(i), 1.0) for i in range(30)), (1e9, 1.0))
    (axes,) = convergence(result).axes
    beyond = [row for row in axes.collections if row.get_label() == "beyond the picture"]
    above, below = (np.asarray(row.get_offsets()).tolist() for row in beyond)
    assert above == [[32.0, axes.get_ylim()[1]]]
    assert below == [[1.0, axes.get_ylim()[0]]]
    assert len(dots_of(axes)) == 30


@pytest.mark.parametrize("draw", DATELESS)
def test_without_a_trial_that_meets_the_constraints_there_is_still_a_picture(
    draw: Callable[..., Any], tmp_path: Path
) -> None:
    figure = drawn(tmp_path / "a.png", lambda: draw(constrained((1.0, 11.0), (3.0, 12.0))))
    assert png_size(tmp_path / "a.png")[0] > 400
    assert title_of(figure).startswith(r"minimize error \$: no trial is known to meet the constraints")
    assert not any("best" in label for label in legend_of(figure))


def test_pictures_leave_no_global_state(mixed: Result) -> None:
    for draw in PICTURES:
        draw(mixed)
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


@pytest.mark.parametrize("draw", PICTURES)
def test_without_matplotlib_the_extra_is_named(
    mixed: Result, draw: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"bopp\[plot\]") as caught:
        draw(mixed)
    assert isinstance(caught.value, BoppError)
    assert isinstance(caught.value, ImportError)


def test_a_path_that_cannot_be_written_is_an_error_of_the_system(mixed: Result, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mixed.plot_convergence(str(tmp_path / "missing" / "a.png"))


def test_paths_may_be_path_objects(mixed: Result, tmp_path: Path) -> None:
    path: Any = tmp_path / "a.png"
    mixed.plot_convergence(path)
    assert png_size(path)[0] > 400
