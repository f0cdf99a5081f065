"""scikit-learn: a search over hyper-parameters with cross-validation, in place of RandomizedSearchCV.

search = BoppSearchCV(SVC(), {"C": loguniform(1e-3, 1e3)}, n_iter=30, random_state=0).fit(X, y)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bopp.arguments import checked_count
from bopp.bridges import extra
from bopp.bridges.foreign import Foreign, Translation, options
from bopp.bridges.sources import translate
from bopp.errors import RecipeError, SpaceError
from bopp.front import nondominated
from bopp.informed import as_policies
from bopp.kinds import from_distribution
from bopp.legible import brief
from bopp.optimizer import Knowledge, Optimizer
from bopp.parameter import Parameter
from bopp.problem import Problem
from bopp.pseudo import Earlier
from bopp.recipe import Recipe

with extra("sklearn"):
    from joblib import effective_n_jobs
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state

Evaluate = Callable[..., Mapping[str, Any]]
MEAN = "mean_test_"  # and the name of a score: its mean over the splits


class BoppSearchCV(BaseSearchCV):
    """Searches the hyper-parameters of an estimator with bopp; all else is as in RandomizedSearchCV.

    After the initial design, candidates are evaluated one after the other, or several at once if `n_jobs`
    exceeds the number of splits. Of several scores each is an objective. After `fit`, `front_` has the places
    in `cv_results_` of the candidates than which none is better in all objectives. `result_` is the
    bopp.Result, with its pictures; the `measurements` of its trials are the other scores and `fit_seconds`,
    averaged over the splits. A candidate that fails on every split is a failed trial there; if all that were
    evaluated with it failed too, it is missing from `cv_results_`.

    Args:
        param_distributions: a dict of name to uniform, loguniform or randint of scipy.stats, to a list of
            values, or to a Float, Int or Choice.
        n_iter: how many candidates; fewer if the space has fewer.
        recipe: how to suggest; None is `Recipe.default()`.
        knowledge: what you know but did not measure, in names and values of `param_distributions`; values of
            the objective are scores, of which more is better.
        objectives: the names of the scores to search for, such as ["accuracy"]; None is all of them.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [Mapping],
        "n_iter": [Integral],
        "random_state": ["random_state"],
        "recipe": [Recipe, None],
        "knowledge": [callable, list, tuple, None],
        "objectives": [list, tuple, None],
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
        objectives: Sequence[str] | None = None,
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
        self.objectives = objectives

    def _run_search(self, evaluate_candidates: Evaluate) -> None:
        """Ask, evaluate, tell; first the initial design, whose points do not depend on values."""
        n_iter = checked_count("n_iter", self.n_iter)
        translation = Translation({name: _foreign(name, d) for name, d in self.param_distributions.items()})
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        knowledge = [translate(policy, translation) for policy in as_policies(self.knowledge)]
        scores = _names(self.scoring)
        searched = {"value": "score"} if scores is None else self._searched(scores)
        problem = Problem(translation.space, dict.fromkeys(searched, "maximize"))
        optimizer = Optimizer(problem, seed=seed, recipe=self.recipe, knowledge=knowledge)
        wanted = min(n_iter, translation.space.size)
        at_once = min(wanted, max(1, optimizer.recipe.initial.size))
        splitter = _Once(self.cv) if hasattr(self.cv, "split") else None  # others always split alike
        results = None
        while (left := wanted - len(optimizer.trials)) > 0:
            trials = optimizer.ask(int(min(at_once, left)))
            candidates = [translation.theirs(trial.params) for trial in trials]
            found, failure = self._evaluated(evaluate_candidates, candidates, splitter)
            if found is None:
                answers = [dict.fromkeys(searched, self.error_score)] * len(trials)
            else:
                results = found
                if scores is None:
                    scores = _scores(results)
                    searched = self._searched(scores)
                    optimizer = _for_several(optimizer, searched)
                answers = _answers(results, searched)[-len(trials) :]  # results accumulate
                at_once = max(1, math.ceil(effective_n_jobs(self.n_jobs) / _splits(results, scores[0])))
            for trial, answer in zip(trials, answers, strict=True):
                if failure and not math.isfinite(self.error_score):
                    optimizer.fail(trial, str(failure))
                else:
                    optimizer.tell(trial, answer)
        self.result_ = optimizer.result
        if results is not None:
            self.front_ = _front(results, searched)
        elif failure:
            raise failure

    def _searched(self, scores: Sequence[str]) -> dict[str, str]:
        """The objectives, each with the name of its score; that of the score to refit by comes first."""
        named = scores if self.objectives is None else self.objectives
        if not named or not all(one in scores for one in named):
            raise RecipeError(f"objectives: wanted some of the scores {scores}, got {brief(self.objectives)}")
        if len(scores) > 1 and not (self.refit is False or callable(self.refit) or self.refit in scores):
            raise RecipeError(
                f"with several scores, refit must name one of {scores}, be a function or False, "
                f"got {brief(self.refit)}"
            )
        chosen = sorted(dict.fromkeys(named), key=lambda name: name != self.refit)
        return {"value": chosen[0]} if len(chosen) == 1 else {name: name for name in chosen}

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
    names = _scores(results)
    if len(names) > 1 and search.refit not in names:
        raise RecipeError(
            f"earlier: wanted a refit that names one of the scores {names}, got {search.refit!r}"
        )
    scores = results[f"{MEAN}{search.refit if len(names) > 1 else names[0]}"]
    rows = zip(results["params"], map(float, scores), strict=True)
    return [(params, score) for params, score in rows if math.isfinite(score)]


def _names(scoring: Any) -> list[str] | None:
    """The names of the scores; None if those that a function returns are yet to be seen."""
    if callable(scoring):
        return None
    if scoring is None or isinstance(scoring, str):
        return ["score"]
    return list(scoring)


def _scores(results: Mapping[str, Any]) -> list[str]:
    """The names of the scores that were measured."""
    return [key.removeprefix(MEAN) for key in results if key.startswith(MEAN)]


def _splits(results: Mapping[str, Any], score: str) -> int:
    return sum(f"split{number}_test_{score}" in results for number in range(len(results)))


def _for_several(optimizer: Optimizer, searched: Mapping[str, str]) -> Optimizer:
    """The optimizer of a single value as one of all objectives, for which that value stood."""
    trials = [
        replace(trial, values=dict.fromkeys(searched, trial.value)) if trial.state == "done" else trial
        for trial in optimizer.trials
    ]
    problem = Problem(optimizer.space, dict.fromkeys(searched, "maximize"))
    return Optimizer(problem, seed=optimizer.seed, recipe=optimizer.recipe, trials=trials)


def _answers(results: Mapping[str, Any], searched: Mapping[str, str]) -> list[dict[str, Any]]:
    """For each candidate the objectives, and what else was measured."""
    others = [name for name in _scores(results) if name not in searched.values()]
    columns = {name: results[MEAN + name] for name in others}
    columns |= {"fit_seconds": results["mean_fit_time"]}
    columns |= {name: results[MEAN + score] for name, score in searched.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _front(results: Mapping[str, Any], searched: Mapping[str, str]) -> npt.NDArray[np.intp]:
    """The places of the candidates than which none is better in all objectives."""
    Y = np.column_stack([results[MEAN + score] for score in searched.values()])
    whole = np.flatnonzero(np.isfinite(Y).all(axis=1))
    return whole[nondominated(Y[whole])]


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
    try:
        if isinstance(values, list | tuple | range):
            return options(values)
        return Foreign(from_distribution(values))
    except SpaceError as error:
        raise SpaceError(f"{name!r}: {error}") from None
