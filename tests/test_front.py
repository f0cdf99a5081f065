"""Fronts, references, and the boxes above a front."""

import moocore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bopp.data import Array
from bopp.front import Boxes, found_reference, front, nondominated

GRID = st.integers(0, 6).map(float)  # so that equal values and equal rows are frequent


def tables(columns: int) -> st.SearchStrategy[Array]:
    return st.integers(0, 12).flatmap(lambda rows: arrays(np.float64, (rows, columns), elements=GRID))


@given(st.integers(1, 4).flatmap(tables))
def test_no_row_of_a_front_is_dominated_and_every_other_is(Y: Array) -> None:
    worse = [any((other >= row).all() and (other > row).any() for other in Y) for row in Y]
    assert nondominated(Y).tolist() == [not one for one in worse]


@pytest.mark.parametrize("objectives", [2, 3])
def test_fronts_of_many_rows_are_those_of_another_library(objectives: int) -> None:
    Y = np.random.default_rng(0).random((1234, objectives))
    Y = (Y / np.linalg.norm(Y, axis=1, keepdims=True) ** 0.9).round(2)
    best = nondominated(Y)
    assert np.array_equal(best, moocore.is_nondominated(Y, maximise=True, keep_weakly=True))
    assert 5 < best.sum() < 600


@given(st.integers(2, 3).flatmap(tables))
def test_a_front_has_each_row_once_and_only_those_above_the_reference(Y: Array) -> None:
    reference = np.full(Y.shape[1], 1.0)
    best = front(Y, reference)
    assert len(np.unique(best, axis=0)) == len(best)
    assert (best > reference).all()
    above = Y[(reference < Y).all(axis=1)]
    assert {tuple(row) for row in best} == {tuple(row) for row in above[nondominated(above)]}


@given(st.integers(2, 3).flatmap(tables))
def test_boxes_and_what_a_front_dominates_make_up_everything_above_the_reference(Y: Array) -> None:
    reference, top = np.full(Y.shape[1], 0.5), 7.0
    best = front(Y, reference)
    boxes = Boxes.above(best, reference)
    above = np.prod(np.minimum(boxes.high, top) - np.minimum(boxes.low, top), axis=1).sum()
    dominated = moocore.hypervolume(best, ref=reference, maximise=True) if len(best) else 0.0
    assert above + dominated == pytest.approx(np.prod(top - reference))


@pytest.mark.parametrize("objectives", [2, 3])
def test_a_point_is_in_one_box_unless_it_is_dominated(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    reference = np.zeros(objectives)
    best = front(rng.random((40, objectives)), reference)
    boxes = Boxes.above(best, reference)
    points = 1.2 * rng.random((2000, objectives))
    within = ((points[:, None] > boxes.low) & (points[:, None] < boxes.high)).all(axis=2).sum(axis=1)
    dominated = np.array([(best >= point).all(axis=1).any() for point in points])
    assert np.array_equal(within, (~dominated).astype(int))
    assert 0.1 < dominated.mean() < 0.9


def test_boxes_grow_with_the_front_and_not_with_its_square() -> None:
    angle = np.random.default_rng(0).random((60, 2)) * np.pi / 2
    sphere = np.column_stack(
        [np.cos(angle[:, 0]), np.sin(angle[:, 0]) * np.cos(angle[:, 1]), np.sin(angle).prod(axis=1)]
    )
    best = front(sphere, np.full(3, -0.1))
    assert len(best) == 60
    assert len(Boxes.above(best, np.full(3, -0.1)).low) <= 3 * 60 + 1


def test_a_reference_lies_beyond_the_worst_values() -> None:
    Y = np.array([[0.0, 10.0], [10.0, 0.0], [-10.0, 5.0]])
    assert found_reference(Y).tolist() == [-12.0, -1.0]
    assert (found_reference(Y[:1]) < Y[0]).all()


@pytest.mark.parametrize("value", [1e20, -1e-20, 0.0, 1e308])
def test_a_reference_of_equal_values_is_of_their_size(value: float) -> None:
    (reference,) = found_reference(np.array([[value], [value]]))
    assert reference < value
    assert np.isfinite(reference)
    assert value - reference <= 0.1000001 * (abs(value) or 1.0)
