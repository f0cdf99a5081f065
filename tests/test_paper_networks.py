"""Networks: derivatives against finite differences, fast paths against plain ones, training that fits."""

from __future__ import annotations

import numpy as np
import pytest

from bopp.data import Array
from bopp.paper import networks
from bopp.paper.networks import Rows, Trained, backpropagation, levenberg_marquardt


def sampled(seed: int, count: int = 40, inputs: int = 3, outputs: int = 2) -> Rows:
    """Smooth targets with noise, some of whose inputs occur twice."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (count, inputs))
    X[: count // 4] = X[count // 4 : 2 * (count // 4)]
    phase = np.arange(outputs)
    return Rows(X, np.sin(2 * X[:, :1] + phase) * X[:, 1:2] + 0.1 * rng.normal(size=(count, outputs)))


def labelled(seed: int, count: int = 120) -> Rows:
    """Three classes that overlap little."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=count)
    centres = np.array([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])
    return Rows(centres[label] + rng.normal(size=(count, 2)), np.eye(3)[label])


def network(rows: Rows, neurons: int, seed: int = 0) -> networks._Network:
    V, W = networks.nguyen_widrow(rows, neurons, np.random.default_rng(seed))
    return networks._Network.on(networks._Distinct.of(rows), V, W)


def jacobian(rows: Rows, at: networks._Network) -> Array:
    """J (n q, weights) of all rows by central differences, ordered by row, then by output."""
    size, step = at.V.size + at.W.size, 1e-6
    moves = step * np.eye(size)
    columns = [(at.moved(move).outputs(rows.X) - at.moved(-move).outputs(rows.X)).ravel() for move in moves]
    return np.stack(columns, axis=1) / (2 * step)


def gradient_by_differences(rows: Rows, V: Array, W: Array) -> Array:
    def half_squared_error(weights: Array) -> float:
        V_, W_ = weights[: V.size].reshape(V.shape), weights[V.size :].reshape(W.shape)
        hidden = networks.with_bias(np.tanh(networks.with_bias(rows.X) @ V_))
        powers = np.exp(hidden @ W_)
        outputs = powers / powers.sum(axis=1, keepdims=True)
        return float(np.sum((outputs - rows.Y) ** 2) / (2 * len(rows.X)))

    weights, step = np.concatenate([V.ravel(), W.ravel()]), 1e-6
    moves = step * np.eye(len(weights))
    return np.array(
        [half_squared_error(weights + move) - half_squared_error(weights - move) for move in moves]
    ) / (2 * step)


@pytest.mark.parametrize("outputs", [1, 2])
def test_products_of_the_jacobian_are_those_of_finite_differences_over_all_rows(outputs: int) -> None:
    rows = sampled(0, outputs=outputs)
    at = network(rows, neurons=4)
    J, e = jacobian(rows, at), (rows.Y - at.outputs(rows.X)).ravel()
    assert len(at.rows.X) < len(rows.X)
    np.testing.assert_allclose(at.normal_matrix(), J.T @ J, atol=1e-7)
    np.testing.assert_allclose(at.pulled_back(at.residuals), J.T @ e, atol=1e-7)


def test_gram_matrix_is_that_of_finite_differences() -> None:
    rows = Rows(*(part[10:] for part in (sampled(1).X, sampled(1).Y)))
    order = np.lexsort(rows.X.T[::-1])
    rows = Rows(rows.X[order], rows.Y[order])
    at = network(rows, neurons=4)
    assert len(at.rows.X) == len(rows.X)
    J = jacobian(rows, at).reshape(*rows.Y.shape, -1).transpose(1, 0, 2).reshape(rows.Y.size, -1)
    np.testing.assert_allclose(at.gram_matrix(), J @ J.T, atol=1e-7)


def test_loss_differs_from_that_of_all_rows_by_a_constant() -> None:
    rows = sampled(2)
    first, second = network(rows, 3, seed=0), network(rows, 3, seed=1)
    over_all = [float(np.sum((rows.Y - at.outputs(rows.X)) ** 2)) for at in (first, second)]
    assert first.loss - second.loss == pytest.approx(over_all[0] - over_all[1])


@pytest.mark.parametrize("neurons", [2, 40])
def test_steps_solve_the_damped_normal_equations_in_either_form(neurons: int) -> None:
    at = network(sampled(3), neurons)
    mus = [1e-3, 0.1, 1.0, 50.0, 1e6]
    assert len(mus) > networks.DIRECT_TRIALS
    normal, right = at.normal_matrix(), at.pulled_back(at.residuals)
    for (mu, step), wanted in zip(at.steps(iter(mus)), mus, strict=True):
        assert mu == wanted
        plain = np.linalg.solve(normal + mu * np.eye(len(normal)), right)
        np.testing.assert_allclose(step, plain, rtol=1e-6, atol=1e-8 * np.abs(plain).max())


def test_tridiagonal_solutions_are_the_plain_ones_and_skip_what_is_not_positive() -> None:
    rng = np.random.default_rng(4)
    B, b = rng.normal(size=(30, 20)), rng.normal(size=30)
    A = B @ B.T - 0.5 * np.eye(30)
    solved = list(networks._tridiagonal_solutions(A, b, iter([0.1, 1.0, 10.0])))
    assert [mu for mu, _ in solved] == [1.0, 10.0]
    for mu, solution in solved:
        np.testing.assert_allclose(solution, np.linalg.solve(A + mu * np.eye(30), b), rtol=1e-9)


