from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from bopp import (
    AtMost,
    Choice,
    Fixed,
    Float,
    Holds,
    Int,
    Optimizer,
    Recipe,
    minimize,
    open_study,
    optimize,
)
from bopp.belief import Beliefs
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.fit import MAP, telling
from bopp.initial import Sobol
from bopp.kernels import Kernel
from bopp.memory import Memory
from bopp.model import MOST_RESEMBLING, learn
from bopp.parts import read_part, write_part
from bopp.problem import Problem
from bopp.pseudo import Cheap, Earlier, Failed, Pending, sources
from bopp.pseudo.policy import Relative
from bopp.pseudo.relatives import BEYOND
from bopp.result import Result
from bopp.search import Gradients
from bopp.space import Space
from bopp.suggest import suggest
from bopp.trend import Trended
from bopp.trial import Trial

SQUARE = {"a": Float(0, 1), "b": Float(0, 1)}
PLANE = Space(SQUARE)
NOWHERE = np.empty((0, 2))
BASE = Recipe(search=Gradients(100, 50, 4, 20))


def hill(X: Array) -> Array:
    return np.asarray(np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1]) - 2.0 * (X[:, 0] - 0.6) ** 2)


def rows(n: int = 20, seed: int = 1, unit: float = 1.0, origin: float = 0.0, shift: float = 0.0) -> Any:
    """Values of a function that resembles the hill."""
    X = np.random.default_rng(seed).random((n, 2))
    y = unit * hill(X + shift) + origin
    return [({"a": a, "b": b}, value) for (a, b), value in zip(X.tolist(), y.tolist(), strict=True)]


def trials(n: int = 7, seed: int = 0, sign: float = 1.0) -> History:
    X = np.random.default_rng(seed).random((n, 2))
    return replace(History.of(Data(X, hill(X)), NOWHERE, NOWHERE), sign=sign)


def knowing(source: Any, **parts: Any) -> Recipe:
    return replace(BASE, pseudo=Pending() + Failed() + source, **parts)


def suggested(source: Any, history: History | None = None) -> Array:
    return suggest(PLANE, knowing(source), history or trials(), (0, 7))


# units, directions


@pytest.mark.parametrize("unit", [2.0**-8, 2.0**5])
def test_a_unit_of_the_cheap_values_that_is_a_power_of_two_changes_no_bit(unit: float) -> None:
    wanted = suggested(Cheap(rows()))
    assert np.array_equal(suggested(Cheap(rows(unit=unit))), wanted)
    earlier = Earlier([("maximize", rows(unit=unit))])
    assert np.array_equal(suggested(earlier), suggested(Earlier([("maximize", rows())])))


@pytest.mark.parametrize(("unit", "origin"), [(3.7, 0.0), (1.0, 100.0), (1e-3, -5.0)])
def test_unit_and_origin_of_the_cheap_values_do_not_matter(unit: float, origin: float) -> None:
    moved = Cheap(rows(unit=unit, origin=origin))
    np.testing.assert_allclose(suggested(moved), suggested(Cheap(rows())), atol=2e-3)


def test_a_relative_in_the_other_direction_is_turned_round() -> None:
    up, down = rows(), rows(unit=-1.0)
    wanted = suggested(Cheap(up))
    assert np.array_equal(suggested(Cheap(up, "maximize")), wanted)
    assert np.array_equal(suggested(Cheap(down, "minimize")), wanted)
    assert np.array_equal(suggested(Earlier([("minimize", down)])), suggested(Earlier([("maximize", up)])))


def test_without_a_direction_it_is_that_of_the_objective() -> None:
    """The history is in gains: of an objective to be minimised, cheap values are losses too."""
    minimised = trials(sign=-1.0)
    assert np.array_equal(suggested(Cheap(rows(unit=-1.0)), minimised), suggested(Cheap(rows())))
    assert np.array_equal(suggested(Cheap(rows(), "maximize"), minimised), suggested(Cheap(rows())))


