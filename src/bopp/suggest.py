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
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.fit import LENGTHSCALES, MAP, Fit, MaximumLikelihood
from bopp.gp import Posterior
from bopp.initial import Initial, Sobol, Uniform
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.known import Known
from bopp.outcome import Outcome, Scale
from bopp.pseudo import Policy
from bopp.search import Direct, Gradients, Search, best_fresh
from bopp.space import Space
from bopp.threads import one_thread


@dataclass(frozen=True)
class Recipe:
    """The parts of Algorithm 2; each is a function that may be replaced by one of your own."""

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
        """The best that was measured; docs/regret.md and docs/speed.md have the figures."""
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

        Raw y, k(x, x) = 1, noise variance 1e-4, ARD squared exponential, maximum likelihood, and DIRECT. Of
        its `evaluations` and of the `shortest` length-scale, in widths of the box, the paper says nothing;
        docs/reproduction.md tells how these were found.
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
    """The next point of the cube to evaluate: Algorithm 2 of the paper, from a told value to the next x_t.

    Pure: the same arguments give the same point. `key` is (seed of the study, number of the trial).
    """
    pseudo_rng, search_rng = (np.random.default_rng([*key, part]) for part in (1, 2))
    if len(history) < recipe.initial.size or len(history.data) == 0:
        first = space.snap(recipe.initial(space.dimension, *key)[None, :])
        return best_fresh(first, space, history.X, search_rng)

    t = max(1, len(history) + 1 - int(recipe.initial.size))
    scale, posteriors = believe(history, recipe, key)  # line 7: the model of the real data
    pending, failed = history.pending, history.failed
    beliefs = []
    for posterior in posteriors:
        known = Known(space, scale, posterior.data, posterior, pending, failed, t, pseudo_rng)
        pseudo = policies.generate(recipe.pseudo, known)  # line 3: generate pseudo-points
        beliefs.append(replace(known, posterior=posterior.condition(pseudo)))  # line 4: re-compute
    promise = Promise(recipe.acquisition, tuple(beliefs))
    return recipe.search(promise, space, history, search_rng)  # line 5: argmax; pseudo-points end here


@one_thread()
def believe(history: History, recipe: Recipe, key: tuple[int, int]) -> tuple[Scale, list[Posterior]]:
    """The models of the real data, fitted and conditioned on nothing else, and the scale of their values."""
    scale = recipe.outcome(history.data.y)
    X, y, noise = history.data.X, history.data.y, history.data.noise
    real = Data(X, scale(y), scale.noise(y, noise))
    models = recipe.fit(real, recipe.kernel, np.random.default_rng([*key, 0]))
    return scale, [gp.condition(real) for gp in models]


@dataclass(frozen=True, eq=False)
class Promise:
    """The acquisition as a score over the cube, averaged over the models."""

    acquisition: Acquisition
    beliefs: tuple[Known, ...]

    def values(self, U: Array) -> Array:
        """The score (m,) at the rows of U."""
        rows = []
        for known in self.beliefs:
            score = self.acquisition(*known.posterior(U), known)
            rows.append(np.asarray(score[0] if isinstance(score, tuple) else score, dtype=np.float64))
            if rows[-1].shape != U.shape[:1] or np.isnan(rows[-1]).all():
                raise RecipeError(f"the acquisition must return {len(U)} scores, got {score!r}")
        return self._average(rows)[0]

    def gradient(self, U: Array) -> tuple[Array, Array]:
        """The score (m,) and its gradient (m, d) at the rows of U."""
        rows, slopes = [], []
        for known in self.beliefs:
            mean, sd, mean_slope, sd_slope = known.posterior.gradient(U)
            score, by_mean, by_sd = differentiated(self.acquisition, mean, sd, known)
            rows.append(score)
            slopes.append(by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope)
        score, shares = self._average(rows)
        return score, sum(share[:, None] * slope for share, slope in zip(shares, slopes, strict=True))

    def _average(self, rows: list[Array]) -> tuple[Array, Array]:
        """The average of the models' scores, and the share (s, m) of each in its gradient."""
        count, scores = len(rows), np.array(rows)
        if acquisitions.is_logarithmic(self.acquisition):  # not the logarithm is averaged, but its number
            average = np.logaddexp.reduce(scores, axis=0) - math.log(count)
            return average, np.exp(scores - average) / count
        return scores.mean(axis=0), np.full_like(scores, 1.0 / count)
