"""Cube: a space for peers that know numbers only, with one column for each parameter."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import bopp
from contest.task import Params

Array = npt.NDArray[np.float64]


class Cube:
    """Params as points of the unit cube and back; conditions are ignored.

    Each value on a grid has an equal share of its column, or on a logarithmic scale the share that rounding
    gives it.
    """

    def __init__(self, space: Mapping[str, bopp.Parameter]):
        parameters = bopp.Space(space).parameters
        self.parameters = {name: one for name, one in parameters.items() if one.width}

    @property
    def dimension(self) -> int:
        return len(self.parameters)

    def encode(self, params: Params) -> Array:
        """The point for these params, with the middle for those that are missing."""
        return np.array(
            [self._column(name, params[name]) if name in params else 0.5 for name in self.parameters]
        )

    def decode(self, u: Array) -> Params:
        """The params at a point, also for parameters that do not apply there."""
        return {
            name: self._value(name, min(max(float(one), 0.0), 1.0))
            for name, one in zip(self.parameters, u, strict=True)
        }

    def _column(self, name: str, value: Any) -> float:
        parameter = self.parameters[name]
        if isinstance(parameter, bopp.Float) and parameter.step is None:
            return parameter.encode(value)[0]
        if isinstance(parameter, bopp.Int) and parameter.log:
            low, high = _log_range(parameter)
            return (math.log(value) - low) / (high - low)
        return (self._values[name].index(value) + 0.5) / len(self._values[name])

    def _value(self, name: str, u: float) -> Any:
        parameter = self.parameters[name]
        if isinstance(parameter, bopp.Float) and parameter.step is None:
            return parameter.decode([u])
        if isinstance(parameter, bopp.Int) and parameter.log:
            low, high = _log_range(parameter)
            return min(max(round(math.exp(low + u * (high - low))), parameter.low), parameter.high)
        values = self._values[name]
        return values[min(int(u * len(values)), len(values) - 1)]

    @cached_property
    def _values(self) -> dict[str, list[Any]]:
        """The values of the parameters that have a grid with equal shares."""
        return {
            name: list(one.values())
            for name, one in self.parameters.items()
            if math.isfinite(one.levels) and not one.logarithmic
        }


def _log_range(parameter: bopp.Int) -> tuple[float, float]:
    return math.log(parameter.low - 0.5), math.log(parameter.high + 0.5)
