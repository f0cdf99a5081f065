"""Peer: what every optimizer does here."""

from typing import Protocol

from contest.task import Params
from goals.problem import Outcome, Problem


class Peer(Protocol):
    """An optimizer that is told the given points first, then asked and told in turn."""

    def ask(self) -> Params: ...

    def tell(self, params: Params, outcome: Outcome) -> None: ...


class Factory(Protocol):
    """Makes a peer for a problem, of which it may know everything but the functions, from a seed."""

    def __call__(self, problem: Problem, seed: int) -> Peer: ...
