"""Correct: take back what was told, give a study another space, delete it; never silently."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bopp.cli.ask_tell import WHAT, Noise
from bopp.cli.source import STUDY, In, Name, Named, Source
from bopp.cli.terminal import say
from bopp.errors import ConfigError
from bopp.legible import shown_values
from bopp.study.opening import existing, located
from bopp.study.typed import typed_params, typed_values

Why = Annotated[str, typer.Option(help="Why, for the record.")]
Number = Annotated[int, typer.Argument(help="The number of the trial.")]


def retry(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="The numbers of failed trials; by default, all of them.")
    ] = None,
    source: In = STUDY,
    name: Named = None,
    reason: Why = "retried",
) -> None:
    """Evaluate failed trials again, once the cause of their failure is fixed."""
    with existing(source, name, read_only=False) as study:
        again = [str(trial.number) for trial in study.retry(*(numbers or ()), reason=reason)]
        say(f"To be evaluated again: {', '.join(again)}" if again else "No trial has failed")


def amend(
    number: Number,
    value: Annotated[str, typer.Argument(help=WHAT)],
    reason: Why,
    source: In = STUDY,
    name: Named = None,
    noise: Noise = None,
) -> None:
    """Correct a value that was told wrongly; the old one stays in the record."""
    with existing(source, name, read_only=False) as study:
        now = study.amend(number, typed_values(study.problem, value), reason, noise)
        say(f"trial {number}: {shown_values(now.superseded[-1].values)} is now {shown_values(now.values)}")


def drop(number: Number, reason: Why, source: In = STUDY, name: Named = None) -> None:
    """Exclude a trial; it stays in the record."""
    with existing(source, name, read_only=False) as study:
        study.drop(number, reason)
        say(f"trial {number} no longer counts")


def migrate(
    values: Annotated[
        list[str] | None, typer.Argument(help="name=value, of each new parameter the value it had so far.")
    ] = None,
    file: Annotated[Path, typer.Option("--in", help="The study file, with the new space.")] = Path(STUDY),
) -> None:
    """Continue a study in the space that its study file has now, with the trials that fit it."""
    from bopp import open_study
    from bopp.study.config import load

    config = load(file)
    given = typed_params(config.space, values or [])
    with open_study(config.store, config.name, read_only=True) as before:
        counted = sum(trial.counts for trial in before.trials)
    with open_study(config.store, config.name, config.space, migrate=given) as study:
        kept = sum(trial.counts for trial in study.trials)
        say(f"{study.name} goes on in the new space, with {kept} of {counted} trials")


def delete(
    source: Source = STUDY,
    name: Name = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a study with all its trials; asks first."""
    from bopp import delete_study, open_study

    url, name, _ = located(source, name)
    with open_study(url, name, read_only=True) as study:
        what = f"{study.name!r} with {len(study.trials)} trials in {study.url}"
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError(f"wanted --yes, as there is nobody to ask whether to delete {what}")
        if not typer.confirm(f"Delete {what}?", err=True):
            say("Nothing was deleted")
            return
    delete_study(url, name)
    say(f"Deleted {what}")
