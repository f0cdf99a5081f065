from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from bopp.kernels import Kernel, Matern52, SquaredExponential, squared_distance
from support.toys import KERNELS

REFERENCES = [(SquaredExponential(), RBF), (Matern52(), lambda scale: Matern(scale, nu=2.5))]


@pytest.mark.parametrize("kernel", KERNELS)
def test_slope_is_the_derivative_of_the_value_and_a_point_correlates_with_itself_by_one(
    kernel: Kernel,
) -> None:
    r2 = np.geomspace(1e-3, 100.0, 60)
    step, given = 1e-5 * r2, r2.copy()
    by_differences = (kernel(r2 + step)[0] - kernel(r2 - step)[0]) / (2.0 * step)
    np.testing.assert_allclose(kernel(r2)[1], by_differences, rtol=1e-6, atol=1e-12)
    assert np.array_equal(r2, given)
    assert kernel(np.zeros(1))[0][0] == 1.0
    # Matern-5/2 leaves its slope at zero like r2 itself, not like its root: no kink there
    at_zero, beside = kernel(np.array([0.0, 1e-10]))[1]
    assert at_zero == pytest.approx(beside, abs=1e-8)
    assert at_zero == pytest.approx((kernel(np.array([1e-7]))[0][0] - 1.0) / 1e-7, rel=1e-3)


@pytest.mark.parametrize(("kernel", "reference"), REFERENCES)
@pytest.mark.parametrize("scale", [np.array([0.05, 0.3, 2.0]), np.array([0.4])])
def test_values_are_those_of_scikit_learn(
    kernel: Kernel, reference: type, scale: np.typing.NDArray[np.float64]
) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.random((7, 3)), rng.random((5, 3))
    wanted = reference(np.broadcast_to(scale, 3))(A, B)
    np.testing.assert_allclose(
        kernel(squared_distance(A / scale, B / scale))[0], wanted, rtol=1e-10, atol=1e-14
    )


def test_squared_distance_is_the_sum_over_columns() -> None:
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    wanted = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distance(A, B), wanted, rtol=1e-12, atol=1e-14)
    A = 100.0 * np.random.default_rng(2).random((50, 6))
    r2 = squared_distance(A, A)  # zero to rounding and never negative
    assert r2.min() >= 0.0
    assert r2.diagonal().max() <= 1e-14 * (A**2).sum(axis=1).max()
