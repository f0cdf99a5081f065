import math
import os
import pickle
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import SkipTest

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import loguniform, norm, randint, reciprocal, uniform
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import bopp
from bopp import Choice, Float, Int, Recipe, Result
from bopp.bridges.sklearn import BoppSearchCV, earlier
from bopp.data import Array
from bopp.errors import NoResultError, RecipeError, SpaceError
from bopp.initial import Sobol
from bopp.problem import Problem
from bopp.pseudo import Cheap, Earlier, Guesses, Images, Limits, Source
from support import coming, documents

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


def watched(curve: Curve, X: Array, y: Any) -> dict[str, float]:
    """The height, and in which process and between which times it was found."""
    begin = time.time()
    time.sleep(0.3)
    return {"high": height(curve.x), "process": os.getpid(), "begin": begin, "end": time.time()}


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


def outcomes(checked: Any) -> dict[str, str]:
    """What becomes of each of scikit-learn's own checks of an estimator."""
    ends = {}
    for estimator, check in estimator_checks_generator(checked):
        try:
            check(estimator)
            end = "passes"
        except SkipTest:
            end = "is skipped"
        except Exception as error:
            end = f"fails with {type(error).__name__}"
        ends[f"{check.func.__name__} {check.keywords}"] = end
    return ends


@SOME_FAIL
@pytest.mark.parametrize(("estimator", "name"), [(LogisticRegression(), "C"), (Ridge(), "alpha")])
def test_the_checks_of_scikit_learn_end_as_they_do_for_a_grid_search(estimator: Any, name: str) -> None:
    ours = outcomes(search({name: loguniform(0.1, 1)}, estimator, n_iter=4, recipe=Recipe(initial=Sobol(2))))
    assert ours == outcomes(GridSearchCV(estimator, {name: [0.1, 1.0]}, cv=2))
    assert list(ours.values()).count("passes") >= (50 if name == "C" else 45)


@pytest.mark.parametrize(
    ("distribution", "parameter"),
    [
        (uniform(), Float(0, 1)),
        (uniform(2, 3), Float(2, 5)),
        (uniform(loc=-2, scale=1), Float(-2, -1)),
        (uniform(1e-6, 1), Float(1e-6, 1 + 1e-6)),
        (loguniform(1e-4, 10), Float(1e-4, 10, log=True)),
        (loguniform(a=0.1, b=0.2), Float(0.1, 0.2, log=True)),
        (loguniform(1, 10, scale=2), Float(2, 20, log=True)),
        (reciprocal(1e-4, 10), Float(1e-4, 10, log=True)),
        (randint(1, 100), Int(1, 99)),
        (randint(low=-3, high=3), Int(-3, 2)),
        (randint(0, 10, loc=5), Int(5, 14)),
        (randint(0, 2**52), Int(0, 2**52 - 1)),
    ],
)
def test_a_distribution_is_searched_as_the_parameter_of_the_same_range(
    distribution: Any, parameter: Float | Int
) -> None:
    theirs = values(search({"x": distribution}, scoring=steep).fit(X, y))
    assert theirs == values(search({"x": parameter}, scoring=steep).fit(X, y))
    assert all(type(x) is (int if isinstance(parameter, Int) else float) for x in theirs)


@settings(deadline=None, max_examples=25)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(0, 2**32 - 1))
def test_candidates_lie_inside_a_distribution(low: float, width: float, random_state: int) -> None:
    found = search({"x": uniform(low, width)}, n_iter=7, scoring=steep, random_state=random_state).fit(X, y)
    assert all(low <= x <= low + width for x in values(found))


@pytest.mark.parametrize("distribution", [randint(3, 4), Choice([3]), [3], (3,), range(3, 4), np.array([3])])
def test_a_space_of_one_point_is_tried_once(distribution: Any) -> None:
    found = search({"x": distribution}).fit(X, y)
    assert candidates(found) == [{"x": 3}]
    assert found.best_params_ == {"x": 3}


@pytest.mark.parametrize(
    "options",
    [
        ["rbf", "poly", "linear"],
        [3, 1, 2],
        [0.1, 1, 10.0],
        [0.1, "scale", None],
        [None],
        [True, 1, 1.0, "1"],
        [StandardScaler(), MinMaxScaler(), "passthrough"],
        [{"a": 1}, {"a": 2}, {}, None],
        [[1], [1, 2], []],
        [(10,), (10, 10)],
        [math.nan, 0.0],
        (1, 2),
        range(2, 9, 3),
    ],
)
def test_every_value_of_a_list_is_tried_once_and_as_it_is(options: Any) -> None:
    found = search({"option": options}, n_iter=30).fit(X, y)
    assert sorted(map(repr, values(found, "option"))) == sorted(map(repr, options))


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Int(-1, 2), [-1, 0, 1, 2]),
        (Choice(["a", ("b", 1), None]), ["a", ("b", 1), None]),
        (Choice([0.1, 0.2, 0.4], ordered=True), [0.1, 0.2, 0.4]),
    ],
)
def test_every_value_of_a_parameter_is_tried_once(parameter: Any, expected: list[Any]) -> None:
    found = search({"option": parameter}, n_iter=30).fit(X, y)
    assert sorted(map(repr, values(found, "option"))) == sorted(map(repr, expected))


