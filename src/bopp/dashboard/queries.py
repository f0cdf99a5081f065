"""Queries: what takes long to compute of a study, in a worker process, which keeps the study open.

Each returns plain values for a page. When the server has opened a study anew, it is opened anew here too, as
its store may be another.
"""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

from bopp.errors import BoppError, ConfigError
from bopp.legible import one_line
from bopp.parts import has_parts_of_yours
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.rows import write_csv
from bopp.study.catalogue import overview
from bopp.study.opening import existing
from bopp.study.study import Study
from bopp.view import drawing
from bopp.view.explanation import Explanation
from bopp.view.importance import importance
from bopp.view.prediction import accounts_of
from bopp.view.values import summary

DPI = 200

Which = tuple[str, str, int]  # the source of a study, its name, and how often the server has opened it

_open: tuple[Which, Study] | None = None  # the study that was looked at last


def picture(which: Which, kind: str, objective: str = "", names: tuple[str, ...] = ()) -> bytes:
    """A picture as PNG: of one objective or of all, over these parameters if they are named."""
    study = _study(which)
    result, recipe = _of(study, objective)
    draw = drawing.kinds(recipe)
    if kind not in draw:
        raise ConfigError(f"wanted one of {', '.join(draw)}, got {kind!r}")
    chosen = {"names": list(names)} if names else {}
    content = io.BytesIO()
    draw[kind](result, **chosen).savefig(content, format="png", dpi=DPI)
    return content.getvalue()


def table(which: Which) -> bytes:
    """Every trial as a table for spreadsheets."""
    study = _study(which)
    return "".join(write_csv(study.problem, study.trials)).encode()


def shares(which: Which, objective: str = "") -> list[tuple[str, float, float, float]]:
    """The importance of each parameter with its interval, the most important first."""
    result, _ = _of(_study(which), objective)
    rows = [(one, *share) for one, share in importance(result).items()]
    return sorted(rows, key=lambda row: -row[1])


def trusted(which: Which, objective: str = "") -> list[tuple[str, float, float]]:
    """What became of each source of knowledge: its name, how far it is trusted, and what it is worth."""
    result, recipe = _of(_study(which), objective)
    return [(one_line(one.name), one.trust, one.worth) for one in accounts_of(result, recipe)]


def explained(which: Which, number: int, objective: str = "") -> dict[str, Any]:
    """What the model believed of a trial when it was suggested, and what drew it there."""
    study = _study(which)
    result, recipe = _of(study, objective)
    found: Explanation = result.explain(number, recipe, seed=study.seed)
    return {
        "how": found.how,
        "mean": found.mean,
        "sd": found.sd,
        "best": found.best,
        "improvement": found.improvement,
        "chance": found.chance,
        "pulls": [(pull.share, one_line(str(pull))) for pull in found.pulls[:8]],
        "rest": sum(pull.share for pull in found.pulls[8:]),
        "sources": [(one_line(one.name), one.trust, one.worth) for one in found.sources],
    }


def findings(url: str, source: str) -> dict[str, tuple[str, ...]]:
    """Of each study of a store, by name: how many trials are done, failed and under way, and the best."""
    seen = overview(url, summary)
    found = {name: (str(one),) if isinstance(one, BoppError) else one for name, one in seen}
    if source != url:  # a study file, which has the functions of its constraints
        with suppress(BoppError), existing(source, None) as study:
            found[study.name] = summary(study.result)
    return found


def _study(which: Which) -> Study:
    """The study, open from the last look or opened anew."""
    global _open
    if _open is None or _open[0] != which:
        if _open is not None:
            _open[1].close()
            _open = None
        source, name, _ = which
        _open = (which, existing(source, name))
    return _open[1]


def _of(study: Study, objective: str) -> tuple[Result, Recipe | None]:
    """The result, or that of one objective or limited value alone, and the recipe whose model is shown."""
    result = study.result
    definition = study.definition
    recipe = None if has_parts_of_yours([definition.parts, definition.knowledge]) else study.recipe
    if not objective:
        return result, recipe
    return result.of(objective), recipe if objective in result.problem.objectives else None
