"""A study shared by four workers: processes here; with a PostgreSQL URL they could be machines."""

import multiprocessing
import sys
import time
from collections import Counter
from itertools import pairwise
from multiprocessing.synchronize import Barrier

import bopp

SPACE: dict[str, bopp.Parameter] = {f"x{i}": bopp.Float(-5, 5) for i in range(4)}
BUDGET = 60


def rosenbrock(params: bopp.Params) -> float:
    """A long, curved valley; it stands in for an evaluation that takes hours."""
    time.sleep(0.05)
    x = list(params.values())
    return float(sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in pairwise(x)))


def work(url: str, all_there: Barrier) -> None:
    study = bopp.open_study(url, "valley", SPACE, seed=0)  # the first one creates it, the others join
    all_there.wait()  # only so that each gets a share of these short evaluations
    study.optimize(rosenbrock, budget=BUDGET, progress=False)


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else "sqlite:///four_workers.db"
    all_there = multiprocessing.Barrier(4, timeout=60)
    workers = [multiprocessing.Process(target=work, args=(url, all_there)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    study = bopp.open_study(url, "valley")
    shares = Counter(trial.worker for trial in study.trials)
    print(f"{len(study.trials)} trials by {len(shares)} workers: {sorted(shares.values())}")
    print(f"best value: {study.best.value:.4f} at {study.best.params}")


if __name__ == "__main__":
    main()
