"""Points: where the model is asked when one or two parameters change and the others stay as in a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bopp.conditions import Mask
from bopp.data import Array
from bopp.space import Space
from bopp.trial import Trial


def through(
    space: Space, trials: Sequence[Trial], changes: Mapping[str, Sequence[Any]]
) -> tuple[Array, Mask]:
    """Points (m, d) through the first trial, one for each change, and whether all that changes applies there.

    Where another parameter comes to apply that the first trial lacks, it is as in the next trial that has it.
    """
    row = [
        u
        for name, parameter in space.parameters.items()
        for u in next(
            (parameter.encode(trial._params[name]) for trial in trials if name in trial._params),
            parameter.middle,
        )
    ]
    count = max(map(len, changes.values()))
    U = np.tile(np.array(row), (count, 1))
    for name, values in changes.items():
        U[:, space.columns[name]] = [space.parameters[name].encode(value) for value in values]
    there = space.applies(U)
    middle = [u for parameter in space.parameters.values() for u in parameter.middle]
    changed = np.hstack([there[:, space.columns[name]] for name in changes])
    return np.where(there, U, np.array(middle)), np.asarray(changed.all(axis=1))
