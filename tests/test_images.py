from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import Choice, Float, Int, Optimizer, Problem, Recipe, maximize, minimize, open_study
from bopp.data import Array, Data, History
from bopp.errors import BoppError, RecipeError, StudyError
from bopp.initial import Sobol
from bopp.knowledge import images_of, twins_of
from bopp.model import learn
from bopp.pseudo import Failed, Guesses, Images, Pending, Sum, images, sources
from bopp.pseudo.images import MARGIN, MOST
from bopp.search import Gradients, best_fresh
from bopp.space import Params, Space
from bopp.suggest import suggest

PLANE = Space({"a": Float(0, 1), "b": Float(0, 1)})
NOWHERE = np.empty((0, 2))
BASE = Recipe(search=Gradients(100, 50, 4, 20))
BOX = Space({"x": Float(-2, 6), "y": Float(0.01, 100, log=True), "z": Float(0, 3), "w": Float(0, 3)})
TWO = Space({"x1": Float(0, 4), "y1": Float(1, 9), "x2": Float(0, 4), "y2": Float(1, 9)})
CUBE = st.lists(st.floats(0, 1), min_size=4, max_size=4)


def twins(source: Images, space: Space, *params: Params) -> list[list[Params]]:
    """The images of each of some params."""
    found = source.twins(space, np.array([space.encode(one) for one in params]))
    return [
        [space.decode(image) for image in found[:, row] if not np.isnan(image).any()]
        for row in range(len(params))
    ]


def holds(X: Array, row: Array) -> bool:
    return bool((np.abs(X - row).max(axis=1) < 1e-9).any())


def orbit(source: Images, space: Space, u: Array) -> Array:
    """A point and its images."""
    found = source.twins(space, u[None, :])[:, 0]
    return np.vstack([u, found[~np.isnan(found).any(axis=1)]])


GROUPS = {
    "two": (TWO, Images(exchange=("x1", "x2"))),
    "blocks": (TWO, Images(exchange=(("x1", "y1"), ("x2", "y2")))),
    "mirror": (BOX, Images(mirror={"x": 2.0})),
    "mirror by ratio": (BOX, Images(mirror={"y": 1.0})),
    "two mirrors": (BOX, Images(mirror={"x": 2.0, "y": 1.0})),
    "mirror and exchange": (BOX, Images(exchange=("z", "w"), mirror={"x": 2.0})),
    "function": (BOX, Images(equal=lambda p: dict(p, x=4.0 - p["x"]))),
    "four": (Space({name: Float(0, 1) for name in "abcd"}), Images(exchange=tuple("abcd"))),
}


@pytest.mark.parametrize(("space", "source"), GROUPS.values(), ids=GROUPS)
@settings(max_examples=25)
@given(row=CUBE)
def test_an_image_has_the_same_images_and_its_own_point_among_them(
    space: Space, source: Images, row: list[float]
) -> None:
    whole = orbit(source, space, np.array(row))
    for image in whole[:5]:
        again = orbit(source, space, image)
        assert len(again) == len(whole)
        assert all(holds(whole, one) for one in again)
        assert all(holds(again, one) for one in whole)


@settings(max_examples=25)
@given(row=CUBE)
def test_a_mirrored_image_lies_in_the_cube_or_there_is_none(row: list[float]) -> None:
    found = Images(mirror={"x": 1.0, "y": 30.0}).twins(BOX, np.array([row]))
    missing = np.isnan(found).all(axis=2)
    assert np.array_equal(missing, np.isnan(found).any(axis=2))
    inside = found[~missing]
    assert np.all((inside >= 0.0) & (inside <= 1.0))


def distances(p: Params) -> float:
    return float(
        abs(p["x1"] - p["x2"]) + math.hypot(p["y1"], p["y2"]) + p["x1"] * p["y1"] + p["x2"] * p["y2"]
    )


