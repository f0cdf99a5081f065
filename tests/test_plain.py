from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bopp import (
    AtLeast,
    AtMost,
    Choice,
    Float,
    Holds,
    Int,
    Known,
    Problem,
    Recipe,
    Result,
    Space,
    Trial,
    kernels,
    pseudo,
)
from bopp import acquisition as acquisitions
from bopp import fit as fits
from bopp import initial as initials
from bopp import outcome as outcomes
from bopp import search as searches
from bopp.data import Array
from bopp.errors import BoppError, NoResultError, StudyError, reading
from bopp.parameter import Parameter
from bopp.parts import PARTS as NAMED
from bopp.parts import has_parts_of_yours, read_part, write_part
from bopp.plain import (
    one_of,
    other_part,
    read_params,
    read_problem,
    read_recipe,
    read_space,
    read_trial,
    write_params,
    write_problem,
    write_recipe,
    write_space,
    write_trial,
)
from support.recipes import (
    ESCAPING,
    PARTS,
    PRESETS,
    RANDOM,
    REFUSED,
    YOURS,
    Shifted,
    greedy,
    mirror,
    settings,
    usual,
)

PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
OPTIONS = st.recursive(PLAIN, lambda parts: st.lists(parts, max_size=3).map(tuple), max_leaves=4)
TEXTS = st.none() | st.text(st.characters())  # lone surrogates too
TIMES = st.none() | st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(fold=0))


@st.composite
def parameters(draw: st.DrawFn) -> Parameter:
    kind = draw(st.sampled_from(["Float", "Int", "Choice"]))
    if kind == "Choice":
        options = draw(
            st.lists(OPTIONS, min_size=1, max_size=5, unique_by=lambda option: (type(option), option))
        )
        return Choice(options, draw(st.booleans()))
    if kind == "Int":
        low, high = sorted(draw(st.lists(st.integers(-(2**52), 2**52), min_size=2, max_size=2, unique=True)))
        return Int(low, high, log=low > 0 and draw(st.booleans()))
    ends = st.floats(-1e300, 1e300, allow_subnormal=True)
    low_end, high_end = sorted(draw(st.lists(ends, min_size=2, max_size=2, unique=True)))
    return Float(low_end, high_end, log=low_end > 0 and draw(st.booleans()))


SPACES = st.dictionaries(st.text(st.characters(), max_size=5), parameters(), min_size=1, max_size=4).map(
    Space
)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@st.composite
def points(draw: st.DrawFn) -> tuple[Space, dict[str, Any]]:
    space = draw(SPACES)
    values: dict[str, Any] = {}
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Choice):
            values[name] = draw(st.sampled_from(parameter.options))
        elif isinstance(parameter, Int):
            values[name] = draw(st.integers(parameter.low, parameter.high))
        else:
            assert isinstance(parameter, Float)
            values[name] = draw(st.floats(parameter.low, parameter.high))
    return space, values


@given(space=SPACES)
def test_spaces_come_back(space: Space) -> None:
    again = read_space(through_json(write_space(space)))
    assert again == space
    assert repr(again) == repr(space)  # 1 is not True, nor 1.0


@given(point=points())
def test_params_come_back(point: tuple[Space, dict[str, Any]]) -> None:
    space, values = point
    params = space.check(values)
    again = read_params(space, through_json(write_params(space, params)))
    assert repr(again) == repr(params)
    assert (space.encode(again) == space.encode(params)).all()


@given(
    point=points(),
    outcome=st.sampled_from(["asked", "failed"]) | st.floats(allow_nan=False, allow_infinity=False),
    origin=st.sampled_from(["suggested", "queued", "observed"]),
    texts=st.tuples(TEXTS, TEXTS, TEXTS),
    times=st.tuples(TIMES, TIMES),
    number=st.integers(0, 10**6),
)
def test_trials_come_back(
    point: tuple[Space, dict[str, Any]],
    outcome: Any,
    origin: Any,
    texts: tuple[str | None, str | None, str | None],
    times: tuple[datetime | None, datetime | None],
    number: int,
) -> None:
    space, values = point
    state: Any
    state, told = (outcome, {}) if isinstance(outcome, str) else ("done", {"value": outcome})
    error, worker, notes = texts
    trial = Trial(number, space.check(values), state, told, error, origin, *times, worker, notes)
    again = read_trial(Problem(space), through_json(write_trial(space, trial)), number)
    assert repr(again) == repr(trial)


