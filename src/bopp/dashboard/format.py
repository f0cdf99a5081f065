"""Format: values, links and errors as the pages have them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from bopp.errors import BoppError
from bopp.legible import cut, described, legible, one_line
from bopp.study.address import censored

LONGEST_CELL = 60  # characters


def link(path: str, **query: Any) -> str:
    """A URL within the dashboard; what is None or empty is left out."""
    given = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given, doseq=True)}"


def shown(value: Any) -> str:
    """A value as the command line shows it alone: a text as it is, anything else as Python writes it."""
    return legible(value if isinstance(value, str) else repr(value))


def brief(value: Any) -> str:
    """A value as it fits a table: six digits of a number, nothing for None."""
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else shown(value)
    return cut(one_line(text), LONGEST_CELL)


def reason(error: Exception) -> str:
    """What went wrong, without a password."""
    return censored(str(error) if isinstance(error, BoppError) else described(error))
