"""Scores: how near each run came, after each evaluation, in one number that is comparable between problems.

One objective: the gap between the best value that met all constraints and the best known one, as a share of
the gap between the worst such value of a random sample and the best known. A run that has no such value yet
counts as that worst one, a share of 1, and shares below 1e-8 as that. Several objectives: the share of the
hypervolume that is missing; below 1e-5 it counts as that, as not all volumes are known better.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contest.statistics import Scores, Subject
from goals.problem import BUDGET, Array, Problem
from goals.problems import PARTS, PROBLEMS
from goals.records import Record, read, task_name

FLOOR, VOLUME_FLOOR = 1e-8, 1e-5


def read_all(folder: Path) -> list[Record]:
    """The records of a folder; of a run that two commands made at the same time, the first."""
    found: dict[tuple[str, str], Record] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for record in read(path):
            found.setdefault((record.peer, record.task), record)
    return list(found.values())


def met(record: Record) -> Array:
    """Which evaluations met all constraints."""
    return np.array([all(value <= 0.0 for value in row) for row in record.constraints])


def gaps(record: Record) -> Array:
    """The share that is missing after each evaluation."""
    problem = PROBLEMS[record.problem]
    if problem.objectives > 1:
        return np.clip(1.0 - volumes(record), VOLUME_FLOOR, 1.0)
    best, worst = problem.known["best"], problem.known["worst"]
    values = np.where(met(record), np.array(record.objectives)[:, 0], worst)
    return np.clip((np.minimum.accumulate(values) - best) / (worst - best), FLOOR, 1.0)


def volumes(record: Record) -> Array:
    """The share of the hypervolume that was reached after each evaluation."""
    problem = PROBLEMS[record.problem]
    objectives, counts = np.array(record.objectives), met(record)
    found: list[float] = []
    for number, row in enumerate(objectives):
        if counts[number] and (row < problem.reference).all():
            found.append(volume(objectives[: number + 1][counts[: number + 1]], problem))
        else:
            found.append(found[-1] if found else 0.0)
    return np.array(found) / problem.known["volume"]


def volume(points: Array, problem: Problem) -> float:
    """The hypervolume of points."""
    from moocore import hypervolume

    return float(hypervolume(points, ref=problem.reference))


def scores(records: Sequence[Record], part: str, group: str, peers: Sequence[str]) -> Scores:
    """The log10 of the missing share, of these peers on the tasks that any of them ran on."""
    found = {(record.peer, record.task): record for record in records}
    seeds = sorted({record.seed for record in records})
    subjects = [
        _subject(problem, seed)
        for problem in PARTS[part]
        for seed in seeds
        if problem.group == group and any((peer, task_name(problem.name, seed)) in found for peer in peers)
    ]
    values = np.full((len(peers), len(subjects), BUDGET), np.nan)
    for row, peer in enumerate(peers):
        for column, subject in enumerate(subjects):
            record = found.get((peer, subject.name))
            if record is not None:
                values[row, column] = np.log10(gaps(record))
    return Scores(tuple(peers), tuple(subjects), values)


def _subject(problem: Problem, seed: int) -> Subject:
    return Subject(
        name=task_name(problem.name, seed),
        group=problem.group,
        kind=problem.name,
        problem=problem.name,
        dimension=problem.dimension,
        optimum=problem.known.get("best"),
        budget=BUDGET,
        given=problem.given,
    )


def fields(scores: Scores) -> list[Scores]:
    """Those who can be compared, on the tasks that they all ran on.

    First everybody, then everybody without those who ran on the fewest tasks, and so on.
    """
    ran = {peer: scores.ran_on(peer) for peer in scores.peers}
    found: list[Scores] = []
    for least in sorted({len(tasks) for tasks in ran.values() if tasks}):
        peers = [peer for peer in scores.peers if len(ran[peer]) >= least]
        common = frozenset.intersection(*(ran[peer] for peer in peers))
        if common and len(peers) > 1:
            found.append(_named(scores, common).of(peers))
    return found


def _named(scores: Scores, names: frozenset[str]) -> Scores:
    return scores.where(lambda subject: subject.name in names)
