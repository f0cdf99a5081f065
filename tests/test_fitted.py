from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from bopp import Float, Optimizer, Recipe, fitted, initial, outcome
from bopp.belief import Beliefs
from bopp.data import Array, Data
from bopp.fit import MAP, LogNormal, Priors, SliceSampling, telling
from bopp.fitted import Fitted
from bopp.gp import Posterior
from bopp.kernels import Kernel, Matern52
from bopp.memory import Memory
from support.toys import data_of, gp_of, peaked

DEFAULT = Recipe.default().fit
TREND = Priors(trend=LogNormal(-3.0, 3.0))
SELDOM = MAP(TREND, refit=0.5, tolerance=1e-3)
FITS = {
    "default": DEFAULT,
    "seldom": SELDOM,
    "part": replace(SELDOM, seen=12),
    "bayesian": SliceSampling(TREND, refit=0.5, samples=2, burn_in=1, thinning=1),
}
OUTCOMES = [outcome.raw, outcome.standardised, outcome.power, outcome.Squeezed(outcome.power, 0.0, 0.5)]
U = np.random.default_rng(8).random((9, 2))


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> Iterator[None]:
    fitted.forget()
    yield
    fitted.forget()


def values(n: int = 30, seed: int = 0, noise: float = 0.0) -> Data:
    data = peaked(n, 2, seed)
    return Data(data.X, data.y, noise * np.random.default_rng(seed).random(n))


def model(data: Data, fit: Any = DEFAULT, way: outcome.Outcome = outcome.power) -> Fitted:
    return fitted.fitted(data, way, Matern52(), fit)


def same_bits(one: Fitted, other: Fitted) -> None:
    assert one.scale == other.scale
    assert np.array_equal(one.rows, other.rows)
    assert one.beliefs.weights == other.beliefs.weights
    for a, b in zip(one.beliefs, other.beliefs, strict=True):
        assert isinstance(a, Posterior)
        assert isinstance(b, Posterior)
        assert np.array_equal(np.tril(a.L), np.tril(b.L))
        assert np.array_equal(a.whitened, b.whitened)
        for got, wanted in zip(a.gradient(U), b.gradient(U), strict=True):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize(
    ("fit", "way", "noise"),
    [
        *((fit, outcome.power, 0.0) for fit in FITS.values()),
        *((SELDOM, way, noise) for way in OUTCOMES for noise in (0.0, 0.1)),
    ],
)
def test_a_model_depends_on_data_and_parts_alone(fit: MAP, way: outcome.Outcome, noise: float) -> None:
    """To the last bit: after all earlier models, after none, and after those of other data."""
    data = values(34, noise=noise)
    grown = {n: model(data[slice(n)], fit, way) for n in (3, 8, 16, 20, 25, 34)}
    for n in (34, 25, 8):
        fitted.forget()
        same_bits(model(data[slice(n)], fit, way), grown[n])
        model(values(n, seed=1), fit, way)
        same_bits(model(data[slice(n)], fit, way), grown[n])


