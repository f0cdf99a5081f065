import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bopp import AtMost, Float, Problem, Result, Trial
from bopp.errors import NoResultError, RecipeError
from bopp.view.calibration import calibration
from bopp.view.contour import contour
from bopp.view.convergence import convergence
from bopp.view.coordinates import coordinates
from bopp.view.importance import importance
from bopp.view.slices import slices
from bopp.view.values import best_value, ends, finished, values_of


@pytest.mark.parametrize(
    ("best", "expected"), [(math.nan, (0.0, 17.0)), (-50.0, (-50.0, 17.0)), (99.0, (0.0, 99.0))]
)
def test_the_interval_has_the_best_and_all_but_outliers(best: float, expected: tuple[float, float]) -> None:
    """Eight tenths of these lie between 1 and 9: 17 is near, and anything above it is not."""
    assert ends(np.array([*np.arange(10.0), 17.0]), best) == expected
    assert ends(np.array([*np.arange(10.0), 17.1])) == (0.0, 9.0)
    assert ends(-np.array([*np.arange(10.0), 17.1])) == (-9.0, 0.0)


def test_the_interval_of_huge_values_is_finite() -> None:
    assert ends(np.array([-1.7e308, 1.7e308])) == (-1.7e308, 1.7e308)


def test_trials_without_a_value_of_the_objective_are_no_part_of_it() -> None:
    problem = Problem({"x": Float(0, 1)}, {"error": "minimize"}, [AtMost("memory", 8.0)])
    rows: list[tuple[float | None, float | None]] = [(None, 1.0), (0.5, None), (0.75, 1.0), (2.0, 1.0)]
    trials = [
        Trial(n, {"x": 0.1 * n}, "done", {"error": error, "memory": memory})
        for n, (error, memory) in enumerate(rows)
    ]
    result = Result(problem, tuple(trials))
    assert finished(result, "a view") == trials[1:]
    assert values_of(result, trials[1:]).tolist() == [0.5, 0.75, 2.0]
    assert best_value(result) == 0.75
    assert convergence(result).numbers == [1, 2, 3]
    np.testing.assert_array_equal(convergence(result).best, [np.nan, 0.75, 0.75])
    nothing = Result(problem, (trials[0],))
    assert math.isnan(best_value(nothing))
    with pytest.raises(NoResultError, match="none in 1"):
        finished(nothing, "a view")


VIEWS: list[Callable[[Result], Any]] = [calibration, contour, convergence, coordinates, importance, slices]
VIEWS += [lambda result: result.predict({"x": 0.1, "y": 0.2}), lambda result: result.plot_edf()]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_wants_a_finished_trial_of_one_objective(view: Callable[[Result], Any]) -> None:
    space, params = {"x": Float(0, 1), "y": Float(0, 1)}, {"x": 0.1, "y": 0.2}
    several = Problem(space, {"error": "minimize", "time": "minimize"})
    done = Trial(0, params, "done", {"error": 1.0, "time": 2.0})
    with pytest.raises(RecipeError, match=r"one objective.*result\.of\('error'\)"):
        view(Result(several, (done,)))
    for trials in ((), (Trial(0, params, "failed"), Trial(1, params))):
        with pytest.raises(NoResultError, match=f"none in {len(trials)} trials") as caught:
            view(Result(Problem(space), trials))
        assert "\n" not in str(caught.value)


def test_data_want_neither_matplotlib_nor_the_slow_statistics() -> None:
    code = """
import sys
import bopp.view.importance
assert "scipy.stats" not in sys.modules
sys.modules["matplotlib"] = None
from bopp import Float, Problem, Result, Trial
from datetime import datetime
from bopp.view import calibration, contour, convergence, coordinates, distribution
from bopp.view import importance, slices, timeline
time = datetime(2025, 5, 1)
trials = [
    Trial(i, {"x": 0.5, "y": i / 3}, "done", {"value": 1.0 + i}, asked_at=time, told_at=time)
    for i in range(2)
]
result = Result(Problem({"x": Float(0, 1), "y": Float(0, 1)}), tuple(trials))
convergence.convergence(result), coordinates.coordinates(result), importance.importance(result)
calibration.calibration(result), contour.contour(result), timeline.timeline(result)
assert slices.slices(result)[0].told.tolist() == [1.0, 2.0]
assert distribution.distributions({"a": result})["a"].tolist() == [1.0, 2.0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
