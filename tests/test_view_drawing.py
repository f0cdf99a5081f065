import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from bopp import AtMost, Choice, Float, Int, Optimizer, Problem, Result, Trial
from bopp.errors import BoppError, MissingExtra
from bopp.option import MOST_MARKS
from bopp.parameter import Parameter
from bopp.problem import Direction
from bopp.view.canvas import drawn
from bopp.view.convergence import convergence
from bopp.view.coordinates import coordinates
from bopp.view.importance import importance
from bopp.view.slices import slices
from bopp.view.style import LINE
from support.figures import dots_of, each_once, legend_of, png_size, run_of, title_of

Draw = Callable[..., Figure]
BY_PARAMETER: list[Draw] = [Result.plot_slice, Result.plot_importance, Result.plot_parallel]
DATELESS: list[Draw] = [Result.plot_convergence, *BY_PARAMETER, Result.plot_edf]
PICTURES: list[Draw] = [*DATELESS, Result.plot_timeline, Result.plot_contour, Result.plot_calibration]

MIXED: dict[str, Parameter] = {
    "x": Float(-1, 1),
    "lr": Float(1e-6, 1, log=True),
    "n": Int(1, 100),
    "m": Int(1, 2**53, log=True),
    "act": Choice(["relu", "tanh", (1, 2), None]),
    "size": Choice([8, 16, 32], ordered=True),
    "only": Choice(["one"]),
}


@pytest.fixture(scope="module")
def mixed() -> Result:
    return run_of(MIXED, [3.0, None, 1.0, 2.0, None, 0.5, 4.0])


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_convergence_shows_values_best_so_far_and_failures(direction: Direction) -> None:
    result = run_of({"x": Float(0, 1)}, [3.0, None, 1.0, 2.0, None, 0.5, 4.0], direction)
    figure, shown = result.plot_convergence(), convergence(result)
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    np.testing.assert_array_equal(dots_of(axes)[:, 0], shown.spent)
    np.testing.assert_allclose(dots_of(axes)[:, 1], np.clip(shown.values, low, high), rtol=1e-12)
    np.testing.assert_array_equal(dots_of(axes, "failed")[:, 0], [2, 5])
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), shown.spent)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), shown.best)
    assert low <= min(shown.best) <= max(shown.best) <= high
    best = result.best
    assert title_of(figure) == f"{direction}: best {best.value:g} in trial {best.number}"
    assert axes.get_xlabel() == "evaluations spent"


def test_slices_have_the_scale_and_the_marks_of_their_parameter(mixed: Result) -> None:
    figure = mixed.plot_slice()
    assert [axes.get_xlabel() for axes in figure.axes] == list(MIXED)
    assert [axes.get_xscale() for axes in figure.axes] == ["linear", "log", "linear", "log"] + ["linear"] * 3
    labels = [label.get_text() for label in figure.axes[4].get_xticklabels()]
    assert labels == ["relu", "tanh", "(1, 2)", "None"]
    assert [axes.get_xlabel() for axes in mixed.plot_slice(names=("n", "act")).axes] == ["n", "act"]


def test_the_line_and_the_band_of_numbers_are_those_of_the_view(mixed: Result) -> None:
    """tests/test_view_slices.py has what they should be."""
    for axes, one in zip(mixed.plot_slice().axes[:4], slices(mixed), strict=False):
        (band,) = [row for row in axes.collections if row.get_label() == "two standard deviations"]
        corners = np.asarray(band.get_paths()[0].vertices)
        line = np.asarray(axes.lines[0].get_xydata())
        np.testing.assert_allclose(line, np.column_stack([one.along, one.mean]))
        for edge in (one.low, one.high):
            assert {*zip(one.along, edge, strict=True)} <= {*map(tuple, corners.tolist())}


def test_dots_stand_above_their_option() -> None:
    """1, True and 1.0 are three options, though they are equal to Python."""
    opt = Optimizer({"c": Choice([1, True, 1.0, "x"])})
    for number, option in enumerate((1, True, 1.0, "x")):
        opt.observe({"c": option}, float(number))
    (axes,) = opt.result.plot_slice().axes
    dots = dots_of(axes)
    np.testing.assert_allclose(dots, [[0, 0.0], [1 / 3, 1.0], [2 / 3, 2.0], [1, 3.0]], rtol=1e-12)
    np.testing.assert_allclose(axes.get_xticks(), [0, 1 / 3, 2 / 3, 1], rtol=1e-12)


SIZES: list[list[float | None]] = [
    [1.0],
    [0.0, 0.0],
    [None, 2.5, 2.5, 2.5],
    [1e300, -1e300, 3e299],
    [1.7e308, -1.7e308, None, 0.0],
    [1e-300, 2e-300, 0.0],
    [5e-324, 0.0, 1e-323],
    [*np.linspace(0, 1, 20), 1e300],
]


