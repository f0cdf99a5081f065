"""The paper's seven figures from runs, and three of the shifted functions: four problems each, PNG and SVG.

Drawing a figure again from the same runs gives the same file. The control, exact duplicates, is our addition.

Many variants make the very same runs, so that their lines coincide. All lines are solid, and each comes to
the front in turn for a few iterations, with its marker in the middle: lines that coincide show all their
colours and shapes one after the other, and lines that differ look as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.errors import PaperError
from bopp.paper.problems import REAL, SHIFTED, SYNTHETIC
from bopp.paper.published import HEADS, title
from bopp.paper.runs import VARIANTS, Acquisition, Folder, Kernel, Maximiser, Run, Variant, made
from bopp.view.canvas import canvas, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

BAND = 0.25  # of a standard deviation, to each side of the mean
TURNS = 25  # of lines in front, from the first to the last iteration
STEEP = 10.0  # the axis is logarithmic if its top is more than so many times the lowest end of a curve
DECADES = 4  # on a logarithmic axis, at most
LINEAR = 0.5  # height of the part from 0 to the lowest decade, in decades
ALPHA = 0.07  # of one band: five that coincide must not hide the lines
WIDTH = 1.6  # of lines, in points
SMALL = 9  # letters, in points
PALE = "#595959"


@dataclass(frozen=True)
class Style:
    """How the line of a variant looks."""

    colour: str
    marker: str
    size: float
    hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        return {"color": self.colour, "lw": WIDTH, "solid_capstyle": "butt"}

    @property
    def points(self) -> dict[str, Any]:
        face, edge, width = ("white", self.colour, 1.2) if self.hollow else (self.colour, "white", 0.6)
        return {"marker": self.marker, "ms": self.size, "mfc": face, "mec": edge, "mew": width}


STYLES: dict[Variant, Style] = {  # Okabe and Ito: safe for the colour-blind; shapes tell in print
    "bo": Style("#000000", "o", 5.0),
    "pp01": Style("#D55E00", "s", 4.8),
    "pp001": Style("#009E73", "^", 5.8),
    "pp0001": Style("#0072B2", "D", 4.6),
    "pp0": Style("#8c8c8c", "o", 5.0, hollow=True),
}


@dataclass(frozen=True)
class Picture:
    """One figure: an acquisition function on four problems."""

    number: int
    acquisition: Acquisition
    problems: tuple[str, ...]
    kernel: Kernel = "ard"
    maximiser: Maximiser = "direct"

    @property
    def name(self) -> str:
        kind = {SYNTHETIC: "synthetic", REAL: "real", SHIFTED: "shifted"}[self.problems]
        kernel = "" if self.kernel == "ard" else f"-{self.kernel}"
        return f"figure-{self.number}-{self.acquisition}-{kind}{kernel}"

    def runs(self, runs: Sequence[Run]) -> list[Run]:
        """The runs that it shows."""
        shown = (self.acquisition, self.kernel, self.maximiser)
        return [
            run
            for run in runs
            if (run.key.acquisition, run.key.kernel, run.key.maximiser) == shown
            and run.key.problem in self.problems
        ]


PAPER = (
    Picture(1, "ucb", REAL),
    Picture(2, "ucb", SYNTHETIC),
    Picture(3, "pi", REAL),
    Picture(4, "pi", SYNTHETIC),
    Picture(5, "ei", REAL),
    Picture(6, "ei", SYNTHETIC),
    Picture(7, "ucb", REAL, "isotropic"),
)
PICTURES = (
    *PAPER,
    Picture(8, "ucb", SHIFTED, maximiser="gradients"),
    Picture(9, "pi", SHIFTED, maximiser="gradients"),
    Picture(10, "ei", SHIFTED, maximiser="gradients"),
)


@dataclass(frozen=True)
class Curve:
    """What the runs of one variant on one problem did: mean and a part of their sd after each iteration."""

    variant: Variant
    count: int
    mean: Array
    band: Array


def draw(folder: Folder, out: Path) -> list[Path]:
    """Draw the figures that there are runs for, each as PNG and SVG; returns their paths."""
    runs, initial = folder.runs(), folder.setting.initial
    pictures = [picture for picture in PICTURES if picture.runs(runs)]
    if not pictures:
        wanted = "the paper's problems with DIRECT, nor of the shifted functions with gradients"
        raise PaperError(f"{folder.path} holds no runs of {wanted}: nothing to draw")
    drawn = [save(figure(picture, runs, initial), made(out), picture.name) for picture in pictures]
    return [path for paths in drawn for path in paths]


def missing(folder: Folder) -> list[str]:
    """The names of the paper's figures that there are no runs for, unless there are runs for none of them."""
    runs = folder.runs()
    without = [picture.name for picture in PAPER if not picture.runs(runs)]
    return without if len(without) < len(PAPER) else []


