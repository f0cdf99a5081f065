"""Runs of docs/reproduction made again on this processor: how many are the same, and where the others end.

python benchmarks/again.py [--problems synthetic] [--repeats 3 11] [--variants bo pp01 pp001]

Which machine a run was made on is kept with it; this one is printed at the end.
With OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL" in front of the command, a
processor with AVX-512 computes like one without.
"""

import argparse
from pathlib import Path

from bopp.paper.experiment import perform
from bopp.paper.machine import this_machine
from bopp.paper.problems import named
from bopp.paper.runs import ACQUISITIONS, Folder, Key, Run

REPRODUCTION = Path(__file__).parent.parent / "docs" / "reproduction"
SAME = 1e-5  # relative to a value, which is kept with seven digits


def apart(one: float, other: float) -> bool:
    return abs(one - other) > SAME * max(1.0, abs(other))


def another_way(run: Run, kept: Run) -> bool:
    """Whether some evaluation has a different value."""
    return any(apart(*pair) for pair in zip(run.values, kept.values, strict=True))


def another_end(run: Run, kept: Run) -> bool:
    """Whether the best value is different."""
    return apart(end(run), end(kept))


def end(run: Run) -> float:
    return float(run.curve(1)[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--problems", nargs="+", default=["synthetic"])
    parser.add_argument("--repeats", type=int, nargs="+", default=[3, 11])
    parser.add_argument("--variants", nargs="+", default=["bo", "pp01", "pp001"])
    options = parser.parse_args()

    folder = Folder(REPRODUCTION)
    kept = {run.key: run for run in folder.runs()}
    cells = [
        (name, rule, variant)
        for name in named(options.problems)
        for rule in ACQUISITIONS
        for variant in options.variants
    ]
    pairs, keys = [], [Key(repeat, *cell) for repeat in options.repeats for cell in cells]
    if missing := [key.name for key in keys if key not in kept]:
        parser.error(
            f"docs/reproduction has no {missing[0]}" + f" and {len(missing) - 1} others" * (len(missing) > 1)
        )
    for key in keys:
        pairs.append((perform(key, folder.setting), kept[key]))
        if another_end(*pairs[-1]):
            here, there = map(end, pairs[-1])
            print(f"{key}: ends at {here:.4g}, not {there:.4g}", flush=True)
    ways, ends = (sum(differs(*pair) for pair in pairs) for differs in (another_way, another_end))
    print(f"{len(pairs)} runs made again: {ways} took another way, {ends} ended at another value")
    print(f"here: {this_machine()}")
    print(f"there: {', '.join(sorted({str(there.machine or 'not recorded') for _, there in pairs}))}")


if __name__ == "__main__":
    main()
