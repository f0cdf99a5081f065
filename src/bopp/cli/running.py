"""Running: write a study file, run it, join a study from elsewhere, and have all who run it wait."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bopp.arguments import checked_seed
from bopp.cli.knowing import Earlier, given, knows
from bopp.cli.source import STUDY, In, Name, Named, Source
from bopp.cli.table import front_of, print_trials
from bopp.cli.terminal import again, pasted, print_pairs, say, shown_value
from bopp.errors import ConfigError, StoreError
from bopp.run.failures import Policy
from bopp.study.opening import existing, located, open_config

if TYPE_CHECKING:
    from bopp import Study
    from bopp.called import Objective
    from bopp.study.config import Config

Workers = Annotated[int | None, typer.Option(min=1, help="Evaluations at once.")]
Budget = Annotated[int | None, typer.Option(min=1, help="Evaluations of the study in total.")]
TrialTimeout = Annotated[float | None, typer.Option(help="Seconds for one evaluation.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds for this run.")]

StartMethod = Annotated[
    str | None, typer.Option(help="How to start the processes of a function: fork, spawn or forkserver.")
]
Failing = Annotated[
    Policy | None, typer.Option(help="Whether to stop where the first three evaluations fail alike.")
]


def init(folder: Annotated[Path, typer.Argument(help="Where to write it.")] = Path()) -> None:
    """Write a commented study file, study.toml, and an objective that goes with it."""
    from bopp.study.templates import OBJECTIVE_TEMPLATE, TEMPLATE

    files = {folder / STUDY: TEMPLATE, folder / "objective.py": OBJECTIVE_TEMPLATE}
    for path in files:
        if path.exists() or path.is_symlink():
            raise ConfigError(f"{path} is there already; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:  # never through a link that was just planted
                file.write(text)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from None
    say(f"Wrote {' and '.join(map(str, files))}. Change them, then: {pasted('run', folder / STUDY)}")


def run(
    file: Annotated[Path, typer.Argument(help="The study file.")] = Path(STUDY),
    workers: Workers = None,
    budget: Budget = None,
    trial_timeout: TrialTimeout = None,
    time_limit: TimeLimit = None,
    seed: Annotated[str | None, typer.Option(help='Seed of a new study: an integer, or "random".')] = None,
    failures: Failing = None,
    start_method: StartMethod = None,
    earlier: Earlier = None,
) -> None:
    """Run a study; if it is stopped or killed, the same command goes on where it was."""
    from bopp.study.config import load

    config = load(file)
    if seed is not None:
        config = replace(config, seed=_seed(seed))
    said = {
        "workers": workers,
        "budget": budget,
        "trial_timeout": trial_timeout,
        "time_limit": time_limit,
        "failures": failures,
        "start_method": start_method,
    }
    job = Job.of(config, said)
    with open_config(config, config.name, config.study.lease, given(earlier, config)) as study:
        if earlier:
            say(f"{study.name} knows {knows(study)}; bopp learn reads that anew")
        _evaluate(study, job, again(*(earlier or ())), pasted("resume", file), file.with_suffix(".log"))


def worker(
    source: Source = STUDY,
    name: Name = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", help="Take objective, budget and limits from it: SOURCE, or study.toml if it is here."
        ),
    ] = None,
    python: Annotated[str | None, typer.Option(help="The objective, as module:function.")] = None,
    command: Annotated[str | None, typer.Option(help='The objective, as "program {name}".')] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the command.")] = False,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Give the command its params as JSON there.")
    ] = False,
    workers: Workers = None,
    budget: Budget = None,
    trial_timeout: TrialTimeout = None,
    time_limit: TimeLimit = None,
    failures: Failing = None,
    start_method: StartMethod = None,
    lease: Annotated[float, typer.Option(help="Seconds of silence that end a hold on a trial.")] = 60.0,
) -> None:
    """Join a study and work on it alongside others, on this machine or another.

    What to evaluate is said here and never read from the store: whoever can write to a database should not
    thereby be able to run programs on other people's machines.
    """
    from bopp import open_study
    from bopp.study.address import discreet
    from bopp.study.command import Command
    from bopp.study.config import load
    from bopp.study.function import python_objective

    url, name, config = located(source, name)
    given = [way for way in (file, python, command) if way is not None]
    if not given and config is None and Path(STUDY).exists():
        given = [file := Path(STUDY)]
    if len(given) > 1 or (not given and config is None):
        raise ConfigError(f"wanted one of --file, --python and --command, got {len(given) or 'none'}")
    if (shell or stdin) and command is None:
        raise ConfigError(f"wanted {'--shell' if shell else '--stdin'} with --command only")
    if given:
        config = load(file) if file else None
    problem = None
    if config is not None and config.refers:
        open_study(url, name, read_only=True).close()  # it is there: a worker creates none
        problem = config.declared[0]
    said = {
        "workers": workers,
        "budget": budget,
        "failures": failures,
        "start_method": start_method,
        "trial_timeout": trial_timeout,
        "time_limit": time_limit,
    }
    with open_study(url, name, problem, lease=lease) as study:
        if config is not None:
            if config.space != study.space:
                raise ConfigError(f"{config.path}: [space] is not that of the study {study.name!r}")
            job = Job.of(config, said | {"workers": workers or 1})
        elif python is not None:
            job = Job(python_objective(python, Path()), **_given(said))
        else:
            program = Command(command or "", shell, optional=study.space.conditional, stdin=stdin)
            program.check(study.space.parameters)
            job = Job(program, **_given(said))
        resume = pasted("resume", discreet(source), study.name)
        _evaluate(study, job, again(source), resume, Path("bopp-worker.log"))


def switch(
    recipe: Annotated[str, typer.Argument(help="default, random, paper-ucb, paper-pi or paper-ei.")],
    source: In = STUDY,
    name: Named = None,
) -> None:
    """Change the recipe of future suggestions; whoever works on the study now keeps the old one."""
    from bopp import Recipe
    from bopp.study.tables import RECIPES

    if recipe not in RECIPES:
        raise ConfigError(f"wanted one of {', '.join(RECIPES)}, got {recipe!r}")
    with existing(source, name, read_only=False) as study:
        study.switch_recipe(RECIPES[recipe]() or Recipe.default())
        say(f"{study.name} suggests by the recipe {recipe!r} from now on")


def pause(
    source: Source = STUDY,
    name: Name = None,
    reason: Annotated[str | None, typer.Option(help="Why, for those who wait.")] = None,
) -> None:
    """Stop handing out trials until bopp resume; running trials are finished, and workers wait."""
    from bopp.study.address import discreet

    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.pause(reason)
        words = [discreet(source), *([] if name is None else [name])]
        then = f"To go on: {pasted('resume', *([] if words == [STUDY] else words))}"
        if before:
            say(f"{study.name} is paused {before} already. {then}")
        else:
            say(f"{study.name} is paused: what is under way is finished, and no trial begins. {then}")


def resume(source: Source = STUDY, name: Name = None) -> None:
    """Resume a paused study."""
    with existing(source, name, read_only=False) as study:
        before = study.paused
        study.resume()
        say(f"{study.name} goes on; it was paused {before}" if before else f"{study.name} is not paused")


def _seed(text: str) -> int | None:
    if text == "random":
        return None
    if text.isdecimal():
        return checked_seed(int(text))
    raise ConfigError(f'--seed: wanted an integer >= 0, or "random", got {text!r}', field="--seed")


@dataclass(frozen=True)
class Job:
    """What a worker evaluates, and when it stops."""

    objective: Objective
    budget: int | None = None
    workers: int = 1
    trial_timeout: float = math.inf  # in a separate process, however long it takes
    time_limit: float | None = None
    failures: Policy = "stop"
    start_method: str | None = None
    target: float | None = None

    @staticmethod
    def of(config: Config, said: Mapping[str, Any]) -> Job:
        """The job of a study file, unless the command line says otherwise."""
        usual = {name: getattr(config.study, name) for name in said}
        return Job(config.objective(), target=config.study.target, **_given(usual) | _given(said))


def _given(said: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, on the command line or in a file."""
    return {name: value for name, value in said.items() if value is not None}


