"""Frames: trials as a pandas DataFrame, and measurements of one as trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bopp.errors import MissingExtra, TellError
from bopp.problem import Problem
from bopp.rows import BREAKS, FIRST, LAST, columns, observed
from bopp.trial import TIMES, Trial

if TYPE_CHECKING:
    from pandas import DataFrame, Series

WORDS = {*FIRST, *LAST, BREAKS} - {"number", *TIMES}  # columns that are no numbers, even where they are empty
LARGEST = 2**63  # what pandas can hold as an integer is below this


def to_frame(problem: Problem, trials: Sequence[Trial]) -> DataFrame:
    """A row for each trial."""
    pandas = _pandas()
    return pandas.DataFrame({name: _series(name, cells) for name, cells in columns(problem, trials).items()})


def from_frame(frame: DataFrame, problem: Problem, value: str | None = None) -> list[Trial]:
    """The rows as observed trials; an error names the row by its index, and the column."""
    if not isinstance(frame, _pandas().DataFrame):
        raise TellError(f"wanted a pandas DataFrame, got {frame!r}")
    cells = frame.astype(object).where(frame.notna(), None)  # so that None is the only blank
    names = [str(name) for name in frame.columns]
    rows = (dict(zip(names, row, strict=True)) for row in cells.itertuples(index=False, name=None))
    places = (f"row {label!r}" for label in frame.index.tolist())
    return observed(problem, names, zip(places, rows, strict=True), value)


def _series(name: str, cells: list[Any]) -> Series:
    pandas = _pandas()
    if name in TIMES:
        return pandas.Series(pandas.to_datetime(cells, utc=True))
    there = [cell for cell in cells if cell is not None]
    kinds = {type(cell) for cell in there}
    if name not in WORDS and (kinds == {int} or name == "number") and all(abs(n) < LARGEST for n in there):
        return pandas.Series(cells, dtype="int64" if len(there) == len(cells) else "Int64")
    if name not in WORDS and kinds <= {float}:
        return pandas.Series(cells, dtype="float64")
    if len(there) == len(cells) and kinds in ({bool}, {str}):
        return pandas.Series(cells)
    return pandas.Series(cells, dtype=object)  # a large integer would lose its last digits as a float


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra("tables want pandas: pip install pandas") from error
    return pandas
