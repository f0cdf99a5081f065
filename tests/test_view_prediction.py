from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bopp import AtMost, Choice, Fixed, Float, Holds, Int, Optimizer, Problem, Recipe, Result, Trial, fit
from bopp.errors import SpaceError
from bopp.model import believe
from bopp.outcome import raw
from bopp.parameter import Parameter

LINE: dict[str, Parameter] = {"x": Float(0, 10)}
RICH: dict[str, Parameter] = {
    "degrees": Float(20, 80, step=0.5),
    "rate": Float(1e-6, 1, log=True),
    "method": Choice(["stir", "shake", "leave"]),
    "speed": Int(100, 900, step=100, when={"method": ["stir", "shake"]}),
    "epochs": Fixed(30),
}


def told(pairs: list[tuple[float, float]], problem: Problem | None = None) -> Result:
    """Trials with these x and values."""
    trials = (Trial(i, {"x": x}, "done", {"value": y}) for i, (x, y) in enumerate(pairs))
    return Result(problem or Problem(LINE), tuple(trials))


def waves(count: int = 15) -> Result:
    return told([(x, 1e3 + 100.0 * np.sin(x)) for x in np.linspace(0.0, 8.0, count).tolist()])


def rich(count: int = 25) -> Result:
    """Noisy trials in a space of every kind, with constraints and a failure."""
    constraints = [AtMost("cost", 5.0), Holds("not too hot", lambda p: p["degrees"] < 75)]
    opt = Optimizer(Problem(RICH, constraints=constraints))
    rng = np.random.default_rng(0)
    for _ in range(count):
        params = opt.space.decode(rng.random(opt.space.dimension))
        value = (params["degrees"] - 48.0) ** 2 / 100.0 + params.get("speed", 0) / 100.0
        opt.observe(params, {"value": value, "cost": 1.0}, noise=0.05)
    opt.observe(opt.space.decode(rng.random(opt.space.dimension)), None)
    return opt.result


def test_a_prediction_is_close_where_there_are_trials_and_doubtful_elsewhere() -> None:
    result = waves()
    for x in (0.0, 2.2, 5.1):
        mean, sd = result.predict({"x": x})
        assert mean == pytest.approx(1e3 + 100.0 * np.sin(x), abs=5.0)
        assert 0.0 <= sd < 10.0
    assert result.predict({"x": 10.0}).sd > 4.0 * result.predict({"x": 5.1}).sd


def test_a_dict_gives_a_pair_and_a_list_gives_pairs() -> None:
    result = waves()
    points = [{"x": 1.0}, {"x": 9.5}]
    pairs = result.predict(points)
    assert [type(number) for pair in pairs for number in pair] == [float] * 4
    for pair, params in zip(pairs, points, strict=True):
        assert result.predict(params) == pytest.approx(pair, rel=1e-9)
    assert result.predict([]) == []


def test_without_a_power_these_are_the_moments_of_the_beliefs() -> None:
    result = waves()
    recipe = Recipe(fit=fit.SliceSampling(samples=3, burn_in=2), outcome=raw)
    model = believe(result.history().data, recipe)
    mean, sd = model.beliefs(np.array([[0.37]]))
    assert result.predict({"x": 3.7}, recipe) == pytest.approx((-mean[0], sd[0]), rel=1e-9)


def test_with_a_power_these_are_the_moments_of_the_values() -> None:
    """The same from a million draws of the model, each mapped back."""
    result = told([(x, float(np.exp(x))) for x in np.linspace(0.0, 9.0, 8).tolist()])
    model = believe(result.history().data, Recipe.default())
    assert model.scale.power != 1.0
    mean, sd = model.beliefs(result.space.encode({"x": 9.6})[None, :])
    values = -model.scale.inverse(mean + sd * np.random.default_rng(0).standard_normal(10**6))
    assert result.predict({"x": 9.6}) == pytest.approx((values.mean(), values.std()), rel=0.02)


def test_to_minimise_is_to_maximise_the_opposite() -> None:
    down = waves()
    up = told([(t.params["x"], -t.value) for t in down.trials], Problem(LINE, {"value": "maximize"}))
    mean, sd = down.predict({"x": 4.4})
    assert up.predict({"x": 4.4}) == (-mean, sd)


def test_params_of_every_kind_can_be_predicted() -> None:
    result = rich()
    leave = {"degrees": 48.0, "rate": 1e-3, "method": "leave", "epochs": 30}
    stir = leave | {"method": "stir", "speed": 900}
    hot = leave | {"degrees": 79.3}  # breaks a constraint and lies off the step
    quiet, fast, warm = result.predict([leave, stir, hot])
    assert quiet.mean < 3.0 < 6.0 < fast.mean
    assert warm.mean > quiet.mean + 3.0
    assert all(np.isfinite(pair).all() and pair.sd >= 0.0 for pair in (quiet, fast, warm))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "missing"),
        ({"x": 11.0}, "'x'"),
        ({"x": 1.0, "y": 2.0}, "unknown"),
        ([{"x": 1.0}, {"x": "far"}], "'x'"),
        ([3.0], "3.0"),
        ("x", "'x'"),
        (3.0, "3.0"),
    ],
)
def test_params_that_do_not_fit_are_refused(params: Any, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        waves().predict(params)


@settings(deadline=None, max_examples=40)
@given(values=st.lists(st.floats(-1.7e308, 1.7e308), min_size=1, max_size=8), x=st.floats(0.0, 10.0))
def test_predictions_of_any_values_are_finite(values: list[float], x: float) -> None:
    mean, sd = told([(float(i), value) for i, value in enumerate(values)]).predict({"x": x})
    assert np.isfinite([mean, sd]).all()
    assert sd >= 0.0
