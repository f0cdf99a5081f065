"""Whole curves beside BO's, worked by hand."""

from itertools import product

import pytest

from bopp.paper.curves import courses
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Key, Run, Variant
from bopp.paper.table import _panels


def run(
    variant: Variant, *values: float, repeat: int = 0, regret: bool = True, problem: str = "hart6"
) -> Run:
    return Run(Key(repeat, problem, "ucb", variant), regret, values, None, 0.0)


PLAIN = run("bo", 9.0, 8.0, 7.0, 6.0, 5.0)


def counted(runs: list[Run]) -> dict[str, str]:
    """In how many panels each row of the table says that the claim holds."""
    rows = [row.split("|") for row in _panels(runs, initial=1) if row.startswith("| ")]
    return {row[1].strip(): row[2].strip() for row in rows}


def test_shares_of_the_iterations_where_a_variant_is_no_worse_and_better() -> None:
    (course,) = courses([PLAIN, run("pp01", 9.0, 8.0, 6.0, 6.0, 5.5)], initial=1)
    assert course.panel == ("hart6", "ucb", "ard")
    assert (course.no_worse, course.better) == (0.75, 0.25)  # of four: equal, better, equal, worse


def test_larger_is_better_for_f_and_only_shared_repeats_count() -> None:
    runs = [
        run("bo", 0.1, 0.2, 0.3, regret=False),
        run("pp0", 0.1, 0.3, 0.3, regret=False),
        run("pp0", 0.0, 0.0, 0.0, regret=False, repeat=1),
    ]
    (course,) = courses(runs, initial=1)
    assert (course.no_worse, course.better) == (1.0, 0.5)
    assert course.almost_always_no_worse
    assert not course.almost_always_better


def test_the_very_same_curve_bears_nothing_out() -> None:
    (course,) = courses([PLAIN, run("pp01", *PLAIN.values)], initial=1)
    assert course.no_worse == 1.0
    assert not course.almost_always_no_worse


def test_panels_are_counted_and_the_control_stands_apart() -> None:
    better, worse = (8.0, 7.0, 6.0, 5.0, 4.0), (9.0, 9.0, 9.0, 9.0, 9.0)
    runs = [PLAIN, run("pp01", *worse), run("pp001", *better), run("pp0", *better)]
    counts = counted(runs)
    assert counts["PP01"] == "0 of 1"
    assert counts["PP001"] == counts["at least one of these"] == counts["PP0 (control)"] == "1 of 1"


@pytest.mark.parametrize("problem", ["hart6_shifted", "nnet_cancer"])
def test_only_the_papers_own_problems_are_panels(problem: str) -> None:
    runs = [run("bo", 2.0, 1.0, problem=problem), run("pp0", 2.0, 0.5, problem=problem)]
    assert courses(runs, initial=1) == []
    assert _panels(runs, initial=1) == []


def test_a_panel_without_a_variant_does_not_count_for_it() -> None:
    others = [run("bo", 2.0, 1.0, problem="dropwave"), run("pp01", 2.0, 0.5, problem="dropwave")]
    counts = counted([PLAIN, run("pp0", *PLAIN.values), *others])
    assert counts["PP01"] == "1 of 1"
    assert counts["PP0 (control)"] == "0 of 1"


def test_with_the_isotropic_kernel_only_ucb_on_real_problems_is_a_panel() -> None:
    keys = [
        Key(0, problem, acquisition, variant, "isotropic")
        for problem, acquisition in product(("svm_wine", "hart6"), ACQUISITIONS)
        for variant in VARIANTS[:2]
    ]
    found = courses([Run(key, False, (0.1, 0.2), None, 0.0) for key in keys], initial=1)
    assert [course.panel for course in found] == [("svm_wine", "ucb", "isotropic")]
