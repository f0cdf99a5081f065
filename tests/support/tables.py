"""Trials with all kinds of params, for tables."""

import math
from dataclasses import replace

from bopp import AtMost, Choice, Fixed, Float, Int, Optimizer, Problem, Trial

OVEN = Problem({"degrees": Float(0, 100), "kind": Choice(["rye", "wheat"])})


WHISK = Problem(
    {
        "method": Choice(["stir", "shake", "leave"]),
        "speed": Int(1, 9, when={"method": ["stir", "shake"]}),
        "blade": Choice(["", "bent", None], when={"method": ["stir"]}),
        "batch": Fixed(30),
        "lid": Fixed("on", when={"method": ["shake"]}),
    },
    {"error": "minimize"},
    [AtMost("memory", 8.0)],
)


def as_observed(*trials: Trial) -> list[Trial]:
    """What can be read back of finished trials."""
    return [
        replace(trial, number=number, origin="observed", asked_at=None, told_at=None)
        for number, trial in enumerate(trial for trial in trials if trial.state in ("done", "failed"))
    ]


def whisked() -> Optimizer:
    """Trials of every state, with conditional params, noise, measurements and hostile text."""
    optimizer = Optimizer(WHISK)
    for params in (
        {"method": "stir", "speed": 3, "blade": "", "batch": 30},
        {"method": "stir", "speed": 3, "blade": None, "batch": 30},
        {"method": "shake", "speed": 9, "batch": 30, "lid": "on"},
        {"method": "leave", "batch": 30},
    ):
        optimizer.enqueue(params)
    first, second, third, fourth, fifth = optimizer.ask(5)
    text = 'a "quoted", cell;\nof two lines '
    optimizer.tell(first, {"error": 0.1, "memory": 7, "note": text, "state": 3}, noise={"error": 0.01})
    optimizer.tell(second, {"error": math.nan, "memory": 7.5, "seconds": 31})
    optimizer.fail(third, text)
    optimizer.observe(fourth.params, {"error": 1e-300, "memory": 9.0, "batch": "of monday"})
    optimizer.observe(fourth.params, {"error": None, "memory": 3.0})
    optimizer.observe(fourth.params, {"error": 0.75, "memory": None})
    assert fifth.state == "asked"
    return optimizer
