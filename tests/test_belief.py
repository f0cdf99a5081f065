"""Beliefs: what a model holds, how several are averaged and remembered, and how told noise reaches them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from bopp import AtMost, Float, Optimizer, Problem, Recipe, fitted, initial, model, outcome, suggest
from bopp.acquisition import MES, UCB, Acquisition, Scores, ei, est, log_ei, logarithmic, paper_beta, pi
from bopp.belief import Belief, Beliefs
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.fit import MAP, SliceSampling
from bopp.gp import GP, Posterior
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.known import Known
from bopp.memory import Memory
from bopp.model import REMEMBERED, believe
from bopp.pseudo import Failed, Neighbours, Pending
from bopp.score import AverageScore
from bopp.space import Space
from support.toys import KERNELS, Counted, Flat, flat, known, peaked, slope, smooth

PLANE = {"a": Float(0, 1), "b": Float(0, 1)}
NOWHERE = np.empty((0, 2))
BASE = replace(Recipe.default(), initial=initial.Sobol(3))
NEIGHBOURS = Pending() + Neighbours() + Failed()
U = np.random.default_rng(8).random((7, 2))
WEIGHTS = (0.6, 0.3, 0.1)


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    model._models.forget()
    fitted.forget()


def processes() -> list[GP]:
    return [
        GP(Matern52(), np.array([0.3, 0.6]), 1.1, 1e-3),
        GP(Matern52(), np.array([0.8, 0.4]), 0.7, 1e-2),
        GP(SquaredExponential(), np.array([0.5]), 2.0, 1e-1),
    ]


def posterior(kernel: Kernel | None = None, n: int = 9) -> Posterior:
    return GP(kernel or Matern52(), np.array([0.3, 0.6]), 1.1, 1e-2).condition(smooth(n, 2, seed=3))


def mixture(weights: tuple[float, ...] = WEIGHTS) -> Beliefs:
    data = smooth(7, 2, seed=3)
    return Beliefs(tuple(gp.condition(data) for gp in processes()), weights)


# one belief


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [0, 1, 9, 70])
@pytest.mark.parametrize("m", [0, 1, 63, 64, 65, 200])
def test_the_mean_alone_is_the_mean(kernel: Kernel, n: int, m: int) -> None:
    """Also in blocks, and with nothing to ask about."""
    belief = posterior(kernel, max(n, 2)) if n > 1 else posterior(kernel, 2).gp.condition(smooth(2, 2, 3)[:n])
    points = np.random.default_rng(m).random((m, 2))
    assert belief.mean(points).shape == (m,)
    np.testing.assert_allclose(belief.mean(points), belief(points)[0], rtol=1e-9, atol=1e-12)


def covariance(belief: Posterior, points: Array) -> Array:
    """That of the posterior, by the textbook."""
    gp, X = belief.gp, belief.data.X
    K = gp.covariance(X, X)[0] + np.diag(gp.noise + belief.data.noise)
    k = gp.covariance(points, X)[0]
    return np.asarray(gp.covariance(points, points)[0] - k @ np.linalg.solve(K, k.T))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [0, 9])
def test_samples_have_the_mean_and_the_covariance_of_the_posterior(kernel: Kernel, n: int) -> None:
    """Twenty thousand draws: the standard error of a covariance is below 1.5 / sqrt(20000), about 0.01."""
    gp = posterior(kernel).gp
    belief = gp.condition(smooth(9, 2, seed=3)[:n])
    drawn = belief.sample(U, 20_000, np.random.default_rng(0))
    wanted = covariance(belief, U)
    assert drawn.shape == (20_000, len(U))
    np.testing.assert_allclose(drawn.mean(axis=0), belief.mean(U), atol=5 * np.sqrt(1.1 / 20_000))
    np.testing.assert_allclose(np.cov(drawn.T), wanted, atol=0.05)
    np.testing.assert_allclose(wanted.diagonal(), belief(U)[1] ** 2, rtol=1e-7, atol=1e-10)


def test_samples_are_joint_and_follow_from_the_generator() -> None:
    """Near points rise and fall together; independent draws at each point would not."""
    near = np.array([[0.5, 0.5], [0.501, 0.5], [0.05, 0.95]])
    drawn, again, other = (posterior(n=2).sample(near, 4000, np.random.default_rng(s)) for s in (0, 0, 1))
    assert np.corrcoef(drawn[:, 0], drawn[:, 1]).min() > 0.99
    assert abs(drawn[:, 0] - drawn[:, 1]).max() < 0.1
    assert drawn[:, 0].std() > 0.3
    assert np.array_equal(drawn, again)
    assert not np.array_equal(drawn, other)


@pytest.mark.parametrize("kernel", KERNELS)
def test_samples_pass_through_what_was_measured_without_noise(kernel: Kernel) -> None:
    data = smooth(9, 2, seed=3)
    belief = GP(kernel, np.array([0.3, 0.6]), 1.1, 1e-8).condition(data)
    drawn = belief.sample(data.X, 50, np.random.default_rng(0))
    np.testing.assert_allclose(drawn, np.broadcast_to(data.y, drawn.shape), atol=2e-3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lengthscale", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("noise", [1e-8, 1e-2])
def test_samples_of_many_points_that_nearly_coincide_are_finite(
    kernel: Kernel, lengthscale: float, noise: float
) -> None:
    line = np.linspace(0.0, 1.0, 150)[:, None]
    data = Data(line[::10], np.sin(6.0 * line[::10, 0]))
    belief = GP(kernel, np.array([lengthscale]), 1.0, noise).condition(data)
    points = np.vstack([line, line[:20], data.X])
    drawn = belief.sample(points, 5, np.random.default_rng(0))
    assert np.isfinite(drawn).all()
    np.testing.assert_allclose(drawn[:, :20], drawn[:, 150:170], atol=1e-2)  # the same point twice


def test_a_difference_is_that_of_drawn_functions_before_any_data() -> None:
    """Half a million differences: their mean square is known to 0.3 %."""
    belief = posterior()
    prior = belief.gp.condition(Data.empty(2))
    drawn = prior.sample(np.vstack([U[:3], U[3:6]]), 500_000, np.random.default_rng(0))
    wanted = ((drawn[:, :3] - drawn[:, 3:]) ** 2).mean(axis=0)
    np.testing.assert_allclose(belief.difference(U[:3], U[3:6]), wanted, rtol=0.02)
    np.testing.assert_array_equal(belief.difference(U, U), 0.0)


# several beliefs


def test_a_mixture_has_the_mean_and_the_sd_of_what_is_drawn_from_it() -> None:
    """A belief is drawn by its weight, then a value from it: 400,000 draws, five standard errors."""
    beliefs = mixture()
    rng = np.random.default_rng(0)
    which = rng.choice(3, size=400_000, p=WEIGHTS)
    means, sds = np.array([belief(U) for belief in beliefs]).transpose(1, 0, 2)
    drawn = means[which] + sds[which] * rng.standard_normal((len(which), len(U)))
    mean, sd = beliefs(U)
    error = drawn.std(axis=0) / np.sqrt(len(which))
    assert (np.abs(mean - drawn.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(sd, drawn.std(axis=0), rtol=0.02)
    np.testing.assert_allclose(beliefs.mean(U), mean, rtol=1e-9)
    assert (sd**2 >= beliefs.average([belief(U)[1] ** 2 for belief in beliefs])).all()
    rows = [np.full((2, 3), number) for number in (1.0, 10.0, 100.0)]
    np.testing.assert_allclose(beliefs.average(rows), np.full((2, 3), 0.6 + 3.0 + 10.0))


def test_even_weights_are_even() -> None:
    beliefs = Beliefs.even(list(mixture()))
    assert beliefs.weights == (1 / 3, 1 / 3, 1 / 3)
    assert list(beliefs) == list(beliefs.beliefs)
    assert len(Beliefs.even([posterior()] * 49)) == 49
    np.testing.assert_allclose(Beliefs.even([posterior()])(U), posterior()(U), rtol=1e-12)


@pytest.mark.parametrize(
    "weights",
    [
        *((), (1.0,), (0.5, 0.5), (0.25,) * 4, (0.6, 0.3, 0.2), (0.6, 0.3, 0.0999), (0.5, 0.5, 0.0)),
        *((0.7, 0.5, -0.2), (0.5, 0.5, np.nan), (np.inf, 0.0, 0.0), (6.0, 3.0, 1.0)),
    ],
)
def test_weights_that_are_none_are_named(weights: tuple[float, ...]) -> None:
    with pytest.raises(RecipeError, match="each of 3 beliefs") as caught:
        mixture(weights)
    assert repr(weights) in str(caught.value)


def test_no_belief_and_a_process_that_has_seen_nothing_are_refused() -> None:
    with pytest.raises(RecipeError, match="each of 0 beliefs"):
        Beliefs((), ())
    with pytest.raises(RecipeError, match="each of 0 beliefs"):
        Beliefs.even([])
    with pytest.raises(RecipeError, match="belief"):
        Beliefs.even([GP(Matern52(), np.array([0.3]))])  # type: ignore[list-item]


# averaged scores


def scores(acquisition: Acquisition, weights: tuple[float, ...] = WEIGHTS) -> AverageScore:
    knowns = tuple(known(smooth(7, 2, seed=3), gp, t=3) for gp in processes()[: len(weights)])
    return AverageScore(acquisition, knowns, weights)


def apart(acquisition: Acquisition) -> Array:
    """The score (3, m) of each belief."""
    rows = []
    for seen in scores(acquisition).knowns:
        score = acquisition(*seen.posterior(U), seen)
        rows.append(score[0] if isinstance(score, tuple) else score)
    return np.array(rows)


@logarithmic
def log_pi(mean: Array, sd: Array, known: Known) -> Array:
    return np.asarray(norm.logcdf((mean - known.best) / sd))


@logarithmic
@dataclass(frozen=True)
class LogGain:
    """A class of one's own, marked."""

    by: float = 1.0

    def __call__(self, mean: Array, sd: Array, known: Known) -> Scores:
        score, by_mean, by_sd = log_ei(mean, sd, known)
        return self.by + score, by_mean, by_sd


