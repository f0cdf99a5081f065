"""Identity: the name of this process in a store, and whether the process of another name is dead."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

UNKNOWN = "unknown"


def name() -> str:
    """This process: host/pid/birth, where the birth tells it from any other process on any machine."""
    return f"{socket.gethostname()}/{os.getpid()}/{_machine()}-{_life(os.getpid())[1]}"


def is_dead(worker: str | None) -> bool:
    """Whether a process of this machine has ended; of other machines only their leases can tell."""
    pid, _, life = (worker or "").partition("/")[2].rpartition("/")
    machine, _, birth = life.rpartition("-")
    if machine != _machine() or machine == UNKNOWN or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)  # asks whether it is there
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it is, and is somebody else's
        return False
    state, born = _life(int(pid))
    return state in "ZX" or born not in (UNKNOWN, birth)  # another process has its number now


@cache
def _machine() -> str:
    """This machine since it was switched on, as far as process numbers reach."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return hashlib.sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:12]
    except OSError:
        return UNKNOWN


def _life(pid: int) -> tuple[str, str]:
    """The state of a process, and when it was started."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return UNKNOWN, UNKNOWN
    return facts[0], facts[19]
