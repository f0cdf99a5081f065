"""Effects: a model of the values as a sum of curves, one of each parameter, and surfaces, one of each pair.

    f = c + sum_i f_i(x_i) + sum_{i<j} f_ij(x_i, x_j)
    f_i = sum_k w_ik phi_ik,  f_ij = sum_kl w_ijkl phi_ik phi_jl

The phi_ik are orthonormal over the space and the weights w Gaussian: f is a Gaussian process with the kernel

    K = v (1 + sum_i G_i + g sum_{i<j} H_i H_j)

G_i is that of the curves of parameter i, H_i that of the few curves that pairs have. What three parameters
only do together is left to the noise. The kernel of a `Recipe` falls back to a constant away from the trials,
as a search wants it; a sum goes on there, and says more of the whole space from fewer trials.

    theta   (s_1 ... s_p, r, g, v, noise): logarithms of the sizes; r is the logit of the decay over k
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from bopp.data import Array, Data
from bopp.gp import cholesky
from bopp.space import Space

DEGREE = 8  # of the curves of a number
PAIRED = 5  # curves of a parameter that pairs have; fewer if there would be too many surfaces
OPTIONS = 16  # options of a choice that pairs have
SURFACES = 3000
MEASURE = 512  # points at which the curves are orthonormal
COARSE, LARGEST = 200, 1000  # most points for theta, and for all else; spaced evenly among the trials
STEP = 0.05  # of theta, for differences

# what is believed of theta before any data, for standardised values: chosen in benchmarks/importance.py
SIZES, DECAY, PAIRS, VARIANCE, NOISE = (-0.7, 1.2), (0.0, 1.0), (0.0, 1.0), (0.0, 1.5), (-7.0, 3.0)
BOUNDS = ((-12.0, 5.0), (-3.0, 3.0), (-6.0, 3.0), (-6.0, 6.0), (-14.0, 1.0))


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of one parameter, each with mean 0 and variance 1 over its values; 0 where it does not apply."""

    columns: slice
    ordered: bool
    turn: Array
    paired: int

    @staticmethod
    def of(space: Space, name: str, paired: int) -> Curves:
        parameter, columns = space.parameters[name], space.columns[name]
        ordered = not parameter.unordered or parameter.width == 1
        even = (np.arange(MEASURE) + 0.5)[:, None] / MEASURE
        measure = (
            even if parameter.width == 1 else np.random.default_rng(0).random((4 * MEASURE, parameter.width))
        )
        rough = _rough(parameter.snap(measure), ordered)
        _, R = np.linalg.qr(rough / np.sqrt(len(rough)))
        rank = int(np.sum(np.abs(R.diagonal()) > 1e-6))  # a few values have few curves, and those come first
        turn = np.zeros((rough.shape[1], rank - 1))
        turn[:rank] = np.linalg.inv(R[:rank, :rank])[:, 1:]
        return Curves(columns, ordered, turn, min(rank - 1, paired if ordered else OPTIONS))

    def __len__(self) -> int:
        return int(self.turn.shape[1])

    def __call__(self, U: Array, applies: Array) -> Array:
        """The curves (m, k) at points of the grid."""
        return np.asarray(
            _rough(U[:, self.columns], self.ordered) @ self.turn * applies[:, self.columns][:, :1]
        )

    def decay(self, r: float) -> tuple[Array, Array]:
        """The part (k,) of each curve in the size of the effect, smooth ones first; and its slope in r."""
        if not self.ordered:
            return np.full(len(self), 1.0 / len(self)), np.zeros(len(self))
        rho, k = 1.0 / (1.0 + np.exp(-r)), np.arange(len(self))
        parts = rho**k / np.sum(rho**k)
        return parts, parts * (k - parts @ k) * (1.0 - rho)


