"""Command: an objective that is a program, which gets the params as arguments and prints the result.

The program also finds them in its environment: BOPP_PARAMS has all of them as JSON, BOPP_PARAM_name has one
as text. If asked for, all of them come as JSON on standard input.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bopp.errors import CommandError, ConfigError, MissingCommand
from bopp.parameter import Parameter
from bopp.run.descendants import START_OPTIONS
from bopp.space import Params
from bopp.study.printed import in_short, value_in

LONGEST_READ = 1_000_000  # bytes, from the end of an output
NOT_FOUND = 127  # the exit code of a shell that knows no such program
WINDOWS_TOO_LONG = 206  # winerror of a command line that is too long
ALL = "params"  # {params} stands for all of them, as JSON

ARGUMENT = re.compile(r"(--[^\s={}]+=)?\{([^{}]*)\}", re.DOTALL)  # {x} or --name={x}
CODE_OPTION = re.compile(r"[-+][^\W\d].*|/\w|-*(?:command|eval|exec|execute|expression)", re.DOTALL)
IDENTIFIER = re.compile(r"\w+", re.ASCII)
VARIABLE = "BOPP_PARAM_"  # before the name of a parameter, in the environment
MENTION = re.compile(r"BOPP_PARAM(?:(S)\b|_(\w+))")
LONGEST_VARIABLE = 100_000  # bytes; Linux takes no more than 131072, and what does not fit is left out

Texts = Mapping[str, list[str]]
"""The values of each parameter that are texts; those of a number are none."""


@dataclass(frozen=True)
class Command:
    """A program as an objective; the template names values as `{x}` or `--name={x}`, each one whole argument.

    A value never splits into several arguments, and never becomes part of a longer word. With `shell` the
    template is handed to /bin/sh as it is, and values come in the environment only.

    The `optional` parameters may not apply. Then their argument is left out, and with it an option right
    before it, as in --momentum {momentum}. Their variable is not set.

    With `stdin` all params come as JSON on standard input, which is empty otherwise, and the template need
    not name them.
    """

    template: str
    shell: bool = False
    folder: Path | None = None
    optional: tuple[str, ...] = ()
    stdin: bool = False

    def __call__(self, params: Params, /) -> float | dict[str, Any]:
        absent: Texts = {name: [] for name in self.optional}
        self._check({**absent, **{name: _texts([value]) for name, value in params.items()}})
        given = json.dumps(params, default=str)
        out, err, code = _run(
            self._words(params), self.folder, _environment(params), given if self.stdin else ""
        )
        if code != 0:
            failed = MissingCommand if self.shell and code == NOT_FOUND else CommandError
            reason = in_short(err) or in_short(out) or "nothing was printed"
            raise failed(f"{_ending(code)}: {reason}", exit_code=code)
        return value_in(out)

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        """Refuse a template that cannot be run, that leaves a parameter out, or that could run a value."""
        self._check({name: [] if one.numeric else _texts(one.values()) for name, one in parameters.items()})

    def _check(self, texts: Texts) -> None:
        if not self.template.strip() or "\0" in self.template:
            raise ConfigError(f"wanted a command, got {self.template!r}")
        if self.shell and (name := _named_in(self.template, texts)) is not None:
            raise ConfigError(
                f"{{{name}}} is in the text of a shell, which gets values in its environment only; "
                f"write: {self._with_variable(name)}"
            )
        named = set() if self.shell else self._check_words(texts)
        variables = {everything or name for everything, name in MENTION.findall(self.template)}
        left_out = [name for name in texts if name not in named | variables]
        whole = "S" in variables or (ALL in named and ALL not in texts)
        if left_out and not whole and not self.stdin:
            one, every = (_variable(name) if self.shell else f"{{{name}}}" for name in (left_out[0], ALL))
            raise ConfigError(
                f"wanted {one} in it, or {every} for all as JSON, got {self.template!r}; "
                f"for a program that reads them as JSON from its standard input: stdin = true, or --stdin"
            )

    def _check_words(self, texts: Texts) -> set[str]:
        """The parameters that the words name; refuses a place where a value could be run or misread."""
        words, named = self._split(), set()
        for place, word in enumerate(words):
            found = ARGUMENT.fullmatch(word)
            name = found[2] if found else None
            if found and name in (*texts, ALL):
                named.add(found[2])
                self._check_place(words, place, found[1], found[2], texts.get(found[2], ["{}"]))
            elif name and re.fullmatch(r"\w\S*", name):
                raise ConfigError(f"{{{name}}} is no parameter; there are {', '.join(texts)}, and {{{ALL}}}")
            elif (inside := _named_in(word, texts)) is not None:
                raise ConfigError(
                    f"{{{inside}}} is within the word {word!r}, wanted it as an argument of its own"
                    f"{self._instead(words, place, inside)}"
                )
        return named

    def _check_place(
        self, words: list[str], place: int, option: str | None, name: str, texts: list[str]
    ) -> None:
        """Refuse a value as the program, a text as its code, and a text that would pass for an option."""
        before = [word for word in words[:place] if word != "--"]
        if not before:
            raise ConfigError(f"{{{name}}} is the program itself, which a value must not choose")
        batch = before[0].lower().endswith((".bat", ".cmd"))  # Windows has a shell parse its arguments
        if texts and (batch or CODE_OPTION.fullmatch(option[:-1] if option else before[-1])):
            raise ConfigError(
                f"{{{name}}} is a text after {option or before[-1]!r}, where a program may read it as code"
                f"{self._instead(words, place, name)}"
            )
        dashed = [text for text in texts if text.startswith("-")]
        if dashed and not option and "--" not in words[:place]:
            raise ConfigError(
                f"{{{name}}} may be {dashed[0]!r}, which a program would take for an option"
                f"{self._instead(words, place, name)}"
            )

    def _instead(self, words: list[str], place: int, name: str) -> str:
        """What to write in place of a word that was refused."""
        if len(words[place].split()) > 1:  # code, which can read a variable
            return f"; write: {self._with_variable(name)}"
        better = [*words[:place], f"--{name}={{{name}}}", *words[place + 1 :]]
        line = " ".join(word if ARGUMENT.fullmatch(word) else shlex.quote(word) for word in better)
        return f"; write: {line}; or with shell = true: {self._with_variable(name)}"

    def _with_variable(self, name: str) -> str:
        placeholder = rf"""(["'])?{re.escape(f"{{{name}}}")}(?(1)\1)"""
        return re.sub(placeholder, _variable(name), self.template)

    def _split(self) -> list[str]:
        try:
            return shlex.split(self.template)
        except ValueError as error:
            raise ConfigError(f"cannot be split into words: {error}, got {self.template!r}") from None

    def _words(self, params: Params) -> list[str]:
        if self.shell:
            return ["/bin/sh", "-c", self.template]
        texts = {ALL: json.dumps(params, default=str)} | {
            name: _text(value) for name, value in params.items()
        }
        words: list[str] = []
        for word in self._split():
            found = ARGUMENT.fullmatch(word)
            if found and found[2] in texts:
                words.append(f"{found[1] or ''}{texts[found[2]]}")
            elif not found or found[2] not in self.optional:
                words.append(word)
            elif not found[1] and words and words[-1].startswith("-") and words[-1] != "--":
                words.pop()
        return words


def _texts(values: Iterable[Any]) -> list[str]:
    return [_text(value) for value in values if isinstance(value, str | tuple | list)]


def _named_in(text: str, names: Iterable[str]) -> str | None:
    return next((name for name in (*names, ALL) if f"{{{name}}}" in text), None)


def _variable(name: str) -> str:
    return f'"${VARIABLE}{name}"' if name != ALL and IDENTIFIER.fullmatch(name) else '"$BOPP_PARAMS"'


def _environment(params: Params) -> dict[str, str]:
    """Ours with the params, without those that we inherited and what a variable cannot hold."""
    clean = {name: text for name, text in os.environ.items() if not MENTION.fullmatch(name)}
    texts = {f"{VARIABLE}{name}": _text(one) for name, one in params.items() if IDENTIFIER.fullmatch(name)}
    texts["BOPP_PARAMS"] = json.dumps(params, default=str)
    return clean | {name: text for name, text in texts.items() if _fits(text)}


def _fits(text: str) -> bool:
    try:
        return "\0" not in text and len(os.fsencode(text)) <= LONGEST_VARIABLE
    except UnicodeEncodeError:
        return False


def _text(value: Any) -> str:
    if isinstance(value, float):
        return repr(float(value))  # the shortest text that reads back the same; a NumPy scalar's repr differs
    if value is None or isinstance(value, bool | int | tuple | list):
        return json.dumps(value, default=str)
    return str(value)


def _run(
    words: list[str], folder: Path | None, environment: dict[str, str], given: str
) -> tuple[str, str, int]:
    """The ends of both outputs, and the exit code; all three are files, so they may be of any length."""
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        stdin.write(given.encode())
        stdin.seek(0)
        if sys.platform == "win32" and folder and os.path.dirname(words[0]):
            words = [str(folder / words[0]), *words[1:]]  # elsewhere a program is looked up in its folder
        try:
            ended = subprocess.run(  # noqa: S603
                words,
                cwd=folder,
                env=environment,
                stdin=stdin if given else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                **START_OPTIONS,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL, or text this system cannot encode
            reason = getattr(error, "strerror", None) or error
            too_long = getattr(error, "winerror", None) == WINDOWS_TOO_LONG
            of_params = isinstance(error, ValueError) or error.errno == errno.E2BIG or too_long
            failed = CommandError if of_params else MissingCommand
            raise failed(f"cannot start {words[0]!r} in {str(folder or Path.cwd())!r}: {reason}") from None
        return _end_of(out), _end_of(err), ended.returncode


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LONGEST_READ))
    text = file.read(LONGEST_READ).decode(errors="replace")
    return f"...{text}" if size > LONGEST_READ else text  # a line that was cut must not pass for a number


def _ending(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
