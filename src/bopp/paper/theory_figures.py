"""Two figures of the theory: regret against its bounds, and what pseudo-points give and cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bopp.paper.check import OBSERVED, Check
from bopp.view.canvas import canvas, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLACK, GREY = "black", "#8c8c8c"
COLOURS = ("#D55E00", "#E69F00", "#009E73", "#0072B2", "#CC79A7")  # Okabe and Ito: safe for the colour-blind


def draw(check: Check, folder: Path) -> list[Path]:
    """Write both pictures, each as PNG and SVG, into the folder."""
    return [
        *save(draw_regret(check), folder, "theory-regret"),
        *save(draw_trade(check), folder, "theory-trade"),
    ]


def draw_regret(check: Check) -> Figure:
    """Mean cumulative regret with the bounds and, below, alone; a panel for each l, a colour for each tau."""
    plain, others = check.runs[0], check.runs[1:]
    numbers = list(dict.fromkeys(runs.schedule.number for runs in others)) or ["none"]
    distances = list(dict.fromkeys(runs.schedule.distance for runs in others))
    figure, grid = canvas(2, len(numbers), (3.1 * len(numbers) + 2.2, 6.4))
    for axes, first in zip(grid.flat, np.repeat(grid[:, 0], len(numbers)), strict=True):
        axes.sharey(first)
        axes.spines[["top", "right"]].set_visible(False)
        axes.label_outer()
    T, lines = np.arange(1, plain.regret.shape[1] + 1), {}
    for column, number in enumerate(numbers):
        above, below = grid[:, column]
        (range_line,) = above.plot(T, T * check.spread, color=GREY, ls=":")
        for runs in (*(runs for runs in others if runs.schedule.number == number), plain):
            name = "no pseudo-points" if runs is plain else runs.schedule.distance
            colour = BLACK if runs is plain else COLOURS[distances.index(name) % len(COLOURS)]
            above.plot(T, runs.bound, color=colour, ls="--", lw=1.2)
            for axes in (above, below):
                (lines[name],) = axes.plot(T, runs.regret.mean(axis=0), color=colour, lw=1.4)
        above.set(yscale="log", title=number)
        below.set_xlabel("iteration T")
    grid[1, 0].set_ylim(bottom=0.0)
    grid[0, 0].set_ylabel("mean regret (solid), bound (dashed)")
    grid[1, 0].set_ylabel("mean cumulative regret")
    order = ["no pseudo-points", *distances]
    handles = [*(lines[name] for name in order), range_line]
    figure.legend(handles, [*order, "T · (max f - min f)"], loc="outside right center", frameon=False)
    return figure


def draw_trade(check: Check) -> Figure:
    """Variance reduction (Lemma 1) and squared error of the mean (Lemma 3) over tau."""
    trade = check.trade
    figure, ((axes,),) = canvas(1, 1, (6.4, 4.2))
    axes.loglog(trade.tau, trade.reduction, color=COLOURS[3], marker="o", ms=4, label="variance reduction")
    axes.loglog(trade.tau, trade.error, color=COLOURS[0], marker="s", ms=4, label="squared error of the mean")
    axes.loglog(trade.tau, trade.shift, color=COLOURS[0], ls="--", label="… from f(x) - f(x') alone")
    axes.axvline(check.lengthscale, color=GREY, ls=":", label="length-scale")
    axes.set(xlabel="distance τ of the pseudo-points", ylabel="mean over points and draws (variance of f: 1)")
    axes.set_title(f"one pseudo-point for each of {OBSERVED} observations, d = {check.assumptions.d}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
