"""Seal: a checksum beside each row of a store, so that a bit which flips on a disk is noticed.

It is the CRC-32 of the fields as text, the same on every processor and in every database. Rows of versions
without seals have none, and get one when they are changed. A ticket and a lease are not sealed: they say who
works on a trial until when, change all the time, and no result depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

from bopp.errors import StoreError

STUDY = ("id", "name", "space", "direction", "seed", "recipe", "created_at", "problem", "paused")
TRIAL = (
    *("study", "number", "revision", "params", "state", "value", "error", "origin", "asked_at", "told_at"),
    *("worker", "notes", "more", "traceback", "superseded"),
)
QUEUED = ("ticket", "study", "place", "params", "popped")
"""The fields under a seal, in the order in which they are sealed, for ever; a later one goes to the end and
counts only where it is not NULL, so that earlier seals stay valid."""

LATER = frozenset({"paused"})  # which were not there when rows were first sealed
BETWEEN = "\0"  # no text in a database has it


def seal(fields: Iterable[Any]) -> str:
    """The seal of fields: texts, numbers, booleans and None."""
    text = BETWEEN.join(map(str, fields))
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def sealed(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The row with its seal."""
    return {**row, "seal": seal(_counted(row, names))}


def check(row: Any, names: tuple[str, ...], what: str, where: str) -> None:
    """Refuse a row, by name, that has changed since it was sealed; `where` finds it in SQL."""
    if row["seal"] is not None and row["seal"] != seal(_counted(row, names)):
        raise broken(what, where)


def _counted(row: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    """The fields of a row under its seal."""
    return [row.get(name) for name in names if name not in LATER or row.get(name) is not None]


def broken(what: str, where: str) -> StoreError:
    """The error about a row that has changed since it was sealed."""
    return StoreError(
        f"{what} is not as bopp wrote it: the store is damaged. Put back a copy of the store; or look at the "
        f"row, and have it accepted as it is by setting its seal to NULL ({where})"
    )
