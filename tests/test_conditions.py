import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bopp
from bopp import Choice, Fixed, Float, Int, Optimizer, Space, minimize
from bopp.errors import SpaceError
from bopp.plain import read_params, read_space, write_params, write_space
from conditions import WAYS, Run, error_ratio, log_regrets

NETWORK = {
    "optimizer": Choice(["sgd", "adam", "lbfgs"]),
    "momentum": Float(0, 1, when={"optimizer": ["sgd"]}),
    "nesterov": Choice([False, True], when={"optimizer": ["sgd"]}),
    "damping": Float(0, 1, when={"optimizer": "sgd", "nesterov": [False]}),
    "beta": Float(0.8, 1, when={"optimizer": ["adam"]}),
    "layers": Int(1, 3),
    "width3": Int(8, 64, log=True, when={"layers": [3]}),
    "rate": Float(1e-4, 1, log=True),
}


def loss(params: dict[str, Any]) -> float:
    value = (np.log10(params["rate"]) + 2) ** 2 + {"sgd": 0.0, "adam": 0.3, "lbfgs": 1.0}[params["optimizer"]]
    if "momentum" in params:
        value += 4 * (params["momentum"] - 0.9) ** 2
    return float(value + 0.1 * params["layers"])


def names(params: dict[str, Any]) -> set[str]:
    expected = {"optimizer", "layers", "rate"}
    if params["optimizer"] == "sgd":
        expected |= {"momentum", "nesterov"} | ({"damping"} if not params["nesterov"] else set())
    if params["optimizer"] == "adam":
        expected |= {"beta"}
    return expected | ({"width3"} if params["layers"] == 3 else set())


def test_params_have_what_applies_and_nothing_else() -> None:
    space = Space(NETWORK)
    for u in np.random.default_rng(0).random((200, space.dimension)):
        params = space.decode(u)
        assert params.keys() == names(params)
        assert list(params) == [name for name in NETWORK if name in params]
        assert space.check(params) == params
        again = space.encode(params)
        assert space.decode(again).keys() == params.keys()
        assert np.array_equal(space.snap(again[None])[0], again)


def test_what_does_not_apply_puts_no_distance_between_points_and_does_not_move() -> None:
    space = Space(NETWORK)
    U = np.random.default_rng(1).random((300, space.dimension))
    U[:100, space.columns["optimizer"]] = [0.0, 0.0, 1.0]  # lbfgs
    snapped = space.snap(U)
    for name in ("momentum", "nesterov", "damping", "beta"):
        assert np.ptp(snapped[:100, space.columns[name]]) == 0.0
    free, there = space.free(snapped), space.applies(snapped)
    assert not there[:100, space.columns["momentum"]].any()
    assert not free[~there].any()
    for name in ("optimizer", "nesterov", "layers"):
        assert not free[:, space.columns[name]].any()
    moved = np.where(free, np.random.default_rng(3).random(U.shape), snapped)
    assert np.array_equal(space.applies(space.snap(moved)), there)
    points, owner = space.moves(snapped[:20])
    assert np.array_equal(space.snap(points), points)
    assert (np.diff(owner) >= 0).all()
    assert not (points == snapped[owner]).all(axis=1).any()


def test_a_search_finds_the_best_branch_and_its_parameter() -> None:
    result = minimize(loss, NETWORK, 60, seed=1, progress=False)
    assert all(trial.params.keys() == names(trial.params) for trial in result.trials)
    assert result.best.params["optimizer"] == "sgd"
    assert loss(result.best.params) < 0.2


def test_a_fixed_parameter_may_decide() -> None:
    space = Space({"optimizer": "adam", "x": (0.0, 1.0), "momentum": Float(0, 1, when={"optimizer": "sgd"})})
    assert space.decode(np.array([0.25, 0.9])) == {"optimizer": "adam", "x": 0.25}
    assert space.snap(np.array([[0.25, 0.9]])).tolist() == [[0.25, 0.5]]
    other = Space({"optimizer": "sgd", "x": (0.0, 1.0), "momentum": Float(0, 1, when={"optimizer": "sgd"})})
    assert other.decode(np.array([0.25, 0.75])) == {"optimizer": "sgd", "x": 0.25, "momentum": 0.75}
    result = minimize(lambda p: p["x"], space, 12, progress=False)
    assert all(trial.params.keys() == {"optimizer", "x"} for trial in result.trials)


