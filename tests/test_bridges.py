import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bopp import Choice, Float, Int, Optimizer, Parameter, Recipe, Result, Trial
from bopp.bridges import extra
from bopp.bridges import foreign as bridge
from bopp.bridges.foreign import Foreign, Translation, options, real, stepped, whole
from bopp.errors import MissingExtra, SpaceError, TellError
from bopp.problem import Direction

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
BOUND = st.floats(-1e6, 1e6)
STEPS = st.sampled_from([0.1, 0.05, 0.25, 0.3, 1e-3, 1.0, 7.5])
UNIT = {"x": Float(0, 1)}
SPACE: dict[str, Parameter] = {"x": Float(-1, 1), "n": Int(1, 9), "kind": Choice(["a", "b", "c"])}


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("optuna", ["optuna"]),
        ("sklearn", ["sklearn"]),
        ("botorch", ["botorch", "torch"]),
        ("ray", ["ray"]),
    ],
)
def test_a_bridge_without_its_library_says_in_one_line_what_to_install(name: str, missing: list[str]) -> None:
    hidden = "".join(f"sys.modules[{module!r}] = None\n" for module in missing)
    ended = python(f"import sys\n{hidden}import bopp.bridges.{name}")
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(
        f"bopp.errors.MissingExtra: bopp.bridges.{name} wants pip install 'bopp[{name}]', "
        f"in a checkout pip install '.[{name}]': "
    )
    assert missing[-1] in last.split("': ")[1]


def test_neither_bopp_nor_its_bridges_import_a_library_before_its_bridge_is_imported() -> None:
    libraries = {"optuna", "sklearn", "joblib", "botorch", "gpytorch", "torch", "ray"}
    ended = python(
        f"import sys, bopp, bopp.bridges, bopp.bridges.foreign\nprint({libraries} & sys.modules.keys())"
    )
    assert (ended.stdout, ended.stderr) == ("set()\n", "")


@pytest.mark.parametrize("error", [ModuleNotFoundError("no such module"), ImportError("no such name")])
def test_an_import_that_fails_is_a_missing_extra_and_keeps_its_reason(error: ImportError) -> None:
    with pytest.raises(MissingExtra, match=str(error)) as seen, extra("some"):
        raise error
    assert seen.value.extra == "some"
    assert isinstance(seen.value, ImportError)
    assert seen.value.__cause__ is error


def test_what_is_no_failed_import_passes_through() -> None:
    with pytest.raises(OSError, match="no such library"), extra("some"):
        raise OSError("no such library")


def alike(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one == other or (one != one and other != other))


def returned(foreign: Foreign, value: Any) -> Any:
    """The value after the way to a parameter of ours and back."""
    translation = Translation({"p": foreign})
    return translation.theirs(translation.ours({"p": value}))["p"]


@settings(deadline=None)
@given(st.lists(PLAIN, min_size=1, max_size=6))
def test_plain_options_come_back_as_they_are(values: list[Any]) -> None:
    foreign = options(values)
    assert all(alike(returned(foreign, value), value) for value in values)


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.integers(-9, 9), max_size=3)
        | st.dictionaries(st.text(max_size=2), st.integers(-9, 9), max_size=2)
        | st.tuples(st.integers(-9, 9))
        | st.sampled_from([None, "a", 1.5]),
        min_size=1,
        max_size=6,
    )
)
def test_options_that_hold_others_come_back_as_they_are(values: list[Any]) -> None:
    foreign = options(values)
    assert all(alike(returned(foreign, value), value) for value in values)


@settings(deadline=None)
@given(st.lists(PLAIN | st.lists(PLAIN, max_size=2), min_size=1, max_size=6))
def test_the_options_of_the_parameter_stand_for_theirs_in_order(values: list[Any]) -> None:
    foreign = options(values)
    assert isinstance(foreign.parameter, Choice)
    ours = foreign.parameter.options
    assert len(ours) == len(values)
    assert all(alike(foreign.theirs(option), value) for option, value in zip(ours, values, strict=True))


