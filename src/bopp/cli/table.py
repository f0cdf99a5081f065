"""Table: trials for people, as rows, and for other programs, as JSON; and the front of a result."""

from __future__ import annotations

import json as texts
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bopp.cli.terminal import print_table, shown_value
from bopp.errors import NoResultError
from bopp.view.values import remark

if TYPE_CHECKING:
    from bopp import Result, Study, Trial


def print_trials(study: Study, trials: Sequence[Trial], json: bool = False) -> None:
    """Print a row for each trial, with every declared value and what else there is to say of it; or JSON."""
    if json:
        print_json([record(study, trial) for trial in trials])
        return
    problem = study.problem
    values, names = problem.names, list(problem.space.parameters)
    rows = [
        [
            str(trial.number),
            trial.state,
            *(_brief("" if (x := trial.values.get(name)) is None else x) for name in values),
            *(_brief(trial._params.get(name, "")) for name in names),
            remark(problem, trial),
        ]
        for trial in trials
    ]
    print_table(["trial", "state", *values, *names, "remark"], rows)


def print_json(rows: Any) -> None:
    """Print plain values for other programs."""
    print(texts.dumps(rows, indent=1))


def record(study: Study, trial: Any) -> dict[str, Any]:
    """A trial for other programs, with the params themselves."""
    from bopp.plain import write_trial

    row = write_trial(study.space, trial)
    first = {"number": row["number"], "state": row["state"], "value": trial._value}
    return first | row | {"params": trial.params}


def front_of(result: Result) -> tuple[Trial, ...]:
    """The front of several objectives; an error if it is empty."""
    if front := result.front:
        return front
    done = sum(trial.state == "done" for trial in result.trials)
    if not done:
        raise NoResultError(f"no trial came to a value: none of {len(result.trials)} has finished")
    raise NoResultError(f"none of {done} finished trials has every objective and meets the constraints")


def _brief(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown_value(value)