@pytest.mark.parametrize(
    ("when", "other", "word"),
    [
        ({"c": 1}, (0, 1), "not in the space"),
        ({"b": ["z"]}, ["x", "y"], "wanted one of"),
        ({"b": [0.5]}, (0.0, 1.0), "Choice"),
        ({"b": [9]}, (1, 8), "from 1 to 8"),
        ({"b": 3}, Int(0, 9, step=2), "steps"),
        ({"b": 0.25}, Float(0, 1, step=0.1), "steps, got 0.25"),
        ({"b": 1}, (0, 2**53), "Choice"),
        ({"a": [1]}, (0, 1), "circle"),
        ({"b": [1]}, Int(0, 1, when={"a": [1]}), "circle"),
        ({}, (0, 1), ""),
        ([], (0, 1), ""),
        ("sgd", (0, 1), ""),
        (3, (0, 1), ""),
        ({"b": []}, (0, 1), ""),
        ({1: [2]}, (0, 1), ""),
    ],
)
def test_a_wrong_condition_is_named(when: Any, other: Any, word: str) -> None:
    with pytest.raises(SpaceError, match=f"when.*{word}" if word != "circle" else word) as caught:
        Space({"a": Int(0, 1, when=when), "b": other})
    assert caught.value.parameter in ({"a"} if word not in ("", "circle") else {"a", None})


def test_a_study_with_conditions_survives(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bopp.open_study(url, "s", NETWORK) as study:
        study.optimize(loss, 12, progress=False)
    with bopp.open_study(url, "s", NETWORK) as study:
        study.optimize(loss, 24, progress=False)
        result = study.result
    whole = minimize(loss, NETWORK, 24, progress=False)
    assert [trial.params for trial in result.trials] == [trial.params for trial in whole.trials]
    assert bopp.Result.from_json(result.to_json()) == result


def test_the_rest_of_what_is_queued_is_suggested() -> None:
    optimizer = Optimizer(NETWORK)
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, loss(trial.params))
    optimizer.enqueue({"rate": 0.05})
    optimizer.enqueue({"momentum": 0.75})
    first, second = optimizer.ask(2)
    assert first.params["rate"] == 0.05
    assert first.params.keys() == names(first.params)
    assert (second.params["optimizer"], second.params["momentum"]) == ("sgd", 0.75)
    assert [first.origin, second.origin] == ["queued", "queued"]
    with pytest.raises(SpaceError, match="'momentum' applies only"):
        optimizer.enqueue({"momentum": 0.5, "optimizer": "adam"})


FAMILIES: dict[str, Any] = {
    "mom": Float(0, 1, when={"opt": ["sgd", "rms"]}),
    "beta": Float(0, 1, when={"opt": ["rms", "adam"]}),
    "bias": Choice(["a", "b", "c"], when={"opt": ["adam"]}),
    "opt": Choice(["sgd", "rms", "adam"], when={"family": "gradient"}),
    "family": ["gradient", "none"],
    "decay": Fixed(3, when={"opt": "sgd"}),
    "epochs": 5,
}


@pytest.mark.parametrize(
    ("part", "settled"),
    [
        ({"mom": 0.5}, {"family": "gradient", "mom": 0.5, "epochs": 5}),
        (
            {"mom": 0.5, "beta": 0.25},
            {"family": "gradient", "opt": "rms", "mom": 0.5, "beta": 0.25, "epochs": 5},
        ),
        ({"bias": "b"}, {"family": "gradient", "opt": "adam", "bias": "b", "epochs": 5}),
        ({"decay": 3}, {"family": "gradient", "opt": "sgd", "decay": 3, "epochs": 5}),
        ({"opt": "sgd"}, {"family": "gradient", "opt": "sgd", "decay": 3, "epochs": 5}),
        ({"family": "none"}, {"family": "none", "epochs": 5}),
        ({"epochs": 5}, {"epochs": 5}),
    ],
)
def test_a_part_settles_what_it_needs_and_the_rest_is_suggested(
    part: dict[str, Any], settled: dict[str, Any]
) -> None:
    space = Space(FAMILIES)
    assert space.check_part(part) == settled
    held = space.holding(space.check_part(part))
    for u in np.random.default_rng(0).random((60, space.dimension)):
        params = held.decode(u)
        assert params.items() >= part.items()
        assert space.check(params) == params
        assert np.array_equal(held.snap(u[None])[0], space.encode(params))


