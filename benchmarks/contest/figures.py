"""Figures of the contest: regret against evaluations with bands, and data profiles."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from bopp.data import Array
from contest.standings import OURS, Field
from contest.statistics import curves, profiles

COLUMNS = 3
TITLE = 40  # characters in a line
COLOURS = 128  # of a picture, which keeps its file small
STYLES = {  # colours that the colour-blind tell apart, from Okabe and Ito and from Tol
    "bopp": ("#000000", "-"),
    "gpsampler": ("#D55E00", "-"),
    "botorch": ("#0072B2", "-"),
    "tpe": ("#009E73", "--"),
    "smac-bb": ("#CC79A7", "-"),
    "smac-hpo": ("#CC79A7", "--"),
    "skopt": ("#E6AB02", "-."),
    "cmaes": ("#56B4E9", "--"),
    "ngopt": ("#882255", "-."),
    "turbo": ("#0072B2", ":"),
    "sobol": ("#888888", ":"),
}
OTHER = ("#888888", "-.")


def regret_figure(fields: Mapping[str, Field]) -> Figure:
    """The mean log10 regret of each peer against evaluations."""
    figure, panels = _panels(fields)
    for axes, (title, field) in zip(panels, fields.items(), strict=False):
        begin = _given(field)
        for peer, curve in curves(field.scores).items():
            x = range(begin, len(curve.mean) + 1)
            colour, _ = STYLES.get(peer, OTHER)
            axes.fill_between(
                x, curve.low[begin - 1 :], curve.high[begin - 1 :], color=colour, alpha=0.1, lw=0
            )
            _line(axes, peer, x, curve.mean[begin - 1 :])
        axes.set(title=fill(title, TITLE), xlim=(begin, field.scores.budget))
    return _finished(figure, panels, fields, "mean log10 regret")


def profile_figure(fields: Mapping[str, Field]) -> Figure:
    """The share of targets that each peer had reached, against evaluations."""
    figure, panels = _panels(fields)
    for axes, (title, field) in zip(panels, fields.items(), strict=False):
        begin = _given(field)
        for peer, profile in profiles(field.scores).items():
            _line(axes, peer, range(begin, len(profile) + 1), profile[begin - 1 :])
        axes.set(title=fill(title, TITLE), xlim=(begin, field.scores.budget), ylim=(0, None))
    return _finished(figure, panels, fields, "share of targets reached")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file with few colours."""
    figure.savefig(path, dpi=110)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def _panels(fields: Mapping[str, Field]) -> tuple[Figure, list[Axes]]:
    columns = min(COLUMNS, len(fields))
    rows = -(-len(fields) // columns)
    figure = Figure((1.0 + 3.3 * columns, 0.9 + 2.7 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def _given(field: Field) -> int:
    """The fewest given points of any task, where all curves begin."""
    return min(subject.given for subject in field.scores.subjects)


def _line(axes: Axes, peer: str, x: Sequence[int], y: Array) -> None:
    colour, style = STYLES.get(peer, OTHER)
    ours = peer == OURS
    axes.plot(x, y, color=colour, ls=style, lw=2.8 if ours else 1.3, zorder=3 if ours else 2, label=peer)


def _finished(figure: Figure, panels: list[Axes], fields: Mapping[str, Field], label: str) -> Figure:
    """Names at the axes, one legend for all panels below them, and no empty panels."""
    for axes in panels[len(fields) :]:
        axes.remove()
    for axes in panels[: len(fields)]:
        axes.title.set_fontsize(10)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, lw=0.5)
    figure.supxlabel("evaluations, given points included", fontsize=9)
    figure.supylabel(label, fontsize=9)
    lines = {str(line.get_label()): line for axes in panels[: len(fields)] for line in axes.get_lines()}
    names = [peer for peer in STYLES if peer in lines] + [peer for peer in lines if peer not in STYLES]
    handles = [lines[name] for name in names]
    figure.legend(
        handles, names, loc="outside upper center", ncols=6, frameon=False, fontsize=9, handlelength=3
    )
    return figure
