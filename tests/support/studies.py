"""Study files, and commands that work on them."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest

import bopp as library
from bopp import Float, Int
from bopp.study.store import Store
from support.commands import Ended

PATIENCE = 60.0  # seconds for what takes one or two on an idle machine


SPACE = """
[space]
x = { type = "float", low = 0.0, high = 1.0 }
y = { type = "int", low = -5, high = 5 }
"""


PARAMETERS: dict[str, library.Parameter] = {"x": Float(0, 1), "y": Int(-5, 5)}


OBJECTIVE = """
import faulthandler, json, os, signal, subprocess, sys, time
from pathlib import Path

HERE = Path(__file__).parent


def loss(params):
    calls = HERE / "calls"
    with calls.open("a") as file:
        file.write(".")
    if (HERE / "hold").exists() and calls.stat().st_size == 7:
        child = subprocess.Popen(["sleep", "600"])
        (HERE / "pids").write_text(f"{os.getpid()} {child.pid} .")
        time.sleep(600)
    return (params["x"] - 0.3) ** 2 + params["y"] / 10


def odd(params):
    how = params["how"]
    if how == "raises":
        raise ValueError("no good \\x1b[2J[red]\\nsecond line")
    if how == "exits":
        sys.exit(3)
    if how == "dies":
        os._exit(3)
    if how == "segfaults":
        faulthandler.disable()  # it would print where, among the results
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "hangs":
        time.sleep(600)
    return {"nan": float("nan"), "none": None, "text": "0.5", "infinite": -float("inf"), "huge": 10**400,
            "good": 0.5}[how]


if __name__ == "__main__":
    print("a line before")
    print(json.dumps({"value": loss(json.loads(sys.argv[1]))}))
"""


def written(
    folder: Path,
    objective: str | None = 'python = "objective:loss"',
    space: str = SPACE,
    code: str = OBJECTIVE,
    **settings: Any,
) -> Path:
    """A study file, with its objective beside it."""
    table = {"name": "a study", "budget": 9, **settings}
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    told = "" if objective is None else f"\n[objective]\n{objective}\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text("[study]\n" + "\n".join(lines) + "\n" + told + space)
    (folder / "objective.py").write_text(code)
    return folder / "study.toml"


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'study.db'}"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(ended: Ended, code: int, *words: object) -> None:
    """One line that says what was wrong, and its exit code."""
    assert (ended.code, ended.out) == (code, ""), ended
    assert ended.err.startswith("bopp: ")
    assert ended.err.endswith("\n")
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err
    assert [word for word in map(str, words) if word not in ended.err] == []


def assert_plain(text: str) -> None:
    """No escape codes, no boxes, no markup that was obeyed."""
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2500-\u257f]", text)


class Running(NamedTuple):
    """A program under way; its outputs go to files, so that nobody waits for what it leaves behind."""

    process: subprocess.Popen[str]
    out: IO[str]
    err: IO[str]

    def end(self) -> Ended:
        """How it ended, once it has."""
        code = self.process.wait(PATIENCE)
        for file in (self.out, self.err):
            file.seek(0)
        return Ended(code, self.out.read(), self.err.read())


@contextmanager
def started(folder: Path, *words: object) -> Iterator[Running]:
    """The program as a process of its own; it and what its objective left behind are gone in the end."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "bopp", *map(str, words)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
        )
        try:
            yield Running(process, out, err)
        finally:
            process.kill()
            process.wait()
            end_held(folder)


def end_held(folder: Path) -> None:
    for pid in held(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def held(folder: Path) -> list[int]:
    """The objective that holds still, and its child."""
    path = folder / "pids"
    words = path.read_text().split() if path.exists() else []
    return [int(word) for word in words[:-1]] if words[-1:] == ["."] else []


def repeat_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a store do each transaction twice, as after a connection that broke just after the commit."""
    write = Store.write

    def twice(store: Store, transaction: Callable[..., Any], alone: bool = False) -> Any:
        first = write(store, transaction, alone)
        assert write(store, transaction, alone) == first
        return first

    monkeypatch.setattr(Store, "write", twice)


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
