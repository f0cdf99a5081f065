"""Faults: what was done to bopp, what it promises then, and what the tests of it measured.

A test of a fault is marked with its number, `@pytest.mark.fault(4)`, and says what it measured by the fixture
`figure`. `make test-faults` runs all of them, prints the table and writes docs/faults.md: this file is the
plugin of pytest that does so.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

import report
from support import postgres


class Figure(Protocol):
    """Says what a test has measured: of all faults that it is about, or of one."""

    def __call__(self, text: str, fault: int | None = None) -> None: ...


YET_TO_COME: frozenset[int] = frozenset()  # mended, but no test is marked with their numbers yet

FAULTS = {
    1: ("8 processes with 200 trials each, one SQLite file", "1600 trials, none lost or twice"),
    2: ("16 processes with 100 trials each, one PostgreSQL database", "1600 trials, none lost or twice"),
    3: ("8 processes create or open one fresh store at once, 20 times", "no error, one study"),
    4: ("kill -9 at 100 random moments", "no told result lost, the file sound"),
    5: ("resuming after each kill", "the next suggestion is the same in every bit"),
    6: ("the owner of a trial killed", "another has it within the lease and 5 s, and only one"),
    7: ("the end of a file cut off", "opened whole, or refused in words; never fewer trials"),
    8: ("an export cut off or edited, then imported", "refused, the store untouched"),
    9: ("the holder of a lock killed", "others go on within 1 s"),
    10: ("a trial told twice", "the same value accepted, another refused, the first kept"),
    11: ("a trial told after its lease was lost", "the first value counts, and the worker lives on"),
    12: ("16 processes pop 10 queued trials at once, 50 times", "each popped once"),
    13: ("NaN told", "a failed trial, never in the model"),
    14: ("infinities told", "a failed trial, never in the model"),
    15: ('10**400, "3.5", 1+2j, None, [1, 2] told', "failed, or a typed error and the trial still open"),
    16: ("names: emoji, NUL, 600 letters, quotes, SQL, HTML, `../..`, empty", "kept as they are, or refused"),
    17: ("integer ranges up to 2^53, and beyond", "every value can be reached; a clear error"),
    18: ("floats to 1.7e308, log 1e-320 to 1e-310, low = high, NaN", "right, or an error that names it"),
    19: ("clocks set by an hour or a day, other time zones", "no trial taken from the living; UTC is stored"),
    20: ("disk full, file read-only, folder deleted in mid-run", "a clear error, no half trial"),
    21: ("PostgreSQL restarted, and all connections killed 20 times", "retried, nothing lost"),
    22: ("a store of an older version; of a newer one", "migrated; refused and untouched"),
    23: ("the dashboard open at 1 Hz during 1", "no error of a writer"),
    24: ("foreign Host or Origin, no token, on every request that changes something", "403"),
    25: ("markup in every stored field", "inert; a Content-Security-Policy without unsafe-*"),
    26: ("paths with `..`, absolute, symbolic links, `%2e`", "refused"),
    27: ("hostile bytes in every column of a store", "nothing is executed: no pickle, no eval"),
    28: ("a Dask worker killed in mid-trial", "every result once"),
    29: ("Ctrl-C or SIGTERM at any of 500 moments, 2 workers", "the run ends, with code 130"),
    30: ("bopp killed with -9 while commands with children run", "no descendant left after 2 s"),
    31: ("200 workers on a PostgreSQL server with 97 connections", "none dies"),
    32: ("8 threads, or two runs, on one Study", "safe, or refused in words"),
    33: ("a file in WAL mode while another reads it", "opened"),
    34: ("a file cut to 0 bytes or 1", "refused, not taken for a new study"),
    35: ("Ctrl-C while another process holds the write lock", "ends within 2 s, with code 130"),
    36: ("a Choice of 10,000 options", "a suggestion takes under 0.5 s and 300 MB"),
    37: ("a logarithmic Int up to 2^53", "each decade equally likely"),
    38: ("values of a store inside `sh -c` commands", "refused"),
    39: ("a second @ or a missing : in a URL", "no secret printed"),
    40: ("1000 studies; 100,000 trials; 10,000 pending", "status within 2 s; 2 s; a suggestion within 3 s"),
    41: ("an objective that holds the GIL beyond its lease", "told once; in a child, evaluated once"),
    42: ("one bit of a file flipped, 150 times", "noticed or harmless"),
    43: ("hostile exports with a right checksum; hostile rows", "refused with a typed error"),
    44: ("escape sequences and formulas in CSV and hints", "inert"),
    45: ("symbolic links planted at temporary names", "refused"),
}
"""What was done, and what is promised, by number."""

HEAD = """\
# What bopp survives

