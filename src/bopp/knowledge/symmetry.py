"""Symmetry: a model that sees images of its data too, as far as the data bear out that they are equal.

A measured value is foretold from all others, once with and once without their images. With them, three fits
are tried: one that saw images; one that did not, as equal values at many places can look as if a parameter
did not matter; and one with shorter length-scales, as few points look smoother than they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from bopp.belief import Beliefs
from bopp.data import Array, Data
from bopp.gp import Posterior
from bopp.knowledge.account import Account, weighed
from bopp.pseudo import Source
from bopp.space import Space

NOISES = (0.0, 0.1)  # variances, of y with variance 1, that images may have
FEWEST_IMAGES = 100  # that a model takes; with more data as many as these
NEAREST = 0.01  # an image no further than this from its own point tells nothing new
FITTED = 80  # points and images that a fit sees, at most; of more than half as many points it sees no image
SHORTER = 0.6  # times the length-scales of the fit that saw no images
BEST = 10  # points all of whose images it takes

Fit = Callable[[Data], Beliefs]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Seen:
    """Measured data, then images of them; `owners` has the measured row that each is an image of, or is."""

    data: Data
    owners: Rows

    @staticmethod
    def of(data: Data) -> Seen:
        return Seen(data, np.arange(len(data)))

    @property
    def measured(self) -> Data:
        return self.data if len(self.data) == self._count else self.data[np.arange(self._count)]

    @property
    def _count(self) -> int:
        return int(self.owners.max(initial=-1)) + 1

    def with_images(self, images: Data, rows: Rows, noise: float) -> Seen:
        """The same with images of these rows, which have some more noise."""
        noisy = Data(images.X, images.y, images.noise + noise)
        return Seen(self.data + noisy, np.append(self.owners, self.owners[rows]))


def twins_of(sources: Sequence[Source], space: Space, X: Array) -> Array:
    """All images (m, d) of the rows of X, of any source and of several together."""
    images = reduce(lambda rows, source: np.vstack([rows, _rows(source.twins(space, rows))]), sources, X)
    return images[len(X) :]


def images_of(source: Source, space: Space, data: Data) -> tuple[Data, Rows]:
    """The images of data, with the same values, and the row of the data that each is an image of."""
    twins = source.twins(space, data.X)
    X = twins.reshape(-1, data.X.shape[1])
    far = np.abs(X - np.tile(data.X, (len(twins), 1))).max(axis=1, initial=0.0) > NEAREST  # False for NaN
    there = np.flatnonzero(far)
    rows = np.tile(np.arange(len(data)), len(twins))[there]
    return Data(X[there], data.y[rows], data.noise[rows]), rows


def _rows(twins: Array) -> Array:
    rows = twins.reshape(-1, twins.shape[-1])
    return np.asarray(rows[~np.isnan(rows).any(axis=1)])


def add_images(
    account: Account, space: Space, seen: Seen, plain: Beliefs, fit: Fit
) -> tuple[Seen, Beliefs, Account]:
    """What is seen with its images, as noisy as the measured values want them, and a model of both."""
    images, rows = images_of(account.source, space, seen.data)
    if not len(images):
        return seen, plain, account
    images, rows = _most_telling(seen.data, images, rows)
    noisy = [seen.with_images(images, rows, noise) for noise in NOISES]
    alone = _foretold(plain, seen)
    beliefs, foretold = _best_fit(seen, noisy[0], plain, fit, alone)
    worths = [foretold - alone]
    if foretold < alone:  # otherwise there is no need to doubt the images
        worths += [_foretold(beliefs, one) - alone for one in noisy[1:]]
    best, trust = weighed(worths, account.source.trust)
    if best is None:
        return seen, plain, replace(account, trust=trust, worth=max(worths))
    both = noisy[best]
    points = both.data[np.arange(len(seen.data), len(both.data))]
    account = replace(account, trust=trust, worth=worths[best], points=points)
    return both, _after(beliefs, both), account


def _best_fit(seen: Seen, both: Seen, plain: Beliefs, fit: Fit, enough: float) -> tuple[Beliefs, float]:
    """The first fit that foretells what was measured well enough with images, or the best; and how well."""
    best, foretold = plain, -np.inf
    for fitted in _fits(seen, both, plain, fit):
        if (now := _foretold(fitted, both)) > foretold:
            best, foretold = fitted, now
        if foretold >= enough:
            break
    return best, foretold


def _fits(seen: Seen, both: Seen, plain: Beliefs, fit: Fit) -> Iterator[Beliefs]:
    """What may be believed of data and images: after a fit of both if they are few, or of the data alone."""
    if len(seen.data) <= FITTED // 2:
        yield _after(fit(_some(seen, both)), both)
    yield _after(plain, both)
    yield _after(plain, both, SHORTER)


def _after(beliefs: Beliefs, seen: Seen, times: float = 1.0) -> Beliefs:
    """The same fit after seeing this and nothing else, with its length-scales so many times as long."""
    rows = [belief for belief in beliefs if isinstance(belief, Posterior)]
    if times == 1.0 and all(belief.data is seen.data for belief in rows):
        return beliefs
    fitted = [replace(belief.gp, lengthscale=times * belief.gp.lengthscale) for belief in rows]
    return Beliefs(tuple(gp.condition(seen.data) for gp in fitted), beliefs.weights)


def _most_telling(data: Data, images: Data, rows: Rows) -> tuple[Data, Rows]:
    """As many images as there are data: all of the best points, then one of each of the others in turn."""
    most = max(FEWEST_IMAGES, len(data))
    if len(images) <= most:
        return images, rows
    rank = np.empty(len(data), dtype=np.intp)
    rank[np.argsort(-data.y, kind="stable")] = np.arange(len(data))
    turns = np.where(rank[rows] < BEST, 0, _turns(rows))
    kept = np.sort(np.lexsort((rank[rows], turns))[:most])
    return images[kept], rows[kept]


def _some(seen: Seen, both: Seen) -> Data:
    """What a fit sees: all data, and images of each in turn."""
    n = len(seen.data)
    order = n + np.argsort(_turns(both.owners[n:]), kind="stable")
    return both.data[np.append(np.arange(n), np.sort(order[: FITTED - n]))]


def _turns(rows: Rows) -> Rows:
    """For each image, when it is its turn among those of the same row; other rows begin with other images."""
    turn = np.zeros(len(rows), dtype=np.intp)
    for row in np.unique(rows):
        own = np.flatnonzero(rows == row)
        turn[own] = (np.arange(len(own)) + row) % len(own)
    return turn


def _foretold(beliefs: Beliefs, seen: Seen) -> float:
    """log p of every measured value given all others and the images of these, added up.

    For the block B of a point and its images, A = K + noise, alpha = A^-1 y: given all else, the values in B
    have the covariance C = ([A^-1]_BB)^-1 and the mean y_B - C alpha_B.
    """
    after = _after(beliefs, seen)
    found = [_foretold_by(belief, seen.owners) for belief in after if isinstance(belief, Posterior)]
    return float(np.mean(found))


def _foretold_by(posterior: Posterior, owners: Rows) -> float:
    inverse = posterior.inverse
    alpha = inverse @ posterior.data.y
    order, counts = np.argsort(owners, kind="stable"), np.bincount(owners)
    first = np.cumsum(counts) - counts
    total = 0.0
    for count in np.unique(counts):
        B = order[first[counts == count, None] + np.arange(count)]  # the measured point comes first
        C = np.linalg.inv(inverse[B[:, :, None], B[:, None, :]])
        off, variance = np.einsum("bi,bi->b", C[:, 0, :], alpha[B]), C[:, 0, 0]
        total -= 0.5 * float(np.sum(off**2 / variance + np.log(2.0 * np.pi * variance)))
    return total
