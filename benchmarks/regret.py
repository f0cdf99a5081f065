"""Simple regret of bopp and its peers from shared start points, resumable, one file per run.

python benchmarks/regret.py [--seeds 10] [--budget 60] [--start 5] [--peers ...] [--functions ...]
                            [--jobs 2] [--results DIR] [--out FILE]

A run whose file exists is not repeated: delete DIR/bopp after a change to bopp.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contest.lead import in_words, kind_table, lead, tasks_each
from functions import FUNCTIONS, Array, shifted
from history import measurement, remember
from peers import PEERS, installed, load, sobol_points
from report import heading, markdown, publish

CHOSEN = """\
The priors of length-scales and noise and the power of bopp's default were chosen, among fourteen settings, on
these six functions, with other seeds; the peers come as they are. So this is a quick look and proves no lead:
docs/benchmarks.md has tasks on which nothing was chosen. The interval of a duel draws runs, not functions: it
says nothing of other functions."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Run:
    """One peer on one function from the start points of one seed."""

    peer: str
    function: str
    seed: int
    budget: int
    start: int


@dataclass(frozen=True)
class Outcome:
    """The result of one run: log10 of its regret, CPU seconds, number of exactly repeated points."""

    log_regret: float
    cpu: float
    repeats: int


Outcomes = dict[Run, Outcome]


def file_of(run: Run, results: Path) -> Path:
    return results / run.peer / f"{run.function}-{run.seed}.json"


def execute(run: Run, results: Path) -> None:
    """Run one peer and write its values, all at once or not at all."""
    load(run.peer)
    function = shifted(FUNCTIONS[run.function], run.seed)
    seen: list[Array] = []

    def objective(u: Array) -> float:
        seen.append(u)
        return function.evaluate(u)

    start = sobol_points(function.dimension, run.start, run.seed)
    begin = time.process_time()
    values = PEERS[run.peer](objective, function.dimension, start, run.budget, run.seed)
    cpu = time.process_time() - begin
    repeats = len(seen) - len(np.unique(seen, axis=0))
    record = {"values": values, "cpu": cpu, "repeats": repeats, "start": run.start}
    write(file_of(run, results), json.dumps(record))


