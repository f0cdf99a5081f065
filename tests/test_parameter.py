import math
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bopp import Choice, Fixed, Float, Int, Parameter, Space
from bopp.errors import SpaceError
from support.faults import Figure
from support.toys import near, spelled_out

seeded = settings(derandomize=True, deadline=None, max_examples=60)
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=5e-324, allow_infinity=False)
unit = st.floats(0.0, 1.0)

INTS = [
    Int(0, 1),
    Int(-3, 7),
    Int(1, 10**6),
    Int(0, 2**31),
    Int(2**53 - 10, 2**53),
    Int(-(2**53), -(2**53) + 10),
    Int(0, 2**50 - 1),
    Int(0, 2**50),
    Int(0, 2**53),
    Int(-(2**53), -1),
    Int(-(2**52), 2**52),
    Int(1, 2, log=True),
    Int(1, 1000, log=True),
    Int(3, 2**31, log=True),
    Int(1, 2**40 - 1, log=True),
    Int(1, 2**40, log=True),
    Int(1, 2**53, log=True),
    Int(2**51, 2**53, log=True),
]


def ordered_pair(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, float]]:
    """Bounds of a range that holds some thousand floats at least."""
    pairs = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
    return pairs.filter(lambda pair: pair[1] / 2 - pair[0] / 2 > 1e4 * math.ulp(max(map(abs, pair))))


@pytest.mark.fault(18)
@seeded
@given(ordered_pair(finite), st.data())
@example((-1.7e308, 1.7e308), None)
@example((0.0, 1.7e308), None)
@example((1e308, 1.1e308), None)
@example((-1e-320, 1e-320), None)
def test_float_round_trip_is_true_to_a_few_ulp_of_the_range(
    bounds: tuple[float, float], data: st.DataObject | None
) -> None:
    low, high = bounds
    value = 0.7 * low + 0.3 * high if data is None else data.draw(st.floats(low, high))
    back = Float(low, high).decode(Float(low, high).encode(value))
    assert abs(back - value) <= 4 * math.ulp(max(abs(low), abs(high)))


@pytest.mark.fault(18)
@seeded
@given(ordered_pair(positive), st.data())
@example((1e-320, 1e-310), None)
@example((1e-150, 1e150), None)
@example((5e-324, 1.7e308), None)
def test_log_float_round_trip_is_true_to_a_few_ulp_of_the_logarithms(
    bounds: tuple[float, float], data: st.DataObject | None
) -> None:
    low, high = bounds
    value = math.sqrt(low) * math.sqrt(high) if data is None else data.draw(st.floats(low, high))
    back = Float(low, high, log=True).decode(Float(low, high, log=True).encode(value))
    factor = 8 * math.ulp(max(abs(math.log(low)), abs(math.log(high)), 1.0))
    assert abs(back - value) <= factor * value + 2 * math.ulp(0.0)


@pytest.mark.fault(18)
@seeded
@given(ordered_pair(finite), st.booleans(), unit)
def test_float_ends_are_exact_and_everything_between_is_inside(
    bounds: tuple[float, float], log: bool, u: float
) -> None:
    low, high = bounds
    parameter = Float(low, high, log=log and low > 0)
    assert parameter.encode(low) == [0.0]
    assert parameter.encode(high) == [1.0]
    assert parameter.decode([0.0]) == low
    assert parameter.decode([1.0]) == high
    assert parameter.check(parameter.decode([u])) == parameter.decode([u])
    assert 0.0 <= parameter.encode(parameter.decode([u]))[0] <= 1.0


@pytest.mark.fault(18)
@pytest.mark.parametrize(
    ("low", "log"), [(0.0, False), (1.0, True), (1e10, True), (1.7e308, False), (1.7e308, True)]
)
def test_two_neighbouring_floats_make_a_range_or_are_refused_in_words(low: float, log: bool) -> None:
    high = math.nextafter(low, math.inf)
    refusal = None
    try:
        parameter = Float(low, high, log=log)
        back = [parameter.decode(parameter.encode(end)) for end in (low, high)]
    except SpaceError as error:
        refusal = str(error)
    assert repr(low) in refusal if refusal else back == [low, high]


