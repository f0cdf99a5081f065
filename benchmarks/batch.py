"""Time of a batch of suggestions, as a multiple of the time of one.

python benchmarks/batch.py [--sizes 20 50 200 1000] [--count 50] [--repeats 5] [--out FILE]
"""

import argparse
from functools import partial
from pathlib import Path
from statistics import median

from bopp import Float, Optimizer
from functions import FUNCTIONS
from history import measurement, remember
from peers import forget, named, sobol_points, timed
from report import heading, markdown, publish

NOTE = """\
CPU seconds of `ask()` and of `ask({count})`, six Floats, Hartmann6 seen at n scrambled Sobol points. The
model of the real data is fitted once for a batch; each suggestion has a search of its own, with those before
it pending."""


def observed(n: int, seed: int) -> Optimizer:
    """An optimizer that has seen Hartmann6 at n points, and remembers no model of them."""
    forget()
    optimizer = Optimizer({f"x{i}": Float(0, 1) for i in range(6)}, seed=seed)
    for point in sobol_points(6, n, seed):
        optimizer.observe(named(point), FUNCTIONS["hartmann6"].evaluate(point))
    return optimizer


def times(n: int, count: int, repeats: int) -> tuple[float, float]:
    """Median CPU seconds of one suggestion and of a batch."""
    pairs = []
    for seed in range(repeats):
        one, batch = observed(n, seed), observed(n, seed)
        forget()
        single = timed(one.ask).cpu
        forget()
        pairs.append((single, timed(partial(batch.ask, count)).cpu))
    return median(single for single, _ in pairs), median(whole for _, whole in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 200, 1000])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    times(20, 2, 1)  # warm up
    rows, figures = [], {}
    for n in options.sizes:
        single, batch = times(n, options.count, options.repeats)
        rows.append([str(n), f"{single:.3g}", f"{batch:.3g}", f"{batch / single:.1f}"])
        figures[f"n = {n}: ask({options.count}) / ask()"] = batch / single
    title = f"# Time of a batch of {options.count}, median of {options.repeats}"
    table = markdown(["n", "one, s", "batch, s", "ratio"], rows)
    publish([title, heading(), NOTE.format(count=options.count), table], options.out)
    if options.out:
        remember(measurement("batch", figures))


if __name__ == "__main__":
    main()
