from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bopp import Float, Optimizer, Recipe, Trial
from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.fit import MAP, NOISES
from bopp.gp import GP
from bopp.kernels import Kernel, SquaredExponential
from bopp.known import Known
from bopp.pseudo import MOST_SHOWN, Failed, Neighbours, Pending, Policy, Sum, generate, none
from bopp.pseudo import pending as untold
from bopp.trial import State
from support.faults import Figure
from support.toys import KERNELS, data_of, gp_of, known, smooth

Shape = Literal["box", "corner"]
SHAPES: list[Shape] = ["box", "corner"]
PENDING = np.array([[0.2, 0.9], [0.6, 0.1], [0.5, 0.5]])
FAILED = np.array([[0.8, 0.8], [0.05, 0.4]])


def toy(t: int = 1, seed: int = 0) -> Known:
    return known(smooth(9, 2, seed=2), pending=PENDING, failed=FAILED, t=t, seed=seed)


def mirror(known: Known) -> Data:
    return Data(1.0 - known.data.X, known.data.y, 0.5)


def sources(pseudo: Data, real: Data) -> npt.NDArray[np.intp]:
    """For each pseudo-point, the index of the one observation that has its value."""
    matches = pseudo.y[:, None] == real.y[None, :]
    assert np.all(matches.sum(axis=1) == 1)
    return np.asarray(np.argmax(matches, axis=1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("per_point", [1, 3])
def test_every_observation_has_its_neighbours_with_its_value_and_noise(shape: Shape, per_point: int) -> None:
    data = smooth(9, 2, seed=2)
    one, again, other = (
        known(Data(data.X, data.y, np.linspace(0.0, 1.0, 9)), seed=seed) for seed in (3, 3, 4)
    )
    policy = Neighbours(0.1, shape, per_point)
    pseudo = policy(one)
    source = sources(pseudo, data)
    assert Counter(source.tolist()) == dict.fromkeys(range(9), per_point)
    assert np.array_equal(pseudo.noise, one.data.noise[source])
    assert np.array_equal(pseudo.X, policy(again).X)
    assert not np.array_equal(pseudo.X, policy(other).X)


@pytest.mark.parametrize("per_point", [1, 2, 5])
@pytest.mark.parametrize("d", [1, 3])
def test_box_neighbours_lie_within_tau_t(per_point: int, d: int) -> None:
    seen = known(smooth(40, d, seed=1))
    tau0 = 0.2
    pseudo = Neighbours(tau0, "box", per_point)(seen)
    tau_t = tau0 / (d * per_point * 40)
    step = np.abs(pseudo.X - seen.data.X[sources(pseudo, seen.data)])
    assert step.max() <= tau_t * (1.0 + 1e-9)
    assert step.max() > 0.8 * tau_t  # and not needlessly close: uniform steps come near the wall of their box
    assert step.mean() == pytest.approx(tau_t / 2, rel=0.3)


@pytest.mark.parametrize("per_point", [1, 2, 20])
def test_corner_neighbours_are_tau_t_away_in_every_coordinate_near_a_wall_too(per_point: int) -> None:
    inside = smooth(12, 3, seed=1)
    X = np.vstack([0.1 + 0.8 * inside.X, [[0.0, 1.0, 0.5], [1e-4, 1.0 - 1e-4, 0.0]]])
    seen = known(Data(X, np.arange(14.0)))
    pseudo = Neighbours(0.3, "corner", per_point)(seen)
    step = pseudo.X - X[sources(pseudo, seen.data)]
    np.testing.assert_allclose(np.abs(step), 0.3 / (3 * per_point * 14), rtol=1e-9)
    assert len(np.unique(np.sign(step), axis=0)) > 3  # corners of many kinds
    box = Neighbours(per_point=30, distance=lambda t: 0.01)(known(Data([[0.0, 1.0]], [1.0])))
    assert np.all((box.X[:, 0] > 0.0) & (box.X[:, 1] < 1.0))  # off the wall


@pytest.mark.parametrize("shape", SHAPES)
@settings(deadline=None)
@given(
    X=arrays(
        np.float64, (6, 3), elements=st.one_of(st.sampled_from([0.0, 1.0, 1e-300, 1e-9]), st.floats(0, 1))
    ),
    tau=st.one_of(st.sampled_from([0.0, 1e-12, 1e-3, 0.5, 1.0, 3.0]), st.floats(0, 10)),
    seed=st.integers(0, 99),
)
def test_neighbours_stay_in_the_cube_and_within_tau_t(shape: Shape, X: Array, tau: float, seed: int) -> None:
    # not `known`: its model is of no use here, and points may coincide
    seen = replace(known(Data(np.eye(6, 3), np.arange(6.0)), seed=seed), data=Data(X, np.arange(6.0)))
    pseudo = Neighbours(shape=shape, per_point=2, distance=lambda t: tau)(seen)
    assert len(pseudo) == 12
    assert pseudo.X.min() >= 0.0
    assert pseudo.X.max() <= 1.0
    assert np.abs(pseudo.X - X[sources(pseudo, seen.data)]).max() <= tau * (1 + 1e-9) + 1e-15


def test_count_replaces_per_point_and_distance_tau0() -> None:
    seen = toy(t=4)
    asked = []

    def count(t: int) -> int:
        asked.append(t)
        return 5 * t

    pseudo = Neighbours(0.2, "corner", count=count)(seen)
    assert asked == [4]
    assert len(pseudo) == 20
    assert np.abs(pseudo.X - seen.data.X[sources(pseudo, seen.data)]).max() == pytest.approx(0.2 / (2 * 20))
    assert set(Counter(sources(pseudo, seen.data).tolist()).values()) == {2, 3}  # as evenly as 20 over 9 go
    assert len(set(sources(Neighbours(count=lambda t: 4)(seen), seen.data).tolist())) == 4
    pseudo = Neighbours(7.0, "corner", distance=lambda t: 0.001 * t)(seen)
    step = np.abs(pseudo.X - seen.data.X[sources(pseudo, seen.data)])
    assert (len(pseudo), np.median(step)) == (9, pytest.approx(0.004))
    nothing: list[Policy] = [none, Neighbours(per_point=0), Neighbours(count=lambda t: 0)]
    assert [policy(seen).X.shape for policy in nothing] == [(0, 2)] * 3


def valued(word: str, seen: Known, X: Array) -> Array:
    """What each word for a value means, by its definition."""
    mean, sd = seen.posterior(X)
    incumbent = max(float(seen.posterior(x[None, :])[0][0]) for x in seen.data.X)
    return {
        "expected": np.minimum(mean, incumbent),
        "incumbent": np.full(len(X), incumbent),
        "posterior": mean,
        "pessimistic": np.minimum(mean - 2.0 * sd, np.median(seen.data.y)),
        "best": np.full(len(X), max(seen.data.y)),
        "worst": np.full(len(X), min(seen.data.y)),
        "mean": np.full(len(X), sum(seen.data.y) / len(seen.data)),
    }[word]


@pytest.mark.parametrize(
    "word", ["expected", "incumbent", "posterior", "pessimistic", "best", "worst", "mean"]
)
def test_pending_and_failed_points_have_the_value_that_the_word_says(word: str) -> None:
    seen = toy()
    for policy, X in ((Pending(word), PENDING), (Failed(word), FAILED)):
        pseudo = policy(seen)
        assert np.array_equal(pseudo.X, X)
        np.testing.assert_allclose(pseudo.y, valued(word, seen, X), rtol=1e-10, atol=1e-12)
        assert np.all(np.asarray(pseudo.noise) == 0.0)
    nothing = known(smooth(4, 2, seed=0))
    assert Pending(word)(nothing).X.shape == Failed(word)(nothing).X.shape == (0, 2)


def own_value(known: Known, X: Array) -> Array:
    return np.asarray(X.sum(axis=1) + known.best)


def test_a_pending_point_is_less_uncertain_and_a_failed_one_is_poor() -> None:
    seen = toy()
    pending = seen.posterior.condition(Pending()(seen))
    assert np.all(pending(PENDING)[1] < seen.posterior(PENDING)[1])
    failed = seen.posterior.condition(Failed()(seen))
    assert np.all(failed(FAILED)[0] < seen.posterior(FAILED)[0])
    for policy, X in ((Pending(own_value), PENDING), (Failed(own_value), FAILED)):
        assert np.array_equal(policy(seen).y, X.sum(axis=1) + seen.best)


@pytest.mark.parametrize(
    ("policy", "settings", "came"),
    [
        (Neighbours, {"tau0": -0.5}, "-0.5"),
        (Neighbours, {"tau0": float("nan")}, "nan"),
        (Neighbours, {"tau0": float("inf")}, "inf"),
        (Neighbours, {"shape": "ball"}, "ball"),
        (Neighbours, {"per_point": -1}, "-1"),
        (Pending, {"value": "liar"}, "liar"),
        (Failed, {"value": "liar"}, "liar"),
        (Pending, {"value": 3.0}, "3.0"),
        (Failed, {"value": None}, "None"),
    ],
)
def test_a_setting_out_of_range_is_named(policy: Any, settings: dict[str, Any], came: str) -> None:
    with pytest.raises(RecipeError) as caught:
        policy(**settings)
    message = str(caught.value)
    assert policy.__name__ in message
    assert next(iter(settings)) in message
    assert came in message


SUMS: list[tuple[Policy, list[Policy]]] = [
    (Pending() + Failed(), [Pending(), Failed()]),
    (none + Pending(), [Pending()]),
    (Pending() + none, [Pending()]),
    (none + none, []),
    (mirror + Pending(), [mirror, Pending()]),
    (Pending() + mirror, [Pending(), mirror]),
    (mirror + (Pending() + Failed()), [mirror, Pending(), Failed()]),
    ((Pending() + Failed()) + mirror, [Pending(), Failed(), mirror]),
    (none + mirror, [mirror]),
    (mirror + none, [mirror]),
    ((Pending() + mirror) + (Failed() + Neighbours(0.1)), [Pending(), mirror, Failed(), Neighbours(0.1)]),
]


@pytest.mark.parametrize(("policy", "parts"), SUMS)
def test_a_sum_has_the_points_of_its_parts_in_order(policy: Policy, parts: list[Policy]) -> None:
    """Each with a randomness of its place."""
    together = policy(toy())
    places = [replace(toy(), key=(*toy().key, place)) for place in range(len(parts))]
    apart = sum((part(seen) for part, seen in zip(parts, places, strict=True)), Data.empty(2))
    assert np.array_equal(together.X, apart.X)
    assert np.array_equal(together.y, apart.y)
    assert np.array_equal(np.asarray(together.noise), np.asarray(apart.noise))


def test_no_two_policies_of_a_sum_draw_the_same_numbers() -> None:
    both = (Neighbours(0.1) + Neighbours(0.1))(toy())
    one, other = both.X[: len(both) // 2], both.X[len(both) // 2 :]
    assert one.shape == other.shape
    assert not {tuple(row) for row in one} & {tuple(row) for row in other}
    assert np.array_equal(both.X, (Neighbours(0.1) + Neighbours(0.1))(toy()).X)


def test_a_part_of_a_sum_sees_real_data_only() -> None:
    sizes = []

    def watch(known: Known) -> Data:
        sizes.append((len(known.data), len(data_of(known.posterior))))
        return mirror(known)

    (watch + Neighbours() + watch + Pending() + watch)(toy())
    assert sizes == [(9, 9)] * 3


def test_policies_are_values() -> None:
    assert Pending() + Failed() == Sum((Pending(), Failed()))
    assert Neighbours(0.1) == Neighbours(0.1) != Neighbours(0.2)
    assert hash(Pending() + Failed()) == hash(Pending() + Failed())


def surface(kind: str, d: int, seed: int) -> Data:
    """Thirty standardised values: waves, a draw from a prior, a step, or pure noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((30, d))
    if kind == "drawn":
        K = GP(SquaredExponential(), np.full(d, 0.3)).covariance(X, X)[0] + 1e-8 * np.eye(30)
        y = np.linalg.cholesky(K) @ rng.normal(size=30)
    else:
        shapes = {
            "waves": np.sin(12.0 * X).sum(1),
            "step": np.sign(X[:, 0] - 0.5),
            "noise": rng.normal(size=30),
        }
        y = shapes[kind]
    return Data(X, (y - y.mean()) / y.std())


def reach(kind: str, kernel: Kernel, d: int, policy: Policy, tau: float, seed: int) -> float:
    """The largest |mean| in units of the largest |y|, with the noise of the model at its floor."""
    data = surface(kind, d, seed)
    (fitted,) = MAP(noise=NOISES[0])(data, kernel, np.random.default_rng(0))
    seen = known(data, gp_of(fitted))
    posterior = seen.posterior.condition(policy(seen))
    rng = np.random.default_rng(1)
    near = [np.clip(data.X + size * rng.normal(size=data.X.shape), 0, 1) for size in (0.0, tau, 1e-3)]
    return float(np.abs(posterior(np.vstack([rng.random((1000, d)), *near]))[0]).max() / np.abs(data.y).max())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("tau", [0.0, 1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("kind", ["waves", "drawn"])
def test_neighbours_keep_the_mean_near_the_data(kind: str, tau: float, d: int, kernel: Kernel) -> None:
    neighbours = Neighbours(distance=lambda t: tau)
    assert max(reach(kind, kernel, d, neighbours, tau, seed) for seed in range(4)) <= 1.5


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", ["box", "corner"])
@pytest.mark.parametrize("tau", [1e-4, 1e-2])
@pytest.mark.parametrize("kind", ["step", "noise"])
def test_neighbours_throw_the_mean_no_further_than_the_data_do(
    kind: str, tau: float, shape: Literal["box", "corner"], kernel: Kernel
) -> None:
    """Where the plain model itself swings beyond the data, as between jumps, copies add nothing to it."""
    neighbours = Neighbours(shape=shape, distance=lambda t: tau)
    for d in (1, 2):
        for seed in range(4):
            plain = reach(kind, kernel, d, none, tau, seed)
            assert reach(kind, kernel, d, neighbours, tau, seed) <= 1.5 * max(1.0, plain)


def test_without_doubt_a_copy_has_the_noise_of_the_model_whatever_the_distance() -> None:
    gp = GP(SquaredExponential(), np.full(2, 5e-3), 1.0, 1e-4)  # short: the prior expects large differences
    seen = known(surface("waves", 2, 0), gp)
    assert np.all(Neighbours(0.01, doubt=False)(seen).noise == 0.0)
    assert Neighbours(1.0)(seen).noise.max() > 1e-3


@pytest.mark.parametrize(
    "answer", [None, np.zeros(3), Data(np.zeros((1, 3)), [0.0]), Data(np.zeros((1, 2)), [np.nan])]
)
def test_what_a_policy_returns_is_checked_alone_and_in_a_sum(answer: Any) -> None:
    def mistaken(seen: Known) -> Any:
        return answer

    for policy in (mistaken, Pending() + mistaken):
        with pytest.raises(RecipeError, match="mistaken"):
            generate(policy, toy())


def test_a_policy_can_speak_in_the_units_of_the_user() -> None:
    """An expert expects about 0.4 at rate 0.1, of an objective that is minimised."""
    heard: list[Data] = []

    def expert(seen: Known) -> Data:
        point = seen.space.encode({"rate": 0.1})
        heard.append(Data([point], seen.scale(np.array([-0.4])), noise=0.25))
        return heard[-1]

    recipe = replace(Recipe.default(), pseudo=Pending() + expert)
    optimizer = Optimizer({"rate": Float(1e-3, 1, log=True)}, recipe=recipe)
    for rate in (0.001, 0.003, 0.01, 0.03, 1.0):
        optimizer.observe({"rate": rate}, 1.0 + rate)
    optimizer.ask()
    assert heard[-1].X[0, 0] == pytest.approx(2 / 3)
    assert heard[-1].y[0] > 0.0  # better than all that was seen


def test_of_very_many_points_the_model_sees_the_latest_and_others_evenly_spaced() -> None:
    X = np.linspace(0.0, 1.0, 10_000)[:, None]
    shown = untold._shown(X)
    assert len(shown) == MOST_SHOWN
    assert np.array_equal(shown[-500:], X[-500:])
    assert np.array_equal(shown[:500], X[:9500:19])
    assert np.array_equal(untold._shown(X[:MOST_SHOWN]), X[:MOST_SHOWN])


@pytest.mark.fault(40)
@pytest.mark.parametrize("state", ["asked", "failed"])
def test_ten_thousand_points_without_a_value_cost_hardly_more_than_a_thousand(
    state: State, figure: Figure
) -> None:
    """Without a limit, each of them costs as much as an observation: a thousand times more."""
    times = []
    for count in (1000, 10_000, 1000, 10_000):
        points = np.random.default_rng(0).random((count + 30, 2)).tolist()
        trials = [
            Trial(i, {"a": a, "b": b}, "done", {"value": a * b})
            if i < 30
            else Trial(i, {"a": a, "b": b}, state)
            for i, (a, b) in enumerate(points)
        ]
        optimizer = Optimizer({"a": Float(0, 1), "b": Float(0, 1)}, trials=trials)
        began = time.process_time()
        trial = optimizer.ask()
        times.append(time.process_time() - began)
        assert trial.params not in [other.params for other in trials]
    figure(f"a suggestion beside 10,000 {state}: {min(times[1::2]):.2f} s")
    assert min(times[1::2]) < 3 * max(times[::2]) + 0.5