def test_training_takes_the_same_path_with_and_without_the_tridiagonal_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, validation = sampled(5), sampled(6)
    monkeypatch.setattr(networks, "DIRECT_TRIALS", 10**9)
    plain = levenberg_marquardt(train, validation, 8, 1e-3, 0.01, 1.5, seed=0)
    monkeypatch.setattr(networks, "DIRECT_TRIALS", 0)
    tridiagonal = levenberg_marquardt(train, validation, 8, 1e-3, 0.01, 1.5, seed=0)
    assert plain.epochs == tridiagonal.epochs
    np.testing.assert_allclose(plain.outputs, tridiagonal.outputs, atol=1e-5)


def test_levenberg_marquardt_fits_a_smooth_function_far_better_than_a_line() -> None:
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (150, 2))
    Y = np.sin(3 * X[:, :1]) * np.cos(2 * X[:, 1:])
    train, validation = Rows(X[:100], Y[:100]), Rows(X[100:], Y[100:])
    line = np.linalg.lstsq(networks.with_bias(train.X), train.Y, rcond=None)[0]
    by_line = np.mean((networks.with_bias(validation.X) @ line - validation.Y) ** 2)
    trained = levenberg_marquardt(train, validation, 10, 0.001, 0.1, 10.0, seed=0)
    assert trained.error < by_line / 100


def test_backpropagation_gradient_is_that_of_finite_differences() -> None:
    rows, rng = labelled(8, count=20), np.random.default_rng(8)
    V, W = networks._glorot(2, 5, rng), networks._glorot(5, 3, rng)
    by_V, by_W = networks._softmax_gradient(networks.with_bias(rows.X), rows.Y, V, W)
    flat = np.concatenate([by_V.ravel(), by_W.ravel()])
    np.testing.assert_allclose(flat, gradient_by_differences(rows, V, W), atol=1e-9)


def test_backpropagation_learns_the_classes() -> None:
    trained = backpropagation(labelled(9), labelled(10), 10, 0.5, seed=0)
    right = trained.outputs.argmax(axis=1) == labelled(10).Y.argmax(axis=1)
    assert right.mean() > 0.85
    np.testing.assert_allclose(trained.outputs.sum(axis=1), 1)


def test_a_seed_decides_the_outcome_and_its_error() -> None:
    def outcomes(seed: int) -> list[Trained]:
        fitted = levenberg_marquardt(sampled(11), sampled(12), 5, 1.0, 0.1, 10.0, seed)
        return [fitted, backpropagation(labelled(9), labelled(10), 5, 0.1, seed)]

    validations = sampled(12), labelled(10)
    for first, again, other, rows in zip(outcomes(3), outcomes(3), outcomes(4), validations, strict=True):
        np.testing.assert_array_equal(first.outputs, again.outputs)
        assert (first.epochs, first.error) == (again.epochs, again.error)
        assert first.error != other.error
        assert first.error == pytest.approx(np.mean((first.outputs - rows.Y) ** 2))


def test_early_stopping_keeps_the_best_epoch_and_waits_its_patience() -> None:
    targets = np.zeros((4, 2))
    errors = [3.0, 1.0, np.nan, 0.5, *[0.6] * 50, 0.1]
    epochs = (np.full_like(targets, np.sqrt(error)) for error in errors)
    trained = networks.stopped_early(epochs, targets, 1000, networks.squared_error)
    assert trained.error == pytest.approx(0.5)
    np.testing.assert_allclose(trained.outputs, np.sqrt(0.5))
    assert trained.epochs == 3 + networks.PATIENCE


def test_early_stopping_ends_at_the_limit() -> None:
    targets = np.zeros((1, 1))
    epochs = (np.full((1, 1), 1 / (epoch + 1)) for epoch in range(100))
    assert networks.stopped_early(epochs, targets, 7, networks.squared_error).epochs == 7


@pytest.mark.parametrize("neurons", [1, 100])
@pytest.mark.parametrize("mu", [1e-6, 100.0])
@pytest.mark.parametrize("mu_dec", [0.01, 1.0])
@pytest.mark.parametrize("mu_inc", [1.01, 20.0])
def test_levenberg_marquardt_is_finite_at_the_corners(
    neurons: int, mu: float, mu_dec: float, mu_inc: float
) -> None:
    trained = levenberg_marquardt(sampled(15), sampled(16), neurons, mu, mu_dec, mu_inc, seed=0)
    assert np.isfinite(trained.error)
    assert np.all(np.isfinite(trained.outputs))


def test_levenberg_marquardt_ends_quietly_where_no_step_is_finite() -> None:
    train = Rows(sampled(17).X, np.full((40, 1), 1e200))
    trained = levenberg_marquardt(train, sampled(18, outputs=1), 3, 1.0, 0.1, 10.0, seed=0)
    assert np.isfinite(trained.error)


@pytest.mark.parametrize("neurons", [1, 100])
@pytest.mark.parametrize("learning_rate", [1e-6, 1.0])
def test_backpropagation_is_finite_at_the_corners(neurons: int, learning_rate: float) -> None:
    trained = backpropagation(labelled(9), labelled(10), neurons, learning_rate, seed=0)
    assert np.isfinite(trained.error)
    assert 0 <= trained.epochs <= networks.BACKPROPAGATION_EPOCHS
