"""What cheap evaluations are worth in trainings of scikit-learn's models, resumable, paired by seed.

python benchmarks/fidelities.py [--seeds 20] [--budget 20] [--jobs 1] [--results DIR] [--out FILE] [--others]

With --others the trainings are those on which settings are chosen, with seeds from 100 on.
A seed whose file exists is not run again: delete DIR after a change to bopp.
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product, repeat
from pathlib import Path
from typing import Any

import numpy as np

from bopp import Choice, Int, minimize, pseudo
from functions import Array
from history import measurement, remember
from regret import ONE_THREAD, bootstrap_interval, write
from report import heading, markdown, publish
from trainings import OTHERS, TABLE, Training

NOTE = """\
Each training is tuned by bopp with its fidelities, by bopp with real evaluations only, and by Optuna's
TPESampler with its HyperbandPruner, which goes on with a training where that can be done, while bopp begins
anew. Validation loss of the best real evaluation, averaged over the seeds as a logarithm. Costs are CPU
seconds of the evaluations; all have as many as the real evaluations took. "Cost" is what the fidelities
needed until they were, on average, as good as the real evaluations in the end, as a fraction of what these
took; "cost of a seed" is the median of the same for each seed, "inf" where that was not reached in the time.
Differences are in log10 of the loss, below 0 where the fidelities are better. The first row of a training is
for the first half of the real evaluations and as much time as these took, in the same runs.

Settings were chosen with seeds from 100 on, four or five of them, on a network on even digits, a network on
parts of digits, a forest on breast cancer, a network on diabetes and boosting on breast cancer: five sizes
of the first evaluations, two shares of cheap ones, three ways to scale values and two kinds of model, some
of them in part. With so few seeds most of these differences are within the noise.

"If the middle were free" is the cost that real evaluations alone would need with 240 values of the middle
level for nothing, as a stand-in (`Cheap`): these would cost as much as 29 to 48 real evaluations. So for the
network and the forest half the cost is about all that even free cheap evaluations bring.

Later, fifteen other approaches were compared with this one, paired, on five trainings (`--others`), to reach
half the cost in all; twelve with 6 to 18 seeds each: half or a quarter of the first evaluations, and, on
three of the trainings, 2.5 times as many; no cheap ones after the first, and more of them; levels as a chain
of processes, each a multiple of the one below and a rest; a search at the middle level before any real
evaluation, from two sizes of the first ones; every real evaluation chosen from two or four tried at the
middle level; and a bolder search, alone and after that at the middle level; three with 4 to 9 seeds: point
and level chosen together by the expected gain over that of the best real evaluation, per cost; cheap levels
as a trend under the real ones, weighed by evidence; and levels that lie closer together. Over all trainings
none was better by two standard errors, so nothing was changed. The best after 12 seeds, a quarter of the
first evaluations, was ahead by 0.10 (standard error 0.05) and behind by 0.08 (0.06) with 6 new ones; the unit
is what real evaluations gain after the first 15 % of the cost. There, too, cheap evaluations are a head
start, and from then on the loss falls about as fast as without. With 18 seeds the costs were 0.57 and 0.60
for networks, 0.74 for the forest and 0.41 for the SVM, whose trainings are so short that the shares of the
levels were counted and not seconds. On a network on breast cancer, where the best settings of short trainings
are not those of long ones, the loss of the real evaluations was not reached, and with a free middle level
only after 0.90 of the cost (6 seeds). So half is not to be expected in general.

