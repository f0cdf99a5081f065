"""Tuning: models of scikit-learn on its own data sets, with logarithmic, integer, named and conditional
parameters, as people tune them.

A value is the loss on unseen rows, averaged over three folds that are always the same, as its logarithm,
since a factor in the loss is what people compare. For a classifier the loss is the logarithmic one, with
probabilities kept between 0.001 and 0.999: else a forest or a neighbourhood that rules out the right class of
a single row would be worth nothing. For a regression it is the squared error as a share of the variance. A
model that raises, or whose loss is not finite, has crashed.

The length of this file is that of a list: each function builds the estimator of the space below it.
Parameters bear the names of scikit-learn where it has them. It is imported when a model is built, so that the
tasks are quick to list.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from bopp import Choice, Float, Int, Parameter
from contest.task import Measured, Params, Task

Array = npt.NDArray[Any]
Data = tuple[Array, Array]
Space = Mapping[str, Parameter]

FOLDS = 3
ROWS = 400  # of the digits, of which there are 1797
SMALLEST = 1e-3  # probability that a class gets
SEEDS = {"choosing": (1,), "table": (1, 2)}
REGRESSIONS = ("diabetes",)


@dataclass(frozen=True, eq=False)
class Model:
    """Something to tune: the parameters, and the estimator that they make."""

    space: Space
    build: Callable[[Params], Any]


def tasks(part: str) -> list[Task]:
    """The tasks to choose settings on, or those of the table."""
    return [_task(model, data, seed) for model, data in TASKS[part] for seed in SEEDS[part]]


@dataclass(frozen=True)
class Evaluate:
    """The logarithm of the loss of a model on unseen rows of the data."""

    model: str
    data: str

    def __call__(self, params: Params, number: int) -> Measured:
        loss = mean_squared_share if self.data in REGRESSIONS else log_loss
        try:
            with warnings.catch_warnings(), threadpool_limits(1):
                for category in (RuntimeWarning, UserWarning):  # overflow; no convergence, constant features
                    warnings.simplefilter("ignore", category)
                losses = [
                    loss(MODELS[self.model].build(params), train, unseen)
                    for train, unseen in folds(self.data)
                ]
            value = math.log10(float(np.mean(losses)))
        except (ValueError, ArithmeticError):
            return Measured(None, math.inf)
        return Measured(value, value) if math.isfinite(value) else Measured(None, math.inf)


def log_loss(classifier: Any, train: Data, unseen: Data) -> float:
    """The mean logarithm of the probability that was given to the right class, with the sign turned."""
    shares = classifier.fit(*train).predict_proba(unseen[0])
    right = shares[np.arange(len(unseen[1])), unseen[1]]
    return float(-np.mean(np.log(np.clip(right, SMALLEST, 1.0 - SMALLEST))))


def mean_squared_share(regressor: Any, train: Data, unseen: Data) -> float:
    """The mean squared error, as a share of the variance of the unseen rows."""
    errors = regressor.fit(*train).predict(unseen[0]) - unseen[1]
    return float(np.mean(errors**2) / np.var(unseen[1]))


@cache
def folds(data: str) -> list[tuple[Data, Data]]:
    """Rows to train on and unseen rows, three times."""
    from sklearn.model_selection import KFold, StratifiedKFold

    X, y = rows(data)
    split = KFold if data in REGRESSIONS else StratifiedKFold
    pairs = split(FOLDS, shuffle=True, random_state=0).split(X, y)
    return [((X[train], y[train]), (X[unseen], y[unseen])) for train, unseen in pairs]


def rows(data: str) -> Data:
    """Inputs and targets; classes are numbered from zero."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    if len(y) > 1000:
        X, _, y, _ = train_test_split(X, y, train_size=ROWS, stratify=y, random_state=0)
    return X, y


