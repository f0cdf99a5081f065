"""Informed: a recipe together with what its user knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bopp.errors import RecipeError
from bopp.goals import check_goals, check_sources
from bopp.legible import brief
from bopp.problem import Problem
from bopp.pseudo import Policy, Source, Sum
from bopp.pseudo.policy import parts
from bopp.recipe import Recipe


def bind_knowledge(recipe: Recipe, knowledge: Any, problem: Problem) -> Recipe:
    """The recipe with what is known added to its policy; what does not fit the problem is refused."""
    own, known = parts(recipe.pseudo), as_policies(knowledge)
    whole = replace(recipe, pseudo=Sum((*own, *known)))
    check_goals(whole, list(problem.objectives))
    if not known and not any(isinstance(policy, Source) for policy in own):
        return recipe
    bound = [one.bind(problem) if isinstance(one, Source) else one for one in (*own, *known)]
    return replace(recipe, pseudo=Sum(tuple(bound)))


def bind(source: Source, problem: Problem) -> Source:
    """The source as it can be stored and used for a problem; one that does not fit it is refused."""
    check_sources([source], list(problem.objectives))
    return source.bind(problem)


def flatten(knowledge: Any) -> tuple[Any, ...]:
    """What knowledge is made of, however it was given: one thing, a sum or a list of them."""
    if knowledge is None:
        return ()
    several = isinstance(knowledge, Iterable) and not isinstance(knowledge, str | Mapping)
    return tuple(part for one in (knowledge if several else [knowledge]) for part in parts(one))


def as_policies(knowledge: Any) -> tuple[Policy, ...]:
    """The policies of knowledge; raises RecipeError for anything that is not a policy."""
    found = flatten(knowledge)
    for one in found:
        if not callable(one) or isinstance(one, type):
            raise RecipeError(
                f"knowledge: wanted policies such as Images, Guesses or Earlier, got {brief(one)}"
            )
    return found
