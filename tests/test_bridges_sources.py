"""Knowledge in the values of another tool, as knowledge in values of bopp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bopp import pseudo
from bopp.bridges.foreign import Foreign, Translation, options, real, stepped, whole
from bopp.bridges.sources import translate
from bopp.errors import RecipeError, SpaceError
from bopp.problem import Problem
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits, Policy, Source
from bopp.space import Params

PLAIN = Translation({"x": real(0.0, 1.0), "n": whole(1, 9), "kind": options(["a", "b"])})
STEPPED = Translation({"x": stepped(1.0, 2.0, 0.1, origin=1.0), "y": real(0.0, 1.0)})
LAYERS = [[8], [8, 8], None]
LISTED = Translation({"layers": options(LAYERS), "y": real(0.0, 1.0)})


class Scaler:
    """Like an estimator: a copy of it is not equal to it, but is written alike."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"Scaler({self.name})"


def bound(source: Policy, translation: Translation) -> Source:
    """The source as the engine has it."""
    found = translate(source, translation)
    assert isinstance(found, Source)
    return found.bind(Problem(translation.space))


@pytest.mark.parametrize(
    "source",
    [
        Guesses(near={"x": 0.5}),
        Images(mirror={"x": 0.5}, equal=dict),
        Cheap(len),
        Earlier([("minimize", [({"x": 0.1}, 1.0)] * 3)]),
        Limits(at_least=0.0),
    ],
)
def test_where_values_are_the_same_a_source_stays_as_it_is(source: Source) -> None:
    assert translate(source, PLAIN) is source
    for other in (pseudo.Pending(), pseudo.none, Limits(at_most=1.0)):  # no values in it
        assert translate(other, STEPPED) == other


def test_sources_go_by_the_number_of_the_step_and_the_place_of_the_option() -> None:
    given = Guesses(
        values=[({"x": 1.3, "y": 0.5}, 2.0, 0.1)], near={"x": 1.7}, good={"x": (1.25, 2.5), "y": (0.1, 0.2)}
    )
    found: Any = translate(given, STEPPED)
    assert found.values == (((("x", 3), ("y", 0.5)), 2.0, 0.1),)
    assert found.near == (("x", 7),)
    assert dict(found.good) == {"x": pytest.approx((2.5, 15.0)), "y": (0.1, 0.2)}
    found = translate(Guesses(good={"layers": [[8], None]}), LISTED)
    assert dict(found.good) == {"layers": (0, 2)}
    found = translate(Images(mirror={"x": 1.55}, period={"x": 0.25}), STEPPED)  # may lie between steps
    assert dict(found.mirror) == {"x": pytest.approx(5.5)}
    assert dict(found.period) == {"x": pytest.approx(2.5)}


@pytest.mark.parametrize("several", [False, True])
def test_a_function_of_params_sees_theirs_and_answers_with_theirs(several: bool) -> None:
    seen: list[Params] = []

    def turned(params: Params) -> Any:
        seen.append(params)
        images = [{**params, "layers": one} for one in LAYERS]
        return images if several else images[1]

    source = bound(Images(equal=turned), LISTED)
    images = source.twins(LISTED.space, LISTED.space.encode({"layers": 0, "y": 0.5})[None, :])
    assert seen[-1] == {"layers": [8], "y": 0.5}
    found = [LISTED.space.decode(image[0]) for image in images]
    assert found == [{"layers": place, "y": 0.5} for place in ([0, 1, 2] if several else [1])]


def by_name(layers: Any, y: float) -> float:
    return len(layers or ()) + y


def by_dict(params: Params) -> float:
    return by_name(**params)


@pytest.mark.parametrize("function", [by_name, by_dict])
def test_a_cheap_function_is_called_with_their_values(function: Callable[..., float]) -> None:
    source = bound(Cheap(function, points=8), LISTED)
    assert isinstance(source, Cheap)
    assert len(source.values) == 8
    for params, value in source.values:
        assert value == by_dict(LISTED.theirs(dict(params)))


def test_values_of_others_may_lie_beyond_the_range_and_between_steps() -> None:
    rows: list[Any] = [({"x": 0.95, "y": 0.1}, 1.0), ({"x": 2.05}, 2.0), ({"x": 1.2}, 3.0)]
    more = [*rows[:2], ({"x": 1.2, "other": "a"}, 3.0)]
    for source in (Cheap(rows), Earlier([("minimize", more)])):
        (relative,) = bound(source, STEPPED).relatives(STEPPED.space)
        np.testing.assert_allclose(relative.X[:, 0], [-0.05, 1.05, 0.2])
        assert relative.y.tolist() == [1.0, 2.0, 3.0]


def test_values_at_options_that_are_none_here_are_passed_over() -> None:
    rows = [({"layers": one, "y": 0.5}, float(place)) for place, one in enumerate([*LAYERS, [1], 1, "b"])]
    source = bound(Earlier([("maximize", rows)]), LISTED)
    (relative,) = source.relatives(LISTED.space)
    assert relative.y.tolist() == [0.0, 1.0, 2.0]


SCALERS = [Scaler("a"), Scaler("a"), Scaler("b")]


@pytest.mark.parametrize(
    ("values", "given", "place"),
    [
        ([[1, [2]], (1,), "a"], [1, [2]], 0),
        ([[1], (1, 2), "a"], (1, 2), 1),
        ([np.array([1, 2]), np.array([3])], np.array([3]), 1),
        ([Scaler("a"), "off", None], "off", 1),
        (SCALERS, Scaler("b"), 2),
        (SCALERS, SCALERS[1], 1),  # itself, before what is written alike
        ([[1], [True]], [True], 1),
    ],
)
def test_an_option_is_found_in_a_copy_of_it(values: list[Any], given: Any, place: int) -> None:
    found: Any = translate(Guesses(near={"p": given}), Translation({"p": options(values)}))
    assert dict(found.near) == {"p": place}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Guesses(near={"x": 1.25}), "'x'.*steps of 0.1"),
        (Guesses(near={"x": 3.0}), "'x'.*1.0 to 2.0"),
        (Guesses(near={"x": "large"}), "'x'.*'large'"),
        (Guesses(good={"x": ("small", "large")}), "'x'.*number.*'small'"),
        (Guesses(near={"layers": [9]}), r"'layers'.*\(9,\)"),
        (Guesses(near={"z": 1}), "'z'"),
        (Guesses(more="z"), "'z'"),
        (Images(mirror={"z": 1}), "'z'"),
        (Images(mirror={"layers": 1}), "number.*'layers'"),
        (Images(exchange=("x", "y")), "exchange"),
        (Images(exchange=("x", "z")), "'z'"),
    ],
)
def test_what_does_not_fit_is_named(source: Source, words: str) -> None:
    with pytest.raises((RecipeError, SpaceError), match=words):
        bound(source, LISTED if "layers" in repr(source) else STEPPED)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (stepped(0.0, 1.0, 0.1, origin=0.0), stepped(0.0, 10.0, 1.0, origin=0.0)),
        (options([[1], [2]]), options([[1], [3]])),
    ],
)
def test_parameters_that_only_count_alike_are_not_exchanged(one: Foreign, other: Foreign) -> None:
    source, alike = Images(exchange=("a", "b")), Translation({"a": one, "b": one})
    assert translate(source, alike) == source
    with pytest.raises(RecipeError, match="exchange"):
        translate(source, Translation({"a": one, "b": other}))
