from __future__ import annotations

import enum
import json
import math
import os
import pickle
import shutil
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
from typing import Any, ClassVar

import numpy as np
import optuna
import pytest
import ray
from ray import cloudpickle, tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch

import bopp
from bopp import Choice, Fixed, Float, Int, Optimizer, Params, Recipe, Trial
from bopp.bridges import ray as bridge
from bopp.bridges.optuna import BoppSampler
from bopp.bridges.ray import BoppSearch, earlier
from bopp.errors import BoppError, NoResultError, RecipeError, SpaceError, StudyError, TellError
from bopp.initial import Sobol
from bopp.problem import AtLeast, AtMost, Holds
from bopp.pseudo import Cheap, Earlier, Guesses, Limits
from bopp.result import Result
from support.bridge_conformance import FIRST, Case, ResumableConformance
from support.bridge_conformance import loss as loss_of_params

PATIENCE = 180.0  # seconds that a busy machine may take

LINE = {"x": tune.uniform(0, 1)}
SPACE = {
    "rate": tune.loguniform(1e-4, 1),
    "net": {"layers": tune.randint(1, 9), "kind": tune.choice(["relu", "tanh", "gelu"])},
    "epochs": 3,
}
NET = {
    "kind": tune.choice(["relu", "tanh", "gelu"]),
    "layers": tune.randint(1, 9),
    "rate": tune.loguniform(1e-4, 1),
}
OURS: dict[str, bopp.parameter.Parameter] = {
    "rate": Float(1e-4, 1, log=True),
    "net/layers": Int(1, 8),
    "net/kind": Choice(["relu", "tanh", "gelu"]),
}


def loss(config: Mapping[str, Any]) -> float:
    return loss_of_params({**config["net"], "rate": config["rate"]})


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
    "a uniform of numpy": tune.uniform(np.float32(0), np.float64(1)),
    "a narrow uniform": tune.uniform(1.0, 1.0 + 1e-9),
    "loguniform": tune.loguniform(1e-5, 1e3),
}


def drawn(domain: Any, count: int) -> list[Any]:
    """What Ray itself draws from a domain."""
    return [domain.cast(value) for value in domain.sample(size=count, random_state=0)]


class Optimiser(enum.Enum):
    SGD = 1
    ADAM = "adam"


Kind = enum.StrEnum("Kind", ["RELU", "TANH"])
Size = enum.IntEnum("Size", {"SMALL": 16, "LARGE": 64})


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
    "nearly plain": [1.0, 5.0, math.inf],
    "texts": list(Kind),
    "sizes": list(Size),
    "ragged lists": [[[64, 64], [32]], [[64]]],
    "mixed lists": [[1, "same"], ["1", "same"]],
}


class TestConformance(ResumableConformance):
    page = "docs/bridges/ray.md"
    wrong: ClassVar = {
        "seed": [-1, "one"],
        "recipe": ["random", Recipe],
        "knowledge": ["near", [1], Guesses, [Guesses]],
        "constraints": [4, "memory", ["memory"], [Holds("short", lambda params: True)]],
        "mode": ["minimize", 4],
        "metric": [("a",), ["a", "b"], []],
        "net/odd": [
            *(tune.randn(0, 1), tune.qrandn(0, 1, 0.5), tune.sample_from(lambda config: 1)),
            *(tune.uniform(3, 1), tune.randint(3, 3), tune.qrandint(5, 6, 4), tune.qrandint(0, 10, 0)),
            *(
                tune.quniform(1, 0, 0.25),
                tune.choice([]),
                tune.choice([{"momentum": tune.uniform(0, 1)}, {}]),
            ),
            *(tune.grid_search([1, 2]), Choice([int, str])),  # which no state can hold
        ],
    }
    finite: ClassVar = [
        *((domain, sorted(set(drawn(domain, 4000)))) for domain in FINITE.values()),
        *((tune.choice(options), options) for options in CHOICES.values()),
        (tune.randint(np.int64(0), np.int32(9)), [*range(9)]),
        (tune.qrandint(np.int64(0), np.int64(10), np.int64(2)), [*range(0, 11, 2)]),
        (tune.quniform(np.float32(0), np.float32(1), np.float32(0.25)), [0.0, 0.25, 0.5, 0.75, 1.0]),
        (tune.quniform(1, 2, 1 / 49), [place / 49 for place in range(49, 99)]),
        (tune.uniform(1, 1), [1.0]),
        (tune.choice(np.arange(3)), [0, 1, 2]),
        (tune.choice(np.array([0.5, 1.5])), [0.5, 1.5]),
        (tune.choice(np.array(["a", "b"])), ["a", "b"]),
    ]

    def begin(self, **settings: Any) -> None:
        if "net/odd" in settings:
            BoppSearch().set_search_properties("loss", "min", {**LINE, "net": {"odd": settings["net/odd"]}})
        BoppSearch(LINE, **{"mode": "min", **settings})

    def tried(self, domain: Any, count: int) -> list[Any]:
        return values(domain, count, Recipe.random())

    def run(self, case: Case, folder: Path | None = None) -> list[Params]:
        modes = ["min" if way == "minimize" else "max" for way in case.directions]
        several = len(modes) > 1
        given: dict[str, Any] = {"metric": [*case.objectives] if several else "loss"}
        given |= {"mode": modes if several else modes[0], "constraints": case.constraints}
        given |= {"seed": case.seed, "recipe": case.recipe, "knowledge": case.knowledge}

        def opened(search: BoppSearch) -> BoppSearch:
            """The same search again, out of its state."""
            if folder is None:
                return search
            search.save(folder / "state")
            again = BoppSearch(NET, **given)
            again.restore(folder / "state")
            assert state_of(again) == state_of(search)
            return again

        search = BoppSearch(NET, **given)
        search.add_evaluated_point(FIRST, case.outcome(FIRST))
        for count in case.batches:
            begun = len(search.result.trials)
            names = [str(begun + place) for place in range(count)]
            for name in names:
                search = opened(search)
                search.suggest(name)
            for name in names:
                outcome = case.outcome(search.suggest(name))
                search.on_trial_complete(name, outcome, error=outcome is None)
        return [trial.params for trial in search.result.trials]

    @pytest.mark.endurance
    @pytest.mark.usefixtures("cluster")
    def test_the_code_of_the_page_runs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().test_the_code_of_the_page_runs(tmp_path, monkeypatch)


