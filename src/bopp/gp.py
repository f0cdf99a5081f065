"""An exact Gaussian process with zero mean, and what it believes after seeing data.

Notation, after the paper's Eqs. (1) and (2):

    X (n, d)      points seen            y (n,)    their values
    K (n, n)      k(X, X)                L (n, n)  lower factor: L L^T = K + noise
    U (m, d)      points asked about     k (m, n)  k(U, X)
    alpha (n,)    (K + noise)^-1 y
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy

from bopp.data import Array, Data
from bopp.kernels import Kernel, distance_to_prepared, prepared, squared_distance
from bopp.quadratic import Centred

BLOCK = 16384  # numbers per block: allocating memory and missing the cache cost more than the arithmetic
VARIANCE_FLOOR = 1e-13  # of the signal variance: what rounding may leave where k - v^T v should be zero


@dataclass(frozen=True, eq=False)
class GP:
    """A prior over functions: kernel, length-scale(s), signal variance, noise variance.

    `trend` is the variance of a quadratic function that is added; its coefficients are integrated over.
    """

    kernel: Kernel
    lengthscale: Array
    variance: float = 1.0
    noise: float = 1e-4
    trend: float = 0.0

    def condition(self, data: Data) -> Posterior:
        """What the process believes about the function after seeing `data`: a `Belief`."""
        L = cholesky(self._noisy(data, self.covariance(data.X, data.X)[0]))
        return Posterior(self, data, L, _solve(L, data.y))

    def covariance(self, A: Array, B: Array) -> tuple[Array, Array]:
        """k(A, B), and the derivative of its stationary part by the scaled squared distance."""
        value, slope = self._correlated(squared_distance(self._scaled(A), self._scaled(B)))
        if self.trend:
            a, b = Centred.of(A), Centred.of(B)
            value += self.trend * a.covariance(b, a.products(b))
        return value, slope

    def variances(self, U: Array) -> Array:
        """k(u, u) (m,) for the rows of U."""
        trend = self.trend * Centred.of(U).variance if self.trend else np.zeros(len(U))
        return np.asarray(self.variance + trend)

    def difference(self, A: Array, B: Array) -> Array:
        """The expected squared difference (m,) between f at each row of A and at the same row of B."""
        r2 = np.sum(((A - B) / self.lengthscale) ** 2, axis=1)
        stationary = 2.0 * self.variance * (1.0 - self.kernel(r2)[0])
        if self.trend:
            stationary += self.trend * Centred.of(A).difference(Centred.of(B))
        return np.asarray(stationary)

    def log_likelihood(self, data: Data) -> float:
        """The logarithm of p(y | X)."""
        posterior = self.condition(data)
        return _evidence(posterior.L, posterior.whitened)

    def log_likelihood_gradient(self, data: Data) -> tuple[float, Array]:
        """log p(y | X) and its gradient in the logarithms of (length-scales, trend if any, variance, noise).

        Each derivative is 1/2 tr(W dK), W = alpha alpha^T - A^-1, with A = K + noise. No n x n x d array is
        needed: for a symmetric V, sum_ik V_ik (x_i - x_k)^2 = 2 (V 1)^T x^2 - 2 x^T V x.
        """
        X = self._scaled(data.X)
        K, slope = self._correlated(squared_distance(X, X))
        if self.trend:
            quadratic, triangle = _quadratic(data)
            K += self.trend * quadratic
        L = cholesky(self._noisy(data, K))
        whitened = _solve(L, data.y)
        alpha = _solve(L, whitened, transposed=True)
        evidence = _evidence(L, whitened)
        inverse, _ = scipy.linalg.lapack.dpotri(
            L, lower=1, overwrite_c=1
        )  # only its lower triangle, which overwrites L
        W = alpha**2 - inverse.diagonal()
        by_noise = 0.5 * self.noise * W.sum()
        by_trend = np.empty(0)
        if self.trend:
            traced = np.vdot(inverse.T, triangle)  # tr(A^-1 Q)
            by_trend = np.array([0.5 * self.trend * (alpha @ quadratic @ alpha - traced)])
        total = 0.5 * (alpha @ data.y - len(data) - W @ (self.noise + data.noise))  # K = A - noise
        by_variance = total - by_trend.sum()

        weighted = alpha[:, None] * X
        by_alpha = (slope @ alpha) @ (weighted * X) - np.einsum("ij,ij->j", weighted, slope @ weighted)
        slope.T[...] *= inverse
        sums = scipy.linalg.blas.dsymv(1.0, slope.T, np.ones(len(X)), lower=1)
        by_inverse = sums @ X**2 - np.einsum("ij,ij->j", X, scipy.linalg.blas.dsymm(1.0, slope.T, X, lower=1))
        by_lengthscale = 2.0 * (by_inverse - by_alpha)
        if len(self.lengthscale) == 1:
            by_lengthscale = by_lengthscale.sum(keepdims=True)
        return evidence, np.concatenate([by_lengthscale, by_trend, [by_variance, by_noise]])

    def _correlated(self, r2: Array) -> tuple[Array, Array]:
        value, slope = self.kernel(r2)
        value *= self.variance
        slope *= self.variance
        return value, slope

    def _scaled(self, X: Array) -> Array:
        return np.asarray((X - 0.5) / self.lengthscale)

    def _noisy(self, data: Data, K: Array) -> Array:
        K.flat[:: len(data) + 1] += self.noise + data.noise  # Eq. (1): K_t + sigma^2 I
        return K


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a Gaussian process believes about the function after seeing data; a `Belief`."""

    gp: GP
    data: Data
    L: Array
    whitened: Array

    @property
    def noise(self) -> float:
        """The variance of a measurement around the function."""
        return self.gp.noise

    def difference(self, A: Array, B: Array) -> Array:
        """The squared difference (m,) between f at the rows of A and of B, as the prior expects it."""
        return self.gp.difference(A, B)

    def __call__(self, U: Array) -> tuple[Array, Array]:
        """Posterior mean and standard deviation (m,) at the rows of U."""
        mean, sd = np.empty(len(U)), np.empty(len(U))
        step = max(64, BLOCK // max(len(self.data), 1))
        for rows in (slice(i, i + step) for i in range(0, len(U), step)):
            asked = self._asked(U[rows])
            v = _solve(self.L, asked.k.T)
            mean[rows], sd[rows] = self.whitened @ v, np.sqrt(self._variance(asked, v))
        return mean, sd

    def mean(self, U: Array) -> Array:
        """The mean (m,) alone: O(n) per point, where the standard deviation takes O(n^2)."""
        parts = np.array_split(U, max(1, -(-len(U) // 64)))
        return np.concatenate([self.gp.covariance(part, self.data.X)[0] @ self._alpha for part in parts])

    def mean_gradient(self, U: Array) -> tuple[Array, Array]:
        """The mean (m,) and its gradient (m, d), without the standard deviation."""
        asked = self._asked(U)
        return np.asarray(asked.k @ self._alpha), self._pull(asked, self._alpha)

    def sample(self, U: Array, count: int, rng: np.random.Generator) -> Array:
        """`count` functions (count, m) drawn from the posterior, each at all rows of U."""
        v = _solve(self.L, self.gp.covariance(self.data.X, U)[0])
        K = self.gp.covariance(U, U)[0] - v.T @ v
        K.flat[:: len(U) + 1] += VARIANCE_FLOOR * self.gp.variance
        L = np.tril(cholesky(K, self.gp.variances(U)))
        return np.asarray(self.whitened @ v + rng.standard_normal((count, len(U))) @ L.T)

    def gradient(self, U: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, sd (m,) and their gradients (m, d) at the rows of U."""
        asked = self._asked(U)
        v = _solve(self.L, asked.k.T)
        sd = np.sqrt(self._variance(asked, v))
        by_mean = self._pull(asked, self._alpha)
        by_half_variance = -self._pull(asked, _solve(self.L, v, transposed=True).T)
        if asked.centred is not None:
            by_half_variance += 0.5 * self.gp.trend * asked.centred.variance_slope
        return np.asarray(self.whitened @ v), sd, by_mean, by_half_variance / sd[:, None]

    def leave_one_out(self) -> tuple[Array, Array]:
        """Mean and sd (n,) of each observation, its noise included, given all others: no fit is repeated.

        Rasmussen and Williams 2006, Eq. (5.12): y_i - alpha_i / [A^-1]_ii and 1 / [A^-1]_ii, A = K + noise.
        """
        inverse, _ = scipy.linalg.lapack.dpotri(self.L, lower=1)
        variance = 1.0 / inverse.diagonal()
        return self.data.y - self._alpha * variance, np.sqrt(variance)

    @property
    def inverse(self) -> Array:
        """(K + noise)^-1"""
        inverse, _ = scipy.linalg.lapack.dpotri(self.L, lower=1)
        return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)

    @property
    def evidence(self) -> float:
        """The logarithm of p(y | X) of the data seen."""
        return _evidence(self.L, self.whitened)

    def agreement(self, points: Data) -> float:
        """log p(points | data) - log p(points): by how much the data make these points more likely.

        The same is by how much the points make the data more likely. It is 0 for points of infinite noise.
        """
        if len(points) == 0:
            return 0.0
        n = len(self.data)
        both = self.condition(points)
        return _evidence(both.L[n:, n:], both.whitened[n:]) - self.gp.log_likelihood(points)

    def condition(self, extra: Data) -> Posterior:
        """What is believed after also seeing `extra`; the factor of the data seen so far is reused.

        Lemma 1's block form: only the Schur complement, the paper's M^-1, has to be factored.
        """
        n, m = len(self.data), len(extra)
        if m == 0:
            return self
        cross = _solve(self.L, self.gp.covariance(self.data.X, extra.X)[0])
        schur = self.gp._noisy(extra, self.gp.covariance(extra.X, extra.X)[0])
        size = schur.diagonal().copy()
        schur -= cross.T @ cross
        L = np.zeros((n + m, n + m), order="F")
        L[:n, :n] = self.L
        L[n:, :n] = cross.T
        L[n:, n:] = cholesky(schur, size)
        whitened = _solve(L[n:, n:], extra.y - cross.T @ self.whitened)
        return Posterior(self.gp, self.data + extra, L, np.concatenate([self.whitened, whitened]))

    def again(self, data: Data) -> Posterior:
        """What the process believes after seeing `data`; the factor is reused if they begin as those seen."""
        n = len(self.data)
        seen = len(data) >= n and np.array_equal(data.X[:n], self.data.X)
        if not seen or not np.array_equal(data.noise[:n], self.data.noise):
            return self.gp.condition(data)
        begin = data[slice(n)]
        return Posterior(self.gp, begin, self.L, _solve(self.L, begin.y)).condition(data[slice(n, None)])

    def _asked(self, U: Array) -> _Asked:
        k, slope = self.gp._correlated(distance_to_prepared(self.gp._scaled(U), *self._X))
        if not self.gp.trend:
            return _Asked(U, k, slope)
        centred = Centred.of(U)
        products = centred.products(self._centred_X)
        k += self.gp.trend * centred.covariance(self._centred_X, products)
        return _Asked(U, k, slope, centred, products)

    @cached_property
    def _X(self) -> tuple[Array, Array]:
        return prepared(self.gp._scaled(self.data.X))

    @cached_property
    def _centred_X(self) -> Centred:
        return Centred.of(self.data.X)

    @cached_property
    def _twice_precision(self) -> Array:
        return np.asarray(2.0 / self.gp.lengthscale**2)

    @cached_property
    def _alpha(self) -> Array:
        return _solve(self.L, self.whitened, transposed=True)

    def _variance(self, asked: _Asked, v: Array) -> Array:
        """Eq. (2): k(x, x) - k^T (K + noise)^-1 k, with v = L^-1 k."""
        trend = 0.0 if asked.centred is None else self.gp.trend * asked.centred.variance
        s2 = self.gp.variance + trend
        return np.asarray(np.maximum(s2 - np.einsum("ij,ij->j", v, v), VARIANCE_FLOOR * s2))

    def _pull(self, asked: _Asked, weights: Array) -> Array:
        """sum_i weights_i dk(u, x_i)/du (m, d): how a weighted sum over the data changes with u."""
        stationary = asked.slope * weights
        pull = stationary.sum(1)[:, None] * asked.U - stationary @ self.data.X
        pull *= self._twice_precision
        if asked.centred is not None and asked.products is not None:
            pull += self.gp.trend * asked.centred.pull(self._centred_X, asked.products, weights)
        return np.asarray(pull)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Points asked about: k(U, X), its derivative by r2, and with a trend what that is made of."""

    U: Array
    k: Array
    slope: Array
    centred: Centred | None = None
    products: Array | None = None


def cholesky(K: Array, size: Array | None = None) -> Array:
    """Lower Cholesky factor of K, which it overwrites; what is left above the diagonal is not part of it.

    A matrix that rounding has made indefinite gets a slightly larger diagonal: by a small part of `size`,
    which is that of the numbers K was computed from, its own diagonal unless told.
    """
    diagonal = K.diagonal().copy()
    size = diagonal if size is None else size
    for jitter in (0.0, 1e-12, 1e-10, 1e-8, 1e-6):
        if jitter:
            K = np.tril(K, -1)  # dpotrf left this triangle alone
            K += K.T
            K.flat[:: len(K) + 1] = diagonal + jitter * size
        L, info = scipy.linalg.lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return np.asarray(L)
    raise np.linalg.LinAlgError("the covariance matrix is not positive definite")


@lru_cache(maxsize=2)
def _quadratic(data: Data) -> tuple[Array, Array]:
    """The covariance Q of a trend at the points of data, and a triangle T of it, kept for a whole fit.

    tr(A Q) is the sum of A * T for a symmetric A of which one triangle is known.
    """
    centred = Centred.of(data.X)
    Q = centred.covariance(centred, centred.products(centred))
    T = 2.0 * np.triu(Q)
    T.flat[:: len(T) + 1] = Q.diagonal()
    return Q, T


def _solve(L: Array, b: Array, transposed: bool = False) -> Array:
    """L^-1 b, or L^-T b."""
    if len(L) == 0:
        return np.array(b)
    return np.asarray(scipy.linalg.lapack.dtrtrs(L, b, lower=1, trans=1 if transposed else 0)[0])


def _evidence(L: Array, whitened: Array) -> float:
    log_determinant = 2.0 * np.log(L.diagonal()).sum()
    return float(-0.5 * (whitened @ whitened + log_determinant + len(L) * np.log(2.0 * np.pi)))
