"""Optuna: a sampler that lets an Optuna study ask bopp where to evaluate next.

    study = optuna.create_study(sampler=BoppSampler(seed=0))

A suggestion depends only on the trials of the study, the seed and the number of the trial, not on the process
or thread that asks. What was computed from finished trials, which never change, is cached only to save time.

A constraint of Optuna is met at 0 and below. Those of a study are all that its complete trials have; where a
trial lacks one, that was not measured.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import ref
from zlib import crc32

import numpy as np

from bopp.arguments import checked_recipe, checked_seed
from bopp.bridges import extra
from bopp.bridges.branches import When, branches
from bopp.bridges.foreign import Foreign, Translation, options, real, stepped, whole
from bopp.bridges.sources import translate
from bopp.data import Array
from bopp.errors import BoppError, RecipeError, SpaceError, StudyError
from bopp.goals import check_goals
from bopp.informed import as_policies, bind
from bopp.legible import brief
from bopp.memory import Memory
from bopp.optimizer import Knowledge
from bopp.problem import AtMost, Direction, Problem
from bopp.pseudo import Earlier, Policy, Source, Sum, sources
from bopp.pseudo.policy import parts
from bopp.recipe import Recipe
from bopp.suggest import suggest
from bopp.trial import Trial, number_of

with extra("optuna"):
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, TPESampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState

TRIES = 3  # at params that no other trial has; in a space that is used up, there are none
REMEMBERED = 8  # searches, and kinds of trials of a study, with what was made of finished trials
MOST_SOURCES = 64  # of knowledge, each as it is in a search

T = TypeVar("T")


class BoppSampler(BaseSampler):
    """Suggests what bopp would; running trials are pending points, failed and pruned ones failed points.

    A parameter that only some complete trials have is modelled where it hangs on the value of another one, as
    far as these trials tell; otherwise it is drawn at random.

    Args:
        seed: the same seed and the same values give the same suggestions; None picks a random one.
        recipe: how to suggest; None is `Recipe.default()`.
        knowledge: what you know but did not measure, in names and values of the study's parameters. What does
            not fit those that are modelled is left out until it does, with a warning.
        constraints_func: a function of a finished trial that returns numbers, each met at 0 and below, as
            other samplers of Optuna take it; `trial.set_constraint` is Optuna's newer way.
    """

    def __init__(
        self,
        seed: int | None = 0,
        recipe: Recipe | None = None,
        knowledge: Knowledge = (),
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ):
        if constraints_func is not None and not callable(constraints_func):
            raise RecipeError(
                f"constraints_func: wanted a function of a trial, got {brief(constraints_func)}"
            )
        self.seed = checked_seed(seed)
        self.recipe = checked_recipe(recipe)
        self.knowledge = as_policies(knowledge)
        self.recorder = None if constraints_func is None else TPESampler(constraints_func=constraints_func)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that every complete trial has, or every pruned one if none is complete.

        Then those that hang on the value of one of these, or of each other.
        """
        ended = _latest_of_each_kind(study)
        space = intersection_search_space(ended) or intersection_search_space(ended, include_pruned=True)
        space = {name: one for name, one in (space | _varying(ended)).items() if not one.single()}
        found = _branches(_others(study, trial), space)
        return {name: distribution for name, distribution in space.items() if name in found}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """What bopp suggests."""
        known = replace(self.recipe, pseudo=Sum((*parts(self.recipe.pseudo), *self.knowledge)))
        check_goals(known, list(_objectives(study)))
        others = _others(study, trial)
        if not search_space:
            return {}
        search = _Search.of(study, search_space, _branches(others, search_space))
        recipe = _informed(self.recipe, self.knowledge, search)
        for _ in range(TRIES):
            points = search.points(others)
            for number in [*_racing(others, trial.number, search), trial.number]:
                points.append(search.suggested(recipe, points, (self.seed, number)))
            params = points[-1].trial.params
            others = _others(study, trial)
            if not any(params == other.trial.params for other in search.points(others)):
                break  # otherwise another trial has just got the same params
        return search.translation.theirs(params)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value, for a parameter of which nothing is known yet."""
        translation = Translation({param_name: _foreign(param_name, param_distribution)})
        space = translation.space
        name = crc32(param_name.encode(errors="surrogatepass"))
        u = np.random.default_rng([self.seed, trial.number, name]).random(space.dimension)
        if space.dimension == 1 and 1 < space.size < math.inf:
            u = np.clip((u * space.size - 0.5) / (space.size - 1), 0.0, 1.0)  # so that the ends are as likely
        return translation.theirs(space.decode(u))[param_name]

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Has the constraints of a trial kept with it, as Optuna keeps them."""
        if self.recorder is not None:
            self.recorder.after_trial(study, trial, state, values)


def earlier(*studies: Study, trust: float = 0.7) -> Earlier:
    """The complete trials of earlier studies of Optuna, as knowledge for another.

    Args:
        trust: how sure you are that they resemble it, between 0 and 1, before anything is measured.
    """
    return Earlier([_told(study) for study in studies], trust)


