from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bopp
from bopp import AtLeast, AtMost, Choice, Float, Holds, Int, Optimizer, Problem, Recipe, Space, Trial
from bopp.errors import NoResultError, RecipeError, SpaceError, TellError
from bopp.parameter import Parameter
from bopp.trial import Answer

SPACE: dict[str, Parameter] = {"a": Float(0, 1), "b": Float(0, 1)}
SUM = Holds("a + b at most 1", lambda params: params["a"] + params["b"] <= 1)
PLAIN = Problem(SPACE)
MEASURED = Problem(SPACE, {"error": "minimize"}, [AtMost("memory", 16.0), AtLeast("recall", 0.9)])
SEVERAL = Problem(SPACE, {"error": "minimize", "gain": "maximize"}, [AtMost("memory", 16.0)])


def trial(number: int, a: float = 0.0, b: float = 0.0, **values: float) -> Trial:
    """A finished trial."""
    return Trial(number, {"a": a, "b": b}, "done", values)


# what a problem is


def test_a_space_alone_is_a_value_to_be_minimized() -> None:
    assert PLAIN.space == Space(SPACE)
    assert dict(PLAIN.objectives) == {"value": "minimize"}
    assert PLAIN.constraints == ()
    assert (PLAIN.objective, PLAIN.direction, PLAIN.names) == ("value", "minimize", ["value"])
    assert Problem(Space(SPACE)) == PLAIN
    wrong: list[Any] = [{}, [], {"x": 3}, PLAIN, None]
    for space in wrong:
        with pytest.raises(SpaceError):
            Problem(space)


def test_names_are_those_of_the_objectives_then_of_the_limits_each_once() -> None:
    limits = [AtMost("m", 2), SUM, AtLeast("z", 0), AtLeast("m", 1), AtMost("b", 3)]
    problem = Problem(SPACE, {"z": "minimize", "a": "maximize"}, iter(limits))
    assert problem.names == ["z", "a", "m", "b"]
    assert problem.limits == (AtMost("m", 2.0), AtLeast("z", 0.0), AtLeast("m", 1.0), AtMost("b", 3.0))


def test_a_problem_is_a_value() -> None:
    def made(bound: float = 16.0) -> Problem:
        return Problem(SPACE, {"error": "minimize"}, [AtMost("memory", bound), SUM])

    assert made() == made()
    assert made() != made(17.0)
    assert made() == Problem(SPACE, {"error": "minimize"}, (AtMost("memory", 16), SUM))
    others = [
        Problem({**SPACE, "c": Int(0, 1)}, {"error": "minimize"}, made().constraints),
        Problem(dict(reversed(SPACE.items())), {"error": "minimize"}, made().constraints),
        Problem(SPACE, {"error": "maximize"}, made().constraints),
        Problem(SPACE, {"loss": "minimize"}, made().constraints),
        Problem(SPACE, {"error": "minimize"}, [AtLeast("memory", 16), SUM]),
        Problem(SPACE, {"error": "minimize"}, [SUM]),
        Problem(SPACE, {"error": "minimize"}, [AtMost("memory", 16), replace(SUM, name="else")]),
    ]
    assert [other for other in others if other == made()] == []
    assert made() != "a problem"
    one, other = {"x": "minimize", "y": "minimize"}, {"y": "minimize", "x": "minimize"}
    assert Problem(SPACE, one) != Problem(SPACE, other)  # the first is the value of a trial


def test_a_problem_cannot_be_changed() -> None:
    objectives: dict[str, Any] = {"error": "minimize"}
    constraints = [AtMost("memory", 16.0)]
    problem = Problem(SPACE, objectives, constraints)
    objectives["error"] = "maximize"
    constraints.clear()
    assert problem.direction == "minimize"
    assert len(problem.constraints) == 1
    with pytest.raises(AttributeError):
        problem.constraints = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("objectives", "argument", "got"),
    [
        ({}, "objectives", "{}"),
        *((one, "objectives", repr(one)) for one in ([], "minimize", ["value"])),
        *(({"value": one}, "direction", repr(one)) for one in ("up", None, ["minimize"], "Minimize")),
        *(({one: "minimize"}, "objectives", repr(one)) for one in ("", 1, None, ("a",))),
    ],
)
def test_wrong_objectives_are_named(objectives: Any, argument: str, got: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(got)) as caught:
        Problem(SPACE, objectives)
    assert caught.value.argument == argument


