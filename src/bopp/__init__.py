"""bopp finds the best setting of an expensive black box in few evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from bopp.study import Study, open_study

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
    "Study",
    "Trial",
    "acquisition",
    "errors",
    "fit",
    "initial",
    "kernels",
    "maximize",
    "minimize",
    "open_study",
    "outcome",
    "pseudo",
    "search",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in ("Study", "open_study"):  # with them comes SQLAlchemy, which the engine does without
        from bopp import study

        return getattr(study, name)
    raise AttributeError(f"module 'bopp' has no attribute {name!r}")