def test_arrays_are_found_by_what_they_hold() -> None:
    foreign = options([np.array([1, 2]), np.array([3]), np.array([1.0, np.pi])])
    assert [foreign.ours(np.array(values)) for values in ([3], [1.0, np.pi], [1, 2])] == [1, 2, 0]
    assert foreign.theirs(1).tolist() == [3]


def test_objects_are_found_by_themselves() -> None:
    first, second = object(), object()
    assert returned(options([first, second]), second) is second


def test_what_has_no_equality_is_like_itself_alone() -> None:
    class Table:
        def __eq__(self, other: object) -> bool:
            raise ValueError("wanted one cell, got many")

    table = Table()
    assert bridge.alike(table, table)
    assert bridge.alike([table], [table])
    assert not bridge.alike(table, Table())


@pytest.mark.parametrize(
    ("values", "value"),
    [
        ([[1], [True]], [True]),
        ([[1, "a"], ["1", "a"]], ["1", "a"]),
        ([["a"], ["a\0"]], ["a\0"]),
        ([[2**63, -1], [2**63 + 1, -1]], [2**63 + 1, -1]),
    ],
)
def test_lists_that_differ_are_different_options(values: list[Any], value: Any) -> None:
    assert repr(returned(options(values), values[1])) == repr(value)


@pytest.mark.parametrize(
    ("values", "copy"),
    [
        ([[[1], [2, 3]], [[1]]], [[1], [2, 3]]),
        ([math.nan, 1.0], float("nan")),
        ([{"a": np.array([1, 2])}, None], {"a": np.array([1, 2])}),
    ],
    ids=["a ragged list", "nan", "an array in a dict"],
)
def test_a_copy_of_an_option_is_that_option(values: list[Any], copy: Any) -> None:
    """As it comes from a file or another process."""
    assert options(values).ours(copy) == 0


@pytest.mark.parametrize(
    "values", [[[1], [2]], [1, 1], ["a", "b", "a"], [math.nan, 1.0], [{}, None], [0.0, -0.0], [(1,), (2,)]]
)
def test_what_is_no_plain_value_or_twice_there_goes_by_its_place(values: list[Any]) -> None:
    assert Translation({"p": options(values)}).space.parameters["p"] == Choice(tuple(range(len(values))))


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        ([1, 2, 3], True),
        ([3, 2.5, 1], True),
        ([1, 3, 2], False),
        ([5], True),
        ([1, 2, True], False),
        ([False, True], False),
        (["a", "b", "c"], False),
        ([1, 2, None], False),
        ([1, 2, "3"], False),
        (np.logspace(-3, 3, 7), True),
        (range(10, 0, -2), True),
    ],
)
def test_numbers_in_order_are_an_ordered_choice(values: Sequence[Any], ordered: bool) -> None:
    assert options(values).parameter == Choice([*np.array(values, dtype=object).tolist()], ordered)


def test_numbers_in_order_are_so_by_their_places_too() -> None:
    assert options([0.1, math.inf]).parameter == Choice(range(2), ordered=True)


@settings(deadline=None)
@given(st.lists(st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9), min_size=1, unique=True), st.booleans())
def test_sorted_numbers_are_ordered_either_way(values: list[Any], falling: bool) -> None:
    parameter = options(sorted(values, reverse=falling)).parameter
    assert isinstance(parameter, Choice)
    assert parameter.ordered


def test_numbers_and_words_of_numpy_become_plain_ones() -> None:
    values = [np.int64(3), np.float32(0.5), np.str_("a"), np.bool_(True)]
    foreign = options(values)
    assert foreign.parameter == Choice([3, 0.5, "a", True])
    assert [type(option) for option in foreign.parameter.options] == [int, float, str, bool]
    assert [returned(foreign, value) for value in values] == [3, 0.5, "a", True]


def test_no_options_are_refused() -> None:
    with pytest.raises(SpaceError, match="'p': wanted at least one option, got none"):
        Translation({"p": options([])})


