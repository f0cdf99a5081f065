"""The paper's eight problems, each a function to minimise: `bopp.minimize(problem, problem.space)`.

Four are synthetic, on [-1, 1]^d, with a known optimum, and have a shifted version whose optimum is not the
centre of the box, where DIRECT looks first. Four tune a real model on real data; svm_wine needs scikit-learn.

nnet_cancer and nnet_boston are made in the manner of what nn_cancer and nn_housing seem to come from:
functions of these names with the same four parameters and ranges in the program of Wang and Jegelka (2017,
github.com/zi-w/Max-value-Entropy-Search), which the paper cites. Rows are dealt out in turn there, not at
random; they are the same rows in another order, and the random weights are others. The network of nnet_cancer
is MATLAB's patternnet, which is trained by scaled conjugate gradients: mu, mu_dec and mu_inc have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import numpy as np
from scipy.spatial.distance import cdist

from bopp.data import Array
from bopp.errors import MissingExtra, PaperError, installation
from bopp.number import Float
from bopp.paper.conjugate import conjugate_gradients
from bopp.paper.datasets import table
from bopp.paper.functions import (
    HARTMANN_BEST,
    Function,
    dropwave,
    griewank,
    hartmann6,
    on_cube,
    rastrigin,
    shifted,
)
from bopp.paper.networks import Rows, Trained, backpropagation, levenberg_marquardt
from bopp.paper.runs import Metric
from bopp.space import Space

Model = Callable[[Mapping[str, Any]], "Measured"]
Training = Callable[..., Trained]
Parts = tuple[Rows, Rows]  # to train on, and to validate on

CANCER, HOUSING = "breast_cancer_wisconsin", "boston_housing"


@dataclass(frozen=True)
class Measured:
    """The result of one evaluation: what the paper reports, and for a classifier its plain accuracy."""

    reported: float
    accuracy: float | None = None


@dataclass(frozen=True)
class Problem:
    """A function to minimise.

    Where the optimum is known, the paper reports the regret, and the value is regret + optimum; elsewhere it
    reports f, larger is better, and the value is -f.
    """

    name: str
    space: Space
    measure: Model
    optimum: float | None = None

    def __call__(self, params: Mapping[str, Any]) -> float:
        return self.value(self.measure(params))

    def value(self, measured: Measured) -> float:
        """What is minimised."""
        return -measured.reported if self.optimum is None else measured.reported + self.optimum


def problem(name: str, instance: int = 0, metric: Metric = "one_minus_mse") -> Problem:
    """One of `NAMES`; `instance` picks the shift of a shifted function, or a model's split and weights."""
    _check(name, NAMES)
    if metric not in get_args(Metric):
        raise PaperError(f"metric: wanted one of {', '.join(get_args(Metric))}, got {metric!r}")
    if model := (MODELS | ANCESTORS).get(name):
        return model(instance, metric)
    function = FUNCTIONS[name.removesuffix("_shifted")]
    return _synthetic(name, shifted(function, instance) if name in SHIFTED else function)


def named(words: Sequence[str]) -> list[str]:
    """The names of problems, where a word may also be one of `GROUPS`."""
    names = [name for word in words for name in GROUPS.get(word, (word,))]
    for name in names:
        _check(name, (*NAMES, *GROUPS))
    return list(dict.fromkeys(names))


def _check(name: str, wanted: Sequence[str]) -> None:
    if name not in NAMES:
        raise PaperError(f"no problem is called {name!r}; wanted one of {', '.join(wanted)}")


def _synthetic(name: str, function: Function) -> Problem:
    space = Space({f"x{i + 1}": Float(-1.0, 1.0) for i in range(function.dimension)})

    def measure(params: Mapping[str, Any]) -> Measured:
        x = np.array([params[key] for key in space.parameters])
        return Measured(max(0.0, function.evaluate((x + 1.0) / 2.0) - function.optimum))

    return Problem(name, space, measure, function.optimum)


