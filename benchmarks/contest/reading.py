"""Reading: the records of the contest, and what the statistics need to know of their tasks."""

import json
import re
from pathlib import Path
from typing import Any

from contest.peers import PEERS
from contest.records import Record
from contest.runs import MODULES, tasks_of
from contest.statistics import Subject
from contest.task import Task


def groups(results: Path) -> list[str]:
    """The groups that have records."""
    return [group for group in MODULES if list((results / group).glob("*.jsonl"))]


def records(results: Path, group: str) -> list[Record]:
    """The records of every peer; those of its variants are in files with other names."""
    paths = [results / group / f"{peer}.jsonl" for peer in PEERS]
    return [
        Record(**json.loads(line))
        for path in paths
        if path.exists()
        for line in path.read_text().splitlines()
    ]


def subjects(group: str, part: str = "table") -> list[Subject]:
    """The tasks of a group that the table is made of, or those for choosing."""
    return [subject(task) for task in tasks_of(group, part)]


def subject(task: Task) -> Subject:
    """What the statistics need of a task; tasks with equal `evaluate` are the same problem."""
    return Subject(
        name=task.name,
        group=task.group,
        kind=cluster(task.kind),
        problem=f"{task.kind} {task.evaluate!r}",
        dimension=len(task.space),
        optimum=task.optimum,
        budget=task.budget,
        given=task.given,
    )


def cluster(kind: str) -> str:
    """The function alone, where a kind is a function with something, such as "f01-gauss10"."""
    function = re.match(r"f\d+(?=-)", kind)
    return function[0] if function else kind


def read_json(path: Path) -> Any:
    """What a file holds, or None if there is none."""
    return json.loads(path.read_text()) if path.exists() else None