def write(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(text)
    os.replace(draft, path)


def read(run: Run, results: Path) -> Outcome | None:
    """The outcome of a run, if it exists; a run with another budget is never overwritten."""
    path = file_of(run, results)
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    if (len(record["values"]), record["start"]) != (run.budget, run.start):
        sys.exit(f"{path} has another budget or start: choose another --results directory")
    regret = min(record["values"]) - FUNCTIONS[run.function].optimum
    return Outcome(float(np.log10(max(regret, 1e-12))), record["cpu"], record["repeats"])


def execute_apart(run: Run, results: Path) -> None:
    """Execute one run in a fresh process, whose death harms no other run."""
    spawn = multiprocessing.get_context("spawn")  # torch is not safe to fork
    process = spawn.Process(target=execute, args=(run, results))
    process.start()
    process.join()


def execute_all(runs: list[Run], results: Path, jobs: int) -> None:
    """Execute what is missing, each run in a process of its own."""
    missing = [run for run in runs if read(run, results) is None]

    def report(run: Run) -> None:
        execute_apart(run, results)
        state = "done" if read(run, results) else "FAILED"
        print(state, run, file=sys.stderr, flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(report, missing))


def regret_table(outcomes: Outcomes, peers: list[str], functions: list[str]) -> str:
    """Mean log10 regret of each peer, per function and over all."""
    columns = ["peer", *functions, "all", "CPU s per run", "repeated points", "runs"]
    rows = []
    for peer in peers:
        mine = {run: outcome for run, outcome in outcomes.items() if run.peer == peer}
        per_function = [
            mean([outcome.log_regret for run, outcome in mine.items() if run.function == function])
            for function in functions
        ]
        over_all = mean([outcome.log_regret for outcome in mine.values()])
        cpu = mean([outcome.cpu for outcome in mine.values()])
        repeats = sum(outcome.repeats for outcome in mine.values())
        rows.append([peer, *per_function, over_all, cpu, str(repeats), str(len(mine))])
    return markdown(columns, rows)


def duel_table(outcomes: Outcomes, peers: list[str]) -> str:
    """Bopp against each peer on the same function and seed; negative differences favour bopp."""
    columns = ["bopp against", "wins", "losses", "mean difference, dex", "95 % interval"]
    rows = []
    for peer in peers:
        ours, theirs, _ = pairs(outcomes, peer)
        if peer == "bopp" or not ours.size:
            continue
        differences = ours - theirs
        low, high = bootstrap_interval(differences)
        wins, losses = int(np.sum(differences < 0)), int(np.sum(differences > 0))
        effect = f"{differences.mean():+.2f}"
        rows.append([peer, str(wins), str(losses), effect, f"{low:+.2f} to {high:+.2f}"])
    return markdown(columns, rows) if rows else ""


def pairs(outcomes: Outcomes, peer: str) -> tuple[Array, Array, list[str]]:
    """The log10 regrets of bopp and of a peer on what both have run, and the functions."""
    regrets = {(run.peer, run.function, run.seed): o.log_regret for run, o in outcomes.items()}
    both = [
        (ours, regrets[peer, function, seed], function)
        for (name, function, seed), ours in regrets.items()
        if name == "bopp" and (peer, function, seed) in regrets
    ]
    return np.array([one[0] for one in both]), np.array([one[1] for one in both]), [one[2] for one in both]


def function_tables(outcomes: Outcomes, peers: list[str]) -> list[str]:
    """Bopp minus each peer function by function, and how much of a lead comes from few functions."""
    parts = []
    for peer in peers:
        ours, theirs, functions = pairs(outcomes, peer)
        if peer != "bopp" and functions:
            words = f"{in_words(lead(ours - theirs, functions), peer)} {tasks_each(functions)}"
            parts += [words, kind_table(ours, theirs, functions, peer)]
    return parts


def bootstrap_interval(differences: Array) -> tuple[float, float]:
    """The 95 % interval of the mean over 10,000 resamples of the pairs."""
    samples = np.random.default_rng(0).choice(differences, size=(10_000, len(differences)))
    low, high = np.quantile(samples.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def key_figures(outcomes: Outcomes, peers: list[str], functions: list[str]) -> dict[str, float]:
    """What the history keeps: the regret of every peer over all functions, and more about bopp."""
    regrets = {peer: [o.log_regret for run, o in outcomes.items() if run.peer == peer] for peer in peers}
    figures = {f"{peer}, all": float(np.mean(own)) for peer, own in regrets.items() if own}
    ours = {run: outcome for run, outcome in outcomes.items() if run.peer == "bopp"}
    for function in functions:
        own = [outcome.log_regret for run, outcome in ours.items() if run.function == function]
        figures |= {f"bopp, {function}": float(np.mean(own))} if own else {}
    if ours:
        figures["bopp, CPU s per run"] = float(np.mean([outcome.cpu for outcome in ours.values()]))
        figures["bopp, repeated points"] = sum(outcome.repeats for outcome in ours.values())
    return figures


def mean(numbers: list[float]) -> str:
    return f"{np.mean(numbers):.2f}" if numbers else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=60, help="evaluations, start points included")
    parser.add_argument("--start", type=int, default=5)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    os.environ.update(ONE_THREAD)  # inherited by the processes of the runs
    peers = installed(options.peers)
    runs = [
        Run(peer, function, seed, options.budget, options.start)
        for seed in range(options.seeds)
        for function in options.functions
        for peer in peers
    ]
    execute_all(runs, options.results, options.jobs)
    outcomes = {run: outcome for run in runs if (outcome := read(run, options.results))}

    given = f"{options.start} given, one thread each"
    title = f"# Mean log10 simple regret after {options.budget} evaluations, {given}"
    tables = [regret_table(outcomes, peers, options.functions), duel_table(outcomes, peers)]
    publish([title, heading(), CHOSEN, *tables, *function_tables(outcomes, peers)], options.out)
    if options.out:
        remember(measurement("regret", key_figures(outcomes, peers, options.functions)))


if __name__ == "__main__":
    main()