def _svm_wine(split: int, metric: Metric) -> Problem:
    try:
        from sklearn.svm import SVC
    except ImportError as error:
        raise MissingExtra(f"svm_wine wants scikit-learn: {installation('paper')}") from error
    train, validation = _split("wine_red", split)
    X, Z = _standardised(train.X, train.X), _standardised(train.X, validation.X)
    among, across = cdist(X, X, "sqeuclidean"), cdist(Z, X, "sqeuclidean")

    def measure(params: Mapping[str, Any]) -> Measured:
        gamma = float(params["kernel_scale"]) ** -2
        model = SVC(C=float(params["C"]), kernel="precomputed").fit(np.exp(-gamma * among), train.Y)
        accuracy = float(np.mean(model.predict(np.exp(-gamma * across)) == validation.Y))
        return Measured(accuracy, accuracy)

    space = Space({"C": Float(0.001, 1000.0), "kernel_scale": Float(0.0001, 1.0)})
    return Problem("svm_wine", space, measure)


def _nn_wine(split: int, metric: Metric) -> Problem:
    rows = _labelled("wine_red", _split("wine_red", split), _standardised)
    space = Space({"neurons": Float(1.0, 100.0), "learning_rate": Float(1e-6, 1.0)})
    return Problem("nn_wine", space, _classifier(backpropagation, rows, split, metric))


LEVENBERG_MARQUARDT = Space(
    {
        "neurons": Float(1.0, 100.0),
        "mu": Float(1e-6, 100.0),
        "mu_dec": Float(0.01, 1.0),
        "mu_inc": Float(1.01, 20.0),
    }
)


def _nn_cancer(split: int, metric: Metric) -> Problem:
    rows = _labelled(CANCER, _split(CANCER, split), _to_unit)
    return Problem("nn_cancer", LEVENBERG_MARQUARDT, _classifier(levenberg_marquardt, rows, split, metric))


def _nnet_cancer(seed: int, metric: Metric) -> Problem:
    def train(rows: Rows, unseen: Rows, neurons: int, seed: int, **_: float) -> Trained:
        return conjugate_gradients(rows, unseen, neurons, seed)

    rows = _labelled(CANCER, _dealt(CANCER, (7, 2, 1)), _to_unit)
    measure = _classifier(train, rows, seed, "one_minus_cross_entropy")
    return Problem("nnet_cancer", LEVENBERG_MARQUARDT, measure)


def _nn_housing(split: int, metric: Metric) -> Problem:
    return _housing("nn_housing", _split(HOUSING, split), split)


def _nnet_boston(seed: int, metric: Metric) -> Problem:
    return _housing("nnet_boston", _dealt(HOUSING, (8, 1, 1)), seed)


def _labelled(name: str, parts: Parts, scaled: Callable[[Array, Array], Array]) -> Parts:
    """The rows as a network that tells the classes of a data set apart takes them."""
    classes = np.unique(table(name)[1])
    train, validation = (
        Rows(scaled(parts[0].X, part.X), np.asarray(part.Y[:, None] == classes, dtype=np.float64))
        for part in parts
    )
    return train, validation


def _classifier(train: Training, parts: Parts, seed: int, metric: Metric) -> Model:
    def measure(params: Mapping[str, Any]) -> Measured:
        return _judged(_outputs(train, parts, params, seed), parts[1].Y, metric)

    return measure


def _housing(name: str, parts: Parts, seed: int) -> Problem:
    train, half_range = parts[0], float(np.ptp(parts[0].Y)) / 2.0
    rows, unseen = (Rows(_to_unit(train.X, part.X), _to_unit(train.Y, part.Y)[:, None]) for part in parts)

    def measure(params: Mapping[str, Any]) -> Measured:
        errors = half_range * (_outputs(levenberg_marquardt, (rows, unseen), params, seed) - unseen.Y)
        return Measured(20.0 - float(np.mean(errors**2)))

    return Problem(name, LEVENBERG_MARQUARDT, measure)


