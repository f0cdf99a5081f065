"""Bridges: bopp inside the tools people already use, one room each, with an extra of the same name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bopp.errors import MissingExtra


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Imports inside are what the extra of this name brings; without it, one line says so."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(f"bopp.bridges.{name} wants pip install 'bopp[{name}]': {error}") from error
