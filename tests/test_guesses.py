from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import Choice, Float, Int, Optimizer, Problem, Recipe, minimize
from bopp import outcome as outcomes
from bopp.data import Array, Data, History
from bopp.errors import BoppError, RecipeError
from bopp.initial import Sobol
from bopp.knowledge.expectation import WIDENINGS
from bopp.model import Model, learn
from bopp.pseudo import Guesses, Pending, none
from bopp.pseudo.guesses import EDGE
from bopp.search import Gradients
from bopp.space import Space
from bopp.suggest import suggest
from support.toys import known, slope

PLANE = Space({"a": Float(0, 1), "b": Float(0, 1)})
NOWHERE = np.empty((0, 2))
BASE = Recipe(search=Gradients(100, 50, 4, 20))
MIXED = Space(
    {
        "rate": Float(1e-3, 1, log=True),
        "layers": Int(1, 9),
        "act": Choice(["relu", "tanh", "elu"]),
        "bias": Choice([False, True]),
        "momentum": Float(0, 1, when={"bias": [True]}),
    }
)


def trials(f: Any, n: int = 10, sign: float = 1.0, seed: int = 0) -> History:
    """Values of f, the objective itself, which is to be minimised if the sign is -1."""
    X = np.random.default_rng(seed).random((n, 2))
    return replace(History.of(Data(X, sign * f(X)), NOWHERE, NOWHERE), signs=(sign,))


def wave(X: Array) -> Array:
    return np.asarray(10.0 + 3.0 * np.sin(3.0 * X[:, 0]) + X[:, 1])


def knowing(guess: Guesses, **parts: Any) -> Recipe:
    return replace(BASE, pseudo=Pending() + guess, **parts)


def value_at(model: Model, sign: float, u: Array) -> float:
    """The mean of the model in the unit and direction of the objective."""
    return float(sign * model.scale.inverse(model.beliefs.mean(u[None, :]))[0])


def density(guess: Guesses, space: Space, U: Array) -> tuple[Array, Array]:
    """Where the best is said to be, and the gradient of that."""
    found = guess.favour(space, U)
    assert found is not None
    return found


# values


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("off", [0.5, -0.5])
def test_an_expected_value_pulls_the_mean_towards_it(sign: float, off: float) -> None:
    """In the unit and the direction of the objective, whether large or small values are better."""
    history, u = trials(wave, sign=sign), np.array([0.95, 0.02])
    plain = value_at(learn(PLANE, history, replace(BASE, pseudo=none)), sign, u)
    value = plain + off
    guess = Guesses(values=[({"a": 0.95, "b": 0.02}, value, 0.02)], trust=0.99)
    model = learn(PLANE, history, knowing(guess))
    assert abs(value_at(model, sign, u) - value) < abs(plain - value)
    assert math.copysign(1.0, value_at(model, sign, u) - plain) == math.copysign(1.0, off)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_right_value_is_believed_as_it_was_given(sign: float) -> None:
    history, u = trials(wave, sign=sign), np.array([0.5, 0.5])
    value = float(wave(u[None, :])[0])
    guess = Guesses(values=[({"a": 0.5, "b": 0.5}, value, 0.1)])
    model = learn(PLANE, history, knowing(guess, outcome=outcomes.standardised))
    (account,) = model.accounts
    assert account.points is not None
    assert account.trust > 0.7
    assert account.worth > 0.0
    np.testing.assert_allclose(account.points.X, [u])
    np.testing.assert_allclose(sign * model.scale.inverse(account.points.y), [value], rtol=1e-9)
    assert account.points.noise[0] == pytest.approx((0.1 / float(history.data.y.std())) ** 2, rel=1e-6)
    assert value_at(model, sign, u) == pytest.approx(value, abs=0.1)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("miss", [-8.0, 8.0])
def test_a_wrong_value_is_widened_or_ignored(sign: float, miss: float) -> None:
    history = trials(wave, 12, sign)
    a, b = history.data.X[4].tolist()
    truth = float(sign * history.data.y[4])
    model = learn(PLANE, history, knowing(Guesses(values=[({"a": a, "b": b}, truth + miss, 0.1)])))
    (account,) = model.accounts
    assert account.trust < 0.2
    assert account.worth < 0.0
    assert account.points is None
    assert value_at(model, sign, history.data.X[4]) == pytest.approx(truth, abs=0.2)


