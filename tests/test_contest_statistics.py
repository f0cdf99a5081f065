import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from contest.reading import cluster, groups, records
from contest.records import Record
from contest.standings import duels, full_field, limited_fields, standings
from contest.statistics import (
    FLOOR,
    RESAMPLES,
    SHARE_FLOOR,
    TARGETS,
    Scores,
    Subject,
    best_so_far,
    by_kind,
    curves,
    duel,
    interval,
    log_regret,
    log_share,
    mean_ranks,
    profiles,
    resampled_means,
    scores,
    targets,
)

PEERS = ("bopp", "rival", "slow")


def subject(name: str, *, kind: str = "f01", optimum: float | None = 0.0, problem: str = "") -> Subject:
    return Subject(name, "group", kind, problem or name, 2, optimum, budget=6, given=2)


def run(task: str, peer: str, *best: tuple[int, float], evaluations: int = 6) -> Record:
    return Record(task, peer, list(best), evaluations, cpu=1.0, repeats=0, failed=0)


@pytest.fixture
def contest() -> Scores:
    """Two functions in two instances, two full peers, and a slow one that stops at four evaluations."""
    rng = np.random.default_rng(3)
    subjects = [subject(f"{kind}-i{i}", kind=kind) for kind in ("f01", "f02") for i in (4, 5)]
    runs = []
    for each in subjects:
        values = 10.0 ** np.sort(rng.uniform(-4, 0, size=(2, 3)), axis=1)[:, ::-1]
        for peer, (second, third) in zip(("bopp", "rival"), values[:, 1:].tolist(), strict=True):
            runs.append(run(each.name, peer, (1, 2.0), (3, second), (6, third)))
    runs.append(run("f01-i4", "slow", (1, 2.0), (3, 1.0), evaluations=4))
    return scores(runs, subjects, PEERS)


def test_the_best_value_stands_until_a_better_one_comes_or_the_run_ends() -> None:
    record = run("a", "bopp", (1, 5.0), (4, 2.0))
    assert best_so_far(record, 6).tolist() == [5, 5, 5, 2, 2, 2]
    assert best_so_far(record, 3).tolist() == [5, 5, 5]


def test_a_regret_is_the_gap_to_the_optimum_and_has_a_floor_even_below_it() -> None:
    assert log_regret(np.array([110.0, 101.0]), 100.0) == pytest.approx([1.0, 0.0])
    assert log_regret(np.array([1e-12, 0.0, -1e-9]), 0.0) == pytest.approx([np.log10(FLOOR)] * 3)


def test_a_share_is_one_at_the_given_points_and_has_a_floor() -> None:
    floor = np.log10(SHARE_FLOOR)
    shares = log_share(np.array([10.0, 1.0, 0.0]), lowest=0.0, start=10.0)
    assert shares == pytest.approx([0.0, -1.0, floor])
    assert log_share(np.array([3.0]), lowest=3.0, start=3.0) == pytest.approx([floor])  # nobody improved


def test_the_best_of_a_problem_is_sought_over_peers_and_seeds() -> None:
    subjects = [subject(f"svm-s{seed}", optimum=None, problem="svm") for seed in (1, 2)]
    runs = [
        run("svm-s1", "bopp", (1, 11.0), (3, 2.0)),
        run("svm-s1", "rival", (1, 11.0)),
        run("svm-s2", "rival", (1, 21.0), (5, 1.0)),
    ]
    found = scores(runs, subjects, PEERS)
    assert found.row("bopp", 6)[0] == pytest.approx(-1.0)  # 1 of the 10 that the given points left
    assert found.row("rival", 6) == pytest.approx([0.0, -3.0])


def test_what_comes_after_the_given_points_does_not_move_the_start() -> None:
    found = scores([run("a", "bopp", (2, 9.0), (3, 1.0))], [subject("a", optimum=None)], PEERS)
    assert found.values[0, 0].tolist() == pytest.approx([0, 0, -3, -3, -3, -3])


def test_a_run_without_a_value_counts_as_the_worst_first_value() -> None:
    runs = [run("a", "bopp"), run("a", "rival", (1, 100.0)), run("a", "slow", (2, 1000.0), (3, 1.0))]
    found = scores(runs, [subject("a")], PEERS)
    assert found.at(1)[:, 0] == pytest.approx([3, 2, 3])
    assert found.at(6)[:, 0] == pytest.approx([3, 2, 0])


def test_a_task_that_nobody_has_a_value_on_is_left_out() -> None:
    found = scores([run("a", "bopp"), run("b", "bopp", (1, 1.0))], [subject("a"), subject("b")], PEERS)
    assert [each.name for each in found.subjects] == ["b"]


