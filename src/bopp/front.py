"""The front of several objectives, and the boxes above it, which are what is left to gain.

    Y (n, k)       values of k objectives, larger is better
    reference (k,) what a value must surpass to be worth anything

The hypervolume of a front is the volume of what lies above the reference and is dominated: below a point of
the front in every objective. All the rest above the reference is cut into boxes, so that the volume that a
new point adds is a sum over boxes of products of lengths.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bopp.data import Array

CHUNK = 100  # rows to compare with each other at once
BEYOND = 0.1  # of their range: how far below the worst values the reference lies if nobody gives one


def nondominated(Y: Array) -> npt.NDArray[np.bool_]:
    """Which rows (n,) have no other that is at least as good in all columns and better in one."""
    rising, place = np.unique(Y, axis=0, return_inverse=True)
    falling = rising[::-1]  # no row is dominated by one behind it
    if Y.shape[1] == 2:
        before = np.append(-np.inf, np.maximum.accumulate(falling[:-1, 1]))[: len(falling)]
        best = falling[:, 1] > before
    else:
        best = _undominated(falling)
    return np.asarray(best[::-1][place.reshape(len(Y))])


def _undominated(Y: Array) -> npt.NDArray[np.bool_]:
    """Which of different rows (n,) no other dominates; none is dominated by one behind it."""
    best, found = np.zeros(len(Y), dtype=np.bool_), Y[:0]
    for rows in np.array_split(np.arange(len(Y)), max(1, len(Y) // CHUNK)):
        rivals = np.vstack([found, Y[rows]])
        better = (rivals >= Y[rows][:, None, :]).all(axis=2)
        best[rows] = better.sum(axis=1) == 1  # each is at least as good as itself
        found = np.vstack([found, Y[rows[best[rows]]]])
    return best


def front(Y: Array, reference: Array) -> Array:
    """The rows of Y, each once, that no other dominates and that surpass the reference."""
    Y = np.unique(Y[(reference < Y).all(axis=1)], axis=0)
    return Y[nondominated(Y)]


def found_reference(Y: Array) -> Array:
    """A reference for values (n, k) where nobody says what is worth anything: a tenth beyond the worst.

    One that is closer, a tenth beyond the worst of the front, would hide the ends of a front that is not yet
    known in all its length.
    """
    low, high = Y.min(axis=0), Y.max(axis=0)
    with np.errstate(over="ignore"):
        span = np.minimum(high - low, np.finfo(np.float64).max)
        span = np.where(span > 0.0, span, np.where(high == 0.0, 1.0, np.abs(high)))
        return np.asarray(np.maximum(low - BEYOND * span, -np.finfo(np.float64).max))


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes above a front by their corners, `low` and `high` (b, k); a high corner may be infinite."""

    low: Array
    high: Array

    @staticmethod
    def above(front: Array, reference: Array) -> Boxes:
        """The boxes above a front of two or three objectives, no row of which dominates another."""
        corners = _above_two(front, reference) if len(reference) == 2 else _above_three(front, reference)
        low, high = (np.array(one, dtype=np.float64).reshape(-1, len(reference)) for one in corners)
        thick = (high > low).all(axis=1)
        return Boxes(low[thick], high[thick])


def _above_two(front: Array, reference: Array) -> tuple[Array, Array]:
    """A strip between each value of the first objective and the next, above what is dominated there."""
    rising = front[np.argsort(front[:, 0])]
    left, right = np.append(reference[0], rising[:, 0]), np.append(rising[:, 0], np.inf)
    floor = np.append(rising[:, 1], reference[1])
    return np.column_stack([left, floor]), np.column_stack([right, np.full(len(left), np.inf)])


def _above_three(front: Array, reference: Array) -> tuple[list[Array], list[Array]]:
    """Sweeps down the third objective, along which the strips of the first two change at each point.

    A strip that a point cuts ends there as a box, after Yang et al. (2019), so a point adds a few boxes.
    """
    low: list[Array] = []
    high: list[Array] = []
    rights = [np.inf]  # the right end of each strip, rising; its left end is that of the one before
    floors = [reference[1]]  # falling
    ceilings = [np.inf]  # the value of the third objective at which the strip began

    def end(place: int, at: float) -> None:
        left = rights[place - 1] if place else reference[0]
        low.append(np.array([left, floors[place], at]))
        high.append(np.array([rights[place], np.inf, ceilings[place]]))

    for x, y, z in front[np.argsort(-front[:, 2], kind="stable")]:
        last = bisect_left(rights, x)  # the strip in which x lies, or at whose right end
        first = bisect_left([-floor for floor in floors], -y)  # the first one that is lower than y
        while first <= last and floors[first] >= y:
            first += 1
        if first > last:
            continue  # dominated in these two by a point that is at least as high
        for place in range(first, last + 1):
            end(place, z)
        rest = [(rights[last], floors[last], z)] if rights[last] > x else []
        new = [(x, y, z), *rest]
        rights[first : last + 1], floors[first : last + 1], ceilings[first : last + 1] = (
            list(part) for part in zip(*new, strict=True)
        )
    for place in range(len(rights)):
        end(place, reference[2])
    return low, high
