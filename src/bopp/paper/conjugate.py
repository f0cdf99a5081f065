"""A network trained by scaled conjugate gradients (Møller 1993), as MATLAB's patternnet is.

M. F. Møller, "A scaled conjugate gradient algorithm for fast supervised learning", Neural Networks 6 (1993),
525-533. The numbers in comments are the steps of the algorithm there. No line is searched along: the
curvature `delta` along the direction p is taken from two gradients, and `damping` (his lambda) is added to it
where it is not positive or the model of the loss was poor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from bopp.data import Array
from bopp.paper.networks import (
    LEAST_GRADIENT,
    Rows,
    Trained,
    nguyen_widrow,
    softmax,
    stopped_early,
    with_bias,
)

EPOCHS = 1000
FIRST_DAMPING = 5e-7
NEARBY = 5e-5  # his sigma: how far apart the gradients are that give the curvature


@np.errstate(over="ignore", invalid="ignore")
def conjugate_gradients(train: Rows, validation: Rows, neurons: int, seed: int) -> Trained:
    """Train a softmax classifier on the cross-entropy, with inputs scaled to [-1, 1] and one-hot Y."""
    weights = nguyen_widrow(train, neurons, np.random.default_rng(seed))
    return stopped_early(_steps(train, validation.X, *weights), validation.Y, EPOCHS, cross_entropy)


def cross_entropy(outputs: Array, targets: Array) -> float:
    """Mean over all rows and outputs of -t log(y)."""
    return -float(np.mean(targets * np.log(np.maximum(outputs, 1e-300))))


def _steps(train: Rows, X_validation: Array, V: Array, W: Array) -> Iterator[Array]:
    """Yield the validation outputs of each epoch."""
    X, X_validation = with_bias(train.X), with_bias(X_validation)

    def unfolded(w: Array) -> tuple[Array, Array]:
        return w[: V.size].reshape(V.shape), w[V.size :].reshape(W.shape)

    def outputs(w: Array, X: Array) -> tuple[Array, Array]:
        V, W = unfolded(w)
        hidden = with_bias(np.tanh(X @ V))
        return hidden, softmax(hidden @ W)

    def loss(w: Array) -> tuple[float, Array]:
        hidden, shares = outputs(w, X)
        excess = (shares - train.Y) / train.Y.size
        by_hidden = (excess @ unfolded(w)[1][:-1].T) * (1.0 - hidden[:, :-1] ** 2)
        slope = np.concatenate([(X.T @ by_hidden).ravel(), (hidden.T @ excess).ravel()])
        return cross_entropy(shares, train.Y), slope

    for w in _descent(loss, np.concatenate([V.ravel(), W.ravel()])):
        yield outputs(w, X_validation)[1]


def _descent(loss: Callable[[Array], tuple[float, Array]], w: Array) -> Iterator[Array]:
    """Yield the weights before the first epoch and after each."""
    value, slope = loss(w)
    downhill = p = -slope
    damping, raised, delta = FIRST_DAMPING, 0.0, 0.0
    moved, epoch = True, 0
    while float(np.linalg.norm(downhill)) >= LEAST_GRADIENT:
        yield w
        epoch += 1
        square = float(p @ p)
        if moved:  # 2: curvature along p
            step = NEARBY / math.sqrt(square)
            delta = float(p @ (loss(w + step * p)[1] + downhill)) / step
        delta += (damping - raised) * square  # 3
        if delta <= 0.0:  # 4: make it positive
            raised = 2.0 * (damping - delta / square)
            delta, damping = damping * square - delta, raised
        reach = float(p @ downhill)
        new = w + reach / delta * p  # 5
        new_value, new_slope = loss(new)
        match = 2.0 * delta * (value - new_value) / reach**2  # 6: how well the loss was foreseen
        moved = match >= 0.0
        if moved:  # 7
            turn = float(new_slope @ (new_slope + downhill)) / reach
            p = -new_slope if epoch % w.size == 0 else turn * p - new_slope
            w, value, downhill, raised = new, new_value, -new_slope, 0.0
            damping *= 0.25 if match >= 0.75 else 1.0
        else:
            raised = damping
        if match < 0.25:  # 8
            damping += delta * (1.0 - match) / square
    yield w