def test_options_that_look_alike_stay_apart() -> None:
    space = Space({"c": Choice([1, True, 1.0, "1", None, "None", (), (1,), ((1,),), (1, 2), "", 2**70])})
    for option in space.parameters["c"].values():
        params = {"c": option}
        assert repr(read_params(space, through_json(write_params(space, params)))) == repr(params)
    assert repr(read_space(through_json(write_space(space)))) == repr(space)


@pytest.mark.parametrize(
    "option",
    [
        b"a",
        frozenset({1}),
        math.nan,
        math.inf,
        1j,
        object(),
        (1, b"a"),
        ((math.nan,),),
        type("S", (str,), {})("a"),
    ],
)
def test_options_that_json_would_change_are_refused(option: Any) -> None:
    with pytest.raises(BoppError, match="JSON"):
        write_space(Space({"c": Choice([option, "b"])}))
    space = Space({"c": Choice(["b", option])})
    assert write_params(space, {"c": option}) == {"c": {"option": 1}}
    assert read_params(space, {"c": {"option": 1}})["c"] is option


SPACE = Space({"x": Float(0, 1), "n": Int(1, 9), "c": Choice(["a", (1, 2), None])})
PARAMS = {"x": 0.5, "n": 3, "c": {"option": 1}}
PROBLEM = Problem(SPACE)
ROW = {
    **write_trial(SPACE, Trial(4, {"x": 0.5, "n": 3, "c": (1, 2)}, "done", {"value": 1.5}, None, "queued")),
    "params": PARAMS,
}


FLOAT = {"kind": "Float", "low": 0, "high": 1, "log": False}
INT, CHOICE = FLOAT | {"kind": "Int"}, {"kind": "Choice", "ordered": False}
WRONG_OPTIONS: list[Any] = [[], "ab", None, ["a", "a"], [["a"]]]
WRONG_TUPLES: list[Any] = [{"tuple": 5}, {"list": [5]}, {"tuple": [{}]}]
WRONG_VALUES: list[Any] = [None, 1, "1.5", True, math.nan, math.inf, [1.5], {}]
WRONG_PARAMETERS: list[Any] = [
    *(None, {}, [], {"kind": "Float", "low": 0, "high": 1}),
    *(FLOAT | {"kind": "Real"}, FLOAT | {"kind": ["Float"]}, FLOAT | {"low": 1, "high": 0}),
    *(FLOAT | {"low": "0"}, FLOAT | {"low": math.nan}, FLOAT | {"high": math.inf}, FLOAT | {"high": 10**400}),
    *(INT | {"high": 1.5}, INT | {"high": 2**53 + 1}, INT | {"low": True, "high": 5}),
    *(CHOICE | {"options": one} for one in WRONG_OPTIONS),
    *(CHOICE | {"options": [one]} for one in WRONG_TUPLES),
]


@pytest.mark.parametrize("rows", [{}, [], None, 5, *({"x": one} for one in WRONG_PARAMETERS)])
def test_spaces_that_are_none_are_refused(rows: Any) -> None:
    with pytest.raises(BoppError), reading("a document"):
        read_space(rows)


WRONG_PARAMS: dict[str, list[Any]] = {
    "x": [2.0, math.nan, None, "0.5", True, {"option": 0}],
    "n": [1.5, 10, [3]],
    "c": ["b", [1, 2], {"place": 1}, {}, *({"option": one} for one in (-1, 3, 1.5, "1", None, True))],
    "extra": [1],
}


@pytest.mark.parametrize(
    "row",
    [
        *({**PARAMS, name: one} for name, wrong in WRONG_PARAMS.items() for one in wrong),
        *(None, [], "x", 5, {}, {"x": 0.5}),
    ],
)
def test_params_that_do_not_fit_are_refused(row: Any) -> None:
    with pytest.raises(BoppError), reading("a document"):
        read_params(SPACE, row)


