import math

import pytest

from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.published import COLUMNS, RUNS, TITLES, Average, no_worse, published, title
from bopp.paper.runs import ACQUISITIONS, Acquisition, Variant


def figure(problem: str, acquisition: Acquisition, variant: Variant) -> Average:
    found = published(problem, acquisition, variant)
    assert found is not None
    return found


def test_table_is_whole_and_sums_to_what_the_paper_prints() -> None:
    table = [figure(p, a, v) for p in TITLES for a in ACQUISITIONS for v in COLUMNS]
    assert len(table) == 96
    assert sum(cell.mean for cell in table) == pytest.approx(167.6657)
    assert sum(cell.sd for cell in table) == pytest.approx(45.5188)


def test_some_figures_and_none_of_the_control_and_shifted_problems() -> None:
    assert figure("dropwave", "ucb", "bo") == (0.2710, 0.1311)
    assert figure("rastrigin", "pi", "pp001") == (0.0, 0.0)
    assert figure("nn_housing", "ei", "pp0001") == (8.1992, 1.7971)
    assert published("dropwave", "ucb", "pp0") is None
    assert published("dropwave_shifted", "ucb", "bo") is None


@pytest.mark.parametrize(("acquisition", "bold"), [("ucb", (6, 6, 8)), ("pi", (7, 8, 7)), ("ei", (6, 6, 5))])
def test_rule_gives_as_many_bold_cells_as_the_paper_prints(
    acquisition: Acquisition, bold: tuple[int, ...]
) -> None:
    counts = tuple(
        sum(
            no_worse(figure(p, acquisition, v).mean, figure(p, acquisition, "bo").mean, p in SYNTHETIC)
            for p in TITLES
        )
        for v in COLUMNS[1:]
    )
    assert counts == bold


def test_no_worse_goes_by_what_one_can_read() -> None:
    assert no_worse(0.10004, 0.10001, regret=True)
    assert not no_worse(0.1002, 0.1001, regret=True)
    assert no_worse(0.1002, 0.1001, regret=False)
    assert not no_worse(0.1001, 0.1002, regret=False)


def test_figures_are_printed_as_in_the_paper() -> None:
    assert str(Average(8.6733, 1.6916)) == "8.6733±1.6916"
    assert str(Average(0.0, 0.0)) == "0±0"
    assert str(Average(0.2, 1e-9)) == "0.2000±0.0000"


def test_svm_figures_show_which_standard_deviation_the_paper_means() -> None:
    """20 accuracies over 159 rows, some of them one row better: these means and population deviations."""
    counts: dict[Variant, int] = {"bo": 6, "pp01": 7}
    for variant, above in counts.items():
        share = above / 20
        mean, sd = (98 + share) / 159, (share * (1 - share)) ** 0.5 / 159
        assert str(Average(mean, sd)) == str(figure("svm_wine", "ucb", variant))


def possible(rows: int, mean: float, sd: float) -> bool:
    """Whether 20 multiples of 1 / rows can have this mean and population deviation, to four decimals."""
    half = 0.00005 + 1e-9
    for total in range(math.ceil((mean - half) * RUNS * rows), math.floor((mean + half) * RUNS * rows) + 1):
        low, high = (
            RUNS * ((deviation * rows) ** 2 + (total / RUNS) ** 2) for deviation in (sd - half, sd + half)
        )
        squares = range(math.ceil(low), math.floor(high) + 1)
        if any((square - total) % 2 == 0 for square in squares):  # a number is odd where its square is
            return True
    return False


@pytest.mark.parametrize(("rows", "impossible"), [(159, 0), (319, 7), (320, 6)])
def test_svm_figures_fit_a_tenth_of_the_rows_and_not_a_fifth(rows: int, impossible: int) -> None:
    figures = [
        figure("svm_wine", acquisition, variant) for acquisition in ACQUISITIONS for variant in COLUMNS
    ]
    assert sum(not possible(rows, *each) for each in figures) == impossible


def test_titles() -> None:
    assert [title(name) for name in (*SYNTHETIC[:1], *REAL[:1])] == ["Dropwave", "SVM_wine"]
    assert title("hart6_shifted") == "Hart6 shifted"
    assert title("mine") == "mine"
