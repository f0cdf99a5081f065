"""Where to evaluate next: Algorithm 2 of the paper, and the recipes that fill in its parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from bopp import acquisition as acquisitions
from bopp import outcome as outcomes
from bopp import pseudo as policies
from bopp.acquisition import Acquisition, differentiated
from bopp.belief import Beliefs
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.fit import LENGTHSCALES, MAP, Fit, MaximumLikelihood
from bopp.initial import Initial, Sobol, Uniform
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.known import Known
from bopp.outcome import Outcome, Scale
from bopp.pseudo import Policy
from bopp.search import Direct, Gradients, Search, best_fresh
from bopp.space import Space
from bopp.threads import one_thread

REMEMBERED = 4  # how many of the latest models to keep
LARGE = 1000  # a model of more points than this takes so much memory that it is kept alone


@dataclass(frozen=True)
class Recipe:
    """The parts of Algorithm 2; each is a function that you may replace with your own."""

    kernel: Kernel = Matern52()
    fit: Fit = MAP()
    pseudo: Policy = policies.Pending() + policies.Failed()
    acquisition: Acquisition = acquisitions.log_ei
    search: Search = Gradients()
    initial: Initial = Sobol(5)
    outcome: Outcome = outcomes.power

    def __post_init__(self) -> None:
        for field in fields(self):
            part = getattr(self, field.name)
            if not callable(part) or isinstance(part, type):
                raise RecipeError(f"Recipe: {field.name} must be a function or an instance, got {part!r}")

    @staticmethod
    def default() -> Recipe:
        """The best recipe that we measured; docs/regret.md and docs/speed.md have the figures."""
        return Recipe()

    @staticmethod
    def random() -> Recipe:
        """No model: scrambled Sobol points, the baseline of every comparison."""
        return Recipe(initial=Sobol(math.inf))

    @staticmethod
    def paper(
        acquisition: Literal["ucb", "pi", "ei"],
        tau0: float | None = 0.001,
        evaluations: int = 100,
        shortest: float = 0.015,
    ) -> Recipe:
        """The paper's algorithm; tau0=None is plain BO, tau0=0 the control with exact duplicates.

        Raw y, k(x, x) = 1, noise variance 1e-4, ARD squared exponential, maximum likelihood, and DIRECT. The
        paper does not state DIRECT's `evaluations` or the `shortest` length-scale, in widths of the box;
        docs/reproduction.md explains how these were found.
        """
        scores: dict[str, Acquisition] = {
            "ucb": acquisitions.UCB(acquisitions.paper_beta),
            "pi": acquisitions.pi,
            "ei": acquisitions.ei,
        }
        if acquisition not in scores:
            raise RecipeError(f"Recipe.paper: wanted one of {list(scores)}, got {acquisition!r}")
        return Recipe(
            kernel=SquaredExponential(),
            fit=MaximumLikelihood(variance=1.0, noise=1e-4, lengthscale=(shortest, LENGTHSCALES[1])),
            pseudo=policies.none if tau0 is None else policies.Neighbours(tau0, doubt=False),
            acquisition=scores[acquisition],
            search=Direct(evaluations),
            initial=Uniform(5),
            outcome=outcomes.raw,
        )


@one_thread()
def suggest(space: Space, recipe: Recipe, history: History, key: tuple[int, int]) -> Array:
    """The next point of the cube to evaluate: Algorithm 2 of the paper, from the values so far to x_t.

    Pure: the same arguments give the same point. `key` is (seed of the study, number of the trial).
    """
    search_rng = np.random.default_rng([*key, 2])
    if len(history) < recipe.initial.size or len(history.data) == 0:
        first = space.snap(recipe.initial(space.dimension, *key)[None, :])
        return best_fresh(first, space, history.X, search_rng)

    t = max(1, len(history) + 1 - int(recipe.initial.size))
    model = believe(history.data, recipe)  # line 7: the model of the real data
    knowns = []
    for belief in model.beliefs:
        pending, failed = history.pending, history.failed
        known = Known(space, model.scale, model.data, belief, pending, failed, t, (*key, 1))
        pseudo = policies.generate(recipe.pseudo, known)  # line 3: generate pseudo-points
        knowns.append(replace(known, posterior=belief.condition(pseudo)))  # line 4: re-compute
    score = AverageScore(recipe.acquisition, tuple(knowns), model.beliefs.weights)
    return recipe.search(score, space, history, search_rng)  # line 5: argmax; pseudo-points stop here


@dataclass(frozen=True, eq=False)
class Model:
    """What is believed from real data and nothing else, in the unit of `scale`."""

    scale: Scale
    data: Data
    beliefs: Beliefs


@one_thread()
def believe(data: Data, recipe: Recipe) -> Model:
    """The model of the real data, which depends only on these and the recipe.

    It is remembered, so that a batch, a second worker or a plot of the same data does not fit it again.
    """
    global _remembered
    parts = (recipe.outcome, recipe.kernel, recipe.fit)
    content = (data.X.shape, data.X.tobytes(), data.y.tobytes(), data.noise.tobytes())
    for known_parts, known_content, model in _remembered:
        if known_content == content and _same(known_parts, parts):
            return model
    scale = recipe.outcome(data.y)
    real = Data(data.X, scale(data.y), scale.noise(data.y, data.noise))
    beliefs = recipe.fit(real, recipe.kernel, np.random.default_rng(len(data)))
    if not isinstance(beliefs, Beliefs):
        raise RecipeError(f"{recipe.fit!r} must return Beliefs, got {beliefs!r}")
    model = Model(scale, real, beliefs)
    others = _remembered[: REMEMBERED - 1] if len(data) <= LARGE else ()
    _remembered = ((parts, content, model), *others)
    return model


def _same(one: object, other: object) -> bool:
    """Whether parts are equal; parts that cannot be compared, such as those that hold arrays, are not."""
    try:
        return bool(one == other)
    except Exception:
        return False


_remembered: tuple[tuple[object, object, Model], ...] = ()  # never mutated: safe for threads and forks


@dataclass(frozen=True, eq=False)
class AverageScore:
    """The acquisition as a score over the cube, averaged over the beliefs by their weights."""

    acquisition: Acquisition
    knowns: tuple[Known, ...]
    weights: tuple[float, ...]

    def values(self, U: Array) -> Array:
        """The score (m,) at the rows of U."""
        rows = []
        for known in self.knowns:
            score = self.acquisition(*known.posterior(U), known)
            rows.append(np.asarray(score[0] if isinstance(score, tuple) else score, dtype=np.float64))
            if rows[-1].shape != U.shape[:1] or np.isnan(rows[-1]).all():
                raise RecipeError(f"the acquisition must return {len(U)} scores, got {score!r}")
        return self._average(rows)[0]

    def gradient(self, U: Array) -> tuple[Array, Array]:
        """The score (m,) and its gradient (m, d) at the rows of U."""
        rows, slopes = [], []
        for known in self.knowns:
            mean, sd, mean_slope, sd_slope = known.posterior.gradient(U)
            score, by_mean, by_sd = differentiated(self.acquisition, mean, sd, known)
            rows.append(score)
            slopes.append(by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope)
        score, shares = self._average(rows)
        return score, sum(share[:, None] * slope for share, slope in zip(shares, slopes, strict=True))

    def _average(self, rows: list[Array]) -> tuple[Array, Array]:
        """The average (m,) of the scores, and the share (s, m) of each in its gradient."""
        scores, weights = np.array(rows), np.array(self.weights)[:, None]
        if not acquisitions.is_logarithmic(self.acquisition):
            return (weights * scores).sum(axis=0), np.broadcast_to(weights, scores.shape)
        weighted = scores + np.log(weights)  # the logarithm of the average of exp(score)
        average = np.logaddexp.reduce(weighted, axis=0)
        return average, np.exp(weighted - average)
