import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bopp.paper.published import Average
from bopp.paper.statistics import (
    Agreement,
    Comparison,
    Pairs,
    agreement,
    compare,
    holm,
    sign_test,
    signed_ranks,
    summarise,
)


def pairs(plain: list[float], variant: list[float], regret: bool = False) -> Pairs:
    return Pairs(np.array(plain), np.array(variant), regret)


def one(cell: Pairs) -> Comparison:
    return compare({"cell": cell})["cell"]


SAMPLE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]  # Hollander and Wolfe, table 3.1
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]


def test_comparison_of_a_known_sample() -> None:
    result = one(pairs(SAMPLE, AFTER, regret=True))
    assert result.pairs == 9
    assert result.difference == pytest.approx(np.mean(SAMPLE) - np.mean(AFTER))
    assert (result.wins, result.losses, result.ties) == (7, 2, 0)
    assert result.wilcoxon == pytest.approx(2 * 0.0195, abs=1e-3)  # the book's one-sided 0.0195
    assert result.sign == pytest.approx(2 * (1 + 9 + 36) / 2**9)
    assert result.low < result.difference < result.high


def test_better_is_positive_for_regret_and_for_f() -> None:
    smaller, larger = [1.0, 2.0, 3.0], [1.5, 2.5, 3.25]
    for cell in (pairs(larger, smaller, regret=True), pairs(smaller, larger, regret=False)):
        assert one(cell).difference == pytest.approx(1.25 / 3)
        assert one(cell).wins == 3
        assert cell.no_worse
    for cell in (pairs(smaller, larger, regret=True), pairs(larger, smaller, regret=False)):
        assert one(cell).difference == pytest.approx(-1.25 / 3)
        assert one(cell).losses == 3
        assert not cell.no_worse


def test_all_ties_are_no_evidence() -> None:
    result = one(pairs([0.0] * 20, [0.0] * 20, regret=True))
    assert result == Comparison(20, 0.0, 0.0, 0.0, 0, 0, 20, 1.0, 1.0, 1.0, 1.0)


def test_ties_are_left_out_of_both_tests() -> None:
    some = pairs([1.0, 2.0, 3.0, 4.0], [1.1, 2.3, 2.8, 4.4])
    with_ties = pairs([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.1, 2.3, 2.8, 4.4, 5.0, 6.0])
    assert one(with_ties).ties == 2
    assert one(with_ties).sign == one(some).sign
    assert (
        one(with_ties).wilcoxon == one(some).wilcoxon == pytest.approx(6 / 16)
    )  # signs with ranks {}, {1} or {2}


@pytest.mark.parametrize("n", [1, 2, 7, 20, 50])
def test_wilcoxons_test_is_scipys_exact_one_where_no_two_are_equal(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.3, 1.0, n)
    wanted = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_ranks(differences) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_wilcoxons_test_counts_all_signs_where_some_are_equal(seed: int) -> None:
    differences = np.random.default_rng(seed).choice([-3.0, -2.0, -1.0, 1.0, 2.0, 4.0], 9)
    ranks = stats.rankdata(np.abs(differences))
    sums = np.array([np.sum(ranks[list(signs)]) for signs in product([False, True], repeat=9)])
    found = ranks[differences > 0].sum()
    wanted = min(1.0, 2 * min((sums <= found).mean(), (sums >= found).mean()))
    assert signed_ranks(differences) == pytest.approx(wanted, rel=1e-12)


