"""Exchange: a study as JSON Lines, to be kept, sent or read by other programs; and back, whole or not at all.

The first line tells what the study is, each further one a trial, the last one a checksum of all before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, get_args

import sqlalchemy as sa

from bopp.errors import BoppError, StudyError
from bopp.study import opening
from bopp.study.ledger import Claim, Ledger, new_ticket
from bopp.study.recipes import has_parts_of_yours, read_recipe
from bopp.study.store import Store
from bopp.study.study import Study
from bopp.trial import Direction, Trial
from bopp.written import UNREADABLE, one_of, read_space, read_trial, written_space, written_trial

FORMAT = 1


def exported(study: Study) -> bytes:
    """The study as text."""
    lines = "".join(f"{json.dumps(row, allow_nan=False)}\n" for row in _rows(study)).encode()
    return lines + _last_line(lines) + b"\n"


def imported(url: str, content: bytes, name: str | None = None) -> str:
    """Put an exported study into a store, under its own name or another; the name that it has there.

    Trials that were under way are handed out again to whoever asks next.
    """
    head, trials = _read(content)
    name = opening.checked_name(head["study"] if name is None else name)
    definition = {field: head[field] for field in ("space", "direction", "seed", "recipe")}
    created_at = datetime.now(UTC).isoformat()
    with Store(url) as store:
        store.write(partial(_add, name, definition, trials, created_at), alone=True)
    return name


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    trials = study.trials
    yield {
        "bopp": FORMAT,
        "study": study.name,
        "space": written_space(study.space),
        "direction": study.direction,
        "seed": study.seed,
        "recipe": study.definition.parts,
        "trials": len(trials),
    }
    for trial in trials:
        yield written_trial(study.space, trial)


def _read(content: bytes) -> tuple[dict[str, Any], list[Trial]]:
    """The first line and the trials of an export that is whole, and nobody's work but ours."""
    body, _, last = content.removesuffix(b"\n").rpartition(b"\n")
    body += b"\n"
    if not content.startswith(b'{"bopp": '):
        raise StudyError(f"wanted what bopp export wrote, got {content[:40]!r}")
    if last != _last_line(body):
        raise StudyError("the export is cut off or was changed: its checksum does not fit")
    try:
        head, *rows = [json.loads(line) for line in body.splitlines()]
        if head["bopp"] != FORMAT:
            raise StudyError(f"wanted an export of format {FORMAT}, got {head['bopp']!r}: use a newer bopp")
        if head["trials"] != len(rows):
            raise StudyError(f"wanted {head['trials']!r} trials, got {len(rows)}")
        space = read_space(head["space"])
        one_of(get_args(Direction), head["direction"])
        if not has_parts_of_yours(head["recipe"]):
            read_recipe(head["recipe"])
        if not isinstance(head["seed"], int) or head["seed"] < 0:
            raise StudyError(f"wanted a seed >= 0, got {head['seed']!r}")
        return head, [read_trial(space, row, number) for number, row in enumerate(rows)]
    except StudyError:
        raise
    except (*UNREADABLE, BoppError) as error:
        raise StudyError(f"wanted an export of a study, got {content[:40]!r}...: {error}") from error


def _add(
    name: str, definition: dict[str, Any], trials: list[Trial], created_at: str, connection: sa.Connection
) -> None:
    known = opening.find(connection, name)
    if known and known["created_at"] == created_at:
        return  # done before, when the acknowledgement was lost
    if known:
        raise StudyError(f"there is a study {name!r} already: import under another name")
    row = opening.create(connection, name, definition, created_at)
    ledger = Ledger(row["id"], read_space(definition["space"]), definition["direction"])
    for trial in trials:
        free = 0.0 if trial.state == "asked" else None
        ledger.add(connection, trial, ledger.lock(connection), Claim(new_ticket(), free, free))


def _last_line(lines: bytes) -> bytes:
    return b'{"sha256": "%s"}' % hashlib.sha256(lines).hexdigest().encode()
