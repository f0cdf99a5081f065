from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import multivariate_normal

from bopp import Choice, Float, Int, Optimizer, Problem, Recipe
from bopp import outcome as outcomes
from bopp.acquisition import MES, UCB, ei, log_ei, pi
from bopp.belief import Beliefs
from bopp.data import Array, Data, History
from bopp.fit import UNTRENDED, MaximumLikelihood, SliceSampling
from bopp.gp import GP, Posterior
from bopp.initial import Sobol
from bopp.kernels import Kernel, Matern52
from bopp.knowledge import apply_knowledge, favour, images_of, twins_of
from bopp.knowledge.account import Account, weighed
from bopp.knowledge.expectation import show
from bopp.knowledge.resemblance import (
    FACTOR,
    LEAST_FACTOR,
    SHIFT,
    _combined,
    _marginal,
    _with_trend,
    add_trends,
)
from bopp.knowledge.symmetry import FEWEST_IMAGES, FITTED, Seen, _foretold, _most_telling, _some
from bopp.memory import Memory
from bopp.model import believe, learn
from bopp.pseudo import Cheap, Earlier, Failed, Guesses, Images, Limits, Pending, Source, Sum
from bopp.score import AverageScore
from bopp.search import Gradients
from bopp.space import Space
from bopp.suggest import suggest
from bopp.trend import Resemblance, Trend, Trended
from support.recipes import SOURCES
from support.toys import KERNELS, flat, known, slope, smooth

