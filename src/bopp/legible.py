"""Legible: text that may come from anywhere, as a terminal, a log, a page or a spreadsheet can show it."""

from __future__ import annotations

import re
from collections.abc import Mapping

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
FORMULA = re.compile("(?:\\A|[;|\t\r\n])[\\s\"']*[=+@\uff1d\uff0b\uff0d\uff20-]")
ESCAPED = re.compile(r"\\(?:\\|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])")
LETTERS = {"\\\\": "\\", "\\n": "\n", "\\r": "\r", "\\t": "\t"}
MARK = "'"  # by which spreadsheets, too, know a text that is no formula


def legible(text: str) -> str:
    """A text with its control characters escaped, so that a terminal only shows it; line ends stay."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1]
        for letter in text.encode("utf-8", "backslashreplace").decode()
    )


def one_line(text: str) -> str:
    """A legible text without line ends."""
    return legible(" ".join(text.split()) if "\n" in text or "\r" in text else text)


def brief(value: object, most: int = 200) -> str:
    """What came, for a message about it: its `repr`, which may be long or, of a huge number, not exist."""
    try:
        return cut(repr(value), most)
    except Exception:  # Python writes no integer of more than 4300 digits
        size = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"a value of type {type(value).__name__}{size}"


def described(error: BaseException) -> str:
    """An error as text: its type and its message."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an error that cannot be turned into text
        return type(error).__name__


def shown_values(values: Mapping[str, float | None]) -> str:
    """Declared values with their names, for people; a trial without any has failed."""
    if not values:
        return "a failure"
    return ", ".join(f"{name} {'not measured' if x is None else repr(x)}" for name, x in values.items())


def cut(text: str, most: int) -> str:
    """The beginning of a text that is longer than this, or all of it."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def cell(text: str) -> str:
    """A text for a cell of a table that does nothing there, neither in a terminal nor in a spreadsheet.

    One that has control characters, or would be taken for a formula, gets an apostrophe in front, and its
    control characters escaped. `from_cell` takes this back, so a text that looks as if it were marked is too.
    """
    return f"{MARK}{''.join(map(_spelled, text))}" if _wants_mark(text) else text


def from_cell(text: str) -> str:
    """The text that `cell` wrote; any other text is left as it is."""
    meant = ESCAPED.sub(lambda found: _letter(found[0]), text[1:])
    return meant if text.startswith(MARK) and cell(meant) == text else text


def _wants_mark(text: str) -> bool:
    if not all(letter.isprintable() or letter == "\n" for letter in text):
        return True
    if FORMULA.search(text) and not NUMBER.fullmatch(text):
        return True
    return text.startswith(MARK) and "\\" in text  # as if it were marked


def _spelled(letter: str) -> str:
    if letter in ";|":  # which some spreadsheets put between cells
        return f"\\x{ord(letter):02x}"
    return letter if letter.isprintable() and letter != "\\" else ascii(letter)[1:-1]


def _letter(spelled: str) -> str:
    return LETTERS.get(spelled) or chr(int(spelled[2:], 16))
