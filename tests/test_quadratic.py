from __future__ import annotations

import numpy as np
import pytest

from bopp.data import Array
from bopp.quadratic import BOWL, Centred
from support.toys import features, slope

DIMENSIONS = [1, 2, 3, 7, 20]


def points(m: int, d: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, m, d]).random((m, d))


def covariance(A: Array, B: Array) -> Array:
    a, b = Centred.of(A), Centred.of(B)
    return a.covariance(b, a.products(b))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_covariance_variance_and_differences_are_those_of_explicit_features(d: int) -> None:
    A, B, C = points(5, d), points(8, d), points(5, d, seed=1)
    np.testing.assert_allclose(covariance(A, B), features(A) @ features(B).T, rtol=1e-12)
    centred = Centred.of(A)
    np.testing.assert_allclose(centred.variance, covariance(A, A).diagonal(), rtol=1e-12)
    wanted = ((features(A) - features(C)) ** 2).sum(axis=1)
    np.testing.assert_allclose(centred.difference(Centred.of(C)), wanted, rtol=1e-10)
    np.testing.assert_allclose(centred.difference(centred), 0.0, atol=1e-12)
    for row, got in zip(A, centred.variance_slope, strict=True):
        by_differences = slope(lambda v: float(Centred.of(v[None, :]).variance[0]), row)
        np.testing.assert_allclose(got, by_differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_pull_is_the_slope_of_a_weighted_sum_of_covariances(d: int) -> None:
    U, X = points(4, d), points(9, d)
    u, x = Centred.of(U), Centred.of(X)
    rng = np.random.default_rng(0)
    for weights in (rng.normal(size=9), rng.normal(size=(4, 9))):
        pull = u.pull(x, u.products(x), weights)
        assert pull.shape == (4, d)
        for row, got, w in zip(U, pull, np.broadcast_to(weights, (4, 9)), strict=True):
            wanted = slope(lambda v, w=w: float((covariance(v[None, :], X) @ w)[0]), row)  # type: ignore[misc]
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 5, 20, 100])
def test_the_average_variance_over_the_cube_hardly_depends_on_the_dimension(d: int) -> None:
    """|u|^2 has mean 1 and variance 0.8 / d, so k(u, u) has mean 3 + (1 + BOWL) (1 + 0.8 / d)."""
    U = points(200_000 // d, d)
    centred = Centred.of(U)
    assert centred.squares.mean() == pytest.approx(1.0, rel=0.02)
    assert centred.variance.mean() == pytest.approx(3.0 + (1.0 + BOWL) * (1.0 + 0.8 / d), rel=0.03)


def test_a_round_bowl_is_known_sooner_than_an_arbitrary_quadratic_function() -> None:
    """After 3 d values in 8 dimensions, a bowl is off by less than half of what a saddle is."""
    d, errors = 8, {"bowl": 0.0, "saddle": 0.0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, U, centre = rng.random((3 * d, d)), rng.random((200, d)), rng.random(d)
        for name, curvature in (("bowl", np.ones(d)), ("saddle", np.where(np.arange(d) % 2, 1.0, -1.0))):
            y, f = (((V - centre) ** 2) @ curvature for V in (X, U))
            K = covariance(X, X) + 1e-9 * np.eye(3 * d)
            found = covariance(U, X) @ np.linalg.solve(K, y)
            errors[name] += float(np.sqrt(np.mean((found - f) ** 2)) / f.std())
    assert errors["bowl"] < 0.5 * errors["saddle"]


def test_every_quadratic_function_is_known_after_as_many_values_as_it_has_coefficients() -> None:
    d = 4
    rng = np.random.default_rng(0)
    A, b, c = rng.normal(size=(d, d)), rng.normal(size=d), rng.normal()
    errors = []
    for n in (14, 15):  # (d + 1)(d + 2) / 2 = 15
        X, U = rng.random((n, d)), rng.random((50, d))
        y, f = (np.einsum("mi,ij,mj->m", V, A, V) + V @ b + c for V in (X, U))
        K = covariance(X, X) + 1e-10 * np.eye(n)
        errors.append(np.abs(covariance(U, X) @ np.linalg.solve(K, y) - f).max() / f.std())
    assert errors[0] > 0.01
    assert errors[1] < 1e-4