SYMMETRIC: list[tuple[Space, Images, Callable[[Params], float], int]] = [
    (TWO, Images(exchange=(("x1", "y1"), ("x2", "y2"))), distances, 1),
    (BOX, Images(mirror={"x": 1.5}), lambda p: abs(p["x"] - 1.5) + p["y"], 1),
    (BOX, Images(mirror={"y": 2.0}), lambda p: abs(math.log(p["y"] / 2.0)) + p["x"], 1),
    (BOX, Images(exchange=("z", "w")), lambda p: p["z"] * p["w"] + p["x"], 1),
    (BOX, Images(period={"x": 4.0}), lambda p: math.sin(math.pi * p["x"] / 2.0) * p["z"], 4),
    (BOX, Images(equal=lambda p: dict(p, z=3.0 - p["z"])), lambda p: abs(p["z"] - 1.5), 1),
    (
        BOX,
        Images(equal=lambda p: [dict(p, z=3.0 - p["z"]), dict(p, w=3.0 - p["w"])]),
        lambda p: abs(p["z"] - 1.5) + abs(p["w"] - 1.5) * p["x"],
        2,
    ),
    (BOX, Images(exchange=("z", "w"), mirror={"x": 2.0}), lambda p: p["z"] * p["w"] + abs(p["x"] - 2.0), 3),
    (
        BOX,
        Images(mirror={"x": 2.0}, equal=lambda p: dict(p, z=3.0 - p["z"])),
        lambda p: abs(p["z"] - 1.5) * abs(p["x"] - 2.0),
        3,
    ),
]


@pytest.mark.parametrize(("space", "source", "f", "count"), SYMMETRIC)
@settings(max_examples=25)
@given(row=CUBE)
def test_images_have_the_same_value_where_the_function_is_symmetric(
    space: Space, source: Images, f: Callable[[Params], float], count: int, row: list[float]
) -> None:
    u = np.array(row)
    found = source.twins(space, u[None, :])
    assert found.shape == (count, 1, space.dimension)
    for image in found[:, 0]:
        if np.all((image >= 0.0) & (image <= 1.0)):  # neither missing nor beyond the ends
            assert f(space.decode(image)) == pytest.approx(f(space.decode(u)), rel=1e-6, abs=1e-6)


def test_what_comes_after_an_end_of_a_period_is_shown_a_little_beyond_it() -> None:
    """A range of one period: what is near one end lies beyond the other one too."""
    space, source = Space({"angle": Float(0, 360)}), Images(period={"angle": 360})
    X = np.array([[0.0], [0.1], [0.5], [0.9], [1.0]])
    up, down = source.twins(space, X)[..., 0]
    np.testing.assert_allclose(up, [1.0, 1.1, math.nan, math.nan, math.nan])
    np.testing.assert_allclose(down, [math.nan, math.nan, math.nan, -0.1, 0.0], atol=1e-12)
    beyond = source.twins(space, np.linspace(0.0, 1.0, 101)[:, None])
    beyond = beyond[~np.isnan(beyond)]
    assert beyond.min() == pytest.approx(-MARGIN, abs=0.011)
    assert beyond.max() == pytest.approx(1.0 + MARGIN, abs=0.011)


NUMBERS = Space({"n": Int(1, 9), "m": Int(1, 9), "p": Choice(list("uvw")), "q": Choice(list("uvw"))})


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from("uvw"), st.sampled_from("uvw"))
def test_integers_and_options_are_exchanged_to_the_bit(n: int, m: int, p: str, q: str) -> None:
    source = Images(exchange=(("n", "p"), ("m", "q"))).bind(Problem(NUMBERS))
    (image,) = source.twins(NUMBERS, NUMBERS.encode({"n": n, "m": m, "p": p, "q": q})[None, :])
    assert np.array_equal(image[0], NUMBERS.encode({"n": m, "m": n, "p": q, "q": p}))