def test_the_values_of_an_array_come_as_plain_numbers_and_words() -> None:
    space = {"x": np.linspace(0, 1, 3), "option": np.array(["a", "b"])}
    found = search(space, n_iter=30).fit(X, y)
    assert sorted((params["x"], params["option"]) for params in candidates(found)) == [
        (x, option) for x in (0.0, 0.5, 1.0) for option in ("a", "b")
    ]
    assert {(type(params["x"]), type(params["option"])) for params in candidates(found)} == {(float, str)}


def test_numbers_in_order_are_searched_as_an_ordered_choice() -> None:
    grid = np.logspace(-2, 0, 40)
    ordered = search({"x": Choice(grid.tolist(), ordered=True)}, n_iter=12).fit(X, y)
    assert values(search({"x": grid}, n_iter=12).fit(X, y)) == values(ordered)


def test_the_estimators_of_a_list_are_handed_on_and_stay_unfitted() -> None:
    models = [SVC(), LogisticRegression(max_iter=1000)]
    pipeline = Pipeline([("scale", StandardScaler()), ("model", models[0])])
    found = search({"model": models, "scale": ["passthrough", StandardScaler()]}, pipeline).fit(*IRIS)
    assert len(candidates(found)) == 4
    assert all(any(params["model"] is model for model in models) for params in candidates(found))
    assert not any(hasattr(model, "classes_") for model in models)
    assert type(found.best_estimator_["model"]) is type(found.best_params_["model"])


@pytest.mark.parametrize(
    "wrong",
    [
        norm(0, 1),
        uniform,
        "abc",
        3,
        None,
        {1, 2},
        np.array(3),
        loguniform(1, 10, -5),
    ],
)
def test_what_is_no_space_is_refused_by_the_name_of_the_parameter(wrong: Any) -> None:
    with pytest.raises(SpaceError, match=r"'option': .*(want|must)"):
        search({"x": uniform(), "option": wrong}).fit(X, y)


@pytest.mark.parametrize("empty", [[], (), range(0), np.array([])])
def test_an_empty_list_is_refused_by_the_name_of_the_parameter(empty: Any) -> None:
    with pytest.raises(SpaceError, match=r"'option': .*at least one option"):
        search({"x": uniform(), "option": empty}).fit(X, y)


@pytest.mark.parametrize(
    "distribution", [loguniform(0, 1), loguniform(2, 1), randint(3, 3), randint(5, 2), uniform(0, -1)]
)
def test_a_distribution_that_holds_no_value_is_refused_by_the_name_of_the_parameter(
    distribution: Any,
) -> None:
    with pytest.raises(SpaceError, match="'option'"):
        search({"x": uniform(), "option": distribution}).fit(X, y)


def test_an_empty_dict_is_refused() -> None:
    with pytest.raises(SpaceError, match="at least one parameter"):
        search({}).fit(X, y)


@pytest.mark.parametrize("space", [[{"x": [1]}, {"x": [2]}], None, [("x", [1])]])
def test_what_is_no_dict_of_names_is_refused(space: Any) -> None:
    with pytest.raises(ValueError, match="'param_distributions' parameter of BoppSearchCV must be"):
        search(space).fit(X, y)


def test_a_name_that_the_estimator_lacks_ends_the_search_as_in_scikit_learn() -> None:
    with pytest.raises(ValueError, match="Invalid parameter 'nothing' for estimator Curve"):
        search({"nothing": uniform()}).fit(X, y)


def test_the_candidates_are_those_of_an_optimizer_that_is_told_the_same() -> None:
    space = {"x": Float(0, 1), "option": Choice(["a", "b", "c"])}
    found = search(space, n_iter=INITIAL + 7).fit(X, y)
    assert candidates(found) == replayed(space, [INITIAL] + [1] * 7)


