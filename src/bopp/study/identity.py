"""Identity: the name of this process in a store, and whether a process named there is dead."""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

import psutil

LONGEST_PID = 20  # digits; a store may hold any number of them


def name() -> str:
    """This process as host/pid/birth, where the birth tells it from every other process on any machine."""
    return f"{socket.gethostname()}/{os.getpid()}/{_machine()}-{_birth(psutil.Process())}"


def is_dead(worker: str | None) -> bool:
    """Whether a worker on this machine has ended; for those on others, only their leases can tell."""
    pid, _, life = (worker or "").partition("/")[2].rpartition("/")
    machine, _, birth = life.rpartition("-")
    if machine != _machine() or not pid.isdecimal() or len(pid) > LONGEST_PID:
        return False
    try:
        process = psutil.Process(int(pid))
        return process.status() == psutil.STATUS_ZOMBIE or _birth(process) != birth  # its pid was used again
    except psutil.NoSuchProcess:
        return not _is_hidden(int(pid))
    except (psutil.Error, OSError, OverflowError, ValueError):
        return False


def _is_hidden(pid: int) -> bool:
    """Whether a process exists that /proc does not show, as it may those of other users."""
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)  # only asks whether it exists
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def _birth(process: psutil.Process) -> str:
    """Hundredths of a second from the boot to the start of a process; the clock may be set meanwhile."""
    return f"{100 * (process.create_time() - psutil.boot_time()):.0f}"


@cache
def _machine() -> str:
    """This machine since its last boot, and the PID namespace: where a pid means one process."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        place = f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        place = f"{socket.gethostname()} {psutil.boot_time():.0f}"
    return hashlib.sha256(place.encode()).hexdigest()[:12]
