"""Records: every value of each run, one line of JSON in the file of its peer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contest.records import BENCHMARKS
from goals.problem import Outcome

KEPT = {  # the records of the table are part of the repository, those of choosing are not
    "table": BENCHMARKS / "goals" / "results",
    "choosing": BENCHMARKS / "results" / "goals",
}
OBJECTIVE_DIGITS, CONSTRAINT_DIGITS = 12, 4


@dataclass(frozen=True)
class Record:
    """What one run came to.

    task         the problem and the seed, such as "gramacy-s0"
    objectives   the values of each evaluation, in order, given points included
    constraints  the same of the constraints, shortened: of them, the sign is what counts
    cpu          seconds that the peer took to be asked and told
    repeats      how many of the params that it asked for were those of an earlier evaluation
    """

    task: str
    peer: str
    problem: str
    seed: int
    objectives: list[list[float]]
    constraints: list[list[float]]
    cpu: float
    repeats: int


def record(
    peer: str, problem: str, seed: int, outcomes: Sequence[Outcome], cpu: float, repeats: int
) -> Record:
    """The record of a run with these outcomes."""
    return Record(
        task=task_name(problem, seed),
        peer=peer,
        problem=problem,
        seed=seed,
        objectives=[[shortened(value, OBJECTIVE_DIGITS) for value in one.objectives] for one in outcomes],
        constraints=[[shortened(value, CONSTRAINT_DIGITS) for value in one.constraints] for one in outcomes],
        cpu=round(cpu, 3),
        repeats=repeats,
    )


def task_name(problem: str, seed: int) -> str:
    return f"{problem}-s{seed}"


def shortened(value: float, digits: int) -> float:
    """A number with so many digits; never zero unless it was, so that it keeps its sign."""
    return float(f"{value:.{digits}g}")


def file_of(part: str, label: str) -> Path:
    """Where the records of a peer, or of a variant of it that has a label, are kept."""
    return KEPT[part] / f"{label}.jsonl"


def read(path: Path) -> list[Record]:
    """The records of a file."""
    if not path.exists():
        return []
    return [Record(**json.loads(line)) for line in path.read_text().splitlines()]
