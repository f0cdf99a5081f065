"""Schema: the tables of a store, and the steps that lead there from an empty database or an older version.

A new store takes every step, an older one those it lacks, in one transaction. A step is never changed once it
has been released; a change of the tables is a further step.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from bopp.errors import StudyError

tables = sa.MetaData()

schema = sa.Table("bopp_schema", tables, sa.Column("version", sa.Integer, nullable=False))

studies = sa.Table(
    "bopp_studies",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("space", sa.Text, nullable=False),
    sa.Column("direction", sa.Text, nullable=False),
    sa.Column("seed", sa.Text, nullable=False),  # as text: it may be larger than any integer of a database
    sa.Column("recipe", sa.Text, nullable=False),
    sa.Column("created_at", sa.Text, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),  # grows with every change of a trial
)

trials = sa.Table(
    "bopp_trials",
    tables,
    sa.Column("study", sa.Integer, sa.ForeignKey("bopp_studies.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("params", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("value", sa.Double),
    sa.Column("error", sa.Text),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("asked_at", sa.Text),
    sa.Column("told_at", sa.Text),
    sa.Column("worker", sa.Text),
    sa.Column("notes", sa.Text),
    sa.Column("ticket", sa.Text, nullable=False, unique=True),  # of the ask that holds the trial
    sa.Column("lease", sa.Double),  # seconds; none: held until it is told
    sa.Column("lease_until", sa.Double),  # by the clock of the store
    sa.Column("revision", sa.BigInteger, nullable=False),
)

queue = sa.Table(
    "bopp_queue",
    tables,
    sa.Column("ticket", sa.Text, primary_key=True),
    sa.Column("study", sa.Integer, sa.ForeignKey("bopp_studies.id"), nullable=False),
    sa.Column("place", sa.BigInteger, nullable=False),
    sa.Column("params", sa.Text, nullable=False),
    sa.Column("popped", sa.Boolean, nullable=False),  # and kept: a repeated enqueue must find it
)

Step = Callable[[sa.Connection], None]


def _first_tables(connection: sa.Connection) -> None:
    tables.create_all(connection)
    connection.execute(schema.insert().values(version=0))


def _find_changes_quickly(connection: sa.Connection) -> None:
    sa.Index("bopp_trials_revision", trials.c.study, trials.c.revision).create(connection, checkfirst=True)


STEPS: tuple[Step, ...] = (_first_tables, _find_changes_quickly)
VERSION = len(STEPS)


def version_of(connection: sa.Connection) -> int:
    """The version of the tables in a database, 0 where there are none."""
    if not sa.inspect(connection).has_table(schema.name):
        return 0
    versions = connection.execute(sa.select(schema.c.version)).scalars().all()
    if len(versions) != 1 or not isinstance(versions[0], int) or versions[0] < 1:
        raise StudyError(f"wanted one schema version, got {versions}: the store is damaged")
    if versions[0] > VERSION:
        raise StudyError(
            f"the store has schema version {versions[0]}, this bopp knows {VERSION}: use a newer bopp"
        )
    return versions[0]


def migrate(connection: sa.Connection) -> None:
    """Take the steps that a database lacks."""
    for step in STEPS[version_of(connection) :]:
        step(connection)
    connection.execute(schema.update().values(version=VERSION))