def plain_score(mean: Array, sd: Array, known: Known) -> Array:
    return np.tanh(mean) + sd**2


PLAIN: list[Acquisition] = [ei, pi, UCB(4.0), UCB(paper_beta), MES(), est, plain_score]
LOGARITHMS: list[Acquisition] = [log_ei, log_pi, LogGain(3.0)]


@pytest.mark.parametrize("weights", [WEIGHTS, (0.01, 0.01, 0.98), (1 / 3, 1 / 3, 1 / 3)])
@pytest.mark.parametrize("acquisition", [*PLAIN, *LOGARITHMS])
def test_scores_are_averaged_by_their_weights(acquisition: Acquisition, weights: tuple[float, ...]) -> None:
    """Logarithms by what they stand for."""
    each = apart(acquisition)
    wanted = (
        np.log(np.array(weights) @ np.exp(each)) if acquisition in LOGARITHMS else np.array(weights) @ each
    )
    np.testing.assert_allclose(scores(acquisition, weights).values(U), wanted, rtol=1e-10)
    np.testing.assert_allclose(scores(acquisition, weights).gradient(U)[0], wanted, rtol=1e-9)


def test_an_average_of_logarithms_does_not_underflow() -> None:
    @logarithmic
    def deep(mean: Array, sd: Array, known: Known) -> Scores:
        score, by_mean, by_sd = log_ei(mean, sd, known)
        return score - 5000.0, by_mean, by_sd

    score = scores(deep)
    np.testing.assert_allclose(score.values(U), scores(log_ei).values(U) - 5000.0, rtol=1e-12)
    np.testing.assert_allclose(score.gradient(U)[1], scores(log_ei).gradient(U)[1], rtol=1e-9)


