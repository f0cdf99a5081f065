from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.gp import GP, Posterior, cholesky
from bopp.kernels import Kernel, SquaredExponential
from bopp.paper import theory
from bopp.paper.theory import Assumptions
from support.toys import KERNELS, smooth

GIVEN = Assumptions(2, 0.01, 3.0, 7.0)
LINE = GP(SquaredExponential(), np.array([0.2]), 1.0, 0.01)


def model(kernel: Kernel, noise: float = 0.02) -> GP:
    return GP(kernel, np.array([0.3, 0.5, 0.9]), 1.0, noise)


def points(n: int, seed: int, d: int = 3) -> Array:
    return np.random.default_rng(seed).random((n, d))


def believed(kernel: Kernel, noise: float = 0.02, seen: int = 10) -> Posterior:
    return model(kernel, noise).condition(smooth(seen, 3, 1) if seen else Data.empty(3))


def test_regrets() -> None:
    values = [[0.0, 3.0, 1.0], [2.0, 1.0, 4.0]]
    assert theory.instantaneous_regret(values, 4.0).tolist() == [[4.0, 1.0, 3.0], [2.0, 3.0, 0.0]]
    assert theory.simple_regret(values, 4.0).tolist() == [[4.0, 1.0, 1.0], [2.0, 2.0, 0.0]]
    assert theory.cumulative_regret(values, 4.0).tolist() == [[4.0, 5.0, 8.0], [2.0, 5.0, 5.0]]


