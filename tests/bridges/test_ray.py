from __future__ import annotations

import ast
import enum
import inspect
import json
import math
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import pytest
import ray
from hypothesis import given, settings
from hypothesis import strategies as st
from ray import cloudpickle, tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import ConcurrencyLimiter, Repeater
from ray.tune.search.optuna import OptunaSearch

import bopp
from bopp import Choice, Fixed, Float, Int, Optimizer, Params, Recipe, Trial
from bopp.bridges import ray as bridge
from bopp.bridges.optuna import BoppSampler
from bopp.bridges.ray import BoppSearch, earlier
from bopp.errors import BoppError, NoResultError, RecipeError, SpaceError, StudyError, TellError
from bopp.problem import AtLeast, AtMost, Holds
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits
from bopp.result import Result
from support import documents

seeded = settings(derandomize=True, deadline=None, max_examples=40)
PATIENCE = 180.0  # seconds that a busy machine may take

LINE = {"x": tune.uniform(0, 1)}
SPACE = {
    "rate": tune.loguniform(1e-4, 1),
    "net": {"layers": tune.randint(1, 9), "kind": tune.choice(["relu", "tanh", "gelu"])},
    "epochs": 3,
}
OURS: dict[str, bopp.parameter.Parameter] = {
    "rate": Float(1e-4, 1, log=True),
    "net/layers": Int(1, 8),
    "net/kind": Choice(["relu", "tanh", "gelu"]),
}


def loss(config: Mapping[str, Any]) -> float:
    net = config["net"]
    return float((math.log10(config["rate"]) + 2) ** 2 + abs(net["layers"] - 5) + (net["kind"] == "relu"))


def nested(params: Params) -> dict[str, Any]:
    net = {"layers": params["net/layers"], "kind": params["net/kind"]}
    return {"rate": params["rate"], "net": net, "epochs": 3}


def searching(space: Mapping[str, Any] = SPACE, mode: str = "min", **settings: Any) -> BoppSearch:
    return BoppSearch(space, metric="loss", mode=mode, **settings)


def state_of(search: Any) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        search.save(str(Path(folder, "state")))
        return dict(json.loads(Path(folder, "state").read_bytes()))


def known(search: Any) -> tuple[Trial, ...]:
    return trials_in(state_of(search))


def trials_in(state: Mapping[str, Any]) -> tuple[Trial, ...]:
    return Result.from_json(state["result"]).trials


def values(domain: Any, count: int, recipe: Recipe | None = None) -> list[Any]:
    search = searching({"a": domain}, recipe=recipe)
    return [search.suggest(str(number))["a"] for number in range(count)]


def evaluated(search: Any, name: str) -> None:
    search.on_trial_complete(name, {"loss": loss(search.suggest(name))})


def after(count: int, search: Any) -> Any:
    """The searcher once so many trials were evaluated."""
    for number in range(count):
        evaluated(search, f"trial {number}")
    return search


@pytest.mark.parametrize(("mode", "direction"), [("min", "minimize"), ("max", "maximize")])
def test_the_suggestions_are_those_of_an_optimizer(mode: str, direction: bopp.problem.Direction) -> None:
    search, optimizer = searching(mode=mode, seed=3), Optimizer(OURS, direction, seed=3)
    for number in range(14):
        trial, config = optimizer.ask(), search.suggest(str(number))
        assert config == nested(trial.params)
        optimizer.tell(trial, loss(config))
        search.on_trial_complete(str(number), {"loss": loss(config), "done": True})


def test_running_and_failed_trials_steer_as_they_do_in_an_optimizer() -> None:
    search, optimizer = searching(), Optimizer(OURS)
    running: list[tuple[str, Trial]] = []
    for number in range(16):
        trial, config = optimizer.ask(), search.suggest(f"n{number}")
        assert config == nested(trial.params)
        running.append((f"n{number}", trial))
        if len(running) == 3:
            name, oldest = running.pop(number % 2)
            if number % 3:
                optimizer.tell(oldest, loss(nested(oldest.params)))
                search.on_trial_complete(name, {"loss": loss(nested(oldest.params))})
            else:
                optimizer.fail(oldest, "crashed")
                search.on_trial_complete(name, error=True)


def test_a_recipe_of_yours_is_the_one_that_suggests() -> None:
    search, optimizer = searching(recipe=Recipe.random()), Optimizer(OURS, recipe=Recipe.random())
    for number in range(9):
        trial = optimizer.ask()
        assert search.suggest(str(number)) == nested(trial.params)
        optimizer.tell(trial, float(number))
        search.on_trial_complete(str(number), {"loss": float(number)})


def test_a_trial_is_pending_until_it_completes() -> None:
    search = searching()
    for name in ("a", "b"):
        search.suggest(name)
    assert [trial.state for trial in known(search)] == ["asked", "asked"]
    search.on_trial_complete("b", {"loss": 2.0})
    assert [(trial.state, trial.values.get("value")) for trial in known(search)] == [
        ("asked", None),
        ("done", 2.0),
    ]


@pytest.mark.parametrize(
    "value", [1, -0.5, True, np.float32(0.5), np.int64(7), np.array(0.25), Fraction(1, 4), 1e300]
)
def test_a_number_of_any_kind_is_a_value(value: Any) -> None:
    search = searching()
    search.suggest("a")
    search.on_trial_complete("a", {"loss": value})
    assert [(trial.state, trial.value) for trial in known(search)] == [("done", float(value))]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "no result under 'loss'"),
        ({}, "no result under 'loss'"),
        ({"other": 1.0}, "no result under 'loss'"),
        ({"loss": None}, "no result under 'loss'"),
        ({"loss": math.nan}, "nan"),
        ({"loss": -math.inf}, "inf"),
        ({"loss": 10**400}, "inf"),
        ({"loss": "0.5"}, "wanted a number as value, got '0.5'"),
        ({"loss": [0.5]}, "wanted a number"),
        ({"loss": {"mean": 0.5}}, "wanted a number"),
        ({"loss": np.array([1.0, 2.0])}, "wanted a number"),
        ({"loss": 1j}, "wanted a number"),
    ],
    ids=str,
)
def test_a_trial_without_a_number_is_a_failed_one_that_says_why(result: Any, words: str) -> None:
    search = searching()
    search.suggest("a")
    search.on_trial_complete("a", result)
    (trial,) = known(search)
    assert (trial.state, trial.values) == ("failed", {})
    assert words in str(trial.error)


def test_an_error_is_a_failed_trial_whatever_was_reported() -> None:
    search = searching()
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1.0}, error=True)
    (trial,) = known(search)
    assert (trial.state, trial.error) == ("failed", "the trial ended in an error")


def test_without_a_metric_the_value_is_the_one_that_a_function_returns() -> None:
    search = BoppSearch(LINE, mode="min")
    search.suggest("a")
    search.on_trial_complete("a", {"_metric": 0.5})
    assert known(search)[0].value == 0.5


def test_a_completion_that_is_not_awaited_changes_nothing() -> None:
    search = searching()
    for name in ("done", "failed", "running"):
        search.suggest(name)
    search.on_trial_complete("done", {"loss": 1.0})
    search.on_trial_complete("failed", error=True)
    before = state_of(search)
    for name in ("done", "failed", "unknown", ""):
        search.on_trial_complete(name, {"loss": 2.0})
        search.on_trial_complete(name, error=True)
    assert state_of(search) == before


def test_a_trial_that_is_asked_for_twice_gets_the_same_config() -> None:
    search = searching()
    first, second = search.suggest("a"), search.suggest("b")
    assert search.suggest("a") == first != second
    search.on_trial_complete("a", {"loss": 1.0})
    assert search.suggest("a") == first
    assert len(known(search)) == 2


def test_a_repeated_trial_counts_with_its_mean() -> None:
    search = searching()
    repeater = Repeater(search, repeat=2)
    configs = [repeater.suggest(name) for name in ("a", "b", "c", "d")]
    assert configs[0]["rate"] == configs[1]["rate"] != configs[2]["rate"] == configs[3]["rate"]
    for name, value in [("a", 1.0), ("b", 2.0)]:
        repeater.on_trial_complete(name, {"loss": value})
    assert [trial.values.get("value") for trial in known(search)] == [1.5, None]


FINITE = {
    "quniform": tune.quniform(-0.3, 0.6, 0.1),
    "quniform of a coarse step": tune.quniform(0, 10, 2.5),
    "qloguniform": tune.qloguniform(0.02, 0.2, 0.02),
    "randint": tune.randint(-3, 4),
    "randint of one": tune.randint(2, 3),
    "qrandint of 1": tune.qrandint(-2, 5, 1),
    "qrandint": tune.qrandint(-4, 9, 2),
    "qrandint off the steps": tune.qrandint(1, 14, 4),
    "qrandint of one": tune.qrandint(3, 5, 4),
    "lograndint": tune.lograndint(1, 9),
    "qlograndint of 1": tune.qlograndint(2, 9, 1),
    "qlograndint": tune.qlograndint(3, 31, 3),
    "choice": tune.choice(["a", "b", "c"]),
}
REAL = {
    "uniform": tune.uniform(-2, 3),
    "a narrow uniform": tune.uniform(1.0, 1.0 + 1e-9),
    "loguniform": tune.loguniform(1e-5, 1e3),
}


def drawn(domain: Any, count: int) -> list[Any]:
    """What Ray itself draws from a domain."""
    return [domain.cast(value) for value in domain.sample(size=count, random_state=0)]


def rounded(numbers: Sequence[Any]) -> set[Any]:
    return {round(number, 9) if isinstance(number, float) else number for number in numbers}


@pytest.mark.parametrize("domain", FINITE.values(), ids=FINITE)
def test_exactly_what_ray_can_draw_is_suggested(domain: Any) -> None:
    reachable = rounded(drawn(domain, 4000))
    assert rounded(values(domain, len(reachable), Recipe.random())) == reachable


@pytest.mark.parametrize("domain", [*FINITE.values(), *REAL.values()], ids=[*FINITE, *REAL])
def test_suggestions_are_valid_and_of_the_type_that_ray_draws(domain: Any) -> None:
    search, kind = searching({"a": domain}), type(domain.sample())
    for number in range(12):
        value = search.suggest(str(number))["a"]
        assert domain.is_valid(value)
        assert type(value) is kind
        search.on_trial_complete(str(number), {"loss": -len(str(value))})


