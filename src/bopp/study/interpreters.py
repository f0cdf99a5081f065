"""Interpreters: programs that read one of their words as code, such as `sh -c` and `python -c`.

A value within that code would be run, whatever it holds, and no quotes can prevent this: so a template that
puts one there is refused. After the code, as an argument of its own, a value does no harm.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

HOLE = "\0"  # on both sides of the place of a parameter, where its value will stand
TAINT = "\1"  # before what a shell will replace by something that may have a value in it


@dataclass(frozen=True)
class Language:
    """How a program is told its code: by these short and long options; others may have an argument."""

    short: str = ""
    long: tuple[str, ...] = ()
    arguments: str = ""
    permuted: bool = False  # options may follow other words
    last: bool = False  # the code is the first word after all options
    first: bool = False  # without such an option, the first word is code
    all: bool = False  # every word after the option is code


def _each(names: str, language: Language) -> dict[str, Language]:
    return dict.fromkeys(names.split(), language)


SHELL_NAMES = "sh bash rbash dash ash zsh ksh ksh93 mksh pdksh oksh yash csh tcsh fish"
SHELLS = {*SHELL_NAMES.split(), "eval"}
LANGUAGES = {
    **_each(
        SHELL_NAMES,
        Language("c", ("command", "init-command"), "oO", last=True),
    ),
    **_each("python pythonw pypy ipython xonsh", Language("c", (), "WX")),
    **_each(
        "ruby node nodejs bun lua luajit julia racket ghc groovy scala",
        Language("eEp", ("eval", "print"), "rIC"),
    ),
    **_each("perl", Language("eEMm", (), "I")),
    **_each("php", Language("rBRE", ("run", "process-begin", "process-code", "process-end"), "dcfz")),
    **_each("guile", Language("ce")),
    **_each("awk gawk mawk nawk", Language("e", ("source",), "Fv", first=True)),
    **_each("sed gsed", Language("e", ("expression",), first=True)),
    **_each("r rscript littler", Language("e")),
    **_each("octave matlab sbcl emacs", Language("r", ("eval", "batch"), permuted=True)),
    **_each(
        "su runuser script flock sg psql duckdb expect vim vi nvim",
        Language("c", ("command", "session-command"), permuted=True),
    ),
    **_each("mysql mariadb", Language("e", ("execute",), permuted=True)),
    **_each("sbatch", Language("", ("wrap",), permuted=True)),
    **_each("nix-shell", Language("", ("run", "command"), permuted=True)),
    **_each("powershell pwsh", Language("c", ("command", "encodedcommand"), all=True)),
}
PARSERS = {
    *("eval", "let", "trap", "alias", "declare", "typeset", "cmd", "make", "gmake", "sqlite3", "hyperfine"),
    *("ssh", "rsh", "slogin", "mosh", "pdsh", "clush", "parallel", "watch", "at", "batch", "bsub"),
}
"""Programs that parse all of their words, or whose words a shell parses again."""

WRAPPERS = {
    *("env", "sudo", "doas", "nice", "nohup", "time", "timeout", "stdbuf", "setsid", "ionice", "chrt"),
    *("taskset", "numactl", "exec", "command", "builtin", "strace", "ltrace", "xvfb-run", "chroot"),
    *("srun", "mpirun", "mpiexec", "busybox", "caffeinate", "uv", "poetry"),
}
"""Programs that run the one that comes after them."""

KEYWORDS = {"if", "then", "else", "elif", "while", "until", "do", "!", "{"}
LONG_ARGUMENTS = {"rcfile", "init-file", "require", "import", "loader"}
COMPARES = re.compile(r"-(eq|ne|lt|le|gt|ge|v)")
ASSIGNMENT = re.compile(r"\w+\+?=")
IN_VARIABLE = re.compile(rf"{TAINT}?\$\{{?\w+\}}?|{TAINT}.*", re.DOTALL)
SYSTEM = re.compile(r"(/usr(/local)?)?/s?bin/+[^/]+|[^/\\]+")
"""How a program is named that is not one of the user's own, in a folder of his."""


