import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import (
    AtLeast,
    AtMost,
    BoppError,
    Choice,
    Float,
    Holds,
    Int,
    Optimizer,
    Problem,
    Result,
    Trial,
    pseudo,
)
from bopp.errors import NoResultError
from bopp.problem import Direction
from bopp.trial import State
from support.results import RICH, rich


class Colour(Enum):
    RED = 1


def made(values: list[float | None], direction: Direction = "minimize") -> Result:
    """Trials with these values; None is a failed one."""
    trials = []
    for number, value in enumerate(values):
        state: State = "failed" if value is None else "done"
        error = f"error {number}" if value is None else None
        told = {} if value is None else {"value": value}
        trials.append(Trial(number, {"x": 0.5}, state, told, error))
    return Result(Problem({"x": Float(0, 1)}, {"value": direction}), tuple(trials))


def typed(value: Any) -> Any:
    """The value with the type of it and of all in it, since 1 == 1.0 == True."""
    return (tuple, [typed(part) for part in value]) if isinstance(value, tuple) else (type(value), value)


@pytest.mark.parametrize(
    ("values", "direction", "best"),
    [
        ([3.0, 1.0, 2.0], "minimize", 1),
        ([3.0, 1.0, 2.0], "maximize", 0),
        ([2.0, 1.0, 1.0, 1.0], "minimize", 1),
        ([1.0, 2.0, 2.0], "maximize", 1),
        ([None, 5.0, None, 4.0], "minimize", 3),
        ([1.0, 0.0, -1.0], "minimize", 2),
        ([-1.0, 0.0, -2.0], "maximize", 1),
        ([0.0], "maximize", 0),
        ([1.7e308, -1.7e308], "maximize", 0),
    ],
)
def test_best_is_the_first_of_the_best(values: list[float | None], direction: Direction, best: int) -> None:
    assert made(values, direction).best.number == best


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.sampled_from(["minimize", "maximize"]),
)
def test_nothing_is_better_than_the_best(values: list[float | None], direction: Direction) -> None:
    finished = [value for value in values if value is not None]
    if finished:
        assert made(values, direction).best.value == (min if direction == "minimize" else max)(finished)
    else:
        with pytest.raises(NoResultError, match="error 0"):
            made(values, direction).best  # noqa: B018


def test_without_a_finished_trial_the_first_error_is_told() -> None:
    with pytest.raises(NoResultError, match=r"3 trials.*error 0"):
        made([None, None, None]).best  # noqa: B018
    with pytest.raises(NoResultError, match="0 trials"):
        made([]).best  # noqa: B018
    assert issubclass(NoResultError, BoppError)


def test_a_representation_says_the_best_and_how_many() -> None:
    text = repr(made([3.0, None, 0.0, None, None]))
    assert [
        word for word in ("minimize", "best 0.0", "'x': 0.5", "2 done", "3 failed") if word not in text
    ] == []
    assert "no best" in repr(made([None]))
    assert "none" in repr(made([]))
    assert "1 asked" in repr(Result(Problem(RICH), (Trial(0, {}),)))


def test_the_history_is_what_the_engine_sees() -> None:
    opt = Optimizer({"x": Float(0, 2)}, direction="minimize")
    opt.observe({"x": 1.0}, 3.0)
    opt.observe({"x": 2.0}, None)
    history = opt.result.history()
    np.testing.assert_array_equal(history.data.X, [[0.5]])
    np.testing.assert_array_equal(history.data.y, [-3.0])
    np.testing.assert_array_equal(history.failed, [[1.0]])
    assert history.pending.shape == (0, 1)


@pytest.mark.parametrize("seed", range(5))
def test_json_round_trip_loses_nothing(seed: int) -> None:
    result = rich(seed)
    back = Result.from_json(result.to_json())
    assert back == result
    for one, other in zip(back.trials, result.trials, strict=True):
        assert [typed(v) for v in one.params.values()] == [typed(v) for v in other.params.values()]
    options = [typed(option) for option in RICH["kind"].values()]
    assert [typed(option) for option in back.space.parameters["kind"].values()] == options
    assert back.to_json() == result.to_json()
    assert back.best == result.best


def test_an_empty_result_makes_the_round_trip() -> None:
    assert Result.from_json(made([]).to_json()) == made([])


@settings(derandomize=True, deadline=None)
@given(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.text(min_size=1))
def test_any_name_value_and_error_make_the_round_trip(name: str, value: float, error: str) -> None:
    now = datetime.now(UTC)
    trials = (
        Trial(0, {name: 1}, "done", {"value": value}, asked_at=now, told_at=now),
        Trial(1, {name: 2}, "failed", {}, error, "observed", now, now),
        Trial(2, {name: 3}, origin="queued", asked_at=now),
    )
    result = Result(Problem({name: Int(1, 3)}), trials)
    assert Result.from_json(result.to_json()) == result


