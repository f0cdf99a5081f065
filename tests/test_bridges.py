import math
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bopp import Choice, Float, Int, Optimizer, Trial
from bopp.bridges import extra
from bopp.bridges import foreign as bridge
from bopp.bridges.foreign import Foreign, Translation, options, real, stepped, whole
from bopp.errors import MissingExtra, SpaceError, TellError

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
BOUND = st.floats(-1e6, 1e6)
WHOLE = st.integers(-(2**52), 2**52)
STEPS = st.sampled_from([0.1, 0.05, 0.25, 0.3, 1e-3, 1.0, 7.5])
UNIT = {"x": Float(0, 1)}


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("missing", ["optuna", "sklearn", "torch", "ray"])
def test_a_bridge_without_its_library_says_in_one_line_what_to_install(missing: str) -> None:
    name = "botorch" if missing == "torch" else missing
    ended = python(f"import sys\nsys.modules[{missing!r}] = None\nimport bopp.bridges.{name}")
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"bopp.errors.MissingExtra: bopp.bridges.{name} ")
    assert f"pip install 'bopp[{name}]'" in last
    assert missing in last.split("': ")[1]


def test_neither_bopp_nor_its_bridges_import_a_library_before_its_bridge_is_imported() -> None:
    libraries = {"optuna", "sklearn", "joblib", "botorch", "gpytorch", "torch", "ray"}
    ended = python(
        f"import sys, bopp, bopp.bridges, bopp.bridges.foreign\nprint({libraries} & sys.modules.keys())"
    )
    assert (ended.stdout, ended.stderr) == ("set()\n", "")


@pytest.mark.parametrize("error", [ModuleNotFoundError("no such module"), ImportError("no such name")])
def test_an_import_that_fails_is_a_missing_extra_and_keeps_its_reason(error: ImportError) -> None:
    with pytest.raises(MissingExtra, match=rf"some.*{error}") as seen, extra("some"):
        raise error
    assert isinstance(seen.value, ImportError)
    assert seen.value.extra == "some"
    assert seen.value.__cause__ is error
    with pytest.raises(OSError, match="no such library"), extra("some"):
        raise OSError("no such library")


def returned(foreign: Foreign, value: Any) -> Any:
    """The value after the way to a parameter of ours and back."""
    translation = Translation({"p": foreign})
    return translation.theirs(translation.ours({"p": value}))["p"]


@settings(deadline=None)
@given(
    st.lists(
        PLAIN
        | st.lists(PLAIN, max_size=3)
        | st.dictionaries(st.text(max_size=2), st.integers(-9, 9), max_size=2)
        | st.tuples(st.integers(-9, 9)),
        min_size=1,
        max_size=6,
    )
)
@example([[1], [True]])
@example([[1, "a"], ["1", "a"]])
@example([["a"], ["a\0"]])
@example([[2**63, -1], [2**63 + 1, -1]])
@example([object(), object()])
def test_options_of_any_kind_come_back_as_they_are_and_in_order(values: list[Any]) -> None:
    foreign = options(values)
    assert all(bridge.alike(returned(foreign, value), value) for value in values)
    assert isinstance(foreign.parameter, Choice)
    ours = foreign.parameter.options
    assert all(
        bridge.alike(foreign.theirs(option), value) for option, value in zip(ours, values, strict=True)
    )


def test_arrays_are_found_by_what_they_hold() -> None:
    foreign = options([np.array([1, 2]), np.array([3]), np.array([1.0, np.pi])])
    assert [foreign.ours(np.array(values)) for values in ([3], [1.0, np.pi], [1, 2])] == [1, 2, 0]
    assert foreign.theirs(1).tolist() == [3]


def test_alike_is_of_one_type_and_equal_in_all_parts() -> None:
    class Table:
        def __eq__(self, other: object) -> bool:
            raise ValueError("wanted one cell, got many")

    table = Table()
    same = [(table, table), ([table], [table]), (math.nan, float("nan")), ([1, (2,)], [1, (2,)])]
    same += [({"a": np.array([1, 2])}, {"a": np.array([1, 2])})]
    different = [(table, Table()), (1, True), (1, 1.0), ([1], [True]), ([1], [1, 2]), ({"a": 1}, {"b": 1})]
    different += [(np.array([1]), np.array([1.0])), (np.array([1]), [1]), ({"a": 1}, {"a": 2})]
    assert all(bridge.alike(*pair) for pair in same)
    assert not any(bridge.alike(*pair) for pair in different)


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
        ([5], True),
        (np.logspace(-3, 3, 7), True),
        (range(10, 0, -2), True),
        *(
            (values, False)
            for values in ([1, 3, 2], [1, 2, True], [False, True], ["a", "b"], [1, 2, None], [1, "3"])
        ),
    ],
)
def test_numbers_in_order_are_an_ordered_choice(values: Sequence[Any], ordered: bool) -> None:
    assert options(values).parameter == Choice([*np.array(values, dtype=object).tolist()], ordered)
    assert options([0.1, math.inf]).parameter == Choice(range(2), ordered=True)  # by their places too