@pytest.mark.parametrize("value", [1, -0.5, True, np.float32(0.5), np.array(0.25), Fraction(1, 4), 1e300])
def test_a_number_of_any_kind_is_a_value(value: Any) -> None:
    for search, name in ((searching(), "loss"), (BoppSearch(LINE, mode="min"), "_metric")):
        search.suggest("a")
        search.on_trial_complete("a", {name: value})
        assert [(trial.state, trial.value) for trial in known(search)] == [("done", float(value))]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "loss"),
        ({"memory": 1.0}, "loss"),
        ({"loss": None}, "loss"),
        ({"loss": math.nan, "memory": 1.0}, "nan"),
        ({"loss": "0.5"}, "'0.5'"),
        ({"loss": 1.0, "error": True}, "error"),
        ({"speed": math.nan, "memory": 1.0}, "'speed'"),
        ({"loss": 1.0, "speed": 1.0, "memory": math.inf}, "'memory'"),
        ({"loss": 1.0, "speed": "fast"}, "'speed'"),
    ],
    ids=str,
)
def test_a_trial_without_a_number_is_a_failed_one_that_says_why(result: Any, words: str) -> None:
    several = for_several(constraints=MEMORY)
    for search in [several] if "speed" in (result or ()) else [several, searching()]:
        search.suggest("a")
        search.on_trial_complete("a", result, error="error" in (result or ()))
        (trial,) = known(search)
        assert (trial.state, trial.values) == ("failed", {})
        assert words in str(trial.error)


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


@pytest.mark.parametrize("domain", [*FINITE.values(), *REAL.values()], ids=[*FINITE, *REAL])
def test_what_ray_draws_can_be_tried_first_and_suggestions_are_like_it(domain: Any) -> None:
    ends = [domain.lower, domain.upper] if domain in REAL.values() else []
    points = [{"a": value} for value in [*drawn(domain, 30), *ends]]
    search = searching({"a": domain}, points_to_evaluate=points)
    with pytest.raises(SpaceError, match="'a'"):
        search.add_evaluated_point({"a": 99999}, 1.0)
    for number, point in enumerate(points):
        value = search.suggest(str(number))["a"]
        assert value == (pytest.approx(point["a"], abs=1e-12) if isinstance(value, float) else point["a"])
        search.on_trial_complete(str(number), {"loss": -len(str(value))})
    for number in range(4):
        value = search.suggest(f"more {number}")["a"]
        assert domain.is_valid(value)
        assert type(value) is type(domain.sample())


@pytest.mark.parametrize(
    ("logarithmic", "even"),
    [
        (tune.loguniform(1e-6, 1.0), tune.uniform(1e-6, 1.0)),
        (tune.lograndint(1, 10**6), tune.randint(1, 10**6)),
        (tune.qloguniform(1e-6, 1.0, 1e-6), tune.quniform(1e-6, 1.0, 1e-6)),
        (tune.qlograndint(2, 10**6, 2), tune.qrandint(2, 10**6, 2)),
    ],
)
def test_a_logarithmic_range_is_searched_by_factors(logarithmic: Any, even: Any) -> None:
    middles = [float(np.median(values(domain, 64, Recipe.random()))) for domain in (logarithmic, even)]
    low, high = logarithmic.lower, logarithmic.upper
    assert math.log10(middles[0]) == pytest.approx(math.log10(low * high) / 2, abs=0.5)
    assert middles[1] == pytest.approx((low + high) / 2, rel=0.1)


@pytest.mark.parametrize("options", CHOICES.values(), ids=CHOICES)
def test_options_of_any_kind_are_tried_first_and_saved(options: list[Any], tmp_path: Path) -> None:
    points = [{"a": deepcopy(option)} for option in options]
    search, again = (searching({"a": tune.choice(options)}, points_to_evaluate=points) for _ in range(2))
    assert repr([search.suggest(str(place))["a"] for place in range(len(options))]) == repr(options)
    search.on_trial_complete("0", {"loss": 1.0})
    search.save(tmp_path / "state")
    again.restore(tmp_path / "state")
    for name in ("0", "next"):
        assert repr(again.suggest(name)["a"]) == repr(search.suggest(name)["a"])