@pytest.mark.parametrize(
    ("part", "name", "word"),
    [
        ({"mom": 0.5, "bias": "a"}, "mom", "'bias' applies only"),
        ({"mom": 0.5, "family": "none"}, "opt", "'gradient'"),
        ({"mom": 0.5, "opt": "adam"}, "mom", "'sgd' or 'rms'"),
        ({"decay": 4}, "decay", "fixed"),
        ({"mom": 2.0}, "mom", "number"),
        ({"epoch": 5}, "epoch", "some of the params"),
        ({"family": "gradient", "opt": "adam", "decay": 3}, "decay", "applies only"),
        ({}, None, "some of the params"),
    ],
)
def test_a_part_that_is_impossible_is_refused_when_it_is_queued(
    part: dict[str, Any], name: str | None, word: str
) -> None:
    with pytest.raises(SpaceError, match=word) as caught:
        Optimizer(FAMILIES).enqueue(part)
    assert caught.value.parameter == name


def test_a_part_of_a_space_that_is_used_up_is_still_handed_out() -> None:
    optimizer = Optimizer({"a": ["x", "y"], "b": Int(1, 3, when={"a": "x"})})
    seen = []
    for number in range(5):
        optimizer.enqueue({"a": "x"})
        seen.append(optimizer.ask())
        optimizer.tell(seen[-1], float(number))
    assert {trial.params["b"] for trial in seen[:3]} == {1, 2, 3}
    assert all(trial.params["a"] == "x" for trial in seen)


def test_what_is_fixed_may_be_left_out_of_params() -> None:
    optimizer = Optimizer(FAMILIES)
    observed = optimizer.observe({"family": "gradient", "opt": "sgd", "mom": 0.5}, 1.0)
    assert observed.params == {"mom": 0.5, "opt": "sgd", "family": "gradient", "decay": 3, "epochs": 5}
    assert optimizer.observe({"family": "none"}, 1.0).params == {"family": "none", "epochs": 5}
    with pytest.raises(SpaceError, match="missing"):
        optimizer.observe({"epochs": 5}, 1.0)
    for params, name in (
        ({"family": "gradient", "opt": "adam", "beta": 0.9, "bias": "a", "mom": 0.5}, "mom"),
        ({"family": "gradient", "opt": "sgd"}, "mom"),
        ({"family": "none", "epochs": 6}, "epochs"),
    ):
        with pytest.raises(SpaceError, match=f"'{name}'") as caught:
            optimizer.observe(params, 1.0)
        assert caught.value.parameter == name


@pytest.mark.parametrize(
    ("when", "wanted"),
    [
        ("b", ["b"]),
        ({"c", "b"}, ["b", "c"]),
        (("b", "c"), ["b", "c"]),
        (np.array(["b", "c"]), ["b", "c"]),
        ([np.str_("b")], ["b"]),
    ],
)
def test_the_values_of_a_condition_are_taken_as_people_write_them(when: Any, wanted: Any) -> None:
    space = Space({"t": ["a", "b", "c"], "z": Int(1, 3, when={"t": when})})
    written = write_space(space)
    assert (written["z"]["when"], written["t"]["when"]) == ({"t": wanted}, None)
    assert read_space(written) == space
    assert space.size == 3 + 2 * len(wanted)
    assert space.holding(space.check_part({"z": 2})).size == len(wanted)
    twice = Space({"t": ["a", "b", "c"], "z": Int(1, 3, when={"t": ["b", "b"]})})
    assert twice.size == 3 + 2