def _evaluate(study: Study, job: Job, same: str, resume: str, log: Path) -> None:
    from bopp.called import called
    from bopp.cli.live import Unbroken, live
    from bopp.run.loop import Limits
    from bopp.study.runner import run_study

    on_terminal = sys.stderr.isatty()
    objective = Unbroken(called(job.objective, study.space), log if on_terminal else None)
    if on_terminal:
        say(f"What the objective prints goes to {log}")
    try:
        with live(study.name, job.budget, study.result, resume) as show:
            limits = Limits.from_now(job.target, job.time_limit, None, job.failures).checked(study.problem)
            ends = (job.workers, job.trial_timeout, None, limits, show, job.start_method)
            run_study(study, objective, job.budget or math.inf, *ends)
    except KeyboardInterrupt:
        say(f"Stopped. {_kept(study)} in {study.url}. To go on: {same}")
        raise
    if len(study.problem.objectives) > 1:
        front = front_of(study.result)
        say(f"{_counted(study)} in {study.url}; front of {len(front)}")
        print_trials(study, front)
        return
    best = study.best
    say(f"{_counted(study)} in {study.url}; best {best.value:.6g} in trial {best.number}")
    print_pairs([(name, shown_value(value)) for name, value in best.params.items()])


def _kept(study: Study) -> str:
    try:
        return f"{_counted(study)} are kept"
    except StoreError:  # there is no time to wait for whoever keeps the store busy
        return "What was told is kept"


def _counted(study: Study) -> str:
    states = [trial.state for trial in study.trials]
    failed = f" ({states.count('failed')} failed)" if "failed" in states else ""
    return f"{states.count('done') + states.count('failed')} trials{failed}"
