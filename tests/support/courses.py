"""Courses: problems of every kind, and how their trials may come about, one change after the other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from bopp import AtLeast, AtMost, Choice, Fixed, Float, Holds, Int, Linear, Params, Problem, Trial
from bopp.dashboard.trial_columns import TrialColumns
from bopp.dashboard.watch import Snapshot
from bopp.errors import TellError
from bopp.plain import read_problem, write_problem

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SPACE = {"x": Float(0, 1), "n": Int(1, 9), "kind": Choice(["flat", "bent", None]), "always": Fixed("oak")}
LIMITS = (AtMost("memory", 0.6), AtLeast("memory", 0.1), AtLeast("speed", 0.2))


def below(params: Params) -> bool:
    """A condition of the user's own."""
    return float(params["x"]) < 0.7


def odd(params: Params) -> bool:
    """One that raises for some of the params."""
    return bool(1.0 / (params["n"] - 5) < 0.6)


def absent(problem: Problem) -> Problem:
    """A problem whose function was not passed in again."""
    return read_problem(problem.space, write_problem(problem))


PROBLEMS: dict[str, Problem] = {
    "least": Problem(SPACE),
    "most": Problem(SPACE, {"value": "maximize"}),
    "limited": Problem(SPACE, {"loss": "minimize"}, LIMITS),
    "its own limit": Problem(SPACE, {"loss": "minimize"}, [AtMost("loss", 0.3)]),
    "known": Problem(
        SPACE, {"loss": "maximize"}, [Holds("below", below), Linear({"x": 1, "n": 0.1}, at_most=1)]
    ),
    "raising": Problem(SPACE, {"loss": "maximize"}, [Holds("odd", odd)]),
    "absent": absent(Problem(SPACE, {"loss": "minimize"}, [*LIMITS, Holds("below", below)])),
    "goals": Problem(SPACE, {"a": "minimize", "b": "maximize"}),
    "limited goals": Problem(SPACE, {"a": "minimize", "b": "maximize", "c": "minimize"}, LIMITS),
    "raising goals": Problem(SPACE, {"a": "minimize", "b": "maximize"}, [Holds("odd", odd)]),
    "absent goals": absent(Problem(SPACE, {"a": "minimize", "b": "maximize"}, [Holds("below", below)])),
    "cheap": Problem(SPACE, {"loss": "minimize"}, LIMITS, {"epochs": [1, 9, 81]}),
    "conditional": Problem(
        {
            "method": Choice(["rest", "stir"]),
            "speed": Int(100, 900, step=100, when={"method": ["stir"]}),
            "rate": Float(1e-3, 1, log=True),
        }
    ),
}


def drawn(problem: Problem, rng: np.random.Generator) -> Params:
    """Params at random, which need not meet the conditions: somebody may have observed them elsewhere."""
    return problem.space.decode(rng.random(problem.space.dimension))


def answered(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    """Values of which many are equal, and some were not measured."""
    values: dict[str, Any] = {name: float(rng.integers(-4, 5)) / 4.0 for name in problem.names}
    for name in problem.names[: rng.integers(0, len(problem.names)) if rng.random() < 0.3 else 0]:
        values[name] = None
    return values


def walk(problem: Problem, steps: int, seed: int, strays: bool = False) -> list[Trial]:
    """Every change of the trials of a study, in turn; with `strays`, some are dropped as of another space."""
    rng = np.random.default_rng(seed)
    trials: list[Trial] = []
    changes: list[Trial] = []
    for step in range(steps):
        at = BEGAN + timedelta(seconds=step)
        act = rng.choice(["ask", "tell", "fail", "observe", "amend", "drop", "retry", "note"])
        try:
            if act in ("ask", "observe") or not trials:
                trial = Trial(len(trials), drawn(problem, rng), asked_at=at, worker="here/1/m-2")
                if act == "observe":
                    seen = Trial(trial.number, trial.params, origin="observed", asked_at=at)
                    trial = seen.told(problem.answer(answered(problem, rng)), at)
                elif strays and rng.random() < 0.2:
                    other = Trial(trial.number, {"old": "text", "x": "1e999", "n": -1}, asked_at=at)
                    trial = other.dropped(at, "did not fit")
                trials.append(trial)
            else:
                trial = _changed(problem, trials[rng.integers(len(trials))], str(act), at, rng)
                trials[trial.number] = trial
        except TellError:
            continue
        changes.append(trial)
    return changes


def _changed(problem: Problem, trial: Trial, act: str, at: datetime, rng: np.random.Generator) -> Trial:
    answer = problem.answer(answered(problem, rng))
    failure = problem.answer(dict.fromkeys(problem.names))
    if act == "tell":
        return trial.told(answer, at)
    if act == "fail":
        return trial.told(failure, at)
    if act == "amend":
        return trial.amended(answer if rng.random() < 0.8 else failure, at, "typed <wrong>")
    if act == "drop":
        return trial.dropped(at, "spilled")
    if act == "retry":
        return trial.reopened(at, "mended")
    return Trial(**{**trial.__dict__, "notes": f"note {int(rng.integers(9))}"})


def final(changes: list[Trial]) -> tuple[Trial, ...]:
    """The trials after these changes, by number."""
    return tuple({trial.number: trial for trial in sorted(changes, key=lambda one: one.number)}.values())


def snapshot_of(problem: Problem, trials: Sequence[Trial]) -> Snapshot:
    """A study with these trials, as a dashboard sees it."""
    return Snapshot(
        name="seen",
        url="sqlite:///seen.db",
        problem=problem,
        knows=False,
        generation=1,
        columns=TrialColumns.empty(problem).after(trials),
        whole=True,
        revision=len(trials),
        at=BEGAN,
        changed=(),
        kept={},
        leased=(),
        queued=(),
        paused=None,
    )
