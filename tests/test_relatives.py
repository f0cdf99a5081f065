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
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.initial import Sobol
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
from support.toys import Counted

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
    return replace(History.of(Data(X, hill(X)), NOWHERE, NOWHERE), signs=(sign,))


def knowing(source: Any, **parts: Any) -> Recipe:
    return replace(BASE, pseudo=Pending() + Failed() + source, **parts)


def suggested(source: Any, history: History | None = None) -> Array:
    return suggest(PLANE, knowing(source), history or trials(), (0, 7))


# units, directions


@pytest.mark.parametrize(
    "kind", [Cheap, lambda rows: Earlier([("maximize", rows)])], ids=["cheap", "earlier"]
)
def test_unit_and_origin_of_the_values_do_not_matter(kind: Any) -> None:
    wanted = suggested(kind(rows()))
    for unit in (2.0**-8, 2.0**5):  # a power of two changes no bit
        assert np.array_equal(suggested(kind(rows(unit=unit))), wanted)
    for unit, origin in ((3.7, 0.0), (1.0, 100.0), (1e-3, -5.0)):
        np.testing.assert_allclose(suggested(kind(rows(unit=unit, origin=origin))), wanted, atol=2e-3)


def test_a_relative_in_the_other_direction_is_turned_round() -> None:
    up, down = rows(), rows(unit=-1.0)
    wanted = suggested(Cheap(up))
    assert np.array_equal(suggested(Cheap(up, "maximize")), wanted)
    assert np.array_equal(suggested(Cheap(down, "minimize")), wanted)
    assert np.array_equal(suggested(Earlier([("minimize", down)])), suggested(Earlier([("maximize", up)])))
    minimised = trials(sign=-1.0)  # the history is in gains, and cheap values are losses as the objective is
    assert np.array_equal(suggested(Cheap(down), minimised), wanted)
    assert np.array_equal(suggested(Cheap(up, "maximize"), minimised), wanted)


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
    (found,) = Cheap(given).bind(Problem(space)).relatives(space)
    return found


ACT = {**SQUARE, "act": Choice(["relu", "tanh", "elu"])}


@pytest.mark.parametrize(
    ("space", "given", "columns", "y"),
    [
        (SQUARE, [({"b": i / 4, "other": "x"}, i) for i in range(5)], [1], range(5)),
        (ACT, [({"a": 300.0 + i, "b": i / 9, "act": "gelu"}, i) for i in range(10)], [1], range(10)),
        (SQUARE, [({"a": i / 2.0, "b": i / 9}, i) for i in range(10)], [0, 1], range(5)),
        (
            SQUARE,
            [*[({"a": 9.0, "b": i / 9}, i) for i in range(8)], ({"a": 0.5, "b": 0.5}, 8)],
            [1],
            range(9),
        ),
        (SQUARE, [({"a": 9.0, "b": 0.1}, 0)] * 8 + [({"b": 0.5}, 0)] * 5, [1], [0] * 13),
        ({**SQUARE, "seed": Fixed(3)}, [({"a": i / 4, "seed": i}, i) for i in range(5)], [0], range(5)),
    ],
    ids=["missing", "no value fits", "some values fit", "hardly any fits", "hardly any is there", "fixed"],
)
def test_parameters_of_which_hardly_any_earlier_value_fits_are_passed_over(
    space: Any, given: Any, columns: list[int], y: Any
) -> None:
    whole = Space(space)
    (found,) = Earlier([("minimize", given)]).bind(Problem(whole)).relatives(whole)
    assert found.columns.tolist() == columns
    assert found.y.tolist() == list(y)


@pytest.mark.parametrize(
    ("space", "given", "X"),
    [
        (
            {"a": Float(0, 1), "act": Choice(["p", "q", "r"])},
            [{"a": 0.1}, {"a": 0.2, "act": "q"}, {"act": "r"}],  # what is missing is in the middle
            [[0.1, 1 / 3, 1 / 3, 1 / 3], [0.2, 0, 1, 0], [0.5, 0, 0, 1]],
        ),
        (
            {"act": Choice(["relu", "tanh", "elu"])},
            [{"act": one} for one in ["relu", "gelu", "elu", "tanh", 3, None]],  # unknown options are dropped
            [[1, 0, 0], [0, 0, 1], [0, 1, 0]],
        ),
        (
            {"solver": Choice(["sgd", "adam"]), "momentum": Float(0, 1, when={"solver": ["sgd"]})},
            [{"solver": "sgd", "momentum": 0.0}, {"solver": "sgd", "momentum": 0.25}, {"solver": "adam"}],
            [[0.0, 0.0], [0.0, 0.25], [1.0, 0.5]],
        ),
        ({"n": Int(0, 10, step=3)}, [{"n": n} for n in (0, 3, 6, 9)], Space({"n": Int(0, 10, step=3)}).grid),
    ],
    ids=["missing", "options", "conditional", "steps"],
)
def test_cheap_values_lie_where_the_space_has_them(space: Any, given: list[Any], X: Any) -> None:
    found = relative(Space(space), [(params, float(i)) for i, params in enumerate(given)])
    np.testing.assert_allclose(found.X, X, atol=1e-12)


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
    with pytest.raises(RecipeError, match=rf"^Cheap: .*got {got}$"):
        Cheap(given).bind(Problem(PLANE))
    with pytest.raises(RecipeError, match=rf"^Earlier: .*got {got}; under fidelities"):
        Earlier([("minimize", given)]).bind(Problem(PLANE))


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


