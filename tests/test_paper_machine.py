"""The machine of a run: what a processor is told to be, it says it is."""

import json
import os
import subprocess
import sys

import msgspec
import numpy as np
import pytest
import scipy

from bopp.paper.machine import Machine, this_machine
from processors import settings

PRINT = """
import msgspec
from bopp.paper.machine import this_machine
print(msgspec.json.encode(this_machine()).decode())
"""


def test_a_machine_says_what_rounds_its_results() -> None:
    here = this_machine()
    assert here.processor
    assert (here.numpy, here.scipy) == (np.__version__, scipy.__version__)
    assert here.blas
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
    assert (other.features, other.processor) == ("X86_V2", this_machine().processor)
