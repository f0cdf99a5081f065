"""The paper's seven figures from runs: a row of four problems each, drawn as PNG and SVG.

Drawing a figure again from the same runs gives the same file. The control, exact duplicates, is our addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bopp.data import Array
from bopp.errors import PaperError
from bopp.paper.problems import REAL, SYNTHETIC
from bopp.paper.published import title
from bopp.paper.runs import VARIANTS, Acquisition, Folder, Kernel, Run, Variant, made
from bopp.view.canvas import canvas, save

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = 0.25  # of a standard deviation, to each side of the mean
COLOURS: dict[Variant, str] = {  # Okabe and Ito: safe for the colour-blind
    "bo": "#000000",
    "pp01": "#D55E00",
    "pp001": "#009E73",
    "pp0001": "#0072B2",
    "pp0": "#8c8c8c",
}
PALE = "#595959"


@dataclass(frozen=True)
class Picture:
    """One of the paper's figures."""

    number: int
    acquisition: Acquisition
    problems: tuple[str, ...]
    kernel: Kernel = "ard"

    @property
    def name(self) -> str:
        kind = "synthetic" if self.problems == SYNTHETIC else "real"
        kernel = "" if self.kernel == "ard" else f"-{self.kernel}"
        return f"figure-{self.number}-{self.acquisition}-{kind}{kernel}"

    def runs(self, runs: Sequence[Run]) -> list[Run]:
        """The runs that it shows, all with DIRECT as in the paper."""
        shown = (self.acquisition, self.kernel, "direct")
        return [
            run
            for run in runs
            if (run.key.acquisition, run.key.kernel, run.key.maximiser) == shown
            and run.key.problem in self.problems
        ]


PICTURES = (
    Picture(1, "ucb", REAL),
    Picture(2, "ucb", SYNTHETIC),
    Picture(3, "pi", REAL),
    Picture(4, "pi", SYNTHETIC),
    Picture(5, "ei", REAL),
    Picture(6, "ei", SYNTHETIC),
    Picture(7, "ucb", REAL, "isotropic"),
)


def draw(folder: Folder, out: Path) -> list[Path]:
    """Draw the figures that there are runs for, each as PNG and SVG; returns their paths."""
    runs, initial = folder.runs(), folder.setting.initial
    pictures = [picture for picture in PICTURES if picture.runs(runs)]
    if not pictures:
        raise PaperError(f"{folder.path} holds no runs of the paper's problems with DIRECT: nothing to draw")
    drawn = [save(figure(picture, runs, initial), made(out), picture.name) for picture in pictures]
    return [path for paths in drawn for path in paths]


def missing(folder: Folder) -> list[str]:
    """The names of the figures that `draw` leaves out because there are no runs for them."""
    runs = folder.runs()
    return [picture.name for picture in PICTURES if not picture.runs(runs)]


def figure(picture: Picture, runs: Sequence[Run], initial: int) -> Figure:
    """One figure: the mean over runs after each iteration, and a band of a quarter of their sd."""
    shown = picture.runs(runs)
    drawing, ((*panels,),) = canvas(1, len(picture.problems), (3.2 * len(picture.problems), 3.1))
    lines: dict[Variant, Artist] = {}
    for axes, problem in zip(panels, picture.problems, strict=True):
        here = [run for run in shown if run.key.problem == problem]
        axes.set_title(title(problem), style="italic")
        if here:
            lines |= _panel(axes, here, initial)
        else:
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            axes.text(0.5, 0.5, "no runs", ha="center", va="center", color=PALE, transform=axes.transAxes)
    panels[0].set_ylabel("simple regret $S_T$" if picture.problems == SYNTHETIC else "$f$")
    order = [variant for variant in VARIANTS if variant in lines]
    drawing.legend(
        [lines[variant] for variant in order],
        [_label(picture.acquisition, variant) for variant in order],
        loc="outside upper center",
        ncols=len(order),
        frameon=False,
    )
    return drawing


def _panel(axes: Axes, runs: Sequence[Run], initial: int) -> dict[Variant, Artist]:
    """Draw the curves of one problem; returns the lines by variant."""
    lines: dict[Variant, Artist] = {}
    edges, counts = [], []
    for variant in VARIANTS:
        curves = np.array([run.curve(initial) for run in runs if run.key.variant == variant])
        if not len(curves):
            continue
        mean, quarter = curves.mean(axis=0), BAND * curves.std(axis=0)
        iterations, control = np.arange(len(mean)), variant == "pp0"
        width, dashes = (1.0, (0, (4, 2))) if control else (1.6, "-")
        (lines[variant],) = axes.plot(iterations, mean, color=COLOURS[variant], lw=width, ls=dashes)
        if not control:
            axes.fill_between(
                iterations, mean - quarter, mean + quarter, color=COLOURS[variant], alpha=0.13, lw=0
            )
        edges += [mean - quarter, mean + quarter]
        counts.append(len(curves))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlabel="iteration", xlim=(0, max(1, len(edges[0]) - 1)), ylim=_window(np.array(edges)))
    count = " to ".join(str(n) for n in sorted({min(counts), max(counts)}))
    y, side = (0.96, "top") if runs[0].regret else (0.04, "bottom")  # a corner where no curve ends
    axes.text(0.97, y, f"n = {count}", va=side, ha="right", color=PALE, size=8, transform=axes.transAxes)
    return lines


def _window(edges: Array) -> tuple[float, float]:
    """Axis limits that ignore the first twentieth of the iterations, which would dwarf the rest."""
    later = edges[:, edges.shape[1] // 20 :]
    low, high = float(later.min()), float(later.max())
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _label(acquisition: Acquisition, variant: Variant) -> str:
    if variant == "bo":
        return acquisition.upper()
    return f"{acquisition.upper()}-{variant.upper()}" + (" (control)" if variant == "pp0" else "")