@pytest.mark.parametrize("seen", [0, 2, 10])
@pytest.mark.parametrize("noise", [1e-4, 0.02, 1.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_lemmas_1_and_3_are_differences_of_variances_and_of_means(
    kernel: Kernel, noise: float, seen: int
) -> None:
    posterior, X, U = believed(kernel, noise, seen), points(7, 2), points(20, 3)
    copied, true = np.random.default_rng(4).normal(size=(2, 7))
    (mean, sd), (other, _) = (posterior.condition(Data(X, y))(U) for y in (copied, true))
    reduction = theory.variance_reduction(posterior, X, U)
    np.testing.assert_allclose(reduction, posterior(U)[1] ** 2 - sd**2, rtol=1e-8, atol=1e-11)
    error = theory.mean_error(posterior, X, copied - true, U)
    np.testing.assert_allclose(error, mean - other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seen", [0, 10])
def test_no_pseudo_points_change_nothing(seen: int) -> None:
    posterior, U = believed(KERNELS[0], seen=seen), points(20, 3)
    assert not theory.variance_reduction(posterior, np.empty((0, 3)), U).any()
    assert not theory.mean_error(posterior, np.empty((0, 3)), [], U).any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_close_neighbours_of_all_points_halve_the_noise(kernel: Kernel) -> None:
    posterior, U = believed(kernel), points(20, 3)
    halved = replace(posterior.gp, noise=posterior.gp.noise / 2).condition(posterior.data)
    got = theory.variance_reduction(posterior, posterior.data.X + 1e-7, U)
    np.testing.assert_allclose(got, posterior(U)[1] ** 2 - halved(U)[1] ** 2, rtol=1e-4, atol=1e-8)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), l_t=st.integers(1, 12), noise=st.sampled_from([1e-3, 0.1, 2.0]))
def test_the_mean_error_keeps_below_both_limits_of_lemma_3(seed: int, l_t: int, noise: float) -> None:
    posterior, U = believed(KERNELS[0], noise), points(10, seed + 1)
    difference = np.random.default_rng(seed).choice([-1.0, 1.0], l_t)  # each as large as is allowed: 1
    error = np.abs(theory.mean_error(posterior, points(l_t, seed), difference, U)).max()
    assumed = Assumptions(3, noise, 3.0, 7.0)
    paper, sharper = (
        limit(assumed, np.array([float(l_t)]), np.zeros(1), l_t)[0]
        / (2.0 * math.sqrt(math.log(4 * l_t / assumed.delta)) * math.sqrt(noise))
        for limit in (theory.mean_error_limit, theory.sharper_mean_error_limit)
    )
    assert error <= sharper <= paper


def test_information_gain_is_half_the_logarithm_of_a_determinant() -> None:
    gp, X = model(KERNELS[1]), points(8, 5)
    wanted = 0.5 * np.linalg.slogdet(np.eye(8) + gp.covariance(X, X)[0] / gp.noise)[1]
    assert theory.information_gain(gp, X) == pytest.approx(wanted, rel=1e-10)
    assert theory.information_gain(gp, X[:0]) == 0.0


def test_information_along_a_plain_run_is_the_information_gain() -> None:
    gp, X = model(KERNELS[0]), points(12, 6)
    sds = [gp.condition(Data(X[:t], np.zeros(t)))(X[t : t + 1])[1][0] for t in range(12)]
    wanted = [theory.information_gain(gp, X[: t + 1]) for t in range(12)]
    np.testing.assert_allclose(theory.information_along(sds, gp.noise), wanted, rtol=1e-9)


def test_information_along_a_run_is_at_least_what_the_proof_says() -> None:
    gp, X = model(KERNELS[0]), points(12, 6)
    rng = np.random.default_rng(7)
    pseudo = [X[:t] + rng.choice([-0.01, 0.01], (t, 3)) for t in range(12)]
    sds = [
        gp.condition(Data(seen := np.vstack([X[:t], pseudo[t]]), np.zeros(len(seen))))(X[t : t + 1])[1][0]
        for t in range(12)
    ]
    along = theory.information_along(sds, gp.noise)[-1]
    proof = theory.information_left(gp, X, np.vstack(pseudo))
    assert proof < 0.5 * along
    assert along <= theory.information_gain(gp, X)  # so gamma_T bounds it, by Lemma 1


def test_two_far_points_and_one_pseudo_point_exceed_the_papers_gamma() -> None:
    """T = 2: the run's information is gamma_2, and gamma'_2 is less by I(y_A; y^_PP) >= I(y_1; y^')."""
    gp, tau = GP(SquaredExponential(), np.array([0.01]), 1.0, 0.01), 0.001
    x1, x2 = np.array([[0.1]]), np.array([[0.9]])
    after = gp.condition(Data(np.vstack([x1, x1 + tau]), np.zeros(2)))
    along = theory.information_along([1.0, after(x2)[1][0]], gp.noise)[-1]
    gamma = 2 * theory.information_gain(gp, x1)  # no two values can give more
    least = theory.information_gain(gp, x1) - theory.information_left(gp, x1, x1 + tau)
    assert least > 1.5
    assert along == pytest.approx(gamma, rel=1e-12)
    assert along > gamma - least


@pytest.mark.parametrize("trend", [0.0, 0.3])
def test_greedy_gain_is_that_of_its_choice_and_beats_random_sets(trend: float) -> None:
    gp, U = replace(model(KERNELS[1]), trend=trend), points(40, 8)
    greedy = theory.greedy_information(gp, U, 6)
    chosen: list[int] = []
    for t in range(6):
        gains = [theory.information_gain(gp, U[[*chosen, i]]) for i in range(40)]
        chosen.append(int(np.argmax(np.array(gains) > max(gains) - 1e-9)))  # the first of equals
        assert greedy[t] == pytest.approx(max(gains), rel=1e-9)
    rng = np.random.default_rng(0)
    assert greedy[-1] >= max(theory.information_gain(gp, rng.choice(U, 6)) for _ in range(200))


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_the_limit_is_above_the_best_of_all_sets(noise: float) -> None:
    gp, U = GP(SquaredExponential(), np.array([0.4]), 1.0, noise), points(7, 9, d=1)
    limit = theory.information_limit(gp, U, 4)
    for T in range(1, 5):
        sets = combinations_with_replacement(range(7), T)
        assert limit[T - 1] >= max(theory.information_gain(gp, U[list(chosen)]) for chosen in sets) - 1e-12


@pytest.mark.parametrize("t", [1, 2, 17, 100])
@pytest.mark.parametrize("assumed", [GIVEN, Assumptions(1, 1e-4, 1.0, 1.0, 0.05, 3.0)])
def test_constants_are_those_of_the_theorem(assumed: Assumptions, t: int) -> None:
    m = mpmath.mpf
    d, a, b, delta, r = (m(part) for part in (assumed.d, assumed.a, assumed.b, assumed.delta, assumed.r))
    root = mpmath.sqrt(mpmath.log(4 * d * a / delta))
    wanted = 2 * mpmath.log(2 * mpmath.pi**2 * m(t) ** 2 / (3 * delta))
    wanted += 2 * d * mpmath.log(m(t) ** 2 * d * b * r * root)
    assert assumed.beta(t) == pytest.approx(float(wanted), rel=1e-13)
    slope, constant = assumed.L, assumed.C
    assert slope == pytest.approx(float(b * root), rel=1e-13)
    assert constant == pytest.approx(float(8 / mpmath.log(1 + 1 / m(assumed.noise))), rel=1e-13)


def test_the_bound_is_the_theorems_for_every_horizon() -> None:
    gamma, l_t, tau_t = np.array([2.0, 3.0, 3.5]), np.array([0.0, 2.0, 5.0]), np.array([0.0, 0.3, 0.1])
    got = theory.regret_bound(GIVEN, gamma, l_t, tau_t)
    for T in (1, 2, 3):
        wanted = math.sqrt(GIVEN.C * T * GIVEN.beta(T) * gamma[T - 1]) + 2
        for t in range(1, T):
            noise = 2 * math.sqrt(math.log(4 * l_t[:T].sum() / GIVEN.delta))
            slope = GIVEN.b * 2 * tau_t[t] * math.sqrt(math.log(4 * 2 * GIVEN.a / GIVEN.delta)) / 0.1
            wanted += 2 * l_t[t] ** 2 * math.sqrt(101) * (slope + noise)
        assert got[T - 1] == pytest.approx(wanted, rel=1e-12)


def test_without_pseudo_points_the_bound_is_that_of_gp_ucb() -> None:
    gamma, T = np.linspace(1, 9, 30), np.arange(1, 31)
    wanted = np.sqrt(GIVEN.C * T * np.array([GIVEN.beta(int(t)) for t in T]) * gamma) + 2
    plain = theory.regret_bound(GIVEN, gamma)
    np.testing.assert_allclose(plain, wanted, rtol=1e-12)
    l_t = np.minimum(np.arange(30.0), 3.0)
    for limit in (theory.mean_error_limit, theory.sharper_mean_error_limit):
        assert np.all(theory.regret_bound(GIVEN, gamma, l_t, 0.01, limit)[1:] > plain[1:])


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_one_pseudo_point_at_no_distance_costs_more_than_the_whole_bound(d: int, noise: float) -> None:
    """Even were gamma'_T zero, and gamma_T as large as T values allow."""
    assumed, T = Assumptions(d, noise, *theory.derivative_tail(0.2, d)), np.arange(1, 101)
    plain = theory.regret_bound(assumed, 0.5 * T * math.log1p(1 / noise))
    assert np.all(theory.regret_bound(assumed, np.zeros(100), np.minimum(T - 1, 1))[1:] > plain[1:])


@pytest.mark.parametrize(("d", "lengthscale"), [(1, 0.1), (1, 0.5), (2, 0.2), (2, 0.6)])
def test_the_slopes_of_drawn_functions_have_the_tail_that_is_assumed(d: int, lengthscale: float) -> None:
    a, b = theory.derivative_tail(lengthscale, d)
    axis = np.linspace(0, 1, 200 if d == 1 else 18)
    U = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d) / lengthscale
    difference = U[:, None, 0] - U[None, :, 0]
    K = SquaredExponential()(((U[:, None] - U[None]) ** 2).sum(axis=2))[0] * (1 - difference**2)
    draws = np.tril(cholesky(K)) @ np.random.default_rng(0).normal(size=(len(U), 20_000)) / lengthscale
    largest = np.abs(draws).max(axis=0)
    for share in (0.99, 0.8, 0.5, 0.2, 0.05, 0.01):
        L = np.quantile(largest, 1.0 - share)
        chance = 2.0 * math.sqrt(share * (1.0 - share) / 20_000)  # two standard errors of a share
        assert share - chance <= a * math.exp(-((L / b) ** 2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise": 0.0},
        {"noise": -1.0},
        {"noise": math.nan},
        {"delta": 0.0},
        {"delta": 1.0},
        {"d": 0},
        {"a": -1.0},
        {"b": 0.0},
        {"b": 1e-9},
        {"a": 1e-9},
        {"r": math.inf},
    ],
)
def test_assumptions_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        replace(GIVEN, **wrong)