@pytest.mark.parametrize("domain", [*FINITE.values(), *REAL.values()], ids=[*FINITE, *REAL])
def test_what_ray_draws_can_be_tried_first(domain: Any) -> None:
    points = [{"a": value} for value in drawn(domain, 30)]
    search = searching({"a": domain}, points_to_evaluate=points)
    for number, point in enumerate(points):
        value = search.suggest(str(number))["a"]
        assert value == (pytest.approx(point["a"], abs=1e-12) if isinstance(value, float) else point["a"])


@pytest.mark.parametrize("name", ["quniform", "quniform of a coarse step", "qloguniform"])
def test_quantised_numbers_are_multiples_of_q(name: str) -> None:
    for value in values(FINITE[name], 10, Recipe.random()):
        steps = value / FINITE[name].get_sampler().q
        assert steps == pytest.approx(round(steps), abs=1e-9)


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 9), st.booleans())
@seeded
def test_quantised_integers_are_those_of_ray(low: int, width: int, step: int, log: bool) -> None:
    low = abs(low) + 1 if log else low
    domain = (tune.qlograndint if log else tune.qrandint)(low, low + width + 1, step)
    sampled = [number for number in range(low, low + width + 2) if number % step == 0]
    reachable = {number for number in sampled if step > 1 or number <= low + width}
    if not reachable:
        with pytest.raises(SpaceError, match="wanted a step that fits"):
            searching({"a": domain})
        return
    assert set(values(domain, len(reachable), Recipe.random())) == reachable
    assert set(drawn(domain, 50)) <= reachable


@pytest.mark.parametrize(
    ("domain", "low", "high"),
    [
        (tune.uniform(-2, 3), -2.0, 3.0),
        (tune.loguniform(1e-5, 1e3), 1e-5, 1e3),
        (tune.randint(-3, 4), -3, 3),
        (tune.lograndint(1, 9), 1, 8),
        (tune.qrandint(-2, 5, 1), -2, 4),
        (tune.qrandint(-4, 9, 2), -4, 8),
        (tune.quniform(-0.3, 0.6, 0.1), -0.3, 0.6),
    ],
    ids=["uniform", "loguniform", "randint", "lograndint", "qrandint of 1", "qrandint", "quniform"],
)
def test_both_ends_of_a_range_can_be_tried_and_nothing_beyond(domain: Any, low: Any, high: Any) -> None:
    search = searching({"a": domain}, points_to_evaluate=[{"a": low}, {"a": high}])
    assert [search.suggest(name)["a"] for name in "lh"] == [low, high]
    for beyond in (low - 2, high + 2):
        with pytest.raises(SpaceError, match="'a'"):
            searching({"a": domain}, points_to_evaluate=[{"a": beyond}])


@pytest.mark.parametrize(
    ("logarithmic", "even"),
    [
        (tune.loguniform(1e-6, 1.0), tune.uniform(1e-6, 1.0)),
        (tune.lograndint(1, 10**6), tune.randint(1, 10**6)),
        (tune.qloguniform(1e-6, 1.0, 1e-6), tune.quniform(1e-6, 1.0, 1e-6)),
        (tune.qlograndint(2, 10**6, 2), tune.qrandint(2, 10**6, 2)),
    ],
    ids=["real", "whole", "real in steps", "whole in steps"],
)
def test_a_logarithmic_range_is_searched_by_factors(logarithmic: Any, even: Any) -> None:
    middles = [float(np.median(values(domain, 64, Recipe.random()))) for domain in (logarithmic, even)]
    low, high = logarithmic.lower, logarithmic.upper
    assert math.log10(middles[0]) == pytest.approx(math.log10(low * high) / 2, abs=0.5)
    assert middles[1] == pytest.approx((low + high) / 2, rel=0.1)


class Optimiser(enum.Enum):
    SGD = 1
    ADAM = "adam"


CHOICES: dict[str, list[Any]] = {
    "strings": ["relu", "tanh", "ünïcode", ""],
    "numbers": [16, 32, 64],
    "numbers of both kinds": [1, 1.0, 2.5, True],
    "None and others": [None, "none", 0, False],
    "lists": [[], [64], [64, 64], [64, 32, 16]],
    "tuples": [(64,), (64, 32)],
    "dicts": [{"name": "sgd", "momentum": 0.9}, {"name": "adam"}, {}],
    "functions": [math.sin, len, loss, lambda x: x],
    "classes": [int, dict, Recipe],
    "arrays": [np.zeros(2), np.ones(2), np.ones(3)],
    "nan": [math.nan, 1.0],
    "members": list(Optimiser),
    "duplicates": ["a", "a", "b"],
    "one": ["only"],
}


def is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and np.array_equal(one, other))


@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_every_option_is_suggested_as_it_is(options: list[Any]) -> None:
    suggested = values(tune.choice(options), 2 * len(options), Recipe.random())
    assert all(any(is_same(value, option) for option in options) for value in suggested)
    assert all(any(is_same(value, option) for value in suggested) for option in options)


@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_every_option_can_be_tried_first(options: list[Any]) -> None:
    points = [{"a": option} for option in options]
    search = searching({"a": tune.choice(options)}, points_to_evaluate=points)
    for number, option in enumerate(options):
        assert is_same(search.suggest(str(number))["a"], option)


@pytest.mark.parametrize("name", ["lists", "dicts", "tuples", "arrays"])
def test_an_option_is_recognised_in_a_copy_of_it(name: str) -> None:
    last = CHOICES[name][-1]
    search = searching({"a": tune.choice(CHOICES[name])}, points_to_evaluate=[{"a": deepcopy(last)}])
    assert is_same(search.suggest("t")["a"], last)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ([[[64, 64], [32]], [[64]]], [[64, 64], [32]]),
        ([[1, "same"], ["1", "same"]], ["1", "same"]),
        ([{"a": np.zeros(2)}, {"a": np.ones(2)}], {"a": np.ones(2)}),
    ],
    ids=["ragged", "mixed", "arrays within"],
)
def test_an_option_of_any_shape_is_recognised_in_a_copy(options: list[Any], value: Any) -> None:
    search = searching({"a": tune.choice(options)}, points_to_evaluate=[{"a": value}])
    assert repr(search.suggest("t")["a"]) == repr(value)


@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_a_search_among_options_of_any_kind_can_be_saved(options: list[Any], tmp_path: Path) -> None:
    search, again = (searching({"a": tune.choice(options)}) for _ in range(2))
    search.suggest("one")
    search.on_trial_complete("one", {"loss": 1.0})
    search.save(tmp_path / "state")
    again.restore(tmp_path / "state")
    assert is_same(again.suggest("one")["a"], search.suggest("one")["a"])
    assert is_same(again.suggest("two")["a"], search.suggest("two")["a"])


def test_options_of_numpy_are_suggested_in_plain_types() -> None:
    for options, kind in [(np.arange(3), int), (np.array([0.5, 1.5]), float), (np.array(["a", "b"]), str)]:
        assert {type(value) for value in values(tune.choice(options), 4)} == {kind}


def test_a_range_with_ends_of_numpy_is_suggested_in_plain_types() -> None:
    for domain in (tune.uniform(np.float32(0), np.float64(1)), tune.randint(np.int64(0), np.int32(9))):
        assert {type(value) for value in values(domain, 6)} == {type(domain.sample())}


def test_domains_are_found_wherever_they_are_and_all_else_is_left_alone() -> None:
    constant = {"path": Path("a"), "text": "x", "pair": (1, 2.0), "set": {1}, 5: None, "empty": {}, "no": []}
    space = {
        "constant": constant,
        "list": [1, tune.uniform(0, 1), "k", [tune.randint(0, 5)]],
        "tuple": (True, tune.choice(["a", "b"]), {"deep": tune.uniform(2, 3)}),
        "dict": {"a": {"b": {"c": tune.quniform(0, 1, 0.5)}}, 7: tune.randint(8, 10)},
    }
    config = searching(space).suggest("t")
    assert config["constant"] == constant
    assert [type(value) for value in config["constant"].values()] == [type(v) for v in constant.values()]
    one, real, k, (whole,) = config["list"]
    assert (one, k) == (1, "k")
    assert 0 <= real <= 1
    assert whole in range(5)
    assert type(config["tuple"]) is tuple
    true, option, deep = config["tuple"]
    assert true is True
    assert option in ("a", "b")
    assert 2 <= deep["deep"] <= 3
    assert config["dict"]["a"]["b"]["c"] in (0.0, 0.5, 1.0)
    assert config["dict"][7] in (8, 9)


def test_parameters_of_bopp_are_searched_as_they_are() -> None:
    space: Any = {"rate": OURS["rate"], "net": [OURS["net/layers"], (OURS["net/kind"], "fixed")]}
    search, optimizer = searching(space), Optimizer({k: OURS[k] for k in OURS})
    for number in range(8):
        trial = optimizer.ask()
        rate, layers, kind = trial.params.values()
        assert search.suggest(str(number)) == {"rate": rate, "net": [layers, (kind, "fixed")]}
        optimizer.tell(trial, float(number))
        search.on_trial_complete(str(number), {"loss": float(number)})


def test_the_space_of_the_user_is_not_changed() -> None:
    real, whole, ours = tune.uniform(0, 1), tune.randint(0, 5), Float(0, 1)
    space = {"a": [real, {"b": whole}], "c": (ours, 1), "d": {"e": [1, 2]}}
    search = searching(space)
    config = search.suggest("t")
    config["d"]["e"].append(3)
    config["a"][1]["b"] = "changed"
    assert space == {"a": [real, {"b": whole}], "c": (ours, 1), "d": {"e": [1, 2]}}
    assert search.suggest("u")["d"] == {"e": [1, 2]}


def test_the_points_of_the_user_are_not_changed() -> None:
    points = [{"rate": 0.1, "net": {"layers": 2, "kind": "relu"}, "epochs": 3}]
    search = searching(points_to_evaluate=points)
    search.suggest("t")["net"]["layers"] = 99
    assert points == [{"rate": 0.1, "net": {"layers": 2, "kind": "relu"}, "epochs": 3}]
    assert search.suggest("t")["net"]["layers"] == 2


@pytest.mark.parametrize(
    "domain",
    [
        tune.grid_search([1, 2]),
        tune.randn(0, 1),
        tune.qrandn(0, 1, 0.5),
        tune.sample_from(lambda config: 1),
        tune.uniform(3, 1),
        tune.randint(3, 3),
        tune.choice([]),
    ],
    ids=lambda domain: type(domain).__name__,
)
def test_what_cannot_be_searched_is_refused_by_its_name(domain: Any) -> None:
    with pytest.raises(SpaceError, match="'net/odd'"):
        searching({"x": tune.uniform(0, 1), "net": {"odd": domain}})
    with pytest.raises(SpaceError, match="'net/odd'"):
        BoppSearch().set_search_properties("loss", "min", {"net": {"odd": domain}})


