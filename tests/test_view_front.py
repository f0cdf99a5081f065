import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bopp import AtLeast, AtMost, Float, Holds, Problem, Result, Trial
from bopp.errors import MissingExtra, NoResultError, RecipeError
from bopp.front import found_reference
from bopp.problem import Direction
from bopp.view.front import front, hypervolume
from support.figures import dots_of, each_once, legend_of, png_size, title_of

SPACE = {"x": Float(0, 100)}
BOTH: dict[str, Direction] = {"error": "minimize", "speed": "maximize"}
FIVE: dict[str, Direction] = dict.fromkeys("abcde", "minimize")
REFERENCE = {"error": 4.0, "speed": 0.0}


def result_of(problem: Problem, *rows: tuple[float | None, ...] | None) -> Result:
    """Trials with these values of a problem; None is a failed trial."""
    trials = [
        Trial(n, {"x": float(n)}, "failed", error="no")
        if row is None
        else Trial(n, {"x": float(n)}, "done", dict(zip(problem.names, row, strict=True)))
        for n, row in enumerate(rows)
    ]
    return Result(problem, tuple(trials))


def test_the_hypervolume_grows_as_by_hand() -> None:
    rows = [(3.0, 1.0), None, (1.0, 2.0), (2.0, 1.0), (3.0, 5.0), (9.0, 9.0), (1.0, 2.0)]
    grown = result_of(Problem(SPACE, BOTH), *rows).hypervolume(REFERENCE)
    assert grown.numbers == [0, 2, 3, 4, 5, 6]
    assert grown.spent == [1, 3, 4, 5, 6, 7]
    # 1 x 1; then 3 x 2, which has that in it; then 1 x 3 on top; (9, 9) lies beyond the reference
    np.testing.assert_allclose(grown.volumes, [1.0, 6.0, 6.0, 9.0, 9.0, 9.0], rtol=1e-12)
    assert grown.reference == REFERENCE


def test_three_objectives() -> None:
    problem = Problem(
        SPACE, {"a": "maximize", "b": "maximize", "c": "minimize"}, reference=dict.fromkeys("abc", 0)
    )
    grown = hypervolume(
        result_of(problem, (1.0, 1.0, -1.0), (2.0, 1.0, -1.0), (1.0, 1.0, -3.0), (0.0, 9.0, -9.0))
    )
    np.testing.assert_allclose(grown.volumes, [1.0, 2.0, 4.0, 4.0], rtol=1e-12)


@given(st.lists(st.tuples(*[st.floats(-3.0, 3.0)] * 2), min_size=1, max_size=12))
def test_it_is_the_area_of_the_staircase(rows: list[tuple[float, float]]) -> None:
    grown = hypervolume(result_of(Problem(SPACE, BOTH), *rows), {"error": 2.0, "speed": -2.0})
    area, reached = 0.0, -2.0
    for error, speed in sorted(rows):  # each adds a slab of what is faster than all that err less
        if error < 2.0 and speed > reached:
            area, reached = area + (2.0 - error) * (speed - reached), speed
    assert grown.volumes[-1] == pytest.approx(area, rel=1e-9, abs=1e-12)
    assert (np.diff(grown.volumes) >= -1e-12).all()


def test_directions_do_not_matter() -> None:
    rows = [(3.0, 1.0), (1.0, 2.0), (3.0, 5.0)]
    turned = result_of(
        Problem(SPACE, {"error": "maximize", "speed": "minimize"}), *((-e, -s) for e, s in rows)
    )
    one = hypervolume(result_of(Problem(SPACE, BOTH), *rows))
    other = hypervolume(turned)
    np.testing.assert_allclose(one.volumes, other.volumes, rtol=1e-12)
    assert other.reference == {name: -value for name, value in one.reference.items()}


def test_the_reference_is_that_given_or_of_the_problem_or_found_out() -> None:
    rows = [(3.0, 1.0), (1.0, 0.5), (2.0, 5.0)]
    declared = Problem(SPACE, BOTH, reference={"error": 5.0, "speed": -1.0})
    assert hypervolume(result_of(declared, *rows)).reference == {"error": 5.0, "speed": -1.0}
    assert hypervolume(result_of(declared, *rows), REFERENCE).reference == REFERENCE
    found = hypervolume(result_of(Problem(SPACE, BOTH), *rows))
    error, speed = found_reference(np.array(rows) * [-1.0, 1.0])
    assert found.reference == {"error": -error, "speed": speed}
    with pytest.raises(RecipeError, match="reference: wanted a dict"):
        hypervolume(result_of(declared, *rows), {"error": 1.0})