def scaled(estimator: Any, scaler: str = "standard") -> Any:
    """The estimator behind a scaler."""
    from sklearn import preprocessing
    from sklearn.pipeline import make_pipeline

    scalers = {
        "none": "passthrough",
        "standard": preprocessing.StandardScaler(),
        "range": preprocessing.MinMaxScaler(),
        "quantile": preprocessing.QuantileTransformer(n_quantiles=50),
    }
    return make_pipeline(scalers[scaler], estimator)


def sure(classifier: Any) -> Any:
    """A classifier that has only scores, with probabilities."""
    from sklearn.calibration import CalibratedClassifierCV

    return CalibratedClassifierCV(classifier, ensemble=False, cv=2)


def svm(params: Params) -> Any:
    from sklearn.svm import SVC

    return scaled(sure(SVC(**params, max_iter=2000)))


SVM: Space = {
    "C": Float(1e-3, 1e3, log=True),
    "kernel": Choice(["linear", "rbf", "poly", "sigmoid"]),
    "gamma": Float(1e-5, 10.0, log=True, when={"kernel": ["rbf", "poly", "sigmoid"]}),
    "degree": Int(2, 5, when={"kernel": ["poly"]}),
    "coef0": Float(-1.0, 1.0, when={"kernel": ["poly", "sigmoid"]}),
}


def pca_svm(params: Params) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    pca = PCA(params["components"], whiten=params["whiten"], random_state=0)
    machine = SVC(C=params["C"], gamma=params["gamma"], max_iter=2000)
    return scaled(make_pipeline(pca, sure(machine)), params["scaler"])


PCA_SVM: Space = {
    "scaler": Choice(["none", "standard", "range", "quantile"]),
    "components": Int(1, 30, log=True),
    "whiten": Choice([False, True]),
    "C": Float(1e-3, 1e3, log=True),
    "gamma": Float(1e-7, 10.0, log=True),
}


def boosting(params: Params) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(**params, random_state=0)


BOOSTING: Space = {
    "n_estimators": Int(5, 40, log=True),
    "learning_rate": Float(1e-3, 1.0, log=True),
    "max_depth": Int(1, 6),
    "min_samples_leaf": Int(1, 50, log=True),
    "subsample": Float(0.2, 1.0),
    "max_features": Float(0.05, 0.5),
}


def histograms(params: Params) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(**params, early_stopping=False, random_state=0)


HISTOGRAMS: Space = {
    "max_iter": Int(5, 80, log=True),
    "learning_rate": Float(1e-3, 1.0, log=True),
    "max_leaf_nodes": Int(2, 16, log=True),
    "min_samples_leaf": Int(2, 60, log=True),
    "l2_regularization": Float(1e-4, 1e3, log=True),
    "max_bins": Choice([8, 16, 32, 64, 128, 255], ordered=True),
}


def forest(params: Params) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**params, random_state=0)


def extra_trees(params: Params) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(**params, random_state=0)


TREES: Space = {
    "n_estimators": Int(2, 30, log=True),
    "criterion": Choice(["gini", "entropy"]),
    "max_depth": Int(1, 16, log=True),
    "max_features": Float(0.02, 1.0, log=True),
    "min_samples_leaf": Int(1, 20, log=True),
    "bootstrap": Choice([False, True]),
    "max_samples": Float(0.1, 1.0, when={"bootstrap": [True]}),
}


def network(params: Params) -> Any:
    from sklearn.neural_network import MLPClassifier

    names = ("width", "width_2", "width_3")
    shape = tuple(params[name] for name in names if name in params)
    rest = {name: value for name, value in params.items() if name not in (*names, "layers")}
    return scaled(MLPClassifier(shape, **rest, max_iter=12, random_state=0))