@pytest.mark.fault(18)
@pytest.mark.parametrize(
    "parameter",
    [Float(-1.7e308, 1.7e308), Float(-1, 3), Float(1e-320, 1e-310, log=True), Float(1e-150, 1e150, log=True)],
)
def test_float_encoding_grows_with_the_value_from_end_to_end(parameter: Float) -> None:
    values = [parameter.decode([u]) for u in np.linspace(0.0, 1.0, 201).tolist()]
    assert values == sorted(set(values))
    encoded = [parameter.encode(value)[0] for value in values]
    # A denormal such as 1e-320 has three digits: the grid of such floats is as coarse as that.
    np.testing.assert_allclose(
        encoded, np.linspace(0.0, 1.0, 201), atol=3e-5 if parameter.low < 1e-300 else 1e-12
    )


def test_log_means_equal_factors() -> None:
    assert Float(1e-6, 1.0, log=True).decode([0.5]) == pytest.approx(1e-3, rel=1e-12)
    assert Float(1e-6, 1.0).decode([0.5]) == pytest.approx(0.5, rel=1e-5)
    assert Int(1, 10**6, log=True).decode([0.5]) == 1000
    assert Int(0, 10**6).decode([0.5]) == 500_000


@pytest.mark.parametrize("parameter", INTS, ids=repr)
@seeded
@given(data=st.data())
def test_int_round_trip_is_exact_and_anything_is_an_integer_of_the_range(
    parameter: Int, data: st.DataObject
) -> None:
    value = data.draw(st.integers(parameter.low, parameter.high))
    if parameter.log and not parameter.gridded:  # those that can be suggested
        value = parameter.decode(parameter.encode(value))
    u = parameter.encode(value)
    assert len(u) == parameter.width == 1
    assert 0.0 <= u[0] <= 1.0
    assert parameter.decode(u) == value
    anything = parameter.decode([data.draw(unit)])
    assert type(anything) is int
    assert parameter.check(anything) == anything
    for end, at in ((parameter.low, 0.0), (parameter.high, 1.0)):
        assert (parameter.encode(end), parameter.decode([at])) == ([at], end)


@pytest.mark.fault(17)
@pytest.mark.parametrize("centre", [2**31, 2**50, 2**52 - 6, 2**52, 2**53 - 6])
def test_every_integer_around_a_power_of_two_is_reached(centre: int, figure: Figure) -> None:
    values = list(range(centre - 5, centre + 6))
    narrow = [Int(values[0], values[-1], log=log) for log in (False, True)]
    for parameter in (*narrow, Int(0, 2**53), Int(1, 2**53), Int(6, 2**53 - 1)):
        assert [parameter.decode(parameter.encode(value)) for value in values] == values
    for parameter in narrow:
        assert [parameter.decode([step / 10]) for step in range(11)] == values
    figure(f"{len(values)} of {len(values)} integers around each power reached")


def test_whole_ints_split_the_cube_evenly() -> None:
    u = (np.arange(9000) + 0.5) / 9000
    counts = np.bincount([Int(0, 9).decode([column]) for column in u.tolist()])
    np.testing.assert_array_equal(counts, [500] + [1000] * 8 + [500])


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3), np.uint8(3)])
def test_whole_numbers_of_any_type_are_an_int(value: Any) -> None:
    assert Int(0, 5).check(value) == 3
    assert type(Int(0, 5).check(value)) is int
    assert Float(0, 5).check(value) == 3.0
    assert type(Float(0, 5).check(value)) is float
    assert type(Choice([1, 3]).check(value)) is int


plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary())
options = st.lists(
    st.one_of(plain, st.tuples(plain, plain)),
    min_size=1,
    max_size=6,
    unique_by=lambda option: (type(option), option),
)