@dataclass(frozen=True, eq=False)
class _Point:
    """A trial of bopp, its point in the unit cube, and the constraints that it was told, by name."""

    trial: Trial
    u: Array
    constraints: Mapping[str, float] = field(default_factory=dict)

    def told(self, constraints: Sequence[str]) -> Trial:
        """The trial with a value for each of these constraints, or None for one that was not measured."""
        if self.trial.state != "done" or not constraints:
            return self.trial
        limits = {name: self.constraints.get(name) for name in constraints}
        return replace(self.trial, values={**self.trial.values, **limits})


class _Once(Generic[T]):
    """Makes something of a trial, and keeps what it made of finished trials, which never change.

    A trial is found by its number but must be the very same object: another study may have the same numbers.
    Threads need no lock: if two make the same thing, either may be kept.
    """

    def __init__(self, make: Callable[[FrozenTrial], T]):
        self.make = make
        self.made: dict[int, tuple[ref[FrozenTrial], T]] = {}

    def __call__(self, trial: FrozenTrial) -> T:
        kept = self.made.get(trial.number)
        if kept is not None and kept[0]() is trial:
            return kept[1]
        finished = trial.state.is_finished()
        made = self.make(trial)
        if finished:
            self.made[trial.number] = ref(trial), made
        return made


class _Search:
    """An Optuna search space as a problem of bopp, and the trials of a study as its points."""

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution],
        whens: Mapping[str, When | None],
        objectives: Mapping[str, Direction],
        key: tuple[Any, ...],
    ):
        self.key = key
        self.search_space = {name: one for name, one in search_space.items() if name in whens}
        self.translation = Translation(
            {name: _foreign(name, one).where(whens[name]) for name, one in self.search_space.items()}
        )
        self.problem = Problem(self.translation.space, objectives)
        self.point = _Once(self._made)

    @staticmethod
    def of(
        study: Study, search_space: Mapping[str, BaseDistribution], whens: Mapping[str, When | None]
    ) -> _Search:
        """The search of this study, reused if it was made before."""
        objectives = _objectives(study)
        described = [*search_space.items()], repr(search_space)  # for Optuna the choices 1 and True are equal
        key = (study.study_name, [*objectives.items()], *described, repr(whens))  # order counts
        return _searches(key, (), partial(_Search, search_space, whens, objectives, key))

    def suggested(self, recipe: Recipe, points: Sequence[_Point], key: tuple[int, int]) -> _Point:
        space = self.problem.space
        X = np.array([point.u for point in points]).reshape(-1, space.dimension)
        names = sorted({name for point in points for name in point.constraints})  # in any storage
        problem = Problem(space, self.problem.objectives, [AtMost(name, 0.0) for name in names])
        history = problem.history([point.told(names) for point in points], X)
        params = space.decode(suggest(space, recipe, history, key))
        return _Point(Trial(key[1], params), space.encode(params))

    def points(self, trials: Sequence[FrozenTrial]) -> list[_Point]:
        """The trials, except those that wait to run or have other parameters."""
        return [point for point in map(self.point, trials) if point is not None]

    def lacks(self, trial: FrozenTrial) -> bool:
        """Whether a trial has yet to get params, as far as those that it has tell."""
        try:
            return any(name not in trial.params for name in self._applying(trial))
        except SpaceError:  # a value outside its range that was forced on the trial
            return False

    def _applying(self, trial: FrozenTrial) -> list[str]:
        """The parameters that a trial has, or will ask for."""
        if not self.problem.space.conditional:
            return [*self.search_space]
        there = [name for name in self.search_space if name in trial.params]
        params = {name: self.translation.value(name, trial.params[name]) for name in there}
        return self.problem.space.applying(params)

    def _made(self, trial: FrozenTrial) -> _Point | None:
        if trial.state is TrialState.WAITING:
            return None
        try:
            names = self._applying(trial)
            if any(trial.distributions.get(name) != self.search_space[name] for name in names):
                return None
            params = self.translation.ours({name: trial.params[name] for name in names})
        except SpaceError:  # a value outside its range that was forced on the trial
            return None
        u = self.problem.space.encode(params)
        if trial.state is TrialState.RUNNING:
            return _Point(Trial(trial.number, params), u)
        values = trial.values if trial.state is TrialState.COMPLETE else None
        constraints = {name: _limited(name, value) for name, value in trial.constraints.items()}
        if values is None or not all(map(math.isfinite, [*values, *constraints.values()])):
            return _Point(Trial(trial.number, params, "failed"), u)
        told = Trial(
            trial.number, params, "done", dict(zip(self.problem.objectives, map(float, values), strict=True))
        )
        return _Point(told, u, {f"constraint {name}": value for name, value in constraints.items()})


_searches: Memory[_Search] = Memory(REMEMBERED)
_bound: Memory[Source | None] = Memory(MOST_SOURCES)


def _informed(recipe: Recipe, knowledge: Sequence[Policy], search: _Search) -> Recipe:
    """The recipe with what is known, as far as it fits the search."""
    policies = (*parts(recipe.pseudo), *knowledge)
    if not knowledge and not sources(recipe.pseudo):
        return recipe
    bound = [
        _bound((search.key, one), (), partial(_fitting, one, search)) if isinstance(one, Source) else one
        for one in policies
    ]
    return replace(recipe, pseudo=Sum(tuple(one for one in bound if one is not None)))


