"""Result: every trial of a run, the best one or the front, as a value that can be saved, read and drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from bopp.arguments import is_seed
from bopp.data import History
from bopp.errors import BoppError, NoResultError, reading
from bopp.knowledge import Account
from bopp.parts import has_parts_of_yours, read_part, write_part
from bopp.plain import (
    check_format,
    read_problem,
    read_space,
    read_trial,
    write_problem,
    write_space,
    write_trial,
)
from bopp.problem import Declaration, Direction, Problem
from bopp.pseudo import Source
from bopp.recipe import Recipe
from bopp.space import Space
from bopp.trial import Superseded, Trial

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from bopp.view.explanation import Explanation
    from bopp.view.front import Hypervolume
    from bopp.view.importance import Share
    from bopp.view.prediction import Prediction

File = str | PathLike[str] | None

FORMAT = 1


class Findings:
    """What was found by the trials of a problem, wherever these are kept."""

    if TYPE_CHECKING:

        @property
        def problem(self) -> Problem: ...

        @property
        def trials(self) -> tuple[Trial, ...]: ...

    @property
    def space(self) -> Space:
        return self.problem.space

    @property
    def direction(self) -> Direction:
        """The direction of the only objective."""
        return self.problem.direction

    @property
    def best(self) -> Trial:
        """The best finished trial that meets the constraints; the first one if several are equally good."""
        return self.problem.best(self.trials)

    @property
    def front(self) -> tuple[Trial, ...]:
        """The finished trials that meet the constraints and that no other is better than; in order.

        Another one is better if it is as good in every objective and better in one. Of a single objective
        these are the best trial and all that are as good.
        """
        return self.problem.front(self.trials)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame with a row for each trial.

        Its columns are number and state, the declared values and the params by name, error, origin, asked_at,
        told_at, worker and notes, noises such as "noise.value" where there are any, and the measurements by
        name; with constraints also "breaks", which says in words what a trial breaks. A name that stands for
        two of these gets its group in front, as in "params.state".
        """
        from bopp.view.frame import to_frame

        return to_frame(self.problem, self.trials)


