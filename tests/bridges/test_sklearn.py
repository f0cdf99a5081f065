import math
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar
from unittest import SkipTest

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import bopp
from bopp import Choice, Float, Int, Recipe, Result
from bopp.bridges.sklearn import BoppSearchCV, earlier
from bopp.data import Array
from bopp.errors import NoResultError, RecipeError
from bopp.initial import Sobol
from bopp.problem import Direction
from bopp.pseudo import Earlier, Guesses, Limits
from support.bridge_conformance import Case, ComingConformance, SearchConformance

X = np.arange(12.0).reshape(-1, 1)
y = np.zeros(12)
IRIS = load_iris(return_X_y=True)
SPECIES = np.array(load_iris().target_names)[IRIS[1]]
UNIT = {"x": Float(0, 1)}
INITIAL = 5  # trials of the initial design, which are evaluated at once

NOT_FINITE = pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite:UserWarning")
SOME_FAIL = pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")


def height(x: float) -> float:
    return float(1 - (x - 0.3) ** 2)


class Curve(BaseEstimator):
    """Scores by its own parameters alone; fails where it is told to."""

    def __init__(
        self, x: float = 0.5, option: Any = None, fails: Callable[[float, Array], bool] | None = None
    ):
        self.x = x
        self.option = option
        self.fails = fails

    def fit(self, X: Array, y: Any = None) -> "Curve":
        if self.fails is not None and self.fails(self.x, X):
            raise RuntimeError(f"no curve at x={self.x}")
        self.fitted_ = True
        return self

    def predict(self, X: Array) -> Array:
        return np.full(len(X), self.x)

    def score(self, X: Array, y: Any = None) -> float:
        return height(self.x)


class Doubtful(Curve):
    """Searches inside of its own fit, in vain at large x."""

    def fit(self, X: Array, y: Any = None) -> "Curve":
        GridSearchCV(Curve(fails=lambda x, X: self.x > 0.9), {"x": [0.5]}, cv=2).fit(X, y)
        return super().fit(X, y)


def heights(curve: Curve, X: Array, y: Any) -> dict[str, float]:
    return {"high": height(curve.x), "low": -height(curve.x)}


def steep(curve: Curve, X: Array, y: Any) -> float:
    return math.atan(curve.x)


def search(space: Any = UNIT, estimator: Any = None, **changed: Any) -> Any:
    chosen = {"n_iter": 8, "cv": 2, "random_state": 0} | changed
    return BoppSearchCV(Curve() if estimator is None else estimator, space, **chosen)


def candidates(found: Any) -> list[dict[str, Any]]:
    return list(found.cv_results_["params"])


def values(found: Any, name: str = "x") -> list[Any]:
    return [params[name] for params in candidates(found)]


def batches(printed: str) -> list[int]:
    return [int(count) for count in re.findall(r"for each of (\d+) candidates", printed)]


def seed_of(random_state: Any) -> int:
    return int(np.random.RandomState(random_state).randint(2**31 - 1))


def replayed(
    space: Mapping[str, Any],
    asked: list[int],
    value: Callable[[float], float | None] = height,
    recipe: Recipe | None = None,
) -> list[dict[str, Any]]:
    """The params of an optimizer that is asked for so many at once and told their values."""
    optimizer = bopp.Optimizer(space, "maximize", seed_of(0), recipe)
    for count in asked:
        for trial in optimizer.ask(count):
            optimizer.tell(trial, value(trial.params["x"]))
    return [trial.params for trial in optimizer.trials]


class Net(BaseEstimator):
    """The trials of the conformance suite, as an estimator."""

    def __init__(self, case: Case | None = None, kind: str = "relu", layers: int = 1, rate: float = 0.1):
        self.case = case
        self.kind = kind
        self.layers = layers
        self.rate = rate

    def outcome(self) -> dict[str, float] | None:
        assert self.case is not None
        return self.case.outcome({"kind": self.kind, "layers": self.layers, "rate": self.rate})

    def fit(self, X: Array, y: Any = None) -> "Net":
        if self.outcome() is None:
            raise RuntimeError("too many layers")
        self.fitted_ = True
        return self


