"""Optuna's samplers as they come, without random points of their own."""

from collections.abc import Callable, Mapping
from typing import Any

import optuna
import torch
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.trial import TrialState, create_trial

import bopp
from contest.task import Params


class Optuna:
    """A study whose sampler is made when the number of given points is known."""

    def __init__(self, space: Mapping[str, bopp.Parameter], sampler: Callable[[int], BaseSampler]):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.space = bopp.Space(space)
        self.sampler = sampler
        self.study = optuna.create_study(direction="minimize")
        self.asked: optuna.Trial | None = None
        self.began = False

    def ask(self) -> Params:
        if not self.began:
            self.study.sampler = self.sampler(len(self.study.trials))
            self.began = True
        self.asked = self.study.ask()
        return self._suggested(self.asked)

    def tell(self, params: Params, value: float | None) -> None:
        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        if self.asked is None:
            own = {name: one for name, one in params.items() if self.space.parameters[name].width}
            distributions = {name: distribution(self.space.parameters[name]) for name in own}
            trial = create_trial(state=state, value=value, params=own, distributions=distributions)
            self.study.add_trial(trial)
        else:
            self.study.tell(self.asked, value, state=state)
        self.asked = None

    def _suggested(self, trial: optuna.Trial) -> Params:
        """The params of a trial, of which only those that apply are suggested, one after the other."""
        params: Params = {}
        while missing := self.space.missing(params):
            params[missing[0]] = _suggest(trial, missing[0], self.space.parameters[missing[0]])
        return params


def gpsampler(space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool) -> Optuna:
    """Optuna's Gaussian process sampler."""
    torch.manual_seed(seed)
    return Optuna(space, lambda given: GPSampler(seed=seed, n_startup_trials=given))


def tpe(space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool) -> Optuna:
    """Optuna's tree-structured Parzen estimator."""
    return Optuna(space, lambda given: TPESampler(seed=seed, n_startup_trials=given))


def distribution(parameter: bopp.Parameter) -> BaseDistribution:
    """A parameter as Optuna describes it."""
    match parameter:
        case bopp.Float(low=low, high=high, log=log, step=step):
            return FloatDistribution(low, high, log=log, step=step)
        case bopp.Int(low=low, high=high, log=log, step=step):
            return IntDistribution(low, high, log=log, step=step or 1)
    return CategoricalDistribution([*parameter.values()])


def _suggest(trial: optuna.Trial, name: str, parameter: bopp.Parameter) -> Any:
    match parameter:
        case bopp.Float(low=low, high=high, log=log, step=step):
            return trial.suggest_float(name, low, high, log=log, step=step)
        case bopp.Int(low=low, high=high, log=log, step=step):
            return trial.suggest_int(name, low, high, log=log, step=step or 1)
    return trial.suggest_categorical(name, [*parameter.values()])
