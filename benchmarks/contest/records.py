"""Records: what is kept of each run, one line of JSON in the file of its peer."""

import fcntl
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contest.peers import PEERS, Entry
from report import processor

BENCHMARKS = Path(__file__).parent.parent
KEPT = {  # the records of the table are part of the repository, those of choosing are not
    "table": BENCHMARKS / "contest" / "results",
    "choosing": BENCHMARKS / "results" / "choosing",
}


@dataclass(frozen=True)
class Record:
    """What one run came to.

    best         the number of each evaluation, from 1, that improved on all before, with its true value
    evaluations  how many there were, given points included
    cpu          seconds that the peer took to be asked and told
    repeats      how many of the params that it asked for were those of an earlier evaluation
    failed       how many evaluations crashed
    """

    task: str
    peer: str
    best: list[tuple[int, float]]
    evaluations: int
    cpu: float
    repeats: int
    failed: int


def file_of(part: str, group: str, label: str) -> Path:
    """Where the records of a peer, or of a variant of it that has a label, are kept."""
    return KEPT[part] / group / f"{label}.jsonl"


def append(path: Path, record: Any) -> None:
    """Add a record, a dataclass, whole or not at all, whoever else adds one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(asdict(record)) + "\n")


def recorded(path: Path) -> set[str]:
    """The names of the tasks that have a record."""
    if not path.exists():
        return set()
    return {json.loads(line)["task"] for line in path.read_text().splitlines()}


def note_versions(path: Path, peers: Iterable[str], entries: Mapping[str, Entry] = PEERS) -> None:
    """Note with which versions, on which machine and when these peers ran."""
    notes = json.loads(path.read_text()) if path.exists() else {}
    for peer in peers:
        notes[peer] = {
            "versions": entries[peer].versions,
            "python": platform.python_version(),
            "machine": f"{processor()}, {platform.system()} {platform.machine()}",
            "date": datetime.now(UTC).date().isoformat(),
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dict(sorted(notes.items())), indent=2) + "\n")
