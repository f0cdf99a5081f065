"""Catalogue: the studies of a store by name; all who open or create a name at once get the same study."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import EllipsisType
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from bopp.errors import BoppError, StoreError, StudyError
from bopp.legible import brief
from bopp.optimizer import Knowledge
from bopp.problem import Declaration, Direction, Problem
from bopp.recipe import Recipe
from bopp.result import Result
from bopp.study import checksum, faults, leases, migration, schema
from bopp.study.address import understood
from bopp.study.definition import Definition, Wanted, written
from bopp.study.ledger import Ledger
from bopp.study.sources import LEARN, check_sources
from bopp.study.store import Store
from bopp.study.study import Study

T = TypeVar("T")

LONGEST_NAME = 2500  # bytes: PostgreSQL cannot index much more


def open_study(
    url: str,
    name: str,
    space: Declaration | Problem | None = None,
    direction: Direction | None = None,
    seed: int | EllipsisType | None = ...,
    recipe: Recipe | None = None,
    lease: float | None = 60.0,
    *,
    knowledge: Knowledge | None = None,
    migrate: bool | Mapping[str, Any] = False,
    read_only: bool = False,
) -> Study:
    """Open the study of this name, or create it if there is none; many may do so at once.

    Args:
        url: sqlite:///file.db, postgresql://user@host/database, or sqlite:// to keep it in memory.
        name: any text; a store holds many studies.
        space: a dict such as {"rate": Float(1e-4, 1, log=True), "layers": (1, 8)}, or a `Problem`; not
            needed for an existing study.
        direction: "minimize" (for a new study) or "maximize"; a `Problem` has its own.
        seed: the same seed and the same values give the same suggestions. If it is left out: that of the
            study, or 0 for a new study. None: that of the study, or a random one for a new study.
        recipe: how to suggest; by default the study's own, or `Recipe.default()` for a new study.
        lease: how many seconds a worker may be silent before its trials go to others. None: this process
            holds its trials until they are told, as for experiments by hand or in a laboratory.
        knowledge: what you know but did not measure, such as [pseudo.Images(exchange=("a", "b"))]. It is kept
            with the study, and the data that it carries; by default that of the study itself, and [] is none.
        migrate: go on in this space although the study has another one. Trials that fit it are kept, and the
            others are dropped; a new parameter wants the value that it had so far, as in {"dropout": 0.0}.
        read_only: only look: nothing is written, and a store of an older version is refused, not migrated.

    Space, direction, seed, recipe and knowledge belong to the study: values that differ from its own are
    refused, unless `migrate` says otherwise of the space.
    """
    wanted = Wanted.checked(space, direction, seed, recipe, knowledge)
    return open_wanted(url, name, wanted, lease, migrate, read_only)


def open_wanted(
    url: str,
    name: str,
    wanted: Wanted,
    lease: float | None = 60.0,
    migrate: bool | Mapping[str, Any] = False,
    read_only: bool = False,
) -> Study:
    """Open the study of this name if it is the one wanted, or create that."""
    checked_name(name)
    leases.checked(lease)
    new = None if wanted.problem is None or read_only else cache(wanted.columns)
    if new and not (wanted.knowledge and _may_have(url)):
        new()  # it may raise, so before the file is created; but with knowledge it may take long
    store = Store(url, "look" if read_only else "use" if wanted.problem is None else "create")
    try:
        definition = known = Definition.read(_found_or_created(store, name, wanted, new))
        if wanted.problem is not None and migrate is not False:
            definition = replace(known, problem=known.problem.in_space(wanted.problem.space))
        wanted.compare(definition)
        if definition.problem.space != known.problem.space:
            what = f"{name!r} knows what does not fit the new space ({LEARN})"
            check_sources(definition.knowledge, definition.problem, what)
            migration.migrate(store, known, definition.problem, {} if migrate is True else migrate)
        if wanted.whole and wanted.problem is not None:
            definition = replace(definition, problem=wanted.problem)  # with its functions
        return Study(store, definition, wanted.recipe, lease, wanted.knowledge if wanted.compares else ())
    except BaseException:
        store.close()
        raise


def delete_study(url: str, name: str) -> None:
    """Delete a study with all its trials; others in the store stay."""
    with Store(url, "use") as store:
        row = store.read(lambda connection: find(connection, checked_name(name)))
        if row is None:
            raise _absent(store, name)
        store.write(lambda connection: _delete(connection, row["id"]), alone=True)


def names(url: str) -> list[str]:
    """The names of the studies in an existing store, in the order in which they were created."""
    with Store(url, "look") as store:
        return store.read(_names)


def overview(url: str, look: Callable[[Result], T]) -> list[tuple[str, T | BoppError]]:
    """What there is to see of each study of an existing store, by name; an error where it cannot be read."""

    def look_at(connection: sa.Connection) -> list[tuple[str, T | BoppError]]:
        every = sa.select(*schema.studies.c).order_by(schema.studies.c.created_at)
        rows = connection.execute(every).mappings().all()
        return [(str(row["name"]), _seen(connection, row, look)) for row in rows]

    with Store(url, "look") as store:
        return store.read(look_at)


def checked_name(name: Any) -> str:
    """The name of a study; refused unless every database and terminal can handle it."""
    if not isinstance(name, str) or not name:
        raise StudyError(f"the name of a study must be a text that is not empty, got {brief(name)}")
    odd = [character for character in name if unicodedata.category(character) in ("Cc", "Cs")]
    if odd:
        raise StudyError(
            f"the name of a study must have no control characters, got {odd[0]!r} in {name!r}", study=name
        )
    size = len(name.encode())
    if size > LONGEST_NAME:
        raise StudyError(
            f"the name of a study must have at most {LONGEST_NAME} bytes, got {size}: {name[:40]!r}...",
            study=name,
        )
    return name


def find(connection: sa.Connection, name: str) -> sa.RowMapping | None:
    """The row of a study, or None."""
    found = sa.select(*schema.studies.c).where(schema.studies.c.name == name)
    return connection.execute(found).mappings().first()


def create(connection: sa.Connection, name: str, columns: Mapping[str, Any], at: str) -> sa.RowMapping:
    """Insert a study, defined by plain values; needs a write with `alone`."""
    number = 1 + secrets.randbelow(2**53)  # random: a study created anew is not the old one
    values = {"id": number, "name": name, "created_at": at, "revision": 0, **written(columns)}
    connection.execute(schema.studies.insert(), checksum.with_checksum(schema.studies, values))
    created = sa.select(*schema.studies.c).where(schema.studies.c.id == number)
    return connection.execute(created).mappings().one()


def _found_or_created(
    store: Store, name: str, wanted: Wanted, new: Callable[[], dict[str, Any]] | None
) -> sa.RowMapping:
    """The row of a study, created if there is none and `new` says what to create."""
    row = store.read(lambda connection: find(connection, name))
    if row is None and new is not None:
        columns, now = new(), datetime.now(UTC).isoformat()
        row = store.write(
            lambda connection: find(connection, name) or create(connection, name, columns, now), alone=True
        )
    if row is None:
        looking = ". Opened to look, none is created" if wanted.problem else ""
        raise _absent(store, name, looking if store.access == "look" else ". A new one wants a space")
    return row


def _may_have(url: str) -> bool:
    """Whether there may be studies in a store already."""
    path = understood(url)[1]
    return path is None or (isinstance(path, Path) and path.exists())


def _seen(connection: sa.Connection, row: sa.RowMapping, look: Callable[[Result], T]) -> T | BoppError:
    try:
        study = Definition.read(row)
        trials = Ledger(study.id, study.problem, study.name).trials(connection)
        return look(Result(study.problem, trials))
    except BoppError as error:
        return error
    except (exc.OperationalError, UnicodeDecodeError) as error:  # such as a text that is not Unicode
        if faults.passes(error):
            raise
        return StoreError(faults.reason(error))


def _delete(connection: sa.Connection, id: int) -> None:
    connection.execute(schema.queue.delete().where(schema.queue.c.study == id))
    connection.execute(schema.trials.delete().where(schema.trials.c.study == id))
    connection.execute(schema.studies.delete().where(schema.studies.c.id == id))


def _absent(store: Store, name: str, why: str = "") -> StudyError:
    listed = ", ".join(map(repr, store.read(_names))) or "none"
    return StudyError(f"{store!r} has no study {name!r}; it has: {listed}{why}", study=name)


def _names(connection: sa.Connection) -> list[str]:
    ordered = sa.select(schema.studies.c.name).order_by(schema.studies.c.created_at)
    return [str(name) for name in connection.execute(ordered).scalars()]
