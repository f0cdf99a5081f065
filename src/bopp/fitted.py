"""Fitted: a model of the measured values, fitted at milestones and brought up to date in between.

Hyper-parameters hardly change from one value to the next, and finding them is most of the work. So they are
those of the last milestone, a number of values that depends on nothing but how many there are: a study that
is resumed has the same model as one that was never stopped. Where new values want another power of the
outcome, hyper-parameters of the old one would make the model far too sure of itself: then it is fitted anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bopp.belief import Beliefs
from bopp.data import Data
from bopp.errors import RecipeError
from bopp.fit import MAP, Fit, telling
from bopp.gp import Posterior
from bopp.kernels import Kernel
from bopp.memory import Memory
from bopp.outcome import Outcome, Scale

REMEMBERED = 4  # how many of the latest fits to keep
SLIGHTLY = 0.15  # a change of the power that leaves hyper-parameters as they are
LARGE = 1000  # a model of more points than this takes so much memory that it is kept alone


@dataclass(frozen=True, eq=False)
class Fitted:
    """What is believed of data, which are in the unit of `scale`, after seeing the `rows` of them."""

    scale: Scale
    data: Data
    rows: npt.NDArray[np.intp]
    beliefs: Beliefs


def fitted(data: Data, outcome: Outcome, kernel: Kernel, fit: Fit, turns: int = 1) -> Fitted:
    """The model of data, given in their own unit: that of the last milestone, after seeing all of them.

    `turns` says of how many values of a trial this is one, so that the fits of all of them are kept.
    """
    if not isinstance(fit, MAP):
        return _fitted(data, outcome, kernel, fit, np.arange(len(data)))
    first = data[slice(fit.milestone(len(data)))]
    rows = telling(first.y, fit.seen)
    parts = (outcome, kernel, fit)
    before = _fits(parts, content(first), lambda: _fitted(first, *parts, rows), len(first) > LARGE, turns)
    if len(first) == len(data):
        return before
    scale, scaled = _scaled(data, outcome)
    if abs(scale.power - before.scale.power) > SLIGHTLY:
        return _fitted(data, *parts, telling(data.y, fit.seen))
    rows = np.append(rows, np.arange(len(first), len(data)))
    beliefs = tuple(one.again(scaled[rows]) for one in before.beliefs if isinstance(one, Posterior))
    return Fitted(scale, scaled, rows, replace(before.beliefs, beliefs=beliefs))


def _fitted(data: Data, outcome: Outcome, kernel: Kernel, fit: Fit, rows: npt.NDArray[np.intp]) -> Fitted:
    scale, scaled = _scaled(data, outcome)
    beliefs = fit(scaled[rows], kernel, np.random.default_rng(len(data)))
    if not isinstance(beliefs, Beliefs):
        raise RecipeError(f"{fit!r} must return Beliefs, got {beliefs!r}")
    return Fitted(scale, scaled, rows, beliefs)


def _scaled(data: Data, outcome: Outcome) -> tuple[Scale, Data]:
    scale = outcome(data.y)
    return scale, Data(data.X, scale(data.y), scale.noise(data.y, data.noise))


def content(data: Data) -> tuple[object, ...]:
    """What tells data from others, for a memory of what was made of them."""
    return data.X.shape, data.X.tobytes(), data.y.tobytes(), data.noise.tobytes()


def forget() -> None:
    """Fit anew the next time."""
    _fits.forget()


_fits: Memory[Fitted] = Memory(REMEMBERED)
