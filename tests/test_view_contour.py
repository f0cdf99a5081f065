from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bopp import Choice, Fixed, Float, Int, Problem, Recipe, Result, Trial
from bopp.errors import NoResultError, SpaceError
from bopp.model import believe
from bopp.outcome import raw
from bopp.parameter import Parameter
from bopp.problem import Direction
from bopp.view.contour import POINTS, contour
from support.results import sampled

SPACE: dict[str, Parameter] = {
    "a": Float(0, 1),
    "rate": Float(1e-4, 1, log=True),
    "kind": Choice(["u", "v", "w"]),
    "n": Int(1, 4, when={"kind": ["u", "v"]}),
    "epochs": Fixed(30),
}
RAW = Recipe(outcome=raw)


def value_of(params: dict[str, Any]) -> float:
    steep = 8.0 * (np.log10(params["rate"]) + 2.0) ** 2
    return float(steep + 5.0 * (params["kind"] == "w") + 0.1 * params["a"] + 0.01 * params.get("n", 0))


def run_of(direction: Direction = "minimize") -> Result:
    problem = Problem(SPACE, {"value": direction})
    sign = 1.0 if direction == "minimize" else -1.0
    return sampled(problem, lambda params: {"value": sign * value_of(params)}, 25)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_mean_is_that_of_the_model_with_the_others_as_in_the_best_trial(direction: Direction) -> None:
    result = run_of(direction)
    shown = contour(result, ["a", "rate"], RAW)
    assert [axis.name for axis in shown.axes] == ["a", "rate"]
    assert shown.mean.shape == (POINTS, POINTS)
    assert shown.centre == result.best.number
    model = believe(result.history().data, RAW)
    for row, column in ((0, 0), (3, 40), (50, 50), (25, 7)):
        rate = 10.0 ** (-4.0 + 4.0 * shown.y[row])
        params = result.best.params | {"a": float(shown.x[column]), "rate": min(rate, 1.0)}
        (mean,) = model.beliefs.mean(result.space.encode(params)[None])
        assert shown.mean[row, column] == pytest.approx(result.problem.gain(mean), rel=1e-6)


def test_trials_stand_at_their_places() -> None:
    result = run_of()
    result = Result(result.problem, (*result.trials, Trial(25, result.trials[0].params, "failed")))
    shown = contour(result, ("kind", "a"))
    places = {"u": 0.0, "v": 0.5, "w": 1.0}
    done = result.trials[:-1]
    expected = [[places[trial.params["kind"]], trial.params["a"]] for trial in done]
    np.testing.assert_allclose(shown.tried, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shown.failed, expected[:1], rtol=0, atol=1e-12)
    assert shown.best == result.best.number
    assert shown.x.tolist() == [0.0, 0.5, 1.0]
    assert shown.mean.shape == (POINTS, 3)


def test_by_default_the_two_most_important_parameters_are_shown() -> None:
    assert {axis.name for axis in contour(run_of()).axes} == {"rate", "kind"}


def test_where_a_parameter_does_not_apply_there_is_nothing() -> None:
    result = run_of()
    shown = contour(result, ["kind", "n"])
    np.testing.assert_array_equal(np.isnan(shown.mean), [[False, False, True]] * 4)
    having = [trial for trial in result.trials if "n" in trial.params]
    assert len(shown.tried) == len(having) < len(result.trials)
    np.testing.assert_allclose(shown.tried[:, 1], [(trial.params["n"] - 1) / 3 for trial in having])


def test_where_the_best_trial_lacks_a_parameter_the_best_that_has_it_is_the_centre() -> None:
    result = run_of()
    lacking = Trial(25, {"a": 0.1, "rate": 0.01, "kind": "w", "epochs": 30}, "done", {"value": -9.0})
    result = Result(result.problem, (*result.trials, lacking))
    assert result.best == lacking
    shown = contour(result, ["a", "n"])
    assert shown.best is None
    assert shown.centre == result.problem.best([t for t in result.trials if "n" in t.params]).number
    assert contour(result, ["a", "rate"]).centre == 25


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a"], "two different parameters"),
        (["a", "a"], "two different parameters"),
        (["a", "rate", "kind"], "two different parameters"),
        (["a", "epochs"], "wanted some of the parameters"),
        (["a", "speed"], "wanted some of the parameters"),
        ("ab", "got the text 'ab'"),
    ],
)
def test_other_names_are_refused(names: Sequence[str], words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        contour(run_of(), names)


def test_of_very_many_options_only_some_are_shown() -> None:
    problem = Problem({"k": Choice(list(range(1001))), "x": Float(0, 1)})
    trials = tuple(Trial(i, {"k": i, "x": 0.5}, "done", {"value": float(i)}) for i in (0, 1, 2))
    shown = contour(Result(problem, trials), ["k", "x"])
    assert shown.x.tolist() == [i / 1000 for i in range(0, 1001, 11)]
    assert shown.mean.shape == (POINTS, 91)
    assert shown.tried[:, 0].tolist() == [0.0, 0.001, 0.002]


def test_it_takes_two_parameters_that_a_finished_trial_has() -> None:
    one = Problem({"x": Float(0, 1), "epochs": Fixed(3)})
    trial = Trial(0, {"x": 0.5, "epochs": 3}, "done", {"value": 1.0})
    with pytest.raises(NoResultError, match="two parameters, got only 'x'"):
        contour(Result(one, (trial,)))
    lacking = Trial(0, {"a": 0.1, "rate": 0.01, "kind": "w", "epochs": 30}, "done", {"value": 1.0})
    with pytest.raises(NoResultError, match="that has 'a' and 'n'"):
        contour(Result(Problem(SPACE), (lacking,)), ["a", "n"])
    u, v = (Float(0, 1, when={"k": [letter]}) for letter in "uv")
    apart = Problem({"k": Fixed("u"), "a": u, "b": v})
    with pytest.raises(NoResultError, match="has together"):
        contour(Result(apart, (Trial(0, {"k": "u", "a": 0.5}, "done", {"value": 1.0}),)))
