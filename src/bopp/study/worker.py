"""Worker: the name of this process in a store, and whether another one is known to be dead."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path


def name() -> str:
    """This process: host/pid/birth, where the birth tells it from any other process on any machine."""
    return f"{socket.gethostname()}/{os.getpid()}/{_birth(os.getpid()) or 'unknown'}"


def is_dead(worker: str | None) -> bool:
    """Whether a process of this machine has ended; of other machines only their leases can tell."""
    pid, _, birth = (worker or "").partition("/")[2].rpartition("/")
    here = _machine() is not None and birth.startswith(f"{_machine()}-")
    return here and pid.isdecimal() and _birth(int(pid)) != birth


@cache
def _machine() -> str | None:
    """This machine since it was switched on, as far as process numbers reach; None where nobody can tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return hashlib.sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:12]
    except OSError:
        return None


def _birth(pid: int) -> str | None:
    """Machine and start of a process that lives; None where there is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return None
    return None if _machine() is None or state[0] in "ZX" else f"{_machine()}-{state[19]}"
