"""Address: the URL of a store, parsed, and shown without its secrets; one that is mistyped is never shown."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from bopp.errors import StudyError
from bopp.legible import brief

WANTED = "wanted sqlite:///file.db, sqlite:// (in memory) or postgresql://user@host/database"
ENCODE = "in a user or a password, write %40 for @, %3A for :, %2F for /, %3F for ? and %25 for %"
HIDDEN = "***"

ODD = re.compile(r"[:/?#&=;@%\x00-\x1f]")  # in a part of a URL: it may be a piece of a password
ASSIGNED = r"""\w*pass\w*\s*=\s*(?:'[^']*'|"[^"]*"|[^\s&'"]+)"""
MEANT = re.compile(rf"\A\s*(?:sqlite|postgres)\S*\s*[:/]|:[^/\\\s]*@|{ASSIGNED}", re.IGNORECASE)
IN_TEXT = re.compile(rf"""(?:[\w+.-]*:?//|\b[\w+.-]+:[^\s'"`<>]*@)[^\s'"`<>]*(?<![:;,.)])|{ASSIGNED}""", re.I)
NO_SECRETS = ("sslmode", "host", "port", "dbname", "user")  # settings in the query of a URL


def understood(url: str) -> tuple[sa.URL, Path | str | None]:
    """The parsed URL, and the file that it names, ":memory:", or None for a server."""
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, TypeError, ValueError):
        text = str(url) if isinstance(url, str | Path) else brief(url)
        got = HIDDEN if is_url(text) else text
        meant = f": did you mean 'sqlite:///{got}'?" if re.fullmatch(r"[^:]+\.\w+", got) else ""
        raise StudyError(f"{WANTED}, got {got!r}{meant}") from None
    file = parsed.database or ":memory:"
    if parsed.drivername in ("sqlite", "sqlite+pysqlite") and not (
        parsed.host or parsed.query or "://" in file
    ):
        return parsed, file if file == ":memory:" else _path(file)
    host = (parsed.host or "").replace(":", "")  # which an address of IPv6 has
    odd = ODD.search(host + (parsed.database or "")) or ":" in (parsed.username or "")
    if odd or parsed.drivername not in ("postgresql", "postgresql+psycopg"):
        raise StudyError(f"{WANTED}, got '{parsed.drivername}://{HIDDEN}'; {ENCODE}")
    return parsed.set(drivername="postgresql+psycopg"), None


def is_url(text: str) -> bool:
    """Whether a text is meant as the URL of a store, if perhaps mistyped, and not as the name of a file."""
    return "://" in text or bool(MEANT.search(text) and not Path(text).exists())


def shown(url: str) -> str:
    """A URL without its password."""
    return without_secrets(understood(url)[0])


def without_secrets(url: sa.URL) -> str:
    """A URL that was understood, without its password and its query, nor a user with an @."""
    plain = url.set(drivername=url.get_backend_name(), query={})
    return (plain._replace(username=None) if ODD.search(url.username or "") else plain).render_as_string()


def discreet(text: str) -> str:
    """A text as a message may quote it: without a password, if it is meant as a URL."""
    if not is_url(text):
        return text
    try:
        url = understood(text)[0]
    except StudyError:
        return HIDDEN
    return without_secrets(url) if url.password or url.query or ODD.search(url.username or "") else text


def censored(text: str) -> str:
    """A message without the passwords of the URLs in it."""
    return IN_TEXT.sub(lambda found: found[0] if _is_page(found[0]) else discreet(found[0]), text)


def hidden(url: sa.URL, text: str) -> str:
    """What a database says, without the secrets of the URL by which it was reached."""
    query = url.normalized_query.items()
    secrets = [
        str(url.password or ""),
        *(one for name, many in query if name not in NO_SECRETS for one in many),
    ]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
    return text


def placed(url: sa.URL, folder: Path) -> str:
    """The URL, with the path of a file made absolute, so that it means the same in any folder."""
    if url.get_backend_name() == "sqlite" and not url.host and url.database not in (None, "", ":memory:"):
        url = url.set(database=str(folder / url.database))
    return url.render_as_string(hide_password=False)


def _path(database: str) -> Path:
    if "\0" in database or (not database.isascii() and database.encode(errors="ignore").decode() != database):
        raise StudyError(f"wanted the name of a file, got {database!r}")
    return Path(database).absolute()


def _is_page(url: str) -> bool:
    return url.startswith(("http://", "https://")) and "@" not in url
