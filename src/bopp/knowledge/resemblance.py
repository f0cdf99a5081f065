"""Resemblance: a model of what functions that resemble the objective leave over of it.

Their means are a trend under the measured values, with a factor and a shift that are integrated over. What
is believed with the trend and without it is averaged, by prior trust times likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from bopp.belief import Beliefs
from bopp.data import Array, Data
from bopp.gp import Posterior
from bopp.knowledge.account import Account
from bopp.knowledge.symmetry import Fit, Seen
from bopp.trend import Resemblance, Trend, Trended

SMALLEST = 0.02  # a belief with less weight is dropped, or a function beside one that resembles far more
MOST = 5  # functions in one trend
FITTED = 50  # values of which the length-scales of what is left over are learned
FACTOR = (1.0, 1.0)  # mean and sd, before any data, of how steeply y follows a resemblance
SHIFT = 1.0  # sd of the shift
LEAST_FACTOR = 0.05


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Beliefs with the trends of some sources, and the logarithms of likelihood and prior odds."""

    beliefs: Beliefs
    evidence: float
    places: tuple[int, ...] = ()
    odds: float = 0.0

    @property
    def weight(self) -> float:
        return self.evidence + self.odds


def add_trends(
    accounts: Sequence[Account],
    terms: Sequence[tuple[Resemblance, ...]],
    seen: Seen,
    plain: Beliefs,
    fit: Fit,
) -> tuple[Beliefs, list[Account]]:
    """Beliefs with and without trends, weighed by the likelihood of the measured values.

    Sources are tried one after the other, each beside those that proved to be of use. Images have no say: a
    trend that is only about right differs between a point and its image, which would count against it.
    """
    judged = plain
    if len(seen.measured) < len(seen.data):
        judged = replace(plain, beliefs=tuple(one.gp.condition(seen.measured) for one in _posteriors(plain)))
    tried, after = [_Candidate(plain, _evidence(judged))], list(accounts)
    for place, own in enumerate(terms):
        if not own:
            continue
        best, trust = max(tried, key=lambda one: one.weight), accounts[place].source.trust
        candidate = None
        for places in dict.fromkeys([(*best.places, place), (place,)]):
            if candidate is None:  # beside the others, or alone where it makes one of them superfluous
                features = [_combined(terms[other], judged, seen.measured) for other in places]
                candidate = _with_trend(features, seen, judged, fit, places)
        odds = math.log(trust / (1.0 - trust))
        worth = -math.inf if candidate is None else candidate.evidence - best.evidence
        after[place] = replace(after[place], trust=float(scipy.special.expit(odds + worth)), worth=worth)
        if candidate is not None:
            beside = 0.0 if candidate.places == (place,) else best.odds
            tried.append(replace(candidate, odds=beside + odds))
    return (_averaged(tried) if len(tried) > 1 else plain), after


def _averaged(candidates: Sequence[_Candidate]) -> Beliefs:
    """The beliefs of the two most probable candidates, weighed by how probable they are."""
    ordered = sorted(candidates, key=lambda one: -one.weight)[:2]
    chances = np.exp([one.weight - ordered[0].weight for one in ordered])
    chances /= chances.sum()
    kept = [(one, chance) for one, chance in zip(ordered, chances, strict=True) if chance >= SMALLEST]
    total = sum(chance for _, chance in kept)
    weights = [weight * chance / total for one, chance in kept for weight in one.beliefs.weights]
    return Beliefs(tuple(belief for one, _ in kept for belief in one.beliefs), tuple(map(float, weights)))


def _combined(terms: Sequence[Resemblance], plain: Beliefs, data: Data) -> Trend:
    """Several resemblances as one, weighed by how likely each makes the data under the plain model."""
    if len(terms) == 1:
        return Trend(tuple(terms), (1.0,))
    first = _posteriors(plain)[0]
    scores = np.array([_marginal(first, data, 1.0, term(data.X)[:, None]).evidence for term in terms])
    chances = np.exp(scores - np.logaddexp.reduce(scores))
    order = np.argsort(-chances, kind="stable")[:MOST]
    kept = [place for place in order if chances[place] >= SMALLEST * chances[order[0]]]
    share = chances[kept] / chances[kept].sum()
    return Trend(tuple(terms[place] for place in kept), tuple(share.tolist()))


