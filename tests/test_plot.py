import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bopp import Choice, Float, Int, Optimizer, Result
from bopp.errors import BoppError, MissingExtra, NoResultError, SpaceError
from bopp.parameter import Parameter
from bopp.trial import Direction

MIXED: dict[str, Parameter] = {
    "x": Float(-1, 1),
    "lr": Float(1e-6, 1, log=True),
    "n": Int(1, 100),
    "m": Int(1, 2**63, log=True),
    "act": Choice(["relu", "tanh", (1, 2), None]),
    "size": Choice([8, 16, 32], ordered=True),
    "only": Choice(["one"]),
}


def run_of(
    space: dict[str, Parameter], values: list[float | None], direction: Direction = "minimize"
) -> Result:
    """Random points with these values; None is a failed trial."""
    opt = Optimizer(space, direction)
    rng = np.random.default_rng(0)
    for value in values:
        opt.observe(opt.space.decode(rng.random(opt.space.dimension)), value)
    return opt.result


@pytest.fixture
def mixed() -> Result:
    return run_of(MIXED, [3.0, None, 1.0, 2.0, None, 0.5, 4.0])


def png_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture, from the head of the file."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


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
    (axes,) = result.plot_convergence().axes
    marks = {str(row.get_label()): np.asarray(row.get_offsets()) for row in axes.collections}
    numbers, values = [1, 3, 4, 6, 7], [3.0, 1.0, 2.0, 0.5, 4.0]
    np.testing.assert_array_equal(marks["evaluation"][:, 0], numbers)
    np.testing.assert_allclose(marks["evaluation"][:, 1], np.clip(values, *axes.get_ylim()), rtol=1e-12)
    np.testing.assert_array_equal(marks["failed"][:, 0], [2, 5])
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), numbers)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), best)
    assert axes.get_ylim()[0] <= min(best)
    assert axes.get_ylim()[1] >= max(best)
    assert direction in axes.get_title()
    assert f"{best[-1]:g}" in axes.get_title()


def test_slices_are_written(mixed: Result, tmp_path: Path) -> None:
    figure = mixed.plot_slice(path=str(tmp_path / "slices.png"))
    width, height = png_size(tmp_path / "slices.png")
    assert min(width, height) > 600
    assert [axes.get_xlabel() for axes in figure.axes] == list(MIXED)
    assert [axes.get_xscale() for axes in figure.axes] == ["linear", "log", "linear", "log"] + ["linear"] * 3
    labels = [label.get_text() for label in figure.axes[4].get_xticklabels()]
    assert labels == ["relu", "tanh", "(1, 2)", "None"]


def test_the_slices_asked_for_are_drawn(mixed: Result) -> None:
    assert [axes.get_xlabel() for axes in mixed.plot_slice(["n", "act"]).axes] == ["n", "act"]
    assert [axes.get_xlabel() for axes in mixed.plot_slice(["x"]).axes] == ["x"]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_slice_goes_through_the_values(direction: Direction) -> None:
    """In one dimension the model's mean passes close to smooth data, in the unit of the user."""
    opt = Optimizer({"x": Float(0, 10)}, direction)
    for x in np.linspace(0, 10, 11):
        opt.observe({"x": x}, 1e6 + 1e3 * x)
    (axes,) = opt.result.plot_slice().axes
    x, y = (np.asarray(row, dtype=float) for row in axes.lines[0].get_data())
    np.testing.assert_allclose(y, 1e6 + 1e3 * x, rtol=0, atol=300.0)
    dots = np.asarray(axes.collections[-1].get_offsets())
    np.testing.assert_allclose(dots[:, 1], 1e6 + 1e3 * dots[:, 0], rtol=1e-12)


def test_dots_stand_above_their_option() -> None:
    """1, True and 1.0 are three options, though they are equal to Python."""
    opt = Optimizer({"c": Choice([1, True, 1.0, "x"])})
    for number, option in enumerate((1, True, 1.0, "x")):
        opt.observe({"c": option}, float(number))
    (axes,) = opt.result.plot_slice().axes
    dots = axes.collections[-1].get_offsets()
    np.testing.assert_array_equal(dots, [[0, 0.0], [1, 1.0], [2, 2.0], [3, 3.0]])


@pytest.mark.parametrize("names", [["speed"], ["x", "speed"], []])
def test_unknown_names_are_refused(mixed: Result, names: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        mixed.plot_slice(names)
    assert "'lr'" in str(caught.value)
    assert repr(names) in str(caught.value)


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_nothing_finished_is_nothing_to_draw(
    values: list[float | None], capfd: pytest.CaptureFixture[str]
) -> None:
    for draw in (run_of(MIXED, values).plot_convergence, run_of(MIXED, values).plot_slice):
        with pytest.raises(NoResultError):
            draw()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("values", [[1.0], [0.0, 0.0], [1e200, -1e200, 3e200], [1e-300, 2e-300, 0.0]])
def test_values_of_any_size_are_drawn(values: list[float | None], tmp_path: Path) -> None:
    result = run_of({"x": Float(0, 1)}, values)
    result.plot_convergence(str(tmp_path / "a.png"))
    result.plot_slice(path=str(tmp_path / "b.png"))
    assert png_size(tmp_path / "a.png")[0] > 400
    assert png_size(tmp_path / "b.png")[0] > 400


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("decades", Float(1e-150, 1e150, log=True)),
        ("narrow", Float(1e10, 1e10 + 1e-5)),
        ("wide", Int(0, 2**70)),
        ("wider", Int(-(10**40), 10**40)),
        ("", Float(0, 1)),
        ("a_b^c", Choice(["$5", "5_0", "%s", "{}"])),
        ("$\\frac$", Float(0, 1)),
        ("tex", Choice(["$\\x$", "$y$"])),
    ],
)
def test_ranges_and_names_of_any_kind_are_drawn(name: str, parameter: Parameter, tmp_path: Path) -> None:
    run_of({name: parameter}, [1.0, 2.0, None, 0.0]).plot_slice(path=str(tmp_path / "a.png"))
    assert png_size(tmp_path / "a.png")[0] > 400


def test_pictures_leave_no_global_state(mixed: Result) -> None:
    mixed.plot_convergence()
    mixed.plot_slice(["x"])
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


@pytest.mark.parametrize("draw", ["plot_convergence", "plot_slice"])
def test_without_matplotlib_the_extra_is_named(
    mixed: Result, draw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"bopp\[plot\]") as caught:
        getattr(mixed, draw)()
    assert isinstance(caught.value, BoppError)
    assert isinstance(caught.value, ImportError)


def test_a_path_that_cannot_be_written_is_an_error_of_the_system(mixed: Result, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mixed.plot_convergence(str(tmp_path / "missing" / "a.png"))


def test_paths_may_be_path_objects(mixed: Result, tmp_path: Path) -> None:
    path: Any = tmp_path / "a.png"
    mixed.plot_convergence(path)
    assert png_size(path)[0] > 400
