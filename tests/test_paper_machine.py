"""The machine of a run: what a processor is told to be, it says it is."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
import scipy
import threadpoolctl

from bopp.paper.machine import Machine, this_machine
from support.processors import settings

PRINT = """
import msgspec
from bopp.paper.machine import this_machine
print(msgspec.json.encode(this_machine()).decode())
"""


def test_a_machine_says_what_rounds_its_results() -> None:
    here = this_machine()
    assert here.processor
    assert (here.numpy, here.scipy) == (np.__version__, scipy.__version__)
    assert all(part in str(here) for part in (here.processor, here.features, *here.blas, here.numpy))
    assert msgspec.json.decode(msgspec.json.encode(here), type=Machine) == here


@pytest.mark.skipif("Nehalem" not in settings(), reason="this processor cannot play another")
def test_a_processor_that_plays_another_is_told_apart() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PRINT],
        env=os.environ | settings()["Nehalem"],
        capture_output=True,
        text=True,
        check=True,
    )
    other = msgspec.convert(json.loads(ended.stdout), Machine)
    assert other.blas != this_machine().blas
    assert all("Nehalem" in name for name in other.blas)
    assert other.processor == this_machine().processor
    assert other.features != this_machine().features


@pytest.fixture
def anew() -> Iterator[None]:
    this_machine.cache_clear()
    yield
    this_machine.cache_clear()


@pytest.mark.usefixtures("anew")
def test_a_machine_of_which_little_is_known_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "show_config", lambda mode: {})
    monkeypatch.setattr(threadpoolctl, "threadpool_info", list)
    assert "(no extensions)" in str(this_machine())
    assert str(this_machine()).endswith("an unknown BLAS")
    this_machine.cache_clear()
    library = {"user_api": "blas", "internal_api": "mkl", "version": "2025.1"}
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: [library])
    assert this_machine().blas == ("mkl 2025.1",)