PLANE = Space({"a": Float(0, 1), "b": Float(0, 1)})
NOWHERE = np.empty((0, 2))
U = np.random.default_rng(6).random((6, 2))
SEARCH = Gradients(60, 30, 4, 15)
BASE = Recipe(search=SEARCH)
EVERYTHING = Sum((Pending(), Failed(), *SOURCES.values()))
RECIPES = {
    "default": BASE,
    "bayesian": replace(BASE, fit=SliceSampling(samples=2, burn_in=1, thinning=1)),
    "ucb": replace(BASE, acquisition=UCB()),
    "mes": replace(BASE, acquisition=MES(5)),
    "ei": replace(BASE, acquisition=ei),
    "pi": replace(BASE, acquisition=pi),
    "raw": replace(BASE, outcome=outcomes.raw),
    "standardised": replace(BASE, outcome=outcomes.standardised),
    "paper ucb": Recipe.paper("ucb", evaluations=25),
    "paper pi": Recipe.paper("pi", tau0=0.0, evaluations=25),
    "paper ei": Recipe.paper("ei", tau0=None, evaluations=25),
    "random": Recipe.random(),
}


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered of what was computed so far."""
    monkeypatch.setattr("bopp.model._models", Memory(4))
    monkeypatch.setattr("bopp.model._relatives", Memory(8))


def plane(n: int = 8, pending: int = 0, failed: int = 0, sign: float = 1.0) -> History:
    X = np.random.default_rng(3).random((n + pending + failed, 2))
    y = np.sin(3.0 * X[:n, 0]) + X[:n, 1] ** 2
    history = History.of(Data(X[:n], y), X[n : n + pending], X[n + pending :])
    return replace(history, signs=(sign,))


def knowing(recipe: Recipe, *sources: Any) -> Recipe:
    return replace(recipe, pseudo=Pending() + Failed() + Sum(sources))


# the Gaussian process


def gaussian(gp: GP, data: Data) -> Any:
    """The joint density of the values of data, before any of them is seen."""
    A = gp.covariance(data.X, data.X)[0] + np.diag(gp.noise + data.noise)
    return multivariate_normal(np.zeros(len(data)), A)


def process(kernel: Kernel = KERNELS[1]) -> GP:
    return GP(kernel, np.array([0.4, 0.6]), 1.2, 1e-2)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [0.0, 0.2, [0.0, 0.1, 1.0, 5.0, 0.0, 2.0]])
def test_agreement_is_the_difference_of_two_log_densities(kernel: Kernel, noise: Any) -> None:
    data, gp = smooth(8, 2, seed=1), process(kernel)
    points = Data(U, np.linspace(-1.0, 2.0, 6), noise)
    both = data + points
    wanted = gaussian(gp, both).logpdf(both.y)
    wanted -= gaussian(gp, data).logpdf(data.y) + gaussian(gp, points).logpdf(points.y)
    assert gp.condition(data).agreement(points) == pytest.approx(wanted, rel=1e-7, abs=1e-8)
    assert gp.condition(points).agreement(data) == pytest.approx(wanted, rel=1e-7, abs=1e-8)
    vague = Data(U, np.linspace(-9.0, 9.0, 6), 1e12)  # neither agrees nor disagrees
    assert gp.condition(data).agreement(vague) == pytest.approx(0.0, abs=1e-6)
    assert gp.condition(data).agreement(Data.empty(2)) == 0.0


def test_the_inverse_is_that_of_the_noisy_covariance() -> None:
    data, gp = smooth(8, 2, seed=1), process()
    A = gp.covariance(data.X, data.X)[0] + gp.noise * np.eye(8)
    inverse = gp.condition(data).inverse
    np.testing.assert_allclose(inverse @ A, np.eye(8), atol=1e-9)
    assert np.array_equal(inverse, inverse.T)
    grown = gp.condition(data[:5]).condition(data[5:])
    np.testing.assert_allclose(grown.inverse, inverse, rtol=1e-7, atol=1e-8)
    assert grown.evidence == pytest.approx(gp.log_likelihood(data), rel=1e-9)


# symmetry


def foretold_naively(gp: GP, data: Data, images: Data, rows: npt.NDArray[np.intp]) -> float:
    """Each value from a model that has seen all other values, and the images of these, and no more."""
    total = 0.0
    for place in range(len(data)):
        others = data[np.flatnonzero(np.arange(len(data)) != place)]
        belief = gp.condition(others + images[np.flatnonzero(rows != place)])
        (mean,), (sd,) = belief(data.X[place : place + 1])
        variance = sd**2 + gp.noise + data.noise[place]
        total -= 0.5 * ((data.y[place] - mean) ** 2 / variance + math.log(2.0 * math.pi * variance))
    return total


@pytest.mark.parametrize(
    "source",
    [
        Images(exchange=("a", "b")),
        Images(exchange=("a", "b"), mirror={"a": 0.3}),
        Images(period={"a": 0.7}),
        Images(equal=lambda p: [dict(p, a=1.0 - p["a"])] * (1 + (p["a"] > 0.5))),
    ],
)
def test_values_are_foretold_as_by_leaving_each_of_them_out(source: Images) -> None:
    data = smooth(9, 2, seed=4)
    data = Data(data.X, data.y, np.linspace(0.0, 0.3, 9))
    images, rows = images_of(source, PLANE, data)
    assert len(images) > 5
    assert np.array_equal(images.y, data.y[rows])
    assert np.array_equal(images.noise, data.noise[rows])
    models = process(), GP(Matern52(), np.array([0.8, 0.3]), 0.7, 1e-3)
    beliefs = Beliefs.even([gp.condition(data) for gp in models])
    wanted = np.mean([foretold_naively(gp, data, images, rows) for gp in models])
    assert _foretold(beliefs, Seen.of(data).with_images(images, rows, 0.0)) == pytest.approx(wanted, rel=1e-6)
    mean, sd = models[0].condition(data).leave_one_out()
    wanted = -0.5 * np.sum(((data.y - mean) / sd) ** 2 + np.log(2.0 * np.pi * sd**2))
    found = _foretold(Beliefs.even([models[0].condition(data)]), Seen.of(data))
    assert found == pytest.approx(wanted, rel=1e-9)


def test_images_of_several_sources_are_combined() -> None:
    one, two = Images(mirror={"a": 0.5}), Images(mirror={"b": 0.5})
    x = np.array([[0.1, 0.3]])
    found = twins_of([one, two], PLANE, x)
    np.testing.assert_allclose(
        sorted(found.tolist()), sorted([[0.9, 0.3], [0.1, 0.7], [0.9, 0.7]]), atol=1e-12
    )
    assert twins_of([Limits(at_least=0.0)], PLANE, x).shape == (0, 2)
    assert twins_of([], PLANE, x).shape == (0, 2)
    assert twins_of([one, two], PLANE, NOWHERE).shape == (0, 2)


def test_as_many_images_as_data_are_seen_and_all_of_the_best() -> None:
    space = Space({name: Float(0, 1) for name in "abcd"})
    data = smooth(40, 4, seed=0)
    images, rows = images_of(Images(exchange=tuple("abcd")), space, data)
    assert len(images) > 40 * 20
    kept, owners = _most_telling(data, images, rows)
    assert len(kept) == FEWEST_IMAGES
    assert np.array_equal(kept.y, data.y[owners])
    best = np.argsort(-data.y)[:4]
    assert all(np.sum(owners == place) == np.sum(rows == place) > 20 for place in best)
    few = images[:30], rows[:30]
    assert _most_telling(data, *few)[0] is few[0]


def test_a_fit_sees_all_points_and_images_of_each_in_turn() -> None:
    space = Space({name: Float(0, 1) for name in "abcd"})
    seen = Seen.of(smooth(16, 4, seed=0))
    both = seen.with_images(*images_of(Images(exchange=tuple("abcd")), space, seen.data), 0.0)
    some = _some(seen, both)
    assert len(some) == FITTED < len(both.data)
    assert np.array_equal(some.X[:16], seen.data.X)
    owners = [int(np.argmax(np.isclose(np.sort(seen.data.X), np.sort(x)).all(axis=1))) for x in some.X[16:]]
    assert set(np.bincount(owners, minlength=16)) == {4}
    few = seen.with_images(*images_of(Images(exchange=("a", "b")), space, seen.data), 0.0)
    assert len(_some(seen, few)) == len(few.data) == 32


TRUE_SYMMETRIES: list[tuple[Images, Callable[[Array], float]]] = [
    (Images(exchange=tuple("abcd")), lambda x: float(-np.cos(4.0 * x).sum() - ((x - 0.3) ** 2).sum())),
    (
        Images(mirror={"a": 0.4, "b": 0.4}),
        lambda x: float(-4.0 * ((x - 0.4) ** 2)[:2].sum() - np.sin(5.0 * x[2]) - x[3] ** 2),
    ),
]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("source", "f"), TRUE_SYMMETRIES, ids=["exchange", "mirror"])
def test_a_true_symmetry_is_trusted_whatever_the_fit_makes_of_many_images(
    source: Images, f: Callable[[Array], float], seed: int
) -> None:
    rng, space = np.random.default_rng(seed), Space({name: Float(0, 1) for name in "abcd"})
    wide, near = rng.random((20, 4)), np.clip(0.4 + 0.2 * rng.standard_normal((20, 4)), 0.0, 1.0)
    for X in (np.vstack([wide[:10], near[:10]]), np.vstack([wide, near])):
        data = Data(X, np.array([f(x) for x in X]))
        recipe = Recipe(pseudo=Pending() + source)
        (account,) = learn(space, History.of(data, X[:0], X[:0]), recipe).accounts
        assert account.trust > 0.8


def test_the_trust_in_guessed_values_is_averaged_over_the_beliefs() -> None:
    data = smooth(12, 2, seed=0)
    shapes = [GP(Matern52(), np.array([length]), 1.0, 1e-4).condition(data) for length in (0.2, 0.9)]
    there = replace(known(data), space=PLANE)
    source = Guesses(values=[({"a": 0.9, "b": 0.1}, 1.5, 0.2)]).bind(Problem(PLANE))
    account = Account(source, 0.5, 0.0)
    each = [show(account, there, Beliefs.even([one]))[1] for one in shapes]
    assert abs(each[0].trust - each[1].trust) > 0.01
    for weights in ((0.8, 0.2), (0.3, 0.7)):
        _, both = show(account, there, Beliefs(tuple(shapes), weights))
        assert both.trust == pytest.approx(np.dot(weights, [one.trust for one in each]))
        assert both.worth == pytest.approx(np.dot(weights, [one.worth for one in each]))


# resemblance


def linear(n: int = 7) -> tuple[Data, Array]:
    data = smooth(n, 2, seed=5)
    values = np.column_stack([np.cos(2.0 * data.X[:, 0]), data.X.sum(axis=1)])
    return Data(data.X, data.y, np.linspace(0.0, 0.2, n)), values


@pytest.mark.parametrize("features", [1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_a_trend_is_weighed_by_the_density_with_its_factors_integrated_out(
    features: int, scale: float
) -> None:
    """y ~ N(V m, A + V S V^T), and the factors are those of ridge regression."""
    data, values = linear()
    values, gp = values[:, :features], process()
    posterior = gp.condition(Data(data.X, data.y / scale, data.noise / scale**2))
    line = _marginal(posterior, data, scale, values)
    V = np.column_stack([values, np.ones(len(data))])
    m = np.append(np.full(features, FACTOR[0] / features), 0.0)
    S = np.diag(np.append(np.full(features, FACTOR[1] ** 2), SHIFT**2))
    A = scale**2 * (gp.covariance(data.X, data.X)[0] + gp.noise * np.eye(len(data))) + np.diag(data.noise)
    wanted = multivariate_normal(V @ m, A + V @ S @ V.T).logpdf(data.y)
    assert line.evidence == pytest.approx(wanted, rel=1e-8)
    precision = V.T @ np.linalg.solve(A, V) + np.linalg.inv(S)
    ridge = np.linalg.solve(precision, V.T @ np.linalg.solve(A, data.y) + np.linalg.solve(S, m))
    np.testing.assert_allclose([*line.factors, line.shift], ridge, rtol=1e-8)


def fit(data: Data) -> Beliefs:
    settings = replace(MaximumLikelihood(), priors=UNTRENDED)
    return settings(data, Matern52(), np.random.default_rng(0))


def values(X: Array) -> Array:
    return np.asarray(np.sin(6.0 * X[:, 0] + 1.0) + np.cos(5.0 * X[:, 1]))


def measured(n: int = 12, sign: float = 1.0) -> Data:
    X = np.random.default_rng(8).random((n, 2))
    return Data(X, sign * values(X))


def resemblance(seed: int = 5, by: float = 1.0) -> Resemblance:
    """What is believed of another function, of which `by` is the same and the rest is not."""
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2))
    wrong = np.sin(9.0 * X @ rng.uniform(0.5, 1.5, 2) + 6.0 * rng.random())
    return Resemblance(
        process().condition(Data(X, by * values(X) + (1.0 - by) * wrong)), np.arange(2), outcomes.Scale()
    )


SAME, NOISY = Cheap([({"a": 0.0}, 0.0)] * 3), Earlier([("minimize", [({"a": 0.0}, 0.0)] * 3)], trust=0.9)


@pytest.mark.parametrize(
    ("by", "sign"), [(1.0, 1.0), (0.0, 1.0), (1.0, -1.0)], ids=["same", "other", "opposite"]
)
def test_a_resemblance_that_foretells_the_values_is_followed_and_another_is_not(
    by: float, sign: float
) -> None:
    data, trusted = measured(sign=sign), by == sign == 1.0
    plain = fit(data)
    beliefs, (account,) = add_trends(
        [Account(SAME, SAME.trust, 0.0)], [(resemblance(by=by),)], Seen.of(data), plain, fit
    )
    assert (account.trust > 0.9) == trusted
    assert (account.worth > 0.0) == trusted
    assert any(isinstance(belief, Trended) for belief in beliefs) or not trusted
    assert math.isclose(sum(beliefs.weights), 1.0)
    if sign < 0.0:
        assert (account.trust, account.worth) == (0.0, -math.inf)
        assert list(beliefs) == list(plain)


def test_images_have_no_say_in_what_a_resemblance_is_worth() -> None:
    """A stand-in differs between a point and its image, however good it is."""
    data = measured()
    images, rows = images_of(Images(exchange=("a", "b")), PLANE, data)
    both = Seen.of(data).with_images(images, rows, 0.0)
    (gp,) = (belief.gp for belief in fit(data) if isinstance(belief, Posterior))
    alone = add_trends([Account(SAME, 0.7, 0.0)], [(resemblance(),)], Seen.of(data), fit(data), fit)
    plain = Beliefs.even([gp.condition(both.data)])
    beliefs, (account,) = add_trends([Account(SAME, 0.7, 0.0)], [(resemblance(),)], both, plain, fit)
    assert account.worth == pytest.approx(alone[1][0].worth)
    assert all(len(belief.rest.data) == len(both.data) for belief in beliefs if isinstance(belief, Trended))


def test_what_a_second_source_is_worth_is_the_evidence_of_both_less_that_of_the_first() -> None:
    """Whatever the trust in the first; even odds for it add nothing."""
    data = measured()
    plain, one, two = fit(data), resemblance(by=0.9), resemblance(seed=9, by=0.8)
    (posterior,) = plain
    assert isinstance(posterior, Posterior)
    alone = _with_trend([Trend((one,), (1.0,))], Seen.of(data), plain, fit, (0,))
    both = _with_trend([Trend((one,), (1.0,)), Trend((two,), (1.0,))], Seen.of(data), plain, fit, (0, 1))
    assert alone is not None
    assert both is not None
    for trusts in ((0.5, 0.5), (0.6, 0.9), (0.99, 0.9)):
        sources = replace(SAME, trust=trusts[0]), replace(NOISY, trust=trusts[1])
        pair = [Account(source, source.trust, 0.0) for source in sources]
        _, accounts = add_trends(pair, [(one,), (two,)], Seen.of(data), plain, fit)
        assert accounts[1].worth == pytest.approx(both.evidence - alone.evidence)
        if trusts == (0.5, 0.5):
            assert accounts[0].worth == pytest.approx(alone.evidence - posterior.evidence)
    (belief,) = alone.beliefs
    assert isinstance(belief, Trended)
    assert min(belief.trend.factors) >= LEAST_FACTOR
    assert belief.trend.factors[0] == pytest.approx(1.0, abs=0.3)
    limits = [Account(Limits(at_least=-9.0), 0.99, 0.0)]  # which resemble nothing
    assert add_trends(limits, [()], Seen.of(data), plain, fit) == (plain, limits)


def test_of_many_resemblances_those_that_foretell_the_values_count() -> None:
    data = measured()
    terms = [resemblance(seed, by=0.0) for seed in range(4)]
    trend = _combined([*terms[:2], resemblance(), *terms[2:]], fit(data), data)
    assert len(trend.terms) <= 5
    assert sum(trend.factors) == pytest.approx(1.0)
    best = trend.terms[int(np.argmax(trend.factors))]
    np.testing.assert_allclose(best(U), resemblance()(U))
    assert max(trend.factors) > 0.9


@pytest.mark.parametrize("count", [1, 2, 49, 60])
def test_many_resemblances_alike_are_as_good_as_one(count: int) -> None:
    data = measured()
    trend = _combined([resemblance()] * count, fit(data), data)
    np.testing.assert_allclose(trend(U), resemblance()(U), rtol=1e-9)


# accounts


def test_what_agrees_is_taken_at_its_word_and_what_does_not_is_widened_or_ignored() -> None:
    assert weighed([3.0, 2.0, 1.0, 0.0], 0.7)[0] == 0
    assert weighed([-50.0, -9.0, 4.0, 2.0], 0.7)[0] == 2
    assert weighed([-50.0, -40.0, -30.0, -20.0], 0.7)[0] is None
    assert weighed([-50.0, -40.0, -30.0, -20.0], 0.7)[1] < 1e-6
    assert weighed([50.0], 0.7)[1] == pytest.approx(1.0)
    best, trust = weighed([-10.0, -1.0, 1.3, 1.2], 0.7)  # more likely right than not
    assert trust > 0.5
    assert best is not None


@pytest.mark.parametrize("trust", [0.01, 0.2, 0.5, 0.7, 0.97])
def test_trust_is_the_posterior_probability_of_not_being_ignored(trust: float) -> None:
    """That of the user where the values say nothing."""
    for levels in (1, 4):
        assert weighed([0.0] * levels, trust)[1] == pytest.approx(trust)
    agreements = np.array([-1.5, 0.7])
    prior = trust * np.array([0.75, 0.25])
    likely = float(np.sum(prior * np.exp(agreements)))
    assert weighed(agreements.tolist(), trust)[1] == pytest.approx(likely / (likely + 1.0 - trust))


# any source with any recipe


@pytest.mark.parametrize(
    "recipe",
    [
        *(knowing(BASE, source) for source in SOURCES.values()),
        *(replace(recipe, pseudo=EVERYTHING) for recipe in RECIPES.values()),
    ],
    ids=[*SOURCES, *(f"everything {name}" for name in RECIPES)],
)
def test_the_same_arguments_give_the_same_bits_and_the_history_stays(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = plane(6, pending=2, failed=1)
    before = [one.copy() for one in (history.X, history.values, history.noise)]
    first = suggest(PLANE, recipe, history, (3, 9))
    forget(monkeypatch)
    assert np.array_equal(first, suggest(PLANE, recipe, history, (3, 9)))
    assert np.all((first >= 0.0) & (first <= 1.0))
    assert not np.any(np.all(np.abs(history.X - first) < 1e-6, axis=1))
    assert history.twins is None
    for one, other in zip(before, (history.X, history.values, history.noise), strict=True):
        assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("y", [None, 0.0, -7.5])
def test_few_values_and_constant_ones_are_no_trouble(n: int, y: float | None) -> None:
    recipe = replace(BASE, pseudo=EVERYTHING, initial=Sobol(0))
    data = plane(n).data
    history = History.of(Data(data.X, data.y if y is None else np.full(n, y)), U[:1], U[1:2])
    u = suggest(PLANE, recipe, history, (0, n + 2))
    assert np.all((u >= 0.0) & (u <= 1.0))


UNITLESS = {
    name: source for name, source in SOURCES.items() if name not in ("expected", "at least", "between")
}


@pytest.mark.parametrize("source", UNITLESS.values(), ids=UNITLESS)
def test_a_unit_of_y_that_is_a_power_of_two_changes_no_bit(source: Source) -> None:
    data, recipe = plane().data, knowing(BASE, source)
    scaled = History.of(Data(data.X, np.ldexp(data.y, 7)), NOWHERE, NOWHERE)
    assert np.array_equal(suggest(PLANE, recipe, scaled, (0, 8)), suggest(PLANE, recipe, plane(), (0, 8)))


@pytest.mark.parametrize("unit", [2.0**-9, 2.0**12])
def test_values_and_limits_have_the_unit_of_y(unit: float) -> None:
    """With both in another unit, the suggestion is the same to the last bit."""
    data, found = plane().data, []
    for size in (1.0, unit):
        guess = Guesses(values=[({"a": 0.5}, 1.5 * size, 0.125 * size)])
        limits = Limits(-4.0 * size, 4.0 * size)
        history = History.of(Data(data.X, size * data.y), NOWHERE, NOWHERE)
        found.append(suggest(PLANE, knowing(BASE, guess, limits), history, (0, 8)))
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize(("a", "b"), [(3.7, 0.0), (1.0, 100.0)])
@pytest.mark.parametrize("name", ["exchange", "near", "less", "cheap"])
def test_unit_and_origin_of_y_do_not_matter(name: str, a: float, b: float) -> None:
    data, recipe = plane().data, knowing(Recipe.default(), SOURCES[name])
    moved = History.of(Data(data.X, a * data.y + b), NOWHERE, NOWHERE)
    wanted = suggest(PLANE, recipe, plane(), (0, 8))
    np.testing.assert_allclose(suggest(PLANE, recipe, moved, (0, 8)), wanted, atol=2e-3)


def test_what_is_learned_is_remembered() -> None:
    recipe, history = knowing(BASE, SOURCES["exchange"]), plane()
    assert learn(PLANE, history, recipe) is learn(PLANE, plane(), replace(recipe))
    assert learn(PLANE, history, recipe) is not learn(PLANE, replace(history, signs=(-1.0,)), recipe)
    assert learn(PLANE, history, recipe) is not learn(PLANE, plane(7), recipe)
    assert learn(PLANE, history, BASE) is believe(history.data, BASE)

    plain, taught = believe(history.data, BASE), learn(PLANE, history, replace(BASE, pseudo=EVERYTHING))
    assert taught.scale == plain.scale
    assert taught.data is plain.data
    assert [account.source for account in taught.accounts] == list(SOURCES.values())
    assert all(0.0 <= account.trust <= 1.0 for account in taught.accounts)

    silent = knowing(BASE, Source())  # it says nothing and changes nothing
    assert np.array_equal(suggest(PLANE, silent, history, (0, 8)), suggest(PLANE, BASE, history, (0, 8)))
    (account,) = learn(PLANE, history, silent).accounts
    assert (account.trust, account.worth, account.points) == (0.5, 0.0, None)


def test_a_fit_of_your_own_need_not_know_likelihoods() -> None:
    recipe = replace(BASE, pseudo=EVERYTHING, fit=flat)
    u = suggest(PLANE, recipe, plane(), (0, 8))
    assert np.all((u >= 0.0) & (u <= 1.0))
    accounts = learn(PLANE, plane(), recipe).accounts
    heeded = dict(zip(SOURCES, accounts, strict=True))
    for name in ("exchange", "cheap", "earlier"):
        assert (heeded[name].trust, heeded[name].worth) == (SOURCES[name].trust, 0.0)


def test_the_score_that_sources_favour_has_the_gradient_of_its_differences() -> None:
    seen = known(smooth(7, 2, seed=3))
    accounts = tuple(
        Account(SOURCES[name], trust, 0.0) for name, trust in (("near", 0.8), ("good", 0.4), ("cheap", 0.9))
    )
    for acquisition, multiplied in ((ei, True), (log_ei, False), (UCB(), False)):
        inner = AverageScore(acquisition, (seen,), (1.0,))
        score = AverageScore(acquisition, (replace(seen, space=PLANE),), (1.0,), accounts, 0.7)
        value, by_u = score.gradient(U)
        np.testing.assert_allclose(value, score.values(U), rtol=1e-9)
        wanted = [slope(lambda x, score=score: float(score.values(x[None, :])[0]), u) for u in U]  # type: ignore[misc]
        np.testing.assert_allclose(by_u, wanted, rtol=1e-4, atol=1e-6)
        favoured = favour(accounts, PLANE, U)
        assert favoured is not None
        density = favoured[0]
        plain = inner.values(U)
        promised = plain * np.exp(0.7 * density) if multiplied else plain + 0.7 * density
        np.testing.assert_allclose(value, promised, rtol=1e-9)
    ignored = favour([Account(SOURCES["near"], 0.0, 0.0), Account(SOURCES["cheap"], 1.0, 0.0)], PLANE, U)
    assert ignored is not None
    assert not any(part.any() for part in ignored)
    assert favour([Account(SOURCES["cheap"], 1.0, 0.0)], PLANE, U) is None


def test_a_batch_asked_at_once_lies_apart() -> None:
    knowledge = list(SOURCES.values())
    optimizer = Optimizer({"a": Float(0, 1), "b": Float(0, 1)}, knowledge=knowledge, recipe=BASE)
    for number, x in enumerate(np.random.default_rng(0).random((6, 2)).tolist()):
        trial = optimizer.observe({"a": x[0], "b": x[1]}, None if number == 5 else x[0] - x[1] ** 2)
        assert (trial.state == "failed") == (number == 5)
    asked = optimizer.ask(4)
    X = np.array([[trial.params["a"], trial.params["b"]] for trial in asked])
    apart = np.abs(X[:, None] - X[None, :]).max(axis=2) + np.eye(4)
    assert apart.min() > 1e-4


MIXED = Space({"x": Float(0.1, 10, log=True), "n": Int(1, 9), "m": Int(1, 9), "act": Choice(["p", "q", "r"])})
ROWS = [({"x": 0.1 * 1.5**i, "n": 1 + i % 9, "act": "pqr"[i % 3]}, i % 5) for i in range(11)]


def test_a_mixed_space_is_no_trouble() -> None:
    sources = (
        Images(exchange=("n", "m"), mirror={"x": 1.0}),
        Guesses(values=[({"act": "q"}, 0.5, 1.0)], near={"n": 3, "act": "p"}, good={"x": (1, 2)}, more="m"),
        Guesses(good={"act": ["q", "r"]}, less=["x", "n"]),
        Cheap(ROWS),
        Earlier([("maximize", ROWS), ("minimize", ROWS[:5])]),
        Limits(at_least=-50.0),
    )
    recipe = knowing(BASE, *(source.bind(Problem(MIXED)) for source in sources))
    X = MIXED.snap(np.random.default_rng(0).random((9, MIXED.dimension)))
    history = replace(History.of(Data(X[:7], X[:7, 0] - X[:7, 1]), X[7:8], X[8:]), signs=(-1.0,))
    for n in (7, 8, 9):
        u = suggest(MIXED, recipe, history, (0, n))
        assert np.array_equal(MIXED.snap(u[None, :])[0], u)
        history = History.of(history.data, np.vstack([history.pending, u]), history.failed)
        history = replace(history, signs=(-1.0,))
    assert len(np.unique(history.X, axis=0)) == 12


@pytest.mark.parametrize(
    "source",
    [
        Images(mirror={"a": 0.5}),
        Images(period={"a": 0.5}),
        Guesses(good={"a": (0.1, 0.3)}),
        Images(exchange=("a", "b")),
        Guesses(near={"a": 0.2}, more="a"),
        Guesses(values=[({"a": 0.2}, 1.0, 0.5)]),
        SOURCES["cheap"],
        SOURCES["earlier"],
        Limits(at_least=0.0),
    ],
    ids=str,
)
def test_params_that_are_settled_in_part_can_be_suggested_with_knowledge(source: Source) -> None:
    optimizer = Optimizer({"a": Float(0, 1), "b": Float(0, 1)}, knowledge=[source], recipe=BASE)
    for number in range(6):
        optimizer.enqueue({"a": 0.1 + 0.1 * number})
        trial = optimizer.tell(optimizer.ask(), 1.0 + number)
        assert trial.params["a"] == pytest.approx(0.1 + 0.1 * number)
    if isinstance(source, Cheap):
        assert len(source.relatives(PLANE.holding(PLANE.check_part({"a": 0.5})))) == 1


def test_each_stage_sees_what_is_believed_so_far() -> None:
    history = plane()
    seen = replace(known(history.data), space=PLANE)
    plain = fit(history.data)
    guess = Guesses(values=[({"a": 0.5, "b": 0.5}, 1.0, 0.2)])
    (belief,), accounts, ceiling = apply_knowledge(
        [Limits(-9.0, 9.0), guess], seen, plain, fit, lambda source: ()
    )
    assert isinstance(belief, Posterior)
    assert len(belief.data) == len(history.data) + 1
    assert ceiling == 9.0
    assert accounts[1].points is not None
    assert apply_knowledge([], seen, plain, fit, lambda source: ()) == (plain, (), math.inf)
