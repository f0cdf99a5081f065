from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bopp.belief import Belief
from bopp.data import Array, Data
from bopp.gp import GP, Posterior
from bopp.kernels import Matern52, SquaredExponential
from bopp.outcome import Scale, power, raw
from bopp.trend import Resemblance, Trend, Trended
from support.toys import slope, smooth

U = np.random.default_rng(11).random((7, 3))
COLUMNS = np.array([0, 2])
SCALE = 0.4


def other(seed: int = 5) -> Posterior:
    """What is believed of another function, of two of the three columns."""
    return GP(SquaredExponential(), np.array([0.5, 0.7]), 0.9, 1e-3).condition(smooth(9, 2, seed))


def resemblances() -> tuple[Resemblance, ...]:
    whole = GP(Matern52(), np.full(3, 0.6), 1.3, 1e-2).condition(smooth(12, 3, seed=8))
    return Resemblance(other(), COLUMNS, Scale()), Resemblance(whole, np.arange(3), Scale())


def trend() -> Trend:
    return Trend(resemblances(), (0.8, -0.3), 0.25)


def rest(data: Data) -> Posterior:
    """A process of what the trend leaves over, in units of the scale."""
    left = Data(data.X, (data.y - trend()(data.X)) / SCALE, data.noise / SCALE**2)
    return GP(Matern52(), np.array([0.4, 0.5, 0.6]), 1.1, 1e-3).condition(left)


def trended(data: Data | None = None) -> Trended:
    return Trended(rest(smooth(10, 3, seed=2) if data is None else data), trend(), SCALE)


def test_a_resemblance_looks_at_its_own_columns_alone() -> None:
    one = resemblances()[0]
    elsewhere = U.copy()
    elsewhere[:, 1] = 0.123
    assert np.array_equal(one(U), one(elsewhere))
    np.testing.assert_allclose(one(U), other().mean(U[:, COLUMNS]))
    assert np.all(one.gradient(U)[1][:, 1] == 0.0)


def test_a_trend_is_the_weighted_sum_of_its_terms_and_a_shift() -> None:
    first, second = resemblances()
    np.testing.assert_allclose(trend()(U), 0.25 + 0.8 * first(U) - 0.3 * second(U), rtol=1e-12)
    assert np.array_equal(Trend((), (), 2.5)(U), np.full(7, 2.5))
    assert np.array_equal(Trend((), ()).gradient(U)[1], np.zeros_like(U))


def test_the_gradient_of_a_trend_is_its_difference_quotient() -> None:
    functions: list[Trend | Resemblance] = [trend(), *resemblances()]
    for f in functions:
        value, by_u = f.gradient(U)
        np.testing.assert_allclose(value, f(U), rtol=1e-10, atol=1e-12)
        wanted = [slope(lambda x, f=f: float(f(x[None, :])[0]), u) for u in U]  # type: ignore[misc]
        np.testing.assert_allclose(by_u, wanted, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_trended_belief_is_its_difference_quotient() -> None:
    belief = trended()
    mean, sd, by_mean, by_sd = belief.gradient(U)
    np.testing.assert_allclose([mean, sd], belief(U), rtol=1e-9)
    np.testing.assert_allclose(belief.mean(U), mean, rtol=1e-9)
    for place, got in enumerate((by_mean, by_sd)):
        wanted = [slope(lambda x, place=place: float(belief(x[None, :])[place][0]), u) for u in U]  # type: ignore[misc]
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def test_conditioning_a_trended_belief_is_conditioning_the_rest() -> None:
    data = smooth(14, 3, seed=2)
    step_by_step = trended(data[:9]).condition(data[9:])
    at_once = trended(data)
    np.testing.assert_allclose(step_by_step(U), at_once(U), rtol=1e-8)
    assert isinstance(step_by_step.rest, Posterior)
    assert len(step_by_step.rest.data) == 14
    np.testing.assert_allclose(trended().condition(Data.empty(3))(U), trended()(U))
    belief: Belief = trended()
    assert belief.noise == pytest.approx(SCALE**2 * 1e-3)
    extra = Data(U, np.arange(7.0), 0.3)
    left = at_once.left_over(extra)
    np.testing.assert_allclose(at_once.trend(U) + SCALE * left.y, extra.y, rtol=1e-12)
    np.testing.assert_allclose(left.noise * SCALE**2, extra.noise)


def test_a_trended_belief_is_the_gaussian_with_the_trend_as_its_mean() -> None:
    """Against a process with a mean, written out: m + k^T A^-1 (y - m)."""
    data, belief = smooth(10, 3, seed=2), trended()
    gp = rest(data).gp
    A = SCALE**2 * (gp.covariance(data.X, data.X)[0] + gp.noise * np.eye(10))
    k = SCALE**2 * gp.covariance(U, data.X)[0]
    weights = np.linalg.solve(A, k.T).T
    mean = trend()(U) + weights @ (data.y - trend()(data.X))
    variance = SCALE**2 * gp.variance - np.einsum("ij,ij->i", weights, k)
    np.testing.assert_allclose(belief(U), [mean, np.sqrt(variance)], rtol=1e-7)


def test_samples_have_the_mean_and_the_spread_of_the_belief() -> None:
    belief, count = trended(), 4000
    drawn = belief.sample(U, count, np.random.default_rng(0))
    mean, sd = belief(U)
    assert drawn.shape == (count, 7)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5.0 * sd / np.sqrt(count))
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.08)


