"""Known: the trials of a study as they were at one of its revisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bopp.data import Array, History
from bopp.errors import StudyError
from bopp.problem import Problem
from bopp.trial import Trial


@dataclass(eq=False)
class Known:
    """All trials up to a revision; never changed, so that several threads may look at it.

    `begun` is what they cost of the budget, in real evaluations.
    """

    problem: Problem
    trials: tuple[Trial, ...] = ()
    revision: int = 0
    begun: float = 0.0
    _points: Array | None = None

    def after(self, changed: Sequence[Trial], revisions: Sequence[int]) -> Known:
        """What is known after these trials, in order, were added or changed in these revisions."""
        trials = list(self.trials)
        again = [trial for trial in changed if 0 <= trial.number < len(trials)]
        new = [trial for trial in changed if not 0 <= trial.number < len(trials)]
        for expected, trial in enumerate(new, start=len(trials)):
            if trial.number != expected:
                raise StudyError(f"trial {expected} is missing: the store is damaged")
        if not all(type(revision) is int and revision > 0 for revision in revisions):
            raise StudyError("a trial has no revision: the store is damaged")
        before = sum(self._cost(trials[trial.number]) for trial in again)
        begun = self.begun + sum(map(self._cost, changed)) - before
        for trial in again:
            trials[trial.number] = trial
        trials += new
        known = Known(self.problem, tuple(trials), max([self.revision, *revisions]), begun)
        if self._points is not None:
            known._points = np.vstack([self._points, np.empty((len(new), self._points.shape[1]))])
            for trial in changed:
                known._points[trial.number] = self.problem.point(trial)
        return known

    def history(self) -> History:
        """The trials as the engine sees them."""
        if self._points is None:
            rows = [self.problem.point(trial) for trial in self.trials]
            self._points = np.array(rows).reshape(-1, self.problem.space.dimension)
        return self.problem.history(self.trials, self._points)

    def _cost(self, trial: Trial) -> float:
        """What it costs of the budget."""
        return self.problem.cost(trial) if trial.counts and trial.origin != "observed" else 0
