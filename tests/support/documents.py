"""The Python code in documents."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), flags=re.DOTALL)


def run(document: str) -> None:
    """Run all code of a document, one block after the other, each knowing what came before."""
    scope: dict[str, object] = {}
    for block in blocks(document):
        exec(block, scope)


def shell_lines(document: str) -> list[str]:
    """The lines of a document that call bopp in a shell."""
    return re.findall(r"^(?: {4}|\$ )(bopp .*)$", (ROOT / document).read_text(), flags=re.MULTILINE)


def words(line: str) -> list[str]:
    """A line as a shell takes it apart, without its comment; a pipe and the like are words too."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)