The trainings were chosen too, after looking at those. Boosting with its number of trees as fidelity is not
in the table: few trees rank settings differently from many, and there the fidelities gained nothing. Spaces
were made wider, the rate of the network falls to 0 in a training of any length, and its size is fixed. So
expect less where cheap evaluations are less like the real ones. Seeds 0 to 9 were run before, on another
processor: there the costs were 0.65 for the network, 0.33 for the SVM and 0.82 for the forest; and all 20
once, by the same suggestions: 0.75, 0.33 and never. That is how much the processor alone changes.
`make bench-fidelities` makes the table."""
WAYS = ("fidelities", "real only", "Hyperband")
FREE = "free middle level"
GRID = np.linspace(0.0, 1.0, 201)
CHOOSING = 100  # the first seed with which settings are chosen


@dataclass(frozen=True)
class Course:
    """The evaluations of a run in order: CPU seconds, and the loss where it is that of a real one."""

    seconds: list[float]
    losses: list[float | None]

    def best_after(self, seconds: float) -> float:
        """The best loss of a real evaluation in so much time; infinite if there was none."""
        ended = zip(np.cumsum(self.seconds), self.losses, strict=True)
        return min(
            (loss for at, loss in ended if loss is not None and at <= seconds + 1e-9), default=math.inf
        )

    def time_to(self, wanted: float) -> float:
        """The time until a real evaluation was as good; infinite if none was."""
        ended = zip(np.cumsum(self.seconds), self.losses, strict=True)
        return next((float(at) for at, loss in ended if loss is not None and loss <= wanted), math.inf)


@dataclass(frozen=True)
class Seed:
    """All ways on one training, from one seed."""

    courses: dict[str, Course]

    @property
    def time(self) -> float:
        """What the real evaluations took."""
        return sum(self.courses["real only"].seconds)

    def first(self, count: int) -> "Seed":
        """The same beside the first real evaluations only."""
        real = self.courses["real only"]
        return Seed({**self.courses, "real only": Course(real.seconds[:count], real.losses[:count])})

    def end(self, way: str) -> float:
        return self.courses[way].best_after(self.time)

    def curve(self, way: str) -> Array:
        """The logarithm of the best loss so far over the time; at first that of the worst beginning."""
        first = max(next(loss for loss in one.losses if loss is not None) for one in self.courses.values())
        best = [min(first, self.courses[way].best_after(part * self.time)) for part in GRID]
        return np.log10(best)


def with_bopp(training: Training, seed: int, budget: int, **said: Any) -> Course:
    """A run of bopp that is told of fidelities, of a stand-in, or of nothing besides real evaluations."""
    evaluate, name, real = training.course(seed), training.fidelity, training.levels[-1]
    seconds, losses = [], []

    def objective(params: dict[str, Any]) -> float:
        begin = time.process_time()
        (loss,) = evaluate(params, [params.get(name, real)])
        seconds.append(time.process_time() - begin)
        losses.append(loss if params.get(name, real) == real else None)
        return loss

    minimize(objective, training.space, budget, seed=seed, progress=False, **said)
    return Course(seconds, losses)


def free_middle(training: Training, seed: int) -> pseudo.Cheap:
    """Values of the middle level, which cost nothing."""
    evaluate, (*_, middle, _) = training.course(seed), training.levels
    return pseudo.Cheap(lambda params: next(evaluate(params, [middle])), points=240)


def with_hyperband(training: Training, seed: int, limit: float) -> Course:
    """A run of Optuna, which ends with the trial that reaches the limit of CPU seconds."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    steps = [round(level / training.levels[0]) for level in training.rungs]
    pruner = optuna.pruners.HyperbandPruner(1, steps[-1], training.reduction)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), pruner=pruner)
    evaluate, seconds, losses = training.course(seed), [], []

    def objective(trial: Any) -> float:
        rows = evaluate(
            {name: _suggested(trial, name, one) for name, one in training.space.items()}, training.rungs
        )
        for step, (spent, loss) in zip(steps, _timed(rows), strict=True):
            seconds.append(spent)
            losses.append(loss if step == steps[-1] else None)
            trial.report(loss, step)
            if step < steps[-1] and trial.should_prune():
                raise optuna.TrialPruned
        return loss

    while sum(seconds) < limit:
        study.optimize(objective, n_trials=1, catch=ValueError)
    return Course(seconds, losses)


def _suggested(trial: Any, name: str, parameter: Any) -> Any:
    if isinstance(parameter, Choice):
        return trial.suggest_categorical(name, parameter.options)
    suggest = trial.suggest_int if isinstance(parameter, Int) else trial.suggest_float
    return suggest(name, parameter.low, parameter.high, log=parameter.log)


def _timed(rows: Iterator[float]) -> Iterator[tuple[float, float]]:
    """Each row with the CPU seconds that it took."""
    while True:
        begin = time.process_time()
        row = next(rows, None)
        if row is None:
            return
        yield time.process_time() - begin, row


