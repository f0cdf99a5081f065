"""Networks with one hidden layer, trained by backpropagation or by Levenberg-Marquardt.

`conjugate.py` has a third way to train them.

Notation: n rows of p inputs `X` and q targets `Y`, h hidden neurons.  A network's outputs are
`[tanh([X 1] V) 1] W` with the hidden weights V (p + 1, h) and the output weights W (h + 1, q); the last row
of each holds the biases.  J is the derivative of all outputs by all weights, and e is targets minus outputs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice, repeat, takewhile

import numpy as np
from scipy.linalg import lapack

from bopp.data import Array

PATIENCE = 10  # epochs without a lower validation error
BATCH = 32  # rows per step of backpropagation
BACKPROPAGATION_EPOCHS = 100
LEVENBERG_MARQUARDT_EPOCHS = 1000
LEAST_MU = 1e-12  # below this the damping is lost in the rounding of J
LARGEST_MU = 1e10
LEAST_GRADIENT = 1e-7
DIRECT_TRIALS = 2  # dampings per epoch that are solved directly


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs `X` (n, p) and targets `Y` (n, q)."""

    X: Array
    Y: Array


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of training: the network of the epoch with the least validation error."""

    outputs: Array  # (m, q), on the validation rows
    epochs: int  # trained in all
    error: float  # its validation error


@np.errstate(over="ignore", invalid="ignore")
def backpropagation(train: Rows, validation: Rows, neurons: int, learning_rate: float, seed: int) -> Trained:
    """Train a softmax classifier on the squared error, with z-scored inputs and one-hot Y."""
    epochs = _descent(train, validation.X, neurons, learning_rate, np.random.default_rng(seed))
    return stopped_early(epochs, validation.Y, BACKPROPAGATION_EPOCHS, squared_error)


@np.errstate(over="ignore", invalid="ignore")
def levenberg_marquardt(
    train: Rows, validation: Rows, neurons: int, mu: float, mu_dec: float, mu_inc: float, seed: int
) -> Trained:
    """Fit linear outputs by damped Gauss-Newton steps, with inputs scaled to [-1, 1]."""
    weights = nguyen_widrow(train, neurons, np.random.default_rng(seed))
    epochs = _damped_steps(train, validation.X, weights, mu, mu_dec, mu_inc)
    return stopped_early(epochs, validation.Y, LEVENBERG_MARQUARDT_EPOCHS, squared_error)


def squared_error(outputs: Array, targets: Array) -> float:
    """Mean over all rows and outputs."""
    return float(np.mean((outputs - targets) ** 2))


def stopped_early(
    epochs: Iterable[Array], targets: Array, limit: int, measure: Callable[[Array, Array], float]
) -> Trained:
    """Run epoch after epoch until the error of the validation outputs stops falling, and keep the best."""
    least, best, found, epoch = np.inf, np.zeros_like(targets), 0, 0
    for epoch, outputs in enumerate(islice(epochs, limit + 1)):  # epoch 0 is the untrained network
        error = measure(outputs, targets)
        if error < least:
            least, best, found = error, outputs, epoch
        elif epoch - found >= PATIENCE:
            break
    return Trained(best, epoch, least)


def with_bias(X: Array) -> Array:
    """X with a column of ones."""
    return np.concatenate([X, np.ones((len(X), 1))], axis=1)


def softmax(logits: Array) -> Array:
    """The shares of the classes in each row."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _descent(
    train: Rows, X_validation: Array, neurons: int, learning_rate: float, rng: np.random.Generator
) -> Iterator[Array]:
    """Yield the validation outputs of each epoch of gradient descent in shuffled batches."""
    X, X_validation, Y = with_bias(train.X), with_bias(X_validation), train.Y
    V, W = _glorot(X.shape[1] - 1, neurons, rng), _glorot(neurons, Y.shape[1], rng)
    batches = [slice(start, start + BATCH) for start in range(0, len(X), BATCH)]
    while True:
        yield softmax(with_bias(np.tanh(X_validation @ V)) @ W)
        order = rng.permutation(len(X))
        X, Y = X[order], Y[order]
        for batch in batches:
            by_V, by_W = _softmax_gradient(X[batch], Y[batch], V, W)
            V, W = V - learning_rate * by_V, W - learning_rate * by_W