def test_a_result_read_back_goes_on_as_the_first() -> None:
    opt = Optimizer({"x": Float(0, 1), "c": Choice([(1,), (2,), None])}, seed=4)
    for number in range(8):
        opt.tell(opt.ask(), float(number))
    copy = Optimizer(opt.space, seed=4)
    for trial in Result.from_json(opt.result.to_json()).trials:
        copy.observe(trial.params, trial.value)
    assert copy.ask().params == opt.ask().params


def test_the_text_is_json_by_the_letter() -> None:
    def no(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    document = json.loads(rich().to_json(), parse_constant=no)
    assert document["objectives"] == {"value": "maximize"}
    assert document["constraints"] == []
    assert len(document["trials"]) == 16


@pytest.mark.parametrize(
    "option",
    [
        frozenset({1}),
        b"bytes",
        1j,
        Colour.RED,
        math.nan,
        math.inf,
        -math.inf,
        (1, math.inf),
        (1, (b"deep",)),
        len,
        datetime(2020, 1, 1, tzinfo=UTC),
    ],
    ids=repr,
)
def test_options_that_json_cannot_hold_are_named(option: Any) -> None:
    opt = Optimizer({"x": Float(0, 1), "the choice": Choice(["plain", option])})
    opt.observe({"x": 0.5, "the choice": option}, 1.0)
    with pytest.raises(BoppError, match="'the choice'"):
        opt.result.to_json()


def edited(change: Callable[[dict[str, Any]], object]) -> str:
    """The text of a result after a change by hand."""
    opt = Optimizer({"x": Float(0, 1), "n": Int(1, 9), "c": Choice(["a", (1, 2)])})
    opt.observe({"x": 0.5, "n": 3, "c": (1, 2)}, 1.5)
    opt.observe({"x": 0.25, "n": 4, "c": "a"}, None)
    document = json.loads(opt.result.to_json())
    change(document)
    return json.dumps(document)


def set_param(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["trials"][0]["params"].update({name: value})


def set_field(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["trials"][0].update({name: value})


def test_an_unchanged_text_is_read() -> None:
    assert Result.from_json(edited(lambda document: None)).best.value == 1.5


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "other format": lambda document: document.update(format=2),
    "format null": lambda document: document.update(format=None),
    "no format": lambda document: document.pop("format"),
    "no space": lambda document: document.pop("space"),
    "no trials": lambda document: document.pop("trials"),
    "no objectives": lambda document: document.pop("objectives"),
    "no constraints": lambda document: document.pop("constraints"),
    "empty objectives": lambda document: document.update(objectives={}),
    "objectives a list": lambda document: document.update(objectives=["value"]),
    "unknown direction": lambda document: document.update(objectives={"value": "up"}),
    "another objective": lambda document: document.update(objectives={"error": "minimize"}),
    "a constraint that no trial has": lambda document: document.update(
        constraints=[{"kind": "AtMost", "name": "memory", "bound": 1.0}]
    ),
    "unknown constraint": lambda document: document.update(
        constraints=[{"kind": "Equals", "name": "value", "bound": 1.0}]
    ),
    "constraint a number": lambda document: document.update(constraints=[3]),
    "constraints a number": lambda document: document.update(constraints=3),
    "empty space": lambda document: document.update(space={}),
    "space a list": lambda document: document.update(space=[1]),
    "trials a number": lambda document: document.update(trials=3),
    "trial a number": lambda document: document.update(trials=[3]),
    "parameter missing in the space": lambda document: document["space"].pop("n"),
    "unknown kind": lambda document: document["space"]["x"].update(kind="Real"),
    "low above high": lambda document: document["space"]["x"].update(low=5.0),
    "low a text": lambda document: document["space"]["x"].update(low="0"),
    "no high": lambda document: document["space"]["x"].pop("high"),
    "no options": lambda document: document["space"]["c"].update(options=[]),
    "option a list": lambda document: document["space"]["c"].update(options=["a", ["b"]]),
    "param out of range": set_param("x", 1.5),
    "param a text": set_param("x", "0.5"),
    "param an option of a Float": set_param("x", {"option": 0}),
    "param not whole": set_param("n", 2.5),
    "integer out of range": set_param("n", 10),
    "unknown option": set_param("c", "b"),
    "option number too large": set_param("c", {"option": 9}),
    "option number negative": set_param("c", {"option": -1}),
    "option without number": set_param("c", {}),
    "unknown param": set_param("z", 1),
    "value a text": set_field("values", {"value": "1.5"}),
    "value null": set_field("values", {"value": None}),
    "done without a value": set_field("values", {}),
    "values null": set_field("values", None),
    "value a list": set_field("values", {"value": [1.5]}),
    "value whole": set_field("values", {"value": 1}),
    "value NaN": set_field("values", {"value": {"number": "nan"}}),
    "value an unknown dict": set_field("values", {"value": {"word": "nan"}}),
    "another value too": set_field("values", {"value": 1.5, "more": 2.5}),
    "a value both ways": set_field("value", 1.5),
    "noise a number": set_field("noise", 0.5),
    "noise below 0": set_field("noise", {"value": -0.5}),
    "noise NaN": set_field("noise", {"value": {"number": "nan"}}),
    "noise of another": set_field("noise", {"more": 0.5}),
    "measurements a list": set_field("measurements", [1]),
    "unknown state": set_field("state", "finished"),
    "number out of order": set_field("number", 7),
    "time a word": set_field("told_at", "yesterday"),
    "time a number": set_field("asked_at", 3),
    "unknown field": set_field("colour", "red"),
    "no params": lambda document: document["trials"][0].pop("params"),
    "no number": lambda document: document["trials"][0].pop("number"),
    "param missing": lambda document: document["trials"][0]["params"].pop("n"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_text_is_refused(edit: str) -> None:
    with pytest.raises(BoppError):
        Result.from_json(edited(EDITS[edit]))


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "3", "[]", '"text"', "{}", "\0", "NaN", "[" * 100_000, '{"format": 1}', "<html>"],
)
def test_what_is_no_result_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(BoppError) as caught:
        Result.from_json(text)
    assert repr(text[:20])[1:-1] in str(caught.value)


def test_every_truncation_is_refused() -> None:
    text = rich(count=2).to_json()
    for end in range(0, len(text), 97):
        with pytest.raises(BoppError):
            Result.from_json(text[:end])


def test_a_param_out_of_its_range_is_named() -> None:
    with pytest.raises(BoppError, match=r"'n'.*10"):
        Result.from_json(edited(set_param("n", 10)))


def test_a_format_of_the_future_is_named() -> None:
    with pytest.raises(BoppError, match=r"format 1.*2.*newer bopp"):
        Result.from_json(edited(lambda document: document.update(format=2)))


def test_a_result_cannot_be_changed() -> None:
    result = made([1.0])
    with pytest.raises(AttributeError):
        result.trials = ()  # type: ignore[misc]
    assert replace(result, problem=Problem(result.space, {"value": "maximize"})) != result


def test_the_best_so_far_of_a_run_is_its_result() -> None:
    def objective(params: Mapping[str, Any]) -> float:
        return float(params["x"])

    opt = Optimizer({"x": Float(0, 1)})
    for _ in range(3):
        trial = opt.ask()
        opt.tell(trial, objective(trial.params))
    assert opt.result.trials == opt.trials
    assert opt.result.best == opt.best


GOALS = Problem(
    {"x": Float(0, 10)},
    {"error": "minimize", "speed": "maximize"},
    [AtMost("memory", 16.0), AtLeast("life", 1.0), Holds("small", lambda p: p["x"] < 9.0)],
    reference={"error": 9.0, "speed": 0.0},
)


def told(
    number: int, error: float | None, speed: float | None, memory: float | None, life: float | None
) -> Trial:
    values = {"error": error, "speed": speed, "memory": memory, "life": life}
    noise = {"speed": 0.5} if speed is not None else {}
    return Trial(number, {"x": float(number)}, "done", values, noise=noise, measurements={"note": "a"})


TRADED = Result(
    GOALS,
    (
        told(0, 3.0, 2.0, 1.0, 2.0),
        Trial(1, {"x": 1.0}, "failed", error="no"),
        told(2, 2.0, 9.0, 17.0, 2.0),
        told(3, 4.0, 3.0, 16.0, 1.0),
        told(4, None, 3.5, None, None),
        Trial(5, {"x": 5.0}),
        told(6, 5.0, 1.0, 2.0, 2.0),
        told(7, 4.0, None, 3.0, 3.0).dropped(datetime.now(UTC), "wrong"),
    ),
)


def test_the_front_of_a_result() -> None:
    assert [trial.number for trial in TRADED.front] == [0, 3]
    assert repr(TRADED).startswith("Result(minimize error, maximize speed: front of 2; trials: ")
    with pytest.raises(NoResultError, match="see `front`"):
        _ = TRADED.best
    single = [Trial(n, {"x": 1.0}, "done", {"value": v}) for n, v in enumerate([2.0, 1.0, 3.0, 1.0])]
    assert [trial.number for trial in Result(Problem({"x": Float(0, 10)}), tuple(single)).front] == [1, 3]


def test_the_result_of_one_objective_alone_is_a_whole_result() -> None:
    alone = TRADED.of("speed")
    assert alone.problem == Problem({"x": Float(0, 10)}, {"speed": "maximize"}, GOALS.constraints)
    assert alone.problem.names == ["speed", "memory", "life"]
    assert alone.best.number == 3  # 2 is faster, but too large
    assert alone.trials[0].values == {"speed": 2.0, "memory": 1.0, "life": 2.0}
    assert (alone.trials[0].value, alone.trials[0].noise) == (2.0, {"speed": 0.5})
    assert alone.trials[0].measurements == {"note": "a", "error": 3.0}
    assert alone.trials[4].measurements == {"note": "a"}  # nothing was measured there
    assert [trial.state for trial in alone.trials] == [trial.state for trial in TRADED.trials]
    assert all(map(alone.problem.fits, alone.trials))
    assert alone.trials[7].superseded[0].values == {"speed": None, "memory": 3.0, "life": 3.0}
    assert alone.predict({"x": 3.0}).mean == pytest.approx(3.0, abs=2.0)


def test_a_trial_of_which_nothing_is_left_is_dropped_and_the_others_keep_their_numbers() -> None:
    alone = TRADED.of("error")
    assert [trial.number for trial in alone.trials] == list(range(8))
    assert alone.trials[4].state == "dropped"
    assert alone.trials[4].superseded[-1].reason == "'error' was not measured"
    assert all(map(alone.problem.fits, alone.trials))
    assert alone.best.number == 0
    assert [trial.number for trial in alone.trials if trial.values.get("error") is not None] == [0, 2, 3, 6]


@pytest.mark.parametrize(("name", "direction"), [("memory", "minimize"), ("life", "maximize")])
def test_a_limited_value_is_better_the_farther_it_is_from_its_limit(name: str, direction: Direction) -> None:
    alone = TRADED.of(name)
    assert alone.problem.objectives == {name: direction}
    assert alone.best.number == 0  # the first of those as good, that meets all constraints
    assert sorted(alone.trials[0].values) == ["life", "memory"]


@pytest.mark.parametrize("name", ["error", "speed", "memory", "life"])
def test_the_result_of_one_value_survives_json_and_goes_on(name: str) -> None:
    alone = Result(replaced(TRADED), TRADED.trials).of(name)
    assert Result.from_json(alone.to_json()) == alone
    assert Optimizer(alone.problem, trials=alone.trials).trials == alone.trials


def replaced(result: Result) -> Problem:
    """Its problem without functions, which JSON cannot hold."""
    limits = [one for one in result.problem.constraints if not isinstance(one, Holds)]
    return Problem(result.space, result.problem.objectives, limits, reference=result.problem.reference)


@pytest.mark.parametrize("name", ["value", "", None, 3, ["error"]])
def test_an_unknown_value_has_no_result(name: Any) -> None:
    with pytest.raises(BoppError, match="memory"):
        TRADED.of(name)


def test_sources_that_speak_of_the_objective_say_nothing_of_a_limited_value() -> None:
    problem = Problem({"x": Float(0, 10), "y": Float(0, 10)}, {"error": "minimize"}, [AtMost("memory", 16.0)])
    images = pseudo.Images(exchange=("x", "y"))
    result = Result(problem, (), (images, pseudo.Limits(at_least=0.0)))
    assert result.of("error").sources == result.sources
    assert result.of("memory").sources == (images,)


def test_the_trust_in_a_source_is_that_of_an_objective() -> None:
    problem = Problem({"x": Float(0, 10), "y": Float(0, 10)}, GOALS.objectives)
    rng = np.random.default_rng(0)
    trials = tuple(
        Trial(n, {"x": x, "y": y}, "done", {"error": x + y, "speed": x * y})
        for n, (x, y) in enumerate((10.0 * rng.random((6, 2))).tolist())
    )
    result = Result(problem, trials, (pseudo.Images(exchange=("x", "y")),))
    with pytest.raises(BoppError, match=r"result.of\('error'\)"):
        _ = result.knowledge
    assert [len(result.of(name).knowledge) for name in problem.objectives] == [1, 1]
    assert "what was known besides, of speed" in result._repr_html_()
