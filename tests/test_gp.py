from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from bopp.data import Array, Data
from bopp.gp import GP, cholesky
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.pseudo import Neighbours
from support.toys import KERNELS, features, known, slope, smooth

ARD, ISOTROPIC = np.array([0.3, 0.7, 1.5]), np.array([0.5])
MODELS = [
    GP(SquaredExponential(), ARD, 1.7, 1e-2),
    GP(SquaredExponential(ard=False), ISOTROPIC, 1.7, 1e-2),
    GP(Matern52(), ARD, 1.7, 1e-2),
    GP(Matern52(ard=False), ISOTROPIC, 1.7, 1e-2),
]
TRENDED = [
    GP(SquaredExponential(), ARD, 1.7, 1e-2, trend=0.3),
    GP(Matern52(), ARD, 0.4, 1e-2, trend=3.0),
    GP(Matern52(ard=False), ISOTROPIC, 1.7, 1e-2, trend=1e-3),
]
EVERY = [*MODELS, *TRENDED]
VARIED = np.random.default_rng(9).uniform(0.0, 0.5, 12)
NOISES = [np.zeros(12), VARIED]


def sample(noise: npt.ArrayLike = 0.0) -> Data:
    data = smooth(12, 3, seed=3)
    return Data(data.X, data.y, noise)


def elsewhere(m: int = 9) -> Array:
    return np.random.default_rng(5).random((m, 3))


def reference_kernel(gp: GP) -> ConstantKernel:
    """scikit-learn's kernel of the same covariance."""
    scale = np.broadcast_to(gp.lengthscale, 3)
    smoothness = RBF(scale) if isinstance(gp.kernel, SquaredExponential) else Matern(scale, nu=2.5)
    return ConstantKernel(gp.variance) * smoothness


def reference(gp: GP, A: Array, B: Array | None = None) -> Array:
    """The covariance, with the features of a trend written out."""
    B = A if B is None else B
    return np.asarray(reference_kernel(gp)(A, B) + gp.trend * features(A) @ features(B).T)


@pytest.mark.parametrize("gp", EVERY)
def test_covariance_is_that_of_scikit_learn_and_of_the_features(gp: GP) -> None:
    A, B = elsewhere(), sample().X
    np.testing.assert_allclose(gp.covariance(A, B)[0], reference(gp, A, B), rtol=1e-10)
    own = reference(gp, A).diagonal()
    np.testing.assert_allclose(gp.variances(A), own, rtol=1e-10)
    wanted = own + own[::-1] - 2.0 * reference(gp, A, A[::-1]).diagonal()
    np.testing.assert_allclose(gp.difference(A, A[::-1]), wanted, rtol=1e-9, atol=1e-12)
    mean, sd = gp.condition(Data.empty(3))(A)  # the prior
    assert np.all(mean == 0.0)
    np.testing.assert_allclose(sd, np.sqrt(gp.variances(A)), rtol=1e-15)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("gp", EVERY)
def test_log_likelihood_is_the_density_of_a_multivariate_normal(gp: GP, noise: Array) -> None:
    data = sample(noise)
    K = reference(gp, data.X) + np.diag(gp.noise + np.asarray(data.noise))
    wanted = multivariate_normal(np.zeros(len(data)), K).logpdf(data.y)
    assert gp.log_likelihood(data) == pytest.approx(wanted, rel=1e-10)
    assert gp.log_likelihood_gradient(data)[0] == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("gp", EVERY)
