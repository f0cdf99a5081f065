"""Nevergrad's NGOpt, which chooses an optimizer by the space and the budget."""

from collections.abc import Mapping
from typing import Any

import nevergrad as ng
import numpy as np

import bopp
from contest.task import Params


class Ngopt:
    """It searches the flat space; an evaluation that crashed counts as the worst so far.

    A given point is suggested, asked for and told, as nevergrad documents it.
    """

    def __init__(self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool):
        parameters = bopp.Space(space).parameters
        self.parameters = {name: one for name, one in parameters.items() if one.width}
        searched = ng.p.Dict(**{name: _searched(one) for name, one in self.parameters.items()})
        searched.random_state = np.random.RandomState(seed)
        self.optimizer = ng.optimizers.NGOpt(searched, budget=budget)
        self.asked: Any = None
        self.worst = 0.0

    def ask(self) -> Params:
        self.asked = self.optimizer.ask()
        return {name: _plain(one, self.asked.value[name]) for name, one in self.parameters.items()}

    def tell(self, params: Params, value: float | None) -> None:
        if self.asked is None:
            rows = self.parameters.items()
            flat = {name: params[name] if name in params else one.decode(one.middle) for name, one in rows}
            self.optimizer.suggest({name: _theirs(one, flat[name]) for name, one in rows})
            self.asked = self.optimizer.ask()
        self.optimizer.tell(self.asked, self._known(value))
        self.asked = None

    def _known(self, value: float | None) -> float:
        self.worst = self.worst if value is None else max(self.worst, value)
        return self.worst if value is None else value


def _searched(parameter: bopp.Parameter) -> Any:
    """A parameter as nevergrad describes it."""
    match parameter:
        case bopp.Float(low=low, high=high, step=None, log=log):
            return ng.p.Log(lower=low, upper=high) if log else ng.p.Scalar(lower=low, upper=high)
        case bopp.Int(low=low, high=high, step=None, log=log):
            number = ng.p.Log(lower=low, upper=high) if log else ng.p.Scalar(lower=low, upper=high)
            return number.set_integer_casting()
    return ng.p.Choice(list(parameter.values()))


def _theirs(parameter: bopp.Parameter, value: Any) -> Any:
    return float(value) if isinstance(parameter, bopp.Float) and parameter.step is None else value


def _plain(parameter: bopp.Parameter, value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(parameter, bopp.Float | bopp.Int) and parameter.step is None:
        return min(max(plain, parameter.low), parameter.high)  # rounding may lead out of the range
    return plain
