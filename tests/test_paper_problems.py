import math
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize as descend
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

import bopp
from bopp.errors import MissingExtra, PaperError
from bopp.paper import problems
from bopp.paper.conjugate import conjugate_gradients
from bopp.paper.datasets import table
from bopp.paper.functions import Function, shifted
from bopp.paper.networks import Rows, backpropagation, levenberg_marquardt
from bopp.paper.problems import ANCESTORS, FUNCTIONS, NAMES, REAL, SHIFTED, SYNTHETIC, Problem, named, problem
from bopp.paper.runs import Metric

Array = NDArray[np.float64]

CENTRED = ("dropwave", "griewank", "rastrigin")
INSTANCES = range(6)
SIZES = {
    "wine_red": (1599, 1119, 320),
    "breast_cancer_wisconsin": (699, 489, 140),
    "boston_housing": (506, 354, 101),
}
SMALL: dict[str, dict[str, float]] = {
    "svm_wine": {"C": 2.0, "kernel_scale": 0.9},
    "nn_wine": {"neurons": 7.2, "learning_rate": 0.4},
    "nn_cancer": {"neurons": 7.2, "mu": 0.01, "mu_dec": 0.1, "mu_inc": 10.0},
    "nn_housing": {"neurons": 7.2, "mu": 0.01, "mu_dec": 0.1, "mu_inc": 10.0},
    "nnet_cancer": {"neurons": 7.2, "mu": 0.01, "mu_dec": 0.1, "mu_inc": 10.0},
    "nnet_boston": {"neurons": 7.2, "mu": 0.01, "mu_dec": 0.1, "mu_inc": 10.0},
}
HARTMANN = [  # alpha, A and P of each term, as Surjanovic and Bingham print them
    (1.0, "10 3 17 3.50 1.7 8", "0.1312 0.1696 0.5569 0.0124 0.8283 0.5886"),
    (1.2, "0.05 10 17 0.1 8 14", "0.2329 0.4135 0.8307 0.3736 0.1004 0.9991"),
    (3.0, "3 3.5 1.7 10 17 8", "0.2348 0.1451 0.3522 0.2883 0.3047 0.6650"),
    (3.2, "17 8 0.05 10 0.1 14", "0.4047 0.8828 0.8732 0.5743 0.1091 0.0381"),
]


def params(x: Array) -> dict[str, float]:
    """A point of [-1, 1]^d as a synthetic problem takes it."""
    return {f"x{i + 1}": float(value) for i, value in enumerate(x)}


def moved(name: str, instance: int) -> Function:
    return shifted(FUNCTIONS[name.removesuffix("_shifted")], instance)


def points(function: Function, seed: int = 0) -> Array:
    """Random points of the unit cube: anywhere, and near the minimiser at distances of every order."""
    rng = np.random.default_rng(seed)
    near = 10.0 ** rng.uniform(-8, -1, (200, 1)) * rng.standard_normal((200, function.dimension))
    return np.vstack([rng.random((500, function.dimension)), np.clip(function.minimiser + near, 0.0, 1.0)])


def split(name: str, instance: int) -> tuple[Array, Array, Array, Array]:
    """Inputs and targets to train on, and those to validate on."""
    X, y = table(name)
    order = np.random.default_rng(instance).permutation(len(y))
    _, train, validation = SIZES[name]
    first, second = order[:train], order[train : train + validation]
    return X[first], y[first], X[second], y[second]


def test_optima_are_the_published_ones() -> None:
    published = {"dropwave": -1.0, "griewank": 0.0, "hart6": -3.32237, "rastrigin": 0.0}
    assert {name: round(problem(name).optimum or 0.0, 5) for name in SYNTHETIC} == published
    for name in SHIFTED:
        assert problem(name, 3).optimum == problem(name.removesuffix("_shifted")).optimum


@pytest.mark.parametrize("name", SYNTHETIC)
def test_the_regret_is_nothing_at_the_minimiser_and_no_descent_finds_less(name: str) -> None:
    task, best = problem(name), 2.0 * FUNCTIONS[name].minimiser - 1.0
    assert task.measure(params(best)).reported < 1e-12
    found = descend(lambda x: task(params(x)), best + 1e-3, method="Nelder-Mead", options={"xatol": 1e-10})
    np.testing.assert_allclose(found.x, best, atol=1e-4)
    assert found.fun == pytest.approx(task.optimum, abs=1e-9)


