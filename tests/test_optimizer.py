import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import bopp
from bopp import (
    Choice,
    Data,
    Float,
    Int,
    Known,
    Optimizer,
    Problem,
    Recipe,
    Result,
    Trial,
    maximize,
    minimize,
    optimize,
)
from bopp.data import Array
from bopp.errors import BoppError, NoResultError, RecipeError, SpaceError, TellError
from bopp.parameter import Parameter
from bopp.run.evaluation import InThisProcess
from bopp.suggest import suggest
from support.waiting import wait_until

PLANE: dict[str, Parameter] = {"x": Float(-5, 10), "y": Float(0, 15)}
MIXED: dict[str, Parameter] = {
    "x": Float(-1, 1),
    "lr": Float(1e-6, 1, log=True),
    "n": Int(1, 100),
    "act": Choice(["relu", "tanh", "gelu"]),
}
FINITE: dict[str, Parameter] = {"n": Int(1, 4), "act": Choice(["a", "b", "c"]), "flag": Choice([True, False])}
FULLY_BAYESIAN = replace(Recipe.default(), fit=bopp.fit.SliceSampling(samples=3, burn_in=2, thinning=1))


def branin(params: Mapping[str, Any]) -> float:
    x, y = params["x"], params["y"]
    valley = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return float(valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def scaled(params: Mapping[str, Any]) -> float:
    """Branin with mean 0 and variance 1, as the paper's recipes want it."""
    return (branin(params) - 54.3) / 51.3


def mixed(params: Mapping[str, Any]) -> float:
    slope = {"relu": 0.0, "tanh": 0.3, "gelu": 0.1}[params["act"]]
    return float(
        (params["x"] - 0.3) ** 2 + 0.1 * (math.log10(params["lr"]) + 3) ** 2 + slope + params["n"] / 100
    )


def finite(params: Mapping[str, Any]) -> float:
    return float(params["n"] + "abc".index(params["act"]) + params["flag"])


def points(result: Result | Optimizer) -> list[tuple[Any, ...]]:
    return [tuple(trial.params.values()) for trial in result.trials]


def answered(
    opt: Optimizer, count: int, objective: Callable[[Mapping[str, Any]], float] = branin
) -> Optimizer:
    """The optimizer after `count` more trials, asked and told one after the other."""
    for _ in range(count):
        trial = opt.ask()
        opt.tell(trial, objective(trial.params))
    return opt


@pytest.mark.parametrize(("space", "objective"), [(PLANE, branin), (MIXED, mixed)])
def test_the_same_seed_gives_the_same_run_and_another_seed_another(
    space: dict[str, Parameter], objective: Callable[[Mapping[str, Any]], float]
) -> None:
    first, again, other = (points(answered(Optimizer(space, seed=seed), 9, objective)) for seed in (1, 1, 2))
    assert first == again
    assert not set(first[:5]) & set(other[:5])
    assert first[5:] != other[5:]  # a corner may be a suggestion of both


def test_ask_and_tell_are_what_minimize_does() -> None:
    result = minimize(branin, PLANE, budget=10, seed=3, progress=False)
    opt = answered(Optimizer(PLANE, seed=3), 10)
    assert points(result) == points(opt)
    assert [trial.value for trial in result.trials] == [trial.value for trial in opt.trials]
    assert result.best.params == opt.best.params
    assert result.direction == "minimize"


@pytest.mark.parametrize("recipe", [Recipe.default(), Recipe.paper("ucb"), FULLY_BAYESIAN])
def test_maximize_is_minimize_of_the_negative(recipe: Recipe) -> None:
    least = minimize(branin, PLANE, budget=9, progress=False, recipe=recipe)
    largest = maximize(lambda params: -branin(params), PLANE, budget=9, progress=False, recipe=recipe)
    assert points(least) == points(largest)
    assert largest.best.number == least.best.number
    assert largest.best.value == -(least.best.value or 0.0)
    assert largest.direction == "maximize"


@pytest.mark.endurance
def test_branin_is_solved_in_thirty_evaluations() -> None:
    """With four seeds of five at least: one in thirty stays at the wall beside a minimum."""
    results = [minimize(branin, PLANE, budget=30, seed=seed, progress=False) for seed in range(5)]
    regrets = sorted((result.best.value or 0.0) - 0.397887 for result in results)
    assert regrets[3] < 0.1
    assert regrets[4] < 2.0


def test_a_suggestion_follows_from_the_history_alone() -> None:
    """Not from who asked for it: a run read back from elsewhere goes on as the first would have."""
    opt = answered(Optimizer(PLANE, seed=5), 8)
    copy = Optimizer(PLANE, seed=5)
    for trial in opt.trials:
        copy.observe(trial.params, trial.value)
    assert copy.ask().params == opt.ask().params


@pytest.mark.parametrize("told", [0, 1, 4, 8])
def test_a_suggestion_is_keyed_by_the_seed_and_the_number_of_the_trial(told: int) -> None:
    opt = answered(Optimizer(PLANE, seed=7), told)
    u = suggest(opt.space, opt.recipe, opt.result.history(), (7, told))
    assert opt.space.decode(u) == opt.ask().params


def test_the_order_of_tells_does_not_matter() -> None:
    forth, back = Optimizer(PLANE), Optimizer(PLANE)
    for trial in forth.ask(7):
        forth.tell(trial, branin(trial.params))
    for trial in reversed(back.ask(7)):
        back.tell(trial, branin(trial.params))
    assert [trial.number for trial in back.trials] == list(range(7))
    assert forth.ask().params == back.ask().params


def test_values_matter() -> None:
    high, low = Optimizer(PLANE), Optimizer(PLANE)
    for opt, sign in ((high, 1.0), (low, -1.0)):
        answered(opt, 6, lambda params, sign=sign: sign * params["x"])  # type: ignore[misc]
    assert high.ask().params != low.ask().params
    assert high.ask().params["x"] < 0 < low.ask().params["x"]


@pytest.mark.parametrize("told", [0, 8])
@pytest.mark.parametrize(("space", "objective"), [(PLANE, branin), (FINITE, finite)])
def test_four_trials_at_once_are_four_points(
    told: int, space: dict[str, Parameter], objective: Callable[[Mapping[str, Any]], float]
) -> None:
    opt = answered(Optimizer(space), told, objective)
    trials = opt.ask(4)
    assert [trial.number for trial in trials] == list(range(told, told + 4))
    assert len(set(points(opt))) == told + 4
    rows = np.array([opt.space.encode(trial.params) for trial in trials])
    apart = np.abs(rows[:, None] - rows[None, :]).max(axis=2) + np.eye(4)
    assert apart.min() > 1e-3


def test_params_taken_from_a_trial_stay_in_the_record() -> None:
    opt = Optimizer(PLANE)
    seen: list[Trial] = []

    def callback(_: Any, trial: Trial) -> None:
        trial.params.clear()
        seen.append(trial)

    trial = opt.ask()
    asked = trial.params
    trial.params.pop("x")
    told = opt.tell(trial, 1.0)
    told.params["y"] = opt.best.params["y"] = 99.0
    assert [one.params for one in opt.trials] == [asked] == [one.params for one in opt.result.trials]
    assert Result.from_json(opt.result.to_json()).best.params == asked

    def greedy(params: dict[str, float]) -> float:
        return params.pop("x") + params.pop("y")

    result = minimize(greedy, PLANE, 4, progress=False, callback=callback)
    assert [trial.params.keys() for trial in result.trials] == [asked.keys()] * 4
    assert [trial.params for trial in seen] == [trial.params for trial in result.trials]


def test_a_seed_of_none_is_drawn_and_kept() -> None:
    found = [minimize(branin, PLANE, 2, seed=None, progress=False) for _ in range(2)]
    assert found[0].seed != found[1].seed
    again = Optimizer(PLANE, seed=found[0].seed)
    assert again.seed == found[0].seed
    assert again.ask().params == found[0].trials[0].params != found[1].trials[0].params
    assert Result.from_json(found[0].to_json()).seed == found[0].seed
    assert minimize(branin, PLANE, 1, progress=False).seed == 0


def test_optimize_takes_a_space() -> None:
    result = optimize(branin, PLANE, 3, progress=False)
    assert result.problem == Problem(PLANE)
    with pytest.raises(SpaceError, match="dict"):
        optimize(branin, 3, progress=False)  # type: ignore[arg-type]


def test_foreign_trials_and_what_is_none_are_refused() -> None:
    opt, other = Optimizer(PLANE, seed=0), Optimizer(PLANE, seed=1)
    own = opt.ask()
    for foreign in (other.ask(), replace(own, number=7), replace(own, number=-1), Trial(0, {"z": 1})):
        for call in (partial(opt.tell, foreign, 1.0), partial(opt.fail, foreign, "no")):
            with pytest.raises(TellError, match=f"trial {foreign.number} "):
                call()
    things: list[Any] = [None, 0, {"x": 0.0, "y": 0.0}, "trial", Trial]
    for thing in things:
        with pytest.raises(TellError, match="trial"):
            opt.tell(thing, 1.0)
    assert opt.trials == (own,)
    assert opt.tell(own, 1.0).value == 1.0


def test_the_optimizer_works_after_every_error() -> None:
    opt, twin = Optimizer(PLANE), Optimizer(PLANE)
    bad: list[Callable[[], object]] = [
        lambda: opt.ask(0),
        lambda: opt.tell(Trial(99, {}), 1.0),
        lambda: opt.tell(opt.trials[0], "3"),
        lambda: opt.tell(opt.trials[0], 1e9),
        lambda: opt.observe({"x": 99, "y": 0}, 1.0),
        lambda: opt.observe({"x": 0, "y": 0}, "1"),
        lambda: opt.enqueue({"x": 99}),
    ]
    answered(opt, 1)
    answered(twin, 1)
    for call in bad:
        with pytest.raises(BoppError):
            call()
        answered(opt, 1)
        answered(twin, 1)
    assert points(opt) == points(twin)
    assert [trial.value for trial in opt.trials] == [trial.value for trial in twin.trials]


def test_observed_results_count_and_are_checked() -> None:
    opt = Optimizer(PLANE)
    seen = opt.observe({"x": 1, "y": 2}, np.float32(0.5))
    assert (seen.number, seen.origin, seen.state, seen.value) == (0, "observed", "done", 0.5)
    assert seen.params == {"x": 1.0, "y": 2.0}
    assert opt.best == seen
    assert opt.ask().number == 1
    for params in ({"x": 1}, {"x": 1, "y": 99}, {"x": 1, "y": 2, "z": 3}, {"x": "1", "y": 2}, None):
        with pytest.raises(SpaceError):
            opt.observe(params, 0.5)  # type: ignore[arg-type]
    with pytest.raises(TellError):
        opt.observe({"x": 1, "y": 2}, "low")
    assert len(opt.trials) == 2
    assert opt.observe({"x": 1, "y": 2}, None).state == "failed"


def test_an_observation_stands_in_for_a_part_of_the_initial_design() -> None:
    opt = Optimizer(PLANE, recipe=replace(Recipe.default(), initial=bopp.initial.Sobol(3)))
    for x in (-3.0, 2.0, 8.0):
        opt.observe({"x": x, "y": 7.0}, x)
    assert opt.ask().params["x"] < -3.0


def test_a_failed_trial_has_a_reason_and_is_not_suggested_again() -> None:
    opt = answered(Optimizer(FINITE), 6, finite)
    for _ in range(24 - 6):
        assert opt.fail(opt.ask(), "the pump broke").error == "the pump broke"
    assert len(set(points(opt))) == 24
    with pytest.raises(NoResultError, match="the pump broke"):
        Result(opt.problem, opt.trials[6:]).best.number  # noqa: B018


@pytest.mark.parametrize("seed", [0, 1])
def test_a_region_that_fails_does_not_hold_the_search(seed: int) -> None:
    """The left half fails, and values fall towards it: trials go on at other places than the last failure."""
    opt = Optimizer({"x": Float(0, 1)}, seed=seed)
    for _ in range(25):
        trial = opt.ask()
        opt.tell(trial, trial.params["x"] if trial.params["x"] > 0.5 else None)
    failed = sorted(trial.params["x"] for trial in opt.trials if trial.state == "failed")
    assert np.diff(failed).min() > 1e-3
    assert "done" in [trial.state for trial in opt.trials[-10:]]
    assert (opt.best.value or 0.0) < 0.52


def test_the_budget_counts_every_evaluation() -> None:
    calls = []

    def half(params: Mapping[str, Any]) -> float:
        calls.append(dict(params))
        return math.nan if len(calls) % 2 else branin(params)

    start: list[dict[str, Any]] = [{"x": 0.0, "y": 0.0}, {"x": 1, "y": 1}]
    result = minimize(half, PLANE, budget=9, progress=False, start=start)
    assert len(calls) == len(result.trials) == 9
    assert calls == [trial.params for trial in result.trials]
    assert calls[:2] == start
    assert [trial.origin for trial in result.trials[:3]] == ["queued", "queued", "suggested"]
    assert [trial.state for trial in result.trials].count("failed") == 5


def test_start_points_that_do_not_fit_are_named_before_anything_runs() -> None:
    calls: list[object] = []
    with pytest.raises(SpaceError, match="'y'"):
        minimize(calls.append, PLANE, progress=False, start=[{"x": 0, "y": 0}, {"x": 0, "y": 99}])
    assert calls == []


@pytest.mark.parametrize(("run", "sign"), [(minimize, 1.0), (maximize, -1.0)])
def test_a_run_stops_at_its_target(run: Callable[..., Result], sign: float) -> None:
    values = iter([5.0, 4.0, math.nan, 3.0, 2.0, 1.0])
    result = run(lambda params: sign * next(values), PLANE, budget=50, progress=False, target=sign * 3.0)
    assert [trial.values.get("value") for trial in result.trials] == [
        sign * 5.0,
        sign * 4.0,
        None,
        sign * 3.0,
    ]


def test_a_run_stops_at_its_time_limit() -> None:
    began = time.monotonic()

    def slow(params: Mapping[str, Any]) -> float:
        time.sleep(0.1)
        return 1.0

    result = minimize(slow, PLANE, budget=10_000, progress=False, time_limit=0.5)
    assert 1 <= len(result.trials) <= 6
    assert time.monotonic() - began < 3.0


def doze(params: Mapping[str, Any]) -> float:
    time.sleep(100.0)
    return 0.0


def test_a_time_limit_does_not_wait_for_processes() -> None:
    began = time.monotonic()
    result = minimize(doze, PLANE, budget=10, workers=2, progress=False, time_limit=0.5)
    assert time.monotonic() - began < 10.0
    assert [trial.state for trial in result.trials] == ["asked", "asked"]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(("answer", "trials"), [(None, 6), (np.float64(1.0) < 2.0, 1)])
def test_what_a_callback_returns_counts_by_its_truth(answer: Any, trials: int) -> None:
    """A comparison of numpy numbers is a numpy.bool, and not True itself."""
    result = minimize(branin, PLANE, budget=6, progress=False, callback=lambda opt, trial: answer)
    assert len(result.trials) == trials


def test_a_callback_sees_every_told_trial_and_may_stop_the_run() -> None:
    seen: list[Trial] = []

    def watch(opt: Optimizer, trial: Trial) -> bool:
        assert opt.trials[trial.number] == trial
        seen.append(trial)
        return trial.number == 3

    result = minimize(
        lambda params: branin(params) if params["x"] > 0 else None, PLANE, progress=False, callback=watch
    )
    assert seen == list(result.trials)
    assert len(seen) == 4
    assert {trial.state for trial in seen} == {"done", "failed"}


def moody(params: Mapping[str, Any]) -> float:
    """A kill, an error or a sleep without end, by the first of the three parameters."""
    match params["mood"]:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise RuntimeError("out of order")
        case "hang":
            time.sleep(1000.0)
    return float(params["n"])


INTERRUPTED = """
import os, sys, time
from pathlib import Path
import bopp

HERE = Path(sys.argv[1])

def objective(params):
    if len(list(HERE.glob("ended-*"))) >= 3:
        (HERE / f"running-{os.getpid()}").touch()
        time.sleep(1000)
    (HERE / f"ended-{params['x']}").touch()
    return params["x"]

if __name__ == "__main__":
    result = bopp.minimize(objective, {"x": bopp.Float(0, 1)}, budget=50, workers=int(sys.argv[2]))
    print([trial.state for trial in result.trials].count("done"), result.best.state, flush=True)
"""


@pytest.mark.parametrize(("workers", "kill"), [(1, os.kill), (2, os.kill), (2, os.killpg)])
def test_a_real_ctrl_c_ends_the_run_and_every_process(
    tmp_path: Path, workers: int, kill: Callable[[int, int], None]
) -> None:
    """A terminal sends SIGINT to the whole group, `kill -INT` to one process."""
    words = [sys.executable, "-c", INTERRUPTED, str(tmp_path), str(workers)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes, start_new_session=True) as run:
        try:
            wait_until(lambda: len(list(tmp_path.glob("running-*"))) == workers)
            kill(run.pid, signal.SIGINT)
            out, err = run.communicate(timeout=20.0)
        finally:
            run.kill()
    assert run.returncode == 0, err
    assert "Traceback" not in err
    assert "Interrupted" in err
    assert out.split() == [str(len(list(tmp_path.glob("ended-*")))), "done"]
    for path in tmp_path.glob("running-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name.removeprefix("running-")), 0)


def test_workers_survive_whatever_the_objective_does() -> None:
    """Guarantee 5."""
    space: dict[str, Parameter] = {"mood": Choice(["kill", "raise", "hang", "fine"]), "n": Int(1, 3)}
    result = minimize(moody, space, budget=12, workers=2, trial_timeout=0.7, progress=False)
    assert len(result.trials) == len(set(points(result))) == 12
    reasons = {"kill": "exit code -9", "raise": "RuntimeError: out of order", "hang": "0.7 seconds"}
    for trial in result.trials:
        if trial.params["mood"] == "fine":
            assert (trial.state, trial.value) == ("done", float(trial.params["n"]))
        else:
            assert trial.state == "failed"
            assert reasons[trial.params["mood"]] in (trial.error or "")
    assert result.best.params == {"mood": "fine", "n": 1}
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("recipe", "workers"),
    [
        (Recipe.default(), 1),
        (Recipe.default(), 2),
        (Recipe.random(), 1),
        (Recipe.random(), 2),
        pytest.param(Recipe.paper("ei"), 2, marks=pytest.mark.endurance),
        pytest.param(Recipe.paper("ucb", tau0=None), 1, marks=pytest.mark.endurance),
    ],
)
def test_no_point_of_a_finite_space_is_repeated_until_all_were_tried(recipe: Recipe, workers: int) -> None:
    """Guarantee 6; a third of the points fails, and these are not tried again either. Then it goes on."""
    result = minimize(often, FINITE, budget=27, workers=workers, progress=False, recipe=recipe)
    assert len(result.trials) == 27
    assert len(set(points(result))) == len(set(points(result)[:24])) == 24
    assert result.best.value == min(finite(t.params) for t in result.trials if t.state == "done")


def often(params: Mapping[str, Any]) -> float:
    return math.nan if params["act"] == "b" else finite(params)


@pytest.mark.parametrize(
    "parameter",
    [
        Int(0, 10**4),
        Int(1, 10**4, log=True),
        Int(1, 2**41, log=True),
        Int(0, 2**53),
        Int(-(2**52), 2**52),
        Int(1, 2**53, log=True),
    ],
    ids=repr,
)
def test_no_integer_of_a_wide_range_is_repeated(parameter: Int) -> None:
    """Guarantee 6, where the optimum is at the end of the range, and suggestions crowd there."""
    space = {"n": parameter}
    result = minimize(lambda params: math.log(1 + params["n"]), space, budget=20, progress=False)
    assert len(set(points(result))) == 20


def test_the_optimum_of_a_finite_space_is_found() -> None:
    space: dict[str, Parameter] = {"a": Int(0, 29), "b": Int(0, 29), "c": Choice(["u", "v", "w"])}

    def bowl(params: Mapping[str, Any]) -> float:
        return float((params["a"] - 13) ** 2 + (params["b"] - 7) ** 2 + 50 * (params["c"] != "v"))

    result = minimize(bowl, space, budget=45, progress=False)
    assert result.best.params == {"a": 13, "b": 7, "c": "v"}


def test_a_mixed_space_is_improved_upon_chance() -> None:
    model = minimize(mixed, MIXED, budget=40, progress=False)
    chance = minimize(mixed, MIXED, budget=40, progress=False, recipe=Recipe.random())
    assert (model.best.value or 0.0) < (chance.best.value or 0.0)
    assert (model.best.value or 0.0) < 0.1


@pytest.mark.parametrize("tau0", [0.001, 0.0, None])
@pytest.mark.parametrize("acquisition", ["ucb", "pi", "ei"])
def test_the_recipes_of_the_paper_run(acquisition: Literal["ucb", "pi", "ei"], tau0: float | None) -> None:
    result = minimize(scaled, PLANE, budget=12, progress=False, recipe=Recipe.paper(acquisition, tau0=tau0))
    assert [trial.state for trial in result.trials] == ["done"] * 12
    assert len(set(points(result))) == 12
    assert (result.best.value or 0.0) < -0.6


def test_pseudo_points_of_the_paper_make_a_difference() -> None:
    runs = [
        points(minimize(scaled, PLANE, budget=10, progress=False, recipe=Recipe.paper("ei", tau0=tau0)))
        for tau0 in (None, 0.1)
    ]
    assert runs[0][:5] == runs[1][:5]
    assert runs[0][5:] != runs[1][5:]


@dataclass(frozen=True)
class Bell:
    """A kernel of one's own: that of the paper, written again, operation by operation."""

    ard: bool = True

    def __call__(self, r2: Array) -> tuple[Array, Array]:
        value = -0.5 * r2
        np.exp(value, out=value)
        return value, -0.5 * value


@dataclass(frozen=True)
class Matern32:
    """(1 + a) exp(-a) with a = sqrt(3 r2)."""

    ard: bool = False

    def __call__(self, r2: Array) -> tuple[Array, Array]:
        a = np.sqrt(3.0 * r2)
        return (1.0 + a) * np.exp(-a), -1.5 * np.exp(-a)


def nothing(known: Known) -> Data:
    return Data.empty(known.dimension)


def mirror(known: Known) -> Data:
    return Data(1.0 - known.data.X, known.data.y)


def improvement(mean: Array, sd: Array, known: Known) -> Array:
    """Expected improvement, the score alone."""
    return bopp.acquisition.ei(mean, sd, known)[0]


PLAIN = Recipe.paper("ei", tau0=None)


WRONG_OPTIONS: list[tuple[str, Any]] = [
    *(("workers", 0), ("trial_timeout", 0), ("time_limit", "3"), ("time_limit", math.nan), ("target", "3")),
    *(("recipe", "paper"), ("callback", 3), ("seed", -1)),
]


@pytest.mark.parametrize(
    "recipe",
    [replace(PLAIN, kernel=Bell()), replace(PLAIN, pseudo=nothing), replace(PLAIN, acquisition=improvement)],
)
def test_parts_of_ones_own_that_do_the_same_give_the_same_run(recipe: Recipe) -> None:
    own = minimize(scaled, PLANE, budget=9, progress=False, recipe=recipe)
    assert points(own) == points(minimize(scaled, PLANE, budget=9, progress=False, recipe=PLAIN))


@pytest.mark.parametrize(
    "part",
    [
        {"kernel": Matern32()},
        {"pseudo": mirror},
        {"pseudo": bopp.pseudo.Pending() + mirror},
        {"acquisition": improvement},
        {"acquisition": lambda mean, sd, known: mean + sd},
    ],
)
def test_parts_of_ones_own_are_used(part: dict[str, Any]) -> None:
    recipe = replace(Recipe.default(), **part)
    own = minimize(branin, PLANE, budget=9, progress=False, recipe=recipe)
    plain = minimize(branin, PLANE, budget=9, progress=False)
    assert points(own)[:5] == points(plain)[:5]
    assert points(own)[5:] != points(plain)[5:]


def test_knowing_the_symmetry_makes_both_sides_known() -> None:
    """A policy with the mirror image of every point: what is known on the left is known on the right."""
    recipe = replace(Recipe.default(), pseudo=mirror, initial=bopp.initial.Sobol(0))
    opt = Optimizer({"x": Float(0, 1)}, recipe=recipe)
    for x in (0.0, 0.1, 0.2, 0.3, 0.4):
        opt.observe({"x": x}, (x - 0.25) ** 2)
    assert 0.15 < abs(opt.ask().params["x"] - 0.5) < 0.35


UNTYPED_MINIMIZE: Any = minimize  # for arguments that a type checker refuses
UNTYPED_OPTIMIZER: Any = Optimizer


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        *((partial(UNTYPED_MINIMIZE, branin, PLANE, budget=one), "budget") for one in (0, -1, 2.5, "9")),
        *((partial(UNTYPED_MINIMIZE, branin, PLANE, **{name: one}), name) for name, one in WRONG_OPTIONS),
        *((partial(UNTYPED_MINIMIZE, one, PLANE), "objective") for one in (None, 3.5)),
        (partial(UNTYPED_OPTIMIZER, PLANE, direction="up"), "direction"),
        *((partial(UNTYPED_OPTIMIZER, PLANE, seed=one), "seed") for one in (-1, 1.5)),
        (partial(UNTYPED_OPTIMIZER, PLANE, recipe="paper"), "recipe"),
        *((partial(Optimizer(PLANE).ask, one), "ask") for one in (0, -3, 1.5)),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(RecipeError, match=argument):
        call()
    spaces: list[Any] = [{}, [], {"x": 3}, {1: Float(0, 1)}]
    for space in spaces:
        with pytest.raises(SpaceError):
            minimize(branin, space, progress=False)


def test_a_mistyped_option_is_named_as_python_names_it() -> None:
    for run in (minimize, maximize):
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'worker'"):
            run(branin, PLANE, worker=2)  # type: ignore[call-arg]


def test_values_that_came_with_the_one_that_ends_the_run_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bopp.optimizer.evaluator", lambda objective, *_: InThisProcess(objective))
    result = minimize(branin, PLANE, budget=8, workers=3, target=math.inf, progress=False)
    assert [trial.state for trial in result.trials] == ["done"] * 3
