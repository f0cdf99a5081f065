from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from bopp import cli
from bopp.run.interrupts import SIGNALS
from bopp.study.store import Store
from support.commands import Bopp, Ended
from support.postgres import Server, binaries, no_server, room

if sys.platform == "win32":  # these are about signals, forks and locks that Windows lacks
    POSIX = "benchmark_history benchmark_regret cli_study conditions contest contest_lead contest_report"
    POSIX += " contest_statistics dashboard_attacks files goals_benchmark paper_runs platforms run_interrupts"
    POSIX += " study_keeping study_store view_importance"
    collect_ignore = [f"test_{name}.py" for name in POSIX.split()]

pytest_plugins = ["support.faults"]

if room() != "/tmp":
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", room())  # tmp_path in memory: no file waits for a disk

# a shell ignores SIGINT in the background and nohup SIGHUP, and programs that tests start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in SIGNALS:
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)  # which a program that is started does not inherit

settings.register_profile("fast", max_examples=25, deadline=None)  # a busy machine is no failure
settings.register_profile("thorough", max_examples=200, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))  # --hypothesis-profile overrides it


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on PostgreSQL, except for the contract of stores, which `make test` checks there too."""
    for item in items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        chosen = any(isinstance(value, str) and value.split(" ")[0] == "postgres" for value in values)
        needed = "postgres_server" in getattr(item, "fixturenames", ())
        if (chosen or needed) and not item.get_closest_marker("contract"):
            item.add_marker("postgres")


def pytest_collection_finish() -> None:
    """Leave what collecting made out of every garbage collection to come: each would take half a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_each_process_of_tests() -> Iterator[None]:
    """The engine sees to it where it suggests; tests call its parts too, in two processes at once."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(autouse=True)
def no_signal_is_ignored_from_now_on() -> Iterator[None]:
    """A program inherits which signals are ignored: a test that ignored one would spoil those after it."""
    usual = _handlers()
    yield
    ignored = [number for number, handler in _handlers().items() if handler is signal.SIG_IGN]
    left = [number for number in ignored if usual[number] is not signal.SIG_IGN]
    for number in left:
        signal.signal(number, usual[number])
    assert not left


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in SIGNALS}


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server for the tests of this process, started when the first of them wants it."""
    with Server(binaries() or no_server()) as server:
        yield server


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder where files are on a disk, for what is measured or is to take as long as it does there."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def closed_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End every connection, also of studies that a test dropped."""
    stores: list[Store] = []
    begin = Store.__init__

    def init(self: Store, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)  # which closes what it could not open
        stores.append(self)

    monkeypatch.setattr(Store, "__init__", init)
    yield
    for store in stores:
        store.close()


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """The url of a new, empty database, on a server that runs whatever the last test did to it."""
    postgres_server.start()
    url = postgres_server.create_database()
    yield url
    postgres_server.start()
    postgres_server.drop_database(url)


@pytest.fixture(params=["file", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind that is kept."""
    if request.param == "file":
        return f"sqlite:///{tmp_path}/a.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, in which commands are called; what they import from it is gone after a test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for path in tmp_path.rglob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def bopp(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bopp:
    """The command line, in this process."""
    usual = _handlers()

    def bopp(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["bopp", *map(str, words)])
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
        finally:
            for number, handler in usual.items():
                signal.signal(number, handler)
        return Ended(code, *capsys.readouterr())

    return bopp
