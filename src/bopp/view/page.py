"""Page: a result as HTML, for notebooks; the text of others is escaped, and the colours are the reader's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from bopp.errors import NoResultError
from bopp.legible import cut, one_line
from bopp.problem import Problem
from bopp.result import Result
from bopp.trial import Trial
from bopp.view.values import remark

SHOWN, MOST = 5, 20  # trials in a table, and of a front
LONGEST = 60  # characters of a cell
CELL = "text-align:left"  # the rest is left to the theme of the notebook, light or dark


def page(result: Result, title: str | None = None) -> str:
    """What was found, how many trials there are in each state, and tables of the best and the latest ones.

    Of several objectives the best ones are the front. If the run had sources of knowledge, a table says what
    became of them.
    """
    problem, trials = result.problem, result.trials
    several = len(problem.objectives) > 1
    best, latest = _best(result), trials[-SHOWN:]
    parts = [
        "" if title is None else f"<div><b>{_text(title)}</b></div>",
        f"<div>{_text(problem.aims)}: {_found(result, best)}</div>",
        f"<div>{_text(_counts(trials))}</div>",
        _table("front" if several else "best trials", problem, best[: MOST if several else SHOWN]),
        _table("latest trials", problem, latest),
        *(_knowledge(result, name) for name in problem.objectives if result.sources),
    ]
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


def _found(result: Result, front: Sequence[Trial]) -> str:
    if len(result.problem.objectives) > 1:
        count = len(front)
        return f"front of <b>{count}</b>" + (f", the first {MOST} below" if count > MOST else "")
    try:
        best = result.best
    except NoResultError as reason:
        return _text(f"no best, {reason}", most=400)
    rows = "".join(_row("td", [name, value], most=400) for name, value in best.params.items())
    return f"best <b>{_text(best.value)}</b> in trial {best.number}<table>{rows}</table>"


def _counts(trials: Sequence[Trial]) -> str:
    states = [trial.state for trial in trials]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{len(trials)} trials" + (f": {', '.join(counts)}" if counts else "")


def _best(result: Result) -> list[Trial]:
    """The front, or all finished trials that meet the constraints: the best of the first objective first."""
    problem, name = result.problem, next(iter(result.problem.objectives))
    done = [trial for trial in result.trials if trial._value is not None and problem.real(trial)]
    try:
        several = len(problem.objectives) > 1
        best = result.front if several else [trial for trial in done if problem.feasible(trial)]
    except NoResultError:  # a condition that cannot be checked here
        return []
    return sorted(best, key=lambda trial: -problem.gain(trial.values[name], name))


def _table(caption: str, problem: Problem, trials: Sequence[Trial]) -> str:
    if not trials:
        return ""
    head = ["trial", "state", *problem.names, *problem.space.parameters, "remark"]
    rows = [
        [
            trial.number,
            trial.state,
            *("" if trial.values.get(name) is None else trial.values[name] for name in problem.names),
            *(trial._params.get(name, "") for name in problem.space.parameters),
            remark(problem, trial),
        ]
        for trial in trials
    ]
    return _rows(caption, head, rows)


def _rows(caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    return (
        f"<div>{caption}</div><table><thead>{_row('th', head)}</thead>"
        f"<tbody>{''.join(_row('td', row) for row in rows)}</tbody></table>"
    )


def _knowledge(result: Result, name: str) -> str:
    several = len(result.problem.objectives) > 1
    accounts = (result.of(name) if several else result).knowledge
    rows = [[account.name, f"{account.trust:.2f}", f"{account.worth:+.1f}"] for account in accounts]
    caption = "what was known besides" + (f", of {_text(name)}" if several else "")
    return _rows(caption, ["source", "trust", "worth"], rows)


def _row(kind: str, cells: Iterable[Any], most: int = LONGEST) -> str:
    texts = (_text(cell, most) for cell in cells)
    return "<tr>" + "".join(f'<{kind} style="{CELL}">{text}</{kind}>' for text in texts) + "</tr>"


def _text(cell: Any, most: int = LONGEST) -> str:
    """A cell as HTML: numbers in short, text on one line, nothing of it taken for HTML."""
    text = f"{cell:.6g}" if isinstance(cell, float) else cell if isinstance(cell, str) else repr(cell)
    return escape(cut(one_line(text), most))
