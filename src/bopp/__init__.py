"""bopp finds the best setting of an expensive black box in few evaluations."""

from bopp import acquisition, errors, fit, initial, kernels, outcome, pseudo, search, theory
from bopp.data import Data
from bopp.errors import BoppError
from bopp.known import Known
from bopp.optimizer import Optimizer, maximize, minimize
from bopp.parameter import Choice, Float, Int, Parameter
from bopp.result import Result
from bopp.space import Params, Space
from bopp.suggest import Recipe
from bopp.trial import Trial

__version__ = "0.1.0"

__all__ = [
    "BoppError",
    "Choice",
    "Data",
    "Float",
    "Int",
    "Known",
    "Optimizer",
    "Parameter",
    "Params",
    "Recipe",
    "Result",
    "Space",
    "Trial",
    "acquisition",
    "errors",
    "fit",
    "initial",
    "kernels",
    "maximize",
    "minimize",
    "outcome",
    "pseudo",
    "search",
    "theory",
]