@pytest.mark.parametrize(("values", "draw"), each_once(SIZES, PICTURES))
def test_values_of_any_size_are_drawn(
    values: list[float | None], draw: Callable[..., Any], tmp_path: Path
) -> None:
    if draw is Result.plot_calibration and sum(value is not None for value in values) < 2:
        values = [*values, 3.0]
    result = run_of({"x": Float(0, 1), "c": Choice(["u", "v", "w"])}, values)
    drawn(tmp_path / "a.png", lambda: draw(result))
    assert png_size(tmp_path / "a.png")[0] > 400


RANGES: list[tuple[str, Parameter]] = [
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
]


@pytest.mark.parametrize(("named", "draw"), each_once(RANGES, [*BY_PARAMETER, Result.plot_contour]))
def test_ranges_and_names_of_any_kind_are_drawn(
    named: tuple[str, Parameter], draw: Callable[..., Any], tmp_path: Path
) -> None:
    beside = {"beside": Float(0, 1)} if draw is Result.plot_contour else {}
    figure = draw(run_of({named[0]: named[1], **beside}, [1.0, 2.0, None, 0.0]))
    drawn(tmp_path / "a.png", lambda: figure)
    assert 400 < png_size(tmp_path / "a.png")[0] < 1200
    figure.set_layout_engine("none")  # it is laid out already, which takes most of the time
    drawn(tmp_path / "a.svg", lambda: figure)
    assert "<script>" not in (tmp_path / "a.svg").read_text()


VALUES: list[float | None] = [0.3, 0.1, 0.7, 0.5, 0.2, 0.6]
WIDE = [
    Float(-1.7e308, 1.7e308),
    Float(5e-324, 1.7e308, log=True),
    Int(-(2**52), 2**52),
    Choice([f"option {i}" for i in range(10_000)]),
]
TINY = [Float(1e-320, 1e-310, log=True), Float(0, 5e-324), Int(1, 2**53, log=True)]


@pytest.mark.parametrize(
    "parameter", [*WIDE, *(pytest.param(one, marks=pytest.mark.endurance) for one in TINY)], ids=lambda _: ""
)
def test_slices_of_extreme_ranges_are_drawn(tmp_path: Path, parameter: Parameter) -> None:
    run_of({"x": parameter, "y": Float(0, 1)}, VALUES).plot_slice(tmp_path / "slice.png")
    assert png_size(tmp_path / "slice.png")[0] > 400


@pytest.mark.parametrize(
    "parameter",
    [
        Int(10**15, 10**15 + 10),
        Int(2**52, 2**52 + 2000),
        Int(2**52, 2**52 + 10, log=True),
        Float(1e10, 1e10 + 1e-5),
        Float(1e10, 1e10 + 1e-5, log=True),
        Float(0, 1e-290),
        Float(1, 1 + 1e-9),
    ],
    ids=repr,
)
def test_a_narrow_range_fills_its_slice(parameter: Parameter) -> None:
    """Left to itself, matplotlib widens the axis of such a range, and all of it is one upright line."""
    axes = run_of({"x": parameter, "y": Float(0, 1)}, VALUES).plot_slice().axes[0]
    drawn, (low, high) = np.asarray(axes.lines[0].get_xdata(), dtype=float), axes.get_xlim()
    assert np.ptp(drawn) > 0.8 * (high - low)


def test_heights_that_differ_by_rounding_are_drawn_as_equal(tmp_path: Path) -> None:
    values = 1.0 + 1e-15 * np.random.default_rng(0).random(9)
    run_of({"x": Float(0, 1), "y": Float(0, 1)}, values.tolist()).plot_contour(tmp_path / "contour.png")
    assert png_size(tmp_path / "contour.png")[0] > 400


@pytest.mark.parametrize(
    "values",
    [
        [1e308, -1e308, 1.7e308, 0.0, 1.0, -1.7e308],
        pytest.param([1e-320, 3e-320, 5e-324, 0.0, 0.0, 0.0], marks=pytest.mark.endurance),
    ],
)
def test_pictures_of_extreme_values_are_drawn_or_refused_in_words(
    tmp_path: Path, values: list[float | None]
) -> None:
    result = run_of({"x": Float(0, 1), "y": Float(0, 1)}, values)
    for draw in (Result.plot_slice, Result.plot_contour, Result.plot_calibration):
        with suppress(BoppError):
            draw(result, tmp_path / f"{draw.__name__}.png")
    assert (tmp_path / "plot_slice.png").exists()


