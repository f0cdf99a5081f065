"""Pictures of a result; they need the `plot` extra."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bopp.data import Array
from bopp.errors import MissingExtra, NoResultError, SpaceError
from bopp.parameter import Choice
from bopp.result import Result
from bopp.suggest import Recipe, believe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, LINE, BAND = "#8a9bb0", "#b3364a", "#e7b7be"
WIDEST = 4  # slices side by side


def convergence(result: Result, path: str | PathLike[str] | None = None) -> Figure:
    """The value of each finished trial, the best so far, and a mark where a trial failed."""
    finished = [trial for trial in result.trials if trial.value is not None]
    if not finished:
        raise NoResultError("a convergence plot wants at least one finished trial")
    numbers = [trial.number + 1 for trial in finished]
    values = np.array([trial.value for trial in finished], dtype=float)
    running = np.minimum if result.direction == "minimize" else np.maximum
    figure, ((axes,),) = canvas(1, 1, (6.4, 4.0))
    best = running.accumulate(values)
    low, high = _window(values, best[-1])
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
    if not any(trial.state == "done" for trial in result.trials):
        raise NoResultError("a slice wants at least one finished trial")
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
        middle, low, high = (sign * scale.inverse(z) for z in (mean, mean - 2 * sd, mean + 2 * sd))
        _draw_slice(axes, result, name, values, (middle, low, high))
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
        axes.errorbar(places, middle, np.abs(np.array([middle - low, high - middle])), fmt="o", color=LINE)
        axes.set_xticks(places, [_plain(str(value)) for value in values])
        seen = [float(parameter.index(trial.params[name])) for trial in finished]
    else:
        line = [float(value) for value in values]
        axes.fill_between(line, np.minimum(low, high), np.maximum(low, high), color=BAND, lw=0)
        axes.plot(line, middle, color=LINE)
        axes.set_xscale("log" if parameter.log else "linear")
        seen = [float(trial.params[name]) for trial in finished]
    axes.scatter(seen, [trial.value or 0.0 for trial in finished], s=12, color=DOTS, zorder=3)
    axes.set(xlabel=_plain(name), ylabel="value")


def _window(values: Array, best: float) -> tuple[float, float]:
    """Limits that show the best value and nine tenths of the others, not the worst outliers."""
    low, high = np.quantile(values, [0.1, 0.9])
    low, high = min(best, low), max(best, high)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return float(low - margin), float(high + margin)


def canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """An empty figure and its panels (rows, columns)."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("pictures want matplotlib: pip install 'bopp[plot]'") from error
    figure = Figure(size, layout="constrained")
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


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # a dollar would start a formula


def _saved(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
