from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

from bopp import Choice, Float, Int
from bopp.data import Array, Data, History
from bopp.errors import RecipeError
from bopp.search import ARRIVED, Direct, Gradients, Score, Search, _foremost, ascend, ranked
from bopp.space import Space
from support.toys import slope

INSIDE, FACE, CORNER = [0.3, 0.62, 0.81], [0.4, 1.7, 0.55], [-0.5, 1.6, 2.0]
THOROUGH = Gradients(finalists=None, ample=math.inf)
THRIFTY = Gradients(finalists=4, ample=0.5)  # after one observation, half of the points
SEARCHES: list[Search] = [THOROUGH, Gradients(), Direct(), THRIFTY, Gradients(finalists=1, ample=1e-3)]
CUBE = Space({name: Float(0, 1) for name in "abc"})


@dataclass(frozen=True, eq=False)
class Hill:
    """A concave quadratic with its top at `peak`, anywhere in space."""

    peak: Array
    curvature: Array

    def values(self, U: Array) -> Array:
        assert len(U) > 0
        return np.asarray(-0.5 * np.einsum("mi,ij,mj->m", U - self.peak, self.curvature, U - self.peak))

    def gradient(self, U: Array) -> tuple[Array, Array]:
        return self.values(U), -(U - self.peak) @ self.curvature


@dataclass(frozen=True, eq=False)
class Bumps:
    """Many Gaussian bumps of different height."""

    centres: Array
    heights: Array
    width: float = 0.15

    def _parts(self, U: Array) -> tuple[Array, Array]:
        away = U[:, None, :] - self.centres
        return away, self.heights * np.exp(-0.5 * (away**2).sum(axis=2) / self.width**2)

    def values(self, U: Array) -> Array:
        return np.asarray(self._parts(U)[1].sum(axis=1))

    def gradient(self, U: Array) -> tuple[Array, Array]:
        away, parts = self._parts(U)
        return parts.sum(axis=1), -np.einsum("mk,mkd->md", parts, away) / self.width**2


def round_hill(peak: list[float]) -> Hill:
    return Hill(np.array(peak), np.diag([1.0, 3.0, 20.0]))


def skew_hill(peak: list[float], seed: int = 0) -> Hill:
    """Its curvature ranges over two orders of magnitude, along no coordinate."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return Hill(np.array(peak), Q @ np.diag([0.3, 3.0, 30.0]) @ Q.T)


def bumps(seed: int = 0) -> Bumps:
    rng = np.random.default_rng(seed)
    return Bumps(rng.random((12, 3)), rng.uniform(0.2, 1.0, 12))


def find(search: Search, score: Score, space: Space, had: Array | None = None, seed: int = 0) -> Array:
    """The point that is found where the points `had` were evaluated; one somewhere if not given."""
    if had is None:
        had = space.snap(np.random.default_rng([9, seed]).random((1, space.dimension)))
    nowhere = np.empty((0, space.dimension))
    history = History.of(Data(had, score.values(had)), nowhere, nowhere)
    return search(score, space, history, np.random.default_rng(seed))


def climbed(score: Score, start: Array) -> Array:
    """Where scipy's L-BFGS-B ends."""

    def loss(u: Array) -> tuple[float, Array]:
        value, gradient = score.gradient(u[None, :])
        return -float(value[0]), -gradient[0]

    options = {"ftol": 1e-15, "gtol": 1e-9}
    bounds = [(0.0, 1.0)] * len(start)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x)


@pytest.mark.parametrize("peak", [INSIDE, FACE, CORNER])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradients_find_what_lbfgsb_finds_on_a_skew_hill(peak: list[float], seed: int) -> None:
    score = skew_hill(peak, seed)
    found = find(THOROUGH, score, CUBE, seed=seed)
    assert np.array_equal(found, find(THOROUGH, score, CUBE, seed=seed))
    wanted = climbed(score, np.full(3, 0.5))
    np.testing.assert_allclose(found, wanted, atol=1e-3)
    np.testing.assert_allclose(score.values(found[None, :]), score.values(wanted[None, :]), atol=1e-6)


@pytest.mark.parametrize("search", [THOROUGH, THRIFTY])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_gradients_find_the_highest_of_many_bumps(search: Search, seed: int) -> None:
    score = bumps(seed)
    tops = np.array([climbed(score, centre) for centre in score.centres])
    found = find(search, score, CUBE, seed=seed)
    assert score.values(found[None, :])[0] == pytest.approx(score.values(tops).max(), abs=1e-6)