@pytest.mark.parametrize(
    ("parameter", "centre", "pairs"),
    [
        (Int(0, 10), 5, [(0, 10), (3, 7), (5, 5)]),
        (Int(1, 8), 4.5, [(1, 8), (4, 5)]),
        (Int(0, 10), 8, [(6, 10), (8, 8)]),
        (Int(1, 100, log=True), 10, [(1, 100), (5, 20)]),
        (Float(0, 1, step=0.25), 0.5, [(0.0, 1.0), (0.25, 0.75)]),
        (Int(0, 10, step=3), 4.5, [(0, 9), (3, 6)]),
        (Float(0, 1, step=0.3), 0.45, [(0.0, 0.9), (0.3, 0.6)]),
    ],
    ids=str,
)
def test_numbers_on_a_grid_are_mirrored_to_numbers_on_the_grid(
    parameter: Any, centre: float, pairs: list[tuple[float, float]]
) -> None:
    space = Space({"n": parameter})
    source = Images(mirror={"n": centre}).bind(Problem(space))
    for one, other in pairs:
        for a, b in ((one, other), (other, one)):
            image = source.twins(space, space.encode({"n": a})[None, :])[0, 0]
            np.testing.assert_allclose(image, space.encode({"n": b}), atol=1e-9)
    if parameter == Int(0, 10) and centre == 5:  # to the bit: a search compares points of a grid so
        assert np.array_equal(source.twins(space, space.grid)[0], space.grid[::-1])


CONDITIONAL = Space(
    {
        "solver": Choice(["sgd", "adam"]),
        "x": Float(0, 1, when={"solver": ["sgd"]}),
        "y": Float(0, 1, when={"solver": ["sgd"]}),
        "z": Float(0, 1),
    }
)
SNAPPED = CONDITIONAL.snap(np.array([[0.0, 0.2, 0.7, 0.1], [1.0, 0.2, 0.7, 0.1]]))


@pytest.mark.parametrize(
    "source",
    [
        Images(mirror={"x": 0.5}),
        Images(mirror={"z": 0.3}),
        Images(equal=lambda p: dict(p, z=1.0 - p["z"])),
        Images(mirror={"x": 0.3}),
        Images(period={"x": 0.3}),
    ],
)
def test_images_where_a_parameter_does_not_apply_are_points_of_the_space(source: Images) -> None:
    found = source.bind(Problem(CONDITIONAL)).twins(CONDITIONAL, SNAPPED).reshape(-1, 4)
    found = found[~np.isnan(found).any(axis=1)]
    inside = found[((found >= 0.0) & (found <= 1.0)).all(axis=1)]
    assert len(inside) > 0
    np.testing.assert_allclose(CONDITIONAL.snap(inside), inside, atol=1e-12)
    (found,) = Images(exchange=("x", "y")).bind(Problem(CONDITIONAL)).twins(CONDITIONAL, SNAPPED)
    np.testing.assert_allclose(found[0], [0.0, 0.7, 0.2, 0.1])
    assert np.array_equal(found[1], SNAPPED[1])  # there is nothing to exchange


def test_there_are_at_most_24_images_of_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple("abcde")
    made: list[Any] = []
    space = Space({name: Float(0, 1) for name in names})
    x, usual = np.random.default_rng(0).random((3, 5)), images._permutation

    def counted(*given: Any) -> Any:
        made.append(given)
        return usual(*given)

    monkeypatch.setattr(images, "_permutation", counted)
    for source in (
        Images(exchange=names),
        Images(mirror=dict.fromkeys(names, 0.5)),
        Images(period=dict.fromkeys(names, 0.5)),
        Images(exchange=names[:4], equal=lambda p: [dict(p, e=1.0 - p["e"])]),
        Images(equal=lambda p: [dict(p, e=i / 40) for i in range(40)]),
    ):
        made.clear()
        assert source.twins(space, x).shape == (MOST, 3, 5) == (24, 3, 5)
        assert len(made) <= 2 * MOST  # no more are made than are taken
    every = Images(exchange=names[:4]).twins(space, x)
    assert len(np.unique(every[:, 0], axis=0)) == 23
    for space, source in GROUPS.values():  # and none of no points
        nowhere = np.empty((0, space.dimension))
        assert source.twins(space, nowhere).shape[1:] == nowhere.shape
        assert twins_of([source], space, nowhere).shape == nowhere.shape