def test_a_shorter_task_keeps_its_last_value() -> None:
    long = Subject("long", "group", "f01", "long", 2, 0.0, budget=8, given=2)
    runs = [run("a", "bopp", (1, 1.0)), run("long", "bopp", (1, 1.0), evaluations=8)]
    found = scores(runs, [subject("a"), long], ["bopp"])
    assert found.budget == 8
    assert found.full_peers() == ("bopp",)


def test_ranks_of_those_who_tie_are_shared_and_ranks_add_up() -> None:
    assert mean_ranks(np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 2.0]])).tolist() == [1.25, 2.25, 2.5]
    regrets = np.random.default_rng(0).integers(0, 4, size=(5, 40)).astype(float)
    assert mean_ranks(regrets).sum() == pytest.approx(15.0)


def test_a_duel_counts_wins_and_losses_on_the_tasks_of_both() -> None:
    ours, theirs = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0, np.nan])
    found = duel(ours, theirs, ["f01", "f02", "f03", "f04"])
    assert (found.tasks, found.wins, found.losses) == (3, 1, 1)
    assert found.difference.mean == pytest.approx(0.0)
    assert np.isnan(duel(np.array([1.0]), np.array([np.nan]), ["f01"]).difference.mean)


def test_a_duel_seen_from_the_other_side_is_its_mirror() -> None:
    rng = np.random.default_rng(1)
    ours, theirs, kinds = rng.normal(size=12), rng.normal(size=12), [f"f{i // 2}" for i in range(12)]
    here, there = duel(ours, theirs, kinds), duel(theirs, ours, kinds)
    assert (here.wins, here.losses) == (there.losses, there.wins)
    assert here.difference.mean == pytest.approx(-there.difference.mean)
    assert here.difference.low == pytest.approx(-there.difference.high)


def test_an_interval_contains_the_mean_and_comes_out_the_same_each_time() -> None:
    differences, kinds = np.random.default_rng(2).normal(size=20), [f"f{i // 4}" for i in range(20)]
    found = interval(differences, kinds)
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(differences.mean())
    assert interval(differences, kinds) == found
    point = interval(np.full(7, 0.1), list("aabbccc"))
    assert [point.low, point.mean, point.high] == pytest.approx([0.1] * 3)


def test_tasks_of_one_kind_count_as_one_observation() -> None:
    differences = np.repeat(np.random.default_rng(4).normal(size=10), 8)
    together = interval(differences, [f"f{i // 8}" for i in range(80)])
    apart = interval(differences, [str(i) for i in range(80)])
    assert together.high - together.low > 2.0 * (apart.high - apart.low)  # the square root of 8 is 2.8


def test_an_interval_is_as_wide_as_theory_says() -> None:
    differences = np.random.default_rng(5).normal(size=200)
    found = interval(differences, [str(i) for i in range(200)])
    wide = 2 * 1.96 * differences.std() / np.sqrt(200)
    assert found.high - found.low == pytest.approx(wide, rel=0.05)


def test_one_kind_alone_has_a_mean_without_an_interval() -> None:
    found = interval(np.array([1.0, 2.0]), ["f01", "f01"])
    assert found.mean == 1.5
    assert np.isnan([found.low, found.high]).all()
    each = by_kind(np.array([1.0, 3.0, -1.0]), ["a", "a", "b"])
    assert (each["a"].mean, each["b"].mean) == (2.0, -1.0)
    assert (each["a"].low, each["a"].high) == (1.0, 3.0)
    assert np.isnan(each["b"].low)


def test_resampled_means_weigh_tasks_alike() -> None:
    means = resampled_means(np.array([[0.0], [0.0], [3.0]]), ["a", "a", "b"])[:, 0]
    assert len(means) == RESAMPLES
    assert {round(mean, 9) for mean in means.tolist()} == {0.0, 1.0, 3.0}  # a twice, one of each, b twice


def test_a_peer_on_a_subset_is_not_full_and_is_ranked_there(contest: Scores) -> None:
    assert contest.full_peers() == ("bopp", "rival")
    assert contest.ran_on("slow") == {"f01-i4"}
    assert (contest.reach("slow"), contest.reach("bopp")) == (4, 6)
    there = contest.where(lambda each: each.name in contest.ran_on("slow"))
    assert mean_ranks(there.at(4)).sum() == 6.0
    assert np.isnan(there.row("slow", 5)).all()
    assert len(profiles(there)["slow"]) == len(curves(there)["slow"].mean) == 4
    elsewhere = contest.where(lambda each: each.kind == "f02")
    assert (elsewhere.reach("slow"), elsewhere.ran_on("slow")) == (0, frozenset())


