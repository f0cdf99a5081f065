"""Pictures of a result; they need the `plot` extra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.errors import MissingExtra, NoResultError, SpaceError
from bopp.importance import importance
from bopp.parameter import Choice, Float, Int, Parameter
from bopp.result import Result
from bopp.suggest import Recipe, believe
from bopp.trial import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, LINE, BAND = "#8a9bb0", "#b3364a", "#e7b7be"
WORSE, BETTER, GREY = "#cdd8e4", "#1f4a7d", "#777777"
WIDEST = 4  # slices side by side
LETTERS, FEW = 28, 14  # letters of a name, of a name in a narrow place
LONGEST = 400  # inches: matplotlib draws 2^16 dots, 150 an inch
LARGEST = 1e306  # beyond, what matplotlib computes of limits and margins would overflow
OPTIONS = 30  # options of a Choice that are named along an axis


def convergence(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """The value of each finished trial, the best so far, and a mark where a trial failed."""
    finished = _finished(result, "a convergence plot")
    numbers = [trial.number + 1 for trial in finished]
    values = np.clip([trial.value or 0.0 for trial in finished], -LARGEST, LARGEST)
    running = np.minimum if result.direction == "minimize" else np.maximum
    figure, ((axes,),) = canvas(1, 1, (6.4, 4.0))
    best = running.accumulate(values)
    low, high = _ends(values, best[-1])
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
    return _saved(figure, path)


def slices(
    result: Result, names: Sequence[str] | None = None, path: str | PathLike[str] | None = None
) -> Figure:
    """The model's mean and two standard deviations along each parameter, the others as in the best trial."""
    names = list(result.space.parameters) if names is None else list(names)
    unknown = [name for name in names if name not in result.space.parameters]
    if unknown or not names:
        raise SpaceError(f"wanted some of the parameters {list(result.space.parameters)}, got {names}")
    _finished(result, "a slice")
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
    return _saved(figure, path)


