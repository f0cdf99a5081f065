"""Ask and tell: what to try next and what came out of it, for people and laboratories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bopp.cli.source import STUDY, In, Json, Name, Named, Source
from bopp.cli.table import print_trials
from bopp.cli.terminal import pasted, print_pairs, say, shown_value
from bopp.errors import BoppError, ConfigError
from bopp.legible import shown_values
from bopp.rows import read_csv, read_text
from bopp.study.opening import held_open
from bopp.study.typed import typed_params, typed_values

if TYPE_CHECKING:
    from bopp import Study

WHAT = "What came out: a number, or name=number for each value, with commas between; none: not measured."
Noise = Annotated[float | None, typer.Option(help="Standard deviation of the value, where it is known.")]
Given = Annotated[list[str], typer.Argument(help="name=value; what is left out is suggested.")]


def ask(
    source: Source = STUDY,
    name: Name = None,
    count: Annotated[int, typer.Option(min=1, help="Trials to evaluate at the same time.")] = 1,
    json: Json = False,
) -> None:
    """Ask for settings to try, by hand or in a laboratory; a trial is yours until it is told."""
    from bopp.study.address import discreet

    with held_open(source, name) as study:
        asked = study.ask(count)
        if json:
            print_trials(study, asked, json)
            return
        for trial in asked:
            params = [(f"  {name}", shown_value(value)) for name, value in trial.params.items()]
            print_pairs([(f"trial {trial.number}", ""), *params])
        where = {"in": None if source == STUDY else discreet(source), "name": name}
        say(f"Then: {pasted('tell', asked[0].number, _to_be_told(study), **where)}")
        say(f"  or: {pasted('tell', asked[0].number, **where, failed='REASON')}")


def tell(
    number: Annotated[int, typer.Argument(help="The number of the trial.")],
    value: Annotated[str | None, typer.Argument(help=WHAT)] = None,
    source: In = STUDY,
    name: Named = None,
    failed: Annotated[str | None, typer.Option(help="Why there is no value.")] = None,
    note: Annotated[str | None, typer.Option(help="A note to keep with the trial.")] = None,
    noise: Noise = None,
) -> None:
    """Tell what came out of a trial, or what was not measured before; bopp amend changes a wrong value."""
    if (value is None) == (failed is None):
        raise ConfigError("wanted a value, or --failed with a reason, and not both")
    with held_open(source, name) as study:
        if value is None:
            told = study.fail(number, failed or "")
        else:
            told = study.tell(number, typed_values(study.problem, value), noise)
        if note is not None:
            study.note(number, note)
        say(f"trial {told.number} {told.state}" + (f": {shown_values(told.values)}" if told.values else ""))


def observe(
    value: Annotated[str | None, typer.Argument(help=WHAT)] = None,
    params: Annotated[list[str] | None, typer.Argument(help="Of every parameter, name=value.")] = None,
    source: In = STUDY,
    name: Named = None,
    noise: Noise = None,
    csv: Annotated[
        Path | None, typer.Option(help="A table with a row for each result, in their place.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Of the value in the table, if not its name.")] = None,
) -> None:
    """Add a result that was never asked for; or with --csv a table of them, all or none."""
    if csv is not None and (value is not None or noise is not None):
        raise ConfigError("wanted either --csv or a value with its params, got both")
    if csv is None and (value is None or not params or column is not None):
        raise ConfigError("wanted a value and all params, each as name=value, or --csv FILE")
    text = None if csv is None else read_text(csv)
    with held_open(source, name) as study:
        if text is None:
            answer = typed_values(study.problem, value or "")
            trial = study.observe(typed_params(study.space, params or ()), answer, noise)
            say(f"trial {trial.number} {trial.state}")
            return
        try:
            trials, left_out = read_csv(study.problem, text, column)
        except BoppError as error:
            raise ConfigError(f"{csv}: {error}") from None
        failed = sum(trial.state == "failed" for trial in study.observe_all(trials))
        say(
            f"{len(trials)} trials added, {failed} of them failed" + f"; {left_out} left out" * (left_out > 0)
        )


def enqueue(
    params: Given,
    source: In = STUDY,
    name: Named = None,
) -> None:
    """Queue params to be tried before any suggestion."""
    with held_open(source, name) as study:
        study.enqueue(typed_params(study.space, params))
        say(f"{len(study.queued)} in the queue")


def _to_be_told(study: Study) -> str:
    """What to type in place of the values."""
    names = study.problem.names
    return "VALUE" if len(names) == 1 else ",".join(f"{name}=..." for name in names)
