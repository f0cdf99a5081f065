from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bopp.acquisition import (
    MES,
    UCB,
    Scores,
    differentiated,
    ei,
    est,
    log_ei,
    log_h,
    maximum,
    paper_beta,
    pi,
    theorem_beta,
)
from bopp.data import Array
from bopp.errors import RecipeError
from bopp.known import Known
from support.toys import known, smooth

Given = Callable[[Array, Array, Known], Scores]
ALL: list[Given] = [pi, ei, log_ei, UCB(), UCB(paper_beta), MES(), MES(3), est]
EDGES = [-1.0, -30.0]  # where log_h changes its formula
BESIDE_EDGES = [edge + sign * 10.0**power for edge in EDGES for sign in (-1, 1) for power in range(-15, 0)]
Z = np.array([*-np.geomspace(1e6, 1e-6, 60), 0.0, *np.geomspace(1e-6, 1e6, 60), *EDGES, *BESIDE_EDGES])


def toy() -> Known:
    return known(smooth(8, 2, seed=1), t=3)


def beliefs() -> tuple[Array, Array]:
    """Means and sds around the best observed value, near and far."""
    rng = np.random.default_rng(4)
    return toy().best + rng.normal(-0.5, 1.0, 40), np.exp(rng.normal(-0.5, 0.7, 40))