def test_a_value_that_is_a_little_off_is_widened() -> None:
    history = trials(wave, 12)
    a, b = history.data.X[4].tolist()
    wrong = float(history.data.y[4]) + 0.35
    guess = Guesses(values=[({"a": a, "b": b}, wrong, 0.1)], trust=0.95)
    (account,) = learn(PLANE, history, knowing(guess, outcome=outcomes.standardised)).accounts
    assert account.points is not None
    widened = account.points.noise[0] / (0.1 / float(history.data.y.std())) ** 2
    assert min(abs(widened / factor - 1.0) for factor in WIDENINGS[1:]) < 1e-6


def test_params_that_are_left_out_are_as_in_the_best_trial() -> None:
    seen = known(Data(np.array([[0.1, 0.2], [0.7, 0.9], [0.4, 0.4]]), np.array([0.0, 2.0, 1.0])))
    points = Guesses(values=[({"x0": 0.5}, 1.0, 0.1), ({"x1": 0.3}, 1.0, 0.1)])(seen)
    np.testing.assert_allclose(points.X, [[0.5, 0.9], [0.7, 0.3]])


def test_expected_values_lie_at_points_of_the_space() -> None:
    X = MIXED.snap(np.random.default_rng(0).random((6, MIXED.dimension)))
    X[0] = MIXED.encode({"rate": 0.1, "layers": 3, "act": "elu", "bias": True, "momentum": 0.9})
    history = History.of(Data(X, np.array([9.0, 1.0, 2.0, 3.0, 4.0, 5.0])), X[:0], X[:0])
    model = learn(MIXED, history, knowing(Guesses(values=[({"bias": False}, 5.0, 1.0)])))
    (account,) = model.accounts
    assert account.points is not None
    np.testing.assert_allclose(MIXED.snap(account.points.X), account.points.X)


# near and good


STEERING = [
    (PLANE, Guesses(near={"a": 0.3, "b": 0.6})),
    (PLANE, Guesses(near={"a": 0.3}, within=0.4)),
    (PLANE, Guesses(good={"a": (0.2, 0.4), "b": (0.9, 0.5)})),
    (PLANE, Guesses(near={"b": 0.2}, good={"a": (-3.0, 0.5)})),
    (MIXED, Guesses(near={"rate": 0.03, "layers": 4, "act": "tanh", "bias": True})),
    (MIXED, Guesses(near={"momentum": 0.9}, good={"rate": (1e-2, 1e-1), "layers": (2, 5)})),
    (MIXED, Guesses(good={"act": ["relu", "elu"], "bias": [True]})),
]


@pytest.mark.parametrize(("space", "guess"), STEERING)
def test_the_gradient_of_a_density_is_its_difference_quotient(space: Space, guess: Guesses) -> None:
    U = 0.05 + 0.9 * np.random.default_rng(3).random((8, space.dimension))
    found, by_u = density(guess.bind(Problem(space)), space, U)

    def at(u: Array) -> float:
        return float(density(guess, space, u[None, :])[0][0])

    np.testing.assert_allclose(found, [at(u) for u in U], rtol=1e-12)
    np.testing.assert_allclose(by_u, [slope(at, u) for u in U], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("space", "guess"), STEERING)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_a_density_is_largest_where_the_best_is_said_to_be(space: Space, guess: Guesses, seed: int) -> None:
    U = np.random.default_rng(seed).random((5, space.dimension))
    found, by_u = density(guess, space, U)
    assert np.all(found <= 0.0)
    assert np.all(np.isfinite(by_u))
    inside = U.copy()
    for name, value in guess.near:
        inside[:, space.columns[name]] = space.parameters[name].encode(value)
    for name, wanted in guess.good:
        parameter = space.parameters[name]
        middle = (
            [np.mean([parameter.position(one) for one in wanted])]
            if parameter.numeric
            else parameter.encode(wanted[-1])
        )
        inside[:, space.columns[name]] = middle
    best, by_u = density(guess, space, inside)
    np.testing.assert_allclose(best, 0.0, atol=1e-12)
    np.testing.assert_allclose(by_u, 0.0, atol=1e-9)


