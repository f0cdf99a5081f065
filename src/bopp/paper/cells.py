"""The cells of the paper's table: one problem, acquisition and variant each, with our runs and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from bopp.data import Array
from bopp.errors import PaperError
from bopp.paper.published import TITLES, Average, no_worse, published
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Acquisition, Folder, Kernel, Maximiser, Run, Variant
from bopp.paper.statistics import Comparison, Pairs, compare

Where = tuple[Acquisition, str, Variant]


@dataclass(frozen=True, eq=False)
class Cell:
    """One problem, acquisition and variant: our runs, the paper's figure, and BO-PP against BO.

    Args:
        runs: in order of their repeats, each after so many initial points.
        pairs: the repeats that BO has too; None for BO itself and if BO has not been run.
        comparison: of these pairs; None if there are too few.
    """

    acquisition: Acquisition
    problem: str
    variant: Variant
    runs: Sequence[Run]
    initial: int
    pairs: Pairs | None
    comparison: Comparison | None

    @property
    def final(self) -> Array:
        """The best value of each run."""
        return np.array([run.curve(self.initial)[-1] for run in self.runs])

    @property
    def ours(self) -> Average:
        return Average(float(self.final.mean()), float(self.final.std()))

    @property
    def paper(self) -> Average | None:
        ard = self.runs[0].key.kernel == "ard"
        return published(self.problem, self.acquisition, self.variant) if ard else None

    @property
    def accuracy(self) -> float | None:
        """Mean plain accuracy at the best values, where it is recorded and is not itself the value."""
        found = [
            run.accuracy[run.values.index(best)]
            for run, best in zip(self.runs, self.final, strict=True)
            if run.accuracy and run.accuracy != run.values
        ]
        return float(np.mean(found)) if len(found) == len(self.runs) else None

    @property
    def no_worse(self) -> bool:
        """Whether the paper would print it in bold."""
        return self.pairs is not None and self.comparison is not None and self.pairs.no_worse

    @property
    def no_worse_in_paper(self) -> bool:
        plain = published(self.problem, self.acquisition, "bo")
        if self.variant == "bo" or self.paper is None or plain is None:
            return False
        return no_worse(self.paper.mean, plain.mean, self.runs[0].regret)


def cells(folder: Folder, kernel: Kernel = "ard", maximiser: Maximiser = "direct") -> list[Cell]:
    """What the runs of a folder say, cell by cell, in the order of the paper."""
    runs, initial = folder.runs(), folder.setting.initial
    groups: dict[Where, list[Run]] = {}
    for run in runs:
        if (run.key.kernel, run.key.maximiser) == (kernel, maximiser):
            groups.setdefault((run.key.acquisition, run.key.problem, run.key.variant), []).append(run)
    if not groups:
        there = sorted({f"{run.key.kernel} and {run.key.maximiser}" for run in runs})
        text = f"{folder.path} holds no runs with kernel {kernel!r} and maximiser {maximiser!r}"
        raise PaperError(text + (f", only with {'; '.join(there)}" if there else ""))
    problems = [*TITLES, *sorted({problem for _, problem, _ in groups} - TITLES.keys())]
    order = [where for where in product(ACQUISITIONS, problems, VARIANTS) if where in groups]
    pairs: dict[Where, Pairs] = {}
    for where in order:
        acquisition, problem, variant = where
        if variant != "bo" and (plain := groups.get((acquisition, problem, "bo"))):
            pairs[where] = _pairs(plain, groups[where], initial)
    comparisons = compare(pairs)
    return [Cell(*where, groups[where], initial, pairs.get(where), comparisons.get(where)) for where in order]


def _pairs(plain: Sequence[Run], variant: Sequence[Run], initial: int) -> Pairs:
    """The results of the repeats that both have."""
    bo, ours = ({run.key.repeat: run.curve(initial)[-1] for run in some} for some in (plain, variant))
    both = [repeat for repeat in ours if repeat in bo]
    return Pairs(
        np.array([bo[repeat] for repeat in both]),
        np.array([ours[repeat] for repeat in both]),
        variant[0].regret,
    )
