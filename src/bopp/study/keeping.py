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
from typing import IO, Any

from bopp.run.interrupts import uninterrupted
from bopp.study import keeper

FAREWELL = 2.0  # seconds for a keeper to end

_lock = threading.RLock()
_held: dict[str, str] = {}  # tickets, each with the line by which the keeper was told
_line: IO[str] | None = None
_process: subprocess.Popen[str] | None = None
_of_parents: list[subprocess.Popen[str] | None] = []


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
    try:
        _line.write(f"{line}\n")
        _line.flush()
    except (OSError, ValueError):
        return False
    return True


def _start() -> None:
    """Start a keeper, and tell it all that is held; a thread where this is no Python that can be started."""
    global _line, _process
    _stop()
    words = [
        os.fsdecode(spawn.get_executable() or ""),
        "-I",
        "-S",
        str(Path(keeper.__file__)),
        str(os.getpid()),
    ]
    try:
        if getattr(sys, "frozen", False):
            raise OSError("a program in one file would start itself")
        none = subprocess.DEVNULL
        _process = subprocess.Popen(  # noqa: S603
            words, stdin=subprocess.PIPE, stdout=none, stderr=none, text=True, start_new_session=True
        )
        _line = _process.stdin
        _said(json.dumps(sys.path))
    except OSError:
        ours, its = os.pipe()
        _process, _line = None, os.fdopen(its, "w")
        threading.Thread(target=_listen, args=(ours,), name="bopp leases", daemon=True).start()
    for line in _held.values():
        _said(line)


def _listen(pipe: int) -> None:
    with os.fdopen(pipe) as lines:
        keeper.keep(lines, parent=None)


def _stop() -> None:
    """End the keeper, if there is one."""
    global _line, _process
    _said("null")  # it may not see that the line is closed: a fork of this process may have it too
    line, process, _line, _process = _line, _process, None, None
    if line is not None:
        with suppress(OSError):
            line.close()
    if process is not None:
        try:
            process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _forked() -> None:
    """A forked process holds nothing: the trials, and the keeper, stay with its parent."""
    global _lock, _held, _line, _process
    if _line is not None:
        with suppress(OSError):
            _line.close()
    _of_parents.append(_process)  # or Python would warn that it still runs
    _lock, _held, _line, _process = threading.RLock(), {}, None, None


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
