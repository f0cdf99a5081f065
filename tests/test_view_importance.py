import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bopp import (
    Beliefs,
    Choice,
    Float,
    Holds,
    Int,
    Optimizer,
    Problem,
    Recipe,
    Result,
    Trial,
    fit,
    kernels,
)
from bopp.data import Array
from bopp.errors import NoResultError, RecipeError
from bopp.parameter import Parameter
from bopp.problem import Direction
from bopp.suggest import believe
from bopp.view.importance import importance

CUBE: dict[str, Parameter] = {name: Float(0, 1) for name in "abc"}


def run_of(
    space: dict[str, Parameter],
    objective: Callable[[dict[str, Any]], float | None],
    trials: int = 60,
    direction: Direction = "minimize",
) -> Result:
    """An objective at random points of the space."""
    opt = Optimizer(space, direction)
    rng = np.random.default_rng(0)
    for _ in range(trials):
        params = opt.space.decode(rng.random(opt.space.dimension))
        opt.observe(params, objective(params))
    return opt.result


@pytest.mark.parametrize("weight", [1.0, 2.0, 5.0])
def test_a_weighted_sum_gives_squared_weights(weight: float) -> None:
    """Var(w a + b) = (w^2 + 1) / 12 for uniform a and b, each term its own part."""
    indices = importance(run_of(CUBE, lambda p: weight * p["a"] + p["b"]))
    total = weight**2 + 1.0
    assert indices == pytest.approx({"a": weight**2 / total, "b": 1.0 / total, "c": 0.0}, abs=0.02)


def test_a_product_of_centred_factors_is_all_of_both() -> None:
    """Neither factor has an effect of its own: the indices are total, and add up to 2."""
    indices = importance(run_of(CUBE, lambda p: (p["a"] - 0.5) * (p["b"] - 0.5)))
    assert indices == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.0}, abs=0.03)


def test_effects_are_those_over_the_scale_of_the_parameter() -> None:
    """Over a logarithmic range, log10 is a straight line: three decades against a range of three."""
    space: dict[str, Parameter] = {"lr": Float(1e-4, 1e-1, log=True), "x": Float(-5, -2)}
    indices = importance(run_of(space, lambda p: float(np.log10(p["lr"])) + p["x"]))
    assert indices == pytest.approx({"lr": 0.5, "x": 0.5}, abs=0.02)


def test_the_only_parameter_is_all() -> None:
    assert importance(run_of({"x": Float(-3, 7)}, lambda p: p["x"]))["x"] == pytest.approx(1.0, abs=0.02)


def test_a_choice_counts_once_however_many_columns_it_has() -> None:
    """The variance of 0, 1, 2, 3 is 5/4, or 11/12 in order, where the cells at the ends are half as wide."""
    for ordered in (False, True):
        space: dict[str, Parameter] = {"k": Choice([0, 1, 2, 3], ordered=ordered), "a": Float(0, 1)}
        indices = importance(run_of(space, lambda p: p["k"] + 5.0 * p["a"], 150))
        assert list(indices) == ["k", "a"]
        of_k = 11 / 12 if ordered else 5 / 4
        assert indices["k"] / indices["a"] == pytest.approx(of_k / (25 / 12), rel=0.1)
        assert sum(indices.values()) == pytest.approx(1.0, abs=0.04)


def test_only_values_of_the_grid_count() -> None:
    """The variance of 0 and 1 is 1/4, of all between 1/12."""
    for parameter in (Int(0, 1), Choice([0, 1])):
        indices = importance(run_of({"x": parameter, "a": Float(0, 1)}, lambda p: p["x"] + p["a"]))
        assert indices == pytest.approx({"x": 3 / 4, "a": 1 / 4}, abs=0.02)


def test_a_parameter_with_one_value_has_no_part() -> None:
    indices = importance(run_of({"one": Choice(["x"]), "a": Float(0, 1)}, lambda p: p["a"]))
    assert indices["one"] == 0.0


def test_an_integer_beyond_what_a_float_can_tell_is_one_parameter() -> None:
    indices = importance(run_of({"n": Int(0, 2**70), "a": Float(0, 1)}, lambda p: p["n"] / 2**70 + p["a"]))
    assert indices == pytest.approx({"n": 0.5, "a": 0.5}, abs=0.02)


def test_the_order_of_the_parameters_does_not_matter() -> None:
    def objective(p: dict[str, Any]) -> float:
        return float(np.sin(5 * p["a"]) + p["b"] ** 2 + p["a"] * ("u", "v", "w").index(p["k"]))

    space: dict[str, Parameter] = {"a": Float(0, 1), "b": Float(0, 1), "k": Choice(["u", "v", "w"])}
    turned = {name: space[name] for name in ("k", "b", "a")}
    result = run_of(space, objective, 100)
    opt = Optimizer(turned)
    for trial in result.trials:
        opt.observe(trial.params, trial.value)
    indices, other = importance(result), importance(opt.result)
    assert list(indices) == ["a", "b", "k"]
    assert list(other) == ["k", "b", "a"]
    assert other == pytest.approx(indices, abs=0.03)


def test_direction_unit_and_origin_of_the_values_do_not_matter() -> None:
    def objective(p: dict[str, Any]) -> float:
        return float(3 * p["a"] + p["b"] ** 2)

    indices = importance(run_of(CUBE, objective))
    assert importance(run_of(CUBE, objective)) == indices
    assert importance(run_of(CUBE, lambda p: -objective(p), direction="maximize")) == indices
    for change in (lambda y: 2.0**900 * y, lambda y: 1e-200 * y, lambda y: y + 100.0):
        changed = importance(run_of(CUBE, lambda p, change=change: change(objective(p))))  # type: ignore[misc]
        assert changed == pytest.approx(indices, abs=1e-3)


