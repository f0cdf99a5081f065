"""CPU time of one suggestion, memory at large n, and import time: bopp beside its peers.

python benchmarks/speed.py [--sizes 50 100 200 500 1000] [--repeats 9] [--large 5000] [--out FILE]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # read once, when NumPy and torch are imported
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import multiprocessing
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np

from functions import FUNCTIONS, Array
from peers import SUGGESTIONS, installed, load, sobol_points, suggest_bopp
from report import heading, markdown, publish

TURNS = (
    "Peers take turns. Up to n = 200 a turn is three suggestions, of which the fastest counts, "
    "for bopp and peers alike; a column of its own has the ratio of first suggestions, "
    "which find the caches full of another peer's."
)
PLAIN_IMPORT = "import numpy, scipy.linalg, scipy.optimize, scipy.special"


def observations(n: int, seed: int) -> tuple[Array, Array]:
    """Hartmann6 at n scrambled Sobol points."""
    hartmann = FUNCTIONS["hartmann6"]
    X = sobol_points(hartmann.dimension, n, seed)
    return X, np.array([hartmann.evaluate(u) for u in X])


def suggestion_times(peers: list[str], n: int, repeats: int) -> dict[str, tuple[float, float]]:
    """Median CPU seconds of each peer, of the fastest and of the first suggestion of its turns."""
    turns: dict[str, list[list[float]]] = {peer: [] for peer in peers}
    for repeat in range(repeats):
        X, y = observations(n, seed=repeat)
        for peer in peers:  # in turn, so that a busy moment hits all alike
            turns[peer].append([SUGGESTIONS[peer](X, y, repeat) for _ in range(3 if n <= 200 else 1)])
    return {peer: (median(map(min, rows)), median(row[0] for row in rows)) for peer, rows in turns.items()}


def verdict(value: float, bound: float, unit: str = "") -> str:
    """A measured value beside its bound."""
    answer = "met" if value <= bound else "NOT met"
    return f"{value:.3g}{unit} (<= {bound:.3g}{unit}: {answer})"


def ratio(times: dict[str, tuple[float, float]], above: str, below: str, which: int, bound: float) -> str:
    """How many times one peer's time another's is, beside its bound."""
    if above not in times or below not in times:
        return "-"
    return verdict(times[above][which] / times[below][which], bound)


def speed_table(peers: list[str], sizes: list[int], repeats: int) -> str:
    """CPU seconds of each peer for each number of observations, and the wanted ratios."""
    columns = ["n", *peers, "bopp / gpsampler", "the same, first of a turn", "bopp-pp / bopp"]
    rows = []
    for n in sizes:
        times = suggestion_times(peers, n, repeats)
        bound = 1 / 5 if n <= 200 else 1 / 3
        against_peer = [ratio(times, "bopp", "gpsampler", which, bound) for which in (0, 1)]
        against_plain = ratio(times, "bopp-pp", "bopp", 0, 2)
        seconds = [f"{times[peer][0]:.3g}" for peer in peers]
        rows.append([str(n), *seconds, *against_peer, against_plain])
        print(f"measured n = {n}", file=sys.stderr, flush=True)
    return markdown(columns, rows)


def large_run(n: int) -> tuple[float, float]:
    """CPU seconds of one suggestion from n observations, and this process's peak memory in GB."""
    seconds = suggest_bopp(*observations(n, seed=0), 0)
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def large_report(n: int) -> str:
    """One suggestion from many observations, in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as fresh:
        seconds, memory = fresh.submit(large_run, n).result()
    return f"bopp at n = {n}: {verdict(seconds, 30, ' s')}, peak {verdict(memory, 2, ' GB')}"


def import_report() -> str:
    """What `import bopp` takes beyond NumPy and SciPy, each in fresh processes, in turn."""
    plain, ours = [], []
    for _ in range(7):
        plain.append(wall_seconds(PLAIN_IMPORT))
        ours.append(wall_seconds("import bopp"))
    beyond = median(ours) - median(plain)
    return f"import bopp beyond NumPy and SciPy: {verdict(beyond, 0.3, ' s')}"


def wall_seconds(statement: str) -> float:
    """Wall seconds of a fresh Python that runs one statement."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 500, 1000])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--large", type=int, default=5000, help="0 leaves it out")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    peers = installed(SUGGESTIONS)
    footer = []
    if "bopp" in peers:
        # before torch is loaded: on Linux a child's peak memory starts at its parent's
        footer = [large_report(options.large)] if options.large else []
        footer.append(import_report())
    for peer in peers:
        load(peer)
        SUGGESTIONS[peer](*observations(20, seed=0), 0)  # warm up
    table = speed_table(peers, options.sizes, options.repeats)

    title = f"# CPU seconds of one suggestion, d = 6, median of {options.repeats}"
    publish([title, heading(), TURNS, table, *footer], options.out)


if __name__ == "__main__":
    main()
