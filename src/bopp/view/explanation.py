"""Explanation: what the model believed of a trial when it was suggested, and what drew it there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from typing import Any, Literal

import numpy as np

from bopp.belief import Beliefs
from bopp.data import Array, History
from bopp.errors import SpaceError, TellError
from bopp.feasibility import FeasibleScore
from bopp.fidelity import Ladder, searching
from bopp.goals import seek
from bopp.knowledge import Account
from bopp.legible import brief
from bopp.model import Model, learn, shown
from bopp.problem import Problem
from bopp.pseudo import sources
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.search import SAME, Score
from bopp.space import Params, Space
from bopp.suggest import starts
from bopp.threads import one_thread
from bopp.trial import ANSWER, Trial
from bopp.view.prediction import accounts_of, expected, in_units, recipe_of
from bopp.view.pulls import Pull, listed, pulls_of
from bopp.view.values import best_of

SHOWN, LEAST = 5, 0.01  # pulls in a text, and the least share of one
FARTHEST = 9.0  # standard deviations beyond which nothing is expected
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)  # an integral from -1 to 1, by Gauss and Legendre

How = Literal["initial design", "said by a source", "queued", "observed", "suggested by the model"]


@dataclass(frozen=True, repr=False)
class Explanation:
    """What the model believed of a trial at the moment when it was suggested, in the unit of the objective.

    how          "suggested by the model", which then had a say; or "initial design", "said by a source" where
                 one said to begin with it, "queued" or "observed"
    mean, sd     what it expected; None if nothing had a value yet
    best         the best value then; None if there was none that met the constraints
    improvement  by how much it expected this trial to be better than that, worse values counted as 0
    pulls        what it expected that from, the largest share first; shares sum to 1
    sources      what had become of each source of knowledge
    chance       how probable it was that the constraints on measured values would be met; None without any
    """

    trial: Trial
    how: How
    mean: float | None = None
    sd: float | None = None
    best: float | None = None
    improvement: float | None = None
    pulls: tuple[Pull, ...] = ()
    sources: tuple[Account, ...] = ()
    chance: float | None = None

    def __str__(self) -> str:
        lines = [f"trial {self.trial.number}, {self.how}: {listed(self.trial.params)}", self._belief()]
        if self.pulls:
            count = sum(pull.share >= LEAST for pull in self.pulls[:SHOWN])
            few, rest = self.pulls[:count], self.pulls[count:]
            lines += ["drawn by", *(f"{pull.share:6.0%}  {pull}" for pull in few)]
            lines += [f"{sum(pull.share for pull in rest):6.0%}  all else"] if rest else []
        if self.sources:
            lines += ["known besides", *(f"  {account}" for account in self.sources)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Explanation(trial {self.trial.number}, {self.how}: {self._belief()})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _belief(self) -> str:
        if self.mean is None:
            return "nothing had a value yet"
        best = "none" if self.best is None else f"{self.best:.6g}"
        more = "" if self.improvement is None else f", expected improvement {self.improvement:.3g}"
        met = "" if self.chance is None else f", constraints met with a chance of {self.chance:.0%}"
        return f"expected {self.mean:.6g} \N{PLUS-MINUS SIGN} {self.sd:.3g}, best then {best}{more}{met}"


@one_thread()
def explanation(
    result: Result, trial: Trial | int, recipe: Recipe | None = None, seed: int = 0
) -> Explanation:
    """What was believed of a trial when it was suggested; the model is made anew, as it was then."""
    objective = result.problem.objective
    problem, trial, recipe = result.problem, _found(result, trial), recipe_of(result, recipe)
    then = Result(problem, _then(result, trial))
    history = then.history()
    how = _how(problem, trial, history, recipe)
    if not len(history.data):
        return Explanation(trial, how, sources=accounts_of(then, recipe))
    u = result.space.encode(trial.params)[None, :]
    recipe = searching(recipe, problem.fidelity, result.space, history)
    model = learn(result.space, history, recipe)
    knowns = list(shown(model, result.space, recipe, history, (seed, trial.number)))
    beliefs = Beliefs(tuple(known.posterior for known, _ in knowns), model.beliefs.weights)
    mean, sd = beliefs(u)
    seen = [(known.posterior, points) for known, points in knowns]
    best = best_of(then)
    value = None if best is None else best.values[objective]
    (prediction,) = expected(problem, model, mean, sd)
    return Explanation(
        trial=trial,
        how=how,
        mean=prediction.mean,
        sd=prediction.sd,
        best=value,
        improvement=None if value is None else _improvement(problem, model, mean[0], sd[0], value),
        pulls=pulls_of(problem, [one for one in then.trials if one.counts], model, seen, u),
        sources=model.accounts,
        chance=_chance(seek(result.space, recipe, history, (seed, trial.number)).score, u),
    )


def _chance(score: Score, u: Array) -> float | None:
    """The chance at u (1, d) that the constraints that have been measured are met."""
    if not isinstance(score, FeasibleScore):
        return None
    return float(np.exp(sum(chance.values(u)[0] for chance in score.chances)))


def _found(result: Result, wanted: Any) -> Trial:
    number = wanted.number if isinstance(wanted, Trial) else wanted
    known = [trial for trial in result.trials if trial.number == number and type(number) is not bool]
    if not known or (isinstance(wanted, Trial) and wanted.params != known[0].params):
        have = f"{len(result.trials)} trials" if result.trials else "none"
        raise TellError(
            f"wanted a trial of this result, which has {have}, or its number, got {brief(wanted)}"
        )
    return known[0]


def _how(problem: Problem, trial: Trial, history: History, recipe: Recipe) -> How:
    if trial.origin != "suggested":
        return trial.origin
    if problem.fidelity is None:
        first = len(history) < recipe.initial.size or not len(history.data)
    else:
        ladder = Ladder.of(problem.fidelity, problem.space, history)
        first = ladder.unfilled(recipe, range(ladder.last)) is not None
    if not first:
        return "suggested by the model"
    u = problem.space.encode(trial.params)
    begun = starts(problem.space, sources(recipe.pseudo), history.sign)
    return "said by a source" if any(_is_start(problem.space, u, one) for one in begun) else "initial design"


def _is_start(space: Space, u: Array, start: Array) -> bool:
    said = ~np.isnan(start)
    there = space.snap(np.where(said, start, u)[None, :])[0]
    return bool(said.any() and np.isclose(u, there, atol=SAME).all())


def _then(result: Result, trial: Trial) -> tuple[Trial, ...]:
    """The earlier trials as they were when this one was asked for; as they are if nobody knows when."""
    earlier = tuple(one for one in result.trials if one.number < trial.number)
    at = trial.asked_at
    return earlier if at is None else tuple(_as_of(result.space, one, at) for one in earlier)


def _as_of(space: Space, trial: Trial, at: datetime) -> Trial:
    """A trial as it was at a moment: with an answer that was taken back later, and without one told later."""
    later = next((past for past in trial.superseded if past.at > at), None)
    if later and (trial.counts or _fits(space, trial.params)):
        trial = replace(trial, **{name: getattr(later, name) for name in ANSWER})
    pending = trial.told_at is not None and trial.told_at > at and trial.origin != "observed"
    return Trial(trial.number, trial.params, origin=trial.origin) if pending and trial.counts else trial


def _fits(space: Space, params: Params) -> bool:
    try:
        space.check(params)
    except SpaceError:
        return False
    return True


def _improvement(problem: Problem, model: Model, mean: float, sd: float, best: float) -> float:
    """E max(0, gain - that of the best), in the unit of the objective."""
    gain = problem.gain(best)
    least = (float(model.scale(np.array([gain]))[0]) - mean) / sd
    low, high = max(least, -FARTHEST), max(least, 0.0) + FARTHEST
    z = low + (high - low) * (NODES + 1.0) / 2.0
    with np.errstate(over="ignore"):
        more = np.maximum(problem.gain(in_units(problem, model, mean + sd * z)) - gain, 0.0)
    chances = WEIGHTS * (high - low) / 2.0 * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return float(np.minimum(more, np.finfo(np.float64).max) @ chances)
