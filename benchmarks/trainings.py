"""Trainings of scikit-learn's models on its own data, which can be had cheaper: shorter, or on less data.

course(params, levels) yields the validation loss at each level in turn, going on where that can be done.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import hinge_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from bopp import Choice, Float, Int

warnings.filterwarnings("ignore", category=ConvergenceWarning)  # short trainings are meant to be short

Course = Callable[[dict[str, Any], Sequence[Any]], Iterator[float]]


@dataclass(frozen=True)
class Training:
    """A model to tune: its space, the levels of its fidelity, and how it is trained with a seed."""

    space: dict[str, Any]
    fidelity: str
    levels: tuple[Any, ...]
    course: Callable[[int], Course]
    rungs: tuple[Any, ...]  # where Hyperband looks
    reduction: int = 3


def split(name: str, seed: int, shifted: bool = False) -> list[Any]:
    """Inputs to train with and to validate with, and the outputs of both; images also shifted by a pixel."""
    X, y = getattr(datasets, f"load_{name.removeprefix('even ')}")(return_X_y=True)
    if name == "even digits":
        y = y % 2
    X, V, y, v = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    if shifted:
        images = X.reshape(-1, 8, 8)
        X = np.vstack([np.roll(images, step, axis=2).reshape(len(X), -1) for step in (0, 1)])
        y = np.tile(y, 2)
    scaler = StandardScaler().fit(X)
    return [scaler.transform(X), scaler.transform(V), y, v]


def network(name: str) -> Callable[[int], Course]:
    """A network with one hidden layer, trained for some epochs, at a rate that falls to 0 until the last."""

    def prepared(seed: int) -> Course:
        X, V, y, v = split(name, seed)

        def course(params: dict[str, Any], levels: Sequence[int]) -> Iterator[float]:
            for level in levels:
                model = MLPClassifier(**_settings(params), random_state=seed)
                for epoch in range(level):
                    model.partial_fit(X, y, classes=np.unique(y))
                    model._optimizer.learning_rate_init = params["rate"] * (1.0 - (epoch + 1) / level)
                yield loss(model, V, v)

        return course

    return prepared


def _settings(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "hidden_layer_sizes": (32,),
        "learning_rate_init": params["rate"],
        "alpha": params["decay"],
        "batch_size": 128,
        "beta_1": 1.0 - params["impulse"],
        "beta_2": 1.0 - params["memory"],
        "activation": params["activation"],
    }


def forest(name: str) -> Callable[[int], Course]:
    """A random forest with some trees."""

    def prepared(seed: int) -> Course:
        X, V, y, v = split(name, seed)

        def course(params: dict[str, Any], levels: Sequence[int]) -> Iterator[float]:
            settings = {
                "max_leaf_nodes": params["leaves"],
                "max_samples": params["rows"],
                "max_features": params["columns"],
                "min_samples_leaf": params["least"],
                "ccp_alpha": params["pruning"],
                "criterion": params["criterion"],
            }
            model = RandomForestClassifier(**settings, random_state=seed, warm_start=True)
            for level in levels:
                yield loss(model.set_params(n_estimators=level).fit(X, y), V, v)

        return course

    return prepared


def part_of_the_data(name: str, model: Callable[[dict[str, Any], int], Any]) -> Callable[[int], Course]:
    """A model that is trained on a part of the data, from the beginning at each level."""

    def prepared(seed: int) -> Course:
        X, V, y, v = split(name, seed, shifted=name == "digits")
        shuffled = np.random.default_rng(seed).permutation(len(X))
        places = [np.cumsum(y[shuffled] == one)[y[shuffled] == one] for one in np.unique(y)]
        rows = [shuffled[y[shuffled] == one] for one in np.unique(y)]
        order = np.concatenate(rows)[
            np.argsort(np.concatenate(places), kind="stable")
        ]  # each part has all classes

        def course(params: dict[str, Any], levels: Sequence[float]) -> Iterator[float]:
            for level in levels:
                rows = order[: round(level * len(X))]
                yield loss(model(params, seed).fit(X[rows], y[rows]), V, v)

        return course

    return prepared


def machine(params: dict[str, Any], seed: int) -> Any:
    """An SVM with a polynomial kernel, of inputs that are bent towards 0 or away from it."""
    settings = {name: params[name] for name in ("C", "gamma", "coef0", "degree")}
    bent = FunctionTransformer(lambda X: np.sign(X) * np.abs(X) ** params["bend"])
    return make_pipeline(bent, StandardScaler(), SVC(kernel="poly", max_iter=20000, **settings))


def short_network(params: dict[str, Any], seed: int) -> Any:
    return MLPClassifier(**_settings(params), max_iter=12, n_iter_no_change=100, random_state=seed)


def loss(model: Any, V: Any, v: Any) -> float:
    """The log loss of probabilities, and of an SVM, which has none, the hinge loss."""
    if not hasattr(model, "predict_proba"):
        return float(hinge_loss(v, model.decision_function(V)))
    chances = np.clip(model.predict_proba(V), 1e-6, 1.0)
    return float(log_loss(v, chances / chances.sum(axis=1, keepdims=True)))


NETWORK = {
    "rate": Float(1e-5, 0.3, log=True),
    "decay": Float(1e-6, 10.0, log=True),
    "impulse": Float(0.01, 1.0, log=True),
    "memory": Float(1e-4, 0.5, log=True),
    "activation": Choice(["relu", "tanh", "logistic"]),
}
FOREST = {
    "leaves": Int(4, 512, log=True),
    "rows": Float(0.05, 1.0),
    "columns": Float(0.02, 1.0, log=True),
    "least": Int(1, 32, log=True),
    "pruning": Float(1e-6, 0.1, log=True),
    "criterion": Choice(["gini", "entropy"]),
}
MACHINE = {
    "C": Float(1e-4, 1e4, log=True),
    "gamma": Float(1e-5, 1.0, log=True),
    "coef0": Float(1e-3, 100.0, log=True),
    "degree": Int(1, 8),
    "bend": Float(0.1, 10.0, log=True),
}
EPOCHS = (1, 7, 49)
PARTS = (0.03, 0.12, 1.0)
LARGER_PARTS = (0.06, 0.25, 1.0)  # of few data
TREES = (4, 16, 80)

TABLE = {
    "network on digits": Training(NETWORK, "epochs", EPOCHS, network("digits"), EPOCHS, 7),
    "SVM on digits": Training(MACHINE, "part", PARTS, part_of_the_data("digits", machine), PARTS, 5),
    "forest on digits": Training(FOREST, "trees", TREES, forest("digits"), (4, 12, 36, 80)),
}
"""Those of the table."""

OTHERS = {
    "network on even digits": Training(NETWORK, "epochs", EPOCHS, network("even digits"), EPOCHS, 7),
    "network on part of digits": Training(
        NETWORK, "part", PARTS, part_of_the_data("digits", short_network), PARTS, 5
    ),
    "network on breast cancer": Training(NETWORK, "epochs", EPOCHS, network("breast_cancer"), EPOCHS, 7),
    "forest on breast cancer": Training(FOREST, "trees", TREES, forest("breast_cancer"), (4, 12, 36, 80)),
    "SVM on breast cancer": Training(
        MACHINE, "part", LARGER_PARTS, part_of_the_data("breast_cancer", machine), LARGER_PARTS, 4
    ),
}
"""Those on which settings were chosen."""