def test_an_option_that_no_state_can_hold_is_refused_at_once() -> None:
    with pytest.raises(BoppError, match="'net/odd': JSON takes options"):
        searching({"net": {"odd": Choice([int, str])}})


def test_a_parameter_that_does_not_apply_is_not_in_the_config(tmp_path: Path) -> None:
    space = {
        "net": {
            "kind": tune.choice(["sgd", "adam", "none"]),
            "momentum": Float(0, 1, when={"net/kind": ["sgd"]}),
        },
        "epochs": Fixed(3),
        "rate": tune.uniform(0, 1),
    }
    begin = {"net": {"kind": "adam"}, "epochs": 3, "rate": 0.5}
    search = searching(space, points_to_evaluate=[begin])
    configs = [search.suggest(str(number)) for number in range(10)]
    assert configs[0] == begin
    for number, config in enumerate(configs):
        assert config["epochs"] == 3
        assert ("momentum" in config["net"]) == (config["net"]["kind"] == "sgd")
        search.on_trial_complete(str(number), {"loss": config["rate"]})
    assert {len(config["net"]) for config in configs} == {1, 2}
    search.add_evaluated_point({"net": {"kind": "none"}, "epochs": 3, "rate": 0.1}, 0.1)
    with pytest.raises(SpaceError, match="'net/momentum' applies only where net/kind is 'sgd'"):
        search.add_evaluated_point({"net": {"kind": "none", "momentum": 1}, "epochs": 3, "rate": 0.1}, 0.1)
    search.save(tmp_path / "state")
    again = BoppSearch(points_to_evaluate=[begin])
    again.restore(tmp_path / "state")
    assert [again.suggest(str(number)) for number in range(20, 26)] == [
        search.suggest(str(number)) for number in range(20, 26)
    ]


def test_a_space_of_constants_is_refused() -> None:
    with pytest.raises(SpaceError, match="empty space"):
        searching({"a": 1, "b": {"c": "d"}})


@pytest.mark.parametrize("space", [None, {}])
def test_without_a_space_every_call_says_what_is_missing(space: Any, tmp_path: Path) -> None:
    search = BoppSearch(space, "loss", "min")
    calls: list[Callable[[], object]] = [
        lambda: search.suggest("t"),
        lambda: search.on_trial_complete("t", {"loss": 1.0}),
        lambda: search.add_evaluated_point({"x": 1.0}, 1.0),
        lambda: search.save(tmp_path / "state"),
    ]
    for call in calls:
        with pytest.raises(StudyError, match="wants a space and a mode"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_space_metric_and_mode_come_from_the_tuner() -> None:
    search, direct = BoppSearch(seed=2), searching(seed=2)
    assert search.set_search_properties("loss", "min", SPACE, num_samples=3)
    assert (search.metric, search.mode) == ("loss", "min")
    for number in range(8):
        assert search.suggest(str(number)) == direct.suggest(str(number))
        for one in (search, direct):
            evaluated(one, str(number))
    assert state_of(search)["metric"] == "loss"


def test_metric_and_mode_come_from_a_tuner_that_adds_constants() -> None:
    search = BoppSearch(LINE)
    assert search.set_search_properties("loss", "max", {"epochs": 3})
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 0.5})
    assert known(search)[0].value == 0.5
    assert "maximize" in state_of(search)["result"]


def test_what_the_searcher_has_counts_more_than_what_the_tuner_gives() -> None:
    search = BoppSearch(metric="loss", mode="max")
    assert search.set_search_properties("other", "min", LINE)
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 0.5, "other": 2.0})
    assert (search.metric, search.mode) == ("loss", "max")
    assert known(search)[0].value == 0.5
    assert "maximize" in state_of(search)["result"]


def test_a_second_space_is_turned_down() -> None:
    search = searching(LINE)
    search.suggest("a")
    before = state_of(search)
    assert not search.set_search_properties("loss", "min", {"y": tune.uniform(0, 1)})
    assert not search.set_search_properties("loss", "min", {"y": Float(0, 1)})
    assert state_of(search) == before


def test_a_missing_mode_is_refused() -> None:
    with pytest.raises(StudyError, match="mode must be 'min' or 'max', got None"):
        BoppSearch().set_search_properties("loss", None, LINE)
    with pytest.raises(StudyError, match="wants a space and a mode"):
        BoppSearch(LINE).suggest("t")
    with pytest.raises(StudyError, match="got 'minimize'"):
        BoppSearch(LINE, mode="minimize")


@pytest.mark.parametrize(
    ("metric", "mode"),
    [
        (("a",), "min"),
        ("a", ["min"]),
        (None, ("min",)),
        (["a", "b"], ["min"]),
        (["a", "a"], ["min", "max"]),
        ([], []),
    ],
)
def test_metrics_and_modes_that_do_not_match_are_refused(metric: Any, mode: Any) -> None:
    with pytest.raises(StudyError, match="wanted one metric and one mode, or lists of them"):
        BoppSearch(LINE, metric, mode)


@pytest.mark.parametrize("mode", [["min", "obs"], ["min", None], ["min", ["max"]]])
def test_every_mode_of_several_is_checked(mode: Any) -> None:
    with pytest.raises((StudyError, AssertionError), match="mode"):
        BoppSearch(LINE, ["a", "b"], mode)


BOTH: dict[str, bopp.problem.Direction] = {"loss": "minimize", "speed": "maximize"}
MEMORY = [AtMost("memory", 4.0)]


def reported(config: Mapping[str, Any]) -> dict[str, Any]:
    """A loss, a speed that is best where the loss is not, and the memory that it takes."""
    layers = config["net"]["layers"]
    return {"loss": loss(config), "speed": -float(layers), "memory": layers / 2, "epochs": 3, "done": True}


def for_several(**settings: Any) -> BoppSearch:
    return BoppSearch(SPACE, ["loss", "speed"], ["min", "max"], **settings)


def test_suggestions_for_several_metrics_are_those_of_an_optimizer() -> None:
    search, optimizer = for_several(seed=3), Optimizer(bopp.Problem(OURS, BOTH), seed=3)
    for number in range(10):
        trial, config = optimizer.ask(), search.suggest(str(number))
        assert config == nested(trial.params)
        result = reported(config)
        search.on_trial_complete(str(number), result)
        optimizer.tell(trial, {"loss": result["loss"], "speed": result["speed"]})
    assert [trial.values for trial in known(search)] == [trial.values for trial in optimizer.trials]
    assert known(search)[0].measurements.keys() == {"memory", "epochs"}


@pytest.mark.parametrize("several", [False, True])
def test_suggestions_under_constraints_are_those_of_an_optimizer(several: bool) -> None:
    """Of which some trials lack the value, as they lack one of several metrics."""
    search = for_several(constraints=MEMORY) if several else searching(constraints=MEMORY)
    objectives: dict[str, bopp.problem.Direction] = BOTH if several else {"loss": "minimize"}
    optimizer = Optimizer(bopp.Problem(OURS, objectives, MEMORY))
    for number in range(10):
        trial, config = optimizer.ask(), search.suggest(str(number))
        assert config == nested(trial.params)
        lacking = {2: "memory", 4: "speed"}.get(number)
        result = {name: value for name, value in reported(config).items() if name != lacking}
        search.on_trial_complete(str(number), result)
        optimizer.tell(trial, {name: result.get(name) for name in optimizer.problem.names})
    assert [trial.values for trial in known(search)] == [trial.values for trial in optimizer.trials]
    assert known(search)[2].unmeasured == ["memory"]
    assert known(search)[4].unmeasured == (["speed"] if several else [])


def test_a_constraint_may_be_on_the_metric_itself() -> None:
    search = BoppSearch(LINE, "loss", "min", constraints=[AtLeast("loss", 0.5)])
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 0.25})
    assert dict(known(search)[0].values) == {"loss": 0.25}
    with pytest.raises(NoResultError, match="none of 1 finished trials meets"):
        _ = Result.from_json(state_of(search)["result"]).best


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({}, "no result under 'loss' or 'speed'"),
        ({"memory": 1.0}, "no result under 'loss' or 'speed'"),
        ({"loss": 1.0, "speed": math.nan, "memory": 1.0}, "'speed' was nan"),
        ({"loss": 1.0, "speed": 1.0, "memory": math.inf}, "'memory' was inf"),
        ({"loss": 1.0, "speed": "fast", "memory": 1.0}, "wanted a number as 'speed', got 'fast'"),
    ],
)
def test_of_several_values_each_may_fail_a_trial(result: Any, words: str) -> None:
    search = for_several(constraints=MEMORY)
    search.suggest("a")
    search.on_trial_complete("a", result)
    (trial,) = known(search)
    assert trial.state == "failed"
    assert words in str(trial.error)


