"""Result: every trial of a run and the best one, as a value that can be saved, read back and drawn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, get_args

import numpy as np

from bopp.data import History
from bopp.errors import BoppError, NoResultError
from bopp.space import Space
from bopp.trial import Direction, Trial, history_of
from bopp.written import UNREADABLE, one_of, read_space, read_trial, written_space, written_trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 1


@dataclass(frozen=True)
class Result:
    """What a run found: `best`, and every trial in order."""

    space: Space
    direction: Direction
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The best finished trial, the first of equals."""
        finished = [trial for trial in self.trials if trial.value is not None]
        if not finished:
            raise NoResultError(f"none of {len(self.trials)} trials has a value{self._reason()}")
        sign = 1.0 if self.direction == "minimize" else -1.0
        return min(finished, key=lambda trial: sign * (trial.value or 0.0))

    def history(self) -> History:
        """The trials as the engine sees them: points of the cube, larger is better."""
        rows = [self.space.encode(trial.params) for trial in self.trials]
        X = np.array(rows).reshape(-1, self.space.dimension)
        return history_of(self.trials, X, self.direction)

    def __repr__(self) -> str:
        states = [trial.state for trial in self.trials]
        counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
        best = f"best {self.best.value!r} at {self.best.params!r}" if "done" in states else "no best"
        return f"Result({self.direction}: {best}; trials: {counts or 'none'})"

    def to_json(self) -> str:
        """The result as text; `Result.from_json` reads it back."""
        document = {
            "format": FORMAT,
            "direction": self.direction,
            "space": written_space(self.space),
            "trials": [written_trial(self.space, trial) for trial in self.trials],
        }
        return json.dumps(document, indent=1, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Result:
        """The result that `to_json` wrote."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise BoppError(f"wanted a result of format {FORMAT}, got {document['format']!r}")
            space = read_space(document["space"])
            trials = tuple(read_trial(space, row, number) for number, row in enumerate(document["trials"]))
            return Result(space, one_of(get_args(Direction), document["direction"]), trials)
        except UNREADABLE as error:
            if isinstance(error, BoppError):
                raise
            raise BoppError(f"wanted the JSON text of a result, got {text[:60]!r}: {error!r}") from error

    def plot_convergence(self, path: str | PathLike[str] | None = None) -> Figure:
        """The values of the trials and the best so far; saved at `path` where one is given."""
        from bopp.plot import convergence

        return convergence(self, path)

    def plot_slice(
        self, names: Sequence[str] | None = None, path: str | PathLike[str] | None = None
    ) -> Figure:
        """What the default model believes of these trials along each parameter, through the best one."""
        from bopp.plot import slices

        return slices(self, names, path)

    def plot_parallel(self, path: str | PathLike[str] | None = None) -> Figure:
        """Every trial as a line across one axis for each parameter."""
        from bopp.parallel import parallel

        return parallel(self, path)

    def plot_importance(self, path: str | PathLike[str] | None = None) -> Figure:
        """How much of what the default model believes depends on each parameter."""
        from bopp.plot import importances

        return importances(self, path)

    def _reason(self) -> str:
        errors = [trial.error for trial in self.trials if trial.error]
        return f"; the first failed with: {errors[0]}" if errors else ""
