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
def test_expectation_and_quantiles_are_those_of_drawn_maxima(least: float) -> None:
    maxima, found = drawn(), Maximum(*probes(), least)
    wanted = np.maximum(maxima, least)
    # five standard errors of the drawn mean, about 0.004, and 1e-3 for the grid
    tolerance = 5.0 * wanted.std() / np.sqrt(DRAWS) + 1e-3
    assert found.expected == pytest.approx(wanted.mean(), abs=tolerance)
    quantiles = found.quantiles(10)
    drawn_ones = np.quantile(maxima[maxima > least], (np.arange(10) + 0.5) / 10)
    # a drawn quantile has a standard error of sqrt(p (1 - p) / n) / density, here below 0.004
    np.testing.assert_allclose(quantiles, drawn_ones, atol=0.015)
    assert quantiles.min() > least
    assert np.all(np.diff(quantiles) > 0.0)


def test_a_maximum_that_is_all_but_known_is_the_least() -> None:
    surely = Maximum(np.full(5, -1.0), np.full(5, 1e-6), 2.0)
    assert surely.expected == pytest.approx(2.0, abs=1e-9)
    np.testing.assert_allclose(surely.quantiles(4), 2.0, atol=1e-9)


def test_the_expected_maximum_of_a_model_lies_between_what_was_seen_and_five_sds() -> None:
    data = smooth(10, 2, seed=0)
    seen = known(data, seed=8)
    assert (seen.best, seen.dimension) == (data.y.max(), 2)
    expected = maximum(seen).expected
    mean, sd = seen.posterior(np.random.default_rng(3).random((4000, 2)))
    assert data.y.max() <= expected <= (mean + 5.0 * sd).max()
    assert expected == maximum(known(data)).expected  # whatever the randomness of the suggestion
    assert seen.generator().random() == np.random.default_rng(8).random()
