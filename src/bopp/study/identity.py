"""Identity: the name of this process in a store, and whether a process named there is dead."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

UNKNOWN = "unknown"
LONGEST_PID = 20  # digits; a store may hold any number of them


def name() -> str:
    """This process as host/pid/birth, where the birth tells it from every other process on any machine."""
    return f"{socket.gethostname()}/{os.getpid()}/{_machine()}-{_life(os.getpid())[1]}"


def is_dead(worker: str | None) -> bool:
    """Whether a worker on this machine has ended; for those on others, only their leases can tell."""
    pid, _, life = (worker or "").partition("/")[2].rpartition("/")
    machine, _, birth = life.rpartition("-")
    if machine != _machine() or machine == UNKNOWN or not pid.isdecimal() or len(pid) > LONGEST_PID:
        return False
    try:
        os.kill(int(pid), 0)  # only asks whether it exists
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it exists but is another user's, or this is no pid
        return False
    state, born = _life(int(pid))
    return state in "ZX" or born not in (UNKNOWN, birth)  # another process has its pid now


@cache
def _machine() -> str:
    """This machine since its last boot, and the PID namespace: where a pid means one process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return hashlib.sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:12]
    except OSError:
        return UNKNOWN


def _life(pid: int) -> tuple[str, str]:
    """The state of a process, and its start time."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return UNKNOWN, UNKNOWN
    return facts[0], facts[19]