@dataclass(frozen=True)
class Result(Findings):
    """What a run found: `best` or `front`, every trial in order, and the sources of knowledge that it had.

    Args:
        problem: the space, the objectives and the constraints.
        trials: every trial, in order.
        sources: the sources of knowledge of the run.
        seed: the seed of the run; None where it is not known.
    """

    problem: Problem
    trials: tuple[Trial, ...]
    sources: tuple[Source, ...] = ()
    seed: int | None = field(default=None, compare=False)

    def of(self, name: str) -> Result:
        """The result as that of one objective alone, or of one limited value, for pictures and predictions.

        The constraints are kept, so its best trial meets them. Other values become measurements. A trial in
        which nothing of that was measured is dropped.
        """
        problem = self.problem.alone(name)
        every = name in self.problem.objectives
        sources = tuple(source for source in self.sources if every or source.holds_for_all_values)
        return Result(problem, tuple(_alone(problem, trial) for trial in self.trials), sources, self.seed)

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> Hypervolume:
        """How much of the space of objectives the front dominates after each trial; wants the extra `front`.

        Args:
            reference: the values that a trial must surpass in all objectives to count, such as
                {"error": 0.5, "latency": 100}. None takes those of the problem, or else the worst values of
                all trials that meet the constraints and a tenth of their range beyond.
        """
        from bopp.view.front import hypervolume

        return hypervolume(self, reference)

    @property
    def knowledge(self) -> tuple[Account, ...]:
        """What became of each source of knowledge: how far it is trusted now, and what it is worth.

        The model is that of the default recipe. Before any trial has finished, the trust is your own. Each of
        several objectives has its own: `result.of(name).knowledge`.
        """
        from bopp.view.prediction import accounts_of

        return accounts_of(self)

    def history(self) -> History:
        """The trials as the engine sees them: points of the cube, larger is better."""
        rows = [self.problem.point(trial) for trial in self.trials]
        return self.problem.history(self.trials, np.array(rows).reshape(-1, self.space.dimension))

    def __repr__(self) -> str:
        states = [trial.state for trial in self.trials]
        counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
        return f"Result({self.problem.aims}: {self._found()}; trials: {counts or 'none'})"

    def _found(self) -> str:
        try:
            if len(self.problem.objectives) > 1:
                return f"front of {len(self.front)}"
            return f"best {self.best.value!r} at {self.best.params!r}"
        except BoppError:  # no trial has finished, or none meets the constraints
            return "no best"

    def to_json(self) -> str:
        """The result as JSON text; `Result.from_json` reads it back."""
        document = {
            "format": FORMAT,
            "space": write_space(self.space),
            **write_problem(self.problem),
            "trials": [write_trial(self.space, trial) for trial in self.trials],
        }
        if self.sources:
            document["sources"] = [write_part(source) for source in self.sources]
        if self.seed is not None:
            document["seed"] = self.seed
        return json.dumps(document, indent=1, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Result:
        """The result that `to_json` wrote.

        Sources with functions of your own, which JSON cannot hold, are left out.
        """
        with reading(f"wanted the JSON text of a result, got {text[:60]!r}"):
            document = json.loads(text)
            check_format("a result", document["format"], FORMAT)
            problem = read_problem(read_space(document["space"]), document)
            rows = enumerate(document["trials"])
            trials = tuple(read_trial(problem, row, number) for number, row in rows)
            if (seed := document.get("seed")) is not None and not is_seed(seed):
                raise BoppError(f"wanted a seed, got {seed!r}")
            written = [part for part in document.get("sources", []) if not has_parts_of_yours(part)]
            return Result(problem, trials, tuple(map(_read_source, written)), seed)

    @overload
    def predict(self, params: Mapping[str, Any], recipe: Recipe | None = None) -> Prediction: ...
    @overload
    def predict(
        self, params: Sequence[Mapping[str, Any]], recipe: Recipe | None = None
    ) -> list[Prediction]: ...
    def predict(
        self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]], recipe: Recipe | None = None
    ) -> Prediction | list[Prediction]:
        """The mean and the standard deviation that the model expects of the objective, in its own unit.

        A dict of params gives a pair of floats, a list of dicts a list of pairs. The standard deviation is
        that of the objective itself, without the noise of a measurement. The model is that of the default
        recipe with the sources of knowledge of the run, or that of the recipe given.
        """
        from bopp.view.prediction import predictions

        if isinstance(params, Mapping):
            return predictions(self, [params], recipe)[0]
        return predictions(self, params, recipe)

    def explain(
        self, trial: Trial | int, recipe: Recipe | None = None, *, seed: int | None = None
    ) -> Explanation:
        """What the model believed of a trial when it was suggested, and what drew it there.

        Of several objectives, `result.of(name).explain(trial)` says it for each.

        Args:
            trial: the trial, or its number.
            recipe: how the run suggested, if other than by default; it has its own sources of knowledge.
            seed: that of the run, which matters only to a recipe that draws its pseudo-points; None is
                `result.seed`, or 0.
        """
        from bopp.view.explanation import explanation

        return explanation(self, trial, recipe, (self.seed or 0) if seed is None else seed)

    def importance(self) -> dict[str, Share]:
        """The share of each parameter in the variation of the values, with an interval of 90 %.

        Shares add up to 1: they are total Sobol indices over the whole space divided by their sum, averaged
        over functions that agree with the trials. Each is a tuple (share, low, high).
        """
        from bopp.view.importance import importance

        return importance(self)

    @staticmethod
    def from_pandas(
        frame: pandas.DataFrame,
        space: Declaration | Problem,
        direction: Direction | None = None,
        value: str | None = None,
    ) -> Result:
        """Earlier measurements from a pandas DataFrame, as observed trials to go on from.

        Args:
            frame: a column for each parameter and declared value, by name, and "noise" or "notes" where you
                have them; other columns are measurements. A row without a value is a failed trial, for the
                reason in its column "error". What `to_pandas` made can be read, too.
            space: a dict such as {"rate": Float(1e-4, 1, log=True), "layers": (1, 8)}, or a `Problem`.
            direction: "minimize" or "maximize"; None is "minimize", or what a `Problem` says.
            value: the column of the only objective, if it does not have its name.
        """
        from bopp.view.frame import from_frame

        problem = Problem.of(space, direction)
        return Result(problem, tuple(from_frame(frame, problem, value)))

    def _repr_html_(self) -> str:
        from bopp.view.page import page

        return page(self)

    def plot_convergence(self, path: File = None, *, title: str | None = None) -> Figure:
        """Plot the values of the trials over the evaluations spent, and the best so far.

        Of several objectives it shows the hypervolume of the front, which wants the extra `front`.
        Like every picture it is saved at `path` if one is given; `title` is written above it.
        """
        return self._draw("convergence", path, title=title)

    def plot_front(
        self, path: File = None, *, names: Sequence[str] | None = None, title: str | None = None
    ) -> Figure:
        """Plot the trials by their objectives, two by two: the front, and those that it dominates.

        Args:
            names: some of the objectives; None is all of them, or the first four.
        """
        return self._draw("front", path, names=names, title=title)

    def plot_slice(
        self,
        path: File = None,
        names: Sequence[str] | None = None,
        *,
        recipe: Recipe | None = None,
        title: str | None = None,
    ) -> Figure:
        """Plot what the model believes along each parameter, with the others as in the best trial.

        The model is that of the default recipe with the sources of knowledge of the run, or that of the
        recipe given. What a source says is marked: its points near the slice, or the trend that it gives.
        """
        return self._draw("slices", path, recipe, names=names, title=title)

    def plot_contour(
        self,
        path: File = None,
        names: Sequence[str] | None = None,
        *,
        recipe: Recipe | None = None,
        title: str | None = None,
    ) -> Figure:
        """Plot what the model believes over two parameters, by default the two most important ones.

        The others are as in the best trial. The model is that of the default recipe with the sources of
        knowledge of the run, or that of the recipe given.
        """
        return self._draw("contour", path, recipe, names=names, title=title)

    def plot_parallel(self, path: File = None, *, title: str | None = None) -> Figure:
        """Plot every trial as a line across the axes, one for each parameter."""
        return self._draw("parallel", path, title=title)

    def plot_importance(self, path: File = None, *, title: str | None = None) -> Figure:
        """Plot the share of each parameter in the variation of the values, with an interval of 90 %."""
        return self._draw("importance", path, title=title)

    def plot_calibration(
        self, path: File = None, *, recipe: Recipe | None = None, title: str | None = None
    ) -> Figure:
        """Plot each value beside what the model predicts for it from all others.

        If the model can be trusted, about 95 % of the values lie in their intervals. The model is that of the
        default recipe, or of the one given, without sources of knowledge: it is what they are judged by.
        """
        return self._draw("calibration", path, recipe, title=title)

    def plot_timeline(self, path: File = None, *, title: str | None = None) -> Figure:
        """Plot when each trial was under way, in a row for each worker."""
        return self._draw("timeline", path, title=title)

    def plot_edf(
        self, path: File = None, *, others: Mapping[str, Result] | None = None, title: str | None = None
    ) -> Figure:
        """Plot the share of the trials at or below each value, beside that of `others`, results by name."""
        return self._draw("edf", path, others=others, title=title)

    def _draw(self, kind: str, path: File, recipe: Recipe | None = None, **settings: Any) -> Figure:
        """A picture, saved at the path if one is given."""
        from bopp.view import canvas, drawing

        return canvas.drawn(path, lambda: drawing.kinds(recipe)[kind](self, **settings))


