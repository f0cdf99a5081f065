"""What it is worth to say that parameters apply only with certain values of others, paired by seed.

python benchmarks/conditions.py [--seeds 20] [--jobs 2] [--out FILE]
"""

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bopp import Choice, Data, Float, Recipe, Space, minimize
from bopp.model import believe
from history import measurement, remember
from regret import bootstrap_interval
from report import heading, markdown, publish

NOTE = """\
Some methods with two parameters each, one of the methods the best. "With" declares that a parameter applies
to its own method only (`when=`), "without" has all of them always there, most of them in vain. log10 of the
simple regret, mean over the seeds; differences are to "with", above 0 where it is better. The error is that
of the model's mean at 100 random settings after 40 others, as a fraction of that without conditions. Nothing
was chosen on these problems. `make bench-conditions` makes the tables."""
BEST = {"stir": (0.2, 0.7), "shake": (0.75, 0.35), "heat": (0.4, 0.9), "wait": (0.9, 0.15)}
REST = {"stir": 0.3, "shake": 0.0, "heat": 0.2, "wait": 0.4}  # what a method misses at its best setting
WAYS = ("with", "without", "random")
BUDGETS = (15, 20, 30, 40)
METHODS = (2, 4)
KNOWN, NEW = 40, 100


@dataclass(frozen=True)
class Run:
    """A search for the best of so many methods."""

    methods: int
    way: str
    seed: int


def branched(methods: int, conditional: bool) -> Space:
    """Methods with two parameters each, which are absent for the other methods, or there in vain."""
    names = list(BEST)[:methods]
    parameters: dict[str, Any] = {"method": Choice(names)}
    for method in names:
        when = {"method": method} if conditional else None
        parameters |= {f"{method}{place}": Float(0, 1, when=when) for place in range(2)}
    return Space(parameters)


def misses(params: dict[str, Any]) -> float:
    """0 at the best setting of the best method."""
    method = params["method"]
    far = [(params[f"{method}{place}"] - best) ** 2 for place, best in enumerate(BEST[method])]
    return float(REST[method] + 4 * sum(far))


def log_regrets(run: Run) -> list[float]:
    """log10 of the regret after each of the budgets."""
    recipe = Recipe.random() if run.way == "random" else None
    space = branched(run.methods, conditional=run.way != "without")
    found = minimize(misses, space, BUDGETS[-1], seed=run.seed, recipe=recipe, progress=False)
    values = [misses(trial.params) for trial in found.trials]
    return [math.log10(max(min(values[:budget]), 1e-12)) for budget in BUDGETS]


def error_ratio(seed: int, methods: int = METHODS[-1]) -> float:
    """The error of a model that knows what applies, as a fraction of that of one that does not."""
    everything = branched(methods, conditional=False)
    U = np.random.default_rng(seed).random((KNOWN + NEW, everything.dimension))
    settings = [everything.decode(u) for u in U]
    known, unknown = (_error(branched(methods, conditional), settings) for conditional in (True, False))
    return known / unknown


def _error(space: Space, settings: list[dict[str, Any]]) -> float:
    X = np.array([space.encode({name: one[name] for name in space.applying(one)}) for one in settings])
    y = np.array([misses(one) for one in settings])
    model = believe(Data(X[:KNOWN], y[:KNOWN]), Recipe.default())
    return float(np.sqrt(np.mean((model.beliefs.mean(X[KNOWN:]) - model.scale(y[KNOWN:])) ** 2)))


def table(regrets: dict[Run, list[float]]) -> str:
    """The regret of each way, and by how much it exceeds that with conditions."""
    rows = []
    for methods in METHODS:
        for place, budget in enumerate(BUDGETS):
            own = {
                way: np.array(
                    [one[place] for run, one in regrets.items() if (run.methods, run.way) == (methods, way)]
                )
                for way in WAYS
            }
            row = [str(methods), str(budget), f"{own['with'].mean():.2f}"]
            for way in WAYS[1:]:
                more = own[way] - own["with"]
                low, high = bootstrap_interval(more)
                row += [f"{more.mean():+.2f} ({low:+.2f} to {high:+.2f})", str(int(np.sum(more > 0)))]
            rows.append(row)
    columns = ["methods", "evaluations", "with", "without", "with wins", "random", "with wins"]
    return markdown(columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    seeds = range(options.seeds)
    runs = [Run(methods, way, seed) for methods in METHODS for way in WAYS for seed in seeds]
    with ProcessPoolExecutor(options.jobs) as pool:
        regrets = dict(zip(runs, pool.map(log_regrets, runs), strict=True))
        ratios = list(pool.map(error_ratio, seeds))
    errors = f"Error with four methods: {np.mean(ratios):.2f} on average, {max(ratios):.2f} at most."
    title = f"# Conditional parameters: {options.seeds} seeds"
    publish([title, heading(), NOTE, table(regrets), errors], options.out)
    if options.out:
        last = {
            f"{methods} methods, {way}": [
                one[-1] for run, one in regrets.items() if (run.methods, run.way) == (methods, way)
            ]
            for methods in METHODS
            for way in WAYS
        }
        remember(measurement("conditions", {name: float(np.mean(own)) for name, own in last.items()}))


if __name__ == "__main__":
    main()
