"""Where to evaluate next: Algorithm 2 of the paper, and the recipes that fill in its parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from bopp import acquisition as acquisitions
from bopp import knowledge
from bopp import outcome as outcomes
from bopp import pseudo as policies
from bopp.acquisition import Acquisition
from bopp.belief import Beliefs
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.fit import LENGTHSCALES, MAP, Fit, LogNormal, MaximumLikelihood, Priors, telling
from bopp.fitted import LARGE, fitted
from bopp.gp import Posterior
from bopp.initial import Initial, Sobol, Uniform
from bopp.kernels import Kernel, Matern52, SquaredExponential
from bopp.known import Known
from bopp.memory import Memory
from bopp.outcome import Outcome, Scale
from bopp.pseudo import Policy, Source
from bopp.score import AverageScore
from bopp.search import SAME, Direct, Gradients, Search, best_fresh
from bopp.space import Space
from bopp.threads import one_thread
from bopp.trend import Resemblance

REMEMBERED = 4  # how many of the latest models to keep
MOST_RELATIVES = 8  # the same for sources of functions that resemble the objective
MOST_RESEMBLING = 240  # values of such a function that are looked at
FAVOUR = 10.0  # evaluations after which a word on where the best is has faded to an ordinary density
STARTS = 3  # points to begin with, at most


@dataclass(frozen=True)
class Recipe:
    """The parts of Algorithm 2; each is a function that you may replace with your own."""

    kernel: Kernel = Matern52()
    fit: Fit = MAP(
        Priors(trend=LogNormal(-3.0, 3.0)),
        largest=400,
        least_noise=1e-11,
        refit=0.1,
        tolerance=1e-3,
        seen=2000,
        second_noise=0.02,
    )
    pseudo: Policy = policies.Pending() + policies.Failed()
    acquisition: Acquisition = acquisitions.log_ei
    search: Search = Gradients(finalists=4, ample=200)
    initial: Initial = Sobol(5)
    outcome: Outcome = outcomes.power

    def __post_init__(self) -> None:
        for field in fields(self):
            part = getattr(self, field.name)
            if not callable(part) or isinstance(part, type):
                raise RecipeError(f"Recipe: {field.name} must be a function or an instance, got {part!r}")

    @staticmethod
    def default() -> Recipe:
        """The best recipe that we measured; docs/benchmarks.md has the figures, docs/decisions.md why."""
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
    if len(history) < recipe.initial.size or len(history.data) == 0:
        return designed(space, recipe, history, key)

    score = scored(space, recipe, history, key)
    history = avoiding_images(history, space, score.trusted)
    return recipe.search(score, space, history, _for_search(key))  # line 5: argmax; pseudo-points stop here


def scored(
    space: Space, recipe: Recipe, history: History, key: tuple[int, int], best: float | None = None
) -> AverageScore:
    """The acquisition after these trials; `best` is the value to improve on, if it is not the best of all."""
    model = learn(space, history, recipe)  # line 7: the model of the real data, and of what is known besides
    knowns = tuple(known for known, _ in shown(model, space, recipe, history, key, best))
    power = FAVOUR / len(history)
    return AverageScore(recipe.acquisition, knowns, model.beliefs.weights, model.accounts, power)


def shown(
    model: Model,
    space: Space,
    recipe: Recipe,
    history: History,
    key: tuple[int, int],
    best: float | None = None,
) -> Iterator[tuple[Known, Data]]:
    """What there is to know with each belief of the model, once it was shown pseudo-points, and these."""
    trusted = knowledge.trusted(model.accounts)
    pending, failed = (
        np.vstack([X, knowledge.twins_of(trusted, space.whole, X)]) for X in (history.pending, history.failed)
    )
    for belief in model.beliefs:
        known = Known(
            space,
            model.scale,
            model.data,
            belief,
            pending,
            failed,
            t=max(1, len(history) + 1 - int(min(recipe.initial.size, len(history)))),
            key=(*key, 1),
            sign=history.sign,
            incumbent=None if best is None else float(model.scale(np.array([best]))[0]),
            ceiling=model.ceiling,
        )
        pseudo = policies.generate(policies.without_sources(recipe.pseudo), known)  # line 3: pseudo-points
        yield replace(known, posterior=belief.condition(pseudo)), pseudo  # line 4: re-compute


def avoiding_images(history: History, space: Space, sources: tuple[Source, ...]) -> History:
    """The history, with the images of its points among those that are not to be suggested."""
    return replace(history, twins=knowledge.twins_of(sources, space.whole, history.X)) if sources else history


def designed(space: Space, recipe: Recipe, history: History, key: tuple[int, int]) -> Array:
    """The next point of the initial design, in which points that a source says to begin with come first."""
    sources = policies.sources(recipe.pseudo)
    history = avoiding_images(history, space, sources)
    point = _first(space, recipe, sources, history, key)
    return best_fresh(space.snap(point[None, :]), space, history, _for_search(key))


def starts(space: Space, sources: Sequence[Source], sign: float) -> list[Array]:
    """The points (d,) that sources say to begin with, with NaN in columns about which they say nothing."""
    return [start for source in sources for start in source.starts(space, sign)][:STARTS]


def _for_search(key: tuple[int, int]) -> np.random.Generator:
    return np.random.default_rng([*key, 2])


def _first(
    space: Space, recipe: Recipe, sources: tuple[Source, ...], history: History, key: tuple[int, int]
) -> Array:
    design = recipe.initial(space.dimension, *key)
    for start in starts(space, sources, history.sign):
        said = ~np.isnan(start)
        point = space.snap(np.where(said, start, design)[None, :])[0]
        if said.any() and not np.isclose(history.taken[:, said], point[said], atol=SAME).all(axis=1).any():
            return np.asarray(point)
    return design


@dataclass(frozen=True, eq=False)
class Model:
    """What is believed from real data, in the unit of `scale`, and from sources of knowledge, if any.

    No value can be above `ceiling`.
    """

    scale: Scale
    data: Data
    beliefs: Beliefs
    accounts: tuple[knowledge.Account, ...] = ()
    ceiling: float = math.inf


@one_thread()
def believe(data: Data, recipe: Recipe) -> Model:
    """The model of the real data, which depends only on these and the recipe.

    It is remembered, so that a batch, a second worker or a plot of the same data does not fit it again.
    """
    return _models(_fitting(recipe), _content(data), lambda: _believed(data, recipe), len(data) > LARGE)


@one_thread()
def learn(space: Space, history: History, recipe: Recipe) -> Model:
    """The model of the real data and of what the sources in the recipe say; remembered as in `believe`.

    Sources speak of all trials, so they are asked about the whole space even if some params are settled.
    """
    plain, sources, space = believe(history.data, recipe), policies.sources(recipe.pseudo), space.whole
    if not sources:
        return plain

    def fit(data: Data) -> Beliefs:
        return recipe.fit(data, recipe.kernel, np.random.default_rng(len(data)))

    def resembling(source: Source) -> tuple[Resemblance, ...]:
        if type(source).relatives is Source.relatives:
            return ()
        others = replace(recipe, outcome=outcomes.unsqueezed(recipe.outcome))  # they have units of their own
        parts = (*_fitting(others), source, space)
        found = _relatives(parts, history.sign, lambda: _resembling(source, space, others, history.sign))
        bent = [one.bent(plain.scale, plain.data) for one in found]
        return (*found, *(one for one in bent if one is not None))

    def learned() -> Model:
        nowhere = history.X[:0]
        known = Known(
            space,
            plain.scale,
            plain.data,
            plain.beliefs.beliefs[0],
            nowhere,
            nowhere,
            1,
            (len(plain.data),),
            history.sign,
        )
        lesson = knowledge.taught(sources, known, plain.beliefs, fit, resembling)
        return replace(plain, beliefs=lesson.beliefs, accounts=lesson.accounts, ceiling=lesson.ceiling)

    parts = (*_fitting(recipe), sources, space, history.sign)
    return _models(parts, _content(history.data), learned, len(history.data) > LARGE)


def _believed(data: Data, recipe: Recipe) -> Model:
    found = fitted(data, *_fitting(recipe))
    return Model(found.scale, found.data, found.beliefs)


def _resembling(source: Source, space: Space, recipe: Recipe, sign: float) -> tuple[Resemblance, ...]:
    """What is believed of the functions of a source that resemble the objective."""
    found = []
    for relative in source.relatives(space):
        data = Data(relative.X, (sign if relative.sign is None else relative.sign) * relative.y)
        model = _believed(data[telling(data.y, MOST_RESEMBLING)], recipe)
        belief = model.beliefs.beliefs[0]
        if isinstance(belief, Posterior):
            found.append(Resemblance(belief, relative.columns, model.scale))
    return tuple(found)


def _fitting(recipe: Recipe) -> tuple[Outcome, Kernel, Fit]:
    return recipe.outcome, recipe.kernel, recipe.fit


def _content(data: Data) -> tuple[object, ...]:
    return data.X.shape, data.X.tobytes(), data.y.tobytes(), data.noise.tobytes()


_models: Memory[Model] = Memory(REMEMBERED)
_relatives: Memory[tuple[Resemblance, ...]] = Memory(MOST_RELATIVES)