def finding(result: Result, none: str) -> str:
    """The best value and its trial, or how large the front is, in words."""
    try:
        if len(result.problem.objectives) > 1:
            return f"front of {len(result.front)}"
        best = result.best
    except NoResultError:
        return none
    return f"best {best.value:.6g} in trial {best.number}"


def _read_source(part: Any) -> Source:
    if not isinstance(source := read_part(part), Source):
        raise BoppError(f"wanted a source of knowledge, got {part!r}")
    return source


def _alone(problem: Problem, trial: Trial) -> Trial:
    """A trial with the values of a problem alone; others are measurements."""
    superseded = tuple(replace(past, **_declared(problem, past)) for past in trial.superseded)
    trial = replace(trial, superseded=superseded, **_declared(problem, trial))
    if trial.state != "done" or any(value is not None for value in trial.values.values()):
        return trial
    at = trial.told_at or trial.asked_at or datetime.fromtimestamp(0, UTC)
    return trial.dropped(at, f"{problem.objective!r} was not measured")


def _declared(problem: Problem, answer: Trial | Superseded) -> dict[str, Any]:
    """Values, noise and measurements of an answer, as a problem of some of its values would have them."""
    if answer.state != "done":
        return {}
    told = {name: value for name, value in answer.values.items() if value is not None}
    others = {name: value for name, value in told.items() if name not in problem.names}
    return {
        "values": {name: answer.values.get(name) for name in problem.names},
        "noise": {name: sd for name, sd in answer.noise.items() if name in problem.names},
        "measurements": {**others, **answer.measurements},
    }