SUPERSEDED = Trial(4, {}, "done", {"value": 2.5}).dropped(datetime(2024, 5, 6, tzinfo=UTC), "a slip")
PAST = write_trial(SPACE, SUPERSEDED)["superseded"][0]
WRONG_PAST: list[dict[str, Any]] = [
    *({"reason": None}, {"reason": 5}, {"at": None}, {"at": "2024-05-06"}, {"state": "gone"}),
    *({"error": 5}, {"values": None}, {"number": 4}),
]
WRONG_FIELDS: dict[str, list[Any]] = {
    "number": [5, None, "4"],
    "state": ["waiting", None, ["done"], "failed", "asked"],
    "values": [
        *(None, [], 1.5, {}, {"error": 1.5}, {"value": 1.5, "more": 1.5}),
        *({"value": one} for one in WRONG_VALUES),
        *({"value": {"number": one}} for one in ("nan", "many")),
    ],
    "value": [1.5],
    "noise": [0.5, {"value": -0.5}, {"value": 1}, {"value": {"number": "inf"}}, {"more": 0.5}],
    "measurements": [[1], {"more": {"word": 1}}],
    "error": [5, b"x"],
    "worker": [5],
    "notes": [{}],
    "origin": ["elsewhere", None],
    "asked_at": ["yesterday", 5, "2024-01-01T00:00:00"],  # the last has no zone
    "told_at": ["", b"2024-01-01"],
    "params": [None, {}, []],
    "superseded": [None, 5, ["x"], [{}], *([PAST | one] for one in WRONG_PAST)],
    "extra": [1],
    "__class__": [1],
}


@pytest.mark.parametrize("changed", [{name: one} for name, wrong in WRONG_FIELDS.items() for one in wrong])
def test_trials_that_are_none_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BoppError), reading("a document"):
        read_trial(PROBLEM, {**ROW, **changed}, 4)


@pytest.mark.parametrize("missing", ROW)
def test_trials_that_lack_something_are_refused(missing: str) -> None:
    trial = Trial(4, {"x": 0.5, "n": 3, "c": (1, 2)}, "done", {"value": 1.5}, None, "queued")
    assert read_trial(PROBLEM, ROW, 4) == trial
    past = read_trial(PROBLEM, {**ROW, "superseded": [PAST]}, 4).superseded
    assert past == SUPERSEDED.superseded
    with pytest.raises(BoppError), reading("a document"):
        read_trial(PROBLEM, {name: value for name, value in ROW.items() if name != missing}, 4)
    for number in (True, 1.0):
        with pytest.raises(BoppError), reading("a document"):
            read_trial(PROBLEM, {**ROW, "number": number}, 1)


def test_what_is_too_large_is_unreadable() -> None:
    with pytest.raises(BoppError, match="a document: OverflowError"), reading("a document"):
        float(10**400)


def test_times_keep_their_moment() -> None:
    at = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    trial = Trial(0, SPACE.check({"x": 0.5, "n": 3, "c": None}), asked_at=at)
    assert read_trial(PROBLEM, through_json(write_trial(SPACE, trial)), 0).asked_at == at


def test_one_of() -> None:
    assert one_of(("a", "b"), "b") == "b"
    words: list[Any] = ["c", None, ["a"], {}]
    for word in words:
        with pytest.raises(BoppError, match="wanted one of"):
            one_of(("a", "b"), word)


def there_and_back(recipe: Recipe) -> Recipe:
    return read_recipe(through_json(write_recipe(recipe)))


@pytest.mark.parametrize(
    "recipe", [*PRESETS, *(replace(Recipe.default(), **{field: part}) for field, part in PARTS)]
)
def test_every_preset_and_every_part_comes_back(recipe: Recipe) -> None:
    assert there_and_back(recipe) == recipe
    assert repr(there_and_back(recipe)) == repr(recipe)


NO_PARTS = {
    acquisitions: "Maximum differentiated is_logarithmic is_positive log_h logarithmic maximum",
    fits: "MaximumLikelihood slice_step telling",
    initials: "Initial",
    kernels: "Kernel distance_to_prepared prepared squared_distance",
    outcomes: "MarginScale Scale SqueezedScale unsqueezed yeo_johnson yeo_johnson_inverse",
    pseudo: "Source generate none sources without_sources",
    searches: "Score ascend best_fresh ranked",
}
"""What is public in these modules and no part of a recipe."""


def test_every_public_part_has_a_name_and_comes_back() -> None:
    """Whoever adds a part to the engine gives it a name in `PARTS`, which is for ever."""
    public = {
        f"{module.__name__.rpartition('.')[2]}.{name}": thing
        for module, without in NO_PARTS.items()
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", "").startswith(module.__name__)
        and callable(thing)
        and name[0] != "_"
        and name not in without.split()
    }
    assert public == NAMED
    written = json.dumps([write_part(part) for _, part in PARTS])
    for name, thing in NAMED.items():
        assert f'"{name}"' in written, f"{name} is not among the PARTS of support.recipes"
        if not inspect.isclass(thing):
            assert read_part(through_json(write_part(thing))) is thing