def test_a_density_falls_with_the_distance_and_never_too_fast() -> None:
    """Far away it falls as a power, so that a wrong guess can be overcome."""
    U = np.column_stack([np.linspace(0.3, 1.0, 50), np.full(50, 0.5)])
    found, _ = density(Guesses(near={"a": 0.3}, within=0.01), PLANE, U)
    assert np.all(np.diff(found) < 0.0)
    assert found[-1] > -12.0
    for near in (0.01, 0.1, 1.0):
        one, _ = density(Guesses(near={"a": 0.3}, within=near), PLANE, np.array([[0.3 + near, 0.1]]))
        assert one == pytest.approx(-math.log(2.0))
    edge, _ = density(Guesses(good={"a": (0.1, 0.3)}), PLANE, np.array([[0.3 + EDGE, 0.1]]))
    assert edge == pytest.approx(-math.log(2.0))
    assert Guesses(values=[({"a": 0.5}, 1.0, 0.1)]).favour(PLANE, U) is None  # it speaks of no place


@pytest.mark.parametrize(("space", "guess"), STEERING)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 40))
def test_points_that_are_drawn_lie_in_the_cube(space: Space, guess: Guesses, seed: int, count: int) -> None:
    U = guess.draw(space, count, np.random.default_rng(seed))
    assert U.shape == (count, space.dimension)
    assert np.all((U >= 0.0) & (U <= 1.0))
    for name, wanted in guess.good:
        parameter = space.parameters[name]
        if parameter.numeric:
            low, high = sorted(parameter.position(one) for one in wanted)
            at = U[:, space.columns[name]]
            assert np.all((at >= low - 1e-12) & (at <= high + 1e-12))
        else:
            assert all(parameter.decode(row) in wanted for row in U[:, space.columns[name]].tolist())


def test_points_are_drawn_as_near_as_the_user_says() -> None:
    U = Guesses(near={"a": 0.5}, within=0.05).draw(PLANE, 4000, np.random.default_rng(0))
    assert U[:, 0].mean() == pytest.approx(0.5, abs=0.01)
    assert U[:, 0].std() == pytest.approx(0.05, rel=0.1)
    assert U[:, 1].std() == pytest.approx(math.sqrt(1.0 / 12.0), rel=0.1)


def test_the_first_trial_is_at_the_guess_as_far_as_it_goes() -> None:
    space = {"a": Float(0, 2), "n": Int(1, 9), "act": Choice(["relu", "tanh", "elu"])}
    first = Optimizer(space, knowledge=[Guesses(near={"a": 0.6, "act": "elu"})]).ask()
    plain = Optimizer(space).ask()
    assert first.params == {"a": pytest.approx(0.6), "n": plain.params["n"], "act": "elu"}
    second = Optimizer(space, knowledge=[Guesses(good={"a": (0.5, 0.7)})]).ask()
    assert second.params == plain.params


def bump(X: Array) -> Array:
    return np.asarray(-((X[:, 0] - 0.8) ** 2) * 4.0 - 0.1 * X[:, 1])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (Guesses(near={"a": 0.8}), Guesses(near={"a": 0.15})),
        (Guesses(good={"a": (0.7, 0.9)}), Guesses(good={"a": (0.1, 0.3)})),
    ],
)
def test_trust_falls_where_the_best_is_clearly_elsewhere(right: Guesses, wrong: Guesses) -> None:
    history = trials(bump, 20)
    for guess, trusted in ((right, True), (wrong, False)):
        (account,) = learn(PLANE, history, knowing(guess)).accounts
        assert (account.trust > guess.trust) == trusted
        assert account.trust > 0.7 or account.trust < 0.1
        assert (account.worth > 0.0) == trusted


def test_the_search_begins_where_the_best_is_said_to_be_and_leaves_if_it_is_not() -> None:
    recipe = knowing(Guesses(near={"a": 0.3, "b": 0.7}, within=0.05), initial=Sobol(0))
    few = trials(lambda X: np.sin(9.0 * X[:, 0]) + X[:, 1], 3)
    assert np.abs(suggest(PLANE, recipe, few, (0, 3)) - [0.3, 0.7]).max() < 0.1
    many = trials(bump, 30)
    late = suggest(PLANE, knowing(Guesses(near={"a": 0.1}, within=0.05)), many, (0, 30))
    assert abs(late[0] - 0.8) < 0.15