@pytest.mark.parametrize("peak", [INSIDE, FACE, CORNER])
def test_every_ascent_ends_where_lbfgsb_ends(peak: list[float]) -> None:
    score = skew_hill(peak)
    starts = np.vstack([np.random.default_rng(5).random((8, 3)), np.zeros(3), np.ones(3)])
    tops, values = ascend(score, starts, np.ones(3, dtype=bool), 100)
    wanted = np.array([climbed(score, start) for start in starts])
    np.testing.assert_allclose(values, score.values(wanted), atol=1e-5)
    np.testing.assert_allclose(tops, wanted, atol=5e-3)
    np.testing.assert_allclose(values, score.values(tops), rtol=1e-12, atol=1e-15)


def test_an_ascent_never_ends_below_its_start_nor_outside_the_cube() -> None:
    starts = np.random.default_rng(6).random((40, 3))
    for seed in range(3):
        for steps in (1, 3, 50):
            tops, values = ascend(bumps(seed), starts, np.ones(3, dtype=bool), steps)
            assert np.all(values >= bumps(seed).gradient(starts)[0])
            assert tops.min() >= 0.0
            assert tops.max() <= 1.0


@pytest.mark.parametrize("steps", [1, 4, 50])
def test_each_start_climbs_as_if_it_were_alone(steps: int) -> None:
    """Wherever the others arrive before it."""
    starts, free = np.random.default_rng(8).random((12, 3)), np.ones(3, dtype=bool)
    for score in (bumps(1), skew_hill(FACE), skew_hill(INSIDE)):
        tops, values = ascend(score, starts, free, steps)
        alone = [ascend(score, start[None, :], free, steps) for start in starts]
        np.testing.assert_allclose(tops, np.vstack([top for top, _ in alone]), rtol=0, atol=1e-9)
        np.testing.assert_allclose(values, np.concatenate([value for _, value in alone]), atol=1e-12)


def test_an_ascent_moves_free_columns_only_and_not_its_argument() -> None:
    starts = np.random.default_rng(7).random((5, 3))
    before = starts.copy()
    tops, _ = ascend(round_hill(INSIDE), starts, np.array([True, False, True]), 50)
    assert np.array_equal(starts, before)
    assert np.array_equal(tops[:, 1], starts[:, 1])
    np.testing.assert_allclose(tops[:, [0, 2]], np.tile([0.3, 0.81], (5, 1)), atol=10 * ARRIVED)
    steep = Hill(np.array([0.4, 0.5]), np.diag([1.0, 1e6]))  # in a column that is held
    tops, _ = ascend(steep, np.array([[0.1, 0.9], [0.8, 0.1]]), np.array([True, False]), 50)
    np.testing.assert_allclose(tops[:, 0], 0.4, atol=1e-3)


@pytest.mark.parametrize("size", [1e-200, 1e-100, 1e-9, 1e9, 1e100])
def test_the_unit_of_the_score_does_not_matter(size: float) -> None:
    hill = skew_hill(INSIDE)
    u = find(THOROUGH, Hill(hill.peak, size * hill.curvature), CUBE)
    np.testing.assert_allclose(u, INSIDE, atol=1e-3)


def test_a_score_that_is_flat_gives_a_point_of_the_cube() -> None:
    flat = Hill(np.zeros(3), np.zeros((3, 3)))
    for search in SEARCHES:
        u = find(search, flat, CUBE)
        assert u.shape == (3,)
        assert np.all((u >= 0.0) & (u <= 1.0))


@pytest.mark.parametrize("peak", [INSIDE, FACE, CORNER])
@pytest.mark.parametrize("evaluations", [500, 1000])
def test_direct_finds_the_top_roughly_within_its_evaluations(peak: list[float], evaluations: int) -> None:
    """Without randomness and without a gradient."""
    counted = Counted(round_hill(peak))
    u = find(Direct(evaluations), counted, CUBE)
    np.testing.assert_allclose(u, np.clip(peak, 0.0, 1.0), atol=0.06)
    # it ends an iteration that it began, and the point that it found is looked at once more
    assert 0.5 * evaluations < sum(counted.values_of) <= 1.2 * evaluations + 50
    assert counted.gradients_of == []
    had = np.full((1, 3), 0.123)
    first, second = (find(Direct(evaluations), counted, CUBE, had, seed) for seed in (0, 1))
    assert np.array_equal(first, second)