@settings(deadline=None)
@given(BOUND, BOUND, st.data())
def test_real_numbers_come_back_as_they_are(low: float, high: float, data: st.DataObject) -> None:
    assume(low <= high)
    value = data.draw(st.floats(low, high))
    assert returned(real(low, high), value) == value


@settings(deadline=None)
@given(st.integers(-(2**52), 2**52), st.integers(-(2**52), 2**52), st.data())
def test_whole_numbers_come_back_as_they_are(low: int, high: int, data: st.DataObject) -> None:
    assume(low <= high)
    value = data.draw(st.integers(low, high))
    assert alike(returned(whole(low, high), value), value)


@pytest.mark.parametrize("log", [False, True])
def test_ranges_keep_their_bounds_and_whether_factors_matter(log: bool) -> None:
    assert real(0.5, 2, log).parameter == Float(0.5, 2, log)
    assert whole(1, 9, log).parameter == Int(1, 9, log)
    assert stepped(2, 8, 2, 0, log).parameter == Int(1, 4, log)


@pytest.mark.parametrize("foreign", [real(2.0, 2.0), whole(2, 2), stepped(2, 3, 2, 0), stepped(2, 3, 2, 2)])
def test_a_range_of_one_value_is_that_value(foreign: Foreign) -> None:
    assert foreign.parameter == Choice([2], ordered=True)
    assert returned(foreign, 2) == 2


def places(foreign: Foreign) -> st.SearchStrategy[Any]:
    parameter = foreign.parameter
    if isinstance(parameter, Int):
        return st.integers(parameter.low, parameter.high)
    assert isinstance(parameter, Choice)
    return st.sampled_from(list(parameter.options))


@settings(deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(0, 1e3), STEPS, st.booleans(), st.data())
def test_steps_of_real_numbers_lie_on_the_grid_inside_the_range_and_come_back(
    low: float, width: float, step: float, from_zero: bool, data: st.DataObject
) -> None:
    high, origin = low + width, 0.0 if from_zero else low
    try:
        foreign = stepped(low, high, step, origin)
    except SpaceError:
        assert from_zero
        assert math.ceil(low / step) > math.floor(high / step)
        return
    value = foreign.theirs(data.draw(places(foreign)))
    steps = (Fraction(value) - Fraction(origin)) / Fraction(step)
    assert low <= value <= high
    assert abs(steps - round(steps)) < 1e-8
    assert returned(foreign, value) == value


@settings(deadline=None)
@given(st.integers(-(2**52), 2**52), st.integers(0, 2**52), st.integers(1, 10**8), st.booleans(), st.data())
def test_steps_of_whole_numbers_are_exact(
    low: int, width: int, step: int, from_zero: bool, data: st.DataObject
) -> None:
    high, origin = low + width, 0 if from_zero else low
    first, last = -((origin - low) // step), (high - origin) // step
    if first > last:
        with pytest.raises(SpaceError, match="wanted a step that fits between"):
            stepped(low, high, step, origin)
        return
    foreign = stepped(low, high, step, origin)
    assert foreign.parameter.levels == last - first + 1
    value = foreign.theirs(data.draw(places(foreign)))
    assert low <= value <= high
    assert (value - origin) % step == 0
    assert alike(returned(foreign, value), value)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ((0.0, 0.3, 0.1, 0.0), [0.0, 0.1, 0.2, 0.3]),
        ((0.1, 0.7, 0.2, 0.1), [0.1, 0.3, 0.5, 0.7]),
        ((0.1, 0.7, 0.2, 0.0), [0.2, 0.4, 0.6]),
        ((-0.3, 0.3, 0.3, 0.0), [-0.3, 0.0, 0.3]),
        ((1, 10, 4, 1), [1, 5, 9]),
        ((1, 10, 4, 0), [4, 8]),
        ((-5, 5, 5, 0), [-5, 0, 5]),
        ((np.int64(2), np.int64(6), np.int64(2), np.int64(0)), [2, 4, 6]),
    ],
)
def test_the_steps_are_all_that_lie_between_the_bounds(arguments: Any, values: list[float]) -> None:
    foreign = stepped(*arguments)
    assert isinstance(foreign.parameter, Int)
    steps = [foreign.theirs(place) for place in range(foreign.parameter.low, foreign.parameter.high + 1)]
    assert steps == pytest.approx(values, abs=1e-12)
    assert all(arguments[0] <= value <= arguments[1] for value in steps)