def _outputs(train: Training, parts: Parts, params: Mapping[str, Any], seed: int) -> Array:
    """What a network trained with these params says of the validation rows."""
    settings = {name: float(value) for name, value in params.items()} | {"neurons": int(params["neurons"])}
    return train(*parts, **settings, seed=seed).outputs


def _judged(outputs: Array, targets: Array, metric: Metric) -> Measured:
    """One of the things that "accuracy" could mean in the paper, and the plain accuracy."""
    accuracy = float(np.mean(outputs.argmax(axis=1) == targets.argmax(axis=1)))
    if metric == "one_minus_mse":
        return Measured(1.0 - float(np.mean((outputs - targets) ** 2)), accuracy)
    if metric == "one_minus_cross_entropy":  # by element, at one half: certainty in both classes counts once
        share = np.clip(outputs, 1e-6, 1.0 - 1e-6)
        entropy = -np.mean(targets * np.log(share) + (1.0 - targets) * np.log1p(-share))
        return Measured(1.0 - float(entropy) / 2.0, accuracy)
    return Measured(accuracy, accuracy)


@cache
def _split(name: str, seed: int) -> tuple[Rows, Rows]:
    """Rows to train on (0.7) and to validate on (0.2); the rest (0.1) is never used, as in the paper."""
    X, y = table(name)
    order = np.random.default_rng(seed).permutation(len(y))
    first, second = round(0.7 * len(y)), round(0.9 * len(y))
    train, validation = order[:first], order[first:second]
    return Rows(X[train], y[train]), Rows(X[validation], y[validation])


def _dealt(name: str, shares: tuple[int, int, int]) -> tuple[Rows, Rows]:
    """Rows to train on and to validate on: each row goes to the part that is furthest behind its share."""
    X, y = table(name)
    due, parts = np.zeros(len(shares), dtype=int), np.empty(len(y), dtype=int)
    for row in range(len(y)):
        due += shares
        parts[row] = np.argmax(due)
        due[parts[row]] -= sum(shares)
    return Rows(X[parts == 0], y[parts == 0]), Rows(X[parts == 1], y[parts == 1])


def _standardised(train: Array, X: Array) -> Array:
    return np.asarray((X - train.mean(axis=0)) / train.std(axis=0))


def _to_unit(train: Array, X: Array) -> Array:
    """X scaled so that the range of the training rows becomes [-1, 1]."""
    low, high = train.min(axis=0), train.max(axis=0)
    return np.asarray(2.0 * (X - low) / (high - low) - 1.0)


BOX = 5.12  # half the width of the usual box of Dropwave and Rastrigin
FUNCTIONS = {
    function.name: function
    for function in (
        on_cube("dropwave", dropwave, [-BOX] * 2, [BOX] * 2, [0.0] * 2),
        on_cube("griewank", griewank, [-600.0] * 2, [600.0] * 2, [0.0] * 2),
        on_cube("hart6", hartmann6, [0.0] * 6, [1.0] * 6, HARTMANN_BEST),
        on_cube("rastrigin", rastrigin, [-BOX] * 2, [BOX] * 2, [0.0] * 2),
    )
}
MODELS = {"svm_wine": _svm_wine, "nn_wine": _nn_wine, "nn_cancer": _nn_cancer, "nn_housing": _nn_housing}
ANCESTORS = {"nnet_cancer": _nnet_cancer, "nnet_boston": _nnet_boston}
SYNTHETIC = tuple(FUNCTIONS)
SHIFTED = tuple(f"{name}_shifted" for name in FUNCTIONS)
REAL = tuple(MODELS)
NAMES = (*SYNTHETIC, *REAL, *SHIFTED, *ANCESTORS)
GROUPS = {
    "synthetic": SYNTHETIC,
    "real": REAL,
    "shifted": SHIFTED,
    "ancestors": tuple(ANCESTORS),
    "all": (*SYNTHETIC, *REAL),
}