def test_with_constraints_the_metric_may_come_from_the_tuner() -> None:
    search = BoppSearch(LINE, mode="min", constraints=MEMORY)
    with pytest.raises(StudyError, match="beside constraints it wants a metric too"):
        search.suggest("a")
    assert search.set_search_properties("loss", None, {})
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1.0, "memory": 2.0})
    assert dict(known(search)[0].values) == {"loss": 1.0, "memory": 2.0}


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ([Holds("short", lambda params: True)], "wanted AtMost and AtLeast of results, got Holds"),
        (["memory < 4"], "wanted constraints AtMost, .* got 'memory < 4'"),
        ("memory < 4", "wanted constraints AtMost, .* got 'memory < 4'"),
        (4, "wanted constraints AtMost, .* got 4"),
        ([AtMost("memory", math.nan)], "'memory': wanted a finite number as bound, got nan"),
    ],
)
def test_what_is_no_constraint_on_a_result_is_refused(constraints: Any, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        BoppSearch(constraints=constraints)


def test_knowledge_of_one_metric_is_refused_beside_several() -> None:
    guess = Guesses(near={"rate": 0.01})
    words = r"several objectives, \['loss', 'speed'\].* got Guesses"
    with pytest.raises(RecipeError, match=words):
        for_several(knowledge=guess)
    waiting = BoppSearch(metric=["loss", "speed"], mode=["min", "max"], knowledge=guess)
    with pytest.raises(RecipeError, match=words):
        waiting.set_search_properties(None, None, SPACE)


def test_several_values_of_a_point_from_elsewhere_come_by_name() -> None:
    point = {"rate": 0.1, "net": {"layers": 3, "kind": "tanh"}}
    search = for_several(constraints=MEMORY)
    search.add_evaluated_point(point, {"loss": 1.0, "speed": 2.0, "memory": 3.0})
    search.add_evaluated_point(point, {"loss": 1.0, "memory": 3.0})
    search.add_evaluated_point(point, None)
    search.add_evaluated_point(point, {"loss": 1.0, "speed": 2.0, "memory": 3.0}, error=True)
    with pytest.raises(TellError, match=r"wanted a dict with loss, speed, memory, got 1\.0"):
        search.add_evaluated_point(point, 1.0)
    assert [dict(trial.values) for trial in known(search)] == [
        {"loss": 1.0, "speed": 2.0, "memory": 3.0},
        {"loss": 1.0, "speed": None, "memory": 3.0},
        {},
        {},
    ]
    alone = searching(constraints=MEMORY)
    alone.add_evaluated_point(point, 1.0)
    assert dict(known(alone)[0].values) == {"loss": 1.0, "memory": None}
    plain = searching()
    plain.add_evaluated_point(point, {"loss": 1.0})
    assert known(plain)[0].value == 1.0


@pytest.mark.parametrize("given", [True, False])
def test_a_search_for_several_metrics_goes_on_where_it_was_saved(given: bool, tmp_path: Path) -> None:
    search, path = for_several(constraints=MEMORY), tmp_path / "state"
    for number in range(8):
        search.save(path)
        again = for_several(constraints=MEMORY) if given else BoppSearch()
        again.restore(path)
        assert state_of(again) == state_of(search)
        assert (again.metric, again.mode) == (["loss", "speed"], ["min", "max"])
        config = search.suggest(str(number))
        assert again.suggest(str(number)) == config
        for one in (search, again):
            one.on_trial_complete(str(number), reported(config))
        assert state_of(again)["result"].count("done") == state_of(search)["result"].count("done")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (BoppSearch(SPACE, ["speed", "loss"], ["max", "min"], constraints=MEMORY), "saved with metric"),
        (BoppSearch(SPACE, ["loss", "speed"], ["min", "min"], constraints=MEMORY), "saved with mode"),
        (searching(constraints=MEMORY), "saved with metric"),
        (for_several(constraints=[AtMost("memory", 5.0)]), "saved with constraints .*4.0.* here .*5.0"),
    ],
)
def test_a_state_of_other_objectives_or_constraints_is_refused(
    other: BoppSearch, words: str, tmp_path: Path
) -> None:
    for_several(constraints=MEMORY).save(tmp_path / "state")
    refuses(other, tmp_path / "state", StudyError, words)


def test_a_state_without_constraints_is_refused_where_there_are_some(tmp_path: Path) -> None:
    for_several().save(tmp_path / "state")
    refuses(for_several(constraints=MEMORY), tmp_path / "state", StudyError, r"saved with constraints \[\]")


@pytest.mark.parametrize("settings", [{"seed": -1}, {"seed": "one"}, {"seed": None}, {"recipe": "random"}])
def test_a_wrong_seed_or_recipe_is_refused(settings: Any) -> None:
    with pytest.raises(RecipeError, match=next(iter(settings))):
        searching(**settings)


def test_points_to_evaluate_come_first_and_in_order() -> None:
    layers = [7, 2, 5]
    points: list[Params] = [{"rate": 0.1, "net/layers": one, "net/kind": "tanh"} for one in layers]
    search, optimizer = searching(points_to_evaluate=[*map(nested, points)]), Optimizer(OURS)
    assert [search.suggest(str(number)) for number in range(3)] == [*map(nested, points)]
    for point in points:
        optimizer.enqueue(point)
    optimizer.ask(3)
    assert search.suggest("next") == nested(optimizer.ask().params)
    assert [trial.origin for trial in known(search)] == ["queued"] * 3 + ["suggested"]


def test_points_to_evaluate_wait_for_the_space_of_the_tuner() -> None:
    search = BoppSearch(points_to_evaluate=[{"x": 0.125}])
    assert search.set_search_properties("loss", "min", LINE)
    assert search.suggest("t") == {"x": 0.125}


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"x": 2.0, "k": "a"}, "'x': wanted a number in"),
        ({"x": "text", "k": "a"}, "'x': value: wanted a finite number, got 'text'"),
        ({"x": math.nan, "k": "a"}, "'x'"),
        ({"x": None, "k": "a"}, "'x'"),
        ({"x": 0.5, "k": "c"}, "'k': wanted one of"),
        ({"x": 0.5}, r"wanted a config with \['x', 'k'\], got \{'x': 0.5\}"),
        ({}, "wanted a config with"),
        ({"x": {"y": 1}, "k": "a"}, "'x'"),
        (5, "wanted a config with"),
        (None, "wanted a config with"),
        ([0.5, "a"], "wanted a config with"),
    ],
    ids=str,
)
def test_a_wrong_point_is_refused(point: Any, words: str) -> None:
    space = {"x": tune.uniform(0, 1), "k": tune.choice(["a", "b"])}
    with pytest.raises(SpaceError, match=words):
        searching(space, points_to_evaluate=[{"x": 0.5, "k": "a"}, point])
    search = searching(space)
    before = state_of(search)
    with pytest.raises(SpaceError, match=words):
        search.add_evaluated_point(point, 1.0)
    assert state_of(search) == before


@pytest.mark.parametrize("value", ["text", None, math.nan, math.inf, [0.25]], ids=str)
@pytest.mark.parametrize(
    "domain", [tune.quniform(0, 1, 0.25), tune.qrandint(0, 10, 5)], ids=["real", "whole"]
)
def test_a_point_that_is_no_number_is_refused_where_there_are_steps(domain: Any, value: Any) -> None:
    with pytest.raises(SpaceError, match="'a'"):
        searching({"a": domain}, points_to_evaluate=[{"a": value}])


def test_a_point_evaluated_elsewhere_counts_as_it_does_in_an_optimizer() -> None:
    search, optimizer = searching(), Optimizer(OURS)
    for rate, value in [(0.1, 1.0), (0.01, 0.5), (0.001, None), (0.5, 3.0), (0.2, 2.0), (0.05, 1.5)]:
        point = {"rate": rate, "net": {"layers": 3, "kind": "tanh"}}
        search.add_evaluated_point(point, 0.0 if value is None else value, error=value is None)
        optimizer.observe({"rate": rate, "net/layers": 3, "net/kind": "tanh"}, value)
    seen = [(trial.params, trial.state, trial.values.get("value"), trial.origin) for trial in known(search)]
    assert seen == [(t.params, t.state, t.value, t.origin) for t in optimizer.trials]
    assert search.suggest("t") == nested(optimizer.ask().params)


@pytest.mark.parametrize(
    ("value", "flags"), [(1.0, {"error": True}), (None, {"pruned": True}), (math.nan, {}), (None, {})]
)
def test_a_point_that_failed_elsewhere_is_a_failed_trial(value: Any, flags: dict[str, bool]) -> None:
    search = searching(LINE)
    search.add_evaluated_point({"x": 0.5}, value, **flags, intermediate_values=[1.0])
    (trial,) = known(search)
    assert (trial.state, trial.params) == ("failed", {"x": 0.5})
    assert trial.error


def test_a_point_whose_value_is_no_number_is_refused() -> None:
    search = searching(LINE)
    with pytest.raises(TellError, match="wanted a number as value, got 'good'"):
        search.add_evaluated_point({"x": 0.5}, "good")  # type: ignore[arg-type]
    assert known(search) == ()


def restored(path: Path, **settings: Any) -> BoppSearch:
    search = searching(**settings)
    search.restore(str(path))
    return search


def test_a_restored_search_goes_on_as_the_saved_one_at_every_point_of_a_run(tmp_path: Path) -> None:
    points = [{"rate": rate, "net": {"layers": 4, "kind": "gelu"}} for rate in (0.3, 0.003)]
    search, path = searching(points_to_evaluate=points, seed=5), tmp_path / "state"
    for number in range(16):
        if number in (1, 4):
            search.add_evaluated_point({"rate": 0.02, "net": {"layers": 1, "kind": "relu"}}, 4.0)
        search.save(path)
        again = restored(path, points_to_evaluate=points, seed=5)
        assert state_of(again) == state_of(search)
        assert again.suggest(f"n{number}") == search.suggest(f"n{number}")
        if number % 5 == 3:
            search.on_trial_complete(f"n{number}", error=True)
        elif number % 5 != 1:
            evaluated(search, f"n{number}")
    assert {trial.state for trial in known(search)} == {"asked", "done", "failed"}
    assert {trial.origin for trial in known(search)} == {"queued", "suggested", "observed"}


EARLIER: dict[str, Any] = {
    "rate": tune.loguniform(1e-4, 1),
    "net": {"layers": tune.randint(1, 9), "kind": tune.choice(["relu", "tanh", "gelu"])},
    "steps": tune.quniform(0, 1, 0.25),
    "ours": Int(1, 20),
    "epochs": 3,
}
EARLIER_POINT = {"rate": 0.1, "net": {"layers": 4, "kind": "gelu"}, "steps": 0.5, "ours": 3}
STATES = Path(__file__).parent / "states"


def test_a_setting_of_the_recipe_that_came_later_counts_as_its_default(tmp_path: Path) -> None:
    state = state_of(searching())
    del state["recipe"]["fit"]["settings"]["largest"]
    del state["recipe"]["outcome"]
    (tmp_path / "state").write_text(json.dumps(state))
    restored(tmp_path / "state")
    other = replace(Recipe.default(), fit=bopp.fit.MAP(largest=7))
    refuses(searching(recipe=other), tmp_path / "state", StudyError, "saved with recipe fit .*'largest': 7")


def test_parts_of_your_own_are_the_same_if_they_are_written_alike(tmp_path: Path) -> None:
    mine = replace(Recipe.default(), pseudo=cautious)
    after(6, searching(recipe=mine)).save(tmp_path / "state")
    restored(tmp_path / "state", recipe=mine)
    refuses(searching(), tmp_path / "state", StudyError, "saved with recipe pseudo .*cautious")


def cautious(known: bopp.Known) -> bopp.Data:
    return bopp.Data.empty(known.dimension)


