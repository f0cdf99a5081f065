import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bopp import Float, Int, Optimizer, minimize
from bopp.errors import SpaceError


def test_suggestions_are_rounded_to_the_step() -> None:
    space = {"degrees": Float(20, 80, step=0.5), "size": Int(32, 512, step=32), "x": Float(0, 1)}
    result = minimize(lambda p: (p["degrees"] - 48.7) ** 2 + p["size"] + p["x"], space, 25, progress=False)
    assert all((2 * trial.params["degrees"]).is_integer() for trial in result.trials)
    assert all(trial.params["size"] % 32 == 0 for trial in result.trials)
    assert result.best.params["size"] == 32


@given(
    low=st.integers(-50, 50),
    steps=st.integers(1, 300),
    size=st.sampled_from([0.1, 0.25, 0.5, 1.0, 3.0, 1e-6, 1e6]),
    spare=st.floats(0, 0.9),
    u=st.floats(0, 1),
)
def test_every_step_is_reached_and_comes_back(
    low: int, steps: int, size: float, spare: float, u: float
) -> None:
    stepped = Float(low, low + size * (steps + spare), step=size)
    values = list(stepped.values())
    assert len(values) == stepped.levels == steps + 1
    assert all(stepped.decode(stepped.encode(value)) == value for value in values)
    snapped = stepped.snap(np.array([[u]]))
    assert stepped.encode(stepped.decode([u])) == snapped[0].tolist()