def test_the_name_of_a_part_does_not_depend_on_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels.Matern52, "__module__", "bopp.elsewhere")
    assert write_part(kernels.Matern52()) == {"part": "kernels.Matern52", "settings": {"ard": True}}
    assert there_and_back(RANDOM) == RANDOM


@pytest.mark.parametrize(("field", "part", "name"), YOURS)
def test_parts_of_your_own_are_written_by_name_and_cannot_be_read(field: str, part: Any, name: str) -> None:
    written = through_json(write_recipe(replace(RANDOM, **{field: part})))
    assert name in json.dumps(written)
    with pytest.raises(StudyError, match=rf"{field}.*recipe="):
        read_recipe(written)


def test_a_part_of_yours_is_not_taken_for_one_of_the_engine() -> None:
    def ei(mean: Array, sd: Array, known: Known) -> Array:
        return mean

    ei.__module__, ei.__qualname__ = "bopp.acquisition", "ei"
    assert write_recipe(replace(RANDOM, acquisition=ei))["acquisition"] != {"part": "acquisition.ei"}


@pytest.mark.fault(27)
@pytest.mark.parametrize("parts", REFUSED)
def test_hostile_recipes_are_refused(parts: dict[str, Any]) -> None:
    if parts == {}:
        assert read_recipe(parts) == Recipe.default()  # what is not said is as usual
        return
    with pytest.raises(StudyError):
        read_recipe(parts)


@pytest.mark.parametrize(("now", "parts"), ESCAPING)
def test_recipes_that_are_wrong_within_are_refused(now: str, parts: Any) -> None:
    with pytest.raises(StudyError):
        read_recipe(parts)


@pytest.mark.fault(27)
def test_no_function_is_called_by_a_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def squared_distance(A: Any = None, B: Any = None) -> Any:
        calls.append((A, B))
        return lambda *_: 0.0

    squared_distance.__module__ = "bopp.kernels"
    monkeypatch.setattr(kernels, "squared_distance", squared_distance)
    with pytest.raises(StudyError):
        read_recipe(usual(kernel=settings("kernels.squared_distance", A=[[1.0]], B=[[2.0]])))
    assert calls == []


# problems, measurements, noise


NAMES = st.text(st.characters(), min_size=1, max_size=5)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
MEASUREMENTS = st.none() | st.booleans() | st.floats() | st.text(st.characters(), max_size=5)


@st.composite
def problems(draw: st.DrawFn, most: int = 3) -> Problem:
    objectives = draw(
        st.dictionaries(NAMES, st.sampled_from(["minimize", "maximize"]), min_size=1, max_size=most)
    )
    limits = draw(st.lists(st.builds(AtMost, NAMES, FINITE) | st.builds(AtLeast, NAMES, FINITE), max_size=3))
    reference = {name: draw(FINITE) for name in objectives} if len(objectives) > 1 else None
    reference = draw(st.sampled_from([None, reference]))
    return Problem({"x": Float(0, 1)}, objectives, limits, reference=reference)


@given(problem=problems())
def test_problems_come_back(problem: Problem) -> None:
    again = read_problem(problem.space, through_json(write_problem(problem)))
    assert again == problem
    assert list(again.objectives) == list(problem.objectives)
    assert again.names == problem.names
    assert ("reference" in write_problem(problem)) == (problem.reference is not None)


@st.composite
def finished(draw: st.DrawFn) -> tuple[Problem, Trial]:
    problem = draw(problems())
    measured = draw(st.lists(st.sampled_from(problem.names), min_size=1, unique=True))
    values = {name: draw(FINITE) if name in measured else None for name in problem.names}
    noise = {name: draw(st.floats(0.0, 1e300)) for name in draw(st.sets(st.sampled_from(measured)))}
    measurements = draw(st.dictionaries(NAMES, MEASUREMENTS, max_size=3))
    state: Any = draw(st.sampled_from(["done", "failed", "asked"]))
    if state != "done":
        values, noise = {}, {}
    return problem, Trial(0, {"x": 0.5}, state, values, noise=noise, measurements=measurements)


@given(case=finished())
def test_values_noise_and_measurements_come_back(case: tuple[Problem, Trial]) -> None:
    problem, trial = case
    again = read_trial(problem, through_json(write_trial(problem.space, trial)), 0)
    assert repr(again) == repr(trial)  # NaN is not equal to itself, and its text is


@given(case=finished())
def test_results_come_back(case: tuple[Problem, Trial]) -> None:
    problem, trial = case
    result = Result(problem, (trial,))
    again = Result.from_json(result.to_json())
    assert repr(again.trials) == repr(result.trials)
    assert again.problem == problem
    assert again.to_json() == result.to_json()


