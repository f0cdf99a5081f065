"""The picture of a front, and that of its hypervolume."""

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bopp import AtMost, Problem, Result
from bopp.errors import MissingExtra
from bopp.problem import Direction
from bopp.view.drawing import convergence, front
from support.figures import dots_of, each_once, legend_of, png_size, title_of
from support.fronts import BOTH, FIVE, SPACE, result_of

MEMORY = [AtMost("memory", 16.0)]
ROWS = [(3.0, 1.0, 1.0), (1.0, 2.0, 2.0), (2.0, 1.5, 3.0), (1.5, 5.0, 17.0), (2.5, 4.0, 4.0)]


def stairs_of(axes: Axes) -> list[tuple[float, float]]:
    (line,) = axes.lines
    x, y = (np.asarray(row, dtype=float).tolist() for row in line.get_data())
    return list(zip(x, y, strict=True))


def test_the_trials_lie_where_their_objectives_are(tmp_path: Path) -> None:
    result = result_of(Problem(SPACE, BOTH, MEMORY, reference={"error": 3.5, "speed": 0.5}), *ROWS, None)
    figure = result.plot_front(tmp_path / "front.png", title="a title")
    (axes,) = figure.axes
    assert dots_of(axes, "front").tolist() == [[1.0, 2.0], [2.5, 4.0]]
    assert dots_of(axes, "dominated").tolist() == [[3.0, 1.0], [2.0, 1.5]]
    assert dots_of(axes, "breaks a constraint").tolist() == [[1.5, 5.0]]
    assert dots_of(axes, "reference").tolist() == [[3.5, 0.5]]
    assert axes.get_xlabel() == "error (smaller is better)"
    assert axes.get_ylabel() == "speed (larger is better)"
    assert title_of(figure) == "a title\nminimize error, maximize speed: front of 2 in 5 finished trials"
    assert legend_of(figure) == ["dominated", "breaks a constraint", "front", "reference"]
    assert png_size(tmp_path / "front.png")[0] > 900


@pytest.mark.parametrize("first", ["minimize", "maximize"])
@pytest.mark.parametrize("second", ["minimize", "maximize"])
def test_no_trial_is_on_the_good_side_of_the_stairs(first: Direction, second: Direction) -> None:
    """Whatever the directions, the stairs bound what some trial of the front is as good as."""
    rng = np.random.default_rng(0)
    rows = [tuple(row) for row in rng.random((20, 2)).tolist()]
    result = result_of(Problem(SPACE, {"a": first, "b": second}), *rows)
    (axes,) = result.plot_front().axes
    signs = np.array([1.0 if one == "maximize" else -1.0 for one in (first, second)])
    corners = np.array(stairs_of(axes))
    order = np.argsort(corners[:, 0], kind="stable")
    best = np.array([[trial.values[name] for name in "ab"] for trial in result.front], dtype=float) * signs
    where = axes.lines[0].get_drawstyle()
    assert where == ("steps-post" if first == "minimize" else "steps-pre")
    x, y = corners[order].T
    for i in range(len(x) - 1):  # the middle of each tread is just dominated: not a little beyond it
        tread = np.array([(x[i] + x[i + 1]) / 2, y[i] if first == "minimize" else y[i + 1]]) * signs
        if x[i] < x[i + 1]:
            assert (best >= tread).all(axis=1).any()
            assert not (best >= tread + np.array([0.0, 1e-9])).all(axis=1).any()