def _with_trend(
    features: Sequence[Trend], seen: Seen, plain: Beliefs, fit: Fit, places: tuple[int, ...]
) -> _Candidate | None:
    """A model of what the trends leave over of the data; None if it is no better followed than ignored."""
    data, first = seen.measured, _posteriors(plain)[0]
    every = np.column_stack([feature(seen.data.X) for feature in features])
    values = every[: len(data)]
    line = _marginal(first, data, 1.0, values)
    if line.factors.min() < LEAST_FACTOR:
        return None
    scale = max(float((data.y - values @ line.factors - line.shift).std()), 1e-3)
    left = _left_over(data, values, line, scale)
    beliefs = Beliefs.even([one.gp.condition(left) for one in _posteriors(fit(left.thinned(FITTED)))])
    trended, evidences = [], []
    for belief in _posteriors(beliefs):
        again = _marginal(belief, data, scale, values)
        if again.factors.min() < LEAST_FACTOR:
            return None
        rest = belief.gp.condition(_left_over(seen.data, every, again, scale))
        trended.append(Trended(rest, _joined(features, again), scale))
        evidences.append(again.evidence)
    return _Candidate(Beliefs(tuple(trended), beliefs.weights), _mean_evidence(evidences, beliefs), places)


def _left_over(data: Data, values: Array, line: _Line, scale: float) -> Data:
    """What a line of features leaves over of data, in units of `scale`."""
    return Data(data.X, (data.y - values @ line.factors - line.shift) / scale, data.noise / scale**2)


@dataclass(frozen=True, eq=False)
class _Line:
    """Factors and shift of features under a process, their most probable values, and the likelihood of y."""

    factors: Array
    shift: float
    evidence: float


def _marginal(posterior: Posterior, data: Data, scale: float, values: Array) -> _Line:
    """The line of features under a process for y / scale; y ~ N(V m, scale^2 (K + noise) + V S V^T)."""
    L = posterior.L
    V = np.column_stack([values, np.ones(len(data))])
    mean = np.append(np.full(values.shape[1], FACTOR[0] / values.shape[1]), 0.0)
    sd = np.append(np.full(values.shape[1], FACTOR[1]), SHIFT)
    white = scipy.linalg.solve_triangular(L, np.column_stack([V * sd, data.y - V @ mean]) / scale, lower=True)
    W, r = white[:, :-1], white[:, -1]
    C = np.eye(W.shape[1]) + W.T @ W
    pull = W.T @ r
    found = np.linalg.solve(C, pull)
    logdet = 2.0 * np.log(L.diagonal()).sum() + np.linalg.slogdet(C)[1] + 2.0 * len(data) * math.log(scale)
    evidence = -0.5 * (r @ r - pull @ found + logdet + len(data) * math.log(2.0 * math.pi))
    line = mean + sd * found
    return _Line(line[:-1], float(line[-1]), float(evidence))


def _joined(features: Sequence[Trend], line: _Line) -> Trend:
    terms = tuple(term for feature in features for term in feature.terms)
    factors = tuple(
        float(factor * own)
        for feature, factor in zip(features, line.factors, strict=True)
        for own in feature.factors
    )
    return Trend(terms, factors, line.shift)


def _posteriors(beliefs: Beliefs) -> list[Posterior]:
    return [belief for belief in beliefs if isinstance(belief, Posterior)]


def _evidence(beliefs: Beliefs) -> float:
    return _mean_evidence([posterior.evidence for posterior in _posteriors(beliefs)], beliefs)


def _mean_evidence(evidences: Sequence[float], beliefs: Beliefs) -> float:
    return float(np.logaddexp.reduce(np.array(evidences) + np.log(beliefs.weights)))