def untyped(*values: Any) -> tuple[Any, ...]:
    """Values of a wrong type, which a type checker is to let pass."""
    return values


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        *((AtMost("memory", one), f"'memory'.*{one}") for one in untyped(math.nan, math.inf, "16", None)),
        *((AtLeast("memory", one), f"'memory'.*{one}") for one in untyped(-math.inf, True, 1j)),
        *((AtMost(one, 1.0), "name of a constraint") for one in untyped("", 3)),
        (Holds("", lambda params: True), "name of a constraint"),
        *((Holds("small", one), f"'small'.*function.*{one}") for one in untyped(True, "a < b")),
        *((one, "AtMost, AtLeast, Holds or Linear") for one in (len, AtMost, "memory <= 16", None)),
    ],
)
def test_wrong_constraints_are_named(constraint: Any, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        Problem(SPACE, constraints=[SUM, constraint])


@pytest.mark.parametrize("constraints", [AtMost("memory", 1.0), SUM, 3, None])
def test_constraints_that_are_no_list_are_named(constraints: Any) -> None:
    with pytest.raises(RecipeError, match="constraints") as caught:
        Problem(SPACE, constraints=constraints)
    assert repr(constraints)[:6] in str(caught.value)
    with pytest.raises(RecipeError, match="constraints"):
        bopp.minimize(lambda params: 0.0, SPACE, constraints=constraints, progress=False)


def test_two_conditions_of_one_name_are_refused() -> None:
    with pytest.raises(RecipeError, match="different name"):
        Problem(SPACE, constraints=[SUM, Holds(SUM.name, lambda params: False)])
    both = Problem(SPACE, constraints=[Holds("m", lambda params: True), AtMost("m", 1.0)])
    assert both.names == ["value", "m"]


@pytest.mark.parametrize("bound", [16, np.float32(16.0), np.int64(16), -0.0, 1.7e308])
def test_bounds_become_floats(bound: Any) -> None:
    (limit,) = Problem(SPACE, constraints=[AtMost("m", bound)]).limits
    assert type(limit.bound) is float
    assert limit.bound == bound


def test_of_a_space_or_of_a_problem() -> None:
    assert Problem.of(SPACE) == PLAIN
    assert Problem.of(SPACE, "maximize").direction == "maximize"
    assert Problem.of(MEASURED) is MEASURED
    with pytest.raises(RecipeError, match="directions"):
        Problem.of(MEASURED, "maximize")
    with pytest.raises(RecipeError, match="'up'"):
        Problem.of(SPACE, "up")  # type: ignore[arg-type]


def test_several_objectives_can_be_declared_and_have_no_single_one() -> None:
    assert list(SEVERAL.objectives) == ["error", "gain"]
    optimizer = Optimizer(SEVERAL)
    told = optimizer.observe({"a": 0.5, "b": 0.5}, {"error": 1.0, "gain": 2.0, "memory": 3.0})
    assert told.state == "done"
    for member in ("objective", "direction"):
        with pytest.raises(RecipeError, match=r"one objective.*'error', 'gain'"):
            getattr(SEVERAL, member)
    with pytest.raises(NoResultError, match=r"several objectives.*'error', 'gain'"):
        _ = optimizer.best


# answers


@pytest.mark.parametrize(
    "returned", [0.5, np.array(0.5), Decimal("0.5"), {"value": 0.5}, MappingProxyType({"value": 0.5})]
)
def test_a_number_or_a_dict_is_an_answer(returned: Any) -> None:
    answer = PLAIN.answer(returned)
    assert answer.values == {"value": 0.5}
    assert type(answer.values["value"]) is float
    assert (answer.error, answer.noise, answer.measurements) == (None, {}, {})
    assert Problem(SPACE, {"error": "minimize"}).answer(0.5).values == {"error": 0.5}


def test_an_answer_has_the_declared_names_in_their_order() -> None:
    answer = MEASURED.answer({"seconds": 3, "recall": 1, "memory": np.int64(8), "error": 0.5, "note": "ok"})
    assert list(answer.values.items()) == [("error", 0.5), ("memory", 8.0), ("recall", 1.0)]
    assert {type(value) for value in answer.values.values()} == {float}
    assert answer.measurements == {"seconds": 3.0, "note": "ok"}
    assert MEASURED.fits(Trial(0, {}, "done", answer.values))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, np.float32("nan")])
def test_a_value_that_is_not_finite_is_a_failure(value: Any) -> None:
    named = MEASURED.answer({"error": 0.5, "memory": value, "recall": 1.0, "note": "x"})
    assert (named.error or "").startswith("'memory' was ")
    assert named.values == {}
    assert named.measurements == {"error": 0.5, "recall": 1.0, "note": "x"}
    for returned in (value, {"value": value, "loss": 3.0}):
        answer = PLAIN.answer(returned)
        assert (answer.error or "").startswith("the value was ")
        assert answer.values == {}


