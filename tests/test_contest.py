"""Tests of the contest's runs, with the two peers that need no other library."""

import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bopp
from contest import records, runs
from contest.peers import PEERS
from contest.peers.bent import Bent
from contest.peers.bopp import Bopp
from contest.peers.cube import Cube
from contest.peers.peer import flat_numbers, two_parameters
from contest.peers.sobol import Sobol
from contest.points import given_points, sobol_points
from contest.records import Record, append, file_of, recorded
from contest.runs import Plan, execute, missing, run, shortened
from contest.task import Measured, Params, Task

SPACE: dict[str, bopp.Parameter] = {
    "x": bopp.Float(-1, 1),
    "kind": bopp.Choice(["flat", "steep"]),
    "slope": bopp.Float(1, 2, when={"kind": ["steep"]}),
}


def bowl(params: Params, number: int) -> Measured:
    """A bowl whose right end crashes."""
    if params["x"] > 0.8:
        return Measured(None, math.inf)
    value = (params["x"] - 0.3) ** 2 * params.get("slope", 0.5) + 1.0
    return Measured(value, value)


BOWL = Task("bowl-s1", "bowls", "bowl", SPACE, bowl, optimum=1.0, budget=12, given=4, seed=1)


class Recorder:
    """A peer that asks for the same point again and again, and remembers what it was told."""

    def __init__(self, params: Params):
        self.params = params
        self.told: list[tuple[Params, float | None]] = []

    def ask(self) -> Params:
        return dict(self.params)

    def tell(self, params: Params, value: float | None) -> None:
        self.told.append((params, value))


@pytest.mark.parametrize("factory", [Bopp, Sobol])
def test_a_record_has_the_improvements_and_what_they_cost(factory: type[Bopp] | type[Sobol]) -> None:
    seen: list[Measured] = []

    def evaluate(params: Params, number: int) -> Measured:
        assert number == len(seen)
        seen.append(bowl(params, number))
        return seen[-1]

    record = run(replace(BOWL, evaluate=evaluate), factory, "somebody")

    lowest = np.minimum.accumulate([one.truth for one in seen])
    improved = [number for number in range(12) if number == 0 or lowest[number] < lowest[number - 1]]
    assert [number - 1 for number, _ in record.best] == [n for n in improved if lowest[n] < math.inf]
    assert [truth for _, truth in record.best] == pytest.approx([lowest[n - 1] for n, _ in record.best])
    assert (record.task, record.peer, record.evaluations) == ("bowl-s1", "somebody", 12)
    assert (record.failed, record.repeats) == (sum(one.value is None for one in seen), 0)
    assert record.best == run(BOWL, factory, "somebody").best


def test_a_peer_is_told_the_given_points_first_and_every_crash() -> None:
    peer = Recorder({"x": 0.9, "kind": "flat"})
    record = run(BOWL, lambda *_, **__: peer, evaluations=6)
    assert [params for params, _ in peer.told[:4]] == given_points(BOWL)
    assert [value for _, value in peer.told[4:]] == [None, None]
    assert record.evaluations == 6
    assert record.failed >= 2


def test_a_point_that_differs_only_in_what_does_not_apply_is_a_repeat() -> None:
    slopes = iter(np.linspace(1.0, 2.0, 8))

    class Flat(Recorder):
        def ask(self) -> Params:
            return {"x": 0.5, "kind": "flat", "slope": float(next(slopes))}

    assert run(BOWL, lambda *_, **__: Flat({})).repeats == 7


def test_the_time_of_the_objective_is_not_the_peers() -> None:
    def slow(params: Params, number: int) -> Measured:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        return bowl(params, number)

    assert run(replace(BOWL, evaluate=slow), Sobol).cpu < 0.1


def test_sobol_goes_on_where_the_given_points_end() -> None:
    asked: list[Params] = []

    def evaluate(params: Params, number: int) -> Measured:
        asked.append(params)
        return bowl(params, number)

    run(replace(BOWL, evaluate=evaluate), Sobol)
    space = bopp.Space(SPACE)
    assert asked == [space.decode(u) for u in sobol_points(space.dimension, 12, seed=1)]


