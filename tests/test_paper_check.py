from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bopp.errors import RecipeError
from bopp.paper.check import Check, Schedule, check, summary
from bopp.paper.theory_figures import draw, draw_regret, draw_trade

SCHEDULES = (Schedule(1, 0.01), Schedule(5, 0.1), Schedule(None, 0.001), Schedule(None, 0.01, shrinking=True))


@pytest.fixture(scope="module")
def line() -> Check:
    return check(draws=4, horizon=25, schedules=SCHEDULES)


@pytest.fixture(scope="module")
def plane() -> Check:
    return check(draws=2, horizon=12, dimension=2, schedules=SCHEDULES[1:3])


@pytest.mark.parametrize("which", ["line", "plane"])
def test_every_run_is_below_the_bound(which: str, request: pytest.FixtureRequest) -> None:
    result: Check = request.getfixturevalue(which)
    for runs in result.runs:
        assert np.all(np.diff(runs.regret, axis=1) >= 0.0)
        assert np.all(runs.regret <= runs.bound)
        assert np.all(runs.regret <= runs.sharper)
        assert np.all(runs.sharper <= runs.bound)


def test_the_bound_without_pseudo_points_is_the_least(line: Check) -> None:
    for runs in line.runs[1:]:
        assert np.all(runs.bound[1:] > line.runs[0].bound[1:])


def test_the_runs_information_is_what_the_proof_says_only_without_pseudo_points(line: Check) -> None:
    plain, *others = line.runs
    assert plain.claimed == pytest.approx(plain.information[0, -1], rel=1e-6)
    for runs in others:
        assert runs.claimed < 0.5 * runs.information[0, -1]


def test_no_pseudo_points_at_any_distance_are_plain() -> None:
    result = check(draws=2, horizon=10, schedules=(Schedule(0, 0.1),))
    assert np.array_equal(result.runs[0].regret, result.runs[1].regret)


def test_the_same_seed_gives_the_same_check(line: Check) -> None:
    again, other = (check(draws=4, horizon=25, seed=seed, schedules=SCHEDULES[:1]) for seed in (0, 1))
    assert np.array_equal(again.runs[1].regret, line.runs[1].regret)
    assert not np.array_equal(other.runs[1].regret, line.runs[1].regret)


def test_the_schedule_of_the_theorem_is_the_policys() -> None:
    for schedule, l_t, tau_t in (
        (Schedule(3, 0.1), [0, 3, 3, 3], [0.1] * 4),
        (Schedule(None, 0.1), [0, 1, 2, 3], [0.1] * 4),
        (Schedule(None, 0.12, shrinking=True), [0, 1, 2, 3], [0.06, 0.06, 0.03, 0.02]),
    ):
        got = schedule.over(4, d=2)
        np.testing.assert_allclose(got[0], l_t)
        np.testing.assert_allclose(got[1], tau_t)


def test_error_of_the_mean_stays_as_the_distance_vanishes_but_not_what_f_has_in_it(line: Check) -> None:
    trade = line.trade
    assert np.all(trade.reduction > 0.0)
    assert trade.error[0] > 100 * trade.shift[0]
    slope = np.diff(np.log(trade.shift[:4])) / np.diff(np.log(trade.tau[:4]))
    np.testing.assert_allclose(slope, 2.0, atol=0.3)
    assert trade.error[-1] > 10 * trade.error[0]


def test_the_summary_has_a_line_for_each_schedule(line: Check) -> None:
    text = summary(line)
    assert len(text.splitlines()) == 4 + len(line.runs)
    for runs in line.runs:
        assert f"{runs.schedule.number}, {runs.schedule.distance} " in text
        assert f"{runs.regret[:, -1].mean():.2f}" in text
    assert text.count("100%") >= len(line.runs)


def test_pictures_are_written(line: Check, tmp_path: Path) -> None:
    paths = draw(line, tmp_path / "new" / "folder")
    names = ["theory-regret.png", "theory-regret.svg", "theory-trade.png", "theory-trade.svg"]
    assert [path.name for path in paths] == names
    for path in paths:
        wanted = b"\x89PNG" if path.suffix == ".png" else b"<svg"
        assert wanted in path.read_bytes()[:1000]


def test_a_plane_and_a_check_without_schedules_are_drawn(plane: Check) -> None:
    for found in (plane, check(draws=1, horizon=3, schedules=())):
        for figure in (draw_regret(found), draw_trade(found)):
            assert figure.axes


@pytest.mark.parametrize("wrong", [{"noise": 0.0}, {"delta": 2.0}, {"lengthscale": 0.0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        check(**wrong)