# functions


class Hill:
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
    function = Hill()
    optimizer = Optimizer(SQUARE, "maximize", knowledge=[Cheap(function, points=12)], recipe=BASE)
    assert len(function.seen) == 12
    for _ in range(7):
        trial = optimizer.ask()
        optimizer.tell(trial, float(hill(np.array([[trial.params["a"], trial.params["b"]]]))[0]))
    assert len(function.seen) == 12
    again = Optimizer(optimizer.problem, recipe=optimizer.recipe)
    assert len(function.seen) == 12
    assert again.recipe == optimizer.recipe
    wide = {f"x{i}": Float(0, 1) for i in range(9)}
    for space, wanted in (
        (SQUARE, 80),
        (wide, 240),
    ):  # forty for each column, up to these
        assert len(cheap(Optimizer(space, knowledge=[Cheap(lambda p, /: sum(p.values()))])).values) == wanted


def test_half_of_the_calls_are_near_the_best_of_the_others() -> None:
    function = Hill()
    Optimizer(SQUARE, "maximize", knowledge=[Cheap(function, points=80)])
    X = np.array([[one["a"], one["b"]] for one in function.seen])
    wide, close = hill(X[:40]), hill(X[40:])
    assert close.mean() > wide.mean()
    lowest = Hill()
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


@pytest.mark.parametrize("fails", [math.nan, math.inf, ValueError("no"), None])
def test_calls_that_fail_are_left_out(fails: Any) -> None:
    """As an objective that raises or returns NaN is a failed trial, no more."""
    function = Hill(fails)
    optimizer = Optimizer(SQUARE, knowledge=[Cheap(function, points=20)])
    kept = [dict(params) for params, _ in cheap(optimizer).values]
    assert len(function.seen) == 20
    assert kept == [params for params in function.seen if params["a"] <= 0.5]
    assert len(kept) < 20
    late = Optimizer(SQUARE, knowledge=[Cheap(returns(1.0, 2.0, 3.0, 4.0), points=8)])  # the later ones fail
    assert [value for _, value in cheap(late).values] == [1.0, 2.0, 3.0, 4.0]


def returns(*values: Any) -> Any:
    """A function that returns these one after the other, and NaN ever after."""
    rest = iter(values)
    return lambda p: next(rest, math.nan)


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        (lambda: Cheap([({"a": i / 4, "bb": i / 4}, float(i)) for i in range(5)]), r"\['a', 'b'\], got 'bb'"),
        (lambda: Cheap(lambda a, c: a + c), r"takes \(a, c\), the space has a, b"),
        (lambda: Cheap(Hill(math.nan).seen.append, points=8), "append, got none at 4 points"),
        (lambda: Cheap(lambda p: "much", points=8), "got none at 4 points"),
        (lambda: Cheap(lambda p: {"loss": 1.0}, points=8), "got none at 4 points"),
        (lambda: Cheap(lambda p: [1.0, 2.0], points=8), "got none at 4 points"),
        (lambda: Cheap(partial(lambda a, b: None, b=0.5), points=8), "<lambda>, got none at 4 points"),
        (lambda: Cheap(returns(1.0, *[math.nan] * 3, 1.0), points=8), "3 values .*got 2$"),
        (lambda: Cheap(returns(1.0), points=3), "3 values .*got 1$"),
        (lambda: Earlier([("up", rows(5))]), "direction must be.*got 'up'"),
        (
            lambda: Earlier(Optimizer(Problem(SQUARE, {"one": "minimize", "two": "maximize"}))),
            "one objective",
        ),
    ],
)
def test_a_relative_that_does_not_fit_the_problem_is_refused_by_name(knowledge: Any, words: str) -> None:
    with pytest.raises(RecipeError, match=rf"^(Cheap: .*|Earlier: .*|wanted ){words}"):
        Optimizer(SQUARE, knowledge=[knowledge()])


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
    optimizer.observe({"a": 0.5, "b": 0.5}, 99.0)
    assert wanted == Earlier(wanted.studies)  # as it was when it was given
    assert len(Earlier(optimizer).studies[0][1]) == 8
    assert np.array_equal(suggested(Earlier(ran(-1.0))), suggested(wanted))  # in the other direction


