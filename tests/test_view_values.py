import math
import subprocess
import sys

import numpy as np
import pytest

from bopp.view.values import ends


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


def test_data_want_no_matplotlib() -> None:
    code = """
import sys
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
assert distribution.distributions({"a": result})[0].shares.tolist() == [0.5, 1.0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
