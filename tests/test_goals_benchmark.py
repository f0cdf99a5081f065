"""Tests of the benchmark of constraints and several objectives, with the peers that need no other library."""

import math
import sys
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bopp
from contest.records import append
from contest.statistics import mean_ranks
from goals import records, report
from goals.peers import PEERS
from goals.peers.bopp import Bopp
from goals.peers.sobol import Sobol
from goals.problem import BUDGET, Outcome, Problem
from goals.problems import PARTS, PROBLEMS
from goals.records import Record, file_of, read, record, shortened
from goals.runs import SEEDS, drop, missing, planned, run
from goals.scores import FLOOR, fields, gaps, met, read_all, scores, volume, volumes
from goals.standings import duel_table, in_bold

CONSTRAINED = [problem for problem in PROBLEMS.values() if problem.objectives == 1]
SEVERAL = [problem for problem in PROBLEMS.values() if problem.objectives > 1]
BEST = {  # from the literature
    "gramacy": ([0.1954, 0.4044], 0.5998),
    "townsend": ([2.0052938, 1.1944509], -2.0239884),
    "hartmann6-ball": ([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573], -3.32237),
    "speed-reducer": ([3.5, 0.7, 17.0, 7.3, 7.8, 3.350215, 5.286683], 2996.3482),
    "g4": ([78.0, 33.0, 29.995256025682, 45.0, 36.775812905788], -30665.539),
    "g6": ([14.095, 0.84296], -6961.81388),
    "g8": ([1.2279713, 4.2453733], -0.095825),
    "g9": ([2.330499, 1.951372, -0.4775414, 4.365726, -0.624487, 1.038131, 1.594227], 680.6300573),
    "spring": ([0.051690, 0.356750, 11.287126], 0.012665),
    "truss": ([0.78867513, 0.40824829], 263.895843),
    "bird": ([-3.1302468, -1.5821422], -106.7645367),
    "gomez-levy": ([0.08984201, -0.7126564], -1.031628453),
    "ackley5": ([0.0] * 5, 0.0),
}
POINTS = [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [4.0, 4.0]]


def marked(problems: Iterable[Problem]) -> list[Any]:
    """The problems as parameters of a test, the one that takes long for the long run."""
    return [
        pytest.param(one, marks=pytest.mark.endurance if one.name == "forest" else [], id=one.name)
        for one in problems
    ]


def random_points(problem: Problem, count: int) -> Any:
    space = bopp.Space(problem.space)
    U = np.random.default_rng(0).random((count, space.dimension))
    return np.array([[float(value) for value in space.decode(u).values()] for u in U])


def record_of(
    problem: str,
    objectives: list[list[float]],
    constraints: list[list[float]],
    peer: str = "bopp",
    seed: int = 0,
) -> Record:
    """A run that goes on with its last evaluation to the end of the budget."""
    outcomes = [Outcome(*pair) for pair in zip(objectives, constraints, strict=True)]
    outcomes += outcomes[-1:] * (BUDGET - len(outcomes))
    return record(peer, problem, seed, outcomes, 1.5, 0)


def test_no_problem_is_in_both_parts() -> None:
    names = [problem.name for part in PARTS.values() for problem in part]
    assert len(names) == len(set(names)) == len(PROBLEMS)
    functions = [
        {getattr(one.functions, "func", one.functions) for one in problems} for problems in PARTS.values()
    ]
    assert not functions[0] & functions[1]


@pytest.mark.parametrize("problem", marked(PROBLEMS.values()))
def test_a_problem_has_as_many_outcomes_as_it_says(problem: Problem) -> None:
    X = random_points(problem, 2)
    objectives, constraints = problem.values(X)
    assert (objectives.shape, constraints.shape) == ((2, problem.objectives), (2, problem.constraints))
    assert np.isfinite(np.hstack([objectives, constraints])).all()
    one = problem.evaluate(dict(zip(problem.space, X[1], strict=True)))
    np.testing.assert_allclose(one.objectives, objectives[1])
    np.testing.assert_allclose(one.constraints, constraints[1])
    assert len(problem.reference) == (problem.objectives if problem.objectives > 1 else 0)


