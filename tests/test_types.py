"""A type checker accepts what the README shows, and finds mistakes in what looks like it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bopp
from support.documents import blocks

RIGHT = """
import bopp
from bopp import Choice, Float, Int, Trial
from bopp.types import Callback, Declaration, Failures, Function, Knowledge


def loss(params: bopp.Params) -> float:
    return float(params["x"])


def measured(params: bopp.Params) -> dict[str, float]:
    return {"value": float(params["x"]), "memory": 3.0}


def by_keyword(x: float, y: float) -> float:
    return x + y


async def waited(x: float, y: float) -> float:
    return x + y


def enough(optimizer: bopp.Optimizer, trial: Trial) -> bool:
    return trial.state == "done" and trial.value < 0.1


def run(f: Function, space: Declaration, hook: Callback, knowledge: Knowledge, failures: Failures) -> float:
    result = bopp.optimize(f, space, seed=None, callback=hook, knowledge=knowledge, failures=failures)
    return result.best.value


one_kind = {"x": Float(0, 1), "y": Float(0, 1)}
bopp.minimize(loss, one_kind)
bopp.minimize(by_keyword, one_kind)
bopp.minimize(waited, {"x": (0.0, 1.0), "y": 3})
bopp.maximize(loss, {"x": Float(0, 1), "n": Int(1, 9), "c": Choice(["a", None])}, 9, seed=1, workers=2)
limits = [bopp.AtMost("memory", 16.0), bopp.AtLeast("memory", 1.0)]
bopp.minimize(measured, one_kind, constraints=limits, callback=enough, start=[{"x": 0.5, "y": 0.5}])
limits_and_conditions = [*limits, bopp.Holds("x small", lambda params: params["x"] < 1)]
problem = bopp.Problem(one_kind, {"value": "minimize"}, limits_and_conditions)
aims = {"value": "minimize", "memory": "minimize"}
bopp.Problem(one_kind, aims)
best: float = bopp.optimize(measured, problem, budget=9, recipe=bopp.Recipe.default()).best.value
optimizer = bopp.Optimizer(one_kind)
single: Trial = optimizer.ask()
several: list[Trial] = optimizer.ask(3)
optimizer.tell(single, 0.5, noise=0.1)
bopp.Optimizer(problem)
"""
WRONG = """
import bopp

space = {"x": bopp.Float(0, 1)}
bopp.minimize(lambda params: 0.0, space, worker=2)
bopp.maximize(lambda params: 0.0, space, worker=2)
bopp.optimize(lambda params: 0.0, bopp.Problem(space), worker=2)
bopp.minimize(3, space)
bopp.minimize(lambda params: 0.0, space, budget="9")
bopp.maximize(lambda params: 0.0, space, budget="9")
bopp.Optimizer(space, direction="up")
bopp.Problem(space, constraints=["x < 1"])
"""


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of each file, all in one run."""
    folder = tmp_path_factory.mktemp("types")
    files = {"readme": "\n".join(blocks("README.md")), "right": RIGHT, "wrong": WRONG}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [
        *(sys.executable, "-m", "mypy", "--strict"),
        *("--config-file", os.devnull, "--follow-imports", "silent", "--ignore-missing-imports"),
        "--no-site-packages",  # what numpy and others say of themselves takes most of the time
        *("--no-error-summary", "--cache-dir", str(folder / "cache"), *(f"{name}.py" for name in files)),
    ]
    paths = {**os.environ, "MYPYPATH": str(Path(bopp.__file__).parent.parent)}
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=paths)
    assert run.returncode in (0, 1), run.stderr
    lines = run.stdout.splitlines()
    return {name: [line for line in lines if line.startswith(f"{name}.py:")] for name in files}


def test_every_example_of_the_readme_is_accepted(findings: dict[str, list[str]]) -> None:
    assert findings["readme"] == []


def test_what_users_write_is_accepted(findings: dict[str, list[str]]) -> None:
    assert findings["right"] == []


def test_every_mistake_is_found(findings: dict[str, list[str]]) -> None:
    found = {int(line.split(":")[1]) for line in findings["wrong"] if "error:" in line}
    assert found == set(range(5, 13))
