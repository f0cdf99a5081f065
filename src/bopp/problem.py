"""Problem: what is to be found. Direction and feasibility are decided here and nowhere else.

For the engine, larger is better, and a constraint is met where its margin is at least zero.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bopp.constraint import AtLeast as AtLeast
from bopp.constraint import AtMost as AtMost
from bopp.constraint import Condition, check_name, checked_constraint, met
from bopp.constraint import Constraint as Constraint
from bopp.constraint import Holds as Holds
from bopp.constraint import Linear as Linear
from bopp.data import Array, History
from bopp.errors import NoResultError, RecipeError, SpaceError, TellError
from bopp.fidelity import Fidelity
from bopp.front import nondominated
from bopp.legible import brief
from bopp.region import Region
from bopp.space import Params, Space
from bopp.trial import Answer, State, Trial, measurement, number_of

Direction = Literal["minimize", "maximize"]
Declaration = Mapping[str, Any] | Space

LARGEST = sys.float_info.max
LARGEST_NOISE = 1e150  # a standard deviation whose square does not overflow


@dataclass(frozen=True, eq=False)
class Problem:
    """A space, what to minimize or maximize in it, and which constraints to meet.

    Args:
        space: a dict such as {"rate": Float(1e-4, 1, log=True), "layers": (1, 8)}.
        objectives: a dict of name to "minimize" or "maximize"; the objective function returns a dict with
            these names, or just a number if there is only one.
        constraints: `AtMost` and `AtLeast` for values that the objective function returns as well, `Holds`
            and `Linear` for conditions on params, which every suggestion meets. `best` is the best trial that
            meets them all.
        fidelities: how thorough an evaluation may be, cheapest first: {"epochs": [1, 9, 81]} costs in
            proportion, {"epochs": {1: 0.05, 9: 0.2, 81: 1.0}} as given, in any unit. The objective function
            gets the level by this name too. The last one is the real one, of which `best` is chosen.
        reference: with several objectives, the values that a trial must surpass in all of them to be worth
            anything, as in {"error": 0.5, "latency": 100}; None finds them out from the trials.
    """

    space: Space
    objectives: Mapping[str, Direction]
    constraints: tuple[AtMost | AtLeast | Holds | Linear, ...]
    fidelity: Fidelity | None
    reference: Mapping[str, float] | None

    def __init__(
        self,
        space: Declaration,
        objectives: Mapping[str, str] | None = None,
        constraints: Iterable[Constraint] = (),
        fidelities: Mapping[str, Any] | Fidelity | None = None,
        reference: Mapping[str, float] | None = None,
    ):
        objectives = {"value": "minimize"} if objectives is None else objectives
        if not isinstance(objectives, Mapping) or not objectives:
            raise RecipeError(
                f"wanted a dict of objectives with their directions, got {brief(objectives)}",
                argument="objectives",
            )
        if not isinstance(constraints, Iterable):
            raise RecipeError(
                f"wanted a list of constraints, got {brief(constraints)}", argument="constraints"
            )
        for name in objectives:
            check_name("an objective", name)
        directions = {name: checked_direction(direction) for name, direction in objectives.items()}
        fidelity = None if fidelities is None else Fidelity.of(fidelities)
        object.__setattr__(self, "fidelity", fidelity)
        object.__setattr__(self, "space", Space(space) if fidelity is None else fidelity.within(Space(space)))
        object.__setattr__(self, "objectives", directions)
        object.__setattr__(self, "constraints", tuple(map(checked_constraint, constraints)))
        names = [condition.name for condition in self.conditions]
        if len(set(names)) < len(names):
            raise RecipeError(
                f"wanted a different name for each condition, got {names}", argument="constraints"
            )
        for condition in self.conditions:
            if isinstance(condition, Linear):
                condition.check(self.space)
        object.__setattr__(self, "reference", _checked_reference(reference, self.objectives))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem) or list(self.objectives.items()) != list(other.objectives.items()):
            return False  # order matters: the first objective is a trial's `value`
        mine, theirs = ((one.space, one.constraints, one.fidelity, one.reference) for one in (self, other))
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def of(space: Declaration | Problem, direction: Direction | None = None) -> Problem:
        """The problem itself; or, for a space, the problem of a single value, to be minimized by default."""
        if not isinstance(space, Problem):
            return Problem(space, {"value": "minimize" if direction is None else direction})
        if direction is not None:
            raise RecipeError(
                f"a Problem has directions of its own, got direction {brief(direction)} beside it",
                argument="direction",
            )
        return space

    def in_space(self, space: Declaration) -> Problem:
        """The same problem in another space."""
        return Problem(space, self.objectives, self.constraints, self.fidelity, self.reference)

    def alone(self, name: str) -> Problem:
        """The problem of one objective or limited value alone, under the same constraints."""
        limited = {one.name: "minimize" if isinstance(one, AtMost) else "maximize" for one in self.limits}
        directions = {**limited, **self.objectives}
        if not isinstance(name, str) or name not in directions:
            raise RecipeError(f"wanted one of the values {self.names}, got {brief(name)}")
        return Problem(self.space, {name: directions[name]}, self.constraints, self.fidelity)

    @property
    def objective(self) -> str:
        """The name of the only objective."""
        if len(self.objectives) > 1:
            names = list(self.objectives)
            raise RecipeError(f"wanted one objective, got {names}: result.of({names[0]!r}) has one alone")
        return next(iter(self.objectives))

    @property
    def aims(self) -> str:
        """What is to be found, in words: minimize error, maximize speed."""
        return ", ".join(
            direction if name == "value" else f"{direction} {name}"
            for name, direction in self.objectives.items()
        )

    def check_searchable(self) -> None:
        """Refuse what no recipe can suggest for yet."""
        if len(self.objectives) > 1 and self.fidelity is not None:
            raise RecipeError(f"bopp takes fidelities with one objective as yet, got {list(self.objectives)}")

    @property
    def direction(self) -> Direction:
        """The direction of the only objective."""
        return self.objectives[self.objective]

    @property
    def limits(self) -> tuple[AtMost | AtLeast, ...]:
        """The constraints on measured values."""
        return tuple(one for one in self.constraints if isinstance(one, AtMost | AtLeast))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The constraints on params, which are known without an evaluation."""
        return tuple(one for one in self.constraints if isinstance(one, Holds | Linear))

    @cached_property
    def region(self) -> Space:
        """Where suggestions come from: the space, or the part of it in which all conditions hold."""
        return Region(self.space, self.conditions) if self.conditions else self.space

    @property
    def names(self) -> list[str]:
        """What an evaluation must return: the objectives, then the other values that constraints need."""
        return list(dict.fromkeys([*self.objectives, *(limit.name for limit in self.limits)]))

    @property
    def signs(self) -> Array:
        """For each objective 1 where larger values are better, -1 where smaller ones are."""
        return np.array([1.0 if one == "maximize" else -1.0 for one in self.objectives.values()])

    def gain(self, value: Any, objective: str | None = None) -> Any:
        """A value, or an array of values, as larger-is-better; applied twice, it gives the value back."""
        direction = self.objectives[self.objective if objective is None else objective]
        return value if direction == "maximize" else -value

    def answer(self, returned: Any, noise: Any = None) -> Answer:
        """What an objective returned, as an answer.

        It should be a number or a dict with every declared name. None says that a value was not measured:
        where no other was measured either, that is a failure, and so are NaN, an infinity and a missing name.
        A declared value that is not a number is an error. Other names are measurements.
        """
        given = self._named(returned)
        values = {
            name: None if given[name] is None else number_of(given[name], _word(name))
            for name in self.names
            if name in given
        }
        others = {name: measurement(value) for name, value in given.items() if name not in values}
        numbers = {name: value for name, value in values.items() if value is not None}
        if error := self._fault(values, numbers, given):
            kept = {name: value for name, value in numbers.items() if math.isfinite(value)}
            return Answer(error=error, measurements=kept | others)
        noises = {name: sd for name, sd in self._noise(noise).items() if name in numbers}
        return Answer(values, noises, others)

    def _fault(
        self, values: Mapping[str, float | None], numbers: Mapping[str, float], given: Mapping[str, Any]
    ) -> str | None:
        """Why declared values are a failure, if they are one."""
        if values and not numbers:
            return f"{_what(next(iter(values)))} was None"
        for name in self.names:
            if name not in values:
                wanted, got = ", ".join(self.names), ", ".join(map(repr, given)) or "nothing"
                unmeasured = "; None is for what was not measured" if len(self.names) > 1 else ""
                return f"{brief(name)} is missing: wanted {wanted}, got {got}{unmeasured}"
            if name in numbers and not math.isfinite(numbers[name]):
                return f"{_what(name)} was {numbers[name]}"
        return None

    def fits(self, trial: Trial) -> bool:
        """Whether a trial has what its state requires: all declared values if done, else none.

        Of those that are declared some may be None, which were not measured, but not all. One that was
        dropped has a record of what it was.
        """
        if trial.state != "done":
            nothing = not trial.values and not trial.noise
            traced = trial.state == "failed" or trial.traceback is None
            recorded = trial.state != "dropped" or len(trial.superseded) > 0
            return trial.state in get_args(State) and nothing and traced and recorded
        told = {name: value for name, value in trial.values.items() if value is not None}
        numbers = [*told.values(), *trial.noise.values()]
        finite = all(type(number) is float and math.isfinite(number) for number in numbers)
        named = list(trial.values) == self.names and len(told) > 0 and trial.noise.keys() <= told.keys()
        return finite and named and trial.traceback is None and all(sd >= 0.0 for sd in trial.noise.values())

    def feasible(self, trial: Trial) -> bool:
        """Whether a finished trial is known to meet every constraint: not where a limit was not measured."""
        limits = all(
            (value := trial.values[limit.name]) is not None and limit.margin(value) >= 0.0
            for limit in self.limits
        )
        return limits and self.allows(trial.params)

    def broken(self, trial: Trial) -> list[str]:
        """The constraints that a finished trial breaks, in words: memory 17.2 > 16.

        Functions that were not passed in again cannot be checked, and are left out.
        """
        words = [
            _beyond(limit, value)
            for limit in self.limits
            if (value := trial.values.get(limit.name)) is not None and limit.margin(value) < 0.0
        ]
        for one in self.conditions:
            try:
                words += [] if one(trial.params) else [f"not: {one.name}"]
            except NoResultError as error:
                if error.__cause__ is not None:  # it was there, and raised
                    raise
        return words

    def allows(self, params: Params) -> bool:
        """Whether params meet the conditions that can be checked without an evaluation."""
        return all(condition(params) for condition in self.conditions)

    def checked_part(self, params: Mapping[str, Any]) -> Params:
        """Some of the params in their own types, or all; an error if no suggestion can have them."""
        part = self.space.check_part(params)
        if not self.space.is_whole(part):
            self.region.holding(part).candidates(1, np.random.default_rng(0))  # an error if there are none
            return part
        for condition in self.conditions:
            if not met(condition, part):
                raise SpaceError(f"wanted params that meet the condition {condition.name!r}, got {part}")
        return part

    def real(self, trial: Trial) -> bool:
        """Whether a trial is of the real fidelity, not of a cheaper one."""
        return self.fidelity is None or self.fidelity.is_real(trial._params)

    def cost(self, trial: Trial) -> float:
        """What a trial that counts costs, in real evaluations."""
        return 1 if self.fidelity is None else self.fidelity.cost(trial._params)

    def best(self, trials: Sequence[Trial]) -> Trial:
        """The best finished trial that meets the constraints; the first one if several are equally good."""
        if len(self.objectives) > 1:
            raise NoResultError(
                f"several objectives, {list(self.objectives)}, have no single best trial: see `front`"
            )
        done = [trial for trial in trials if trial.values.get(self.objective) is not None]
        finished = [trial for trial in done if self.real(trial)]
        feasible = [trial for trial in finished if self.feasible(trial)] if self.constraints else finished
        if feasible:
            return max(feasible, key=lambda trial: self.gain(trial.values[self.objective]))
        if finished:
            raise NoResultError(f"none of {len(finished)} finished trials meets the constraints")
        if done and self.fidelity is not None:
            wanted = f"{self.fidelity.name}={self.fidelity.real!r}"
            raise NoResultError(f"none of {len(done)} finished trials is a real one, with {wanted}")
        errors = [trial.error for trial in trials if trial.error]
        reason = f"; the first failed with: {errors[0]}" if errors else ""
        raise NoResultError(f"none of {len(trials)} trials has a value{reason}")

    def front(self, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        """The finished trials that meet the constraints and than which none is better in every objective.

        None is at least as good in all objectives and better in one. Trials that are equal are all there.
        """
        done = [trial for trial in trials if trial.state == "done" and self.real(trial)]
        rows = [(trial, [trial.values[name] for name in self.objectives]) for trial in done]
        whole = [(trial, row) for trial, row in rows if None not in row and self.feasible(trial)]
        if not whole:
            return ()
        gains = np.array([row for _, row in whole], dtype=float) * self.signs
        return tuple(trial for (trial, _), best in zip(whole, nondominated(gains), strict=True) if best)

    def reaches(self, trial: Trial, target: float | None) -> bool:
        """Whether a trial is feasible and at least as good as the target."""
        if target is None or not self.real(trial) or (value := trial.values.get(self.objective)) is None:
            return False
        try:
            return bool(self.gain(value) >= self.gain(target)) and self.feasible(trial)
        except NoResultError:  # a condition that cannot be checked here
            return False

    def point(self, trial: Trial) -> Array:
        """The point of the cube of a trial that counts; the params of others need not fit the space."""
        return self.space.encode(trial._params) if trial.counts else np.zeros(self.space.dimension)

    def history(self, trials: Sequence[Trial], X: Array) -> History:
        """The trials that count as the engine sees them; X has a row for each trial given, its point."""
        counts = [trial.counts for trial in trials]
        if not all(counts):
            X, trials = X[counts], [trial for trial in trials if trial.counts]
        done = [trial for trial in trials if trial.state == "done"]
        state = np.array([trial.state for trial in trials], dtype=np.str_)
        columns: list[tuple[str, Callable[[Array], Array]]] = [
            *((name, partial(self.gain, objective=name)) for name in self.objectives),
            *((limit.name, limit.margin) for limit in self.limits),
        ]
        values = np.full((len(trials), len(columns)), np.nan)
        noise = np.zeros_like(values)
        for column, (name, larger_is_better) in enumerate(columns):
            told = np.array([trial.values[name] for trial in done], dtype=np.float64)  # None becomes NaN
            sds = np.array([trial.noise.get(name, 0.0) for trial in done])
            with np.errstate(over="ignore"):  # a margin may be larger than any float
                values[state == "done", column] = np.clip(larger_is_better(told), -LARGEST, LARGEST)
            noise[state == "done", column] = np.minimum(sds, LARGEST_NOISE) ** 2
        of_limits = [-1.0 if isinstance(limit, AtMost) else 1.0 for limit in self.limits]
        return History(
            X,
            state,
            values,
            noise,
            objectives=len(self.objectives),
            reference=self.reference_point,
            names=tuple(name for name, _ in columns),
            signs=(*self.signs.tolist(), *of_limits),
            allowed=self._allowed(trials),
        )

    def _allowed(self, trials: Sequence[Trial]) -> npt.NDArray[np.bool_]:
        """Which trials meet the conditions on params; all where these cannot be checked here."""
        try:
            return np.array([self.allows(trial.params) for trial in trials] if self.conditions else True)
        except NoResultError:
            return np.array(True)

    @property
    def reference_point(self) -> Array | None:
        """The reference point as larger-is-better."""
        if self.reference is None:
            return None
        return np.array([self.reference[name] for name in self.objectives]) * self.signs

    def _named(self, returned: Any) -> dict[str, Any]:
        if isinstance(returned, Mapping):
            return {name if isinstance(name, str) else brief(name): value for name, value in returned.items()}
        if len(self.objectives) > 1:
            if returned is None or (isinstance(returned, float) and math.isnan(returned)):
                return dict.fromkeys(self.names)  # nothing was measured: a failure
            raise TellError(f"wanted a dict with {', '.join(self.names)}, got {brief(returned)}")
        return {self.objective: returned}

    def _noise(self, noise: Any) -> dict[str, float]:
        """Standard deviations by name; a single number is that of the only objective."""
        if noise is None:
            return {}
        if not isinstance(noise, Mapping) and len(self.objectives) > 1:
            raise TellError(f"noise: wanted a dict by name, of {', '.join(self.names)}, got {brief(noise)}")
        given = noise if isinstance(noise, Mapping) else {self.objective: noise}
        found = {}
        for name, sd in given.items():
            found[name] = number_of(sd, "noise")
            if name not in self.names or not 0.0 <= found[name] < math.inf:
                wanted = ", ".join(self.names)
                raise TellError(f"noise: wanted a standard deviation >= 0 of {wanted}, got {brief(noise)}")
        return found


def checked_direction(direction: Any) -> Direction:
    """The direction, if it is a valid one."""
    if direction not in get_args(Direction):
        raise RecipeError(
            f"direction must be 'minimize' or 'maximize', got {brief(direction)}", argument="direction"
        )
    found: Direction = direction
    return found


def _checked_reference(reference: Any, objectives: Mapping[str, Direction]) -> dict[str, float] | None:
    if reference is None:
        return None
    wanted = "a dict with a finite number for each of several objectives and nothing else"
    if isinstance(reference, Mapping) and reference.keys() == objectives.keys() and len(objectives) > 1:
        with suppress(TellError):
            found = {name: number_of(reference[name]) for name in objectives}
            if all(map(math.isfinite, found.values())):
                return found
    raise RecipeError(
        f"reference: wanted {wanted}, got {brief(reference)} for {list(objectives)}", argument="reference"
    )


def _beyond(limit: AtMost | AtLeast, value: float) -> str:
    """A value beyond its limit, in as many digits as tell them apart."""
    sign = ">" if isinstance(limit, AtMost) else "<"
    short = f"{value:.6g}", f"{limit.bound:.6g}"
    one, other = short if short[0] != short[1] else (repr(value), repr(limit.bound))
    return f"{limit.name} {one} {sign} {other}"


def _what(name: str) -> str:
    return "the value" if name == "value" else repr(name)


def _word(name: str) -> str:
    return name if name == "value" else repr(name)