@pytest.mark.parametrize("way", OUTCOMES)
@pytest.mark.parametrize("n", [1, 2, 7, 24, 33])
def test_hyper_parameters_are_those_of_the_milestone_and_the_data_all_there(
    n: int, way: outcome.Outcome
) -> None:
    data, due = values(33)[slice(n)], SELDOM.milestone(n)
    found = model(data, SELDOM, way)
    first = data[slice(due)]
    if abs(way(first.y).power - way(data.y).power) > fitted.SLIGHTLY:
        first = data  # then it was fitted anew
    (before,) = SELDOM(
        Data(first.X, way(first.y)(first.y), way(first.y).noise(first.y, first.noise)),
        Matern52(),
        np.random.default_rng(0),
    )
    (belief,) = found.beliefs
    for name in ("lengthscale", "variance", "noise", "trend"):
        assert np.array_equal(getattr(gp_of(belief), name), getattr(gp_of(before), name))
    assert found.scale == way(data.y)  # the unit is that of all values
    scaled = Data(data.X, found.scale(data.y), found.scale.noise(data.y, data.noise))
    for name in ("X", "y", "noise"):
        assert np.array_equal(getattr(found.data, name), getattr(scaled, name))
        assert np.array_equal(getattr(data_of(belief), name), getattr(scaled, name))
    wanted = gp_of(before).condition(scaled)
    for got, expected in zip(belief.gradient(U), wanted.gradient(U), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert found.rows.tolist() == list(range(n))


@dataclass(frozen=True)
class Counted(MAP):
    """A fit at milestones that counts how often it is made."""

    sizes: list[int] = field(default_factory=list, compare=False)

    def __call__(self, data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        self.sizes.append(len(data))
        return super().__call__(data, kernel, rng)


def test_a_run_is_fitted_once_at_each_milestone() -> None:
    fit, data = Counted(refit=0.5), values(40)
    for n in range(5, 41):
        model(data[slice(n)], fit, outcome.standardised)
    assert fit.sizes == sorted({fit.milestone(n) for n in range(5, 41)})
    every = Counted()
    for n in (7, 8, 9, 9):
        model(data[slice(n)], every)
    assert every.sizes == [7, 8, 9]  # that of the same values is remembered


def test_values_that_want_another_power_are_fitted_anew() -> None:
    fit, data = Counted(refit=0.5), values(24)
    first = fit.milestone(24)
    assert first < 24
    y = data.y.copy()
    y[first:] = y.min() - 50.0 * y.std()  # so bad that the power draws them closer
    changed = Data(data.X, y)
    assert abs(outcome.power(y).power - outcome.power(y[:first]).power) > fitted.SLIGHTLY
    found = model(changed, fit)
    assert fit.sizes == [first, 24]
    fitted.forget()
    same_bits(found, model(changed, replace(fit, refit=0.0)))
    model(changed, fit, outcome.standardised)
    assert fit.sizes[-1] == first  # nothing is bent there


def test_only_the_latest_fits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = Counted(refit=0.5)
    sets = [values(26, seed) for seed in range(fitted.REMEMBERED + 1)]
    for data in sets:
        model(data, fit, outcome.standardised)
    assert len(fitted._fits) == fitted.REMEMBERED
    monkeypatch.setattr(fitted, "LARGE", 10)
    model(values(26, seed=77), fit, outcome.standardised)
    assert len(fitted._fits) == 1


@pytest.mark.parametrize("name", ["y", "X", "noise", "kernel", "outcome", "fit"])
def test_a_fit_is_not_taken_for_that_of_other_data_or_parts(name: str) -> None:
    data = values(30)
    parts: dict[str, Any] = {"outcome": outcome.power, "kernel": Matern52(), "fit": SELDOM}
    fitted.fitted(data, **parts)
    arrays = {key: getattr(data, key).copy() for key in ("X", "y", "noise")}
    if name in arrays:
        arrays[name].flat[2] += 1e-3
    others: dict[str, Any] = {
        "outcome": outcome.standardised,
        "kernel": Matern52(ard=False),
        "fit": replace(SELDOM, noise=1e-2),
    }
    changed = parts | ({name: others[name]} if name in others else {})
    found = fitted.fitted(Data(**arrays), **changed)
    fitted.forget()
    same_bits(found, fitted.fitted(Data(**arrays), **changed))


@pytest.mark.parametrize("n", [12, 13, 20, 23, 24, 40])
def test_of_many_values_the_model_sees_a_part_and_all_that_came_since(n: int) -> None:
    fit = replace(SELDOM, seen=12)
    data, due = values(n), fit.milestone(n)
    found = model(data, fit)
    told = telling(data.y[:due], 12)
    assert found.rows.tolist() == [*told, *range(due, n)]
    assert len(found.data) == n
    (belief,) = found.beliefs
    assert np.array_equal(data_of(belief).X, data.X[found.rows])
    assert np.array_equal(data_of(belief).y, found.data.y[found.rows])
    assert int(np.argmax(data.y)) in found.rows
    mean, sd = belief(data.X)
    assert np.abs(mean - found.data.y)[found.rows].max() < 0.1
    assert np.all(np.isfinite(sd))


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("way", [outcome.standardised, outcome.power])
@pytest.mark.parametrize("a", [1e-100, 1e-9, 3.7, 1e100])
def test_the_unit_of_y_does_not_matter(fit: MAP, way: outcome.Outcome, a: float) -> None:
    data = values(29)
    moved = Data(data.X, a * (data.y + 0.25))
    one, other = model(data, fit, way), model(moved, fit, way)
    np.testing.assert_allclose(other.data.y, one.data.y, atol=1e-9)
    for got, wanted in zip(other.beliefs(U), one.beliefs(U), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)
    for exponent in (-300, 300):
        scaled = model(Data(data.X, np.ldexp(data.y, exponent)), fit, way)
        assert np.array_equal(scaled.beliefs(U), one.beliefs(U))


def bowl(params: dict[str, float]) -> float:
    x, y = params["a"], params["b"]
    return float((x - 0.31) ** 2 + 0.5 * (y - 0.62) ** 2 + 0.2 * np.sin(7.0 * x + 3.0 * y))


@pytest.mark.parametrize("count", [23, 27])
def test_a_study_that_is_resumed_goes_on_as_one_that_was_never_stopped(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the last milestone lies some values back."""
    assert isinstance(DEFAULT, MAP)
    assert DEFAULT.milestone(count) < count
    space = {"a": Float(0, 1), "b": Float(0, 1)}
    recipe = replace(Recipe.default(), initial=initial.Sobol(4))
    opt = Optimizer(space, seed=3, recipe=recipe)
    for _ in range(count):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.params))
    trials = opt.trials
    wanted = [trial.params for trial in opt.ask(3)]
    fitted.forget()
    monkeypatch.setattr("bopp.model._models", Memory(4))
    resumed = Optimizer(space, seed=3, recipe=recipe, trials=trials)
    assert [trial.params for trial in resumed.ask(3)] == wanted


def test_a_bowl_is_found_in_few_evaluations() -> None:
    """What the trend is for: in four dimensions, within a thousandth of the range after 25 evaluations."""
    centre: Array = np.array([0.2, 0.7, 0.45, 0.6])
    found = []
    for seed in range(3):
        opt = Optimizer({name: Float(0, 1) for name in "abcd"}, seed=seed)
        for _ in range(25):
            trial = opt.ask()
            opt.tell(trial, float(((np.array(list(trial.params.values())) - centre) ** 2).sum()))
        found.append(opt.best.value or 0.0)
    assert max(found) < 1e-3
