"""Goals: what to look for, given what was measured: one value or several, with constraints or without.

Every value has a model of its own, and pseudo-points of its own: pending and failed trials have the values
that are expected of them in each. One objective has an acquisition function, several have the expected
improvement of the hypervolume. Either is multiplied by the chance that the constraints are met; where no
trial has met them yet, that chance alone is looked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bopp import acquisition as acquisitions
from bopp import outcome as outcomes
from bopp import pseudo as policies
from bopp.acquisition import Acquisition
from bopp.belief import Beliefs
from bopp.data import Array, History
from bopp.errors import RecipeError
from bopp.feasibility import Chance, FeasibleScore
from bopp.front import found_reference, nondominated
from bopp.hypervolume import HypervolumeScore, left_to_gain
from bopp.knowledge import trusted
from bopp.known import Known
from bopp.model import Model, learn, shown
from bopp.pseudo import Policy, Source, Sum
from bopp.pseudo.policy import parts
from bopp.recipe import Recipe
from bopp.score import AverageScore
from bopp.search import Score
from bopp.space import Space

FAVOUR = 10.0  # evaluations after which a word on where the best is has faded to an ordinary density
LIKELY = 0.5  # the chance to meet the constraints from which a pending trial counts as one that will


@dataclass(frozen=True, eq=False)
class Sought:
    """What to look for.

    score      what a search maximises
    objective  the acquisition of the objective alone, or of the first of several
    history    the trials as the search should see them: near the best of these it looks more closely
    """

    score: Score
    objective: AverageScore
    history: History

    @property
    def trusted(self) -> tuple[Source, ...]:
        """The sources that are more probably right than wrong."""
        return trusted(self.objective.accounts)


@dataclass(frozen=True, eq=False)
class Output:
    """What is believed of one of the values after pseudo-points were seen."""

    model: Model
    knowns: tuple[Known, ...]

    @property
    def beliefs(self) -> Beliefs:
        return Beliefs(tuple(known.posterior for known in self.knowns), self.model.beliefs.weights)

    def unit(self, values: npt.ArrayLike) -> Array:
        """Values (n,), larger is better, in the unit of the model."""
        return self.model.scale(np.asarray(values, dtype=np.float64))

    def average(self, acquisition: Acquisition, trials: int) -> AverageScore:
        weights, accounts = self.model.beliefs.weights, self.model.accounts
        return AverageScore(acquisition, self.knowns, weights, accounts, FAVOUR / trials)


def measured(history: History) -> bool:
    """Whether every objective has been measured at least once."""
    return all(len(output.data) > 0 for output in history.outputs[: history.objectives])


def incumbent(history: History) -> float | None:
    """The best value of the only objective among trials that meet the constraints, if there are any."""
    best = history.values[history.feasible, 0]
    return float(best.max()) if len(best) else None


def check_goals(recipe: Recipe, objectives: Sequence[str]) -> None:
    """Refuse a recipe that cannot be used for several objectives."""
    if len(objectives) < 2:
        return
    if recipe.acquisition not in (acquisitions.log_ei, acquisitions.ei):
        raise RecipeError(
            f"several objectives, {list(objectives)}, want the expected improvement, log_ei or ei, "
            f"got {recipe.acquisition!r}"
        )
    check_sources(policies.sources(recipe.pseudo), objectives)


def check_sources(sources: Sequence[Source], objectives: Sequence[str]) -> None:
    """Refuse sources that cannot be used for several objectives."""
    mute = [source for source in sources if not source.holds_for_all_values]
    if mute and len(objectives) > 1:
        raise RecipeError(
            f"several objectives, {list(objectives)}: wanted knowledge that holds for each, such as Images, "
            f"got {mute[0]!r}"
        )


def seek(
    space: Space, recipe: Recipe, history: History, key: tuple[int, int], best: float | None = None
) -> Sought:
    """What to look for after these trials; `best` is the value to improve on, if not all of them count."""
    if history.single:
        if best is None and not history.allowed.all():
            best = incumbent(history)
        alone = _output(space, recipe, history, key, best).average(recipe.acquisition, len(history))
        return Sought(alone, alone, history)
    outputs = {
        k: _output(space, _for_output(recipe, history, k), output, key, turns=len(history.outputs))
        for k, output in enumerate(history.outputs)
        if len(output.data)
    }
    objectives = [outputs[k] for k in range(history.objectives)]
    constraints = {k: output for k, output in outputs.items() if k >= history.objectives}
    chances = tuple(Chance(one.beliefs, one.unit([0.0])[0]) for one in constraints.values())
    pending = _expected(history.pending, objectives, chances)
    score: Score | None
    if history.objectives == 1:
        known = incumbent(history) if best is None else best
        alone = _improving(objectives[0], known, pending).average(recipe.acquisition, len(history))
        score = None if known is None and len(pending) == 0 else alone
    else:
        alone = objectives[0].average(recipe.acquisition, len(history))
        score = _hypervolume(history, objectives, pending) if history.feasible.any() or not chances else None
    if chances:
        score = FeasibleScore(score, chances, acquisitions.is_positive(recipe.acquisition))
    return Sought(score or alone, alone, _ranked(history, constraints, np.random.default_rng([*key, 3])))


def _output(
    space: Space,
    recipe: Recipe,
    history: History,
    key: tuple[int, int],
    best: float | None = None,
    turns: int = 1,
) -> Output:
    """What is believed of one value: the model of the real data, and pseudo-points."""
    model = learn(space, history, recipe, turns)  # line 7: the real data, and what is known besides
    return Output(model, tuple(known for known, _ in shown(model, space, recipe, history, key, best)))


def _for_output(recipe: Recipe, history: History, k: int) -> Recipe:
    """The recipe for one of several values: a source speaks of the only objective, or of all values."""
    policy = recipe.pseudo
    if k > 0 or history.objectives > 1:
        policy = Sum(tuple(one for one in parts(policy) if _speaks_of_all(one)))
    outcome = recipe.outcome
    if k >= history.objectives:
        outcome = outcomes.unsqueezed(outcome)
        outcome = outcomes.margin if outcome == outcomes.power else outcome
    elif history.objectives > 1 and outcome == outcomes.power:
        outcome = outcomes.standardised  # a hypervolume of bent values would not be that of the values
    return replace(recipe, pseudo=policy, outcome=outcome)


def _speaks_of_all(policy: Policy) -> bool:
    """Whether what a policy says holds for every value: a symmetry does, and what is no source."""
    return not isinstance(policy, Source) or policy.holds_for_all_values


def _expected(X: Array, objectives: Sequence[Output], chances: Sequence[Chance]) -> Array:
    """The values (m, k) of the objectives that are expected of pending trials which meet the constraints."""
    if len(X) == 0:
        return np.empty((0, len(objectives)))
    met = np.sum([chance.values(X) for chance in chances], axis=0) >= math.log(LIKELY)
    means = np.column_stack([one.beliefs.mean(X) for one in objectives])
    return np.asarray(means[np.broadcast_to(met, len(X))])


def _improving(output: Output, best: float | None, pending: Array) -> Output:
    """The only objective, whose best value so far is that of a trial that counts, or is expected of one."""
    values = [*([] if best is None else output.unit([best])), *pending[:, 0]]
    if not values:
        return output
    return replace(output, knowns=tuple(replace(one, incumbent=float(max(values))) for one in output.knowns))


def _hypervolume(history: History, objectives: Sequence[Output], pending: Array) -> HypervolumeScore:
    """The expected improvement of the hypervolume, as if pending trials had the values expected of them."""
    told = history.values[history.feasible, : history.objectives]
    Y = np.column_stack([one.unit(column) for one, column in zip(objectives, told.T, strict=True)])
    if history.reference is not None:
        given = zip(objectives, history.reference, strict=True)
        reference = np.array([one.unit([value])[0] for one, value in given])
    elif len(Y):
        reference = found_reference(Y)
    else:
        reference = np.array([one.model.data.y.min() for one in objectives])
    volume = left_to_gain(np.vstack([Y, pending]), reference)
    return HypervolumeScore(tuple(one.beliefs for one in objectives), volume)


def _ranked(history: History, constraints: Mapping[int, Output], rng: np.random.Generator) -> History:
    """The history with a single value, by which its trials are ranked: those to look around come first.

    These are the front, in random order, then other trials that meet the constraints, then those that break
    them least.
    """
    done = history.state == "done"
    objectives = history.values[:, : history.objectives]
    first = np.zeros(len(history), dtype=np.bool_)
    first[history.feasible] = nondominated(objectives[history.feasible])
    tie = objectives[:, 0] if history.objectives == 1 else rng.random(len(history))
    broken = np.zeros(len(history))
    for k, one in constraints.items():
        with np.errstate(invalid="ignore"):
            broken += np.fmax(one.unit([0.0])[0] - one.unit(history.values[:, k]), 0.0)
    order = np.lexsort((np.nan_to_num(tie, nan=-np.inf), -broken, first, history.feasible))
    merit = np.full(len(history), np.nan)
    merit[order] = np.arange(len(history))
    values = np.where(done, merit, np.nan)[:, None]
    return replace(history.outputs[0], values=values, noise=np.zeros_like(values))