def importances(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """How much of the variation each parameter takes part in, the most important on top."""
    indices = importance(result)
    names = sorted(indices, key=lambda name: -indices[name])
    shares = [indices[name] for name in names]
    figure, ((axes,),) = canvas(1, 1, (6.4, 1.0 + 0.3 * len(names)))
    bars = axes.barh(range(len(names)), shares, height=0.7, color=DOTS)
    axes.bar_label(bars, [f"{share:.2f}" for share in shares], padding=3)
    axes.set_yticks(range(len(names)), [_plain(name) for name in names])
    axes.set(
        xlim=(0.0, 1.1), ylim=(len(names) - 0.4, -0.6), xlabel="part of the variation that it is involved in"
    )
    axes.set_xticks(np.linspace(0.0, 1.0, 6))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return _saved(figure, path)


def parallel(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """Each trial as a line through its params to its value, the better the darker; failed ones are dashed."""
    finished = _finished(result, "a parallel plot")
    values = np.array([trial.value for trial in finished], dtype=float)
    low, high = _ends(values, result.best.value or 0.0)
    scale: Parameter = Float(low, high) if low < high else Choice([f"{low:.6g}"])
    heights = np.array([_place(scale, value) for value in np.clip(values, low, high).tolist()])
    size = len(result.space.parameters)
    figure, ((axes,),) = canvas(1, 1, (max(4.8, 1.6 + 1.3 * size), 5.0))
    _draw_trials(axes, result, finished, heights)
    for column, parameter in enumerate(result.space.parameters.values()):
        _draw_scale(axes, column, _ticks(parameter))
    ticks = _ticks(scale)
    if (values < low).any():
        ticks[0] = (0.0, f"\u2264 {ticks[0][1]}")
    if (values > high).any():
        ticks[-1] = (1.0, f"\u2265 {ticks[-1][1]}")
    _draw_scale(axes, size, ticks, right=True)
    names = [*(_plain(name) for name in result.space.parameters), "value"]
    slanted = {"rotation": 20, "ha": "left"} if max(map(len, names)) > FEW else {}
    axes.set_xticks(range(size + 1), names, **slanted)
    axes.tick_params(axis="x", top=False, bottom=False, labeltop=True, labelbottom=False)
    axes.set(yticks=[], ylim=(-0.03, 1.03), xlim=(-0.15, size + 0.15))
    axes.set_title(f"{result.direction}: best {result.best.value:.6g}")
    axes.spines[:].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    return _saved(figure, path)


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
        shown, labels = _options(parameter)
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
    axes.set(xlabel=_plain(name), ylabel="value")


def _draw_trials(axes: Axes, result: Result, finished: list[Trial], heights: Array) -> None:
    """The lines of the trials, the best on top; failed ones end in a cross before they reach a value."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap

    def through(trial: Trial) -> list[float]:
        return [_place(parameter, trial.params[name]) for name, parameter in result.space.parameters.items()]

    size = len(result.space.parameters)
    failed = [through(trial) for trial in result.trials if trial.state == "failed"]
    if failed:
        segments = [np.column_stack([range(size), row]) for row in failed]
        axes.add_collection(LineCollection(segments, colors=GREY, linewidths=0.8, linestyles="dashed"))
        axes.plot([size - 1] * len(failed), [row[-1] for row in failed], "x", color=GREY)
        axes.plot([], [], "x--", lw=0.8, color=GREY, label="failed")
    better = heights if result.direction == "maximize" else -heights
    levels, ranks = np.unique(better, return_inverse=True)  # by rank: most trials of a run are nearly as good
    behind = (len(levels) - 1 - ranks) / max(len(levels) - 1, 1)
    colours = LinearSegmentedColormap.from_list("worse", [BETTER, WORSE])(behind)
    rows = np.column_stack([[through(trial) for trial in finished], heights])
    order = np.argsort(better, kind="stable")
    segments = [np.column_stack([range(size + 1), rows[i]]) for i in order]
    width = 0.8 if len(finished) > 100 else 1.3
    axes.add_collection(LineCollection(segments, colors=colours[order], linewidths=width))
    axes.plot(range(size + 1), rows[finished.index(result.best)], color=LINE, lw=2.5, label="best")


def _draw_scale(axes: Axes, column: int, ticks: list[tuple[float, str]], right: bool = False) -> None:
    """An upright axis with marks, its labels on one side."""
    axes.plot([column, column], [0.0, 1.0], color="black", lw=1.0)
    axes.plot([column] * len(ticks), [place for place, _ in ticks], "_", color="black", ms=6)
    size = 6 if len(ticks) > 16 else 8
    paper = {"boxstyle": "square,pad=0.1", "color": "white", "alpha": 0.75, "lw": 0}
    for place, label in ticks:
        axes.annotate(
            label,
            (column, place),
            (6 if right else -6, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=size,
            bbox=paper,
        )


def _place(parameter: Parameter, value: Any) -> float:
    """Where a value stands on an axis from 0 to 1."""
    if not isinstance(parameter, Choice):
        return parameter.encode(value)[0]
    last = len(parameter.options) - 1
    return parameter.index(value) / last if last else 0.5


def _ticks(parameter: Parameter) -> list[tuple[float, str]]:
    """Places on an axis from 0 to 1 and what stands there: some options, or both ends and round numbers."""
    if isinstance(parameter, Choice):
        shown, labels = _options(parameter)
        return [
            (_place(parameter, parameter.options[i]), label) for i, label in zip(shown, labels, strict=True)
        ]
    low, high = parameter.low, parameter.high
    inner: dict[float, float] = {}
    for number in _round_numbers(float(low), float(high), parameter.log):
        number = round(number) if isinstance(parameter, Int) else number
        if low < number < high and 0.06 < (place := _place(parameter, number)) < 0.94:
            inner[place] = number
    numbers = {0.0: low} | inner | {1.0: high}
    for digits in range(6, 18):
        labels = [f"{float(number):.{digits}g}" for number in numbers.values()]
        if len(set(labels)) == len(labels):
            break
    return list(zip(numbers, labels, strict=True))


def _round_numbers(low: float, high: float, log: bool = False) -> list[float]:
    """About five numbers between low and high: multiples of a power of ten, or such powers themselves."""
    if log and math.log10(high) - math.log10(low) > 2.0:
        exponents = _round_numbers(math.log10(low), math.log10(high))
        return [10.0**exponent for exponent in exponents if exponent.is_integer()]
    least = high / 5 - low / 5
    if least < 1e-300:
        return []
    power = 10.0 ** math.floor(math.log10(least))
    step = next((factor * power for factor in (1, 2, 5) if factor * power > 0.99 * least), 10 * power)
    return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _options(choice: Choice) -> tuple[range, list[str]]:
    """The options of a Choice that are named along an axis, and their names."""
    shown = range(0, len(choice.options), -(-len(choice.options) // OPTIONS))
    return shown, [_plain(str(choice.options[i]), FEW) for i in shown]


def _finished(result: Result, picture: str) -> list[Trial]:
    finished = [trial for trial in result.trials if trial.value is not None]
    if not finished:
        raise NoResultError(f"{picture} wants at least one finished trial")
    return finished


def _ends(values: Array, best: float) -> tuple[float, float]:
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


def _plain(text: str, most: int = LETTERS) -> str:
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


def _saved(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