@pytest.mark.parametrize("name", SYNTHETIC)
def test_nothing_in_the_box_is_better_than_the_known_optimum(name: str) -> None:
    """Not even before the regret is cut at zero, also not where the shift brings in what was outside."""
    for function in [FUNCTIONS[name], *(moved(name, instance) for instance in INSTANCES)]:
        regrets = [function.evaluate(u) - function.optimum for u in points(function)]
        assert min(regrets) >= -1e-9
        assert max(regrets) > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_reported_is_the_regret_or_f(name: str) -> None:
    task = problem(name)
    middle = {key: (one.low + 3 * one.high) / 4 for key, one in floats(task).items()} | SMALL.get(name, {})
    measured = task.measure(middle)
    if name in (*REAL, *ANCESTORS):
        assert task.optimum is None
        assert task(middle) == -measured.reported
    else:
        assert task.optimum is not None
        assert measured.reported > 0.0
        assert task(middle) == measured.reported + task.optimum


def floats(task: Problem) -> dict[str, bopp.Float]:
    return {name: cast(bopp.Float, one) for name, one in task.space.parameters.items()}


@pytest.mark.parametrize("name", SHIFTED)
def test_a_shift_moves_the_landscape_and_its_optimum_off_the_centre(name: str) -> None:
    centre = params(np.zeros(FUNCTIONS[name.removesuffix("_shifted")].dimension))
    plain, minimisers = problem(name.removesuffix("_shifted")), []
    for instance in INSTANCES:
        task, function = problem(name, instance), moved(name, instance)
        best = 2.0 * function.minimiser - 1.0
        assert np.all(np.abs(best) <= 0.8)
        assert np.all(np.abs(best) > 0.2)
        assert task.measure(params(best)).reported < 1e-9
        assert task.measure(centre).reported > 0.01
        shift = best - (2.0 * FUNCTIONS[plain.name].minimiser - 1.0)
        for x in np.random.default_rng(instance).uniform(-1.0, 1.0, (20, len(best))):
            if np.all(np.abs(x - shift) <= 1.0):
                assert task(params(x)) == pytest.approx(plain(params(x - shift)), abs=1e-9)
        minimisers.append(tuple(best))
    assert len(set(minimisers)) == len(INSTANCES)


def test_three_optima_are_the_centre_where_direct_looks_first() -> None:
    at_centre = [name for name in SYNTHETIC if problem(name).measure(params(np.zeros(6))).reported == 0.0]
    assert at_centre == list(CENTRED)


def test_the_unshifted_functions_have_one_instance() -> None:
    x = params(np.linspace(-0.7, 0.4, 6))
    assert [problem(name, 5)(x) for name in SYNTHETIC] == [problem(name)(x) for name in SYNTHETIC]


def dropwave(x: list[float]) -> float:
    radius = math.hypot(*x)
    return -(1.0 + math.cos(12.0 * radius)) / (0.5 * radius**2 + 2.0)


def griewank(x: list[float]) -> float:
    return (
        1.0
        + sum(v**2 for v in x) / 4000.0
        - math.prod(math.cos(v / math.sqrt(i)) for i, v in enumerate(x, 1))
    )


def rastrigin(x: list[float]) -> float:
    return 10.0 * len(x) + sum(v**2 - 10.0 * math.cos(2.0 * math.pi * v) for v in x)


def hartmann6(x: list[float]) -> float:
    def numbers(text: str) -> list[float]:
        return [float(word) for word in text.split()]

    exponents = (
        sum(a * (v - p) ** 2 for a, v, p in zip(numbers(A), x, numbers(P), strict=True))
        for _, A, P in HARTMANN
    )
    return -sum(alpha * math.exp(-each) for (alpha, _, _), each in zip(HARTMANN, exponents, strict=True))


