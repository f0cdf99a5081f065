"""Which value a pending point should have: simple regret with several evaluations at once, paired by seed.

python benchmarks/pending.py [--seeds 10] [--from 10] [--budget 50] [--values ...] [--jobs 2] [--out FILE]

The default value was chosen on seeds 0 to 9; later ones are fresh.
"""

import argparse
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bopp import Float, Optimizer, Recipe
from bopp.pseudo import Failed, Pending
from bopp.trial import Trial
from functions import FUNCTIONS, shifted
from history import measurement, remember
from regret import bootstrap_interval
from report import heading, markdown, publish

NOTE = """\
Several evaluations at the same time: in batches that are told together, or by workers that begin and end one
by one. Each pending point is a pseudo-point. Its value is what the model expects there, but no more than at
the incumbent ("expected", the default), without that cap ("posterior"), that of the incumbent, or a poor one
("pessimistic"). The default was chosen on seeds 0 to 9; these are others. `make bench-pending` makes the
table."""
VALUES = ("expected", "posterior", "incumbent", "pessimistic")
WAYS = {"batches of 4": (4, True), "2 workers": (2, False), "4 workers": (4, False), "8 workers": (8, False)}


@dataclass(frozen=True)
class Run:
    """One function and seed, with one value for pending points, evaluated in one way."""

    value: str
    way: str
    function: str
    seed: int
    budget: int


def log_regret(run: Run) -> float:
    """log10 of the simple regret of a run; workers finish in the order in which they began."""
    function = shifted(FUNCTIONS[run.function], run.seed)
    names = [f"x{i}" for i in range(function.dimension)]
    recipe = replace(Recipe.default(), pseudo=Pending(run.value) + Failed())
    optimizer = Optimizer({name: Float(0, 1) for name in names}, seed=run.seed, recipe=recipe)
    at_once, together = WAYS[run.way]
    pending: deque[Trial] = deque()

    def finish() -> None:
        trial = pending.popleft()
        optimizer.tell(trial, function.evaluate(np.array([trial.params[name] for name in names])))

    for _ in range(run.budget):
        pending.append(optimizer.ask())
        while len(pending) >= at_once:
            finish()
            while together and pending:
                finish()
    while pending:
        finish()
    regret = (optimizer.best.value or 0.0) - function.optimum
    return float(np.log10(max(regret, 1e-12)))


def key_figures(regrets: dict[Run, float]) -> dict[str, float]:
    """What the history keeps: the mean log10 regret of each value, in each way."""
    kept: dict[str, list[float]] = {}
    for run, regret in regrets.items():
        kept.setdefault(f"{run.way}, {run.value}", []).append(regret)
    return {name: float(np.mean(own)) for name, own in kept.items()}


def table(regrets: dict[Run, float], values: list[str]) -> str:
    """Mean log10 regret of each value, and by how much it exceeds that of the first."""
    rows = []
    for way in WAYS:
        reference = np.array(
            [regret for run, regret in regrets.items() if (run.way, run.value) == (way, values[0])]
        )
        for value in values:
            own = np.array(
                [regret for run, regret in regrets.items() if (run.way, run.value) == (way, value)]
            )
            difference = own - reference
            low, high = bootstrap_interval(difference)
            duel = f"{int(np.sum(difference < 0))} / {int(np.sum(difference > 0))}"
            rows.append(
                [
                    way,
                    value,
                    f"{own.mean():.2f}",
                    f"{difference.mean():+.2f}",
                    f"{low:+.2f} to {high:+.2f}",
                    duel,
                ]
            )
    return markdown(
        [
            "evaluated in",
            "value",
            "mean log10 regret",
            f"more than {values[0]}",
            "95 % interval",
            "wins / losses",
        ],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--from", type=int, default=10, dest="first", help="the first seed")
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--values", nargs="+", choices=VALUES, default=list(VALUES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    runs = [
        Run(value, way, function, seed, options.budget)
        for way in WAYS
        for value in options.values
        for function in FUNCTIONS
        for seed in range(options.first, options.first + options.seeds)
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        regrets = dict(zip(runs, pool.map(log_regret, runs, chunksize=4), strict=True))
    scope = f"{len(FUNCTIONS)} functions x {options.seeds} seeds, {options.budget} evaluations"
    title = f"# The value of a pending point: {scope}"
    publish([title, heading(), NOTE, table(regrets, options.values)], options.out)
    if options.out:
        remember(measurement("pending", key_figures(regrets)))


if __name__ == "__main__":
    main()
