"""Cheap and Earlier: values of functions that resemble the objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from bopp.called import Function, Objective, called
from bopp.data import Array
from bopp.errors import NoResultError, RecipeError, SpaceError
from bopp.legible import brief
from bopp.parameter import Parameter
from bopp.pseudo.policy import Relative, Source
from bopp.pseudo.settings import Pairs, checked_trust, name_of, names_in, number, paired, without
from bopp.space import Params, Space

if TYPE_CHECKING:
    from bopp.bridges.sources import Translator
    from bopp.problem import Problem

BEYOND = 1.0  # widths of the range beyond which a value tells nothing
FEWEST = 3  # values that say anything about a function
POINTS_PER_PARAMETER = 40  # at which a function is called
MOST_POINTS = 240
ANCHORS = 5  # best points of a function, around which half of its points lie

Row = tuple[Pairs, float]
Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Cheap(Source):
    """Values of a stand-in for the objective: a simulation, a subsample, fewer epochs.

    How it is scaled and shifted against the objective is learned, and how far it is to be trusted.

    Args:
        values: a function of params, which returns what an objective may and is called at `points` different
            params at the beginning; or pairs of params and values.
        direction: "minimize" or "maximize", if other than that of the objective.
        points: by default 40 for each column of the space, 240 at most; fewer where there are no more.
        trust: how sure you are that it resembles the objective, between 0 and 1, before anything is measured.
    """

    values: Any
    direction: str | None = None
    points: int | None = None
    trust: float = 0.7

    def __post_init__(self) -> None:
        checked_trust("Cheap", self.trust)
        _sign("Cheap", self.direction)
        if self.points is not None and (not isinstance(self.points, int) or self.points < FEWEST):
            raise RecipeError(f"Cheap: points must be an integer >= {FEWEST}, got {brief(self.points)}")
        if not callable(self.values):
            object.__setattr__(self, "values", _rows("Cheap", self.values))

    @property
    def data_function(self) -> Callable[..., Any] | None:
        return self.values if callable(self.values) else None

    def bind(self, problem: Problem) -> Cheap:
        space = problem.space
        if self.data_function is not None:
            if problem.fidelity is not None:  # of which a stand-in knows nothing
                space = without(space, problem.fidelity.name)
            sign = _sign("Cheap", self.direction) or float(problem.gain(1.0))
            stand_in = _stand_in(self.data_function, space, problem)
            return replace(self, values=_called(stand_in, space, self.points, sign)).bind(problem)
        names_in(space, "Cheap", dict.fromkeys(name for params, _ in self.values for name, _ in params))
        fitting = _Shared.of(space, self.values).fitting
        if len(fitting) < FEWEST:
            got = _of_use(len(fitting), len(self.values))
            raise RecipeError(f"Cheap: wanted {FEWEST} values or more of params of the space, got {got}")
        return self

    def translate(self, to: Translator) -> Self:
        if self.data_function is not None:
            return replace(self, values=to.function(self.data_function, "Cheap: the function"))
        return replace(self, values=to.rows(self.values))

    def relatives(self, space: Space) -> tuple[Relative, ...]:
        relative = _Shared.of(space, self.values).relative(space, _sign("Cheap", self.direction))
        return () if relative is None else (relative,)

    def starts(self, space: Space, sign: float) -> list[Array]:
        return [_best(space, relative, sign) for relative in self.relatives(space)]


@dataclass(frozen=True)
class Earlier(Source):
    """Earlier studies of the same kind, on the same space or on one that overlaps.

    Args:
        studies: a result or a study, or a list of them. Parameters that a study lacks, or that only it has,
            are passed over, and so are those that had other options, or values far beyond the range; ranges
            and units may differ. Under fidelities only real values count.
        trust: how sure you are that they resemble this one, between 0 and 1, before anything is measured.
    """

    studies: Any
    trust: float = 0.7

    def __post_init__(self) -> None:
        checked_trust("Earlier", self.trust)
        listed = self.studies if isinstance(self.studies, list | tuple) else [self.studies]
        object.__setattr__(self, "studies", tuple(map(_study, listed)))
        if not self.studies:
            raise RecipeError("Earlier: wanted at least one result or study, got none")

    def bind(self, problem: Problem) -> Earlier:
        space = problem.space
        if not self.relatives(space):
            used = [(len(_Shared.of(space, rows).fitting), len(rows)) for _, rows in self.studies]
            raise RecipeError(
                f"Earlier: wanted a study with {FEWEST} values or more, and with some of the parameters "
                f"{list(space.parameters)}, got {_of_use(*max(used))}; under fidelities only real ones count"
            )
        return self

    def translate(self, to: Translator) -> Self:
        return replace(self, studies=[(direction, to.rows(rows)) for direction, rows in self.studies])

    def relatives(self, space: Space) -> tuple[Relative, ...]:
        found = [
            _Shared.of(space, rows).overlapping.relative(space, _sign("Earlier", direction))
            for direction, rows in self.studies
        ]
        return tuple(relative for relative in found if relative is not None)

    def starts(self, space: Space, sign: float) -> list[Array]:
        return [_best(space, relative, sign) for relative in self.relatives(space)]


def _study(study: Any) -> tuple[str, Rows]:
    """The direction and the values of a result or a study."""
    if isinstance(study, tuple) and len(study) == 2 and isinstance(study[0], str):
        return study[0], _rows("Earlier", study[1])
    try:
        problem, trials = study.problem, study.trials
        done = [trial for trial in trials if trial._value is not None and problem.real(trial)]
        gains = [problem.gain(trial.values[problem.objective]) for trial in done]
        feasible = [_may_be_feasible(problem, trial) for trial in done]
        best = max(compress(gains, feasible), default=np.inf)
        rows = [
            (trial.params, trial.values[problem.objective])
            for trial, gain, meets in zip(done, gains, feasible, strict=True)
            if meets or gain <= best  # but for those that are better than the best only because they may be
        ]
        return problem.direction, _rows("Earlier", rows)
    except AttributeError:
        raise RecipeError(f"Earlier: wanted results or studies, got {brief(study)}") from None


def _may_be_feasible(problem: Any, trial: Any) -> bool:
    """Whether a trial meets every constraint, as far as one can tell."""
    try:
        return bool(problem.feasible(trial))
    except NoResultError:  # a function that JSON could not hold; all limits are met
        return True


def _rows(what: str, given: Any) -> Rows:
    if isinstance(given, Mapping | str) or not isinstance(given, Iterable):
        raise RecipeError(f"{what}: wanted pairs of params and values, got {brief(given)}")
    found = []
    for row in given:
        if not isinstance(row, list | tuple) or len(row) != 2:
            raise RecipeError(f"{what}: wanted pairs of params and values, got {brief(row)}")
        found.append((paired(what, row[0]), number(what, row[1])))
    return tuple(found)


def _sign(what: str, direction: Any) -> float | None:
    if direction not in (None, "minimize", "maximize"):
        raise RecipeError(f"{what}: direction must be 'minimize' or 'maximize', got {brief(direction)}")
    return {None: None, "minimize": -1.0, "maximize": 1.0}[direction]


@dataclass(frozen=True, eq=False)
class _Shared:
    """The columns (n, width) of each parameter that some rows share with a space, by its name.

    NaN where a value does not fit, the middle where a row lacks the parameter.
    """

    rows: Rows
    columns: Mapping[str, Array]

    @staticmethod
    def of(space: Space, rows: Rows) -> _Shared:
        given = [dict(params) for params, _ in rows]
        had = {name for params in given for name in params}
        shared = {name: one for name, one in space.parameters.items() if name in had and one.width}
        return _Shared(
            rows,
            {name: np.array([_row(one, name, params) for params in given]) for name, one in shared.items()},
        )

    @property
    def fitting(self) -> npt.NDArray[np.intp]:
        """The rows that fit in every parameter."""
        if not self.columns:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(~np.isnan(np.hstack([*self.columns.values()])).any(axis=1))

    @property
    def overlapping(self) -> _Shared:
        """The same without those parameters of which too few values fit."""
        kept = {}
        for name, column in self.columns.items():
            fit = np.flatnonzero(~np.isnan(column[:, 0]))
            if len(fit) >= FEWEST and any(name in dict(self.rows[row][0]) for row in fit):
                kept[name] = column
        return replace(self, columns=kept)

    def relative(self, space: Space, sign: float | None) -> Relative | None:
        """The values at their points; None if there are too few."""
        fit = self.fitting
        if len(fit) < FEWEST:
            return None
        columns = [column for name in self.columns for column in range(space.dimension)[space.columns[name]]]
        y = np.array([self.rows[row][1] for row in fit])
        return Relative(np.hstack([*self.columns.values()])[fit], y, np.array(columns), sign)


def _row(parameter: Parameter, name: str, params: Mapping[str, Any]) -> list[float]:
    """The columns of one of some params, a number of which may lie beyond its range; NaN if too far."""
    if name not in params:
        return parameter.middle
    try:
        if parameter.numeric:
            row = [parameter.position(params[name])]
        else:
            row = parameter.encode(parameter.check(params[name]))
    except SpaceError:
        row = [np.nan]
    fits = all(-BEYOND <= u <= 1.0 + BEYOND for u in row)
    return row if fits else [np.nan] * parameter.width


def _of_use(used: int, given: int) -> str:
    """How many of the values given are of use, in words."""
    if used == given:
        return str(used or "none")
    return f"{used or 'none'} of use among {given}"


def _best(space: Space, relative: Relative, sign: float) -> Array:
    """Its best point within the cube."""
    u = np.full(space.dimension, np.nan)
    gains = (sign if relative.sign is None else relative.sign) * relative.y
    inside = ((relative.X >= 0.0) & (relative.X <= 1.0)).all(axis=1)
    if inside.any():
        u[relative.columns] = relative.X[np.argmax(np.where(inside, gains, -np.inf))]
    return u


def _stand_in(function: Function, space: Space, problem: Problem) -> Objective:
    """A function that may return what an objective may, as one of a dict of params that returns a number."""
    asked, name = called(function, space, "Cheap: the function"), problem.objective
    alone = type(problem)(space, {name: problem.direction})  # what is limited need not be returned

    def value(params: Params) -> float:
        returned = asked(params)
        if isinstance(returned, Mapping) and name not in returned and "value" in returned:
            returned = returned["value"]
        answer = alone.answer(returned)
        if (found := answer.values.get(name)) is None:
            raise RecipeError(answer.error or "")
        return found

    value.__name__ = name_of(function)
    return value


def _called(function: Any, space: Space, points: int | None, sign: float) -> Rows:
    """The values of a function, half of them all over the space and half near the best of those."""
    from scipy.stats import qmc  # takes half a second to import, so only where it is used

    count = points or min(MOST_POINTS, POINTS_PER_PARAMETER * space.dimension)
    rng = np.random.default_rng(0)
    half = count - count // 2
    wide = qmc.Sobol(space.dimension, rng=rng).random_base2(half.bit_length())[:half]
    wide = _fresh(space, wide, wide[:0])
    rows, reason = _evaluated(function, space, wide)
    if not rows:
        raise RecipeError(
            f"Cheap: wanted finite values of {name_of(function)}, got none at {len(wide)} points: {reason}"
        ) from reason
    best = sorted(rows, key=lambda row: -sign * row[1])[:ANCHORS]
    anchors = np.array([space.encode(dict(params)) for params, _ in best])
    anchors = anchors[rng.integers(len(anchors), size=count // 2)]
    distance = 10.0 ** rng.uniform(-2.0, -0.5, (len(anchors), 1))
    near = np.clip(anchors + distance * rng.standard_normal(anchors.shape), 0.0, 1.0)
    return rows + _evaluated(function, space, _fresh(space, near, wide))[0]


def _fresh(space: Space, U: Array, had: Array) -> Array:
    """The points of the grid nearest to the rows of U, each once, but for those that there were before."""
    before = set(map(tuple, had.tolist()))
    rows = dict.fromkeys(map(tuple, space.snap(U).tolist()))
    return np.array([row for row in rows if row not in before]).reshape(-1, space.dimension)


def _evaluated(function: Any, space: Space, U: Array) -> tuple[Rows, Exception | None]:
    """The finite values of a function, and the last reason why there was none."""
    rows, reason = [], None
    for u in U:
        params = space.decode(u)
        try:
            rows.append((paired("Cheap", params), number("Cheap", function(dict(params)))))
        except Exception as error:
            reason = error
    return tuple(rows), reason
