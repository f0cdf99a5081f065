"""Page data: what the pages show of a study, as data for charts and rows for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bopp.dashboard.trial_columns import Numbers, TrialColumns, thinned
from bopp.dashboard.watch import Snapshot
from bopp.errors import RecipeError
from bopp.option import typed
from bopp.parameter import Parameter
from bopp.problem import AtMost, Problem
from bopp.result import Result
from bopp.space import Space
from bopp.trial import Trial
from bopp.view.coordinates import ABSENT, coordinates
from bopp.view.front import front

DRAWN = 4000  # points of a chart; of more, those are left out that others hide
LINES = 1000  # lines across parallel axes: half of them the best, half spread over the rest
OPTIONS = 100  # that a field offers in a list
PAGE = 50  # rows of a table


class Field(NamedTuple):
    """A field of a form for the value of a parameter: options to choose from, or a hint of what to type."""

    name: str
    options: tuple[str, ...]
    hint: str


@dataclass(frozen=True)
class Query:
    """Which trials a table shows, and in which order."""

    sort: str = "number"
    falling: bool = True
    state: str = ""
    text: str = ""
    broken: bool = False
    page: int = 1

    @staticmethod
    def of(asked: Mapping[str, str]) -> Query:
        """What the query of a URL asks for; what it leaves out is as by default."""
        page = asked.get("page", "1")
        return Query(
            sort=asked.get("sort", "number"),
            falling=asked.get("order", "down") != "up",
            state=asked.get("state", ""),
            text=asked.get("text", "")[:100],
            broken=asked.get("broken") == "yes",
            page=int(page) if page.isdecimal() and len(page) < 7 else 1,
        )

    def find(self, columns: TrialColumns) -> tuple[list[int], Query, int, int]:
        """The numbers on the page, the query with a page that is there, and how many trials and pages."""
        found = columns.ordered(columns.chosen(self.state, self.text, self.broken), self.sort, self.falling)
        last = max(1, -(-len(found) // PAGE))
        page = min(max(self.page, 1), last)
        return found[PAGE * (page - 1) : PAGE * page].tolist(), replace(self, page=page), len(found), last


def limits(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Every constraint in words, and how many finished trials break it."""
    rows, done = [], snapshot.columns.count("done")
    for limit, broken in zip(snapshot.problem.limits, snapshot.columns.breaking, strict=True):
        sign = "\N{LESS-THAN OR EQUAL TO}" if isinstance(limit, AtMost) else "\N{GREATER-THAN OR EQUAL TO}"
        rows.append((f"{limit.name} {sign} {limit.bound:.6g}", f"broken by {broken} of {done} trials"))
    known = "known beforehand: no suggestion breaks it"
    return rows + [(condition.name, known) for condition in snapshot.problem.conditions]


def fields(space: Space) -> list[Field]:
    """The fields of a form for params."""
    return [_field(name, parameter) for name, parameter in space.parameters.items() if parameter.width]


def convergence_data(columns: TrialColumns) -> dict[str, Any]:
    """The values of a single objective in turn, and the best so far."""
    name, direction = next(iter(columns.problem.objectives.items()))
    values = columns.rows["values"][:, 0]
    done, failed = np.flatnonzero(~np.isnan(values)), columns.chosen("failed")
    shown = thinned(done, values[done], DRAWN)
    return {
        "objective": name,
        "direction": direction,
        "numbers": shown.tolist(),
        "values": values[shown].tolist(),
        "best": columns.best_so_far()[shown].tolist(),
        "broken": columns.rows["broken"][shown].tolist(),
        "failed": _spread(failed, DRAWN),
        "total": len(done),
        "shown": len(shown),
    }


def front_data(snapshot: Snapshot, trials: Sequence[Trial], names: Sequence[str]) -> dict[str, Any]:
    """Finished trials by two of the objectives."""
    shown = front(Result(snapshot.problem, tuple(trials)), names)
    best = set(snapshot.columns.front)
    dominated = ["dominated" if place == "front" else place for place in shown.places]  # by one left out
    rows = zip(shown.numbers, dominated, strict=True)
    return {
        "names": shown.names,
        "directions": [snapshot.problem.objectives[name] for name in shown.names],
        "numbers": shown.numbers,
        "x": shown.values[:, 0].tolist(),
        "y": shown.values[:, 1].tolist(),
        "places": ["front" if number in best else place for number, place in rows],
        "reference": None if shown.reference is None else shown.reference.tolist(),
        "objectives": len(snapshot.problem.objectives),
        "total": snapshot.columns.count("done"),
        "shown": len(shown.numbers),
    }


def front_numbers(columns: TrialColumns) -> list[int]:
    """The trials that a picture of the front shows: the front, and some of the others."""
    best = columns.front
    others = np.setdiff1d(columns.chosen("done"), best)
    return sorted({*best[:LINES], *_spread(others, LINES)})


def parallel_numbers(columns: TrialColumns, objective: str | None = None) -> list[int]:
    """The trials that parallel axes show: the best, and some of the others, failed ones among them."""
    ranked = columns.ranked(objective if objective in columns.problem.objectives else None)
    rest = np.concatenate([ranked[LINES // 2 :], columns.chosen("failed")])
    return sorted({*ranked[: LINES // 2].tolist(), *_spread(rest, LINES // 2)})


def parallel_data(snapshot: Snapshot, trials: Sequence[Trial], objective: str) -> dict[str, Any]:
    """Trials as lines across an axis for each parameter and one for an objective."""
    result = Result(snapshot.problem, tuple(trials))
    shown = coordinates(result if len(snapshot.problem.objectives) == 1 else result.of(objective))
    return {
        "axes": shown.axes,
        "lines": shown.lines,
        "absent": ABSENT,
        "total": snapshot.columns.count("done") + snapshot.columns.count("failed"),
        "shown": len(shown.lines),
    }


def checked_objectives(problem: Problem, names: Sequence[str]) -> list[str]:
    """Two of the objectives: those named, or the first two."""
    known = list(problem.objectives)
    if len(known) < 2:
        raise RecipeError("a front wants several objectives, got one")
    chosen = [name for name in dict.fromkeys(names) if name in known]
    return chosen[:2] if len(chosen) >= 2 else known[:2]


def _spread(numbers: Numbers, most: int) -> list[int]:
    """At most this many of the numbers, from end to end."""
    return [int(number) for number in numbers[:: max(1, -(-len(numbers) // most))]]


def _field(name: str, parameter: Parameter) -> Field:
    if not parameter.numeric and parameter.levels <= OPTIONS:
        return Field(name, tuple(typed(option) for option in parameter.spread(OPTIONS)), "")
    marks = parameter.marks()
    if not parameter.numeric:
        return Field(name, (), f"one of {parameter.levels}, such as {typed(marks[0])}")
    return Field(name, (), f"{marks[0]:.6g} to {marks[-1]:.6g}")
