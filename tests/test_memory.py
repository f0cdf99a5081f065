from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from bopp.memory import Memory


class Counted:
    """A computation that knows how often it was done."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self, answer: str) -> Callable[[], str]:
        def compute() -> str:
            self.done += 1
            return answer

        return compute


@dataclass(frozen=True)
class Part:
    setting: float


@dataclass(frozen=True, eq=True)
class Holding:
    array: object


class Hostile:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    __hash__ = None  # type: ignore[assignment]


def test_equal_parts_and_content_are_computed_once_and_others_anew() -> None:
    memory, counted = Memory[str](4), Counted()
    assert memory((Part(1.0), "fit"), 5, counted("one")) == "one"
    assert (counted.done, len(memory)) == (1, 1)
    assert memory((Part(2.0), "fit"), 5, counted("two")) == "two"
    assert memory((Part(1.0), "fit"), 6, counted("three")) == "three"
    assert memory((Part(1.0), "fit"), 5, counted("four")) == "one"
    assert counted.done == 3


def test_the_latest_are_kept_and_earlier_ones_forgotten() -> None:
    memory, counted = Memory[str](2), Counted()
    for word in ("a", "b", "c"):
        memory((), word, counted(word))
    assert len(memory) == 2
    assert memory((), "c", counted("anew")) == "c"
    assert memory((), "b", counted("anew")) == "b"
    assert memory((), "a", counted("anew")) == "anew"
    assert memory((), "a", counted("again")) == "anew"


def test_a_result_that_is_kept_alone_is_so() -> None:
    memory, counted = Memory[str](4), Counted()
    memory((), 1, counted("one"))
    memory((), 2, counted("two"), alone=True)
    assert len(memory) == 1
    memory((), 3, counted("three"))
    assert len(memory) == 2
    assert memory((), 2, counted("anew")) == "two"
    assert memory((), 1, counted("anew")) == "anew"


def test_parts_that_cannot_be_compared_are_never_the_same() -> None:
    arrays = Holding(np.zeros(3)), Holding(np.zeros(3))
    hostile = Hostile(), Hostile()
    for one, other in (arrays, hostile):
        memory, counted = Memory[str](4), Counted()
        memory(one, 0, counted("one"))
        assert memory(other, 0, counted("two")) == "two"
        assert counted.done == 2


def test_what_cannot_be_computed_is_not_remembered() -> None:
    memory, counted = Memory[str](4), Counted()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            memory((), 0, lambda: str(1 / 0))
    assert len(memory) == 0
    assert memory((), 0, counted("one")) == "one"


def test_a_computation_may_use_the_memory_itself() -> None:
    """As `learn` uses `believe`."""
    memory = Memory[str](4)
    assert memory((), "outer", lambda: memory((), "inner", lambda: "in") + "out") == "inout"
    assert memory((), "outer", lambda: "anew") == "inout"
    assert memory((), "inner", lambda: "anew") == "in"