@pytest.mark.parametrize(
    ("returned", "found"), [({}, "nothing"), ({"loss": 0.5}, "'loss'"), ({"VALUE": 0.5, "x": None}, "'x'")]
)
def test_a_missing_name_is_a_failure_that_says_what_was_there(returned: Any, found: str) -> None:
    answer = PLAIN.answer(returned)
    assert re.search(f"'value' is missing.*{found}", answer.error or "")
    assert answer.values == {}
    assert answer.measurements == returned
    assert "'memory' is missing" in (MEASURED.answer(0.5).error or "")


def test_what_was_there_of_a_failure_is_kept() -> None:
    answer = MEASURED.answer({"error": 0.5, "recall": 1})
    assert re.search("'memory' is missing.*None is for what was not measured", answer.error or "")
    assert answer.measurements == {"error": 0.5, "recall": 1.0}
    assert MEASURED.answer({"error": 0.5, "memory": None, "recall": math.nan}) == Answer(
        error="'recall' was nan", measurements={"error": 0.5}
    )


def test_what_was_not_measured_is_none_beside_what_was() -> None:
    answer = MEASURED.answer({"recall": 1, "memory": None, "error": None, "seconds": 3}, {"recall": 0.1})
    assert list(answer.values.items()) == [("error", None), ("memory", None), ("recall", 1.0)]
    assert (answer.noise, answer.measurements, answer.error) == ({"recall": 0.1}, {"seconds": 3.0}, None)
    told = Trial(0, {}).told(answer, None)
    assert (told.state, told.unmeasured) == ("done", ["error", "memory"])
    assert MEASURED.fits(told)


def test_a_noise_of_what_was_not_measured_is_left_out() -> None:
    answer = MEASURED.answer({"error": None, "memory": 1.0, "recall": 1.0}, {"error": 0.1, "memory": 0.2})
    assert answer.noise == {"memory": 0.2}
    with pytest.raises(TellError, match="noise"):
        MEASURED.answer({"error": None, "memory": 1.0, "recall": 1.0}, {"error": -0.1})


@pytest.mark.parametrize("returned", [None, {"error": None}, dict.fromkeys(MEASURED.names)])
def test_nothing_that_was_measured_is_a_failure(returned: Any) -> None:
    answer = MEASURED.answer(returned)
    assert (answer.error, answer.values, answer.measurements) == ("'error' was None", {}, {})
    for nothing in (None, math.nan):
        failed = SEVERAL.answer(nothing)
        assert (failed.values, bool(failed.error)) == ({}, True)


def test_a_trial_that_lacks_its_objective_is_never_the_best() -> None:
    lacking = Trial(0, {"a": 0.0, "b": 0.0}, "done", {"error": None, "memory": 1.0, "recall": 1.0})
    assert MEASURED.feasible(lacking)
    assert not MEASURED.reaches(lacking, 100.0)
    with pytest.raises(NoResultError, match="value"):
        MEASURED.best([lacking])
    whole = trial(1, error=5.0, memory=1.0, recall=1.0)
    assert MEASURED.best([lacking, whole]) is whole
    assert MEASURED.reaches(whole, 5.0)


def test_a_limit_that_was_not_measured_is_not_met() -> None:
    lacking = Trial(0, {"a": 0.0, "b": 0.0}, "done", {"error": 0.0, "memory": None, "recall": 1.0})
    assert not MEASURED.feasible(lacking)
    assert not MEASURED.reaches(lacking, 1.0)
    with pytest.raises(NoResultError, match="constraints"):
        MEASURED.best([lacking])
    assert MEASURED.feasible(replace(lacking, values={"error": 0.0, "memory": 16.0, "recall": 1.0}))


@pytest.mark.parametrize("returned", [0.5, [0.5, 1.0], (0.5, 1.0), np.array([0.5, 1.0]), "0.5"])
def test_several_objectives_want_a_dict(returned: Any) -> None:
    with pytest.raises(TellError, match="dict"):
        SEVERAL.answer(returned)
    answer = SEVERAL.answer({"error": 1, "gain": 2, "memory": 3})
    assert list(answer.values.items()) == [("error", 1.0), ("gain", 2.0), ("memory", 3.0)]