@NOT_FINITE
@SOME_FAIL
class TestConformance(SearchConformance, ComingConformance):
    """A search of scikit-learn maximizes, evaluates the initial design at once, and saves nothing."""

    page = "docs/bridges/sklearn.md"
    libraries: ClassVar = ["scikit-optimize", "bayes_opt"]
    wrong: ClassVar = {
        "n_iter": [0, -1, 2.0, None],
        "random_state": ["a"],
        "recipe": ["random", Recipe],
        "knowledge": ["near", [1], Guesses],
        "error_score": ["never"],
        "param_distributions": [[{"x": [1]}, {"x": [2]}], None, [("x", [1])]],
        "nothing": [[1]],  # a parameter that the estimator lacks
        "odd": [
            *(norm(0, 1), uniform, "abc", 3, None, {1, 2}, np.array(3), [], (), range(0), np.array([])),
            *(loguniform(1, 10, -5), loguniform(0, 1), loguniform(2, 1), uniform(0, -1)),
            *(randint(3, 3), randint(5, 2)),
        ],
    }
    finite: ClassVar = [
        (randint(3, 4), [3]),
        *((one, one) for one in ([3], [0.1, 1, 10.0], [0.1, "scale", None], [True, 1, 1.0, "1"])),
        *((one, one) for one in ([{"a": 1}, {"a": 2}, {}, None], [[1], [1, 2], []], [math.nan, 0.0])),
        (
            [StandardScaler(), MinMaxScaler(), "passthrough"],
            [StandardScaler(), MinMaxScaler(), "passthrough"],
        ),
        ((1, 2), [1, 2]),
        (range(2, 9, 3), [2, 5, 8]),
        (np.linspace(0, 1, 3), [0.0, 0.5, 1.0]),
        (np.array(["a", "b"]), ["a", "b"]),
        (Int(-1, 2), [-1, 0, 1, 2]),
        (Choice(["a", ("b", 1), None]), ["a", ("b", 1), None]),
    ]
    unsupported: ClassVar = {"minimize", "pending", "pending and failed"}
    unsupported |= {"constraints", "two objectives, constraints, failed"}
    observes = False

    def begin(self, **settings: Any) -> None:
        if settings.keys() <= {"nothing", "odd"}:
            settings = {"param_distributions": {"x": uniform(), **settings}}
        BoppSearchCV(**{"estimator": Curve(), "param_distributions": UNIT, "cv": 2, **settings}).fit(X, y)

    def tried(self, domain: Any, count: int) -> list[Any]:
        return values(search({"option": domain}, n_iter=count + 1).fit(X, y), "option")  # there is no more

    def directions(self, case: Case) -> tuple[Direction, ...]:
        return tuple("maximize" for _ in case.directions)

    def seed(self, case: Case) -> int:
        return seed_of(case.seed)

    def batches(self, case: Case) -> tuple[int, ...]:
        first = int((case.recipe or Recipe.default()).initial.size)
        return (first, *[1] * (sum(case.batches) - first))

    def run(self, case: Case, folder: Path | None = None) -> list[dict[str, Any]]:
        def scorer(name: str) -> Callable[[Net, Array, Any], float]:
            return lambda net, X, y: (net.outcome() or {})[name]

        scores = {name: scorer(name) for name in case.objectives}
        space = {"kind": ["relu", "tanh", "gelu"], "layers": randint(1, 9), "rate": loguniform(1e-4, 1)}
        found = BoppSearchCV(
            Net(case),
            space,
            n_iter=sum(case.batches),
            cv=2,
            scoring=scores if len(scores) > 1 else scores["loss"],
            refit="loss" if len(scores) > 1 else True,
            random_state=case.seed,
            recipe=case.recipe,
            knowledge=case.knowledge,
        )
        return [trial.params for trial in found.fit(X, y).result_.trials]


