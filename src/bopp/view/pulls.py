"""Pulls: which trials and sources of knowledge the model had its expectation of a point from.

A share is a part of the variance at the point. What nothing explains is the share of what is expected where
nothing was measured; the rest is divided by what each other point tells alone, as a precision. Unlike the
terms of Eq. (2), which have either sign and are huge for points close to each other, shares sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bopp.belief import Belief
from bopp.data import Array, Data
from bopp.gp import VARIANCE_FLOOR, Posterior
from bopp.knowledge import Account, twins_of
from bopp.legible import cut, one_line
from bopp.model import Model
from bopp.problem import Problem
from bopp.pseudo import Source
from bopp.space import Params
from bopp.trend import Trended
from bopp.trial import Trial
from bopp.view.prediction import in_units
from bopp.view.sources import points_of, trend_name, trend_of

LONGEST = 60  # letters of the params of a pull, in a text
AVERAGE, OTHERS = "average of the values", "pseudo-points"
WORDS = {"done": "trial", "asked": "pending trial", "failed": "failed trial"}

Key = int | str  # the number of a trial, or the name of a source


@dataclass(frozen=True)
class Pull:
    """A trial, or a source of knowledge, and its share in what the model expected of another trial.

    share   from 0 to 1
    what    "trial", "pending trial" or "failed trial"; else a source by name, the trend of one, or the
            average of the values, which is expected where nothing else is known
    number  of the trial, and its params
    value   what was measured; or what the model took for it, if the trial had no value; None for points of a
            source
    """

    share: float
    what: str
    value: float | None = None
    number: int | None = None
    params: Params | None = None

    def __str__(self) -> str:
        number = "" if self.number is None else f" {self.number}"
        taken = "value" if self.what == "trial" else "taken as"
        value = "" if self.value is None else f", {taken} {self.value:.6g}"
        params = "" if self.params is None else f", {cut(listed(self.params), LONGEST)}"
        return f"{self.what}{number}{value}{params}"


def pulls_of(
    problem: Problem, then: Sequence[Trial], model: Model, shown: Sequence[tuple[Belief, Data]], u: Array
) -> tuple[Pull, ...]:
    """What the beliefs had their expectation at u (1, d) from, the largest share first.

    `then` has the trials of that moment that count, and `shown` has the beliefs of the model after they were
    shown pseudo-points, and these. There are no pulls if a belief is of no Gaussian process.
    """
    done = [trial.number for trial in then if trial._value is not None]
    owners = _owners(problem, then, [account.source for account in model.accounts])
    trend = f"trend of {trend_name(model.accounts)}"
    shares: dict[Key, float] = {}
    taken: dict[Key, float] = {}  # for a value, in the model's unit
    for (belief, points), weight in zip(shown, model.beliefs.weights, strict=True):
        parts = _parts(belief, model, u)
        if parts is None:
            return ()
        given = [owners.get(row.tobytes(), OTHERS) for row in points.X]
        besides = _besides(model.accounts, len(parts) - 1 - len(done) - len(given))
        rest = trend if isinstance(belief, Trended) else AVERAGE
        for key, part in zip([*done, *besides, *given, rest], parts, strict=True):
            shares[key] = shares.get(key, 0.0) + weight * float(part)
        for key, y in dict(zip(given[::-1], points.y[::-1].tolist(), strict=True)).items():
            taken[key] = taken.get(key, 0.0) + weight * y
    taken = {key: y for key, y in taken.items() if key != OTHERS} | {AVERAGE: 0.0}
    if (followed := trend_of(model, u)) is not None:
        taken[trend] = float(followed[1][0])
    values = {key: float(in_units(problem, model, np.array([y]))[0]) for key, y in taken.items()}
    trials = {trial.number: trial for trial in then}
    pulls = [_pull(problem, trials, key, share, values.get(key)) for key, share in shares.items()]
    return tuple(sorted(pulls, key=lambda pull: -pull.share))


def _pull(problem: Problem, trials: dict[int, Trial], key: Key, share: float, taken: float | None) -> Pull:
    if isinstance(key, str):
        return Pull(share, key, taken)
    trial = trials[key]
    value = trial.values.get(problem.objective)
    return Pull(share, WORDS[trial.state], taken if value is None else value, key, trial.params)


def _owners(problem: Problem, then: Sequence[Trial], sources: Sequence[Source]) -> dict[bytes, int]:
    """The trials that had no value, by their points and the images of these."""
    found: dict[bytes, int] = {}
    for trial in then:
        if trial._value is None:
            own = problem.point(trial)[None, :]
            rows = np.vstack([own, twins_of(sources, problem.space, own)])
            found |= {row.tobytes(): trial.number for row in rows}
    return found


def _parts(belief: Belief, model: Model, u: Array) -> Array | None:
    """The parts (n + 1,) of the variance at u: of all points seen, measured ones first, and what is left.

    A point alone, of variance v and covariance k with the value at u, is as good as a measurement of that
    with a precision of k^2 / (s^2 (v + noise) - k^2), in units of 1 / s^2.
    """
    process = belief.rest if isinstance(belief, Trended) else belief
    if not isinstance(process, Posterior):
        return None
    seen, s2 = process.data, float(process.gp.variances(u)[0])
    if not np.array_equal(seen.X[: len(model.data)], model.data.X):
        return None
    k = process.gp.covariance(seen.X, u)[0][:, 0]
    v = process.gp.variances(seen.X)
    left = s2 * (v + process.gp.noise + seen.noise) - k**2
    alone = k**2 / np.maximum(left, VARIANCE_FLOOR * s2 * v)
    rest = min(float(process(u)[1][0]) ** 2 / s2, 1.0) if alone.any() else 1.0
    return np.append((1.0 - rest) * alone / (alone.sum() or 1.0), rest)


def _besides(accounts: Sequence[Account], count: int) -> list[str]:
    """The source of each of so many points that the model has besides the measured ones."""
    names = [name for name, points in points_of(accounts) for _ in range(len(points))]
    return names[:count] + [names[-1] if names else OTHERS] * (count - len(names))


def listed(params: Params) -> str:
    """Params in a line of text."""
    return ", ".join(f"{name} = {_short(value)}" for name, value in params.items())


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else one_line(str(value))
