"""Runs: each peer on each task, in a process of its own with one thread, recorded and never repeated.

run       one peer on one task, in this process
SUBSETS   which tasks the slow peers are spared
planned   the runs of a peer
execute   what is missing of them
execute_apart  the same for runs of any kind
"""

import math
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

import numpy as np

import bopp
from contest.peers import PEERS, Factory
from contest.points import given_points
from contest.records import BENCHMARKS, Record, append, file_of, recorded
from contest.task import Params, Task

MODULES = {  # which module has the tasks of a group
    "bbob": "contest.bbob",
    "mixed-integer": "contest.mixint",
    "tables": "contest.tables",
    "noise": "contest.disturbed",
    "crash": "contest.disturbed",
    "irrelevant": "contest.disturbed",
    "tuning": "contest.tuning",
    "paper": "contest.paper",
    "high": "contest.high",
}
PlanT = TypeVar("PlanT", bound="Named")
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "PYTHONHASHSEED": "0",  # sets in the same order every time
    "PYTHONPATH": str(BENCHMARKS),
}


def run(task: Task, factory: Factory, peer: str = "", evaluations: int | None = None) -> Record:
    """Have a peer minimise from the given points on, to the budget or to fewer evaluations."""
    space, points, clock = bopp.Space(task.space), given_points(task), Clock()
    most = min(task.budget, evaluations or task.budget)
    optimizer = factory(task.space, task.seed, most, task.noisy)
    best: list[tuple[int, float]] = []
    lowest, repeats, failed = math.inf, 0, 0
    for number, (params, repeated) in enumerate(proposals(optimizer, space, points, most, clock)):
        repeats += repeated
        value, truth = task.evaluate(dict(params), number)
        failed += value is None
        if truth < lowest:
            lowest = truth
            best.append((number + 1, shortened(truth, task.optimum)))
        with clock:
            optimizer.tell(params, value)
    return Record(task.name, peer, best, most, round(clock.seconds, 3), repeats, failed)


def shortened(truth: float, optimum: float | None) -> float:
    """A true value with so many decimals that what it lacks to the optimum has seven digits."""
    size = abs(truth - (optimum or 0.0))
    return round(truth, 6 - math.floor(math.log10(size))) if size > 0.0 else truth