def run(name: str, seed: int, budget: int, results: Path) -> Seed:
    """All ways on one training from one seed, read if they are there."""
    path = results / name.replace(" ", "-") / f"{seed}-{budget}.json"
    if not path.exists():
        training = {**TABLE, **OTHERS}[name]
        fidelities = {training.fidelity: list(training.levels)}
        real = with_bopp(training, seed, budget)
        courses = {
            "fidelities": with_bopp(training, seed, budget, fidelities=fidelities),
            "real only": real,
            "Hyperband": with_hyperband(training, seed, sum(real.seconds)),
            FREE: with_bopp(training, seed, budget, knowledge=[free_middle(training, seed)]),
        }
        write(path, json.dumps({way: vars(course) for way, course in courses.items()}))
        print("done", name, seed, file=sys.stderr, flush=True)
    return Seed({way: Course(**one) for way, one in json.loads(path.read_text()).items()})


def cost(curves: Array) -> float:
    """When one way was, on average, as good as the real evaluations in the end; infinite if never.

    `curves` (n, 2, m) has those of each seed, of that way and of real evaluations only.
    """
    ours, theirs = curves.mean(axis=0)
    reached = np.flatnonzero(ours <= theirs[-1])
    return float(GRID[reached[0]]) if len(reached) else math.inf


def cost_interval(curves: Array) -> tuple[float, float]:
    """The 95 % interval of the cost over 1000 resamples of the seeds."""
    rng = np.random.default_rng(0)
    found = [cost(curves[rng.integers(len(curves), size=len(curves))]) for _ in range(1000)]
    low, high = np.quantile(found, [0.025, 0.975], method="nearest")
    return float(low), float(high)


def curves_of(seeds: Sequence[Seed], way: str = "fidelities") -> Array:
    return np.array([[seed.curve(way), seed.curve("real only")] for seed in seeds])


def seed_costs(seeds: Sequence[Seed]) -> Array:
    return np.array([seed.courses["fidelities"].time_to(seed.end("real only")) / seed.time for seed in seeds])


def table(found: dict[str, list[Seed]], budget: int) -> str:
    """Two rows for each training: beside the first half of the real evaluations, and beside all."""
    rows = []
    for name, count in product(found, (budget // 2, budget)):
        seeds = [seed.first(count) for seed in found[name]]
        ends = {way: np.array([math.log10(seed.end(way)) for seed in seeds]) for way in WAYS}
        curves = curves_of(seeds)
        low, high = cost_interval(curves)
        row = [name, str(count), *(f"{10 ** ends[way].mean():.4f}" for way in WAYS)]
        row += [f"{cost(curves):.2f} ({low:.2f} to {high:.2f})", f"{np.median(seed_costs(seeds)):.2f}"]
        row.append(f"{cost(curves_of(seeds, FREE)):.2f}")
        for way in WAYS[1:]:
            more = ends["fidelities"] - ends[way]
            low, high = bootstrap_interval(more)
            row += [f"{more.mean():+.3f} ({low:+.3f} to {high:+.3f})", f"{np.sum(more < 0)} of {len(more)}"]
        rows.append(row)
    columns = ["training", "real evaluations", *WAYS, "cost", "cost of a seed", "if the middle were free"]
    columns += [word for way in WAYS[1:] for word in (f"difference to {way}", "better")]
    return markdown(columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=20, help="in real evaluations")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "fidelities")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--others", action="store_true")
    options = parser.parse_args()
    if options.others and options.out:
        parser.error("--out is for the table, not for --others")
    os.environ.update(ONE_THREAD)  # inherited by the processes of the runs
    trainings, first = (OTHERS, CHOOSING) if options.others else (TABLE, 0)
    jobs = [(name, first + seed) for seed in range(options.seeds) for name in trainings]
    found: dict[str, list[Seed]] = {name: [] for name in trainings}
    with ProcessPoolExecutor(options.jobs) as pool:
        names, seeds = zip(*jobs, strict=True)
        for name, one in zip(
            names, pool.map(run, names, seeds, repeat(options.budget), repeat(options.results)), strict=True
        ):
            found[name].append(one)
    title = f"# Fidelities: {options.seeds} seeds, as much time as {options.budget} real evaluations take"
    publish([title, heading(), NOTE, table(found, options.budget)], options.out)
    if options.out:
        figures = {f"{name}, cost": cost(curves_of(seeds)) for name, seeds in found.items()}
        remember(
            measurement("fidelities", {name: one for name, one in figures.items() if math.isfinite(one)})
        )


if __name__ == "__main__":
    main()
