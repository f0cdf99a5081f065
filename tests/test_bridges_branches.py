from typing import Any

import pytest

from bopp import Choice, Float, Int, Parameter
from bopp.bridges.branches import branches

KINDS: dict[str, Parameter] = {
    "model": Choice(["tree", "net", "none"]),
    "x": Float(0, 1),
    "depth": Int(1, 9),
    "rate": Float(0, 1),
    "opt": Choice(["sgd", "adam"]),
    "momentum": Float(0, 1),
    "layers": Int(1, 5),
    "w1": Float(0, 1),
    "w2": Float(0, 1),
}
PARAMETERS = dict(KINDS)


def trial(**params: Any) -> dict[str, Any]:
    weights = {f"w{place}": 0.5 for place in (1, 2) if place < params.get("layers", 0)}
    return {"x": 0.5, **params, **weights}


TREE = trial(model="tree", depth=3)
SGD = trial(model="net", rate=0.1, opt="sgd", momentum=0.9, layers=1)
ADAM = trial(model="net", rate=0.2, opt="adam", layers=2)
DEEP = trial(model="net", rate=0.3, opt="sgd", momentum=0.5, layers=4)


def test_nested_branches_are_found() -> None:
    assert branches([TREE, SGD, ADAM, DEEP], PARAMETERS) == {
        "model": None,
        "x": None,
        "depth": {"model": ["tree"]},
        "rate": {"model": ["net"]},
        "opt": {"model": ["net"]},
        "layers": {"model": ["net"]},
        "momentum": {"opt": ["sgd"]},
        "w1": {"layers": [2, 3, 4, 5]},  # from the least number of layers that was seen with it
        "w2": {"layers": [4, 5]},
    }
    order = list(branches([TREE, SGD, ADAM, DEEP], dict(reversed(PARAMETERS.items()))))
    assert order.index("model") < order.index("opt") < order.index("momentum")
    assert order.index("layers") < order.index("w1")


def test_a_parameter_that_no_value_explains_is_left_out_with_all_that_hangs_on_it() -> None:
    twice = [trial(model="tree", depth=3), trial(model="tree"), trial(model="none")]
    assert branches(twice, PARAMETERS).keys() == PARAMETERS.keys() - {"depth"}
    twice = [trial(model="net", opt="sgd", momentum=0.5), trial(model="net", opt="adam"), trial(model="net")]
    assert branches(twice, PARAMETERS).keys() == PARAMETERS.keys() - {"opt", "momentum"}
    for same in ([], [TREE, TREE]):  # which all have, or none
        assert branches(same, PARAMETERS) == dict.fromkeys(PARAMETERS)


def test_a_value_that_was_not_seen_counts_as_one_without() -> None:
    found = branches([TREE, SGD], PARAMETERS)
    assert found["depth"] == {"model": ["tree"]}
    assert found["rate"] == {"model": ["net"]}


def test_options_explain_rather_than_numbers() -> None:
    parameters = {name: PARAMETERS[name] for name in ("layers", "depth", "opt")}
    trials: list[dict[str, Any]] = [{"layers": 1, "opt": "sgd"}, {"layers": 2, "opt": "adam", "depth": 3}]
    assert branches(trials, parameters)["depth"] == {"opt": ["adam"]}
    trials.append({"layers": 4, "opt": "sgd", "depth": 5})  # so it was the number after all
    assert branches(trials, parameters)["depth"] == {"layers": [2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("seen", "other", "values"),
    [([4, 5], [1, 2], [4, 5]), ([1], [3], [1]), ([2], [4, 5], [1, 2]), ([1, 3], [2], [1, 3])],
)
def test_numbers_explain_by_a_limit_or_one_by_one(
    seen: list[int], other: list[int], values: list[int]
) -> None:
    trials: list[dict[str, Any]] = [{"layers": n, "x": 0.5} for n in seen] + [{"layers": n} for n in other]
    parameters = {name: PARAMETERS[name] for name in ("layers", "x")}
    assert branches(trials, parameters)["x"] == {"layers": values}


def test_nothing_hangs_on_a_float_or_on_too_many_numbers() -> None:
    parameters: dict[str, Parameter] = {
        "rate": Float(0, 1),
        "many": Int(1, 10**6),
        "endless": Int(1, 2**53),
        "x": Float(0, 1),
    }
    trials = [{"rate": 0.1, "many": 1, "endless": 1, "x": 0.5}, {"rate": 0.9, "many": 9, "endless": 9}]
    assert branches(trials, parameters).keys() == parameters.keys() - {"x"}


def test_options_that_are_equal_but_of_other_types_are_told_apart() -> None:
    parameters: dict[str, Parameter] = {"c": Choice([True, 1, False]), "x": Float(0, 1)}
    trials: list[dict[str, Any]] = [{"c": True, "x": 0.5}, {"c": 1}, {"c": False}]
    found = branches(trials, parameters)["x"]
    assert found is not None
    assert [type(value) for value in found["c"]] == [bool]
