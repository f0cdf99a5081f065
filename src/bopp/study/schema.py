"""Schema: the tables of a store, and the migrations that lead to them from those of an older version.

A new store is created as version 1 and takes every migration, an older one those that it lacks, in one
transaction. A migration is never changed once it has been released; a change to the tables is a new one. A
store that is opened read-only is not migrated: one of an older version is refused.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from bopp.errors import StudyError


def _table(name: str, /, **columns: type[sa.types.TypeEngine[Any]]) -> sa.TableClause:
    return sa.table(name, *(sa.column(key, kind) for key, kind in columns.items()))


schema = _table("bopp_schema", version=sa.Integer)

studies = _table(
    "bopp_studies",
    id=sa.BigInteger,  # random
    name=sa.Text,
    space=sa.Text,  # JSON, as are the columns until created_at, and the params below
    problem=sa.Text,
    seed=sa.Text,
    recipe=sa.Text,
    knowledge=sa.Text,  # a list of sources, see sources.py
    created_at=sa.Text,
    paused=sa.Text,  # JSON, the time and the reason; NULL: it is not paused
    seal=sa.Text,  # checksum of the columns before it; NULL: the row is accepted as it is
    revision=sa.BigInteger,  # grows with every change of a trial, and with every pause
)

trials = _table(
    "bopp_trials",
    study=sa.BigInteger,
    number=sa.Integer,
    revision=sa.BigInteger,  # of the study when the trial last changed
    params=sa.Text,
    state=sa.Text,
    value=sa.Double,  # the first of the declared ones; NULL: there is none, or it was not measured
    error=sa.Text,
    origin=sa.Text,
    asked_at=sa.Text,
    told_at=sa.Text,
    worker=sa.Text,
    notes=sa.Text,
    more=sa.Text,  # JSON of the other values, the noise and the measurements, or NULL
    traceback=sa.Text,
    superseded=sa.Text,  # JSON, or NULL
    seal=sa.Text,  # as above
    ticket=sa.Text,  # of the ask that holds the trial
    lease=sa.Double,  # seconds; NULL: held until it is told
    lease_until=sa.Double,  # by the clock of the store
)

queue = _table(
    "bopp_queue",
    ticket=sa.Text,
    study=sa.BigInteger,
    place=sa.BigInteger,
    params=sa.Text,
    popped=sa.Boolean,  # the row stays: a repeated enqueue must find it
    seal=sa.Text,  # as above
)

TABLES = (
    "CREATE TABLE bopp_schema (version INTEGER NOT NULL)",
    "INSERT INTO bopp_schema VALUES (1)",
    """CREATE TABLE bopp_studies (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, space TEXT NOT NULL,
        problem TEXT NOT NULL, seed TEXT NOT NULL, recipe TEXT NOT NULL, knowledge TEXT NOT NULL,
        created_at TEXT NOT NULL, paused TEXT, revision BIGINT NOT NULL, seal TEXT)""",
    """CREATE TABLE bopp_trials (study BIGINT NOT NULL REFERENCES bopp_studies, number INTEGER NOT NULL,
        params TEXT NOT NULL, state TEXT NOT NULL, value DOUBLE PRECISION, more TEXT, error TEXT,
        traceback TEXT, origin TEXT NOT NULL, asked_at TEXT, told_at TEXT, worker TEXT, notes TEXT,
        superseded TEXT, ticket TEXT NOT NULL UNIQUE, lease DOUBLE PRECISION, lease_until DOUBLE PRECISION,
        revision BIGINT NOT NULL, seal TEXT, PRIMARY KEY (study, number))""",
    "CREATE INDEX bopp_trials_revision ON bopp_trials (study, revision)",
    """CREATE TABLE bopp_queue (ticket TEXT PRIMARY KEY, study BIGINT NOT NULL REFERENCES bopp_studies,
        place BIGINT NOT NULL, params TEXT NOT NULL, popped BOOLEAN NOT NULL, seal TEXT)""",
)
"""Version 1, in SQL that SQLite and PostgreSQL both understand."""

MIGRATIONS: tuple[tuple[str, ...], ...] = ()
"""The statements that lead from version 1 to 2, from 2 to 3, and so on, in the same SQL."""


def newest() -> int:
    """The version of the tables that this bopp reads and writes."""
    return 1 + len(MIGRATIONS)


def version_of(connection: sa.Connection) -> int:
    """The version of the tables in a database, 0 if there are none; a newer one is refused."""
    if not sa.inspect(connection).has_table(schema.name):
        return 0
    versions = connection.execute(sa.select(schema.c.version)).scalars().all()
    if len(versions) != 1 or not isinstance(versions[0], int) or versions[0] < 1:
        raise StudyError(f"wanted one schema version, got {versions}: the store is damaged")
    if versions[0] > newest():
        raise StudyError(
            f"the store has schema version {versions[0]}, this bopp knows {newest()}: use a newer bopp"
        )
    return versions[0]


def check_newest(connection: sa.Connection) -> None:
    """Refuse tables of any other version, which cannot be read as they are."""
    if (version := version_of(connection)) not in (0, newest()):
        raise StudyError(
            f"the store has schema version {version}, this bopp reads {newest()}: "
            "open it to write, as bopp run does, and it is migrated"
        )


def migrate(connection: sa.Connection) -> None:
    """Create the tables if there are none, and take the migrations that they lack."""
    version = version_of(connection)
    steps = (*((TABLES,) if version == 0 else ()), *MIGRATIONS[max(version, 1) - 1 :])
    for statement in (statement for step in steps for statement in step):
        connection.exec_driver_sql(statement)
    connection.execute(schema.update().values(version=newest()))
