"""Bridges: bopp inside the tools people already use, one module each, with an extra of the same name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bopp.errors import MissingExtra, installation


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Wraps the imports that the extra of this name installs; if they fail, the error names the extra."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(f"bopp.bridges.{name} wants {installation(name)}: {error}", extra=name) from error