def test_gradient_of_the_log_likelihood_is_its_difference_quotient(gp: GP, noise: Array) -> None:
    data = sample(noise)

    def at(theta: Array) -> float:
        count = len(gp.lengthscale)
        trend, variance, noise = np.exp(theta[count:]) if gp.trend else (0.0, *np.exp(theta[count:]))
        return GP(gp.kernel, np.exp(theta[:count]), variance, noise, trend).log_likelihood(data)

    theta = np.log([*gp.lengthscale, *([gp.trend] if gp.trend else []), gp.variance, gp.noise])
    gradient = gp.log_likelihood_gradient(data)[1]
    assert gradient.shape == theta.shape
    np.testing.assert_allclose(gradient, slope(at, theta), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("gp", MODELS)
def test_posterior_is_that_of_scikit_learn(gp: GP, noise: Array) -> None:
    data = sample(noise)
    regressor = GaussianProcessRegressor(
        reference_kernel(gp), alpha=gp.noise + np.asarray(data.noise), optimizer=None
    )
    wanted_mean, wanted_sd = regressor.fit(data.X, data.y).predict(elsewhere(), return_std=True)
    mean, sd = gp.condition(data)(elsewhere())
    np.testing.assert_allclose(mean, wanted_mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(sd, wanted_sd, rtol=1e-7)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("gp", TRENDED)
def test_posterior_with_a_trend_is_that_of_plain_inverses(gp: GP, noise: Array) -> None:
    data, U = sample(noise), elsewhere()
    A_inverse = np.linalg.inv(reference(gp, data.X) + np.diag(gp.noise + np.asarray(data.noise)))
    k = reference(gp, U, data.X)
    posterior = gp.condition(data)
    mean, sd = posterior(U)
    np.testing.assert_allclose(mean, k @ A_inverse @ data.y, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(sd**2, (reference(gp, U) - k @ A_inverse @ k.T).diagonal(), rtol=1e-6)
    np.testing.assert_allclose(posterior.mean(U), mean, rtol=1e-9, atol=1e-10)
    assert posterior.evidence == pytest.approx(gp.log_likelihood(data), rel=1e-12)


@pytest.mark.parametrize("gp", EVERY)
def test_posterior_gradients_are_difference_quotients(gp: GP) -> None:
    posterior = gp.condition(sample(VARIED))
    U = elsewhere()
    mean, sd, mean_slope, sd_slope = posterior.gradient(U)
    np.testing.assert_allclose(mean, posterior(U)[0], rtol=1e-12)
    np.testing.assert_allclose(sd, posterior(U)[1], rtol=1e-12)
    for i, u in enumerate(U):
        by_mean = slope(lambda v: float(posterior(v[None, :])[0][0]), u)
        by_sd = slope(lambda v: float(posterior(v[None, :])[1][0]), u)
        np.testing.assert_allclose(mean_slope[i], by_mean, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(sd_slope[i], by_sd, rtol=1e-5, atol=1e-7)
    by_itself = posterior.mean_gradient(U)
    np.testing.assert_allclose(by_itself[0], mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(by_itself[1], mean_slope, rtol=1e-9, atol=1e-10)


def test_at_noise_free_data_the_sd_is_almost_zero_and_real() -> None:
    gp = GP(Matern52(), np.array([0.5]), 2.0, 1e-12)
    mean, sd = gp.condition(sample())(sample().X)
    np.testing.assert_allclose(mean, sample().y, atol=1e-6)
    assert np.all((sd > 0.0) & (sd < 1e-5))


def same_beliefs(gp: GP, blockwise: Data, *extras: Data) -> None:
    """Conditioning on block after block gives what one factorisation of all of them gives, to 1e-8."""
    posterior = gp.condition(blockwise)
    everything = blockwise
    for extra in extras:
        posterior, everything = posterior.condition(extra), everything + extra
    full = gp.condition(everything)
    U = np.vstack([elsewhere(50), everything.X])
    for got, wanted in zip(posterior.gradient(U), full.gradient(U), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8)
    for got, wanted in zip(posterior(U), full(U), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8)
    assert np.array_equal(posterior.data.X, everything.X)
    assert np.array_equal(posterior.data.y, everything.y)


@pytest.mark.parametrize("gp", EVERY)
def test_block_update_equals_a_full_factorisation(gp: GP) -> None:
    rng = np.random.default_rng(11)
    extra = Data(rng.random((7, 3)), rng.normal(size=7))
    noisy = Data(rng.random((4, 3)), rng.normal(size=4), rng.uniform(0.0, 2.0, 4))
    same_beliefs(gp, sample(), extra)
    same_beliefs(gp, sample(VARIED), noisy)
    same_beliefs(gp, sample(VARIED), extra, noisy)
    same_beliefs(gp, sample(), Data.empty(3))
    same_beliefs(gp, sample(), extra, Data.empty(3), noisy)
    same_beliefs(gp, Data.empty(3), extra)


def test_block_update_leaves_the_first_posterior_as_it_was() -> None:
    posterior = MODELS[0].condition(sample())
    before = posterior.gradient(elsewhere())
    posterior.condition(Data(elsewhere(), np.ones(9)))
    for old, new in zip(before, posterior.gradient(elsewhere()), strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("gp", EVERY)
def test_seeing_more_again_is_seeing_all_of_it(gp: GP) -> None:
    """Values may have changed, as they do with the outcome; the factor does not depend on them."""
    rng = np.random.default_rng(11)
    first = gp.condition(sample(VARIED))
    for extra in (Data(rng.random((5, 3)), rng.normal(size=5), 0.1), Data.empty(3)):
        other = Data(first.data.X, 2.0 * first.data.y - 1.0, first.data.noise)
        everything = other + extra
        again, wanted = first.again(everything), gp.condition(everything)
        assert np.array_equal(np.tril(again.L[:12, :12]), np.tril(first.L))
        for got, expected in zip(again.gradient(elsewhere()), wanted.gradient(elsewhere()), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8)
        assert again.evidence == pytest.approx(wanted.evidence, rel=1e-9)
        for name in ("X", "y", "noise"):
            assert np.array_equal(getattr(again.data, name), getattr(everything, name))


@pytest.mark.parametrize("gp", EVERY)
def test_other_points_or_noises_are_not_taken_for_those_seen(gp: GP) -> None:
    data = sample(VARIED)
    posterior, moved = gp.condition(data), data.X.copy()
    moved[3, 1] = np.nextafter(moved[3, 1], 2.0)
    noise = data.noise.copy()
    noise[-1] = np.nextafter(noise[-1], 2.0)
    others = [
        Data(moved, data.y, data.noise),
        Data(data.X, data.y, noise),
        data[slice(11)],
        data[np.arange(12)[::-1]],
        Data.empty(3),
    ]
    for other in others:
        again, wanted = posterior.again(other), gp.condition(other)
        assert np.array_equal(np.tril(again.L), np.tril(wanted.L))
        assert np.array_equal(again.whitened, wanted.whitened)
        assert again.data is other


@pytest.mark.parametrize("seed", range(5))
def test_hardly_any_noise_under_a_large_trend_is_no_trouble(seed: int) -> None:
    """Of a variance of some hundreds, what is left beside points that are known is less than rounding."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.integers(0, 2, (300, 3)) + rng.uniform(-1e-3, 1e-3, (300, 3)), 0.0, 1.0)
    near = np.clip(X[:100] + rng.uniform(-1e-3, 1e-3, (100, 3)), 0.0, 1.0)
    gp = GP(Matern52(), np.full(3, 1e3), 1e-3, 1e-11, trend=10.0)
    posterior = gp.condition(Data(X, X.sum(axis=1)))
    after = posterior.condition(Data(near, near.sum(axis=1)))
    assert all(np.isfinite(part).all() for part in after.gradient(np.vstack([elsewhere(), X])))
    assert np.isfinite(after.evidence)
    np.testing.assert_allclose(after.mean(near), near.sum(axis=1), atol=1e-3)
    assert np.isfinite(posterior.sample(np.vstack([elsewhere(30), near]), 3, rng)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_lemmas_1_and_3_variance_reduction_and_difference_of_means(kernel: Kernel) -> None:
    """p M p, and minus p M times the difference of the values."""
    gp, data, X_new = GP(kernel, np.array([0.6, 0.8, 1.0]), 1.3, 1e-2), sample(), elsewhere(5)
    U = np.random.default_rng(6).random((8, 3))
    p, M = lemma_parts(gp, data, X_new, U)
    copied, true = np.random.default_rng(7).normal(size=(2, 5))
    before = gp.condition(data)
    after, other = before.condition(Data(X_new, copied)), before.condition(Data(X_new, true))
    reduction = before(U)[1] ** 2 - after(U)[1] ** 2
    np.testing.assert_allclose(reduction, np.einsum("im,ij,jm->m", p, M, p), rtol=1e-8, atol=1e-12)
    assert np.all(reduction > 0.0)
    np.testing.assert_allclose(after(U)[0] - other(U)[0], -p.T @ M @ (copied - true), rtol=1e-8, atol=1e-10)


def lemma_parts(gp: GP, data: Data, X_new: Array, U: Array) -> tuple[Array, Array]:
    """p (l, m), a column for each row of U, and M (l, l) of the paper, by plain inverses."""
    k = reference_kernel(gp)
    A_inverse = np.linalg.inv(k(data.X) + gp.noise * np.eye(len(data)))
    K_cross = k(data.X, X_new)
    p = K_cross.T @ A_inverse @ k(data.X, U) - k(X_new, U)
    M = np.linalg.inv(k(X_new) - K_cross.T @ A_inverse @ K_cross + gp.noise * np.eye(len(X_new)))
    return p, M


@pytest.mark.parametrize("gp", EVERY)
def test_a_duplicate_of_every_observation_halves_the_noise(gp: GP) -> None:
    data = sample()
    halved = replace(gp, noise=gp.noise / 2).condition(data)
    for posterior in (
        gp.condition(data).condition(data),
        gp.condition(data).condition(Neighbours(tau0=0.0)(known(data, gp))),
    ):
        U = elsewhere(40)
        for got, wanted in zip(posterior(U), halved(U), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-9)


def test_a_matrix_that_rounding_made_indefinite_gets_a_little_more_diagonal() -> None:
    K = np.array([[1.0, 1.0 + 5e-7], [1.0 + 5e-7, 1.0]])
    L = np.tril(cholesky(K.copy()))
    np.testing.assert_allclose(L @ L.T, K + 1e-6 * np.eye(2), rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    K = np.array([[1e-9, 1e-9 + 5e-11], [1e-9 + 5e-11, 1e-9]])  # what is left of large numbers
    size = np.array([1.0, 100.0])
    L = np.tril(cholesky(K.copy(), size))
    np.testing.assert_allclose(L @ L.T, K + 1e-10 * np.diag(size), rtol=1e-6)  # a part of these
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(np.array([[1e-9, 2e-9], [2e-9, 1e-9]]), np.full(2, 1e-9))