def checks() -> Iterator[Any]:
    """Each of scikit-learn's own checks of an estimator, for a search of ours and for a grid search."""
    for estimator, name in ((LogisticRegression(), "C"), (Ridge(), "alpha")):
        recipe = Recipe(initial=Sobol(2))
        ours = BoppSearchCV(
            estimator, {name: loguniform(0.1, 1)}, n_iter=3, cv=2, random_state=0, recipe=recipe
        )
        grid = GridSearchCV(estimator, {name: [0.1, 1.0]}, cv=2)
        pairs = zip(estimator_checks_generator(ours), estimator_checks_generator(grid), strict=True)
        for place, pair in enumerate(pairs):
            yield pytest.param(*pair, id=f"{pair[0][1].func.__name__}-{place}-{name}")


def end_of(estimator: Any, check: Any) -> str:
    try:
        check(estimator)
    except SkipTest:
        return "is skipped"
    except Exception as error:
        return f"fails with {type(error).__name__}"
    return "passes"


@SOME_FAIL
@pytest.mark.parametrize(("ours", "grid"), [*checks()])
def test_a_check_of_scikit_learn_ends_as_it_does_for_a_grid_search(ours: Any, grid: Any) -> None:
    assert repr(ours[1].keywords) == repr(grid[1].keywords)
    assert end_of(*ours) == end_of(*grid)


@pytest.mark.parametrize(
    ("distribution", "parameter"),
    [
        (uniform(loc=-2, scale=1), Float(-2, -1)),
        (loguniform(1, 10, scale=2), Float(2, 20, log=True)),
        (randint(0, 10, loc=5), Int(5, 14)),
    ],
)
def test_a_distribution_is_searched_as_the_parameter_of_the_same_range(
    distribution: Any, parameter: Float | Int
) -> None:
    theirs = values(search({"x": distribution}, scoring=steep).fit(X, y))
    assert theirs == values(search({"x": parameter}, scoring=steep).fit(X, y))
    assert all(type(x) is (int if isinstance(parameter, Int) else float) for x in theirs)


def test_the_estimators_of_a_list_are_handed_on_and_stay_unfitted() -> None:
    models = [SVC(), LogisticRegression(max_iter=1000)]
    pipeline = Pipeline([("scale", StandardScaler()), ("model", models[0])])
    found = search({"model": models, "scale": ["passthrough", StandardScaler()]}, pipeline).fit(*IRIS)
    assert len(candidates(found)) == 4
    assert all(any(params["model"] is model for model in models) for params in candidates(found))
    assert not any(hasattr(model, "classes_") for model in models)
    assert type(found.best_estimator_["model"]) is type(found.best_params_["model"])


