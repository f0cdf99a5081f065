"""What a run of a study does besides what test_study.py says of Study.optimize."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

import bopp
from bopp import Float, Params, Recipe, Study
from bopp.errors import StoreError
from bopp.run.loop import Limits
from bopp.run.progress import Meter
from bopp.study import runner
from bopp.study.runner import run_study
from support.studies import wait_for

FREE = Limits.from_now(None, None, None)


class Heard(Meter):
    """A meter that remembers what was dropped."""

    def __init__(self) -> None:
        self.dropped_for: list[str] = []

    def dropped(self, reason: str) -> None:
        self.dropped_for.append(reason)


def opened(path: Path, lease: float | None = 60.0) -> Study:
    url = f"sqlite:///{path / 'study.db'}"
    return bopp.open_study(url, "s", {"x": Float(0, 1)}, recipe=Recipe.random(), lease=lease)


def run(
    study: Study,
    objective: Callable[[Params], float],
    budget: int = 5,
    workers: int = 1,
    ends: Limits = FREE,
    show: Meter | None = None,
) -> list[str]:
    run_study(study, objective, budget, workers, None, None, ends, show or Meter())
    return [trial.state for trial in study.trials]


def value(params: Params) -> float:
    return float(params["x"])


def test_a_store_that_is_gone_does_not_hide_why_a_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path)

    def interrupt(params: Params) -> float:
        monkeypatch.setattr(study, "release", Mock(side_effect=StoreError("gone")))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, interrupt)
    assert [trial.state for trial in study.trials] == ["asked"]


@pytest.mark.parametrize("how", ["given up", "target"])
def test_it_waits_for_others_until_they_give_up_or_reach_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(runner, "LOOK", 0.02)
    other, study = opened(tmp_path), opened(tmp_path)
    taken = other.ask()
    ends = Limits.from_now(-1.0, None, None)
    thread = threading.Thread(target=lambda: run(study, value, budget=3, ends=ends))
    thread.start()
    wait_for(lambda: [trial.state for trial in other.trials].count("done") == 2, "nothing is told")
    assert thread.is_alive()
    if how == "target":
        other.tell(taken, -5.0)
    else:
        other.release(taken)
    thread.join(30)
    assert not thread.is_alive()
    assert [trial.state for trial in study.trials] == ["done"] * 3


def test_it_does_not_wait_for_what_somebody_holds_by_hand(tmp_path: Path) -> None:
    held = opened(tmp_path, lease=None)
    held.ask()
    assert run(opened(tmp_path), value, budget=3) == ["asked", "done", "done"]


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


def test_a_process_each_for_several_workers(tmp_path: Path) -> None:
    study = opened(tmp_path)
    run(study, lambda params: os.getpid(), budget=4, workers=2)
    pids = {trial.value for trial in study.trials}
    assert len(pids) == 4
    assert os.getpid() not in pids