@pytest.mark.parametrize(
    ("n_jobs", "cv", "asked"),
    [
        (2, 2, [INITIAL, 1, 1, 1, 1]),
        (3, 2, [INITIAL, 2, 2]),
        (4, 2, [INITIAL, 2, 2]),
        (6, 2, [INITIAL, 3, 1]),
    ],
)
def test_as_many_candidates_are_asked_for_at_once_as_keep_every_job_busy(
    n_jobs: int, cv: int, asked: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    with joblib.parallel_config(backend="threading"):
        found = search(n_iter=sum(asked), n_jobs=n_jobs, cv=cv, verbose=1).fit(X, y)
    assert batches(capsys.readouterr().out) == asked
    assert candidates(found) == replayed(UNIT, asked)


def test_several_scores_leave_no_more_jobs_idle_than_one(capsys: pytest.CaptureFixture[str]) -> None:
    with joblib.parallel_config(backend="threading"):
        search(n_iter=INITIAL + 4, n_jobs=4, verbose=1, scoring=heights, refit="high").fit(X, y)
    assert batches(capsys.readouterr().out) == [INITIAL, 2, 2]


def test_the_jobs_of_the_surrounding_configuration_count(capsys: pytest.CaptureFixture[str]) -> None:
    with joblib.parallel_config(backend="threading", n_jobs=4):
        search(n_iter=INITIAL + 4, verbose=1).fit(X, y)
    assert batches(capsys.readouterr().out) == [INITIAL, 2, 2]


def test_the_same_random_state_gives_the_same_search_and_another_one_another() -> None:
    searches = [values(search(random_state=state).fit(X, y)) for state in (7, np.int64(7), 8)]
    assert searches[0] == searches[1]
    assert not set(searches[0][:INITIAL]) & set(searches[2][:INITIAL])  # later ones may meet at a bound


def test_without_a_random_state_every_search_is_another() -> None:
    found = search(random_state=None)
    assert values(found.fit(X, y))[:5] != values(found.fit(X, y))[:5]


def test_a_generator_as_random_state_gives_what_its_next_number_gives() -> None:
    found = search(random_state=np.random.RandomState(0))
    assert values(found.fit(X, y)) == values(search(random_state=0).fit(X, y))
    assert values(found.fit(X, y)) != values(search(random_state=0).fit(X, y))


def test_two_jobs_and_five_splits_give_the_same_search_as_one_job() -> None:
    space = {"C": loguniform(1e-2, 1e2)}
    one, two = (search(space, SVC(), cv=5, n_jobs=n_jobs).fit(*IRIS) for n_jobs in (1, 2))
    assert candidates(one) == candidates(two)
    assert one.cv_results_["mean_test_score"].tolist() == two.cv_results_["mean_test_score"].tolist()


def test_two_jobs_evaluate_at_the_same_time_in_two_processes() -> None:
    found = search(n_iter=INITIAL + 2, n_jobs=2, scoring=watched, refit="high").fit(X, y)
    seen = {
        name: [found.cv_results_[f"split{split}_test_{name}"] for split in (0, 1)]
        for name in ("process", "begin", "end")
    }
    assert os.getpid() not in np.unique(seen["process"])
    assert len(np.unique(seen["process"])) == 2
    overlap = np.minimum(*seen["end"]) - np.maximum(*seen["begin"])
    assert overlap[INITIAL:].max() > 0


def test_one_job_evaluates_in_this_process() -> None:
    found = search(n_iter=1, n_jobs=1, scoring=watched, refit="high").fit(X, y)
    assert found.cv_results_["mean_test_process"].tolist() == [os.getpid()]


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
    ids=[
        "plain",
        "train scores",
        "a score",
        "a function",
        "two scores",
        "two named scores",
        "no refit",
        "refit by a function",
        "a splitter",
        "splits",
        "groups",
        "weights",
        "sparse",
        "frame",
        "lists",
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


def test_the_result_holds_every_candidate_and_its_score() -> None:
    found = search().fit(X, y)
    assert isinstance(found.result_, Result)
    assert found.result_.direction == "maximize"
    assert [trial.params for trial in found.result_.trials] == candidates(found)
    assert [trial.value for trial in found.result_.trials] == found.cv_results_["mean_test_score"].tolist()
    assert found.result_.best.number == found.best_index_
    assert found.result_.best.value == found.best_score_
    assert found.result_.best.params == found.best_params_


def test_the_result_keeps_the_time_of_each_candidate() -> None:
    found = search().fit(X, y)
    seconds = found.cv_results_["mean_fit_time"].tolist()
    assert [trial.measurements for trial in found.result_.trials] == [{"fit_seconds": one} for one in seconds]


def test_the_result_keeps_the_other_scores_of_each_candidate() -> None:
    found = search(n_iter=7, scoring=heights, refit="high", objectives=["high"]).fit(X, y)
    for place, trial in enumerate(found.result_.trials):
        assert trial.values == {"value": found.cv_results_["mean_test_high"][place]}
        assert trial.measurements == {
            "low": found.cv_results_["mean_test_low"][place],
            "fit_seconds": found.cv_results_["mean_fit_time"][place],
        }
    assert Result.from_json(found.result_.to_json()) == found.result_


@pytest.mark.parametrize("refit", ["value", "high"])
def test_a_score_may_have_a_name_of_ours(refit: str) -> None:
    def scores(curve: Curve, X: Array, y: Any) -> dict[str, float]:
        return {"value": -height(curve.x), "fit_seconds": 7.0, "high": height(curve.x)}

    found = search(n_iter=7, scoring=scores, refit=refit, objectives=(refit,)).fit(X, y)
    expected = found.cv_results_[f"mean_test_{refit}"].tolist()
    assert [trial.value for trial in found.result_.trials] == expected
    seconds = [trial.measurements["fit_seconds"] for trial in found.result_.trials]
    assert seconds == found.cv_results_["mean_fit_time"].tolist()


@NOT_FINITE
@SOME_FAIL
def test_a_candidate_that_fails_beside_others_keeps_its_measurements() -> None:
    chosen = {"n_iter": INITIAL, "scoring": heights, "refit": "high", "objectives": ["high"]}
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), **chosen).fit(X, y)
    failed = [trial for trial in found.result_.trials if trial.state == "failed"]
    assert failed
    assert all(math.isnan(trial.measurements["low"]) for trial in failed)
    assert all(trial.measurements["fit_seconds"] >= 0.0 for trial in failed)