def test_domains_are_found_wherever_they_are_and_all_else_is_left_alone() -> None:
    constant = {"path": Path("a"), "text": "x", "pair": (1, 2.0), "set": {1}, 5: None, "empty": {}, "no": []}
    ours = {"rate": Float(0, 1), "kind": Choice(["relu", "tanh"])}
    space = {
        "constant": constant,
        "list": [1, tune.uniform(0, 1), "k", [tune.randint(0, 5)], ours["rate"]],
        "tuple": (True, tune.choice(["a", "b"]), {"deep": tune.uniform(2, 3)}),
        "dict": {
            "a": {"b": {"c": tune.quniform(0, 1, 0.5)}},
            7: tune.randint(8, 10),
            "ours": (ours["kind"], 1),
        },
    }
    config = {
        "constant": constant,
        "list": [1, 0.25, "k", [3], 0.75],
        "tuple": (True, "b", {"deep": 2.5}),
        "dict": {"a": {"b": {"c": 0.5}}, 7: 9, "ours": ("tanh", 1)},
    }
    before = repr((space, config))
    search = searching(space, points_to_evaluate=[config])
    first = search.suggest("t")
    assert repr(first) == repr(config)
    first["constant"]["no"].append(3)
    first["dict"]["a"]["b"]["c"] = "changed"
    assert repr(search.suggest("t")) == repr(config)
    second = search.suggest("u")
    assert second["constant"] == constant
    assert second["list"][1] != 0.25
    assert second["dict"]["a"]["b"]["c"] in (0.0, 0.5, 1.0)
    assert repr((space, config)) == before


def test_a_space_without_domains_or_with_names_alike_is_refused() -> None:
    line = tune.uniform(0, 1)
    spaces: list[dict[Any, Any]] = [{"a": 1}, {"a/b": line, "a": {"b": line}}, {1: line, "1": line}]
    for space in spaces:
        with pytest.raises(SpaceError):
            searching(space)


def test_a_parameter_that_does_not_apply_is_not_in_the_config(tmp_path: Path) -> None:
    momentum = Float(0, 1, when={"net/kind": ["sgd"]})
    net = {"kind": tune.choice(["sgd", "adam", "none"]), "momentum": momentum}
    space = {"net": net, "epochs": Fixed(3), "rate": tune.uniform(0, 1)}
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
    with pytest.raises(SpaceError, match="'net/momentum'"):
        search.add_evaluated_point({"net": {"kind": "none", "momentum": 1}, "epochs": 3, "rate": 0.1}, 0.1)
    search.save(tmp_path / "state")
    again = BoppSearch(points_to_evaluate=[begin])
    again.restore(tmp_path / "state")
    for name in ("20", "21", "22"):
        assert again.suggest(name) == search.suggest(name)


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
        with pytest.raises(StudyError, match="space and a mode"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_space_metric_and_mode_come_from_the_tuner() -> None:
    search, direct = BoppSearch(seed=2), searching(seed=2)
    assert search.set_search_properties("loss", "min", SPACE, num_samples=3)
    assert (search.metric, search.mode) == ("loss", "min")
    found = [[trial.params for trial in known(after(8, one))] for one in (search, direct)]
    assert found[0] == found[1]


def test_what_the_searcher_has_counts_more_than_what_the_tuner_gives() -> None:
    for search, properties in [
        (BoppSearch(metric="loss", mode="max", points_to_evaluate=[{"x": 0.125}]), ("other", "min", LINE)),
        (BoppSearch(LINE, points_to_evaluate=[{"x": 0.125}]), ("loss", "max", {"epochs": 3})),
    ]:
        assert search.set_search_properties(*properties)
        assert search.suggest("a") == {"x": 0.125}
        search.on_trial_complete("a", {"loss": 0.5, "other": 2.0})
        assert known(search)[0].value == 0.5
        assert "maximize" in (before := state_of(search))["result"]
        for second in ({"y": tune.uniform(0, 1)}, {"y": Float(0, 1)}):
            assert not search.set_search_properties("loss", "max", second)
        assert state_of(search) == before


def test_a_missing_mode_is_refused_until_it_is_there() -> None:
    with pytest.raises(StudyError, match="mode"):
        BoppSearch(LINE).suggest("t")
    search = BoppSearch()
    with pytest.raises(StudyError, match="mode"):
        search.set_search_properties("loss", None, LINE)
    with pytest.raises(StudyError, match="one metric"):
        search.set_search_properties(["a", "b"], "min", LINE)
    assert search.set_search_properties("loss", "min", LINE)


@pytest.mark.parametrize(
    ("metric", "mode"),
    [("a", ["min"]), (None, ("min",)), ("ab", ["min"]), ("aa", ["min", "max"]), ([], [])]
    + [("ab", ["min", other]) for other in ("obs", None, ["max"])],
)
def test_metrics_and_modes_that_do_not_match_are_refused(metric: Any, mode: Any) -> None:
    with pytest.raises((StudyError, AssertionError), match="mode"):
        BoppSearch(LINE, list(metric) if metric in ("ab", "aa") else metric, mode)


MEMORY = [AtMost("memory", 4.0)]


def reported(config: Mapping[str, Any]) -> dict[str, Any]:
    """A loss, a speed that is best where the loss is not, and the memory that it takes."""
    layers = config["net"]["layers"]
    return {"loss": loss(config), "speed": -float(layers), "memory": layers / 2, "epochs": 3, "done": True}


def for_several(**settings: Any) -> BoppSearch:
    return BoppSearch(SPACE, ["loss", "speed"], ["min", "max"], **settings)


def test_with_constraints_the_metric_may_come_from_the_tuner() -> None:
    search = BoppSearch(LINE, mode="min", constraints=[*MEMORY, AtLeast("loss", 1.5)])
    with pytest.raises(StudyError, match="metric"):
        search.suggest("a")
    assert search.set_search_properties("loss", None, {})
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1.0, "memory": 2.0})
    assert dict(known(search)[0].values) == {"loss": 1.0, "memory": 2.0}
    with pytest.raises(NoResultError):  # the metric itself does not meet its constraint
        _ = search.result.best
    with pytest.raises(RecipeError, match=r"'loss'.*nan"):
        BoppSearch(constraints=[AtMost("loss", math.nan)])


