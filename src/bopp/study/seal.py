"""Seal: a checksum beside each row of a store, so that a bit which flips on a disk is noticed.

It is the CRC-32 of the fields as text, the same on every processor and in every database. A ticket and a
lease are not sealed: they say who works on a trial until when, change all the time, and no result depends on
them. A row whose seal is NULL is accepted as it is, and gets one when it is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

from bopp.errors import StoreError

STUDY = ("id", "name", "space", "problem", "seed", "recipe", "created_at", "paused")
TRIAL = (
    *("study", "number", "revision", "params", "state", "value", "error", "origin", "asked_at", "told_at"),
    *("worker", "notes", "more", "traceback", "superseded"),
)
QUEUED = ("ticket", "study", "place", "params", "popped")
"""The fields under a seal, in the order in which they are sealed."""

BETWEEN = "\0"  # no text in a database has it


def seal(fields: Iterable[Any]) -> str:
    """The seal of fields: texts, numbers, booleans and None."""
    text = BETWEEN.join(map(str, fields))
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def sealed(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The row with its seal."""
    return {**row, "seal": seal(map(row.get, names))}


def check(row: Any, names: tuple[str, ...], what: str, where: str) -> None:
    """Refuse a row, by name, that has changed since it was sealed; `where` finds it in SQL."""
    if row["seal"] is not None and row["seal"] != seal(map(row.get, names)):
        raise broken(what, where)


def broken(what: str, where: str) -> StoreError:
    """The error about a row that has changed since it was sealed."""
    return StoreError(
        f"{what} is not as bopp wrote it: the store is damaged. Put back a copy of the store; or look at the "
        f"row, and have it accepted as it is by setting its seal to NULL ({where})"
    )
