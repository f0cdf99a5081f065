"""Pictures of a result; they need the `plot` extra."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.errors import MissingExtra, NoResultError, SpaceError
from bopp.importance import importance
from bopp.parameter import Choice
from bopp.result import Result
from bopp.suggest import Recipe, believe
from bopp.threads import one_thread
from bopp.trial import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, LINE, BAND = "#8a9bb0", "#b3364a", "#e7b7be"
WIDEST = 4  # slices side by side
LETTERS, FEW = 28, 14  # letters of a name, of a name in a narrow place
LONGEST = 400  # inches: matplotlib draws 2^16 dots, 150 an inch
LARGEST = 1e306  # beyond, what matplotlib computes of limits and margins would overflow
OPTIONS = 30  # options of a Choice that are named along an axis


def convergence(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """The value of each finished trial, the best so far, and a mark where a trial failed."""
    finished = finished_trials(result, "a convergence plot")
    numbers = [trial.number + 1 for trial in finished]
    values = np.clip([trial.value or 0.0 for trial in finished], -LARGEST, LARGEST)
    running = np.minimum if result.direction == "minimize" else np.maximum
    figure, ((axes,),) = canvas(1, 1, (6.4, 4.0))
    best = running.accumulate(values)
    low, high = ends(values, best[-1])
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin
    shown = np.clip(values, low, high)
    axes.scatter(numbers, shown, s=18, color=DOTS, label="evaluation", clip_on=False)
    outside = shown != values
    if outside.any():
        where = "^" if result.direction == "minimize" else "v"
        edge = np.array(numbers)[outside], shown[outside]
        axes.scatter(*edge, s=40, marker=where, color=DOTS, label="beyond the picture", clip_on=False)
    axes.step(numbers, best, where="post", color=LINE, label="best so far")
    axes.set_ylim(low, high)
    failed = [trial.number + 1 for trial in result.trials if trial.state == "failed"]
    if failed:
        bottom = axes.get_xaxis_transform()
        axes.scatter(
            failed, [0.02] * len(failed), marker="x", color="black", transform=bottom, label="failed"
        )
    axes.set(xlabel="evaluation", ylabel="value", title=f"{result.direction}: best {result.best.value:.6g}")
    axes.legend(framealpha=0.9)
    return saved(figure, path)


@one_thread()
def slices(
    result: Result, names: Sequence[str] | None = None, path: str | PathLike[str] | None = None
) -> Figure:
    """The model's mean and two standard deviations along each parameter, the others as in the best trial."""
    names = list(result.space.parameters) if names is None else list(names)
    unknown = [name for name in names if name not in result.space.parameters]
    if unknown or not names:
        raise SpaceError(f"wanted some of the parameters {list(result.space.parameters)}, got {names}")
    finished_trials(result, "a slice")
    scale, posteriors = believe(result.history(), Recipe.default(), (0, 0))
    sign = 1.0 if result.direction == "maximize" else -1.0
    rows = -(-len(names) // WIDEST)
    columns = min(len(names), WIDEST)
    figure, grid = canvas(rows, columns, (3.2 * columns + 0.6, 3.0 * rows))
    for axes in grid.flat[len(names) :]:
        axes.remove()
    for axes, name in zip(grid.flat, names, strict=False):
        values, U = _line(result, name)
        mean, sd = posteriors[0](U)
        with np.errstate(over="ignore"):  # of values near the largest float
            band = [sign * scale.inverse(z) for z in (mean, mean - 2 * sd, mean + 2 * sd)]
        middle, low, high = np.clip(band, -LARGEST, LARGEST)
        _draw_slice(axes, result, name, values, (middle, low, high))
    return saved(figure, path)


def importances(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """How much of the variation each parameter takes part in, the most important on top."""
    indices = importance(result)
    names = sorted(indices, key=lambda name: -indices[name])
    shares = [indices[name] for name in names]
    figure, ((axes,),) = canvas(1, 1, (6.4, 1.0 + 0.3 * len(names)))
    bars = axes.barh(range(len(names)), shares, height=0.7, color=DOTS)
    axes.bar_label(bars, [f"{share:.2f}" for share in shares], padding=3)
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set(
        xlim=(0.0, 1.1), ylim=(len(names) - 0.4, -0.6), xlabel="part of the variation that it is involved in"
    )
    axes.set_xticks(np.linspace(0.0, 1.0, 6))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return saved(figure, path)


def _line(result: Result, name: str) -> tuple[list[Any], Array]:
    """Values of one parameter, and the points of the best trial moved to these values."""
    parameter = result.space.parameters[name]
    if isinstance(parameter, Choice):
        values = list(parameter.options)
    else:
        steps = np.linspace(0.0, 1.0, 101)
        values = list(dict.fromkeys(parameter.decode([u] + [0.5] * (parameter.width - 1)) for u in steps))
    points = [result.space.encode(result.best.params | {name: value}) for value in values]
    return values, np.array(points)


def _draw_slice(
    axes: Axes, result: Result, name: str, values: list[Any], band: tuple[Array, Array, Array]
) -> None:
    parameter = result.space.parameters[name]
    finished = [trial for trial in result.trials if trial.value is not None]
    middle, low, high = band
    if isinstance(parameter, Choice):
        places = np.arange(len(values))
        shown, labels = options_shown(parameter)
        axes.errorbar(places, middle, np.abs(np.array([middle - low, high - middle])), fmt="o", color=LINE)
        axes.set_xticks(shown, labels)
        if sum(map(len, labels)) > 24:
            axes.tick_params(axis="x", rotation=90, labelsize=6 if len(labels) > 16 else 8)
        seen = [float(parameter.index(trial.params[name])) for trial in finished]
    else:
        line = [float(value) for value in values]
        axes.fill_between(line, np.minimum(low, high), np.maximum(low, high), color=BAND, lw=0)
        axes.plot(line, middle, color=LINE)
        axes.set_xscale("log" if parameter.log else "linear")
        seen = [float(trial.params[name]) for trial in finished]
    dots = np.clip([trial.value or 0.0 for trial in finished], -LARGEST, LARGEST)
    axes.scatter(seen, dots, s=12, color=DOTS, zorder=3)
    axes.set(xlabel=plain(name), ylabel="value")


def options_shown(choice: Choice) -> tuple[range, list[str]]:
    """The options of a Choice that are named along an axis, and their names."""
    shown = range(0, len(choice.options), -(-len(choice.options) // OPTIONS))
    return shown, [plain(str(choice.options[i]), FEW) for i in shown]


def finished_trials(result: Result, picture: str) -> list[Trial]:
    """The trials that a picture shows; at least one."""
    finished = [trial for trial in result.trials if trial.value is not None]
    if not finished:
        raise NoResultError(f"{picture} wants at least one finished trial")
    return finished


def ends(values: Array, best: float) -> tuple[float, float]:
    """An interval with the best value and nine tenths of the others, not the worst outliers."""
    low = np.quantile(values, 0.1, method="lower")  # values that are there: a mean of two could overflow
    high = np.quantile(values, 0.9, method="higher")
    return float(min(best, low)), float(max(best, high))


def canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """An empty figure and its panels (rows, columns)."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("pictures want matplotlib: pip install 'bopp[plot]'") from error
    figure = Figure((min(size[0], LONGEST), min(size[1], LONGEST)), layout="constrained")
    FigureCanvasAgg(figure)  # no screen, no global state
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and as SVG; drawn again from the same data, the files are the same."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.savefig(png, dpi=100)
    with matplotlib.rc_context({"svg.hashsalt": name}):  # names of parts that are the same each time
        figure.savefig(svg, metadata={"Date": None})
    return [png, svg]


def plain(text: str, most: int = LETTERS) -> str:
    """Text as it can be drawn: letters that no font has are escaped, and a long text loses its middle."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = [get_font(findfont(FontProperties(family=[family]))) for family in FontProperties().get_family()]

    def drawn(letter: str) -> str:
        known = letter.isprintable() and any(font.get_char_index(ord(letter)) for font in fonts)
        return letter if known else letter.encode("unicode_escape").decode()

    text = "".join(map(drawn, text))
    if len(text) > most:
        text = text[: most // 2] + "\N{HORIZONTAL ELLIPSIS}" + text[len(text) - (most - most // 2 - 1) :]
    return text.replace("$", r"\$")  # a dollar would start a formula


def saved(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    """The figure, and a file of it where a path is given."""
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
