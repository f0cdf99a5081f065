"""Knowing: give a study what somebody knows besides its trials, and see what that was worth."""

from __future__ import annotations

import json as texts
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bopp.cli.source import STUDY, Json, Name, Source
from bopp.cli.terminal import print_table, say
from bopp.study.opening import existing

if TYPE_CHECKING:
    from bopp import Study
    from bopp.study.config import Config
    from bopp.study.sources import Taught

Earlier = Annotated[
    list[str] | None,
    typer.Option(
        metavar="<store>", help="Earlier studies to learn from: a database, a URL or an export; repeatable."
    ),
]


def learn(
    file: Annotated[Path, typer.Argument(help="The study file.")] = Path(STUDY), earlier: Earlier = None
) -> None:
    """Let a study know what its file says now, and --earlier, in place of all that it knew besides trials."""
    from bopp.study.config import load

    config = load(file)
    with existing(str(file), None, read_only=False) as study:
        study.know((*config.knowledge, *given(earlier, config)))
        say(f"{study.name} knows {knows(study)} from now on")


def knowledge(source: Source = STUDY, name: Name = None, json: Json = False) -> None:
    """Show what a study knows besides its trials, how far it trusts that now, and what it was worth.

    The worth of a source is by how much it makes the measured values more likely, or, of where the best is,
    how much better the chance to improve is there than elsewhere; as a natural logarithm. Where it is below
    0, the values speak against the source.
    """
    from bopp.parts import write_part
    from bopp.study.sources import kind_of, settings_of
    from bopp.view.prediction import accounts_of

    with existing(source, name) as study:
        several, rows = len(study.problem.objectives) > 1, study.definition.knowledge
        of = {
            one: accounts_of(study.result.of(one), study.recipe) for one in study.problem.objectives if rows
        }
    found: list[dict[str, Any]] = [
        {
            "of": one,
            "kind": kind_of(row),
            "settings": settings_of(row),
            "by": row["by"],
            "from": row["origin"],
            "trust": account.trust,
            "worth": account.worth,
        }
        for one in of
        for row, account in zip(rows, of[one], strict=True)
    ]
    if json:
        shown = [{key: write_part(row[key]) for key in row if several or key != "of"} for row in found]
        print(texts.dumps(shown, indent=1))
        return
    cells = [
        [row["of"], row["kind"], f"{row['trust']:.2f}", f"{row['worth']:+.2f}", row["settings"]]
        for row in found
    ]
    first = 0 if several else 1
    print_table(["of", "source", "trust", "worth", "settings"][first:], [row[first:] for row in cells])


def given(earlier: Sequence[str] | None, config: Config) -> list[Taught]:
    """The earlier studies that somebody named."""
    from bopp.study.knowing import Place
    from bopp.study.knowing import earlier as studies

    place = Place(config.path, config.folder, (config.store, config.name))
    return [studies(text, place) for text in earlier or ()]


def knows(study: Study) -> str:
    """What a study knows besides its trials, in a line."""
    from bopp.study.sources import described

    return described(study.definition.knowledge)