NETWORK: Space = {
    "layers": Int(1, 3),
    "width": Int(4, 64, log=True),
    "width_2": Int(4, 64, log=True, when={"layers": [2, 3]}),
    "width_3": Int(4, 64, log=True, when={"layers": [3]}),
    "activation": Choice(["relu", "tanh", "logistic"]),
    "alpha": Float(1e-6, 10.0, log=True),
    "solver": Choice(["adam", "sgd"]),
    "learning_rate_init": Float(1e-4, 1.0, log=True),
    "momentum": Float(0.0, 0.99, when={"solver": ["sgd"]}),
    "batch_size": Choice([16, 32, 64, 128], ordered=True),
}


def neighbours(params: Params) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    rest = {name: value for name, value in params.items() if name != "scaler"}
    return scaled(KNeighborsClassifier(**rest), params["scaler"])


NEIGHBOURS: Space = {
    "scaler": Choice(["none", "standard", "range", "quantile"]),
    "n_neighbors": Int(1, 100, log=True),
    "weights": Choice(["uniform", "distance"]),
    "metric": Choice(["minkowski", "chebyshev", "cosine", "canberra"]),
    "p": Float(1.0, 6.0, when={"metric": ["minkowski"]}),
}


def elastic_net(params: Params) -> Any:
    from sklearn.linear_model import ElasticNet
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    powers = PolynomialFeatures(params["degree"], interaction_only=params.get("interaction_only", False))
    net = ElasticNet(alpha=params["alpha"], l1_ratio=params["l1_ratio"], max_iter=300)
    return make_pipeline(StandardScaler(), powers, StandardScaler(), net)


ELASTIC_NET: Space = {
    "alpha": Float(1e-4, 1e3, log=True),
    "l1_ratio": Float(0.0, 1.0),
    "degree": Int(1, 3),
    "interaction_only": Choice([False, True], when={"degree": [2, 3]}),
}


def descent(params: Params) -> Any:
    from sklearn.linear_model import SGDClassifier

    settings = params | ({"penalty": None} if params["penalty"] == "none" else {})
    return scaled(SGDClassifier(loss="log_loss", **settings, max_iter=20, tol=None, random_state=0))


DESCENT: Space = {
    "penalty": Choice(["none", "l1", "l2", "elasticnet"]),
    "alpha": Float(1e-6, 1.0, log=True, when={"penalty": ["l1", "l2", "elasticnet"]}),
    "l1_ratio": Float(0.0, 1.0, when={"penalty": ["elasticnet"]}),
    "learning_rate": Choice(["constant", "invscaling", "adaptive"]),
    "eta0": Float(1e-5, 10.0, log=True),
    "power_t": Float(0.0, 1.0, when={"learning_rate": ["invscaling"]}),
    "average": Choice([False, True]),
}


def kernel_ridge(params: Params) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.preprocessing import StandardScaler

    return scaled(TransformedTargetRegressor(KernelRidge(**params), transformer=StandardScaler()))


KERNEL_RIDGE: Space = {
    "kernel": Choice(["rbf", "laplacian", "polynomial"]),
    "alpha": Float(1e-4, 1e3, log=True),
    "gamma": Float(1e-5, 10.0, log=True),
    "degree": Int(1, 5, when={"kernel": ["polynomial"]}),
    "coef0": Float(0.0, 3.0, when={"kernel": ["polynomial"]}),
}


def support_regression(params: Params) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    machine = SVR(**params, max_iter=5000)
    return scaled(TransformedTargetRegressor(machine, transformer=StandardScaler()))


SUPPORT_REGRESSION: Space = {
    "C": Float(1e-3, 1e3, log=True),
    "epsilon": Float(1e-3, 2.0, log=True),
    "gamma": Float(1e-5, 10.0, log=True),
}


def landmarks(params: Params) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    settings = {name: value for name, value in params.items() if name != "C"}
    return scaled(
        make_pipeline(Nystroem(**settings, random_state=0), LogisticRegression(C=params["C"], max_iter=30))
    )


