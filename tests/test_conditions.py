from typing import Any

import numpy as np
import pytest

import bopp
from bopp import Choice, Fixed, Float, Int, Optimizer, Space, minimize
from bopp.errors import SpaceError
from bopp.plain import read_space, write_space

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


def test_what_does_not_apply_puts_no_distance_between_points() -> None:
    space = Space(NETWORK)
    U = np.random.default_rng(1).random((300, space.dimension))
    U[:, space.columns["optimizer"]] = [0.0, 0.0, 1.0]  # lbfgs
    snapped = space.snap(U)
    for name in ("momentum", "nesterov", "damping", "beta"):
        assert np.ptp(snapped[:, space.columns[name]]) == 0.0
    assert not space.applies(snapped)[:, space.columns["momentum"]].any()


def test_a_search_finds_the_best_branch_and_its_parameter() -> None:
    result = minimize(loss, NETWORK, 60, seed=1, progress=False)
    assert all(trial.params.keys() == names(trial.params) for trial in result.trials)
    assert result.best.params["optimizer"] == "sgd"
    assert loss(result.best.params) < 0.2


def test_the_parameters_that_do_not_apply_do_not_move_while_climbing() -> None:
    space = Space(NETWORK)
    U = space.snap(np.random.default_rng(2).random((50, space.dimension)))
    free, there = space.free(U), space.applies(U)
    assert not free[~there].any()
    for name in ("optimizer", "nesterov", "layers"):
        assert not free[:, space.columns[name]].any()
    moved = np.where(free, np.random.default_rng(3).random(U.shape), U)
    assert np.array_equal(space.applies(space.snap(moved)), there)


def test_moves_stay_on_the_grid() -> None:
    space = Space(NETWORK)
    U = space.snap(np.random.default_rng(4).random((20, space.dimension)))
    points, owner = space.moves(U)
    assert np.array_equal(space.snap(points), points)
    assert (np.diff(owner) >= 0).all()
    assert not any(np.array_equal(point, U[row]) for point, row in zip(points, owner, strict=True))


def test_a_small_space_with_conditions_is_counted_and_tried_whole() -> None:
    space = Space(
        {
            "a": Choice(["x", "y", "z"]),
            "b": Int(1, 4, when={"a": ["x"]}),
            "c": Int(1, 3, when={"a": ["y"], "d": [True]}),
            "d": Choice([True, False]),
        }
    )
    assert space.size == 4 * 2 + (3 + 1) + 2
    assert len(space.grid) == space.size
    optimizer = Optimizer(space)
    for number in range(int(space.size)):
        optimizer.tell(optimizer.ask(), float(number % 5))
    assert len({tuple(trial.params.items()) for trial in optimizer.trials}) == space.size


def test_a_fixed_parameter_may_decide() -> None:
    space = Space({"optimizer": "adam", "x": (0.0, 1.0), "momentum": Float(0, 1, when={"optimizer": "sgd"})})
    assert space.decode(np.array([0.25, 0.9])) == {"optimizer": "adam", "x": 0.25}
    assert space.snap(np.array([[0.25, 0.9]])).tolist() == [[0.25, 0.5]]
    other = Space({"optimizer": "sgd", "x": (0.0, 1.0), "momentum": Float(0, 1, when={"optimizer": "sgd"})})
    assert other.decode(np.array([0.25, 0.75])) == {"optimizer": "sgd", "x": 0.25, "momentum": 0.75}
    result = minimize(lambda p: p["x"], space, 12, progress=False)
    assert all(trial.params.keys() == {"optimizer", "x"} for trial in result.trials)


def test_conditions_are_written_and_read() -> None:
    space = Space(NETWORK)
    assert read_space(write_space(space)) == space
    assert write_space(space)["momentum"]["when"] == {"optimizer": ["sgd"]}
    assert "when" not in write_space(space)["rate"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (
            {"optimizer": "adam", "beta": 0.9, "momentum": 0.5, "layers": 1, "rate": 0.1},
            "'momentum' applies only",
        ),
        ({"optimizer": "sgd", "layers": 1, "rate": 0.1}, r"missing \['momentum', 'nesterov'\]"),
        ({"optimizer": "lbfgs", "layers": 3, "rate": 0.1}, r"missing \['width3'\]"),
    ],
)
def test_params_that_do_not_fit_the_conditions_are_refused(params: dict[str, Any], words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        Space(NETWORK).check(params)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"a": Float(0, 1, when={"b": [1]})}, "'a': when names 'b', which is not in the space"),
        ({"a": Float(0, 1, when={"c": ["z"]}), "c": ["x", "y"]}, "'a': when 'c': wanted one of"),
        (
            {"a": Float(0, 1, when={"b": [0.5]}), "b": (0.0, 1.0)},
            "'a': when wants a Choice, an Int or a Fixed",
        ),
        (
            {"a": Int(0, 1, when={"b": [1]}), "b": Int(0, 1, when={"a": [1]})},
            "do not go round in a circle, got \\['a', 'b'\\]",
        ),
    ],
)
def test_a_wrong_condition_is_named(space: dict[str, Any], words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        Space(space)


@pytest.mark.parametrize("when", [{}, [], "sgd", 3, {"a": []}, {1: [2]}])
def test_what_is_no_condition_is_refused(when: Any) -> None:
    with pytest.raises(SpaceError, match="when: wanted a dict such as"):
        Float(0, 1, when=when)


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
    with pytest.raises(SpaceError, match="'momentum' applies only where optimizer is 'sgd'"):
        optimizer.enqueue({"momentum": 0.5, "optimizer": "adam"})


def test_part_of_the_params_can_be_queued_before_any_value_is_known() -> None:
    optimizer = Optimizer({"x": Float(0, 1), "n": Int(1, 9), "c": Choice(["a", "b", "c"])})
    optimizer.enqueue({"c": "b"})
    assert optimizer.ask().params["c"] == "b"


def test_a_fixed_parameter_is_in_the_params_and_takes_no_column() -> None:
    space = Space({"x": Float(0, 1), "epochs": Fixed(30), "device": "cpu"})
    assert space.dimension == 1
    assert space.decode(np.array([0.5])) == {"x": 0.5, "epochs": 30, "device": "cpu"}
    with pytest.raises(SpaceError, match="'epochs': wanted 30, which is fixed, got 31"):
        space.check({"x": 0.5, "epochs": 31, "device": "cpu"})
    assert read_space(write_space(space)) == space