def test_factors_matter_between_steps_from_zero() -> None:
    translation = Translation({"p": stepped(0.1, 100.0, 0.1, 0.0, log=True)})
    middle = translation.theirs(translation.space.decode(np.array([0.5])))
    assert middle["p"] == pytest.approx(math.sqrt(0.1 * 100), rel=0.05)


@pytest.mark.parametrize("value", [3.1, 5, 12, -2, True])
def test_a_value_that_is_no_step_is_refused(value: Any) -> None:
    with pytest.raises(SpaceError, match=f"'p': .* got {value}: wanted 0 to 10 in steps of 2 from 0"):
        Translation({"p": stepped(0, 10, 2, 0)}).ours({"p": value})


def test_a_step_of_a_billion_does_not_reach_beyond_the_range() -> None:
    assert returned(stepped(0, 10**9 - 1, 10**9, 0), 0) == 0
    assert stepped(0, 10**9 - 1, 10**9, 0).parameter.levels == 1


def test_the_last_of_many_steps_is_there() -> None:
    assert returned(stepped(0.0, 2e6, 0.1, 0.0), 2e6) == 2e6


@pytest.mark.parametrize("step", [5, 5.0])
def test_a_step_that_does_not_fit_is_refused(step: Any) -> None:
    with pytest.raises(SpaceError, match=r"wanted a step that fits between 1 and 4, got 5"):
        stepped(1, 4, step, 0)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"n": 2, "kind": "a"}, r"missing \['x'\], unknown \[\]"),
        ({"x": 0.5, "n": 2, "kind": "a", "m": 2}, r"missing \[\], unknown \['m'\]"),
        ({"x": 2.0, "n": 2, "kind": "a"}, r"'x': wanted a number in \[0.0, 1.0\], got 2.0"),
        (
            {"x": 0.5, "n": 12, "kind": "a"},
            "'n': wanted a value of this parameter, got 12: wanted 0 to 10 in steps of 2",
        ),
        ({"x": 0.5, "n": 2, "kind": "c"}, r"'kind': wanted one of \['a', 'b'\], got 'c'"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(values: dict[str, Any], match: str) -> None:
    translation = Translation({"x": real(0, 1), "n": stepped(0, 10, 2, 0), "kind": options(["a", "b"])})
    with pytest.raises(SpaceError, match=match):
        translation.ours(values)


def test_a_value_that_is_no_option_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"wanted one of \[\[1\], \[2\]\], got \[3\]"):
        options([[1], [2]]).ours([3])


@pytest.mark.parametrize(
    ("foreign", "value"),
    [
        (options([[1], [2]]), [3]),
        (stepped(0, 10, 2, 0), "a"),
        (stepped(0, 10, 2, 0), None),
        (stepped(0.0, 1.0, 0.1, 0.0), math.nan),
        (stepped(0.0, 1.0, 0.1, 0.0), math.inf),
    ],
)
def test_values_that_have_no_place_are_refused_by_name(foreign: Foreign, value: Any) -> None:
    with pytest.raises(SpaceError, match="'p': wanted"):
        Translation({"p": foreign}).ours({"p": value})


def objective(trial: Trial) -> float:
    return float(trial.params["x"] ** 2 + trial.params["n"] / 9 + "abc".index(trial.params["kind"]))


def told(optimizer: Optimizer, count: int) -> None:
    """So many trials more: most with a value, every third failed."""
    for trial in [optimizer.ask() for _ in range(count)]:
        if trial.number % 3 == 2:
            optimizer.fail(trial, "too hot")
        else:
            optimizer.tell(trial, objective(trial))


def as_is(result: Result) -> tuple[Trial, ...]:
    return result.trials


def through_json(result: Result) -> tuple[Trial, ...]:
    return Result.from_json(result.to_json()).trials


