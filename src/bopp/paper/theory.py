"""The paper's theory as functions: regret, Lemmas 1 and 3, information gain, the bound of Theorem 1.

    x_t, y_t     point and noisy value of iteration t       sigma^2   noise variance, gp.noise
    x', y^, y'   pseudo-point, copied value, true value     l, tau    number and distance of pseudo-points
    sigma_t      sd after the real data                     sigma^_t  sd after the pseudo-points too
    gamma_T      most information that T values can give    delta     probability that the bound fails

What was found on the way, besides the formulas:

- The proof equates H(y_t | y_1:t-1, y^_PP_t) with H(y_t | y_1:t-1, y^_PP), with all pseudo-points of the run
  in place of those of one iteration. Conditioning on more lowers the entropy, so the first is the larger one,
  and the run's information is not bounded by gamma'_T: two points far apart and one pseudo-point beside the
  first are a counterexample. By Lemma 1 it is bounded by gamma_T, and with gamma_T the rest of the proof
  stands. Taken literally, I(y_A; y^_PP) is even infinite: the values y^ are copies of values in y_A.
- Delta_m does not vanish as tau -> 0, because a copied value repeats its noise. It is linear in T even for
  one pseudo-point, so that the bound with pseudo-points is looser than the bound without.
- Interlacing does not apply to the minors of M in Lemma 3, but |M_ij| <= 1 / sigma^2 holds all the same.
  Cauchy-Schwarz in the norm of M gives `sharper_mean_error_limit`: sqrt(l), not l^2 sqrt(1 + sigma^-2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from bopp.acquisition import theorem_beta
from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.gp import GP, Posterior


@dataclass(frozen=True)
class Assumptions:
    """What Theorem 1 assumes about f on [0, r]^d, drawn from a process with k(x, x) = 1.

    Args:
        noise: sigma^2, the variance of the noise.
        a, b: Pr(sup |df/dx_j| > L) <= a exp(-(L / b)^2) for every j and L; see `derivative_tail`.
        delta: the bound may fail with this probability.
    """

    d: int
    noise: float
    a: float
    b: float
    delta: float = 0.1
    r: float = 1.0

    def __post_init__(self) -> None:
        for name in ("d", "noise", "a", "b", "r"):
            _check_positive(name, getattr(self, name))
        if not 0.0 < self.delta < 1.0:
            raise RecipeError(f"delta must lie between 0 and 1, got {self.delta!r}")
        if 4 * self.d * self.a <= self.delta or self.beta(1) <= 0.0:
            raise RecipeError(f"the theorem wants beta_1 > 0; a or b is too small for that: {self!r}")

    @property
    def L(self) -> float:
        """The slope that f stays below, except with probability delta / 4: b sqrt(log(4 d a / delta))."""
        return self.b * math.sqrt(math.log(4 * self.d * self.a / self.delta))

    @property
    def C(self) -> float:
        """The constant of Theorem 1: 8 / log(1 + sigma^-2)."""
        return 8.0 / math.log1p(1.0 / self.noise)

    def beta(self, t: int) -> float:
        """beta_t of Theorem 1."""
        return theorem_beta(t, self.d, self.delta, self.a, self.b, self.r)


def derivative_tail(lengthscale: float, d: int = 1, r: float = 1.0) -> tuple[float, float]:
    """Constants a and b of Assumption 1, valid for the squared exponential kernel, k(x, x) = 1, on [0, r]^d.

    For d = 1, Rice's formula counts how often f', of variance 1 / l^2, crosses L upwards, f'' having the
    variance 3 / l^4: Pr <= 2 Pr(f'(0) > L) + 2 (r / 2 pi) (sqrt(3) / l) exp(-(L l)^2 / 2).
    For d > 1, Borell-TIS: Pr <= 2 exp(-(L l - m)^2 / 2) <= 2 exp(m^2 / 2 - (L l)^2 / 4), where m bounds the
    mean of l sup df/dx_j by the sum of those of d processes on a line (Sudakov-Fernique), one of them l f'.
    """
    for name, value in (("lengthscale", lengthscale), ("d", d), ("r", r)):
        _check_positive(name, value)
    if d == 1:
        return 1.0 + math.sqrt(3.0) * r / (math.pi * lengthscale), math.sqrt(2.0) / lengthscale
    mean = _mean_of_supremum(math.sqrt(3.0) * r / lengthscale) + (d - 1) * _mean_of_supremum(r / lengthscale)
    return 2.0 * math.exp(0.5 * mean**2), 2.0 / lengthscale


def _mean_of_supremum(width: float) -> float:
    """Bounds the mean supremum over `width` if a process and its derivative have variance 1: Rice again."""
    c = 0.5 + width / (2.0 * math.pi)  # Pr(sup > u) <= c exp(-u^2 / 2)
    sure = math.sqrt(2.0 * math.log(max(c, 1.0)))
    return sure + c * math.sqrt(2.0 * math.pi) * float(ndtr(-sure))


def instantaneous_regret(values: npt.ArrayLike, optimum: float) -> Array:
    """r_t = f* - f(x_t), along the last axis."""
    return np.asarray(optimum - np.asarray(values, dtype=np.float64))


def simple_regret(values: npt.ArrayLike, optimum: float) -> Array:
    """S_T = min of r_1 ... r_T, for every T."""
    return np.asarray(np.minimum.accumulate(instantaneous_regret(values, optimum), axis=-1))


def cumulative_regret(values: npt.ArrayLike, optimum: float) -> Array:
    """R_T = r_1 + ... + r_T, for every T."""
    return np.cumsum(instantaneous_regret(values, optimum), axis=-1)


def variance_reduction(posterior: Posterior, X: Array, U: Array) -> Array:
    """Lemma 1: by how much pseudo-points X (l, d) lower the variance at U (m, d), p^T M p."""
    _, whitened = _whitened(posterior, X, U)
    return np.asarray(np.einsum("lm,lm->m", whitened, whitened))


def mean_error(posterior: Posterior, X: Array, difference: npt.ArrayLike, U: Array) -> Array:
    """Lemma 3: the mean at U with copied values at X minus that with true ones, -p^T M (y^ - y')."""
    difference = np.asarray(difference, dtype=np.float64)
    if difference.shape != X.shape[:1]:
        raise RecipeError(f"wanted a difference for each of {len(X)} pseudo-points, got {difference.shape}")
    factor, whitened = _whitened(posterior, X, U)
    return np.asarray(solve_triangular(factor, difference, lower=True) @ whitened)


def _whitened(posterior: Posterior, X: Array, U: Array) -> tuple[Array, Array]:
    """F (l, l) with F F^T = M^-1, and -F^-1 p (l, m): the rows that pseudo-points add to the posterior."""
    d = posterior.data.X.shape[1]
    for points in (X, U):
        if points.ndim != 2 or points.shape[1] != d:
            raise RecipeError(f"wanted points (n, {d}), got {points.shape}")
    n, after = len(posterior.data), posterior.condition(Data(X, np.zeros(len(X))))
    k, _ = after.gp.covariance(after.data.X, U)
    return after.L[n:, n:], solve_triangular(after.L, k, lower=True)[n:]


def information_gain(gp: GP, X: Array) -> float:
    """I(y_A; f_A) = 1/2 log det(I + sigma^-2 K) for the points X (n, d)."""
    _check_positive("noise", gp.noise)
    L = gp.condition(Data(X, np.zeros(len(X)))).L
    return float(np.log(L.diagonal()).sum() - 0.5 * len(X) * math.log(gp.noise))


def information_left(gp: GP, X: Array, pseudo: Array) -> float:
    """I(y_A; f_A) - I(y_A; y^_PP), taking the values of pseudo-points as independent observations."""
    return information_gain(gp, np.vstack([pseudo, X])) - information_gain(gp, pseudo)


def information_along(sd: npt.ArrayLike, noise: float) -> Array:
    """1/2 sum log(1 + sigma^-2 sd_t^2) for every T, from the predicted sd of each x_t (last axis)."""
    _check_positive("noise", noise)
    return np.asarray(0.5 * np.cumsum(np.log1p(np.asarray(sd) ** 2 / noise), axis=-1))


def greedy_information(gp: GP, U: Array, T: int) -> Array:
    """Information gain (T,) of 1 ... T points of U, each the best one to add; points may repeat."""
    _check_positive("noise", gp.noise)
    _check_positive("T", T)
    if U.ndim != 2 or len(U) == 0:
        raise RecipeError(f"wanted candidates (m, d), got {U.shape}")
    variance, sd = gp.variances(U), np.empty(T)
    rows = np.empty((T, len(U)))  # of the Cholesky factor of what was chosen, against all of U
    for t in range(T):
        best = int(np.argmax(variance))
        sd[t] = math.sqrt(variance[best])
        covariance = gp.covariance(U[best : best + 1], U)[0][0] - rows[:t, best] @ rows[:t]
        rows[t] = covariance / math.sqrt(variance[best] + gp.noise)
        variance = np.maximum(variance - rows[t] ** 2, 0.0)
    return information_along(sd, gp.noise)


def information_limit(gp: GP, U: Array, T: int) -> Array:
    """A bound on gamma_1 ... gamma_T if the domain is U: greedy / (1 - 1/e), as the gain is submodular."""
    greedy = greedy_information(gp, U, T)
    independent = np.arange(1, T + 1) * greedy[0]  # T values give at most T times what the first gives
    return np.asarray(np.minimum(greedy / (1.0 - math.exp(-1.0)), independent))


Limit = Callable[[Assumptions, Array, Array, float], Array]


def mean_error_limit(assumptions: Assumptions, l_t: Array, tau_t: Array, total: float) -> Array:
    """Delta_m(L, l, tau) of Lemma 3, `total` being the number of all pseudo-points of the run."""
    factor = l_t**2 * math.sqrt(1.0 + 1.0 / assumptions.noise)
    return np.asarray(factor * _value_error(assumptions, tau_t, total))


def sharper_mean_error_limit(assumptions: Assumptions, l_t: Array, tau_t: Array, total: float) -> Array:
    """Delta_m by |p^T M v| <= sqrt(p^T M p) sqrt(v^T M v) <= |v| / sigma <= sqrt(l) max |v_i| / sigma."""
    return np.asarray(np.sqrt(l_t) * _value_error(assumptions, tau_t, total))


def _value_error(assumptions: Assumptions, tau_t: Array, total: float) -> Array:
    """The bound on |y^ - y'| / sigma in Lemma 3: L d tau / sigma + 2 sqrt(log(4 sum l / delta))."""
    slope = assumptions.L * assumptions.d * tau_t / math.sqrt(assumptions.noise)
    return np.asarray(slope + 2.0 * math.sqrt(math.log(4.0 * max(total, 1.0) / assumptions.delta)))


def regret_bound(
    assumptions: Assumptions,
    gamma: npt.ArrayLike,
    l_t: npt.ArrayLike = 0.0,
    tau_t: npt.ArrayLike = 0.0,
    limit: Limit = mean_error_limit,
) -> Array:
    """Theorem 1 for every horizon T: sqrt(C T beta_T gamma_T) + 2 + 2 sum Delta_m; GP-UCB's if l = 0.

    Args:
        gamma: gamma_1 ... gamma_T; the proof supports gamma_T, not the paper's gamma'_T.
        l_t: l_0 ... l_T-1, with l_0 = 0 as there is nothing yet to be a neighbour of.
        tau_t: tau_0 ... tau_T-1.
        limit: Delta_m.
    """
    gamma = np.asarray(gamma, dtype=np.float64)
    try:
        l_t, tau_t = (
            np.broadcast_to(np.asarray(part, dtype=np.float64), gamma.shape) for part in (l_t, tau_t)
        )
    except ValueError as error:
        raise RecipeError(f"l_t and tau_t must have the shape of gamma, {gamma.shape}") from error
    if gamma.ndim != 1 or len(gamma) == 0 or l_t[0] != 0.0 or min(gamma.min(), l_t.min(), tau_t.min()) < 0.0:
        raise RecipeError(f"wanted gamma (T,), l_t, tau_t >= 0 and l_0 = 0, got {gamma=}, {l_t=}, {tau_t=}")
    T = np.arange(1, len(gamma) + 1)
    beta = np.array([assumptions.beta(int(t)) for t in T])
    errors = [limit(assumptions, l_t[:t], tau_t[:t], float(l_t[:t].sum())).sum() for t in T]
    return np.asarray(np.sqrt(assumptions.C * T * beta * gamma) + 2.0 + 2.0 * np.array(errors))


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise RecipeError(f"{name} must be a finite number above 0, got {value!r}")