def test_a_relative_that_resembles_is_trusted_and_followed_and_another_is_not() -> None:
    noise = [(params, np.random.default_rng(place).normal()) for place, (params, _) in enumerate(rows())]
    history = trials(12)
    for source, trusted in ((Cheap(rows(40)), True), (Cheap(noise), False)):
        model = learn(PLANE, history, knowing(source))
        (account,) = model.accounts
        assert (account.trust > 0.9) == trusted
        followed = [
            w for b, w in zip(model.beliefs, model.beliefs.weights, strict=True) if isinstance(b, Trended)
        ]
        assert (sum(followed) > 0.5) == trusted
    plain = learn(PLANE, history, BASE)
    taught = learn(PLANE, history, knowing(Cheap(rows(40))))
    U = np.random.default_rng(9).random((200, 2))
    errors = [np.abs(m.scale.inverse(m.beliefs.mean(U)) - hill(U)).mean() for m in (taught, plain)]
    assert errors[0] < 0.5 * errors[1]


# parameters that differ


def relative(space: Space, given: Any) -> Relative:
    (found,) = Cheap(given).bound(space, 1.0).relatives(space)
    return found


def test_parameters_missing_on_either_side_are_passed_over() -> None:
    given = [({"b": i / 4, "other": "x", "more": 3}, float(i)) for i in range(5)]
    earlier = Earlier([("maximize", given)]).bound(PLANE, 1.0)
    (found,) = earlier.relatives(PLANE)
    assert found.columns.tolist() == [1]
    np.testing.assert_allclose(found.X[:, 0], np.arange(5) / 4)
    assert found.y.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    u = suggested(earlier)
    assert np.all((u >= 0.0) & (u <= 1.0))


def test_cheap_values_of_a_parameter_that_there_is_not_are_refused() -> None:
    given = [({"a": i / 4, "bb": i / 4}, float(i)) for i in range(5)]
    with pytest.raises(RecipeError, match=r"^Cheap: wanted names among \['a', 'b'\], got 'bb'"):
        Optimizer(SQUARE, knowledge=Cheap(given))


def test_cheap_values_may_be_of_a_level() -> None:
    problem = Problem(SQUARE, fidelities={"epochs": [1, 9]})
    given = [({"a": i / 4, "epochs": 1}, float(i)) for i in range(5)]
    (found,) = cheap(Optimizer(problem, knowledge=Cheap(given))).relatives(problem.space)
    assert found.columns.tolist() == [0, 2]


def test_a_parameter_of_which_no_earlier_value_fits_is_passed_over() -> None:
    space = Space({**SQUARE, "act": Choice(["relu", "tanh", "elu"])})
    rows = [({"a": 300.0 + i, "b": i / 9, "act": "gelu"}, float(i)) for i in range(10)]
    (found,) = Earlier([("minimize", rows)]).bound(space, 1.0).relatives(space)
    assert found.columns.tolist() == [1]
    assert found.y.tolist() == [float(i) for i in range(10)]


def test_of_a_parameter_of_which_some_earlier_values_fit_those_are_kept() -> None:
    rows = [({"a": i / 2.0, "b": i / 9}, float(i)) for i in range(10)]
    (found,) = Earlier([("minimize", rows)]).bound(PLANE, 1.0).relatives(PLANE)
    assert found.columns.tolist() == [0, 1]
    assert found.y.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_parameter_of_which_hardly_any_earlier_value_fits_is_passed_over() -> None:
    rows: list[Any] = [({"a": 9.0, "b": i / 9}, float(i)) for i in range(8)]
    for some in ([({"a": 0.5, "b": 0.5}, 0.0)], [({"b": 0.5}, 0.0)] * 5):
        (found,) = Earlier([("minimize", rows + some)]).bound(PLANE, 1.0).relatives(PLANE)
        assert found.columns.tolist() == [1]
        assert len(found.y) == 8 + len(some)