LANDMARKS: Space = {
    "kernel": Choice(["rbf", "laplacian", "polynomial", "cosine"]),
    "gamma": Float(1e-5, 1.0, log=True, when={"kernel": ["rbf", "laplacian", "polynomial"]}),
    "degree": Int(2, 5, when={"kernel": ["polynomial"]}),
    "n_components": Int(5, 150, log=True),
    "C": Float(1e-3, 1e4, log=True),
}


def any_model(params: Params) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    kinds: dict[str, Callable[..., Any]] = {
        "svm": lambda **settings: sure(SVC(**settings, max_iter=2000)),
        "neighbours": KNeighborsClassifier,
        "tree": lambda **settings: DecisionTreeClassifier(**settings, random_state=0),
        "logistic": lambda **settings: LogisticRegression(**settings, max_iter=50),
    }
    kind = params["model"]
    prefix = f"{kind}_"
    settings = {name.removeprefix(prefix): params[name] for name in params if name.startswith(prefix)}
    return scaled(kinds[kind](**settings), params["scaler"])


ANY_MODEL: Space = {
    "scaler": Choice(["none", "standard", "range", "quantile"]),
    "model": Choice(["svm", "neighbours", "tree", "logistic"]),
    "svm_C": Float(1e-3, 1e3, log=True, when={"model": ["svm"]}),
    "svm_gamma": Float(1e-6, 10.0, log=True, when={"model": ["svm"]}),
    "neighbours_n_neighbors": Int(1, 50, log=True, when={"model": ["neighbours"]}),
    "neighbours_weights": Choice(["uniform", "distance"], when={"model": ["neighbours"]}),
    "neighbours_p": Float(1.0, 4.0, when={"model": ["neighbours"]}),
    "tree_max_depth": Int(1, 12, when={"model": ["tree"]}),
    "tree_min_samples_leaf": Int(1, 40, log=True, when={"model": ["tree"]}),
    "tree_criterion": Choice(["gini", "entropy"], when={"model": ["tree"]}),
    "logistic_C": Float(1e-4, 1e4, log=True, when={"model": ["logistic"]}),
}


MODELS = {
    "svm": Model(SVM, svm),
    "pca_svm": Model(PCA_SVM, pca_svm),
    "boosting": Model(BOOSTING, boosting),
    "histograms": Model(HISTOGRAMS, histograms),
    "forest": Model(TREES, forest),
    "extra_trees": Model(TREES, extra_trees),
    "network": Model(NETWORK, network),
    "neighbours": Model(NEIGHBOURS, neighbours),
    "elastic_net": Model(ELASTIC_NET, elastic_net),
    "descent": Model(DESCENT, descent),
    "kernel_ridge": Model(KERNEL_RIDGE, kernel_ridge),
    "support_regression": Model(SUPPORT_REGRESSION, support_regression),
    "landmarks": Model(LANDMARKS, landmarks),
    "any_model": Model(ANY_MODEL, any_model),
}
TASKS = {
    "choosing": (
        ("svm", "breast_cancer"),
        ("network", "wine"),
        ("forest", "digits"),
        ("any_model", "iris"),
        ("elastic_net", "diabetes"),
    ),
    "table": (
        ("svm", "wine"),
        ("pca_svm", "breast_cancer"),
        ("boosting", "breast_cancer"),
        ("histograms", "diabetes"),
        ("forest", "wine"),
        ("extra_trees", "digits"),
        ("network", "digits"),
        ("neighbours", "digits"),
        ("descent", "breast_cancer"),
        ("kernel_ridge", "diabetes"),
        ("support_regression", "diabetes"),
        ("landmarks", "digits"),
        ("any_model", "breast_cancer"),
    ),
}


def _task(model: str, data: str, seed: int) -> Task:
    return Task(
        name=f"tuning-{model}-{data}-s{seed}",
        group="tuning",
        kind=f"{model}-{data}",
        space=MODELS[model].space,
        evaluate=Evaluate(model, data),
        budget=50,
        seed=seed,
    )
