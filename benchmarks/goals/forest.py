"""A real task: a forest of trees that recognises digits, to be both right and quick.

Right: the logarithmic loss on unseen rows, as its log10. Quick: how many nodes of trees a prediction visits,
on average over the unseen rows, as its log10. It stands for the time of a prediction, which would come out
differently on a busy machine. Both are the same whenever they are computed.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bopp import Float, Int
from goals.problem import Array, Columns, Problem

SMALLEST = 1e-3  # probability that a class gets: else one row that is ruled out would decide
SPACE = {
    "n_estimators": Int(5, 150, log=True),
    "max_depth": Int(2, 16),
    "min_samples_leaf": Int(1, 20, log=True),
    "max_features": Float(0.05, 1.0, log=True),
    "max_samples": Float(0.1, 1.0),
}


def forest(X: Array) -> tuple[Columns, Columns]:
    """The loss of each forest, and the nodes that it visits."""
    found = np.array([_measured(tuple(row)) for row in X.tolist()]).reshape(len(X), 2)
    return [found[:, 0], found[:, 1]], []


@cache
def _measured(row: tuple[float, ...]) -> tuple[float, float]:
    from sklearn.ensemble import RandomForestClassifier

    params: dict[str, Any] = dict(zip(SPACE, row, strict=True))
    params |= {name: int(params[name]) for name in ("n_estimators", "max_depth", "min_samples_leaf")}
    (train, right), (unseen, answers) = _rows()
    with threadpool_limits(1):
        model = RandomForestClassifier(**params, random_state=0, n_jobs=1).fit(train, right)
        shares = model.predict_proba(unseen)[np.arange(len(unseen)), answers]
        visits = model.decision_path(unseen)[0].nnz / len(unseen)
    loss = -np.mean(np.log(np.clip(shares, SMALLEST, 1.0)))
    return math.log10(loss), math.log10(visits)


@cache
def _rows() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    half = len(X) // 2
    return (X[order[:half]], y[order[:half]]), (X[order[half:]], y[order[half:]])


# the corner: the loss of one who gives every class the same share, and as many nodes as there can be
FOREST = Problem("forest", SPACE, forest, 2, 0, (math.log10(math.log(10)), 3.5))
