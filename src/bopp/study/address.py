"""Address: the URL of a store, parsed, and shown without its secrets.

A password may hold an @, a / or a : that should have been percent-encoded, and so end up in any part of a
URL. Hence a part is shown only where it cannot be a piece of one.
"""

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

SURE = {
    "username": re.compile(r"[^:/?#&=;@\s]+"),
    "host": re.compile(r"[\w.,-]+|[0-9a-fA-F:.]+"),  # a name, several of them, or an address of IPv6
    "database": re.compile(r"[^:/?#&=;@%\x00-\x1f]+"),
}
"""What the parts of a server's URL look like if they are nothing else."""

NAMED = re.compile(r"\s*(sqlite|postgres(ql)?)(\+\w*)?\s*(:|/)", re.IGNORECASE)
ASSIGNED = re.compile(r"""(\w*pass\w*\s*=\s*)(?:'[^']*'|"[^"]*"|[^\s&'"]+)""", re.IGNORECASE)
WITH_PASSWORD = re.compile(rf":[^/\\\s]*@|{ASSIGNED.pattern}", re.IGNORECASE)
URL_LIKE = re.compile(r"""(?:[\w+.-]*:?//|\b[\w+.-]+:[^\s'"`<>]*@)(?:[^\s'"`<>]*[^\s'"`<>:;,.)])?""")
BEGINNING = re.compile(r"([A-Za-z][\w+.-]*://)?[^:@?=&;%\x00-\x1f]*")
IN_PATH = re.compile(r":(?!/).*@", re.DOTALL)  # a file may have been named by mistake like a server
SPOKEN = ("sslmode", "host", "port", "dbname", "user")  # settings in a query that are no secrets


def placed(url: sa.URL, folder: Path) -> str:
    """The URL, with the path of a file made absolute, so that it means the same in any folder."""
    if _is_file(url) and url.database not in (None, "", ":memory:"):
        url = url.set(database=str(folder / url.database))
    return url.render_as_string(hide_password=False)


def is_url(text: str) -> bool:
    """Whether a text is meant as the URL of a store, if perhaps mistyped, and not as the name of a file."""
    return "://" in text or bool(
        (NAMED.match(text) or WITH_PASSWORD.search(text)) and not Path(text).exists()
    )


def shown(url: str) -> str:
    """A URL without its password."""
    return without_secrets(understood(url)[0])


def without_secrets(url: sa.URL) -> str:
    """A URL without its password, even one given in the query."""
    plain = url.set(drivername=url.get_backend_name(), query={})
    if _is_file(url):
        return plain.set(
            database=url.database and IN_PATH.sub(f":{HIDDEN}@", url.database)
        ).render_as_string()
    return f"{plain.drivername}://{HIDDEN}" if _doubtful(url) else plain.render_as_string()


def without_password(text: str) -> str:
    """A text that was meant as a URL, up to where a password may begin."""
    found = BEGINNING.match(text)
    begun = found[0] if found else ""
    if begun == text:
        return text
    if "@" in text:  # what stands before it may be a user, or a password alone
        begun = re.sub(r"[^/]*\Z", "", begun)
    return f"{begun}{HIDDEN}"


def discreet(text: str) -> str:
    """A text as a message may quote it: up to where a password may begin, if it is meant as a URL."""
    return without_password(text) if is_url(text) else text


def censored(text: str) -> str:
    """A message without the passwords of the URLs in it."""
    return ASSIGNED.sub(rf"\1{HIDDEN}", URL_LIKE.sub(lambda found: _censored(found[0]), text))


def hidden(url: sa.URL, text: str) -> str:
    """What a database says, without the secrets of the URL by which it was reached."""
    rows = url.normalized_query.items()
    secrets = [str(url.password or ""), *(one for name, many in rows if name not in SPOKEN for one in many)]
    secrets += [url.username] if url.username and _doubtful(url) else []
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
    return text


def understood(url: str) -> tuple[sa.URL, Path | str | None]:
    """The parsed URL, and the file that it names, ":memory:", or None for a server."""
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, TypeError, ValueError):
        got = without_password(str(url) if isinstance(url, str | Path) else brief(url))
        if re.search(r"\.\w+\Z", got) and ":" not in got:
            raise StudyError(f"{WANTED}, got {got!r}: did you mean 'sqlite:///{got}'?") from None
        raise StudyError(f"{WANTED}, got {got!r}") from None
    if parsed.drivername in ("sqlite", "sqlite+pysqlite") and not parsed.host and not parsed.query:
        if parsed.database in (None, "", ":memory:"):
            return parsed, ":memory:"
        return parsed, _path(parsed.database)
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        if _doubtful(parsed, "host", "database") or ":" in (parsed.username or ""):
            raise StudyError(f"{WANTED}, got {without_secrets(parsed)!r}; {ENCODE}")
        return parsed.set(drivername="postgresql+psycopg"), None
    raise StudyError(f"{WANTED}, got {without_secrets(parsed)!r}")


def _doubtful(url: sa.URL, *names: str) -> bool:
    """Whether one of these parts of a URL, or any, may be a piece of its password."""
    parts = {name: getattr(url, name) for name in names or SURE}
    return any(part and not SURE[name].fullmatch(part) for name, part in parts.items())


def _is_file(url: sa.URL) -> bool:
    return not url.host and url.get_backend_name() == "sqlite"


def _censored(url: str) -> str:
    try:
        parsed = sa.make_url(url)
    except (exc.ArgumentError, ValueError):
        return without_password(url)
    if _is_file(parsed):
        return IN_PATH.sub(f":{HIDDEN}@", url)
    return without_secrets(parsed) if parsed.password or parsed.query or _doubtful(parsed) else url


def _path(database: str) -> Path:
    if "\0" in database or (not database.isascii() and database.encode(errors="ignore").decode() != database):
        raise StudyError(f"wanted the name of a file, got {database!r}")
    return Path(database).absolute()
