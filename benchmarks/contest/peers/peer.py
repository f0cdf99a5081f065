"""Peer: what every optimizer of the contest does, and on which spaces it can."""

from collections.abc import Mapping
from typing import Protocol

import bopp
from contest.task import Params

MANY = 20  # parameters, from which on TuRBO is tried


class Peer(Protocol):
    """An optimizer that minimises: it is told the given points first, then it is asked and told in turn.

    The params that it is told lack those that do not apply. A value of None says that the evaluation crashed.
    """

    def ask(self) -> Params: ...

    def tell(self, params: Params, value: float | None) -> None: ...


class Factory(Protocol):
    """Makes a peer for a space, from a seed; it may know the budget and whether values carry noise."""

    def __call__(self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool) -> Peer: ...


def always(space: bopp.Space) -> bool:
    return True


def flat_numbers(space: bopp.Space) -> bool:
    """Whether every parameter is a number that always applies."""
    numbers = all(isinstance(one, bopp.Float | bopp.Int | bopp.Fixed) for one in space.parameters.values())
    return numbers and not space.conditional


def many_flat_numbers(space: bopp.Space) -> bool:
    """Whether there are many parameters, all of them numbers that always apply."""
    return flat_numbers(space) and space.dimension >= MANY


def two_parameters(space: bopp.Space) -> bool:
    return sum(one.width > 0 for one in space.parameters.values()) > 1
