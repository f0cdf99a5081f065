"""The cells of the paper's table: one problem, acquisition and variant each, with our runs and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bopp.data import Array
from bopp.errors import PaperError
from bopp.paper.published import TITLES, Average, no_worse, published
from bopp.paper.runs import ACQUISITIONS, VARIANTS, Acquisition, Folder, Kernel, Maximiser, Run, Variant
from bopp.paper.statistics import Comparison, Pairs, compare


@dataclass(frozen=True, eq=False)
class Cell:
    """One problem, acquisition and variant: our runs, the paper's figure, and BO-PP against BO.

    Args:
        final: the best value of each run; `repeats` says which runs.
        accuracy: plain accuracy at these, where it is recorded and is not itself the value.
        pairs: the repeats that BO has too; None for BO itself and if BO has not been run.
        comparison: of these pairs; None if there are too few.
    """

    problem: str
    acquisition: Acquisition
    variant: Variant
    regret: bool
    repeats: tuple[int, ...]
    final: Array
    accuracy: Array | None
    paper: Average | None
    pairs: Pairs | None = None
    comparison: Comparison | None = None

    @property
    def ours(self) -> Average:
        return Average(float(self.final.mean()), float(self.final.std()))

    @property
    def runs(self) -> int:
        return len(self.final)

    @property
    def no_worse(self) -> bool:
        """Whether the paper would print it in bold."""
        return self.pairs is not None and self.comparison is not None and self.pairs.no_worse

    @property
    def no_worse_in_paper(self) -> bool:
        plain = published(self.problem, self.acquisition, "bo")
        if self.variant == "bo" or self.paper is None or plain is None:
            return False
        return no_worse(self.paper.mean, plain.mean, self.regret)


def cells(folder: Folder, kernel: Kernel = "ard", maximiser: Maximiser = "direct") -> list[Cell]:
    """What the runs of a folder say, cell by cell, in the order of the paper."""
    initial = folder.setting.initial
    groups: dict[tuple[str, Acquisition, Variant], list[Run]] = {}
    for run in folder.runs():
        if (run.key.kernel, run.key.maximiser) == (kernel, maximiser):
            groups.setdefault((run.key.problem, run.key.acquisition, run.key.variant), []).append(run)
    if not groups:
        there = sorted({f"{run.key.kernel} and {run.key.maximiser}" for run in folder.runs()})
        text = f"{folder.path} holds no runs with kernel {kernel!r} and maximiser {maximiser!r}"
        raise PaperError(text + (f", only with {'; '.join(there)}" if there else ""))
    order = [*TITLES, *sorted({key[0] for key in groups} - set(TITLES))]
    found: list[Cell] = []
    for where in ((problem, acquisition) for acquisition in ACQUISITIONS for problem in order):
        row = [_cell(groups[key], initial) for variant in VARIANTS if (key := (*where, variant)) in groups]
        plain = row[0] if row and row[0].variant == "bo" else None
        found += [_paired(plain, cell) if plain else cell for cell in row]
    comparisons = iter(compare([cell.pairs for cell in found if cell.pairs]))
    return [replace(cell, comparison=next(comparisons)) if cell.pairs else cell for cell in found]


def _cell(runs: Sequence[Run], initial: int) -> Cell:
    key, regret = runs[0].key, runs[0].regret
    final = np.array([run.curve(initial)[-1] for run in runs])
    accuracies = [
        run.accuracy[run.values.index(best)] for run, best in zip(runs, final, strict=True) if run.accuracy
    ]
    apart = any(run.accuracy != run.values for run in runs) and len(accuracies) == len(runs)
    accuracy = np.array(accuracies) if apart else None
    paper = published(key.problem, key.acquisition, key.variant) if key.kernel == "ard" else None
    repeats = tuple(run.key.repeat for run in runs)
    return Cell(key.problem, key.acquisition, key.variant, regret, repeats, final, accuracy, paper)


def _paired(plain: Cell, cell: Cell) -> Cell:
    """The cell with the repeats that BO has too."""
    if plain is cell:
        return cell
    _, here, there = np.intersect1d(cell.repeats, plain.repeats, return_indices=True)
    return replace(cell, pairs=Pairs(plain.final[there], cell.final[here], cell.regret))