@pytest.mark.parametrize("within", [0.3, 0.05])
def test_a_single_value_elsewhere_disproves_nothing(within: float) -> None:
    history = trials(wave, 1)
    guess = Guesses(near={"a": 0.3, "b": 0.7}, within=within)
    (account,) = learn(PLANE, history, knowing(guess)).accounts
    assert account.trust > 0.3


@pytest.mark.parametrize("seed", range(4))
def test_a_guess_that_was_tried_in_vain_is_out_of_the_way_after_ten_values(seed: int) -> None:
    space = Space({f"x{place}": Float(0, 1) for place in range(6)})
    guess = Guesses(near=dict.fromkeys(space.parameters, 1.0))
    X = np.vstack([np.ones(6), np.random.default_rng(seed).random((9, 6))])
    data = Data(X, -np.sum((X - 0.2) ** 2, axis=1))
    (account,) = learn(space, History.of(data, X[:0], X[:0]), knowing(guess)).accounts
    assert account.trust < 0.02


# more and less


def rising(X: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-25.0 * (X[:, 0] - 0.4))))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_never_falls_is_not_taken_for_falling(seed: int) -> None:
    (account,) = learn(PLANE, trials(rising, 12, seed=seed), knowing(Guesses(more="a"))).accounts
    assert account.trust > 0.3
    falling = trials(lambda X: -((X[:, 0] - 0.2) ** 2), 20, seed=seed)  # the best is elsewhere
    (account,) = learn(PLANE, falling, knowing(Guesses(more="a"))).accounts
    assert account.trust < 0.2


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("name", "end"), [("more", 1.0), ("less", 0.0)])
def test_of_what_is_never_worse_the_end_is_favoured(name: str, end: float, sign: float) -> None:
    guess = Guesses(**{name: "a"})  # type: ignore[arg-type]
    U = np.column_stack([np.linspace(0.0, 1.0, 6), np.full(6, 0.3)])
    assert U[np.argmax(density(guess, PLANE, U)[0]), 0] == end
    assert np.all(guess.draw(PLANE, 9, np.random.default_rng(0))[:, 0] == end)
    history = replace(trials(rising, 8), signs=(sign,))
    recipes = knowing(guess), replace(BASE, pseudo=none)
    suggested = [suggest(PLANE, recipe, history, (0, 8))[0] for recipe in recipes]
    assert abs(suggested[0] - end) <= abs(suggested[1] - end) + 1e-9


def test_of_a_parameter_that_is_not_there_nothing_is_said() -> None:
    space = Space({"way": Choice(["sgd", "adam"]), "m": Float(0, 1, when={"way": ["sgd"]})})
    guess = Guesses(more=["m"], good={"m": (0.6, 1.0)}, near={"m": 0.9})
    U = np.array([space.encode({"way": "adam"}), space.encode({"way": "sgd", "m": 0.2})])
    found, _ = density(guess, space, U)
    assert found[0] == 0.0
    assert found[1] < -1.0


@pytest.mark.parametrize(("value", "off"), [(1e300, 1.0), (0.0, 1e200)])
def test_what_is_guessed_beyond_all_measure_is_passed_over(value: float, off: float) -> None:
    guess = Guesses(values=[({"a": 0.5, "b": 0.5}, value, off)])
    (account,) = learn(PLANE, trials(bump, 8), knowing(guess)).accounts
    assert (account.trust, account.points) == (guess.trust, None)


# settings


@pytest.mark.parametrize(
    ("settings", "came"),
    [
        ({}, "none"),
        ({"values": 3}, "3"),
        ({"values": {"a": 1}}, "{'a': 1}"),
        ({"values": "abc"}, "'abc'"),
        ({"values": [({"a": 1}, 2.0)]}, "({'a': 1}, 2.0)"),
        ({"values": [({"a": 1}, "x", 1.0)]}, "'x'"),
        ({"values": [({"a": 1}, 1.0, 0.0)]}, "0"),
        ({"values": [({"a": 1}, 1.0, -2.0)]}, "-2"),
        ({"values": [({"a": 1}, math.nan, 1.0)]}, "nan"),
        ({"values": [(5, 1.0, 1.0)]}, "5"),
        ({"near": 0.3}, "0.3"),
        ({"near": {1: 0.3}}, "{1: 0.3}"),
        ({"near": {"a": 0.3}, "within": 0.0}, "0.0"),
        ({"near": {"a": 0.3}, "within": "far"}, "'far'"),
        ({"good": {"a": 0.3}}, "0.3"),
        ({"good": {"a": []}}, "()"),
        ({"good": {"a": "relu"}}, "'relu'"),
        ({"more": 3}, "3"),
        ({"more": "a", "trust": 0.0}, "0.0"),
        ({"more": ["a", "b"], "less": ["b"]}, "'b'"),
        ({"near": {"a": 0.5}, "within": 1e200}, "1e+200"),
        ({"more": "a", "trust": None}, "None"),
    ],
)
def test_what_is_no_guess_is_refused(settings: dict[str, Any], came: str) -> None:
    with pytest.raises(RecipeError, match=r"^Guesses: .*(wanted|must be).*got") as caught:
        Guesses(**settings)
    assert came in str(caught.value).partition("got")[2]