def test_rows_that_lack_a_parameter_have_it_in_the_middle() -> None:
    space = Space({"a": Float(0, 1), "act": Choice(["p", "q", "r"])})
    found = relative(space, [({"a": 0.1}, 1.0), ({"a": 0.2, "act": "q"}, 2.0), ({"act": "r"}, 3.0)])
    third = [1 / 3, 1 / 3, 1 / 3]
    np.testing.assert_allclose(found.X, [[0.1, *third], [0.2, 0, 1, 0], [0.5, 0, 0, 1]])


def test_values_beyond_the_range_are_used_unless_they_are_far_away() -> None:
    space = Space({"x": Float(0, 10), "rate": Float(0.01, 1, log=True)})
    given = [
        ({"x": 5.0, "rate": 0.1}, 0.0),
        ({"x": -10.0 * BEYOND, "rate": 0.1}, 1.0),
        ({"x": 10.0 + 10.0 * BEYOND, "rate": 0.1}, 2.0),
        ({"x": 20.1, "rate": 0.1}, 3.0),
        ({"x": 5.0, "rate": 10.0}, 4.0),
        ({"x": 5.0, "rate": 1e6}, 5.0),
        ({"x": 5.0, "rate": -1.0}, 6.0),
        ({"x": "much", "rate": 0.1}, 7.0),
    ]
    found = relative(space, given)
    assert found.y.tolist() == [0.0, 1.0, 2.0, 4.0]
    np.testing.assert_allclose(found.X, [[0.5, 0.5], [-1.0, 0.5], [2.0, 0.5], [0.5, 1.5]], atol=1e-12)


def test_other_ranges_are_in_the_same_unit() -> None:
    """The same values mean the same points, whatever range an earlier study had."""
    small, large = {"x": Float(0, 1)}, {"x": Float(-1, 3)}
    first = minimize(lambda x: (x - 0.3) ** 2, small, 5, seed=0, progress=False, recipe=Recipe.random())
    (found,) = Earlier(first).relatives(Space(large))
    xs = [trial.params["x"] for trial in first.trials]
    np.testing.assert_allclose(found.X[:, 0], (np.array(xs) + 1.0) / 4.0)
    (same,) = Earlier(first).relatives(Space(small))
    np.testing.assert_allclose(same.X[:, 0], xs)