def test_several_values_of_a_point_from_elsewhere_come_by_name() -> None:
    point = {"rate": 0.1, "net": {"layers": 3, "kind": "tanh"}}
    values: dict[str, float | None] = {"loss": 1.0, "speed": 2.0, "memory": 3.0}
    several, alone, plain = for_several(constraints=MEMORY), searching(constraints=MEMORY), searching()
    several.add_evaluated_point(point, values)
    several.add_evaluated_point(point, {"loss": 1.0, "memory": 3.0})
    several.add_evaluated_point(point, None)
    several.add_evaluated_point(point, values, error=True)
    with pytest.raises(TellError, match="loss, speed, memory"):
        several.add_evaluated_point(point, 1.0)
    assert [dict(trial.values) for trial in known(several)] == [values, {**values, "speed": None}, {}, {}]
    alone.add_evaluated_point(point, 1.0)
    assert dict(known(alone)[0].values) == {"loss": 1.0, "memory": None}
    plain.add_evaluated_point(point, {"loss": 1.0})
    assert known(plain)[0].value == 1.0


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


@pytest.mark.parametrize(
    ("point", "words"),
    [
        *(({"x": x, "k": "a", "q": 0.5, "n": 5}, "'x'") for x in (2.0, "text", math.nan, None, {"y": 1})),
        ({"x": 0.5, "k": "c", "q": 0.5, "n": 5}, "'k'"),
        *(({"x": 0.5, "k": "a", "q": q, "n": 5}, "'q'") for q in (0.3, 1.25, "text", None, math.inf, [0.25])),
        *(({"x": 0.5, "k": "a", "q": 0.5, "n": n}, "'n'") for n in (12, 15, True, "text", math.nan)),
        *((point, "config") for point in ({"x": 0.5}, {}, 5, None, [0.5, "a"])),
    ],
    ids=str,
)
def test_a_wrong_point_is_refused(point: Any, words: str) -> None:
    space = {"x": tune.uniform(0, 1), "k": tune.choice(["a", "b"])}
    space |= {"q": tune.quniform(0, 1, 0.25), "n": tune.qrandint(0, 10, 5)}
    good = {"x": 0.5, "k": "a", "q": np.float32(0.25), "n": 10}
    with pytest.raises(SpaceError, match=words):
        searching(space, points_to_evaluate=[good, point])
    search = searching(space)
    before = state_of(search)
    with pytest.raises(SpaceError, match=words):
        search.add_evaluated_point(point, 1.0)
    with pytest.raises(TellError, match="'good'"):
        search.add_evaluated_point(good, "good")  # type: ignore[arg-type]
    assert state_of(search) == before


@pytest.mark.parametrize(
    ("value", "flags"), [(1.0, {"error": True}), (None, {"pruned": True}), (math.nan, {}), (None, {})]
)
def test_a_point_that_failed_elsewhere_is_a_failed_trial(value: Any, flags: dict[str, bool]) -> None:
    search = searching(LINE)
    search.add_evaluated_point({"x": 0.5}, value, **flags, intermediate_values=[1.0])
    (trial,) = known(search)
    assert (trial.state, trial.params) == ("failed", {"x": 0.5})
    assert trial.error


def restored(path: Path, **settings: Any) -> BoppSearch:
    search = searching(**settings)
    search.restore(str(path))
    return search


def test_parts_of_your_own_are_the_same_if_they_are_written_alike(tmp_path: Path) -> None:
    mine = replace(Recipe.default(), pseudo=cautious)
    after(6, searching(recipe=mine)).save(tmp_path / "state")
    restored(tmp_path / "state", recipe=mine)
    refuses(searching(), tmp_path / "state", StudyError, "recipe.*cautious")


