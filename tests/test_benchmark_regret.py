"""Tests of the quick look at regret on six functions."""

import json
import sys
from pathlib import Path

import pytest

import regret
from functions import FUNCTIONS

GAIN = {"branin": 1e-4, "hartmann6": 1e-3, "ackley5": 0.1, "levy8": 1.0, "rosenbrock4": 1.0}


def fake_run(results: Path, peer: str, function: str, seed: int) -> None:
    """A run whose regret is 1 for the peer, and for bopp as the gain of the function says."""
    gap = GAIN.get(function, 10.0) if peer == "bopp" else 1.0
    values = [FUNCTIONS[function].optimum + gap * (1.0 + 0.1 * seed)] * 6
    record = {"values": values, "cpu": 1.0, "repeats": 0, "start": 2}
    regret.write(regret.file_of(regret.Run(peer, function, seed, 6, 2), results), json.dumps(record))


def test_it_says_what_was_chosen_on_and_where_the_lead_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for peer in ("bopp", "sobol"):
        for function in FUNCTIONS:
            for seed in range(3):
                fake_run(tmp_path, peer, function, seed)
    for name in regret.ONE_THREAD:
        monkeypatch.setenv(name, "1")
    options = f"--seeds 3 --budget 6 --start 2 --peers bopp sobol --results {tmp_path}"
    monkeypatch.setattr(sys, "argv", ["regret.py", *options.split()])
    regret.main()
    printed = capsys.readouterr().out
    assert regret.CHOSEN in printed
    assert "sobol (-1.17 dex), branin and hartmann6 make 100 %" in printed
    assert "3 tasks" in printed
    rows = [line.split(" | ")[:2] for line in printed.splitlines()[-7:-1]]
    assert rows[0] == ["| branin", "3"]
    assert rows[-1] == ["| styblinski_tang6", "3"]


def test_pairs_are_of_the_same_function_and_seed() -> None:
    runs = [("bopp", "branin", 0), ("bopp", "branin", 1), ("sobol", "branin", 1), ("sobol", "levy8", 1)]
    outcomes = {
        regret.Run(*run, 6, 2): regret.Outcome(float(number), 1.0, 0) for number, run in enumerate(runs)
    }
    ours, theirs, functions = regret.pairs(outcomes, "sobol")
    assert (ours.tolist(), theirs.tolist(), functions) == ([1.0], [2.0], ["branin"])