def figure(picture: Picture, runs: Sequence[Run], initial: int) -> Figure:
    """One figure: the mean over runs after each iteration, and a band of a quarter of their sd."""
    shown = picture.runs(runs)
    drawing, grid = canvas(2, 2, (7.6, 6.0))
    keys: dict[Variant, Line2D] = {}
    for axes, problem in zip(grid.flat, picture.problems, strict=True):
        here = [run for run in shown if run.key.problem == problem]
        if here:
            keys |= _panel(axes, here, initial)
        else:
            axes.set_title(title(problem), style="italic")
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            axes.text(0.5, 0.5, "no runs", ha="center", va="center", color=PALE, transform=axes.transAxes)
    order = [variant for variant in VARIANTS if variant in keys]
    drawing.legend(
        [keys[variant] for variant in order],
        [_label(picture.acquisition, variant) for variant in order],
        loc="outside upper center",
        ncols=len(order),
        frameon=False,
    )
    return drawing


def _panel(axes: Axes, runs: Sequence[Run], initial: int) -> dict[Variant, Line2D]:
    """Draw the curves of one problem; returns what stands for each variant in the legend."""
    curves = _curves(runs, initial)
    counts = sorted({min(curve.count for curve in curves), max(curve.count for curve in curves)})
    axes.set_title(f"{title(runs[0].key.problem)} (n = {' to '.join(map(str, counts))})", style="italic")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("iteration", size=SMALL)
    axes.set_xlim(0, max(1, len(curves[0].mean) - 1))
    value = "simple regret $S_T$" if runs[0].regret else "$f$"
    axes.set_ylabel(value + _scale(axes, curves), size=SMALL)
    return {curve.variant: _line(axes, curve, i, len(curves)) for i, curve in enumerate(curves)}


def _curves(runs: Sequence[Run], initial: int) -> list[Curve]:
    """The curve of each variant that has runs."""
    curves = []
    for variant in VARIANTS:
        values = np.array([run.curve(initial) for run in runs if run.key.variant == variant])
        if len(values):
            curves.append(Curve(variant, len(values), values.mean(axis=0), BAND * values.std(axis=0)))
    return curves


def _line(axes: Axes, curve: Curve, i: int, lines: int) -> Line2D:
    """Draw the i-th of several lines, which is in front for one turn of as many; returns its legend entry."""
    style, iterations = STYLES[curve.variant], np.arange(len(curve.mean))
    turn = max(1, round((len(iterations) - 1) / TURNS))
    since = (iterations - i * turn) % (lines * turn)  # iterations since it came to the front
    front = np.where((since <= turn) | (lines == 1), curve.mean, np.nan)
    middle = (since == turn // 2) & (iterations >= _first(curve))
    low, high = curve.mean - curve.band, curve.mean + curve.band
    axes.fill_between(iterations, low, high, color=style.colour, alpha=ALPHA, lw=0)
    axes.plot(iterations, curve.mean, **style.line, zorder=2)
    axes.plot(iterations, front, **style.line, zorder=3)
    axes.plot(iterations[middle], curve.mean[middle], **style.points, ls="", zorder=4)
    (key,) = axes.plot([], [], **style.line, **style.points)
    return key


def _scale(axes: Axes, curves: Sequence[Curve]) -> str:
    """Choose the scale and limits of the values; returns what to say of the scale."""
    from matplotlib.ticker import LogLocator, NullFormatter

    means = np.array([curve.mean[_first(curve) :] for curve in curves])
    bands = np.array([curve.band[_first(curve) :] for curve in curves])
    low, high = float((means - bands).min()), float((means + bands).max())
    end = float(means[:, -1].min())
    if means.min() < 0.0 or high <= STEEP * end:
        axes.ticklabel_format(axis="y", useOffset=False)
        said = ""
    elif low > max(end / 10.0, high / 10.0**DECADES):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 300.0 * low else (1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        said = " (log scale)"
    else:  # 0 is reached, or the band reaches for it: linear below a power of ten
        least = np.clip(means[means > 0.0].min(), high / 10.0**DECADES, high / 10.0)
        low, power = 0.0, float(10.0 ** np.floor(np.log10(least)))
        axes.set_yscale("symlog", linthresh=power, linscale=LINEAR, subs=range(2, 10))
        said = f" (log above {power:g})"
    if said:
        axes.yaxis.set_major_formatter("{x:g}")
    _limit(axes, low, high)
    return said


def _limit(axes: Axes, low: float, high: float) -> None:
    """Show the values from low to high with a margin, whatever the scale."""
    height = axes.yaxis.get_transform()
    bottom, top = height.transform(np.array([low, high]))
    margin = 0.05 * (top - bottom) or 0.05 * abs(top) or 1.0
    axes.set_ylim(*height.inverted().transform(np.array([bottom - margin, top + margin])))


def _first(curve: Curve) -> int:
    """The first iteration that counts for the axes: those before would dwarf the rest."""
    return len(curve.mean) // 20


def _label(acquisition: Acquisition, variant: Variant) -> str:
    return acquisition.upper() + ("" if variant == "bo" else f"-{HEADS[variant]}")
