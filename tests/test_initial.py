from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from bopp.initial import Initial, Sobol, Uniform

DESIGNS: list[Initial] = [Sobol(), Uniform()]


@pytest.mark.parametrize("seed", [0, 1, 12345])
@pytest.mark.parametrize("dimension", [1, 3, 8])
def test_sobol_points_are_scipys_whatever_was_asked_before(dimension: int, seed: int) -> None:
    sequence = qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random(16)
    points = [Sobol()(dimension, seed, number) for number in reversed(range(16))]
    assert np.array_equal(points[::-1], sequence)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_point_lies_in_the_cube_and_depends_on_seed_and_number_alone(design: Initial) -> None:
    points = {(seed, number): tuple(design(5, seed, number)) for seed in range(4) for number in range(16)}
    again = {(seed, number): tuple(design(5, seed, number)) for seed, number in reversed(points)}
    assert points == again
    assert len(set(points.values())) == 64
    drawn = np.array(list(points.values()))
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert Uniform().size == 5  # as in the paper


def test_sobol_points_fill_the_cube_more_evenly_than_uniform_ones() -> None:
    discrepancy = {
        design: qmc.discrepancy(np.array([design(2, 0, number) for number in range(64)]))
        for design in DESIGNS
    }
    assert discrepancy[DESIGNS[0]] < 0.5 * discrepancy[DESIGNS[1]]


def test_uniform_points_are_uniform() -> None:
    points = np.array([Uniform()(2, 7, number) for number in range(2000)])
    # standard errors over 2000 points: 0.0065 of the mean, 0.022 of the correlation
    np.testing.assert_allclose(points.mean(axis=0), 0.5, atol=0.03)
    np.testing.assert_allclose(points.std(axis=0), np.sqrt(1 / 12), atol=0.02)
    assert abs(np.corrcoef(points.T)[0, 1]) < 0.1
    assert abs(np.corrcoef(points[1:, 0], points[:-1, 0])[0, 1]) < 0.1