@pytest.mark.parametrize(
    ("n_jobs", "recipe", "asked"),
    [
        (2, None, [5, 1, 1, 1, 1]),
        (3, None, [5, 2, 2]),
        (4, None, [5, 2, 2]),
        (6, None, [5, 3, 1]),
        (2, Recipe.random(), [12]),
    ],
)
def test_as_many_candidates_are_asked_for_at_once_as_keep_every_job_busy(
    n_jobs: int, recipe: Recipe | None, asked: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    space = {"x": Float(0, 1), "option": Choice([0.1, 0.2, 0.4], ordered=True)}
    chosen = {"n_iter": sum(asked), "recipe": recipe, "verbose": 1}
    with joblib.parallel_config(backend="threading"):
        found = search({"x": uniform(), "option": [0.1, 0.2, 0.4]}, n_jobs=n_jobs, **chosen).fit(X, y)
    assert batches(capsys.readouterr().out) == asked
    assert candidates(found) == replayed(space, asked, recipe=recipe)
    with joblib.parallel_config(backend="threading", n_jobs=n_jobs):
        search(scoring=heights, refit="high", **chosen).fit(X, y)
    assert batches(capsys.readouterr().out) == asked


def random_splits(X: Array) -> list[tuple[Array, Array]]:
    return list(ShuffleSplit(3, random_state=1).split(X))


@pytest.mark.parametrize(
    ("data", "labels", "changed", "fitted_with"),
    [
        (IRIS[0], IRIS[1], {}, {}),
        (IRIS[0], IRIS[1], {"return_train_score": True}, {}),
        (IRIS[0], IRIS[1], {"scoring": "f1_macro"}, {}),
        (IRIS[0], IRIS[1], {"scoring": lambda model, X, y: model.score(X, y) - 1}, {}),
        (IRIS[0], IRIS[1], {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}, {}),
        (IRIS[0], IRIS[1], {"scoring": {"a": "accuracy", "b": "f1_macro"}, "refit": "a"}, {}),
        (IRIS[0], IRIS[1], {"refit": False}, {}),
        (IRIS[0], IRIS[1], {"refit": lambda results: len(results["params"]) - 1}, {}),
        (IRIS[0], IRIS[1], {"cv": StratifiedKFold(3, shuffle=True, random_state=0)}, {}),
        (IRIS[0], IRIS[1], {"cv": random_splits(IRIS[0])}, {}),
        (IRIS[0], IRIS[1], {"cv": GroupKFold(3)}, {"groups": np.arange(150) % 7}),
        (IRIS[0], IRIS[1], {}, {"sample_weight": np.linspace(0, 1, 150)}),
        (sparse.csr_matrix(IRIS[0]), IRIS[1], {}, {}),
        (pd.DataFrame(IRIS[0], columns=list("abcd")), pd.Series(SPECIES), {}, {}),
        (IRIS[0].tolist(), SPECIES, {}, {}),
    ],
)
def test_all_but_the_choice_of_candidates_is_as_in_a_grid_search(
    data: Any, labels: Any, changed: dict[str, Any], fitted_with: dict[str, Any]
) -> None:
    space = {"C": loguniform(1e-3, 1e2)}
    ours = search(space, SVC(), n_iter=7, **changed).fit(data, labels, **fitted_with)
    grid = [{"C": [params["C"]]} for params in candidates(ours)]
    theirs = GridSearchCV(SVC(), grid, **({"cv": 2} | changed)).fit(data, labels, **fitted_with)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    for name in (name for name in ours.cv_results_ if not name.endswith("_time")):
        assert list(ours.cv_results_[name]) == list(theirs.cv_results_[name]), name
    for name in ("best_index_", "best_params_", "best_score_", "n_splits_", "multimetric_", "n_features_in_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        assert not hasattr(ours, name) or getattr(ours, name) == getattr(theirs, name), name
    assert hasattr(ours, "predict") == hasattr(theirs, "predict")
    if hasattr(theirs, "predict"):
        assert list(ours.predict(data)) == list(theirs.predict(data))
        assert ours.score(data, labels) == theirs.score(data, labels)


def test_the_result_holds_every_candidate_with_its_score_and_its_time() -> None:
    found = search().fit(X, y)
    assert isinstance(found.result_, Result)
    assert found.result_.direction == "maximize"
    assert [trial.params for trial in found.result_.trials] == candidates(found)
    assert [trial.value for trial in found.result_.trials] == found.cv_results_["mean_test_score"].tolist()
    seconds = found.cv_results_["mean_fit_time"].tolist()
    assert [trial.measurements for trial in found.result_.trials] == [{"fit_seconds": one} for one in seconds]
    best = found.result_.best
    assert (best.number, best.value, best.params) == (
        found.best_index_,
        found.best_score_,
        found.best_params_,
    )
    first = found.result_.trials
    assert [trial.params for trial in found.fit(X, y).result_.trials] == [trial.params for trial in first]


@pytest.mark.parametrize("refit", ["value", "score", "high"])
def test_the_other_scores_are_measurements_and_may_have_names_of_ours(refit: str) -> None:
    def scores(curve: Curve, X: Array, y: Any) -> dict[str, float]:
        low = -height(curve.x)
        return {"value": low, "score": low, "fit_seconds": 7.0, "high": height(curve.x)}

    found = search(n_iter=7, scoring=scores, refit=refit, objectives=(refit,)).fit(X, y)
    for place, trial in enumerate(found.result_.trials):
        means = {name: found.cv_results_[f"mean_test_{name}"][place] for name in ("value", "score", "high")}
        assert trial.value == means.pop(refit)
        means.pop("value", None)  # which is the objective
        assert trial.measurements == {**means, "fit_seconds": found.cv_results_["mean_fit_time"][place]}
    assert found.result_.best.value == found.best_score_
    assert Result.from_json(found.result_.to_json()) == found.result_


@pytest.mark.parametrize(("refit", "sign"), [("high", 1), ("low", -1)])
def test_of_several_scores_one_may_be_searched_for_alone_and_take_knowledge(refit: str, sign: int) -> None:
    found = search(n_iter=12, scoring=heights, refit=refit, objectives=[refit]).fit(X, y)
    assert list(found.front_) == [found.best_index_]
    assert candidates(found) == replayed(UNIT, [INITIAL] + [1] * 7, lambda x: sign * height(x))
    assert found.best_params_["x"] == pytest.approx(0.3 if refit == "high" else 1.0, abs=0.05)
    found.set_params(knowledge=Guesses(near={"x": 0.75}), n_iter=1)
    assert values(found.fit(X, y)) == [0.75]


def rising(curve: Curve, X: Array, y: Any) -> float:
    return curve.x


def falling(curve: Curve, X: Array, y: Any) -> float:
    return -((curve.x - 0.5) ** 2)


def both(curve: Curve, X: Array, y: Any) -> dict[str, float]:
    """Better and better from 0.5 to 1 by one score, worse and worse by the other."""
    return {"falling": falling(curve, X, y), "rising": rising(curve, X, y)}


TWO = {"falling": falling, "rising": rising}


@pytest.mark.parametrize("refit", ["rising", "falling"])
def test_several_scores_are_several_objectives_and_the_front_is_found(refit: str) -> None:
    found = search(n_iter=10, scoring=TWO, refit=refit).fit(X, y)
    trials = found.result_.trials
    assert list(trials[0].values) == [refit, *(name for name in TWO if name != refit)]
    for name in TWO:
        expected = found.cv_results_[f"mean_test_{name}"].tolist()
        assert [trial.values[name] for trial in trials] == expected
    assert list(found.front_) == [trial.number for trial in found.result_.problem.front(trials)]
    assert 2 < len(found.front_) < 10
    assert found.best_index_ == np.argmax(found.cv_results_[f"mean_test_{refit}"])
    assert found.best_index_ in found.front_


@pytest.mark.parametrize("refit", ["rising", False, lambda results: 3], ids=["name", "False", "function"])
def test_a_function_of_several_scores_is_searched_as_the_scores_that_it_returns(refit: Any) -> None:
    one, other = (search(n_iter=8, scoring=scoring, refit=refit).fit(X, y) for scoring in (both, TWO))
    assert candidates(one) == candidates(other)
    assert list(one.front_) == list(other.front_)
    assert getattr(one, "best_index_", None) == getattr(other, "best_index_", None)
    assert hasattr(one, "best_estimator_") == (refit is not False)


@pytest.mark.parametrize("refit", [True, "neither"])
def test_several_scores_want_a_refit_that_names_one(refit: Any) -> None:
    with pytest.raises(RecipeError, match=r"refit.*'high', 'low'"):
        search(scoring=heights, refit=refit).fit(X, y)


@pytest.mark.parametrize("objectives", [["neither"], ["rising", "neither"], [], [["rising"]], ()])
@pytest.mark.parametrize("scoring", [TWO, both])
def test_objectives_that_are_no_scores_are_refused(objectives: Any, scoring: Any) -> None:
    with pytest.raises(RecipeError, match=r"objectives.*'falling', 'rising'"):
        search(n_iter=7, scoring=scoring, refit="rising", objectives=objectives).fit(X, y)


@pytest.mark.parametrize("error_score", [math.nan, -3.0])
@NOT_FINITE
@SOME_FAIL
def test_where_all_first_candidates_fail_several_scores_are_searched_all_the_same(error_score: float) -> None:
    begun: list[float] = []

    def fails(x: float, X: Array) -> bool:
        begun.append(x)
        return len(begun) <= 2 * INITIAL

    estimator = Curve(fails=fails)
    found = search(UNIT, estimator, n_iter=INITIAL + 4, scoring=both, refit="rising", error_score=error_score)
    trials = found.fit(X, y).result_.trials
    assert [trial.state for trial in trials[:INITIAL]] == [
        "failed" if error_score != -3.0 else "done"
    ] * INITIAL
    if error_score == -3.0:
        assert all(dict(trial.values) == {"rising": -3.0, "falling": -3.0} for trial in trials[:INITIAL])
    assert all(trial.state == "done" for trial in trials[INITIAL:])
    assert len(candidates(found)) == 4


@pytest.mark.parametrize(
    "cv", [ShuffleSplit(2, test_size=0.3), KFold(2, shuffle=True, random_state=np.random.RandomState(0))]
)
def test_a_splitter_that_shuffles_splits_all_candidates_alike(cv: Any) -> None:
    """As RandomizedSearchCV does: what differs between scores is then due to the candidates."""

    def first_row(curve: Curve, X: Array, y: Any) -> float:
        return float(X[0, 0])

    found = search({"x": uniform()}, n_iter=12, cv=cv, scoring=first_row).fit(X, y)
    assert len(np.unique(found.cv_results_["mean_test_score"])) == 1


@NOT_FINITE
def test_candidates_that_fail_do_not_end_the_search_and_keep_their_error() -> None:
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), n_iter=20)
    with pytest.warns(FitFailedWarning, match="no curve"):
        found.fit(X, y)
    trials = found.result_.trials
    assert len(trials) == 20
    assert [trial.state == "failed" for trial in trials] == [trial.params["x"] < 0.4 for trial in trials]
    assert found.best_params_["x"] == pytest.approx(0.4, abs=0.05)
    assert found.best_score_ == found.result_.best.value
    expected = replayed(UNIT, [INITIAL] + [1] * 15, lambda x: None if x < 0.4 else height(x))
    assert [trial.params for trial in trials] == expected
    alone = [trial for trial in trials if trial.state == "failed" and trial.number >= INITIAL]
    assert alone
    assert all(f"no curve at x={trial.params['x']}" in (trial.error or "") for trial in alone)
    assert candidates(found) == [trial.params for trial in trials if trial not in alone]
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [x < 0.4 for x in values(found)]


