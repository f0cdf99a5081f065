"""Limits: bounds of the value, beyond which the model promises nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bopp.errors import RecipeError
from bopp.pseudo.policy import Source
from bopp.pseudo.settings import checked_trust, number


@dataclass(frozen=True)
class Limits(Source):
    """Bounds of the objective, in its own unit: a loss of at least 0, an accuracy of at most 1.

    If a measured value breaks one of them, both are ignored from then on.

    Args:
        at_least: no value is below this.
        at_most: no value is above this.
        trust: how sure you are, between 0 and 1.
    """

    at_least: float | None = None
    at_most: float | None = None
    trust: float = 0.99

    def __post_init__(self) -> None:
        for name in ("at_least", "at_most"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, number(f"Limits: {name}", getattr(self, name)))
        checked_trust("Limits", self.trust)
        if self.at_least is None and self.at_most is None:
            raise RecipeError("Limits: wanted at_least or at_most, got neither")
        low, high = self.limits()
        if not low < high:
            raise RecipeError(f"Limits: wanted at_least below at_most, got {low!r} and {high!r}")

    def limits(self) -> tuple[float, float]:
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most