@pytest.mark.parametrize(
    ("truth", "optimum", "kept"),
    [
        (-156.63998765432198, -156.64, -156.63998765432),
        (123456.789, 0.0, 123456.8),
        (0.123456789, None, 0.1234568),
        (-156.64, -156.64, -156.64),
    ],
)
def test_a_value_keeps_seven_digits_of_its_regret(truth: float, optimum: float | None, kept: float) -> None:
    assert shortened(truth, optimum) == kept


def test_a_run_with_a_record_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(records.KEPT, "table", tmp_path)
    plans = [Plan("bowls", "table", f"bowl-s{seed}", peer) for seed in (1, 2) for peer in ("bopp", "sobol")]
    append(file_of("table", "bowls", "bopp"), Record("bowl-s2", "bopp", [(1, 2.0)], 12, 0.5, 0, 0))
    assert missing(plans) == [plans[0], plans[1], plans[3]]
    assert missing(plans[2:3], label="bopp-variant") == [plans[2]]


@pytest.mark.endurance
def test_runs_have_processes_of_their_own_and_one_that_dies_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setitem(records.KEPT, "table", tmp_path)
    for name, value in runs.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    task = runs.tasks_of("tuning", "table")[0]
    good = Plan("tuning", "table", task.name, "sobol", evaluations=6)
    assert execute([replace(good, task="nobody knows"), good]) == 1
    assert recorded(file_of("table", "tuning", "sobol")) == {task.name}
    assert "FAILED sobol nobody knows" in capfd.readouterr().err


def test_no_run_begins_when_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in runs.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert execute([Plan("tuning", "table", "any", "sobol")], seconds=0.0) == 0


def test_subsets_are_of_peers_and_groups_that_exist() -> None:
    assert runs.SUBSETS.keys() <= PEERS.keys()
    assert {group for subsets in runs.SUBSETS.values() for group in subsets} <= runs.MODULES.keys()


def test_every_value_on_a_grid_survives_the_cube() -> None:
    space: dict[str, bopp.Parameter] = {
        "units": bopp.Int(1, 100, log=True),
        "layers": bopp.Int(2, 10, step=2),
        "kind": bopp.Choice(["a", "b", "c"], when={"layers": [2]}),
        "share": bopp.Float(0, 1, step=0.25),
        "always": bopp.Fixed(7),
    }
    cube = Cube(space)
    for name, parameter in cube.parameters.items():
        for value in parameter.values():
            assert cube.decode(cube.encode({name: value}))[name] == value
    assert cube.dimension == 4
    assert not flat_numbers(bopp.Space(space))


def test_the_ends_of_the_cube_are_the_ends_of_the_ranges() -> None:
    space = {"rate": bopp.Float(1e-3, 10, log=True), "units": bopp.Int(1, 9, log=True), "n": bopp.Int(3, 5)}
    cube = Cube(space)
    low, high = cube.decode(np.zeros(3)), cube.decode(np.ones(3))
    assert low == pytest.approx({"rate": 1e-3, "units": 1, "n": 3})
    assert high == pytest.approx({"rate": 10, "units": 9, "n": 5})
    assert flat_numbers(bopp.Space(space))
    assert two_parameters(bopp.Space(space))


def test_a_peer_is_told_bent_values_in_the_same_order() -> None:
    """Crashes stay crashes, and a value that is far worse comes closer."""
    peer = Recorder({"x": 0.0})
    bent = Bent(BOWL.space, 0, 10, False, lambda *_: peer)
    for value in (3.0, 1.0, None, 2.0, 1000.0, 0.0):
        bent.tell({"x": 0.5}, value)
    assert bent.ask() == {"x": 0.0}
    told = [value for _, value in peer.told]
    assert told.pop(2) is None
    good = np.array(told, dtype=float)
    assert good.argsort().tolist() == [4, 1, 2, 0, 3]
    assert (good[3] - good[0]) / (good[0] - good[4]) < 997.0 / 3.0
