"""Sources: what a study knows besides its trials, kept beside its recipe.

A source is written with its settings and all of its data, and with a mark: `by`, who gave it, and `origin`,
what its data were read from, if they were not given themselves. Data are read once; the mark tells whether
whoever opens the study again means the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from bopp import pseudo
from bopp.errors import RecipeError, StudyError, reading
from bopp.informed import bind, flatten
from bopp.legible import brief, cut
from bopp.parts import PARTS, has_parts_of_yours, name_of, read_part, write_part, written_alike
from bopp.problem import Problem
from bopp.pseudo import Source, Sum
from bopp.pseudo.policy import parts as policies_of
from bopp.recipe import Recipe

Row = dict[str, Any]

DATA = {"values": "value", "studies": "study"}  # settings that may be read from elsewhere, and one of each
FILE, OPTION = "[[knowledge]]", "--earlier"  # who gave a source, if not a program in Python
LEARN = "to go on with other knowledge: Study.switch_knowledge, or on the command line bopp learn"
UNREAD = f"what this study knows cannot be read ({LEARN})"
LONGEST = 300  # characters of what a study knows, in a message


@dataclass(frozen=True)
class Taught:
    """A source as it was given: whole, or without its data, which are read when a study takes it in."""

    source: Source
    by: str | None = None
    origin: str | None = None
    read: Callable[[Problem], Source] | None = None

    @property
    def outline(self) -> Row:
        """What can be said of the source before its data are read."""
        row = _write(self.source) | self._mark
        return row if self.read is None else row | {"settings": _settings(row, data=False)}

    def bound(self, problem: Problem) -> Source:
        """The source with its data, if it fits the problem."""
        return bind(self.source if self.read is None else self.read(problem), problem)

    def written(self, problem: Problem) -> Row:
        """The source as a study keeps it."""
        return _write(self.bound(problem)) | self._mark

    def is_in(self, row: Row, problem: Problem) -> bool:
        """Whether a study that keeps this row knows the same; data are not read again to find out."""
        if self.read is None:
            mine = self.written(problem)
        elif row.get("origin") == self.origin:
            mine = self.outline
            mine |= {"settings": mine["settings"] | _settings(row, data=True)}
        else:
            return False
        kept = row | self._mark  # whoever gave it
        return kept == mine or written_alike(kept, mine)

    @property
    def _mark(self) -> Row:
        return {"by": self.by, "origin": self.origin}


def taught(knowledge: Any, recipe: Recipe | None = None) -> tuple[Taught, ...]:
    """What is known by a recipe and besides: a source, a sum or a list of them."""
    found = flatten(knowledge)
    for one in found:
        if not isinstance(one, Source | Taught):
            raise RecipeError(
                f"knowledge: wanted sources such as Images, Guesses or Earlier, got {brief(one)}; "
                "other policies belong in the recipe"
            )
    own = () if recipe is None else pseudo.sources(recipe.pseudo)
    return tuple(one if isinstance(one, Taught) else _given(one) for one in (*own, *found))


def without_knowledge(recipe: Recipe) -> Recipe:
    """The recipe without its sources."""
    if not pseudo.sources(recipe.pseudo):
        return recipe
    rest = policies_of(pseudo.without_sources(recipe.pseudo))
    return replace(recipe, pseudo=rest[0] if len(rest) == 1 else Sum(rest))


def read_sources(
    rows: Sequence[Row], problem: Problem, knowledge: Sequence[Taught] = (), what: str = UNREAD
) -> list[Source]:
    """The sources that a study keeps, each checked to fit the problem; `what` begins a refusal."""
    with reading(what, StudyError):
        yours = [has_parts_of_yours(row) for row in rows]
        if not knowledge and any(yours):
            named = described([row for row, own in zip(rows, yours, strict=True) if own])
            raise StudyError(f"this study knows {named}, with parts of your own: open it with knowledge=")
        return [
            knowledge[place].bound(problem) if own else bind(_read(row), problem)
            for place, (row, own) in enumerate(zip(rows, yours, strict=True))
        ]


def check_sources(rows: Sequence[Row], problem: Problem, what: str = UNREAD) -> None:
    """Refuse sources that are damaged or do not fit the problem; those of your own cannot be checked."""
    with reading(what, StudyError):
        readable = [row for row in rows if not has_parts_of_yours(row)]
    read_sources(readable, problem, what=what)


def are_in(knowledge: Sequence[Taught], rows: Sequence[Row], problem: Problem) -> bool:
    """Whether these are the sources that were written."""
    return len(knowledge) == len(rows) and all(
        one.is_in(row, problem) for one, row in zip(knowledge, rows, strict=True)
    )


def described(known: Sequence[Row | Taught]) -> str:
    """Sources in a line for people."""
    rows = [one.outline if isinstance(one, Taught) else one for one in known]
    return cut("; ".join(f"{kind_of(row)}: {settings_of(row)}" for row in rows), LONGEST) or "nothing"


def kind_of(row: Row) -> str:
    """Which kind of source was written: images, guesses and so on."""
    return str(row.get("part", row.get("yours"))).rpartition(".")[2].lower()


def settings_of(row: Row) -> str:
    """The settings of a source in words, with its data counted."""
    settings, origin = _settings(row), row.get("origin")
    words = [_worded(name, value) for name, value in settings.items() if value is not None and value != []]
    if origin is not None:
        words.append(f"from {_function(origin) or origin}")
    return ", ".join(words)


def _given(source: Source) -> Taught:
    """A source that a program gave; the values of a function count as read from it."""
    if source.data_function is None:
        return Taught(source)
    return Taught(source, origin=json.dumps(write_part(source.data_function)), read=lambda problem: source)


def _write(source: Source) -> Row:
    """A source as `write_part` writes it, but fast where there are many data."""
    name = name_of(type(source))
    if name is None:
        return dict(write_part(source))
    settings = {field.name: _listed(getattr(source, field.name)) for field in fields(source)}  # type: ignore[arg-type]
    return {"part": name, "settings": settings}


def _listed(setting: Any) -> Any:
    try:
        return json.loads(json.dumps(setting, allow_nan=False))
    except (TypeError, ValueError):  # there are functions in it, or numbers that JSON cannot hold
        return write_part(setting)


def _read(row: Row) -> Source:
    """The source that `_write` wrote, but for a part of your own."""
    kind, settings = PARTS.get(str(row.get("part"))), row.get("settings")
    texts = isinstance(row.get("by"), str | None) and isinstance(row.get("origin"), str | None)
    marked = texts and row.keys() == {"part", "settings", "by", "origin"}
    if not (isinstance(kind, type) and issubclass(kind, Source) and isinstance(settings, dict) and marked):
        raise StudyError(f"{UNREAD}: wanted a source of knowledge, got {cut(json.dumps(row), LONGEST)}")
    return kind(**{name: _tuple(value) for name, value in settings.items()})


def _tuple(setting: Any) -> Any:
    if isinstance(setting, list):
        return tuple(map(_tuple, setting))
    if isinstance(setting, dict) and setting.keys() != {"number"}:
        raise StudyError(f"{UNREAD}: wanted numbers, texts and lists of these, got {brief(setting)}")
    return read_part(setting) if isinstance(setting, dict) else setting


def _settings(row: Row, data: bool | None = None) -> dict[str, Any]:
    """The settings of a written source: all, those that are data or the others."""
    settings = row.get("settings")
    pairs = settings.items() if isinstance(settings, dict) else ()
    return {name: value for name, value in pairs if data is None or data == (name in DATA)}


def _function(origin: str) -> str:
    """The name of the function in an origin, if it is one."""
    try:
        return str(json.loads(origin)["yours"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def _worded(name: str, value: Any) -> str:
    if name == "trust":
        return f"trusted {value} at first"  # that of now is learned
    if name in DATA and isinstance(value, list):
        return f"{len(value)} {name if len(value) != 1 else DATA[name]}"
    if isinstance(value, list):
        value = ", ".join(" ".join(map(str, one)) if isinstance(one, list) else str(one) for one in value)
    elif isinstance(value, dict):
        value = value.get("yours", value)
    return f"{name.replace('_', ' ')} {value}"
