"""Descendants: the processes that a process has started, directly or not, and how to end them all.

On Linux all of them are found, even those that moved to another group or session, or whose parent has ended.
Elsewhere those are found whose parents still live, and on macOS those in the process group of the evaluation.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36  # from prctl(2)
PATIENCE = 2.0  # seconds for killed processes to vanish; one that waits for a device may take longer


def end_with_parent() -> None:
    """Have this process killed when its parent ends, even if the parent is killed (on Linux)."""
    if LINUX:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt() -> None:
    """Become the parent of every descendant whose own parent ends (on Linux)."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def call(name: str) -> None:
    """Give this process a name of its own, by which `pkill` finds it and not its parent (on Linux)."""
    _prctl(PR_SET_NAME, name.encode())


def lead_group() -> None:
    """Begin a process group, so that what this process starts can be ended with it."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)


def end_tree(root: int) -> None:
    """Kill a process, its group, and what it has started, as far as the parents of that still live."""
    if not LINUX:  # where orphans are adopted instead
        _kill_below(root)
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # not a group yet, or gone already
            os.killpg(root, signal.SIGKILL)


def end_started() -> None:
    """Kill what this process has started, where nobody would find it once this process has ended."""
    if not LINUX:
        _kill_below(os.getpid())


def end_adopted() -> None:
    """Kill all descendants of this process, which must have adopted them (on Linux)."""
    deadline = time.monotonic() + PATIENCE
    while LINUX and forget_ended() and time.monotonic() < deadline:
        _kill_below(os.getpid())
        time.sleep(0.002)


def forget_ended(child: int | None = None) -> bool:
    """Let children that have ended vanish, but not this one, whose exit code is wanted; whether any is left.

    Adopted ones are among them (on Linux).
    """
    with suppress(ChildProcessError):
        while LINUX and (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
            if ended.si_pid == child:
                return True
            os.waitpid(ended.si_pid, 0)
        return LINUX
    return False


def _kill_below(root: int) -> None:
    import psutil  # here, since most runs leave nothing behind

    with suppress(psutil.Error):
        for process in psutil.Process(root).children(recursive=True):
            with suppress(psutil.Error):  # it has ended meanwhile
                process.kill()


def _prctl(option: int, value: int | bytes) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


START_OPTIONS: dict[str, Any] = (
    {"preexec_fn": end_with_parent}
    if LINUX
    else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
)
"""How `subprocess` starts a program that is to end with this process, as far as the system allows."""