def test_options_that_the_space_lacks_are_dropped() -> None:
    space = Space({"act": Choice(["relu", "tanh", "elu"])})
    given = [({"act": one}, float(i)) for i, one in enumerate(["relu", "gelu", "elu", "tanh", 3, None])]
    found = relative(space, given)
    assert found.y.tolist() == [0.0, 2.0, 3.0]
    np.testing.assert_allclose(found.X, [[1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_numbers_in_steps_lie_where_the_space_has_them() -> None:
    space = Space({"n": Int(0, 10, step=3)})
    found = relative(space, [({"n": n}, 1.0 * n) for n in (0, 3, 6, 9)])
    np.testing.assert_allclose(found.X, space.grid)


def test_fixed_parameters_say_nothing() -> None:
    space = Space({"a": Float(0, 1), "seed": Fixed(3)})
    found = relative(space, [({"a": i / 4, "seed": i}, float(i)) for i in range(5)])
    assert found.columns.tolist() == [0]
    assert len(found.y) == 5


def test_conditional_parameters_are_in_the_middle_where_they_do_not_apply() -> None:
    space = Space({"solver": Choice(["sgd", "adam"]), "momentum": Float(0, 1, when={"solver": ["sgd"]})})
    given = [({"solver": "sgd", "momentum": i / 4}, i) for i in range(4)] + [({"solver": "adam"}, 9)]
    found = relative(space, given)
    np.testing.assert_allclose(found.X[-1], [1.0, 0.5])
    np.testing.assert_allclose(found.X[:-1, 1], np.arange(4) / 4)


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([], "none"),
        ([({"a": 0.1, "b": 0.2}, 1.0)] * 2, "2"),
        ([({"a": 1e9}, float(i)) for i in range(9)], "none of use among 9"),
        ([({"a": 0.1}, 1.0)] * 2 + [({"a": 1e9}, 1.0)] * 3, "2 of use among 5"),
        ([({}, float(i)) for i in range(9)], "none of use among 9"),
    ],
)
def test_values_that_say_nothing_are_refused(given: Any, got: str) -> None:
    with pytest.raises(
        RecipeError, match=rf"^Cheap: wanted 3 values or more of params of the space, got {got}$"
    ):
        Cheap(given).bound(PLANE, 1.0)
    words = (
        rf"^Earlier: wanted a study with 3 values or more.*got {got}; under fidelities only real ones count$"
    )
    with pytest.raises(RecipeError, match=words):
        Earlier([("minimize", given)]).bound(PLANE, 1.0)


def test_of_several_studies_those_that_say_nothing_are_passed_over() -> None:
    earlier = Earlier([("minimize", []), ("minimize", rows(5)), ("maximize", [({"z": 1}, 1.0)] * 4)])
    assert len(earlier.bound(PLANE, 1.0).relatives(PLANE)) == 1


# settings


@pytest.mark.parametrize(
    ("kind", "settings", "came"),
    [
        (Cheap, {"values": 3}, "3"),
        (Cheap, {"values": {"a": 1.0}}, "{'a': 1.0}"),
        (Cheap, {"values": "ab"}, "'ab'"),
        (Cheap, {"values": [({"a": 1},)]}, "({'a': 1},)"),
        (Cheap, {"values": [(1.0, 2.0)]}, "1.0"),
        (Cheap, {"values": [({"a": 1}, math.nan)]}, "nan"),
        (Cheap, {"values": [({"a": 1}, "x")]}, "'x'"),
        (Cheap, {"values": rows(3), "direction": "up"}, "'up'"),
        (Cheap, {"values": rows(3), "points": 2}, "2"),
        (Cheap, {"values": rows(3), "points": 9.5}, "9.5"),
        (Cheap, {"values": rows(3), "trust": 1.0}, "1.0"),
        (Earlier, {"studies": []}, "none"),
        (Earlier, {"studies": 3}, "3"),
        (Earlier, {"studies": [rows(3)]}, "..."),
        (Earlier, {"studies": [("minimize", 3)]}, "3"),
        (Earlier, {"studies": [("minimize", rows(3))], "trust": 0.0}, "0.0"),
    ],
)
def test_what_is_no_relative_is_refused(kind: Any, settings: dict[str, Any], came: str) -> None:
    with pytest.raises(RecipeError, match=rf"^{kind.__name__}: .*(wanted|must be).*got") as caught:
        kind(**settings)
    assert came in str(caught.value).partition("got")[2]


def test_a_direction_that_is_none_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"Earlier: direction must be.*got 'up'"):
        Optimizer(SQUARE, knowledge=[Earlier([("up", rows(5))])])


# functions


class Counted:
    def __init__(self, fails: Any = "never") -> None:
        self.seen: list[dict[str, Any]] = []
        self.fails = fails

    def __call__(self, params: dict[str, Any]) -> float:
        self.seen.append(dict(params))
        if self.fails != "never" and params["a"] > 0.5:
            if isinstance(self.fails, Exception):
                raise self.fails
            found: float = self.fails
            return found
        return float(hill(np.array([[params["a"], params["b"]]]))[0])


def cheap(optimizer: Optimizer) -> Cheap:
    """What an optimizer knows."""
    (source,) = sources(optimizer.recipe.pseudo)
    assert isinstance(source, Cheap)
    return source


def test_a_cheap_function_is_called_as_often_as_it_says_and_never_again() -> None:
    function = Counted()
    optimizer = Optimizer(SQUARE, "maximize", knowledge=[Cheap(function, points=12)], recipe=BASE)
    assert len(function.seen) == 12
    for _ in range(7):
        trial = optimizer.ask()
        optimizer.tell(trial, float(hill(np.array([[trial.params["a"], trial.params["b"]]]))[0]))
    assert len(function.seen) == 12
    again = Optimizer(optimizer.problem, recipe=optimizer.recipe)
    assert len(function.seen) == 12
    assert again.recipe == optimizer.recipe


