"""Address: the URL of a store, parsed, and shown without its secrets."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from bopp.errors import StudyError

WANTED = "wanted sqlite:///file.db, sqlite:// (in memory) or postgresql://user@host/database"


def shown(url: str) -> str:
    """A URL without its password."""
    return without_secrets(understood(url)[0])


def without_secrets(url: sa.URL) -> str:
    """A URL without its password, even one given in the query."""
    return url.set(drivername=url.get_backend_name(), query={}).render_as_string()


def understood(url: str) -> tuple[sa.URL, Path | str | None]:
    """The parsed URL, and the file that it names, ":memory:", or None for a server."""
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, TypeError, ValueError) as error:
        shown = re.sub(r":.*@", ":***@", str(url))
        if re.search(r"\.\w+$", shown) and "@" not in shown:
            raise StudyError(f"{WANTED}, got {shown!r}: did you mean 'sqlite:///{shown}'?") from None
        raise StudyError(f"{WANTED}, got {shown!r}: {type(error).__name__}") from None
    if parsed.drivername in ("sqlite", "sqlite+pysqlite") and not parsed.host and not parsed.query:
        if parsed.database in (None, "", ":memory:"):
            return parsed, ":memory:"
        return parsed, _path(parsed.database)
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg"), None
    raise StudyError(f"{WANTED}, got {without_secrets(parsed)!r}")


def _path(database: str) -> Path:
    if "\0" in database or (not database.isascii() and database.encode(errors="ignore").decode() != database):
        raise StudyError(f"wanted the name of a file, got {database!r}")
    return Path(database).absolute()
