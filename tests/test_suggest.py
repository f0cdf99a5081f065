from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

from bopp import Choice, Float, Int, Optimizer, acquisition
from bopp import outcome as outcomes
from bopp.acquisition import MES, UCB, Acquisition, Scores, ei, est, log_ei, paper_beta, pi
from bopp.belief import Beliefs
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.fit import MAP, SliceSampling
from bopp.gp import GP
from bopp.initial import Sobol, Uniform
from bopp.kernels import Kernel, SquaredExponential
from bopp.known import Known
from bopp.model import believe
from bopp.pseudo import Failed, Neighbours, Pending, Policy, none
from bopp.recipe import Recipe
from bopp.search import Direct, Gradients, Score
from bopp.space import Space
from bopp.suggest import suggest
from support.toys import data_of, gp_of, known, peaked

PLANE = Space({"a": Float(0, 1), "b": Float(0, 1)})
MIXED = Space({"x": Float(0, 1), "n": Int(1, 50), "act": Choice(["relu", "tanh", "elu"])})
NOWHERE = np.empty((0, 2))
BASE = replace(Recipe.default(), initial=Sobol(5))  # however many points the default may begin with
BAYESIAN = replace(BASE, fit=SliceSampling(samples=3, burn_in=2, thinning=1))
RECIPES = {
    "default": BASE,
    "bayesian": BAYESIAN,
    "neighbours": replace(BASE, pseudo=Neighbours()),
    "mes": replace(BASE, acquisition=MES()),
    "ucb": Recipe.paper("ucb"),
    "pi": Recipe.paper("pi", tau0=0.0),
    "ei": Recipe.paper("ei", tau0=None),
    "random": Recipe.random(),
}


def seen(data: Data) -> History:
    """Trials of the plane that all have a value."""
    return History.of(data, NOWHERE, NOWHERE)


def plane(n: int = 8, seed: int = 0) -> History:
    return seen(peaked(n, 2, seed))


def mixed(n: int = 8, seed: int = 0) -> History:
    """Trials of all states in the mixed space."""
    X = MIXED.snap(np.random.default_rng(seed).random((n + 3, MIXED.dimension)))
    y = np.sin(5.0 * X[:n, 0]) + X[:n, 1]
    return History.of(Data(X[:n], y), X[n : n + 2], X[n + 2 :])


def mirror(known: Known) -> Data:
    return Data(1.0 - known.data.X, known.data.y, 0.1)


def wild(known: Known) -> Data:
    rng = np.random.default_rng(0)
    return Data(rng.random((20, known.dimension)), 1e3 * rng.normal(size=20))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_same_arguments_give_the_same_bits_and_stay_as_they_were(recipe: Recipe) -> None:
    for space, make in ((PLANE, plane), (MIXED, mixed)):
        history, same = make(), make()
        first = suggest(space, recipe, history, (3, 8))
        assert np.array_equal(first, suggest(space, recipe, history, (3, 8)))
        assert first.shape == (space.dimension,)
        assert np.array_equal(space.snap(first[None, :])[0], first)
        for name in ("X", "values", "noise", "pending", "failed"):
            assert np.array_equal(getattr(history, name), getattr(same, name), equal_nan=True)