def test_input_that_makes_no_sense_is_refused() -> None:
    posterior, U = believed(KERNELS[0]), points(4, 3)
    silent = replace(LINE, noise=0.0)
    wrong: list[Callable[[], object]] = [
        lambda: theory.variance_reduction(posterior, U[:, :2], U),
        lambda: theory.variance_reduction(posterior, U, U[0]),
        lambda: theory.mean_error(posterior, U, np.zeros(3), U),
        lambda: theory.information_gain(silent, U[:, :1]),
        lambda: theory.information_along([0.1], 0.0),
        lambda: theory.information_limit(silent, U[:, :1], 3),
        lambda: theory.greedy_information(LINE, U[:, :1], 0),
        lambda: theory.greedy_information(LINE, U[:0, :1], 3),
        lambda: theory.derivative_tail(0.0),
        lambda: theory.regret_bound(GIVEN, 1.0),
        lambda: theory.regret_bound(GIVEN, []),
        lambda: theory.regret_bound(GIVEN, [1.0, -1.0]),
        lambda: theory.regret_bound(GIVEN, [1.0, 2.0], [1.0, 1.0]),
        lambda: theory.regret_bound(GIVEN, [1.0, 2.0], [0.0, 1.0, 1.0]),
        lambda: theory.regret_bound(GIVEN, [1.0, 2.0], [0.0, 1.0], [0.0, -0.1]),
    ]
    for call in wrong:
        with pytest.raises(RecipeError, match=r"wanted|must"):
            call()
