"""Time of one suggestion in mixed spaces, as a multiple of that in as many Floats.

python benchmarks/mixed.py [--sizes 20 50 200] [--repeats 9] [--out FILE]
"""

import argparse
import math
from pathlib import Path
from statistics import median

import numpy as np

from bopp import Choice, Float, Int, Optimizer, Parameter
from functions import FUNCTIONS
from history import measurement, remember
from peers import forget, sobol_points, timed
from report import heading, markdown, publish

NOTE = """\
CPU milliseconds, and in brackets how many times those of as many Floats they are. Hartmann6 of the first six
parameters was seen at n scrambled Sobol points, options in the order of their list. All spaces take their
turns; of three suggestions in a turn, each with a fit of its own, the fastest counts."""
SPACES: dict[str, list[Parameter]] = {
    "6 Float": [Float(0, 1)] * 6,
    "5 Float, a Choice of 2": [*[Float(0, 1)] * 5, Choice(range(2))],
    "3 Float, 3 Int(1, 20)": [*[Float(0, 1)] * 3, *[Int(1, 20)] * 3],
    "3 Float, 2 Choice of 4, Int(1, 20)": [*[Float(0, 1)] * 3, *[Choice(range(4))] * 2, Int(1, 20)],
    "2 Float, 2 Choice of 6, 2 log Int(1, 1000)": (
        [*[Float(0, 1)] * 2, *[Choice(range(6))] * 2, *[Int(1, 1000, log=True)] * 2]
    ),
    "6 Int(0, 100)": [Int(0, 100)] * 6,
    "10 Float": [Float(0, 1)] * 10,
    "6 Float, 4 Int(1, 20)": [*[Float(0, 1)] * 6, *[Int(1, 20)] * 4],
    "4 Float, 3 Int(1, 20), 2 Choice of 4, Choice of 2": (
        [*[Float(0, 1)] * 4, *[Int(1, 20)] * 3, *[Choice(range(4))] * 2, Choice(range(2))]
    ),
}


def floats(name: str) -> str:
    """The space of as many Floats."""
    return f"{len(SPACES[name])} Float"


def observed(parameters: list[Parameter], n: int, seed: int) -> Optimizer:
    """An optimizer that has seen Hartmann6 at n points, and remembers no model of them."""
    forget()
    names = [f"x{i}" for i in range(len(parameters))]
    optimizer = Optimizer(dict(zip(names, parameters, strict=True)), direction="minimize", seed=seed)
    for point in sobol_points(len(parameters), n, seed).tolist():
        pairs = [value_at(parameter, u) for parameter, u in zip(parameters, point, strict=True)]
        place = np.array([u for _, u in pairs])
        params = {name: value for name, (value, _) in zip(names, pairs, strict=True)}
        optimizer.observe(params, FUNCTIONS["hartmann6"].evaluate(place[:6]))
    return optimizer


def value_at(parameter: Parameter, u: float) -> tuple[object, float]:
    """A value of a parameter, and where between 0 and 1 it lies."""
    if isinstance(parameter, Choice):
        index = math.floor(u * len(parameter.options))
        return parameter.options[index], index / (len(parameter.options) - 1)
    value = parameter.decode([u])
    return value, parameter.encode(value)[0]


def suggestion_times(n: int, repeats: int) -> dict[str, float]:
    """Median CPU milliseconds of a suggestion in each space."""
    times: dict[str, list[float]] = {name: [] for name in SPACES}
    for seed in range(repeats):
        for name, parameters in SPACES.items():
            turn = [timed(observed(parameters, n, seed).ask).cpu for _ in range(3)]
            times[name].append(1e3 * min(turn))
    return {name: median(row) for name, row in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 200])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    suggestion_times(20, 1)  # warm up
    columns = {n: suggestion_times(n, options.repeats) for n in options.sizes}
    rows = [
        [
            name,
            *(f"{times[name]:.1f} ({times[name] / times[floats(name)]:.2f})" for times in columns.values()),
        ]
        for name in SPACES
    ]
    title = f"# Time of one suggestion in mixed spaces, median of {options.repeats}"
    table = markdown(["space", *(f"n = {n}" for n in options.sizes)], rows)
    publish([title, heading(), NOTE, table], options.out)
    if options.out:
        figures = {
            f"{name}, n = {n}: / {floats(name)}": times[name] / times[floats(name)]
            for n, times in columns.items()
            for name in SPACES
        }
        remember(measurement("mixed", figures))


if __name__ == "__main__":
    main()