@pytest.mark.parametrize(
    ("name", "dimension", "low", "high", "formula"),
    [
        ("dropwave", 2, -5.12, 5.12, dropwave),
        ("griewank", 2, -600.0, 600.0, griewank),
        ("hart6", 6, 0.0, 1.0, hartmann6),
        ("rastrigin", 2, -5.12, 5.12, rastrigin),
    ],
)
def test_the_formulas_are_the_textbooks_on_their_usual_boxes(
    name: str, dimension: int, low: float, high: float, formula: Callable[[list[float]], float]
) -> None:
    task = problem(name)
    assert {(one.low, one.high) for one in floats(task).values()} == {(-1.0, 1.0)}
    for x in np.random.default_rng(0).uniform(-1.0, 1.0, (50, dimension)):
        usual = [low + (high - low) * (v + 1.0) / 2.0 for v in x.tolist()]
        assert task(params(x)) == pytest.approx(formula(usual), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("instance", [0, 3])
@pytest.mark.parametrize(("C", "scale"), [(0.5, 1.0), (2.0, 0.9), (900.0, 0.2), (0.001, 0.0001)])
def test_svm_is_the_one_with_a_radial_kernel(C: float, scale: float, instance: int) -> None:
    X, y, Z, wanted = split("wine_red", instance)
    scaler = StandardScaler().fit(X)
    model = SVC(C=C, kernel="rbf", gamma=1.0 / scale**2).fit(scaler.transform(X), y)
    accuracy = accuracy_score(wanted, model.predict(scaler.transform(Z)))
    measured = problem("svm_wine", instance).measure({"C": C, "kernel_scale": scale})
    assert measured.reported == pytest.approx(accuracy, abs=1.1 / len(wanted))  # rounding may turn one row
    assert measured.accuracy == measured.reported


def trained(name: str, data: str, instance: int) -> tuple[Array, Array]:
    """Validation outputs of the network of `SMALL`, and the targets, for a classification."""
    X, y, Z, wanted = split(data, instance)
    scaler = StandardScaler() if name == "nn_wine" else MinMaxScaler((-1.0, 1.0))
    scaler.fit(X)
    classes = np.unique(table(data)[1])
    rows = Rows(scaler.transform(X), np.array([classes == one for one in y], dtype=np.float64))
    unseen = Rows(scaler.transform(Z), np.array([classes == one for one in wanted], dtype=np.float64))
    if name == "nn_wine":
        return backpropagation(rows, unseen, 7, 0.4, instance).outputs, unseen.Y
    return levenberg_marquardt(rows, unseen, 7, 0.01, 0.1, 10.0, instance).outputs, unseen.Y


@pytest.mark.parametrize("instance", [0, 2])
@pytest.mark.parametrize(
    ("name", "data", "classes"), [("nn_wine", "wine_red", 6), ("nn_cancer", "breast_cancer_wisconsin", 2)]
)
def test_the_three_metrics_of_a_network_and_the_accuracy_beside(
    name: str, data: str, classes: int, instance: int
) -> None:
    outputs, targets = trained(name, data, instance)
    assert targets.shape == (SIZES[data][2], classes)
    accuracy = accuracy_score(targets.argmax(axis=1), outputs.argmax(axis=1))
    entropy = log_loss(targets.ravel(), np.clip(outputs, 1e-6, 1.0 - 1e-6).ravel())
    wanted = {
        "one_minus_mse": 1.0 - mean_squared_error(targets, outputs),
        "one_minus_cross_entropy": 1.0 - entropy / 2.0,
        "accuracy": accuracy,
    }
    for metric, reported in wanted.items():
        measured = problem(name, instance, cast(Metric, metric)).measure(SMALL[name])
        assert measured.reported == pytest.approx(reported, rel=1e-6)
        assert measured.accuracy == accuracy
    assert problem(name, instance).measure(SMALL[name]).reported == pytest.approx(wanted["one_minus_mse"])


@pytest.mark.parametrize("instance", [0, 2])
def test_housing_reports_20_less_the_squared_error_in_the_unit_of_the_prices(instance: int) -> None:
    X, y, Z, wanted = split("boston_housing", instance)
    inputs, prices = MinMaxScaler((-1.0, 1.0)).fit(X), MinMaxScaler((-1.0, 1.0)).fit(y[:, None])
    rows = Rows(inputs.transform(X), prices.transform(y[:, None]))
    unseen = Rows(inputs.transform(Z), prices.transform(wanted[:, None]))
    outputs = levenberg_marquardt(rows, unseen, 7, 0.01, 0.1, 10.0, instance).outputs
    error = mean_squared_error(wanted, prices.inverse_transform(outputs)[:, 0])
    measured = problem("nn_housing", instance).measure(SMALL["nn_housing"])
    assert measured.reported == pytest.approx(20.0 - error, rel=1e-6)
    assert measured.accuracy is None
    assert 1.0 < error < 100.0


@pytest.mark.parametrize("name", REAL[1:])
def test_neurons_are_floored(name: str) -> None:
    f = problem(name).measure
    at = {neurons: f(SMALL[name] | {"neurons": neurons}) for neurons in (7.0, 7.2, 7.9, 8.0)}
    assert at[7.0] == at[7.2] == at[7.9] != at[8.0]


@pytest.mark.parametrize("name", REAL)
def test_the_same_instance_gives_the_same_value_and_another_gives_another(name: str) -> None:
    first = problem(name, 1).measure(SMALL[name])
    problems._split.cache_clear()
    assert problem(name, 1).measure(SMALL[name]) == first
    assert problem(name, 2).measure(SMALL[name]) != first


@pytest.mark.parametrize("name", SIZES)
def test_rows_are_split_into_seven_and_two_tenths_that_share_none(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, to_train, to_validate = SIZES[name]
    assert len(table(name)[1]) == count
    numbers = np.arange(count, dtype=np.float64)
    monkeypatch.setattr(problems, "table", lambda name: (numbers[:, None], numbers))
    seen = []
    for seed in (0, 1):
        train, validation = problems._split.__wrapped__(name, seed)
        assert (len(train.Y), len(validation.Y)) == (to_train, to_validate)
        assert len({*train.Y, *validation.Y}) == to_train + to_validate
        for rows in (train, validation):
            np.testing.assert_array_equal(rows.X[:, 0], rows.Y)
        seen.append(set(validation.Y))
    assert seen[0] != seen[1]
    assert to_train / count == pytest.approx(0.7, abs=0.5 / count)
    assert to_validate / count == pytest.approx(0.2, abs=1.0 / count)


@pytest.mark.parametrize("name", ["ackley", "", "Dropwave", "dropwave ", "svm_wine_shifted"])
def test_an_unknown_name_is_named_with_those_that_are_known(name: str) -> None:
    with pytest.raises(PaperError) as caught:
        problem(name)
    message = str(caught.value)
    assert repr(name) in message
    assert [known for known in NAMES if known not in message] == []
    assert "\n" not in message


def test_words_name_problems_and_groups_of_them_once_each() -> None:
    assert named(["hart6", "nn_wine"]) == ["hart6", "nn_wine"]
    assert named(["all"]) == [*SYNTHETIC, *REAL]
    assert named(["shifted", "real", "ancestors"]) == [*SHIFTED, *REAL, *ANCESTORS]
    assert named(["rastrigin", "synthetic", "rastrigin"]) == ["rastrigin", "dropwave", "griewank", "hart6"]
    with pytest.raises(PaperError) as caught:
        named(["dropwave", "ackley"])
    wanted = ("'ackley'", *NAMES, "synthetic", "real", "shifted", "ancestors", "all")
    assert [word for word in wanted if word not in str(caught.value)] == []


@pytest.mark.parametrize("name", ["nn_wine", "nn_cancer"])
def test_an_unknown_metric_is_refused(name: str) -> None:
    with pytest.raises(PaperError, match="'acuracy'"):
        problem(name, 0, cast(Any, "acuracy"))


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(MissingExtra, match=r"svm_wine.*scikit-learn.*bopp\[paper\]"):
        problem("svm_wine")
    for name in NAMES:
        if name != "svm_wine":
            assert problem(name).name == name


@pytest.mark.parametrize(
    ("name", "shares"), [("breast_cancer_wisconsin", (7, 2, 1)), ("boston_housing", (8, 1, 1))]
)
def test_rows_are_dealt_out_in_turn(name: str, shares: tuple[int, int, int]) -> None:
    X, y = table(name)
    train, validation = problems._dealt(name, shares)
    assert abs(len(train.Y) - shares[0] * len(y) / 10) < 1
    assert abs(len(validation.Y) - shares[1] * len(y) / 10) < 1
    again = [np.column_stack([part.X, part.Y]).tolist() for part in (train, validation)]
    for begin in range(0, len(y) - 9, 10):  # each ten rows are dealt out by their shares, in order
        ten = np.column_stack([X, y])[begin : begin + 10].tolist()
        for part, share in zip(again, shares, strict=False):
            taken = part[begin // 10 * share :][:share]
            assert all(row in ten for row in taken)


def test_of_nnet_cancer_only_the_neurons_matter() -> None:
    task = problem("nnet_cancer")
    others: list[dict[str, float]] = [{}, {"mu": 50.0}, {"mu_inc": 2.0, "mu_dec": 0.9}]
    values = {task(SMALL["nnet_cancer"] | other) for other in others}
    assert len(values) == 1
    assert task(SMALL["nnet_cancer"] | {"neurons": 7.9}) in values
    assert task(SMALL["nnet_cancer"] | {"neurons": 12.0}) not in values


def test_nnet_cancer_reports_one_less_the_cross_entropy_by_element() -> None:
    dealt = problems._dealt(problems.CANCER, (7, 2, 1))
    rows, unseen = problems._labelled(problems.CANCER, dealt, problems._to_unit)
    measured = problem("nnet_cancer").measure(SMALL["nnet_cancer"])
    trained = conjugate_gradients(rows, unseen, 7, 0)
    assert measured.reported == pytest.approx(1.0 - trained.error, abs=1e-6)
    assert measured.accuracy == accuracy_score(unseen.Y.argmax(axis=1), trained.outputs.argmax(axis=1))