def test_equal_steps_are_equal_whatever_the_last_bit() -> None:
    cell = pairs([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    assert len(set((cell.variant - cell.plain).tolist())) > 1
    assert cell.differences.tolist() == [0.3, 0.3, 0.3]


def test_too_few_pairs_are_not_compared() -> None:
    enough = pairs(SAMPLE, AFTER)
    cells = {"none": pairs([], []), "one": pairs([1.0], [2.0]), "enough": enough}
    assert compare(cells) == {"enough": one(enough)}


def test_comparison_is_the_same_each_time() -> None:
    cells = [pairs(SAMPLE, AFTER), pairs(AFTER, SAMPLE)]
    assert one(cells[0]) == one(cells[0])
    assert summarise(cells) == summarise(cells)


def test_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    """400 samples of 20 normal differences around 0.3: percentiles of so few fall a little short of 95 %."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        result = one(Pairs(np.zeros(20), rng.normal(0.3, 1.0, 20), regret=False))
        covered += result.low <= 0.3 <= result.high
    assert 0.89 <= covered / 400 <= 0.97


def test_interval_is_about_that_of_student() -> None:
    differences = np.random.default_rng(2).normal(0.0, 1.0, 200)
    result = one(Pairs(np.zeros(200), differences, regret=False))
    half = 1.96 * differences.std() / math.sqrt(200)
    assert result.low == pytest.approx(differences.mean() - half, abs=0.01)
    assert result.high == pytest.approx(differences.mean() + half, abs=0.01)


def test_holm_worked_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([0.2]) == pytest.approx([0.2])
    assert holm([]) == []


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30))
def test_holm_is_between_p_and_bonferroni(p_values: list[float]) -> None:
    p, adjusted = np.array(p_values), np.array(holm(p_values))
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= np.minimum(p * len(p), 1.0))
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0.0)
    assert adjusted[order[0]] == pytest.approx(min(1.0, p.min() * len(p)))


def test_cells_compared_at_once_are_adjusted_together() -> None:
    cells = {
        "first": pairs(SAMPLE, AFTER),
        "too few": pairs([1.0], [1.0]),
        "ties": pairs([0.0] * 4, [0.0] * 4),
    }
    found = compare(cells)
    first = found["first"]
    assert first.wilcoxon_holm == pytest.approx(2 * first.wilcoxon)
    assert first.sign_holm == pytest.approx(2 * first.sign)
    assert found["ties"].wilcoxon_holm == 1.0


def test_sign_test() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(5, 0) == pytest.approx(2 / 2**5)
    assert sign_test(3, 7) == pytest.approx(sign_test(7, 3), rel=1e-12)


def test_summary_adds_up_over_cells() -> None:
    better = pairs([3.0, 1.0, 2.0], [2.0, 0.5, 2.0], regret=True)
    worse = pairs([10.0, 14.0], [9.0, 11.0], regret=False)
    result = summarise([better, worse, pairs([1.0], [1.0])])
    assert (result.cells, result.no_worse, result.pairs) == (2, 1, 5)
    assert (result.wins, result.losses, result.ties) == (2, 2, 1)
    assert result.sign == 1.0
    assert result.effect == pytest.approx((0.5 / np.std([3.0, 1.0, 2.0]) - 2.0 / 2.0) / 2)
    assert result.low < result.effect < result.high


def test_cells_without_spread_have_no_effect_to_be_measured_by() -> None:
    flat = pairs([0.0] * 3, [0.0, 0.0, 1.0], regret=True)
    result = summarise([flat, pairs([1.0, 3.0], [1.5, 3.5])])
    assert (result.varied, result.cells, result.losses) == (1, 2, 1)
    assert result.effect == pytest.approx(0.5)
    assert math.isnan(summarise([flat]).effect)
    assert summarise([]).cells == 0


def test_effect_interval_covers_nothing_happening() -> None:
    """Twelve cells of 20 pairs that differ by chance alone, 60 times: nearly all intervals hold zero."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(60):
        result = summarise([Pairs(rng.normal(size=20), rng.normal(size=20), regret=True) for _ in range(12)])
        held += result.low <= 0.0 <= result.high
    assert held >= 51


def average(sample: np.ndarray) -> Average:
    return Average(float(sample.mean()), float(sample.std()))


@pytest.mark.parametrize("sizes", [(20, 20), (10, 20), (3, 20)])
def test_the_test_is_welchs_of_the_samples(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.0, 1.0, sizes[0]), rng.normal(0.4, 3.0, sizes[1])
    found = agreement(average(ours), sizes[0], average(theirs), sizes[1])
    wanted = stats.ttest_ind(ours, theirs, equal_var=False)
    assert found.t == pytest.approx(wanted.statistic, rel=1e-3)  # our mean and sd are rounded as the paper's
    assert found.p == pytest.approx(wanted.pvalue, rel=1e-2)


def test_a_mean_within_the_papers_spread_may_differ_all_the_same() -> None:
    found = agreement(Average(0.4613, 1.1518), 20, Average(3.3492, 3.2602))  # Rastrigin with UCB
    assert found.within
    assert found.differs
    assert found.t == pytest.approx(-3.6, abs=0.05)


def test_where_nothing_varies_there_is_nothing_to_test() -> None:
    same, other = Average(0.0, 0.0), Average(0.1, 0.0)
    assert agreement(same, 20, same) == Agreement(within=True)
    assert agreement(other, 20, same) == Agreement(within=False)
    assert agreement(Average(3e-5, 1e-6), 20, same) == Agreement(within=True)  # to the paper's digits
    assert agreement(other, 1, Average(0.1, 0.2)) == Agreement(within=True)  # a single run
    assert not agreement(other, 20, same).differs
