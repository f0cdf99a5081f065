"""Terminal: text for people, in colours and boxes on a terminal and plain elsewhere."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from bopp.legible import cut, legible, one_line

SPEAKS_EVERY = 30.0  # seconds, if there is no terminal to draw on
LONGEST_CELL = 60  # characters of a value, in a table on a terminal


def say(text: str) -> None:
    """Print a line to the error stream, where it does not mix with results; what nobody can read is lost."""
    try:
        print(legible(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):  # a full disk, a closed pipe, a terminal that is gone
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Let what is written to a stream go nowhere from now on, also what it still holds."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def pasted(command: str, /, *words: object, **options: object) -> str:
    """A command of bopp as it can be pasted into a shell, whatever the words and the options hold."""
    flags = [f"--{name}={value}" for name, value in options.items() if value is not None]
    texts = [str(word) for word in words]
    ended = [*flags, "--", *texts] if any(text.startswith("-") for text in texts) else [*texts, *flags]
    return " ".join(map(_quoted, ["bopp", command, *ended]))


def again(*sources: str) -> str:
    """The command that is being run, as it can be pasted; without the passwords of these sources."""
    from bopp.study.address import discreet

    words = sys.argv[1:]
    for source in sources:
        words = [word.replace(source, discreet(source)) for word in words]
    return " ".join(map(_quoted, ["bopp", *words]))


def _quoted(word: str) -> str:
    """A word for a shell; what a terminal would act on is spelled as octal numbers."""
    if word.isprintable():
        return shlex.quote(word)
    letters = [
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\{byte:03o}" for byte in os.fsencode(word)
    ]
    return f"\"$(printf '{''.join(letters)}')\""


def shown_value(value: Any) -> str:
    """The value of a parameter: a text as it is, anything else as Python writes it."""
    return legible(value if isinstance(value, str) else repr(value))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: in colour with long cells cut on a terminal, otherwise in plain columns uncut."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Column, Table
        from rich.text import Text

        table = Table(*(Column(Text(one_line(column))) for column in columns), header_style="bold")
        for row in cells:
            table.add_row(*(Text(cut(cell, LONGEST_CELL)) for cell in row))
        Console().print(table)
        return
    lines = [[one_line(column) for column in columns], *cells]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and what belongs to them, a line each."""
    width = max((len(one_line(name)) for name, _ in pairs), default=0)
    for name, text in pairs:
        print(f"{one_line(name).ljust(width)}  {one_line(text)}".rstrip())


@contextmanager
def progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar with the time left on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

        columns = (BarColumn(), "{task.completed}/{task.total}", TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total)
            yield lambda: bar.advance(task)
        return
    began = spoke = time.monotonic()
    count = 0

    def advance() -> None:
        nonlocal count, spoke
        count, now = count + 1, time.monotonic()
        if now - spoke > SPEAKS_EVERY:
            left = (now - began) / count * (total - count) / 60.0
            say(f"{count} of {total} runs, about {left:.0f} min left")
            spoke = now

    yield advance
