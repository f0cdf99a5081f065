"""Speed: what a suggestion with two objectives costs, beside one of a single objective and BoTorch's."""

import json
import sys
import time
from contextlib import ExitStack
from datetime import date
from statistics import median
from typing import cast

import bopp
from contest.points import sobol_points
from goals.peers import PEERS
from goals.peers.peer import Factory
from goals.problem import Array, Columns, Problem
from goals.problems import PROBLEMS
from goals.records import KEPT
from report import processor
from speed import fresh

TWO = PROBLEMS["dtlz2-2"]
POINTS, REPEATS = 100, 9


def _first(X: Array) -> tuple[Columns, Columns]:
    objectives, constraints = TWO.functions(X)
    return objectives[:1], constraints


ONE = Problem("dtlz2-2 alone", TWO.space, _first, 1, 0)
SETTINGS = {  # what is measured: a peer on a problem
    "bopp, one objective": ("bopp", ONE),
    "bopp, two objectives": ("bopp", TWO),
    "BoTorch qLogNEHVI, two objectives": ("botorch", TWO),
}


def measure(repeats: int = REPEATS) -> None:
    """Measure all settings in turn, each in a fresh process of its own, and keep the medians."""
    seconds: dict[str, list[float]] = {what: [] for what in SETTINGS}
    with ExitStack() as stack:
        processes = {what: stack.enter_context(fresh({})) for what in SETTINGS}
        for what, process in processes.items():
            process.submit(suggestion, what, 20, 0).result()  # imports and first calls do not count
        for repeat in range(repeats):
            for what, process in processes.items():  # in turn, so that a busy moment affects all alike
                seconds[what].append(process.submit(suggestion, what, POINTS, repeat).result())
            print(f"measured {repeat + 1} of {repeats}", file=sys.stderr, flush=True)
    cpu = {what: median(times) for what, times in seconds.items()}
    least = cpu["bopp, one objective"]
    rows = [{"what": what, "cpu": one, "ratio": one / least} for what, one in cpu.items()]
    about = (
        f"One suggestion from {POINTS} Sobol points of DTLZ2 in {TWO.dimension} parameters: with its two "
        "objectives, and with the first alone. As a user runs it: no variable set, each in a fresh process. "
        "CPU seconds of all threads together, of which BoTorch has one, as in the runs above; the median of "
        f"{repeats} turns, one after the other. {processor()}, {date.today()}."
    )
    path = KEPT["table"] / "speed.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"about": about, "rows": rows}, indent=2) + "\n")


def suggestion(what: str, points: int, seed: int) -> float:
    """The CPU seconds of one suggestion, in this process."""
    peer, problem = SETTINGS[what]
    optimizer = cast(Factory, PEERS[peer].factory)(problem, seed)
    space = bopp.Space(problem.space)
    for u in sobol_points(space.dimension, points, seed):
        params = space.decode(u)
        optimizer.tell(params, problem.evaluate(params))
    began = time.process_time()
    optimizer.ask()
    return time.process_time() - began
