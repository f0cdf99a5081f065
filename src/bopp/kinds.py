"""Kinds: every kind of parameter by name, and what people write in place of one.

{"rate": (1e-4, 1.0), "layers": (1, 8), "solver": ["sgd", "adam"], "epochs": 30}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from bopp.errors import SpaceError
from bopp.legible import brief
from bopp.number import Float, Int
from bopp.option import Choice, Fixed
from bopp.parameter import Parameter

KINDS: dict[str, type[Parameter]] = {"Float": Float, "Int": Int, "Choice": Choice, "Fixed": Fixed}
DISTRIBUTIONS = ("uniform", "loguniform", "reciprocal", "randint")  # of scipy.stats
LOG = ("log", "log-uniform")  # as the third of a tuple


def parameter(declared: Any) -> Parameter:
    """The parameter that somebody declared.

    Float, Int, Choice, Fixed           itself
    (low, high), (low, high, "log")     an Int if both are whole numbers such as 1, not 1.0; else a Float
    a list of options                   a Choice, ordered if it is of numbers in order
    a distribution of scipy.stats       uniform, loguniform or randint
    a text, a number, True, False, None Fixed
    """
    if isinstance(declared, Parameter):
        return declared
    if isinstance(declared, tuple):
        return _between(declared)
    if isinstance(declared, np.ndarray) and declared.ndim == 0:
        return Fixed(declared.item())
    if isinstance(declared, list | range | np.ndarray):
        options = declared.tolist() if isinstance(declared, np.ndarray) else list(declared)
        return Choice(options, ordered=in_order(options))
    if hasattr(declared, "dist"):
        return from_distribution(declared)
    if declared is None or isinstance(declared, str | Real | np.generic):
        value: Any = declared
        return Fixed(value)
    raise SpaceError(
        "wanted a Float, Int, Choice or Fixed, (low, high), a list of options, a value, or uniform, "
        f"loguniform or randint of scipy.stats, got {brief(declared)}"
    )


def from_distribution(distribution: Any) -> Parameter:
    """The range of a distribution of scipy.stats as a parameter."""
    kind = getattr(getattr(distribution, "dist", None), "name", None)
    if kind not in DISTRIBUTIONS:
        raise SpaceError(
            "wanted uniform, loguniform or randint of scipy.stats, a list, Float, Int or Choice, "
            f"got {brief(distribution)}"
        )
    low, high = distribution.support()
    if np.ndim(low) or np.ndim(high) or not low <= high:
        raise SpaceError(f"wanted a distribution with values, got {kind} from {low} to {high}")
    if kind in ("loguniform", "reciprocal") and not math.isclose(distribution.median() ** 2, low * high):
        raise SpaceError(f"wanted a loguniform without loc, got one from {low} to {high}")
    if kind == "randint":
        return Int(int(low), int(high)) if low < high else Choice([int(low)])
    return Float(float(low), float(high), log=kind != "uniform") if low < high else Choice([float(low)])


def in_order(options: Sequence[Any]) -> bool:
    """Whether options are numbers that only grow, or only fall."""
    if not all(isinstance(one, Real) and not isinstance(one, bool) for one in options):
        return False
    return all(a < b for a, b in pairwise(options)) or all(a > b for a, b in pairwise(options))


def _between(declared: tuple[Any, ...]) -> Parameter:
    ends, scale = declared[:2], declared[2:]
    numbers = all(isinstance(end, Real) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not numbers or scale not in ((), *((word,) for word in LOG)):
        raise SpaceError(
            f'wanted (low, high) or (low, high, "log"), got {brief(declared)}; options go in a list'
        )
    low, high = ends
    kind = Int if all(isinstance(end, Integral) for end in ends) else Float
    return kind(low, high, log=bool(scale))