@NOT_FINITE
@SOME_FAIL
@pytest.mark.parametrize("by_score", [False, True], ids=["fit", "score"])
def test_a_candidate_that_fails_on_one_split_is_a_failed_trial_and_among_the_results(by_score: bool) -> None:
    def broken(curve: Curve, X: Array, y: Any) -> float:
        return math.nan if by_score and curve.x < 0.4 and X[0, 0] == 0 else height(curve.x)

    estimator = Curve(fails=lambda x, X: not by_score and x < 0.4 and X[0, 0] == 6)
    found = search({"x": uniform()}, estimator, n_iter=20, scoring=broken).fit(X, y)
    assert candidates(found) == [trial.params for trial in found.result_.trials]
    fails = [x < 0.4 for x in values(found)]
    assert any(fails[INITIAL:])
    assert np.isnan(found.cv_results_["split0_test_score"]).tolist() == fails
    assert np.isfinite(found.cv_results_["split1_test_score"]).all()
    assert [trial.state == "failed" for trial in found.result_.trials] == fails


@NOT_FINITE
@SOME_FAIL
@pytest.mark.parametrize("objectives", [None, ["high"]])
def test_with_several_scores_too_failed_candidates_are_failed_trials(objectives: Any) -> None:
    chosen = {"n_iter": 12, "scoring": heights, "refit": "high", "objectives": objectives}
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), **chosen).fit(X, y)
    trials = found.result_.trials
    assert [trial.state == "failed" for trial in trials] == [trial.params["x"] < 0.4 for trial in trials]
    name = "high" if objectives is None else "value"
    assert found.best_score_ == max(trial.values[name] for trial in trials if trial.state == "done")
    if objectives is None:
        assert list(found.front_) == [place for place, x in enumerate(values(found)) if x >= 0.4]
        return
    failed = [trial for trial in trials[:INITIAL] if trial.state == "failed"]
    assert failed
    assert all(math.isnan(trial.measurements["low"]) for trial in failed)
    assert all(trial.measurements["fit_seconds"] >= 0.0 for trial in failed)


