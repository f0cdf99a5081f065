"""Account: what became of a source; and how the prior trust in one is weighed against likelihoods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bopp.data import Data
from bopp.pseudo import Source


@dataclass(frozen=True, eq=False)
class Account:
    """What became of a source.

    trust   how far it is trusted now, from 0 to 1
    worth   by how much it makes the measured values more likely, or how much better the chance to improve is
            where it expects the best point than elsewhere; as a natural logarithm. Below 0 the values speak
            against it; minus infinity if it has no influence at all now
    points  its points as the model sees them, if it has any
    """

    source: Source
    trust: float
    worth: float
    points: Data | None = None

    @property
    def name(self) -> str:
        """The source with those of its settings that are not as by default; of long ones, how many."""
        kind, settings = type(self.source), getattr(self.source, "__dict__", {})
        own = [name for name in settings if settings[name] is not getattr(kind, name, None)]
        shown = [self._shown(name, settings[name]) for name in own if name != "trust"]
        return f"{kind.__name__}({', '.join(shown)})"

    def __str__(self) -> str:
        return f"{self.name}: trust {self.trust:.2f}, worth {self.worth:+.1f}"

    def __repr__(self) -> str:
        return f"Account({self})"

    @staticmethod
    def _shown(name: str, value: object) -> str:
        text = getattr(value, "__qualname__", None) or repr(value)
        if len(text) > 80:
            return f"{name}: {len(value)}" if isinstance(value, Sequence) else f"{name}={text[:77]}..."
        return f"{name}={Account._as_given(value)!r}" if isinstance(value, tuple) else f"{name}={text}"

    @staticmethod
    def _as_given(value: object) -> object:
        """A setting as people write it: a dict rather than pairs, names rather than blocks of one name."""
        if not isinstance(value, tuple):
            return value
        if value and all(isinstance(one, tuple) and len(one) == 1 for one in value):
            return tuple(one[0] for one in value)
        pairs = [one for one in value if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)]
        if value and len(pairs) == len(value) and not any(isinstance(second, str) for _, second in pairs):
            return dict(pairs)
        return tuple(map(Account._as_given, value))


def weighed(worths: Sequence[float], trust: float) -> tuple[int | None, float]:
    """The most probable of some levels of noise, None where ignoring is more probable, and the trust now.

    The first level, the user's word, has most of the prior trust; each next one a third of the one before.
    """
    shares = 3.0 ** -np.arange(len(worths))
    weights = np.append(worths, 0.0) + np.log(np.append(trust * shares / shares.sum(), 1.0 - trust))
    chances = np.exp(weights - np.logaddexp.reduce(weights))
    best = None if chances[-1] > 0.5 else int(np.argmax(weights[:-1]))
    return best, float(1.0 - chances[-1])
