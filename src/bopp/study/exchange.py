"""Exchange: a study as JSON Lines, to keep, send or read with other programs; an import is all or nothing.

The first line says what the study is, then comes a line for each trial, and last a checksum of all before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from bopp.errors import StudyError, reading
from bopp.legible import cut
from bopp.parts import has_parts_of_yours
from bopp.plain import (
    check_format,
    read_recipe,
    read_trial,
    write_problem,
    write_space,
    write_trial,
)
from bopp.problem import Problem
from bopp.result import Result
from bopp.study import catalogue
from bopp.study.definition import COLUMNS, Definition, loads
from bopp.study.ledger import Claim, Ledger, new_ticket
from bopp.study.sources import check_sources
from bopp.study.store import Store
from bopp.study.study import Study
from bopp.trial import Trial

EXPORT = b'{"bopp": '  # how an export begins
PROBLEM = ("objectives", "constraints", "fidelities", "reference")
LONGEST = 200  # characters of what came, in a message
FORMAT = 1


def exported(study: Study) -> bytes:
    """The study as text."""
    lines = "".join(f"{json.dumps(row, allow_nan=False)}\n" for row in _rows(study)).encode()
    return lines + _last_line(lines) + b"\n"


def imported(url: str, content: bytes, name: str | None = None) -> str:
    """Put an exported study into a store, under its own name or another; returns that name.

    Trials that were under way are handed out again to whoever asks next.
    """
    head, problem, trials = _read(content)
    name = catalogue.checked_name(head["study"] if name is None else name)
    created_at = datetime.now(UTC).isoformat()

    def add(connection: sa.Connection) -> None:
        known = catalogue.find(connection, name)
        if known and known["created_at"] == created_at:
            return  # done by an earlier attempt, whose acknowledgement was lost
        if known:
            raise StudyError(f"there is a study {name!r} already: import under another name")
        row = catalogue.create(connection, name, _columns(head), created_at)
        ledger = Ledger(row["id"], problem)
        claims = [Claim.free() if trial.state == "asked" else Claim(new_ticket()) for trial in trials]
        ledger.add(connection, trials, ledger.lock(connection), claims)

    with Store(url, "create") as store:
        store.write(add, alone=True)
    return name


def result_of(content: bytes) -> Result:
    """The trials of an exported study."""
    _, problem, trials = _read(content)
    return Result(problem, tuple(trials))


def _columns(head: dict[str, Any]) -> dict[str, Any]:
    """The columns of a study in the first line of its export."""
    problem = {field: head[field] for field in PROBLEM if field in head}
    return {name: problem if name == "problem" else head[name] for name in COLUMNS}


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    trials = study.trials
    yield {
        "bopp": FORMAT,
        "study": study.name,
        "space": write_space(study.space),
        **write_problem(study.problem),
        "seed": study.seed,
        "recipe": study.definition.parts,
        "knowledge": study.definition.knowledge,
        "trials": len(trials),
    }
    for trial in trials:
        yield write_trial(study.space, trial)


def _read(content: bytes) -> tuple[dict[str, Any], Problem, list[Trial]]:
    """The first line, the problem and the trials of an export, which must be complete and unchanged."""
    body, _, last = content.removesuffix(b"\n").rpartition(b"\n")
    body += b"\n"
    if not content.startswith(EXPORT):
        raise StudyError(f"wanted what bopp export wrote, got {content[:40]!r}")
    if last != _last_line(body):
        raise StudyError("the export is cut off or was changed: its checksum does not fit")
    with reading(f"wanted an export of a study, got {content[:40]!r}...", StudyError):
        head, *rows = [_line(line) for line in body.splitlines()]
        check_format("an export", head["bopp"], FORMAT)
        if type(head["trials"]) is not int or head["trials"] != len(rows):
            raise StudyError(f"wanted {head['trials']!r} trials, got {len(rows)}")
        study = Definition.of(0, catalogue.checked_name(head["study"]), _columns(head))
        problem = study.problem
        if not has_parts_of_yours(study.parts):
            read_recipe(study.parts)
        check_sources(study.knowledge, problem)
        trials = [read_trial(problem, row, number) for number, row in enumerate(rows)]
        texts = [text for one in trials for text in (one.error, one.traceback, one.worker, one.notes)]
        if any(text and "\0" in text for text in texts):
            raise StudyError("wanted texts that every database can keep, got one with a NUL")
        _check_meant({**write_problem(problem), "space": write_space(problem.space)}, head)
        for trial, row in zip(trials, rows, strict=True):
            _check_meant(write_trial(problem.space, trial), row)
        return head, problem, trials


def _line(line: bytes) -> Any:
    """A line of an export, without what no export has: NaN, infinities, and halves of letters."""
    row = loads(line)
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise StudyError(f"wanted texts of whole letters, got {error.object[error.start]!r}") from None
    return row


def _check_meant(written: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse what was read but is not what bopp would write: 1 for 1.0 or true, a text for a list."""
    for name in written.keys() & given.keys():
        wanted, got = (json.dumps(one[name], sort_keys=True) for one in (written, given))
        if wanted != got:
            raise StudyError(f"{name}: wanted {cut(wanted, LONGEST)}, got {cut(got, LONGEST)}")


def _last_line(lines: bytes) -> bytes:
    return b'{"sha256": "%s"}' % hashlib.sha256(lines).hexdigest().encode()
