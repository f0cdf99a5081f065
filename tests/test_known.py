from __future__ import annotations

import numpy as np
import pytest

from bopp.acquisition import Maximum, maximum
from bopp.data import Array
from support.toys import known, smooth

DRAWS = 400_000


def probes() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return rng.normal(0.0, 0.5, 12), rng.uniform(0.2, 1.0, 12)


def drawn() -> Array:
    """Maxima of independent normal variables."""
    mean, sd = probes()
    return np.asarray(np.random.default_rng(1).normal(mean, sd, (DRAWS, 12)).max(axis=1))


@pytest.mark.parametrize("least", [-3.0, 0.9, 1.6])
def test_expected_maximum_is_that_of_drawn_maxima(least: float) -> None:
    wanted = np.maximum(drawn(), least)
    # five standard errors of the drawn mean, about 0.004, and 1e-3 for the grid
    tolerance = 5.0 * wanted.std() / np.sqrt(DRAWS) + 1e-3
    assert Maximum(*probes(), least).expected == pytest.approx(wanted.mean(), abs=tolerance)


@pytest.mark.parametrize("least", [-3.0, 0.9, 1.6])
def test_quantiles_are_those_of_drawn_maxima_above_the_least(least: float) -> None:
    above = drawn()[drawn() > least]
    wanted = np.quantile(above, (np.arange(10) + 0.5) / 10)
    # a drawn quantile has a standard error of sqrt(p (1 - p) / n) / density, here below 0.004
    np.testing.assert_allclose(Maximum(*probes(), least).quantiles(10), wanted, atol=0.015)


def test_quantiles_rise_and_lie_above_the_least() -> None:
    quantiles = Maximum(*probes(), 1.2).quantiles(16)
    assert len(quantiles) == 16
    assert quantiles.min() > 1.2
    assert np.all(np.diff(quantiles) > 0.0)


def test_a_maximum_that_is_all_but_known_is_the_least() -> None:
    surely = Maximum(np.full(5, -1.0), np.full(5, 1e-6), 2.0)
    assert surely.expected == pytest.approx(2.0, abs=1e-9)
    np.testing.assert_allclose(surely.quantiles(4), 2.0, atol=1e-9)


def test_known_has_the_best_value_and_the_dimension() -> None:
    data = smooth(7, 3, seed=0)
    assert known(data).best == data.y.max()
    assert known(data).dimension == 3


def test_the_expected_maximum_of_a_model_lies_between_what_was_seen_and_five_sds() -> None:
    data = smooth(10, 2, seed=0)
    expected = maximum(known(data)).expected
    mean, sd = known(data).posterior(np.random.default_rng(3).random((4000, 2)))
    assert data.y.max() <= expected <= (mean + 5.0 * sd).max()
    assert expected == maximum(known(data)).expected


def test_the_maximum_does_not_draw_from_the_randomness_of_the_suggestion() -> None:
    seen = known(smooth(5, 2, seed=0), seed=8)
    assert maximum(seen).expected > 0.0
    assert seen.generator().random() == np.random.default_rng(8).random()
