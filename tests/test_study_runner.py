import math
import os
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import Any

import pytest

import bopp
from bopp import Float, Params, Recipe, Study
from bopp.errors import RecipeError, StoreError
from bopp.run.loop import Limits
from bopp.run.progress import Silent
from bopp.study import runner
from bopp.study.runner import run_study

FREE = Limits.from_now(None, None, None)


class Heard(Silent):
    """A meter that remembers what was dropped."""

    def __init__(self) -> None:
        self.dropped_for: list[str] = []

    def dropped(self, reason: str) -> None:
        self.dropped_for.append(reason)


def opened(path: Path, lease: float | None = 60.0, direction: Any = "minimize") -> Study:
    url = f"sqlite:///{path / 'study.db'}"
    return bopp.open_study(url, "s", {"x": Float(0, 1)}, direction, recipe=Recipe.random(), lease=lease)


def run(
    study: Study,
    objective: Any,
    budget: Any = 5,
    workers: Any = 1,
    timeout: Any = None,
    executor: Any = None,
    ends: Limits = FREE,
    show: Silent | None = None,
) -> list[str]:
    run_study(study, objective, budget, workers, timeout, executor, ends, show or Silent())
    return [trial.state for trial in study.trials]


def value(params: Params) -> float:
    return float(params["x"])


def test_it_runs_to_the_budget_and_a_second_time_adds_nothing(tmp_path: Path) -> None:
    study = opened(tmp_path)
    assert run(study, value) == ["done"] * 5
    assert run(study, value) == ["done"] * 5
    assert run(study, value, budget=7) == ["done"] * 7


def test_failures_count_and_results_from_elsewhere_do_not(tmp_path: Path) -> None:
    study = opened(tmp_path)
    study.observe({"x": 0.5}, 1.0)
    run(study, lambda params: math.nan, budget=3)
    assert [(trial.state, trial.origin) for trial in study.trials] == [
        ("done", "observed"),
        *[("failed", "suggested")] * 3,
    ]


@pytest.mark.parametrize("budget", [0, -1, 2.5, "5", None])
def test_a_wrong_budget_asks_for_nothing(budget: Any, tmp_path: Path) -> None:
    study = opened(tmp_path)
    with pytest.raises(RecipeError, match="budget must be an integer >= 1"):
        study.optimize(value, budget, progress=False)
    assert study.trials == ()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"workers": 0}, "workers"),
        ({"workers": 1.5}, "workers"),
        ({"timeout": 0}, "trial_timeout"),
        ({"timeout": float("nan")}, "trial_timeout"),
        ({"executor": 3}, "executor"),
    ],
)
def test_a_wrong_option_asks_for_nothing(options: dict[str, Any], named: str, tmp_path: Path) -> None:
    study = opened(tmp_path)
    with pytest.raises(RecipeError, match=named):
        run(study, value, **options)
    with pytest.raises(RecipeError, match="objective"):
        run(study, "no function")
    assert study.trials == ()


def test_what_was_not_told_is_given_back_for_the_next_who_asks(tmp_path: Path) -> None:
    study = opened(tmp_path)

    def interrupt(params: Params) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, interrupt)
    (left,) = study.trials
    assert left.state == "asked"
    other = opened(tmp_path)
    assert other.ask().params == left.params


def test_a_store_that_is_gone_does_not_hide_why_a_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path)

    def broken(*_: Any) -> None:
        raise StoreError("gone")

    def interrupt(params: Params) -> float:
        monkeypatch.setattr(study, "release", broken)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, interrupt)


@pytest.mark.parametrize(("direction", "target"), [("minimize", 0.9), ("maximize", 0.1)])
def test_a_target_that_others_reached_asks_for_nothing(direction: Any, target: float, tmp_path: Path) -> None:
    study = opened(tmp_path, direction=direction)
    study.observe({"x": 0.5}, 0.5)
    run(study, value, ends=Limits.from_now(target, None, None))
    assert len(study.trials) == 1


def test_a_target_ends_the_run(tmp_path: Path) -> None:
    study = opened(tmp_path)
    values = iter([3.0, 2.0, 1.0, 0.0])
    run(study, lambda params: next(values), budget=50, ends=Limits.from_now(1.0, None, None))
    assert [trial.value for trial in study.trials] == [3.0, 2.0, 1.0]


def test_a_time_limit_ends_the_run_and_what_is_under_way(tmp_path: Path) -> None:
    study = opened(tmp_path)
    began = time.monotonic()
    run(study, lambda params: time.sleep(600), workers=2, ends=Limits.from_now(None, 0.5, None))
    assert time.monotonic() - began < 30
    assert [trial.state for trial in study.trials] == ["asked", "asked"]
    assert {trial.number for trial in opened(tmp_path).ask(2)} == {0, 1}


def test_it_waits_for_others_and_takes_over_what_they_give_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LOOK", 0.02)
    other, study = opened(tmp_path), opened(tmp_path)
    taken = other.ask()
    states: list[str] = []
    thread = threading.Thread(target=lambda: states.extend(run(study, value, budget=3)))
    thread.start()
    deadline = time.monotonic() + 30
    while [trial.state for trial in other.trials].count("done") < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert thread.is_alive()
    other.release(taken)
    thread.join(30)
    assert states == ["done"] * 3


def test_it_does_not_wait_for_what_somebody_holds_by_hand(tmp_path: Path) -> None:
    held = opened(tmp_path, lease=None)
    held.ask()
    assert run(opened(tmp_path), value, budget=3) == ["asked", "done", "done"]


def test_it_stops_waiting_once_others_reach_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LOOK", 0.02)
    other, study = opened(tmp_path), opened(tmp_path)
    taken = other.ask()
    ends = Limits.from_now(-1.0, None, None)
    thread = threading.Thread(target=lambda: run(study, value, budget=2, ends=ends))
    thread.start()
    other.tell(taken, -5.0)
    thread.join(30)
    assert not thread.is_alive()


def test_a_trial_that_was_taken_away_is_reported_and_the_run_goes_on(tmp_path: Path) -> None:
    study, heard = opened(tmp_path), Heard()

    def slow(params: Params) -> float:
        trial = study.trials[-1]
        if trial.number == 1:  # somebody thinks that we are dead, takes the trial and tells it first
            [ours] = study._tickets.of(1)
            study._store.write(lambda connection: study._ledger.release(connection, ours))
            other = opened(tmp_path)
            other.tell(other.ask(), 7.0)
        return value(params)

    assert run(study, slow, budget=4, show=heard) == ["done"] * 4
    assert study.trials[1].value == 7.0
    (reason,) = heard.dropped_for
    assert reason.startswith("trial 1 was told 7.0 already")


def test_an_executor_evaluates(tmp_path: Path) -> None:
    study = opened(tmp_path)
    with futures.ThreadPoolExecutor(2) as pool:
        assert run(study, value, budget=4, workers=2, executor=pool) == ["done"] * 4


def test_a_process_each_for_several_workers(tmp_path: Path) -> None:
    study = opened(tmp_path)
    run(study, lambda params: os.getpid(), budget=4, workers=2)
    pids = {trial.value for trial in study.trials}
    assert len(pids) == 4
    assert os.getpid() not in pids
