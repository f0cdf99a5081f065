"""Codewords: the options of a long list as corners of a small cube, all about equally far apart.

Option i of a Choice has the 64 bits of a number that looks random, mix(i), and each bit has a column. Two
such words differ in 32 +- 4 bits, so with columns a quarter apart their distance is sqrt(2) +- 6 %: that of
two options which have a column each. It is arithmetic of whole numbers, the same on every processor.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bopp.data import Array

Numbers = npt.NDArray[np.uint64]

BITS = 64
LOW, HIGH = 0.375, 0.625  # the columns of a bit: exact, and sqrt(32) * (HIGH - LOW) = sqrt(2)
PLACES = np.arange(BITS, dtype=np.uint64)
FACTORS = (
    0xBF58476D1CE4E5B9,
    0x94D049BB133111EB,
)  # of SplitMix64 (Steele, Lea and Flood 2014), like the shifts
SHIFTS = 30, 27, 31


def columns(index: Numbers) -> Array:
    """The columns (m, 64) of the options with these indices."""
    bits = (_mixed(index)[:, None] >> PLACES) & np.uint64(1)
    return np.where(bits == 1, HIGH, LOW)


def index(U: Array, count: int) -> Numbers:
    """Which of `count` options is at each row of U (m, 64); a word that none has falls to any of them."""
    return _index(_words(U), count)


def others(U: Array, tries: int, count: int) -> Numbers:
    """The indices (m, tries) of some other options for each row of U, as good as drawn at random."""
    words: Numbers = np.add.outer(_words(U), np.arange(1, tries + 1, dtype=np.uint64))
    return _index(words, count)


def _words(U: Array) -> Numbers:
    return np.asarray(((U >= 0.5).astype(np.uint64) << PLACES).sum(axis=1, dtype=np.uint64))


def _index(words: Numbers, count: int) -> Numbers:
    return np.asarray(_unmixed(words) % np.uint64(count))


def _mixed(numbers: Numbers) -> Numbers:
    """A different number, modulo 2^64, for each: one bit more or less changes about half of its bits."""
    first, second, last = map(np.uint64, SHIFTS)
    numbers = (numbers ^ (numbers >> first)) * np.uint64(FACTORS[0])
    numbers = (numbers ^ (numbers >> second)) * np.uint64(FACTORS[1])
    return np.asarray(numbers ^ (numbers >> last))


def _unmixed(numbers: Numbers) -> Numbers:
    """The numbers that `_mixed` made these of."""
    numbers = _unshifted(numbers, SHIFTS[2]) * np.uint64(pow(FACTORS[1], -1, 2**BITS))
    numbers = _unshifted(numbers, SHIFTS[1]) * np.uint64(pow(FACTORS[0], -1, 2**BITS))
    return _unshifted(numbers, SHIFTS[0])


def _unshifted(numbers: Numbers, shift: int) -> Numbers:
    """Undoes numbers ^ (numbers >> shift), for shifts of more than a third of the bits."""
    return np.asarray(numbers ^ (numbers >> np.uint64(shift)) ^ (numbers >> np.uint64(2 * shift)))
