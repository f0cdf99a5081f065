"""Whatever the data: a suggestion, finite and inside the space, without a warning (warnings are errors)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from bopp import Choice, Fixed, Float, Int, Optimizer, Recipe, acquisition, fit, initial, pseudo
from bopp.data import Array
from bopp.parameter import Parameter

Space = dict[str, Parameter]
Case = Callable[[Recipe], Optimizer]

DEFAULT = Recipe.default()
FULLY_BAYESIAN = replace(DEFAULT, fit=fit.SliceSampling(samples=3, burn_in=2, thinning=1))
UNIT_FREE = {
    "default": DEFAULT,
    "pi": replace(DEFAULT, acquisition=acquisition.pi),
    "mes": replace(DEFAULT, acquisition=acquisition.MES()),
    "est": replace(DEFAULT, acquisition=acquisition.est),
    "neighbours": replace(DEFAULT, pseudo=pseudo.Neighbours()),
}
ALL_UNIT_FREE = UNIT_FREE | {"fully bayesian": FULLY_BAYESIAN}
RECIPES = ALL_UNIT_FREE | {"paper ei": Recipe.paper("ei"), "paper ucb": Recipe.paper("ucb")}


def floats(d: int) -> Space:
    return {f"x{i}": Float(0, 1) for i in range(d)}


def at(
    recipe: Recipe,
    space: Space,
    points: Sequence[Sequence[Any]] | Array,
    values: Sequence[float | None] | Array,
) -> Optimizer:
    """An optimizer that has observed these, and has a model from the first observation on."""
    opt = Optimizer(space, recipe=replace(recipe, initial=initial.Sobol(0)))
    for point, value in zip(points, values, strict=True):
        opt.observe(dict(zip(space, point, strict=True)), value)
    return opt


def cloud(n: int, d: int) -> tuple[Array, Array]:
    """Random points of the cube and a smooth function of them with a little noise."""
    rng = np.random.default_rng([n, d])
    X = rng.random((n, d))
    return X, np.sin(4.0 * X).sum(axis=1) + 0.01 * rng.standard_normal(n)


def of_values(n: int, d: int, change: Callable[[Array], Array]) -> Case:
    """A cloud with its values changed."""
    X, y = cloud(n, d)
    return lambda recipe: at(recipe, floats(d), X, change(y))


def of_points(d: int, X: Array, y: Array) -> Case:
    return lambda recipe: at(recipe, floats(d), X, y)


def with_outlier(size: float) -> Callable[[Array], Array]:
    def change(y: Array) -> Array:
        far = y.copy()
        far[3] = size
        return far

    return change


def in_two_clusters(y: Array) -> Array:
    return y + 1e12 * (np.arange(len(y)) % 2)


def random_params(recipe: Recipe, space: Space, n: int = 8) -> Optimizer:
    opt = Optimizer(space, recipe=replace(recipe, initial=initial.Sobol(0)))
    rng = np.random.default_rng(n)
    for _ in range(n):
        opt.observe(opt.space.decode(rng.random(opt.space.dimension)), rng.normal())
    return opt


def failed(recipe: Recipe) -> Optimizer:
    return at(recipe, floats(2), cloud(8, 2)[0], [None] * 8)


def pending(recipe: Recipe) -> Optimizer:
    opt = Optimizer(floats(2), recipe=recipe)
    opt.ask(8)
    return opt


def mostly_pending_and_failed(recipe: Recipe) -> Optimizer:
    opt = at(recipe, floats(2), cloud(20, 2)[0], [1.0] + [None] * 19)
    for point in cloud(20, 2)[0]:
        opt.enqueue({"x0": point[1], "x1": point[0]})
    opt.ask(20)
    return opt


def same_place_pending(recipe: Recipe) -> Optimizer:
    opt = of_values(5, 2, lambda y: y)(recipe)
    for _ in range(5):
        opt.enqueue({"x0": 0.5, "x1": 0.5})
    opt.ask(5)
    return opt


CORNERS = np.array(list(product((0.0, 1.0), repeat=5)))
TWIN = np.vstack([cloud(8, 2)[0]] * 2)
CASES: dict[str, Case] = {
    "no observation": of_values(0, 2, lambda y: y),
    "one observation": of_values(1, 2, lambda y: y),
    "two observations": of_values(2, 2, lambda y: y),
    "two equal observations": of_values(2, 2, np.zeros_like),
    "a cloud": of_values(20, 2, lambda y: y),
    "one dimension": of_values(6, 1, lambda y: y),
    "200 dimensions": of_values(5, 200, lambda y: y),
    "constant 0": of_values(8, 2, np.zeros_like),
    "constant 3": of_values(8, 2, lambda y: np.full_like(y, 3.0)),
    "constant -1e300": of_values(8, 2, lambda y: np.full_like(y, -1e300)),
    "constant 5e-324": of_values(8, 2, lambda y: np.full_like(y, 5e-324)),
    "constant but for rounding": of_values(8, 2, lambda y: 1.0 + 1e-16 * np.round(y)),
    "constant but for one": of_values(8, 2, lambda y: (np.arange(len(y)) == 3).astype(float)),
    "all at one point": of_points(2, np.full((20, 2), 0.3), np.full(20, 0.7)),
    "1000 values at one point": of_points(
        2, np.full((1000, 2), 0.3), np.random.default_rng(0).normal(size=1000)
    ),
    "duplicates, equal values": of_points(2, TWIN, np.tile(cloud(8, 2)[1], 2)),
    "duplicates, other values": of_points(2, TWIN, np.concatenate([cloud(8, 2)[1], 9.0 - cloud(8, 2)[1]])),
    "near-duplicates, equal values": of_points(
        2, np.vstack([TWIN[:8], np.abs(TWIN[:8] - 1e-12)]), np.tile(cloud(8, 2)[1], 2)
    ),
    "near-duplicates, other values": of_points(
        2, np.vstack([TWIN[:8], np.abs(TWIN[:8] - 1e-12)]), np.arange(16.0)
    ),
    "a tiny ball": of_points(2, 0.5 + 1e-9 * cloud(12, 2)[0], cloud(12, 2)[1]),
    "two clusters 1e12 apart": of_values(12, 2, in_two_clusters),
    "values of 1e200": of_values(12, 2, lambda y: 1e200 * y),
    "values of 1e-200": of_values(12, 2, lambda y: 1e-200 * y),
    "values of 1e-310": of_values(12, 2, lambda y: 1e-310 * y),
    "values at both ends of float": of_values(12, 2, lambda y: np.copysign(1.7e308, y - np.median(y))),
    "one outlier of 1e6": of_values(12, 2, with_outlier(1e6)),
    "one outlier of -1e15": of_values(12, 2, with_outlier(-1e15)),
    "one outlier of 1e300": of_values(12, 2, with_outlier(1e300)),
    "one outlier of -1e300": of_values(12, 2, with_outlier(-1e300)),
    "values over 600 decades": of_values(12, 2, lambda y: 10.0 ** np.linspace(-300, 300, len(y))),
    "every corner": of_points(5, CORNERS, CORNERS @ np.arange(5.0)),
    "a choice of one": lambda recipe: at(recipe, {"c": Choice(["a"])}, [["a"]] * 3, [1.0, 2.0, 3.0]),
    "a choice of one among others": lambda recipe: random_params(
        recipe, {"c": Choice(["a"]), "x": Float(0, 1), "n": Int(1, 5), "d": Choice(["u", "v", "w"])}
    ),
    "choices alone": lambda recipe: random_params(recipe, {"c": Choice(["a", "b"]), "d": Choice([1, 2, 3])}),
    "steps": lambda recipe: random_params(recipe, {"x": Float(0, 1, step=0.1), "n": Int(0, 10**6, step=7)}),
    "conditions": lambda recipe: random_params(
        recipe,
        {
            "c": Choice(["a", "b", "d"]),
            "x": Float(0, 1, when={"c": ["a"]}),
            "n": Int(1, 10**6, log=True, when={"c": ["b"]}),
            "e": Choice([1, 2, 3], when={"c": ["a", "b"]}),
            "y": Float(0, 1, when={"e": [2], "c": ["a"]}),
            "f": Fixed("f", when={"e": [1]}),
        },
    ),
    "300 decades": lambda recipe: random_params(
        recipe, {"x": Float(1e-150, 1e150, log=True), "y": Float(0, 1)}
    ),
    "denormal range": lambda recipe: random_params(recipe, {"x": Float(1e-320, 1e-310, log=True)}),
    "the widest range": lambda recipe: random_params(recipe, {"x": Float(-1.7e308, 1.7e308)}),
    "wide integers": lambda recipe: random_params(
        recipe, {"n": Int(-(2**52), 2**52), "m": Int(1, 2**53, log=True)}
    ),
    "all failed": failed,
    "all pending": pending,
    "one value, the rest pending or failed": mostly_pending_and_failed,
    "five pending at one place": same_place_pending,
}


def check(opt: Optimizer) -> None:
    """Two suggestions, the second with the first under way."""
    for trial in opt.ask(2):
        assert opt.space.check(trial.params) == trial.params
        u = opt.space.encode(trial.params)
        assert np.all(np.isfinite(u))
        assert np.all((u >= 0.0) & (u <= 1.0))
    assert [trial.state for trial in opt.trials[-2:]] == ["asked", "asked"]


WORST = (
    *("one observation", "constant 3", "duplicates, other values", "near-duplicates, other values"),
    *("two clusters 1e12 apart", "one outlier of -1e300", "a choice of one among others", "all failed"),
    "one value, the rest pending or failed",
)
MATRIX = [
    pytest.param(case, recipe, marks=() if recipe == "default" or case in WORST else pytest.mark.endurance)
    for case in CASES
    for recipe in RECIPES
]


@pytest.mark.parametrize(("case", "recipe"), MATRIX)
def test_a_suggestion_whatever_the_data(case: str, recipe: str, capfd: pytest.CaptureFixture[str]) -> None:
    check(CASES[case](RECIPES[recipe]))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("recipe", ALL_UNIT_FREE)
def test_a_new_point_where_there_is_one(recipe: str) -> None:
    """Guarantee 6, in a space of two points."""
    opt = at(ALL_UNIT_FREE[recipe], {"c": Choice(["a", "b"])}, [["a"]] * 4, [1.0, 1.0, 2.0, 3.0])
    assert opt.ask().params == {"c": "b"}


def suggested(recipe: Recipe, y: Array, space: Space | None = None) -> Array:
    """The next point of the cube after a cloud of points with the values y."""
    opt = at(recipe, space or floats(2), cloud(len(y), 2)[0], y)
    return opt.space.encode(opt.ask().params)


@pytest.mark.parametrize("recipe", ALL_UNIT_FREE)
def test_a_unit_that_is_a_power_of_two_changes_no_bit(recipe: str) -> None:
    """Guarantee 4."""
    own, y = ALL_UNIT_FREE[recipe], cloud(10, 2)[1]
    wanted = suggested(own, y)
    for power in (-300, -30, 30, 300):
        np.testing.assert_array_equal(suggested(own, math.ldexp(1.0, power) * y), wanted)


@pytest.mark.parametrize("shift", [0.0, 1.0, -20.0])
@pytest.mark.parametrize("recipe", UNIT_FREE)
def test_no_unit_changes_the_point(recipe: str, shift: float) -> None:
    """Guarantee 4; the shift is in standard deviations of y."""
    own, y = UNIT_FREE[recipe], cloud(10, 2)[1]
    wanted = suggested(own, y)
    for factor in (1e-100, 1e-9, 1e9, 1e100):
        moved = factor * (y + shift * y.std())
        np.testing.assert_allclose(suggested(own, moved), wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("recipe", ["default", "neighbours", "paper ucb"])
def test_the_unit_of_a_parameter_does_not_matter(recipe: str) -> None:
    """The same points in metres, kilometres and from another origin are the same suggestion."""
    X, y = cloud(10, 2)
    spaces: list[Space] = [floats(2), {"x0": Float(0, 1024), "x1": Float(0, 2**-20)}]
    points = [X, X * [1024.0, 2.0**-20]]
    rows = []
    for space, own in zip(spaces, points, strict=True):
        opt = at(RECIPES[recipe], space, own, y)
        rows.append(opt.space.encode(opt.ask().params))
    np.testing.assert_array_equal(rows[0], rows[1])


@pytest.mark.fault(13, 14)
def test_failed_values_never_reach_the_model() -> None:
    """Guarantee 5: NaN and infinities are the same failed trial as None."""
    X, y = cloud(8, 2)
    rows = []
    for poison in (None, math.nan, math.inf, -math.inf, 10**400):
        opt = at(DEFAULT, floats(2), X, y)
        opt.observe({"x0": 0.5, "x1": 0.5}, poison)
        rows.append(tuple(opt.ask().params.values()))
    assert len(set(rows)) == 1


@pytest.mark.parametrize("name", ["default", "neighbours", "paper ei"])
@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1.0, 1e300])
@pytest.mark.parametrize("sd", [1e-8, 0.3, 1e6, 1e20])
def test_told_noise_of_any_size_breaks_nothing(name: str, unit: float, sd: float) -> None:
    """A noise in the unit of y, of a few values among others that have none."""
    X, y = cloud(6, 2)
    opt = Optimizer(floats(2), recipe=replace(RECIPES[name], initial=initial.Sobol(0)))
    for number, (point, value) in enumerate(zip(X, y, strict=True)):
        noise = min(sd * unit, 1e308) if number % 2 else None
        opt.observe(dict(zip(floats(2), point.tolist(), strict=True)), value * unit, noise)
    opt.observe(opt.trials[1].params, opt.trials[1].value, noise=min(sd * unit, 1e308))
    u = opt.space.encode(opt.ask().params)
    assert np.all((u >= 0.0) & (u <= 1.0))
