"""bopp paper: the commands that reproduce the paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from bopp.cli.terminal import pasted, progress, say
from bopp.errors import PaperError
from bopp.paper.runs import (
    ACQUISITIONS,
    VARIANTS,
    Fitting,
    Folder,
    Kernel,
    Maximiser,
    Metric,
    Outcome,
    Setting,
    Splits,
    made,
)

Word = TypeVar("Word", bound=str)

paper = typer.Typer(
    help='The paper, "Bayesian Optimization using Pseudo-Points": run its experiment; print its table; draw '
    "its figures and its theory.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

QUICK = {"repeats": 2, "iterations": 10, "variants": "bo,pp001,pp0"}
FULL = {"repeats": 20, "iterations": 100, "variants": ",".join(VARIANTS)}

Out = Annotated[Path, typer.Option("--out", help="Folder of the experiment.", show_default=False)]


def _width(value: float) -> float:
    if not 0.0 < value <= 1.0:
        raise typer.BadParameter(f"wanted a number above 0 and at most 1, got {value}")
    return value


@paper.command("run")
def paper_run(
    out: Out,
    problems: Annotated[
        str, typer.Option(help="Names by comma; or synthetic, real, shifted, ancestors, all.")
    ] = "all",
    acquisitions: Annotated[str, typer.Option(help="Names by comma.")] = ",".join(ACQUISITIONS),
    variants: Annotated[str | None, typer.Option(help="Names by comma; pp0 is the control.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Runs of each: 20.")] = None,
    first_repeat: Annotated[int, typer.Option(min=0, help="Its number; others are other runs.")] = 0,
    kernel: Annotated[
        Kernel | None, typer.Option(help="By default ard, and isotropic too where the paper has it.")
    ] = None,
    maximiser: Annotated[Maximiser, typer.Option(help="Of the acquisition function.")] = "direct",
    iterations: Annotated[int | None, typer.Option(min=1, help="After the initial points: 100.")] = None,
    evaluations: Annotated[int, typer.Option(min=1, help="Of the acquisition function by DIRECT.")] = 100,
    shortest: Annotated[
        float, typer.Option(callback=_width, help="Least length-scale, in widths of the box.")
    ] = 0.015,
    fit: Annotated[
        Fitting,
        typer.Option(help="Of length-scales: one climb, a wider search, or a sample to average over."),
    ] = "likelihood",
    noisy: Annotated[
        bool, typer.Option("--noisy", help="Add noise of the variance 1e-4 to evaluations.")
    ] = False,
    outcome: Annotated[Outcome, typer.Option(help="Values as the model sees them.")] = "raw",
    count_initial: Annotated[
        bool, typer.Option("--count-initial", help="Let t of beta_t count the initial points.")
    ] = False,
    splits: Annotated[
        Splits, typer.Option(help="Of the data: one for all, one for each repeat, or as the paper seems to.")
    ] = "paper",
    metric: Annotated[Metric, typer.Option(help="What NN_wine and NN_cancer report.")] = "one_minus_mse",
    workers: Annotated[int | None, typer.Option(min=1, help="Processes: one for each core.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="2 repeats of 10 iterations of bo, pp001, pp0: under 3 minutes.")
    ] = False,
) -> None:
    """Run the experiment in parallel; run it again to go on where it was stopped or killed."""
    from bopp.paper import experiment
    from bopp.paper.problems import named

    usual: dict[str, Any] = QUICK if quick else FULL
    setting = Setting(
        iterations=iterations or usual["iterations"],
        evaluations=evaluations,
        shortest=shortest,
        fit=fit,
        noisy=noisy,
        outcome=outcome,
        count_initial=count_initial,
        splits=splits,
        metric=metric,
    )
    keys = experiment.plan(
        named(_words("--problems", problems)),
        _words("--acquisitions", acquisitions, ACQUISITIONS),
        _words("--variants", variants or usual["variants"], VARIANTS),
        range(first_repeat, first_repeat + (repeats or usual["repeats"])),
        kernel,
        maximiser,
    )
    folder = Folder(out)
    done = folder.done()
    missing = [key for key in keys if key not in done]
    experiment.load(missing, setting)
    folder.prepare(setting)
    if len(missing) < len(keys):
        say(f"{len(keys) - len(missing)} of {len(keys)} runs are there already.")
    try:
        with progress(len(missing)) as advance:
            for _ in experiment.run(folder, missing, setting, workers or os.cpu_count() or 1):
                advance()
    except KeyboardInterrupt:
        say("Stopped. What is done is kept; the same command goes on.")
        raise
    chosen = {"kernel": kernel, "maximiser": maximiser}
    unusual = {name: word for name, word in chosen.items() if word not in ("ard", "direct")}
    say(f"{len(keys)} runs are in {out}. Next: {pasted('paper', 'table', out=out, **unusual)}")


@paper.command("table")
def paper_table(
    out: Out,
    kernel: Annotated[Kernel, typer.Option()] = "ard",
    maximiser: Annotated[Maximiser, typer.Option()] = "direct",
    json: Annotated[bool, typer.Option("--json", help="As records for other programs.")] = False,
) -> None:
    """Print the paper's table, ours beside theirs, and below it how certain each difference is."""
    from bopp.paper import table

    if json:
        print(msgspec.json.encode(table.as_rows(Folder(out), kernel, maximiser)).decode())
    else:
        print(table.render(Folder(out), kernel, maximiser), end="")


@paper.command("figures")
def paper_figures(out: Out) -> None:
    """Draw the paper's seven figures, and three of the shifted functions, into the experiment's `figures`."""
    from bopp.paper import figures

    folder = Folder(out)
    for path in figures.draw(folder, out / "figures"):
        print(path)
    for name in figures.missing(folder):
        say(f"no runs for {name}")


@paper.command("theory")
def paper_theory(
    out: Out,
    draws: Annotated[int, typer.Option(min=2, help="Functions drawn from the model.")] = 20,
    horizon: Annotated[int, typer.Option(min=2, help="Iterations of each run.")] = 80,
    dimension: Annotated[int, typer.Option(min=1, max=2, help="Of the functions.")] = 1,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Check the regret bounds on functions that meet the theorem's assumptions; figures go to `theory`."""
    from bopp.paper.check import check, summary
    from bopp.paper.theory_figures import draw

    folder = made(out / "theory")
    found = check(draws, horizon, seed, dimension)
    print(summary(found))
    for path in draw(found, folder):
        print(path)


@paper.command("pack")
def paper_pack(
    out: Out,
    curves: Annotated[
        bool, typer.Option("--curves", help="Keep only the best value so far; the others are lost.")
    ] = False,
) -> None:
    """Put all runs of a folder into one small file, to keep or to send; all commands can read it too."""
    print(Folder(out).pack(best_so_far=curves))


def _words(option: str, text: str, allowed: Sequence[Word] = ()) -> list[Word]:
    words: list[Any] = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for word in words or [text]:
        if word not in (allowed or words):
            wanted = ", ".join(allowed) or "names by comma"
            raise PaperError(f"{option}: wanted {wanted}, got {word!r}")
    return words