@dataclass(frozen=True, eq=False)
class Mixed:
    """For each of three options a ridge x = start + slant * n along which n falls off, steeply on one side.

    In columns (x, n, one of three): linear between the options, smooth in x and n.
    """

    offset: Array
    start: Array
    slant: Array
    centre: Array
    steps: int
    steepness: float = 25.0  # of the fall below the centre; above it is 1

    def _terms(self, U: Array) -> tuple[Array, Array, Array]:
        across = U[:, :1] - self.start - self.slant * U[:, 1:2]
        along = self.steps * U[:, 1:2] - self.centre
        return across, along, np.where(along < 0.0, self.steepness, 1.0)

    def options(self, U: Array) -> Array:
        """The score (m, 3) that each option has at x and n."""
        across, along, steep = self._terms(U)
        return np.asarray(self.offset - 30.0 * across**2 - 40.0 * steep * (along / self.steps) ** 2)

    def values(self, U: Array) -> Array:
        return np.asarray((U[:, 2:] * self.options(U)).sum(axis=1))

    def gradient(self, U: Array) -> tuple[Array, Array]:
        across, along, steep = self._terms(U)
        by_x = (U[:, 2:] * -60.0 * across).sum(axis=1)
        by_n = (U[:, 2:] * (60.0 * across * self.slant - 80.0 * steep * along / self.steps)).sum(axis=1)
        return self.values(U), np.column_stack([by_x, by_n, self.options(U)])


def ridges(seed: int, steps: int = 20) -> Mixed:
    rng = np.random.default_rng(seed)
    centre = np.floor(rng.uniform(0.2, 0.8, 3) * steps) + 0.45  # rounds down, where it is steep
    return Mixed(rng.normal(0.0, 0.3, 3), rng.uniform(0.2, 0.4, 3), rng.uniform(-0.2, 0.5, 3), centre, steps)


def by_brute_force(score: Mixed) -> tuple[float, int, int]:
    """x, n and option of the largest score, each n and option tried with the best x for it."""
    tried = []
    for n in range(score.steps + 1):
        for option in range(3):
            x = float(np.clip(score.start[option] + score.slant[option] * n / score.steps, 0.0, 1.0))
            row = np.array([[x, n / score.steps, *np.eye(3)[option]]])
            tried.append((float(score.values(row)[0]), x, n, option))
    return max(tried)[1:]


def mixed_space(steps: int = 20) -> Space:
    return Space({"x": Float(0, 1), "n": Int(0, steps), "option": Choice([0, 1, 2])})


