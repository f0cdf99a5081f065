"""Opening a study: find it in a store or create it there, the same for all who open it at once."""

from __future__ import annotations

import json
import secrets
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import numpy as np
import sqlalchemy as sa

from bopp.errors import BoppError, RecipeError, StudyError
from bopp.parameter import Parameter
from bopp.space import Space
from bopp.study import leases, schema
from bopp.study.recipes import has_parts_of_yours, read_recipe, written_recipe
from bopp.study.store import Store
from bopp.study.study import Definition, Study
from bopp.suggest import Recipe
from bopp.trial import Direction
from bopp.written import UNREADABLE, one_of, read_space, written_space

LONGEST_NAME = 2500  # bytes: PostgreSQL takes no more into an index
LARGEST_SEED = 10**1000


def open_study(
    url: str,
    name: str,
    space: Mapping[str, Parameter] | Space | None = None,
    direction: Direction | None = None,
    seed: int | None = None,
    recipe: Recipe | None = None,
    lease: float | None = 60.0,
    *,
    read_only: bool = False,
) -> Study:
    """Open the study of this name, or create it where there is none; many may do so at once.

    Args:
        url: sqlite:///file.db, postgresql://user@host/database, or sqlite:// for one in memory.
        name: any text; a store holds many studies.
        space: a dict of name to Float, Int or Choice; not needed for a study that exists.
        direction: "minimize" (for a new study) or "maximize".
        seed: the same seed and the same values give the same suggestions; 0 for a new study.
        recipe: how to suggest; `Recipe.default()` for a new study.
        lease: for how many seconds a worker may be silent before its trials go to others. None: this one
            holds its trials until they are told, as by hand or in a laboratory.
        read_only: look at a study that is there, and change nothing (False). The store stays as it is, even
            one of an older bopp; the study refuses to ask, tell, observe and the like.

    Space, direction, seed and recipe belong to the study: others than it has are refused.
    """
    checked_name(name)
    leases.checked(lease)
    wanted = _wanted(space, direction, seed, recipe)
    store = Store(url, "look" if read_only else "use" if space is None else "create")
    try:
        return _opened(store, name, wanted, recipe, lease)
    except BaseException:
        store.close()
        raise


def _opened(
    store: Store, name: str, wanted: Mapping[str, Any], recipe: Recipe | None, lease: float | None
) -> Study:
    row = store.read(lambda connection: find(connection, name))
    if row is None:
        if store.access != "create":
            there = ", ".join(map(repr, store.read(_names))) or "none"
            why = "Opened to look, none is created" if "space" in wanted else "A new one wants a space"
            raise StudyError(f"{store!r} has no study {name!r}; it has: {there}. {why}")
        row = store.write(lambda connection: _created(connection, name, wanted), alone=True)
    definition = definition_in(row)
    for field, mine in wanted.items():
        _compare(name, field, json.loads(row[field]), mine)
    if recipe is None and not has_parts_of_yours(definition.parts):
        recipe = read_recipe(definition.parts)
    return Study(store, definition, recipe, lease)


def names(url: str) -> list[str]:
    """The studies of a store that is there, in the order in which they were created."""
    with Store(url, "look") as store:
        return store.read(_names)


def _names(connection: sa.Connection) -> list[str]:
    ordered = sa.select(schema.studies.c.name).order_by(schema.studies.c.created_at)
    return list(connection.execute(ordered).scalars())


def checked_name(name: Any) -> str:
    """The name of a study, if every database and terminal can take it."""
    if not isinstance(name, str) or not name:
        raise StudyError(f"the name of a study must be a text that is not empty, got {name!r}")
    odd = [character for character in name if unicodedata.category(character) in ("Cc", "Cs")]
    if odd:
        raise StudyError(f"the name of a study must have no control characters, got {odd[0]!r} in {name!r}")
    size = len(name.encode())
    if size > LONGEST_NAME:
        raise StudyError(
            f"the name of a study must have at most {LONGEST_NAME} bytes, got {size}: {name[:40]!r}..."
        )
    return name


def find(connection: sa.Connection, name: str) -> sa.RowMapping | None:
    """The row of a study."""
    columns = schema.as_of(schema.version_at(connection), *schema.studies.c)
    found = sa.select(*columns).where(schema.studies.c.name == name)
    return connection.execute(found).mappings().first()


