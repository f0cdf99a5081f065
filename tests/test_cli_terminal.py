import re
import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bopp.cli.terminal import LONGEST_CELL, print_pairs, print_table, say
from bopp.legible import legible, one_line

HOSTILE = [
    *("\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x00", "\x7f", "\r", "\b\b\b", "\u202e", "\u200b", "\udcff"),
    *("[red]", "[/red]", "[link=http://x]", ":smile:", "\\[", "a\nb"),
]


def harmless(text: str) -> bool:
    """Whether a terminal would do nothing with a text but show it."""
    kinds = [unicodedata.category(letter) for letter in text.replace("\n", "")]
    return not {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}.intersection(kinds)


Show = Callable[[list[str], list[list[str]]], str]


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    """Shows a table on a terminal."""

    def show(columns: list[str], rows: list[list[str]]) -> str:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "200")
        print_table(columns, rows)
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)  # without our own colors

    return show


@given(st.text())
def test_any_text_is_made_harmless_and_stays_as_it_was_where_it_is(text: str) -> None:
    shown = legible(text)
    assert harmless(shown)
    assert "\n" not in one_line(text)
    assert harmless(one_line(text))
    if text.isprintable():
        assert shown == one_line(text) == text


def test_line_ends_stay_and_are_blanks_in_a_line() -> None:
    assert legible("a\nb") == "a\nb"
    assert one_line("a\nb\r\n  c\r") == "a b c"
    assert one_line("a  b") == "a  b"
    assert one_line("") == one_line("\n") == ""


def test_what_is_said_goes_to_the_error_stream(capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE:
        say(f"before {text} after")
        shown = capsys.readouterr()
        assert shown.out == ""
        assert harmless(shown.err)
        assert shown.err.startswith("before ")
        assert shown.err.endswith(" after\n")


def test_a_table_elsewhere_is_columns_of_whole_texts(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 5000
    print_table(["a", "name"], [["1", "short"], ["1000", long], ["2", ""]])
    assert capsys.readouterr() == (f"a     name\n1     short\n1000  {long}\n2\n", "")
    print_table(["only", "heads"], [])
    assert capsys.readouterr().out == "only  heads\n"


def test_a_table_elsewhere_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE:
        print_table([text, "b"], [[text, "1"], ["c", text]])
        shown = capsys.readouterr().out
        assert harmless(shown)
        assert not re.search("[\u2500-\u257f]", shown)
        assert shown.count("\n") == 3


def test_a_table_on_a_terminal_has_boxes_and_cuts_cells(on_terminal: Show) -> None:
    shown = on_terminal(["a", "name"], [["1", "x" * (LONGEST_CELL + 1)], ["2", "y" * LONGEST_CELL]])
    assert "│" in shown
    assert "x" * (LONGEST_CELL - 3) + "..." in shown
    assert "x" * (LONGEST_CELL - 2) not in shown
    assert "y" * LONGEST_CELL in shown


def test_a_table_on_a_terminal_shows_hostile_texts_as_they_are(on_terminal: Show) -> None:
    for text in (f"<{text}>" for text in HOSTILE):
        shown = on_terminal([text, "b"], [[text, "1"], ["c", text]])
        assert harmless(shown)
        assert shown.count(one_line(text)) == 3
    first, second = on_terminal(["name"], [["実験"], ["ab"]]).splitlines()[3:5]
    assert len(second) == len(first) + 2  # each of the two letters is two columns wide


def test_pairs_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    print_pairs([("a", "1"), ("long name", "two\nlines"), ("empty", "")])
    assert capsys.readouterr() == ("a          1\nlong name  two lines\nempty\n", "")
    print_pairs([])
    assert capsys.readouterr() == ("", "")
    for text in HOSTILE:
        print_pairs([(text, text)])
        assert harmless(capsys.readouterr().out)