def _fitting(source: Source, search: _Search) -> Source | None:
    """The source as it can be used in a search; None, with a warning, if it does not fit."""
    try:
        bound, space = bind(translate(source, search.translation), search.problem), search.problem.space
        bound.twins(space, space.snap(np.full((1, space.dimension), 0.5)))  # calls a function of yours
    except (BoppError, LookupError) as error:
        warnings.warn(
            f"BoppSampler leaves out {brief(source)} until it fits the parameters that are modelled, "
            f"{[*search.search_space]}: {error}",
            stacklevel=2,
        )
        return None
    return bound


def _told(study: Any) -> tuple[str, list[tuple[dict[str, Any], float]]]:
    """The direction of a study, and the params and values of its complete trials."""
    if not isinstance(study, Study):
        raise StudyError(f"earlier wants studies of Optuna, got {brief(study)}")
    if len(study.directions) > 1:
        raise StudyError(f"earlier wants studies of one objective, got {len(study.directions)}")
    complete = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    rows = [(trial.params, trial.value) for trial in complete]
    return _direction(study.direction), [
        (params, value) for params, value in rows if value is not None and math.isfinite(value)
    ]


def _direction(direction: StudyDirection) -> Direction:
    return "maximize" if direction is StudyDirection.MAXIMIZE else "minimize"


def _objectives(study: Study) -> dict[str, Direction]:
    """The values of a trial by name, with their directions."""
    ways = [_direction(direction) for direction in study.directions]
    return {"value" if len(ways) == 1 else f"value {place}": way for place, way in enumerate(ways)}


def _limited(name: str, value: Any) -> float:
    """The value of a constraint; one that is met beyond all measure is met."""
    number = number_of(value, f"the constraint {name!r}")
    return 0.0 if number == -math.inf else number


_kinds: Memory[_Once[str]] = Memory(REMEMBERED)


def _latest_of_each_kind(study: Study) -> list[FrozenTrial]:
    """The latest complete and the latest pruned trial for each set of distributions, in order."""
    kind = _kinds(study.study_name, (), lambda: _Once(lambda trial: repr(trial.distributions)))
    latest: dict[tuple[TrialState, str], FrozenTrial] = {}
    for trial in reversed(study.get_trials(deepcopy=False)):
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
            latest.setdefault((trial.state, kind(trial)), trial)
    return [*reversed(latest.values())]


def _foreign(name: str, distribution: BaseDistribution) -> Foreign:
    match distribution:
        case CategoricalDistribution(choices=choices):
            return options(
                [one for place, one in enumerate(choices) if distribution.to_internal_repr(one) == place]
            )
        case FloatDistribution(low=low, high=high, log=log, step=None):
            return real(low, high, log)
        case IntDistribution(low=low, high=high, log=log, step=1):
            return whole(low, high, log)
        case (
            FloatDistribution(low=low, high=high, step=step) | IntDistribution(low=low, high=high, step=step)
        ):
            return stepped(low, high, step, origin=low)
    raise SpaceError(f"{name!r}: wanted a distribution of Optuna, got {distribution!r}")


def _varying(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """The parameters that some complete trials have and some lack, with the same range wherever they are."""
    kinds = [trial.distributions for trial in trials if trial.state is TrialState.COMPLETE]
    names = sorted({name for kind in kinds for name in kind if not all(name in other for other in kinds)})
    found = {name: [kind[name] for kind in kinds if name in kind] for name in names}
    return {name: ranges[-1] for name, ranges in found.items() if len(set(map(repr, ranges))) == 1}


def _branches(
    trials: Sequence[FrozenTrial], search_space: Mapping[str, BaseDistribution]
) -> dict[str, When | None]:
    """What complete trials tell of the parameters that some have and some lack."""
    complete = [trial for trial in trials if trial.state is TrialState.COMPLETE]
    if all(search_space.keys() <= trial.params.keys() for trial in complete):
        return dict.fromkeys(search_space)
    translation = Translation({name: _foreign(name, one) for name, one in search_space.items()})
    rows = []
    for trial in complete:
        there = {name: one for name, one in search_space.items() if name in trial.distributions}
        if all(trial.distributions[name] == one for name, one in there.items()):
            with suppress(SpaceError):  # a value outside its range that was forced on the trial
                rows.append({name: translation.value(name, trial.params[name]) for name in there})
    return branches(rows, translation.space.parameters)


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    return [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]


def _racing(trials: Sequence[FrozenTrial], number: int, search: _Search) -> list[int]:
    """Earlier trials that are about to get params, which can be predicted from the same seed.

    A trial that began before one that has already ended does not count: it may have died.
    """
    running = sorted(
        trial.number
        for trial in trials
        if trial.state is TrialState.RUNNING and trial.number < number and search.lacks(trial)
    )
    if not running:
        return []
    ended = max((trial.number for trial in trials if trial.state.is_finished()), default=-1)
    return [one for one in running if one > ended]
