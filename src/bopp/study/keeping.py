"""Keeping: tells a keeper, one for all studies of this process, which leases to renew."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from bopp.run.interrupts import uninterrupted
from bopp.study import keeper

FAREWELL = 2.0  # seconds for a keeper to end
CHANCES = 2  # processes that may die before a thread takes their place

_lock = threading.RLock()
_held: dict[str, str] = {}  # tickets, each with the line by which the keeper was told
_line: int | None = None  # a pipe, without a buffer: a fork would find the lock of one taken for ever
_process: subprocess.Popen[bytes] | None = None  # None if the keeper is a thread
_died = 0  # how many keepers ended before their time
_of_parents: list[subprocess.Popen[bytes] | None] = []


def hold(ticket: str, store: dict[str, Any], every: float, share: float) -> None:
    """Renew the lease of this ticket `every` so many seconds, each time for a `share` of its length."""
    line = json.dumps({"ticket": ticket, "store": store, "every": every, "share": share})
    with uninterrupted(), _lock:
        _held[ticket] = line
        if not _said(line):
            _start()


def leave(ticket: str) -> None:
    """Renew this lease no more."""
    with uninterrupted(), _lock:
        if _held.pop(ticket, None):
            _said(json.dumps({"ticket": ticket}))


def _said(line: str) -> bool:
    """Whether there is a keeper that could be told."""
    if _line is None or (_process is not None and _process.poll() is not None):
        return False
    rest = f"{line}\n".encode()
    try:
        while rest:
            rest = rest[os.write(_line, rest) :]
    except OSError:
        return False
    return True


def _start() -> None:
    """Start a keeper, and tell it all that is held; a thread where no process can do it."""
    global _line, _process
    _stop()
    its, _line = os.pipe()
    _process = _started(its) if _died < CHANCES and not getattr(sys, "frozen", False) else None
    if _process is None:  # a program in one file would start itself, and some have no Python to start
        threading.Thread(target=_keep, args=(its,), name="bopp leases", daemon=True).start()
    else:
        os.close(its)
        threading.Thread(target=_watch, args=(_process,), name="bopp keeper", daemon=True).start()
        _said(json.dumps([path for path in sys.path if isinstance(path, str)]))
    for line in _held.values():
        _said(line)


def _started(line: int) -> subprocess.Popen[bytes] | None:
    python, none = os.fsdecode(spawn.get_executable() or ""), subprocess.DEVNULL
    words = [python, "-I", "-S", str(Path(keeper.__file__)), str(os.getpid())]
    with suppress(OSError):
        return subprocess.Popen(words, stdin=line, stdout=none, stderr=none, start_new_session=True)  # noqa: S603
    return None


def _watch(process: subprocess.Popen[bytes]) -> None:
    """If a keeper ends before its time, because it was killed or could not begin, start another."""
    global _died
    process.wait()
    with _lock:
        if _process is process:
            _died += 1
            if _held:
                _start()


def _keep(pipe: int) -> None:
    with os.fdopen(pipe) as lines:
        keeper.keep(lines, parent=None)


def _stop() -> None:
    """End the keeper, if there is one."""
    global _line, _process
    _said("null")  # it may not see that the line is closed: a fork of this process may have it too
    line, process, _line, _process = _line, _process, None, None
    if line is not None:
        os.close(line)
    if process is not None:
        try:
            process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _forked() -> None:
    """A forked process holds nothing: the trials, and the keeper, stay with its parent."""
    global _lock, _held, _line, _process, _died
    if _line is not None:
        os.close(_line)
    _of_parents.append(_process)  # or Python would warn that it still runs
    _lock, _held, _line, _process, _died = threading.RLock(), {}, None, None, 0


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