@pytest.mark.parametrize("value", ["0.5", [0.5], (0.5,), {"value": 0.5}, 1j, b"1", np.array([0.5]), object()])
def test_what_is_no_number_is_an_error_that_names_it(value: Any) -> None:
    with pytest.raises(TellError, match="value"):
        PLAIN.answer({"value": value})
    with pytest.raises(TellError, match="'memory'"):
        MEASURED.answer({"error": 0.5, "memory": value, "recall": 1.0})


@pytest.mark.parametrize("name", [1, None, ("value",), 0.5, b"value"])
def test_names_that_are_no_texts_are_kept_as_their_texts(name: Any) -> None:
    answer = PLAIN.answer({"value": 0.5, name: 1.0})
    assert (answer.values, answer.measurements) == ({"value": 0.5}, {repr(name): 1.0})


@pytest.mark.parametrize(
    ("measured", "kept"),
    [
        *((3, 3.0), (True, True), (None, None), ("text", "text"), ("", ""), (np.float32(0.5), 0.5)),
        *((np.bool_(True), 1.0), (np.array(2.0), 2.0), (Decimal("0.5"), 0.5), (math.inf, math.inf)),
        *((-(10**400), math.inf), ([1, 2], "[1, 2]"), ({"a": 1}, "{'a': 1}"), ((), "()"), (1j, "1j")),
        *((np.array([1.0, 2.0]), "array([1., 2.])"), (b"raw", "b'raw'"), (UTC, repr(UTC))),
        (list(range(10_000)), repr(list(range(10_000)))[:1000] + "..."),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_measurements_are_kept_as_what_they_are_or_as_text(measured: Any, kept: Any) -> None:
    returned = {"value": 0.5, "more": measured, "nan": math.nan}
    answer = PLAIN.answer(returned)
    returned["value"] = returned["more"] = 9.0  # an answer is a copy
    assert (answer.error, answer.values) == (None, {"value": 0.5})
    assert answer.measurements == {"more": kept, "nan": pytest.approx(math.nan, nan_ok=True)}
    assert type(answer.measurements["more"]) is type(kept)


# noise


@pytest.mark.parametrize(
    ("noise", "found"),
    [
        (None, {}),
        ({}, {}),
        (0, {"error": 0.0}),
        (0.25, {"error": 0.25}),
        (np.float32(0.25), {"error": 0.25}),
        ({"error": 0.25}, {"error": 0.25}),
        ({"recall": 1, "error": 0.25}, {"recall": 1.0, "error": 0.25}),
    ],
)
def test_noise_is_a_standard_deviation_or_several_by_name(noise: Any, found: dict[str, float]) -> None:
    answer = MEASURED.answer({"error": 0.5, "memory": 1.0, "recall": 1.0}, noise)
    assert answer.noise == found
    assert {type(sd) for sd in answer.noise.values()} <= {float}
    assert MEASURED.fits(Trial(0, {}, "done", answer.values, noise=answer.noise))


@pytest.mark.parametrize(
    "noise",
    [
        *(-0.1, math.nan, math.inf, 10**400, "0.1", [0.1], 1j, {"other": 0.1}, {1: 0.1}),
        *({"value": -1.0}, {"value": None}, {"value": "0.1"}, {"value": 0.1, "other": 0.1}),
    ],
    ids=lambda noise: repr(noise)[:20],
)
def test_wrong_noise_is_named_and_the_trial_stays_open(noise: Any) -> None:
    opt = Optimizer(SPACE)
    asked = opt.ask()
    with pytest.raises(TellError, match="noise"):
        opt.tell(asked, 0.5, noise)
    with pytest.raises(TellError, match="noise"):
        opt.observe({"a": 0.5, "b": 0.5}, 0.5, noise)
    assert opt.trials == (asked,)
    assert opt.tell(asked, 0.5, 0.1).noise == {"value": 0.1}


def test_a_failure_has_no_noise_and_several_objectives_no_single_one() -> None:
    opt = Optimizer(SPACE)
    failed = opt.tell(opt.ask(), math.nan, noise=0.1)
    assert (failed.state, failed.values, failed.noise) == ("failed", {}, {})
    values = {"error": 1.0, "gain": 2.0, "memory": 3.0}
    with pytest.raises(TellError, match="noise"):
        SEVERAL.answer(values, 0.1)
    assert SEVERAL.answer(values, {"gain": 0.1}).noise == {"gain": 0.1}


# tells


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ((0.5, None), (0.5, None)),
        ((0.5, None), ({"value": 0.5}, None)),
        ((0.5, None), (np.float32(0.5), {})),
        ((0.5, 0.1), (0.5, 0.1)),
        ((0.5, 0.1), ({"value": 0.5}, {"value": 0.1})),
        ((0.0, None), (-0.0, None)),
        ((None, None), (math.nan, None)),
        ((None, None), ({"loss": 1.0}, None)),
        ((None, 0.1), (math.inf, None)),
    ],
)
def test_a_repeated_tell_is_accepted(first: tuple[Any, Any], again: tuple[Any, Any]) -> None:
    opt = Optimizer(SPACE)
    told = opt.tell(opt.ask(), *first)
    assert opt.tell(told, *again) == told
    assert opt.trials == (told,)


