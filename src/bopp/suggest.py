"""Where to evaluate next: Algorithm 2 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bopp import knowledge
from bopp import pseudo as policies
from bopp.data import Array, History
from bopp.goals import measured, seek
from bopp.pseudo import Source
from bopp.recipe import Recipe
from bopp.search import SAME, Score, best_fresh, ranked
from bopp.space import Space
from bopp.threads import one_thread

STARTS = 3  # points to begin with, at most
CANDIDATES = 500  # allowed points to choose from where a region has to be kept to


@one_thread()
def suggest(space: Space, recipe: Recipe, history: History, key: tuple[int, int]) -> Array:
    """The next point of the cube to evaluate: Algorithm 2 of the paper, from the values so far to x_t.

    Pure: the same arguments give the same point. `key` is (seed of the study, number of the trial).
    """
    if len(history) < recipe.initial.size or not measured(history):
        return designed(space, recipe, history, key)

    sought = seek(space, recipe, history, key)  # lines 3, 4 and 7: the model, its pseudo-points, the score
    history = avoiding_images(sought.history, space, sought.trusted)
    return searched(sought.score, space, recipe, history, key)  # line 5: argmax


def searched(score: Score, space: Space, recipe: Recipe, history: History, key: tuple[int, int]) -> Array:
    """What the recipe's search finds; the best of some allowed points if it found one that is not allowed."""
    u = recipe.search(score, space, history, np.random.default_rng([*key, 2]))
    if space.allowed(u[None, :])[0]:
        return u
    rng = np.random.default_rng([*key, 3])
    U = space.inside(space.snap(np.vstack([u[None, :], space.candidates(CANDIDATES, rng)])))
    U = U[space.allowed(U)]
    return best_fresh(U[ranked(score.values(U))], space, history, rng)


def avoiding_images(history: History, space: Space, sources: tuple[Source, ...]) -> History:
    """The history, with the images of its points among those that are not to be suggested."""
    return replace(history, twins=knowledge.twins_of(sources, space.whole, history.X)) if sources else history


def designed(space: Space, recipe: Recipe, history: History, key: tuple[int, int]) -> Array:
    """The next point of the initial design, in which points that a source says to begin with come first."""
    sources = policies.sources(recipe.pseudo)
    history = avoiding_images(history, space, sources)
    point = space.snap(_first(space, recipe, sources, history, key)[None, :])
    if not space.allowed(point)[0]:
        point = _farthest(space, history, np.random.default_rng([*key, 3]))
    return best_fresh(point, space, history, np.random.default_rng([*key, 2]))


def starts(space: Space, sources: Sequence[Source], sign: float) -> list[Array]:
    """The points (d,) that sources say to begin with, with NaN in columns about which they say nothing."""
    return [start for source in sources for start in source.starts(space, sign)][:STARTS]


def _first(
    space: Space, recipe: Recipe, sources: tuple[Source, ...], history: History, key: tuple[int, int]
) -> Array:
    design = recipe.initial(space.dimension, *key)
    for start in starts(space, sources, history.sign):
        said = ~np.isnan(start)
        points = space.inside(space.snap(np.where(said, start, design)[None, :]), kept=said[None, :])
        point = points[0]
        taken = np.isclose(history.taken[:, said], point[said], atol=SAME).all(axis=1).any()
        if said.any() and not taken and space.allowed(points)[0]:
            return np.asarray(point)
    return design


def _farthest(space: Space, history: History, rng: np.random.Generator) -> Array:
    """One (1, d) of some allowed points: the one that is farthest from every trial."""
    U = space.candidates(CANDIDATES, rng)
    if len(history) == 0:
        return U[:1]
    squares = (U**2).sum(axis=1)[:, None] + (history.X**2).sum(axis=1) - 2.0 * U @ history.X.T
    return U[[int(np.argmax(squares.min(axis=1)))]]
