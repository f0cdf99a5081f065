"""Scales: checked numbers, and maps between a range and the unit interval, linear or logarithmic."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np

from bopp.data import Array
from bopp.errors import SpaceError
from bopp.legible import brief


def typed_number(text: str) -> int | float:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise SpaceError(f"wanted a number, got {brief(text)}")


def round_numbers(low: float, high: float, log: bool = False) -> list[float]:
    """About five round numbers from low to high, in steps of 1, 2 or 5 times 10^n, or else powers of ten."""
    if log and math.log10(high) - math.log10(low) > 2.0:
        exponents = round_numbers(math.log10(low), math.log10(high))
        return [10.0**exponent for exponent in exponents if exponent.is_integer()]
    least = high / 5 - low / 5
    if least < 1e-300:
        return []
    power = 10.0 ** math.floor(math.log10(least))
    step = next((factor * power for factor in (1, 2, 5) if factor * power > 0.99 * least), 10 * power)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def even(U: Array, steps: int) -> Array:
    return np.asarray(np.floor(U * steps + 0.5) / steps)


def is_finite(value: Any) -> bool:
    """Whether a value is a number, and not one beyond all floats."""
    with suppress(OverflowError):
        return is_number(value) and math.isfinite(value)
    return False


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def real(name: str, value: Any) -> float:
    if not is_finite(value):
        raise SpaceError(f"{name}: wanted a finite number, got {brief(value)}")
    return float(value)


def whole(name: str, value: Any) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value) and value == int(value):
        return int(value)
    raise SpaceError(f"{name}: wanted a whole number, got {brief(value)}")


def check_range(low: float, high: float, log: bool) -> None:
    if not low < high:
        raise SpaceError(f"low must be below high, got low={brief(low)}, high={brief(high)}")
    if log and low <= 0:
        raise SpaceError(f"log wants low above 0, got low={brief(low)}")


def check_step(low: float, high: float, step: float | None, log: bool) -> None:
    if step is None:
        return
    fits = step <= high - low or (isinstance(step, float) and steps_between(low, high, step) >= 1.0)
    if not step > 0 or not fits:
        raise SpaceError(f"step must be above 0 and at most high - low, got {brief(step)}")
    if log:
        raise SpaceError(f"wanted either log or a step, got both: step={brief(step)}")


def steps_between(low: float, high: float, step: float) -> float:
    """How many steps it is from low to high, of the numbers as people write them: 0.3 is 3 times 0.1."""
    return float((Decimal(repr(high)) - Decimal(repr(low))) / Decimal(repr(step)))


def log_ratio(value: float, low: float) -> float:
    """log(value / low), accurate even where the two are close or their quotient would overflow."""
    return math.log1p((value - low) / low) if value < 2 * low else math.log(value) - math.log(low)


def to_unit(value: float, low: float, high: float, log: bool) -> float:
    return min(max(position(value, low, high, log), 0.0), 1.0)


def position(value: float, low: float, high: float, log: bool) -> float:
    """Where a number lies on the axis from low to high, which are at 0 and 1; it may lie beyond them."""
    if log:
        return log_ratio(value, low) / log_ratio(high, low)
    if isinstance(value, int) or high - low < math.inf:
        return (value - low) / (high - low)  # ints of any size are rounded only once
    return (value / 2 - low / 2) / (high / 2 - low / 2)


def from_unit(u: float, low: float, high: float, log: bool) -> float:
    if u <= 0.0 or u >= 1.0:
        return low if u <= 0.0 else high
    if not log:
        value = (1.0 - u) * low + u * high
    elif high < 2 * low:
        value = low + low * math.expm1(u * log_ratio(high, low))
    else:
        value = math.exp(min((1.0 - u) * math.log(low) + u * math.log(high), math.log(high)))
    return min(max(value, low), high)