@pytest.mark.fault(10)
@pytest.mark.parametrize(
    ("first", "again", "words"),
    [
        ((0.5, None), (0.25, None), ["0.5 already", "got 0.25"]),
        ((0.5, None), (0.5, 0.1), ["0.5 already", "0.5 with noise 0.1"]),
        ((0.5, 0.1), (0.5, None), ["0.5 with noise 0.1 already", "got 0.5"]),
        ((0.5, 0.1), (0.5, 0.2), ["noise 0.1", "noise 0.2"]),
        ((0.5, None), (None, None), ["0.5 already", "got 'failed'"]),
        ((None, None), (0.5, None), ["'failed' already", "got 0.5"]),
        ((0.5, None), ({"loss": 0.5}, None), ["0.5 already", "got 'failed'"]),
        ((0.0, None), (1.0, None), ["0.0", "1.0"]),
    ],
)
def test_a_different_tell_is_refused(
    first: tuple[Any, Any], again: tuple[Any, Any], words: list[str]
) -> None:
    opt = Optimizer(SPACE)
    told = opt.tell(opt.ask(), *first)
    with pytest.raises(TellError) as caught:
        opt.tell(told, *again)
    assert caught.value.trial == 0
    assert [word for word in words if word not in str(caught.value)] == []
    assert opt.trials == (told,)
    assert opt.ask().number == 1


def test_measurements_of_the_first_tell_stay() -> None:
    opt = Optimizer(SPACE)
    told = opt.tell(opt.ask(), {"value": 0.5, "seconds": 3})
    assert opt.tell(told, {"value": 0.5, "seconds": 4}) is told
    assert opt.tell(told, 0.5) is told
    assert opt.trials[0].measurements == {"seconds": 3.0}
    limited = Optimizer(MEASURED)
    told = limited.tell(limited.ask(), {"error": 1.0, "memory": 2.0, "recall": 1.0})
    with pytest.raises(TellError, match=r"'memory': 2.0.*'memory': 3.0"):
        limited.tell(told, {"error": 1.0, "memory": 3.0, "recall": 1.0})


# what fits


