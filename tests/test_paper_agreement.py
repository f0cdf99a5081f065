"""Plain BO against the paper: both measures against samples, and where nothing varies."""

import numpy as np
import pytest
from scipy import stats

from bopp.paper.agreement import Agreement, agreement
from bopp.paper.published import Average


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
