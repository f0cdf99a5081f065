"""The plugin of `make test-alone`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os, pytest

SEEN = []

@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    yield tmp_path_factory.mktemp("a")
    print("torn down")

def test_first(folder):
    SEEN.append(folder)
    assert folder.name == "a0"  # in an empty folder

def test_needs_the_first(folder):
    assert SEEN

def test_is_alone(folder):
    assert not SEEN
    assert folder.name == "a0"  # in an empty folder

def test_dies():
    os._exit(3)

@pytest.mark.skip
def test_skipped(): ...
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.endurance)])
def test_a_test_that_needs_another_one_fails(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_these.py").write_text(TESTS)
    words = ["-p", "support.alone", "-n", workers, "-rA", "--rootdir", str(tmp_path), "test_these.py"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )
    outcomes = dict(
        re.findall(r"^(?:PASSED|FAILED) test_these.py::(\w+)( - .*)?$", ended.stdout, re.MULTILINE)
    )
    failed = {name for name, reason in outcomes.items() if reason}
    assert failed == {"test_needs_the_first", "test_dies"}, ended.stdout + ended.stderr
    assert {"test_first", "test_is_alone"} <= set(outcomes)
    assert "1 skipped" in ended.stdout
    assert "died: 3" in ended.stdout
