"""The chance that constraints are met, alone and with a score."""

import numpy as np
import pytest
from scipy.stats import norm

from bopp.belief import Beliefs
from bopp.data import Array, Data
from bopp.feasibility import Chance, FeasibleScore
from bopp.gp import GP
from bopp.kernels import Matern52

U = np.random.default_rng(5).random((6, 2))


def beliefs(seed: int, count: int = 1) -> Beliefs:
    rng = np.random.default_rng(seed)
    data = Data(rng.random((7, 2)), rng.standard_normal(7))
    gps = [GP(Matern52(), np.array([0.3, 0.4 + 0.3 * one]), noise=1e-4) for one in range(count)]
    return Beliefs.even([gp.condition(data) for gp in gps])


class Plane:
    """A score that is its first coordinate."""

    def values(self, U: Array) -> Array:
        return U[:, 0]

    def gradient(self, U: Array) -> tuple[Array, Array]:
        return U[:, 0], np.broadcast_to([1.0, 0.0], U.shape)


def difference(score: Chance | FeasibleScore, axis: int) -> Array:
    step = 1e-6 * np.eye(2)[axis]
    return (score.values(U + step) - score.values(U - step)) / 2e-6


@pytest.mark.parametrize("count", [1, 3])
def test_a_chance_is_that_of_a_gaussian_above_its_level(count: int) -> None:
    found = beliefs(0, count)
    chances = [norm.sf(0.3, *belief(U)) for belief in found]
    chance = Chance(found, 0.3)
    assert np.exp(chance.values(U)) == pytest.approx(np.mean(chances, axis=0))
    value, slope = chance.gradient(U)
    assert value == pytest.approx(chance.values(U))
    for axis in (0, 1):
        assert slope[:, axis] == pytest.approx(difference(chance, axis), rel=1e-4, abs=1e-6)


def test_a_hopeless_chance_still_has_a_slope() -> None:
    value, slope = Chance(beliefs(2), 1000.0).gradient(U)
    assert np.isfinite(value).all()
    assert (np.abs(slope).max(axis=1) > 1.0).all()


@pytest.mark.parametrize("way", ["none", "added", "multiplied"])
def test_a_score_is_weighed_by_the_chances(way: str) -> None:
    chances = Chance(beliefs(3), 0.0), Chance(beliefs(4), 0.5)
    score = FeasibleScore(None if way == "none" else Plane(), chances, positive=way == "multiplied")
    total = sum(chance.values(U) for chance in chances)
    wanted = {"none": total, "added": U[:, 0] + total, "multiplied": U[:, 0] * np.exp(total)}[way]
    assert score.values(U) == pytest.approx(wanted)
    value, slope = score.gradient(U)
    assert value == pytest.approx(score.values(U))
    for axis in (0, 1):
        assert slope[:, axis] == pytest.approx(difference(score, axis), rel=1e-4, abs=1e-6)
