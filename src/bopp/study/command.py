"""Command: an objective that is a program, which gets the params on its command line and prints the result.

The environment has them too, BOPP_PARAMS all as JSON and BOPP_PARAM_name one as text; and so does the
standard input, as JSON, if that is asked for.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bopp.errors import CommandError, ConfigError, MissingCommand
from bopp.parameter import Parameter
from bopp.run.descendants import end_with_parent
from bopp.space import Params
from bopp.study.interpreters import HOLE, SHELLS, reader
from bopp.study.printed import in_short, value_in
from bopp.study.shelltext import shell_commands

LONGEST_READ = 1_000_000  # bytes, from the end of an output
NOT_FOUND = 127  # the exit code of a shell that knows no such program
ALL = "params"  # {params} stands for all of them, as JSON

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
VARIABLE = "BOPP_PARAM_"  # before the name of a parameter, in the environment
MENTION = re.compile(r"BOPP_PARAM(?:(S)\b|_(\w+))")
LONGEST_VARIABLE = 100_000  # bytes; Linux takes no more than 131072, and what does not fit is left out
INERT = re.compile(r"[\w.+-]*", re.ASCII)  # what no language takes for more than a number or a name


@dataclass(frozen=True)
class Command:
    """A program as an objective; `{name}` in the template is the value of a parameter, `{{` a brace.

    A value never splits into several arguments, whatever it holds. A shell gets it in a variable, quoted so
    that it is not parsed again; quotes around it in the template would undo this, so are refused. So is a
    value within the code of an interpreter, as in sh -c "echo {x}", where nothing could make it safe.

    The `optional` parameters may not apply: then the word that has one is left out, and with it an option
    right before it, as in --momentum {momentum}; a shell gets an empty text.

    With `stdin` all params come as JSON on standard input, which is empty otherwise, and the template need
    not name them.
    """

    template: str
    shell: bool = False
    folder: Path | None = None
    optional: tuple[str, ...] = ()
    stdin: bool = False

    def __call__(self, params: Params, /) -> float | dict[str, Any]:
        absent = [name for name in self.optional if name not in params]
        self.check([*params, *absent], [name for name, value in params.items() if _can_be_no_code(value)])
        given = json.dumps(params, default=str)
        out, err, code = _run(
            self._words(params), self.folder, _environment(params), given if self.stdin else ""
        )
        if code != 0:
            failed = MissingCommand if self.shell and code == NOT_FOUND else CommandError
            raise failed(f"{_ending(code)}: {in_short(err) or in_short(out) or 'nothing was printed'}")
        return value_in(out)

    def check(self, names: Iterable[str], inert: Container[str] = ()) -> None:
        """Refuse a template that cannot be run, that leaves a parameter out, or that would run a value.

        Args:
            names: the parameters.
            inert: those of them whose values no language takes for code.
        """
        known = list(names)
        if not self.template.strip() or HOLE in self.template:
            raise ConfigError(f"wanted a command, got {self.template!r}")
        parts = self._parts()
        mentioned = {name for part in parts for name in _mentioned(part)}
        if unknown := sorted(mentioned - {*known, ALL}):
            raise ConfigError(
                f"{{{unknown[0]}}} is no parameter; there are {', '.join(known)}, and {{{ALL}}}"
            )
        variables = {everything or name for everything, name in MENTION.findall(self.template)}
        left_out = [name for name in known if name not in mentioned | variables]
        whole = "S" in variables or (ALL in mentioned and ALL not in known)
        if left_out and not whole and not self.stdin:
            raise ConfigError(
                f"wanted {{{left_out[0]}}} in it, or {{{ALL}}} for all as JSON, got {self.template!r}; "
                f"for a program that reads them as JSON from its standard input: stdin = true, or --stdin"
            )
        self._check_safe(parts, inert)

    def _check_safe(self, parts: list[str], inert: Container[str]) -> None:
        """Refuse a template in which a value would be parsed once more, by a shell or as code."""
        names = [name for part in parts for name in _mentioned(part)]
        if not names and not MENTION.search(self.template):
            return
        for words, fed in self._commands(parts, names):
            self._refuse(reader(words, fed), names, SHELLS)
        for words, fed in self._commands(parts, names, inert):
            self._refuse(reader(words, fed), names)

    def _commands(
        self, parts: list[str], names: list[str], left_out: Container[str] = ()
    ) -> list[tuple[list[str], bool]]:
        """The commands of a template, with holes where values will be, but for those that are left out."""
        places = iter(range(len(names)))

        def hole(name: str) -> str:
            place = next(places)
            return "0" if name in left_out else f"{HOLE}{place}{HOLE}"

        holes = [_replaced(part, hole) for part in parts]
        if not self.shell:
            return [(holes, False)]
        try:
            return list(shell_commands(holes[0]))
        except ValueError as error:
            text = _named(str(error), names)
            raise ConfigError(
                f"{text}: leave it outside, where a value is kept whole without quotes"
            ) from None

    def _refuse(
        self, found: tuple[str, str] | None, names: list[str], programs: Container[str] | None = None
    ) -> None:
        if found is None or (programs is not None and found[0] not in programs):
            return
        program, word = found
        held = re.findall(rf"{HOLE}(\d+){HOLE}", word)
        value = f"{{{names[int(held[0])]}}}" if held else "a value"
        raise ConfigError(
            f"{value} is in what {program} reads as code, so that whatever it holds could be run: "
            "pass it as an argument of its own after the code, or read it there from the environment "
            f"({VARIABLE}name) or from standard input (stdin = true)"
        )

    def _parts(self) -> list[str]:
        """The pieces to fill in: the words of the template, or all of it if a shell will split it."""
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
        absent = {name for name in self.optional if name not in params}
        if self.shell:
            texts |= dict.fromkeys(absent, "")
            # variables, since the positional parameters change within functions and after `set`
            places = {name: f'"${{_bopp_{place}}}"' for place, name in enumerate(texts, start=1)}
            kept = " ".join(f"_bopp_{place}=${{{place}}}" for place in range(1, len(texts) + 1))
            line = f"{kept}; {_replaced(self.template, places.__getitem__)}"
            return ["/bin/sh", "-c", line, "sh", *texts.values()]
        words: list[str] = []
        for word in self._parts():
            if absent.isdisjoint(_mentioned(word)):
                words.append(_replaced(word, texts.__getitem__))
            elif word.startswith("{") and words and words[-1].startswith("-"):
                words.pop()
        return words


def inert(parameters: Mapping[str, Parameter]) -> list[str]:
    """The parameters none of whose values could be code: numbers, and options that are plain words."""
    return [
        name
        for name, parameter in parameters.items()
        if parameter.numeric or all(map(_can_be_no_code, parameter.values()))
    ]


def _can_be_no_code(value: Any) -> bool:
    return bool(INERT.fullmatch(_text(value)))


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


def _named(text: str, names: list[str]) -> str:
    """A message with the names of the parameters whose places are in it."""
    return re.sub(rf"{HOLE}(\d+){HOLE}", lambda found: f"{{{names[int(found[1])]}}}", text)


def _environment(params: Params) -> dict[str, str]:
    """Ours with the params, without those that we inherited and what a variable cannot hold."""
    clean = {name: text for name, text in os.environ.items() if not MENTION.fullmatch(name)}
    texts = {
        f"{VARIABLE}{name}": _text(one) for name, one in params.items() if re.fullmatch(r"\w+", name, re.A)
    }
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
        try:
            ended = subprocess.run(  # noqa: S603
                words,
                cwd=folder,
                env=environment,
                stdin=stdin if given else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=end_with_parent,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL, or text this system cannot encode
            reason = getattr(error, "strerror", None) or error
            of_params = isinstance(error, ValueError) or error.errno == errno.E2BIG  # others may do better
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
