"""scikit-learn: a search over hyper-parameters with cross-validation, in the place of RandomizedSearchCV.

search = BoppSearchCV(SVC(), {"C": loguniform(1e-3, 1e3)}, n_iter=30, random_state=0).fit(X, y)
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from bopp.bridges import extra
from bopp.bridges.foreign import Foreign, Translation, options, real, whole
from bopp.errors import RecipeError, SpaceError
from bopp.optimizer import Optimizer
from bopp.parameter import Parameter
from bopp.suggest import Recipe
from bopp.trial import Trial

with extra("sklearn"):
    from joblib import effective_n_jobs
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state

Evaluate = Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]]


class BoppSearchCV(BaseSearchCV):
    """Searches the hyper-parameters of an estimator with bopp; all else is as in RandomizedSearchCV.

    Candidates are evaluated one after the other, or several at once where `n_jobs` exceeds the splits of one.
    After `fit`, `result_` is the bopp.Result, with its pictures. A candidate that fails on every split is a
    failed trial there; if all that were evaluated with it failed too, `cv_results_` lacks it.

    Args:
        param_distributions: a dict of name to uniform, loguniform or randint of scipy.stats, to a list of
            values, or to a Float, Int or Choice.
        n_iter: how many candidates; fewer where there are no more.
        recipe: how to suggest; None is `Recipe.default()`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [Mapping],
        "n_iter": [Integral],
        "random_state": ["random_state"],
        "recipe": [Recipe, None],
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any],
        *,
        n_iter: int = 50,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        recipe: Recipe | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ):
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        self.recipe = recipe

    def _run_search(self, evaluate_candidates: Evaluate) -> None:
        """Ask, evaluate, tell; first the initial design, whose points need no values of each other."""
        if self.n_iter < 1:
            raise RecipeError(f"n_iter must be an integer >= 1, got {self.n_iter!r}")
        translation = Translation({name: _foreign(name, d) for name, d in self.param_distributions.items()})
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        optimizer = Optimizer(translation.space, "maximize", seed, self.recipe)
        wanted = min(self.n_iter, translation.space.size)
        at_once = min(wanted, max(1, optimizer.recipe.initial.size))
        failure: ValueError | None = None
        while (left := wanted - len(optimizer.trials)) > 0:
            trials = optimizer.ask(int(min(at_once, left)))
            try:
                results = evaluate_candidates([translation.theirs(trial.params) for trial in trials])
            except ValueError as error:
                if "fits failed" not in str(error):
                    raise
                failure = _failed(optimizer, trials, error)
                continue
            scores = results[f"mean_test_{self._metric(results)}"][-len(trials) :]  # results pile up
            for trial, score in zip(trials, scores, strict=True):
                optimizer.tell(trial, score)
            splits = sum(re.fullmatch(r"split\d+_test_.*", key) is not None for key in results)
            at_once = max(1, math.ceil(effective_n_jobs(self.n_jobs) / splits))
        self.result_ = optimizer.result
        if failure and all(trial.state == "failed" for trial in optimizer.trials):
            raise failure

    def _metric(self, results: Mapping[str, Any]) -> str:
        """The name of the score that is searched by."""
        name = "score" if "mean_test_score" in results else self.refit
        if f"mean_test_{name}" not in results:
            raise RecipeError(
                f"with several scores, refit must name the one to search by, got {self.refit!r}"
            )
        return str(name)


def _failed(optimizer: Optimizer, trials: Sequence[Trial], error: ValueError) -> ValueError:
    """Take note that every fit of these trials failed, which scikit-learn takes as the end of a search."""
    warnings.warn(str(error), FitFailedWarning, stacklevel=2)
    for trial in trials:
        optimizer.fail(trial, str(error))
    return error


def _foreign(name: str, values: Any) -> Foreign:
    """A distribution, list or parameter, as a parameter of ours."""
    if isinstance(values, Parameter):
        return Foreign(values)
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list | tuple | range):
        return options(values)
    kind = getattr(getattr(values, "dist", None), "name", None)
    if kind not in ("uniform", "loguniform", "reciprocal", "randint"):
        raise SpaceError(
            f"{name!r}: wanted uniform, loguniform or randint of scipy.stats, a list, Float, Int or Choice, "
            f"got {values!r}"
        )
    low, high = (bound.item() for bound in values.support())
    return whole(low, high) if kind == "randint" else real(low, high, log=kind != "uniform")