@pytest.mark.parametrize("kept", [as_is, through_json])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize(("before", "pending"), [(0, 0), (4, 3), (8, 2)])
def test_an_optimizer_begun_with_the_trials_of_another_goes_on_as_that_one(
    before: int, pending: int, direction: Direction, kept: Callable[[Result], tuple[Trial, ...]]
) -> None:
    first = Optimizer(SPACE, direction, seed=3)
    told(first, before)
    waiting = [first.ask() for _ in range(pending)]
    second = Optimizer(SPACE, direction, seed=3, trials=kept(first.result))
    assert second.trials == first.trials
    for optimizer in (first, second):
        told(optimizer, 3)
        for trial in waiting:
            optimizer.tell(trial, objective(trial))
        told(optimizer, 2)
    assert [(trial.number, trial.params, trial.state, trial.value) for trial in second.trials] == [
        (trial.number, trial.params, trial.state, trial.value) for trial in first.trials
    ]
    assert second.best.number == first.best.number


def test_what_is_told_to_the_second_optimizer_leaves_the_first_as_it_was() -> None:
    first = Optimizer(SPACE)
    trial = first.ask()
    second = Optimizer(SPACE, trials=first.trials)
    second.tell(trial, 1.0)
    assert [one.state for one in (*first.trials, *second.trials)] == ["asked", "done"]


def test_trials_of_another_space_that_fit_are_taken() -> None:
    first = Optimizer(UNIT)
    told_values = [first.tell(trial, trial.params["x"]) for trial in first.ask(6)]
    wider = Optimizer({"x": Float(0, 4)}, trials=iter(told_values))
    assert wider.best.params == first.best.params
    assert 0 <= wider.ask().params["x"] <= 4


def test_the_initial_design_goes_on_where_the_trials_end() -> None:
    first = Optimizer(SPACE, recipe=Recipe.random())
    first.ask(3)
    second = Optimizer(SPACE, recipe=Recipe.random(), trials=first.trials)
    assert [trial.params for trial in second.ask(4)] == [trial.params for trial in first.ask(4)]


@pytest.mark.parametrize(
    "trials",
    [
        [Trial(1, {"x": 0.5})],
        [Trial(0, {"x": 0.5}), Trial(0, {"x": 0.5})],
        [Trial(0, {"x": 0.5}), Trial(2, {"x": 0.5})],
        [Trial(1, {"x": 0.5}), Trial(0, {"x": 0.5})],
        [{"x": 0.5}],
        [Trial(0, {"x": 0.5}), None],
        "a",
    ],
)
def test_what_are_no_trials_in_order_is_refused(trials: Any) -> None:
    with pytest.raises(TellError, match=r"trials: wanted trial \d with a value if it is done, got"):
        Optimizer(UNIT, trials=trials)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"x": 2.0}, r"'x': wanted a number in \[0.0, 1.0\], got 2.0"),
        ({"x": "a"}, "'x'"),
        ({}, r"missing \['x'\]"),
        ({"x": 0.5, "y": 1}, r"unknown \['y'\]"),
    ],
)
def test_trials_that_do_not_fit_the_space_are_refused(params: dict[str, Any], match: str) -> None:
    with pytest.raises(SpaceError, match=match):
        Optimizer(UNIT, trials=[Trial(0, params, "done", {"value": 1.0})])


@pytest.mark.parametrize(
    "trial",
    [
        Trial(0, {"x": 0.5}, "done"),
        Trial(0, {"x": 0.5}, "done", {"loss": 1.0}),
        Trial(0, {"x": 0.5}, "done", {"value": math.nan}),
        Trial(0, {"x": 0.5}, "done", {"value": math.inf}),
        Trial(0, {"x": 0.5}, "failed", {"value": 1.0}),
        Trial(0, {"x": 0.5}, "finished", {"value": 1.0}),  # type: ignore[arg-type]
    ],
)
def test_trials_that_cannot_be_are_refused(trial: Trial) -> None:
    with pytest.raises(TellError):
        Optimizer(UNIT, trials=[trial])