@SOME_FAIL
def test_the_error_of_the_estimator_is_raised_where_that_is_asked_for() -> None:
    chosen = {"n_iter": 20, "error_score": "raise", "recipe": Recipe(initial=Sobol(1))}
    with pytest.raises(RuntimeError, match="no curve"):
        search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), **chosen).fit(X, y)
    with pytest.raises(ValueError, match=r"no curve at x=0\.5"):  # of a search within the estimator
        search({"x": np.linspace(0, 1, 20)}, Doubtful(), **chosen).fit(X, y)


def test_a_search_whose_candidates_all_fail_ends_as_a_grid_search_does() -> None:
    estimator = Curve(fails=lambda x, X: True)
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        GridSearchCV(estimator, {"x": [1]}, cv=2).fit(X, y)
    found = search({"x": uniform()}, estimator, n_iter=INITIAL + 1)
    with pytest.warns(FitFailedWarning) as warned, pytest.raises(ValueError, match="All the 2 fits failed"):
        found.fit(X, y)
    failed = re.findall(r"All the (\d+) fits failed", " ".join(str(one.message) for one in warned))
    assert failed == ["10", "2"]
    assert len(found.result_.trials) == INITIAL + 1
    with pytest.raises(NoResultError, match="no curve"):
        _ = found.result_.best