def test_by_default_a_cheap_function_is_called_forty_times_for_each_column() -> None:
    function = Counted()
    Optimizer(SQUARE, knowledge=[Cheap(function)])
    assert len(function.seen) == 80
    wide, calls = {f"x{i}": Float(0, 1) for i in range(9)}, []
    Optimizer(wide, knowledge=[Cheap(lambda p, /: calls.append(p) or 1.0)])  # type: ignore[func-returns-value]
    assert len(calls) == 240


def test_half_of_the_calls_are_near_the_best_of_the_others() -> None:
    function = Counted()
    Optimizer(SQUARE, "maximize", knowledge=[Cheap(function, points=80)])
    X = np.array([[one["a"], one["b"]] for one in function.seen])
    wide, close = hill(X[:40]), hill(X[40:])
    assert close.mean() > wide.mean()
    lowest = Counted()
    Optimizer(SQUARE, "minimize", knowledge=[Cheap(lowest, points=80)])
    X = np.array([[one["a"], one["b"]] for one in lowest.seen])
    assert hill(X[40:]).mean() < hill(X[:40]).mean()


def test_a_cheap_function_may_take_its_params_by_keyword() -> None:
    seen = []

    def cheap(a: float, b: float) -> float:
        seen.append((a, b))
        return a + b

    def of_a_dict(params: dict[str, Any]) -> float:
        return float(params["a"] + params["b"])

    one = Optimizer(SQUARE, knowledge=[Cheap(cheap, points=10)])
    assert len(seen) == 10
    other = Optimizer(SQUARE, knowledge=[Cheap(of_a_dict, points=10)])
    assert one.recipe == other.recipe

    async def later(a: float, b: float) -> float:
        return a + b

    assert Optimizer(SQUARE, knowledge=[Cheap(later, points=10)]).recipe == one.recipe


@pytest.mark.parametrize(
    "fails",
    [
        math.nan,
        math.inf,
        pytest.param(ValueError("no")),
        pytest.param(None),
    ],
)
def test_calls_that_fail_are_left_out(fails: Any) -> None:
    """As an objective that raises or returns NaN is a failed trial, no more."""
    function = Counted(fails)
    optimizer = Optimizer(SQUARE, knowledge=[Cheap(function, points=20)])
    kept = [dict(params) for params, _ in cheap(optimizer).values]
    assert len(function.seen) == 20
    assert kept == [params for params in function.seen if params["a"] <= 0.5]
    assert len(kept) < 20


def test_a_cheap_function_without_any_value_is_named() -> None:
    with pytest.raises(RecipeError, match=r"Cheap: wanted finite values of .*Counted.*got none"):
        Optimizer({"a": Float(0.6, 1), "b": Float(0, 1)}, knowledge=[Cheap(Counted(math.nan), points=8)])


@pytest.mark.parametrize("returned", [None, "much", {"loss": 1.0}, [1.0, 2.0], math.nan])
def test_a_cheap_function_that_returns_no_number_is_refused_by_name(returned: Any) -> None:
    def simulated(a: float, b: float) -> Any:
        return returned

    for function in (simulated, partial(simulated, b=0.5)):
        with pytest.raises(
            RecipeError, match=r"^Cheap: wanted finite values of simulated, got none at 4 points"
        ):
            Optimizer(SQUARE, knowledge=[Cheap(function, points=8)])


@pytest.mark.parametrize(
    "returned",
    [
        lambda value: {"error": value, "seconds": 3.0},
        lambda value: {"value": value},
        lambda value: np.array(value),
        np.float32,
        lambda value: {"error": np.float64(value), "model": "small"},
    ],
)
def test_a_cheap_function_may_return_what_an_objective_may(returned: Any) -> None:
    problem = Problem(SQUARE, {"error": "minimize"}, [AtMost("size", 3.0)])
    one, other = (
        Optimizer(problem, knowledge=[Cheap(function, points=8)])
        for function in (lambda a, b: returned(round(a + b, 2)), lambda a, b: round(a + b, 2))
    )
    one_values, other_values = ([value for _, value in cheap(each).values] for each in (one, other))
    assert one_values == pytest.approx(other_values)