class Clock:
    """Adds up the CPU seconds of this process within its `with` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._began


def proposals(
    optimizer: Any, space: bopp.Space, points: Sequence[Params], count: int, clock: Clock
) -> Iterator[tuple[Params, bool]]:
    """The given points, then what a peer asks for, and whether it asks for one of those before it again."""
    seen: set[tuple[tuple[str, Any], ...]] = set()
    for number in range(count):
        if number < len(points):
            params, repeated = points[number], False
        else:
            with clock:
                asked = optimizer.ask()
            params = space.check(space.cut(asked))
            repeated = tuple(params.items()) in seen
        seen.add(tuple(params.items()))
        yield params, repeated


def tasks_of(group: str, part: str) -> list[Task]:
    """The tasks of a group."""
    tasks: list[Task] = import_module(MODULES[group]).tasks(part)
    return [task for task in tasks if task.group == group]


@dataclass(frozen=True)
class Subset:
    """Some tasks of a group for a slow peer, why so few, and to how many evaluations."""

    why: str
    holds: Callable[[Task], bool]
    evaluations: int | None = None


def nothing(why: str) -> Subset:
    return Subset(why, lambda task: False)


def _function(task: Task) -> int:
    """The number of the BBOB function of a task."""
    return int(task.kind[1:3])


def _fourth(task: Task) -> bool:
    return task.seed == 4


def _few_of_five(step: int) -> Callable[[Task], bool]:
    """Whether a task is the fourth instance, of five parameters, of every second, fourth, ... function."""
    return lambda task: len(task.space) == 5 and task.seed == 4 and _function(task) % step == 0


def _first_seed(task: Task) -> bool:
    return task.seed == 1


def _of_twenty(*functions: int) -> Callable[[Task], bool]:
    """Whether a task has twenty parameters and is one of these functions."""
    return lambda task: len(task.space) == 20 and _function(task) in functions


ELSEWHERE = ("mixed-integer", "tables", "noise", "crash", "irrelevant", "tuning", "paper", "high")
SUBSETS: dict[str, dict[str, Subset]] = {  # why: the time of a run
    "gpsampler": {"high": Subset("a minute and more", lambda task: len(task.space) == 20)},
    "botorch": {
        "bbob": Subset("half a minute for 60 evaluations", _fourth, 60),
        "mixed-integer": Subset("half a minute", _few_of_five(2)),
        "noise": Subset("a minute", lambda task: task.kind.endswith("gauss10")),
        **dict.fromkeys(("crash", "irrelevant", "tuning", "paper"), Subset("half a minute", _first_seed)),
        "high": Subset("minutes", _of_twenty(8, 15, 21)),
    },
    "turbo": {"high": Subset("minutes", lambda task: len(task.space) == 20)},
    "smac-hpo": {
        **dict.fromkeys(ELSEWHERE, nothing("half a minute")),
        "bbob": Subset("half a minute for 60 evaluations", _few_of_five(2), 60),
        "tables": Subset("half a minute", _first_seed),
        "tuning": Subset("half a minute", _first_seed),
    },
    "skopt": {
        **dict.fromkeys(ELSEWHERE, nothing("a minute")),
        "bbob": Subset("a minute for 60 evaluations", _few_of_five(2), 60),
        "tuning": Subset("a minute", _first_seed),
    },
    "smac-bb": {
        **dict.fromkeys(ELSEWHERE, nothing("minutes")),
        "bbob": Subset("minutes for 60 evaluations", _few_of_five(4), 60),
    },
}


@dataclass(frozen=True)
class Plan:
    """A run to be: a peer on a task, by names, so that another process can find both."""

    group: str
    part: str
    task: str
    peer: str
    evaluations: int | None = None


def planned(group: str, part: str, peer: str) -> list[Plan]:
    """The runs of a peer on a group, as far as it can work on the spaces and is not too slow."""
    tasks = [task for task in tasks_of(group, part) if PEERS[peer].fits(bopp.Space(task.space))]
    subset = SUBSETS.get(peer, {}).get(group) if part == "table" else None
    if subset is None:
        return [Plan(group, part, task.name, peer) for task in tasks]
    return [Plan(group, part, task.name, peer, subset.evaluations) for task in tasks if subset.holds(task)]


def missing(plans: Iterable[Plan], label: str | None = None) -> list[Plan]:
    """The runs that have no record yet."""
    plans = list(plans)
    files = {(plan.part, plan.group, label or plan.peer) for plan in plans}
    done = {key: recorded(file_of(*key)) for key in files}
    return [plan for plan in plans if plan.task not in done[plan.part, plan.group, label or plan.peer]]


def execute(plans: Sequence[Plan], jobs: int = 1, label: str | None = None, seconds: float = math.inf) -> int:
    """Make these runs and keep their records; how many were made."""

    def keep(plan: Plan, record: Record) -> None:
        append(file_of(plan.part, plan.group, label or plan.peer), record)

    return execute_apart(plans, _send, keep, [__name__, *_modules(plans)], jobs, seconds)


class Named(Protocol):
    """A run to be, by what is printed of it."""

    @property
    def peer(self) -> str: ...

    @property
    def task(self) -> str: ...


def execute_apart(
    plans: Sequence[PlanT],
    send: Callable[[PlanT, Connection], None],
    keep: Callable[[PlanT, Any], None],
    modules: Sequence[str],
    jobs: int = 1,
    seconds: float = math.inf,
) -> int:
    """Make these runs, each in a process forked from one that has the libraries; how many were made.

    After so many seconds no run begins, and those that have not ended are ended.
    """
    os.environ.update(ENVIRONMENT)  # inherited by the processes
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", *modules])
    end = time.monotonic() + seconds

    def apart(plan: PlanT) -> bool:
        began = time.monotonic()
        if began >= end:
            return False
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=send, args=(plan, sender))
        process.start()
        sender.close()
        record = _received(receiver, None if math.isinf(end) else end - began)
        process.kill()
        process.join()
        if record is not None:
            keep(plan, record)
        state = "done" if record else "FAILED"
        print(
            f"{state} {plan.peer} {plan.task} {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True
        )
        return record is not None

    with ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(apart, plans))


def _modules(plans: Iterable[Plan]) -> list[str]:
    """The modules that the runs need, so that a change to one in the middle of them changes nothing."""
    return sorted({name for plan in plans for name in (PEERS[plan.peer].module, MODULES[plan.group])})


def _send(plan: Plan, sender: Connection) -> None:
    """Run in this process and send the record."""
    task = next(task for task in tasks_of(plan.group, plan.part) if task.name == plan.task)
    random.seed(task.seed)  # for libraries that draw from the generators of everybody
    np.random.seed(task.seed)
    sender.send(run(task, PEERS[plan.peer].factory, plan.peer, plan.evaluations))


def _received(receiver: Connection, seconds: float | None) -> Any:
    """The record of a run; None if its process died or is not ready in time."""
    try:
        return receiver.recv() if receiver.poll(seconds) else None
    except EOFError:
        return None
