"""A peer that is told values bent by the power of bopp's default: what it would gain by that part."""

from collections.abc import Mapping

import numpy as np

import bopp
from bopp import outcome
from contest.peers.peer import Factory, Peer
from contest.task import Params


class Bent:
    """As the power changes with every value, a peer is made anew for every question and told all of them."""

    def __init__(
        self, space: Mapping[str, bopp.Parameter], seed: int, budget: int, noisy: bool, factory: Factory
    ):
        self.factory, self.space, self.seed = factory, space, seed
        self.budget, self.noisy = budget, noisy
        self.told: list[tuple[Params, float | None]] = []

    def ask(self) -> Params:
        peer: Peer = self.factory(self.space, self.seed + len(self.told), self.budget, self.noisy)
        good = np.array([-value for _, value in self.told if value is not None])  # larger is better
        scale = outcome.power(good)
        for params, value in self.told:
            peer.tell(params, None if value is None else -float(scale(np.array([-value]))[0]))
        return peer.ask()

    def tell(self, params: Params, value: float | None) -> None:
        self.told.append((params, value))