def test_a_cheap_function_that_takes_other_names_is_refused_as_one() -> None:
    with pytest.raises(RecipeError, match=r"^Cheap: the function takes \(a, c\), the space has a, b: wanted"):
        Optimizer(SQUARE, knowledge=[Cheap(lambda a, c: a + c)])


@pytest.mark.parametrize(
    ("space", "most"),
    [
        ({"act": Choice(["p", "q", "r"]), "on": Choice([False, True])}, 6),
        ({"n": Int(0, 5)}, 6),
        ({"solver": Choice(["sgd", "adam"]), "n": Int(0, 3, when={"solver": ["sgd"]})}, 5),
    ],
)
def test_a_cheap_function_is_never_called_again_at_the_same_params(space: Any, most: int) -> None:
    seen: list[str] = []

    def simulated(params: dict[str, Any], /) -> float:
        seen.append(repr(params))
        return float(len(seen))

    Optimizer(space, knowledge=[Cheap(simulated)])
    assert len(seen) == len(set(seen)) == most


def test_a_cheap_function_that_fails_near_its_best_keeps_its_other_values() -> None:
    calls: list[float] = []

    def simulated(n: int) -> float:
        calls.append(n)
        return float(n) if len(calls) <= 4 else math.nan

    optimizer = Optimizer({"n": Int(0, 1000)}, knowledge=[Cheap(simulated, points=8)])
    assert [value for _, value in cheap(optimizer).values] == calls[:4]


# earlier studies


def ran(sign: float = 1.0) -> Optimizer:
    """An optimizer whose trials are done, failed and pending."""
    optimizer = Optimizer(SQUARE, "maximize" if sign > 0 else "minimize", recipe=Recipe.random())
    for number in range(9):
        trial = optimizer.ask()
        if number not in (3, 8):
            optimizer.tell(trial, sign * float(hill(np.array([[trial.params["a"], trial.params["b"]]]))[0]))
        elif number == 3:
            optimizer.fail(trial, "no")
    return optimizer


def test_a_result_a_study_and_what_came_back_from_json_are_alike() -> None:
    optimizer = ran()
    wanted = Earlier(optimizer.result)
    assert wanted.studies[0][0] == "maximize"
    assert len(wanted.studies[0][1]) == 7
    assert Earlier(optimizer) == wanted == Earlier([optimizer.result])
    study = open_study("sqlite://", "old", SQUARE, "maximize", recipe=Recipe.random())
    for trial in optimizer.trials:
        if trial.state == "done":
            study.observe(trial.params, trial.values["value"])
    assert Earlier(study) == wanted
    assert read_part(write_part(wanted)) == wanted
    assert Earlier(wanted.studies) == wanted
    assert np.array_equal(suggested(read_part(write_part(wanted))), suggested(wanted))


def test_an_earlier_study_may_have_had_the_other_direction() -> None:
    assert np.array_equal(suggested(Earlier(ran(-1.0))), suggested(Earlier(ran(1.0))))


def test_an_earlier_study_keeps_what_it_was_when_it_was_given() -> None:
    optimizer = ran()
    before = Earlier(optimizer)
    optimizer.observe({"a": 0.5, "b": 0.5}, 99.0)
    assert before == Earlier(before.studies)
    assert len(Earlier(optimizer).studies[0][1]) == 8
    assert len(before.studies[0][1]) == 7


def test_a_study_of_several_objectives_is_refused() -> None:
    problem = Problem(SQUARE, {"one": "minimize", "two": "maximize"})
    optimizer = Optimizer(problem)
    optimizer.observe({"a": 0.1, "b": 0.2}, {"one": 1.0, "two": 2.0})
    with pytest.raises(RecipeError, match="one objective"):
        Earlier(optimizer)


