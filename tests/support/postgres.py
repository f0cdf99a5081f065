"""A PostgreSQL server of the tests' own, in a temporary folder, gone with the process that started it.

Run as a program, this file is the watcher that sees to the last part, even after SIGKILL.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn, Self

PATIENCE = 60.0  # seconds for what takes well under one on an idle machine
SIGNALS = {"fast": signal.SIGINT, "immediate": getattr(signal, "SIGQUIT", signal.SIGTERM)}
Mode = Literal["fast", "immediate"]


def binaries() -> Path | None:
    """The folder with the newest `postgres` and `initdb` of this machine."""
    folders = set(Path("/usr/lib/postgresql").glob("*/bin"))
    if on_path := shutil.which("postgres"):
        folders.add(Path(on_path).resolve().parent)
    if pg_config := shutil.which("pg_config"):
        told = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True).stdout.strip()
        folders.add(Path(told).resolve())
    whole = [folder for folder in folders if (folder / "postgres").exists() and (folder / "initdb").exists()]
    return max(whole, key=version, default=None)


class Server:
    """A PostgreSQL on a free port of 127.0.0.1 that trusts everyone; it runs from here until `close()`."""

    def __init__(self, programs: Path, connections: int = 100) -> None:
        self._programs = programs
        self._connections = connections
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._account = _account()
        self.folder = Path(tempfile.mkdtemp(prefix="bopp-postgres-", dir=room()))
        self._watcher = subprocess.Popen(
            [sys.executable, "-IS", __file__, str(self.folder), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if self._account:
                os.chown(self.folder, self._account["user"], self._account["group"])
            initialise = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
            if self._launch("initdb", *initialise).wait(PATIENCE) != 0:
                raise RuntimeError(f"initdb failed:\n{self._log()}")
            self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server for good and remove its folder."""
        self.stop("immediate")
        self._watcher.kill()
        self._watcher.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server, unless it runs; it takes connections when this returns."""
        if self._process is not None and self._process.poll() is None:
            return
        self._process = self._launch(
            "postgres",
            *("-c", f"port={self._port}"),
            *("-c", "listen_addresses=127.0.0.1"),
            *("-c", f"unix_socket_directories={self.folder}"),
            *("-c", f"max_connections={self._connections}"),
            *("-c", "shared_buffers=16MB"),
            *("-c", "min_wal_size=32MB"),
            *("-c", "max_wal_size=128MB"),
        )
        _wait(self._ready, "start of PostgreSQL")

    def stop(self, mode: Mode = "fast") -> None:
        """Stop the server, unless it is stopped: "fast" in good order, "immediate" as in a crash."""
        if self._process is not None:
            self._process.send_signal(SIGNALS[mode])
            self._process.wait(PATIENCE)
            self._process = None

    def restart(self, mode: Mode = "fast") -> None:
        """Stop the server and start it again, on the same port with the same databases."""
        self.stop(mode)
        self.start()

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def create_database(self) -> str:
        """The url of a new, empty database."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self.kill_connections(url)
        self.execute(f"DROP DATABASE {_name(url)}")

    def kill_connections(self, url: str | None = None) -> int:
        """End the connections to one database, or to all, and count them; they are gone when this returns."""
        others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        chosen = others if url is None else f"{others} AND datname = '{_name(url)}'"
        killed = [
            pid for pid, done in self.execute(f"SELECT pid, pg_terminate_backend(pid) {chosen}") if done
        ]
        dying = f"SELECT 1 {others} AND pid = ANY ('{{{','.join(map(str, killed))}}}')"
        _wait(lambda: not self.execute(dying), "end of the connections")
        return len(killed)

    def execute(self, sql: str, url: str | None = None) -> list[tuple[Any, ...]]:
        """The rows of a statement, run and committed on a connection of its own."""
        import psycopg  # the watcher does without

        with psycopg.connect(url or self.url("postgres"), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def _launch(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a program of PostgreSQL on our data; in a session of its own, out of reach of Ctrl-C."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [self._programs / program, "-D", self.folder / "data", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=clean | {"LC_ALL": "C"},
                start_new_session=True,
                **self._account,
            )

    def _ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"PostgreSQL did not start:\n{self._log()}")
        lines = _pid_file(self.folder)
        return len(lines) > 7 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-4000:]


def version(folder: Path) -> tuple[int, ...]:
    """The version that `postgres` tells, (15, 18) say; of one that does not run, ()."""
    try:
        told = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True).stdout
    except OSError:
        return ()
    number = re.search(r"\d+(\.\d+)*", told)
    return tuple(map(int, number[0].split("."))) if number else ()


def room() -> str:
    """Where every account may go: in memory, where a new database takes a tenth of the time, or on disk."""
    memory = "/dev/shm"
    return memory if os.path.isdir(memory) and shutil.disk_usage(memory).free > 2**30 else "/tmp"


def _free_port() -> int:
    """A port that nobody listens on, below those that the system gives to clients.

    Among those, a client that knocks while the server is down could be given the server's own port.
    """
    while True:
        port = 20000 + secrets.randbelow(12000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _account() -> dict[str, Any]:
    """Who runs the server, for Popen: ourselves, but PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    entry = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _pid_file(folder: Path) -> list[str]:
    """What a running server says of itself: its process first, its state eighth."""
    try:
        return (folder / "data" / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def _wait(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.01)


def _watch(folder: Path, parent: int) -> None:
    """Wait until the parent has died without closing its server, and do it then.

    Asking for the parent is surer than a pipe, whose end every process that the parent forked would hold.
    """
    while os.getppid() == parent:
        time.sleep(0.2)
    with suppress(ProcessLookupError):
        for pid in _pid_file(folder)[:1]:
            os.kill(int(pid), SIGNALS["immediate"])
            _wait(lambda: not _pid_file(folder), "end of PostgreSQL")

    def removed() -> bool:  # at once, unless a program that was just starting still writes
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    _wait(removed, f"removal of {folder}")


def no_server() -> NoReturn:
    """Skip the test; but fail in CI, where a skip would hide untested code."""
    import pytest  # not where this file is run by itself

    reason = "no PostgreSQL server found: apt-get install postgresql, or put its bin folder on PATH"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


if __name__ == "__main__":
    _watch(Path(sys.argv[1]), int(sys.argv[2]))
