"""Runs: each peer on each problem with each seed, in a process of its own with one thread, never repeated."""

import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import numpy as np

import bopp
from contest.records import append, recorded
from contest.runs import Clock, execute_apart, proposals
from goals.peers import PEERS
from goals.peers.peer import Factory
from goals.problem import BUDGET, Outcome, Problem
from goals.problems import PARTS, PROBLEMS
from goals.records import Record, file_of, record, task_name

SEEDS = {"table": range(10), "choosing": range(5)}


def run(problem: Problem, factory: Factory, seed: int, peer: str = "", evaluations: int = BUDGET) -> Record:
    """Have a peer search from the given points on."""
    space, points, clock = bopp.Space(problem.space), problem.given_points(seed), Clock()
    optimizer = factory(problem, seed)
    outcomes: list[Outcome] = []
    repeats = 0
    for params, repeated in proposals(optimizer, space, points, evaluations, clock):
        repeats += repeated
        outcomes.append(problem.evaluate(params))
        with clock:
            optimizer.tell(params, outcomes[-1])
    return record(peer, problem.name, seed, outcomes, clock.seconds, repeats)


@dataclass(frozen=True)
class Plan:
    """A run to be: a peer on a problem from a seed, by names, so that another process can find both."""

    part: str
    problem: str
    seed: int
    peer: str
    label: str

    @property
    def task(self) -> str:
        return task_name(self.problem, self.seed)


def planned(
    part: str,
    peers: Sequence[str],
    problems: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    label: str | None = None,
) -> list[Plan]:
    """The runs of these peers, seed by seed, so that those made until any moment can be compared."""
    names = [problem.name for problem in PARTS[part] if problems is None or problem.name in problems]
    return [
        Plan(part, name, seed, peer, label or peer)
        for seed in (SEEDS[part] if seeds is None else seeds)
        for peer in peers
        for name in names
        if peer != "bopp-reference" or PROBLEMS[name].reference
    ]


def missing(plans: Iterable[Plan]) -> list[Plan]:
    """The runs that have no record yet."""
    plans = list(plans)
    done = {key: recorded(file_of(*key)) for key in {(plan.part, plan.label) for plan in plans}}
    return [plan for plan in plans if plan.task not in done[plan.part, plan.label]]


def drop(plans: Iterable[Plan]) -> None:
    """Forget the records of these runs."""
    tasks: dict[Path, set[str]] = {}
    for plan in plans:
        tasks.setdefault(file_of(plan.part, plan.label), set()).add(plan.task)
    for path, names in tasks.items():
        if path.exists():
            lines = [line for line in path.read_text().splitlines() if json.loads(line)["task"] not in names]
            path.write_text("".join(f"{line}\n" for line in lines))


def execute(plans: Sequence[Plan], jobs: int = 1, seconds: float = math.inf) -> int:
    """Make these runs and keep their records; how many were made."""

    def keep(plan: Plan, made: Record) -> None:
        append(file_of(plan.part, plan.label), made)

    modules = [__name__, *sorted({PEERS[plan.peer].module for plan in plans})]
    return execute_apart(plans, _send, keep, modules, jobs, seconds)


def _send(plan: Plan, sender: Connection) -> None:
    """Run in this process and send the record."""
    random.seed(plan.seed)  # for libraries that draw from the generators of everybody
    np.random.seed(plan.seed)
    factory = cast(Factory, PEERS[plan.peer].factory)
    sender.send(run(PROBLEMS[plan.problem], factory, plan.seed, plan.label))
