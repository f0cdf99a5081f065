import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import Choice, Float, Int, Space
from bopp.errors import SpaceError
from bopp.parameter import Parameter
from support.toys import spelled_out

seeded = settings(derandomize=True, deadline=None, max_examples=60)

PARAMETERS: list[Parameter] = [
    Float(-1.7e308, 1.7e308),
    Float(-2, 5),
    Float(1e-150, 1e150, log=True),
    Float(1e-320, 1e-310, log=True),
    Int(-3, 7),
    Int(0, 2**40),
    Int(1, 1000, log=True),
    Choice([None]),
    Choice([True, False]),
    Choice(["a", "b", "c"]),
    Choice([1, True, 1.0, (1, 2)]),
    Choice([8, 16, 32, 64], ordered=True),
]
WIDE: list[Parameter] = [Int(0, 2**53), Int(-(2**52), 2**52), Int(1, 2**53, log=True)]
NAMES = ["x", "", "🙂", "a\0b", "é" * 600, "'; DROP TABLE trials; --", "<b>&</b>", "../..", '"quoted"']

MIXED = Space(
    {
        "x": Float(-1, 1),
        "lr": Float(1e-6, 1, log=True),
        "n": Int(1, 100),
        "units": Int(1, 1000, log=True),
        "act": Choice(["relu", "tanh", "gelu"]),
        "flag": Choice([True, False]),
        "size": Choice([8, 16, 32], ordered=True),
        "only": Choice(["one"]),
    }
)
FINITE = Space(
    {
        "n": Int(2, 5),
        "units": Int(1, 9, log=True),
        "act": Choice(["relu", "tanh", None]),
        "flag": Choice([True, False]),
        "size": Choice([8, 16, 32], ordered=True),
        "only": Choice([(1, 2)]),
    }
)


def spaces(parameters: list[Parameter]) -> st.SearchStrategy[Space]:
    return st.dictionaries(st.sampled_from(NAMES), st.sampled_from(parameters), min_size=1, max_size=5).map(
        Space
    )