def create(connection: sa.Connection, name: str, definition: Mapping[str, Any], at: str) -> sa.RowMapping:
    """A further row, with what defines a study as plain values; in a transaction that is alone."""
    texts = {field: json.dumps(value, allow_nan=False) for field, value in definition.items()}
    number = 1 + secrets.randbelow(2**53)  # its own: a study that is made anew is another one
    values = {"id": number, "name": name, "created_at": at, "revision": 0, **texts}
    connection.execute(schema.studies.insert(), values)
    row = find(connection, name)
    if row is None:
        raise StudyError(f"the study {name!r} was not kept")
    return row


def _wanted(
    space: Mapping[str, Parameter] | Space | None,
    direction: Direction | None,
    seed: int | None,
    recipe: Recipe | None,
) -> dict[str, Any]:
    """Whatever was given, as plain values; an error where one is wrong."""
    if direction not in (None, *get_args(Direction)):
        raise RecipeError(f"direction must be 'minimize' or 'maximize', got {direction!r}")
    if seed is not None and not _is_seed(seed):
        raise RecipeError(f"seed must be an integer >= 0 and below 1e1000, got {_brief(seed)}")
    if recipe is not None and not isinstance(recipe, Recipe):
        raise RecipeError(f"recipe must be a Recipe or None, got {recipe!r}")
    given = {
        "space": None if space is None else written_space(Space(space)),
        "direction": direction,
        "seed": None if seed is None else int(seed),
        "recipe": None if recipe is None else written_recipe(recipe),
    }
    return {field: value for field, value in given.items() if value is not None}


def _created(connection: sa.Connection, name: str, wanted: Mapping[str, Any]) -> sa.RowMapping:
    usual = {"direction": "minimize", "seed": 0, "recipe": written_recipe(Recipe.default())}
    now = datetime.now(UTC).isoformat()
    return find(connection, name) or create(connection, name, {**usual, **wanted}, now)


def _is_seed(seed: Any) -> bool:
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    return whole and 0 <= int(seed) < LARGEST_SEED


def _parts(recipe: Any) -> dict[str, Any]:
    if not isinstance(recipe, dict) or not recipe:
        raise StudyError(f"wanted the parts of a recipe, got {_short(recipe)}")
    return recipe


def _seed(seed: Any) -> int:
    if not _is_seed(seed):
        raise StudyError("wanted a seed, an integer >= 0")
    return int(seed)


def _compare(name: str, field: str, stored: Any, given: Any) -> None:
    """Refuse what differs from the study, and name it."""
    if not isinstance(stored, dict) or not isinstance(given, dict):
        if stored != given:
            raise StudyError(f"{name!r} has {field} {stored!r}, got {given!r}")
        return
    for part in dict.fromkeys([*stored, *given]):
        if part not in given or part not in stored:
            where = "the study, not in what came" if part in stored else "what came, not in the study"
            raise StudyError(f"{name!r} has another {field}: {part!r} is in {where}")
        if stored[part] != given[part] or _kinds(stored[part]) != _kinds(given[part]):
            raise StudyError(
                f"{name!r} has {field} {part!r} {_short(stored[part])}, got {_short(given[part])}"
            )


def _kinds(value: Any) -> Any:
    """The types within a value, which tell 1 from True and from 1.0."""
    if isinstance(value, dict):
        return {name: _kinds(part) for name, part in value.items()}
    return [_kinds(part) for part in value] if isinstance(value, list) else type(value)


def _brief(value: Any) -> str:
    try:
        return repr(value)[:100]
    except ValueError:  # more digits than Python writes
        return "a larger one"


def _short(value: Any) -> str:
    return json.dumps(value)[:300]


def definition_in(row: sa.RowMapping) -> Definition:
    """What a row says of a study."""
    try:
        parts = {field: json.loads(row[field]) for field in ("space", "direction", "seed", "recipe")}
        return Definition(
            id=row["id"],
            name=row["name"],
            space=read_space(parts["space"]),
            direction=one_of(get_args(Direction), parts["direction"]),
            seed=_seed(parts["seed"]),
            parts=_parts(parts["recipe"]),
        )
    except StudyError:
        raise
    except (*UNREADABLE, BoppError) as error:
        raise StudyError(f"the study {row['name']!r} cannot be read: {error}") from error
