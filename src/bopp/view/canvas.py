"""The canvas: empty figures, text and numbers that matplotlib can draw, and files; needs the `plot` extra."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from os.path import splitext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bopp.data import Array
from bopp.errors import MissingExtra, RecipeError, installation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 6.4, 4.0  # inches: the width of every picture that does not need more, and the height of most
DPI = 150
LETTERS, FEW = 28, 14  # most letters of a name, and of a name in a narrow place
LONGEST = 400  # inches: matplotlib draws at most 2^16 dots, here DPI per inch
LARGEST = 1e306  # beyond this, matplotlib's limits and margins would overflow
NARROW = 1e-12  # of its size is the least range that matplotlib divides into marks


def canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """An empty figure and its panels (rows, columns)."""
    figure = _empty(min(size[0], LONGEST), min(size[1], LONGEST))
    return figure, figure.subplots(rows, columns, squeeze=False)


def _empty(width: float, height: float) -> Figure:
    """A figure of this size with nothing on it."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        from bopp.view.figure import Figure
    except ImportError as error:
        raise MissingExtra(f"pictures want matplotlib: {installation('plot')}", extra="plot") from error
    figure = Figure((width, height), layout="constrained")
    FigureCanvasAgg(figure)  # no screen, no global state
    return figure


def drawable(text: str, most: int = LETTERS) -> str:
    """Text that can be drawn: letters that no font has are escaped, and a long text is cut in the middle."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    fonts = [get_font(findfont(FontProperties(family=[family]))) for family in FontProperties().get_family()]

    def drawn(letter: str) -> str:
        known = letter.isprintable() and any(font.get_char_index(ord(letter)) for font in fonts)
        return letter if known else letter.encode("unicode_escape").decode()

    text = "".join(map(drawn, text))
    if len(text) > most:
        text = text[: most // 2] + "\N{HORIZONTAL ELLIPSIS}" + text[len(text) - (most - most // 2 - 1) :]
    return text.replace("$", r"\$")  # a dollar would start a formula


def bounded(values: npt.ArrayLike) -> Array:
    """The values, clipped to what matplotlib can draw."""
    return np.clip(np.asarray(values, dtype=np.float64), -LARGEST, LARGEST)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and as SVG; the same data always give the same files."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    figure.savefig(png, dpi=DPI)
    with matplotlib.rc_context({"svg.hashsalt": name}):  # the same ids inside the file each time
        figure.savefig(svg, metadata={"Date": None})
    return [png, svg]


def drawn(path: str | PathLike[str] | None, draw: Callable[[], Figure]) -> Figure:
    """The figure, also saved to a file if a path is given, which is checked before anything is computed."""
    if path is None:
        return draw()
    text = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(text, str):
        raise RecipeError(f"wanted a path such as 'picture.png', got {path!r}")
    endings = _empty(*SIZE).canvas.get_supported_filetypes()
    if splitext(text)[1].removeprefix(".").lower() not in endings:
        wanted = ", ".join(f".{ending}" for ending in sorted(endings))
        raise RecipeError(f"wanted a path that ends in one of {wanted}, got {text!r}")
    figure = draw()
    figure.savefig(path, dpi=DPI)
    return figure
