"""How well importances are estimated from a few trials: bopp beside the fANOVA of Optuna.

python benchmarks/importance.py [--seeds 5] [--sizes 30 60 120] [--functions confirmed | chosen] [--jobs 2]
                                [--results DIR] [--out FILE]

Trials and what Optuna says of them are kept in files: delete DIR after a change to bopp's suggestions.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bopp import Problem, Result, Trial, minimize
from bopp.data import Array
from history import measurement, remember
from regret import ONE_THREAD, bootstrap_interval, write
from report import heading, markdown, publish
from sensitivity import CHOSEN_ON, CONFIRMED_ON, Function, indices

NOTE = """\
Mean absolute error of the shares of all parameters, over {functions} functions whose Sobol indices are known
and {seeds} seeds. Both evaluators see the very same trials: the first ones of a run of bopp, which crowd
where the values are good, or random ones. Optuna's fANOVA estimates first-order indices that add up to 1,
bopp total indices that add up to 1. Each is compared with both, in the columns "first" and "total". The
interval is that of bopp's mean error minus Optuna's, 95 % by bootstrap over the pairs.
"Held" is how often the 90 % interval of `importance` has the total index in it, give or take 0.01 / exactly.
Exactly, it is too narrow: a share of 0 lies below any interval, and the indices themselves are known to 0.003
only. CPU seconds are those of one call. The second table has the errors of bopp / Optuna for each function.

