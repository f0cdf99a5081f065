"""Whole curves: the paper says of each panel of its figures that some variant is almost always above BO.

A panel is one problem of one figure. A curve is the mean of the best value so far over the repeats that BO
and the variant both have, after each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bopp.paper.markdown import markdown
from bopp.paper.problems import REAL
from bopp.paper.published import HEADS, TITLES, no_worse
from bopp.paper.runs import VARIANTS, Acquisition, Kernel, Run, Variant

Panel = tuple[str, Acquisition, Kernel]

ALMOST = 0.9  # of the iterations


@dataclass(frozen=True)
class Course:
    """A variant's curve beside BO's: the shares of the iterations where it is no worse, and better."""

    panel: Panel
    variant: Variant
    no_worse: float
    better: float

    @property
    def almost_always_no_worse(self) -> bool:
        """Whether it bears out the paper's claim, read kindly; a curve that is nowhere better does not."""
        return self.no_worse >= ALMOST and self.better > 0.0

    @property
    def almost_always_better(self) -> bool:
        return self.better >= ALMOST


def courses(runs: Sequence[Run], initial: int) -> list[Course]:
    """Every variant beside BO in every panel of the paper's figures."""
    groups: dict[tuple[Panel, Variant], dict[int, Run]] = {}
    for run in runs:
        panel = run.key.problem, run.key.acquisition, run.key.kernel
        if _in_paper(panel) and run.key.maximiser == "direct":
            groups.setdefault((panel, run.key.variant), {})[run.key.repeat] = run
    found = []
    for (panel, variant), those in groups.items():
        plain = groups.get((panel, "bo"), {})
        both = sorted(those.keys() & plain.keys())
        if variant == "bo" or not both:
            continue
        regret = those[both[0]].regret
        means = (np.mean([some[r].curve(initial)[1:] for r in both], axis=0) for some in (those, plain))
        pairs = [(float(ours), float(bo)) for ours, bo in zip(*means, strict=True)]
        kept = np.mean([no_worse(ours, bo, regret) for ours, bo in pairs])
        lost = np.mean([no_worse(bo, ours, regret) for ours, bo in pairs])
        found.append(Course(panel, variant, float(kept), float(1.0 - lost)))
    return found


def _in_paper(panel: Panel) -> bool:
    """Whether the paper has a figure of it."""
    problem, acquisition, kernel = panel
    return problem in TITLES and (kernel == "ard" or (acquisition == "ucb" and problem in REAL))


def lines(runs: Sequence[Run], initial: int) -> list[str]:
    """In how many panels the claim holds, as Markdown."""
    found = courses(runs, initial)
    if not found:
        return []
    *three, control = VARIANTS[1:]
    groups = {HEADS[variant]: [variant] for variant in three}
    rows = []
    for name, variants in (groups | {"at least one of these": three, HEADS[control]: [control]}).items():
        chosen = [course for course in found if course.variant in variants]
        panels = len({course.panel for course in chosen})
        kept = {course.panel for course in chosen if course.almost_always_no_worse}
        better = {course.panel for course in chosen if course.almost_always_better}
        rows.append([name, f"{len(kept)} of {panels}", f"{len(better)} of {panels}"])
    return [
        'The paper says of its figures that on each problem "at least one curve" of BO-PP is "almost',
        'always" above that of BO, that is better. Counted here: panels, one for each problem in each',
        f"figure, where a variant's mean is no worse than BO's in {ALMOST:.0%} of the iterations and better",
        f"in some, to four decimals; and where it is better in {ALMOST:.0%}.",
        "",
        *markdown(["", "no worse", "better"], rows),
    ]