@seeded
@given(options, st.booleans(), st.data())
@example([None, "none"], False, None)
@example([1, True, 1.0], True, None)
@example([0, False, 0.0, None, ""], False, None)
def test_choice_round_trip_gives_the_option_itself(
    options: list[Hashable], ordered: bool, data: st.DataObject | None
) -> None:
    parameter = Choice(options, ordered=ordered)
    for option in options:
        u = parameter.encode(option)
        assert len(u) == parameter.width
        assert all(0.0 <= column <= 1.0 for column in u)
        assert parameter.decode(u) is option
        assert parameter.check(option) is option
        assert [id(other) for other in near(parameter, option)] == [id(o) for o in options if o is not option]
    width = parameter.width
    u = data.draw(st.lists(unit, min_size=width, max_size=width)) if data else [0.5] * width
    assert any(parameter.decode(u) is option for option in options)


def test_unordered_options_are_equally_far_apart_and_ordered_ones_in_a_row() -> None:
    points = np.array([Choice(["x", "y", "z"]).encode(option) for option in ("x", "y", "z")])
    distances = [np.abs(points[i] - points[j]).sum() for i, j in ((0, 1), (0, 2), (1, 2))]
    assert distances == [2.0, 2.0, 2.0]
    points = np.array([Choice([8, 16, 32], ordered=True).encode(option) for option in (8, 16, 32)])
    assert points.tolist() == [[0.0], [0.5], [1.0]]


def ranges(low: int, high: int, log: bool) -> st.SearchStrategy[Parameter]:
    pairs = st.lists(st.integers(low, high), min_size=2, max_size=2, unique=True).map(sorted)
    return pairs.map(lambda pair: Int(pair[0], pair[1], log))


def choices(ordered: bool) -> st.SearchStrategy[Parameter]:
    return st.integers(1, 9).map(lambda count: Choice(range(count), ordered=ordered))


KINDS = {
    "Int": ranges(-50, 50, log=False),
    "long Int": ranges(0, 2**50 - 1, log=False),
    "longest Int": ranges(-(2**52), 2**52, log=False),
    "log Int": ranges(1, 100, log=True),
    "long log Int": ranges(1, 2**40 - 1, log=True),
    "log Int far out": ranges(10**9, 10**9 + 1000, log=True),
    "longest log Int": ranges(1, 2**53, log=True),
    "Choice": choices(ordered=False),
    "ordered Choice": choices(ordered=True),
}


def columns(parameter: Parameter, seed: int) -> list[list[float]]:
    """70 rows of the cube: of values, between two values, a bit beside both, and anywhere."""
    rng = np.random.default_rng(seed)
    rows: list[list[float]] = rng.random((70, parameter.width)).tolist()
    for i in range(0, 60, 6):
        here = parameter.encode(parameter.decode(rows[i]))
        there = parameter.encode(
            next(iter(near(parameter, parameter.decode(rows[i]))), parameter.decode(rows[i]))
        )
        between = [(a + b) / 2 for a, b in zip(here, there, strict=True)]
        rows[i : i + 2] = [here, between]
        rows[i + 2 : i + 4] = [[math.nextafter(u, end) for u in here] for end in (0.0, 1.0)]
        rows[i + 4 : i + 6] = [[math.nextafter(u, end) for u in between] for end in (0.0, 1.0)]
    return rows


@pytest.mark.parametrize("kind", KINDS)
@seeded
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_a_point_of_a_grid_has_one_representation(kind: str, data: st.DataObject, seed: int) -> None:
    """Bit for bit: alone, and anywhere in an array of any length up to 70."""
    parameter = data.draw(KINDS[kind])
    U = columns(parameter, seed)
    points = [parameter.encode(parameter.decode(u)) for u in U]
    assert [parameter.encode(parameter.decode(u)) for u in points] == points
    for length in range(1, len(U) + 1) if parameter.gridded else [len(U)]:
        for rows in (slice(length), slice(len(U) - length, None)):
            snapped = parameter.snap(np.array(U[rows]))
            assert snapped.tolist() == points[rows]
            assert parameter.snap(snapped).tolist() == points[rows]
    nothing = np.empty((0, parameter.width))
    assert parameter.snap(nothing).shape == nothing.shape
    assert Float(0, 1).snap(nothing) is nothing  # it has no grid


