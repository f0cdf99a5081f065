"""Statistical claims on paired seeds: mean differences of log10 regret, negative where the first wins."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bopp import Float, Optimizer, Recipe
from bopp.data import Array
from bopp.pseudo import Failed, Neighbours, Pending, none

pytestmark = pytest.mark.slow

HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
WIDTHS = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
CENTRES = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(u: Array) -> float:
    """Hartmann's function in six dimensions (Dixon, Szego 1978), less its least value."""
    return 3.322368011 - float(HEIGHTS @ np.exp(-(WIDTHS * (u - CENTRES) ** 2).sum(axis=1)))


def branin(u: Array) -> float:
    """Branin's function on its usual box, less its least value."""
    x, y = 15.0 * u[0] - 5.0, 15.0 * u[1]
    valley = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return float(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10 - 0.397887357729)


PROBLEMS: list[tuple[Callable[[Array], float], int]] = [(branin, 2), (hartmann, 6)]


def regret(
    recipe: Recipe,
    problem: tuple[Callable[[Array], float], int],
    seed: int,
    batch: int = 1,
    crash: bool = False,
) -> float:
    """log10 of the best of forty values; with `crash`, a half of the cube fails."""
    function, dimension = problem
    optimizer = Optimizer({f"x{i}": Float(0, 1) for i in range(dimension)}, seed=seed, recipe=recipe)
    for _ in range(40 // batch):
        for trial in optimizer.ask(batch):
            u = np.array(list(trial.params.values()))
            failed = crash and u[0] > 0.6
            optimizer.tell(trial, None if failed else function(u))
    return float(np.log10(max(optimizer.best.value or 0.0, 1e-12)))


def difference(first: Recipe, second: Recipe, seeds: int = 8, batch: int = 1, crash: bool = False) -> float:
    """The mean paired difference in dex."""
    pairs = [
        regret(first, problem, seed, batch, crash) - regret(second, problem, seed, batch, crash)
        for problem in PROBLEMS
        for seed in range(seeds)
    ]
    return float(np.mean(pairs))


BLIND = replace(Recipe.default(), pseudo=none)


def test_the_default_beats_random_points_by_a_factor_of_thirty() -> None:
    assert difference(Recipe.default(), Recipe.random()) < -1.5


def test_pending_points_in_batches_of_four_are_worth_a_factor_of_two() -> None:
    assert difference(replace(BLIND, pseudo=Pending()), BLIND, batch=4) < -0.3


def test_failed_points_are_worth_a_factor_of_two() -> None:
    assert difference(replace(BLIND, pseudo=Failed()), BLIND, crash=True) < -0.3


def test_neighbours_of_the_paper_neither_help_nor_hurt_much() -> None:
    assert abs(difference(replace(BLIND, pseudo=Neighbours(0.001)), BLIND)) < 0.4
