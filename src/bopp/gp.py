"""An exact Gaussian process with zero mean, and what it believes after seeing data.

Notation, after the paper's Eqs. (1) and (2):

    X (n, d)      points seen            y (n,)    their values
    K (n, n)      k(X, X)                L (n, n)  lower factor: L L^T = K + noise
    U (m, d)      points asked about     k (m, n)  k(U, X)
    alpha (n,)    (K + noise)^-1 y
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs

from bopp.data import Array, Data
from bopp.kernels import Kernel, squared_distance

BLOCK = 256  # rows at a time: what fits the cache goes twice as fast
VARIANCE_FLOOR = 1e-13  # of the signal variance: what rounding leaves of k - v^T v where it is zero


@dataclass(frozen=True, eq=False)
class GP:
    """A prior over functions: kernel, length-scale(s), signal variance, noise variance."""

    kernel: Kernel
    lengthscale: Array
    variance: float = 1.0
    noise: float = 1e-4

    def condition(self, data: Data) -> Posterior:
        """What the process believes after seeing `data`."""
        L = cholesky(self._noisy(data, self.covariance(data.X, data.X)[0]))
        return Posterior(self, data, L, _solve(L, data.y))

    def covariance(self, A: Array, B: Array) -> tuple[Array, Array]:
        """k(A, B) and its derivative with respect to the scaled squared distance."""
        value, slope = self.kernel(squared_distance(self._scaled(A), self._scaled(B)))
        value *= self.variance
        slope *= self.variance
        return value, slope

    def log_likelihood(self, data: Data) -> float:
        """Log p(y | X)."""
        posterior = self.condition(data)
        return _evidence(posterior.L, posterior.whitened)

    def log_likelihood_gradient(self, data: Data) -> tuple[float, Array]:
        """Log p(y | X) and its gradient in (log length-scales, log variance, log noise)."""
        K, slope = self.covariance(data.X, data.X)
        L = cholesky(self._noisy(data, K.copy()))
        whitened = _solve(L, data.y)
        alpha = _solve(L, whitened, transposed=True)
        # W = alpha alpha^T - (K + noise)^-1, of which only sums against symmetric matrices are needed: the
        # inverse may stay a lower triangle that counts twice off the diagonal.
        W, _ = dpotri(L, lower=1)
        diagonal = W.diagonal().copy()
        W *= -2.0
        W += alpha[:, None] * alpha
        W.flat[:: len(data) + 1] += diagonal
        by_variance = 0.5 * float(np.vdot(W.T, K))
        by_noise = 0.5 * self.noise * float(W.trace())
        slope *= W.T
        # sum_ik V_ik (x_i - x_k)^2 for all columns by one matrix product
        X = self._scaled(data.X)
        spread = (slope.sum(0) + slope.sum(1)) @ X**2 - 2.0 * np.einsum("ij,ij->j", X, slope @ X)
        by_lengthscale = -spread if len(self.lengthscale) > 1 else -spread.sum(keepdims=True)
        return _evidence(L, whitened), np.concatenate([by_lengthscale, [by_variance, by_noise]])

    def _scaled(self, X: Array) -> Array:
        return np.asarray((X - 0.5) / self.lengthscale)

    def _noisy(self, data: Data, K: Array) -> Array:
        K.flat[:: len(data) + 1] += self.noise + data.noise  # Eq. (1): K_t + sigma^2 I
        return K


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mean and standard deviation of the function at any point, and their gradients."""

    gp: GP
    data: Data
    L: Array
    whitened: Array

    def __call__(self, U: Array) -> tuple[Array, Array]:
        """Posterior mean and standard deviation (m,) at the rows of U."""
        mean, sd = np.empty(len(U)), np.empty(len(U))
        for rows in (slice(i, i + BLOCK) for i in range(0, len(U), BLOCK)):
            k, _ = self.gp.covariance(U[rows], self.data.X)
            v = _solve(self.L, k.T)
            mean[rows], sd[rows] = self.whitened @ v, np.sqrt(self._variance(v))
        return mean, sd

    def gradient(self, U: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, sd (m,) and their gradients (m, d) at the rows of U."""
        k, slope = self.gp.covariance(U, self.data.X)
        v = _solve(self.L, k.T)
        sd = np.sqrt(self._variance(v))
        by_mean = self._pull(U, slope * self._alpha)
        by_variance = self._pull(U, slope * _solve(self.L, v, transposed=True).T)
        return np.asarray(self.whitened @ v), sd, by_mean, -by_variance / sd[:, None]

    def condition(self, extra: Data) -> Posterior:
        """What is believed after seeing `extra` too; the factor of the data seen so far is reused.

        Lemma 1's block form: only the Schur complement M^-1 of the paper is factored anew.
        """
        n, m = len(self.data), len(extra)
        if m == 0:
            return self
        cross = _solve(self.L, self.gp.covariance(self.data.X, extra.X)[0])
        schur = self.gp._noisy(extra, self.gp.covariance(extra.X, extra.X)[0])
        schur -= cross.T @ cross
        L = np.zeros((n + m, n + m), order="F")
        L[:n, :n] = self.L
        L[n:, :n] = cross.T
        L[n:, n:] = cholesky(schur)
        whitened = _solve(L[n:, n:], extra.y - cross.T @ self.whitened)
        return Posterior(self.gp, self.data + extra, L, np.concatenate([self.whitened, whitened]))

    @cached_property
    def _alpha(self) -> Array:
        return _solve(self.L, self.whitened, transposed=True)

    def _variance(self, v: Array) -> Array:
        """Eq. (2): k(x, x) - k^T (K + noise)^-1 k, with v = L^-1 k."""
        s2 = self.gp.variance
        return np.asarray(np.maximum(s2 - np.einsum("ij,ij->j", v, v), VARIANCE_FLOOR * s2))

    def _pull(self, U: Array, weights: Array) -> Array:
        """sum_i weights_i d(r2_i)/du: how a weighted sum over the data changes with u."""
        pull = weights.sum(1)[:, None] * U - weights @ self.data.X
        return np.asarray(2.0 / self.gp.lengthscale**2 * pull)


def cholesky(K: Array) -> Array:
    """Lower factor of K; a matrix that rounding made indefinite gets a little more diagonal."""
    for jitter in (0.0, 1e-12, 1e-10, 1e-8, 1e-6):
        L, info = dpotrf(K.T + np.diag(jitter * K.diagonal()) if jitter else K.T, lower=1, clean=1)
        if info == 0:
            return np.asarray(L)
    raise np.linalg.LinAlgError("the covariance matrix is not positive definite")


def _solve(L: Array, b: Array, transposed: bool = False) -> Array:
    """L^-1 b, or L^-T b."""
    if len(L) == 0:
        return np.array(b)
    return np.asarray(dtrtrs(L, b, lower=1, trans=1 if transposed else 0)[0])


def _evidence(L: Array, whitened: Array) -> float:
    log_determinant = 2.0 * np.log(L.diagonal()).sum()
    return float(-0.5 * (whitened @ whitened + log_determinant + len(L) * np.log(2.0 * np.pi)))