@pytest.mark.parametrize(
    ("score", "d"), [(skew_hill(INSIDE), 3), (bumps(), 3), (ridges(0), 5)], ids=["hill", "bumps", "ridges"]
)
def test_the_toys_have_the_gradients_they_claim(score: Score, d: int) -> None:
    u = np.random.default_rng(3).random(d)
    wanted = slope(lambda u: float(score.values(u[None, :])[0]), u)
    np.testing.assert_allclose(score.gradient(u[None, :])[1][0], wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("steps", [20, 200])
@pytest.mark.parametrize("seed", range(6))
def test_gradients_find_exactly_the_best_of_a_mixed_space(seed: int, steps: int) -> None:
    """Where rounding the best point between the integers would be wrong."""
    score, space = ridges(seed, steps), mixed_space(steps)
    u = find(THOROUGH, score, space, seed=seed)
    params = space.decode(u)
    x, n, option = by_brute_force(score)
    assert round(score.centre[option]) == n - 1
    assert (params["n"], params["option"]) == (n, option)
    assert params["x"] == pytest.approx(x, abs=1e-4)
    assert np.array_equal(space.snap(u[None, :])[0], u)


SPACES: dict[str, dict[str, Any]] = {
    "log": {"x": Float(1e-3, 10, log=True), "n": Int(1, 10**6, log=True)},
    "two options": {"x": Float(0, 1), "flag": Choice([True, False])},
    "ordered": {"x": Float(0, 1), "size": Choice(["s", "m", "l", "xl"], ordered=True)},
    "many integers": {"n": Int(0, 10**12), "m": Int(-5, 5)},
    "one option": {"x": Float(0, 1), "only": Choice(["this"]), "n": Int(0, 9)},
    "one option beside floats": {"x": Float(0, 1), "only": Choice(["this"])},
    "one hot": {"x": Float(0, 1), "act": Choice(list("abcdef")), "n": Int(0, 9)},
    "all discrete": {"n": Int(0, 99), "m": Int(0, 99), "act": Choice(list("abc"))},
}


@pytest.mark.parametrize("parameters", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_found_point_is_on_the_grid(search: Search, parameters: dict[str, Any], seed: int) -> None:
    space = Space(parameters)
    peak = np.random.default_rng(seed).random(space.dimension)
    u = find(search, Hill(peak, np.eye(space.dimension)), space, seed=seed)
    assert np.array_equal(space.snap(u[None, :])[0], u)
    np.testing.assert_allclose(space.encode(space.decode(u)), u, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_of_a_finite_space_is_found_whatever_its_size(seed: int) -> None:
    for high in (50, 300):  # some 2,700 points, all tried; some 90,000, searched
        space = Space({"n": Int(0, high), "m": Int(0, high)})
        peak = np.random.default_rng(seed).random(2)
        score = Hill(peak, np.array([[3.0, 1.0], [1.0, 2.0]]))
        grid = np.array([[n / high, m / high] for n in range(high + 1) for m in range(high + 1)])
        wanted = score.values(grid).max()
        assert score.values(find(THOROUGH, score, space, seed=seed)[None, :])[0] == pytest.approx(
            wanted, rel=1e-9
        )
        best = find(THOROUGH, score, space, seed=seed)  # where it was had, one of the next is found
        found = score.values(find(THOROUGH, score, space, best[None, :], seed)[None, :])[0]
        assert np.sum(score.values(grid) > found + 1e-12) <= 10


TWELVE = Space({"n": Int(0, 2), "act": Choice(["relu", "tanh", "elu", "silu"])})


def cover(search: Search, score: Score, seed: int) -> Array:
    """The points of the space of twelve in the order in which they are found, the first one given."""
    had = TWELVE.grid[seed : seed + 1]
    for _ in range(11):
        had = np.vstack([had, find(search, score, TWELVE, had, seed)])
    return had


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_space_of_twelve_points_is_covered_by_twelve(search: Search, seed: int) -> None:
    score = Hill(np.random.default_rng(seed).random(5), np.eye(5))
    had = cover(search, score, seed)
    assert {(params["n"], params["act"]) for params in map(TWELVE.decode, had)} == {
        (n, act) for n in range(3) for act in ("relu", "tanh", "elu", "silu")
    }
    again = find(search, score, TWELVE, had, seed)
    assert np.array_equal(TWELVE.snap(again[None, :])[0], again)
    if search is THOROUGH:
        assert np.all(np.diff(score.values(had[1:])) <= 0.0)  # from the best down


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("space", [CUBE, mixed_space(), TWELVE], ids=["floats", "mixed", "twelve"])
@pytest.mark.parametrize("state", ["done", "pending", "failed"])
def test_a_point_of_the_history_is_not_found_again(search: Search, space: Space, state: str) -> None:
    middle = space.snap(np.full((1, space.dimension), 0.5))[0]
    score = Hill(middle, np.eye(space.dimension))
    nowhere = np.empty((0, space.dimension))
    first = search(
        score,
        space,
        History.of(Data(np.zeros((1, len(middle))), np.zeros(1)), nowhere, nowhere),
        np.random.default_rng(0),
    )
    had = {name: first[None, :] if name == state else nowhere for name in ("pending", "failed")}
    data = Data(first[None, :] if state == "done" else np.zeros_like(first[None, :]), np.zeros(1))
    second = search(score, space, History.of(data, **had), np.random.default_rng(0))
    assert np.abs(second - first).max() > 1e-10


@pytest.mark.parametrize(
    ("search", "name", "value"),
    [
        *product([Gradients], ["candidates", "starts", "steps", "finalists", "ample"], [0, -3]),
        *product([Gradients], ["ample"], [math.nan, "200"]),
        *product([Gradients], ["finalists"], [1.5, "all"]),
        *product([Direct], ["evaluations"], [0, -3]),
    ],
)
def test_a_setting_out_of_range_is_named(search: Any, name: str, value: Any) -> None:
    with pytest.raises(RecipeError, match=name) as caught:
        search(**{name: value})
    assert repr(value) in str(caught.value)
    assert search() == search()
    assert hash(search()) == hash(search())


@dataclass(frozen=True, eq=False)
class Counted:
    """A score that counts what it was asked for."""

    score: Score
    values_of: list[int] = field(default_factory=list)
    gradients_of: list[int] = field(default_factory=list)

    def values(self, U: Array) -> Array:
        self.values_of.append(len(U))
        return self.score.values(U)

    def gradient(self, U: Array) -> tuple[Array, Array]:
        self.gradients_of.append(len(U))
        return self.score.gradient(U)


def watched(search: Search, score: Score, space: Space, observations: int) -> Counted:
    """What a search after so many observations asks of a score."""
    had = space.snap(np.random.default_rng(0).random((observations, space.dimension)))
    nowhere = had[:0]
    counted = Counted(score)
    search(
        counted, space, History.of(Data(had, score.values(had)), nowhere, nowhere), np.random.default_rng(0)
    )
    return counted


@pytest.mark.parametrize(
    ("observations", "points", "starts"),
    [(1, 750, 10), (200, 750, 10), (400, 375, 7), (1000, 150, 4), (9000, 150, 4)],
)
def test_with_ample_observations_fewer_points_are_tried(observations: int, points: int, starts: int) -> None:
    counted = watched(Gradients(finalists=None, ample=200), bumps(), CUBE, observations)
    assert counted.values_of[0] == points
    assert counted.gradients_of[0] == starts


def test_finalists_save_work_in_a_mixed_space() -> None:
    spent = [
        sum(counted.values_of[1:]) + sum(counted.gradients_of)
        for counted in (
            watched(search, ridges(0, 200), mixed_space(200), 30)
            for search in (THOROUGH, replace(THOROUGH, finalists=4), replace(THOROUGH, finalists=1))
        )
    ]
    assert spent[1] < 0.6 * spent[0]
    assert spent[2] < spent[1]


@pytest.mark.parametrize("seed", range(3))
def test_thrift_that_has_nothing_to_save_changes_no_bit(seed: int) -> None:
    """Without discrete parameters there are no finalists, and up to `ample` observations none too many."""
    had = np.random.default_rng(seed).random((40, 3))
    score = bumps(seed)
    assert np.array_equal(
        find(Gradients(finalists=2, ample=40), score, CUBE, had, seed),
        find(THOROUGH, score, CUBE, had, seed),
    )
    mixed = mixed_space()
    had = mixed.snap(np.random.default_rng(seed).random((40, 5)))
    assert np.array_equal(
        find(Gradients(finalists=None, ample=40), ridges(seed), mixed, had, seed),
        find(THOROUGH, ridges(seed), mixed, had, seed),
    )


@pytest.mark.parametrize("space", [CUBE, mixed_space(200)], ids=["floats", "mixed"])
@pytest.mark.parametrize("seed", range(4))
def test_a_thrifty_search_finds_more_than_any_point_that_it_begins_with(space: Space, seed: int) -> None:
    score: Score = bumps(seed) if space is CUBE else ridges(seed, 200)
    had = space.snap(np.random.default_rng([1, seed]).random((50, space.dimension)))
    found = find(Gradients(finalists=4, ample=1), score, space, had, seed)
    count = 100 if space is CUBE else 200  # a fifth
    first = space.snap(np.random.default_rng(seed).random((count, space.dimension)))
    assert score.values(found[None, :])[0] > score.values(np.vstack([first, had])).max()


def test_where_a_thrifty_search_ends_no_change_of_a_discrete_parameter_helps() -> None:
    """It ends at such a point, and at the best of them in most of a dozen spaces; all ascents find each."""
    best = 0
    for seed, steps in product(range(6), (20, 200)):
        score, space = ridges(seed, steps), mixed_space(steps)
        found = find(THRIFTY, score, space, seed=seed)
        moves, _ = space.moves(found[None, :])
        (value,) = score.values(found[None, :])
        assert score.values(moves).max() <= value + 1e-8 * abs(value)
        x, n, option = by_brute_force(score)
        top = score.values(np.array([[x, n / steps, *np.eye(3)[option]]]))[0]
        assert value > top - 0.3  # one sd of the offsets between options
        best += value > top - 1e-6
    assert best >= 8


@pytest.mark.parametrize("space", [CUBE, mixed_space(200)], ids=["floats", "mixed"])
def test_the_smallest_search_works_after_many_observations(space: Space) -> None:
    had = space.snap(np.random.default_rng(0).random((50, space.dimension)))
    score = Hill(np.full(space.dimension, 0.4), np.eye(space.dimension))
    for starts in (1, 2, 3):
        u = find(Gradients(1, 1, starts, 1, finalists=1, ample=1), score, space, had)
        assert np.array_equal(space.snap(u[None, :])[0], u)
        assert np.abs(had - u).max(axis=1).min() > 1e-10


@pytest.mark.parametrize("name", ["log", "one hot", "all discrete"])
def test_moves_are_tried_once_from_each_point(name: str) -> None:
    tried: list[tuple[float, ...]] = []

    class Watched(Space):
        def moves(self, U: Array) -> tuple[Array, npt.NDArray[np.intp]]:
            tried.extend(map(tuple, U.tolist()))
            return super().moves(U)

    space = Watched(SPACES[name])
    rng = np.random.default_rng(1)
    score = Bumps(rng.random((6, space.dimension)), rng.uniform(0.2, 1.0, 6), width=0.5)
    found = find(THOROUGH, score, space)
    assert len(tried) == len(set(tried)) > 0
    moves, _ = Space.moves(space, found[None, :])
    assert np.all(score.values(moves) <= score.values(found[None, :]) * (1.0 + 1e-6))


@dataclass(frozen=True, eq=False)
class Trembling:
    """A score whose last digits depend on what is computed with it, as on another processor."""

    score: Score
    seed: int
    size: float = 1e-10

    def _tremble(self, values: Array) -> Array:
        return values * (1.0 + self.size * np.random.default_rng(self.seed).standard_normal(len(values)))

    def values(self, U: Array) -> Array:
        return self._tremble(self.score.values(U))

    def gradient(self, U: Array) -> tuple[Array, Array]:
        values, slopes = self.score.gradient(U)
        return self._tremble(values), slopes


TWINS = Bumps(
    np.array([[0.25, 0.5], [0.75, 0.5]]), np.array([1.0, 1.0])
)  # each the mirror image of the other


@pytest.mark.parametrize(
    "space",
    [
        Space({"a": Int(0, 20), "b": Int(0, 20)}),
        Space({"a": Int(0, 200), "b": Int(0, 200)}),
        Space({"a": Int(0, 200), "b": Float(0, 1)}),
        Space({"a": Choice([i / 200 for i in range(201)], ordered=True), "b": Int(1, 1000, log=True)}),
    ],
    ids=["tried one by one", "climbed", "mixed", "choices"],
)
def test_rounding_does_not_decide_between_points_that_are_equal(space: Space) -> None:
    nothing = np.empty((0, 2))
    history = History.of(Data([[0.5, 0.5], [0.1, 0.9]], [0.0, 1.0]), nothing, nothing)
    found = [THOROUGH(Trembling(TWINS, seed), space, history, np.random.default_rng(0)) for seed in range(12)]
    assert TWINS.values(found[0][None, :])[0] > 0.99
    for u in found:
        np.testing.assert_allclose(u, found[0], rtol=0, atol=1e-3)
        np.testing.assert_array_equal(u[space.discrete], found[0][space.discrete])


def test_ranks_go_by_value_and_among_equals_by_place() -> None:
    one, two = 1.0 + 1e-12, 2.0 + 1e-12
    assert ranked(np.array([1.0, 2.0, one, two, -3.0, 2.0])).tolist() == [1, 3, 5, 0, 2, 4]
    assert ranked(np.array([1e-200, 2e-200, 2e-200 * one])).tolist() == [1, 2, 0]
    assert ranked(np.array([-1e200, -1e200 * one, -2e200])).tolist() == [0, 1, 2]
    assert ranked(np.array([0.0, 1e-300, -1e-300, -0.0])).tolist() == [1, 0, 3, 2]
    values = np.array([np.nan, -np.inf, 0.0, np.inf, 1.0, -np.inf, np.inf, 1.0])
    assert ranked(values).tolist() == [3, 6, 4, 7, 2, 1, 5, 0]
    assert ranked(np.empty(0)).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_the_foremost_is_the_first_in_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    for size in (1.0, -1e-200, 1e200):
        for spread in (0.0, 1e-9, 3e-9, 1e-8, 3e-8, 1.0):
            values = size * (1.0 + spread * rng.standard_normal(9))
            assert _foremost(values) == ranked(values)[0]
            values[rng.integers(9, size=3)] = rng.choice(odd, 3)
            assert _foremost(values) == ranked(values)[0]
    for value in odd:
        assert _foremost(np.full(4, value)) == 0