def test_a_state_brings_its_recipe_with_it_but_not_its_constants(tmp_path: Path) -> None:
    search = after(6, searching(recipe=Recipe(initial=Sobol(3), acquisition=bopp.acquisition.UCB(9.0))))
    search.save(tmp_path / "state")
    again = restored(tmp_path / "state", space={**SPACE, "epochs": 10})
    assert state_of(again)["recipe"] == state_of(search)["recipe"]
    assert again.suggest("next") == {**search.suggest("next"), "epochs": 10}
    assert again.suggest("next") != {**after(6, searching()).suggest("next"), "epochs": 10}


def test_a_drawn_seed_is_restored_with_the_state(tmp_path: Path) -> None:
    search, again = (BoppSearch(LINE, "loss", "min", seed=None) for _ in range(2))
    for number in range(7):
        search.on_trial_complete(str(number), {"loss": search.suggest(str(number))["x"]})
    search.save(tmp_path / "state")
    assert again.result.seed != search.result.seed
    again.restore(tmp_path / "state")
    assert again.result.seed == search.result.seed
    assert again.suggest("next") == search.suggest("next")


def cautious(known: bopp.Known) -> bopp.Data:
    return bopp.Data.empty(known.dimension)


def test_the_bridge_does_without_a_database() -> None:
    code = "import sys, bopp.bridges.ray; print('bopp.study' in sys.modules, 'sqlalchemy' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.stdout.splitlines()[-1] == "False False", ended.stderr


@pytest.mark.parametrize("value", [0.25, math.nan])
def test_the_other_numbers_of_a_result_are_measurements(value: float, tmp_path: Path) -> None:
    search = searching(LINE)
    search.suggest("a")
    bookkeeping: dict[Any, Any] = {"training_iteration": 3, "time_total_s": 1.5, "timestamp": 1, "pid": 7}
    bookkeeping |= {"config/x": 0.5, "done": True, "trial_id": "a", "date": "today", "word": "good", 5: 1.0}
    yours = {"accuracy": np.float32(0.5), "eval/recall": 1, "worst": math.nan}
    search.on_trial_complete("a", {"loss": value, "value": 9.0, **yours, **bookkeeping})
    search.save(tmp_path / "state")
    for one in (search, restored(tmp_path / "state", space=LINE)):
        (trial,) = known(one)
        assert trial.state == ("done" if math.isfinite(value) else "failed")
        assert repr(trial.measurements) == repr({"accuracy": 0.5, "eval/recall": 1.0, "worst": math.nan})


def test_a_state_is_json(tmp_path: Path) -> None:
    search = after(3, searching())
    search.save(tmp_path / "state")
    search.save_to_dir(str(tmp_path), "session")
    assert {path.name for path in tmp_path.iterdir()} == {"state", "searcher-state-session.json"}
    for path in tmp_path.iterdir():
        assert isinstance(json.loads(path.read_text()), dict)
    again = searching()
    again.restore_from_dir(str(tmp_path))
    assert again.suggest("next") == search.suggest("next")


def small(params: Params) -> float:
    """A stand-in for the loss."""
    return 2.0 * loss(nested(params)) + 1.0


RATES = [({"rate": r, "net/layers": 5}, r) for r in (0.001, 0.01, 0.1, 0.5)]
SEVERAL = {"metric": ["loss", "speed"], "mode": ["min", "max"], "constraints": MEMORY}
POINTS = [{"x": 0.25}, {"x": 0.5}]


@pytest.mark.parametrize(
    ("saved", "here", "words"),
    [
        ({}, {"space": {**SPACE, "rate": tune.loguniform(1e-3, 1)}}, "space"),
        ({}, {"space": {**SPACE, "rate": tune.uniform(1e-4, 1)}}, "space"),
        ({}, {"space": {**SPACE, "more": tune.uniform(0, 1)}}, "space"),
        ({}, {"space": {"renamed": SPACE["rate"], "net": SPACE["net"]}}, "space"),
        *(
            ({"space": {"a": one}}, {"space": {"a": other}}, "space")
            for one, other in [
                (tune.quniform(0, 1, 0.1), tune.quniform(0, 10, 1)),
                (tune.qrandint(0, 10, 2), tune.randint(0, 6)),
                (tune.choice([[1], [2]]), tune.choice([[3], [4]])),
                (tune.choice([{(1, 2): 3}, {}]), tune.choice([{(1, 2): 4}, {}])),
                (
                    tune.choice([partial(max, 1), partial(max, 2)]),
                    tune.choice([partial(max, 2), partial(max, 1)]),
                ),
                (tune.choice([print, len]), tune.choice([len, print])),
            ]
        ),
        ({}, {"mode": "max"}, "mode 'min', here it is 'max'"),
        ({}, {"metric": "accuracy"}, "metric 'loss', here it is 'accuracy'"),
        ({}, {"seed": 1}, "seed 0, here it is 1"),
        ({}, {"recipe": Recipe.random()}, "recipe"),
        ({"space": LINE, "points_to_evaluate": POINTS}, {"space": LINE}, "points"),
        (SEVERAL, {**SEVERAL, "metric": ["speed", "loss"]}, "metric"),
        (SEVERAL, {**SEVERAL, "mode": ["min", "min"]}, "mode"),
        (SEVERAL, {"constraints": MEMORY}, "metric"),
        (SEVERAL, {**SEVERAL, "constraints": [AtMost("memory", 5.0)]}, "constraints .*4.0.* here .*5.0"),
        ({**SEVERAL, "constraints": ()}, SEVERAL, r"constraints \[\]"),
        *(
            ({"knowledge": one}, {"knowledge": other}, "knowledge")
            for one, other in [
                (None, Limits(at_least=0.0)),
                (Limits(at_least=0.0), ()),
                ([Limits(at_least=0.0)], [Limits(at_least=0.0)] * 2),
                (Cheap(small, points=12), Cheap(lambda params: small(params), points=12)),
                (Earlier([("minimize", RATES)]), Earlier([("minimize", RATES)], trust=0.6)),
            ]
        ),
    ],
)
def test_a_state_of_another_search_is_refused(saved: Any, here: Any, words: str, tmp_path: Path) -> None:
    first, search = (
        BoppSearch(**{"space": SPACE, "metric": "loss", "mode": "min", **one}) for one in (saved, here)
    )
    for one in (first, search):
        one.suggest("a")
    first.save(tmp_path / "state")
    refuses(search, tmp_path / "state", StudyError, f"saved with {words}")
    again = BoppSearch(**{"space": SPACE, "metric": "loss", "mode": "min", **saved})
    again.restore(tmp_path / "state")
    assert repr(again.suggest("b")) == repr(first.suggest("b"))


