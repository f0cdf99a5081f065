"""Informed: a recipe together with what its user knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bopp.called import Function, Objective, called
from bopp.errors import RecipeError
from bopp.fidelity import Fidelity
from bopp.goals import check_goals
from bopp.legible import brief
from bopp.problem import Problem
from bopp.pseudo import Cheap, Guesses, Images, Policy, Source, Sum
from bopp.pseudo.images import levelled
from bopp.pseudo.policy import parts
from bopp.pseudo.settings import name_of, without
from bopp.recipe import Recipe
from bopp.space import Params, Space


def informed(recipe: Recipe, knowledge: Any, problem: Problem) -> Recipe:
    """The recipe with what is known added to its policy; what does not fit the problem is refused."""
    known = (*parts(recipe.pseudo), *listed(knowledge))
    check_goals(replace(recipe, pseudo=Sum(known)), list(problem.objectives))
    if not any(isinstance(policy, Source) for policy in known) and len(known) == len(parts(recipe.pseudo)):
        return recipe
    bound = tuple(_bound(policy, problem) for policy in known)
    return replace(recipe, pseudo=Sum(bound))


def _bound(policy: Policy, problem: Problem) -> Policy:
    if not isinstance(policy, Source):
        return policy
    space, sign = problem.space, float(problem.gain(1.0, next(iter(problem.objectives))))
    if problem.fidelity is not None:
        policy = _levelled(policy, space, problem.fidelity)
    if isinstance(policy, Cheap) and callable(policy.values):
        if problem.fidelity is not None:  # of which a stand-in knows nothing
            space = without(space, problem.fidelity.name)
        policy = replace(policy, values=_stand_in(policy.values, problem, space))
    return policy.bound(space, sign)


def _stand_in(function: Function, problem: Problem, space: Space) -> Objective:
    """A function that may return what an objective may, as one of a dict of params that returns a number."""
    asked = called(function, space, "Cheap: the function")
    name, alone = problem.objective, Problem(space, {problem.objective: problem.direction})

    def value(params: Params) -> float:
        returned = asked(params)
        if isinstance(returned, Mapping) and name not in returned and "value" in returned:
            returned = returned["value"]
        answer = alone.answer(returned)
        if (found := answer.values.get(name)) is None:
            raise RecipeError(answer.error or "")
        return found

    value.__name__ = name_of(function)
    return value


def _levelled(source: Source, space: Space, fidelity: Fidelity) -> Source:
    """The source with a level where it leaves that out: the real one in a guess, its own for an image."""
    if isinstance(source, Images) and source.equal is not None:
        return replace(source, equal=levelled(source.equal, space, fidelity.name))
    if isinstance(source, Guesses):
        rows = [(_at_a_level(dict(params), fidelity), value, off) for params, value, off in source.values]
        return replace(source, values=rows)
    return source


def _at_a_level(params: Params, fidelity: Fidelity) -> Params:
    """Params with the real level, unless they have another; none at all are left as they are."""
    return params and {**params, fidelity.name: params.get(fidelity.name, fidelity.real)}


def flat(knowledge: Any) -> tuple[Any, ...]:
    """What knowledge is made of, however it was given: one thing, a sum or a list of them."""
    if knowledge is None:
        return ()
    several = isinstance(knowledge, Iterable) and not isinstance(knowledge, str | Mapping)
    return tuple(part for one in (knowledge if several else [knowledge]) for part in parts(one))


def listed(knowledge: Any) -> tuple[Policy, ...]:
    """The policies of knowledge; what is none is refused."""
    found = flat(knowledge)
    for one in found:
        if not callable(one) or isinstance(one, type):
            raise RecipeError(
                f"knowledge: wanted policies such as Images, Guesses or Earlier, got {brief(one)}"
            )
    return found