@pytest.mark.parametrize(
    ("settings", "came"),
    [
        ({}, "none"),
        ({"exchange": "ab"}, "'ab'"),
        ({"exchange": ("a",)}, "('a',)"),
        ({"exchange": ("a", "a")}, "('a', 'a')"),
        ({"exchange": (("a", "b"), ("c",))}, "'c'"),
        ({"exchange": (("a", "b"), ("b", "c"))}, "'c'"),
        ({"exchange": ((1,), (2,))}, "1"),
        ({"exchange": 5}, "5"),
        ({"mirror": {"a": "middle"}}, "'middle'"),
        ({"mirror": {"a": math.nan}}, "nan"),
        ({"mirror": {"a": True}}, "True"),
        ({"mirror": 0.5}, "0.5"),
        ({"mirror": {3: 0.5}}, "3"),
        ({"mirror": "a"}, "'a'"),
        ({"period": {"a": 0}}, "0"),
        ({"period": {"a": -1.0}}, "-1"),
        ({"period": {"a": None}}, "None"),
        ({"equal": 3}, "3"),
        ({"exchange": ("a", "b"), "trust": 0}, "0"),
        ({"exchange": ("a", "b"), "trust": 1.5}, "1.5"),
        ({"exchange": ("a", "b"), "trust": True}, "True"),
    ],
)
def test_what_is_no_symmetry_is_refused(settings: dict[str, Any], came: str) -> None:
    with pytest.raises(RecipeError, match=r"^Images: .*(wanted|must be).*got") as caught:
        Images(**settings)
    assert came in str(caught.value).partition("got")[2]


ODD = Space(
    {
        "a": Float(0, 1),
        "b": Float(0, 2),
        "n": Int(0, 2**53),
        "c": Choice(["p", "q", "r"]),
        "l": Float(1, 9, log=True),
    }
)


@pytest.mark.parametrize(
    ("source", "came"),
    [
        (Images(exchange=("a", "nowhere")), "'nowhere'"),
        (Images(exchange=("a", "b")), "'b' Float(low=0.0, high=2.0"),
        (Images(exchange=("a", "c")), "'c' Choice"),
        (Images(mirror={"d": 1.0}), "'d'"),
        (Images(mirror={"c": 1.0}), "'c'"),
        (Images(period={"c": 1.0}), "'c'"),
        (Images(period={"l": 1.0}), "'l' with log=True"),
        (Images(mirror={"l": -1.0}), "-1"),
        (Images(mirror={"b": 2.5}), "2.5"),  # of which there would be no image
        (Images(period={"b": 30.0}), "30.0"),
    ],
)
def test_a_symmetry_that_does_not_fit_the_space_is_refused(source: Images, came: str) -> None:
    with pytest.raises(BoppError, match=r"wanted.*got") as caught:
        Optimizer(ODD, knowledge=[source])
    assert came in str(caught.value).partition("got")[2]


@pytest.mark.parametrize(
    ("equal", "got"),
    [
        (lambda p: {"a": 0.5}, r"missing \['b'"),
        (lambda p: {**p, "a": 0.5, "c": 1}, "'c'"),
        (lambda p: [p, 3], "got 3"),
        (lambda p: {**p, "a": "0.5"}, "'0.5'"),
        (lambda p: None, "got None"),
        (lambda p: 3.0, "got 3.0"),
        (lambda p: {"x": p["x"]}, "got KeyError: 'x'"),
    ],
)
def test_a_function_that_returns_no_params_is_named_with_its_params(equal: Any, got: str) -> None:
    source, words = Images(equal=equal), rf"^Images: equal: .* as \{{'a': 0.*{got}"
    with pytest.raises(RecipeError, match=words):
        source.twins(PLANE, np.array([[0.1, 0.2]]))
    for problem in (Problem(PLANE), Problem(PLANE, fidelities={"epochs": [1, 9]})):
        with pytest.raises(RecipeError, match=words):
            Optimizer(problem, knowledge=[source])


