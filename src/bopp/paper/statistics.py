"""Paired comparisons of BO-PP with BO: how much better, how certain, how often.

A difference is positive where BO-PP is better, for a regret and for f alike. Zeros are ties: they count for
neither side in the sign test, and Wilcoxon's test drops them, as he did himself. His test is exact, also
where differences are of equal size and share their ranks. Confidence intervals are 95 % bootstrap
percentiles, and come out the same each time.

Plain BO is held against the paper's own figures by two measures. One is kind: our mean is within the standard
deviation of the paper's runs. The other is strict: Welch's t test of the two means, from their standard
deviations and numbers of runs; it finds small differences, too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import stats

from bopp.data import Array
from bopp.paper.published import DECIMALS, RUNS, Average, even, no_worse
from bopp.paper.runs import rounded

K = TypeVar("K", bound=Hashable)

RESAMPLES = 10_000
CONFIDENCE = 0.95
FEWEST = 2  # pairs needed for a comparison
SIGNIFICANT = 0.05


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
            and `high` are its confidence interval, from repeats resampled within cells. NaN if
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
    effect: float
    low: float
    high: float
    varied: int


@dataclass(frozen=True)
class Agreement:
    """A mean of ours beside the paper's; t is positive where ours is larger.

    t and p are None where there is nothing to test: a single run, or no run that differs from another.
    """

    within: bool
    t: float | None = None
    p: float | None = None

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p < SIGNIFICANT


def compare(cells: Mapping[K, Pairs]) -> dict[K, Comparison]:
    """BO-PP against BO in each cell that has enough pairs to say anything."""
    cells = {where: pairs for where, pairs in cells.items() if len(pairs.plain) >= FEWEST}
    differences = [pairs.differences for pairs in cells.values()]
    scores = [_score(each) for each in differences]
    wilcoxon = [signed_ranks(each) for each in differences]
    sign = [sign_test(wins, losses) for wins, losses, _ in scores]
    p_values = zip(wilcoxon, sign, holm(wilcoxon), holm(sign), strict=True)
    return {
        where: Comparison(len(each), float(each.mean()), *interval(each), *score, *p)
        for where, each, score, p in zip(cells, differences, scores, p_values, strict=True)
    }


def summarise(cells: Sequence[Pairs]) -> Summary:
    """A variant over all cells that have enough pairs."""
    cells = [cell for cell in cells if len(cell.plain) >= FEWEST]
    wins, losses, ties = _score(np.concatenate([cell.differences for cell in cells] or [np.empty(0)]))
    varied = [cell for cell in cells if round(float(cell.plain.std()), DECIMALS) > 0.0]
    effect = low = high = math.nan
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


def agreement(ours: Average, runs: int, paper: Average, paper_runs: int = RUNS) -> Agreement:
    """Whether our mean is within one sd of the paper's mean, and Welch's test; both to the paper's digits."""
    ours = Average(*(round(even(value), DECIMALS) for value in ours))
    within = round(abs(ours.mean - paper.mean) - paper.sd, DECIMALS) <= 0.0
    if runs < 2 or ours.sd == paper.sd == 0.0:
        return Agreement(within)
    sides = [
        part
        for average, n in ((ours, runs), (paper, paper_runs))
        for part in (average.mean, average.sd * math.sqrt(n / (n - 1)), n)  # from population to sample sd
    ]
    found = stats.ttest_ind_from_stats(*sides, equal_var=False)
    return Agreement(within, float(found.statistic), float(found.pvalue))


def signed_ranks(differences: Array) -> float:
    """p of Wilcoxon's test: exact, given the ranks that the differences other than 0 have or share.

    SciPy's is exact only where no two are of equal size, and its approximation is poor for few.
    """
    differences = differences[differences != 0.0]
    ranks = np.rint(2.0 * stats.rankdata(np.abs(differences))).astype(int)  # doubled: shared ones are halves
    chances = np.ones(1)  # of each sum of the ranks of positive differences, if signs are tossed
    for rank in ranks:
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    found = ranks[differences > 0.0].sum()
    return float(min(1.0, 2.0 * min(chances[: found + 1].sum(), chances[found:].sum())))


def sign_test(wins: int, losses: int) -> float:
    """The probability of a score at least this uneven if both are equally good."""
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values, adjusted for their number by Holm's method, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted.tolist()


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