@pytest.mark.parametrize(
    "trial",
    [
        Trial(0, {}, "done"),
        *(
            Trial(0, {}, "done", {"value": one})
            for one in (1, True, np.float64(1.0), math.nan, math.inf, None)
        ),
        *(Trial(0, {}, "done", one) for one in ({"error": 1.0}, {"value": 1.0, "error": 1.0})),
        *(Trial(0, {}, "done", {"value": 1.0}, noise={"value": one}) for one in (-1.0, math.nan, 1)),
        Trial(0, {}, "done", {"value": 1.0}, noise={"error": 1.0}),
        Trial(0, {}, "failed", {"value": 1.0}),
        Trial(0, {}, "asked", {"value": 1.0}),
        Trial(0, {}, "failed", noise={"value": 1.0}),
        Trial(0, {}, "waiting"),  # type: ignore[arg-type]
        Trial(0, {}, None),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_trial_that_does_not_fit_is_refused(trial: Trial) -> None:
    assert not PLAIN.fits(trial)
    with pytest.raises(TellError, match="trial 0"):
        Optimizer(SPACE, trials=[replace(trial, params={"a": 0.5, "b": 0.5})])


def test_trials_that_fit() -> None:
    for fine in (
        Trial(0, {}),
        Trial(0, {}, "failed", error="no"),
        Trial(0, {}, "done", {"value": 1.0}, noise={"value": 0.0}, measurements={"x": math.nan}),
        Trial(0, {}, "failed", measurements={"loss": 1.0}),
    ):
        assert PLAIN.fits(fine)
    assert not SEVERAL.fits(Trial(0, {}, "done", {"gain": 1.0, "error": 1.0, "memory": 1.0}))  # their order
    assert SEVERAL.fits(Trial(0, {}, "done", {"error": 1.0, "gain": 1.0, "memory": 1.0}))
    gap = Trial(0, {}, "done", {"error": None, "gain": 1.0, "memory": None})
    assert SEVERAL.fits(gap)
    assert SEVERAL.fits(replace(gap, noise={"gain": 0.5}))
    assert not SEVERAL.fits(replace(gap, noise={"error": 0.5}))
    assert not SEVERAL.fits(replace(gap, values=dict.fromkeys(SEVERAL.names)))
    assert not SEVERAL.fits(replace(gap, state="failed"))


# feasibility and the best


@pytest.mark.parametrize(
    ("constraint", "value", "margin"),
    [
        (AtMost("m", 16.0), 15.0, 1.0),
        (AtMost("m", 16.0), 16.0, 0.0),
        (AtMost("m", 16.0), 17.5, -1.5),
        (AtLeast("m", 16.0), 15.0, -1.0),
        (AtLeast("m", 16.0), 16.0, 0.0),
        (AtLeast("m", -16.0), 1.5, 17.5),
        (AtMost("m", -1.7e308), 1.7e308, -math.inf),
    ],
)
def test_a_margin_is_at_least_zero_where_a_limit_is_met(
    constraint: AtMost | AtLeast, value: float, margin: float
) -> None:
    assert constraint.margin(value) == margin
    problem = Problem(SPACE, constraints=[constraint])
    assert problem.feasible(trial(0, value=0.0, m=value)) == (margin >= 0.0)


def test_the_best_is_the_best_that_is_feasible() -> None:
    trials = [
        trial(0, error=0.1, memory=20.0, recall=0.95),
        trial(1, error=0.5, memory=10.0, recall=0.95),
        trial(2, error=0.2, memory=10.0, recall=0.5),
        trial(3, error=0.3, memory=16.0, recall=0.9),
        trial(4, error=0.3, memory=1.0, recall=1.0),
        Trial(5, {"a": 0.0, "b": 0.0}, "failed", error="no"),
        Trial(6, {"a": 0.0, "b": 0.0}),
    ]
    assert [MEASURED.feasible(one) for one in trials[:5]] == [False, True, False, True, True]
    assert MEASURED.best(trials).number == 3  # the first of equals
    upward = Problem(SPACE, {"error": "maximize"}, MEASURED.constraints)
    assert upward.best(trials).number == 1


def test_a_trial_that_is_not_known_to_be_feasible_is_not_on_the_front() -> None:
    """However good it is."""
    best = {"error": 0.0, "gain": 9.0}
    trials = [
        trial(0, **best, memory=17.0),
        trial(1, error=1.0, gain=2.0, memory=16.0),
        trial(2, error=2.0, gain=1.0, memory=1.0),
        Trial(3, {"a": 0.0, "b": 0.0}, "done", {**best, "memory": None}),
        trial(4, 0.9, 0.9, **best, memory=1.0),
        Trial(5, {"a": 0.0, "b": 0.0}, "done", {"error": 0.0, "gain": None, "memory": 1.0}),
    ]
    problem = Problem(SPACE, SEVERAL.objectives, [*SEVERAL.constraints, SUM])
    assert [one.number for one in problem.front(trials)] == [1]
    assert [one.number for one in SEVERAL.front(trials)] == [4]


def test_conditions_on_params_count_too() -> None:
    problem = Problem(SPACE, constraints=[SUM])
    trials = [trial(0, 0.9, 0.9, value=0.0), trial(1, 0.5, 0.5, value=1.0), trial(2, 0.1, 0.1, value=2.0)]
    assert problem.best(trials).number == 1
    assert [problem.allows(one.params) for one in trials] == [False, True, True]
    with pytest.raises(NoResultError, match="2 finished"):
        problem.best([trial(0, 1, 1, value=0.0), trial(1, 1, 1, value=0.0), Trial(2, {})])
    with pytest.raises(NoResultError, match="failed with: no"):
        problem.best([Trial(0, {}, "failed", error="no")])
    with pytest.raises(NoResultError, match="none of 0"):
        problem.best([])


def test_a_condition_that_raises_is_named_with_the_params() -> None:
    problem = Problem(SPACE, constraints=[Holds("c small", lambda params: params["c"] < 1)])
    words = r"'c small' raised KeyError\('c'\) for .*'a'"
    with pytest.raises(NoResultError, match=words) as caught:
        problem.allows({"a": 0.5, "b": 0.5})
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(NoResultError, match="'c small'"):
        problem.best([trial(0, value=1.0)])
    assert not problem.reaches(trial(0, value=1.0), 2.0)
    with pytest.raises(RecipeError, match=words) as ended:
        bopp.minimize(lambda p: p["a"], SPACE, 4, constraints=problem.constraints, progress=False)
    assert isinstance(ended.value.__cause__, KeyError)


def test_a_condition_cannot_change_the_params_or_swallow_ctrl_c() -> None:
    def greedy(params: dict[str, Any]) -> bool:
        return bool(params.pop("a") < 1)

    def interrupt(params: dict[str, Any]) -> bool:
        raise KeyboardInterrupt

    params = {"a": 0.5, "b": 0.5}
    assert Problem(SPACE, constraints=[Holds("a small", greedy)]).allows(params)
    assert params == {"a": 0.5, "b": 0.5}
    with pytest.raises(KeyboardInterrupt):
        Problem(SPACE, constraints=[Holds("any", interrupt)]).allows({})


@pytest.mark.parametrize(
    ("answer", "allowed"), [(1, True), (0, False), (np.bool_(True), True), (None, False), ("", False)]
)
def test_what_a_condition_returns_is_taken_as_true_or_false(answer: Any, allowed: bool) -> None:
    assert Problem(SPACE, constraints=[Holds("any", lambda params: answer)]).allows({}) is allowed
    both: Any = np.array([True, False])
    with pytest.raises(NoResultError, match="'both' raised ValueError"):
        Problem(SPACE, constraints=[Holds("both", lambda params: both)]).allows({})


def test_a_target_is_reached_by_a_feasible_trial_alone() -> None:
    good = trial(0, error=0.1, memory=1.0, recall=1.0)
    assert MEASURED.reaches(good, 0.1)
    assert MEASURED.reaches(good, 1)
    assert not MEASURED.reaches(good, 0.05)
    assert not MEASURED.reaches(good, None)
    assert not MEASURED.reaches(trial(0, error=0.1, memory=99.0, recall=1.0), 0.1)
    assert not MEASURED.reaches(Trial(0, {}, "failed"), 0.1)
    assert not MEASURED.reaches(Trial(0, {}), 0.1)


# what the engine sees


def test_the_history_has_a_column_for_each_objective_and_each_limit() -> None:
    problem = Problem(
        SPACE, {"error": "minimize", "gain": "maximize"}, [AtMost("memory", 16), SUM, AtLeast("gain", 1)]
    )
    values, noise = {"error": 2.0, "gain": 3.0, "memory": 10.0}, {"gain": 0.5, "memory": 2.0}
    done = Trial(0, {"a": 0.0, "b": 0.0}, "done", values, noise=noise)
    trials = [Trial(0, {}, "failed"), done, Trial(2, {})]
    X = np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])
    history = problem.history(trials, X)
    assert history.X is X
    assert history.state.tolist() == ["failed", "done", "asked"]
    np.testing.assert_array_equal(history.values[1], [-2.0, 3.0, 6.0, 2.0])
    np.testing.assert_array_equal(history.noise[1], [0.0, 0.25, 4.0, 0.25])
    assert np.isnan(history.values[[0, 2]]).all()
    assert not history.noise[[0, 2]].any()
    np.testing.assert_array_equal(history.data.y, [-2.0])
    np.testing.assert_array_equal(history.data.noise, [0.0])
    np.testing.assert_array_equal(history.pending, [[0.3, 0.3]])
    np.testing.assert_array_equal(history.failed, [[0.1, 0.1]])
    empty = MEASURED.history([], np.empty((0, 2)))
    assert (len(empty), empty.values.shape, empty.noise.shape) == (0, (0, 3), (0, 3))
    assert len(empty.data) == len(empty.pending) == len(empty.failed) == 0