def refuses(search: BoppSearch, path: Path, kind: type[Exception] = BoppError, words: str = ".") -> None:
    before = state_of(search)
    with pytest.raises(kind, match=words):
        search.restore(path)
    assert state_of(search) == before


def test_a_file_that_is_no_state_is_refused(tmp_path: Path) -> None:
    path, search = tmp_path / "state", after(2, searching())
    after(3, searching()).save(path)
    whole = path.read_bytes()
    cut = [whole[:length] for length in (*range(0, len(whole), 97), len(whole) - 2, len(whole) - 1)]
    other = [
        b"null",
        b"[]",
        b"{}",
        b'{"format": 1}',
        b"no json",
        b"\x00\xff",
        b"[" * 100_000,
        pickle.dumps({}),
    ]
    for content in (*cut, *other):
        path.write_bytes(content)
        refuses(search, path, StudyError, "state")
    path.write_bytes(whole)
    search.suggest("forgotten")
    search.restore(path)
    assert json.dumps(state_of(search)).encode() == whole
    refuses(search, tmp_path / "nowhere", FileNotFoundError, "nowhere")
    refuses(search, tmp_path, IsADirectoryError)


def test_what_was_changed_in_a_state_is_noticed(tmp_path: Path) -> None:
    path, search = tmp_path / "state", searching()
    good = state_of(after(3, searching()))
    result = json.loads(good["result"])
    first = result["trials"][0]
    trials = [result["trials"][1:], [{**first, "value": "low"}], [{**first, "params": {}}]]
    results = [None, good["result"][:-30], *(json.dumps({**result, "trials": one}) for one in trials)]
    numbers = [{"a": 99}, {"a": "0"}, {"a": None}, [0, 1, 2]]
    worse: list[dict[str, Any]] = [{name: part for name, part in good.items() if name != "numbers"}]
    worse += [{**good, "format": one} for one in (0, 2, None)]
    worse += [{**good, "numbers": one} for one in numbers] + [{**good, "result": one} for one in results]
    for state in worse:
        path.write_text(json.dumps(state))
        refuses(search, path)


def test_a_trial_may_have_any_text_as_its_id(tmp_path: Path) -> None:
    odd = ["", "a b", 'quote"d', "back\\slash", "line\nbreak", "\0", "\ud800", "😀", "null", "0"]
    search = searching(LINE, recipe=Recipe.random())
    configs = {name: search.suggest(name) for name in odd}
    search.save(tmp_path / "state")
    again = restored(tmp_path / "state", space=LINE, recipe=Recipe.random())
    assert {name: again.suggest(name) for name in odd} == configs
    assert len(known(again)) == len(configs)


def test_a_state_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    search = after(2, searching())
    search.save(tmp_path / "state")
    old = (tmp_path / "state").read_bytes()
    search.suggest("more")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        search.save(tmp_path / "state")
    assert os.listdir(tmp_path) == ["state"]
    assert (tmp_path / "state").read_bytes() == old


def in_python(function: Callable[..., None], *words: str) -> list[str]:
    """The command that calls a function of this file in a process of its own."""
    here = Path(__file__)
    code = f"import sys; sys.path[:0] = sys.argv[1:3]; from {here.stem} import {function.__name__} as main;"
    code += "main(*sys.argv[3:])"
    return [sys.executable, "-c", code, str(here.parent), str(here.parent.parent), *words]


