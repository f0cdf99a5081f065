"""Without what only POSIX systems have, objectives are evaluated all the same."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

BARE = Path(__file__).parent / "support" / "bare.py"


def printed(what: str, folder: Path) -> list[str]:
    words = [sys.executable, str(BARE), what, str(folder)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300.0)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_commands_and_studies_run_in_this_process(tmp_path: Path) -> None:
    assert printed("here", tmp_path) == ["command, done, done", "study, done, done"]


@pytest.mark.endurance
def test_processes_run_time_out_and_end_what_they_started(tmp_path: Path) -> None:
    assert printed("processes", tmp_path) == [
        "function, done, done",
        "hang, no value within 0.5 seconds",
        "late, no value within 20.0 seconds",
    ]
    (pid,) = [int(path.name) for path in tmp_path.iterdir() if path.suffix != ".py"]
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
