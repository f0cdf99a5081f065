from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bopp import Data, Float, Int, Known, Optimizer, Problem, Recipe
from bopp.errors import RecipeError, StudyError
from bopp.informed import bind_knowledge
from bopp.plain import other_part, read_recipe, write_recipe
from bopp.pseudo import Failed, Guesses, Images, Pending, Source, Sum, none, sources
from support.recipes import PRESETS, SOURCES

SQUARE = {"a": Float(0, 1), "b": Float(0, 1)}
PROBLEM = Problem(SQUARE)
DEFAULT = Recipe.default()


def mirror(known: Known) -> Data:
    return Data(1.0 - known.data.X, known.data.y)


@pytest.mark.parametrize("nothing", [None, (), [], none, [none]])
def test_without_knowledge_the_recipe_is_the_very_same(nothing: Any) -> None:
    for recipe in (*PRESETS, replace(DEFAULT, pseudo=mirror)):
        assert bind_knowledge(recipe, nothing, PROBLEM) is recipe
    assert Optimizer(SQUARE, recipe=DEFAULT, knowledge=nothing).recipe is DEFAULT


@pytest.mark.parametrize(
    "given",
    [
        SOURCES["exchange"] + SOURCES["near"],
        [SOURCES["exchange"], SOURCES["near"]],
        (SOURCES["exchange"], SOURCES["near"]),
        [Sum((SOURCES["exchange"],)), SOURCES["near"]],
        iter([SOURCES["exchange"], SOURCES["near"]]),
    ],
)
def test_knowledge_may_be_given_as_a_sum_or_a_list(given: Any) -> None:
    recipe = bind_knowledge(DEFAULT, given, PROBLEM)
    assert recipe.pseudo == Sum((Pending(), Failed(), SOURCES["exchange"], SOURCES["near"]))
    assert sources(recipe.pseudo) == (SOURCES["exchange"], SOURCES["near"])
    assert replace(recipe, pseudo=DEFAULT.pseudo) == DEFAULT
    alone = bind_knowledge(DEFAULT, SOURCES["exchange"], PROBLEM)
    within = replace(DEFAULT, pseudo=DEFAULT.pseudo + SOURCES["exchange"])  # counts alike
    assert alone == within == bind_knowledge(within, (), PROBLEM)
    assert bind_knowledge(DEFAULT, [mirror], PROBLEM).pseudo == Sum((Pending(), Failed(), mirror))


@pytest.mark.parametrize(
    ("given", "came"),
    [
        ("images", "'images'"),
        (3, "3"),
        ([3], "3"),
        (Images, "Images"),
        ([SOURCES["near"], Guesses], "Guesses"),
        ({"kind": "limits"}, "{'kind': 'limits'}"),
        ([None], "None"),
    ],
)
def test_what_is_no_knowledge_is_refused(given: Any, came: str) -> None:
    with pytest.raises(RecipeError, match=r"^knowledge: wanted policies.*got") as caught:
        bind_knowledge(DEFAULT, given, PROBLEM)
    assert came in str(caught.value).partition("got")[2]


def test_a_source_sees_the_problem_and_one_of_a_single_objective_is_refused_for_several() -> None:
    seen = []

    class Watching(Source):
        def bind(self, problem: Problem) -> Source:
            seen.append(problem)
            return self

    bind_knowledge(DEFAULT, Watching(), PROBLEM)
    assert seen == [PROBLEM]
    several = Problem(SQUARE, {"one": "minimize", "two": "maximize"})
    assert bind_knowledge(DEFAULT, (), several) is DEFAULT
    with pytest.raises(RecipeError, match="several objectives"):
        bind_knowledge(DEFAULT, SOURCES["near"], several)


def there_and_back(recipe: Recipe) -> Recipe:
    return read_recipe(json.loads(json.dumps(write_recipe(recipe), allow_nan=False)))


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_recipe_with_a_source_comes_back_from_json(source: Source) -> None:
    recipe = bind_knowledge(DEFAULT, source, PROBLEM)
    back = there_and_back(recipe)
    assert back == recipe
    assert hash(back.pseudo) == hash(recipe.pseudo)
    assert repr(back) == repr(recipe)
    assert other_part(write_recipe(recipe), back) is None
    assert other_part(write_recipe(DEFAULT), back) == "pseudo"
    for other in SOURCES.values():
        same = other_part(write_recipe(recipe), bind_knowledge(DEFAULT, other, PROBLEM)) is None
        assert same == (other is source)
    doubtful = replace(source, trust=0.123)  # type: ignore[type-var]
    assert other_part(write_recipe(recipe), bind_knowledge(DEFAULT, doubtful, PROBLEM)) == "pseudo"


def test_a_source_with_a_function_of_yours_has_to_be_passed_in_again() -> None:
    recipe = bind_knowledge(DEFAULT, Images(equal=lambda p: dict(p, a=1.0 - p["a"])), PROBLEM)
    with pytest.raises(StudyError, match=r"parts of your own \(pseudo\)"):
        there_and_back(recipe)
    assert other_part(json.loads(json.dumps(write_recipe(recipe))), recipe) is None


def test_knowledge_goes_with_any_space_that_has_its_parameters() -> None:
    space = {"n": Int(1, 5), "a": Float(0, 1), "b": Float(0, 1)}
    for source in SOURCES.values():
        optimizer = Optimizer(space, knowledge=source)
        assert set(optimizer.ask().params) == {"n", "a", "b"}