def test_a_second_fit_begins_anew() -> None:
    found = search(n_iter=3).fit(X, y)
    first = found.result_
    assert len(found.fit(X, y).result_.trials) == 3
    assert [trial.params for trial in found.result_.trials] == [trial.params for trial in first.trials]


@pytest.mark.parametrize(("refit", "sign"), [("high", 1), ("low", -1)])
def test_of_several_scores_one_may_be_searched_for_alone(refit: str, sign: int) -> None:
    found = search(n_iter=12, scoring=heights, refit=refit, objectives=[refit]).fit(X, y)
    assert list(found.front_) == [found.best_index_]
    assert candidates(found) == replayed(UNIT, [INITIAL] + [1] * 7, lambda x: sign * height(x))
    assert found.result_.best.value == found.best_score_
    assert found.best_params_["x"] == pytest.approx(0.3 if refit == "high" else 1.0, abs=0.05)


def test_of_several_scores_one_may_be_called_score() -> None:
    def scores(curve: Curve, X: Array, y: Any) -> dict[str, float]:
        return {"score": -height(curve.x), "high": height(curve.x)}

    found = search(n_iter=12, scoring=scores, refit="high", objectives=["high"]).fit(X, y)
    assert found.result_.best.value == found.best_score_


def rising(curve: Curve, X: Array, y: Any) -> float:
    return curve.x


def falling(curve: Curve, X: Array, y: Any) -> float:
    return -((curve.x - 0.5) ** 2)


def both(curve: Curve, X: Array, y: Any) -> dict[str, float]:
    """Better and better from 0.5 to 1 by one score, worse and worse by the other."""
    return {"falling": falling(curve, X, y), "rising": rising(curve, X, y)}


TWO = {"falling": falling, "rising": rising}


@pytest.mark.parametrize("refit", ["rising", "falling"])
def test_several_scores_are_several_objectives(refit: str) -> None:
    """That of refit is the first."""
    found = search(n_iter=10, scoring=TWO, refit=refit).fit(X, y)
    names = [refit, *(name for name in TWO if name != refit)]
    optimizer = bopp.Optimizer(Problem(UNIT, dict.fromkeys(names, "maximize")), seed=seed_of(0))
    for count in [INITIAL] + [1] * 5:
        for trial in optimizer.ask(count):
            curve = Curve(trial.params["x"])
            optimizer.tell(trial, {"falling": falling(curve, X, y), "rising": rising(curve, X, y)})
    assert candidates(found) == [trial.params for trial in optimizer.trials]
    assert [dict(trial.values) for trial in found.result_.trials] == [
        dict(trial.values) for trial in optimizer.trials
    ]
    assert list(found.front_) == [trial.number for trial in found.result_.problem.front(optimizer.trials)]
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
    with pytest.raises(
        RecipeError, match=r"refit must name one of \['high', 'low'\], be a function or False, got "
    ):
        search(scoring=heights, refit=refit).fit(X, y)


@pytest.mark.parametrize("objectives", [["neither"], ["rising", "neither"], [], [["rising"]], ()])
@pytest.mark.parametrize("scoring", [TWO, both])
def test_objectives_that_are_no_scores_are_refused(objectives: Any, scoring: Any) -> None:
    words = r"objectives: wanted some of the scores \['falling', 'rising'\], got "
    with pytest.raises(RecipeError, match=words):
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


def test_a_function_as_refit_chooses_among_all_candidates() -> None:
    found = search(refit=lambda results: int(np.argmin(results["mean_test_score"]))).fit(X, y)
    assert found.best_params_["x"] == max(values(found), key=lambda x: abs(x - 0.3))
    assert found.best_estimator_.x == found.best_params_["x"]


def test_without_refit_there_are_the_best_params_but_no_estimator() -> None:
    found = search(refit=False).fit(X, y)
    assert found.best_score_ == found.result_.best.value
    assert not hasattr(found, "best_estimator_")
    with pytest.raises(AttributeError):
        found.predict(X)