def test_a_condition_on_a_stepped_float_or_on_tuples_is_met() -> None:
    space = Space(
        {
            "t": Float(0, 1, step=0.1),
            "sizes": [(1, 2), (3,)],
            "z": Float(0, 1, when={"t": 0.1 + 0.2, "sizes": [(1, 2)]}),
        }
    )
    assert space.decode(np.array([0.31, 0.0, 0.5])) == {"t": 0.3, "sizes": (1, 2), "z": 0.5}
    assert space.decode(np.array([0.31, 1.0, 0.5])) == {"t": 0.3, "sizes": (3,)}
    assert space.check({"t": 0.1 + 0.2, "sizes": (1, 2), "z": 0.5})["t"] == 0.3
    assert read_space(write_space(space)) == space
    space = Space({"t": [True, 1, False], "z": Float(0, 1, when={"t": 1})})  # True only equals 1
    assert space.check({"t": True}) == {"t": True}
    assert space.check({"t": 1, "z": 0.5}) == {"t": 1, "z": 0.5}
    with pytest.raises(SpaceError, match="'z' applies only"):
        space.check_part({"t": True, "z": 0.5})


KINDS = st.sampled_from(
    [
        Float(-1, 1),
        Float(0, 1, step=0.125),
        Float(-0.7, 1, step=0.3),
        Int(1, 3),
        Int(-9, 9, step=4),
        Int(1, 300, log=True),
        Choice(["a", "b"]),
        Choice(["a", None, (1, 2)]),
        Choice([8, 16, 32], ordered=True),
        Fixed(7),
    ]
)


SMALL = st.sampled_from([Float(0, 1, step=0.5), Int(-4, 4, step=8), Choice(["a", None, "b"]), Fixed(7)])


@st.composite
def spaces(draw: st.DrawFn, kinds: st.SearchStrategy[Any], most: int) -> Space:
    """Any kinds, each of which may hang on the values of one or two that come before it."""
    parameters: dict[str, Any] = {"n": Int(0, 2)}
    for number in range(draw(st.integers(1, most))):
        when = {}
        parents = [name for name, one in parameters.items() if one.gridded]
        for name in draw(st.lists(st.sampled_from(parents), max_size=2, unique=True)) if parents else ():
            values = list(parameters[name].values())
            when[name] = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
        parameters[f"p{number}"] = replace(draw(kinds), when=when or None)
    return Space(dict(draw(st.permutations(list(parameters.items())))))


@given(space=spaces(KINDS, 6), seed=st.integers(0, 10**6))
def test_any_space_goes_to_the_cube_and_back(space: Space, seed: int) -> None:
    assert read_space(json.loads(json.dumps(write_space(space)))) == space
    rng = np.random.default_rng(seed)
    U = rng.random((8, space.dimension))
    snapped = space.snap(U)
    assert np.array_equal(space.snap(snapped), snapped)
    for u, on_grid in zip(U, snapped, strict=True):
        params = space.decode(u)
        assert space.check(params) == params
        assert space.is_whole(params)
        point, real = space.encode(params), space.real
        assert np.array_equal(point[~real], on_grid[~real])  # bit for bit
        assert np.allclose(point[real], on_grid[real], rtol=0, atol=1e-15)
        assert read_params(space, json.loads(json.dumps(write_params(space, params)))) == params
        name = str(rng.choice(list(params)))
        part = space.check_part({name: params[name]})
        assert part.items() <= space.check(space.holding(part).decode(u)).items()


@given(small=spaces(SMALL, 3))
@settings(max_examples=25)
def test_a_small_space_is_counted_exactly_and_never_repeated(small: Space) -> None:
    assert len(np.unique(small.grid, axis=0)) == len(small.grid) == small.size
    optimizer = Optimizer(small, recipe=bopp.Recipe.random())
    seen = [repr(optimizer.ask().params) for _ in range(int(small.size))]
    assert len(set(seen)) == small.size


def test_a_model_that_knows_what_applies_predicts_better() -> None:
    ratios = [error_ratio(seed) for seed in range(3)]
    assert np.mean(ratios) < 0.6, ratios  # docs/conditions.md has 20 seeds


@pytest.mark.slow
def test_conditions_make_a_search_better_than_none_and_than_chance() -> None:
    """With four methods and 40 evaluations, by more than 1.5 powers of ten; docs/conditions.md has more."""
    regrets = {way: [log_regrets(Run(4, way, seed))[-1] for seed in range(10)] for way in WAYS}
    for way in ("without", "random"):
        gains = np.subtract(regrets[way], regrets["with"])
        assert np.mean(gains) > 1.5, (way, gains)
        assert np.mean(gains > 0) >= 0.7, (way, gains)
