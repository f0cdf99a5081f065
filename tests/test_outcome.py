from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import skew, yeojohnson, yeojohnson_llf

from bopp import outcome
from bopp.data import Array
from bopp.outcome import POWERS, Outcome, Squeezed, power, raw, standardised, yeo_johnson, yeo_johnson_inverse

OUTCOMES: list[Outcome] = [raw, standardised, power]
values = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6, width=32))


def skewed(n: int = 60) -> Array:
    return np.exp(np.random.default_rng(0).normal(size=n))


@pytest.mark.parametrize("outcome", [standardised, power])
@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1.0, 1e200, 2.0**-300, 2.0**300])
def test_model_values_have_mean_0_and_sd_1_in_any_unit(outcome: Outcome, unit: float) -> None:
    y = np.sort(skewed() - 1.5)
    z = outcome(unit * y)(unit * y)
    assert z.mean() == pytest.approx(0.0, abs=1e-12)
    assert z.std() == pytest.approx(1.0, rel=1e-12)
    assert np.all(np.diff(z) > 0.0)
    np.testing.assert_allclose(z, outcome(y - 11.0)(y - 11.0), atol=1e-12)
    if math.frexp(unit)[0] == 0.5:  # a power of two changes no bit
        assert np.array_equal(z, outcome(y)(y))


@pytest.mark.parametrize("outcome", [standardised, power])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.3, 1000.0, 1e200, 1e-300, 5e-324])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 100])
def test_constant_values_become_zeros(outcome: Outcome, value: float, n: int) -> None:
    y = np.full(n, value)
    np.testing.assert_allclose(outcome(y)(y), 0.0, atol=1e-12)
    np.testing.assert_allclose(outcome(y).inverse(np.zeros(n)), y, rtol=1e-12)
    if value == 1000.0:  # a spread that is rounding is no information
        rounded = y + np.spacing(value) * (np.arange(n) % 3 - 1)
        assert np.abs(outcome(rounded)(rounded)).max() < 1e-6


@pytest.mark.parametrize("outcome", OUTCOMES)
@settings(deadline=None)
@given(y=values)
def test_inverse_undoes_the_scale(outcome: Outcome, y: Array) -> None:
    scale = outcome(y)
    np.testing.assert_allclose(scale.inverse(scale(y)), y, rtol=0.0, atol=1e-9 * max(np.abs(y).max(), 1e-300))
    assert outcome is not raw or np.array_equal(scale(y), y)


@pytest.mark.parametrize("outcome", OUTCOMES)
@settings(deadline=None)
@given(y=values, data=st.data())
def test_a_larger_value_stays_larger(outcome: Outcome, y: Array, data: st.DataObject) -> None:
    scale = outcome(y)
    slack = 1e-12 if outcome is power else 0.0  # of powers, rounding may turn round what are neighbours
    low, high = sorted(data.draw(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=2)))
    below, above = scale(np.array([low]))[0], scale(np.array([high]))[0]
    assert below <= above + slack * max(1.0, abs(above))
    order = np.argsort(y, kind="stable")
    assert np.all(np.diff(scale(y)[order]) >= -slack)


@pytest.mark.parametrize("outcome", [standardised, power])
@settings(deadline=None)
@given(y=values, unit=st.sampled_from([1e-290, 1e200, 1e300]))
def test_model_values_are_finite_in_any_unit(outcome: Outcome, y: Array, unit: float) -> None:
    scale = outcome(y * unit)
    z = scale(y * unit)
    assert np.all(np.isfinite(z))
    assert np.abs(z).max() <= np.sqrt(len(y)) + 1e-6  # no further than a sample of sd 1 can reach
    assert np.all(np.isfinite(scale.inverse(z * 0.99)))


@pytest.mark.parametrize("outcome", [standardised, power])
@settings(deadline=None)
@given(y=values, mean=st.floats(-20.0, 20.0), sd=st.floats(0.0, 20.0))
def test_what_a_model_says_is_bounded_by_what_was_seen(
    outcome: Outcome, y: Array, mean: float, sd: float
) -> None:
    """Beyond the observed z, a step of s is at most s / 2 times the observed range of y."""
    scale = outcome(y)
    seen = scale(y)
    assume(seen.std() > 0.5)  # it is 1, or 0 if y is constant
    z = np.array([mean - 2.0 * sd, mean, mean + 2.0 * sd])
    told = scale.inverse(z)
    assert np.isfinite(told).all()
    observed, slack = np.ptp(y), 1e-6 * np.abs(y).max()
    assert np.ptp(seen) >= 2.0 - 1e-9
    steepest = observed / np.ptp(seen)
    assert (told >= y.min() - np.maximum(seen.min() - z, 0.0) * steepest * (1 + 1e-6) - slack).all()
    assert (told <= y.max() + np.maximum(z - seen.max(), 0.0) * steepest * (1 + 1e-6) + slack).all()
    assert (np.diff(told) >= -slack).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_inverse_goes_on_straight_beyond_the_data(sign: float) -> None:
    """At the end where values crowd with their slope there; at the other no steeper than from end to end."""
    y = sign * skewed()
    scale = power(y)
    z = scale(y)
    ends = {1.0: (z.min(), z.max()), -1.0: (z.max(), z.min())}[sign]
    steepest = np.ptp(y) / np.ptp(z)
    for end, inwards in zip(ends, (sign, -sign), strict=True):
        steps = end - inwards * np.array([0.0, 1.0, 2.0, 30.0])
        beyond = np.diff(scale.inverse(steps)) / np.diff(steps)
        np.testing.assert_allclose(beyond, beyond[0], rtol=1e-9)
        step = 1e-6 * inwards
        inside = (scale.inverse(np.array(end + step)) - scale.inverse(np.array(end))) / step
        assert beyond[0] == pytest.approx(min(inside, steepest), rel=1e-3)
    crowded, sparse = ((scale.inverse(end + 1e-6) - scale.inverse(end - 1e-6)) / 2e-6 for end in ends)
    assert crowded < steepest < sparse