def test_the_estimator_is_fitted_anew_with_the_best_params_and_predicts() -> None:
    found = search(n_iter=15).fit(X, y)
    assert found.best_params_["x"] == pytest.approx(0.3, abs=0.02)
    assert found.predict(X).tolist() == [found.best_params_["x"]] * len(X)
    assert found.score(X, y) == height(found.best_params_["x"])


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
def test_candidates_that_fail_do_not_end_the_search() -> None:
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), n_iter=20)
    with pytest.warns(FitFailedWarning, match="no curve at x="):
        found.fit(X, y)
    trials = found.result_.trials
    assert len(trials) == 20
    assert [trial.state == "failed" for trial in trials] == [trial.params["x"] < 0.4 for trial in trials]
    assert {trial.state for trial in trials} == {"done", "failed"}
    assert found.best_params_["x"] == pytest.approx(0.4, abs=0.05)
    assert found.best_score_ == found.result_.best.value
    assert [trial.params for trial in trials] == replayed(
        UNIT, [INITIAL] + [1] * 15, lambda x: None if x < 0.4 else height(x)
    )


@NOT_FINITE
@SOME_FAIL
def test_a_candidate_all_of_whose_fits_fail_keeps_the_error_and_its_place_in_the_result() -> None:
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), n_iter=20).fit(X, y)
    alone = [t for t in found.result_.trials if t.state == "failed" and t.number >= INITIAL]
    assert alone
    assert all(f"no curve at x={trial.params['x']}" in (trial.error or "") for trial in alone)
    kept = [t.params for t in found.result_.trials if t not in alone]
    assert candidates(found) == kept
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [x < 0.4 for x in values(found)]


@NOT_FINITE
@SOME_FAIL
def test_the_search_keeps_away_from_where_candidates_fail() -> None:
    """Failures take two fifths of the space; the best of what remains is in the other half."""
    estimator = Curve(fails=lambda x, X: x > 0.6)
    failed = 0
    for random_state in range(3):
        found = search({"x": uniform()}, estimator, n_iter=20, random_state=random_state).fit(X, y)
        failed += sum(trial.state == "failed" for trial in found.result_.trials[INITIAL:])
    assert failed <= 0.1 * 3 * 15


@NOT_FINITE
@SOME_FAIL
def test_a_search_whose_first_candidates_all_fail_goes_on() -> None:
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.97), n_iter=60).fit(X, y)
    assert all(trial.state == "failed" for trial in found.result_.trials[:INITIAL])
    assert found.best_params_["x"] >= 0.97
    assert len(found.result_.trials) == 60


@NOT_FINITE
def test_a_candidate_that_fails_on_one_split_is_a_failed_trial_and_among_the_results() -> None:
    estimator = Curve(fails=lambda x, X: x < 0.4 and X[0, 0] == 6)
    found = search({"x": uniform()}, estimator, n_iter=20)
    with pytest.warns(FitFailedWarning) as warned:
        found.fit(X, y)
    assert any("1 fits failed out of a total of 2." in str(one.message) for one in warned)
    assert candidates(found) == [trial.params for trial in found.result_.trials]
    fails = [x < 0.4 for x in values(found)]
    assert any(fails[INITIAL:])
    assert np.isnan(found.cv_results_["split0_test_score"]).tolist() == fails
    assert np.isfinite(found.cv_results_["split1_test_score"]).all()
    assert [trial.state == "failed" for trial in found.result_.trials] == fails


@NOT_FINITE
@SOME_FAIL
def test_with_several_scores_too_failed_candidates_are_failed_trials() -> None:
    estimator = Curve(fails=lambda x, X: x < 0.4)
    found = search({"x": uniform()}, estimator, n_iter=20, scoring=heights, refit="high").fit(X, y)
    assert [t.state == "failed" for t in found.result_.trials] == [
        t.params["x"] < 0.4 for t in found.result_.trials
    ]
    done = [trial.values["high"] for trial in found.result_.trials if trial.state == "done"]
    assert found.best_score_ == max(done)
    assert list(found.front_) == [place for place, x in enumerate(values(found)) if x >= 0.4]


def test_a_score_that_is_not_finite_is_a_failed_trial() -> None:
    def broken(curve: Curve, X: Array, y: Any) -> float:
        return math.nan if curve.x < 0.4 else height(curve.x)

    found = search({"x": uniform()}, n_iter=10, scoring=broken)
    with pytest.warns(UserWarning, match="test scores are non-finite"):
        found.fit(X, y)
    assert [t.state == "failed" for t in found.result_.trials] == [x < 0.4 for x in values(found)]


def test_the_error_of_the_estimator_is_raised_where_that_is_asked_for() -> None:
    estimator = Curve(fails=lambda x, X: x < 0.4)
    with pytest.raises(RuntimeError, match=r"^no curve at x=0\.\d+$"):
        search({"x": uniform()}, estimator, n_iter=20, error_score="raise").fit(X, y)


@SOME_FAIL
def test_the_error_of_a_search_within_the_estimator_is_raised_where_that_is_asked_for() -> None:
    found = search(
        {"x": np.linspace(0, 1, 20)},
        Doubtful(),
        n_iter=20,
        error_score="raise",
        recipe=Recipe(initial=Sobol(1)),
    )
    with pytest.raises(ValueError, match=r"no curve at x=0\.5"):
        found.fit(X, y)