def test_a_function_is_tried_at_a_few_points_of_every_branch_before_a_run() -> None:
    seen: list[Params] = []
    Images(equal=lambda p: seen.append(p) or []).bind(Problem(CONDITIONAL))  # type: ignore[func-returns-value]
    assert len(seen) == 8
    assert {one["solver"] for one in seen} == {"sgd", "adam"}
    with pytest.raises(RecipeError, match=r"'adam'.*KeyError: 'x'"):
        Images(equal=lambda p: dict(p, x=1.0 - p["x"])).bind(Problem(CONDITIONAL))


def test_a_function_may_take_its_params_by_keyword() -> None:
    async def later(a: float, b: float) -> Params:
        return {"a": b, "b": a}

    ways: list[Any] = [lambda p: {"a": p["b"], "b": p["a"]}, lambda a, b: {"a": b, "b": a}, later]
    for equal in ways:
        assert twins(Images(equal=equal).bind(Problem(PLANE)), PLANE, {"a": 0.1, "b": 0.7}) == [
            [{"a": 0.7, "b": 0.1}]
        ]
    for problem in (Problem(PLANE), Problem(PLANE, fidelities={"epochs": [1, 9]})):
        with pytest.raises(RecipeError, match=r"takes \(a, c\), the space has a, b"):
            Optimizer(problem, knowledge=[Images(equal=lambda a, c: {"a": a, "b": c})])
    both = Images(period={"a": 1.0}, equal=lambda p: dict(p, b=1.0 - p["b"]))
    found = both.twins(PLANE, np.array([[0.1, 0.3]])).reshape(-1, 2)
    np.testing.assert_allclose(found[~np.isnan(found[:, 0]), 0] % 1.0, 0.1)
    space = Space({"n": Int(0, 2**53)})  # in a very long range numbers are exact
    assert twins(Images(equal=lambda p: {"n": p["n"] + 1}), space, {"n": 2**52}) == [[{"n": 2**52 + 1}]]
    assert twins(Images(equal=lambda p: {"n": 0.5}), space, {"n": 2**52}) == [[{"n": 0}]]


STEPS = Space({"n": Int(0, 10), "even": Int(0, 10, step=2), "x": Float(0, 1, step=0.25), "y": Float(0, 1)})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"n": 2.5}, None),
        ({"n": 3.0}, {"n": 3}),
        ({"n": 3.0000001}, {"n": 3}),
        ({"even": 3}, None),
        ({"x": 0.3}, None),
        ({"x": 0.75 + 1e-9}, {"x": 0.75}),
        ({"n": np.int64(4)}, {"n": 4}),
        ({"n": np.int64(11)}, None),
        ({"n": np.float32(2.5)}, None),
        ({"y": np.float32(0.5)}, {"y": 0.5}),
        ({"y": np.float32(1.5)}, None),
        ({"y": np.float64(1.0 + 1e-9)}, {"y": 1.0}),
        ({"y": math.inf}, None),
        ({"y": 10**400}, None),
    ],
    ids=str,
)
def test_numbers_of_a_function_between_those_of_a_grid_are_no_image(given: Params, wanted: Any) -> None:
    here = {"n": 1, "even": 2, "x": 0.25, "y": 0.25}
    (found,) = twins(Images(equal=lambda p: {**p, **given}), STEPS, here)
    assert found == ([] if wanted is None else [{**here, **wanted}])


@pytest.mark.parametrize(
    "equal",
    [
        lambda p: {"a": p["b"], "b": p["a"]},
        lambda p: [{**p, "a": p["b"], "b": p["a"]}],
        lambda a, b: {"a": b, "b": a},
        lambda a, b, epochs: {"a": b, "b": a, "epochs": epochs},
        lambda **p: {"a": p["b"], "b": p["a"]},
    ],
)
def test_an_image_has_the_level_of_its_point_unless_a_function_says_another(equal: Any) -> None:
    problem = Problem(PLANE, fidelities={"epochs": [1, 9]})
    optimizer = Optimizer(problem, knowledge=[Images(equal=equal)])
    (source,) = sources(optimizer.recipe.pseudo)
    assert isinstance(source, Images)
    for epochs in (1, 9):
        here = {"a": 0.2, "b": 0.7, "epochs": epochs}
        assert twins(source, problem.space, here) == [[{"a": 0.7, "b": 0.2, "epochs": epochs}]]
    assert Optimizer(problem, knowledge=[source]).recipe == optimizer.recipe


