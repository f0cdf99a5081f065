"""Expectation: a model that sees what an expert expects: of values, of where the best is, of bounds.

Points P with a noise from what their user said to so much that they are ignored are weighed by
p(y | P) / p(y) = p(P | y) / p(P), which `Posterior.agreement` computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from bopp.belief import Belief, Beliefs
from bopp.data import Array, Data
from bopp.knowledge.account import Account, weighed
from bopp.known import Known
from bopp.pseudo import generate
from bopp.space import Space

WIDENINGS = (1.0, 4.0, 16.0, 64.0)  # by which the variance of a guess may be larger than its user said
ROUNDING = 1e-9  # by which a value may be beyond a limit that it is meant to be at
FAR = 1e6  # in the model's unit: a limit beyond this is as good as none
PROBES = 128  # points where a source expects the best one, and as many anywhere
BEST, AROUND, NEARBY = 10, 10, 0.05  # of the best data, how many points around each, and how far from it


def show(account: Account, known: Known, beliefs: Beliefs) -> tuple[Beliefs, Account]:
    """The beliefs after seeing what a source expects, with as much noise as the measured values want."""
    rows = [_show(account, replace(known, posterior=belief)) for belief in beliefs]
    after, accounts = zip(*rows, strict=True)
    if all(one is account for one in accounts):  # it expects no values
        return beliefs, account
    heaviest = accounts[int(np.argmax(beliefs.weights))]
    trust = np.dot(beliefs.weights, [one.trust for one in accounts])
    worth = np.dot(beliefs.weights, [one.worth for one in accounts])
    return Beliefs(after, beliefs.weights), replace(heaviest, trust=float(trust), worth=float(worth))


def _show(account: Account, known: Known) -> tuple[Belief, Account]:
    belief, points = known.posterior, generate(account.source, known)
    if not len(points):
        return belief, account
    wider = [Data(points.X, points.y, points.noise * factor) for factor in WIDENINGS]
    worths = [belief.agreement(one) if hasattr(belief, "agreement") else 0.0 for one in wider]
    best, trust = weighed(worths, account.source.trust)
    account = replace(account, trust=trust, worth=max(worths) if best is None else worths[best])
    if best is None:
        return belief, account
    return belief.condition(wider[best]), replace(account, points=wider[best])


def _updated(trust: float, worth: float) -> float:
    """The trust after values that are exp(worth) times as likely with a source as without it."""
    trust = min(max(trust, 1e-9), 1.0 - 1e-9)
    return float(scipy.special.expit(math.log(trust / (1.0 - trust)) + worth))


def locate(account: Account, known: Known, beliefs: Beliefs) -> tuple[Beliefs, Account]:
    """The trust in a source that says where the best point is, by how promising the model finds it there.

    What counts is the best chance to improve on f+ where the source expects it, against that elsewhere.
    """
    space, source, rng = known.space, account.source, known.generator("located")
    if source.favour(space, known.data.X) is None:
        return beliefs, account
    close, wide = source.draw(space, PROBES, rng), rng.random((PROBES, known.dimension))
    best = known.data.X[np.argsort(-known.data.y, kind="stable")[:BEST]]
    around = np.repeat(best, AROUND, axis=0)
    around = np.clip(around + NEARBY * rng.standard_normal(around.shape), 0.0, 1.0)
    U = space.snap(np.vstack([close, wide, best, around]))
    density, _ = source.favour(space, U) or (np.zeros(len(U)), None)
    inside = density >= np.quantile(density[: len(close)], 0.1)
    if inside.all():
        return beliefs, account
    chance = _log_chance(beliefs, known.best, U)
    worth = float(chance[inside].max() - chance[~inside].max())
    return beliefs, replace(account, trust=_updated(account.trust, worth), worth=account.worth + worth)


def _log_chance(beliefs: Beliefs, best: float, U: Array) -> Array:
    """log Pr(f(u) > best), averaged over the beliefs."""
    chances = []
    for belief, weight in zip(beliefs, beliefs.weights, strict=True):
        mean, sd = belief(U)
        chances.append(math.log(weight) + scipy.special.log_ndtr((mean - best) / sd))
    return np.asarray(np.logaddexp.reduce(chances, axis=0))


def favour(accounts: Sequence[Account], space: Space, U: Array) -> tuple[Array, Array] | None:
    """Where sources expect the best point: log densities, times the trust in each, and their gradient."""
    said = [(account.trust, account.source.favour(space, U)) for account in accounts]
    found = [(trust * one[0], trust * one[1]) for trust, one in said if one is not None]
    if not found:
        return None
    densities, slopes = zip(*found, strict=True)
    return sum(densities, np.zeros(len(U))), sum(slopes, np.zeros_like(U))


def limit(account: Account, known: Known) -> tuple[float, Account]:
    """The highest value that there can be; infinite if a measured value breaks a limit of the source."""
    low, high = np.sort(known.sign * np.array(account.source.limits()))
    with np.errstate(over="ignore"):
        ends = known.scale(np.nan_to_num([low, high], posinf=0.0, neginf=0.0))
    low, high = np.where(np.isinf([low, high]), [low, high], ends)
    if known.data.y.min() < low - ROUNDING or known.data.y.max() > high + ROUNDING:
        return math.inf, replace(account, trust=0.0, worth=-math.inf)
    return float(high) if high < FAR else math.inf, account