def cube(space: Space, rows: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Random points of the cube, and two of its corners."""
    U = np.random.default_rng(seed).random((rows, space.dimension))
    return np.vstack([U, np.zeros(space.dimension), np.ones(space.dimension)])


@seeded
@given(spaces([*PARAMETERS, *WIDE, Float(0, 1, step=0.1), Int(0, 90, step=7)]), st.integers(0, 100))
def test_many_rows_are_decoded_as_one_by_one(space: Space, seed: int) -> None:
    U = cube(space, 20, seed)
    edges = np.vstack([U, np.zeros_like(U[:1]), np.ones_like(U[:1]), space.snap(U)])
    found = space.decode_all(edges)
    assert found == [space.decode(u) for u in edges]
    assert [[type(one) for one in params.values()] for params in found] == [
        [type(one) for one in space.decode(u).values()] for u in edges
    ]
    held = space.holding(dict(list(found[0].items())[:1]))
    assert held.decode_all(edges) == [held.decode(u) for u in edges]


def test_a_plain_space_allows_everything() -> None:
    U = cube(MIXED, 5, 0)
    assert MIXED.allowed(U).tolist() == [True] * len(U)
    assert MIXED.inside(U) is U
    assert MIXED.along(U, U, U > 0.5) is U
    drawn = MIXED.candidates(4, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, np.random.default_rng(1).random((4, MIXED.dimension)))


@seeded
@given(spaces(PARAMETERS + WIDE), st.integers(0, 2**32))
def test_any_point_decodes_to_params_that_fit_and_encode_into_the_cube(space: Space, seed: int) -> None:
    for u in cube(space, 5, seed):
        params = space.decode(u)
        assert list(params) == list(space.parameters)
        assert space.check(params) == params
        encoded = space.encode(params)
        assert encoded.shape == (space.dimension,)
        assert np.all((encoded >= 0.0) & (encoded <= 1.0))
        assert space.point(u).tolist() == encoded.tolist()
        if not any(isinstance(one, Float) for one in space.parameters.values()):  # the round trip is exact
            back = space.decode(encoded)
            assert [(type(v), v) for v in back.values()] == [(type(v), v) for v in params.values()]


@seeded
@given(spaces([*PARAMETERS, Int(0, 2**50 - 1), Int(1, 2**39, log=True)]), st.integers(0, 2**32))
def test_snap_is_encode_of_decode_and_does_nothing_twice(space: Space, seed: int) -> None:
    U = cube(space, 20, seed)
    before = U.copy()
    snapped = space.snap(U)
    np.testing.assert_array_equal(U, before)
    # A denormal such as 1e-320 has three digits, so its logarithm is known to four.
    coarse = any(isinstance(p, Float) and 0 < p.low < 1e-300 for p in space.parameters.values())
    encoded = np.array([space.encode(space.decode(u)) for u in U])
    np.testing.assert_allclose(snapped, encoded, rtol=0, atol=1e-4 if coarse else 1e-12)
    np.testing.assert_array_equal(snapped[:, space.discrete], encoded[:, space.discrete])
    np.testing.assert_array_equal(space.snap(snapped), snapped)


def test_a_value_is_checked_once_where_it_comes_in_and_never_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    check = Float.check

    def counted(self: Float, value: Any) -> float:
        checked.append(value)
        return check(self, value)

    monkeypatch.setattr(Float, "check", counted)
    u = MIXED.encode(GOOD)
    assert checked == [GOOD["x"], GOOD["lr"]]
    MIXED.point(u)
    assert len(checked) == 2


def test_columns_tell_which_parameter_owns_what() -> None:
    owned = [np.arange(MIXED.dimension)[columns] for columns in MIXED.columns.values()]
    np.testing.assert_array_equal(np.concatenate(owned), np.arange(MIXED.dimension))
    assert [columns.size for columns in owned] == [1, 1, 1, 1, 3, 1, 1, 1]
    marked = [
        [name for name in MIXED.columns if mask[MIXED.columns[name]].all()]
        for mask in (MIXED.discrete, MIXED.unordered)
    ]
    assert marked == [["n", "units", "act", "flag", "size", "only"], ["act", "flag", "only"]]


def move_by_move(space: Space, u: np.ndarray[Any, np.dtype[np.float64]]) -> list[list[float]]:
    """What `moves` does to one row, by way of the params."""
    rows = []
    for name, columns in space.columns.items():
        parameter = space.parameters[name]
        for value in spelled_out(parameter, parameter.decode(u[columns].tolist())):
            rows.append(u.copy())
            rows[-1][columns] = parameter.encode(value)
    return [row.tolist() for row in rows]


@seeded
@given(spaces(PARAMETERS + WIDE), st.integers(0, 2**32))
def test_the_moves_of_many_rows_are_those_of_each_in_every_bit(space: Space, seed: int) -> None:
    for U in (cube(space, 20, seed), space.snap(cube(space, 20, seed))):
        wanted = [(i, row) for i, u in enumerate(U) for row in move_by_move(space, u)]
        points, owner = space.moves(U)
        assert list(zip(owner.tolist(), points.tolist(), strict=True)) == wanted


def test_the_grid_lists_every_point_once() -> None:
    grid = FINITE.grid
    assert grid.shape == (4 * 9 * 3 * 2 * 3, FINITE.dimension)
    assert FINITE.size == len(grid)
    np.testing.assert_allclose(FINITE.snap(grid), grid, rtol=0, atol=1e-12)
    listed = [tuple(FINITE.decode(u).values()) for u in grid]
    wanted = product(range(2, 6), range(1, 10), ("relu", "tanh", None), (True, False), (8, 16, 32), ((1, 2),))
    assert sorted(listed, key=repr) == sorted(wanted, key=repr)


def test_size() -> None:
    assert MIXED.size == math.inf
    assert Space({"n": Int(0, 2**53), "c": Choice([1, 2])}).size == 2 * (2**53 + 1)
    assert Space({"only": Choice([None])}).size == 1
    floats: dict[str, Parameter] = {"x": Float(0, 1), "y": Float(0, 1)}
    assert Space(floats).moves(np.array([[0.2, 0.3]]))[0].shape == (0, 2)
    ints: dict[str, Parameter] = {f"n{i}": Int(1, 100) for i in range(200)}  # more than any float counts
    assert Space(ints | floats).size == Space(floats | ints).size == math.inf


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, ["at least one", "empty"]),
        ([], ["dict", "[]"]),
        ([("x", Float(0, 1))], ["dict", "'x'"]),
        (None, ["dict", "None"]),
        ("x", ["dict", "'x'"]),
        ({1: Float(0, 1)}, ["names", "strings", "1"]),
        ({None: Float(0, 1)}, ["names", "strings", "None"]),
        ({"ok": Float(0, 1), "lr": {}}, ["'lr'", "Float", "Int", "Choice", "(low, high)", "{}"]),
        ({"lr": (0, 1, 2)}, ["'lr'", "(0, 1, 2)"]),
        ({"lr": Float}, ["'lr'", "Float"]),
        ({"lr": 3, "n": None}, ["only fixed ones", "'lr'", "'n'"]),
    ],
)
def test_a_bad_space_names_what_came_and_what_was_wanted(parameters: Any, words: list[str]) -> None:
    with pytest.raises(SpaceError) as caught:
        Space(parameters)
    assert [word for word in words if word not in str(caught.value)] == []


GOOD = {"x": 0.5, "lr": 0.1, "n": 3, "units": 7, "act": "relu", "flag": True, "size": 8, "only": "one"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("x", value) for value in (1.5, "0.5", math.nan, None)),
        ("lr", 0.0),
        *(("n", value) for value in (101, 2.5, True)),
        *(("act", value) for value in ("sigmoid", ["relu"])),
        *((name, "yes") for name in ("flag", "speed", 7)),
    ],
)
def test_params_that_do_not_fit_are_named(name: Any, value: Any) -> None:
    for method in (MIXED.check, MIXED.encode):
        with pytest.raises(SpaceError, match=re.escape(repr(value if name in GOOD else name))) as caught:
            method(GOOD | {name: value})
        assert caught.value.parameter == name
    with pytest.raises(SpaceError, match="missing") as caught:
        MIXED.check({name: value for name, value in GOOD.items() if name != "units"})
    assert caught.value.parameter == "units"
    for no_dict in (None, 3, "x", [("x", 0.5)]):
        with pytest.raises(SpaceError, match="dict"):
            MIXED.check(no_dict)  # type: ignore[arg-type]


def test_check_returns_own_types_in_own_order_and_leaves_the_argument_alone() -> None:
    given = dict(reversed((GOOD | {"x": 1, "n": np.float64(3.0), "size": np.int64(8)}).items()))
    before = dict(given)
    checked = MIXED.check(given)
    assert checked == GOOD | {"x": 1.0}
    assert list(checked) == list(MIXED.parameters)
    assert [type(checked[name]) for name in ("x", "n", "size")] == [float, int, int]
    assert given == before


def test_spaces_are_compared_by_their_parameters() -> None:
    assert Space(MIXED) == MIXED
    assert Space({"x": Float(0, 1)}) != Space({"x": Float(0, 2)})
    assert Space({"x": Float(0, 1)}) != Space({"y": Float(0, 1)})
    assert "'x': Float(low=0.0, high=1.0, log=False)" in repr(Space({"x": Float(0, 1)}))
    parameters: dict[str, Parameter] = {"x": Float(0, 1)}
    space = Space(parameters)
    parameters["y"] = Float(0, 1)
    assert space == Space({"x": Float(0, 1)})  # it does not follow
