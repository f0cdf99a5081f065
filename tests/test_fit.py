from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.fit import (
    LENGTHSCALES,
    MAP,
    NOISES,
    TRENDS,
    UNTRENDED,
    VARIANCES,
    LogNormal,
    MaximumLikelihood,
    Priors,
    SliceSampling,
    slice_step,
    telling,
)
from bopp.gp import GP
from bopp.initial import Sobol
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.recipe import Recipe
from bopp.search import Gradients
from support.toys import KERNELS, gp_of, slope, smooth

TREND = Priors()
SIMPLE = replace(MaximumLikelihood(), priors=UNTRENDED)
ALL_KERNELS: list[Kernel] = [*KERNELS, SquaredExponential(ard=False), Matern52(ard=False)]


def drawn(gp: GP, n: int, d: int, seed: int) -> Data:
    """Values at random points, drawn from the process itself with its noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    K = gp.covariance(X, X)[0] + gp.noise * np.eye(n)
    return Data(X, np.linalg.cholesky(K) @ rng.normal(size=n))


def noisy(n: int = 30, d: int = 2, seed: int = 0) -> Data:
    data = smooth(n, d, seed)
    return Data(data.X, data.y + 0.1 * np.random.default_rng(seed).normal(size=n))


def fitted(fit: MAP, data: Data, kernel: Kernel, seed: int = 0) -> GP:
    (belief,) = fit(data, kernel, np.random.default_rng(seed))
    return gp_of(belief)


def theta_of(gp: GP) -> Array:
    return np.log([*gp.lengthscale, *([gp.trend] if gp.trend else []), gp.variance, gp.noise])


@pytest.mark.parametrize(
    "fit",
    [
        SIMPLE,
        MaximumLikelihood(),
        replace(SIMPLE, variance=1.3),
        SliceSampling(UNTRENDED),
        MAP(),
        SliceSampling(),
    ],
)
@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_gradient_of_the_density_is_its_difference_quotient(fit: MAP, kernel: Kernel) -> None:
    data, trended = noisy(), fit.priors == TREND
    theta = np.log([*([0.4, 0.9] if kernel.ard else [0.4]), *([0.2] if trended else []), 1.3, 0.02])
    gradient = fit.log_density(theta, data, kernel)[1]
    wanted = slope(lambda theta: fit.log_density(theta, data, kernel)[0], theta)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("priors", [UNTRENDED, TREND])
def test_density_is_likelihood_times_lognormal_priors(priors: Priors) -> None:
    data, trend = noisy(), [0.2] if priors is TREND else []
    theta = np.log([0.4, 0.9, *trend, 1.3, 0.02])
    likelihood = GP(Matern52(), np.exp(theta[:2]), 1.3, 0.02, *trend).log_likelihood(data)
    rows = [priors.lengthscale] * 2 + [LogNormal(-3.0, 3.0)] * len(trend) + [priors.variance, priors.noise]
    log_prior = sum(-0.5 * ((t - row.mean) / row.sd) ** 2 for t, row in zip(theta, rows, strict=True))
    assert MAP(priors).log_density(theta, data, Matern52())[0] == pytest.approx(
        likelihood + log_prior, rel=1e-10
    )
    if not trend:
        assert MAP(None).log_density(theta, data, Matern52())[0] == pytest.approx(likelihood, rel=1e-10)


@pytest.mark.parametrize("fit", [SIMPLE, MaximumLikelihood(), MAP()])
@pytest.mark.parametrize("kernel", ALL_KERNELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_fit_is_a_local_maximum(fit: MAP, kernel: Kernel, seed: int) -> None:
    data = noisy(40, 2, seed)
    gp = fitted(fit, data, kernel)
    theta = theta_of(gp)
    bounds = [LENGTHSCALES] * len(gp.lengthscale) + [TRENDS] * (gp.trend > 0.0) + [VARIANCES, NOISES]
    low, high = np.log(bounds).T
    top = fit.log_density(theta, data, kernel)[0]
    for axis in np.eye(len(theta)):
        for step in (-0.3, 0.3):
            moved = np.clip(theta + step * axis, low, high)
            # 1e-3: what the tolerance of the climb may leave
            assert fit.log_density(moved, data, kernel)[0] <= top + 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_maximum_likelihood_recovers_the_hyperparameters_that_the_data_were_drawn_with(
    kernel: Kernel, seed: int
) -> None:
    truth = GP(kernel, np.array([0.15, 0.5]), 1.0, 1e-2)
    found = fitted(MaximumLikelihood(), drawn(truth, 90, 2, seed), kernel)
    # 90 points determine a length-scale to some 20 %, the signal variance to a factor of about 2
    assert np.abs(np.log(found.lengthscale / truth.lengthscale)).max() < math.log(1.8)
    assert abs(math.log(found.variance / truth.variance)) < math.log(5.0)
    assert abs(math.log(found.noise / truth.noise)) < math.log(2.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_values_with_a_trend_are_believed_to_have_one(seed: int) -> None:
    """Drawn with a trend of 1 and without: the one that is found differs by more than a factor of ten."""
    found = [
        fitted(MAP(TREND), drawn(GP(Matern52(), np.full(3, 0.2), 0.1, 1e-4, trend), 40, 3, seed), Matern52())
        for trend in (1.0, 0.0)
    ]
    assert found[0].trend > 10.0 * found[1].trend
    assert 0.1 < found[0].trend < 10.0


def test_a_column_without_effect_gets_the_longer_lengthscale() -> None:
    X = np.random.default_rng(0).random((40, 2))
    gp = fitted(MAP(), Data(X, np.sin(9.0 * X[:, 1])), Matern52())
    assert gp.lengthscale[0] > 3.0 * gp.lengthscale[1]


@pytest.mark.parametrize("fit", [MAP(variance=2.0, noise=1e-3), MaximumLikelihood(variance=2.0, noise=1e-3)])
@pytest.mark.parametrize("n", [3, 30, 150])
def test_fixed_values_stay_fixed(fit: MAP, n: int) -> None:
    gp = fitted(fit, noisy(n), Matern52())
    assert gp.variance == pytest.approx(2.0, rel=1e-12)
    assert gp.noise == pytest.approx(1e-3, rel=1e-12)
    assert fitted(replace(fit, noise=1e-9), noisy(n), Matern52()).noise == pytest.approx(
        1e-9
    )  # below the floor


@pytest.mark.parametrize("fit", [MAP, MaximumLikelihood])
@pytest.mark.parametrize("bounds", [(0.9, 0.95), (0.01, 0.02)])
def test_lengthscales_keep_between_their_bounds(fit: Any, bounds: tuple[float, float]) -> None:
    lengthscale = fitted(fit(lengthscale=bounds), noisy(), Matern52()).lengthscale
    free = fitted(fit(), noisy(), Matern52()).lengthscale
    assert np.all(lengthscale >= bounds[0] * (1 - 1e-12))
    assert np.all(lengthscale <= bounds[1] * (1 + 1e-12))
    assert np.any((free < bounds[0]) | (free > bounds[1]))


@pytest.mark.parametrize("kernel", ALL_KERNELS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("fit", [MAP(), MaximumLikelihood(), SliceSampling(samples=2, burn_in=2)])
def test_few_points_are_enough(kernel: Kernel, n: int, fit: MAP) -> None:
    data = smooth(5, 2, seed=0)[:n]
    for belief in fit(data, kernel, np.random.default_rng(0)):
        assert len(gp_of(belief).lengthscale) == (2 if kernel.ard else 1)
        assert np.all(np.isfinite(theta_of(gp_of(belief))))
        assert np.all(np.isfinite(belief(data.X)))


@pytest.mark.parametrize("fit", [MAP(), MaximumLikelihood()])
def test_values_that_are_all_zero_and_points_that_coincide_give_a_finite_fit(fit: MAP) -> None:
    X = np.full((6, 2), 0.3)
    for data in (Data(X, np.zeros(6)), Data(X, np.arange(6.0)), Data(noisy(6).X, np.zeros(6))):
        assert np.all(np.isfinite(theta_of(fitted(fit, data, Matern52()))))


@dataclass(frozen=True)
class Counting:
    """A kernel that notes between how many points it was asked."""

    sizes: list[int]
    ard: bool = True

    def __call__(self, r2: Array) -> tuple[Array, Array]:
        self.sizes.append(len(r2))
        return Matern52()(r2)


@pytest.mark.parametrize("fit", [MAP(largest=20), SliceSampling(None, largest=20, samples=1, burn_in=1)])
@pytest.mark.parametrize(("n", "most"), [(60, 20), (300, 20), (15, 15)])
def test_no_more_than_the_largest_number_of_points_speak(fit: MAP, n: int, most: int) -> None:
    kernel = Counting([])
    fit(noisy(n), kernel, np.random.default_rng(0))
    *speaking, conditioned_on = sorted(kernel.sizes)
    assert max(speaking) == most
    assert conditioned_on == n  # once, by what is believed in the end


@pytest.mark.parametrize("n", [120, 250])
def test_many_points_are_fitted_about_as_well_as_by_a_full_climb(n: int) -> None:
    truth = GP(Matern52(), np.array([0.3, 0.8]), 1.0, 1e-2)
    data = drawn(truth, n, 2, seed=5)
    density = MAP().log_density(theta_of(fitted(MAP(), data, Matern52())), data, Matern52())[0]
    # the truth is no maximum; a fit that falls short of it by more than a few units has stopped too early
    assert density > MAP().log_density(theta_of(truth), data, Matern52())[0] - 3.0


@pytest.mark.parametrize("fit", [MAP(), MaximumLikelihood()])
def test_maxima_do_not_depend_on_randomness(fit: MAP) -> None:
    first, second = (theta_of(fitted(fit, noisy(), Matern52(), seed)) for seed in (0, 1))
    assert np.array_equal(first, second)


def correlation(chain: list[Array]) -> float:
    return float(np.asarray(np.corrcoef(np.transpose(chain)))[0, 1])


def test_slice_steps_reproduce_a_gaussian() -> None:
    """Mean within 0.1 sd, sd within 10 %: over three standard errors of 4000 correlated draws."""
    mean, sd = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    rng = np.random.default_rng(0)
    theta, chain = mean.copy(), []
    for _ in range(4000):
        for axis in (0, 1):
            theta = slice_step(lambda x: float(-0.5 * np.sum(((x - mean) / sd) ** 2)), theta, axis, rng)
        chain.append(theta)
    np.testing.assert_allclose((np.mean(chain, axis=0) - mean) / sd, 0.0, atol=0.1)
    np.testing.assert_allclose(np.std(chain, axis=0) / sd, 1.0, atol=0.1)
    assert abs(correlation(chain)) < 0.1


def test_slice_steps_reproduce_a_correlation() -> None:
    precision = np.linalg.inv([[1.0, 0.7], [0.7, 1.0]])
    rng = np.random.default_rng(1)
    theta, chain = np.zeros(2), []
    for step in range(12000):
        theta = slice_step(lambda x: float(-0.5 * x @ precision @ x), theta, step % 2, rng)
        chain.append(theta)
    assert correlation(chain[::2]) == pytest.approx(0.7, abs=0.06)


def test_slice_steps_stay_inside_a_bounded_density() -> None:
    rng = np.random.default_rng(2)
    theta, chain = np.array([0.5]), []
    for _ in range(3000):
        theta = slice_step(lambda x: 0.0 if 0.0 <= x[0] <= 1.0 else -np.inf, theta, 0, rng, width=0.3)
        chain.append(theta[0])
    assert min(chain) >= 0.0
    assert max(chain) <= 1.0
    assert np.mean(chain) == pytest.approx(0.5, abs=0.04)
    assert np.std(chain) == pytest.approx(math.sqrt(1 / 12), rel=0.06)


def test_slice_steps_cross_a_gap_as_often_as_they_should() -> None:
    """Two boxes of lengths 1 and 1/2 a step apart: a third of 4000 draws, within 0.05."""
    rng = np.random.default_rng(3)
    theta, beyond = np.array([0.5]), 0
    for _ in range(4000):
        theta = slice_step(
            lambda x: 0.0 if 0.0 <= x[0] <= 1.0 or 1.5 <= x[0] <= 2.0 else -np.inf, theta, 0, rng
        )
        beyond += theta[0] > 1.0
    assert beyond / 4000 == pytest.approx(1 / 3, abs=0.05)


def test_a_slice_step_moves_one_coordinate_and_not_its_argument() -> None:
    theta = np.array([0.1, 0.2, 0.3])
    moved = slice_step(lambda x: float(-0.5 * x @ x), theta, 1, np.random.default_rng(0))
    assert theta.tolist() == [0.1, 0.2, 0.3]
    assert (moved != theta).tolist() == [False, True, False]


def test_sampled_hyperparameters_lie_around_the_most_probable_ones() -> None:
    data = noisy(40)
    top = SIMPLE.log_density(theta_of(fitted(SIMPLE, data, Matern52())), data, Matern52())[0]
    models = SliceSampling(UNTRENDED, samples=30)(data, Matern52(), np.random.default_rng(0))
    thetas = [theta_of(gp_of(model)) for model in models]
    below = np.array([top - SIMPLE.log_density(theta, data, Matern52())[0] for theta in thetas])
    # were the density Gaussian, twice the difference would be chi-squared with 4 degrees: mean 4, sd 2.8
    assert below.min() > -0.5
    assert 2.0 * below.mean() == pytest.approx(4.0, abs=2.5)


def test_sampled_lengthscales_have_the_mean_and_sd_of_their_density() -> None:
    """One free hyper-parameter, whose density can be summed on a grid: within 0.25 sd and 30 %."""
    data, kernel = noisy(10, 1), Matern52()
    fit = SliceSampling(UNTRENDED, variance=1.0, noise=1e-2, samples=400, burn_in=10, thinning=2)
    grid = np.linspace(math.log(LENGTHSCALES[0]), math.log(LENGTHSCALES[1]), 2000)
    log_density = np.array(
        [fit.log_density(np.array([t, 0.0, math.log(1e-2)]), data, kernel)[0] for t in grid]
    )
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = float(weight @ grid)
    sd = math.sqrt(weight @ (grid - mean) ** 2)
    models = fit(data, kernel, np.random.default_rng(0))
    sampled = [math.log(gp_of(model).lengthscale[0]) for model in models]
    assert np.mean(sampled) == pytest.approx(mean, abs=0.25 * sd)
    assert np.std(sampled) == pytest.approx(sd, rel=0.3)


def test_slice_sampling_keeps_fixed_values_and_depends_on_the_seed_alone() -> None:
    fit = SliceSampling(variance=2.0, noise=1e-3, samples=3)
    first, again, other = (
        list(map(gp_of, fit(noisy(), Matern52(), np.random.default_rng(seed)))) for seed in (0, 0, 1)
    )
    for gp in first:
        assert gp.variance == pytest.approx(2.0, rel=1e-12)
        assert gp.noise == pytest.approx(1e-3, rel=1e-12)
    assert [theta_of(gp).tolist() for gp in first] == [theta_of(gp).tolist() for gp in again]
    assert [theta_of(gp).tolist() for gp in first] != [theta_of(gp).tolist() for gp in other]
    assert len({tuple(theta_of(gp)) for gp in first}) == 3
    assert fit(noisy(), Matern52(), np.random.default_rng(0)).weights == (1 / 3, 1 / 3, 1 / 3)


# what is fitted anew, and when


@pytest.mark.parametrize("refit", [0.0, 1e-9, 0.03, 0.1, 0.5, 1.0])
def test_milestones_are_passed_one_after_the_other_and_data_grow_by_the_share_in_between(
    refit: float,
) -> None:
    """Each is at most so many values, and the one of its own number: it does not matter when one asks."""
    fit = MAP(refit=refit)
    due = [fit.milestone(n) for n in range(1, 2000)]
    assert all(1 <= milestone <= n for n, milestone in enumerate(due, 1))
    assert due == sorted(due)
    assert all(fit.milestone(milestone) == milestone for milestone in set(due))
    passed = np.array(sorted(set(due)))
    assert np.all(np.diff(passed) <= np.maximum(1, refit * passed[:-1]))
    assert np.all(np.diff(passed) + 1 > refit * passed[:-1])  # not sooner than a whole number has to be
    assert refit or [fit.milestone(n) for n in (0, 1, 7, 12345)] == [0, 1, 7, 12345]


def test_the_least_noise_bounds_the_noise_that_is_fitted() -> None:
    X = np.random.default_rng(0).random((30, 2))
    exact = Data(X, (X**2).sum(axis=1))
    low = LogNormal(math.log(1e-11), 1.0)
    for least in (1e-11, 1e-8, 1e-2):
        fit = MAP(Priors(noise=low, trend=LogNormal(0.0, 1.0)), least_noise=least)
        noise = fitted(fit, exact, Matern52()).noise
        assert noise >= least * (1 - 1e-12)
        assert noise < 1e-8 or least >= 1e-8
    assert noise == pytest.approx(1e-2, rel=1e-9)


@pytest.mark.parametrize(("n", "most"), [(50, 8), (50, 49), (1000, 240), (7, 1), (9, 3.9)])
def test_the_best_quarter_and_others_from_end_to_end_tell_most(n: int, most: float) -> None:
    y = np.random.default_rng(n).normal(size=n)
    rows = telling(y, most)
    assert len(rows) == int(most)
    assert np.all(np.diff(rows) > 0)
    ranks = np.argsort(np.argsort(-y))[rows]
    quarter = int(most) // 4
    assert set(range(quarter)) <= set(ranks)
    others = np.sort(ranks)[quarter:]
    assert others[0] == quarter
    if len(others) > 1:
        assert others[-1] == n - 1
        gaps = np.diff(others)
        assert gaps.max() - gaps.min() <= 1
    for enough in (n, n + 1, math.inf):  # then all tell
        assert telling(y, enough).tolist() == list(range(n))
    assert telling(np.zeros(9), 4).tolist() == [0, 1, 4, 8]  # equal values in the order of their rows


BAD: list[tuple[str, Any]] = [
    *product(("lengthscale",), ((0.0, 1.0), (2.0, 1.0), (1.0, math.inf), (1.0,))),
    *product(
        ("variance", "noise", "least_noise", "tolerance", "second_noise"), (0.0, -1.0, math.nan, math.inf)
    ),
    *product(("largest",), (0, -5)),
    *product(("refit",), (-0.1, 1.1, math.nan)),
    *product(("seen",), (0, -1, 0.5, math.nan)),
    *product(("starts",), (0, -1, 1.5, "many")),
    ("second_noise", "little"),
]


@pytest.mark.parametrize(
    ("fit", "name", "value"),
    [
        *((fit, *bad) for fit in (MAP, SliceSampling) for bad in BAD),
        *(
            (MaximumLikelihood, *bad)
            for bad in BAD
            if bad[0] in ("lengthscale", "variance", "noise", "largest")
        ),
        *((SliceSampling, name, value) for name, value in (("samples", 0), ("thinning", 0), ("burn_in", -1))),
        (Priors, "trend", 0.1),
    ],
)
def test_a_setting_out_of_range_is_named(fit: Any, name: str, value: Any) -> None:
    with pytest.raises(RecipeError, match=name) as caught:
        fit(**{name: value})
    assert repr(value) in str(caught.value)


def waves_with_noise(noise: float, n: int = 20, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] + noise * rng.standard_normal(n)
    return Data(X, (y - y.mean()) / y.std())


@pytest.mark.parametrize("seed", range(6))
def test_a_second_noise_never_makes_a_fit_less_probable(seed: int) -> None:
    once, twice = SIMPLE, replace(SIMPLE, second_noise=0.02)
    data = waves_with_noise(0.5, seed=seed)
    first, second = (theta_of(fitted(fit, data, Matern52())) for fit in (once, twice))
    assert (
        once.log_density(second, data, Matern52())[0] >= once.log_density(first, data, Matern52())[0] - 1e-9
    )


def test_noise_that_was_taken_for_a_rough_function_is_told_from_one() -> None:
    mended = 0
    for seed in range(12):
        data = waves_with_noise(0.3, n=30, seed=seed)
        once, twice = (fitted(fit, data, Matern52()) for fit in (SIMPLE, replace(SIMPLE, second_noise=0.02)))
        if twice.noise > 10.0 * once.noise:
            assert once.lengthscale.min() < 0.2 < twice.lengthscale.min()
            assert twice.noise > 0.1
            mended += 1
    assert mended > 0


@pytest.mark.parametrize("fit", [MAP(noise=1e-4), MAP(priors=None, noise=1e-4), MAP()])
def test_a_second_noise_changes_nothing_where_values_are_smooth_or_the_noise_is_known(fit: MAP) -> None:
    data = waves_with_noise(0.0)
    again = replace(fit, second_noise=0.02)
    assert (
        theta_of(fitted(again, data, Matern52())).tolist() == theta_of(fitted(fit, data, Matern52())).tolist()
    )


def several_hills(seed: int) -> Data:
    """Few values of a function that is rough in one parameter: the likelihood has several tops."""
    rng = np.random.default_rng(seed)
    X = rng.random((14, 2))
    y = np.sin(25.0 * X[:, 0]) + 2.0 * X[:, 1]
    return Data(X, (y - y.mean()) / y.std())


def test_several_starts_find_higher_tops_than_one() -> None:
    gains = []
    for seed in range(12):
        data = several_hills(seed)
        once, often = (replace(MaximumLikelihood(noise=1e-4), starts=starts) for starts in (1, 40))
        thetas = [theta_of(fitted(fit, data, Matern52())) for fit in (once, often)]
        low, high = (once.log_density(theta, data, Matern52())[0] for theta in thetas)
        gains.append(high - low)
    assert np.mean(gains) > 0.3
    assert max(gains) > 1.0
    assert min(gains) > -0.5


def test_the_end_is_above_every_start() -> None:
    data, fit = several_hills(0), MAP(starts=30)
    start, scale = fit._prior(4)
    (best, second) = fit._promising(start, scale, data, Matern52(), np.random.default_rng(len(data)))
    heights = [fit.log_density(theta, data, Matern52())[0] for theta in (best, second, start)]
    assert heights[0] >= heights[1]
    assert heights[0] >= heights[2]
    end, again = (theta_of(fitted(fit, data, Matern52())) for _ in range(2))
    assert fit.log_density(end, data, Matern52())[0] > heights[0]
    assert np.array_equal(end, again)


def test_the_defaults_of_a_part_are_the_recommended_settings() -> None:
    recipe = Recipe.default()
    assert (recipe.fit, recipe.search, recipe.initial) == (MAP(), Gradients(), Sobol())
    assert replace(recipe.fit, starts=80) == MAP(starts=80)  # type: ignore[type-var]
    sampling = SliceSampling()
    assert MAP(**{name: getattr(sampling, name) for name in vars(MAP())}) == MAP()
    assert MAP(noise=0.1) != MAP() == MAP()
    assert hash(SliceSampling()) == hash(SliceSampling())
    fit = MaximumLikelihood(variance=1.0, noise=1e-4, largest=50)
    assert (fit.priors, fit.variance, fit.noise, fit.largest) == (None, 1.0, 1e-4, 50)
    assert (fit.refit, fit.second_noise) == (0.0, None)


@pytest.mark.parametrize(("unit", "variance"), [(1e6, 1e3), (1e-6, 1e-3)])
def test_the_signal_variance_stays_within_its_bounds(unit: float, variance: float) -> None:
    X = np.random.default_rng(0).random((8, 1))
    (posterior,) = MAP(priors=None)(
        Data(X, unit * np.sin(5.0 * X[:, 0])), Matern52(), np.random.default_rng(0)
    )
    assert posterior.gp.variance == pytest.approx(variance, rel=1e-6)  # type: ignore[attr-defined]
