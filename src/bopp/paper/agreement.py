"""Plain BO against the paper's own figures, by two measures.

One is kind: our mean is within the standard deviation of the paper's runs. The other is strict: Welch's t
test of the two means, from their standard deviations and numbers of runs; it finds small differences, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from bopp.paper.cells import Cell
from bopp.paper.markdown import NOTHING, markdown, p_value
from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.published import ANCESTOR_OF, DECIMALS, RUNS, Average, even, title

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Agreement:
    """A mean of ours beside the paper's; t is positive where ours is larger.

    t and p are None where there is nothing to test: a single run, or no run that differs from another.
    """

    within: bool
    t: float | None = None
    p: float | None = None

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p < SIGNIFICANT


def agreement(ours: Average, runs: int, paper: Average, paper_runs: int = RUNS) -> Agreement:
    """Whether our mean is within one sd of the paper's mean, and Welch's test; both to the paper's digits."""
    ours = Average(*(round(even(value), DECIMALS) for value in ours))
    within = round(abs(ours.mean - paper.mean) - paper.sd, DECIMALS) <= 0.0
    if runs < 2 or ours.sd == paper.sd == 0.0:
        return Agreement(within)
    sides = [
        part
        for average, n in ((ours, runs), (paper, paper_runs))
        for part in (average.mean, average.sd * math.sqrt(n / (n - 1)), n)  # from population to sample sd
    ]
    found = stats.ttest_ind_from_stats(*sides, equal_var=False)
    return Agreement(within, float(found.statistic), float(found.pvalue))


def lines(cells: Sequence[Cell]) -> list[str]:
    """The cells of plain BO that the paper has, as Markdown."""
    rows, held = [], []
    for cell in cells:
        if cell.variant != "bo" or cell.paper is None:
            continue
        it = agreement(cell.ours, cell.runs, cell.paper)
        held.append((cell, it))
        test = [NOTHING] * 2 if it.t is None or it.p is None else [f"{it.t:+.1f}", p_value(it.p)]
        name = [title(cell.problem), cell.acquisition.upper()]
        figures = [str(cell.runs), str(cell.ours), str(cell.paper), "yes" if it.within else "no"]
        rows.append([*name, *figures, *test])
    if not rows:
        return []
    head = ["problem", "", "n", "ours", "paper", "within 1 sd", "Welch's t", "p"]
    return [*_counts(held), "", *markdown(head, rows)]


def _counts(held: Sequence[tuple[Cell, Agreement]]) -> list[str]:
    says = [
        "Two measures: whether our mean is within the paper's mean ± 1 sd, and Welch's t test of the means,",
        "each cell by itself. On real problems but housing all our runs have one split of the data: a",
        "difference may be that of the split.",
        "",
    ]
    groups = {"synthetic": SYNTHETIC, "real": REAL, "ancestors'": tuple(ANCESTOR_OF)}
    for name, problems in groups.items():
        if chosen := [it for cell, it in held if cell.problem in problems]:
            within, differ = sum(it.within for it in chosen), sum(it.differs for it in chosen)
            cells = f"Of {len(chosen)} {name} cells of plain BO"
            says.append(f"{cells}, {within} within; by the test {differ} different (p < {SIGNIFICANT}).")
    return says