def test_the_bridge_does_without_a_database() -> None:
    code = "import sys, bopp.bridges.ray; print('bopp.study' in sys.modules, 'sqlalchemy' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.stdout.splitlines()[-1] == "False False", ended.stderr


def test_the_other_numbers_of_a_result_are_measurements(tmp_path: Path) -> None:
    search = searching(LINE)
    search.suggest("a")
    bookkeeping = {
        "training_iteration": 3,
        "time_total_s": 1.5,
        "timestamp": 1,
        "pid": 7,
        "config/x": 0.5,
        "done": True,
        "trial_id": "a",
        "date": "today",
    }
    yours: dict[Any, Any] = {
        "accuracy": np.float32(0.5),
        "eval/recall": 1,
        "worst": math.nan,
        "word": "good",
        5: 1.0,
    }
    search.on_trial_complete("a", {"loss": 0.25, "value": 9.0, **yours, **bookkeeping})
    search.save(tmp_path / "state")
    for one in (search, restored(tmp_path / "state", space=LINE)):
        (trial,) = known(one)
        assert trial.value == 0.25
        assert repr(trial.measurements) == repr({"accuracy": 0.5, "eval/recall": 1.0, "worst": math.nan})


def test_a_trial_whose_value_is_not_finite_keeps_its_measurements() -> None:
    search = searching(LINE)
    search.suggest("a")
    search.on_trial_complete("a", {"loss": math.nan, "accuracy": 0.5})
    (trial,) = known(search)
    assert (trial.state, trial.error) == ("failed", "the value was nan")
    assert trial.measurements == {"accuracy": 0.5}


def test_a_drawn_seed_is_restored_with_the_state(tmp_path: Path) -> None:
    search = after(7, BoppSearch({"x": tune.uniform(0, 1)}, "loss", "min", seed=None))
    search.save(tmp_path / "state")
    again = BoppSearch({"x": tune.uniform(0, 1)}, "loss", "min", seed=None)
    assert again.result.seed != search.result.seed
    again.restore(tmp_path / "state")
    assert again.result.seed == search.result.seed
    assert again.suggest("next") == search.suggest("next")


def test_a_state_can_be_saved_and_restored_again_and_again(tmp_path: Path) -> None:
    search = after(7, searching())
    search.suggest("running")
    search.save(tmp_path / "0")
    again = searching()
    for number in range(3):
        again.restore(tmp_path / str(number))
        again.restore(tmp_path / str(number))
        again.save(tmp_path / str(number + 1))
    assert (tmp_path / "3").read_bytes() == (tmp_path / "0").read_bytes()
    assert again.suggest("next") == search.suggest("next")


def test_a_restored_search_forgets_what_it_knew_before(tmp_path: Path) -> None:
    after(6, searching()).save(tmp_path / "state")
    busy = searching()
    for number in range(9):
        busy.suggest(f"other {number}")
    busy.restore(tmp_path / "state")
    assert state_of(busy) == state_of(restored(tmp_path / "state"))


def test_trials_that_ran_while_saving_can_complete_afterwards(tmp_path: Path) -> None:
    search = after(5, searching())
    running = search.suggest("running")
    search.save(tmp_path / "state")
    again = restored(tmp_path / "state")
    assert again.suggest("running") == running
    for one in (search, again):
        one.on_trial_complete("running", {"loss": 0.25})
        one.on_trial_complete("trial 0", {"loss": 99.0})
    assert [trial.values for trial in known(again)] == [trial.values for trial in known(search)]
    assert known(again)[-1].value == 0.25
    assert again.suggest("next") == search.suggest("next")


def test_a_state_is_json_and_no_pickle(tmp_path: Path) -> None:
    search = after(3, searching())
    search.save(tmp_path / "state")
    search.save_to_dir(str(tmp_path), "session")
    assert {path.name for path in tmp_path.iterdir()} == {"state", "searcher-state-session.json"}
    for path in tmp_path.iterdir():
        assert isinstance(json.loads(path.read_text()), dict)
        with pytest.raises(pickle.UnpicklingError):
            pickle.loads(path.read_bytes())
    again = searching()
    again.restore_from_dir(str(tmp_path))
    assert again.suggest("next") == search.suggest("next")


def test_the_bridge_imports_no_pickle() -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(bridge))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert "json" in imported
    assert not [name for name in imported if "pickle" in name or "dill" in name or "shelve" in name]


def test_a_limiter_saves_and_restores_the_search_within(tmp_path: Path) -> None:
    limiter = after(6, ConcurrencyLimiter(searching(), max_concurrent=2))
    limiter.save(str(tmp_path / "state"))
    again = ConcurrencyLimiter(searching(), max_concurrent=2)
    again.restore(str(tmp_path / "state"))
    for name in ("a", "b"):
        assert again.suggest(name) == limiter.suggest(name) is not None
    assert again.suggest("c") is None is limiter.suggest("c")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"space": {**SPACE, "rate": tune.loguniform(1e-3, 1)}}, "saved with space"),
        ({"space": {**SPACE, "rate": tune.uniform(1e-4, 1)}}, "saved with space"),
        ({"space": {**SPACE, "more": tune.uniform(0, 1)}}, "saved with space"),
        ({"space": {"rate": SPACE["rate"]}}, "saved with space"),
        ({"space": {"renamed": SPACE["rate"], "net": SPACE["net"]}}, "saved with space"),
        ({"mode": "max"}, "saved with mode 'min', here it is 'max'"),
        ({"seed": 1}, "saved with seed 0, here it is 1"),
        ({"recipe": Recipe.random()}, "saved with recipe"),
    ],
    ids=["narrower", "not log", "more", "less", "renamed", "mode", "seed", "recipe"],
)
def test_a_state_of_another_search_is_refused(other: Any, words: str, tmp_path: Path) -> None:
    after(4, searching()).save(tmp_path / "state")
    search = searching(**other)
    search.suggest("a")
    before = state_of(search)
    with pytest.raises(StudyError, match=f"^the state .*{words}"):
        search.restore(tmp_path / "state")
    assert state_of(search) == before


def test_a_state_of_another_metric_is_refused(tmp_path: Path) -> None:
    searching(LINE).save(tmp_path / "state")
    with pytest.raises(StudyError, match="saved with metric 'loss', here it is 'accuracy'"):
        BoppSearch(LINE, "accuracy", "min").restore(tmp_path / "state")


def test_constants_may_change_between_saving_and_restoring(tmp_path: Path) -> None:
    after(6, searching()).save(tmp_path / "state")
    again = restored(tmp_path / "state", space={**SPACE, "epochs": 10})
    assert again.suggest("trial 0")["epochs"] == 10


def refuses(search: BoppSearch, path: Path, kind: type[Exception] = BoppError, words: str = ".") -> None:
    before = state_of(search)
    with pytest.raises(kind, match=words):
        search.restore(path)
    assert state_of(search) == before


def test_a_state_that_was_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path, search = tmp_path / "state", after(2, searching())
    after(3, searching()).save(path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 41), len(whole) - 2, len(whole) - 1]:
        path.write_bytes(whole[:length])
        refuses(search, path, StudyError, "is no state of a BoppSearch")
    path.write_bytes(whole)
    search.restore(path)
    assert len(known(search)) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"null",
        b"1",
        b"[]",
        b"{}",
        b'"text"',
        b'{"format": 1}',
        b"not json",
        b"\x00\xff\xfe",
        b"[" * 100_000,
        pickle.dumps({"format": 1}),
        Result(bopp.Problem(OURS), ()).to_json().encode(),
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(content)
    refuses(
        searching(), tmp_path / "state", StudyError, "is no state of a BoppSearch|wanted a state of format"
    )


def test_what_was_changed_in_a_state_is_noticed(tmp_path: Path) -> None:
    path, search = tmp_path / "state", searching()
    good = state_of(after(3, searching()))
    result = json.loads(good["result"])
    worse: list[dict[str, Any]] = [
        {**good, "format": 2},
        {**good, "format": None},
        {name: part for name, part in good.items() if name != "numbers"},
        {**good, "numbers": {"a": 99}},
        {**good, "numbers": {"a": "0"}},
        {**good, "numbers": {"a": None}},
        {**good, "numbers": [0, 1, 2]},
        {**good, "result": None},
        {**good, "result": good["result"][:-30]},
        {**good, "result": json.dumps({**result, "trials": result["trials"][1:]})},
        {**good, "result": json.dumps({**result, "trials": [{**result["trials"][0], "value": "low"}]})},
        {**good, "result": json.dumps({**result, "trials": [{**result["trials"][0], "params": {}}]})},
    ]
    for state in worse:
        path.write_text(json.dumps(state))
        refuses(search, path)


def test_a_missing_state_is_named(tmp_path: Path) -> None:
    refuses(searching(), tmp_path / "nowhere", FileNotFoundError, "nowhere")
    refuses(searching(), tmp_path, IsADirectoryError)