def test_numbers_and_words_of_numpy_become_plain_ones() -> None:
    values = [np.int64(3), np.float32(0.5), np.str_("a"), np.bool_(True)]
    foreign = options(values)
    assert foreign.parameter == Choice([3, 0.5, "a", True])
    assert [type(option) for option in foreign.parameter.options] == [int, float, str, bool]
    assert [returned(foreign, value) for value in values] == [3, 0.5, "a", True]


@settings(deadline=None)
@given(st.tuples(BOUND, BOUND) | st.tuples(WHOLE, WHOLE), st.data())
def test_numbers_come_back_as_they_are(ends: tuple[Any, Any], data: st.DataObject) -> None:
    (low, high), kind = sorted(ends), real if isinstance(ends[0], float) else whole
    value = data.draw(st.floats(low, high) if kind is real else st.integers(low, high))
    assert bridge.alike(returned(kind(low, high), value), value)


@pytest.mark.parametrize("log", [False, True])
def test_ranges_keep_their_bounds_and_whether_factors_matter(log: bool) -> None:
    assert real(0.5, 2, log).parameter == Float(0.5, 2, log)
    assert whole(1, 9, log).parameter == Int(1, 9, log)
    assert stepped(2, 8, 2, 0, log).parameter == Int(1, 4, log)


@pytest.mark.parametrize(
    "foreign", [real(2.0, 2.0), whole(2, 2), stepped(2, 3, 2, 0), stepped(2, 9, 10**9, 2)]
)
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
@given(WHOLE, st.integers(0, 2**52), st.integers(1, 10**8), st.booleans(), st.data())
def test_steps_of_whole_numbers_are_exact(
    low: int, width: int, step: int, from_zero: bool, data: st.DataObject
) -> None:
    high, origin = low + width, 0 if from_zero else low
    first, last = -((origin - low) // step), (high - origin) // step
    if first > last:
        with pytest.raises(SpaceError, match="fits"):
            stepped(low, high, step, origin)
        return
    foreign = stepped(low, high, step, origin)
    assert foreign.parameter.levels == last - first + 1
    value = foreign.theirs(data.draw(places(foreign)))
    assert low <= value <= high
    assert (value - origin) % step == 0
    assert bridge.alike(returned(foreign, value), value)


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
    assert returned(stepped(0.0, 2e6, 0.1, 0.0), 2e6) == 2e6  # the last of many steps


@pytest.mark.parametrize(("step", "words"), [(5, "fits"), (5.0, "fits"), (0, "above 0"), (-1.0, "above 0")])
def test_a_step_that_does_not_fit_is_refused(step: Any, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        stepped(1, 4, step, 0)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"x": None}, r"missing \['x'\]"),
        ({"m": 2}, r"unknown \['m'\]"),
        ({"x": 2.0}, r"'x'.*\[0.0, 1.0\].*2.0"),
        *(({"n": value}, rf"'n'.*{value}.*steps of 2") for value in (3.1, 5, 12, -2, True)),
        *(({"n": value}, "'n': wanted") for value in ("a", None, [2])),
        *(({"r": value}, "'r': wanted") for value in (math.nan, math.inf)),
        ({"kind": "c"}, r"'kind'.*\['a', 'b'\].*'c'"),
        ({"list": [3]}, r"'list'.*\[\[1\], \[2\]\].*\[3\]"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(values: dict[str, Any], words: str) -> None:
    foreign = {"x": real(0, 1), "n": stepped(0, 10, 2, 0), "r": stepped(0.0, 1.0, 0.1, 0.0)}
    translation = Translation({**foreign, "kind": options(["a", "b"]), "list": options([[1], [2]])})
    given = {"x": 0.5, "n": 2, "r": 0.1, "kind": "a", "list": [1], **values}
    if given["x"] is None:
        del given["x"]
    with pytest.raises(SpaceError, match=words):
        translation.ours(given)
    with pytest.raises(SpaceError, match="option"):
        options([])


@pytest.mark.parametrize(
    "trials",
    [
        *(
            [Trial(0, {"x": 0.5}), one]
            for one in (Trial(0, {"x": 0.5}), Trial(2, {"x": 0.5}), {"x": 0.5}, None)
        ),
        *([Trial(0, params)] for params in ({"x": 2.0}, {"x": "a"}, {}, {"x": 0.5, "y": 1})),
        "a",
    ],
)
def test_what_are_no_trials_of_the_search_in_order_is_refused(trials: Any) -> None:
    with pytest.raises((TellError, SpaceError), match=r"trial|'x'|'y'"):
        Optimizer(UNIT, trials=trials)