What was done to bopp, with real processes, real kills and a real server; what it promises then; and what was
measured. `make test-faults` runs the tests of every line and writes this page. `make test-soak` does much of
it at once, at random, to studies that run for half an hour."""


@dataclass
class Evidence:
    """How the tests of one fault ended, and what they measured."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    figures: set[str] = field(default_factory=set)

    def shown(self, number: int) -> str:
        """How the tests ended, in a few words."""
        counts = {"passed": self.passed, "failed": self.failed, "skipped": self.skipped}
        if not any(counts.values()):
            return "yet to come" if number in YET_TO_COME else "not run"
        return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def marked(folder: Path) -> set[int]:
    """The numbers with which tests are marked."""
    files = (file for file in folder.rglob("test_*.py") if file.name != "test_faults.py")
    sources = (file.read_text(encoding="utf-8") for file in files)
    marks = (found for source in sources for found in re.findall(r"mark\.fault\(([\d, ]+)\)", source))
    return {int(number) for mark in marks for number in mark.split(",")}


def gathered(stats: Mapping[str, Iterable[Any]]) -> dict[int, Evidence]:
    """The evidence for each fault, from the reports of pytest by their outcome.

    Of a test that was run at full size too, only that is shown.
    """
    evidence = {number: Evidence() for number in FAULTS}
    counted = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped"}
    reports = [(count, one) for outcome, count in counted.items() for one in stats.get(outcome, ())]
    full_size = {_function(one) for count, one in reports if count == "passed" and "slow" in one.keywords}
    for count, one in reports:
        properties = getattr(one, "user_properties", ())
        shows = count == "passed" and ("slow" in one.keywords or _function(one) not in full_size)
        for number in (value for name, value in properties if name == "fault"):
            found, names = evidence[number], ("figure", f"figure {number}")
            setattr(found, count, getattr(found, count) + 1)
            found.figures |= {value for name, value in properties if shows and name in names}
    return evidence


def _function(one: Any) -> str:
    """The test of which a report is one of the variants."""
    return str(one.nodeid).partition("[")[0]


def rows(evidence: Mapping[int, Evidence]) -> list[list[str]]:
    """The table: number, what was done, what is promised, how the tests ended, what was measured."""
    return [
        [
            str(number),
            done,
            promise,
            evidence[number].shown(number),
            "; ".join(sorted(evidence[number].figures)),
        ]
        for number, (done, promise) in FAULTS.items()
    ]


def page(evidence: Mapping[int, Evidence]) -> str:
    """The table as a page of the documentation."""
    programs = postgres.binaries()
    server = ".".join(map(str, postgres.version(programs))) if programs else "none"
    versions = f"{report.heading()}, SQLite {sqlite3.sqlite_version}, PostgreSQL {server}"
    columns = ["", "what was done", "what bopp promises", "tests", "measured"]
    lines = [[cell.replace("|", r"\|") for cell in row] for row in rows(evidence)]
    return f"{HEAD}\n\n{versions}\n\n{report.markdown(columns, lines)}\n"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fault-table", type=Path, metavar="FILE", help="write what the tests of faults measured"
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the reports of a test know which faults it is about, in whichever process it runs."""
    for mark in item.iter_markers("fault"):
        if unknown := set(mark.args) - set(FAULTS):
            raise pytest.UsageError(f"{item.nodeid}: wanted numbers of faults.py, got {unknown}")
        item.user_properties += [("fault", number) for number in mark.args]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """After a run of the tests of faults, show what they found."""
    out: Path | None = config.getoption("--fault-table")
    if out is None and config.getoption("markexpr") != "fault":
        return
    evidence = gathered(terminalreporter.stats)
    terminalreporter.section("faults")
    for number, done, _, ended, figures in rows(evidence):
        terminalreporter.write_line(f"{number:>2}  {done:<78.78}  {ended:<28}  {figures}".rstrip())
    if out is not None:
        out.write_text(page(evidence), encoding="utf-8")


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Figure:
    """Says what a test of a fault has measured, for the table at the end."""

    def figure(text: str, fault: int | None = None) -> None:
        request.node.user_properties.append(("figure" if fault is None else f"figure {fault}", text))

    return figure
