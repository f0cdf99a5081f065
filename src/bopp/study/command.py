"""Command: an objective that is a program, told the params on its command line and read by what it prints.

Of what it prints on its standard output, the value is

    {"value": 0.25}                        the last line that is such a JSON object, if there is one
    {"value": null, "error": "diverged"}   the same for a failure, with a reason if there is one
    epoch 10/10 loss=0.25                  otherwise the last number, here 0.25

A number is a word of its own: the digits of v2, epoch3, resnet-50, 1.2.3, 3/10, 12:30:45 and 2026-01-31 are
none. Where the last number is one in doubt, as in 1,234.5 or 0,25 or cuda:0, the output is refused.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bopp.errors import CommandError, ConfigError
from bopp.evaluation import end_with_parent
from bopp.space import Params
from bopp.trial import number_of

LONGEST_READ = 1_000_000  # bytes at the end of an output
LONGEST_REASON = 500  # characters of an error text
ALL = "params"  # {params} is every one of them, as JSON

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
HOLE = "\0"  # a placeholder, when only its place matters
QUOTED = re.compile(r"""'[^']*'?|"(?:\\.|[^"\\])*"?|\\.|\$\0""", re.DOTALL)
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NUMERAL = r"[-+]?(?>(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?|nan|infinity|inf)"
NUMBER = re.compile(
    rf"(?<![\w./\\])(?<!\w[-+])(?<!\d[:,]){NUMERAL}(?P<more>,{NUMERAL})?+(?![\w/\\]|[.\-+]\w|:\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Command:
    """A program as an objective; `{name}` in the template is the value of a parameter, `{{` a brace.

    A value is always part of one argument, whatever it holds. A shell gets it as a parameter of its own,
    which it does not read again; within quotes of the template it could not tell the two apart.
    """

    template: str
    shell: bool = False
    folder: Path | None = None

    def __call__(self, params: Params) -> float:
        self.check(params)
        out, err, code = _run(self._words(params), self.folder)
        if code != 0:
            raise CommandError(f"{_ending(code)}: {_legible(err) or _legible(out) or 'nothing was printed'}")
        return value_in(out)

    def check(self, names: Iterable[str]) -> None:
        """Refuse a template that cannot be run, or that leaves a parameter out."""
        known = list(names)
        if not self.template.strip() or HOLE in self.template:
            raise ConfigError(f"wanted a command, got {self.template!r}")
        mentioned = {name for part in self._parts() for name in _mentioned(part)}
        if unknown := sorted(mentioned - {*known, ALL}):
            raise ConfigError(
                f"{{{unknown[0]}}} is no parameter; there are {', '.join(known)}, and {{{ALL}}}"
            )
        left_out = [name for name in known if name not in mentioned]
        if left_out and (ALL in known or ALL not in mentioned):
            raise ConfigError(
                f"wanted {{{left_out[0]}}} in it, or {{{ALL}}} for all as JSON, got {self.template!r}"
            )
        if self.shell:
            _check_quotable(self.template)

    def _parts(self) -> list[str]:
        """What is filled in piece by piece: the words, or the whole where a shell splits it."""
        if self.shell:
            return [self.template]
        try:
            return shlex.split(self.template)
        except ValueError as error:
            raise ConfigError(f"cannot be split into words: {error}, got {self.template!r}") from None

    def _words(self, params: Params) -> list[str]:
        texts = {ALL: json.dumps(params, default=str)} | {
            name: _text(value) for name, value in params.items()
        }
        if self.shell:
            places = {name: f'"${{{place}}}"' for place, name in enumerate(texts, start=1)}
            return ["/bin/sh", "-c", _replaced(self.template, places.__getitem__), "sh", *texts.values()]
        return [_replaced(word, texts.__getitem__) for word in self._parts()]


def value_in(output: str) -> float:
    """The value that a program printed."""
    plain = COLOUR.sub("", output).replace("\N{MINUS SIGN}", "-")
    lines = [line.strip() for line in re.split(r"[\r\n]+", plain) if line.strip()]
    for line in reversed(lines):
        if (answer := _answer(line)) is not None:
            return _value(answer)
    for line in reversed(lines):
        for found in deque(NUMBER.finditer(line), maxlen=1):
            glued = re.search(r"\w:\Z", line[: found.start()]) and found[0].isdecimal()
            if found["more"] or glued:
                raise CommandError(f'wanted one number alone, or {{"value": ...}}, got {_legible(line)!r}')
            return float(found[0])
    last = f"its last line is {_legible(lines[-1])!r}" if lines else "it printed nothing"
    raise CommandError(f"no number in the output of the command: {last}")


def _answer(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return answer if "value" in answer else None


def _value(answer: Mapping[str, Any]) -> float:
    value = answer["value"]
    if value is None:
        raise CommandError(_legible(str(answer.get("error") or "")) or "the command gave null as value")
    if type(value) not in (int, float):
        raise CommandError(f'wanted a number or null as "value", got {_legible(json.dumps(value))}')
    return number_of(value)


def _mentioned(part: str) -> list[str]:
    names: list[str] = []

    def look(name: str) -> str:
        names.append(name)
        return ""

    _replaced(part, look)
    return names


def _replaced(part: str, text_of: Callable[[str], str]) -> str:
    def replacement(found: re.Match[str]) -> str:
        if found[1] is not None:
            return text_of(found[1])
        if len(found[0]) == 1:
            raise ConfigError(
                f"a lone {found[0]!r} in {part!r}: wanted {{name}}, or {found[0] * 2} for a brace"
            )
        return found[0][0]

    return PLACEHOLDER.sub(replacement, part)


def _check_quotable(template: str) -> None:
    """Refuse placeholders within quotes of a shell, where it would not put their values."""
    holes = _replaced(template, lambda name: HOLE)
    for found in QUOTED.finditer(holes):
        if HOLE in found[0]:
            name = _mentioned(template)[holes[: found.start()].count(HOLE)]
            raise ConfigError(f"{{{name}}} is within quotes: leave them away, a value is kept whole anyway")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return repr(float(value))  # the shortest text that is this number; a NumPy scalar has another repr
    if value is None or isinstance(value, bool | int | tuple | list):
        return json.dumps(value, default=str)
    return str(value)


def _run(words: list[str], folder: Path | None) -> tuple[str, str, int]:
    """The ends of both outputs, which go to files so that they may be of any length, and the exit code."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            ended = subprocess.run(  # noqa: S603
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=end_with_parent,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL, or what this system cannot write
            reason = getattr(error, "strerror", None) or error
            raise CommandError(
                f"cannot start {words[0]!r} in {str(folder or Path.cwd())!r}: {reason}"
            ) from None
        return _end_of(out), _end_of(err), ended.returncode


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LONGEST_READ))
    content = file.read(LONGEST_READ)
    if size > LONGEST_READ:
        content = re.sub(rb"\A\S+", b"", content)  # a word cut in two may look like a number
    return content.decode(errors="replace")


def _ending(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _legible(text: str) -> str:
    """The last lines that are not empty, fit for a message."""
    lines = "\n".join(line.rstrip() for line in COLOUR.sub("", text).splitlines() if line.strip())
    end = lines[-LONGEST_REASON:].strip()
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in end
    )
