"""What an earlier study is worth to bopp and to its peers, which get the same data; paired by seed.

python benchmarks/earlier.py [--seeds 5] [--functions ...] [--peers ...] [--jobs 2]
                             [--results DIR] [--out FILE]

Resumable: a run whose file exists is not repeated.
"""

import argparse
import json
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import wilcoxon

from bopp import pseudo
from functions import Array, Function, shifted
from knowledge import earlier_of, point, relative_of, searched
from peers import botorch_point, named, optuna_cube, optuna_study, run_optuna, seed_torch, sobol_points
from regret import bootstrap_interval, write
from report import heading, markdown, publish
from unseen import OTHERS

BUDGET, START = 20, 5
NOTE = """\
An earlier study of 40 evaluations, by bopp, of the same landscape moved by up to a tenth of the box in each
direction, with values times 7 plus 3; then 20 evaluations of the function itself. log10 of the simple
regret, and the mean paired difference to bopp with the earlier study, above 0 where bopp is better.

- bopp: `knowledge=[pseudo.Earlier(result)]`
- GPSampler and TPE: the three best earlier settings are enqueued (`study.enqueue_trial`), as Optuna's
  documentation recommends for settings that are thought to be good; earlier values, of another function,
  are not added as trials of this one
- CMA-ES: `CmaEsSampler(source_trials=...)`, Optuna's way to warm-start from a similar task
- BoTorch: `MultiTaskGP` on both studies, log EI of the task at hand, five start points"""

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

Run = Callable[[Function, Array, Array, int], list[float]]


@dataclass(frozen=True)
class Case:
    """One peer on one function with one earlier study."""

    peer: str
    function: str
    seed: int

    def __str__(self) -> str:
        return f"{self.peer}/{self.function}-{self.seed}"


def gpsampler(function: Function, X: Array, y: Array, seed: int) -> list[float]:
    from optuna.samplers import GPSampler

    seed_torch(seed)
    return enqueued(GPSampler(seed=seed), function, X, y)


def tpe(function: Function, X: Array, y: Array, seed: int) -> list[float]:
    from optuna.samplers import TPESampler

    return enqueued(TPESampler(seed=seed), function, X, y)


def enqueued(sampler: "BaseSampler", function: Function, X: Array, y: Array) -> list[float]:
    """A study of Optuna that begins with the best settings of another."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    for u in X[np.argsort(y)[:3]]:
        study.enqueue_trial(named(u))
    values = []
    for _ in range(BUDGET):
        trial = study.ask(optuna_cube(function.dimension))
        values.append(function.evaluate(point(trial.params)))
        study.tell(trial, values[-1])
    return values


def cmaes(function: Function, X: Array, y: Array, seed: int) -> list[float]:
    from optuna.samplers import CmaEsSampler, RandomSampler

    source = optuna_study(RandomSampler(seed=seed), X, y).trials
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = CmaEsSampler(seed=seed, source_trials=source)
        return run_optuna(sampler, function.evaluate, sobol_points(function.dimension, 1, seed), BUDGET)


def botorch(function: Function, X: Array, y: Array, seed: int) -> list[float]:
    seed_torch(seed)
    mine = sobol_points(function.dimension, START, seed)
    values = [function.evaluate(u) for u in mine]
    while len(values) < BUDGET:
        u = multi_task_point(X, y, mine, np.array(values))
        mine = np.vstack([mine, u])
        values.append(function.evaluate(u))
    return values


def multi_task_point(X: Array, y: Array, mine: Array, values: Array) -> Array:
    """The point of largest log expected improvement of the second of two tasks."""
    import torch
    from botorch.acquisition.analytic import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MultiTaskGP
    from botorch.optim.optimize import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    def standard(rows: Array) -> Array:
        return np.asarray(-(rows - rows.mean()) / max(float(rows.std()), 1e-12))  # BoTorch maximises

    inputs = np.vstack([np.column_stack([X, np.zeros(len(X))]), np.column_stack([mine, np.ones(len(mine))])])
    targets = torch.tensor(np.concatenate([standard(y), standard(values)])).unsqueeze(-1)
    model = MultiTaskGP(torch.tensor(inputs), targets, task_feature=-1, output_tasks=[1])
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    improvement = LogExpectedImprovement(model, best_f=float(standard(values).max()))
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double).repeat(1, X.shape[1])
    best, _ = optimize_acqf(improvement, bounds, q=1, num_restarts=10, raw_samples=512)
    return np.asarray(best.squeeze(0).numpy(), dtype=np.float64)


def botorch_alone(function: Function, X: Array, y: Array, seed: int) -> list[float]:
    seed_torch(seed)
    mine = sobol_points(function.dimension, START, seed)
    values = [function.evaluate(u) for u in mine]
    while len(values) < BUDGET:
        u = botorch_point(mine, np.array(values))
        mine = np.vstack([mine, u])
        values.append(function.evaluate(u))
    return values


PEERS: dict[str, Run] = {
    "GPSampler": gpsampler,
    "TPE": tpe,
    "CMA-ES": cmaes,
    "BoTorch": botorch,
    "BoTorch, earlier study not given": botorch_alone,
}
OURS = ("bopp", "bopp, earlier study not given")


def execute(case: Case, results: Path) -> None:
    path = results / f"{case}.json"
    if path.exists():
        return
    function = shifted(OTHERS[case.function], case.seed)
    earlier = earlier_of(relative_of(function, case.seed), case.seed)
    if case.peer in OURS:
        known = [pseudo.Earlier(earlier)] if case.peer == "bopp" else []
        values = searched(function, case.seed, BUDGET, known)
    else:
        X = np.array([point(trial.params) for trial in earlier.trials])
        y = np.array([float(trial.value or 0.0) for trial in earlier.trials])
        values = PEERS[case.peer](function, X, y, case.seed)
    write(path, json.dumps(float(np.log10(max(min(values) - function.optimum, 1e-12)))))


def table(regrets: dict[Case, float], peers: list[str]) -> str:
    rows = []
    for peer in peers:
        own = {(case.function, case.seed): one for case, one in regrets.items() if case.peer == peer}
        ours = {(case.function, case.seed): one for case, one in regrets.items() if case.peer == "bopp"}
        row = [peer, f"{np.mean(list(own.values())):.2f}"]
        if peer != "bopp":
            more = np.array([one - ours[key] for key, one in own.items()])
            low, high = bootstrap_interval(more)
            row += [f"{more.mean():+.2f} ({low:+.2f} to {high:+.2f})", f"{wilcoxon(more).pvalue:.1g}"]
            row += [f"{np.sum(more > 0)} of {len(more)}"]
        rows.append(row + [""] * (5 - len(row)))
    return markdown(["", "log10 regret", "difference to bopp", "p", "bopp better"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--functions", nargs="+", choices=OTHERS, default=list(OTHERS))
    parser.add_argument("--peers", nargs="+", choices=[*OURS, *PEERS], default=[*OURS, *PEERS])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "earlier")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
    seeds, functions = range(options.seeds), options.functions
    cases = [Case(peer, name, seed) for seed in seeds for name in functions for peer in options.peers]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:  # torch cannot be forked
        list(pool.map(partial(execute, results=options.results), cases))
    regrets = {case: json.loads((options.results / f"{case}.json").read_text()) for case in cases}
    title = f"# Earlier studies: {len(functions)} functions x {options.seeds} seeds, {BUDGET} evaluations"
    publish([title, heading(), NOTE, table(regrets, options.peers)], options.out)


if __name__ == "__main__":
    main()