def small(params: Mapping[str, Any]) -> bool:
    return bool(params["x"] < 0.5)


def test_a_condition_comes_back_by_name_and_has_to_be_brought_along() -> None:
    problem = Problem({"x": Float(0, 1)}, constraints=[AtMost("m", 1.0), Holds("x small", small)])
    written = through_json(write_problem(problem))
    assert written["constraints"][1] == {
        "kind": "Holds",
        "name": "x small",
        "predicate": {"yours": f"{__name__}.small"},
    }
    again = read_problem(problem.space, written)
    assert [constraint.name for constraint in again.constraints] == ["m", "x small"]
    assert through_json(write_problem(again)) == written
    with pytest.raises(NoResultError, match="x small"):
        again.allows({"x": 0.2})
    result = Result(problem, (Trial(0, {"x": 0.2}, "done", {"value": 1.0, "m": 1.0}),))
    assert Result.from_json(result.to_json()).trials == result.trials


ONE, BOTH = {"value": "minimize"}, {"a": "minimize", "b": "minimize"}
LIMIT = {"kind": "AtMost", "name": "m", "bound": 1.0}
WRONG_CONSTRAINTS: list[Any] = [
    *(
        None,
        "AtMost",
        {},
        {"kind": "AtMost", "name": "m"},
        {"kind": "Holds"},
        {"kind": "Holds", "name": None},
    ),
    *(LIMIT | {"kind": "Below"}, LIMIT | {"kind": ["AtMost"]}, LIMIT | {"name": 5}),
    *(LIMIT | {"bound": "1"}, LIMIT | {"bound": None}),
]
WRONG_PROBLEMS: list[Any] = [
    *(None, [], {}, {"objectives": ONE}, {"constraints": []}, {"objectives": ONE, "constraints": None}),
    *({"objectives": one, "constraints": []} for one in ({}, {"value": "up"}, {"": "minimize"}, ["value"])),
    *({"objectives": ONE, "constraints": [one]} for one in WRONG_CONSTRAINTS),
    {"objectives": ONE, "constraints": [], "reference": {"value": 1.0}},
    *(
        {"objectives": BOTH, "constraints": [], "reference": one}
        for one in ({"a": 1.0}, [1.0, 2.0], {"a": 1, "b": "1"})
    ),
]


@pytest.mark.parametrize("row", WRONG_PROBLEMS)
def test_problems_that_are_none_are_refused(row: Any) -> None:
    with pytest.raises(BoppError), reading("a document"):
        read_problem(SPACE, row)


# which part of a recipe is another


def other(stored: Recipe, given: Recipe) -> str | None:
    """The part that differs, of one recipe after a store and another."""
    return other_part(through_json(write_recipe(stored)), given)


def with_acquisition(part: Any) -> Recipe:
    return replace(RANDOM, acquisition=part)


@dataclass(frozen=True, eq=False)
class Centred:
    centre: Any

    def __call__(self, mean: Array, sd: Array, known: Known) -> Array:
        return mean


class Plain:
    """A part of your own that is no dataclass."""

    def __init__(self, scale: float):
        self.scale = scale

    def __call__(self, mean: Array, sd: Array, known: Any) -> Array:
        return mean + self.scale * sd


def scaled(by: Any) -> Any:
    return lambda mean, sd, known: mean * by


def another(by: Any) -> Any:
    return lambda mean, sd, known: mean * by


ANY: Any = greedy
OF_YOURS: dict[str, tuple[Any, ...]] = {
    "function": (greedy, greedy, mirror),
    "part of the engine": (greedy, greedy, acquisitions.ei),
    "lambda": (scaled(1.0), scaled(2.0), another(1.0)),
    "partial": (partial(ANY, sd=1.0), partial(ANY, sd=2.0), partial(mirror)),
    "object": (Plain(1.0), Plain(2.0), Shifted(1.0)),
    "method": (Plain(1.0).__call__, Plain(2.0).__call__, Plain(1.0)),
    "dataclass": (Shifted(1.0), Shifted(1.0), Shifted(2.0)),
    "infinite setting": (Shifted(math.inf), Shifted(math.inf), Shifted(-math.inf)),
    "array": (Centred(np.array([0.1, 0.5])), Centred(np.array([0.1, 0.5])), Centred(np.array([0.2, 0.5]))),
    "dict": (Centred({"x": 0.1}), Centred({"x": 0.1}), Centred({"x": 0.2})),
    "list": (Centred([0.1, (1, "a")]), Centred([0.1, (1, "a")]), Centred([0.1, (1, "b")])),
    "lambda as a setting": (Centred(scaled(1.0)), Centred(scaled(2.0)), Centred(another(1.0))),
    "part": (Centred(acquisitions.UCB(1.0)), Centred(acquisitions.UCB(1.0)), Centred(acquisitions.UCB(2.0))),
    "lambda in a part": tuple(map(acquisitions.UCB, (scaled(1.0), scaled(2.0), another(1.0)))),
}
"""Parts of your own: one, the same to bopp, and another."""