def test_peers_are_taken_out_in_the_order_asked_for(contest: Scores) -> None:
    few = contest.of(["rival", "bopp"])
    assert few.row("bopp", 6).tolist() == contest.row("bopp", 6).tolist()
    assert few.peers == ("rival", "bopp")


def test_targets_go_from_the_given_points_to_the_best_of_all(contest: Scores) -> None:
    steps = targets(contest)
    assert steps.shape == (4, TARGETS)
    assert (steps < np.log10(2.0)).all()  # where the given points are
    assert steps[:, -1] == pytest.approx(np.nanmin(contest.values, axis=(0, 2)))
    assert np.diff(steps, 2, axis=1) == pytest.approx(np.zeros((4, TARGETS - 2)), abs=1e-9)


def test_a_profile_rises_from_nothing_and_never_falls(contest: Scores) -> None:
    full = contest.of(contest.full_peers())
    for profile in profiles(full).values():
        assert profile[1] == 0.0
        assert (np.diff(profile) >= 0.0).all()
        assert 0.0 < profile[-1] <= 1.0


def test_who_is_best_everywhere_reaches_every_target() -> None:
    runs = [run("a", "bopp", (1, 2.0), (5, 1e-3)), run("a", "rival", (1, 2.0))]
    found = profiles(scores(runs, [subject("a")], ["bopp", "rival"]))
    assert found["bopp"].tolist() == [0, 0, 0, 0, 1, 1]
    assert found["rival"].tolist() == [0] * 6
    assert profiles(scores(runs[1:], [subject("a")], ["rival"])) == {}  # nobody improved on the given points


def test_a_curve_is_the_mean_and_lies_in_its_band(contest: Scores) -> None:
    full = contest.of(contest.full_peers())
    for peer, curve in curves(full).items():
        assert curve.mean[-1] == pytest.approx(full.row(peer, 6).mean())
        assert (curve.low <= curve.mean + 1e-9).all()
        assert (curve.mean <= curve.high + 1e-9).all()


def test_a_band_has_no_width_where_peers_differ_alike_on_every_task() -> None:
    subjects = [subject(name, kind=name) for name in ("a", "b", "c")]
    runs = [
        run(name, peer, (1, factor * level))
        for name, level in (("a", 1e-5), ("b", 1.0), ("c", 1e4))
        for peer, factor in (("bopp", 1.0), ("rival", 10.0))
    ]
    found = curves(scores(runs, subjects, ["bopp", "rival"]))
    assert found["bopp"].high - found["bopp"].low == pytest.approx(np.zeros(6), abs=1e-9)
    assert found["rival"].mean - found["bopp"].mean == pytest.approx(np.ones(6))


def test_who_ran_on_less_meets_all_full_peers_there(contest: Scores) -> None:
    assert full_field(contest).scores.peers == ("bopp", "rival")
    ((name, field),) = limited_fields(contest).items()
    assert name == "slow"
    assert field.scores.peers == PEERS
    assert [each.name for each in field.scores.subjects] == ["f01-i4"]
    assert field.times == [4]


def test_the_peer_with_the_best_rank_stands_first() -> None:
    runs = [run("a", "bopp", (1, 2.0)), run("a", "rival", (1, 2.0), (4, 1.0))]
    field = full_field(scores(runs, [subject("a")], ["bopp", "rival"]))
    _, _, first, second = standings(field, runs).splitlines()
    assert first.split(" | ")[:3] == ["| rival", "**1.00**", "**0.00**"]
    assert second.split(" | ")[:3] == ["| bopp", "2.00", "0.30"]


def test_a_duel_is_shown_only_as_far_as_a_peer_went(contest: Scores) -> None:
    assert set(duels(contest, 4)) == {"rival", "slow"}
    assert set(duels(contest, 6)) == {"rival"}
    assert duels(contest, 4)["slow"].tasks == 1


def test_records_of_a_variant_are_not_those_of_its_peer(tmp_path: Path) -> None:
    record = run("a", "bopp", (1, 2.0), (4, 1.0))
    (tmp_path / "bbob").mkdir()
    for name in ("bopp", "bopp-without-trend"):
        (tmp_path / "bbob" / f"{name}.jsonl").write_text(json.dumps(asdict(record)) + "\n")
    (read,) = records(tmp_path, "bbob")
    assert best_so_far(read, 6).tolist() == best_so_far(record, 6).tolist()
    assert groups(tmp_path) == ["bbob"]


def test_noise_does_not_make_another_function_of_one() -> None:
    assert [cluster(kind) for kind in ("f01-gauss10", "f01", "svm-wine")] == ["f01", "f01", "svm-wine"]
