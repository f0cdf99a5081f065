"""bopp finds the best setting of an expensive black box in few evaluations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bopp import acquisition, errors, fit, initial, kernels, outcome, pseudo, search, types
from bopp.belief import Belief, Beliefs
from bopp.data import Data
from bopp.errors import BoppError
from bopp.known import Known
from bopp.number import Float, Int
from bopp.optimizer import Optimizer, maximize, minimize, optimize
from bopp.option import Choice, Fixed
from bopp.parameter import Parameter
from bopp.problem import AtLeast, AtMost, Holds, Linear, Problem
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.space import Params, Space
from bopp.trial import Trial

if TYPE_CHECKING:
    from bopp.paper import theory
    from bopp.study.catalogue import delete_study, open_study
    from bopp.study.study import Study

__version__ = "0.2.0.dev0"

__all__ = [
    "AtLeast",
    "AtMost",
    "Belief",
    "Beliefs",
    "BoppError",
    "Choice",
    "Data",
    "Fixed",
    "Float",
    "Holds",
    "Int",
    "Known",
    "Linear",
    "Optimizer",
    "Parameter",
    "Params",
    "Problem",
    "Recipe",
    "Result",
    "Space",
    "Study",
    "Trial",
    "acquisition",
    "delete_study",
    "errors",
    "fit",
    "initial",
    "kernels",
    "maximize",
    "minimize",
    "open_study",
    "optimize",
    "outcome",
    "pseudo",
    "search",
    "theory",
    "types",
]

LATER = {
    "Study": "bopp.study.study",
    "delete_study": "bopp.study.catalogue",
    "open_study": "bopp.study.catalogue",
}
"""Names from modules that import SQLAlchemy, which the engine does not need: imported when used."""


def __getattr__(name: str) -> Any:
    if name == "theory":
        return import_module("bopp.paper.theory")
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module 'bopp' has no attribute {name!r}")