@given(
    st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
    st.sampled_from(["minimize", "maximize"]),
)
def test_the_best_is_where_the_engine_sees_the_most(values: list[float | None], direction: Any) -> None:
    problem = Problem(SPACE, {"value": direction})
    trials = [
        Trial(i, {"a": 0.0, "b": 0.0}, "failed") if value is None else trial(i, value=value)
        for i, value in enumerate(values)
    ]
    history = problem.history(trials, np.zeros((len(trials), 2)))
    if len(history.data):
        assert problem.best(trials).number == int(np.nanargmax(history.values[:, 0]))
        assert problem.gain(problem.best(trials).value) == history.data.y.max()


@pytest.mark.parametrize("sd", [1e200, 1e308, 1e-200, 5e-324, 0.0])
def test_a_noise_of_any_size_is_no_trouble(sd: float) -> None:
    opt = Optimizer(SPACE, recipe=replace(Recipe.default(), initial=bopp.initial.Sobol(3)))
    for number in range(6):
        asked = opt.ask()
        opt.tell(asked, asked.params["a"] + asked.params["b"], noise=sd if number % 2 else None)
    assert np.isfinite(opt.result.history().noise).all()
    assert np.isfinite(opt.space.encode(opt.ask().params)).all()


# runs


def measured(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "error": params["a"] + params["b"],
        "memory": 20.0 * params["b"],
        "recall": params["a"],
        "seed": 1,
    }


