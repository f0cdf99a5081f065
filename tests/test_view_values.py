import math
import subprocess
import sys

import numpy as np
import pytest

from bopp.view.values import ends


@pytest.mark.parametrize(
    ("best", "expected"), [(math.nan, (1.0, 9.0)), (0.0, (0.0, 9.0)), (10.0, (1.0, 10.0)), (5.0, (1.0, 9.0))]
)
def test_the_interval_has_the_best_and_not_the_outermost_tenths(
    best: float, expected: tuple[float, float]
) -> None:
    assert ends(np.arange(11.0), best) == expected


def test_the_interval_of_huge_values_is_finite() -> None:
    assert ends(np.array([-1.7e308, 1.7e308])) == (-1.7e308, 1.7e308)


def test_data_want_no_matplotlib() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
from bopp import Float, Problem, Result, Trial
from bopp.view import convergence, coordinates, importance, slices
result = Result(Problem({"x": Float(0, 1)}), (Trial(0, {"x": 0.5}, "done", {"value": 1.0}),))
convergence.convergence(result), coordinates.coordinates(result), importance.importance(result)
assert slices.slices(result)[0].told == [1.0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