@pytest.mark.parametrize("kind", OF_YOURS)
def test_parts_of_yours_are_the_same_by_name_and_settings(kind: str) -> None:
    one, same, different = map(with_acquisition, OF_YOURS[kind])
    assert other(one, same) is other(same, one) is None
    assert other(one, different) == other(different, one) == "acquisition"
    for recipe in (one, same):  # as JSON, by the letter
        written = write_recipe(recipe)
        assert through_json(written) == written
        assert has_parts_of_yours(written)
    one, same, different = (replace(RANDOM, pseudo=pseudo.Pending() + part) for part in OF_YOURS[kind])
    assert other(one, same) is None
    assert other(one, different) == "pseudo"


def test_a_function_of_yours_is_written_by_its_qualified_name_alone() -> None:
    assert write_part(greedy) == {"yours": "support.recipes.greedy"}
    assert write_part(scaled(1.0)) == {"yours": f"{__name__}.scaled.<locals>.<lambda>"}
    assert write_part(Plain(1.0)) == {"yours": f"{__name__}.Plain"}
    assert write_part(Shifted(1.0)) == {"yours": "support.recipes.Shifted", "settings": {"by": 1.0}}


def test_a_part_that_holds_itself_can_be_written() -> None:
    ring: list[Any] = [1.0]
    ring.append(ring)
    recipe = with_acquisition(Centred(ring))
    assert other(recipe, recipe) is None


def test_a_recipe_of_the_engine_is_compared_as_a_value() -> None:
    for recipe in PRESETS:
        assert other(recipe, recipe) is None
    assert other(RANDOM, replace(RANDOM, kernel=kernels.SquaredExponential())) == "kernel"
    assert other(RANDOM, replace(RANDOM, fit=fits.MAP(largest=7))) == "fit"
    assert other(Recipe.default(), Recipe.random()) == "initial"


def test_a_setting_that_came_later_counts_as_it_is_without_being_named() -> None:
    written = through_json(write_recipe(Recipe.default()))
    del written["fit"]["settings"]["lengthscale"]
    del written["outcome"]
    assert other_part(written, Recipe.default()) is None
    assert other_part(written, replace(Recipe.default(), fit=fits.MAP(lengthscale=(0.1, 1.0)))) == "fit"
    assert other_part(written, replace(Recipe.default(), outcome=outcomes.raw)) == "outcome"


def test_a_setting_that_came_later_counts_beside_parts_of_yours_too() -> None:
    recipe = replace(RANDOM, pseudo=pseudo.Pending() + mirror)
    written = through_json(write_recipe(recipe))
    del written["pseudo"]["settings"]["policies"][0]["settings"]["value"]
    assert other_part(written, recipe) is None
    assert other_part(written, replace(RANDOM, pseudo=pseudo.Pending("best") + mirror)) == "pseudo"
    assert other_part(written, replace(RANDOM, pseudo=pseudo.Failed() + mirror)) == "pseudo"


def test_a_part_that_this_version_lacks_is_another_or_refused() -> None:
    written = through_json(write_recipe(RANDOM))
    assert other_part({**written, "more": 5}, RANDOM) == "more"
    lacking = {**written, "kernel": {"part": "kernels.Cubic", "settings": {}}}
    assert other_part(lacking, RANDOM) == "kernel"
    with pytest.raises(StudyError, match=r"this bopp lacks.*bopp switch"):
        read_recipe(lacking)
    unknown = {**written, "search": {"part": "search.Direct", "settings": {"luck": 3}}}
    assert other_part(unknown, RANDOM) == "search"
    with pytest.raises(StudyError, match=r"cannot be read.*bopp switch"):
        read_recipe(unknown)


def test_a_subclass_of_a_parameter_is_kept_as_what_it_is() -> None:
    class Mine(Float):
        pass

    assert read_space(through_json(write_space(Space({"x": Mine(0, 1)})))) == Space({"x": Float(0, 1)})