def test_the_first_trials_are_the_best_ones_of_earlier_studies() -> None:
    one, two = ran(), [("minimize", [({"a": 0.25, "b": 0.75}, 0.0), *rows(4, origin=50.0)])]
    optimizer = Optimizer(SQUARE, "maximize", knowledge=[Earlier(one), Earlier(two)], recipe=BASE)
    first, second = optimizer.ask(2)
    assert first.params == pytest.approx(one.best.params)
    assert second.params == pytest.approx({"a": 0.25, "b": 0.75})
    third = optimizer.ask()
    assert third.params == Optimizer(SQUARE, "maximize", trials=[first, second]).ask().params


def test_a_start_beyond_the_range_is_the_best_one_within() -> None:
    given = [({"x": -0.5}, 9.0), ({"x": 0.25}, 3.0), ({"x": 0.75}, 1.0), ({"x": 1.4}, 8.0)]
    optimizer = Optimizer({"x": Float(0, 1)}, "maximize", knowledge=[Cheap(given)])
    assert optimizer.ask().params == {"x": pytest.approx(0.25)}


class Fits:
    """A fit that counts how often it is made."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, data: Data, kernel: Kernel, rng: np.random.Generator) -> Beliefs:
        self.sizes.append(len(data))
        return MAP()(data, kernel, rng)


def test_of_fifty_studies_each_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bopp.model._models", Memory(4))
    monkeypatch.setattr("bopp.model._relatives", Memory(8))
    studies = [("maximize", rows(12, seed=seed, shift=0.02 * seed)) for seed in range(50)]
    fit = Fits()
    recipe = knowing(Earlier(studies), fit=fit, initial=Sobol(0))
    suggest(PLANE, recipe, trials(5), (0, 5))
    assert fit.sizes.count(12) == 50
    assert len(fit.sizes) < 55
    for n in (6, 7):
        before = len(fit.sizes)
        u = suggest(PLANE, recipe, trials(n), (0, n))
        assert np.all((u >= 0.0) & (u <= 1.0))
        assert fit.sizes.count(12) == 50
        assert len(fit.sizes) - before <= 3
    (account,) = learn(PLANE, trials(7), recipe).accounts
    assert account.trust > 0.5


def test_of_very_many_values_the_best_and_some_others_are_looked_at() -> None:
    X = np.random.default_rng(0).random((1000, 2))
    data = Data(X, hill(X))
    some = data[telling(data.y, MOST_RESEMBLING)]
    assert len(some) == MOST_RESEMBLING
    best = np.sort(data.y)[-MOST_RESEMBLING // 4 :]
    assert np.isin(best, some.y).all()
    assert some.y.min() == data.y.min()
    assert len(np.unique(some.X, axis=0)) == MOST_RESEMBLING
    assert telling(data.y[:10], MOST_RESEMBLING).tolist() == list(range(10))


def test_a_relative_helps_from_the_very_first_value_on() -> None:
    recipe = knowing(Cheap(rows(40)), initial=Sobol(0))
    for n in (1, 2, 3):
        u = suggest(PLANE, recipe, trials(n), (0, n))
        assert float(hill(u[None, :])[0]) > float(hill(np.random.default_rng(1).random((500, 2))).mean())


def test_of_an_earlier_study_with_fidelities_only_real_values_count() -> None:
    def loss(params: dict[str, Any]) -> float:
        return float((params["x"] - 0.8) ** 2 - 5 if params["epochs"] == 1 else (params["x"] - 0.2) ** 2)

    space = {"x": Float(0, 1)}
    before = minimize(loss, space, 8, fidelities={"epochs": [1, 10]}, progress=False)
    ((_, rows),) = Earlier(before).studies
    assert {dict(params)["epochs"] for params, _ in rows} == {10}
    after = minimize(
        lambda p: loss({**p, "epochs": 10}), space, 1, knowledge=[Earlier(before)], progress=False
    )
    assert after.trials[0].params["x"] == pytest.approx(before.best.params["x"])


def test_the_start_is_the_best_earlier_trial_that_met_the_constraints() -> None:
    problem = Problem({"x": Float(0, 1)}, {"v": "minimize"}, [AtMost("w", 0.5)])
    before = optimize(lambda p: {"v": -p["x"], "w": p["x"]}, problem, 8, progress=False)
    after = minimize(lambda p: -p["x"], {"x": Float(0, 1)}, 1, knowledge=[Earlier(before)], progress=False)
    assert after.trials[0].params["x"] == pytest.approx(before.best.params["x"])


def test_conditions_that_json_cannot_hold_leave_earlier_trials_as_they_are() -> None:
    problem = Problem(
        {"x": Float(0, 1)}, {"v": "minimize"}, [Holds("small", lambda p: True), AtMost("w", 0.5)]
    )
    before = optimize(lambda p: {"v": -p["x"], "w": p["x"]}, problem, 8, progress=False)
    assert Earlier(Result.from_json(before.to_json())) == Earlier(before)


def test_an_earlier_study_of_very_many_trials_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial is not looked for among the others."""
    compared: list[Trial] = []

    def same(one: Trial, other: object) -> bool:
        compared.append(one)
        return one is other

    monkeypatch.setattr(Trial, "__eq__", same)
    optimizer = Optimizer(Problem({"x": Float(0, 1)}, {"v": "minimize"}, [AtMost("v", 0.5)]))
    for i in range(20):
        optimizer.observe({"x": i / 20}, i / 20)
    before = optimizer.result
    compared.clear()
    Earlier(before)
    assert not compared


