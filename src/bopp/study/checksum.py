"""Checksum: kept beside each row of a store, so that a bit which flips on a disk is noticed.

It is the CRC-32 of the columns that the schema declares before `seal`, as text, the same on every processor
and in every database. The columns after it may change without a new checksum: a ticket and a lease say who
works on a trial until when, and no result depends on them. A row whose checksum is NULL is accepted as it is,
and gets one when it is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

import sqlalchemy as sa

from bopp.errors import StoreError
from bopp.study.schema import queue, studies, trials

BETWEEN = "\0"  # no text in a database has it


def _covered(table: sa.TableClause) -> list[str]:
    names = [column.name for column in table.columns]
    return names[: names.index("seal")]


COVERED = {table: _covered(table) for table in (studies, trials, queue)}
"""The columns of each table that its checksum covers, in their order."""


def checksum(values: Iterable[Any]) -> str:
    """The checksum of values: texts, numbers, booleans and None."""
    text = BETWEEN.join(map(str, values))
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def with_checksum(table: sa.TableClause, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a table with its checksum."""
    return {**row, "seal": checksum(map(row.get, COVERED[table]))}


def check(table: sa.TableClause, row: Any, what: str, where: str) -> None:
    """Refuse a row, by name, that has changed since it was written; `where` finds it in SQL."""
    if row["seal"] is not None and row["seal"] != checksum(map(row.get, COVERED[table])):
        raise damaged(what, where)


def damaged(what: str, where: str) -> StoreError:
    """The error about a row that has changed since it was written."""
    return StoreError(
        f"{what} is not as bopp wrote it: the store is damaged. Put back a copy of the store; or look at the "
        f"row, and have it accepted as it is by setting its seal to NULL ({where})"
    )
