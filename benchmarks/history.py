"""What the benchmarks found before: prints how their figures changed, one column for each measurement.

python benchmarks/history.py [speed | regret | store | pending | importance] [--last 6]

A benchmark that writes its table with --out adds a line to benchmarks/history.jsonl: the table is overwritten
the next time, the line stays. Compare only columns with the same machine and libraries. The first lines were
taken from tables that are older than this file; their commit is the one that recorded the table.
"""

import argparse
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path

from report import commit, machine, markdown, version

HISTORY = Path(__file__).parent / "history.jsonl"
HEAD = ("machine", "python", "numpy", "scipy", "bopp")


@dataclass(frozen=True)
class Measurement:
    """The key figures of one run of a benchmark, and where they come from."""

    benchmark: str
    date: str
    bopp: str
    commit: str
    machine: str
    python: str
    numpy: str
    scipy: str
    figures: dict[str, float]


def measurement(benchmark: str, figures: Mapping[str, float]) -> Measurement:
    """A measurement made here and now."""
    return Measurement(
        benchmark=benchmark,
        date=str(date.today()),
        bopp=version("bopp"),
        commit=commit(),
        machine=machine(),
        python=platform.python_version(),
        numpy=version("numpy"),
        scipy=version("scipy"),
        figures={name: float(f"{figure:.4g}") for name, figure in figures.items()},
    )


def remember(measured: Measurement, path: Path = HISTORY) -> None:
    """Append a measurement to the file."""
    line = json.dumps(asdict(measured), allow_nan=False)
    with path.open("a") as file:
        file.write(f"{line}\n")


def recall(path: Path = HISTORY) -> list[Measurement]:
    """Every measurement, the oldest first."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [_read(line, f"{path.name}, line {number}") for number, line in enumerate(lines, start=1)]


def _read(line: str, place: str) -> Measurement:
    try:
        return Measurement(**json.loads(line))
    except (TypeError, ValueError) as error:
        names = ", ".join(field.name for field in fields(Measurement))
        raise ValueError(f"{place}: wanted a JSON object with {names}: {error}") from error


def table(measurements: list[Measurement]) -> str:
    """How each figure changed; "-" where it was not measured."""
    figures = dict.fromkeys(name for measured in measurements for name in measured.figures)
    rows = [[name, *(str(getattr(measured, name)) for measured in measurements)] for name in HEAD]
    for name in figures:
        rows.append([name, *(_shown(measured.figures.get(name)) for measured in measurements)])
    return markdown(["", *(f"{measured.date} {measured.commit}" for measured in measurements)], rows)


def _shown(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.4g}"


def main() -> None:
    history = recall()
    names = list(dict.fromkeys(measured.benchmark for measured in history))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name", nargs="?", choices=names, help="of a benchmark; without it, all of them")
    parser.add_argument("--last", type=int, default=6, help="how many measurements of each to show")
    options = parser.parse_args()
    for name in [options.name] if options.name else names:
        own = [measured for measured in history if measured.benchmark == name]
        print(f"# {name}\n\n{table(own[-options.last :])}\n")


if __name__ == "__main__":
    main()
