"""Paired comparisons of BO-PP with BO: how much better, how certain, how often.

A difference is positive where BO-PP is better, for a regret and for f alike. Zeros are ties: they count for
neither side in the sign test, and Wilcoxon's test drops them, as he did himself. His test is exact, also
where differences are of equal size and share their ranks. Confidence intervals are 95 % bootstrap
percentiles, and come out the same each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from bopp.data import Array
from bopp.paper.published import DECIMALS, no_worse
from bopp.paper.runs import rounded

RESAMPLES = 10_000
CONFIDENCE = 0.95
FEWEST = 2  # pairs needed for a comparison


@dataclass(frozen=True, eq=False)
class Pairs:
    """The results of BO and of BO-PP in one cell of the table, repeat by repeat."""

    plain: Array
    variant: Array
    regret: bool

    @property
    def differences(self) -> Array:
        """By how much BO-PP is better, rounded as results are, so that equal differences are equal."""
        better = self.plain - self.variant if self.regret else self.variant - self.plain
        return np.array(rounded(better))

    @property
    def no_worse(self) -> bool:
        """The paper's criterion: the mean of BO-PP is no worse than that of BO."""
        return no_worse(float(self.variant.mean()), float(self.plain.mean()), self.regret)


@dataclass(frozen=True)
class Comparison:
    """BO-PP against BO in one cell.

    Args:
        difference: the mean of the paired differences; `low` and `high` are its confidence interval.
        wilcoxon: p of the signed-rank test, two-sided; 1 if all are ties.
        sign: p of the sign test, two-sided; 1 if all are ties.
        wilcoxon_holm, sign_holm: these p values, adjusted for all cells that were compared at once.
    """

    pairs: int
    difference: float
    low: float
    high: float
    wins: int
    losses: int
    ties: int
    wilcoxon: float
    sign: float
    wilcoxon_holm: float
    sign_holm: float


@dataclass(frozen=True)
class Summary:
    """A variant over many cells.

    Args:
        no_worse: cells whose mean is no worse than that of BO, the paper's criterion.
        sign: p of the sign test over all pairs, each taken as independent of the others.
        effect: mean difference in standard deviations of BO in the cell, each cell counting the same; `low`
            and `high` are its confidence interval, from repeats resampled within cells. None if
            `varied` is 0.
        varied: how many cells `effect` averages: those where BO's standard deviation is not 0.0000.
    """

    cells: int
    no_worse: int
    pairs: int
    wins: int
    losses: int
    ties: int
    sign: float
    effect: float | None
    low: float | None
    high: float | None
    varied: int


def compare(cells: Sequence[Pairs]) -> list[Comparison | None]:
    """BO-PP against BO in each cell, or None if there are too few pairs to say anything."""
    found = [_compare(cell) if len(cell.plain) >= FEWEST else None for cell in cells]
    wilcoxon = iter(holm([each.wilcoxon for each in found if each]))
    sign = iter(holm([each.sign for each in found if each]))
    return [
        replace(each, wilcoxon_holm=float(next(wilcoxon)), sign_holm=float(next(sign))) if each else None
        for each in found
    ]


def _compare(pairs: Pairs) -> Comparison:
    differences = pairs.differences
    low, high = interval(differences)
    wins, losses, ties = _score(differences)
    wilcoxon = signed_ranks(differences[differences != 0.0])
    sign, mean = sign_test(wins, losses), float(differences.mean())
    given = len(differences), mean, low, high, wins, losses, ties
    return Comparison(*given, wilcoxon, sign, wilcoxon_holm=wilcoxon, sign_holm=sign)


def summarise(cells: Sequence[Pairs]) -> Summary:
    """A variant over all cells that have enough pairs."""
    cells = [cell for cell in cells if len(cell.plain) >= FEWEST]
    wins, losses, ties = _score(np.concatenate([cell.differences for cell in cells] or [np.empty(0)]))
    varied = [cell for cell in cells if round(float(cell.plain.std()), DECIMALS) > 0.0]
    effect = low = high = None
    if varied:
        standardised = [cell.differences / cell.plain.std() for cell in varied]
        rng = np.random.default_rng(0)
        effect = float(np.mean([differences.mean() for differences in standardised]))
        low, high = _middle(np.mean([_resampled(each, rng) for each in standardised], axis=0))
    return Summary(
        cells=len(cells),
        no_worse=sum(cell.no_worse for cell in cells),
        pairs=wins + losses + ties,
        wins=wins,
        losses=losses,
        ties=ties,
        sign=sign_test(wins, losses),
        effect=effect,
        low=low,
        high=high,
        varied=len(varied),
    )


def signed_ranks(differences: Array) -> float:
    """p of Wilcoxon's test of differences none of which is 0: exact, given the ranks that they have or share.

    SciPy's is exact only where no two are of equal size, and its approximation is poor for few.
    """
    ranks = np.rint(2.0 * stats.rankdata(np.abs(differences))).astype(int)  # doubled: shared ones are halves
    chances = np.ones(1)  # of each sum of the ranks of positive differences, if signs are tossed
    for rank in ranks:
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    found = ranks[differences > 0.0].sum()
    return float(min(1.0, 2.0 * min(chances[: found + 1].sum(), chances[found:].sum())))


def sign_test(wins: int, losses: int) -> float:
    """The probability of a score at least this uneven if both are equally good."""
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def holm(p_values: Sequence[float]) -> Array:
    """The p values, adjusted for their number by Holm's method, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def interval(values: Array) -> tuple[float, float]:
    """The confidence interval of a mean."""
    return _middle(_resampled(values, np.random.default_rng(0)))


def _score(differences: Array) -> tuple[int, int, int]:
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return wins, losses, len(differences) - wins - losses


def _resampled(values: Array, rng: np.random.Generator) -> Array:
    """The means of bootstrap samples."""
    return np.asarray(values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1))


def _middle(means: Array) -> tuple[float, float]:
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return float(low), float(high)