@pytest.mark.parametrize("kind", KINDS)
@seeded
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_around_gives_the_columns_of_near_in_every_bit(kind: str, data: st.DataObject, seed: int) -> None:
    parameter = data.draw(KINDS[kind])
    U = columns(parameter, seed)
    values = [(i, value) for i, u in enumerate(U) for value in spelled_out(parameter, parameter.decode(u))]
    around, row = parameter.around(np.array(U))
    assert row.tolist() == [i for i, _ in values]
    assert around.tolist() == [parameter.encode(value) for _, value in values]


@pytest.mark.parametrize(
    "one",
    [Float(0, 1), Float(0, 1, step=0.25), Int(0, 9), Choice([1, True, "a", (1, 2)]), Fixed(1)],
    ids=repr,
)
def test_many_values_are_checked_as_each_is(one: Parameter) -> None:
    """Whatever their types, and an odd one anywhere among good ones."""
    good = list(one.spread(3)) if one.width else [1]
    odd = [0, 1, 1.0, True, 0.3, "1", None, math.nan, math.inf, 10**400, -1, 2, np.float64(0.5), [1], "a"]
    assert list(one.check_all([])) == []
    assert [(type(v), v) for v in one.check_all(good * 2)] == [(type(v), v) for v in map(one.check, good * 2)]
    for value in odd:
        try:
            expected = [*good, one.check(value), *good]
        except SpaceError:
            with pytest.raises((SpaceError, TypeError)):
                one.check_all([*good, value, *good])
        else:
            found = one.check_all([*good, value, *good])
            assert [(type(v), v) for v in found] == [(type(v), v) for v in expected]