def reader(words: Sequence[str], fed: bool = False) -> tuple[str, str] | None:
    """The program that would read a value as code, and the word with that value; None if there is none.

    Args:
        fed: whether a value is in what the program gets on its standard input.
    """
    words = _unwrapped(words)
    begins = next((place for place, word in enumerate(words) if not _precedes(word)), len(words))
    alone = True  # whether only wrappers and their options come before
    for place, word in enumerate(words):
        name, rest = program(word), words[place + 1 :]
        if (
            alone
            and place >= begins
            and (name in PARSERS or (name == "[[" and any(map(COMPARES.fullmatch, rest))))
            and SYSTEM.fullmatch(word)
        ):
            found = next((one for one in rest if tainted(one)), None)
            if found is not None:
                return name, found
        language = LANGUAGES.get(name)
        if language is None:
            alone = alone and (place < begins or name in WRAPPERS or program(words[begins]) in WRAPPERS)
            continue
        code, is_script = _code(language, rest)
        for one in code:
            if tainted(one):
                return name, one
        if fed and not code and not is_script:
            return name, ""
        if fed and code and "xargs" in map(program, words[:place]):
            return name, ""
        alone = False
    return None


def tainted(word: str) -> bool:
    """Whether a value will be in this word."""
    return HOLE in word or TAINT in word


def program(word: str) -> str:
    """The name of a program, without its folder and its version; of one in a variable, a shell's."""
    if IN_VARIABLE.fullmatch(word):
        return "sh"
    name = PurePosixPath(word.replace("\\", "/")).name.lower().removesuffix(".exe")
    return (
        re.sub(r"(?<=[a-z])-?[\d.]+\Z", "", name) if name not in LANGUAGES and name not in PARSERS else name
    )


def _precedes(word: str) -> bool:
    return word in KEYWORDS or bool(ASSIGNMENT.match(word))


def _unwrapped(words: Sequence[str]) -> list[str]:
    """The words with those of `env -S "..."`, which it splits itself, one by one."""
    found: list[str] = []
    waits = False
    for place, word in enumerate(words):
        inside = "env" in map(program, words[:place])
        attached = (
            re.fullmatch(r"-[A-Za-z0]*S(.*)|--split-string(?:=(.*))?", word, re.DOTALL) if inside else None
        )
        if attached:
            text = next((group for group in attached.groups() if group), None)
            waits = text is None
            found += [] if text is None else _split(text)
        else:
            found += _split(word) if waits else [word]
            waits = False
    return found


def _split(text: str) -> list[str]:
    if tainted(text):
        return ["eval", text]  # a value would be split
    with suppress(ValueError):
        return shlex.split(text)
    return [text]


def _code(language: Language, words: Sequence[str]) -> tuple[list[str], bool]:
    """The words that a program takes for code, and whether it was given a file or a module to run."""
    code: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("--", "-"):
            if language.permuted or (language.last and code):
                continue
            break
        if not word.startswith(("-", "+")):
            if language.last and code:  # the code itself, after all options
                return [*code, word], False
            if language.first and not code:
                return [word], False
            if language.permuted:
                continue
            return code, not code
        found = _option(language, word, rest)
        if found is not None:
            code += found
            if language.all:
                return [*code, *rest], False
            if language.short == "c" and not (language.last or language.permuted):
                return code, False  # Python: what follows are arguments
    if language.last and code and rest:
        return [*code, rest[0]], False
    if language.first and not code and rest:
        return [rest[0]], False
    return code, bool(rest) and not code


def _option(language: Language, word: str, rest: list[str]) -> list[str] | None:
    """The code that comes with an option, if so; its argument is taken off the rest."""
    if language.last and tainted(word):
        return [word]
    name, equals, attached = word.lstrip("-").partition("=")
    long = word.startswith("--") or len(name) > 2
    if long and _means(language, word, name.lower()):
        return [attached] if equals else [rest.pop(0)] if rest and not language.last else [""]
    if word.startswith("--"):
        if name in LONG_ARGUMENTS and not equals and rest:
            rest.pop(0)
        return None
    for place, letter in enumerate(word[1:], start=2):
        if letter in language.short:
            if language.last:
                return [""]
            return [word[place:]] if word[place:] else [rest.pop(0)] if rest else [""]
        if letter in language.arguments:
            if not word[place:] and rest:
                rest.pop(0)
            return None
        if letter == "m" and language.arguments == "WX":  # a module of Python ends the options
            module = word[place:] or (rest.pop(0) if rest else "")
            return [*rest] if module in ("timeit", "pdb") else [""]
        if letter == "f" and language.first:  # the program is in a file
            if not word[place:] and rest:
                rest.pop(0)
            return [""]
    return None


def _means(language: Language, word: str, name: str) -> bool:
    """Whether this is a long option of code; after two dashes it may be cut short."""
    return bool(name) and any(
        one == name or (word[:2] == "--" and one.startswith(name)) for one in language.long
    )