@pytest.mark.parametrize(
    ("guess", "came"),
    [
        (Guesses(values=[({"nowhere": 1.0}, 1.0, 1.0)]), "nowhere"),
        (Guesses(values=[({"layers": 99}, 1.0, 1.0)]), "99"),
        (Guesses(values=[({}, 1.0, 1.0)]), "none"),
        (Guesses(near={"rate": 5.0}), "5.0"),
        (Guesses(near={"act": "gelu"}), "'gelu'"),
        (Guesses(near={"bias": False, "momentum": 0.5}), "momentum"),
        (Guesses(good={"act": ["gelu"]}), "'gelu'"),
        (Guesses(good={"rate": (-1.0, 0.1)}), "-1.0"),
        (Guesses(good={"rate": ("low", "high")}), "'low'"),
        (Guesses(good={"nowhere": (0, 1)}), "'nowhere'"),
        (Guesses(more="act"), "'act'"),
        (Guesses(less=["rate", "nowhere"]), "'nowhere'"),
        (Guesses(good={"layers": [2, 3, 4]}), "(2, 3, 4)"),
        (Guesses(good={"rate": [0.1]}), "(0.1,)"),
        (Guesses(good={"layers": (10, 12)}), "(10, 12)"),  # which do not meet the range of the parameter
        (Guesses(good={"rate": (1.5, 2.0)}), "(1.5, 2.0)"),
        (Guesses(good={"momentum": (-2.0, -0.5)}), "(-2.0, -0.5)"),
    ],
)
def test_a_guess_that_does_not_fit_the_space_is_refused(guess: Guesses, came: str) -> None:
    with pytest.raises(BoppError, match=r"(wanted|applies only).*got") as caught:
        Optimizer(MIXED, knowledge=[guess])
    assert came in str(caught.value)


def test_a_good_range_of_a_number_in_steps_is_where_it_says() -> None:
    space = Space({"n": Int(0, 10, step=3)})
    found, _ = density(Guesses(good={"n": (9, 9)}), space, space.encode({"n": 9})[None, :])
    assert found == pytest.approx(0.0, abs=1e-9)


def test_names_may_be_given_alone_or_in_a_list() -> None:
    assert Guesses(more="a") == Guesses(more=["a"]) == Guesses(more=("a",))
    assert Guesses(near={"a": 1}) == Guesses(near=(("a", 1),))
    assert Guesses(near={"a": np.float64(0.5)}).near == (("a", 0.5),)
    assert hash(Guesses(values=[({"a": 1}, 2, 3)])) == hash(Guesses(values=(((("a", 1),), 2.0, 3.0),)))


@pytest.mark.parametrize("level", [{}, {"epochs": 81}])
def test_a_guess_without_a_level_is_meant_for_the_real_one(level: dict[str, int]) -> None:
    result = minimize(
        lambda x, epochs: (x - 0.3) ** 2 + 1.0 - 1.0 / epochs,
        {"x": Float(0, 1)},
        6,
        fidelities={"epochs": [1, 9, 81]},
        knowledge=Guesses(values=[({"x": 0.3, **level}, 0.99, 0.01)]),
        progress=False,
    )
    (account,) = result.knowledge
    assert account.trust > 0.9
    assert account.points is not None
    assert account.points.X.tolist() == [pytest.approx([0.3, 1.0])]


def test_a_good_range_may_go_beyond_that_of_its_parameter() -> None:
    space = Space({"t": Float(20, 120)})
    for good in ((100, 353), (120, 353), (0, 20), (353, 0)):
        Guesses(good={"t": good}).bind(Problem(space))
