"""Knowledge in the values of another tool, as knowledge in values of bopp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bopp import Float, Optimizer, Recipe, pseudo
from bopp.bridges.foreign import Foreign, Translation, options, real, stepped, whole
from bopp.bridges.sources import listed, translated
from bopp.errors import BoppError, RecipeError, SpaceError
from bopp.informed import informed
from bopp.problem import Problem
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits, Policy, Source, Sum
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
    problem = Problem.of(translation.space, "minimize")
    (found,) = pseudo.sources(
        informed(Recipe(pseudo=pseudo.none), [translated(source, translation)], problem).pseudo
    )
    return found


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
    assert translated(source, PLAIN) is source


def test_what_is_no_source_stays_as_it_is() -> None:
    assert translated(pseudo.Pending(), STEPPED) == pseudo.Pending()
    assert translated(pseudo.none, STEPPED) is pseudo.none
    assert translated(Limits(at_most=1.0), STEPPED) == Limits(at_most=1.0)


def test_guesses_go_by_the_number_of_the_step() -> None:
    given = Guesses(
        values=[({"x": 1.3, "y": 0.5}, 2.0, 0.1)], near={"x": 1.7}, good={"x": (1.25, 2.5), "y": (0.1, 0.2)}
    )
    found = translated(given, STEPPED)
    assert isinstance(found, Guesses)
    assert found.values == (((("x", 3), ("y", 0.5)), 2.0, 0.1),)
    assert found.near == (("x", 7),)
    assert dict(found.good) == {"x": pytest.approx((2.5, 15.0)), "y": (0.1, 0.2)}


def test_mirrors_and_periods_may_lie_between_steps() -> None:
    found = translated(Images(mirror={"x": 1.55}, period={"x": 0.25}), STEPPED)
    assert isinstance(found, Images)
    assert dict(found.mirror) == {"x": pytest.approx(5.5)}
    assert dict(found.period) == {"x": pytest.approx(2.5)}


def test_a_period_that_fits_the_steps_shows_the_same_points_as_one_without_steps() -> None:
    source = Images(period={"x": 0.5})
    U = np.array([[0.2, 0.3], [0.8, 0.6]])
    plain = Translation({"x": real(1.0, 2.0), "y": real(0.0, 1.0)})
    stepwise, smooth = (bound(source, one).twins(one.space, U) for one in (STEPPED, plain))
    np.testing.assert_allclose(stepwise, smooth)


def test_a_function_of_params_sees_theirs_and_answers_with_theirs() -> None:
    seen: list[Params] = []

    def turned(params: Params) -> Params:
        seen.append(params)
        return {**params, "layers": [8, 8] if params["layers"] == [8] else params["layers"]}

    source = bound(Images(equal=turned), LISTED)
    at = LISTED.space.encode({"layers": 0, "y": 0.5})
    (image,) = source.twins(LISTED.space, at[None, :])
    assert seen[-1] == {"layers": [8], "y": 0.5}
    assert LISTED.space.decode(image[0]) == {"layers": 1, "y": 0.5}


def test_a_function_may_give_several_images() -> None:
    source = bound(Images(equal=lambda params: [{**params, "layers": one} for one in LAYERS]), LISTED)
    images = source.twins(LISTED.space, LISTED.space.encode({"layers": 0, "y": 0.5})[None, :])
    assert [LISTED.space.decode(image[0])["layers"] for image in images] == [0, 1, 2]


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


@pytest.mark.parametrize(
    ("values", "given", "place"),
    [
        ([[1, [2]], (1,), "a"], [1, [2]], 0),
        ([[1], (1, 2), "a"], (1, 2), 1),
        ([np.array([1, 2]), np.array([3])], np.array([3]), 1),
        ([Scaler("a"), "off", None], "off", 1),
        ([Scaler("a"), Scaler("b")], Scaler("b"), 1),
        ([[1], [True]], [True], 1),
    ],
)
def test_an_option_is_found_in_a_copy_of_it(values: list[Any], given: Any, place: int) -> None:
    found = translated(Guesses(near={"p": given}), Translation({"p": options(values)}))
    assert isinstance(found, Guesses)
    assert dict(found.near) == {"p": place}


def test_an_option_itself_is_found_before_those_that_are_written_alike() -> None:
    first, second = Scaler("a"), Scaler("a")
    found = translated(Guesses(near={"p": second}), Translation({"p": options([first, second])}))
    assert isinstance(found, Guesses)
    assert dict(found.near) == {"p": 1}


def test_good_options_are_found_one_by_one() -> None:
    found = translated(Guesses(good={"layers": [[8], None]}), LISTED)
    assert isinstance(found, Guesses)
    assert dict(found.good) == {"layers": (0, 2)}


@pytest.mark.parametrize(
    ("source", "translation", "words"),
    [
        (Guesses(near={"x": 1.25}), STEPPED, "'x': wanted .* steps of 0.1"),
        (Guesses(near={"x": 3.0}), STEPPED, "'x': wanted .* 1.0 to 2.0"),
        (Guesses(near={"x": "large"}), STEPPED, "'x': wanted a value of this parameter, got 'large'"),
        (Guesses(good={"x": ("small", "large")}), STEPPED, "'x': wanted a number, got 'small'"),
        (Guesses(near={"layers": [9]}), LISTED, r"'layers': wanted one of .*, got \(9,\)"),
        (Guesses(near={"z": 1}), STEPPED, r"wanted some of the params \['x', 'y'\], got \['z'\]"),
        (Guesses(more="z"), STEPPED, r"wanted names among \['x', 'y'\], got 'z'"),
        (Images(mirror={"z": 1}), STEPPED, r"wanted names among \['x', 'y'\], got 'z'"),
        (Images(mirror={"layers": 1}), LISTED, "wanted a number to mirror or repeat, got 'layers'"),
        (Images(exchange=("x", "y")), STEPPED, "wanted parameters alike to exchange"),
        (Images(exchange=("x", "z")), STEPPED, r"wanted names among \['x', 'y'\], got 'z'"),
    ],
)
def test_what_does_not_fit_is_named(source: Source, translation: Translation, words: str) -> None:
    with pytest.raises((RecipeError, SpaceError), match=words):
        bound(source, translation)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (stepped(0.0, 1.0, 0.1, origin=0.0), stepped(0.0, 10.0, 1.0, origin=0.0)),
        (options([[1], [2]]), options([[1], [3]])),
    ],
)
def test_parameters_that_only_count_alike_are_not_exchanged(one: Foreign, other: Foreign) -> None:
    source, alike = Images(exchange=("a", "b")), Translation({"a": one, "b": one})
    assert translated(source, alike) == source
    with pytest.raises(RecipeError, match="wanted parameters alike to exchange, got values"):
        translated(source, Translation({"a": one, "b": other}))


def test_knowledge_is_one_policy_a_sum_or_a_list_of_them() -> None:
    guesses, limits = Guesses(near={"x": 0.5}), Limits(at_least=0.0)
    assert listed(guesses) == (guesses,)
    assert listed(guesses + limits) == listed([guesses, limits]) == listed([Sum((guesses, limits))])
    assert listed(None) == listed(()) == ()
    for wrong in ("word", [1], [Images]):
        with pytest.raises(BoppError, match="knowledge: wanted policies"):
            listed(wrong)


def test_guesses_in_steps_steer_as_those_of_a_parameter_with_a_step_do() -> None:
    """An optimizer in their values, by a step of bopp's own, and one in numbers of steps."""
    guesses = Guesses(near={"x": 1.7, "y": 0.2}, good={"x": (1.5, 1.9)})
    theirs = Optimizer({"x": Float(1.0, 2.0, step=0.1), "y": (0.0, 1.0)}, knowledge=[guesses])
    ours = Optimizer(STEPPED.space, knowledge=[translated(guesses, STEPPED)])
    for _ in range(8):
        one, other = theirs.ask(), ours.ask()
        assert STEPPED.theirs(other.params) == pytest.approx(one.params)
        value = (one.params["x"] - 1.4) ** 2 + one.params["y"]
        theirs.tell(one, value)
        ours.tell(other, value)