@SOME_FAIL
def test_a_score_for_failed_fits_is_the_score_of_every_candidate_that_fails() -> None:
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), n_iter=20, error_score=0.5).fit(X, y)
    trials = found.result_.trials
    assert [t.value for t in trials] == [
        0.5 if t.params["x"] < 0.4 else height(t.params["x"]) for t in trials
    ]
    assert {trial.number < INITIAL for trial in trials if trial.value == 0.5} == {True, False}
    expected = [0.5 if x < 0.4 else height(x) for x in values(found)]
    assert found.cv_results_["mean_test_score"].tolist() == expected


def test_a_clone_and_a_pickled_copy_give_the_same_search() -> None:
    options = [Curve(x=0.1), [8, 8], (8,), "off"]
    for option in options:
        knowledge = [Guesses(near={"x": 0.25, "option": option}), Limits(at_most=2.0)]
        given = search({"x": uniform(), "option": options}, n_iter=2, knowledge=knowledge)
        found = clone(given).fit(X, y)
        assert repr(candidates(found)[0]) == repr({"x": 0.25, "option": option})
        assert candidates(given.fit(X, y))[0]["option"] is option
        for again in (clone(found), pickle.loads(pickle.dumps(given)), clone(clone(found))):
            assert again.get_params(deep=False).keys() == given.get_params(deep=False).keys()
            assert (again.n_iter, again.random_state, repr(again.knowledge)) == (2, 0, repr(knowledge))
            assert repr(candidates(again.fit(X, y))) == repr(candidates(found))
        assert not hasattr(clone(found), "result_")


