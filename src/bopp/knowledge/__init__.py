"""Knowledge: what sources say is added to a model of the measured values, as far as these bear it out.

apply_knowledge(sources, known, plain, fit, resembling) -> beliefs, accounts and the highest value possible

symmetry      images
resemblance   cheap data and earlier studies
expectation   guesses and limits
account       what became of each source: how far it is trusted now, and what it was worth
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bopp.belief import Beliefs
from bopp.gp import Posterior
from bopp.knowledge.account import Account
from bopp.knowledge.expectation import favour, limit, locate, show
from bopp.knowledge.resemblance import add_trends
from bopp.knowledge.symmetry import Fit, Seen, add_images, images_of, twins_of
from bopp.known import Known
from bopp.pseudo import Source
from bopp.trend import Resemblance

__all__ = ["Account", "apply_knowledge", "favour", "images_of", "trusted", "twins_of"]

Resembling = Callable[[Source], tuple[Resemblance, ...]]


def trusted(accounts: Sequence[Account]) -> tuple[Source, ...]:
    """The sources that are more probably right than wrong."""
    return tuple(account.source for account in accounts if account.trust >= 0.5)


def apply_knowledge(
    sources: Sequence[Source], known: Known, plain: Beliefs, fit: Fit, resembling: Resembling
) -> tuple[Beliefs, tuple[Account, ...], float]:
    """What is believed of the measured values together with what the sources say.

    With it come what became of each source, and the highest value that there can be. Where the fit is not
    one of Gaussian processes, whose likelihoods can be told, only guesses and limits are heeded.
    """
    accounts = [Account(source, source.trust, 0.0) for source in sources]
    seen, beliefs = Seen.of(known.data), plain
    if all(isinstance(belief, Posterior) for belief in plain):
        for place, account in enumerate(accounts):
            seen, beliefs, accounts[place] = add_images(account, known.space, seen, beliefs, fit)
        beliefs, accounts = add_trends(accounts, list(map(resembling, sources)), seen, beliefs, fit)
    for stage in (show, locate):
        for place, account in enumerate(accounts):
            beliefs, accounts[place] = stage(account, known, beliefs)
    ceilings = [math.inf]
    for place, account in enumerate(accounts):
        ceiling, accounts[place] = limit(account, known)
        ceilings.append(ceiling)
    return beliefs, tuple(accounts), min(ceilings)