@pytest.mark.parametrize("exponent", [-1.0, -0.3, 0.0, 0.5, 1.0, 1.7, 2.0, 3.0])
def test_yeo_johnson_is_scipys(exponent: float) -> None:
    z = np.linspace(-4.0, 4.0, 81)
    np.testing.assert_allclose(yeo_johnson(z, exponent), yeojohnson(z, exponent), rtol=1e-11, atol=1e-14)


@settings(deadline=None)
@given(z=st.floats(-10.0, 10.0), exponent=st.floats(-1.0, 3.0).map(lambda power: round(power, 3)))
def test_yeo_johnson_inverse_undoes_it(z: float, exponent: float) -> None:
    bent = yeo_johnson(np.array([z]), exponent)
    assert yeo_johnson_inverse(bent, exponent)[0] == pytest.approx(z, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(t=st.floats(-50.0, 50.0), exponent=st.sampled_from(POWERS.tolist()))
def test_yeo_johnson_inverse_is_finite_beyond_a_bounded_image(t: float, exponent: float) -> None:
    z = yeo_johnson_inverse(np.array([t]), exponent)[0]
    assert np.isfinite(z)
    assert z * t >= 0.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_power_lowers_the_skewness_of_a_skewed_sample(sign: float) -> None:
    y = sign * skewed()
    bent = power(y)(y)
    assert abs(skew(y)) > 1.0
    assert abs(skew(bent)) < 0.3 * abs(skew(y))


def test_power_is_the_likelihoods_choice() -> None:
    """No other power has a larger profile likelihood (Yeo, Johnson 2000), here from scipy."""
    y = skewed()
    z = standardised(y)(y)
    chosen = yeojohnson_llf(power(y).power, z)
    assert all(chosen >= yeojohnson_llf(other, z) - 1e-9 for other in POWERS)
    y = np.random.default_rng(1).normal(size=400)  # a Gaussian sample is left nearly alone
    np.testing.assert_allclose(power(y)(y), standardised(y)(y), atol=0.25)


@pytest.mark.parametrize("outcome", [raw, standardised, power])
def test_squeezed_values_keep_their_order_and_come_back(outcome: Outcome) -> None:
    y = np.array([-4000.0, -30.0, -2.0, -1.5, -1.0, -0.9, -0.5])
    scale = Squeezed(outcome, -1.0, 0.3)(y)
    z = scale(y)
    assert (np.diff(z) > 0.0).all()
    np.testing.assert_allclose(scale.inverse(z), y, rtol=1e-9)
    assert z[3] - z[0] < 30.0 * (z[-1] - z[3])  # it was 4000 times as much
    np.testing.assert_allclose(np.diff(scale.inverse(z[0] - np.array([0.1, 0.2, 0.3])), 2), 0.0, atol=1e-6)
    if outcome is raw:
        np.testing.assert_array_equal(z[4:], y[4:])  # above the middle nothing is squeezed


def test_noise_is_squeezed_as_steeply_as_values() -> None:
    y, step = np.array([-40.0, -6.0, -0.4, 2.0]), 1e-6
    scale = Squeezed(power, -0.5, 0.7)(y)
    slope = (scale(y + step) - scale(y - step)) / (2.0 * step)
    np.testing.assert_allclose(scale.noise(y, np.full(4, 0.09)), 0.09 * slope**2, rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_margins_near_zero_are_told_apart_beside_huge_ones(unit: float) -> None:
    y = unit * np.append(np.linspace(-1.0, 1.0, 21), [-1e6, -1e5, -3e6, -1e4])
    near = unit * np.array([-0.1, 0.0, 0.1])
    apart = np.diff(outcome.margin(y)(near))
    assert (apart > 10 * np.diff(outcome.power(y)(near))).all()
    assert apart == pytest.approx(np.diff(outcome.margin(y / unit)(near / unit)))


def test_the_scale_of_margins_has_an_inverse_and_the_noise_of_small_steps() -> None:
    y = np.append(np.linspace(-1.0, 1.0, 21), [-1e6, -1e5, -3e6, -1e4])
    scale = outcome.margin(y)
    assert isinstance(scale, outcome.MarginScale)
    assert scale.inverse(scale(y)) == pytest.approx(y, rel=1e-6, abs=1e-9)
    step = 1e-6 * np.maximum(np.abs(y), 1.0)
    slope = (scale(y + step) - scale(y - step)) / (2 * step)
    assert scale.noise(y, np.full(len(y), 0.04)) == pytest.approx((0.2 * slope) ** 2, rel=1e-3)
    alike = np.random.default_rng(0).normal(0.3, 1.0, 30)
    for plain in (alike, np.zeros(4), np.empty(0)):  # bent as values are
        assert outcome.margin(plain) == outcome.power(plain)
    y = np.array([5e-324] * 7 + [-5e-324] * 3 + [1e308, -1e308])
    scale = outcome.margin(y)
    assert np.isfinite(scale(y)).all()
    assert np.isfinite(scale.noise(y, np.full(len(y), 1e-300))).all()