@pytest.mark.parametrize(("points", "got"), [(8, 2), (3, 1)])
def test_a_function_with_too_few_values_is_refused_at_once(points: int, got: int) -> None:
    calls = []

    def simulation(params: dict[str, Any]) -> float:
        calls.append(params)
        return 1.0 if len(calls) in (1, 5) else math.nan

    with pytest.raises(RecipeError, match=rf"Cheap: wanted 3 values .*got {got}$"):
        Optimizer({"x": Float(0, 1), "y": Float(0, 1)}, knowledge=[Cheap(simulation, points=points)])


def wavy_bowl(p: dict[str, Any]) -> float:
    return float((p["x"] - 0.3) ** 2 + (p["y"] - 0.3) ** 2 + 0.3 * math.sin(8 * p["x"]))


def waves(p: dict[str, Any]) -> float:
    return float(math.sin(9 * p["x"]) + math.cos(7 * p["y"] + 3 * p["x"]))


@pytest.mark.parametrize("loss", [wavy_bowl, waves])
@pytest.mark.parametrize("seed", range(4))
def test_a_stand_in_that_is_exact_is_trusted_wherever_it_is_listed(seed: int, loss: Any) -> None:
    """Even of a wavy bowl, of which the model knows much by itself."""
    space = {"x": Float(0, 1), "y": Float(0, 1)}
    rough = minimize(lambda p: (p["x"] - 0.7) ** 2 + (p["y"] - 0.3) ** 2, space, 10, progress=False)
    for known in ([Cheap(loss), Earlier(rough)], [Earlier(rough), Cheap(loss)]):
        optimizer = Optimizer(space, knowledge=known)
        for x, y in np.random.default_rng(seed).random((10, 2)).tolist():
            optimizer.observe({"x": x, "y": y}, loss({"x": x, "y": y}))
        trust = {type(one.source): one.trust for one in optimizer.result.knowledge}
        assert trust[Cheap] > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_a_stand_in_in_another_unit_is_trusted(seed: int) -> None:
    space = {"x": Float(0, 1), "y": Float(0, 1)}
    optimizer = Optimizer(space, knowledge=[Cheap(lambda p: 1000.0 * math.exp(wavy_bowl(p)) - 70.0)])
    for x, y in np.random.default_rng(seed).random((10, 2)).tolist():
        optimizer.observe({"x": x, "y": y}, math.exp(wavy_bowl({"x": x, "y": y})))
    assert optimizer.result.knowledge[0].trust > 0.99