@dataclass(frozen=True, eq=False)
class Effects:
    """The curves of the parameters that have more than one value, and what was observed."""

    space: Space
    curves: tuple[Curves, ...]
    data: Data

    @staticmethod
    def of(space: Space, data: Data) -> Effects:
        """The model of data in a space, values in a unit in which their variance is 1."""
        names = [name for name, parameter in space.parameters.items() if parameter.levels > 1]
        pairs = len(names) * (len(names) - 1) // 2
        paired = next((k for k in range(PAIRED, 1, -1) if pairs * k**2 <= SURFACES), 1)
        return Effects(space, tuple(Curves.of(space, name, paired) for name in names), data.thinned(LARGEST))

    def sample(self, U: Array, weights: Array) -> Array:
        """The functions with these weights (features, s) at points of the grid: (m, s)."""
        return np.asarray(self._features(self._phis(U)) @ weights)

    def draw(self, thetas: int, each: int, rng: np.random.Generator) -> Array:
        """Weights (features, thetas * each) of functions drawn given the data."""
        drawn = []
        Phi = self._features(self._phis(self.data.X))
        for theta in self._likely(thetas, rng):
            variance = self._variances(theta)
            noise = np.exp(theta[-1]) + self.data.noise
            K = (Phi * variance) @ Phi.T
            K.flat[:: len(K) + 1] += noise
            w = np.sqrt(variance)[:, None] * rng.standard_normal((len(variance), each))
            error = np.sqrt(noise)[:, None] * rng.standard_normal((len(K), each))
            # Matheron's rule: a draw from the prior, moved by what it misses of the data
            missed = cho_solve((cholesky(K), True), self.data.y[:, None] - Phi @ w - error)
            drawn.append(w + variance[:, None] * (Phi.T @ missed))
        return np.hstack(drawn)

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Minus the logarithm of likelihood times prior, and its gradient."""
        r, g, v, noise = theta[-4], *np.exp(theta[-3:])
        decays = [curves.decay(r) for curves in self.curves]
        triples = list(zip(self._coarse_phis, decays, self.curves, np.exp(theta[:-4]), strict=True))
        G = [s * _gram(phi, parts) for phi, (parts, _), _, s in triples]
        H = [s * _gram(phi, parts, one.paired) for phi, (parts, _), one, s in triples]
        by_G = [s * _gram(phi, slope) for phi, (_, slope), _, s in triples]
        by_H = [s * _gram(phi, slope, one.paired) for phi, (_, slope), one, s in triples]
        all_H = sum(H)
        surfaces = 0.5 * sum(one * (all_H - one) for one in H)
        signal = v * (1.0 + sum(G) + g * surfaces)
        data = self._coarse
        K = signal.copy()
        K.flat[:: len(K) + 1] += noise + data.noise
        L = cholesky(K)
        alpha = cho_solve((L, True), data.y)
        inverse = cho_solve((L, True), np.eye(len(K)))
        W = 0.5 * (inverse - np.outer(alpha, alpha))  # the derivative of the loss in K
        slopes = [v * np.vdot(W, one + g * two * (all_H - two)) for one, two in zip(G, H, strict=True)]
        by_r = sum(one + g * two * (all_H - own) for one, two, own in zip(by_G, by_H, H, strict=True))
        slopes += [
            v * np.vdot(W, by_r),
            v * g * np.vdot(W, surfaces),
            np.vdot(W, signal),
            noise * np.trace(W),
        ]
        evidence = -0.5 * data.y @ alpha - np.log(L.diagonal()).sum()
        mean, sd = self._prior
        z = (theta - mean) / sd
        return float(0.5 * z @ z - evidence), np.array(slopes) + z / sd

    def _likely(self, count: int, rng: np.random.Generator) -> list[Array]:
        """Draws of theta from the Gaussian at the peak of its posterior, after Laplace."""
        mean, sd = self._prior
        rows = [BOUNDS[0]] * len(self.curves) + list(BOUNDS[1:])
        options: dict[str, Any] = {"maxiter": 60, "ftol": 1e-6}
        peak = minimize(self.loss, mean, jac=True, method="L-BFGS-B", bounds=rows, options=options).x
        steps = STEP * np.eye(len(peak))
        curvature = [(self.loss(peak + step)[1] - self.loss(peak - step)[1]) / (2.0 * STEP) for step in steps]
        values, vectors = np.linalg.eigh(0.5 * (np.array(curvature) + np.array(curvature).T))
        spread = vectors / np.sqrt(np.maximum(values, 1.0 / sd.max() ** 2))  # no wider than the prior
        low, high = np.transpose(rows)
        return list(np.clip(peak + rng.standard_normal((count, len(peak))) @ spread.T, low, high))

    def _phis(self, U: Array) -> list[Array]:
        applies = np.asarray(self.space.applies(U), dtype=np.float64)
        return [curves(U, applies) for curves in self.curves]

    def _features(self, phis: list[Array]) -> Array:
        """All curves and surfaces (m, features) and a constant."""
        few = [phi[:, : curves.paired] for phi, curves in zip(phis, self.curves, strict=True)]
        surfaces = [
            (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
            for i, one in enumerate(few)
            for other in few[i + 1 :]
        ]
        return np.hstack([np.ones((len(phis[0]), 1)), *phis, *surfaces])

    def _variances(self, theta: Array) -> Array:
        """The variance (features,) of each weight before any data."""
        r, g, v = theta[-4], *np.exp(theta[-3:-1])
        parts = [s * one.decay(r)[0] for s, one in zip(np.exp(theta[:-4]), self.curves, strict=True)]
        few = [part[: one.paired] for part, one in zip(parts, self.curves, strict=True)]
        surfaces = [g * np.outer(one, other).ravel() for i, one in enumerate(few) for other in few[i + 1 :]]
        return np.asarray(v * np.concatenate([[1.0], *parts, *surfaces]))

    @cached_property
    def _prior(self) -> tuple[Array, Array]:
        mean, sd = np.transpose([SIZES] * len(self.curves) + [DECAY, PAIRS, VARIANCE, NOISE])
        return mean, sd

    @cached_property
    def _coarse(self) -> Data:
        return self.data.thinned(COARSE)

    @cached_property
    def _coarse_phis(self) -> list[Array]:
        return self._phis(self._coarse.X)


def _rough(U: Array, ordered: bool) -> Array:
    """A constant, and the columns of options or the polynomials of a number, not yet orthonormal."""
    return (
        np.asarray(np.polynomial.legendre.legvander(2.0 * U[:, 0] - 1.0, DEGREE))
        if ordered
        else np.column_stack([np.ones(len(U)), U])
    )


def _gram(phi: Array, parts: Array, most: int | None = None) -> Array:
    return np.asarray((phi[:, :most] * parts[:most]) @ phi[:, :most].T)