def test_a_fitted_search_can_be_pickled_and_is_a_step_of_a_pipeline() -> None:
    inner = search({"C": loguniform(0.1, 10)}, SVC())
    pipeline = make_pipeline(StandardScaler(), inner).fit(*IRIS)
    direct = clone(inner).fit(StandardScaler().fit_transform(IRIS[0]), IRIS[1])
    assert candidates(pipeline[-1]) == candidates(direct)
    again = pickle.loads(pickle.dumps(pipeline))
    assert again.predict(IRIS[0]).tolist() == pipeline.predict(IRIS[0]).tolist()
    assert again[-1].result_ == pipeline[-1].result_


def test_a_random_state_is_a_seed_and_a_generator_goes_on() -> None:
    found = search(random_state=np.random.RandomState(7))
    first = values(found.fit(X, y))
    assert first == values(search(random_state=7).fit(X, y))
    assert not {*first[:INITIAL]} & {*values(found.fit(X, y))[:INITIAL]}  # later ones may meet at a bound


def test_params_are_got_and_set_by_name_also_those_of_the_estimator() -> None:
    found = search({"svc__gamma": loguniform(0.1, 1)}, make_pipeline(StandardScaler(), SVC(C=2.0)))
    assert found.get_params()["estimator__svc__C"] == 2.0
    assert found.get_params()["n_iter"] == 8
    space = {"svc__gamma": [0.5, 1.0]}
    guess = Guesses(near={"svc__gamma": 1.0})
    found.set_params(estimator__svc__C=3.0, n_iter=2, param_distributions=space, knowledge=guess)
    found.fit(*IRIS)
    assert found.best_estimator_["svc"].C == 3.0
    assert values(found, "svc__gamma") == [1.0, 0.5]


@pytest.mark.parametrize("kind", ["bopp", "grid", "random"])
def test_an_earlier_search_of_any_kind_is_its_candidates_and_scores(kind: str) -> None:
    options = [[8], None, "a"]
    first: Any = {
        "bopp": search({"x": uniform(), "option": options}),
        "grid": GridSearchCV(Curve(), {"x": [0.2, 0.4, 0.6, 0.8], "option": options}, cv=2),
        "random": RandomizedSearchCV(Curve(), {"x": uniform(), "option": options}, cv=2, random_state=0),
    }[kind].fit(X, y)
    scores = first.cv_results_["mean_test_score"].tolist()
    rows = list(zip(candidates(first), scores, strict=True))
    assert earlier(first, trust=0.6) == Earlier([("maximize", rows)], trust=0.6)
    second = search({"x": uniform(), "option": options}, n_iter=INITIAL + 2, knowledge=earlier(first))
    assert candidates(second.fit(X, y))[0] == first.best_params_
    assert second.best_score_ >= first.best_score_
    first.cv_results_["mean_test_score"][1] = math.nan
    assert earlier(first) == Earlier([("maximize", [rows[0], *rows[2:]])])


def test_an_earlier_search_with_several_scores_counts_by_the_one_that_refit_names() -> None:
    first = search({"x": uniform()}, scoring=heights, refit="low", n_iter=3).fit(X, y)
    ((_, rows),) = earlier(first).studies
    assert [score for _, score in rows] == first.cv_results_["mean_test_low"].tolist()
    first.refit = False
    with pytest.raises(RecipeError, match=r"refit.*False"):
        earlier(first)


def test_what_is_no_fitted_search_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"fitted.*BoppSearchCV"):
        earlier(search())
    with pytest.raises(RecipeError, match="at least one"):
        earlier()