def test_of_three_objectives_each_pair_has_a_panel_and_of_five_four_are_paired() -> None:
    three: dict[str, Direction] = {"a": "minimize", "b": "maximize", "c": "minimize"}
    figure = front(result_of(Problem(SPACE, three), (1.0, 2.0, 3.0), (2.0, 3.0, 1.0), (3.0, 1.0, 4.0)))
    assert [axes.get_xlabel()[0] + axes.get_ylabel()[0] for axes in figure.axes] == ["ab", "ac", "bc"]
    assert [dots_of(axes, "front").tolist() for axes in figure.axes][1] == [[1.0, 3.0], [2.0, 1.0]]
    assert not any(axes.lines for axes in figure.axes)
    five = result_of(Problem(SPACE, FIVE), (1.0, 2.0, 3.0, 4.0, 5.0))
    assert len(front(five).axes) == 6
    (axes,) = five.plot_front(names=["e", "a"]).axes
    assert dots_of(axes, "front").tolist() == [[5.0, 1.0]]


def test_outliers_do_not_press_the_front_together() -> None:
    rows = [(1.0 + i / 10, 2.0 + i / 10) for i in range(20)]
    figure = front(result_of(Problem(SPACE, BOTH), *rows, (1e9, 1.0)))
    assert figure.axes[0].get_xlim()[1] < 10.0
    assert title_of(figure).endswith("\n1 beyond the picture")


ROWS_OF_ANY_KIND: list[list[tuple[float | None, float | None]]] = [
    [(1.0, 1.0)],
    [(0.0, 0.0), (0.0, 0.0)],
    [(1e300, -1e300), (-1e300, 1e300)],
    [(1.7e308, -1.7e308), (0.0, 0.0), (-1.7e308, 1.7e308)],
    [(1e-300, 5e-324), (2e-300, 0.0)],
    [(None, 1.0), (1.0, None)],
]


@pytest.mark.parametrize(("rows", "name"), each_once(ROWS_OF_ANY_KIND, ["a", "\U0001f680$_^", "n" * 600]))
def test_values_and_names_of_any_kind_are_drawn(
    rows: list[tuple[float | None, float | None]], name: str, tmp_path: Path
) -> None:
    result = result_of(Problem(SPACE, {name: "minimize", "b": "maximize"}, reference=None), *rows)
    result.plot_front(tmp_path / "a.png")
    assert 900 < png_size(tmp_path / "a.png")[0] < 1200
    if None not in rows[0]:
        result.plot_convergence(tmp_path / "b.png")


def test_convergence_of_several_objectives_is_the_hypervolume() -> None:
    problem = Problem(SPACE, BOTH, MEMORY, reference={"error": 4.0, "speed": 0.0})
    result = result_of(problem, *ROWS[:3], None, *ROWS[3:])
    figure = result.plot_convergence()
    (axes,) = figure.axes
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 5, 6])
    np.testing.assert_array_equal(line.get_ydata(), result.hypervolume().volumes)
    np.testing.assert_array_equal(dots_of(axes, "front grew")[:, 0], [1, 2, 6])
    np.testing.assert_array_equal(dots_of(axes, "failed")[:, 0], [4])
    np.testing.assert_array_equal(dots_of(axes, "breaks a constraint")[:, 0], [5])
    assert axes.get_ylabel() == "hypervolume of the front"
    assert title_of(figure).endswith("\nbeyond error 4, speed 0")


def test_only_its_convergence_wants_moocore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moocore", None)
    result = result_of(Problem(SPACE, BOTH), (1.0, 2.0), (2.0, 3.0))
    assert isinstance(result.plot_front(), Figure)
    with pytest.raises(MissingExtra, match=r"bopp\[front\]"):
        result.plot_convergence()
    result.of("speed").plot_convergence()


def test_trials_that_break_a_constraint_are_marked_in_a_convergence() -> None:
    problem = Problem(SPACE, {"error": "minimize"}, MEMORY)
    result: Result = result_of(problem, (3.0, 1.0), (1.0, 17.0), (2.0, 3.0), (4.0, 20.0))
    (axes,) = convergence(result).axes
    assert dots_of(axes).tolist() == [[1.0, 3.0], [3.0, 2.0]]
    assert dots_of(axes, "breaks a constraint").tolist() == [[2.0, 1.0], [4.0, 4.0]]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [3.0, 3.0, 2.0, 2.0])
