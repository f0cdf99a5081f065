"""Legible: text that may come from anywhere, as a terminal, a log or a page can show it."""

from __future__ import annotations


def legible(text: str) -> str:
    """A text with its control characters escaped, so that a terminal only shows it; line ends stay."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1]
        for letter in text.encode("utf-8", "backslashreplace").decode()
    )


def one_line(text: str) -> str:
    """A legible text without line ends."""
    return legible(" ".join(text.split()) if "\n" in text or "\r" in text else text)


def cut(text: str, most: int) -> str:
    """The beginning of a text that is longer than this, or all of it."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