def swapped(a: float, b: float) -> Params:
    return {"a": b, "b": a}


@pytest.mark.parametrize("fidelities", [None, {"epochs": [1, 9]}])
def test_a_study_is_opened_again_with_the_same_function_and_by_its_name(
    tmp_path: Path, fidelities: Any
) -> None:
    url, problem = f"sqlite:///{tmp_path}/a.db", Problem(PLANE, fidelities=fidelities)
    for _ in range(2):
        with open_study(url, "s", problem, knowledge=[Images(equal=swapped)]) as study:
            assert [account.name for account in study.knowledge] == ["Images(equal=swapped)"]
    with pytest.raises(StudyError, match=r"equal test_images.swapped.*got images: equal"):
        open_study(url, "s", knowledge=[Images(equal=lambda a, b: {"a": b, "b": a})])


def test_what_a_function_returns_beyond_a_range_is_no_image_unless_by_rounding() -> None:
    space = Space({"x": Float(0.1, 0.2)})
    images = Images(equal=lambda p: [{"x": p["x"] + 0.05}, {"x": 0.3 - p["x"]}])
    assert images.twins(space, space.encode({"x": 0.2})[None, :]).tolist() == [[[0.0]]]
    result = maximize(lambda p: p["x"], space, 8, knowledge=[images], progress=False)
    assert len(result.trials) == 8


@pytest.mark.parametrize(
    ("images", "value", "wanted"),
    [
        (Images(mirror={"k": 10.3}), 11, set()),
        (Images(mirror={"k": 10.5}), 11, {10}),
        (Images(period={"k": 2.5}), 7, {2, 12, 17}),
    ],
)
def test_between_the_values_of_a_grid_there_is_no_image(images: Images, value: int, wanted: set[int]) -> None:
    space = Space({"k": Int(0, 20)})
    rows = images.twins(space, space.encode({"k": value})[None, :])[:, 0]
    inside = [row for row in rows if np.all((row >= 0.0) & (row <= 1.0))]
    assert {space.decode(row)["k"] for row in inside} == wanted


def test_images_stay_at_their_own_level_while_others_are_settled() -> None:
    problem = Problem({"x": Float(0, 1), "y": Float(0, 1), "k": Int(0, 5)}, objectives={"value": "minimize"})
    optimizer = Optimizer(problem, knowledge=[Images(exchange=("x", "y"))])
    for x, y, k in np.random.default_rng(0).random((12, 3)).tolist():
        params = {"x": x, "y": y, "k": int(5.99 * k)}
        optimizer.observe(params, (x - 0.3) ** 2 + (y - 0.3) ** 2 + params["k"])
    history, recipe = optimizer.result.history(), optimizer.recipe
    held = problem.space.holding(problem.space.check_part({"k": 5}))
    settled, free = (learn(space, history, recipe).accounts[0] for space in (held, problem.space))
    assert settled is free
    assert settled.trust > 0.9


def test_a_function_may_return_no_image_and_cannot_change_what_it_is_given() -> None:
    source = Images(equal=lambda p: [] if p["a"] > 0.5 else [{"a": 1.0 - p["a"], "b": p["b"]}])
    X = np.array([[0.2, 0.3], [0.8, 0.3]])
    found = source.twins(PLANE, X)
    np.testing.assert_allclose(found[0, 0], [0.8, 0.3])
    assert np.isnan(found[0, 1]).all()
    assert Images(equal=lambda p: []).twins(PLANE, X).shape == (0, 2, 2)
    hostile = Images(equal=lambda p: (p.update(a=0.9), p)[1])
    np.testing.assert_allclose(hostile.twins(PLANE, X[:1])[0], [[0.9, 0.3]])
    assert np.array_equal(X, [[0.2, 0.3], [0.8, 0.3]])


# suggestions


def knowing(source: Any) -> Recipe:
    return replace(BASE, pseudo=Pending() + Failed() + source)


