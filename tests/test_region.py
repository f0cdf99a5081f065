"""Regions: every suggestion meets the conditions that are known beforehand, wherever it comes from."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bopp
from bopp import (
    Choice,
    Fixed,
    Float,
    Holds,
    Int,
    Linear,
    Optimizer,
    Params,
    Problem,
    Recipe,
    Result,
    Space,
    pseudo,
)
from bopp.constraint import Condition
from bopp.data import Array, History
from bopp.errors import RecipeError, SpaceError
from bopp.region import COUNTABLE, Region, _pools
from bopp.search import Gradients, Score

SHARES = {name: Float(0, 1) for name in "abcd"}
WHOLE = Linear(dict.fromkeys("abcd", 1.0), equals=1)
RARE = Holds("in a ten-thousandth", lambda p: all(abs(p[name] - 0.3) < 0.05 for name in "abcd"))  # (0.1)^4
MIXED = {
    "rate": Float(1e-5, 1, log=True),
    "n": Int(1, 64, log=True),
    "kind": Choice(["x", "y", "z"]),
    "s": Float(0, 1, step=0.1),
    "t": Float(0, 10),
    "half": Fixed(0.5),
}
MIXED_SUM: list[Condition] = [
    Linear({"rate": 1, "n": 0.1, "s": 1, "t": 1, "half": 2}, equals=7),
    Linear({"n": 1, "t": 2}, at_most=20),
    Holds("z wants few", lambda p: p["kind"] != "z" or p["n"] < 20),
]
CONDITIONAL = {
    "kind": Choice(["p", "q"]),
    "a": Float(0, 1, when={"kind": "p"}),
    "b": Float(0, 1),
    "c": Float(0, 1, when={"kind": "q"}),
    "f": Fixed(0.25, when={"kind": "q"}),
}
CASES: dict[str, tuple[dict[str, Any], list[Condition]]] = {
    "a mixture": (SHARES, [WHOLE]),
    "a mixture with limits": (
        SHARES,
        [WHOLE, Linear({"a": 1, "b": 1}, at_most=0.3), Linear({"c": 1}, at_least=0.2)],
    ),
    "several equalities": (SHARES, [Linear({"a": 1, "b": 1}, equals=1), Linear({"a": 1, "c": -3}, equals=0)]),
    "one said twice": (SHARES, [WHOLE, Linear(dict.fromkeys("abcd", 2.0), equals=2, name="twice")]),
    "a corner": (SHARES, [Linear(dict.fromkeys("abcd", 1.0), at_most=0.01)]),
    "a predicate": (SHARES, [Holds("a above b", lambda p: p["a"] >= p["b"])]),
    "both": (SHARES, [WHOLE, Holds("a above b", lambda p: p["a"] >= p["b"])]),
    "rare": (SHARES, [RARE]),
    "logarithmic": (
        {"a": Float(1e-5, 1, log=True), "b": Float(1e-3, 1, log=True), "c": Float(0, 1)},
        [Linear({"a": 1, "b": 1, "c": 1}, equals=1)],
    ),
    "mixed": (MIXED, MIXED_SUM),
    "conditional": (CONDITIONAL, [Linear({"a": 1, "b": 1, "c": 1, "f": 1}, equals=1)]),
    "whole numbers": ({name: Int(0, 50) for name in "abcd"}, [Linear(dict.fromkeys("abcd", 1.0), equals=60)]),
    "odd whole numbers": (
        {"a": Int(0, 999), "b": Int(0, 999), "c": Int(0, 9)},
        [Linear({"a": 3, "b": 5, "c": 7}, equals=331)],
    ),
    "one branch": (
        {"k": Choice([1, 2]), "a": Float(0, 1, when={"k": 1}), "b": Float(0, 0.2)},
        [Linear({"a": 1, "b": 1}, at_least=1.1)],
    ),
    "few": ({"a": Int(0, 20), "b": Int(0, 20)}, [Linear({"a": 1, "b": 1}, equals=19)]),
}


def problem_of(case: str, **more: Any) -> Problem:
    space, conditions = CASES[case]
    return Problem(space, constraints=conditions, **more)


def bowl(params: Params) -> float:
    return sum((value - 0.3) ** 2 for value in params.values() if isinstance(value, float | int))


def suggestions(optimizer: Optimizer, count: int, batch: int = 1) -> list[Params]:
    found: list[Params] = []
    while len(found) < count:
        for trial in optimizer.ask(batch):
            found.append(trial.params)
            optimizer.tell(trial, bowl(trial.params))
    return found


def assert_allowed(problem: Problem, found: list[Params]) -> None:
    assert [params for params in found if not problem.allows(params)] == []


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("batch", [1, 4])
def test_every_suggestion_meets_every_condition(case: str, batch: int) -> None:
    problem = problem_of(case)
    found = suggestions(Optimizer(problem, seed=1), 8, batch)
    assert_allowed(problem, found)
    assert len({tuple(params.items()) for params in found}) == 8
    for params in found:
        assert problem.space.check(params) == params


@pytest.mark.parametrize("case", CASES)
def test_candidates_are_allowed_on_the_grid_and_differ(case: str) -> None:
    region = problem_of(case).region
    assert isinstance(region, Region)
    U = region.candidates(300, np.random.default_rng(0))
    assert U.shape == (300, region.dimension)
    assert region.allowed(U).all()
    np.testing.assert_array_equal(region.snap(U), U)
    np.testing.assert_allclose(region.inside(U), U, atol=1e-8)
    distinct = len(np.unique(U, axis=0))
    assert distinct == region.size if region.size < COUNTABLE else distinct > 100
    _pools.forget()
    again = Region(Space(region), region.conditions).candidates(300, np.random.default_rng(0))
    np.testing.assert_array_equal(again, U)
    assert not np.array_equal(region.candidates(300, np.random.default_rng(1)), U)


def test_candidates_are_spread_over_a_simplex_and_a_rare_region() -> None:
    U = problem_of("a mixture").region.candidates(1000, np.random.default_rng(0))
    np.testing.assert_allclose(U.mean(axis=0), 0.25, atol=0.04)
    np.testing.assert_allclose(U.std(axis=0), math.sqrt(3 / 80), atol=0.03)  # of a uniform distribution on it
    np.testing.assert_allclose(U.sum(axis=1), 1.0, atol=1e-9)
    U = problem_of("rare").region.candidates(1000, np.random.default_rng(0))
    np.testing.assert_allclose([U.min(axis=0), U.max(axis=0)], [[0.25] * 4, [0.35] * 4], atol=0.005)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_random_linear_conditions_are_met(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    space = Space({"a": Float(-2, 3), "b": Float(1e-4, 1e2, log=True), "c": Float(0, 1e3), "n": Int(-5, 40)})
    inner = space.decode(rng.random(4))
    conditions = []
    for number in range(count):
        weights = {name: float(rng.normal() / abs(space.parameters[name].high)) for name in inner}  # type: ignore[attr-defined]
        total = sum(weights[name] * inner[name] for name in inner)
        way = {"equals": total} if number == 0 else {"at_most": total + 0.1 * abs(rng.normal())}
        conditions.append(Linear(weights, **way, name=f"{number}"))
    problem = Problem(space, constraints=conditions)
    assert_allowed(problem, suggestions(Optimizer(problem, seed=seed), 7))


@pytest.mark.parametrize(
    ("goal", "condition", "off"),
    [
        ([0.1, 0.2, 0.65, 0.05], WHOLE, 1e-5),
        ([0.33] * 4, RARE, 1e-4),  # of a ten-thousandth of the space; 0.0025 is to be had in its middle
    ],
)
def test_the_best_of_a_mixture_and_of_a_rare_region_is_found(
    goal: list[float], condition: Condition, off: float
) -> None:
    def away(params: Params) -> float:
        return float(sum((value - wanted) ** 2 for value, wanted in zip(params.values(), goal, strict=True)))

    result = bopp.minimize(away, SHARES, 25, constraints=[condition], progress=False)
    assert_allowed(result.problem, [trial.params for trial in result.trials])
    assert result.best.value is not None
    assert result.best.value < off


def test_a_best_point_on_the_edge_of_what_is_allowed_is_found() -> None:
    for condition in (
        Linear(dict.fromkeys("abcd", 1.0), at_most=0.8),
        Holds("little", lambda p: sum(p.values()) <= 0.8),
    ):
        result = bopp.minimize(bowl, SHARES, 25, constraints=[condition], progress=False)
        assert result.best.value == pytest.approx(0.04, abs=2e-3)  # at 0.2 each


@pytest.mark.parametrize("case", ["a mixture", "rare", "mixed", "few"])
@pytest.mark.parametrize(
    "recipe", [Recipe.random(), Recipe.paper("ei", evaluations=40), Recipe(search=Gradients(20, 10, 4, 5))]
)
def test_other_recipes_keep_to_the_region(case: str, recipe: Recipe) -> None:
    problem = problem_of(case)
    assert_allowed(problem, suggestions(Optimizer(problem, recipe=recipe), 8))


def test_a_search_of_your_own_that_leaves_the_region_is_led_back() -> None:
    seen = []

    def outside(score: Score, space: Space, history: History, rng: np.random.Generator) -> Array:
        seen.append(space.dimension)
        return np.full(space.dimension, 0.9)

    for case in ("a mixture", "rare", "mixed"):
        problem = problem_of(case)
        optimizer = Optimizer(problem, recipe=Recipe(search=outside))
        found = suggestions(optimizer, 9)
        assert_allowed(problem, found)
        assert len({tuple(params.items()) for params in found}) == 9
    assert len(seen) == 12


def test_the_design_is_spread_over_the_region_and_its_points_that_are_allowed_are_used() -> None:
    optimizer = Optimizer(problem_of("rare"))
    X = np.array([list(trial.params.values()) for trial in optimizer.ask(5)])
    gaps = np.linalg.norm(X[:, None] - X, axis=2)[np.triu_indices(5, 1)]
    assert gaps.min() > 0.05  # of a region 0.1 wide
    other = Optimizer(problem_of("rare"), seed=1).ask()
    assert list(other.params.values()) != X[0].tolist()
    lower = Problem(SHARES, constraints=[Linear({"a": 1}, at_most=0.6)])
    for free, kept in zip(Optimizer(SHARES).ask(5), Optimizer(lower).ask(5), strict=True):
        assert (free.params == kept.params) == (free.params["a"] <= 0.6)


def test_levels_of_a_fidelity_meet_the_conditions() -> None:
    def short(params: Params) -> bool:
        return bool(params["epochs"] == 9 or params["a"] < 0.3)

    problem = Problem(SHARES, constraints=[WHOLE, Holds("short", short)], fidelities={"epochs": [1, 9]})
    optimizer = Optimizer(problem)
    optimizer.observe(
        {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5, "epochs": 1}, -9.0
    )  # not allowed, and the best
    found = suggestions(optimizer, 30)
    assert_allowed(problem, found)
    assert {params["epochs"] for params in found} == {1, 9}
    assert any(params["a"] > 0.3 for params in found)


@pytest.mark.parametrize(
    ("space", "conditions", "words"),
    [
        (SHARES, [Linear({"a": 1, "b": 1}, at_least=3)], ["no params meet", "'a + b >= 3'"]),
        (
            SHARES,
            [Linear({"a": 1, "b": 1}, at_least=1.5), Linear({"a": 1, "b": 1}, at_most=1)],
            ["no params meet all", "'a + b >= 1.5', 'a + b <= 1'", "contradict"],
        ),
        ({"a": Int(0, 900), "b": Int(0, 900)}, [Linear({"a": 2, "b": 4}, equals=31)], ["no params meet"]),
        ({"a": Int(0, 9), "b": Int(0, 9)}, [Linear({"a": 2, "b": 4}, equals=31)], ["none of the 100", "31"]),
        (
            {"k": Choice([1, 2]), "a": Float(0, 1, when={"k": 1}), "b": Float(0, 0.2)},
            [Linear({"a": 1, "b": 1}, at_least=1.3)],
            ["no params meet", "1.3"],
        ),
        (
            SHARES,
            [Holds("a is b", lambda p: p["a"] == p["b"])],
            ["none of 300000 params", "'a is b'", "Linear(..., equals=...)"],
        ),
    ],
)  # fmt: skip
def test_a_region_without_a_point_is_refused(
    space: dict[str, Any], conditions: list[Condition], words: list[str]
) -> None:
    with pytest.raises(SpaceError) as caught:
        Optimizer(Problem(space, constraints=conditions)).ask()
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("predicate", "error"),
    [(lambda p: p["e"] < 1, KeyError), (lambda p: 1.0 / (p["a"] > 0.1) > 0.0, ZeroDivisionError)],
    ids=["always", "seldom"],
)
def test_a_predicate_that_raises_is_named_with_the_params(predicate: Any, error: type[Exception]) -> None:
    optimizer = Optimizer(Problem(SHARES, constraints=[Holds("mine", predicate)]))
    with pytest.raises(RecipeError, match=rf"'mine' raised {error.__name__}.* for \{{'a'") as caught:
        optimizer.ask(20)
    assert isinstance(caught.value.__cause__, error)


def test_what_is_enqueued_meets_the_conditions() -> None:
    optimizer = Optimizer(problem_of("a mixture"))
    with pytest.raises(SpaceError, match=r"meet the condition 'a \+ b \+ c \+ d = 1', got .*0\.5"):
        optimizer.enqueue(dict.fromkeys("abcd", 0.5))
    with pytest.raises(SpaceError, match="no params meet the condition"):
        optimizer.enqueue({"a": 0.9, "b": 0.9})
    optimizer.enqueue({"a": 0.25, "b": 0.5})
    optimizer.enqueue({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
    part, whole = optimizer.ask(2)
    assert (part.params["a"], part.params["b"]) == (0.25, 0.5)
    assert_allowed(optimizer.problem, [part.params, whole.params])
    assert whole.params == {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
    with pytest.raises(SpaceError, match="meet the condition"):
        bopp.minimize(
            bowl, SHARES, 3, constraints=[WHOLE], start=[dict.fromkeys("abcd", 0.5)], progress=False
        )


def test_better_values_where_nothing_is_allowed_do_not_lead_astray() -> None:
    goal = {"a": 0.35, "b": 0.45, "c": 0.2, "d": 0.3}  # 1.3 in all: the best mixture is 0.075 less of each

    def away(params: Params) -> float:
        return float(sum((params[name] - goal[name]) ** 2 for name in goal))

    optimizer = Optimizer(problem_of("a mixture"))
    for shift in (0.0, 0.1, -0.03, 0.2):
        params = {name: share + shift for name, share in goal.items()}
        optimizer.observe(params, away(params))
    for _ in range(15):
        trial = optimizer.ask()
        optimizer.tell(trial, away(trial.params))
    assert optimizer.best.value == pytest.approx(4 * 0.075**2, abs=1e-4)  # 0.02 off, if it had to beat 0.0
    assert optimizer.trials[0].value == 0.0  # a fact, but not the best


@pytest.mark.parametrize(
    "source",
    [
        pseudo.Guesses(near={"a": 0.25, "b": 0.5}),
        pseudo.Guesses(near={"a": 0.9, "b": 0.9}),  # which cannot be
        pseudo.Images(exchange=("a", "b")),
    ],
)
def test_what_sources_say_to_begin_with_is_heeded_only_if_it_is_allowed(source: pseudo.Source) -> None:
    problem = problem_of("a mixture")
    optimizer = Optimizer(problem, knowledge=[source])
    found = suggestions(optimizer, 7)
    assert_allowed(problem, found)
    if source == pseudo.Guesses(near={"a": 0.25, "b": 0.5}):
        assert (found[0]["a"], found[0]["b"]) == pytest.approx((0.25, 0.5))


def test_a_result_in_json_keeps_linear_conditions_and_wants_functions_again() -> None:
    optimizer = Optimizer(problem_of("a mixture with limits"), seed=2)
    suggestions(optimizer, 6)
    read = Result.from_json(optimizer.result.to_json())
    assert read.problem == optimizer.problem
    assert Optimizer(read.problem, seed=2, trials=read.trials).ask().params == optimizer.ask().params
    optimizer = Optimizer(problem_of("both"))
    suggestions(optimizer, 2)
    away = Optimizer(Result.from_json(optimizer.result.to_json()).problem, trials=optimizer.trials)
    for call in (away.ask, lambda: away.enqueue({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})):
        with pytest.raises(RecipeError, match="'a above b' is a function of your own"):
            call()
    assert "trials: 2 done" in repr(away.result)


def test_a_study_keeps_to_the_region(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with bopp.open_study(url, "mixed", problem_of("mixed"), seed=1) as study:
        study.enqueue({"kind": "z"})
        with pytest.raises(SpaceError, match="condition"):
            study.enqueue({"n": 64, "t": 10.0})
        for trial in study.ask(7):
            study.tell(trial, bowl(trial.params))
        wanted = study.ask().params
        assert_allowed(study.problem, [trial.params for trial in study.trials])
        assert study.trials[0].params["kind"] == "z"
    memory = Optimizer(problem_of("mixed"), seed=1)
    memory.enqueue({"kind": "z"})
    for trial in memory.ask(7):
        memory.tell(trial, bowl(trial.params))
    assert memory.ask().params == wanted
    with bopp.open_study(url, "mixed") as away:
        assert len(away.trials) == 8
        with pytest.raises(RecipeError, match="has to be passed in"):
            away.ask(2)  # the first was asked for before, and is taken over


def test_a_region_is_a_value() -> None:
    region = problem_of("mixed").region
    assert region == problem_of("mixed").region
    assert region != problem_of("mixed").space
    assert problem_of("mixed").space != region
    assert region != Region(Space(MIXED), MIXED_SUM[:1])
    assert type(region.whole) is Space
    held = region.holding({"kind": "z"})
    assert isinstance(held, Region)
    assert held.whole == region.whole
    assert {params["kind"] for params in held.decode_all(held.candidates(50, np.random.default_rng(0)))} == {
        "z"
    }


def test_changes_of_whole_numbers_are_made_up_for_elsewhere() -> None:
    region = problem_of("whole numbers").region
    U = region.candidates(5, np.random.default_rng(0))
    moved, owner = region.moves(U)
    assert region.allowed(moved).all()
    assert set(owner) == set(range(5))
    assert ((moved != U[owner]).sum(axis=1) >= 2).all()  # a sum that stays wants two changes


def test_an_ascent_stays_in_the_region() -> None:
    seen: list[Array] = []

    class Watched:
        def values(self, U: Array) -> Array:
            seen.append(U)
            return U[:, 0]

        def gradient(self, U: Array) -> tuple[Array, Array]:
            return self.values(U), np.eye(U.shape[1])[np.zeros(len(U), dtype=int)]

    problem = problem_of("a mixture with limits")
    history = problem.history([], np.empty((0, 4)))
    data = History.of(
        bopp.Data(problem.region.candidates(3, np.random.default_rng(0)), np.arange(3.0)), *[history.X] * 2
    )
    best = Gradients()(Watched(), problem.region, data, np.random.default_rng(0))
    assert best[0] == pytest.approx(0.3, abs=1e-6)  # as a + b <= 0.3
    assert all(problem.region.allowed(U).all() for U in seen)


def test_conditions_are_checked_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the only point of a region is used up."""
    calls = 0

    def counted(params: Params) -> bool:
        nonlocal calls
        calls += 1
        return bool(params["a"] > params["b"])

    optimizer = Optimizer(Problem(SHARES, constraints=[Holds("counted", counted)]))
    for count, most in ((6, 15_000), (1, 4000)):
        calls = 0
        suggestions(optimizer, count)
        assert calls < most

    only = Optimizer(
        Problem({"a": Float(0, 1), "b": Float(0, 1)}, None, [Linear({"a": 1, "b": 1}, equals=2)])
    )
    for _ in range(6):
        only.tell(only.ask(), 1.0)
    asked, allowed = [], Region.allowed

    def watched(self: Region, U: Array) -> Any:
        asked.append(1)
        return allowed(self, U)

    monkeypatch.setattr(Region, "allowed", watched)
    assert list(only.ask().params.values()) == pytest.approx([1.0, 1.0])
    assert len(asked) < 300
