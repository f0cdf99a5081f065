"""Bopp as it comes."""

from collections.abc import Mapping

import bopp
from contest.task import Params


class Bopp:
    def __init__(
        self,
        space: Mapping[str, bopp.Parameter],
        seed: int,
        budget: int,
        noisy: bool,
        recipe: bopp.Recipe | None = None,
    ):
        self.optimizer = bopp.Optimizer(space, direction="minimize", seed=seed, recipe=recipe)
        self.asked: bopp.Trial | None = None

    def ask(self) -> Params:
        self.asked = self.optimizer.ask()
        return dict(self.asked.params)

    def tell(self, params: Params, value: float | None) -> None:
        if self.asked is None:
            self.optimizer.observe(params, value)
        else:
            self.optimizer.tell(self.asked, value)
        self.asked = None
