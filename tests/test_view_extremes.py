"""Ranges and values at the ends of what a float can hold: drawn without a warning, or refused in words."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from bopp import Choice, Float, Int, Parameter, Problem, Result, Space, Trial
from bopp.errors import BoppError

ORDINARY = Float(0, 1)


def result_of(first: Parameter, values: Sequence[float]) -> Result:
    space = Space({"x": first, "y": ORDINARY})
    points = np.random.default_rng(0).random((len(values), space.dimension))
    rows = enumerate(zip(points, values, strict=True))

    return Result(
        Problem(space), tuple(Trial(i, space.decode(u), "done", {"value": value}) for i, (u, value) in rows)
    )


WIDE = [
    Float(-1.7e308, 1.7e308),
    Float(5e-324, 1.7e308, log=True),
    Int(-(2**52), 2**52),
    Choice([f"option {i}" for i in range(10_000)]),
]
TINY = [Float(1e-320, 1e-310, log=True), Float(0, 5e-324), Int(1, 2**53, log=True)]


@pytest.mark.parametrize(
    "parameter", [*WIDE, *(pytest.param(one, marks=pytest.mark.endurance) for one in TINY)], ids=lambda _: ""
)
def test_slices_of_extreme_ranges_are_drawn(tmp_path: Path, parameter: Parameter) -> None:
    result_of(parameter, [0.3, 0.1, 0.7, 0.5, 0.2, 0.6]).plot_slice(tmp_path / "slice.png")
    assert (tmp_path / "slice.png").stat().st_size > 5000


@pytest.mark.parametrize(
    "parameter",
    [
        Int(10**15, 10**15 + 10),
        Int(2**52, 2**52 + 2000),
        Int(2**52, 2**52 + 10, log=True),
        Float(1e10, 1e10 + 1e-5),
        Float(1e10, 1e10 + 1e-5, log=True),
        Float(0, 1e-290),
        Float(1, 1 + 1e-9),
    ],
    ids=repr,
)
def test_a_narrow_range_fills_its_slice(parameter: Parameter) -> None:
    """Left to itself, matplotlib widens the axis of such a range, and all of it is one upright line."""
    axes = result_of(parameter, [0.3, 0.1, 0.7, 0.5, 0.2, 0.6]).plot_slice().axes[0]
    drawn, (low, high) = np.asarray(axes.lines[0].get_xdata(), dtype=float), axes.get_xlim()
    assert np.ptp(drawn) > 0.8 * (high - low)


def test_heights_that_differ_by_rounding_are_drawn_as_equal(tmp_path: Path) -> None:
    values = 1.0 + 1e-15 * np.random.default_rng(0).random(9)
    result_of(ORDINARY, values.tolist()).plot_contour(tmp_path / "contour.png")
    assert (tmp_path / "contour.png").exists()


@pytest.mark.parametrize(
    "values",
    [
        (1e308, -1e308, 1.7e308, 0.0, 1.0, -1.7e308),
        pytest.param((1e-320, 3e-320, 5e-324, 0.0, 0.0, 0.0), marks=pytest.mark.endurance),
    ],
)
def test_pictures_of_extreme_values_are_drawn_or_refused_in_words(
    tmp_path: Path, values: tuple[float, ...]
) -> None:
    result = result_of(ORDINARY, values)
    for name in ("plot_slice", "plot_contour", "plot_calibration"):
        with suppress(BoppError):
            getattr(result, name)(tmp_path / f"{name}.png")
    assert (tmp_path / "plot_slice.png").exists()
