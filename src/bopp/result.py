"""Result: every trial of a run and the best one, as a value that can be saved, read back and drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from bopp.data import History
from bopp.errors import BoppError, NoResultError
from bopp.parameter import Choice, Float, Int, Parameter
from bopp.space import Space
from bopp.trial import Direction, Origin, State, Trial, history_of

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
            raise NoResultError(f"none of {len(self.trials)} trials has finished{self._reason()}")
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
            "space": {name: _declared(name, p) for name, p in self.space.parameters.items()},
            "trials": [self._written(trial) for trial in self.trials],
        }
        return json.dumps(document, indent=1, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Result:
        """The result that `to_json` wrote."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise BoppError(f"wanted a result of format {FORMAT}, got {document['format']!r}")
            space = Space({name: _parameter(row) for name, row in document["space"].items()})
            trials = tuple(_trial(row, number, space) for number, row in enumerate(document["trials"]))
            return Result(space, _one_of(get_args(Direction), document["direction"]), trials)
        except (LookupError, TypeError, AttributeError, RecursionError, ValueError) as error:
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

    def _written(self, trial: Trial) -> dict[str, Any]:
        row = asdict(trial)
        row["params"] = {name: self._written_value(name, v) for name, v in trial.params.items()}
        row["asked_at"] = trial.asked_at and trial.asked_at.isoformat()
        row["told_at"] = trial.told_at and trial.told_at.isoformat()
        return row

    def _written_value(self, name: str, value: Any) -> Any:
        parameter = self.space.parameters[name]
        if isinstance(parameter, Choice) and not _is_plain(value):
            return {"option": parameter.index(value)}
        return value

    def _reason(self) -> str:
        errors = [trial.error for trial in self.trials if trial.error]
        return f"; the first failed with: {errors[0]}" if errors else ""


def _declared(name: str, parameter: Parameter) -> dict[str, Any]:
    kind = type(parameter).__name__
    if isinstance(parameter, Choice):
        options = [_option(name, option) for option in parameter.options]
        return {"kind": kind, "options": options, "ordered": parameter.ordered}
    return {"kind": kind, "low": parameter.low, "high": parameter.high, "log": parameter.log}


def _parameter(row: dict[str, Any]) -> Parameter:
    if row["kind"] == "Choice":
        return Choice([_read_option(option) for option in row["options"]], row["ordered"])
    kinds: dict[str, type[Float] | type[Int]] = {"Float": Float, "Int": Int}
    return kinds[row["kind"]](row["low"], row["high"], row["log"])


def _option(name: str, option: Any) -> Any:
    if isinstance(option, tuple):
        return {"tuple": [_option(name, part) for part in option]}
    if not _is_plain(option):
        raise BoppError(
            f"{name!r}: JSON takes options that are text, numbers, None or tuples of these, got {option!r}"
        )
    return option


def _read_option(option: Any) -> Any:
    return tuple(map(_read_option, option["tuple"])) if isinstance(option, dict) else option


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))


def _one_of(words: tuple[Any, ...], word: Any) -> Any:
    if word not in words:
        raise BoppError(f"wanted one of {list(words)}, got {word!r}")
    return word


def _trial(row: dict[str, Any], number: int, space: Space) -> Trial:
    """The trial that a row describes, if it can be one."""
    state, value, error = _one_of(get_args(State), row["state"]), row["value"], row["error"]
    times = [
        None if row[name] is None else datetime.fromisoformat(row[name]) for name in ("asked_at", "told_at")
    ]
    fits = type(value) is float and math.isfinite(value) if state == "done" else value is None
    known = row.keys() == Trial.__dataclass_fields__.keys()
    if not known or row["number"] != number or not fits or not isinstance(error, str | None):
        raise BoppError(f"wanted trial {number} with a value if it is done, got {row!r}")
    params = space.check({name: _read_value(space, name, value) for name, value in row["params"].items()})
    return Trial(number, params, state, value, error, _one_of(get_args(Origin), row["origin"]), *times)


def _read_value(space: Space, name: str, value: Any) -> Any:
    parameter = space.parameters.get(name)
    if not isinstance(parameter, Choice) or not isinstance(value, dict):
        return value
    return parameter.options[_one_of(tuple(range(len(parameter.options))), value["option"])]