@contextmanager
def by_value() -> Iterator[None]:
    """Workers of Ray cannot import this file: what they get of it is written out."""
    modules = [sys.modules[name] for name in (__name__, loss_of_params.__module__)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as environment, by_value():
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
        environment.setenv("TUNE_GLOBAL_CHECKPOINT_S", "0")
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


@dataclass(frozen=True)
class Run:
    """A run that went to its end, and the state in which it left its searcher."""

    results: Any
    state: dict[str, Any]

    @property
    def path(self) -> Path:
        return Path(self.results.experiment_path)


@pytest.fixture(scope="session")
def limited(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two trials at a time."""
    search = BoppSearch(seed=0)
    limiter = ConcurrencyLimiter(search, max_concurrent=2)
    return Run(
        tuner(train_net, tmp_path_factory.mktemp("limited"), limiter, 14, SPACE).fit(), state_of(search)
    )


@pytest.mark.endurance
def test_a_limited_run_knows_all_that_was_reported_and_leaves_its_state(limited: Run) -> None:
    assert not limited.results.errors
    reported = [(result.config, result.metrics["loss"]) for result in limited.results]
    learnt = [(nested(trial.params), trial.value) for trial in trials_in(limited.state)]
    assert len(learnt) == len(reported) == 14
    assert all(pair in learnt for pair in reported)
    assert [trial.measurements for trial in trials_in(limited.state)] == [{"epochs": 3.0}] * 14
    assert limited.results.get_best_result().metrics["loss"] == min(value for _, value in learnt if value)
    (path,) = limited.path.glob("searcher-state-*.json")
    assert saved_state(limited.path) == state_of(restored(path)) == limited.state


@pytest.mark.endurance
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


@pytest.mark.endurance
def test_a_trial_that_a_scheduler_stops_counts_with_its_last_result(scheduled: Run) -> None:
    assert not scheduled.results.errors
    lasted = {result.config["x"]: result.metrics["training_iteration"] for result in scheduled.results}
    assert (lasted[0.3], lasted[0.9], lasted[1.0]) == (4, 1, 1)
    last = {result.config["x"]: result.metrics["held out"]["loss"] for result in scheduled.results}
    assert {trial.params["x"]: trial.value for trial in trials_in(scheduled.state)} == last
    assert len(last) == 6


@pytest.mark.endurance
def test_the_trials_of_an_earlier_run_can_be_taken_over(scheduled: Run) -> None:
    earlier = tune.ExperimentAnalysis(str(scheduled.path))
    search = searching(LINE)
    search.add_evaluated_trials(earlier, "loss")
    reported = [(result.config["x"], result.metrics["loss"]) for result in scheduled.results]
    assert sorted((trial.params["x"], trial.value) for trial in known(search)) == sorted(reported)
    assert {trial.origin for trial in known(search)} == {"observed"}
    search.add_evaluated_trials(earlier.trials[0], "loss")
    assert len(known(search)) == len(reported) + 1


def steep(config: dict[str, Any]) -> dict[str, float]:
    if config["x"] > 0.7:
        raise ValueError("too large")
    return {"loss": (config["x"] - 0.3) ** 2}


def gated(config: dict[str, Any]) -> dict[str, float]:
    """Let the first trials through; later ones wait until the gate is open."""
    gate = Path(config["gate"])
    while len(list(gate.iterdir())) >= 4 and not (gate / "open").exists():
        time.sleep(0.05)
    (gate / str(config["x"])).touch()
    return steep(config)


def drive(address: str, folder: str) -> None:
    """Run at a cluster that is there."""
    os.environ["TUNE_GLOBAL_CHECKPOINT_S"] = "0.5"
    with by_value():
        ray.init(address, log_to_driver=False)
        search = ConcurrencyLimiter(BoppSearch(), max_concurrent=2)
        tuner(gated, Path(folder), search, 10, {**LINE, "gate": f"{folder}/gate"}).fit()


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


@pytest.fixture(scope="session")
def killed(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was killed after four of its ten trials, one of which had failed."""
    folder = tmp_path_factory.mktemp("killed")
    run, gate = folder / "run", folder / "gate"
    gate.mkdir()

    def is_half_done() -> bool:
        states = [trial.state for path in run.glob("searcher*") for trial in trials_in(saved_state(run))]
        return states.count("done") >= 3 and "failed" in states and states.count("asked") == 2

    command = in_python(drive, cluster, str(folder))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as driver:
        wait_for(is_half_done, driver)
        driver.kill()
    (gate / "open").touch()
    return run


def copied(run: Path, folder: Path) -> Path:
    """A copy under a name of its own, by which Ray knows what belongs to a run."""
    return Path(shutil.copytree(run, folder / folder.name))


@pytest.mark.endurance
@pytest.mark.parametrize("again", ["resume_errored", "restart_errored"])
def test_a_run_whose_process_was_killed_goes_on_where_it_was(
    again: str, killed: Path, tmp_path: Path
) -> None:
    run = copied(killed, tmp_path)
    before = saved_state(run)
    settings: dict[str, Any] = {again: True}
    if again == "restart_errored":
        settings["param_space"] = {**LINE, "gate": f"{killed.parent}/gate"}
    tune.Tuner.restore(str(run), trainable=gated, **settings).fit()
    after = saved_state(run)
    old, new = trials_in(before), trials_in(after)
    settled = [trial for trial in old if trial.state != "asked"]
    assert {trial.state for trial in settled} == {"done", "failed"}
    assert [*new[: len(settled)]] == settled
    assert points(new)[: len(old)] == points(old)
    assert before["numbers"].items() <= after["numbers"].items()
    assert "asked" not in {trial.state for trial in new}
    assert len(set(points(new))) == 10


@pytest.mark.endurance
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
    assert again.suggest("more") == search.suggest("more")


def test_the_example_of_the_bridge_gives_metric_and_mode_to_the_tuner() -> None:
    (example,) = [part for part in str(bridge.__doc__).split("\n\n") if part.startswith("    ")]
    scope: dict[str, Any] = {"train": train_net, "space": SPACE, "BoppSearch": BoppSearch}
    scope["tune"] = SimpleNamespace(Tuner=lambda train, **given: given, TuneConfig=tune.TuneConfig)
    exec(textwrap.dedent(example), scope)
    config = scope["tuner"]["tune_config"]
    assert (config.metric, config.mode) == ("loss", "min")


@pytest.mark.parametrize(
    "settings", [{}, SEVERAL, {"knowledge": Limits(at_least=0.0)}], ids=["one", "several", "knowing"]
)
@pytest.mark.parametrize("count", [0, 3, 8])
def test_a_search_without_a_space_takes_it_from_the_state(count: int, settings: Any, tmp_path: Path) -> None:
    search = BoppSearch(**{"space": SPACE, "metric": "loss", "mode": "min", **settings})
    for number in range(count):
        search.on_trial_complete(str(number), reported(search.suggest(str(number))))
    search.save(tmp_path / "state")
    again = BoppSearch(knowledge=settings.get("knowledge", ()))
    again.restore(tmp_path / "state")
    assert state_of(again) == state_of(search)
    assert (again.metric, again.mode) == (search.metric, search.mode)
    assert again.suggest("next") == search.suggest("next")
    values = {"value": 1.0, "loss": 1.0, "speed": 2.0, "memory": 3.0}
    again.on_trial_complete("next", values)
    assert known(again)[-1].values == {name: values[name] for name in search.result.problem.names}


def test_after_a_restore_without_a_space_the_tuner_may_give_the_same_again(tmp_path: Path) -> None:
    search = after(6, searching())
    search.save(tmp_path / "state")
    again = BoppSearch()
    again.restore(tmp_path / "state")
    other = {**SPACE, "rate": tune.loguniform(1e-3, 1)}
    assert not again.set_search_properties("loss", "min", other)
    assert again.set_search_properties("loss", "min", {**SPACE, "epochs": 10})
    assert again.suggest("next") == {**search.suggest("next"), "epochs": 10}


@pytest.mark.parametrize("space", [{"x": tune.choice([print, len])}, {"x": [tune.uniform(0, 1)]}])
def test_a_space_that_a_state_cannot_hold_has_to_be_given_again(space: Any, tmp_path: Path) -> None:
    search = searching(space)
    search.suggest("first")
    search.save(tmp_path / "state")
    with pytest.raises(StudyError, match="param_space"):
        BoppSearch().restore(tmp_path / "state")
    again = searching(space)
    again.restore(tmp_path / "state")
    assert again.suggest("next") == search.suggest("next")


STEPS: dict[str, Any] = {
    "drop": tune.quniform(1, 2, 0.1),
    "net": {"sizes": tune.choice([[8], [8, 8], None])},
}


@pytest.mark.parametrize("given", [True, False], ids=["its space", "that of the tuner"])
def test_a_stand_in_is_called_once_with_values_of_the_space(given: bool, tmp_path: Path) -> None:
    seen: list[Params] = []

    def stand_in(params: Params) -> float:
        seen.append(params)
        return float(params["drop"] + len(params["net/sizes"] or ()))

    search = BoppSearch(STEPS if given else None, "loss", "min", knowledge=Cheap(stand_in, points=10))
    search.set_search_properties(None, None, {} if given else STEPS)
    search.suggest("first")
    calls = len(seen)
    search.save(tmp_path / "state")
    search.restore(tmp_path / "state")
    search.suggest("second")
    assert len(seen) == calls == len(set(map(repr, seen)))  # no params twice
    assert 5 <= calls <= 10
    assert all(params["net/sizes"] in [[8], [8, 8], None] for params in seen)
    assert all(abs(params["drop"] * 10 - round(params["drop"] * 10)) < 1e-9 for params in seen)
    guess = Guesses(near={"drop": 1.7, "net/sizes": [8, 8]})
    first = searching(STEPS, knowledge=guess).suggest("first")
    assert first == {"drop": pytest.approx(1.7), "net": {"sizes": [8, 8]}}


@pytest.mark.endurance
def test_the_results_of_an_earlier_run_are_knowledge(limited: Run) -> None:
    known_of = earlier(limited.results, "loss", "min", trust=0.6)
    ((direction, rows),) = known_of.studies
    assert (direction, known_of.trust, len(rows)) == ("minimize", 0.6, 14)
    best = limited.results.get_best_result("loss", "min").config
    assert searching(knowledge=known_of).suggest("first") == best
    for params, value in rows:
        assert value == loss(nested(dict(params)))
    with pytest.raises(RecipeError, match="least"):
        earlier(limited.results, "loss", "least")
    with pytest.raises(BoppError, match="3 values"):
        searching(knowledge=earlier(limited.results, "no such metric", "min"))
