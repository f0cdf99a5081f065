from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bopp import Beliefs, Data, Float, Optimizer, Problem, Recipe, Result, Trial, fit
from bopp.data import Array
from bopp.errors import NoResultError, RecipeError
from bopp.gp import GP
from bopp.kernels import Matern52
from bopp.model import believe
from bopp.outcome import raw
from bopp.problem import Direction
from bopp.view.calibration import WIDTH, calibration

RAW = Recipe(outcome=raw)


def run_of(count: int = 15, seed: int = 0, noise: float = 0.0, direction: Direction = "minimize") -> Result:
    rng = np.random.default_rng(seed)
    opt = Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, direction)
    for x, y in rng.random((count, 2)):
        opt.observe({"x": x, "y": y}, np.sin(6.0 * x) + y + noise * rng.standard_normal())
    return opt.result


def without(data: Data, i: int) -> Data:
    keep = np.arange(len(data)) != i
    return Data(data.X[keep], data.y[keep], data.noise[keep])


@pytest.mark.parametrize("known_noise", [False, True])
def test_leaving_one_out_is_conditioning_on_the_others(known_noise: bool) -> None:
    """The formula against n models, each of all observations but one."""
    rng = np.random.default_rng(3)
    X, y = rng.random((12, 2)), rng.standard_normal(12)
    noises = rng.random(12) if known_noise else np.zeros(12)
    data, gp = Data(X, y, noises), GP(Matern52(), np.array([0.4, 0.7]), variance=1.7, noise=0.03)
    mean, sd = gp.condition(data).leave_one_out()
    for i in range(12):
        (one,), (spread,) = gp.condition(without(data, i))(X[i : i + 1])
        assert mean[i] == pytest.approx(one, rel=1e-7, abs=1e-9)
        assert sd[i] == pytest.approx(np.sqrt(spread**2 + 0.03 + noises[i]), rel=1e-7)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_predictions_are_in_the_unit_of_the_user(direction: Direction) -> None:
    result = run_of(direction=direction)
    model = believe(result.history().data, RAW)
    (belief,) = model.beliefs
    shown = calibration(result, RAW)
    mean, sd = belief.leave_one_out()  # type: ignore[attr-defined]
    assert shown.observed.tolist() == [trial.value for trial in result.trials]
    np.testing.assert_allclose(shown.predicted, result.problem.gain(mean), rtol=1e-9)
    np.testing.assert_allclose(shown.high - shown.low, 2.0 * WIDTH * sd, rtol=1e-9)
    expected = (shown.low <= shown.observed) & (shown.observed <= shown.high)
    np.testing.assert_array_equal(shown.inside, expected)


def test_the_power_of_the_outcome_is_undone() -> None:
    """With the default outcome, which bends y: intervals are lopsided, but what is inside stays inside."""
    trials = run_of().trials
    bent = [replace(trial, values={"value": float(np.exp(3.0 * trial.value))}) for trial in trials]
    shown = calibration(Result(Problem({"x": Float(0, 1), "y": Float(0, 1)}), tuple(bent)))
    assert (shown.low < shown.predicted).all()
    assert (shown.predicted < shown.high).all()
    expected = (shown.low <= shown.observed) & (shown.observed <= shown.high)
    np.testing.assert_array_equal(shown.inside, expected)
    assert not np.allclose(shown.high - shown.predicted, shown.predicted - shown.low, rtol=0.05)


def test_about_19_of_20_values_of_a_noisy_function_lie_in_their_interval() -> None:
    """Over seeds 0 to 19 the shares are between 0.88 and 0.98, the mean of three neighbours above 0.91."""
    inside = [calibration(run_of(60, seed, noise=0.3)).inside for seed in range(3)]
    assert 0.87 <= np.mean(inside) <= 0.995


def test_a_model_that_is_too_sure_is_found_out() -> None:
    def sure(data: Data, kernel: Any, rng: np.random.Generator) -> Beliefs:
        return Beliefs.even([GP(kernel, np.array([5.0, 5.0]), noise=1e-6).condition(data)])

    shown = calibration(run_of(40, noise=0.3), Recipe(fit=sure))
    assert shown.inside.mean() < 0.5


def test_every_belief_counts() -> None:
    result = run_of()
    recipe = Recipe(fit=fit.SliceSampling(samples=3, burn_in=2), outcome=raw)
    beliefs = believe(result.history().data, recipe).beliefs
    pairs = np.array([belief.leave_one_out() for belief in beliefs])  # type: ignore[attr-defined]
    means, sds = pairs[:, 0], pairs[:, 1]
    shown = calibration(result, recipe)
    np.testing.assert_allclose(shown.predicted, -means.mean(axis=0), rtol=1e-9)
    sd = np.sqrt((sds**2 + means**2).mean(axis=0) - means.mean(axis=0) ** 2)
    np.testing.assert_allclose(shown.high - shown.predicted, WIDTH * sd, rtol=1e-6)


class Flat:
    """A belief that is no Gaussian process."""

    def __call__(self, U: Array) -> tuple[Array, Array]:
        return np.zeros(len(U)), np.ones(len(U))

    def __repr__(self) -> str:
        return "Flat()"


def test_other_beliefs_are_refused() -> None:
    flat: Any = Flat()
    with pytest.raises(RecipeError, match=r"Flat\(\)"):
        calibration(run_of(5), Recipe(fit=lambda data, kernel, rng: Beliefs.even([flat])))

    def half(data: Data, kernel: Any, rng: np.random.Generator) -> Beliefs:
        return Beliefs.even([GP(kernel, np.ones(2)).condition(without(data, 0))])

    with pytest.raises(RecipeError, match="of all observations"):
        calibration(run_of(5), Recipe(fit=half))


def test_values_near_the_largest_float_give_finite_intervals() -> None:
    values = [1.7e308, -1.7e308, 0.0, 1e300]
    trials = [Trial(i, {"x": i / 4}, "done", {"value": value}) for i, value in enumerate(values)]
    shown = calibration(Result(Problem({"x": Float(0, 1)}), tuple(trials)))
    assert np.isfinite([shown.predicted, shown.low, shown.high]).all()


def test_it_takes_two_finished_trials() -> None:
    with pytest.raises(NoResultError, match="2 finished trials, got 1 in 1 trials"):
        calibration(run_of(1))
