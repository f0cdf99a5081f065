"""What the paper's experiment rests on: DIRECT, one climb of the likelihood; and what both leave undone.

python benchmarks/paper_checks.py [--out docs/reproduction/checks.md]

Runs of plain BO on the four synthetic functions are made again with DIRECT, and at some iterations the same
score is maximised and the same likelihood climbed in other ways.
"""

from __future__ import annotations

import argparse
import itertools
import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bopp.data import Array, Data, History
from bopp.fit import MAP
from bopp.optimizer import Optimizer
from bopp.paper.experiment import GRADIENTS, recipe_of
from bopp.paper.problems import SYNTHETIC, problem
from bopp.paper.runs import ACQUISITIONS, Key, Setting
from bopp.paper.table import markdown
from bopp.search import Direct, Gradients, Score, Search
from bopp.space import Space
from bopp.threads import one_thread

THOROUGH = Gradients(candidates=2000, local=500, starts=20, finalists=None, ample=math.inf)
WAYS: dict[str, Search] = {
    "DIRECT, about 100": Direct(100),
    "DIRECT, about 1000": Direct(1000),
    "gradients": GRADIENTS,
}
LOOKED_AT = 10  # every so many iterations
STARTS = (1, 80, 1000)
SHORT = 2.0  # nats
SAME = 1e-3  # of the best score


@dataclass(frozen=True, eq=False)
class Counted:
    """A score that counts how many points it was asked for."""

    score: Score
    points: list[int] = field(default_factory=list)

    def values(self, U: Array) -> Array:
        self.points.append(len(U))
        return self.score.values(U)

    def gradient(self, U: Array) -> tuple[Array, Array]:
        return self.score.gradient(U)


@dataclass(frozen=True, eq=False)
class Watched:
    """DIRECT, with a look at what other searches would have found."""

    evaluations: list[int] = field(default_factory=list)
    found: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in (*WAYS, "best")})
    data: list[Data] = field(default_factory=list)

    def __call__(self, score: Score, space: Space, history: History, rng: np.random.Generator) -> Array:
        counted = Counted(score)
        chosen = WAYS["DIRECT, about 100"](counted, space, history, rng)
        self.evaluations.append(sum(counted.points))
        if len(self.evaluations) % LOOKED_AT == 0:
            points = {name: way(score, space, history, rng) for name, way in WAYS.items()}
            values = {name: float(score.values(point[None])[0]) for name, point in points.items()}
            thorough = float(score.values(THOROUGH(score, space, history, rng)[None])[0])
            for name, value in (values | {"best": max(thorough, *values.values())}).items():
                self.found[name].append(value)
            self.data.append(history.data)
        return chosen


@one_thread()
def watched(key: Key) -> Watched:
    """A run of the paper's experiment, watched."""
    setting, watch, task = Setting(), Watched(), problem(key.problem)
    recipe = replace(recipe_of(key, setting), search=watch)
    optimizer = Optimizer(task.space, "minimize", seed=key.repeat, recipe=recipe)
    for _ in range(setting.initial + setting.iterations):
        trial = optimizer.ask()
        optimizer.tell(trial, task(trial.params))
    return watch


@one_thread()
def shortfalls(watch: Watched, key: Key) -> dict[int, list[float]]:
    """By how many nats the likelihood found from so many starts is below the best of all."""
    recipe = recipe_of(key, Setting())
    assert isinstance(recipe.fit, MAP)
    short: dict[int, list[float]] = {starts: [] for starts in STARTS}
    for data in watch.data:
        tops = []
        for starts in STARTS:
            fit = replace(recipe.fit, starts=starts)
            (belief,) = fit(data, recipe.kernel, np.random.default_rng(len(data))).beliefs
            tops.append(belief.gp.log_likelihood(data))  # type: ignore[attr-defined]
        for starts, top in zip(STARTS, tops, strict=True):
            short[starts].append(max(tops) - top)
    return short


def report(repeats: int) -> str:
    """All three checks as Markdown."""
    cells = list(itertools.product(SYNTHETIC, ACQUISITIONS))
    counts, reached, short = [], [], {starts: list[float]() for starts in STARTS}
    for name, acquisition in cells:
        keys = [Key(repeat, name, acquisition, "bo") for repeat in range(repeats)]
        seen = [(watched(key), key) for key in keys]
        spent = np.concatenate([watch.evaluations for watch, _ in seen])
        low, middle, high = np.quantile(spent, [0.0, 0.5, 1.0])
        counts.append([name, acquisition.upper(), f"{low:.0f}", f"{middle:.0f}", f"{high:.0f}"])
        found = {way: np.concatenate([watch.found[way] for watch, _ in seen]) for way in (*WAYS, "best")}
        told = found["best"] != 0.0  # elsewhere the score has underflowed, and all points are as good
        least = found["best"] - SAME * np.abs(found["best"])
        hit = [f"{np.sum((found[way] >= least)[told])}" for way in WAYS]
        reached.append([name, acquisition.upper(), str(told.sum()), *hit])
        for starts, values in itertools.chain.from_iterable(shortfalls(*one).items() for one in seen):
            short[starts] += values
    looks = len(short[STARTS[0]])
    rows = [[str(starts), f"{sum(v > SHORT for v in short[starts])} of {looks}"] for starts in STARTS]
    return "\n".join(
        [
            "# What the experiment rests on",
            "",
            f"Plain BO on the synthetic functions, runs of 100 iterations, {repeats} in each cell; made by",
            "`python benchmarks/paper_checks.py`.",
            "",
            "Evaluations of the acquisition function in one search by DIRECT that is told to stop at 100; it",
            "finishes the round that it is in, and where many points have equal scores a round is long.",
            "",
            *markdown(["problem", "", "least", "median", "most"], counts),
            "",
            f"How often a search finds the largest score that is found by any, to {SAME:.1%}. Looked at is",
            "every tenth iteration, unless all scores are 0; a thorough search by gradients is tried, too.",
            "",
            *markdown(["problem", "", "looks", *WAYS], reached),
            "",
            f"How often the likelihood at the length-scales found is more than {SHORT:g} nats below the best",
            "that any of these ways finds, by the number of starts: 1 is `--fit likelihood`, 80 `--fit",
            "starts`.",
            "",
            *markdown(["starts", "short"], rows),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text = report(options.repeats)
    if options.out:
        options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
