from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bopp import Choice, Float, Int, Space, Trial
from bopp.errors import BoppError
from bopp.parameter import Parameter
from bopp.written import (
    UNREADABLE,
    one_of,
    read_params,
    read_space,
    read_trial,
    written_params,
    written_space,
    written_trial,
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
        low, high = sorted(draw(st.lists(st.integers(-(2**80), 2**80), min_size=2, max_size=2, unique=True)))
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
            values[name] = draw(st.floats(parameter.low, parameter.high))
    return space, values


@given(space=SPACES)
def test_spaces_come_back(space: Space) -> None:
    again = read_space(through_json(written_space(space)))
    assert again == space
    assert repr(again) == repr(space)  # 1 is not True, nor 1.0


@given(point=points())
def test_params_come_back(point: tuple[Space, dict[str, Any]]) -> None:
    space, values = point
    params = space.check(values)
    again = read_params(space, through_json(written_params(space, params)))
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
    state, value = (outcome, None) if isinstance(outcome, str) else ("done", outcome)
    error, worker, notes = texts
    trial = Trial(number, space.check(values), state, value, error, origin, *times, worker, notes)
    again = read_trial(space, through_json(written_trial(space, trial)), number)
    assert repr(again) == repr(trial)


def test_options_that_look_alike_stay_apart() -> None:
    space = Space({"c": Choice([1, True, 1.0, "1", None, "None", (), (1,), ((1,),), (1, 2), "", 2**70])})
    for option in space.parameters["c"].values():
        params = {"c": option}
        assert repr(read_params(space, through_json(written_params(space, params)))) == repr(params)
    assert repr(read_space(through_json(written_space(space)))) == repr(space)


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
    with pytest.raises(BoppError, match="'c': JSON takes options that are text, numbers, None or tuples"):
        written_space(Space({"c": Choice([option, "b"])}))
    space = Space({"c": Choice(["b", option])})
    assert written_params(space, {"c": option}) == {"c": {"option": 1}}
    assert read_params(space, {"c": {"option": 1}})["c"] is option


SPACE = Space({"x": Float(0, 1), "n": Int(1, 9), "c": Choice(["a", (1, 2), None])})
PARAMS = {"x": 0.5, "n": 3, "c": {"option": 1}}
ROW = {"number": 4, "params": PARAMS, "state": "done", "value": 1.5, "error": None, "origin": "queued"}


@pytest.mark.parametrize(
    "rows",
    [
        {},
        [],
        None,
        5,
        {"x": None},
        {"x": {}},
        {"x": []},
        {"x": {"kind": "Real", "low": 0, "high": 1, "log": False}},
        {"x": {"kind": ["Float"], "low": 0, "high": 1, "log": False}},
        {"x": {"kind": "Float", "low": 0, "high": 1}},
        {"x": {"kind": "Float", "low": 1, "high": 0, "log": False}},
        {"x": {"kind": "Float", "low": "0", "high": 1, "log": False}},
        {"x": {"kind": "Float", "low": math.nan, "high": 1, "log": False}},
        {"x": {"kind": "Float", "low": 0, "high": math.inf, "log": False}},
        {"x": {"kind": "Float", "low": 0, "high": 10**400, "log": False}},
        {"x": {"kind": "Int", "low": 0, "high": 1.5, "log": False}},
        {"x": {"kind": "Int", "low": 0, "high": 10**301, "log": False}},
        {"x": {"kind": "Int", "low": True, "high": 5, "log": False}},
        {"x": {"kind": "Choice", "options": [], "ordered": False}},
        {"x": {"kind": "Choice", "options": "ab", "ordered": False}},
        {"x": {"kind": "Choice", "options": None, "ordered": False}},
        {"x": {"kind": "Choice", "options": ["a", "a"], "ordered": False}},
        {"x": {"kind": "Choice", "options": [["a"]], "ordered": False}},
        {"x": {"kind": "Choice", "options": [{"tuple": 5}], "ordered": False}},
        {"x": {"kind": "Choice", "options": [{"list": [5]}], "ordered": False}},
        {"x": {"kind": "Choice", "options": [{"tuple": [{}]}], "ordered": False}},
    ],
)
def test_spaces_that_are_none_are_refused(rows: Any) -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_space(rows)


@pytest.mark.parametrize(
    "changed",
    [
        {"x": 2.0},
        {"x": math.nan},
        {"x": None},
        {"x": "0.5"},
        {"x": True},
        {"x": {"option": 0}},
        {"n": 1.5},
        {"n": 10},
        {"n": [3]},
        {"c": "b"},
        {"c": [1, 2]},
        {"c": {"option": -1}},
        {"c": {"option": 3}},
        {"c": {"option": 1.5}},
        {"c": {"option": "1"}},
        {"c": {"option": None}},
        {"c": {"place": 1}},
        {"c": {}},
        {"extra": 1},
    ],
)
def test_params_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_params(SPACE, {**PARAMS, **changed})


@pytest.mark.parametrize("row", [None, [], "x", 5, {}, {"x": 0.5}])
def test_params_that_are_none_are_refused(row: Any) -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_params(SPACE, row)


def test_a_row_is_read() -> None:
    trial = read_trial(SPACE, ROW, 4)
    assert trial == Trial(4, {"x": 0.5, "n": 3, "c": (1, 2)}, "done", 1.5, None, "queued")


@pytest.mark.parametrize(
    "changed",
    [
        {"number": 5},
        {"number": None},
        {"number": "4"},
        {"state": "waiting"},
        {"state": None},
        {"state": ["done"]},
        {"state": "failed"},
        {"state": "asked"},
        {"value": None},
        {"value": 1},
        {"value": "1.5"},
        {"value": True},
        {"value": math.nan},
        {"value": math.inf},
        {"value": [1.5]},
        {"error": 5},
        {"error": b"x"},
        {"worker": 5},
        {"notes": {}},
        {"origin": "elsewhere"},
        {"origin": None},
        {"asked_at": "yesterday"},
        {"asked_at": 5},
        {"told_at": ""},
        {"told_at": b"2024-01-01"},
        {"params": None},
        {"params": {}},
        {"params": []},
        {"extra": 1},
        {"__class__": 1},
    ],
)
def test_trials_that_are_none_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_trial(SPACE, {**ROW, **changed}, 4)


@pytest.mark.parametrize("missing", ["number", "params", "state", "value", "error"])
def test_trials_that_lack_something_are_refused(missing: str) -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_trial(SPACE, {name: value for name, value in ROW.items() if name != missing}, 4)


@pytest.mark.parametrize("number", [True, 1.0])
def test_the_number_of_a_trial_is_an_integer(number: Any) -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_trial(SPACE, {**ROW, "number": number}, 1)


def test_the_place_of_an_option_is_an_integer() -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_params(SPACE, {**PARAMS, "c": {"option": True}})


def test_times_have_a_zone() -> None:
    with pytest.raises((*UNREADABLE, BoppError)):
        read_trial(SPACE, {**ROW, "asked_at": "2024-01-01T00:00:00"}, 4)


def test_what_is_too_large_is_unreadable() -> None:
    with pytest.raises(UNREADABLE):
        float(10**400)


def test_times_keep_their_moment() -> None:
    at = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    trial = Trial(0, SPACE.check({"x": 0.5, "n": 3, "c": None}), asked_at=at)
    assert read_trial(SPACE, through_json(written_trial(SPACE, trial)), 0).asked_at == at


def test_one_of() -> None:
    assert one_of(("a", "b"), "b") == "b"
    words: list[Any] = ["c", None, ["a"], {}]
    for word in words:
        with pytest.raises(BoppError, match=r"wanted one of \['a', 'b'\], got"):
            one_of(("a", "b"), word)
