"""Sources: what a model has of each source of knowledge: its name, its points, the trend that it gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bopp.data import Array, Data
from bopp.knowledge import Account
from bopp.model import Model
from bopp.trend import Trended

LONGEST = 28  # letters of a name in a legend
HEEDED = 0.02  # the least trust with which a trend is followed


def names_of(accounts: Sequence[Account]) -> list[str]:
    """A different name for each source: its kind; for several of a kind, with their settings or numbers.

    Those of a trend have numbers, for their settings say little, and one legend has them all.
    """
    kinds = [type(account.source).__name__ for account in accounts]
    names = []
    for place, (account, kind) in enumerate(zip(accounts, kinds, strict=True)):
        alike = [one.name for one, other in zip(accounts, kinds, strict=True) if other == kind]
        short = max(map(len, alike)) <= LONGEST and not account.source.overrides("relatives")
        told_apart = short and len(set(alike)) == len(alike)
        numbered = f"{kind} {kinds[:place].count(kind) + 1}"
        names.append(kind if len(alike) == 1 else account.name if told_apart else numbered)
    return names


def points_of(accounts: Sequence[Account]) -> list[tuple[str, Data]]:
    """The points of each source that the model has any of, by name: images first, as in the model."""
    named = zip(names_of(accounts), accounts, strict=True)
    shown = [(name, account.source, account.points) for name, account in named if account.points is not None]
    shown.sort(key=lambda row: not row[1].overrides("twins"))
    return [(name, points) for name, _, points in shown]


def trend_of(model: Model, U: Array) -> tuple[str, Array] | None:
    """The sources of the trend that the model follows, by name, and the trend (m,) at the rows of U."""
    rows = [
        (weight, belief.trend(U))
        for belief, weight in zip(model.beliefs, model.beliefs.weights, strict=True)
        if isinstance(belief, Trended)
    ]
    if not rows:
        return None
    weights, values = zip(*rows, strict=True)
    return trend_name(model.accounts), np.asarray(np.average(values, axis=0, weights=weights))


def trend_name(accounts: Sequence[Account]) -> str:
    """The sources that give the trend, by name; or how many, if their names are too long."""
    named = [
        (name, account.trust)
        for name, account in zip(names_of(accounts), accounts, strict=True)
        if account.source.overrides("relatives")
    ]
    trusted = [name for name, trust in named if trust >= HEEDED] or [name for name, _ in named]
    joined = ", ".join(trusted)
    return joined if len(joined) <= LONGEST or len(trusted) == 1 else f"{len(trusted)} sources"