def test_a_search_whose_candidates_all_fail_ends_as_a_grid_search_does() -> None:
    estimator = Curve(fails=lambda x, X: True)
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        GridSearchCV(estimator, {"x": [1]}, cv=2).fit(X, y)
    found = search({"x": uniform()}, estimator, n_iter=INITIAL + 1)
    with (
        pytest.warns(FitFailedWarning) as warned,
        pytest.raises(ValueError, match=r"All the 2 fits failed(.|\n)*no curve at x="),
    ):
        found.fit(X, y)
    assert re.findall("All the .* fits failed", " ".join(str(one.message) for one in warned)) == [
        "All the 10 fits failed",
        "All the 2 fits failed",
    ]
    assert len(found.result_.trials) == INITIAL + 1
    with pytest.raises(NoResultError, match="no curve at x="):
        _ = found.result_.best


@SOME_FAIL
def test_a_score_for_failed_fits_is_their_score_where_others_are_evaluated_with_them() -> None:
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), n_iter=INITIAL, error_score=0).fit(
        X, y
    )
    assert found.cv_results_["mean_test_score"].tolist() == [
        0 if x < 0.4 else height(x) for x in values(found)
    ]
    assert 0 in found.cv_results_["mean_test_score"]


@SOME_FAIL
def test_a_score_for_failed_fits_is_the_score_of_every_candidate_that_fails() -> None:
    found = search({"x": uniform()}, Curve(fails=lambda x, X: x < 0.4), n_iter=20, error_score=0.5).fit(X, y)
    assert [trial.value for trial in found.result_.trials] == [
        0.5 if trial.params["x"] < 0.4 else height(trial.params["x"]) for trial in found.result_.trials
    ]


@pytest.mark.parametrize("n_iter", [5, 6, 7, 100])
def test_a_finite_space_is_tried_once_and_no_more(n_iter: int) -> None:
    found = search({"x": [0.1, 0.5], "option": ["a", "b", "c"]}, n_iter=n_iter).fit(X, y)
    points = [tuple(params.values()) for params in candidates(found)]
    assert len(points) == len(set(points)) == min(n_iter, 6)


