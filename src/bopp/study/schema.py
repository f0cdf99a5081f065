"""Schema: the tables of a store, and the steps that lead there from an empty database or an older version.

A new store takes every step, an older one those it lacks, in one transaction. A step is never changed once it
has been released; a change to the tables is a new step. A store that is only looked at takes no step: columns
that it lacks are read as NULL.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from bopp.errors import StudyError

Kind = type[sa.types.TypeEngine[Any]]


class Later(NamedTuple):
    """A column that was not in the first version."""

    kind: Kind
    since: int  # version


SINCE: dict[sa.ColumnElement[Any], int] = {}
"""The version that brought each column."""


def _table(name: str, /, **columns: Kind | Later) -> sa.TableClause:
    dated = {key: kind if isinstance(kind, Later) else Later(kind, since=1) for key, kind in columns.items()}
    table = sa.table(name, *(sa.column(key, kind) for key, (kind, _) in dated.items()))
    SINCE.update({table.c[key]: since for key, (_, since) in dated.items()})
    return table


schema = _table("bopp_schema", version=sa.Integer)

studies = _table(
    "bopp_studies",
    id=sa.BigInteger,  # random
    name=sa.Text,
    space=sa.Text,  # JSON, as are direction, seed, recipe, and the params below
    direction=sa.Text,
    seed=sa.Text,
    recipe=sa.Text,
    created_at=sa.Text,
    revision=sa.BigInteger,  # grows with every change of a trial, and with every pause
    problem=Later(sa.Text, since=3),  # JSON, or NULL
    seal=Later(sa.Text, since=5),  # checksum of all but the revision; NULL: not changed since version 4
    paused=Later(sa.Text, since=7),  # JSON, the time and the reason; NULL: it is not paused
)

trials = _table(
    "bopp_trials",
    study=sa.BigInteger,
    number=sa.Integer,
    params=sa.Text,
    state=sa.Text,
    value=sa.Double,  # the first of the declared ones; NULL: there is none, or it was not measured
    error=sa.Text,
    origin=sa.Text,
    asked_at=sa.Text,
    told_at=sa.Text,
    worker=sa.Text,
    notes=sa.Text,
    ticket=sa.Text,  # of the ask that holds the trial
    lease=sa.Double,  # seconds; NULL: held until it is told
    lease_until=sa.Double,  # by the clock of the store
    revision=sa.BigInteger,  # of the study when the trial last changed
    more=Later(sa.Text, since=3),  # JSON, or NULL
    traceback=Later(sa.Text, since=4),
    superseded=Later(sa.Text, since=4),  # JSON, or NULL
    seal=Later(sa.Text, since=5),  # checksum of all but ticket and lease, or NULL as above
)

queue = _table(
    "bopp_queue",
    ticket=sa.Text,
    study=sa.BigInteger,
    place=sa.BigInteger,
    params=sa.Text,
    popped=sa.Boolean,  # the row stays: a repeated enqueue must find it
    seal=Later(sa.Text, since=5),  # checksum of everything, or NULL as above
)

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE bopp_schema (version INTEGER NOT NULL)",
        "INSERT INTO bopp_schema VALUES (0)",
        """CREATE TABLE bopp_studies (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, space TEXT NOT NULL,
            direction TEXT NOT NULL, seed TEXT NOT NULL, recipe TEXT NOT NULL, created_at TEXT NOT NULL,
            revision BIGINT NOT NULL)""",
        """CREATE TABLE bopp_trials (study BIGINT NOT NULL REFERENCES bopp_studies, number INTEGER NOT NULL,
            params TEXT NOT NULL, state TEXT NOT NULL, value DOUBLE PRECISION, error TEXT,
            origin TEXT NOT NULL, asked_at TEXT, told_at TEXT, worker TEXT, notes TEXT,
            ticket TEXT NOT NULL UNIQUE, lease DOUBLE PRECISION, lease_until DOUBLE PRECISION,
            revision BIGINT NOT NULL, PRIMARY KEY (study, number))""",
        """CREATE TABLE bopp_queue (ticket TEXT PRIMARY KEY, study BIGINT NOT NULL REFERENCES bopp_studies,
            place BIGINT NOT NULL, params TEXT NOT NULL, popped BOOLEAN NOT NULL)""",
    ),
    ("CREATE INDEX bopp_trials_revision ON bopp_trials (study, revision)",),
    ("ALTER TABLE bopp_trials ADD COLUMN more TEXT", "ALTER TABLE bopp_studies ADD COLUMN problem TEXT"),
    (
        "ALTER TABLE bopp_trials ADD COLUMN traceback TEXT",
        "ALTER TABLE bopp_trials ADD COLUMN superseded TEXT",
    ),
    tuple(f"ALTER TABLE bopp_{table} ADD COLUMN seal TEXT" for table in ("studies", "trials", "queue")),
    (),  # the same tables, in which a finished trial may lack values: earlier versions must not read them
    ("ALTER TABLE bopp_studies ADD COLUMN paused TEXT",),
)
"""In SQL that SQLite and PostgreSQL both understand."""

VERSION = len(STEPS)


def version_of(connection: sa.Connection) -> int:
    """The version of the tables in a database, 0 if there are none."""
    if not sa.inspect(connection).has_table(schema.name):
        return 0
    versions = connection.execute(sa.select(schema.c.version)).scalars().all()
    if len(versions) != 1 or not isinstance(versions[0], int) or versions[0] < 1:
        raise StudyError(f"wanted one schema version, got {versions}: the store is damaged")
    if versions[0] > VERSION:
        raise StudyError(
            f"the store has schema version {versions[0]}, this bopp knows {VERSION}: use a newer bopp"
        )
    if versions[0] < VERSION:
        _check_age(connection, versions[0])
    return versions[0]


def _check_age(connection: sa.Connection, version: int) -> None:
    """Refuse tables that are newer than the store says: columns that they have would be left unread."""
    inspector = sa.inspect(connection)
    for table in filter(lambda table: inspector.has_table(table.name), (studies, trials, queue)):
        there = {column["name"] for column in inspector.get_columns(table.name)}
        if newer := [c.name for c in table.c if c.name in there and SINCE[c] > version]:
            raise StudyError(
                f"the store has schema version {version}, but a column {newer[0]!r} of a later one in "
                f"{table.name}: the store is damaged"
            )


def version_at(connection: sa.Connection) -> int:
    """The version to assume when reading from a connection: the newest, unless its store says otherwise."""
    return int(connection.get_execution_options().get("bopp_version", VERSION))


def as_of(version: int, *columns: sa.ColumnElement[Any]) -> list[sa.ColumnElement[Any]]:
    """Columns to select from a store of this version: NULL in place of those that came later."""
    return [column if SINCE[column] <= version else sa.null().label(str(column.key)) for column in columns]


def migrate(connection: sa.Connection) -> None:
    """Take the steps that a database lacks."""
    for step in STEPS[version_of(connection) :]:
        for statement in step:
            connection.exec_driver_sql(statement)
    connection.execute(schema.update().values(version=VERSION))
