"""scikit-learn: a search over hyper-parameters with cross-validation, in place of RandomizedSearchCV.

search = BoppSearchCV(SVC(), {"C": loguniform(1e-3, 1e3)}, n_iter=30, random_state=0).fit(X, y)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from bopp.arguments import checked_count
from bopp.bridges import extra
from bopp.bridges.foreign import Foreign, Translation, options
from bopp.bridges.sources import listed, translated
from bopp.errors import RecipeError, SpaceError
from bopp.kinds import from_distribution
from bopp.legible import brief
from bopp.optimizer import Knowledge, Optimizer
from bopp.parameter import Parameter
from bopp.pseudo import Earlier
from bopp.recipe import Recipe

with extra("sklearn"):
    from joblib import effective_n_jobs
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state

Evaluate = Callable[..., Mapping[str, Any]]


class BoppSearchCV(BaseSearchCV):
    """Searches the hyper-parameters of an estimator with bopp; all else is as in RandomizedSearchCV.

    After the initial design, candidates are evaluated one after the other, or several at once if `n_jobs`
    exceeds the number of splits. After `fit`, `result_` is the bopp.Result, with its pictures; the
    `measurements` of its trials are the other scores and `fit_seconds`, averaged over the splits. A candidate
    that fails on every split is a failed trial there; if all that were evaluated with it failed too, it is
    missing from `cv_results_`.

    Args:
        param_distributions: a dict of name to uniform, loguniform or randint of scipy.stats, to a list of
            values, or to a Float, Int or Choice.
        n_iter: how many candidates; fewer if the space has fewer.
        recipe: how to suggest; None is `Recipe.default()`.
        knowledge: what you know but did not measure, in names and values of `param_distributions`; values of
            the objective are scores, of which more is better.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [Mapping],
        "n_iter": [Integral],
        "random_state": ["random_state"],
        "recipe": [Recipe, None],
        "knowledge": [callable, list, tuple, None],
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
        knowledge: Knowledge | None = (),
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
        self.knowledge = knowledge

    def _run_search(self, evaluate_candidates: Evaluate) -> None:
        """Ask, evaluate, tell; first the initial design, whose points do not depend on values."""
        n_iter = checked_count("n_iter", self.n_iter)
        translation = Translation({name: _foreign(name, d) for name, d in self.param_distributions.items()})
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        knowledge = [translated(policy, translation) for policy in listed(self.knowledge)]
        optimizer = Optimizer(translation.space, "maximize", seed, self.recipe, knowledge=knowledge)
        wanted = min(n_iter, translation.space.size)
        at_once = min(wanted, max(1, optimizer.recipe.initial.size))
        splitter = _Once(self.cv) if hasattr(self.cv, "split") else None  # others always split alike
        worked = False
        while (left := wanted - len(optimizer.trials)) > 0:
            trials = optimizer.ask(int(min(at_once, left)))
            candidates = [translation.theirs(trial.params) for trial in trials]
            results, failure = self._evaluated(evaluate_candidates, candidates, splitter)
            answers = [{"value": self.error_score}] * len(trials)
            if results is not None:
                mean, worked = _mean_score(results, self.refit), True
                answers = _answers(results, mean)[-len(trials) :]  # results accumulate
                splits = sum(f"split{number}_{mean[5:]}" in results for number in range(len(results)))
                at_once = max(1, math.ceil(effective_n_jobs(self.n_jobs) / splits))
            for trial, answer in zip(trials, answers, strict=True):
                if failure and not math.isfinite(answer["value"]):
                    optimizer.fail(trial, str(failure))
                else:
                    optimizer.tell(trial, answer)
        self.result_ = optimizer.result
        if failure and not worked:
            raise failure

    def _evaluated(
        self, evaluate_candidates: Evaluate, candidates: list[dict[str, Any]], splitter: _Once | None
    ) -> tuple[Mapping[str, Any] | None, ValueError | None]:
        """The results of all candidates so far; or, if every fit of these failed, the error that says so.

        scikit-learn would end the search with that error.
        """
        try:
            return evaluate_candidates(candidates, cv=splitter), None
        except ValueError as error:
            if self.error_score == "raise" or "fits failed" not in str(error):
                raise
            warnings.warn(str(error), FitFailedWarning, stacklevel=2)
            return None, error


def earlier(*searches: Any, trust: float = 0.7) -> Earlier:
    """The candidates and scores of earlier searches, of any class of scikit-learn, as knowledge for another.

    Args:
        trust: how sure you are that they resemble it, between 0 and 1, before anything is measured.
    """
    return Earlier([("maximize", _told(search)) for search in searches], trust)


def _told(search: Any) -> list[tuple[dict[str, Any], float]]:
    """The candidates of a fitted search, each with its score."""
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise RecipeError(f"earlier: wanted searches that were fitted, got {brief(search)}")
    scores = results[_mean_score(results, search.refit)]
    rows = zip(results["params"], map(float, scores), strict=True)
    return [(params, score) for params, score in rows if math.isfinite(score)]


def _mean_score(results: Mapping[str, Any], refit: Any) -> str:
    """The key in the results of the score to search by: mean_test_, and its name."""
    means = [key for key in results if key.startswith("mean_test_")]
    if len(means) > 1 and f"mean_test_{refit}" not in means:
        raise RecipeError(f"with several scores, refit must name the one to search by, got {refit!r}")
    return means[0] if len(means) == 1 else f"mean_test_{refit}"


def _answers(results: Mapping[str, Any], mean: str) -> list[dict[str, Any]]:
    """For each candidate the score that is searched by, and what else was measured."""
    others = [key for key in results if key.startswith("mean_test_") and key != mean]
    columns = {key.removeprefix("mean_test_"): results[key] for key in others}
    columns |= {"fit_seconds": results["mean_fit_time"], "value": results[mean]}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


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
    try:
        return Foreign(from_distribution(values))
    except SpaceError as error:
        raise SpaceError(f"{name!r}: {error}") from None