@pytest.mark.parametrize("n_iter", [1, np.int64(4), INITIAL, INITIAL + 1])
def test_there_are_as_many_candidates_as_wanted(n_iter: int) -> None:
    assert len(candidates(search(n_iter=n_iter).fit(X, y))) == n_iter


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"n_iter": 0}, "n_iter must be an integer >= 1, got 0"),
        ({"n_iter": -1}, "n_iter must be an integer >= 1, got -1"),
        ({"n_iter": 2.0}, "'n_iter' parameter of BoppSearchCV must be .*int.* Got 2.0"),
        ({"n_iter": None}, "'n_iter' parameter of BoppSearchCV must be .*int.* Got None"),
        ({"random_state": "a"}, "'random_state' parameter of BoppSearchCV must be .* Got 'a'"),
        ({"recipe": "random"}, "'recipe' parameter of BoppSearchCV must be .*Recipe.* Got 'random'"),
        ({"recipe": Recipe}, "'recipe' parameter of BoppSearchCV must be .*Recipe.* Got <class"),
        ({"error_score": "never"}, "'error_score' parameter of BoppSearchCV must be "),
    ],
)
def test_a_wrong_setting_is_refused_by_name(changed: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        search(**changed).fit(X, y)


def test_the_random_recipe_evaluates_everything_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = search(recipe=Recipe.random(), n_iter=12, verbose=1).fit(X, y)
    assert batches(capsys.readouterr().out) == [12]
    assert candidates(found) == replayed(UNIT, [12], recipe=Recipe.random())


def test_a_recipe_is_followed(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = Recipe(initial=Sobol(2), acquisition=bopp.acquisition.UCB(9.0))
    found = search(recipe=recipe, verbose=1).fit(X, y)
    assert batches(capsys.readouterr().out) == [2] + [1] * 6
    assert candidates(found) == replayed(UNIT, [2] + [1] * 6, recipe=recipe)
    assert candidates(found) != replayed(UNIT, [2] + [1] * 6)


def test_a_clone_has_the_settings_and_gives_the_same_search() -> None:
    found = search({"x": uniform()}, recipe=Recipe(initial=Sobol(3)), n_iter=6).fit(X, y)
    again = clone(found)
    assert not hasattr(again, "result_")
    assert again.get_params(deep=False).keys() == found.get_params(deep=False).keys()
    assert (again.n_iter, again.recipe, again.random_state) == (6, Recipe(initial=Sobol(3)), 0)
    assert candidates(again.fit(X, y)) == candidates(found)


def test_params_are_got_and_set_by_name_also_those_of_the_estimator() -> None:
    found = search({"gamma": loguniform(0.1, 1)}, SVC(C=2.0))
    assert found.get_params()["estimator__C"] == 2.0
    assert found.get_params()["n_iter"] == 8
    found.set_params(estimator__C=3.0, n_iter=2, param_distributions={"gamma": [0.5, 1.0]})
    found.fit(*IRIS)
    assert found.best_estimator_.C == 3.0
    assert sorted(values(found, "gamma")) == [0.5, 1.0]


def test_every_setting_is_kept_as_it_was_given() -> None:
    chosen: dict[str, Any] = {
        "estimator": Curve(),
        "param_distributions": UNIT,
        "n_iter": 3,
        "scoring": steep,
        "n_jobs": 2,
        "refit": False,
        "cv": 4,
        "verbose": 1,
        "pre_dispatch": 7,
        "random_state": 5,
        "recipe": Recipe.random(),
        "knowledge": [Limits(at_most=1.0)],
        "objectives": ["score"],
        "error_score": 0,
        "return_train_score": True,
    }
    kept = BoppSearchCV(**chosen).get_params(deep=False)
    assert kept.keys() == chosen.keys()
    assert all(kept[name] is chosen[name] for name in chosen)


def test_an_unfitted_search_can_be_pickled() -> None:
    found = search({"x": uniform(), "option": ["a", {}]}, recipe=Recipe.paper("ei"))
    again = pickle.loads(pickle.dumps(found))
    assert candidates(again.fit(X, y)) == candidates(found.fit(X, y))


def test_a_fitted_search_can_be_pickled(tmp_path: Path) -> None:
    found = search({"C": loguniform(0.1, 10)}, SVC()).fit(*IRIS)
    joblib.dump(found, tmp_path / "search")
    for again in (pickle.loads(pickle.dumps(found)), joblib.load(tmp_path / "search")):
        assert again.predict(IRIS[0]).tolist() == found.predict(IRIS[0]).tolist()
        assert again.result_ == found.result_
        assert candidates(again) == candidates(found)


def test_before_the_fit_nothing_is_predicted() -> None:
    with pytest.raises(NotFittedError):
        search({"C": loguniform(0.1, 10)}, SVC()).predict(IRIS[0])


def test_a_search_is_a_step_of_a_pipeline() -> None:
    inner = search({"C": loguniform(0.1, 10)}, SVC())
    pipeline = make_pipeline(StandardScaler(), inner).fit(*IRIS)
    direct = clone(inner).fit(StandardScaler().fit_transform(IRIS[0]), IRIS[1])
    assert pipeline[-1].best_params_ == direct.best_params_
    assert pipeline.score(*IRIS) > 0.9


def test_a_search_is_cross_validated_as_a_whole() -> None:
    found = search({"C": loguniform(0.1, 10)}, SVC(), n_iter=6)
    splits = list(StratifiedKFold(3).split(*IRIS))
    by_hand = []
    for train, test in splits:
        fitted = clone(found).fit(IRIS[0][train], IRIS[1][train])
        by_hand.append(fitted.score(IRIS[0][test], IRIS[1][test]))
    assert cross_val_score(found, *IRIS, cv=splits).tolist() == by_hand


def test_the_parameters_of_the_steps_of_a_pipeline_are_searched() -> None:
    space = {"svc__C": loguniform(0.1, 10), "svc__kernel": ["rbf", "linear"]}
    found = search(space, make_pipeline(StandardScaler(), SVC())).fit(*IRIS)
    assert found.best_params_ == {
        "svc__C": found.best_estimator_["svc"].C,
        "svc__kernel": found.best_estimator_["svc"].kernel,
    }
    assert found.best_score_ > 0.9


@pytest.mark.parametrize("random_state", [0, 1, 2])
def test_wine_is_told_apart_no_worse_than_by_a_random_search(random_state: int) -> None:
    wine = load_wine(return_X_y=True)
    space = {"svc__C": loguniform(1e-3, 1e3), "svc__gamma": loguniform(1e-5, 10)}
    ours, theirs = (
        kind(make_pipeline(StandardScaler(), SVC()), space, n_iter=20, random_state=random_state).fit(*wine)
        for kind in (BoppSearchCV, RandomizedSearchCV)
    )
    assert ours.best_score_ > theirs.best_score_ - 3.5 / len(wine[1])  # but for three wines of 178


KNOWLEDGE: dict[str, tuple[Source, ...]] = {
    "images": (Images(mirror={"x": 0.4}),),
    "guesses": (Guesses(near={"x": 0.6}, good={"option": ["b", "c"]}),),
    "values": (Guesses(values=[({"x": 0.6}, 1.0, 0.1)]),),
    "cheap": (Cheap(lambda x, option: height(x) + (option == "b"), points=12),),
    "earlier": (Earlier([("maximize", [({"x": x}, -((x - 0.5) ** 2)) for x in (0.1, 0.4, 0.6, 0.9)])]),),
    "limits": (Limits(at_most=1.0),),
}


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_with_knowledge_the_candidates_are_those_of_an_optimizer_that_knows_the_same(name: str) -> None:
    space = {"x": Float(0, 1), "option": Choice(["a", "b", "c"])}
    found = search({"x": uniform(), "option": ["a", "b", "c"]}, n_iter=INITIAL + 4, knowledge=KNOWLEDGE[name])
    optimizer = bopp.Optimizer(space, "maximize", seed_of(0), knowledge=KNOWLEDGE[name])
    for count in [INITIAL] + [1] * 4:
        for trial in optimizer.ask(count):
            optimizer.tell(trial, height(trial.params["x"]))
    assert candidates(found.fit(X, y)) == [trial.params for trial in optimizer.trials]


def test_knowledge_is_in_values_of_the_lists() -> None:
    options = [Curve(), [8, 8], (8,), "off"]
    space = {"x": uniform(), "option": options}
    for option in options:
        found = search(space, n_iter=2, knowledge=Guesses(near={"x": 0.25, "option": option})).fit(X, y)
        assert candidates(found)[0] == {"x": 0.25, "option": option}
        assert candidates(found)[0]["option"] is option


def test_a_clone_has_the_same_knowledge() -> None:
    curve = Curve(x=0.1)
    guesses = Guesses(near={"x": 0.25, "option": curve})
    found = search({"x": uniform(), "option": ["off", curve]}, knowledge=[guesses, Limits(at_most=2.0)])
    for again in (clone(found), pickle.loads(pickle.dumps(found)), clone(clone(found))):
        assert [type(source) for source in again.knowledge] == [Guesses, Limits]
        tried = candidates(again.fit(X, y))
        assert values(again) == values(found.fit(X, y))
        assert repr(tried[0]) == repr({"x": 0.25, "option": curve})
    assert clone(search()).knowledge == ()


def test_knowledge_can_be_set_by_name() -> None:
    found = search(UNIT, n_iter=1).set_params(knowledge=Guesses(near={"x": 0.25}))
    assert values(found.fit(X, y)) == [0.25]
    assert found.get_params()["knowledge"] == Guesses(near={"x": 0.25})


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        ("near", "'knowledge' parameter of BoppSearchCV must be"),
        ([1], "knowledge: wanted policies such as .*, got 1"),
        (Guesses, "knowledge: wanted policies such as .*, got <class"),
        (Guesses(near={"y": 1}), r"wanted some of the params \['x'\], got \['y'\]"),
        (Guesses(near={"x": 2}), "'x': wanted"),
    ],
)
def test_knowledge_that_does_not_fit_is_refused_before_anything_is_fitted(knowledge: Any, words: str) -> None:
    def never(x: float, X: Array) -> bool:
        pytest.fail("nothing should be fitted")

    with pytest.raises(ValueError, match=words):
        search(UNIT, Curve(fails=never), knowledge=knowledge).fit(X, y)


