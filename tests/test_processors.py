"""A suggestion is the same on every processor, to a tolerance; in a space without Floats, exactly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from support.processors import settings

TOLERANCE = 1e-6  # of the range, as docs/studies.md promises
SUGGESTIONS = """
import json
import math

import numpy as np

from bopp import Choice, Float, Int, Optimizer

SPACES = [
    {"x": Float(-1, 1), "y": Float(0, 5)},
    {f"x{i}": Float(0, 1) for i in range(6)},
    {"rate": Float(1e-6, 1, log=True), "decay": Float(1e-6, 1, log=True), "momentum": Float(0, 1)},
    {"a": Int(-10, 10), "b": Int(1, 50, log=True)},
    {"rate": Float(1e-6, 1), "batch": Int(8, 4096, log=True), "act": Choice(["relu", "elu", "tanh"])},
]
points = []
for number, space in enumerate(SPACES):
    for seed in range(3):
        rng = np.random.default_rng([number, seed])
        optimizer = Optimizer(space, seed=seed)
        for _ in range(int(rng.integers(6, 40))):
            params = optimizer.space.decode(rng.random(optimizer.space.dimension))
            u = optimizer.space.encode(params).tolist()
            value = sum(math.sin(3 * (i + 1) * x) for i, x in enumerate(u))
            optimizer.observe(params, round(value, 6))
        points.append((number, optimizer.space.encode(optimizer.ask().params).tolist()))
print(json.dumps(points))
"""


@cache
def suggested(name: str | None) -> list[Any]:
    """The spaces by number, each with points that were suggested for it, on this processor or another."""
    environment = os.environ | (settings()[name] if name else {})
    words = [sys.executable, "-c", SUGGESTIONS]
    run = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    return list(json.loads(run.stdout))


@pytest.mark.parametrize("name", [*settings()][:2])
def test_a_suggestion_is_the_same_on_another_processor(name: str) -> None:
    assert len(suggested(name)) == 15
    for (number, u), (_, here) in zip(suggested(name), suggested(None), strict=True):
        if number == 3:
            assert u == pytest.approx(here, abs=1e-12)
        assert u == pytest.approx(here, abs=TOLERANCE)