def _glorot(inputs: int, outputs: int, rng: np.random.Generator) -> Array:
    """Draw uniform weights that keep the variance from layer to layer, with biases of zero."""
    limit = np.sqrt(6 / (inputs + outputs))
    return np.concatenate([rng.uniform(-limit, limit, (inputs, outputs)), np.zeros((1, outputs))])


def _softmax_gradient(X: Array, Y: Array, V: Array, W: Array) -> tuple[Array, Array]:
    """Return the gradients by V and W of half the squared error of a row, averaged over the rows."""
    hidden = with_bias(np.tanh(X @ V))
    outputs = softmax(hidden @ W)
    excess = (outputs - Y) / len(X)
    by_logits = outputs * (excess - (excess * outputs).sum(axis=1, keepdims=True))
    by_hidden = (by_logits @ W[:-1].T) * (1 - hidden[:, :-1] ** 2)
    return X.T @ by_hidden, hidden.T @ by_logits


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The distinct inputs of some rows; `scale` is sqrt(c) for an input that c rows share.

    Least squares on the scaled mean targets has the same J^T J and J^T e as least squares on all rows.
    """

    X: Array  # (n, p + 1), with the bias
    targets: Array  # (n, q), scaled
    scale: Array  # (n, 1)
    products: Array  # (n, n), X X^T

    @staticmethod
    def of(rows: Rows) -> _Distinct:
        X, group, count = np.unique(rows.X, axis=0, return_inverse=True, return_counts=True)
        total = np.zeros((len(X), rows.Y.shape[1]))
        np.add.at(total, group.ravel(), rows.Y)
        scale = np.sqrt(count)[:, None]
        X = with_bias(X)
        return _Distinct(X, total / scale, scale, X @ X.T)


@dataclass(frozen=True, eq=False)
class _Network:
    """A network on its training rows, with products of its Jacobian J computed without building J."""

    rows: _Distinct
    V: Array
    W: Array
    hidden: Array  # (n, h + 1), scaled
    residuals: Array  # (n, q), e
    loss: float  # e^T e

    @staticmethod
    def on(rows: _Distinct, V: Array, W: Array) -> _Network:
        hidden = with_bias(np.tanh(rows.X @ V)) * rows.scale
        residuals = rows.targets - hidden @ W
        return _Network(rows, V, W, hidden, residuals, float(np.vdot(residuals, residuals)))

    def moved(self, step: Array) -> _Network:
        by_V, by_W = step[: self.V.size], step[self.V.size :]
        V, W = self.V + by_V.reshape(self.V.shape), self.W + by_W.reshape(self.W.shape)
        return _Network.on(self.rows, V, W)

    def outputs(self, X: Array) -> Array:
        return with_bias(np.tanh(with_bias(X) @ self.V)) @ self.W

    @cached_property
    def slopes(self) -> Array:
        """The derivatives (n, h) of tanh, scaled."""
        return np.asarray(self.rows.scale - self.hidden[:, :-1] ** 2 / self.rows.scale)

    def pulled_back(self, residuals: Array) -> Array:
        """Return J^T r for r (n, q): a gradient by V and W, as one flat vector."""
        by_V = self.rows.X.T @ (self.slopes * (residuals @ self.W[:-1].T))
        return np.concatenate([by_V.ravel(), (self.hidden.T @ residuals).ravel()])

    def normal_matrix(self) -> Array:
        """Return J^T J, in the order of the flat weights."""
        (n, p), (h, q), W = self.rows.X.shape, self.W[:-1].shape, self.W[:-1]
        Z = (self.rows.X[:, :, None] * self.slopes[:, None, :]).reshape(n, p * h)
        VV = (Z.T @ Z).reshape(p, h, p, h) * (W @ W.T)[:, None, :]
        VW = (Z.T @ self.hidden)[:, :, None] * np.tile(W, (p, 1))[:, None, :]
        VV, VW = VV.reshape(p * h, p * h), VW.reshape(p * h, (h + 1) * q)
        WW = np.kron(self.hidden.T @ self.hidden, np.eye(q))
        return np.block([[VV, VW], [VW.T, WW]])

    def gram_matrix(self) -> Array:
        """Return J J^T, ordered by output, then by row."""
        n, q = self.residuals.shape
        D = (self.slopes * self.W[:-1].T[:, None, :]).reshape(q * n, -1)
        gram = D @ D.T
        blocks = gram.reshape(q, n, q, n)
        blocks *= self.rows.products[:, None, :]
        blocks[range(q), :, range(q)] += self.hidden @ self.hidden.T
        return np.asarray(gram)

    def steps(self, mus: Iterator[float]) -> Iterator[tuple[float, Array]]:
        """Yield each mu with (J^T J + mu I)^-1 J^T e = J^T (J J^T + mu I)^-1 e, from the smaller matrix."""
        if self.V.size + self.W.size <= self.residuals.size:
            yield from _damped_solutions(self.normal_matrix(), self.pulled_back(self.residuals), mus)
        else:
            for mu, dual in _damped_solutions(self.gram_matrix(), self.residuals.T.ravel(), mus):
                yield mu, self.pulled_back(dual.reshape(self.residuals.T.shape).T)


def _damped_solutions(A: Array, b: Array, mus: Iterator[float]) -> Iterator[tuple[float, Array]]:
    """Yield each mu with (A + mu I)^-1 b, unless A + mu I is numerically not positive definite."""
    for mu in islice(mus, DIRECT_TRIALS):
        damped = A.copy()
        np.fill_diagonal(damped, A.diagonal() + mu)
        _, solution, failed = lapack.dposv(damped.T, b, overwrite_a=True)
        if not failed:
            yield mu, solution
    yield from _tridiagonal_solutions(A, b, mus)


def _tridiagonal_solutions(A: Array, b: Array, mus: Iterator[float]) -> Iterator[tuple[float, Array]]:
    """Do the same by A = Q T Q^T with T tridiagonal: costlier once, then of order n^2 for each mu."""
    reflectors, diagonal, beside, tau, _ = lapack.dsytrd(A.T, lower=True, lwork=32 * len(b))
    reflectors = np.asfortranarray(reflectors[1:, :-1])  # Q leaves the first coordinate as it is

    def rotated(transposed: str, x: Array) -> Array:
        rest, _, _ = lapack.dormqr("L", transposed, reflectors, tau, x[1:, None], lwork=1)
        return np.concatenate([x[:1], rest[:, 0]])

    c = rotated("T", b)
    for mu in mus:
        _, _, solution, failed = lapack.dptsv(diagonal + mu, beside, c)
        if not failed:
            yield mu, rotated("N", solution)


def _damped_steps(
    train: Rows, X_validation: Array, weights: tuple[Array, Array], mu: float, mu_dec: float, mu_inc: float
) -> Iterator[Array]:
    """Yield the validation outputs of each epoch of Levenberg-Marquardt."""
    network = _Network.on(_Distinct.of(train), *weights)
    while True:
        yield network.outputs(X_validation)
        gradient = network.pulled_back(network.residuals) * (2 / train.Y.size)
        if np.linalg.norm(gradient) < LEAST_GRADIENT:
            return
        mus = takewhile(LARGEST_MU.__ge__, accumulate(repeat(mu_inc), operator.mul, initial=mu))
        trials = ((mu, network.moved(step)) for mu, step in network.steps(mus))
        accepted = next((trial for trial in trials if trial[1].loss < network.loss), None)
        if accepted is None:
            return
        mu, network = max(accepted[0] * mu_dec, LEAST_MU), accepted[1]


def nguyen_widrow(train: Rows, neurons: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Spread the neurons' active regions evenly over [-1, 1]^p; the output weights are small."""
    inputs = train.X.shape[1]
    reach = 0.7 * neurons ** (1 / inputs)
    V = rng.uniform(-1, 1, (inputs, neurons))
    V *= reach / np.linalg.norm(V, axis=0)
    bias = reach * np.linspace(-1, 1, neurons) * np.sign(V[0]) if neurons > 1 else np.zeros(1)
    return np.vstack([V, bias]), rng.uniform(-0.5, 0.5, (neurons + 1, train.Y.shape[1]))