@pytest.mark.fault(18)
@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda: Float(1, 0), ["low", "high", "1.0", "0.0"]),
        (lambda: Float(1, 1), ["low", "high", "1.0"]),
        (lambda: Int(3, 3), ["low", "high", "3"]),
        (lambda: Int(2**53, 2**50), ["low", "high", str(2**53), str(2**50)]),
        (lambda: Float(math.nan, 1), ["low", "finite", "nan"]),
        (lambda: Float(0, math.nan), ["high", "finite", "nan"]),
        (lambda: Float(0, math.inf), ["high", "finite", "inf"]),
        (lambda: Float(-math.inf, 0), ["low", "finite", "-inf"]),
        (lambda: Float(0, 10**400), ["high", "finite"]),
        (lambda: Float("0", 1), ["low", "number", "'0'"]),  # type: ignore[arg-type]
        (lambda: Float(0, None), ["high", "number", "None"]),  # type: ignore[arg-type]
        (lambda: Float(False, 1), ["low", "number", "False"]),
        (lambda: Float(0, True), ["high", "number", "True"]),
        (lambda: Float(0, 1j), ["high", "number", "1j"]),  # type: ignore[arg-type]
        (lambda: Float(0, 1, log=True), ["log", "low", "0.0"]),
        (lambda: Float(-1, 1, log=True), ["log", "low", "-1.0"]),
        (lambda: Int(0, 9, log=True), ["log", "low", "0"]),
        (lambda: Int(-4, 9, log=True), ["log", "low", "-4"]),
        (lambda: Int(0.5, 3), ["low", "whole", "0.5"]),  # type: ignore[arg-type]
        (lambda: Int(0, math.nan), ["high", "whole", "nan"]),  # type: ignore[arg-type]
        (lambda: Int(0, math.inf), ["high", "whole", "inf"]),  # type: ignore[arg-type]
        (lambda: Int("1", 3), ["low", "whole", "'1'"]),  # type: ignore[arg-type]
        (lambda: Int(False, True), ["low", "whole", "False"]),
        (lambda: Int(0, 10**301), ["2**53", "high"]),
        (lambda: Choice([]), ["option", "none"]),
        (lambda: Choice("abc"), ["list", "'abc'"]),
        (lambda: Choice(3), ["list", "3"]),  # type: ignore[arg-type]
        (lambda: Choice({"a", "b"}), ["list"]),  # type: ignore[arg-type]
        (lambda: Choice(["a", "b", "a"]), ["different", "'a'"]),
        (lambda: Choice([1, 1]), ["different", "1"]),
        (lambda: Choice(["a", [1]]), ["hashable", "[1]"]),  # type: ignore[list-item]
        (lambda: Choice([{}]), ["hashable", "{}"]),  # type: ignore[list-item]
    ],
)
def test_a_bad_declaration_fails_where_it_is_written(
    declare: Callable[[], Parameter], words: list[str]
) -> None:
    with pytest.raises(SpaceError) as caught:
        declare()
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize("declared", [(1, 0), [], [1, 1], {"a": 1}, (0, 1, "log")])
def test_a_space_names_the_parameter_that_is_declared_wrongly(declared: Any) -> None:
    with pytest.raises(SpaceError, match="'name of mine': ") as caught:
        Space({"good": Float(0, 1), "name of mine": declared})
    assert caught.value.parameter == "name of mine"


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        (Float(0, 1), 1.5, ["[0.0, 1.0]", "1.5"]),
        (Float(0, 1), math.nextafter(0.0, -1.0), ["[0.0, 1.0]", "-5e-324"]),
        (Float(0, 1), math.nan, ["finite", "nan"]),
        (Float(0, 1), "0.5", ["number", "'0.5'"]),
        (Float(0, 1), True, ["number", "True"]),
        (Float(0, 1), None, ["number", "None"]),
        (Float(0, 1), 10**400, ["finite"]),
        (Int(0, 9), 10, ["0", "9", "10"]),
        (Int(0, 2**53), 2**53 + 1, [str(2**53), str(2**53 + 1)]),
        (Int(0, 9), 2.5, ["whole", "2.5"]),
        (Int(0, 9), "2", ["whole", "'2'"]),
        (Int(0, 1), True, ["whole", "True"]),
        (Int(0, 9), math.inf, ["whole", "inf"]),
        (Choice(["a", "b"]), "c", ["'a'", "'b'", "'c'"]),
        (Choice(["a", "b"]), ["a"], ["'a'", "['a']"]),
        (Choice(["a", "b"]), np.array(["a", "b"]), ["one of"]),
    ],
)
def test_a_value_that_does_not_fit_is_refused_in_words(
    parameter: Float | Int | Choice, value: Any, words: list[str]
) -> None:
    with pytest.raises(SpaceError) as caught:
        parameter.check(value)
    assert [word for word in words if word not in str(caught.value)] == []
    with pytest.raises(SpaceError, match="'p': "):
        Space({"p": parameter}).encode({"p": value})


def test_parameters_are_values() -> None:
    assert Float(0, 1) == Float(0.0, 1.0)
    assert Choice(["a", "b"]) == Choice(("a", "b"))
    assert Int(1, 3) != Int(1, 3, log=True)
    with pytest.raises(AttributeError):
        Float(0, 1).low = 2.0  # type: ignore[misc]
    options = ["a", "b"]
    parameter = Choice(options)
    options.append("c")
    assert list(parameter.values()) == ["a", "b"]
    assert list(Int(-1, 2).values()) == [-1, 0, 1, 2]
    assert (Int(-1, 2).levels, Int(0, 2**53).levels) == (4, 2**53 + 1)
    with pytest.raises(SpaceError):
        list(Float(0, 1).values())
