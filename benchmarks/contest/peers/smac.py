"""SMAC's facades by ask and tell, without an initial design of their own."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ConfigSpace import (
    AndConjunction,
    Categorical,
    Configuration,
    ConfigurationSpace,
    Float,
    InCondition,
    Integer,
    OrdinalHyperparameter,
)
from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario
from smac.runhistory import StatusType, TrialInfo, TrialValue

import bopp
from contest.task import Params

QUIET = 50  # as the levels of logging: what is critical


class Smac:
    """It knows conditions; an evaluation that crashed has that state, and the cost of the worst so far."""

    def __init__(
        self,
        facade: Any,
        space: Mapping[str, bopp.Parameter],
        seed: int,
        budget: int,
        noisy: bool,
    ):
        parameters = bopp.Space(space).parameters
        self.parameters = {name: one for name, one in parameters.items() if one.width}
        self.configurations = _configurations(self.parameters, seed)
        folder = Path(tempfile.mkdtemp(prefix="smac-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        scenario = Scenario(
            self.configurations,
            deterministic=not noisy,
            n_trials=budget,
            seed=seed,
            output_directory=folder,
        )
        design = facade.get_initial_design(scenario, n_configs=0)
        self.facade = facade(scenario, initial_design=design, logging_level=QUIET, overwrite=True)
        self.asked: TrialInfo | None = None
        self.worst = -np.inf

    def ask(self) -> Params:
        self.asked = self.facade.ask()
        values = dict(self.asked.config)
        rows = self.parameters.items()
        return {name: _ours(one, values[name]) for name, one in rows if name in values}

    def tell(self, params: Params, value: float | None) -> None:
        info = self.asked or TrialInfo(self._configuration(params), seed=0)
        self.worst = self.worst if value is None else max(self.worst, value)
        state = StatusType.CRASHED if value is None else StatusType.SUCCESS
        crash = self.worst if np.isfinite(self.worst) else 0.0
        cost = crash if value is None else value
        self.facade.tell(info, TrialValue(cost=cost, status=state), save=False)
        self.asked = None

    def _configuration(self, params: Params) -> Configuration:
        rows = self.parameters.items()
        values = {name: _theirs(one, params[name]) for name, one in rows if name in params}
        return Configuration(self.configurations, values=values)


def black_box(space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool) -> Smac:
    """SMAC with a Gaussian process."""
    return Smac(BlackBoxFacade, space, seed, budget, noisy)


def hyper_parameters(space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool) -> Smac:
    """SMAC with a random forest."""
    return Smac(HyperparameterOptimizationFacade, space, seed, budget, noisy)


def _configurations(parameters: Mapping[str, bopp.Parameter], seed: int) -> ConfigurationSpace:
    """A space as SMAC describes it, with its conditions."""
    space = ConfigurationSpace(seed=seed)
    space.add([_hyperparameter(name, one) for name, one in parameters.items()])
    for name, one in parameters.items():
        conditions = [
            InCondition(space[name], space[other], [_theirs(parameters[other], value) for value in values])
            for other, values in one.conditions
            if other in parameters
        ]
        if conditions:
            space.add(conditions[0] if len(conditions) == 1 else AndConjunction(*conditions))
    return space


def _hyperparameter(name: str, parameter: bopp.Parameter) -> Any:
    match parameter:
        case bopp.Float(low=low, high=high, log=log, step=None):
            return Float(name, (low, high), log=log)
        case bopp.Int(low=low, high=high, log=log, step=None):
            return Integer(name, (low, high), log=log)
        case bopp.Choice(ordered=False, options=options):
            return Categorical(name, list(range(len(options))))
    return OrdinalHyperparameter(name, list(range(int(parameter.levels))))


def _theirs(parameter: bopp.Parameter, value: Any) -> Any:
    """Their value: of options and steps, the place in the list."""
    if isinstance(parameter, bopp.Float | bopp.Int) and parameter.step is None:
        return value
    return list(parameter.values()).index(value)


def _ours(parameter: bopp.Parameter, value: Any) -> Any:
    if isinstance(parameter, bopp.Int) and parameter.step is None:
        return int(value)
    if isinstance(parameter, bopp.Float) and parameter.step is None:
        return min(max(float(value), parameter.low), parameter.high)
    return list(parameter.values())[int(value)]
