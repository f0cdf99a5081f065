"""Whole curves: the paper says of each panel of its figures that some variant is almost always above BO.

A panel is one problem of one figure. A curve is the mean of the best value so far over the repeats that BO
and the variant both have, after each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bopp.paper.figures import PAPER
from bopp.paper.published import no_worse
from bopp.paper.runs import Acquisition, Kernel, Run, Variant

Panel = tuple[str, Acquisition, Kernel]

PANELS = {(problem, figure.acquisition, figure.kernel) for figure in PAPER for problem in figure.problems}

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
        if panel in PANELS and run.key.maximiser == "direct":
            groups.setdefault((panel, run.key.variant), {})[run.key.repeat] = run
    found = []
    for (panel, variant), those in groups.items():
        plain = groups.get((panel, "bo"), {})
        both = sorted(those.keys() & plain.keys())
        if variant == "bo" or not both:
            continue
        regret = those[both[0]].regret
        ours, bo = (np.mean([some[r].curve(initial)[1:] for r in both], axis=0) for some in (those, plain))
        kept = [no_worse(*pair, regret) for pair in zip(ours, bo, strict=True)]
        lost = [no_worse(*pair, regret) for pair in zip(bo, ours, strict=True)]
        found.append(Course(panel, variant, float(np.mean(kept)), float(1.0 - np.mean(lost))))
    return found
