"""The expected improvement of the hypervolume, against samples, differences and other ways to compute it."""

import moocore
import numpy as np
import pytest
from scipy.stats import spearmanr

from bopp.acquisition import log_h
from bopp.belief import Beliefs
from bopp.data import Array, Data
from bopp.front import front
from bopp.gp import GP
from bopp.hypervolume import BoxVolume, HypervolumeScore, RayVolume, Volume, left_to_gain
from bopp.kernels import Matern52


def a_front(objectives: int, count: int = 12) -> Array:
    return front(np.random.default_rng(objectives).random((count, objectives)), np.zeros(objectives))


def moments(objectives: int, points: int, seed: int = 0) -> list[list[tuple[Array, Array]]]:
    rng = np.random.default_rng(seed)
    return [[(rng.uniform(0.2, 1.1, points), rng.uniform(0.05, 0.6, points))] for _ in range(objectives)]


def a_score(objectives: int, volume: Volume, beliefs: int = 1) -> HypervolumeScore:
    rng = np.random.default_rng(objectives)
    data = [Data(rng.random((8, 2)), rng.random(8)) for _ in range(objectives)]
    gps = [GP(Matern52(), np.array([0.3 + 0.2 * one, 0.5]), noise=1e-4) for one in range(beliefs)]
    weights = np.arange(1.0, beliefs + 1.0) / np.arange(1.0, beliefs + 1.0).sum()
    return HypervolumeScore(
        tuple(Beliefs(tuple(gp.condition(one) for gp in gps), tuple(weights)) for one in data), volume
    )


@pytest.mark.parametrize("objectives", [2, 3])
def test_it_is_the_mean_improvement_of_samples(objectives: int) -> None:
    reference, best = np.zeros(objectives), a_front(objectives)
    asked = moments(objectives, 4)
    expected = np.exp(left_to_gain(best, reference)(asked, [[1.0]] * objectives)[0])
    rng = np.random.default_rng(1)
    whole = moocore.hypervolume(best, ref=reference, maximise=True)
    for point in range(4):
        draws = np.column_stack([rng.normal(mean[point], sd[point], 4000) for ((mean, sd),) in asked])
        with_it = [
            moocore.hypervolume(np.vstack([best, draw]), ref=reference, maximise=True) for draw in draws
        ]
        gains = np.array(with_it) - whole
        assert expected[point] == pytest.approx(gains.mean(), abs=4 * gains.std() / np.sqrt(4000))


@pytest.mark.parametrize("objectives", [2, 3])
def test_without_a_front_it_is_a_product_of_expected_excesses(objectives: int) -> None:
    reference = np.full(objectives, 0.3)
    asked = moments(objectives, 5)
    score = left_to_gain(np.empty((0, objectives)), reference)(asked, [[1.0]] * objectives)[0]
    wanted = sum(np.log(sd) + log_h((mean - 0.3) / sd)[0] for ((mean, sd),) in asked)
    assert score == pytest.approx(wanted)


@pytest.mark.parametrize("beliefs", [1, 3])
@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_its_gradient_is_that_of_finite_differences(objectives: int, beliefs: int) -> None:
    score = a_score(objectives, left_to_gain(a_front(objectives), np.zeros(objectives)), beliefs)
    U = np.random.default_rng(2).random((6, 2))
    value, slope = score.gradient(U)
    assert value == pytest.approx(score.values(U))
    for axis in range(2):
        step = 1e-6 * np.eye(2)[axis]
        difference = (score.values(U + step) - score.values(U - step)) / 2e-6
        # beyond three objectives the places where a ray is looked at move along, by which it errs a little
        assert slope[:, axis] == pytest.approx(difference, rel=1e-4 if objectives <= 3 else 0.02, abs=1e-3)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_it_is_averaged_over_the_beliefs_of_each_objective(objectives: int) -> None:
    volume = left_to_gain(a_front(objectives), np.zeros(objectives))
    one, other = moments(objectives, 5, 0), moments(objectives, 5, 1)
    both = [[*first, *second] for first, second in zip(one, other, strict=True)]
    mixed = volume(both, [[0.25, 0.75]] * objectives)[0]
    every = []
    for choice in np.ndindex(*[2] * objectives):  # each objective has its belief independently of the others
        part = [[pair[which]] for pair, which in zip(both, choice, strict=True)]
        weight = np.prod([[0.25, 0.75][which] for which in choice])
        every.append(weight * np.exp(volume(part, [[1.0]] * objectives)[0]))
    assert mixed == pytest.approx(np.log(np.sum(every, axis=0)), abs=1e-6 if objectives <= 3 else 0.1)


@pytest.mark.parametrize("objectives", [2, 3, 5])
def test_far_below_the_front_it_still_rises_towards_it(objectives: int) -> None:
    volume = left_to_gain(a_front(objectives), np.zeros(objectives))
    means = np.linspace(-30.0, 0.5, 40)
    score, slopes = volume([[(means, np.full(40, 0.1))]] * objectives, [[1.0]] * objectives)
    assert np.isfinite(score).all()
    assert (np.diff(score) > 0.0).all()
    assert all((by_mean > 0.0).all() for ((by_mean, _),) in slopes())


def test_along_rays_it_ranks_points_as_boxes_do() -> None:
    reference, best = np.zeros(3), a_front(3)
    asked = moments(3, 200)
    boxes = left_to_gain(best, reference)
    assert isinstance(boxes, BoxVolume)
    exact = boxes(asked, [[1.0]] * 3)[0]
    rays = RayVolume.above(best, reference)(asked, [[1.0]] * 3)[0]
    assert spearmanr(exact, rays).statistic > 0.98
    assert np.std(rays - exact) < 0.15  # they differ by a constant factor, up to the choice of rays


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_do_not_matter(unit: float) -> None:
    best, asked = a_front(2), moments(2, 20)
    plain = left_to_gain(best, np.zeros(2))(asked, [[1.0]] * 2)[0]
    scaled = [[(mean * unit, sd * unit)] for ((mean, sd),) in asked]
    large = left_to_gain(best * unit, np.zeros(2))(scaled, [[1.0]] * 2)[0]
    assert large - plain == pytest.approx(2 * np.log(unit))


def test_a_point_on_the_front_gains_nothing_and_one_beyond_it_does() -> None:
    best = np.array([[0.2, 0.8], [0.8, 0.2]])
    volume = left_to_gain(best, np.zeros(2))
    sure = np.full(2, 1e-6)

    def at(first: float, second: float) -> float:
        asked: list[list[tuple[Array, Array]]] = [[(np.full(2, one), sure)] for one in (first, second)]
        return float(np.exp(volume(asked, [[1.0]] * 2)[0][0]))

    assert at(0.2, 0.8) < 1e-5
    assert at(0.5, 0.5) == pytest.approx(0.3 * 0.3, rel=1e-3)