@pytest.mark.parametrize("state", ["done", "asked", "failed"])
@pytest.mark.parametrize(
    ("source", "image"),
    [
        (Images(exchange=("a", "b")), [0.6, 0.2]),
        (Images(mirror={"a": 0.4}), [0.6, 0.6]),
        (Images(period={"a": 0.5}), [0.7, 0.6]),
        (Images(equal=lambda p: {"a": 0.9, "b": 0.9}), [0.9, 0.9]),
    ],
)
def test_an_image_of_a_point_is_never_suggested(source: Any, image: list[float], state: str) -> None:
    """Even by a search that likes it best."""
    here, far = np.array([[0.2, 0.6]]), np.array([[0.31, 0.83], [0.77, 0.05]])
    data = Data(far, np.array([0.1, 0.4]))
    history = History.of(
        data + Data(here, np.zeros(1)) if state == "done" else data,
        here if state == "asked" else NOWHERE,
        here if state == "failed" else NOWHERE,
    )

    def search(score: Any, space: Space, history: History, rng: np.random.Generator) -> Array:
        return best_fresh(np.array([image, [0.5, 0.123]]), space, history, rng)

    eager = replace(knowing(source), search=search, initial=Sobol(0))
    assert np.array_equal(suggest(PLANE, eager, history, (0, 3)), [0.5, 0.123])
    plain = replace(eager, pseudo=Pending())
    np.testing.assert_allclose(suggest(PLANE, plain, history, (0, 3)), image)


def test_a_start_that_is_an_image_of_a_measured_point_is_passed_over() -> None:
    history = History.of(Data.empty(2), np.array([[0.1, 0.1], [0.9, 0.2]]), NOWHERE)
    start = Sum((Guesses(near={"a": 0.1, "b": 0.1}), Guesses(near={"a": 0.2, "b": 0.9})))
    recipe = replace(BASE, pseudo=start)
    np.testing.assert_allclose(suggest(PLANE, recipe, history, (0, 1)), [0.2, 0.9])
    symmetric = replace(BASE, pseudo=start + Images(exchange=("a", "b")))
    assert np.abs(suggest(PLANE, symmetric, history, (0, 1)) - [0.2, 0.9]).max() > 1e-6


SMALL = Space({"n": Int(0, 3), "m": Int(0, 3)})


@pytest.mark.parametrize("state", ["done", "asked", "failed", "mixed"])
def test_of_a_small_space_each_point_or_one_of_its_images_is_suggested(state: str) -> None:
    """Of 16 points, exchanging leaves 10 to evaluate."""
    rows: list[Array] = []
    recipe = knowing(Images(exchange=("n", "m")))
    for number in range(10):
        X = np.array(rows).reshape(-1, 2)
        states = np.array([state] * number if state != "mixed" else ["done", "asked", "failed"] * 4)[:number]
        y = np.where(states == "done", X.sum(axis=1) ** 2, np.nan)[:, None]
        history = History(X, states.astype(np.str_), y, np.zeros_like(y))
        rows.append(suggest(SMALL, recipe, history, (0, number)))
    decoded = [SMALL.decode(row) for row in rows]
    assert len({tuple(sorted(one.values())) for one in decoded}) == 10
    X = np.array(rows)
    again = suggest(SMALL, recipe, History.of(Data(X, X.sum(axis=1) ** 2), NOWHERE, NOWHERE), (0, 10))
    assert np.array_equal(SMALL.snap(again[None, :])[0], again)


def test_where_only_images_are_left_they_are_suggested_before_any_point_again() -> None:
    """The symmetry is false, and the best point an image of one that was measured."""
    values: Any = [[5, 4, 4.5], [0, 3, 5], [4, 5, 6]]
    space, known = {"a": Int(0, 2), "b": Int(0, 2)}, [Images(exchange=("a", "b"))]
    for seed in range(6):
        result = minimize(lambda a, b: values[a][b], space, 9, seed=seed, knowledge=known, progress=False)
        assert len({tuple(trial.params.values()) for trial in result.trials}) == 9
        assert result.best.value == 0.0