def test_the_first_trials_are_the_best_ones_of_earlier_studies() -> None:
    empty: Any = [("minimize", []), ("maximize", [({"z": 1}, 1.0)] * 4)]  # which say nothing
    one, two = ran(), [("minimize", [({"a": 0.25, "b": 0.75}, 0.0), *rows(4, origin=50.0)]), *empty]
    assert len(Earlier(two).bind(Problem(PLANE)).relatives(PLANE)) == 1
    optimizer = Optimizer(SQUARE, "maximize", knowledge=[Earlier(one), Earlier(two)], recipe=BASE)
    first, second = optimizer.ask(2)
    assert first.params == pytest.approx(one.best.params)
    assert second.params == pytest.approx({"a": 0.25, "b": 0.75})
    third = optimizer.ask()
    assert third.params == Optimizer(SQUARE, "maximize", trials=[first, second]).ask().params
    given = [({"a": -0.5}, 9.0), ({"a": 0.25}, 3.0), ({"a": 0.75}, 1.0), ({"a": 1.4}, 8.0)]  # those within
    first = Optimizer(SQUARE, "maximize", knowledge=[Cheap(given)]).ask()
    assert first.params["a"] == pytest.approx(0.25)


def test_each_of_many_studies_is_looked_at_once_and_a_part_of_many_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bopp.model._models", Memory(4))
    monkeypatch.setattr("bopp.model._relatives", Memory(8))
    studies = [("maximize", rows(12, seed=seed, shift=0.02 * seed)) for seed in range(50)]
    fit = Counted()
    recipe = knowing(Earlier(studies), fit=fit, initial=Sobol(0))
    suggest(PLANE, recipe, trials(5), (0, 5))
    assert fit.calls.count(12) == 50
    assert len(fit.calls) < 55
    for n in (6, 7):
        before = len(fit.calls)
        u = suggest(PLANE, recipe, trials(n), (0, n))
        assert np.all((u >= 0.0) & (u <= 1.0))
        assert fit.calls.count(12) == 50
        assert len(fit.calls) - before <= 3
    suggest(PLANE, knowing(Cheap(rows(300)), fit=fit, initial=Sobol(0)), trials(7), (0, 7))
    assert max(fit.calls) == MOST_RESEMBLING
    (account,) = learn(PLANE, trials(7), recipe).accounts
    assert account.trust > 0.5


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
    limits = [Holds("small", lambda p: True), AtMost("w", 0.5)]
    problem = Problem({"x": Float(0, 1)}, {"v": "minimize"}, limits)
    before = optimize(lambda p: {"v": -p["x"], "w": p["x"]}, problem, 8, progress=False)
    assert Earlier(Result.from_json(before.to_json())) == Earlier(before)  # whatever JSON cannot hold
    wide = {"x": Float(-1, 3)}
    after = minimize(lambda p: -p["x"], wide, 1, knowledge=[Earlier(before)], progress=False)
    assert after.trials[0].params["x"] == pytest.approx(before.best.params["x"])
    (found,) = Earlier(before).relatives(Space(wide))  # in the same unit, whatever the range
    xs = np.array([trial.params["x"] for trial in before.trials])
    assert np.isin(found.X[:, 0].round(9), ((xs + 1.0) / 4.0).round(9)).all()


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


def wavy_bowl(p: dict[str, Any]) -> float:
    return float((p["x"] - 0.3) ** 2 + (p["y"] - 0.3) ** 2 + 0.3 * math.sin(8 * p["x"]))


def waves(p: dict[str, Any]) -> float:
    return float(math.sin(9 * p["x"]) + math.cos(7 * p["y"] + 3 * p["x"]))


def grown(p: dict[str, Any]) -> float:
    return math.exp(wavy_bowl(p))


@pytest.mark.parametrize("unit", [1.0, 1000.0])
@pytest.mark.parametrize("loss", [wavy_bowl, waves, grown])
@pytest.mark.parametrize("seed", range(4))
def test_a_stand_in_that_is_exact_is_trusted_wherever_it_is_listed(seed: int, loss: Any, unit: float) -> None:
    """Even of a wavy bowl, of which the model knows much by itself."""
    space = {"x": Float(0, 1), "y": Float(0, 1)}
    rough = minimize(lambda p: (p["x"] - 0.7) ** 2 + (p["y"] - 0.3) ** 2, space, 10, progress=False)
    stand_in = Cheap(lambda p: unit * loss(p) - 0.07 * (unit - 1.0))
    for known in ([stand_in, Earlier(rough)], [Earlier(rough), stand_in]):
        optimizer = Optimizer(space, knowledge=known)
        for x, y in np.random.default_rng(seed).random((10, 2)).tolist():
            optimizer.observe({"x": x, "y": y}, loss({"x": x, "y": y}))
        trust = {type(one.source): one.trust for one in optimizer.result.knowledge}
        assert trust[Cheap] > 0.99
