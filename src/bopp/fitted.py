"""Fitted: a model of the measured values, fitted at milestones and brought up to date in between.

Hyper-parameters hardly change from one value to the next, and finding them is most of the work. So they are
those of the last milestone, a number of values that depends on nothing but how many there are: a study that
is resumed has the same model as one that was never stopped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bopp import outcome as outcomes
from bopp.belief import Beliefs
from bopp.data import Array, Data
from bopp.errors import RecipeError
from bopp.fit import MAP, Fit, telling
from bopp.gp import Posterior
from bopp.kernels import Kernel
from bopp.memory import Memory
from bopp.outcome import Outcome, Scale

REMEMBERED = 4  # how many of the latest fits to keep
LARGE = 1000  # a model of more points than this takes so much memory that it is kept alone
DECIDING = 100  # values that decide on the outcome, at most
FEW_STEPS = 4  # of a fit that begins with one of similar data

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What is believed of data in the unit of `scale`, which `outcome` chose; `rows` were seen of them."""

    outcome: Outcome
    scale: Scale
    data: Data
    rows: Rows
    beliefs: Beliefs

    def after(self, data: Data) -> Fitted:
        """The same fit after seeing more data, given in their own unit."""
        scale, scaled = _scaled(data, self.outcome)
        rows = np.append(self.rows, np.arange(len(self.data), len(data)))
        beliefs = tuple(one.again(scaled[rows]) for one in self.beliefs if isinstance(one, Posterior))
        return Fitted(self.outcome, scale, scaled, rows, replace(self.beliefs, beliefs=beliefs))

    def log_likelihood(self, y: Array) -> float:
        """The logarithm of the likelihood of the values, given in their own unit."""
        each = [one.evidence if isinstance(one, Posterior) else -math.inf for one in self.beliefs]
        return self.scale.log_slope(y) + float(np.logaddexp.reduce(np.log(self.beliefs.weights) + each))


def fitted(data: Data, outcome: Outcome, kernel: Kernel, fit: Fit) -> Fitted:
    """The model of data, given in their own unit: that of the last milestone, after seeing all of them."""
    if not isinstance(fit, MAP) or (due := fit.milestone(len(data))) == len(data):
        return _fitted(data, outcome, kernel, fit)
    first = data[slice(due)]
    content = first.X.shape, first.X.tobytes(), first.y.tobytes(), first.noise.tobytes()
    parts = (outcome, kernel, fit)
    return _fits(parts, content, lambda: _fitted(first, *parts), due > LARGE).after(data)


def _fitted(data: Data, outcome: Outcome, kernel: Kernel, fit: Fit) -> Fitted:
    """A model fitted to data, with the outcome under which the values are most likely."""
    rows = telling(data.y, fit.seen if isinstance(fit, MAP) else math.inf)
    options = outcomes.alternatives(outcome)
    if len(options) == 1:
        return _with(outcome, data, rows, kernel, fit)
    some = data[rows][telling(data.y[rows], DECIDING)]
    tried = [_with(options[0], some, np.arange(len(some)), kernel, fit)]
    for option in options[1:]:
        tried.append(_with(option, some, tried[0].rows, kernel, fit, tried[0].beliefs))
    best = max(tried, key=lambda one: one.log_likelihood(some.y))
    return best if len(some) == len(data) else _with(best.outcome, data, rows, kernel, fit, best.beliefs)


def _with(
    outcome: Outcome, data: Data, rows: Rows, kernel: Kernel, fit: Fit, similar: Beliefs | None = None
) -> Fitted:
    """A model with an outcome, fitted to rows of the data; a fit of similar data saves work."""
    scale, scaled = _scaled(data, outcome)
    first = similar.beliefs[0] if similar else None
    if type(fit) is MAP and isinstance(first, Posterior):
        beliefs = fit.near(first.gp, scaled[rows], FEW_STEPS)
    else:
        beliefs = fit(scaled[rows], kernel, np.random.default_rng(len(data)))
    if not isinstance(beliefs, Beliefs):
        raise RecipeError(f"{fit!r} must return Beliefs, got {beliefs!r}")
    return Fitted(outcome, scale, scaled, rows, beliefs)


def _scaled(data: Data, outcome: Outcome) -> tuple[Scale, Data]:
    scale = outcome(data.y)
    return scale, Data(data.X, scale(data.y), scale.noise(data.y, data.noise))


def forget() -> None:
    """Fit anew the next time."""
    _fits.forget()


_fits: Memory[Fitted] = Memory(REMEMBERED)