@given(
    low=st.integers(-(2**53), 2**52),
    last=st.integers(1, 2**53),
    step=st.integers(1, 1000),
    at=st.integers(0),
)
@example(low=0, last=2**53, step=1, at=2**53 - 1)
@example(low=-(2**53), last=2**53 - 1, step=1, at=2**53 - 2)
@example(low=-(2**53), last=2**53, step=2, at=2**53 - 1)
@example(low=1, last=2**53 - 1, step=1, at=2**52 + 1)
def test_integers_of_any_size_come_back(low: int, last: int, step: int, at: int) -> None:
    last = min(last, (2**53 - low) // step)
    stepped = Int(low, low + last * step, step=step)
    assert stepped.width == 1
    value = low + step * (at % (last + 1))
    assert stepped.decode(stepped.encode(value)) == value


@pytest.mark.parametrize(
    ("kind", "settings", "word"),
    [
        (Float, {"low": 0, "high": 1, "step": 0}, "above 0"),
        (Float, {"low": 0, "high": 1, "step": 2}, "at most"),
        (Float, {"low": 1, "high": 2, "log": True, "step": 0.1}, "either"),
        (Float, {"low": 0, "high": 1, "step": 1e-20}, "resolve"),
        (Float, {"low": 1e16, "high": 1e16 + 100, "step": 1}, "resolve"),
        (Float, {"low": 5e-324, "high": 1e-320, "step": 5e-324}, "resolve"),
        (Float, {"low": 0, "high": 1, "step": math.inf}, "step.*finite"),
        (Float, {"low": 0, "high": 1, "step": "a"}, "step.*finite"),
        (Int, {"low": 0, "high": 9, "step": -1}, "above 0"),
        (Int, {"low": 0, "high": 9, "step": 2.5}, "step.*whole"),
        (Int, {"low": 1, "high": 9, "log": True, "step": 2}, "either"),
        (Float, {"low": 0, "high": 1, "when": {}}, "when"),
    ],
)
def test_a_wrong_step_fails_where_it_is_declared(kind: Any, settings: dict[str, Any], word: str) -> None:
    with pytest.raises(SpaceError, match=word):
        kind(**settings)


@pytest.mark.parametrize(
    ("stepped", "first", "last", "levels"),
    [
        (Float(0, 1, step=0.1), [0.0, 0.1, 0.2, 0.3], 1.0, 11),
        (Float(0, 1, step=0.3), [0.0, 0.3, 0.6, 0.9], 0.9, 4),
        (Int(2, 9, step=3), [2, 5, 8], 8, 3),
        (Float(20, 80, step=0.5), [20.0, 20.5], 80.0, 121),
        (Float(-0.7, -0.1, step=0.1), [-0.7, -0.6, -0.5], -0.1, 7),
        (Float(-1, 1, step=0.3), [-1.0, -0.7, -0.4, -0.1, 0.2], 0.8, 7),
        (Float(0.2, 0.3, step=0.1), [0.2, 0.3], 0.3, 2),  # 0.3 - 0.2 < 0.1
        (Float(0.1, 0.1 * 3, step=0.1), [0.1, 0.2, 0.3], 0.3, 3),
        (Float(0, 1, step=1 / 3), [0.0, 1 / 3, 2 / 3], 0.9999999999999999, 4),
        (Float(0, 1, step=1e-15), [0.0, 1e-15, 2e-15, 3e-15], 1.0, 10**15 + 1),
        (Float(-1.7e308, 1.7e308, step=1e307), [-1.7e308, -1.6e308], 1.7e308, 35),
        (Float(0, 1e-300, step=1e-302), [0.0, 1e-302, 2e-302, 3e-302], 1e-300, 101),
        (Float(1e15, 1e15 + 10, step=0.5), [1e15, 1e15 + 0.5], 1e15 + 10, 21),
        (Int(5, 101, step=95), [5, 100], 100, 2),
        (Int(-(2**53), 2**53, step=7), [-(2**53)], 2**53 - 2**54 % 7, 2**54 // 7 + 1),
        (Int(0, 2**53, step=3), [0], 2**53 - 2, 2**53 // 3 + 1),
    ],
)
def test_steps_of_every_size_are_on_the_grid_and_come_back(
    stepped: Float | Int, first: list[float], last: float, levels: int
) -> None:
    assert stepped.levels == levels
    assert [value for value, _ in zip(stepped.values(), first, strict=False)] == first
    assert stepped.decode([1.0] * stepped.width) == last
    U = np.vstack([np.random.default_rng(0).random((200, stepped.width)), np.zeros((1, stepped.width))])
    for u, snapped in zip(U, stepped.snap(U), strict=True):
        value = stepped.decode(u.tolist())
        assert stepped.check(value) == value
        assert stepped.decode(stepped.encode(value)) == value
        if stepped.gridded:
            assert stepped.encode(value) == snapped.tolist()


def test_a_number_computed_to_be_on_a_step_is_on_it() -> None:
    stepped = Float(0, 1, step=0.1)
    assert [stepped.check(value) for value in np.arange(0, 1.01, 0.1)] == list(stepped.values())
    assert stepped.check(0.25) == 0.25  # between two steps: kept as it was observed
    assert stepped.check(0.3 + 1e-12) == 0.3 + 1e-12
    optimizer = Optimizer({"degrees": Float(20, 80, step=0.5), "n": Int(0, 10, step=5)})
    optimizer.observe({"degrees": 48.69, "n": 3}, 1.0)
    assert optimizer.trials[0].params == {"degrees": 48.69, "n": 3}
    assert optimizer.ask().state == "asked"
    assert Int(1, 9, step=1) == Int(1, 9)


@pytest.mark.fault(37)
@pytest.mark.parametrize("log", [False, True], ids=["linear", "log"])
def test_a_very_long_range_is_searched_like_one_of_floats(log: bool) -> None:
    space = {"n": Int(1, 2**53, log=log)}

    def place(n: int) -> float:
        return math.log2(n) / 53 if log else n / 2**53

    for seed in range(3):
        result = minimize(
            lambda params: (place(params["n"]) - 0.15) ** 2, space, 20, seed=seed, progress=False
        )
        assert abs(place(result.best.params["n"]) - 0.15) < 1e-3


@pytest.mark.fault(37)
@pytest.mark.parametrize(("low", "high"), [(1, 2**53), (5, 2**53), (10**6, 10**15), (2**52, 2**52 + 2**41)])
def test_every_decade_of_a_logarithmic_range_is_equally_likely(low: int, high: int) -> None:
    number = Int(low, high, log=True)
    U = np.random.default_rng(0).random((2000, number.width))
    logs = [math.log(number.decode(u)) for u in U.tolist()]
    counts, _ = np.histogram(logs, bins=16, range=(math.log(low), math.log(high)))
    assert np.sum((counts - 125) ** 2 / 125) < 50  # chi-square with 15 degrees of freedom: p < 2e-5
    assert number.decode([0.0]) == low


@given(
    bits=st.sampled_from([20, 40, 41, 46, 52]),
    power=st.floats(0, 1),
    near=st.integers(-(2**20), 2**20),
    low=st.sampled_from([1, 5, 10**6, 10**12]),
)
def test_integers_of_a_logarithmic_range_come_back(bits: int, power: float, near: int, low: int) -> None:
    """Each of them up to 2**43, and larger ones to 43 significant bits, the ends apart."""
    number = Int(low, low + 2**bits, log=True)
    for about in (2 ** int(power * bits), round(low * math.exp(power * 0.69)), low + 2**bits):
        value = min(max(about + near, low), low + 2**bits)
        (u,) = number.encode(value)
        assert 0.0 <= u <= 1.0
        again = number.decode([u])
        assert abs(again - value) <= (0 if value <= 2**43 or bits < 40 else value * 2**-42)
        assert number.decode(number.encode(again)) == again


@pytest.mark.fault(17)
@pytest.mark.parametrize(
    "ends", [(0, 2**53 + 1), (-(2**53) - 1, 0), (-(2**53), 2**53), (1, 2**63), (10**299, 10**300)]
)
def test_integers_beyond_those_that_floats_tell_apart_are_refused(ends: tuple[int, int]) -> None:
    for log in (False, True) if ends[0] > 0 else (False,):
        with pytest.raises(SpaceError, match=r"2\*\*53"):
            Int(*ends, log=log)
