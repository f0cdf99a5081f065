"""Trial: one evaluation, from the moment it is asked for; and what counts as a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np

from bopp.data import Array, Data, History
from bopp.errors import TellError
from bopp.space import Params

Direction = Literal["minimize", "maximize"]
State = Literal["asked", "done", "failed"]
Origin = Literal["suggested", "queued", "observed"]


@dataclass(frozen=True)
class Trial:
    """One evaluation: params, and once it is told a value, or an error that says why there is none."""

    number: int
    params: Params
    state: State = "asked"
    value: float | None = None
    error: str | None = None
    origin: Origin = "suggested"
    asked_at: datetime | None = None
    told_at: datetime | None = None
    worker: str | None = None
    notes: str | None = None


def settled(trial: Trial, value: float, at: datetime, error: str | None = None) -> Trial:
    """The trial as it is told: done, or failed without a finite value; told the same again, as it was."""
    if math.isfinite(value):
        told = replace(trial, state="done", value=value, told_at=at)
    else:
        error = error or f"the value was {value}"
        told = replace(trial, state="failed", value=None, error=error, told_at=at)
    if trial.state == "asked":
        return told
    if (trial.state, trial.value) != (told.state, told.value):
        was, now = (one.state if one.value is None else one.value for one in (trial, told))
        raise TellError(f"trial {trial.number} was told {was!r} already, got {now!r}")
    return trial


def fits(state: State, value: Any) -> bool:
    """Whether a trial in this state can have this value: a finite number once it is done, else None."""
    return type(value) is float and math.isfinite(value) if state == "done" else value is None


def history_of(trials: Sequence[Trial], X: Array, direction: Direction) -> History:
    """The trials, at the rows of X, as the engine sees them: larger is better."""
    states = np.array([trial.state for trial in trials])
    sign = 1.0 if direction == "maximize" else -1.0
    y = sign * np.array([trial.value for trial in trials if trial.state == "done"], dtype=float)
    return History(Data(X[states == "done"], y), X[states == "asked"], X[states == "failed"])


def number_of(value: Any) -> float:
    """The float that a told value is; NaN where it is None or too large; anything else is refused."""
    if value is None:
        return math.nan
    kind = getattr(getattr(value, "dtype", None), "kind", "f")  # of NumPy's scalars and arrays
    if not hasattr(value, "__float__") or getattr(value, "ndim", 0) != 0 or kind not in "biuf":
        raise TellError(f"wanted a number as value, got {value!r}")
    try:
        return float(value) + 0.0  # which makes 0.0 of -0.0, as databases do
    except OverflowError:
        return math.inf
    except (TypeError, ValueError) as error:
        raise TellError(f"wanted a number as value, got {value!r}: {error}") from None