Fourteen ways were tried on the ten other functions of `benchmarks/sensitivity.py`, some of them on three
functions only. Then these ten were looked at, once, with the way that was chosen. Most of them are sums of
effects and of pairs, which is what its model assumes; hartmann6 is not, and its row shows what that costs. An
interval of the difference that has 0 in it is no win. `make bench-importance` makes the tables."""
WAYS = {"run": "a run of bopp", "random": "random points"}
FUNCTIONS = {function.name: function for function in (*CHOSEN_ON, *CONFIRMED_ON)}
SETS = {"chosen": CHOSEN_ON, "confirmed": CONFIRMED_ON}
MARGIN = 0.01  # nobody minds an interval that ends this close to the index


@dataclass(frozen=True)
class Run:
    """The trials of one function and seed, suggested by bopp or random."""

    function: str
    way: str
    seed: int


@dataclass(frozen=True)
class Case:
    """The first trials of a run, and what is said of them."""

    run: Run
    size: int
    ours: Array
    low: Array
    high: Array
    optuna: Array
    cpu: float
    optuna_cpu: float

    def errors(self, target: str) -> tuple[float, float]:
        """The mean absolute error of bopp and of Optuna."""
        truth = shares_of(FUNCTIONS[self.run.function], target)
        return float(np.abs(self.ours - truth).mean()), float(np.abs(self.optuna - truth).mean())

    def held(self, margin: float) -> Array:
        """Whether each interval has the total index in it, give or take the margin."""
        truth = shares_of(FUNCTIONS[self.run.function], "total")
        return np.asarray((self.low - margin <= truth) & (truth <= self.high + margin))


def shares_of(function: Function, target: str) -> Array:
    """The true indices, divided by their sum."""
    index: Array = getattr(indices(function), target)
    return np.asarray(index / index.sum())


def kept(path: Path, make: Callable[[], Any]) -> Any:
    """What is in the file, or else what is made now and written there."""
    if not path.exists():
        write(path, json.dumps(make()))
    return json.loads(path.read_text())


def trials(run: Run, count: int) -> dict[str, Any]:
    """Points and values."""
    function = FUNCTIONS[run.function]
    if run.way == "random":
        points = function.draw(count, np.random.default_rng([run.seed, 7]))
        return {"X": points.tolist(), "y": function.formula(points).tolist()}

    def objective(params: dict[str, Any]) -> float:
        return float(function.formula(np.array([list(params.values())], dtype=float))[0])

    found = minimize(objective, function.space, budget=count, seed=run.seed, progress=False)
    return {
        "X": [list(trial.params.values()) for trial in found.trials],
        "y": [trial.value for trial in found.trials],
    }


def params_of(function: Function, point: list[float]) -> dict[str, Any]:
    pairs = zip(function.space, point, function.options, strict=True)
    return {name: int(value) if options else value for name, value, options in pairs}


def by_optuna(function: Function, X: list[list[float]], y: list[float], seed: int) -> dict[str, Any]:
    """First-order importances, which add up to 1, by a forest."""
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        name: CategoricalDistribution(range(options)) if options else FloatDistribution(0, 1)
        for name, options in zip(function.space, function.options, strict=True)
    }
    study = optuna.create_study()
    for point, value in zip(X, y, strict=True):
        params = params_of(function, point)
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=value))
    begin = time.process_time()
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=seed)
    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {"shares": [found[name] for name in function.space], "cpu": time.process_time() - begin}


def result_of(function: Function, X: list[list[float]], y: list[float]) -> Result:
    """The trials as a result of bopp."""
    told = enumerate(zip(X, y, strict=True))
    return Result(
        Problem(function.space),
        tuple(Trial(i, params_of(function, point), "done", {"value": value}) for i, (point, value) in told),
    )


def prepare(run: Run, sizes: list[int], results: Path) -> None:
    """Let bopp run and Optuna judge, where that is not in a file yet."""
    function, name = FUNCTIONS[run.function], f"{run.function}-{run.way}-{run.seed}"
    told = kept(results / f"{name}.json", partial(trials, run, max(sizes)))
    for size in sizes:
        judge = partial(by_optuna, function, told["X"][:size], told["y"][:size], run.seed)
        kept(results / f"{name}-{size}.json", judge)


def judged(run: Run, sizes: list[int], results: Path) -> list[Case]:
    """What bopp and Optuna say of the first trials of a run."""
    prepare(run, sizes, results)
    function, name = FUNCTIONS[run.function], f"{run.function}-{run.way}-{run.seed}"
    told = json.loads((results / f"{name}.json").read_text())
    cases = []
    for size in sizes:
        optuna = json.loads((results / f"{name}-{size}.json").read_text())
        result = result_of(function, told["X"][:size], told["y"][:size])
        begin = time.process_time()
        said = result.importance()
        cpu = time.process_time() - begin
        ours, low, high = np.array([said[parameter] for parameter in function.space]).T
        cases.append(Case(run, size, ours, low, high, np.array(optuna["shares"]), cpu, optuna["cpu"]))
    return cases


def error_table(cases: list[Case], sizes: list[int]) -> str:
    """Errors over all functions."""
    columns = ["trials", "n", "first: bopp", "Optuna", "interval", "total: bopp", "Optuna", "interval"]
    columns += ["held", "CPU s: bopp", "Optuna"]
    rows = []
    for way, words in WAYS.items():
        for size in sizes:
            own = [case for case in cases if (case.run.way, case.size) == (way, size)]
            row = [words, str(size)]
            for target in ("first", "total"):
                ours, theirs = np.array([case.errors(target) for case in own]).T
                low, high = bootstrap_interval(ours - theirs)
                row += [f"{ours.mean():.3f}", f"{theirs.mean():.3f}", f"{low:+.3f} to {high:+.3f}"]
            held = [np.mean(np.concatenate([case.held(margin) for case in own])) for margin in (MARGIN, 0.0)]
            row.append(" / ".join(f"{one:.2f}" for one in held))
            row += [f"{np.mean([case.cpu for case in own]):.2f}"]
            row += [f"{np.mean([case.optuna_cpu for case in own]):.2f}"]
            rows.append(row)
    return markdown(columns, rows)


def function_table(cases: list[Case], functions: list[Function], sizes: list[int]) -> str:
    """Errors of each function against its total indices, of bopp and of Optuna."""
    columns = ["total", *(f"{words}, {size}" for words in WAYS.values() for size in sizes)]
    rows = []
    for function in functions:
        row = [function.name]
        for way in WAYS:
            for size in sizes:
                own = [c for c in cases if c.run.function == function.name]
                pairs = [c.errors("total") for c in own if (c.run.way, c.size) == (way, size)]
                ours, theirs = np.mean(pairs, axis=0)
                row.append(f"{ours:.3f} / {theirs:.3f}")
        rows.append(row)
    return markdown(columns, rows)


def key_figures(cases: list[Case], sizes: list[int]) -> dict[str, float]:
    """What the history keeps: the errors of both against both indices."""
    figures = {}
    for way, words in WAYS.items():
        for size in sizes:
            own = [case for case in cases if (case.run.way, case.size) == (way, size)]
            for target in ("first", "total"):
                ours, theirs = np.mean([case.errors(target) for case in own], axis=0)
                figures[f"{words}, {size}, {target}: bopp"] = float(ours)
                figures[f"{words}, {size}, {target}: Optuna"] = float(theirs)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 60, 120])
    parser.add_argument("--functions", choices=SETS, default="confirmed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "importance")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    os.environ.update(ONE_THREAD)
    functions = SETS[options.functions]
    runs = [
        Run(function.name, way, seed)
        for seed in range(options.seeds)
        for function in functions
        for way in WAYS
    ]
    judge = partial(judged, sizes=options.sizes, results=options.results)
    with ProcessPoolExecutor(options.jobs) as pool:
        cases = [case for found in pool.map(judge, runs) for case in found]
    note = NOTE.format(functions=len(functions), seeds=options.seeds)
    tables = [error_table(cases, options.sizes), function_table(cases, functions, options.sizes)]
    publish(["# Importance: errors of the shares", heading(), note, *tables], options.out)
    if options.out:
        remember(measurement("importance", key_figures(cases, options.sizes)))


if __name__ == "__main__":
    main()
