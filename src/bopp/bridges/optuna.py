"""Optuna: a sampler with which a study of Optuna asks bopp where to evaluate next.

    study = optuna.create_study(sampler=BoppSampler(seed=0))

The sampler remembers nothing: a suggestion follows from the trials of the study, the seed and the number of
the trial, whichever process or thread asks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from bopp.bridges import extra
from bopp.bridges.foreign import Foreign, Translation, options, real, stepped, whole
from bopp.errors import RecipeError, SpaceError, StudyError
from bopp.space import Params, Space
from bopp.suggest import Recipe, suggest
from bopp.trial import Direction, Trial, history_of

with extra("optuna"):
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState

TRIES = 3  # to find params that no other trial has; where the space is used up, there are none


class BoppSampler(BaseSampler):
    """Suggests what bopp would; running trials are pending points, failed and pruned ones failed points.

    Parameters that not every complete trial has are drawn at random.

    Args:
        seed: the same seed and the same values give the same suggestions; None is another each time.
        recipe: how to suggest; None is `Recipe.default()`.
    """

    def __init__(self, seed: int | None = 0, recipe: Recipe | None = None):
        if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
            raise RecipeError(f"seed must be an integer >= 0 or None, got {seed!r}")
        if recipe is not None and not isinstance(recipe, Recipe):
            raise RecipeError(f"recipe must be a Recipe or None, got {recipe!r}")
        self.seed = int(np.random.SeedSequence().generate_state(1)[0] if seed is None else seed)
        self.recipe = Recipe.default() if recipe is None else recipe

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that every complete trial has, or every pruned one where none is complete."""
        trials = study.get_trials(deepcopy=False)
        space = intersection_search_space(trials) or intersection_search_space(trials, include_pruned=True)
        return {name: distribution for name, distribution in space.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The suggestion of bopp."""
        _check_objective(study)
        others = _others(study, trial)
        _check_constraints(others)
        if not search_space:
            return {}
        translation = Translation({name: _foreign(name, one) for name, one in search_space.items()})
        direction: Direction = "maximize" if study.direction is StudyDirection.MAXIMIZE else "minimize"
        for _ in range(TRIES):
            trials = _translated(others, search_space, translation)
            for number in [*_racing(others, trial.number, search_space), trial.number]:
                params = self._suggested(translation.space, trials, direction, number)
                trials.append(Trial(number, params))
            others = _others(study, trial)
            if not any(params == other.params for other in _translated(others, search_space, translation)):
                break  # else another trial came to the same params meanwhile
        return translation.theirs(params)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value at random, for a parameter that not every complete trial has."""
        _check_objective(study)
        translation = Translation({param_name: _foreign(param_name, param_distribution)})
        space = translation.space
        name = crc32(param_name.encode(errors="surrogatepass"))
        u = np.random.default_rng([self.seed, trial.number, name]).random(space.dimension)
        if space.dimension == 1 and 1 < space.size < math.inf:
            u = np.clip((u * space.size - 0.5) / (space.size - 1), 0.0, 1.0)  # as much room for the ends
        return translation.theirs(space.decode(u))[param_name]

    def _suggested(self, space: Space, trials: Sequence[Trial], direction: Direction, number: int) -> Params:
        X = np.array([space.encode(trial.params) for trial in trials]).reshape(-1, space.dimension)
        history = history_of(trials, X, direction)
        return space.decode(suggest(space, self.recipe, history, (self.seed, number)))


def _check_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise StudyError(f"BoppSampler wants a study of one objective, got {len(study.directions)}")


def _check_constraints(trials: Sequence[FrozenTrial]) -> None:
    for trial in trials:
        if trial.constraints:
            raise StudyError(
                f"BoppSampler does not take constraints yet: trial {trial.number} has {trial.constraints}"
            )


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


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    return [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]


def _translated(
    trials: Sequence[FrozenTrial], search_space: dict[str, BaseDistribution], translation: Translation
) -> list[Trial]:
    """The trials as bopp has them, but for those that wait to run or have other parameters."""
    translated = []
    for trial in trials:
        ours = all(trial.distributions.get(name) == one for name, one in search_space.items())
        if not ours or trial.state is TrialState.WAITING:
            continue
        try:
            params = translation.ours({name: trial.params[name] for name in search_space})
        except SpaceError:  # a value from outside of its range, forced upon the trial
            continue
        if trial.state is TrialState.RUNNING:
            translated.append(Trial(trial.number, params))
        elif trial.state is TrialState.COMPLETE and trial.value is not None and math.isfinite(trial.value):
            translated.append(Trial(trial.number, params, "done", trial.value))
        else:
            translated.append(Trial(trial.number, params, "failed"))
    return translated


def _racing(
    trials: Sequence[FrozenTrial], number: int, search_space: dict[str, BaseDistribution]
) -> list[int]:
    """Trials before this one that are about to have params; what these will be, the same seed can tell.

    One that began before a trial that has ended already does not count: it may have died.
    """
    ended = max((trial.number for trial in trials if trial.state.is_finished()), default=-1)
    running = (
        trial for trial in trials if trial.state is TrialState.RUNNING and ended < trial.number < number
    )
    return sorted(trial.number for trial in running if not search_space.keys() <= trial.params.keys())