def test_failed_and_pending_trials_say_nothing() -> None:
    opt = Optimizer(CUBE)
    for trial in run_of(CUBE, lambda p: p["a"] + p["b"]).trials:
        opt.observe(trial.params, trial.value)
    before = importance(opt.result)
    opt.observe({"a": 0.1, "b": 0.2, "c": 0.3}, None)
    opt.ask()
    assert importance(opt.result) == before


@pytest.mark.parametrize("value", [0.0, -3.25, 1e300, 1e-300])
@pytest.mark.parametrize("trials", [1, 2, 20])
def test_a_constant_has_no_important_parameter(value: float, trials: int) -> None:
    assert importance(run_of(CUBE, lambda p: value, trials)) == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_one_point_told_twice_says_nothing_of_the_space() -> None:
    opt = Optimizer(CUBE)
    for value in (1.0, 2.0):
        opt.observe({"a": 0.3, "b": 0.4, "c": 0.5}, value)
    assert importance(opt.result) == {"a": 0.0, "b": 0.0, "c": 0.0}


@pytest.mark.parametrize("trials", [0, 3])
def test_without_a_finished_trial_there_is_no_importance(trials: int) -> None:
    with pytest.raises(NoResultError, match=f"{trials} trials"):
        importance(run_of(CUBE, lambda p: None, trials))


@pytest.mark.parametrize(
    "values", [[1e300, -1e300, 3e299, 0.0], [1.7e308, -1.7e308, 0.0], [5e-324, 0.0, 1e-323]]
)
def test_indices_lie_between_0_and_1(values: list[float]) -> None:
    remaining = iter(values)
    indices = importance(run_of(CUBE, lambda p: next(remaining), len(values)))
    assert all(0.0 <= index <= 1.0 for index in indices.values())
    assert max(indices.values()) > 0.1


@pytest.mark.slow
def test_a_thousand_trials_take_a_second() -> None:
    space: dict[str, Parameter] = {name: Float(0, 1) for name in "abcdef"}
    result = run_of(space, lambda p: float(np.sin(6 * p["a"]) + p["b"] * p["c"]), 1000)
    importance(run_of(space, lambda p: p["a"], 5))  # imports
    start = time.perf_counter()
    importance(result)
    assert time.perf_counter() - start < 2.0  # about 0.75 s on a quiet machine


def test_importing_it_does_not_import_the_slow_statistics() -> None:
    code = "import sys, bopp.view.importance; sys.exit('scipy.stats' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


class Sum:
    """A belief of which importance needs the mean alone: a weighted sum of the columns."""

    def __init__(self, *weights: float):
        self.weights = np.array(weights)

    def mean(self, U: Array) -> Array:
        return np.asarray(U @ self.weights)

    def __call__(self, U: Array) -> tuple[Array, Array]:
        raise AssertionError("importance needs no standard deviation")


def test_every_belief_counts_by_its_weight() -> None:
    """0.8 a + 0.2 b: squared, 0.64 parts of a to 0.04 of b."""
    sums: Any = (Sum(1.0, 0.0, 0.0), Sum(0.0, 1.0, 0.0))
    recipe = Recipe(fit=lambda data, kernel, rng: Beliefs(sums, (0.8, 0.2)))
    indices = importance(run_of(CUBE, lambda p: p["c"], 5), recipe)
    assert indices == pytest.approx({"a": 0.64 / 0.68, "b": 0.04 / 0.68, "c": 0.0}, abs=0.01)


def test_sampled_hyper_parameters_are_averaged_over() -> None:
    result = run_of(CUBE, lambda p: float(np.sin(6 * p["a"]) + p["b"]), 12)
    recipe = Recipe(fit=fit.SliceSampling(samples=4, burn_in=2))
    beliefs = believe(result.history().data, recipe).beliefs
    alone = [
        importance(result, Recipe(fit=lambda data, kernel, rng, one=one: Beliefs.even([one])))  # type: ignore[misc]
        for one in beliefs
    ]
    indices = importance(result, recipe)
    assert len(alone) == 4
    assert indices not in alone
    for name in ("a", "b"):
        assert min(one[name] for one in alone) - 0.05 < indices[name] < max(one[name] for one in alone) + 0.05


def test_without_a_recipe_the_model_is_the_default_one() -> None:
    result = run_of(CUBE, lambda p: p["a"] * p["b"], 10)
    assert importance(result) == importance(result, Recipe.default())
    assert importance(result) != importance(result, Recipe(kernel=kernels.SquaredExponential()))


def test_trials_that_break_a_constraint_count_like_others() -> None:
    free = run_of(CUBE, lambda p: p["a"] + p["b"], 20)
    bound = Problem(CUBE, constraints=[Holds("a below 0.3", lambda p: p["a"] < 0.3)])
    assert importance(Result(bound, free.trials)) == importance(free)


def test_of_several_objectives_it_would_have_to_choose_one() -> None:
    problem = Problem(CUBE, {"error": "minimize", "time": "minimize"})
    trial = Trial(0, {"a": 0.1, "b": 0.2, "c": 0.3}, "done", {"error": 1.0, "time": 2.0})
    with pytest.raises(RecipeError, match="one objective"):
        importance(Result(problem, (trial,)))
