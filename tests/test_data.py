from __future__ import annotations

import numpy as np
import pytest

from bopp.data import Data, History


def three() -> Data:
    return Data(
        np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.5, 0.1])
    )


def test_a_sum_has_the_rows_of_the_left_then_those_of_the_right() -> None:
    left, right = three(), Data(np.array([[0.9, 0.8]]), np.array([-1.0]), 0.25)
    both = left + right
    assert both.X.tolist() == [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.9, 0.8]]
    assert both.y.tolist() == [1.0, 2.0, 3.0, -1.0]
    assert np.asarray(both.noise).tolist() == [0.0, 0.5, 0.1, 0.25]
    assert len(left) == 3
    assert len(both) == 4
    for same in (left + Data.empty(2), Data.empty(2) + left):
        for name in ("X", "y", "noise"):
            assert np.array_equal(getattr(same, name), getattr(left, name))


def test_rows_are_taken_by_slice_and_by_index_with_repeats() -> None:
    assert three()[1:].y.tolist() == [2.0, 3.0]
    rows = three()[np.array([2, 0, 2])]
    assert rows.X.tolist() == [[0.5, 0.6], [0.1, 0.2], [0.5, 0.6]]
    assert rows.y.tolist() == [3.0, 1.0, 3.0]
    assert np.asarray(rows.noise).tolist() == [0.1, 0.0, 0.1]


def test_data_are_floats_that_cannot_be_changed_and_arrays_stay_the_callers_own() -> None:
    X, y, noise = np.zeros((2, 1), dtype=int), np.zeros(2), np.full(2, 0.5)
    data = Data(X, y, noise)
    X[0], y[0], noise[0] = 5, 5.0, 5.0
    assert (data.X[0, 0], data.y[0], data.noise[0]) == (0.0, 0.0, 0.5)
    for array in (data.X, data.y, data.noise):
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9.0
    assert Data(X, y, 0.3).noise.tolist() == [0.3, 0.3]
    assert Data(X, y).noise.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("X", "y"), [((3,), (3,)), ((3, 2), (2,)), ((3, 2), (3, 1))])
def test_shapes_that_do_not_fit_are_named(X: tuple[int, ...], y: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="Data wants") as caught:
        Data(np.zeros(X), np.zeros(y))
    assert str(X) in str(caught.value)
    assert str(y) in str(caught.value)


def test_a_history_counts_and_stacks_all_trials() -> None:
    history = History.of(three(), np.array([[0.7, 0.7]]), np.array([[0.8, 0.8], [0.9, 0.9]]))
    assert len(history) == 6
    assert np.array_equal(history.X, np.vstack([three().X, [[0.7, 0.7], [0.8, 0.8], [0.9, 0.9]]]))
