import numpy as np
import pytest

from contest.lead import BEST, ENOUGH, Lead, in_words, kind_table, lead, lead_table, leads, tasks_each
from contest.prose import INTRODUCTION
from contest.records import Record
from contest.statistics import Scores, Subject, interval, scores

KINDS = [f"f{number}" for number in (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)]
FEW = np.array([-3.0, -3.0, -1.0, -1.0, -0.5, -0.5, 0.0, 0.0, -0.5, -0.5])


def contest(differences: list[float]) -> Scores:
    """A run of bopp and of its rival on each of as many functions, and three of a slow peer."""
    subjects = [Subject(f"f{i}-i4", "group", f"f{i}", f"f{i}", 2, 0.0, 6, 2) for i in range(len(differences))]
    runs = []
    for each, difference in zip(subjects, differences, strict=True):
        runs.append(Record(each.name, "bopp", [(1, 1.0), (5, 10.0**difference * 0.1)], 6, 1.0, 0, 0))
        runs.append(Record(each.name, "rival", [(1, 1.0), (3, 0.1)], 6, 1.0, 0, 0))
        runs.append(Record(each.name, "brief", [(1, 1.0), (3, 0.01)], 4, 1.0, 0, 0))
    runs += [Record(each.name, "slow", [(1, 1.0)], 6, 1.0, 0, 0) for each in subjects[:3]]
    return scores(runs, subjects, ["bopp", "rival", "brief", "slow"])


def test_what_the_kinds_add_is_the_whole_and_the_best_come_first() -> None:
    rng = np.random.default_rng(0)
    kinds = [f"f{number}" for number in rng.integers(0, 7, size=40)]
    differences = rng.normal(size=40)
    found = lead(differences, kinds)
    assert sum(found.parts.values()) == pytest.approx(differences.mean())
    assert list(found.parts.values()) == sorted(found.parts.values())
    assert found.difference == interval(differences, kinds)


def test_a_kind_of_many_tasks_weighs_more_than_one_with_a_larger_difference() -> None:
    found = lead(np.array([-2.0, -1.0, -1.0, -1.0, 0.5]), ["one", "many", "many", "many", "other"])
    assert found.best == ["many", "one"]


def test_the_share_of_a_lead_that_comes_from_two_kinds() -> None:
    found = lead(FEW, KINDS)
    assert (found.best, found.lower) == (["f1", "f2"], "4 of 5")
    assert found.share == pytest.approx(0.8)
    assert found.rest == interval(FEW[4:], KINDS[4:])
    against = lead(np.array([-3.0, -3.0, 1.0, 1.0]), ["a", "b", "c", "d"])  # the others favor the peer
    assert [against.share, against.rest.mean] == pytest.approx([1.5, 1.0])
    assert np.isnan(lead(-FEW, KINDS).share)  # there is no lead


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (lead(FEW, KINDS), ["rival (-1.00 dex)", "f1 and f2 make 80 %", "-0.33 (-0.50 to +0.00)", "4 of 5"]),
        (lead(-FEW, KINDS), ["no lead over rival (+1.00 dex)", "0 of 5"]),
        (lead(FEW[:4], KINDS[:4]), ["rival (-2.00 dex)", "very few kinds", "2 of 2"]),
    ],
    ids=["lead", "none", "few kinds"],
)
def test_a_lead_in_words(found: Lead, words: list[str]) -> None:
    assert [one for one in words if one not in in_words(found, "rival")] == []


def test_without_the_best_of_two_kinds_nothing_is_left() -> None:
    found = lead(np.array([-1.0, -2.0]), ["a", "b"])
    assert np.isnan(found.rest.mean)
    row = lead_table({"rival": found}).splitlines()[-1]
    assert row == "| rival | -1.50 | 2 of 2 | b, a | 100 % | - | - |"


def test_a_table_of_kinds_is_sorted_and_has_an_interval_only_of_several_tasks() -> None:
    """Two or three tasks have the lowest and the highest of them as an interval, as the page says."""
    kinds = ["one", "two", "two", "three", "three", "three"]
    differences = np.array([0.001, -1.0, 3.0, -4.0, -2.0, 0.5])
    _, _, *rows = kind_table(differences + 1.0, np.ones(6), kinds, "rival").splitlines()
    assert rows == [
        "| three | 3 | -0.83 | 1.00 | -1.83 | -4.00 to +0.50 |",
        "| one | 1 | 1.00 | 1.00 | +0.00 | - |",
        "| two | 2 | 2.00 | 1.00 | +1.00 | -1.00 to +3.00 |",
    ]
    assert "1 to 3 tasks" in tasks_each(kinds)
    assert " 2 tasks" in tasks_each(KINDS)


def test_each_peer_is_met_as_far_as_it_went_and_only_on_enough_kinds() -> None:
    found = leads(contest([-3.0, -2.0, -1.0, 0.0, 1.0]))
    assert list(found) == ["rival", "brief"]  # the slow one has three kinds
    assert found["rival"].difference.mean == pytest.approx(-1.0)
    assert found["brief"].difference.mean == pytest.approx(2.0)  # after four evaluations, 1.0 against 0.01
    assert found["rival"].best == ["f0", "f1"]
    assert leads(contest([-3.0] * (ENOUGH - 1))) == {}


def test_the_page_explains_what_it_takes_away() -> None:
    assert (BEST, ENOUGH) == (2, 5)
    assert "five kinds" in INTRODUCTION
    assert "two kinds that favour bopp most" in INTRODUCTION.replace("\n", " ")