def test_knowledge_of_one_score_is_refused_beside_several_before_anything_is_fitted() -> None:
    def never(x: float, X: Array) -> bool:
        pytest.fail("nothing should be fitted")

    estimator = Curve(fails=never)
    several = search(UNIT, estimator, scoring=TWO, refit="rising", knowledge=Guesses(near={"x": 0.5}))
    with pytest.raises(RecipeError, match=r"several objectives, \['rising', 'falling'\].* got Guesses"):
        several.fit(X, y)


def test_beside_several_scores_knowledge_of_the_one_that_is_searched_for_is_taken() -> None:
    found = search(scoring=TWO, refit="rising", knowledge=Guesses(near={"x": 0.75}), objectives=["rising"])
    assert values(found.fit(X, y))[0] == 0.75


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


def test_a_result_is_an_earlier_search_where_options_are_plain() -> None:
    first = search({"x": uniform(), "option": ["a", "b"]}).fit(X, y)
    assert Earlier(first.result_) == earlier(first)


def test_an_earlier_search_leaves_out_what_failed() -> None:
    first = search({"x": uniform()}, scoring=steep, n_iter=4).fit(X, y)
    first.cv_results_["mean_test_score"][1] = math.nan
    ((_, rows),) = earlier(first).studies
    assert [dict(params)["x"] for params, _ in rows] == [values(first)[place] for place in (0, 2, 3)]


def test_an_earlier_search_with_several_scores_counts_by_the_one_that_refit_names() -> None:
    first = search({"x": uniform()}, scoring=heights, refit="low", n_iter=3).fit(X, y)
    ((_, rows),) = earlier(first).studies
    assert [score for _, score in rows] == first.cv_results_["mean_test_low"].tolist()
    first.refit = False
    with pytest.raises(RecipeError, match=r"wanted a refit that names one of the scores .*, got False"):
        earlier(first)


def test_what_is_no_fitted_search_is_refused() -> None:
    with pytest.raises(RecipeError, match="earlier: wanted searches that were fitted, got BoppSearchCV"):
        earlier(search())
    with pytest.raises(RecipeError, match="wanted at least one"):
        earlier()


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    documents.run("docs/bridges/sklearn.md")
    assert len(documents.blocks("docs/bridges/sklearn.md")) >= 3


@pytest.mark.parametrize("library", ["scikit-optimize", "bayes_opt"])
def test_who_comes_from_another_library_finds_as_good_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert max(coming.errors(library)) < coming.GOOD
