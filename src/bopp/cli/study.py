"""The commands that make, run, watch and share a study."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bopp.cli.terminal import legible, print_pairs, print_table, say
from bopp.errors import BoppError, ConfigError, NoResultError, StoreError, StudyError

if TYPE_CHECKING:
    from bopp import Params, Study, Trial
    from bopp.study.config import Config

Source = Annotated[str, typer.Argument(help="A study file, or the URL of a store.")]
Name = Annotated[str | None, typer.Argument(help="The study in the store; not needed where it has one.")]
Json = Annotated[bool, typer.Option("--json", help="For other programs.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Evaluations at once.")]
Budget = Annotated[int | None, typer.Option(min=1, help="Trials of the study in total.")]
Picture = Literal["convergence", "slices", "parallel", "importance"]

STUDY = "study.toml"
RUNS_ON_ITS_OWN = math.inf  # as a time-out: an evaluation in a process of its own, however long it takes


def add_to(app: typer.Typer) -> None:
    """Give the commands to the command line."""
    for command in (init, run, worker, status, best, trials, ask, tell, observe, enqueue, export, plot):
        values = command in (tell, observe, enqueue)  # -0.5 is a value, not an option
        app.command(context_settings={"ignore_unknown_options": values})(command)
    app.command("import")(import_)


def init(folder: Annotated[Path, typer.Argument(help="Where to write it.")] = Path()) -> None:
    """Write a study file with comments, study.toml, and an objective that goes with it."""
    from bopp.study.config import OBJECTIVE_TEMPLATE, TEMPLATE

    files = {folder / STUDY: TEMPLATE, folder / "objective.py": OBJECTIVE_TEMPLATE}
    for path in files:
        if path.exists():
            raise ConfigError(f"{path} is there already; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from None
    say(f"Wrote {' and '.join(map(str, files))}. Change them, then: bopp run {folder / STUDY}")


def run(
    file: Annotated[Path, typer.Argument(help="The study file.")] = Path(STUDY),
    workers: Workers = None,
    budget: Budget = None,
) -> None:
    """Run a study; stopped or killed, the same command goes on where it was."""
    from bopp.study.config import load

    config = load(file)
    objective = config.objective()
    with _opened(config) as study:
        _work(
            study,
            objective,
            budget or config.budget,
            workers or config.workers,
            config.timeout,
            config.target,
            f"bopp run {file}",
            file.with_suffix(".log"),
        )


def worker(
    url: Annotated[str, typer.Argument(help="The URL of the store.")],
    name: Annotated[str, typer.Argument(help="The study.")],
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Take objective, budget and timeout from it: study.toml, if it is here."),
    ] = None,
    python: Annotated[str | None, typer.Option(help="The objective, as module:function.")] = None,
    command: Annotated[str | None, typer.Option(help='The objective, as "program {name}".')] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the command.")] = False,
    workers: Workers = None,
    budget: Budget = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one evaluation.")] = None,
    lease: Annotated[float, typer.Option(help="Seconds of silence that end a hold on a trial.")] = 60.0,
) -> None:
    """Join a study and work on it, beside others, on this machine or another.

    What to evaluate is said here and never read from the store: whoever may write to a database should not
    thereby run programs on the machines of others.
    """
    from bopp import open_study
    from bopp.study.command import Command
    from bopp.study.config import load
    from bopp.study.function import python_objective

    if not (file or python or command) and Path(STUDY).exists():
        file = Path(STUDY)
    given = [way for way in (file, python, command) if way is not None]
    if len(given) != 1:
        raise ConfigError(f"wanted one of --file, --python and --command, got {len(given) or 'none'}")
    config = load(file) if file else None
    with open_study(url, name, lease=lease) as study:
        objective: Any
        if config:
            objective = config.objective()
        elif python:
            objective = python_objective(python, Path())
        else:
            objective = Command(command or "", shell)
            objective.check(study.space.parameters)
        if config:
            budget, timeout = budget or config.budget, timeout or config.timeout
        again = f"bopp worker {study.url} {name!r}, with the same options"
        target = config.target if config else None
        _work(study, objective, budget, workers, timeout, target, again, Path("bopp-worker.log"))


def status(source: Source = STUDY, name: Name = None) -> None:
    """Tell how far a study is, or which studies a store has."""
    from bopp.study.opening import names
    from bopp.study.store import Store

    if name is None and "://" in source and len(there := names(Store(source, create=False))) != 1:
        rows = [_summary(_study(source, one)) for one in there]
        print_table(["study", "done", "failed", "asked", "best"], rows)
        return
    study = _study(source, name)
    summary = dict(zip(["study", "done", "failed", "asked", "best"], _summary(study), strict=True))
    times = [time for trial in study.trials for time in (trial.asked_at, trial.told_at) if time]
    more = {
        "store": study.url,
        "direction": study.direction,
        "parameters": ", ".join(study.space.parameters),
        "queued": str(len(study.queued)),
        "workers": ", ".join(sorted({_who(trial) for trial in study.trials if trial.state == "asked"})),
        "last change": max(times).isoformat(" ", "seconds") if times else "",
    }
    print_pairs(list({**summary, **more}.items()))


def best(source: Source = STUDY, name: Name = None, json: Json = False) -> None:
    """Print the best trial."""
    study = _study(source, name)
    trial = study.best
    if json:
        print(_json(_record(study, trial)))
        return
    params = [(f"  {name}", _shown(value)) for name, value in trial.params.items()]
    print_pairs([("value", _shown(trial.value)), ("trial", str(trial.number)), ("params", ""), *params])


def trials(
    source: Source = STUDY,
    name: Name = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="For spreadsheets.")] = False,
) -> None:
    """Print every trial."""
    study = _study(source, name)
    if json and csv:
        raise ConfigError("wanted one of --json and --csv, got both")
    if json:
        print(_json([_record(study, trial) for trial in study.trials]))
    elif csv:
        _print_csv(study)
    else:
        names = list(study.space.parameters)
        rows = [
            [
                str(trial.number),
                trial.state,
                "" if trial.value is None else f"{trial.value:.6g}",
                *(_brief(trial.params[name]) for name in names),
                trial.error or trial.notes or "",
            ]
            for trial in study.trials
        ]
        print_table(["trial", "state", "value", *names, "remark"], rows)


def ask(
    source: Source = STUDY,
    name: Name = None,
    count: Annotated[int, typer.Option(min=1, help="Trials to evaluate at the same time.")] = 1,
    json: Json = False,
) -> None:
    """Ask what to try next, by hand or in a laboratory; the trial is yours until it is told."""
    study = _by_hand(source, name)
    asked = study.ask(count)
    if json:
        print(_json([_record(study, trial) for trial in asked]))
        return
    for trial in asked:
        params = [(f"  {name}", _shown(value)) for name, value in trial.params.items()]
        print_pairs([(f"trial {trial.number}", ""), *params])
    say(f"Then: bopp tell {asked[0].number} VALUE, or --failed REASON")


def tell(
    number: Annotated[int, typer.Argument(help="Of the trial.")],
    value: Annotated[str | None, typer.Argument(help="What came out: a number.")] = None,
    source: Source = STUDY,
    name: Name = None,
    failed: Annotated[str | None, typer.Option(help="Why there is no value.")] = None,
    note: Annotated[str | None, typer.Option(help="A note to keep with the trial.")] = None,
) -> None:
    """Tell what came out of a trial; once told, a value stays."""
    if (value is None) == (failed is None):
        raise ConfigError("wanted a value, or --failed with a reason, and not both")
    study = _by_hand(source, name)
    told = study.tell(number, _number(value)) if value is not None else study.fail(number, failed or "")
    if note is not None:
        study.note(number, note)
    say(f"trial {told.number} {told.state}" + (f": {told.value!r}" if told.value is not None else ""))


def observe(
    value: Annotated[str, typer.Argument(help="What came out: a number.")],
    params: Annotated[list[str], typer.Argument(help="Of every parameter, name=value.")],
    source: Annotated[str, typer.Option("--in", help="A study file, or the URL of a store.")] = STUDY,
    name: Annotated[str | None, typer.Option(help="The study in the store.")] = None,
) -> None:
    """Add a result from elsewhere, which was never asked for."""
    study = _by_hand(source, name)
    trial = study.observe(_params(study, params), _number(value))
    say(f"trial {trial.number} {trial.state}")


def enqueue(
    params: Annotated[list[str], typer.Argument(help="Of every parameter, name=value.")],
    source: Annotated[str, typer.Option("--in", help="A study file, or the URL of a store.")] = STUDY,
    name: Annotated[str | None, typer.Option(help="The study in the store.")] = None,
) -> None:
    """Have these params tried before any suggestion."""
    study = _by_hand(source, name)
    study.enqueue(_params(study, params))
    say(f"{len(study.queued)} in the queue")


def export(
    source: Source = STUDY,
    name: Name = None,
    out: Annotated[Path | None, typer.Option(help="A file, in place of the standard output.")] = None,
) -> None:
    """Write a study as JSON Lines, with a checksum at the end."""
    from bopp.files import write_whole
    from bopp.study.exchange import exported

    content = exported(_study(source, name))
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
    """Put an exported study into a store, if it is whole and unchanged."""
    from bopp.study.exchange import imported

    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}") from None
    try:
        kept = imported(url, content, name)
    except StudyError as error:
        raise StudyError(f"{file}: {error}") from None
    say(f"Imported {kept!r} into {url}")


def plot(
    source: Source = STUDY,
    name: Name = None,
    kind: Annotated[Picture | None, typer.Option(help="One picture; all four without it.")] = None,
    out: Annotated[Path, typer.Option(help="A folder for the pictures.")] = Path("pictures"),
) -> None:
    """Draw a study: convergence, slices, parallel coordinates, importance; as PNG and SVG."""
    from bopp import parallel, plot

    result = _study(source, name).result
    draw: dict[Picture, Any] = {
        "convergence": plot.convergence,
        "slices": plot.slices,
        "parallel": parallel.parallel,
        "importance": plot.importances,
    }
    try:
        for word in [kind] if kind else draw:
            for path in plot.save(draw[word](result), out, word):
                print(path)
    except OSError as error:
        raise StoreError(f"cannot write to {out}: {error.strerror}") from None


def _study(source: str, name: str | None) -> Study:
    """A study that is there."""
    from bopp import open_study
    from bopp.study.config import load
    from bopp.study.opening import names
    from bopp.study.store import Store

    if "://" not in source:
        config = load(Path(source))
        return open_study(config.store, name or config.name)
    if name is None:
        there = names(Store(source, create=False))
        if len(there) != 1:
            raise StudyError(f"{source} has {len(there)} studies, name one: {', '.join(map(repr, there))}")
        name = there[0]
    return open_study(source, name)


def _by_hand(source: str, name: str | None) -> Study:
    """A study whose trials are held until they are told; one of a study file is created if need be."""
    from bopp import open_study
    from bopp.study.config import load

    if "://" not in source:
        return _opened(load(Path(source)), by_hand=True)
    return open_study(source, name or _study(source, None).name, lease=None)


def _opened(config: Config, by_hand: bool = False) -> Study:
    from bopp import open_study

    return open_study(
        config.store,
        config.name,
        config.space,
        config.direction,
        config.seed,
        config.recipe,
        None if by_hand else config.lease,
    )


def _work(
    study: Study,
    objective: Any,
    budget: int | None,
    workers: int | None,
    timeout: float | None,
    target: float | None,
    again: str,
    log: Path,
) -> None:
    from bopp.cli.live import Logged, live
    from bopp.drive import limits
    from bopp.study.runner import work

    ends = limits(target, None, None)
    if sys.stderr.isatty():
        objective = Logged(objective, log)
        say(f"What the objective prints goes to {log}")
    try:
        with live(study.name, budget) as show:
            work(study, objective, budget, workers or 1, timeout or RUNS_ON_ITS_OWN, None, ends, show)
    except KeyboardInterrupt:
        say(f"Stopped. {_counted(study)} are kept in {study.url}. To go on: {again}")
        raise
    try:
        found = f"best {study.best.value:.6g} in trial {study.best.number}"
    except NoResultError as error:
        say(f"{_counted(study)} in {study.url}")
        raise NoResultError(f"no trial came to a value: {error}") from None
    say(f"{_counted(study)} in {study.url}; {found}")
    print_pairs([(name, _shown(value)) for name, value in study.best.params.items()])


def _counted(study: Study) -> str:
    states = [trial.state for trial in study.trials]
    failed = f" ({states.count('failed')} failed)" if "failed" in states else ""
    return f"{len(states) - states.count('asked')} trials{failed}"


def _summary(study: Study) -> list[str]:
    states = [trial.state for trial in study.trials]
    try:
        found = f"{study.best.value:.6g} in trial {study.best.number}"
    except NoResultError:
        found = "none yet"
    return [study.name, *(str(states.count(state)) for state in ("done", "failed", "asked")), found]


def _who(trial: Trial) -> str:
    return (trial.worker or "somebody").rpartition("/")[0]


def _record(study: Study, trial: Trial) -> dict[str, Any]:
    from bopp.written import written_trial

    return written_trial(study.space, trial)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, allow_nan=False)


def _print_csv(study: Study) -> None:
    records = [_record(study, trial) for trial in study.trials]
    fields = ["number", "state", "value", "error", "origin", "asked_at", "told_at", "worker", "notes"]
    names = list(study.space.parameters)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*fields[:3], *names, *fields[3:]])
    for record in records:
        cells = [*(record[field] for field in fields[:3]), *(record["params"][name] for name in names)]
        writer.writerow([*cells, *(record[field] for field in fields[3:])])


def _shown(value: Any) -> str:
    return legible(value if isinstance(value, str) else repr(value))


def _brief(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else _shown(value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"wanted a number as value, got {text!r}") from None


def _params(study: Study, words: Sequence[str]) -> Params:
    """The params that name=value words give: a Choice takes the text of its option, others a number."""
    from bopp import Choice

    params: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        parameter = study.space.parameters.get(name)
        if not equals or parameter is None:
            wanted = ", ".join(f"{name}=..." for name in study.space.parameters)
            raise ConfigError(f"wanted {wanted}, got {word!r}")
        if isinstance(parameter, Choice):
            options = {_shown(option): option for option in parameter.options}
            if text not in options:
                raise ConfigError(f"{name}: wanted one of {', '.join(options)}, got {text!r}")
            params[name] = options[text]
        else:
            params[name] = _whole_or_real(name, text)
    return params


def _whole_or_real(name: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise BoppError(f"{name}: wanted a number, got {text!r}") from None
