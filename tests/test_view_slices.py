from typing import Any

import numpy as np
import pytest

from bopp import AtLeast, Choice, Fixed, Float, Int, Problem, Recipe, Result, Trial, fit
from bopp.errors import NoResultError, SpaceError
from bopp.model import believe
from bopp.outcome import raw
from bopp.parameter import Parameter
from bopp.problem import Direction
from bopp.view.slices import POINTS, Slice, slices
from support.results import sampled

MIXED: dict[str, Parameter] = {
    "x": Float(-1, 1),
    "lr": Float(1e-6, 1, log=True),
    "n": Int(1, 9),
    "act": Choice(["relu", "tanh", None]),
}


def bowl(params: dict[str, Any]) -> dict[str, float]:
    return {"value": params["x"] ** 2 + params["n"] + (np.log10(params["lr"]) + 3) ** 2}


def test_a_smooth_function_lies_within_the_band() -> None:
    result = sampled(Problem({"x": Float(0, 10)}), lambda p: {"value": 100.0 * np.sin(p["x"])}, 15)
    (one,) = slices(result)
    truth = 100.0 * np.sin(np.array(one.along))
    assert (one.low < one.mean).all()
    assert (one.mean < one.high).all()
    assert np.mean((one.low <= truth) & (truth <= one.high)) > 0.9
    assert np.median(one.high - one.low) < 30.0
    low, high = (np.interp(one.tried, one.along, edge) for edge in (one.low, one.high))
    np.testing.assert_allclose(np.clip(one.told, low, high), one.told, rtol=0, atol=2.0)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_values_are_those_of_the_user(direction: Direction) -> None:
    """In one dimension the model's mean passes close to smooth data, whatever the direction."""
    trials = [Trial(i, {"x": float(i)}, "done", {"value": 1e6 + 1e3 * i}) for i in range(11)]
    (one,) = slices(Result(Problem({"x": Float(0, 10)}, {"value": direction}), tuple(trials)))
    np.testing.assert_allclose(one.mean, 1e6 + 1e3 * np.array(one.along), rtol=0, atol=300.0)
    np.testing.assert_array_equal(one.told, 1e6 + 1e3 * np.array(one.tried))


def test_to_minimise_is_to_maximise_the_opposite() -> None:
    down = slices(sampled(Problem(MIXED), bowl, 12))
    up = slices(sampled(Problem(MIXED, {"value": "maximize"}), lambda p: {"value": -bowl(p)["value"]}, 12))
    for one, other in zip(down, up, strict=True):
        np.testing.assert_array_equal(one.mean, -other.mean)
        np.testing.assert_array_equal(one.low, -other.high)
        np.testing.assert_array_equal(one.high, -other.low)
        assert not np.allclose(one.high - one.mean, one.mean - one.low)  # or nothing would tell them apart


def test_each_parameter_is_walked_from_end_to_end() -> None:
    result = sampled(Problem(MIXED), bowl, 12)
    x, lr, n, act = slices(result)
    assert [one.name for one in (x, lr, n, act)] == list(MIXED)
    assert [one.parameter for one in (x, lr, n, act)] == list(result.space.parameters.values())
    assert (x.along[0], x.along[-1], len(x.along)) == (-1.0, 1.0, POINTS)
    assert (lr.along[0], lr.along[-1], len(lr.along)) == (1e-6, 1.0, POINTS)
    assert n.along == list(range(1, 10))
    assert act.along == ["relu", "tanh", None]
    for one in (x, lr, n, act):
        assert one.mean.shape == one.low.shape == one.high.shape == (len(one.along),)
        assert one.tried == [trial.params[one.name] for trial in result.trials]
        assert one.told.tolist() == [trial.value for trial in result.trials]


def test_the_slices_asked_for_are_those_made() -> None:
    result = sampled(Problem(MIXED), bowl, 12)
    assert [one.name for one in slices(result, ["n", "x"])] == ["n", "x"]
    np.testing.assert_array_equal(slices(result, ["n"])[0].mean, slices(result)[2].mean)


@pytest.mark.parametrize("names", [["speed"], ["x", "speed"], []])
def test_unknown_names_are_refused(names: list[str]) -> None:
    with pytest.raises(SpaceError, match="'lr'"):
        slices(sampled(Problem(MIXED), bowl, 12), names)