@pytest.mark.parametrize("acquisition", [*PLAIN, *LOGARITHMS])
@pytest.mark.parametrize("weights", [WEIGHTS, (1.0,)])
def test_the_gradient_of_unequal_weights_is_the_difference_quotient(
    acquisition: Acquisition, weights: tuple[float, ...]
) -> None:
    score = scores(acquisition, weights)
    _, gradient = score.gradient(U)
    for u, got in zip(U, gradient, strict=True):
        wanted = slope(lambda u: float(score.values(u[None, :])[0]), u)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


# a fit of one's own


@dataclass(frozen=True)
class Weighted:
    """Two models: one that finds a bump at the left, one at the right; weights as given."""

    left: float

    def __call__(self, data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        prior = GP(SquaredExponential(), np.array([0.15, 10.0]), 1.0, 1e-4)
        sides = [prior.condition(Data([[x, 0.5]], [3.0])) for x in (0.1, 0.9)]
        return Beliefs(tuple(sides), (self.left, 1.0 - self.left))


def middle() -> History:
    return History.of(Data([[0.5, 0.2], [0.5, 0.5], [0.5, 0.8]], [0.0, 0.1, 0.0]), NOWHERE, NOWHERE)


@pytest.mark.parametrize("acquisition", [ei, log_ei, UCB(1.0)])
def test_unequal_weights_of_a_fit_of_ones_own_are_respected(acquisition: Acquisition) -> None:
    space = Space(PLANE)
    for left, side in ((0.9, 0.1), (0.1, 0.9)):
        recipe = replace(BASE, fit=Weighted(left), acquisition=acquisition, outcome=outcome.raw)
        point = suggest.suggest(space, recipe, middle(), (0, 3))
        assert abs(point[0] - side) < 0.2, (left, point)


@pytest.mark.parametrize("name", ["default", "neighbours", "paper"])
def test_a_belief_of_ones_own_is_enough_for_every_part(name: str) -> None:
    belief: Belief = Flat(smooth(4, 2, seed=0))
    assert belief.noise == 1e-3
    recipe = {
        "default": BASE,
        "neighbours": replace(BASE, pseudo=NEIGHBOURS),
        "paper": replace(Recipe.paper("ucb"), initial=initial.Uniform(3)),
    }[name]
    opt = Optimizer(PLANE, recipe=replace(recipe, fit=flat))
    for number in range(6):
        opt.tell(opt.ask(), float(number))
    away = np.abs(opt.space.encode(opt.ask().params) - 0.5).max()
    assert away > 0.3  # its doubt is largest at the walls


@pytest.mark.parametrize(
    "returned",
    [None, (), (GP(Matern52(), np.array([0.3])),), "beliefs", GP(Matern52(), np.array([0.3])), posterior()],
    ids=lambda returned: type(returned).__name__,
)
def test_a_fit_that_returns_something_else_is_named(returned: Any) -> None:
    def mistaken(data: Data, kernel: Kernel, rng: np.random.Generator) -> Any:
        return returned

    with pytest.raises(RecipeError, match=r"mistaken.* must return Beliefs, got"):
        believe(smooth(4, 2, seed=0), replace(BASE, fit=mistaken))
    assert len(model._models) == 0


# what is remembered


def told(recipe: Recipe, count: int, **settings: Any) -> Optimizer:
    opt = Optimizer(PLANE, recipe=recipe, **settings)
    for _ in range(count):
        trial = opt.ask()
        opt.tell(trial, float(np.sin(5.0 * trial.params["a"]) + trial.params["b"]))
    return opt


def test_a_batch_is_fitted_once_and_a_tell_fits_again() -> None:
    fit = Counted()
    opt = told(replace(BASE, fit=fit), 6)
    fit.calls.clear()
    batch = opt.ask(20)
    assert fit.calls == [6]
    opt.fail(batch[0], "no value: nothing new to believe")
    opt.ask()
    assert fit.calls == [6]
    opt.tell(batch[1], 0.5)
    opt.ask(2)
    assert fit.calls == [6, 7]
    for seed in (0, 1):  # nor does another optimizer of the same data
        Optimizer(PLANE, seed=seed, recipe=replace(BASE, fit=fit), trials=opt.trials).ask()
    assert fit.calls == [6, 7]


def changed() -> Iterator[tuple[str, Data, Recipe]]:
    data, fit = smooth(6, 2, seed=0), Counted(calls=[])
    recipe = replace(BASE, fit=fit)
    nudged = data.y.copy()
    nudged[3] = np.nextafter(nudged[3], 9.0)
    yield "y by a bit", Data(data.X, nudged, data.noise), recipe
    moved = data.X.copy()
    moved[0, 0] = np.nextafter(moved[0, 0], 9.0)
    yield "X by a bit", Data(moved, data.y, data.noise), recipe
    yield "noise", Data(data.X, data.y, 1e-3), recipe
    yield "order", data[np.arange(6)[::-1]], recipe
    yield "fewer", data[:5], recipe
    yield "more", data + data[:1], recipe
    yield "shape", Data(data.X.reshape(-1, 1), np.tile(data.y, 2), 0.0), recipe
    yield "kernel", data, replace(recipe, kernel=SquaredExponential())
    yield "setting of the kernel", data, replace(recipe, kernel=Matern52(ard=False))
    yield "outcome", data, replace(recipe, outcome=outcome.standardised)
    yield "setting of the fit", data, replace(recipe, fit=Counted(MAP(noise=1e-2), fit.calls))
    yield "fit", data, replace(recipe, fit=SliceSampling(samples=2, burn_in=1))
    yield "a lambda", data, replace(recipe, fit=lambda *given: fit(*given))
    yield "another lambda", data, replace(recipe, fit=lambda *given: fit(*given))


@pytest.mark.parametrize("what", [what for what, _, _ in changed()])
def test_another_recipe_or_other_data_are_not_confused(what: str) -> None:
    data, recipe = smooth(6, 2, seed=0), replace(BASE, fit=Counted())
    first = believe(data, recipe)
    ((other_data, other_recipe),) = [(d, r) for name, d, r in changed() if name == what]
    other = believe(other_data, other_recipe)
    assert other is not first
    alone = forgotten(other_data, other_recipe)
    probes = np.random.default_rng(0).random((5, other_data.X.shape[1]))
    np.testing.assert_array_equal(other.beliefs(probes), alone.beliefs(probes))
    assert believe(data, recipe) is first


def forgotten(data: Data, recipe: Recipe) -> model.Model:
    """What is believed where nothing is remembered."""
    kept = model._models, fitted._fits
    model._models, fitted._fits = Memory(REMEMBERED), Memory(fitted.REMEMBERED)
    try:
        return believe(data, recipe)
    finally:
        model._models, fitted._fits = kept


def test_equal_data_in_new_arrays_and_parts_that_do_not_matter_share_a_belief() -> None:
    data, fit = smooth(6, 2, seed=0), Counted()
    first = believe(data, replace(BASE, fit=fit))
    for other in (
        replace(BASE, fit=fit, acquisition=ei),
        replace(BASE, fit=fit, initial=initial.Uniform(9)),
        replace(BASE, fit=fit, pseudo=NEIGHBOURS),
        replace(BASE, fit=Counted(calls=fit.calls)),
    ):
        assert believe(Data(np.asfortranarray(data.X), data.y.copy(), list(data.noise)), other) is first
    assert fit.calls == [6]


def test_few_models_are_kept_and_a_large_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor of n points has n^2 numbers: 200 MB where n is 5000."""
    monkeypatch.setattr(model, "LARGE", 20)
    for n in range(20 - REMEMBERED, 21):
        believe(smooth(n, 2, seed=0), BASE)
    assert len(model._models) == REMEMBERED
    for n in (21, 22):
        believed = believe(smooth(n, 2, seed=0), BASE)
        assert len(model._models) == 1
    assert believe(smooth(22, 2, seed=0), BASE) is believed


@pytest.mark.parametrize(
    "recipe",
    [BASE, replace(BASE, fit=SliceSampling(samples=2, burn_in=1, thinning=1)), Recipe.paper("ei")],
    ids=["default", "bayesian", "paper"],
)
def test_suggestions_are_the_same_with_and_without_memory(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    opt = told(recipe, 7)
    with_memory = [trial.params for trial in opt.ask(4)]
    twin = told(recipe, 7)
    without = []
    for _ in range(4):
        monkeypatch.setattr(model, "_models", Memory(REMEMBERED))
        fitted.forget()
        without.append(twin.ask().params)
    assert with_memory == without


def test_threads_may_believe_at_once() -> None:
    sets = [smooth(6, 2, seed=seed) for seed in range(6)]
    wanted = [forgotten(data, BASE).beliefs(U) for data in sets]
    wrong: list[object] = []

    def work(first: int) -> None:
        try:
            for step in range(12):
                number = (first + step) % len(sets)
                got = believe(sets[number], BASE).beliefs(U)
                if not np.array_equal(got, wanted[number]):
                    wrong.append(number)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(model._models) <= REMEMBERED


def test_what_an_acquisition_computes_once_is_not_that_of_the_policy() -> None:
    """Each has its own posterior, with and without pseudo-points."""
    seen: list[tuple[str, float]] = []

    def peak(known: Known) -> float:
        return float(known.posterior(np.full((1, 2), 0.5))[1][0])

    def policy(known: Known) -> Data:
        seen.append(("policy", known.once(peak)))
        return Data([[0.5, 0.5]], [0.0])

    def score(mean: Array, sd: Array, known: Known) -> Array:
        seen.append(("score", known.once(peak)))
        return mean + sd

    data = Data(smooth(6, 2, seed=0).X * 0.2, smooth(6, 2, seed=0).y)
    recipe = replace(BASE, pseudo=policy, acquisition=score)
    suggest.suggest(Space(PLANE), recipe, History.of(data, NOWHERE, NOWHERE), (0, 6))
    (before,) = {sd for who, sd in seen if who == "policy"}
    (after,) = {sd for who, sd in seen if who == "score"}
    assert after < 0.5 * before


def test_a_generator_is_fresh_for_each_call_and_what_is_computed_once_is_kept() -> None:
    seen = known(smooth(4, 2, seed=0), seed=5)
    assert seen.generator().random() == seen.generator().random()
    assert seen.generator("a").random() == seen.generator("a").random()
    names = ["", "a", "b", "ab", "é", "a" * 1000]
    assert len({seen.generator(name).random() for name in names}) == len(names)
    assert seen.generator("a").random() != known(smooth(4, 2, seed=0), seed=6).generator("a").random()

    calls: list[str] = []

    def one(known: Known) -> None:
        calls.append("one")

    assert [seen.once(one), seen.once(one)] == [None, None]
    assert calls == ["one"]  # for each function and each `Known`
    replace(seen, t=2).once(one)
    assert calls == ["one", "one"]


# noise that is told


def observed(
    noise: Any, recipe: Recipe = BASE, a: float = 1.0, b: float = 0.0, direction: Any = None
) -> Optimizer:
    """Eight observations of a loss, each with its noise, in the unit a y + b."""
    opt = Optimizer(PLANE, direction, recipe=recipe)
    data = peaked(8, 2, seed=1)
    for x, y, sd in zip(data.X, data.y, np.broadcast_to(noise, 8), strict=True):
        params = {"a": float(x[0]), "b": float(x[1])}
        opt.observe(params, b - a * float(y), None if sd == 0.0 else abs(a) * float(sd))
    return opt


SDS = np.array([0.0, 0.5, 0.0, 1.0, 0.2, 0.0, 0.1, 0.3])


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_told_noise_is_the_variance_of_the_data(direction: Any) -> None:
    a = 1.0 if direction == "minimize" else -1.0  # of the negative, with the same noise
    opt = observed(SDS, direction=direction, a=a)
    np.testing.assert_allclose(opt.result.history().data.noise, SDS**2, rtol=1e-12)
    assert opt.ask().params == observed(SDS).ask().params
    zero = Optimizer(PLANE, recipe=BASE)
    zero.observe({"a": 0.5, "b": 0.5}, 1.0, noise=0.0)
    assert zero.result.history().data.noise.tolist() == [0.0]


@pytest.mark.parametrize("way", [outcome.raw, outcome.standardised, outcome.power])
def test_a_told_noise_changes_what_is_believed_as_that_of_data_does(way: Any) -> None:
    recipe = replace(BASE, outcome=way)
    history = observed(SDS, recipe).result.history()
    got = believe(history.data, recipe)
    np.testing.assert_allclose(got.data.noise, got.scale.noise(history.data.y, SDS**2), rtol=1e-12)
    by_hand = recipe.fit(
        Data(history.data.X, got.scale(history.data.y), got.scale.noise(history.data.y, SDS**2)),
        recipe.kernel,
        np.random.default_rng(0),
    )
    np.testing.assert_allclose(got.beliefs(U), by_hand(U), rtol=1e-9)
    silent = believe(observed(0.0, recipe).result.history().data, recipe)
    assert np.abs(got.beliefs(U)[0] - silent.beliefs(U)[0]).max() > 0.05


def test_repeated_noisy_measurements_are_averaged_by_their_noise() -> None:
    """Ten values of one point, far from all others: the mean is their average weighted by 1 / variance."""
    rng = np.random.default_rng(0)
    sds = rng.uniform(0.2, 2.0, 10)
    y = 1.0 + sds * rng.standard_normal(10)
    recipe = replace(BASE, fit=MAP(variance=1e3, noise=1e-8, lengthscale=(0.05, 0.05)), outcome=outcome.raw)
    opt = Optimizer(PLANE, "maximize", recipe=recipe)
    for value, sd in zip(y, sds, strict=True):
        opt.observe({"a": 0.5, "b": 0.5}, float(value), noise=float(sd))
    belief = believe(opt.result.history().data, recipe).beliefs
    mean, sd = belief(np.array([[0.5, 0.5]]))
    precision = (1.0 / sds**2).sum()
    assert mean[0] == pytest.approx((y / sds**2).sum() / precision, rel=1e-3)
    assert sd[0] == pytest.approx(1.0 / np.sqrt(precision), rel=1e-3)


@pytest.mark.parametrize("way", [outcome.standardised, outcome.power])
def test_the_unit_and_the_origin_of_noisy_values_do_not_matter(way: Any) -> None:
    """Guarantee 4 with noise; a power of two rounds nothing."""
    recipe, space = replace(BASE, outcome=way), Space(PLANE)
    plain = observed(SDS, recipe).ask().params
    assert plain != observed(0.0, recipe).ask().params
    for exponent in (-40, 60):
        assert observed(SDS, recipe, a=2.0**exponent).ask().params == plain
    for a, b in ((3.7, 0.0), (1.0, 100.0), (1e-5, -2.0)):
        asked = observed(SDS, recipe, a, b).ask().params
        np.testing.assert_allclose(space.encode(asked), space.encode(plain), atol=1e-4)


def test_the_noise_of_a_bent_outcome_is_that_of_drawn_values() -> None:
    """A small noise, bent with the values: 200,000 draws around each observation, to 2 %."""
    y = np.exp(np.random.default_rng(0).normal(size=30))
    scale = outcome.power(y)
    assert scale.power != 1.0
    sd = 0.01 * y
    drawn = scale(y + sd * np.random.default_rng(1).standard_normal((200_000, 30)))
    np.testing.assert_allclose(np.sqrt(scale.noise(y, sd**2)), drawn.std(axis=0), rtol=0.02)


def test_the_noise_of_a_constraint_is_not_that_of_the_objective() -> None:
    opt = Optimizer(Problem(PLANE, {"error": "minimize"}, [AtMost("memory", 1.0)]), recipe=BASE)
    opt.observe({"a": 0.5, "b": 0.5}, {"error": 1.0, "memory": 0.5}, noise={"memory": 3.0})
    history = opt.result.history()
    np.testing.assert_array_equal(history.data.noise, [0.0])
    np.testing.assert_array_equal(history.noise, [[0.0, 9.0]])