def test_only_trials_count_that_meet_the_constraints_and_have_every_objective() -> None:
    problem = Problem(
        SPACE, BOTH, [AtMost("memory", 16.0), Holds("small", lambda p: p["x"] < 5)], reference=REFERENCE
    )
    rows = [
        (1.0, 2.0, 17.0),
        (2.0, None, 1.0),
        (3.0, 1.0, None),
        (3.0, 1.0, 16.0),
        (3.5, 0.5, 1.0),
        (1.0, 1.0, 1.0),
    ]
    result = result_of(problem, *rows)
    np.testing.assert_array_equal(hypervolume(result).volumes, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert [trial.number for trial in result.front] == [3]
    shown = front(result)
    assert shown.places == ["broken", "incomplete", "incomplete", "front", "dominated", "broken"]
    np.testing.assert_array_equal(shown.values[:, 0], [row[0] for row in rows])
    assert math.isnan(shown.values[1, 1])
    np.testing.assert_array_equal(shown.reference, [4.0, 0.0])


def test_where_none_counts_a_given_reference_says_zero_and_none_says_nothing() -> None:
    problem = Problem(SPACE, BOTH, [AtLeast("strength", 1.0)])
    weak = result_of(problem, (1.0, 2.0, 0.5), (2.0, 2.0, 0.25))
    assert hypervolume(weak, REFERENCE).volumes.tolist() == [0.0, 0.0]
    with pytest.raises(NoResultError, match="got none in 2 finished trials"):
        hypervolume(weak)
    assert front(weak).reference is None
    assert front(weak).places == ["broken", "broken"]


@pytest.mark.parametrize("view", [front, hypervolume])
def test_one_objective_and_no_trial_are_refused(view: object) -> None:
    assert callable(view)
    with pytest.raises(RecipeError, match=r"several objectives, got \['value'\]"):
        view(result_of(Problem(SPACE), (1.0,)))
    with pytest.raises(NoResultError, match="got none in 1 trials"):
        view(result_of(Problem(SPACE, BOTH), None))


def test_the_objectives_asked_for_are_shown_by_their_names() -> None:
    five = result_of(Problem(SPACE, FIVE), (1.0, 2.0, 3.0, 4.0, 5.0), (9.0, 9.0, 9.0, 9.0, 4.0))
    assert front(five).names == list("abcd")
    shown = front(five, ["e", "b"])
    np.testing.assert_array_equal(shown.values, [[5.0, 2.0], [4.0, 9.0]])
    assert shown.places == ["front", "front"]  # of all five objectives


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "z"], "ab", 3, []])
def test_wrong_names_are_refused(names: list[str]) -> None:
    five = result_of(Problem(SPACE, FIVE), (1.0, 2.0, 3.0, 4.0, 5.0))
    with pytest.raises(RecipeError, match="two or more of the objectives"):
        front(five, names)


@pytest.mark.parametrize("unit", [1e-200, 1e160, 1e307])
def test_hypervolumes_of_any_unit_are_numbers_that_never_fall(unit: float) -> None:
    rows = [(3.0 * unit, 1.0 * unit), (1.0 * unit, 2.0 * unit), (0.5 * unit, 0.5 * unit)]
    volumes = result_of(Problem(SPACE, BOTH), *rows).hypervolume().volumes
    assert np.isfinite(volumes).all()
    assert (np.diff(volumes) >= 0.0).all()


# The picture


MEMORY = [AtMost("memory", 16.0)]
ROWS = [(3.0, 1.0, 1.0), (1.0, 2.0, 2.0), (2.0, 1.5, 3.0), (1.5, 5.0, 17.0), (2.5, 4.0, 4.0)]


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
    (line,) = axes.lines
    corners = np.asarray(line.get_xydata())
    order = np.argsort(corners[:, 0], kind="stable")
    best = np.array([[trial.values[name] for name in "ab"] for trial in result.front], dtype=float) * signs
    assert line.get_drawstyle() == ("steps-post" if first == "minimize" else "steps-pre")
    x, y = corners[order].T
    for i in range(len(x) - 1):  # the middle of each tread is just dominated: not a little beyond it
        tread = np.array([(x[i] + x[i + 1]) / 2, y[i] if first == "minimize" else y[i + 1]]) * signs
        if x[i] < x[i + 1]:
            assert (best >= tread).all(axis=1).any()
            assert not (best >= tread + np.array([0.0, 1e-9])).all(axis=1).any()


def test_of_three_objectives_each_pair_has_a_panel_and_of_five_four_are_paired() -> None:
    three: dict[str, Direction] = {"a": "minimize", "b": "maximize", "c": "minimize"}
    result = result_of(Problem(SPACE, three), (1.0, 2.0, 3.0), (2.0, 3.0, 1.0), (3.0, 1.0, 4.0))
    figure = result.plot_front()
    assert [axes.get_xlabel()[0] + axes.get_ylabel()[0] for axes in figure.axes] == ["ab", "ac", "bc"]
    assert [dots_of(axes, "front").tolist() for axes in figure.axes][1] == [[1.0, 3.0], [2.0, 1.0]]
    assert not any(axes.lines for axes in figure.axes)
    five = result_of(Problem(SPACE, FIVE), (1.0, 2.0, 3.0, 4.0, 5.0))
    assert len(five.plot_front().axes) == 6
    (axes,) = five.plot_front(names=["e", "a"]).axes
    assert dots_of(axes, "front").tolist() == [[5.0, 1.0]]


def test_outliers_do_not_press_the_front_together() -> None:
    rows = [(1.0 + i / 10, 2.0 + i / 10) for i in range(20)]
    figure = result_of(Problem(SPACE, BOTH), *rows, (1e9, 1.0)).plot_front()
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


def test_only_the_hypervolume_wants_moocore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moocore", None)
    result = result_of(Problem(SPACE, BOTH), (1.0, 2.0), (2.0, 3.0))
    assert isinstance(result.plot_front(), Figure)
    for of_volume in (result.hypervolume, result.plot_convergence):
        with pytest.raises(MissingExtra, match=r"moocore: pip install 'bopp\[front\]'"):
            of_volume()
    result.of("speed").plot_convergence()


def test_trials_that_break_a_constraint_are_marked_in_a_convergence() -> None:
    problem = Problem(SPACE, {"error": "minimize"}, MEMORY)
    result = result_of(problem, (3.0, 1.0), (1.0, 17.0), (2.0, 3.0), (4.0, 20.0))
    (axes,) = result.plot_convergence().axes
    assert dots_of(axes).tolist() == [[1.0, 3.0], [3.0, 2.0]]
    assert dots_of(axes, "breaks a constraint").tolist() == [[2.0, 1.0], [4.0, 4.0]]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [3.0, 3.0, 2.0, 2.0])