def believed(result: Result, recipe: Recipe, centre: Trial, one: Slice) -> np.ndarray:
    """Mean and standard deviation (2, beliefs, m) of each belief of a raw, minimised value along a slice."""
    model = believe(result.history().data, recipe)
    U = np.array([result.space.encode(centre.params | {one.name: value}) for value in one.along])
    pairs = np.array([belief(U) for belief in model.beliefs])
    return np.stack([-pairs[:, 0], pairs[:, 1]])


def test_every_belief_counts() -> None:
    """Mean and variance of a mixture, from the moments of its parts."""
    result = sampled(Problem(MIXED), bowl, 12)
    recipe = Recipe(fit=fit.SliceSampling(samples=4, burn_in=2), outcome=raw)
    for one in slices(result, recipe=recipe):
        means, sds = believed(result, recipe, result.best, one)
        assert len(means) == 4
        sd = np.sqrt((sds**2 + means**2).mean(axis=0) - means.mean(axis=0) ** 2)
        np.testing.assert_allclose(one.mean, means.mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(one.high - one.mean, 2.0 * sd, rtol=1e-3)
        np.testing.assert_allclose(one.mean - one.low, 2.0 * sd, rtol=1e-3)
        assert not np.allclose(one.mean, means[0], rtol=1e-6)


def test_without_a_recipe_the_model_is_the_default_one() -> None:
    result = sampled(Problem(MIXED), bowl, 12)
    np.testing.assert_array_equal(slices(result)[0].mean, slices(result, recipe=Recipe.default())[0].mean)
    assert not np.allclose(slices(result)[0].mean, slices(result, recipe=Recipe(outcome=raw))[0].mean)


def test_slices_go_through_the_best_trial_that_meets_the_constraints() -> None:
    recipe = Recipe(outcome=raw)

    def centres(least: float) -> list[int]:
        """The trials through which the slice along x goes if n must not be below this."""
        problem = Problem(MIXED, {"value": "minimize"}, [AtLeast("depth", least)])
        result = sampled(problem, lambda p: bowl(p) | {"depth": float(p["n"])}, 12)
        (one,) = slices(result, ["x"], recipe)
        assert one.tried == [trial.params["x"] for trial in result.trials]  # of the others too
        return [
            trial.number
            for trial in result.trials
            if np.allclose(one.mean, believed(result, recipe, trial, one)[0], rtol=1e-12)
        ]

    result = sampled(Problem(MIXED), bowl, 12)
    deep = [trial for trial in result.trials if trial.params["n"] >= 7]
    best, best_of_deep = (result.problem.best(trials).number for trials in (result.trials, deep))
    assert best != best_of_deep
    assert centres(1) == [best]
    assert centres(7) == [best_of_deep]
    assert centres(10) == [best]  # none is so deep: the best of all


def test_values_near_the_largest_float_give_finite_bands() -> None:
    values = iter([1.7e308, -1.7e308, 0.0, 1e300])
    for one in slices(sampled(Problem(MIXED), lambda p: {"value": next(values)}, 4)):
        assert np.isfinite([one.mean, one.low, one.high]).all()
        assert (one.low <= one.mean).all()
        assert (one.mean <= one.high).all()


def test_bands_stay_near_what_was_seen_where_values_crowd_at_the_top() -> None:
    """Six trials anywhere and 34 near the best, as in a run: the bare inverse of the power went to -4e9."""
    space: dict[str, Parameter] = {f"x{i}": Float(0, 1) for i in range(9)}
    space |= {"k": Choice(["a", "b", "c"]), "n": Int(1, 8)}
    problem = Problem(space, {"value": "maximize"})
    best = problem.space.encode({f"x{i}": 0.3 for i in range(9)} | {"k": "a", "n": 4})
    rng = np.random.default_rng(0)
    anywhere, near = rng.random((6, len(best))), best + 0.05 * rng.normal(size=(34, len(best)))
    trials = []
    for number, u in enumerate(np.clip(np.vstack([anywhere, near]), 0.0, 1.0)):
        params = problem.space.decode(u)
        miss = 6.0 * sum((params[f"x{i}"] - 0.3) ** 2 for i in range(9)) + abs(params["n"] - 4)
        value = 99.0 - miss - 6.0 * (params["k"] == "c")
        trials.append(Trial(number, params, "done", {"value": value}))
    for one in slices(Result(problem, tuple(trials))):
        seen = np.ptp(one.told)
        assert one.low.min() > one.told.min() - seen
        assert one.high.max() < one.told.max() + seen


CONDITIONAL: dict[str, Parameter] = {
    "method": Choice(["sgd", "adam", "none"]),
    "momentum": Float(0, 1, when={"method": ["sgd"]}),
    "beta": Float(0.1, 0.95, step=0.1, when={"method": ["adam"]}),
    "nobody": Float(0, 1, when={"beta": [0.2]}),
    "epochs": Fixed(30),
    "n": Int(10, 95, step=10),
}


def conditional(count: int = 30) -> Result:
    """The best trials are of adam, no trial has `nobody`."""

    def objective(params: dict[str, Any]) -> dict[str, float]:
        level = {"sgd": 2.0, "adam": 0.0, "none": 4.0}[params["method"]]
        extra = abs(params.get("momentum", 0.0) - 0.3) + abs(params.get("beta", 0.0) - 0.6)
        return {"value": level + extra + params["n"] / 100}

    result = sampled(Problem(CONDITIONAL), objective, count)
    kept = [trial for trial in result.trials if "nobody" not in trial.params]
    return Result(result.problem, tuple(kept))


def test_a_slice_goes_through_the_best_trial_that_has_the_parameter() -> None:
    result = conditional()
    method, momentum, beta, n = slices(result)
    assert [one.name for one in (method, momentum, beta, n)] == ["method", "momentum", "beta", "n"]
    best = result.best
    sgd = [trial for trial in result.trials if "momentum" in trial.params]
    assert best.params["method"] == "adam"
    assert (method.centre, beta.centre, n.centre) == (best.number,) * 3
    assert momentum.centre == result.problem.best(sgd).number
    assert momentum.best is None
    assert beta.best is not None
    assert beta.tried[beta.best] == best.params["beta"]
    assert beta.told[beta.best] == best.value
    assert momentum.tried == [trial.params["momentum"] for trial in sgd]
    assert momentum.told.tolist() == [trial.value for trial in sgd]


def test_a_parameter_that_comes_to_apply_is_as_in_the_best_trial_that_has_it() -> None:
    """Along the method, the momentum of sgd is that of the best trial of sgd, and adam's is of no account."""
    result, recipe = conditional(), Recipe(outcome=raw)
    (method,) = slices(result, ["method"], recipe)
    best, space = result.best, result.space
    sgd = result.problem.best([trial for trial in result.trials if "momentum" in trial.params])
    expected = [
        {"method": "sgd", "momentum": sgd.params["momentum"], "epochs": 30, "n": best.params["n"]},
        best.params,
        {"method": "none", "epochs": 30, "n": best.params["n"]},
    ]
    model = believe(result.history().data, recipe)
    mean, sd = model.beliefs(np.array([space.encode(params) for params in expected]))
    np.testing.assert_allclose(method.mean, -mean, rtol=1e-9)
    np.testing.assert_allclose(method.high, -mean + 2.0 * sd, rtol=1e-9)


def test_a_value_between_the_steps_stays_where_it_is() -> None:
    problem, recipe = Problem({"x": Float(0, 1, step=0.5), "y": Float(0, 1)}), Recipe(outcome=raw)
    rows = [(0.2, 0.0, 1.0), (0.5, 0.5, 2.0), (1.0, 1.0, 4.0)]
    trials = [Trial(i, {"x": x, "y": y}, "done", {"value": v}) for i, (x, y, v) in enumerate(rows)]
    result = Result(problem, tuple(trials))
    (one,) = slices(result, ["y"], recipe)
    np.testing.assert_allclose(one.mean, believed(result, recipe, trials[0], one)[0][0], rtol=1e-12)


def test_parameters_without_a_slice_are_refused_if_asked_for() -> None:
    result = conditional()
    with pytest.raises(NoResultError, match="a finished trial that has 'nobody'"):
        slices(result, ["nobody"])
    with pytest.raises(SpaceError, match="'epochs'"):
        slices(result, ["epochs"])
    with pytest.raises(SpaceError, match=r"names=\['n'\], got the text 'n'"):
        slices(result, "n")
    assert [one.name for one in slices(result, ["nobody", "n"])] == ["n"]
