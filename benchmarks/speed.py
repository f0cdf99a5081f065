"""Time of one suggestion and of a whole run, memory at large n, and import time: bopp beside its peers.

python benchmarks/speed.py [--sizes 50 100 200 500 1000] [--repeats 9] [--run 1000] [--out FILE]
"""

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import numpy as np

from functions import FUNCTIONS, Array, shifted
from history import measurement, remember
from peers import PEERS, SUGGESTIONS, Seconds, installed, load, sobol_points, suggest_bopp
from report import heading, markdown, publish

AS_IT_COMES = (
    "As a user runs it: no variable set, each peer in a fresh process of its own for each n, "
    "with as many threads as it takes. CPU seconds count all threads together."
)
ONE_THREAD = (
    "The same with one thread for everybody (`OMP_NUM_THREADS=1` and the like), all peers in one process. "
    "Up to n = 200 a turn is three suggestions, of which the fastest counts, for bopp and peers alike; "
    "a column of its own has the ratio of first suggestions, which find the caches full of another peer's."
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PLAIN_IMPORT = "import numpy, scipy.linalg, scipy.optimize, scipy.special"

Figures = dict[str, float]


def observations(n: int, seed: int) -> tuple[Array, Array]:
    """Hartmann6 at n scrambled Sobol points."""
    hartmann = FUNCTIONS["hartmann6"]
    X = sobol_points(hartmann.dimension, n, seed)
    return X, np.array([hartmann.evaluate(u) for u in X])


@contextmanager
def fresh(variables: Mapping[str, str]) -> Iterator[ProcessPoolExecutor]:
    """A process that imports everything anew; of the thread variables, only these are set."""
    usual = dict(os.environ)
    for name in THREADS:
        os.environ.pop(name, None)
    os.environ.update(variables)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        process.submit(os.getpid).result()  # waits until it has started, with this environment
        os.environ.clear()
        os.environ.update(usual)
        yield process


def suggestion(peer: str, n: int, seed: int) -> Seconds:
    """The time that one suggestion of a peer takes, in this process."""
    return SUGGESTIONS[peer](*observations(n, seed), seed)


def warm_up(peers: list[str]) -> None:
    for peer in peers:
        load(peer)
        suggestion(peer, 20, 0)


def table_as_it_comes(peers: list[str], sizes: list[int], repeats: int) -> tuple[str, Figures]:
    """Seconds of each peer for each number of observations, with default settings, and their ratio."""
    figures: Figures = {}
    columns = ["n", *(f"{peer}, {clock} s" for clock in Seconds._fields for peer in peers)]
    rows = []
    for n in sizes:
        times: dict[str, list[Seconds]] = {peer: [] for peer in peers}
        with ExitStack() as stack:
            processes = {peer: stack.enter_context(fresh({})) for peer in peers}
            for peer, process in processes.items():
                process.submit(warm_up, [peer]).result()
            for repeat in range(repeats):
                for peer, process in processes.items():  # in turn, so that a busy moment affects all alike
                    times[peer].append(process.submit(suggestion, peer, n, repeat).result())
        cpu = {peer: median(one.cpu for one in times[peer]) for peer in peers}
        wall = [median(one.wall for one in times[peer]) for peer in peers]
        rows.append([str(n), *(f"{seconds:.3g}" for seconds in (*cpu.values(), *wall))])
        rows[-1].append(ratio(cpu, "bopp", "gpsampler"))
        figures |= key_figures("as it comes", n, cpu)
        print(f"measured n = {n} as it comes", file=sys.stderr, flush=True)
    table = markdown([*columns, "bopp / gpsampler, cpu"], rows)
    return f"{AS_IT_COMES}\n\n{table}", figures


def key_figures(setting: str, n: int, cpu: dict[str, float]) -> Figures:
    """What the history keeps: the CPU seconds of bopp, and their ratio to those of a peer."""
    figures = {f"{setting}, n = {n}: cpu s": cpu["bopp"]}
    if "gpsampler" in cpu:
        figures[f"{setting}, n = {n}: / gpsampler"] = cpu["bopp"] / cpu["gpsampler"]
    return figures


def suggestion_times(peers: list[str], n: int, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """Median CPU seconds of each peer, for the fastest and for the first suggestion of each turn."""
    turns: dict[str, list[list[float]]] = {peer: [] for peer in peers}
    for repeat in range(repeats):
        for peer in peers:
            turns[peer].append([suggestion(peer, n, repeat).cpu for _ in range(3 if n <= 200 else 1)])
    fastest = {peer: median(map(min, rows)) for peer, rows in turns.items()}
    return fastest, {peer: median(row[0] for row in rows) for peer, rows in turns.items()}


def ratio(times: dict[str, float], above: str, below: str) -> str:
    """One peer's time as a multiple of another's."""
    return f"{times[above] / times[below]:.3g}" if above in times and below in times else "-"


def table_on_one_thread(peers: list[str], sizes: list[int], repeats: int) -> tuple[str, Figures]:
    """CPU seconds of each peer for each number of observations, and their ratios; in this process."""
    figures: Figures = {}
    columns = ["n", *peers, "bopp / gpsampler", "the same, first of a turn", "bopp-pp / bopp"]
    warm_up(peers)
    rows = []
    for n in sizes:
        fastest, first = suggestion_times(peers, n, repeats)
        against_peer = [ratio(times, "bopp", "gpsampler") for times in (fastest, first)]
        against_plain = ratio(fastest, "bopp-pp", "bopp")
        rows.append([str(n), *(f"{fastest[peer]:.3g}" for peer in peers), *against_peer, against_plain])
        figures |= key_figures("one thread", n, fastest)
        print(f"measured n = {n} on one thread", file=sys.stderr, flush=True)
    return f"{ONE_THREAD}\n\n{markdown(columns, rows)}", figures


def large_run(n: int, dimension: int) -> tuple[float, float]:
    """CPU seconds of one suggestion from n observations, and this process's peak memory in GB."""
    X = sobol_points(dimension, n, seed=0)
    y = np.sum((X - 0.3) ** 2 + 0.1 * np.sin(9 * X), axis=1)
    suggest_bopp(X[:20], y[:20], 0)  # warm up
    return suggest_bopp(X, y, 0).cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def large_report(n: int, dimension: int) -> tuple[str, Figures]:
    """One suggestion from many observations or in many dimensions, in a process of its own."""
    with fresh({}) as process:
        seconds, memory = process.submit(large_run, n, dimension).result()
    case = f"n = {n}, d = {dimension}"
    report = f"bopp at {case}, as it comes: {seconds:.3g} s, peak {memory:.3g} GB"
    return report, {f"as it comes, {case}: cpu s": seconds, f"as it comes, {case}: GB": memory}


def whole_run(peer: str, budget: int) -> float:
    """CPU seconds of all suggestions of a run on Hartmann6, and of telling their values."""
    hartmann = shifted(FUNCTIONS["hartmann6"], 0)
    evaluation = 0.0

    def objective(u: Array) -> float:
        nonlocal evaluation
        began = time.process_time()
        value = hartmann.evaluate(u)
        evaluation += time.process_time() - began
        return value

    load(peer)
    begin = time.process_time()
    PEERS[peer](objective, hartmann.dimension, sobol_points(hartmann.dimension, 5, 0), budget, 0)
    return time.process_time() - begin - evaluation


def run_report(budget: int, figures: Figures) -> tuple[str, Figures]:
    """A whole run of bopp and of TPE; GPSampler's is added up from its suggestions at the measured sizes."""
    seconds = {}
    for peer in installed(["bopp", "tpe"]):
        with fresh({}) as process:
            seconds[peer] = process.submit(whole_run, peer, budget).result()
    report = f"A run of {budget} evaluations, d = 6, as it comes: bopp {seconds['bopp']:.3g} s of CPU"
    found = {f"run of {budget}: cpu s": seconds["bopp"]}
    if "tpe" in seconds:
        share = seconds["bopp"] / seconds["tpe"]
        report += f", TPE {seconds['tpe']:.3g} s, ratio {share:.3g}"
        found[f"run of {budget}: / tpe"] = share
    if whole := added_up(figures, budget):
        share = seconds["bopp"] / whole
        report += f"; GPSampler about {whole:.3g} s (between the sizes above by straight lines), "
        report += f"ratio {share:.3g}"
        found[f"run of {budget}: / gpsampler"] = share
    return report, found


def added_up(figures: Figures, budget: int) -> float:
    """GPSampler's CPU seconds for all suggestions up to a budget, or 0 if they were not measured."""
    name, over = "as it comes, n = {}: cpu s", "as it comes, n = {}: / gpsampler"
    sizes = [n for n in range(budget + 1) if over.format(n) in figures]
    seconds = [figures[name.format(n)] / figures[over.format(n)] for n in sizes]
    return float(np.interp(np.arange(budget), sizes, seconds).sum()) if sizes else 0.0


def import_report() -> tuple[str, Figures]:
    """The time that `import bopp` takes, and that of NumPy and SciPy, in fresh processes, in turn."""
    plain, ours = [], []
    for _ in range(7):
        plain.append(wall_seconds(PLAIN_IMPORT))
        ours.append(wall_seconds("import bopp"))
    report = f"import bopp: {median(ours):.3g} s; the parts of NumPy and SciPy alone: {median(plain):.3g} s"
    return report, {"import bopp: s": median(ours)}


def wall_seconds(statement: str) -> float:
    """Wall seconds of a fresh Python that runs one statement."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 500, 1000])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--run", type=int, default=1000, help="evaluations of a whole run; 0 leaves it out")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    peers = installed(SUGGESTIONS)
    plain = [peer for peer in peers if peer != "bopp-pp"]
    parts = [table_as_it_comes(plain, options.sizes, options.repeats)]
    with fresh(dict.fromkeys(THREADS, "1")) as process:
        parts.append(process.submit(table_on_one_thread, peers, options.sizes, options.repeats).result())
    if options.run:
        parts.append(run_report(options.run, parts[0][1]))
    parts.append(large_report(10_000, 6))
    parts.append(large_report(200, 100))
    parts.append(import_report())

    title = f"# Time of one suggestion, d = 6, median of {options.repeats}"
    publish([title, heading(), *(text for text, _ in parts)], options.out)
    if options.out:
        remember(measurement("speed", dict(pair for _, figures in parts for pair in figures.items())))


if __name__ == "__main__":
    main()