@pytest.mark.parametrize("acquisition", ALL)
def test_derivatives_are_difference_quotients(acquisition: Callable[[Array, Array, Known], Scores]) -> None:
    mean, sd = beliefs()
    seen = toy()
    score, by_mean, by_sd = acquisition(mean, sd, seen)

    def value(mean: Array, sd: Array) -> Array:
        return acquisition(mean, sd, seen)[0]

    step = 1e-5
    by_mean_wanted = (value(mean + step, sd) - value(mean - step, sd)) / (2 * step)
    by_sd_wanted = (value(mean, sd + step) - value(mean, sd - step)) / (2 * step)
    assert score.shape == by_mean.shape == by_sd.shape == mean.shape
    np.testing.assert_allclose(by_mean, by_mean_wanted, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(by_sd, by_sd_wanted, rtol=1e-5, atol=1e-8)


def test_pi_and_ei_are_the_papers_formulas() -> None:
    mean, sd = beliefs()
    z = (mean - toy().best) / sd
    np.testing.assert_allclose(pi(mean, sd, toy())[0], norm.cdf(z), rtol=1e-12)
    wanted = (mean - toy().best) * norm.cdf(z) + sd * norm.pdf(z)
    np.testing.assert_allclose(ei(mean, sd, toy())[0], wanted, rtol=1e-9)
    np.testing.assert_allclose(ei(mean, sd, toy())[0], np.exp(log_ei(mean, sd, toy())[0]), rtol=1e-13)


def test_ucb_is_the_mean_plus_root_beta_sds() -> None:
    mean, sd = beliefs()
    for beta in (0.0, 4.0, 7.3):
        np.testing.assert_allclose(UCB(beta)(mean, sd, toy())[0], mean + math.sqrt(beta) * sd, rtol=1e-14)
    by_t_and_d = UCB(lambda t, d: float(10 * t + d))(mean, sd, toy())[0]
    np.testing.assert_allclose(by_t_and_d, mean + math.sqrt(32.0) * sd, rtol=1e-14)
    for bad in (-1.0, -1e-9, math.nan, math.inf):
        with pytest.raises(RecipeError, match=f"beta.*{bad!r}"):
            UCB(bad)


@pytest.mark.parametrize("ceiling", [math.inf, 2.0])
def test_ei_of_a_certain_value_is_its_difference_to_the_best(ceiling: float) -> None:
    seen = replace(toy(), ceiling=toy().best + ceiling)
    gaps = np.array([-1.0, 0.0, 0.5, 3.0])
    score, by_mean, by_sd = ei(seen.best + gaps, np.zeros(4), seen)
    np.testing.assert_allclose(score, np.clip(gaps, 0.0, ceiling), rtol=1e-12)
    np.testing.assert_array_equal(by_mean, [0.0, 0.5, 1.0, 1.0 if ceiling == math.inf else 0.0])
    np.testing.assert_allclose(by_sd, [0.0, norm.pdf(0.0), 0.0, 0.0])
    nearly = ei(seen.best + gaps, np.full(4, 1e-12), seen)
    for exact, almost in zip((score, by_mean, by_sd), nearly, strict=True):
        np.testing.assert_allclose(exact, almost, atol=1e-11)
    assert np.isnan(ei(np.array([math.nan, 1.0]), np.array([0.0, math.nan]), seen)[0]).all()
    among = ei(seen.best + gaps, np.array([0.3, 0.0, 0.3, 0.0]), seen)[0]
    alone = ei(seen.best + gaps[[0, 2]], np.array([0.3, 0.3]), seen)[0]
    np.testing.assert_array_equal(among[[0, 2]], alone)


def exact_h(z: float) -> tuple[float, float]:
    """log(phi(z) + z Phi(z)) and its derivative with fifty digits left after cancellation."""
    with mpmath.workdps(100):
        x = mpmath.mpf(z)
        density = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
        below = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
        h = density + x * below
        return float(mpmath.log(h)), float(below / h)


def test_log_h_is_exact_from_minus_a_million_to_a_million() -> None:
    value, by_z = log_h(Z)
    wanted = np.array([exact_h(float(z)) for z in Z])
    # the logarithm passes through zero near z = 0.9, where only the absolute error means anything
    np.testing.assert_allclose(value, wanted[:, 0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(by_z, wanted[:, 1], rtol=2e-12)


def test_log_ei_is_exact_where_the_improvement_underflows() -> None:
    seen = toy()
    for distance in (10.0, 1e3, 1e5):
        mean, sd = np.array([seen.best - 0.5 * distance]), np.array([0.5])
        score, by_mean, by_sd = log_ei(mean, sd, seen)
        z = float((mean[0] - seen.best) / 0.5)
        value, by_z = exact_h(z)
        assert score[0] == pytest.approx(value + math.log(0.5), rel=1e-12)
        assert by_mean[0] == pytest.approx(by_z / 0.5, rel=1e-11)
        assert by_sd[0] == pytest.approx((1.0 - by_z * z) / 0.5, rel=1e-9)


@pytest.mark.parametrize("t", [1, 2, 17, 100])
@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_betas_are_those_of_the_paper(t: int, d: int, delta: float) -> None:
    assert paper_beta(t, d, delta) == pytest.approx(2 * math.log(t ** (d / 2 + 2) * math.pi**2 / (3 * delta)))
    a, b, r = 1.5, 0.8, 2.0
    confidence = 2 * math.log(2 * math.pi**2 * t**2 / (3 * delta))
    fineness = 2 * d * math.log(t**2 * d * b * r * math.sqrt(math.log(4 * d * a / delta)))
    assert theorem_beta(t, d, delta, a, b, r) == pytest.approx(confidence + fineness)
    assert (paper_beta(t, d), theorem_beta(t, d)) == (
        paper_beta(t, d, 0.1),
        theorem_beta(t, d, 0.1, 1.0, 1.0, 1.0),
    )


@pytest.mark.parametrize("samples", [1, 5, 16])
def test_mes_is_the_formula_of_wang_and_jegelka(samples: int) -> None:
    mean, sd = beliefs()
    g = (maximum(toy()).quantiles(samples)[:, None] - mean) / sd
    wanted = np.mean(g * norm.pdf(g) / (2 * norm.cdf(g)) - norm.logcdf(g), axis=0)
    np.testing.assert_allclose(MES(samples)(mean, sd, toy())[0], wanted, rtol=1e-9, atol=1e-12)


def test_mes_is_the_entropy_that_knowing_the_maximum_takes_away() -> None:
    mean, sd = beliefs()
    score = MES(4)(mean, sd, toy())[0]
    for m, s, got in zip(mean[:6], sd[:6], score[:6], strict=True):
        left = np.mean([truncated_entropy(m, s, top) for top in maximum(toy()).quantiles(4)])
        assert got == pytest.approx(norm(m, s).entropy() - left, abs=1e-7)


def truncated_entropy(mean: float, sd: float, top: float) -> float:
    """The entropy of a normal variable known to lie below `top`, by quadrature."""
    log_mass = norm.logcdf(top, mean, sd)

    def surprise(value: float) -> float:
        log_density = norm.logpdf(value, mean, sd) - log_mass
        return float(-np.exp(log_density) * log_density)

    low, high = mean - 12 * sd, min(top, mean + 12 * sd)
    return float(quad(surprise, low, high, epsabs=1e-10, limit=200)[0])


def test_est_is_largest_where_the_estimate_is_most_likely_reached() -> None:
    mean, sd = beliefs()
    chance = norm.sf(maximum(toy()).expected, mean, sd)
    assert np.argmax(est(mean, sd, toy())[0]) == np.argmax(chance)
    np.testing.assert_allclose(norm.cdf(est(mean, sd, toy())[0]), chance, rtol=1e-10)


def test_a_function_that_returns_the_score_alone_gets_derivatives() -> None:
    def own(mean: Array, sd: Array, known: Known) -> Array:
        return mean**2 * np.sqrt(sd) + known.best

    mean, sd = beliefs()
    score, by_mean, by_sd = differentiated(own, mean, sd, toy())
    np.testing.assert_allclose(score, own(mean, sd, toy()))
    np.testing.assert_allclose(by_mean, 2 * mean * np.sqrt(sd), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_sd, mean**2 / (2 * np.sqrt(sd)), rtol=1e-6, atol=1e-7)
    given = mean, np.full_like(mean, 5.0), np.full_like(mean, 7.0)  # these are taken as they are
    for got, wanted in zip(differentiated(lambda *_: given, mean, sd, toy()), given, strict=True):
        assert np.array_equal(got, wanted)