def draws(key: tuple[int, int], trials: int = 8) -> list[float]:
    """The first random number that fit, policy and search are given."""
    drawn = []

    def fit(data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        drawn.append(rng.random())
        return MAP()(data, kernel, rng)

    def policy(known: Known) -> Data:
        drawn.append(known.generator().random())
        return none(known)

    def search(score: Score, space: Space, history: History, rng: np.random.Generator) -> Array:
        drawn.append(rng.random())
        return np.zeros(2)

    suggest(PLANE, replace(BASE, fit=fit, pseudo=policy, search=search), plane(trials), key)
    return drawn


def test_policy_and_search_have_a_randomness_of_seed_and_number_and_a_fit_of_the_data_alone() -> None:
    """What is believed does not hang on who asks, so that it can be remembered for the next who does."""
    keys = [(0, 8), (0, 9), (1, 8), (8, 0)]
    assert all(draws(key) == draws(key) for key in keys)
    assert len({number for key in keys for number in draws(key)[1:]}) == 2 * len(keys)
    assert len({draws(key)[0] for key in keys} - {number for key in keys for number in draws(key)[1:]}) == 1
    assert draws((0, 8), trials=9)[0] != draws((0, 8))[0]


@pytest.mark.parametrize("recipe", [BASE, BAYESIAN, Recipe.paper("ucb"), Recipe.paper("ei")])
@pytest.mark.parametrize("seed", [0, 1])
def test_zero_pseudo_points_are_plain_optimization(recipe: Recipe, seed: int) -> None:
    plain = suggest(PLANE, replace(recipe, pseudo=none), plane(seed=seed), (seed, 8))
    nothing: list[Policy] = [
        Neighbours(per_point=0),
        Neighbours(count=lambda t: 0),
        Pending() + Failed(),
        none + none,
    ]
    for policy in nothing:
        found = suggest(PLANE, replace(recipe, pseudo=policy), plane(seed=seed), (seed, 8))
        assert np.array_equal(found, plain)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_duplicates_are_plain_optimization_with_half_the_noise(seed: int) -> None:
    """tau0 = 0 and DIRECT, which is deterministic: the same point."""
    paper = Recipe.paper("ucb", tau0=0.0)
    gp = fitted(paper, plane(seed=seed).data)
    duplicated = suggest(PLANE, paper, plane(seed=seed), (seed, 8))

    def halved(data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        return Beliefs.even([replace(gp, noise=gp.noise / 2).condition(data)])

    plain = suggest(PLANE, replace(paper, fit=halved, pseudo=none), plane(seed=seed), (seed, 8))
    np.testing.assert_allclose(duplicated, plain, atol=1e-6)


def fitted(recipe: Recipe, data: Data) -> GP:
    """The process of a recipe's only belief."""
    (belief,) = recipe.fit(data, recipe.kernel, np.random.default_rng(0))
    return gp_of(belief)


class Watch:
    """A policy and an acquisition that note what they were shown."""

    def __init__(self, policy: Policy, acquisition: Acquisition = log_ei) -> None:
        self.policy, self.inner = policy, acquisition
        self.shown: list[Known] = []
        self.scored: list[Known] = []

    def points(self, known: Known) -> Data:
        self.shown.append(known)
        return self.policy(known)

    def score(self, mean: Array, sd: Array, known: Known) -> Scores | Array:
        self.scored.append(known)
        return self.inner(mean, sd, known)

    def recipe(self, base: Recipe | None = None) -> Recipe:
        return replace(base or BASE, pseudo=self.points, acquisition=self.score)


def same_model(one: GP, other: GP) -> bool:
    return (
        one.kernel == other.kernel
        and np.array_equal(one.lengthscale, other.lengthscale)
        and one.variance == other.variance
        and one.noise == other.noise
        and one.trend == other.trend
    )


def test_fit_and_policy_see_the_real_data_and_an_acquisition_the_pseudo_points_too() -> None:
    model = believe(plane().data, BASE)
    scale, (plain,) = model.scale, model.beliefs
    watch = Watch(wild)
    for _ in range(2):  # pseudo-points are gone by the next suggestion
        suggest(PLANE, watch.recipe(), plane(), (0, 8))
    assert all(same_model(gp_of(seen.posterior), gp_of(plain)) for seen in (*watch.shown, *watch.scored))
    assert len(watch.shown) == 2
    for shown in watch.shown:
        assert len(shown.data) == len(data_of(shown.posterior)) == 8
        assert np.array_equal(shown.data.y, scale(plane().data.y))
    U = np.random.default_rng(1).random((20, 2))
    for scored in watch.scored:
        assert (len(scored.data), len(data_of(scored.posterior))) == (8, 28)
        assert scored.best == scale(plane().data.y).max()
        np.testing.assert_allclose(scored.posterior(U), plain.condition(wild(shown))(U), rtol=1e-12)


@pytest.mark.parametrize(("trials", "t"), [(5, 1), (6, 2), (12, 8)])
def test_iterations_count_from_one_after_the_initial_design(trials: int, t: int) -> None:
    watch = Watch(none)
    suggest(PLANE, watch.recipe(Recipe.paper("ucb")), plane(trials), (0, trials))
    assert {seen.t for seen in (*watch.shown, *watch.scored)} == {t}
    history = mixed(trials)  # with points that are pending and failed
    suggest(MIXED, watch.recipe(), history, (0, trials))
    assert np.array_equal(watch.shown[-1].pending, history.pending)
    assert np.array_equal(watch.shown[-1].failed, history.failed)
    assert np.array_equal(watch.scored[-1].pending, history.pending)


@pytest.mark.parametrize("outcome", [outcomes.power, outcomes.standardised])
@pytest.mark.parametrize("policy", [none, mirror])
@pytest.mark.parametrize("seed", [0, 1])
def test_algorithm_2_step_by_step(policy: Policy, seed: int, outcome: outcomes.Outcome) -> None:
    """The suggestion has a larger score than a thousand random points, on the posterior built by hand."""
    recipe = replace(BASE, pseudo=policy, acquisition=log_ei, search=Gradients(), outcome=outcome)
    history = plane(seed=seed)
    u = suggest(PLANE, recipe, history, (seed, 8))
    y = recipe.outcome(history.data.y)(history.data.y)
    real = Data(history.data.X, y)
    gp = fitted(recipe, real)
    before = known(real, gp)
    promised = replace(before, posterior=gp.condition(real + policy(before)))
    U = np.vstack([u, np.random.default_rng(5).random((1000, 2))])
    score = log_ei(*promised.posterior(U), promised)[0]
    assert np.argmax(score) == 0


def test_a_users_own_acquisition_may_return_the_score_alone() -> None:
    def alone(mean: Array, sd: Array, known: Known) -> Array:
        return mean + 2.0 * sd

    recipe = replace(BASE, acquisition=alone)
    own = suggest(PLANE, recipe, plane(), (0, 8))
    np.testing.assert_allclose(
        own, suggest(PLANE, replace(recipe, acquisition=UCB(4.0)), plane(), (0, 8)), atol=1e-3
    )


@pytest.mark.parametrize("n", [8, 23])  # 23: some values beyond a milestone
@pytest.mark.parametrize("a", [1e-100, 1e-10, 7e30, 1e100])
def test_a_unit_however_small_or_large_does_not_matter(a: float, n: int) -> None:
    data = plane(n).data
    wanted = suggest(PLANE, BASE, plane(n), (0, n))
    for b in (0.0, 3.0 * a):
        moved = seen(Data(data.X, a * data.y + b))
        np.testing.assert_allclose(suggest(PLANE, BASE, moved, (0, n)), wanted, atol=1e-4)


@pytest.mark.parametrize("acquisition", [pi, ei, log_ei, MES(), est, UCB()])
def test_one_value_that_towers_over_the_others_is_no_trouble(acquisition: Acquisition) -> None:
    X = np.random.default_rng(0).random((40, 2))
    y = 1e-3 * np.sin(X @ np.array([3.0, 4.0]))
    y[7] = 1.0
    for outcome in (outcomes.standardised, outcomes.power):
        recipe = replace(BASE, acquisition=acquisition, outcome=outcome)
        u = suggest(PLANE, recipe, History.of(Data(X, y), NOWHERE, NOWHERE), (0, 40))
        assert np.all((u >= 0.0) & (u <= 1.0))


def test_the_first_points_are_those_of_the_initial_design() -> None:
    points = []
    for n in range(6):
        history = seen(plane().data[:n])
        points.append(suggest(PLANE, Recipe.paper("ei"), history, (4, n)))
    design = [Uniform(5)(2, 4, n) for n in range(6)]
    assert np.array_equal(points[:5], design[:5])
    assert not np.array_equal(points[5], design[5])
    X = np.random.default_rng(0).random((9, 2))  # without a value the design goes on
    for history in (History.of(Data.empty(2), X, NOWHERE), History.of(Data.empty(2), NOWHERE, X)):
        assert np.array_equal(suggest(PLANE, Recipe.paper("ucb"), history, (4, 9)), Uniform()(2, 4, 9))


@pytest.mark.parametrize("seed", [0, 17])
def test_random_points_are_scipys_sobol_points(seed: int) -> None:
    sequence = qmc.Sobol(2, rng=np.random.default_rng(seed)).random(16)
    X = np.empty((0, 2))
    for number in range(16):
        history = History.of(Data(X, np.zeros(len(X))), NOWHERE, NOWHERE)
        X = np.vstack([X, suggest(PLANE, Recipe.random(), history, (seed, number))])
    assert np.array_equal(X, sequence)
    assert Recipe.random() == Recipe.random() != Recipe.default() == Recipe.default()
    assert Recipe.random().initial == Sobol(math.inf)


def test_a_bayesian_suggestion_averages_over_all_models() -> None:
    watch = Watch(Neighbours(), ei)
    suggest(PLANE, watch.recipe(BAYESIAN), plane(), (0, 8))
    lengthscales = {tuple(gp_of(seen.posterior).lengthscale) for seen in watch.shown}
    assert len(watch.shown) == len(lengthscales) == 3
    assert {tuple(gp_of(seen.posterior).lengthscale) for seen in watch.scored} == lengthscales


@pytest.mark.parametrize("name", ["ucb", "pi", "ei"])
def test_the_papers_recipes_have_the_papers_settings(name: Any) -> None:
    recipe = Recipe.paper(name, tau0=0.01)
    assert recipe.kernel == SquaredExponential(ard=True)
    assert isinstance(recipe.fit, MAP)
    assert recipe.fit.priors is None  # maximum likelihood
    assert (recipe.fit.variance, recipe.fit.noise) == (1.0, 1e-4)
    assert recipe.pseudo == Neighbours(0.01, shape="box", per_point=1, doubt=False)
    assert recipe.acquisition == {"ucb": UCB(paper_beta), "pi": pi, "ei": ei}[name]
    assert isinstance(recipe.search, Direct)
    assert recipe.initial == Uniform(5)
    assert recipe.outcome is outcomes.raw
    assert Recipe.paper(name).pseudo == Neighbours(0.001, doubt=False)
    assert Recipe.paper(name, tau0=None).pseudo == none
    assert Recipe.paper(name, evaluations=77).search == Direct(77)


@pytest.mark.parametrize("name", ["xyz", "UCB", "", None])
def test_an_unknown_recipe_of_the_paper_is_named(name: Any) -> None:
    with pytest.raises(RecipeError, match="ucb") as caught:
        Recipe.paper(name)
    assert repr(name) in str(caught.value)


def test_the_papers_ucb_maximises_the_papers_formula() -> None:
    """At its suggestion mean + sqrt(beta_t) sd is about as large as anywhere on a fine grid."""
    history, recipe = plane(12, seed=4), Recipe.paper("ucb", tau0=None, evaluations=2000)
    u = suggest(PLANE, recipe, history, (0, 12))
    (posterior,) = believe(history.data, recipe).beliefs
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)

    def bound(U: Array) -> Array:
        mean, sd = posterior(U)
        return mean + math.sqrt(paper_beta(8, 2)) * sd

    assert bound(u[None, :])[0] >= bound(grid).max() - 0.02 * np.ptp(bound(grid))


@pytest.mark.parametrize("field", ["kernel", "fit", "pseudo", "acquisition", "search", "initial", "outcome"])
@pytest.mark.parametrize("part", ["ei", None, MES])
def test_a_part_of_a_recipe_that_is_no_function_is_named_at_once(field: str, part: Any) -> None:
    with pytest.raises(RecipeError, match=field):
        replace(Recipe.default(), **{field: part})


@pytest.mark.parametrize("score", [1.0, np.zeros(2), lambda mean: np.full_like(mean, np.nan)])
def test_an_acquisition_that_gives_no_scores_is_refused_in_words(score: Any) -> None:
    def mistaken(mean: Array, sd: Array, known: Known) -> Any:
        return score(mean) if callable(score) else score

    recipe = replace(Recipe.default(), acquisition=mistaken)
    optimizer = Optimizer({"x": Float(0, 1)}, recipe=recipe)
    for x in np.linspace(0, 1, 6):
        optimizer.observe({"x": x}, x**2)
    with pytest.raises(RecipeError, match="scores"):
        optimizer.ask()


def test_a_score_of_yours_can_be_marked_as_a_logarithm() -> None:
    @acquisition.logarithmic
    def mine(mean: Array, sd: Array, known: Known) -> Array:
        return log_ei(mean, sd, known)[0]

    @acquisition.logarithmic
    @dataclass(frozen=True)
    class Mine:
        shift: float

        def __call__(self, mean: Array, sd: Array, known: Known) -> Array:
            return mine(mean, sd, known) + self.shift

    assert acquisition.is_logarithmic(log_ei)
    assert acquisition.is_logarithmic(mine)
    assert acquisition.is_logarithmic(Mine(2.0))
    once = UCB(2.0)
    assert acquisition.logarithmic(once) is once
    assert acquisition.is_logarithmic(once)
    assert not acquisition.is_logarithmic(UCB(2.0))
    assert not acquisition.is_logarithmic(ei)