@pytest.mark.parametrize("name", BEST)
def test_the_best_is_that_of_the_literature(name: str) -> None:
    (point, value), problem = BEST[name], PROBLEMS[name]
    objectives, constraints = problem.values(np.array([point]))
    spread = problem.values(random_points(problem, 200))[1].std(axis=0)
    assert objectives[0, 0] == pytest.approx(value, rel=1e-3, abs=1e-9)
    assert (constraints[0] <= 1e-2 * spread).all()
    assert problem.known["best"] == pytest.approx(value, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("problem", CONSTRAINED, ids=lambda problem: problem.name)
def test_no_random_point_is_better_than_the_best_known(problem: Problem) -> None:
    objectives, constraints = problem.values(random_points(problem, 2000))
    feasible = objectives[(constraints <= 0).all(axis=1), 0]
    assert problem.known["best"] < problem.known["worst"]
    assert (feasible >= problem.known["best"]).all()


@pytest.mark.parametrize("problem", marked(SEVERAL))
def test_no_random_points_have_more_than_the_whole_volume(problem: Problem) -> None:
    X = random_points(problem, 20 if problem.name == "forest" else BUDGET)
    objectives, constraints = problem.values(X)
    share = volumes(record_of(problem.name, objectives.tolist(), constraints.tolist()))
    assert (np.diff(share) >= 0).all()
    assert share[-1] <= 1.0


@pytest.mark.parametrize("name", ["zdt1", "zdt2", "dtlz2-2"])
def test_a_dense_front_has_nearly_the_whole_volume(name: str) -> None:
    X = np.full((BUDGET, 6), 0.5 if name == "dtlz2-2" else 0.0)
    X[:, 0] = np.linspace(0.0, 1.0, BUDGET)
    objectives, _ = PROBLEMS[name].values(X)
    last = volumes(record_of(name, objectives.tolist(), [[]] * BUDGET))[-1]
    assert 0.97 < last < 1.0


def test_all_runs_of_a_seed_begin_with_the_same_points() -> None:
    problem = PROBLEMS["gomez-levy"]
    assert [problem.given, PROBLEMS["g9"].given] == [5, 8]
    given = [problem.evaluate(params).objectives for params in problem.given_points(3)]
    runs = [run(problem, factory, 3, evaluations=7) for factory in (Sobol, Bopp)]
    for made in runs:
        assert len(made.objectives) == 7
        np.testing.assert_allclose(made.objectives[:5], given, rtol=1e-10)
    assert runs[0].objectives[5:] != runs[1].objectives[5:]


def test_bopp_is_told_every_outcome() -> None:
    problem = PROBLEMS["bnh"]
    peer = Bopp(problem, 0)
    for params in problem.given_points(0):
        peer.tell(params, problem.evaluate(params))
    asked = peer.ask()
    peer.tell(asked, problem.evaluate(asked))
    trials = peer.optimizer.result.trials
    assert len(trials) == problem.given + 1
    assert list(trials[-1].values) == ["f1", "f2", "c1", "c2"]


def test_records_come_back_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(records.KEPT, "choosing", tmp_path)
    made = run(PROBLEMS["bnh"], Sobol, 1, "sobol", evaluations=6)
    append(file_of("choosing", "sobol"), made)
    assert read(file_of("choosing", "sobol")) == [made] == read_all(tmp_path)
    assert asdict(made)["task"] == "bnh-s1"
    append(file_of("choosing", "sobol"), made)
    assert read_all(tmp_path) == [made]
    assert shortened(-1.23456e-300, 4) == -1.235e-300
    assert shortened(1e-12, 4) > 0


def test_a_run_with_a_record_is_not_missing_until_it_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(records.KEPT, "choosing", tmp_path)
    plans = planned("choosing", ["sobol"], ["g6", "bnh"], [0, 1])
    assert [plan.task for plan in plans] == ["g6-s0", "bnh-s0", "g6-s1", "bnh-s1"]
    for plan in plans[:2]:
        append(file_of("choosing", "sobol"), record_of(plan.problem, [[1.0]], [[0.0]], "sobol", plan.seed))
    assert missing(plans) == plans[2:]
    assert missing(planned("choosing", ["sobol"], ["g6"], [0], "variant"))
    drop(plans[:1])
    assert missing(plans) == [plans[0], *plans[2:]]


def test_a_reference_is_for_several_objectives_only() -> None:
    names = {plan.problem for plan in planned("table", ["bopp-reference"], seeds=[0])}
    assert names == {problem.name for problem in PARTS["table"] if problem.objectives > 1}
    assert len(SEEDS["table"]) == 10


def test_regret_counts_from_the_first_feasible_value_on() -> None:
    best, worst = (PROBLEMS["g6"].known[name] for name in ("best", "worst"))
    made = record_of(
        "g6",
        [[best], [worst], [0.5 * (best + worst)], [best + 1.0], [best]],
        [[1.0, -1.0], [0.0, -1.0], [-1.0, -1.0], [-1.0, 1e-9], [0.0, 0.0]],
    )
    assert met(made)[:5].tolist() == [False, True, True, False, True]
    np.testing.assert_allclose(gaps(made)[:4], [1.0, 1.0, 0.5, 0.5])
    assert gaps(made)[-1] == FLOOR


def test_a_volume_counts_what_is_feasible_and_better_than_the_reference() -> None:
    reference = PROBLEMS["bnh"].reference
    whole = PROBLEMS["bnh"].known["volume"]
    near = [reference[0] - 10.0, reference[1] - 5.0]
    made = record_of("bnh", [near, near, [reference[0] + 1, 0.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(volumes(made)[:3] * whole, [0.0, 50.0, 50.0])


def test_the_hypervolume_is_the_area_that_is_dominated() -> None:
    problem = Problem("squares", {}, lambda X: ([], []), 2, 0, (5.0, 5.0))
    squares = [(x, y) for x in range(5) for y in range(5)]
    dominated = sum(any(x >= a and y >= b for a, b in POINTS) for x, y in squares)
    assert volume(np.array(POINTS), problem) == dominated


def made_up(shares: dict[str, float], seeds: dict[str, int]) -> list[Record]:
    """Runs whose regret is a known share of the gap."""
    found = []
    for peer, share in shares.items():
        for name in ("g6", "g8"):
            best, worst = (PROBLEMS[name].known[key] for key in ("best", "worst"))
            outcome = [[best + share * (worst - best)]], [[0.0, 0.0]]
            found += [record_of(name, *outcome, peer, seed) for seed in range(seeds[peer])]
    return found


def test_ranks_and_differences_are_those_of_the_regrets() -> None:
    runs = made_up({"bopp": 1e-3, "tpe": 1e-2, "sobol": 1e-1}, {"bopp": 3, "tpe": 3, "sobol": 2})
    table = scores(runs, "choosing", "constrained", ["bopp", "tpe", "sobol"])
    everybody, without = fields(table)
    assert (everybody.peers, len(everybody.subjects)) == (("bopp", "tpe", "sobol"), 4)
    assert (without.peers, len(without.subjects)) == (("bopp", "tpe"), 6)
    np.testing.assert_allclose(mean_ranks(everybody.at(60)), [1, 2, 3])
    np.testing.assert_allclose(everybody.at(20).mean(axis=1), [-3, -2, -1], atol=1e-6)
    rows = duel_table(table).splitlines()
    assert rows[2].startswith("| tpe | 6 | 6 | 0 | -1.00 (-1.00 to -1.00) |")
    assert rows[3].startswith("| sobol | 4 | 4 | 0 | -2.00")


def test_the_best_number_is_bold() -> None:
    assert in_bold([1.0, 2.0, 1.001]) == ["**1.00**", "2.00", "**1.00**"]
    assert in_bold([1.0, 2.0], ".1f", max) == ["1.0", "**2.0**"]


def test_a_comparison_has_every_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(records.KEPT, "choosing", tmp_path)
    runs = made_up({"bopp": 1e-3, "tried": 1e-2}, {"bopp": 2, "tried": 2})
    runs += [record_of("bnh", [[50.0, 30.0]], [[0.0, 0.0]], peer) for peer in ("bopp", "tried")]
    runs.append(record_of("g4", [[0.0]], [[1.0] * 6], "tried"))
    for made in runs:
        append(file_of("choosing", made.peer), made)
    shown = report.comparison("choosing")
    assert "| tried | 4 | 4 | 0 | -1.00" in shown
    assert "### Problem by problem" in shown
    assert "| bnh | 1 | **" in shown


def test_the_page_is_made_from_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(records.KEPT, "table", tmp_path)
    best = PROBLEMS["gramacy"].known["best"]
    for peer, value in {"bopp": best + 0.01, "sobol": best + 0.1}.items():
        append(file_of("table", peer), record_of("gramacy", [[value]], [[0.0, 0.0]], peer))
    append(file_of("table", "nsga2"), record_of("gramacy", [[1.0]], [[1.0, 0.0]], "nsga2"))
    page = report.page()
    assert "On the 1 runs of 1 problems" in page
    assert "| nsga2 | 3.00 | 3.00 | 3.00 | 0.00 | 0.00 | 0.00 | 1 | 1 | 1 | 1.5 | 0 |" in page
    assert all(peer in report.OPTIMIZERS for peer in PEERS)


def botorch_problems() -> dict[str, Any]:
    """The problems that BoTorch has too."""
    synthetic = pytest.importorskip("botorch.test_functions.synthetic")
    several = pytest.importorskip("botorch.test_functions.multi_objective")
    return {
        "gramacy": synthetic.ConstrainedGramacy(),
        "hartmann6-ball": synthetic.ConstrainedHartmann(dim=6),
        "speed-reducer": synthetic.SpeedReducer(),
        "welded-beam": synthetic.WeldedBeamSO(),
        "pressure-vessel": synthetic.PressureVessel(),
        "keane4": synthetic.KeaneBumpFunction(4),
        "spring": synthetic.TensionCompressionString(),
        "zdt1": several.ZDT1(dim=6),
        "zdt2": several.ZDT2(dim=6),
        "zdt3": several.ZDT3(dim=6),
        "dtlz2-2": several.DTLZ2(6, 2),
        "dtlz2-3": several.DTLZ2(6, 3),
        "branin-currin": several.BraninCurrin(),
        "vehicle-safety": several.VehicleSafety(),
        "dtlz7": several.DTLZ7(5, 2),
        "bnh": several.BNH(),
        "osy": several.OSY(),
    }


def test_problems_are_those_of_botorch() -> None:
    theirs = botorch_problems()
    torch = sys.modules["torch"]
    for name, their in theirs.items():
        ours = PROBLEMS[name]
        bounds = [[getattr(one, end) for one in ours.space.values()] for end in ("low", "high")]
        np.testing.assert_allclose(bounds, their.bounds.numpy(), err_msg=name)
        X = random_points(ours, 500)
        objectives, constraints = ours.values(X)
        expected = their.evaluate_true(torch.tensor(X)).numpy().reshape(len(X), -1)
        close = partial(np.testing.assert_allclose, rtol=1e-6, err_msg=name)  # their constants are float32
        close(objectives, expected, atol=1e-7)
        if ours.constraints:
            close(constraints, -their.evaluate_slack_true(torch.tensor(X)).numpy(), atol=1e-9)
        if ours in PARTS["table"] and ours.objectives > 1:
            assert ours.reference == tuple(their.ref_point.tolist())
            assert math.isclose(ours.known["volume"], their._max_hv, rel_tol=1e-3)
