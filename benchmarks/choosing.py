"""Variants of the default on tasks for choosing, beside the default: what each part of it brings.

python benchmarks/choosing.py [--variants ...] [--groups bbob] [--seeds 1 2 3] [--dimension 5] [--jobs 1]
                              [--out FILE]

Runs are kept in benchmarks/results/choosing; delete those of a variant after a change to bopp. None of these
tasks is in docs/benchmarks.md.
"""

import argparse
import json
import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import bopp
from bopp import Recipe, fit, outcome, search
from contest.peers import PEERS, Factory
from contest.peers.bent import Bent
from contest.peers.bopp import Bopp
from contest.reading import subject
from contest.records import Record, append, file_of
from contest.runs import ENVIRONMENT, run, tasks_of
from contest.statistics import Scores, duel, scores
from contest.task import Task
from report import heading, markdown, publish

EVALUATIONS = 60
DEFAULT = "the default"


def with_fit(recipe: Recipe, **settings: object) -> Recipe:
    assert isinstance(recipe.fit, fit.MAP)
    return replace(recipe, fit=replace(recipe.fit, **settings))  # type: ignore[arg-type]


def with_priors(recipe: Recipe, **settings: fit.LogNormal | None) -> Recipe:
    assert isinstance(recipe.fit, fit.MAP)
    assert recipe.fit.priors is not None
    return with_fit(recipe, priors=replace(recipe.fit.priors, **settings))  # type: ignore[arg-type]


def before(recipe: Recipe) -> Recipe:
    """The default before it had a trend."""
    fitted = replace(fit.MaximumLikelihood(), priors=fit.Priors(trend=None))
    thorough = search.Gradients(finalists=None, ample=math.inf)
    return replace(recipe, fit=fitted, search=thorough, outcome=outcome.power)


VARIANTS: dict[str, Callable[[Recipe], Recipe]] = {
    DEFAULT: lambda recipe: recipe,
    "no trend": partial(with_priors, trend=None),
    "values as they are, no power": lambda recipe: replace(recipe, outcome=outcome.standardised),
    "noise of 1e-8 at least": partial(with_fit, least_noise=1e-8),
    "noise that looks like roughness left at that": partial(with_fit, second_noise=None),
    "a fit for every suggestion": partial(with_fit, refit=0.0, tolerance=1e-5),
    "shorter length-scales": partial(with_priors, lengthscale=fit.LogNormal(-1.2, 1.0)),
    "longer length-scales": partial(with_priors, lengthscale=fit.LogNormal(-0.2, 1.0)),
    "squared exponential kernel": lambda recipe: replace(recipe, kernel=bopp.kernels.SquaredExponential()),
    "the default before": before,
}


PEER = "GPSampler"
BENT = "GPSampler, told values bent by the power"


def factory(label: str) -> Factory:
    """What makes the optimizer with this label."""
    if label in VARIANTS:
        return partial(Bopp, recipe=VARIANTS[label](Recipe.default()))
    own = PEERS["gpsampler"].factory
    return own if label == PEER else partial(Bent, factory=own)


def execute(task: Task, label: str) -> Record:
    """One run of a variant, in this process."""
    return run(task, factory(label), label, EVALUATIONS)


def found(group: str, name: str, label: str) -> Record:
    return execute(next(task for task in tasks_of(group, "choosing") if task.name == name), label)


def kept(group: str, label: str) -> list[Record]:
    path = file_of("choosing", group, label)
    lines = path.read_text().splitlines() if path.exists() else []
    return [Record(**json.loads(line)) for line in lines]


def make(group: str, tasks: list[Task], labels: list[str], jobs: int) -> None:
    """Make the runs that are missing, in processes with one thread each."""
    os.environ.update(ENVIRONMENT)
    for label in labels:
        done = {record.task for record in kept(group, label)}
        names = [task.name for task in tasks if task.name not in done]
        with ProcessPoolExecutor(jobs) as pool:
            for record in pool.map(found, [group] * len(names), names, [label] * len(names)):
                append(file_of("choosing", group, label), record)


def rows(group: str, tasks: list[Task], labels: list[str]) -> list[dict[str, object]]:
    """Mean log10 regret of each variant, and by how much it differs from the default."""
    names = {task.name for task in tasks}
    runs = [record for label in labels for record in kept(group, label) if record.task in names]
    table = scores(runs, [subject(task) for task in tasks], labels)
    return [row(group, table, label) for label in labels]


def row(group: str, table: Scores, label: str) -> dict[str, object]:
    t = min(EVALUATIONS, table.budget)
    ours, theirs = table.row(label, t), table.row(DEFAULT, t)
    found = {"label": label, "group": group, "log_regret": round(float(np.nanmean(ours)), 3)}
    if label == DEFAULT:
        return found | {"difference": None, "interval": None}
    difference = duel(ours, theirs, table.kinds).difference
    ends = [round(difference.low, 3), round(difference.high, 3)]
    return found | {"difference": round(difference.mean, 3), "interval": ends}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--variants", nargs="+", choices=[*VARIANTS, PEER, BENT], default=list(VARIANTS))
    parser.add_argument("--groups", nargs="+", default=["bbob"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--dimension", type=int, help="only tasks of so many parameters")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="adds the rows as JSON, for docs/benchmarks.md")
    options = parser.parse_args()
    labels = list(dict.fromkeys([DEFAULT, *options.variants]))
    found = []
    for group in options.groups:
        tasks = [
            task
            for task in tasks_of(group, "choosing")
            if task.seed in options.seeds and options.dimension in (None, len(task.space))
        ]
        make(group, tasks, labels, options.jobs)
        name = f"{group}, d = {options.dimension}" if options.dimension else group
        if len(options.seeds) > 1:
            name += f", {len(options.seeds)} seeds"
        found += [{**one, "group": name} for one in rows(group, tasks, labels)]
    columns = ["variant", "group", f"log10 regret after {EVALUATIONS}", "difference", "95 % interval"]
    cells = [[str(cell) for cell in one.values()] for one in found]
    publish(["# Variants of the default", heading(), markdown(columns, cells)], None)
    if options.out:
        about = (
            f"Tasks for choosing, {EVALUATIONS} evaluations, the first seed (of BBOB, the first instance) "
            "unless it says more; none of them is in the tables above. A positive difference is worse than "
            "the default."
        )
        kept_rows = json.loads(options.out.read_text())["rows"] if options.out.exists() else []
        new = {(one["label"], one["group"]) for one in found}
        others = [one for one in kept_rows if (one["label"], one["group"]) not in new]
        options.out.write_text(json.dumps({"about": about, "rows": others + found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
