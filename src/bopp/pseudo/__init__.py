"""Pseudo-points: everything you know but did not measure.

A policy is a function from what is known to points with values and noises:

    policy(known: Known) -> Data

The model sees these points for one suggestion and then forgets them. Each policy sees real data only;
combine policies with `+`. Any function with this signature is a policy, alone or in a sum:

    def mirror(known):
        return Data(1.0 - known.data.X, known.data.y)

    recipe = replace(Recipe.default(), pseudo=Pending() + mirror)

Pending, Failed    trials without a value
Neighbours         the paper's own policy
Images             places that must have the same value
Guesses            what an expert expects
Cheap, Earlier     values of a stand-in, and of earlier studies
Limits             bounds of the value

The last five are sources: they may also teach the fit, or say where to look. How far they are trusted is
learned from the measured values; see `bopp.knowledge`.
"""

from __future__ import annotations

from bopp.pseudo.guesses import Guesses
from bopp.pseudo.images import Images
from bopp.pseudo.limits import Limits
from bopp.pseudo.neighbours import Neighbours
from bopp.pseudo.pending import MOST_SHOWN, VALUATIONS, Failed, Pending, Valuation
from bopp.pseudo.policy import Policy, Source, Sum, generate, none, sources, without_sources
from bopp.pseudo.relatives import Cheap, Earlier

__all__ = [
    "MOST_SHOWN",
    "VALUATIONS",
    "Cheap",
    "Earlier",
    "Failed",
    "Guesses",
    "Images",
    "Limits",
    "Neighbours",
    "Pending",
    "Policy",
    "Source",
    "Sum",
    "Valuation",
    "generate",
    "none",
    "sources",
    "without_sources",
]
