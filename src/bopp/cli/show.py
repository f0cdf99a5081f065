"""Show: the progress of a study, its trials and pictures, its dashboard; and its export and import."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from bopp.cli.source import STUDY, Json, Name, Source
from bopp.cli.table import front_of, print_json, print_trials, record
from bopp.cli.terminal import print_pairs, print_table, say, shown_value
from bopp.errors import (
    BoppError,
    ConfigError,
    MissingExtra,
    NoResultError,
    RecipeError,
    StoreError,
    StudyError,
    installation,
)
from bopp.legible import legible
from bopp.rows import write_csv
from bopp.study.opening import existing

if TYPE_CHECKING:
    from bopp import Result, Study, Trial

Picture = Literal[
    "convergence", "front", "slices", "contour", "parallel", "importance", "calibration", "timeline", "edf"
]
OF_SEVERAL: tuple[Picture, ...] = ("convergence", "front", "timeline")  # pictures of several objectives
SUMMARY = ["study", "done", "failed", "asked", "best"]


def status(source: Source = STUDY, name: Name = None) -> None:
    """Show how far a study has come, or which studies a store has."""
    from bopp.study.catalogue import names, overview
    from bopp.view.values import summary

    if name is None and "://" in source:
        there = names(source)
        if len(there) != 1:
            _print_studies(overview(source, summary))
            return
        name = there[0]
    with existing(source, name) as study:
        result = study.result
        times = [time for trial in result.trials for time in (trial.asked_at, trial.told_at) if time]
        more = {
            "store": study.url,
            "direction": study.problem.aims,
            "parameters": ", ".join(study.space.parameters),
            "queued": str(len(study.queued)),
            "workers": ", ".join(sorted({_who(trial) for trial in result.trials if trial.state == "asked"})),
            "last change": max(times).isoformat(" ", "seconds") if times else "",
        }
        pairs = zip(SUMMARY, [study.name, *summary(result)], strict=True)
        print_pairs([*pairs, *_pause(study), *more.items()])


def best(source: Source = STUDY, name: Name = None, json: Json = False) -> None:
    """Print the best trial; of several objectives, the front."""
    with existing(source, name) as study:
        if len(study.problem.objectives) > 1:
            print_trials(study, front_of(study.result), json)
            return
        trial = study.best
        if json:
            print_json(record(study, trial))
            return
        values = [(name, shown_value(value)) for name, value in trial.values.items()]
        params = [(f"  {name}", shown_value(value)) for name, value in trial.params.items()]
        print_pairs([*values, ("trial", str(trial.number)), ("params", ""), *params])


def trials(
    source: Source = STUDY,
    name: Name = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="For spreadsheets.")] = False,
    errors: Annotated[bool, typer.Option("--errors", help="Only failures, with their tracebacks.")] = False,
) -> None:
    """Print every trial."""
    with existing(source, name) as study:
        if json + csv + errors > 1:
            raise ConfigError("wanted one of --json, --csv and --errors, got more than one")
        if csv:
            for line in write_csv(study.problem, study.trials):
                print(line, end="")
        elif errors:
            _print_errors(study)
        else:
            print_trials(study, study.trials, json)


def export(
    source: Source = STUDY,
    name: Name = None,
    out: Annotated[Path | None, typer.Option(help="A file, in place of the standard output.")] = None,
) -> None:
    """Write a study as JSON Lines, with a checksum at the end."""
    from bopp.files import write_whole
    from bopp.study.address import understood
    from bopp.study.exchange import exported

    with existing(source, name) as study:
        content, store = exported(study), understood(study.url)[1]
    if out and isinstance(store, Path) and out.exists() and out.samefile(store):
        raise ConfigError(f"wanted another file than the store itself, got {str(out)!r}")
    if out is None:
        sys.stdout.write(content.decode())
        return
    try:
        write_whole(out, content)
    except OSError as error:
        raise StoreError(f"cannot write to {out}: {error.strerror}") from None
    say(f"Wrote {out}")


def import_(
    file: Annotated[Path, typer.Argument(help="What bopp export wrote.")],
    url: Annotated[str, typer.Argument(help="The URL of a store.")],
    name: Annotated[str | None, typer.Argument(help="Another name for the study.")] = None,
) -> None:
    """Put an exported study into a store, if it is complete and unchanged."""
    from bopp.study.address import is_url, shown
    from bopp.study.exchange import imported

    if is_url(str(file)):
        raise ConfigError("wanted a file and then the URL of a store, got a URL as the file")

    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    try:
        kept = imported(url, content, name)
    except StudyError as error:
        raise StudyError(f"{file}: {error}") from None
    say(f"Imported {kept!r} into {shown(url)}")


def plot(
    source: Source = STUDY,
    name: Name = None,
    kind: Annotated[
        Picture | None,
        typer.Option(metavar="<kind>", help=f"One of {', '.join(get_args(Picture))}; all without it."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(metavar="<name>", help="One of several objectives, or a limited value, alone."),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="<name>", help="Another study of the store, for edf; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(help="A folder for the pictures.")] = Path("pictures"),
) -> None:
    """Draw a study: what happened, and what the model believes; as PNG and SVG."""
    from bopp.parts import has_parts_of_yours
    from bopp.view import canvas, drawing

    if beside and kind not in (None, "edf"):
        raise ConfigError(f"--with is for --kind edf, got it with --kind {kind}")
    with existing(source, name) as study:
        result, title = study.result, study.name
        definition = study.definition
        recipe = None if has_parts_of_yours([definition.parts, definition.knowledge]) else study.recipe
    others = {other: _result(source, other) for other in beside or ()}
    if objective is not None:
        recipe = recipe if objective in result.problem.objectives else None  # which may know of another value
        result = result.of(objective)
        others = {other: one.of(objective) for other, one in others.items()}
    names = list(result.problem.objectives)
    if kind and kind not in OF_SEVERAL and len(names) > 1:
        raise ConfigError(f"--kind {kind} wants one objective: --objective with one of {', '.join(names)}")
    draw: dict[str, Any] = drawing.kinds(recipe)
    draw["edf"] = partial(draw["edf"], others=others)
    kinds = [kind] if kind else [word for word in draw if word != "front"] if len(names) == 1 else OF_SEVERAL
    missing: list[NoResultError | RecipeError | MissingExtra] = []
    try:
        for word in kinds:
            try:
                figure = draw[word](result, title=title)
            except (NoResultError, RecipeError, MissingExtra) as error:
                missing.append(error)
                continue
            for path in canvas.save(figure, out, word):
                print(path)
    except OSError as error:
        raise StoreError(f"cannot write to {out}: {error.strerror}") from None
    if len(missing) == len(kinds):
        raise missing[0]
    for reason in missing:
        say(f"Not drawn: {reason}")
    if len(names) > 1 and not kind:
        say(f"For pictures of one objective: --objective with one of {', '.join(names)}")


def dashboard(
    source: Source = STUDY,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="8765 or the next that is free; 0: any.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; at 0.0.0.0, other machines can reach it.")
    ] = "127.0.0.1",
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all changes.")] = False,
) -> None:
    """Serve a web page over a store: watch studies, understand them and work in them."""
    try:
        from bopp.dashboard.serving import Server
        from bopp.dashboard.state import State
    except ImportError as error:
        raise MissingExtra(
            f"the dashboard wants {error.name}: {installation('dashboard')}", extra="dashboard"
        ) from error
    Server(State(source, read_only), host, port, say, repeats=sys.stderr.isatty()).run()


def _result(source: str, name: str) -> Result:
    with existing(source, name) as study:
        return study.result


def _pause(study: Study) -> list[tuple[str, str]]:
    """Since when it is paused and why, if it is."""
    if (pause := study.paused) is None:
        return []
    since = f"since {pause.at.isoformat(' ', 'seconds')}"
    return [("paused", since if pause.reason is None else f"{since}: {pause.reason}")]


def _print_studies(summaries: Sequence[tuple[str, tuple[str, ...] | BoppError]]) -> None:
    unread = ("", "", "", "cannot be read")
    print_table(
        SUMMARY, [[name, *(unread if isinstance(one, BoppError) else one)] for name, one in summaries]
    )
    for name, one in summaries:
        if isinstance(one, BoppError):
            say(f"{name!r} cannot be read: {one}")


def _who(trial: Trial) -> str:
    return (trial.worker or "somebody").rpartition("/")[0]


def _print_errors(study: Study) -> None:
    """Print why trials failed, also those that were retried, amended or dropped since."""
    for trial in study.trials:
        for past in trial.superseded:
            if past.error is not None:
                print(legible(f"trial {trial.number}, {past.at:%Y-%m-%d %H:%M} taken back: {past.reason}"))
                print(legible(f"{past.traceback or past.error}\n"))
        if trial.error is not None:
            print(legible(f"trial {trial.number}\n{trial.traceback or trial.error}\n"))
