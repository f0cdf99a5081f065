"""Scikit-optimize's Optimizer as it comes: a Gaussian process, gp_hedge, no random points of its own."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import skopt
from skopt.space import Categorical, Dimension, Integer, Real

import bopp
from contest.task import Params


class Skopt:
    """It searches the flat space; an evaluation that crashed counts as the worst so far."""

    def __init__(self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool):
        parameters = bopp.Space(space).parameters
        self.parameters = {name: one for name, one in parameters.items() if one.width}
        dimensions = [_dimension(name, one) for name, one in self.parameters.items()]
        self.optimizer = skopt.Optimizer(dimensions, random_state=seed, n_initial_points=0)
        self.given: list[tuple[list[Any], float | None]] = []
        self.asked: list[Any] | None = None
        self.values: list[float] = []

    def ask(self) -> Params:
        if self.given:
            points, values = zip(*self.given, strict=True)
            self.optimizer.tell([*points], [self._known(value) for value in values])
            self.given = []
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The objective has been evaluated")
            self.asked = self.optimizer.ask()
        return {name: _plain(value) for name, value in zip(self.parameters, self.asked, strict=True)}

    def tell(self, params: Params, value: float | None) -> None:
        self.values += [] if value is None else [value]
        if self.asked is None:
            self.given.append((self._point(params), value))
        else:
            self.optimizer.tell(self.asked, self._known(value))

    def _point(self, params: Params) -> list[Any]:
        rows = self.parameters.items()
        return [params[name] if name in params else one.decode(one.middle) for name, one in rows]

    def _known(self, value: float | None) -> float:
        return max(self.values, default=0.0) if value is None else value


def _dimension(name: str, parameter: bopp.Parameter) -> Dimension:
    prior = "log-uniform" if parameter.logarithmic else "uniform"
    match parameter:
        case bopp.Float(low=low, high=high, step=None):
            return Real(low, high, prior=prior, name=name)
        case bopp.Int(low=low, high=high, step=None):
            return Integer(low, high, prior=prior, name=name)
    return Categorical(list(parameter.values()), name=name)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
