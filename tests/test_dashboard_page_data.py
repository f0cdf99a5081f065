"""What pages show of a study: true, of a size that a browser can take, and JSON whatever the trials hold."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import AtMost, Choice, Float, Holds, Int, Problem, Result, Space, Trial
from bopp.dashboard import page_data
from bopp.dashboard.page_data import DRAWN, LINES, OPTIONS, PAGE, Query
from bopp.dashboard.watch import Snapshot
from bopp.errors import BoppError, NoResultError, RecipeError
from bopp.problem import LARGEST
from bopp.view.coordinates import coordinates
from bopp.view.front import front
from support.courses import BEGAN, LIMITS, PROBLEMS, SPACE, below, drawn, final, snapshot_of, walk

KINDS = st.sampled_from(sorted(PROBLEMS))
SEEDS = st.integers(0, 2**32)
STEPS = st.sampled_from([60, 20, 3, 0])
MANY = 9_000  # more than a chart shows
few = settings(max_examples=25)


def refused(word: str) -> Any:
    raise AssertionError(f"{word} is not JSON")


def read(data: Any) -> Any:
    """What a browser gets of it."""
    return json.loads(msgspec.json.encode(data), parse_constant=refused)


def walked(kind: str, seed: int, steps: int) -> tuple[Snapshot, tuple[Trial, ...]]:
    problem = PROBLEMS[kind]
    trials = final(walk(problem, steps, seed, strays=True))
    return snapshot_of(problem, trials), trials


def some(trials: tuple[Trial, ...], numbers: list[int]) -> list[Trial]:
    return [trials[number] for number in numbers]


@cache
def many(kind: str) -> tuple[Snapshot, tuple[Trial, ...]]:
    problem, rng = PROBLEMS[kind], np.random.default_rng(7)
    values = rng.normal(size=(MANY, len(problem.names))).tolist()
    params = [drawn(problem, rng) for _ in range(100)]
    trials = []
    for number in range(MANY):
        trial = Trial(number, params[number % 100], asked_at=BEGAN)
        told = dict(zip(problem.names, values[number] if number % 4 else [None], strict=False))
        trials.append(trial.told(problem.answer(told), BEGAN))
    return snapshot_of(problem, trials), tuple(trials)


def counted(snapshot: Snapshot) -> list[tuple[str, int]]:
    """The limits in words, and how many trials are said to break each."""
    return [(words, int(re.findall(r"\d+", said)[0])) for words, said in page_data.limits(snapshot)]


# Charts


@few
@given(KINDS, SEEDS, STEPS)
def test_a_convergence_has_every_value_and_the_best_so_far(kind: str, seed: int, steps: int) -> None:
    snapshot, trials = walked(kind, seed, steps)
    if len(snapshot.problem.objectives) > 1:
        return
    data = read(page_data.convergence_data(snapshot.columns))
    name = snapshot.problem.objective
    done = [trial for trial in trials if trial.values.get(name) is not None]
    assert data["numbers"] == [trial.number for trial in done]
    assert data["values"] == [trial.values[name] for trial in done]
    assert data["failed"] == [trial.number for trial in trials if trial.state == "failed"]
    assert (data["total"], data["shown"]) == (len(done), len(done))
    best = snapshot.columns.best
    if best is not None:
        assert data["best"][-1] == trials[best].values[name]
        first = next(
            i for i, trial in enumerate(done) if not np.isnan(snapshot.columns.rows["gains"][trial.number, 0])
        )
        assert data["best"][:first] == [None] * first
    else:
        assert set(data["best"]) <= {None}


@few
@given(KINDS, SEEDS, STEPS)
def test_a_picture_of_a_front_says_where_each_trial_is(kind: str, seed: int, steps: int) -> None:
    snapshot, trials = walked(kind, seed, steps)
    objectives = list(snapshot.problem.objectives)
    if len(objectives) < 2:
        with pytest.raises(RecipeError, match="several objectives, got one"):
            page_data.checked_objectives(snapshot.problem, [])
        return
    names = page_data.checked_objectives(snapshot.problem, [objectives[-1], "nobody", objectives[0]])
    assert names == [objectives[-1], objectives[0]]
    assert page_data.checked_objectives(snapshot.problem, [objectives[1], objectives[1]]) == objectives[:2]
    numbers = page_data.front_numbers(snapshot.columns)
    try:
        expected = front(Result(snapshot.problem, trials), names)
    except NoResultError:  # nothing is finished, or a condition cannot be checked
        return
    data = read(page_data.front_data(snapshot, some(trials, numbers), names))
    assert data["numbers"] == expected.numbers == numbers
    assert data["places"] == expected.places
    shown = np.array([data["x"], data["y"]], dtype=float).T.reshape(-1, 2)
    np.testing.assert_array_equal(shown, expected.values)
    assert data["directions"] == [snapshot.problem.objectives[name] for name in names]
    assert data["total"] == len(numbers)


@few
@given(KINDS, SEEDS, STEPS)
def test_parallel_axes_show_what_the_picture_of_them_shows(kind: str, seed: int, steps: int) -> None:
    snapshot, trials = walked(kind, seed, steps)
    result = Result(snapshot.problem, trials)
    for objective in snapshot.problem.objectives:
        numbers = page_data.parallel_numbers(snapshot.columns, objective)
        try:
            expected = coordinates(result if len(snapshot.problem.objectives) == 1 else result.of(objective))
        except NoResultError:
            with pytest.raises(NoResultError):
                page_data.parallel_data(snapshot, some(trials, numbers), objective)
            continue
        data = read(page_data.parallel_data(snapshot, some(trials, numbers), objective))
        assert data["lines"] == [{**vars(line), "places": [*line.places]} for line in expected.lines]
        assert [axis["name"] for axis in data["axes"]] == [axis.name for axis in expected.axes]
        assert data["shown"] <= data["total"]


@pytest.mark.parametrize("kind", ["least", "limited"])
def test_a_convergence_of_many_trials_is_thinned(kind: str) -> None:
    snapshot, trials = many(kind)
    data = page_data.convergence_data(snapshot.columns)
    assert DRAWN / 2 < len(data["numbers"]) == data["shown"] <= DRAWN
    assert len(data["failed"]) <= DRAWN
    assert data["total"] == snapshot.columns.count("done")
    values = [trial.value for trial in trials if trial.state == "done"]
    assert {min(values), max(values)} <= set(data["values"])
    assert len(msgspec.json.encode(data)) < 500_000


@pytest.mark.parametrize("kind", ["goals", "limited goals"])
def test_a_front_of_many_trials_is_thinned_and_stays_true(kind: str) -> None:
    snapshot, trials = many(kind)
    names = page_data.checked_objectives(snapshot.problem, [])
    numbers = page_data.front_numbers(snapshot.columns)
    assert len(numbers) <= 2 * LINES
    data = page_data.front_data(snapshot, some(trials, numbers), names)
    places = dict(zip(data["numbers"], data["places"], strict=True))
    assert [number for number, place in places.items() if place == "front"] == snapshot.columns.front
    assert len(msgspec.json.encode(data)) < 500_000


def test_of_a_front_that_is_too_long_to_show_no_other_trial_is_taken_for_a_part() -> None:
    problem = PROBLEMS["goals"]
    rng = np.random.default_rng(1)
    trials = []
    for number in range(4 * LINES):  # first the front, each better in one and worse in the other; then worse
        a = float(number % (2 * LINES)) + (0.5 if number >= 2 * LINES else 0.0)
        trial = Trial(number, drawn(problem, rng), asked_at=BEGAN)
        trials.append(trial.told(problem.answer({"a": a, "b": float(number % (2 * LINES))}), BEGAN))
    snapshot = snapshot_of(problem, trials)
    assert len(snapshot.columns.front) == 2 * LINES
    data = page_data.front_data(
        snapshot, some(tuple(trials), page_data.front_numbers(snapshot.columns)), ["a", "b"]
    )
    said = {n for n, place in zip(data["numbers"], data["places"], strict=True) if place == "front"}
    assert said
    assert said <= set(snapshot.columns.front)
    assert {"front", "dominated"} == set(data["places"])


@pytest.mark.parametrize("kind", ["least", "limited goals"])
def test_parallel_axes_of_many_trials_show_the_best_and_some_others(kind: str) -> None:
    snapshot, trials = many(kind)
    for objective in snapshot.problem.objectives:
        numbers = page_data.parallel_numbers(snapshot.columns, objective)
        assert LINES / 2 < len(numbers) <= LINES
        assert any(trials[number].state == "failed" for number in numbers)
        data = page_data.parallel_data(snapshot, some(trials, numbers), objective)
        assert len(data["lines"]) <= LINES
        assert len(msgspec.json.encode(data)) < 500_000
        if len(snapshot.problem.objectives) == 1:
            best = Result(snapshot.problem, trials).best
            assert [line.number for line in data["lines"] if line.best] == [best.number]


def test_the_largest_numbers_of_all_are_json() -> None:
    problem = Problem({"x": Float(-LARGEST, LARGEST)}, {"a": "minimize", "b": "maximize"}, [AtMost("c", -1)])
    trials = [
        Trial(i, {"x": x}, asked_at=BEGAN).told(problem.answer({"a": x, "b": -x, "c": x}), BEGAN)
        for i, x in enumerate([-LARGEST, LARGEST, 5e-324, -0.0])
    ]
    snapshot = snapshot_of(problem, trials)
    assert read(page_data.front_data(snapshot, trials, ["a", "b"]))["x"] == [-LARGEST, LARGEST, 5e-324, 0.0]
    assert len(read(page_data.parallel_data(snapshot, trials, "b"))["lines"]) == 4
    assert counted(snapshot) == [("c \N{LESS-THAN OR EQUAL TO} -1", 3)]


# Tables


@few
@given(KINDS, SEEDS, st.sampled_from([300, 50, 0]), st.booleans())
def test_the_pages_of_a_table_have_every_trial_once(kind: str, seed: int, steps: int, falling: bool) -> None:
    snapshot, trials = walked(kind, seed, steps)
    order = "down" if falling else "up"
    found: list[int] = []
    pages = max(1, -(-len(trials) // PAGE))
    for page in range(1, pages + 1):
        numbers, query, total, last = Query.of({"page": str(page), "order": order}).find(snapshot.columns)
        assert (query.page, last) == (page, pages)
        assert len(numbers) <= PAGE
        assert total == len(trials)
        found += numbers
    assert found == sorted(range(len(trials)), reverse=falling)
    beyond, *_ = Query.of({"page": str(pages + 5), "order": order}).find(snapshot.columns)
    assert beyond == numbers


FIELDS = st.sampled_from(["sort", "order", "state", "text", "broken", "page", "other"])
WORDS = "-1 0 1e9 0x10 999999 NaN yes up number state value: param:x value:value unread done ../../etc"
HOSTILE = st.one_of(
    st.text(max_size=200),
    st.sampled_from([*WORDS.split(), "9" * 400, "\u0663", "\u00b2", " 1", "", "'; --"]),
)


@few
@given(KINDS, st.dictionaries(FIELDS, HOSTILE))
def test_a_hostile_query_finds_some_trials_or_none(kind: str, asked: dict[str, str]) -> None:
    snapshot, trials = walked(kind, 5, 60)
    query = Query.of(asked)
    numbers, _, total, _ = query.find(snapshot.columns)
    assert len(numbers) <= min(PAGE, total) <= len(trials)
    assert set(numbers) <= set(range(len(trials)))
    assert len(query.text) <= 100
    assert type(query.page) is int


def test_what_a_query_says_is_understood() -> None:
    asked = {
        "sort": "param:x",
        "order": "up",
        "state": "done",
        "text": "a" * 300,
        "broken": "yes",
        "page": "3",
    }
    assert Query.of(asked) == Query("param:x", False, "done", "a" * 100, True, 3)
    assert Query.of({}) == Query() == Query("number", True, "", "", False, 1)


@few
@given(SEEDS, STEPS)
def test_two_limits_of_one_value_are_counted_apart(seed: int, steps: int) -> None:
    snapshot, trials = walked("limited", seed, steps)
    memories = [value for trial in trials if (value := trial.values.get("memory")) is not None]
    speeds = [value for trial in trials if (value := trial.values.get("speed")) is not None]
    assert counted(snapshot) == [
        ("memory \N{LESS-THAN OR EQUAL TO} 0.6", sum(value > 0.6 for value in memories)),
        ("memory \N{GREATER-THAN OR EQUAL TO} 0.1", sum(value < 0.1 for value in memories)),
        ("speed \N{GREATER-THAN OR EQUAL TO} 0.2", sum(value < 0.2 for value in speeds)),
    ]


def test_conditions_are_listed_after_limits() -> None:
    problem = Problem(SPACE, {"loss": "minimize"}, [Holds("x is small", below), *LIMITS])
    assert [word for word, _ in page_data.limits(snapshot_of(problem, []))][-1] == "x is small"
    assert len(page_data.limits(snapshot_of(problem, []))) == 4


# Forms


@pytest.mark.parametrize("kind", sorted(PROBLEMS))
def test_what_a_field_offers_can_be_typed(kind: str) -> None:
    space = PROBLEMS[kind].space
    shown = page_data.fields(space)
    assert [field.name for field in shown] == [name for name, one in space.parameters.items() if one.width]
    for field in shown:
        parameter = space.parameters[field.name]
        assert bool(field.options) != bool(field.hint)
        if field.options:
            parsed = [space.check_one(field.name, parameter.parse(option)) for option in field.options]
            assert parsed == parameter.spread(OPTIONS)
        else:
            low, high = (parameter.parse(word) for word in field.hint.split(" to "))
            assert space.check_one(field.name, low) < space.check_one(field.name, high)


def test_a_list_of_options_does_not_grow_without_end() -> None:
    space = Space({"word": Choice([f"w{i}" for i in range(OPTIONS + 1)]), "n": Int(0, 2**53)})
    word, n = page_data.fields(space)
    assert (word.options, word.hint) == ((), f"one of {OPTIONS + 1}, such as w0")
    assert (n.options, n.hint) == ((), "0 to 9.0072e+15")


@few
@given(KINDS, st.text(max_size=50))
def test_an_objective_that_nobody_has_is_refused_in_words(kind: str, word: str) -> None:
    snapshot, trials = walked(kind, 5, 60)
    assert page_data.parallel_numbers(snapshot.columns, word) == page_data.parallel_numbers(snapshot.columns)
    if len(snapshot.problem.objectives) > 1 and word not in snapshot.problem.names:
        with pytest.raises(BoppError):
            page_data.parallel_data(snapshot, trials, word)
