"""Shell texts: the commands in a text for a shell, as far as needed to see where a value would go.

What cannot be followed for sure is refused: a reader that is wrong about a quote would let a value through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bopp.study.interpreters import HOLE, TAINT, tainted


@dataclass
class _Simple:
    """A simple command of a shell."""

    words: list[str]
    fed: bool = False


def shell_commands(template: str) -> Iterator[tuple[list[str], bool]]:
    """The commands of a text for a shell: their words without quotes, and whether a value feeds them.

    Raises ValueError, with the place of a value in it, where a value stands in quotes, in a comment, in
    arithmetic or in a here-document; and where the text is too intricate to be sure.
    """
    yield from ((one.words, one.fed) for one in _Reading(template).commands)


TOKEN = re.compile(
    r"""(?P<single>'[^']*(?:'|\Z))|(?P<double>"(?:\\.|[^"\\])*(?:"|\Z))|(?P<escape>\\.|\\\Z)
    |(?P<document>[0-9]*<<-?)(?!<)|(?P<string>[0-9]*<<<)|(?P<process>[<>]\()
    |(?P<redirect>(?:[0-9]+(?=[<>])|&(?=>))?(?:>>|<>|>\||[<>]&?))
    |(?P<inner>\$\()|(?P<tick>`)|(?P<open>\()|(?P<close>\))|(?P<pipe>\|(?!\|)&?)
    |(?P<end>;+|&&|\|\||&|\n)|(?P<space>[ \t\r]+)
    |(?P<variable>\$(?:\{[^{}]*\}|[A-Za-z_]\w*|[0-9@*#?$!-]))|(?P<hole>\0[0-9]+\0)|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
FORBIDDEN = (
    (re.compile(r"\(\((?:(?!\)\)).)*?(\0[0-9]+\0)|\$\[[^\]]*?(\0[0-9]+\0)", re.DOTALL), "within arithmetic"),
    (re.compile(r"\$\{[^{}]*?(\0[0-9]+\0)", re.DOTALL), "within ${...}"),
)
VARIABLE = re.compile(r"\$(?:\{[#!]?(\w+|[@*])[^{}]*\}|(\w+|[@*]))")
SET = re.compile(r"\b([A-Za-z_]\w*)\+?=|\b(?:read|for|getopts|mapfile|select)\b([^;\n]*)")


class _Reading:
    """Reads a text for a shell, once."""

    def __init__(self, text: str):
        self.commands: list[_Simple] = []
        self._text = text
        for pattern, where in FORBIDDEN:
            if found := pattern.search(text):
                raise ValueError(f"{found[1] or (found.lastindex and found[found.lastindex])} is {where}")
        self._set = {name for row in SET.findall(text) for part in row for name in re.findall(r"\w+", part)}
        self._word: str | None = None
        self._now = _Simple([])
        self._outer: list[tuple[str, _Simple, str | None, int]] = []
        self._upstream = False  # whether a value is in what comes down the pipe
        self._skips = False  # the next word names a file
        self._feeds = False  # the next word is what the command reads
        self._documents: list[tuple[_Simple, str, bool]] = []
        place = 0
        while place < len(text):
            place = self._step(place)
        self._end()
        while self._outer:
            self._leave()

    def _step(self, place: int) -> int:
        if self._word is None and self._text[place] == "#":
            end = self._text.find("\n", place)
            comment = self._text[place : len(self._text) if end < 0 else end]
            _refuse(comment, "in a comment")
            return place + len(comment)
        found = TOKEN.match(self._text, place)
        if found is None or found.lastgroup is None:  # never: `other` matches anything
            raise ValueError("cannot be read")
        kind, piece, after = found.lastgroup, found[0], found.end()
        if kind in ("single", "double"):
            _refuse(piece, "within quotes")
            self._add(piece[1:-1] if kind == "single" else self._unquoted(piece[1:-1]))
        elif kind == "escape":
            if HOLE in piece:
                _refuse(self._text[place:], "within quotes")
            self._add("" if piece == "\\\n" else piece[1:])
        elif kind == "hole":
            self._add(piece)
        elif kind == "variable":
            self._add(self._expanded(piece))
        elif kind == "other":
            if piece == "$" and self._text[after : after + 1] in (HOLE, "'", '"'):
                raise ValueError(f"{_hole(self._text[after:]) or 'a value'} is within quotes")
            self._add(piece)
        elif kind == "process":
            raise ValueError(
                f"{_hole(self._text) or 'a value'} is in a command with {piece}...), which sh lacks"
            )
        else:
            return self._operator(kind, piece, after)
        return after

    def _operator(self, kind: str, piece: str, after: int) -> int:
        if kind in ("inner", "tick", "open"):
            closes = kind == "tick" and any(one[0] == "tick" for one in self._outer)
            if closes:
                self._end()
                self._leave()
                return after
            if kind != "open":
                self._add(TAINT if self._may_hold(_inner(self._text[after:], kind)) else "")
            self._outer.append((kind, self._now, self._word, len(self.commands)))
            if kind == "open":
                self._end()
            self._now, self._word = _Simple([], self._upstream and kind == "open"), None
            return after
        self._finish_word()
        if kind == "document":
            return self._document(after)
        if kind == "string":
            self._feeds = True
        elif kind == "redirect":
            self._skips = True
        elif kind == "pipe":
            closes = self._now.words[:1] in (["}"], ["done"], ["fi"], ["esac"])  # of what, is not followed
            self._end()
            feeds = self._upstream or self._holds(0 if closes else -1)
            self._now, self._upstream = _Simple([], feeds), feeds
        elif kind == "close":
            self._end()
            begun = self._outer[-1][3] if self._outer else 0
            self._leave()
            self._upstream = self._upstream or self._holds(begun)
        elif kind == "end":
            piped = piece == "\n" and not self._now.words
            fed = self._now.fed
            self._end()
            self._now = _Simple([], fed and piped)
            self._upstream = self._upstream and piped
            if piece == "\n":
                return self._skip_documents(after)
        return after

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _finish_word(self) -> None:
        if self._word is not None:
            if self._feeds:
                self._now.fed = self._now.fed or tainted(self._word)
            elif not self._skips:
                self._now.words.append(self._word)
            self._skips = self._feeds = False
        self._word = None

    def _end(self) -> None:
        self._finish_word()
        if self._now.words:
            self.commands.append(self._now)
        self._now = _Simple([])

    def _leave(self) -> None:
        """Go on with the command around this one."""
        self._end()
        if self._outer:
            kind, now, word, _ = self._outer.pop()
            if kind != "open":
                self._now, self._word = now, word

    def _holds(self, begin: int) -> bool:
        """Whether a value is in the commands from this one on."""
        return any(one.fed or any(map(tainted, one.words)) for one in self.commands[begin:])

    def _may_hold(self, text: str) -> bool:
        """Whether a value, or a variable that may hold one, is in the text of an inner command."""
        return HOLE in text or any(TAINT in self._expanded(found[0]) for found in VARIABLE.finditer(text))

    def _expanded(self, piece: str) -> str:
        """A variable as it is written, marked if it may hold a value."""
        found = VARIABLE.match(piece)
        name = (found[1] or found[2] or "") if found else ""
        holds = name.isdigit() or name in ("@", "*") or name.startswith("BOPP_PARAM") or name in self._set
        return f"{TAINT}{piece}" if holds else piece

    def _unquoted(self, text: str) -> str:
        """What is within double quotes."""
        if re.search(r"(?<!\\)(\$\(|`)", text):
            if "#" in text or text.count("(") != text.count(")") or text.count("`") % 2:
                raise ValueError(
                    f"{_hole(self._text) or 'a value'} is beside quotes that are too intricate to follow"
                )
            text = f"{TAINT}{text}" if self._may_hold(text) else text
        marked = re.sub(r"(?<!\\)\$(?:\{[^{}]*\}|\w+|[@*])", lambda found: self._expanded(found[0]), text)
        return re.sub(r"\\([$`\"\\\n])", r"\1", marked)

    def _document(self, after: int) -> int:
        found = re.compile(r"[ \t]*((?:'[^']*'|\"[^\"]*\"|\\.|[^\s;|&<>()'\"\\])+)").match(self._text, after)
        if found is None:
            raise ValueError(f"{_hole(self._text) or 'a value'} is beside a here-document without an end")
        ending = re.sub(r"['\"\\]", "", found[1])
        self._documents.append((self._now, ending, ending == found[1]))
        return found.end()

    def _skip_documents(self, place: int) -> int:
        """The place after the here-documents that begin here."""
        for command, ending, expands in self._documents:
            lines = self._text[place:].splitlines(keepends=True)
            ends = next((at for at, line in enumerate(lines) if line.strip("\t\r\n") == ending), len(lines))
            body = "".join(lines[:ends])
            _refuse(body, "in a here-document")
            if expands and tainted(self._unquoted(body)):
                command.fed = True
            place += len("".join(lines[: ends + 1]))
        self._documents = []
        return place


def _inner(text: str, kind: str) -> str:
    """The text of an inner command, up to where it surely has ended."""
    if kind == "tick":
        return text.partition("`")[0]
    depth = 1
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text if "case" in text[:place] else text[:place]  # whose patterns end with one too
    return text


def _hole(text: str) -> str | None:
    found = re.search(r"\0[0-9]+\0", text)
    return found[0] if found else None


def _refuse(text: str, where: str) -> None:
    if hole := _hole(text):
        raise ValueError(f"{hole} is {where}")