def test_a_symmetry_that_is_disproved_forbids_nothing() -> None:
    space = Space({"n": Int(0, 5), "m": Int(0, 5)})
    X = np.array([space.encode({"n": i, "m": j}) for i in range(6) for j in range(i)])
    y = 3.0 * (X[:, 1] - X[:, 0]) + np.sin(3.0 * X[:, 0])
    history, recipe = History.of(Data(X, y), NOWHERE, NOWHERE), knowing(Images(exchange=("n", "m")))
    (account,) = learn(space, history, recipe).accounts
    assert account.trust < 0.01
    plain = suggest(space, replace(recipe, pseudo=Pending()), history, (0, 15))
    assert space.decode(plain)["m"] > space.decode(plain)["n"]
    assert np.array_equal(suggest(space, recipe, history, (0, 15)), plain)


# trust


def lopsided(X: Array) -> Array:
    return np.asarray(3.0 * X[:, 0] - 2.0 * X[:, 1] + np.sin(5.0 * X[:, 0]))


def even(X: Array) -> Array:
    return np.asarray(np.sin(4.0 * X.sum(axis=1)) + 2.0 * (X[:, 0] - X[:, 1]) ** 2)


@pytest.mark.parametrize("n", [12, 25])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_true_symmetry_is_heeded_and_a_false_one_leaves_the_model_as_it_was(n: int, seed: int) -> None:
    X = np.random.default_rng(seed).random((n, 2))
    source, data = Images(exchange=("a", "b")), Data(X, even(X))
    history, without = History.of(data, NOWHERE, NOWHERE), replace(BASE, pseudo=Pending())
    taught, plain = learn(PLANE, history, knowing(source)), learn(PLANE, history, without)
    (true,) = taught.accounts
    assert true.trust > source.trust
    assert true.worth > 0.0
    assert true.points is not None
    found, rows = images_of(source, PLANE, data)
    errors = [np.abs(m.scale.inverse(m.beliefs.mean(found.X)) - data.y[rows]).mean() for m in (taught, plain)]
    assert errors[0] < 0.2 * errors[1]
    assert taught.beliefs(found.X)[1].mean() < 0.3 * plain.beliefs(found.X)[1].mean()
    history = History.of(Data(X, lopsided(X)), NOWHERE, NOWHERE)
    taught = learn(PLANE, history, knowing(source))
    (false,) = taught.accounts
    assert false.trust < (0.5 if n < 20 else 0.05)
    assert false.worth < 0.0
    if n == 25:
        assert list(taught.beliefs) == list(learn(PLANE, history, without).beliefs)
        assert false.points is None


@pytest.mark.parametrize(
    ("true", "false", "f"),
    [
        ({"mirror": {"a": 0.5}}, {"mirror": {"b": 0.5}}, lambda x: np.cos(6.0 * (x - 0.5))),
        ({"period": {"a": 0.5}}, {"period": {"b": 0.5}}, lambda x: np.sin(4.0 * np.pi * x)),
    ],
)
def test_a_false_symmetry_is_told_from_a_true_one_beside_it(true: Any, false: Any, f: Any) -> None:
    X = np.random.default_rng(4).random((25, 2))
    history = History.of(Data(X, f(X[:, 0]) + 2.0 * X[:, 1]), NOWHERE, NOWHERE)
    sides = Images(**true), Images(**false)
    for both in (sides, sides[::-1]):
        accounts = {one.source: one.trust for one in learn(PLANE, history, knowing(Sum(both))).accounts}
        assert accounts[sides[0]] > 0.9
        assert accounts[sides[1]] < 0.1


def test_of_two_points_alike_the_images_are_no_trouble() -> None:
    """Points on the mirror, and points that are images of each other, are measured with other values."""
    X = np.array([[0.3, 0.3], [0.2, 0.7], [0.7, 0.2], [0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    history = History.of(Data(X, np.array([1.0, 2.0, 2.5, 0.0, 1.0, 1.5])), NOWHERE, NOWHERE)
    u = suggest(PLANE, knowing(Images(exchange=("a", "b"), mirror={"a": 0.5})), history, (0, 6))
    assert np.all((u >= 0.0) & (u <= 1.0))
