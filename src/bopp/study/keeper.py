"""Keeper: renews leases from a process of its own, which a busy objective cannot hold up.

A thread cannot do that: compiled code that holds the interpreter's lock stops every thread of its process.
One keeper serves all studies of its parent. It reads a line of JSON on standard input for each trial that its
parent takes or leaves, and ends when that is closed, or when its parent is gone. A parent that was suspended
is silent: its leases are left to run out.

This file is run by itself and imports nothing of bopp, so that it starts within a few hundredths of a second.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import Any

RENEW = """UPDATE bopp_trials SET lease_until = {now} + lease * {share}
    WHERE ticket = {ticket} AND state = 'asked'"""
BUSY = 5.0  # seconds to wait for other writers
LONG = 3600.0


def keep(lines: Iterable[str], parent: int | None) -> None:
    """Renew what these lines say is held, until they end or the parent is gone."""
    messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines, messages), daemon=True).start()
    held: dict[str, dict[str, Any]] = {}
    due = time.monotonic() + LONG
    while True:
        try:
            message = messages.get(timeout=max(0.0, due - time.monotonic()))
        except queue.Empty:
            if parent is not None and os.getppid() != parent:
                return
            if parent is None or not _is_stopped(parent):
                _renew(list(held.values()))
            due = time.monotonic() + min((one["every"] for one in held.values()), default=LONG)
            continue
        if message is None:
            return
        held.pop(message["ticket"], None)
        if "store" in message:
            held[message["ticket"]] = message
            due = min(due, time.monotonic() + message["every"])


def _listen(lines: Iterable[str], messages: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    with suppress(OSError, ValueError):
        for line in lines:
            messages.put(json.loads(line))
    messages.put(None)


def _renew(held: list[dict[str, Any]]) -> None:
    for store in {json.dumps(one["store"]): one["store"] for one in held}.values():
        mine = [one for one in held if one["store"] == store]
        with suppress(Exception):  # a database that cannot be reached now may be reached the next time
            _renew_in_server(store, mine) if "server" in store else _renew_in_file(store, mine)


def _renew_in_file(store: dict[str, Any], held: list[dict[str, Any]]) -> None:
    import sqlite3

    statement = RENEW.format(now="?", share="?", ticket="?")
    with closing(sqlite3.connect(store["file"], timeout=BUSY, uri=True)) as connection, connection:
        now = time.monotonic()
        connection.executemany(statement, [(now, one["share"], one["ticket"]) for one in held])


def _renew_in_server(store: dict[str, Any], held: list[dict[str, Any]]) -> None:
    import psycopg

    statement = RENEW.format(now="extract(epoch FROM clock_timestamp())", share="%s", ticket="%s")
    with psycopg.connect(**store["server"], autocommit=True) as connection, connection.cursor() as cursor:
        cursor.executemany(statement, [(one["share"], one["ticket"]) for one in held])


def _is_stopped(pid: int) -> bool:
    """Whether a process was suspended, as by Ctrl-Z (known on Linux)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except OSError:
        return False


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.stdin.readline())  # for psycopg, wherever its parent has it from
    keep(sys.stdin, parent=int(sys.argv[1]))
