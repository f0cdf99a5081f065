import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bopp import AtLeast, AtMost, Holds, Problem
from bopp.errors import MissingExtra, NoResultError, RecipeError
from bopp.front import found_reference
from bopp.view.front import front, hypervolume
from support.fronts import BOTH, FIVE, SPACE, result_of

REFERENCE = {"error": 4.0, "speed": 0.0}


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


def test_without_moocore_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "moocore", None)
    result = result_of(Problem(SPACE, BOTH), (1.0, 2.0))
    with pytest.raises(MissingExtra, match=r"moocore: pip install 'bopp\[front\]'"):
        result.hypervolume()
    assert front(result).places == ["front"]


@pytest.mark.parametrize("unit", [1e-200, 1e160, 1e307])
def test_hypervolumes_of_any_unit_are_numbers_that_never_fall(unit: float) -> None:
    rows = [(3.0 * unit, 1.0 * unit), (1.0 * unit, 2.0 * unit), (0.5 * unit, 0.5 * unit)]
    volumes = result_of(Problem(SPACE, BOTH), *rows).hypervolume().volumes
    assert np.isfinite(volumes).all()
    assert (np.diff(volumes) >= 0.0).all()