def test_a_run_gives_the_best_that_is_feasible_and_keeps_what_was_measured() -> None:
    problem = Problem(SPACE, {"error": "minimize"}, [AtMost("memory", 10.0), AtLeast("recall", 0.5)])
    result = bopp.optimize(measured, problem, 12, progress=False)
    assert result.problem is problem
    assert problem.feasible(result.best)
    assert result.best.value == result.best.values["error"]
    assert all(trial.measurements == {"seed": 1.0} for trial in result.trials)
    values = [[trial.values[name] or 0.0 for name in problem.names] for trial in result.trials]
    assert result.best.value == min(e for e, memory, recall in values if memory <= 10.0 and recall >= 0.5)


def test_constraints_of_minimize_and_maximize_are_those_of_the_problem() -> None:
    limit = AtMost("memory", 10.0)
    for run, direction in ((bopp.minimize, "minimize"), (bopp.maximize, "maximize")):
        result = run(
            lambda params: {"value": params["a"], "memory": 20.0 * params["b"]},
            SPACE,
            6,
            constraints=[limit, SUM],
            progress=False,
        )
        assert result.problem == Problem(SPACE, {"value": direction}, [limit, SUM])
        assert result.problem.feasible(result.best)
        assert SUM(result.best.params)


@pytest.mark.parametrize("workers", [1, 2])
def test_whatever_an_objective_returns_ends_its_own_trial_alone(workers: int) -> None:
    result = bopp.minimize(odd, {"kind": Choice(list(ODD))}, len(ODD), workers=workers, progress=False)
    errors = {trial.params["kind"]: trial.error for trial in result.trials}
    assert errors.keys() == ODD.keys()
    for kind, (_, words) in ODD.items():
        assert (errors[kind] is None) if words is None else (words in (errors[kind] or "")), kind
    assert result.best.params == {"kind": "fine"}


ODD: dict[str, tuple[Any, str | None]] = {
    "fine": ({"value": 0.5, "extra": [1]}, None),
    "none": (None, "the objective returned None"),
    "empty": ({}, "'value' is missing"),
    "extras": ({"loss": 1.0}, "'value' is missing: wanted value, got 'loss'"),
    "text": ({"value": "0.5"}, "objective: wanted a number as value"),
    "list": ({"value": [0.5]}, "objective: wanted a number as value"),
    "number": ({1: 0.5}, "'value' is missing: wanted value, got '1'"),
    "infinite": ({"value": math.inf}, "the value was inf"),
}


def odd(params: Mapping[str, Any]) -> Any:
    return ODD[params["kind"]][0]


def test_a_result_with_constraints_says_what_it_found() -> None:
    opt = Optimizer(Problem(SPACE, {"error": "minimize"}, [AtMost("memory", 1.0)]))
    opt.tell(opt.ask(), {"error": 0.5, "memory": 2.0})
    assert repr(opt.result) == "Result(minimize error: no best; trials: 1 done)"
    opt.tell(opt.ask(), {"error": 0.75, "memory": 1.0})
    assert "best 0.75" in repr(opt.result)
    several = bopp.Result(SEVERAL, ())
    assert repr(several) == "Result(minimize error, maximize gain: front of 0; trials: none)"


def test_what_a_trial_breaks_is_said_in_words() -> None:
    limits = [AtMost("memory", 16.0), AtLeast("life", 1.0), AtLeast("memory", -2.0)]
    problem = Problem(SPACE, {"error": "minimize"}, [*limits, Holds("a is small", lambda p: p["a"] < 0.5)])

    def broken(a: float, memory: float | None, life: float | None) -> list[str]:
        values = {"error": 1.0, "memory": memory, "life": life}
        return problem.broken(Trial(0, {"a": a, "b": 0.0}, "done", values))

    assert broken(0.1, 16.0, 1.0) == []
    assert broken(0.1, 17.25, 0.5) == ["memory 17.25 > 16", "life 0.5 < 1"]
    assert broken(0.7, -3.0, None) == ["memory -3 < -2", "not: a is small"]
    assert broken(0.1, None, None) == []
    assert broken(0.1, 16.000000001, 1.0) == ["memory 16.000000001 > 16.0"]
