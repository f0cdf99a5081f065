"""Scaled conjugate gradients: exact on a bowl, downhill on a network, and stopped by its validation rows."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bopp.data import Array
from bopp.paper import conjugate
from bopp.paper.conjugate import conjugate_gradients, cross_entropy
from bopp.paper.networks import Rows, nguyen_widrow


def labelled(seed: int, count: int = 120) -> Rows:
    """Two classes that overlap a little, in [-1, 1]^2."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=count)
    X = np.clip(0.35 * rng.normal(size=(count, 2)) + np.array([[-0.4, 0.0], [0.4, 0.2]])[label], -1, 1)
    return Rows(X, np.eye(2)[label])


def test_a_bowl_of_n_dimensions_is_left_after_about_n_steps() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    H, centre = A @ A.T + np.eye(6), rng.normal(size=6)

    def bowl(w: Array) -> tuple[float, Array]:
        return float(0.5 * (w - centre) @ H @ (w - centre)), H @ (w - centre)

    steps = conjugate._descent(bowl, np.zeros(6))
    values = [bowl(w)[0] for w, _ in zip(steps, range(13), strict=False)]
    assert values[-1] < 1e-6 * values[0]
    assert all(after <= before for before, after in pairwise(values))


def test_on_a_saddle_it_still_goes_downhill_and_arrives() -> None:
    def wavy(w: Array) -> tuple[float, Array]:  # concave where it begins, with a bottom at -pi / 2
        return float(np.sum(np.sin(w) + 0.05 * w**2)), np.cos(w) + 0.1 * w

    start = np.array([1.4, 1.1, 0.6, 2.0])
    steps = conjugate._descent(wavy, start)
    values = [wavy(w)[0] for w, _ in zip(steps, range(80), strict=False)]
    assert all(after <= before for before, after in pairwise(values))
    assert len(set(values[:20])) < 20  # a step that leads uphill is not taken
    assert (
        np.linalg.norm(wavy(list(zip(conjugate._descent(wavy, start), range(80), strict=False))[-1][0])[1])
        < 1e-4
    )


def test_cross_entropy_is_half_the_surprise_of_two_classes() -> None:
    outputs, targets = np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    assert cross_entropy(outputs, targets) == pytest.approx(-(np.log(0.8) + np.log(0.4)) / 4)


def test_the_slope_is_that_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, seen = labelled(0, 30), list[tuple[Any, Array]]()

    def looking(loss: Any, w: Array) -> Iterator[Array]:
        seen.append((loss, w))
        return iter(())

    monkeypatch.setattr(conjugate, "_descent", looking)
    V, W = nguyen_widrow(rows, 3, np.random.default_rng(0))
    list(conjugate._steps(rows, rows.X, V, W))
    ((loss, w),) = seen
    np.testing.assert_allclose(loss(w)[1], approx_fprime(w, lambda w: loss(w)[0], 1e-7), atol=1e-6)


def test_training_separates_classes_and_is_the_same_each_time() -> None:
    train, validation = labelled(0), labelled(1)
    one, again = (conjugate_gradients(train, validation, 5, seed=3) for _ in range(2))
    assert np.mean(one.outputs.argmax(axis=1) == validation.Y.argmax(axis=1)) > 0.8
    np.testing.assert_allclose(one.outputs.sum(axis=1), 1.0)
    assert one.error == cross_entropy(one.outputs, validation.Y)
    assert (one.outputs == again.outputs).all()
    assert conjugate_gradients(train, validation, 5, seed=4).error != one.error
    assert one.epochs < conjugate.EPOCHS