@given(st.lists(st.text(), unique=True, max_size=4))
@seeded
def test_a_trial_may_have_any_text_as_its_id(names: list[str]) -> None:
    odd = [*names, 'quote"d', "back\\slash", "line\nbreak", "\ud800", "😀", "null", "0"]
    search = searching(LINE, recipe=Recipe.random())
    configs = {name: search.suggest(name) for name in odd}
    with TemporaryDirectory() as folder:
        search.save(Path(folder, "state"))
        again = restored(Path(folder, "state"), space=LINE, recipe=Recipe.random())
    assert {name: again.suggest(name) for name in odd} == configs
    assert len(known(again)) == len(configs)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_state_that_cannot_be_written_leaves_the_old_one(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    search = after(2, searching())
    search.save(tmp_path / "state")
    old = (tmp_path / "state").read_bytes()
    search.suggest("more")
    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(OSError, match="No space left"):
        search.save(tmp_path / "state")
    assert os.listdir(tmp_path) == ["state"]
    assert (tmp_path / "state").read_bytes() == old


def killed_while_saving(folder: str) -> None:
    """Save from a child that is killed, many times over; what it leaves can always be restored."""
    path, luck = Path(folder, "state"), random.Random(0)
    search = after(6, searching(recipe=Recipe.random()))
    for _ in range(30):
        search.save(path)
        before = path.stat()
        child = os.fork()
        while child == 0:
            evaluated(search, f"more {time.monotonic_ns()}")
            search.save(path)
        while os.path.samestat(before, path.stat()):
            time.sleep(0.001)
        time.sleep(luck.uniform(0.0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(len(known(restored(path, recipe=Recipe.random()))))


def in_python(function: Callable[..., None], *words: str) -> list[str]:
    """The command that calls a function of this file in a process of its own."""
    here = Path(__file__)
    code = f"import sys; sys.path[:0] = sys.argv[1:3]; from {here.stem} import {function.__name__} as main;"
    code += "main(*sys.argv[3:])"
    return [sys.executable, "-c", code, str(here.parent), str(here.parent.parent), *words]


def test_a_kill_while_saving_leaves_a_whole_state(tmp_path: Path) -> None:
    ended = subprocess.run(
        in_python(killed_while_saving, str(tmp_path)), capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.returncode == 0, ended.stderr
    counts = [int(line) for line in ended.stdout.splitlines()[-30:]]
    assert min(counts) > 6


def test_a_search_can_be_sent_to_another_process() -> None:
    kinds = {**FINITE, **REAL, **{name: tune.choice(options) for name, options in CHOICES.items()}}
    search = searching({name: domain for name, domain in kinds.items() if name not in ("arrays", "nan")})
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1.0})
    again = cloudpickle.loads(cloudpickle.dumps(search))
    one, other = again.suggest("b"), search.suggest("b")
    assert known(again)[1].params == known(search)[1].params
    assert {name: one[name] for name in FINITE} == {name: other[name] for name in FINITE}


@contextmanager
def by_value() -> Iterator[None]:
    """Workers of Ray cannot import this file: what they get of it is written out."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "0",
}


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment, by_value():
        for name, value in QUIET.items():
            environment.setenv(name, value)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()


def tuner(
    train: Any,
    folder: Path,
    search: Any,
    count: int,
    space: Mapping[str, Any] | None = None,
    callbacks: Sequence[Any] = (),
    metric: str | None = "loss",
    mode: str | None = "min",
    **settings: Any,
) -> Any:
    config = {"reuse_actors": True, "num_samples": count, "search_alg": search, **settings}
    return tune.Tuner(
        train,
        param_space=space,
        tune_config=tune.TuneConfig(metric=metric, mode=mode, **config),
        run_config=tune.RunConfig(
            name="run", storage_path=str(folder), verbose=0, callbacks=[*callbacks] or None
        ),
    )


def saved_state(folder: Path) -> dict[str, Any]:
    """What the newest file of a searcher in the folder of an experiment holds."""
    return dict(json.loads(max(folder.glob("searcher-state-*.json")).read_bytes()))


def train_net(config: dict[str, Any]) -> dict[str, float]:
    return {"loss": loss(config), "epochs": config["epochs"]}


class Watch(tune.Callback):
    """Notes how many trials are pending at each step of a run."""

    def __init__(self, search: Any):
        self.search = search
        self.pending: list[int] = []

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        self.pending.append(sum(trial.state == "asked" for trial in known(self.search)))


@dataclass(frozen=True)
class Run:
    """A run that went to its end, and the state in which it left its searcher."""

    results: Any
    state: dict[str, Any]
    pending: Sequence[int] = ()

    @property
    def path(self) -> Path:
        return Path(self.results.experiment_path)

    @property
    def losses(self) -> list[float]:
        return [trial.value if trial.values else math.nan for trial in trials_in(self.state)]


@pytest.fixture(scope="session")
def limited(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two trials at a time."""
    search = BoppSearch(seed=0)
    limiter = ConcurrencyLimiter(search, max_concurrent=2)
    watch = Watch(limiter)
    results = tuner(train_net, tmp_path_factory.mktemp("limited"), limiter, 14, SPACE, [watch]).fit()
    return Run(results, state_of(search), watch.pending)


def test_a_limited_run_has_never_more_pending_trials_than_allowed(limited: Run) -> None:
    assert max(limited.pending) == 2
    assert limited.pending[-1] == 0


def test_a_run_knows_all_that_was_reported(limited: Run) -> None:
    assert not limited.results.errors
    reported = [(result.config, result.metrics["loss"]) for result in limited.results]
    learnt = [(nested(trial.params), trial.value) for trial in trials_in(limited.state)]
    assert len(learnt) == len(reported) == 14
    assert all(pair in learnt for pair in reported)
    assert {result.metrics["epochs"] for result in limited.results} == {3}
    assert [trial.measurements for trial in trials_in(limited.state)] == [{"epochs": 3.0}] * 14


def test_a_run_finds_better_than_its_first_points(limited: Run) -> None:
    assert min(limited.losses[5:]) < min(limited.losses[:5])
    assert limited.results.get_best_result().metrics["loss"] == min(limited.losses)


def test_the_state_beside_the_results_is_the_whole_run(limited: Run) -> None:
    assert saved_state(limited.path) == limited.state
    (path,) = limited.path.glob("searcher-state-*.json")
    assert state_of(restored(path)) == limited.state


def test_a_run_for_several_metrics_leaves_metric_and_mode_to_the_searcher(
    cluster: str, tmp_path: Path
) -> None:
    search = BoppSearch(metric=["loss", "speed"], mode=["min", "max"], constraints=MEMORY)
    limiter = ConcurrencyLimiter(search, max_concurrent=2)
    results = tuner(reported, tmp_path, limiter, 8, SPACE, metric=None, mode=None).fit()
    assert not results.errors
    seen = {(one.metrics["loss"], one.metrics["speed"], one.metrics["memory"]) for one in results}
    assert seen == {tuple(trial.values.values()) for trial in known(search)}
    assert saved_state(Path(results.experiment_path)) == state_of(search)
    assert search.result.front == search.result.problem.front(known(search))


def fragile(config: dict[str, Any]) -> dict[str, float]:
    if config["x"] > 0.7:
        raise ValueError("too large")
    return {"loss": config["apply"](config["x"]) + len(config["layers"])}


def double(x: float) -> float:
    return 2 * x


def half(x: float) -> float:
    return x / 2


def test_a_run_without_a_limiter_goes_on_where_trials_fail(cluster: str, tmp_path: Path) -> None:
    search = BoppSearch(seed=0)
    space = {**LINE, "apply": tune.choice([double, half]), "layers": tune.choice([[1], [1, 2]])}
    results = tuner(fragile, tmp_path, search, 9, space).fit()
    trials = known(search)
    assert len(results) == len(trials) == 9
    assert 0 < len(results.errors) < 9
    for trial in trials:
        assert trial.state == ("failed" if trial.params["x"] > 0.7 else "done")
        assert trial.error == ("the trial ended in an error" if trial.params["x"] > 0.7 else None)
    for result in results:
        if not result.error:
            config = result.config
            assert result.metrics["loss"] == config["apply"](config["x"]) + len(config["layers"])


class Epochs(tune.Trainable):
    """Reports a loss that falls epoch after epoch."""

    def setup(self, config: dict[str, Any]) -> None:
        self.x, self.epoch = config["x"], 0

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        self.epoch += 1
        loss = abs(self.x - 0.3) + 1 / self.epoch
        return {"loss": loss, "held out": {"loss": 2 * loss}, "done": self.epoch == 4}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        Path(checkpoint_dir, "epoch").write_text(str(self.epoch))


@pytest.fixture(scope="session")
def scheduled(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which a scheduler stops what is worse than the first trial."""
    search = BoppSearch(points_to_evaluate=[{"x": x} for x in (0.3, 0.9, 1.0)])
    scheduler = ASHAScheduler(max_t=4, grace_period=1, reduction_factor=2)
    settings = {"metric": "held out/loss", "scheduler": scheduler, "max_concurrent_trials": 1}
    results = tuner(Epochs, tmp_path_factory.mktemp("scheduled"), search, 6, LINE, **settings).fit()
    return Run(results, state_of(search))


def test_a_trial_that_a_scheduler_stops_counts_with_its_last_result(scheduled: Run) -> None:
    assert not scheduled.results.errors
    lasted = {result.config["x"]: result.metrics["training_iteration"] for result in scheduled.results}
    assert (lasted[0.3], lasted[0.9], lasted[1.0]) == (4, 1, 1)
    last = {result.config["x"]: result.metrics["held out"]["loss"] for result in scheduled.results}
    assert {trial.params["x"]: trial.value for trial in trials_in(scheduled.state)} == last
    assert len(last) == 6


def test_the_trials_of_an_earlier_run_can_be_taken_over(scheduled: Run) -> None:
    earlier = tune.ExperimentAnalysis(str(scheduled.path))
    search = searching(LINE)
    search.add_evaluated_trials(earlier, "loss")
    reported = [(result.config["x"], result.metrics["loss"]) for result in scheduled.results]
    assert sorted((trial.params["x"], trial.values.get("value")) for trial in known(search)) == sorted(
        reported
    )
    assert {trial.origin for trial in known(search)} == {"observed"}
    search.add_evaluated_trials(earlier.trials[0], "loss")
    assert len(known(search)) == len(reported) + 1


@pytest.mark.parametrize(
    ("space", "searcher", "settings", "kind", "words"),
    [
        (LINE, searching(LINE), {}, ValueError, "already instantiated with a search space"),
        (LINE, BoppSearch(), {"mode": None}, StudyError, "mode must be 'min' or 'max', got None"),
        (None, BoppSearch(LINE), {}, StudyError, "wants a space and a mode"),
        ({"epochs": 3}, BoppSearch(), {}, StudyError, "wants a space and a mode"),
        ({"x": tune.grid_search([1, 2])}, BoppSearch(), {}, SpaceError, "'x'"),
        (LINE, BoppSearch(points_to_evaluate=[{"x": 2.0}]), {}, SpaceError, "'x': wanted a number in"),
    ],
    ids=["two spaces", "no mode", "space without mode", "no space", "grid", "wrong point"],
)
def test_a_tuner_that_cannot_run_says_why(
    space: Any, searcher: Any, settings: Any, kind: Any, words: str, cluster: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=words):
        tuner(train_net, tmp_path, searcher, 2, space, **settings).fit()


def gated(config: dict[str, Any]) -> dict[str, float]:
    """Let the first trials through; later ones wait until the gate is open."""
    gate = Path(config["gate"])
    while len(list(gate.iterdir())) >= 4 and not (gate / "open").exists():
        time.sleep(0.05)
    (gate / str(config["x"])).touch()
    return {"loss": (config["x"] - 0.3) ** 2}


def drive(address: str, folder: str) -> None:
    """Run with a searcher that has its space, at a cluster that is there."""
    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0.5"
    with by_value():
        ray.init(address, log_to_driver=False)
        search = ConcurrencyLimiter(searching({**LINE, "gate": f"{folder}/gate"}), max_concurrent=2)
        tuner(gated, Path(folder), search, 10).fit()


def wait_for(ready: Callable[[], bool], driver: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while driver.poll() is None and time.monotonic() < deadline:
        with suppress(ValueError):  # a file that is being written
            if ready():
                return
        time.sleep(0.1)
    driver.kill()
    pytest.fail(driver.communicate()[0])


def points(trials: Sequence[Trial]) -> list[float]:
    return [trial.params["x"] for trial in trials]


def test_a_run_whose_process_was_killed_goes_on_where_it_was(cluster: str, tmp_path: Path) -> None:
    run, gate = tmp_path / "run", tmp_path / "gate"
    gate.mkdir()

    def is_half_done() -> bool:
        states = [trial.state for path in run.glob("searcher*") for trial in trials_in(saved_state(run))]
        return states.count("done") >= 4 and states.count("asked") == 2

    command = in_python(drive, cluster, str(tmp_path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as driver:
        wait_for(is_half_done, driver)
        driver.kill()
    (gate / "open").touch()
    before = saved_state(run)
    results = tune.Tuner.restore(str(run), trainable=gated, resume_errored=True).fit()
    assert not results.errors
    after = saved_state(run)
    old, new = trials_in(before), trials_in(after)
    done = [trial for trial in old if trial.state == "done"]
    assert new[: len(done)] == tuple(done)
    assert points(new)[: len(old)] == points(old)
    assert before["numbers"].items() <= after["numbers"].items()
    assert [trial.state for trial in new] == ["done"] * 10
    assert len(set(points(new))) == len(results) == 10
    assert sorted(points(new)) == sorted(result.config["x"] for result in results)


class Interruption(Exception):
    pass


class Interrupt(tune.Callback):
    """Ends a run in an error once so many of its trials have ended, if the fuse is there, which it takes."""

    def __init__(self, ended: int, fuse: Path):
        self.ended = ended
        self.fuse = fuse

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        if sum(trial.status in ("TERMINATED", "ERROR") for trial in trials) >= self.ended:
            with suppress(FileNotFoundError):
                self.fuse.unlink()
                raise Interruption


def steep(config: dict[str, Any]) -> dict[str, float]:
    if config["x"] > 0.7:
        raise ValueError("too large")
    return {"loss": (config["x"] - 0.3) ** 2}


@pytest.fixture(scope="session")
def interrupted(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that an error interrupted, after six of nine trials, one of them failed."""
    folder = tmp_path_factory.mktemp("interrupted")
    (folder / "fuse").touch()
    callbacks = [Interrupt(6, folder / "fuse")]
    with pytest.raises(Interruption):
        tuner(steep, folder, BoppSearch(), 9, LINE, callbacks, max_concurrent_trials=1).fit()
    return folder / "run"


def copied(run: Path, folder: Path) -> Path:
    """A copy under a name of its own, by which Ray knows what belongs to a run."""
    return Path(shutil.copytree(run, folder / folder.name))


def is_continued(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the later state goes on from the earlier one, as the searcher itself would have."""
    old, new = trials_in(before), trials_in(after)
    search = BoppSearch(LINE, "loss", "min", seed=0)
    with TemporaryDirectory() as folder:
        Path(folder, "state").write_text(json.dumps(before))
        search.restore(Path(folder, "state"))
    for name, number in after["numbers"].items():
        x = new[number].params["x"]
        if search.suggest(name) != {"x": x}:
            return False
        search.on_trial_complete(name, {"loss": (x - 0.3) ** 2}, error=x > 0.7)
    settled = [trial for trial in old if trial.state != "asked"]
    return new[: len(settled)] == tuple(settled)


@pytest.mark.parametrize("settings", [{"resume_errored": True}, {"restart_errored": True}], ids=str)
def test_a_run_that_was_interrupted_goes_on_as_it_would_have(
    settings: dict[str, bool], interrupted: Path, tmp_path: Path
) -> None:
    run = copied(interrupted, tmp_path)
    before = saved_state(run)
    assert {"done", "failed"} <= {trial.state for trial in trials_in(before)}
    assert 6 <= len(trials_in(before)) < 9
    tune.Tuner.restore(str(run), trainable=steep, param_space=LINE, **settings).fit()
    after = saved_state(run)
    assert is_continued(before, after)
    assert len(set(points(trials_in(after)))) == 9


def test_optuna_in_ray_searches_with_the_sampler_of_bopp(cluster: str, tmp_path: Path) -> None:
    search = OptunaSearch(sampler=BoppSampler(seed=0))
    results = tuner(steep, tmp_path, search, 8, {"x": tune.uniform(0, 0.7)}, max_concurrent_trials=1).fit()
    assert not results.errors
    losses = [result.metrics["loss"] for result in results]
    assert len(losses) == 8
    assert min(losses[5:]) < min(losses[:5])
    search.save(str(tmp_path / "state"))
    again = OptunaSearch({"x": optuna.distributions.FloatDistribution(0, 0.7)}, "loss", "min")
    again.restore(str(tmp_path / "state"))
    for number in range(3):
        config = search.suggest(f"more {number}")
        assert again.suggest(f"more {number}") == config
        for one in (search, again):
            one.on_trial_complete(f"more {number}", {"loss": (config["x"] - 0.3) ** 2})


def test_a_run_is_restored_without_its_space_being_given_again(interrupted: Path, tmp_path: Path) -> None:
    run = copied(interrupted, tmp_path)
    before = saved_state(run)
    tune.Tuner.restore(str(run), trainable=steep, resume_errored=True).fit()
    assert is_continued(before, saved_state(run))


@pytest.mark.filterwarnings("ignore:No completed trial returned the specified metric:UserWarning")
def test_the_trials_of_an_earlier_run_of_a_function_can_be_taken_over(limited: Run) -> None:
    search = searching()
    search.add_evaluated_trials(tune.ExperimentAnalysis(str(limited.path)), "loss")
    learnt = sorted(trial.value if trial.values else math.nan for trial in known(search))
    assert learnt == sorted(limited.losses)


def plain_bowl(config: dict[str, Any]) -> dict[str, float]:
    return {"loss": config["x"] ** 2 + config["y"] ** 2}


def test_the_example_of_the_bridge_gives_metric_and_mode_to_the_tuner() -> None:
    (example,) = [part for part in str(bridge.__doc__).split("\n\n") if part.startswith("    ")]
    scope: dict[str, Any] = {"train": train_net, "space": SPACE, "BoppSearch": BoppSearch}
    scope["tune"] = SimpleNamespace(Tuner=lambda train, **given: given, TuneConfig=tune.TuneConfig)
    exec(textwrap.dedent(example), scope)
    config = scope["tuner"]["tune_config"]
    assert (config.metric, config.mode) == ("loss", "min")


@pytest.mark.parametrize(
    ("saved", "other"),
    [
        (tune.quniform(0, 1, 0.1), tune.quniform(0, 10, 1)),
        (tune.qrandint(0, 10, 2), tune.randint(0, 6)),
        (tune.choice([[1], [2]]), tune.choice([[3], [4]])),
    ],
    ids=["step", "step or not", "lists"],
)
def test_a_state_of_other_steps_or_options_is_refused(saved: Any, other: Any, tmp_path: Path) -> None:
    search = searching({"a": saved})
    search.suggest("one")
    search.save(tmp_path / "state")
    with pytest.raises(StudyError):
        searching({"a": other}).restore(tmp_path / "state")


def test_points_that_wait_are_not_lost_with_the_searcher_that_had_them(tmp_path: Path) -> None:
    search = searching(LINE, points_to_evaluate=[{"x": 0.25}, {"x": 0.5}])
    search.suggest("one")
    search.save(tmp_path / "state")
    with pytest.raises(StudyError, match="saved with points"):
        searching(LINE).restore(tmp_path / "state")
    again = searching(LINE, points_to_evaluate=[{"x": 0.25}, {"x": 0.5}])
    again.restore(tmp_path / "state")
    assert again.suggest("two") == {"x": 0.5}


@pytest.mark.parametrize("count", [0, 3, 8])
def test_a_search_without_a_space_takes_it_from_the_state(count: int, tmp_path: Path) -> None:
    search = after(count, searching())
    search.save(tmp_path / "state")
    again = BoppSearch()
    again.restore(tmp_path / "state")
    assert again.suggest("next") == search.suggest("next")
    again.on_trial_complete("next", {"loss": 1.0})
    assert known(again)[-1].value == 1.0


def test_after_a_restore_without_a_space_the_tuner_may_give_the_same_again(tmp_path: Path) -> None:
    search = after(6, searching())
    search.save(tmp_path / "state")
    again = BoppSearch()
    again.restore(tmp_path / "state")
    other = {**SPACE, "rate": tune.loguniform(1e-3, 1)}
    assert not again.set_search_properties("loss", "min", other)
    assert again.set_search_properties("loss", "min", {**SPACE, "epochs": 10})
    assert again.suggest("next") == {**search.suggest("next"), "epochs": 10}


@pytest.mark.parametrize(
    ("saved", "other"),
    [
        ([{(1, 2): 3}, {}], [{(1, 2): 4}, {}]),
        ([partial(max, 1), partial(max, 2)], [partial(max, 2), partial(max, 1)]),
        ([print, len], [len, print]),
    ],
)
def test_options_that_json_lacks_are_told_apart(saved: Any, other: Any, tmp_path: Path) -> None:
    search = searching({"x": tune.choice(saved)})
    search.suggest("first")
    search.save(tmp_path / "state")
    with pytest.raises(StudyError, match="saved with space"):
        searching({"x": tune.choice(other)}).restore(tmp_path / "state")


@pytest.mark.parametrize("space", [{"x": tune.choice([print, len])}, {"x": [tune.uniform(0, 1)]}])
def test_a_space_that_a_state_cannot_hold_has_to_be_given_again(space: Any, tmp_path: Path) -> None:
    search = searching(space)
    search.suggest("first")
    search.save(tmp_path / "state")
    with pytest.raises(StudyError, match="give it again, here or as param_space"):
        BoppSearch().restore(tmp_path / "state")
    again = searching(space)
    again.restore(tmp_path / "state")
    assert again.suggest("next") == search.suggest("next")


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (tune.quniform(0, 1, 0.25), 0.3),
        (tune.quniform(0, 1, 0.25), 1.1),
        (tune.qrandint(0, 10, 5), 12),
        (tune.qrandint(0, 10, 5), True),
    ],
    ids=["between steps", "beyond a real range", "beyond a whole range", "no number"],
)
def test_a_point_off_the_steps_is_refused(domain: Any, value: Any) -> None:
    with pytest.raises(SpaceError, match="'a'"):
        searching({"a": domain}, points_to_evaluate=[{"a": value}])


class Kind(enum.StrEnum):
    RELU = "relu"
    TANH = "tanh"


class Size(enum.IntEnum):
    SMALL = 16
    LARGE = 64


@pytest.mark.parametrize("options", [[1.0, 5.0, math.inf], list(Kind), list(Size)], ids=["inf", "str", "int"])
def test_options_that_are_nearly_plain_are_suggested_as_they_are(options: list[Any]) -> None:
    suggested = values(tune.choice(options), len(options), Recipe.random())
    assert sorted(suggested) == sorted(options)
    assert {type(value) for value in suggested} == {type(option) for option in options}


@pytest.mark.parametrize(
    "domain",
    [
        tune.qrandint(np.int64(0), np.int64(10), np.int64(2)),
        tune.qrandint(0, 10, np.int64(2)),
        tune.quniform(np.float32(0), np.float32(1), np.float32(0.25)),
        tune.quniform(1, 2, 1 / 49),
        tune.uniform(1, 1),
    ],
    ids=["int64", "int64 as step", "float32", "a rounded step", "one number"],
)
def test_numbers_of_every_range_are_plain(domain: Any) -> None:
    assert {type(value) for value in values(domain, 60, Recipe.random())} == {type(domain.sample())}


@pytest.mark.parametrize("value", [np.float32(0.25), np.float16(0.25)], ids=["float32", "float16"])
def test_a_point_of_numpy_is_taken_where_there_are_steps(value: Any) -> None:
    search = searching({"a": tune.quniform(0, 1, 0.25)}, points_to_evaluate=[{"a": value}])
    assert search.suggest("t") == {"a": 0.25}


@pytest.mark.parametrize(
    "space",
    [
        {"a/b": tune.uniform(0, 1), "a": {"b": tune.uniform(0, 1)}},
        {1: tune.uniform(0, 1), "1": tune.uniform(0, 1)},
    ],
    ids=["slash", "number and text"],
)
def test_domains_with_like_names_are_kept_apart_or_refused(space: Any) -> None:
    try:
        config = searching(space).suggest("t")
    except SpaceError:
        return
    first, second = config.values()
    assert isinstance(first, float)
    assert isinstance(second["b"] if isinstance(second, dict) else second, float)


def test_a_domain_within_an_option_is_resolved_or_refused() -> None:
    options = [
        {"name": "sgd", "momentum": tune.uniform(0, 1)},
        {"name": "sgd", "momentum": tune.uniform(0, 2)},
    ]
    try:
        option = searching({"optimiser": tune.choice(options)}).suggest("t")["optimiser"]
    except SpaceError:
        return
    assert isinstance(option["momentum"], float)


def test_a_searcher_that_got_no_mode_takes_the_same_space_with_one() -> None:
    search = BoppSearch()
    with pytest.raises(StudyError, match="mode"):
        search.set_search_properties("loss", None, LINE)
    assert search.set_search_properties("loss", "min", LINE)


def test_metrics_of_a_tuner_that_do_not_match_its_mode_are_refused() -> None:
    with pytest.raises(StudyError, match="one metric"):
        BoppSearch().set_search_properties(["a", "b"], "min", LINE)


@pytest.mark.parametrize(
    "domain",
    [tune.qrandint(5, 6, 4), tune.qrandint(0, 10, 0), tune.quniform(1, 0, 0.25)],
    ids=["no step fits", "no step", "ends in the wrong order"],
)
def test_what_has_no_value_is_refused_by_its_name(domain: Any) -> None:
    with pytest.raises(SpaceError, match="'a'"):
        searching({"a": domain})


def small(params: Params) -> float:
    """A stand-in for the loss."""
    return 2.0 * loss(nested(params)) + 1.0


KNOWLEDGE: dict[str, Any] = {
    "images": Images(mirror={"net/layers": 4.5}),
    "guesses": [Guesses(near={"rate": 0.01}, good={"net/layers": (4, 6), "net/kind": ["tanh", "gelu"]})],
    "values": Guesses(values=[({"rate": 0.01, "net/layers": 5}, 0.1, 0.2)], more="net/layers"),
    "cheap": [Cheap(small, points=12)],
    "earlier": Earlier([("minimize", [({"rate": r, "net/layers": 5}, r) for r in (0.001, 0.01, 0.1, 0.5)])]),
    "limits": Limits(at_least=0.0),
    "a sum": Images(mirror={"net/layers": 4.5}) + Limits(at_least=0.0),
}
STEPS: dict[str, Any] = {
    "drop": tune.quniform(1, 2, 0.1),
    "net": {"sizes": tune.choice([[8], [8, 8], None])},
}


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_with_knowledge_the_suggestions_are_those_of_an_optimizer_that_knows_the_same(name: str) -> None:
    search = searching(knowledge=KNOWLEDGE[name], seed=7)
    optimizer = Optimizer(OURS, "minimize", seed=7, knowledge=KNOWLEDGE[name])
    for number in range(8):
        trial = optimizer.ask()
        assert search.suggest(str(number)) == nested(trial.params)
        optimizer.tell(trial, loss(nested(trial.params)))
        evaluated(search, str(number))


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_a_restored_search_with_knowledge_goes_on_as_the_saved_one(name: str, tmp_path: Path) -> None:
    search = after(7, searching(knowledge=KNOWLEDGE[name]))
    search.save(tmp_path / "state")
    again = restored(tmp_path / "state", knowledge=KNOWLEDGE[name])
    spaceless = BoppSearch(knowledge=KNOWLEDGE[name])
    spaceless.restore(tmp_path / "state")
    assert state_of(again) == state_of(spaceless) == state_of(search)
    assert again.suggest("next") == spaceless.suggest("next") == search.suggest("next")


@pytest.mark.parametrize(
    ("saved", "other"),
    [
        (None, Limits(at_least=0.0)),
        (Limits(at_least=0.0), ()),
        (Limits(at_least=0.0), Limits(at_least=0.1)),
        ([Limits(at_least=0.0)], [Limits(at_least=0.0)] * 2),
        (Cheap(small, points=12), Cheap(small, points=14)),
        (Cheap(small, points=12), Cheap(lambda params: small(params), points=12)),
        (KNOWLEDGE["earlier"], replace(KNOWLEDGE["earlier"], trust=0.6)),
    ],
)
def test_a_state_with_other_knowledge_is_refused(saved: Any, other: Any, tmp_path: Path) -> None:
    after(2, searching(knowledge=saved)).save(tmp_path / "state")
    refuses(
        searching(knowledge=other), tmp_path / "state", StudyError, "saved with knowledge .*, here it is "
    )


def test_a_state_of_a_version_without_knowledge_has_none(tmp_path: Path) -> None:
    state = state_of(after(3, searching()))
    del state["knowledge"]
    (tmp_path / "state").write_text(json.dumps(state))
    assert len(known(restored(tmp_path / "state"))) == 3
    refuses(searching(knowledge=KNOWLEDGE["limits"]), tmp_path / "state", StudyError, "knowledge")


def test_a_stand_in_is_called_once_for_each_searcher(tmp_path: Path) -> None:
    seen: list[Params] = []

    def stand_in(params: Params) -> float:
        seen.append(params)
        return float(params["drop"] + len(params["net/sizes"] or ()))

    for space in (STEPS, None):
        seen.clear()
        search = BoppSearch(space, "loss", "min", knowledge=Cheap(stand_in, points=10))
        search.set_search_properties(None, None, {} if space else STEPS)
        search.suggest("first")
        calls = len(seen)
        search.save(tmp_path / "state")
        search.restore(tmp_path / "state")
        search.suggest("second")
        assert len(seen) == calls == len(set(map(repr, seen)))  # no params twice
        assert 5 <= calls <= 10
        assert all(params["net/sizes"] in [[8], [8, 8], None] for params in seen)
        assert all(abs(params["drop"] * 10 - round(params["drop"] * 10)) < 1e-9 for params in seen)


def test_knowledge_is_in_values_of_the_space() -> None:
    guess = Guesses(near={"drop": 1.7, "net/sizes": [8, 8]})
    first = searching(STEPS, knowledge=guess).suggest("first")
    assert first == {"drop": pytest.approx(1.7), "net": {"sizes": [8, 8]}}


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        ("near", "knowledge: wanted policies such as .*, got 'near'"),
        ([Guesses], "knowledge: wanted policies such as .*, got <class"),
        (Guesses(near={"layers": 3}), r"wanted some of the params .*'net/layers'.*, got \['layers'\]"),
        (Guesses(near={"net/layers": 30}), "'net/layers': wanted"),
        (Images(exchange=("rate", "net/layers")), "wanted parameters alike to exchange"),
    ],
)
def test_knowledge_that_does_not_fit_is_refused_at_once(knowledge: Any, words: str) -> None:
    with pytest.raises(BoppError, match=words):
        searching(knowledge=knowledge)


def test_the_results_of_an_earlier_run_are_knowledge(limited: Run) -> None:
    known_of = earlier(limited.results, "loss", "min", trust=0.6)
    ((direction, rows),) = known_of.studies
    assert (direction, known_of.trust, len(rows)) == ("minimize", 0.6, 14)
    best = limited.results.get_best_result("loss", "min").config
    assert searching(knowledge=known_of).suggest("first") == best
    for params, value in rows:
        assert value == loss(nested(dict(params)))
    with pytest.raises(RecipeError, match="earlier: mode must be 'min' or 'max', got 'least'"):
        earlier(limited.results, "loss", "least")
    with pytest.raises(BoppError, match="wanted a study with 3 values or more"):
        searching(knowledge=earlier(limited.results, "no such metric", "min"))


def test_a_run_with_knowledge_of_a_tuner_begins_where_its_user_says(cluster: str, tmp_path: Path) -> None:
    search = BoppSearch(knowledge=[Guesses(near={"rate": 0.01, "net/layers": 5, "net/kind": "tanh"})])
    results = tuner(train_net, tmp_path, ConcurrencyLimiter(search, max_concurrent=1), 3, SPACE).fit()
    assert results.get_best_result().config["net"] == {"layers": 5, "kind": "tanh"}


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str) -> None:
    monkeypatch.chdir(tmp_path)
    documents.run("docs/bridges/ray.md")
    assert len(documents.blocks("docs/bridges/ray.md")) >= 3
