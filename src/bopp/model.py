"""What is believed of one value: from real data, from sources of knowledge, and from pseudo-points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bopp import knowledge
from bopp import outcome as outcomes
from bopp import pseudo as policies
from bopp.belief import Beliefs
from bopp.data import Data, History
from bopp.fit import Fit, telling
from bopp.fitted import LARGE, content, fitted
from bopp.gp import Posterior
from bopp.kernels import Kernel
from bopp.known import Known
from bopp.memory import Memory
from bopp.outcome import Outcome, Scale
from bopp.pseudo import Source
from bopp.recipe import Recipe
from bopp.space import Space
from bopp.threads import one_thread
from bopp.trend import Resemblance

REMEMBERED = 4  # how many of the latest models to keep
MOST_RELATIVES = 8  # the same for sources of functions that resemble the objective
MOST_RESEMBLING = 240  # values of such a function that are looked at


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
def believe(data: Data, recipe: Recipe, turns: int = 1) -> Model:
    """The model of the real data, which depends only on these and the recipe.

    It is remembered, so that a batch, a second worker or a plot of the same data does not fit it again. Of
    several values that take `turns`, all are.
    """
    parts, large = _fitting(recipe), len(data) > LARGE
    return _models(parts, content(data), lambda: _believed(data, recipe, turns), large, turns)


@one_thread()
def learn(space: Space, history: History, recipe: Recipe, turns: int = 1) -> Model:
    """The model of the real data and of what the sources in the recipe say; remembered as in `believe`.

    Sources speak of all trials, so they are asked about the whole space even if some params are settled.
    """
    plain, sources, space = believe(history.data, recipe, turns), policies.sources(recipe.pseudo), space.whole
    if not sources:
        return plain

    def fit(data: Data) -> Beliefs:
        return recipe.fit(data, recipe.kernel, np.random.default_rng(len(data)))

    def resembling(source: Source) -> tuple[Resemblance, ...]:
        if not source.overrides("relatives"):
            return ()
        others = replace(recipe, outcome=outcomes.unsqueezed(recipe.outcome))  # they have units of their own
        parts = (*_fitting(others), source, space)
        found = _relatives(parts, history.sign, lambda: _resembling(source, space, others, history.sign))
        bent = [one.bent(plain.scale, plain.data) for one in found]
        return (*found, *(one for one in bent if one is not None))

    def learned() -> Model:
        first, nowhere, key = plain.beliefs.beliefs[0], history.X[:0], (len(plain.data),)
        known = Known(
            space, plain.scale, plain.data, first, nowhere, nowhere, t=1, key=key, sign=history.sign
        )
        beliefs, accounts, ceiling = knowledge.apply_knowledge(sources, known, plain.beliefs, fit, resembling)
        return replace(plain, beliefs=beliefs, accounts=accounts, ceiling=ceiling)

    parts = (*_fitting(recipe), sources, space, history.sign)
    return _models(parts, content(history.data), learned, len(history.data) > LARGE, turns)


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
            output=history.names[0],
        )
        pseudo = policies.generate(policies.without_sources(recipe.pseudo), known)  # line 3: pseudo-points
        yield replace(known, posterior=belief.condition(pseudo)), pseudo  # line 4: re-compute


def _believed(data: Data, recipe: Recipe, turns: int = 1) -> Model:
    found = fitted(data, *_fitting(recipe), turns)
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


_models: Memory[Model] = Memory(REMEMBERED)
_relatives: Memory[tuple[Resemblance, ...]] = Memory(MOST_RELATIVES)
