import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

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


def made(values: list[float | None]) -> Result:
    """Trials with these values; None is a failed one."""
    trials = []
    for number, value in enumerate(values):
        state: State = "failed" if value is None else "done"
        error = f"error {number}" if value is None else None
        told = {} if value is None else {"value": value}
        trials.append(Trial(number, {"x": 0.5}, state, told, error))
    return Result(Problem({"x": Float(0, 1)}), tuple(trials))


def typed(value: Any) -> Any:
    """The value with the type of it and of all in it, since 1 == 1.0 == True."""
    return (tuple, [typed(part) for part in value]) if isinstance(value, tuple) else (type(value), value)


def test_a_representation_says_the_best_and_how_many() -> None:
    text = repr(made([3.0, None, 0.0, None, None]))
    wanted = ["minimize", "best 0.0", "'x': 0.5", "2 done", "3 failed"]
    assert [word for word in wanted if word not in text] == []
    assert "no best" in repr(made([None]))
    assert "none" in repr(made([]))
    assert "1 asked" in repr(Result(Problem(RICH), (Trial(0, {}),)))


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
    assert Result.from_json(made([]).to_json()) == made([])


def test_the_text_is_json_by_the_letter() -> None:
    def no(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    document = json.loads(rich().to_json(), parse_constant=no)
    assert document["objectives"] == {"value": "maximize"}
    assert document["constraints"] == []
    assert len(document["trials"]) == 16


def edited(change: Callable[[dict[str, Any]], object]) -> str:
    """The text of a result after a change by hand."""
    opt = Optimizer({"x": Float(0, 1), "n": Int(1, 9), "c": Choice(["a", (1, 2)])})
    opt.observe({"x": 0.5, "n": 3, "c": (1, 2)}, 1.5)
    opt.observe({"x": 0.25, "n": 4, "c": "a"}, None)
    document = json.loads(opt.result.to_json())
    change(document)
    return json.dumps(document)


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str | None]] = {
    "other format": (lambda document: document.update(format=2), r"format 1.*2.*newer bopp"),
    "no format": (lambda document: document.pop("format"), None),
    "no space": (lambda document: document.pop("space"), None),
    "no trials": (lambda document: document.pop("trials"), None),
    "no objectives": (lambda document: document.pop("objectives"), None),
    "no constraints": (lambda document: document.pop("constraints"), None),
    "another objective": (lambda document: document.update(objectives={"error": "minimize"}), None),
    "trials a number": (lambda document: document.update(trials=3), None),
    "parameter missing in the space": (lambda document: document["space"].pop("n"), None),
    "param out of range": (lambda document: document["trials"][0]["params"].update(n=10), r"'n'.*10"),
    "number out of order": (lambda document: document["trials"][0].update(number=7), None),
}
"""Changes by hand, and words of the refusal; test_plain.py has those within a space, a problem or a trial."""


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_text_is_refused(edit: str) -> None:
    change, words = EDITS[edit]
    assert Result.from_json(edited(lambda document: None)).best.value == 1.5
    with pytest.raises(BoppError, match=words):
        Result.from_json(edited(change))


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "3", "[]", '"text"', "{}", "\0", "NaN", "[" * 100_000, '{"format": 1}', "<html>"],
)
def test_what_is_no_result_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(BoppError) as caught:
        Result.from_json(text)
    assert repr(text[:20])[1:-1] in str(caught.value)
    whole = rich(count=2).to_json()
    with pytest.raises(BoppError):
        Result.from_json(whole[: len(whole) // 2])


def test_a_result_cannot_be_changed() -> None:
    result = made([1.0])
    with pytest.raises(AttributeError):
        result.trials = ()  # type: ignore[misc]
    assert replace(result, problem=Problem(result.space, {"value": "maximize"})) != result


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
