"""Knowledge: what sources say is added to a model of the measured values, as far as these bear it out.

taught(sources, known, plain, fit, resembling) -> Lesson

symmetry      images
resemblance   cheap data and earlier studies
expectation   guesses and limits
account       what became of each source: how far it is trusted now, and what it was worth
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bopp.belief import Beliefs
from bopp.gp import Posterior
from bopp.knowledge.account import Account
from bopp.knowledge.expectation import favour, favouring, limited, located, shown
from bopp.knowledge.resemblance import trended
from bopp.knowledge.symmetry import Fit, Seen, imaged, images_of, twins_of
from bopp.known import Known
from bopp.pseudo import Source
from bopp.trend import Resemblance

__all__ = ["Account", "Lesson", "favour", "favouring", "images_of", "taught", "trusted", "twins_of"]

Resembling = Callable[[Source], tuple[Resemblance, ...]]


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is believed with knowledge, what became of each source of it, and the highest value possible."""

    beliefs: Beliefs
    accounts: tuple[Account, ...]
    ceiling: float


def trusted(accounts: Sequence[Account]) -> tuple[Source, ...]:
    """The sources that are more probably right than wrong."""
    return tuple(account.source for account in accounts if account.trust >= 0.5)


def taught(
    sources: Sequence[Source], known: Known, plain: Beliefs, fit: Fit, resembling: Resembling
) -> Lesson:
    """What is believed of the measured values together with what the sources say.

    Where the fit is not one of Gaussian processes, whose likelihoods can be told, only guesses and limits
    are heeded.
    """
    accounts = [Account(source, source.trust, 0.0) for source in sources]
    seen, beliefs = Seen.of(known.data), plain
    if all(isinstance(belief, Posterior) for belief in plain):
        for place, account in enumerate(accounts):
            seen, beliefs, accounts[place] = imaged(account, known.space, seen, beliefs, fit)
        beliefs, accounts = trended(accounts, list(map(resembling, sources)), seen, beliefs, fit)
    for stage in (shown, located):
        for place, account in enumerate(accounts):
            beliefs, accounts[place] = stage(account, known, beliefs)
    ceilings = [math.inf]
    for place, account in enumerate(accounts):
        ceiling, accounts[place] = limited(account, known)
        ceilings.append(ceiling)
    return Lesson(beliefs, tuple(accounts), min(ceilings))