def test_differences_are_those_of_the_trend_and_of_the_rest() -> None:
    belief, V = trended(), U[::-1]
    wanted = (trend()(U) - trend()(V)) ** 2 + SCALE**2 * belief.rest.difference(U, V)
    np.testing.assert_allclose(belief.difference(U, V), wanted)
    assert np.all(belief.difference(U, U) == 0.0)


def log_density(y: Array, mean: Array, covariance: Array) -> float:
    return float(multivariate_normal(mean, covariance).logpdf(y))


@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_agreement_is_the_difference_of_two_log_densities(noise: float) -> None:
    data, belief = smooth(10, 3, seed=2), trended()
    points = Data(U, np.linspace(-1.0, 1.0, 7), noise)
    gp = rest(data).gp
    X = np.vstack([data.X, points.X])
    extra = np.concatenate([np.zeros(10), np.full(7, noise)])
    A = SCALE**2 * (gp.covariance(X, X)[0] + gp.noise * np.eye(17)) + np.diag(extra)
    y, mean = np.concatenate([data.y, points.y]), trend()(X)
    both = log_density(y, mean, A)
    apart = log_density(y[:10], mean[:10], A[:10, :10]) + log_density(y[10:], mean[10:], A[10:, 10:])
    assert belief.agreement(points) == pytest.approx(both - apart, rel=1e-6, abs=1e-7)
    assert belief.agreement(Data.empty(3)) == 0.0


def told(sign: float, factor: float = 1.0, n: int = 60) -> tuple[Data, Scale]:
    """A function whose values grow exponentially, or one that follows it, in the unit that suits them."""
    X = np.random.default_rng(n).random((n, 2))
    y = sign * factor * (np.exp(2.0 * X.sum(axis=1)) + 40.0)
    scale = power(y)
    return Data(X, scale(y)), scale


def stand_in(sign: float, factor: float = 300.0) -> Resemblance:
    data, scale = told(sign, factor)
    posterior = GP(Matern52(), np.array([1.5, 1.5]), 2.0, 1e-8).condition(data)
    return Resemblance(posterior, np.arange(2), scale)


def off(feature: Array, y: Array) -> float:
    """How much of y a line in the feature leaves over."""
    return float(np.std(y - np.polyval(np.polyfit(feature, y, 1), feature)) / np.std(y))


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_bent_as_the_objective_is_what_follows_it_in_its_own_unit_does_so_in_the_model(
    factor: float, unit: float
) -> None:
    objective, scale = told(1.0, unit, n=12)
    few = replace(scale, power=2.0)  # few values want another power than many
    data = Data(objective.X, few(scale.inverse(objective.y)))
    own = stand_in(1.0, factor)
    bent = own.bent(few, data)
    assert bent is not None
    assert off(own(data.X), data.y) > 0.1
    assert off(bent(data.X), data.y) < 0.05
    assert bent.posterior.data.y.mean() == pytest.approx(0.0, abs=1e-9)
    assert bent.posterior.data.y.std() == pytest.approx(1.0)


def test_what_falls_where_the_objective_rises_or_is_the_same_everywhere_is_not_bent() -> None:
    objective, scale = told(1.0, n=12)
    assert stand_in(-1.0).bent(scale, objective) is None
    X = np.random.default_rng(1).random((9, 2))
    belief = GP(Matern52(), np.ones(2), 1.0, 1e-6).condition(Data(X, np.zeros(9)))
    flat = Resemblance(belief, np.arange(2), Scale())
    assert flat.bent(scale, objective) is None
    assert flat.bent(raw(objective.y), Data(X[:1], [3.0])) is None
