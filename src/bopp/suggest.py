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
from bopp.search import SAME, best_fresh
from bopp.space import Space
from bopp.threads import one_thread

STARTS = 3  # points to begin with, at most


@one_thread()
def suggest(space: Space, recipe: Recipe, history: History, key: tuple[int, int]) -> Array:
    """The next point of the cube to evaluate: Algorithm 2 of the paper, from the values so far to x_t.

    Pure: the same arguments give the same point. `key` is (seed of the study, number of the trial).
    """
    if len(history) < recipe.initial.size or not measured(history):
        return designed(space, recipe, history, key)

    sought = seek(space, recipe, history, key)  # lines 3, 4 and 7: the model, its pseudo-points, the score
    history = avoiding_images(sought.history, space, sought.trusted)
    return recipe.search(sought.score, space, history, _for_search(key))  # line 5: argmax


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