def names_drawn(name: str) -> list[str]:
    """How each picture writes the name of a parameter."""
    result = run_of({name: Float(0, 1)}, [1.0])
    return [
        result.plot_slice().axes[0].get_xlabel(),
        result.plot_importance().axes[0].get_yticklabels()[0].get_text(),
        result.plot_parallel().axes[0].get_xticklabels()[0].get_text(),
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
        labels = result.plot_slice().axes[0].get_xticklabels()
        assert [label.get_text() for label in labels] == expected
        assert {(label.get_rotation(), label.get_fontsize()) for label in labels} == {(90.0, 6.0)}
        assert list(labels_of(result.plot_parallel().axes[0], 0)) == expected


def test_bars_are_the_importances_most_important_on_top(mixed: Result) -> None:
    expected = importance(mixed)
    (axes,) = mixed.plot_importance().axes
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


def test_lines_and_labels_are_those_of_the_view(mixed: Result) -> None:
    """tests/test_view_coordinates.py has what they should be."""
    (axes,) = mixed.plot_parallel().axes
    failed, done = segments_of(axes)
    shown = coordinates(mixed)
    best_last = sorted((line for line in shown.lines if not line.failed), key=lambda line: -(line.rank or 0))
    for segments, lines in ((done, best_last), (failed, [line for line in shown.lines if line.failed])):
        assert segments.shape == (len(lines), len(lines[0].places), 2)
        np.testing.assert_array_equal(segments[0, :, 0], range(len(lines[0].places)))
        np.testing.assert_allclose(segments[:, :, 1], [line.places for line in lines])
    assert [label.get_text() for label in axes.get_xticklabels()] == [*MIXED, "value"]
    for column, axis in enumerate(shown.axes):
        assert labels_of(axes, column) == pytest.approx({mark.label: mark.place for mark in axis.marks})


@pytest.mark.parametrize(("direction", "best"), [("minimize", 0.0), ("maximize", 1.0)])
def test_better_lines_are_darker_and_the_best_stands_out(direction: Direction, best: float) -> None:
    (axes,) = run_of(MIXED, [3.0, 1.0, 2.0, 0.5, 4.0], direction).plot_parallel().axes
    lines: Any = axes.collections[0]
    heights = [segment[-1, 1] for segment in segments_of(axes)[0]]
    assert heights == sorted(heights, reverse=direction == "minimize")
    brightness = np.asarray(lines.get_edgecolor())[:, :3].sum(axis=1)
    assert (np.diff(brightness) < 0).all()
    (line,) = [line for line in axes.lines if line.get_label() == "best"]
    assert np.asarray(line.get_ydata())[-1] == best
    assert to_rgb(line.get_color()) == to_rgb(LINE)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_bars_of_options_reach_from_low_to_high(direction: Direction) -> None:
    """Skewed values make bars of which the upper and the lower part differ."""
    result = run_of({"c": Choice(["u", "v", "w", "x"])}, [1.0, 2.0, 4.0, 8.0, 100.0], direction)
    (one,) = slices(result)
    (axes,) = result.plot_slice().axes
    bars: Any = axes.containers[0]
    heights = np.array(bars[2][0].get_segments())[:, :, 1]
    np.testing.assert_allclose(heights, np.column_stack([one.low, one.high]), rtol=1e-9)
    assert not np.allclose(one.high - one.mean, one.mean - one.low, rtol=0.1)


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
    (axes,) = result.plot_convergence().axes
    assert all(title_of(draw(result)) == r"minimize error \$: best 2 in trial 2" for draw in DATELESS)
    assert axes.get_ylabel() == r"error \$"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [np.nan, 3.0, 2.0])
    assert result.plot_slice().axes[0].get_ylabel() == r"error \$"
    (axes,) = result.plot_parallel().axes
    assert axes.get_xticklabels()[-1].get_text() == r"error \$"
    (line,) = [line for line in axes.lines if line.get_label() == "best"]
    assert np.asarray(line.get_ydata()).tolist() == [2 / 3, 0.5]


def test_values_beyond_the_picture_are_marked_on_their_side() -> None:
    """A trial that breaks a constraint may be far better than the best."""
    result = constrained((-1e9, 11.0), *((float(i), 1.0) for i in range(30)), (1e9, 1.0))
    (axes,) = result.plot_convergence().axes
    beyond = [row for row in axes.collections if row.get_label() == "beyond the picture"]
    above, below = (np.asarray(row.get_offsets()).tolist() for row in beyond)
    assert above == [[32.0, axes.get_ylim()[1]]]
    assert below == [[1.0, axes.get_ylim()[0]]]
    assert len(dots_of(axes)) == 30


@pytest.mark.parametrize("draw", DATELESS)
def test_without_a_trial_that_meets_the_constraints_there_is_still_a_picture(draw: Draw) -> None:
    figure = draw(constrained((1.0, 11.0), (3.0, 12.0)))
    assert "no trial is known to meet the constraints" in title_of(figure)
    assert not any("best" in label for label in legend_of(figure))
    figure.draw_without_rendering()


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
