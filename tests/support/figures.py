"""What a drawn figure shows."""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bopp import Optimizer, Result
from bopp.parameter import Parameter
from bopp.problem import Direction


def run_of(
    space: dict[str, Parameter], values: list[float | None], direction: Direction = "minimize"
) -> Result:
    """Random points with these values; None is a failed trial."""
    opt = Optimizer(space, direction)
    rng = np.random.default_rng(0)
    for value in values:
        opt.enqueue(opt.space.decode(rng.random(opt.space.dimension)))
        opt.tell(opt.ask(), value)
    return opt.result


def title_of(figure: Figure) -> str:
    return figure.get_suptitle()


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def png_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture, from the head of the file."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def dots_of(axes: Axes, label: str = "evaluation") -> np.ndarray:
    """Where the dots of this label stand."""
    rows = [np.asarray(row.get_offsets()) for row in axes.collections if row.get_label() == label]
    return np.concatenate(rows) if rows else np.empty((0, 2))


def each_once(rows: Iterable[Any], columns: Iterable[Any]) -> list[Any]:
    """Every pair of a row and a column; all but one column for each row run with the endurance tests."""
    across = list(columns)
    return [
        pytest.param(row, column, marks=[] if i % len(across) == j else pytest.mark.endurance)
        for i, row in enumerate(rows)
        for j, column in enumerate(across)
    ]
