"""scikit-learn: a search over hyper-parameters with cross-validation, in the place of RandomizedSearchCV.

search = BoppSearchCV(SVC(), {"C": loguniform(1e-3, 1e3)}, n_iter=30, random_state=0).fit(X, y)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from bopp.bridges import extra
from bopp.bridges.foreign import Foreign, Translation, options, real, whole
from bopp.errors import RecipeError, SpaceError
from bopp.optimizer import Optimizer
from bopp.parameter import Parameter
from bopp.suggest import Recipe

with extra("sklearn"):
    from joblib import effective_n_jobs
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state

Evaluate = Callable[..., Mapping[str, Any]]


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
        splitter = _Once(self.cv) if hasattr(self.cv, "split") else None  # others split alike each time
        worked = False
        while (left := wanted - len(optimizer.trials)) > 0:
            trials = optimizer.ask(int(min(at_once, left)))
            candidates = [translation.theirs(trial.params) for trial in trials]
            results, failure = self._evaluated(evaluate_candidates, candidates, splitter)
            scores = [self.error_score] * len(trials)
            if results is not None:
                mean, worked = self._mean_score(results), True
                scores = results[mean][-len(trials) :]  # results pile up
                splits = sum(f"split{number}_{mean[5:]}" in results for number in range(len(results)))
                at_once = max(1, math.ceil(effective_n_jobs(self.n_jobs) / splits))
            for trial, score in zip(trials, scores, strict=True):
                if failure and not math.isfinite(score):
                    optimizer.fail(trial, str(failure))
                else:
                    optimizer.tell(trial, score)
        self.result_ = optimizer.result
        if failure and not worked:
            raise failure

    def _evaluated(
        self, evaluate_candidates: Evaluate, candidates: list[dict[str, Any]], splitter: _Once | None
    ) -> tuple[Mapping[str, Any] | None, ValueError | None]:
        """The results of all candidates so far; or, where each fit of these failed, the error that says so.

        scikit-learn would end the search with that error.
        """
        try:
            return evaluate_candidates(candidates, cv=splitter), None
        except ValueError as error:
            if self.error_score == "raise" or "fits failed" not in str(error):
                raise
            warnings.warn(str(error), FitFailedWarning, stacklevel=2)
            return None, error

    def _mean_score(self, results: Mapping[str, Any]) -> str:
        """Where in the results the score is that is searched by: mean_test_, and its name."""
        means = [key for key in results if key.startswith("mean_test_")]
        if len(means) > 1 and f"mean_test_{self.refit}" not in means:
            raise RecipeError(
                f"with several scores, refit must name the one to search by, got {self.refit!r}"
            )
        return means[0] if len(means) == 1 else f"mean_test_{self.refit}"


class _Once:
    """A splitter that splits once, so that all candidates are compared on the same splits."""

    def __init__(self, splitter: Any):
        self._splitter = splitter
        self._splits: list[Any] = []

    def split(self, *data: Any, **settings: Any) -> list[Any]:
        self._splits = self._splits or list(self._splitter.split(*data, **settings))
        return self._splits


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
    low, high = values.support()
    if not low <= high:
        raise SpaceError(f"{name!r}: wanted a distribution with values, got {kind} from {low} to {high}")
    if kind == "randint":
        return whole(int(low), int(high))
    return real(float(low), float(high), log=kind != "uniform")
