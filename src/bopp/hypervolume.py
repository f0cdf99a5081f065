"""The expected improvement of the hypervolume: how promising a point is where there are several objectives.

    mean, sd (m,)   of each objective at m points, independent of those of the others
    L (m, q)        log E[(f - c)+] of one objective above each of q levels c, the coordinates of the boxes

What a point adds to the hypervolume is, in each box above the front, a product over objectives of the length
by which it surpasses the box's low corner, up to its high one. The expectation of such a length is a
difference of two excesses E[(f - c)+], so the sum over boxes is exact (Emmerich et al. 2011). All of it is a
logarithm, or it would be zero, and flat, wherever an improvement is unlikely (Ament et al. 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy

from bopp.acquisition import log_h
from bopp.belief import Beliefs
from bopp.data import Array
from bopp.front import Boxes, front

EXACT = 3  # objectives up to which the volume is cut into boxes
RAYS = 64  # along which it is measured for more objectives
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
WIDEST = 6.0  # standard deviations above the mean beyond which nothing is expected

Moments = tuple[Array, Array]  # mean and sd, each (m,)
Slopes = Callable[[], list[list[Moments]]]  # by mean and by sd, for each objective and belief of it


class Volume(Protocol):
    """What is left to gain above a front."""

    def __call__(
        self, moments: Sequence[Sequence[Moments]], weights: Sequence[Sequence[float]]
    ) -> tuple[Array, Slopes]:
        """The logarithm (m,) of the expected improvement, and what gives its derivatives."""
        ...


@dataclass(frozen=True, eq=False)
class HypervolumeScore:
    """The logarithm of the expected improvement as a score over the cube."""

    beliefs: tuple[Beliefs, ...]
    volume: Volume

    def values(self, U: Array) -> Array:
        """The score (m,) at the rows of U."""
        return self._gains([[belief(U) for belief in beliefs] for beliefs in self.beliefs])[0]

    def gradient(self, U: Array) -> tuple[Array, Array]:
        """The score (m,) and its gradient (m, d) at the rows of U."""
        parts = [[belief.gradient(U) for belief in beliefs] for beliefs in self.beliefs]
        score, slopes = self._gains([[(mean, sd) for mean, sd, _, _ in part] for part in parts])
        slope = np.zeros_like(U)
        for part, pairs in zip(parts, slopes(), strict=True):
            for (_, _, mean_slope, sd_slope), (by_mean, by_sd) in zip(part, pairs, strict=True):
                slope += by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope
        return score, slope

    def _gains(self, moments: Sequence[Sequence[Moments]]) -> tuple[Array, Slopes]:
        return self.volume(moments, [beliefs.weights for beliefs in self.beliefs])


def left_to_gain(Y: Array, reference: Array) -> Volume:
    """What is left to gain above the front of Y (n, k): exact up to three objectives."""
    best = front(Y, reference)
    if len(reference) <= EXACT:
        return BoxVolume(Boxes.above(best, reference))
    return RayVolume.above(best, reference)


@dataclass(frozen=True, eq=False)
class BoxVolume:
    """The volume above a front, cut into boxes."""

    boxes: Boxes

    def __call__(
        self, moments: Sequence[Sequence[Moments]], weights: Sequence[Sequence[float]]
    ) -> tuple[Array, Slopes]:
        axes = [_Excess.of(*axis) for axis in zip(self._levels, moments, weights, strict=True)]
        lengths = [_length(axis.L, *places) for axis, places in zip(axes, self._places, strict=True)]
        boxes = np.sum([length for length, _ in lengths], axis=0)
        score = _log_sum(boxes)

        def slopes() -> list[list[Moments]]:
            share = np.exp(boxes - score[:, None])  # of each box in the improvement
            found = []
            for k, (axis, (_, ratio)) in enumerate(zip(axes, lengths, strict=True)):
                at_low = share / (1.0 - ratio)
                low, high = self._corners[k]
                by_L = at_low @ low - (at_low * ratio) @ high
                found.append([axis.derivatives(by_L, place) for place in range(len(moments[k]))])
            return found

        return score, slopes

    @cached_property
    def _levels(self) -> list[Array]:
        """The coordinates of corners along each axis, rising; infinity is the last."""
        low, high = self.boxes.low, self.boxes.high
        return [np.unique(np.append(low[:, k], high[:, k])) for k in range(low.shape[1])]

    @cached_property
    def _places(self) -> list[tuple[Array, Array]]:
        """The places (b,) of low and of high corners among the levels of each axis."""
        axes = zip(self._levels, self.boxes.low.T, self.boxes.high.T, strict=True)
        return [(np.searchsorted(one, low), np.searchsorted(one, high)) for one, low, high in axes]

    @cached_property
    def _corners(self) -> list[tuple[Array, Array]]:
        """Which boxes (b, q) begin and which end at which level of each axis."""
        axes = zip(self._levels, self._places, strict=True)
        return [(np.eye(len(one))[low], np.eye(len(one))[high]) for one, (low, high) in axes]


@dataclass(frozen=True, eq=False)
class _Excess:
    """How far an objective is expected to be above each of some levels, averaged over beliefs."""

    L: Array
    parts: list[tuple[Array, Array, Array, Array]]  # of each belief: its share in exp(L), dL/dz, z, sd

    @staticmethod
    def of(levels: Array, moments: Sequence[Moments], weights: Sequence[float]) -> _Excess:
        rows, parts = [], []
        for (mean, sd), weight in zip(moments, weights, strict=True):
            z = (mean[:, None] - levels[:-1]) / sd[:, None]  # nothing is above the last level, infinity
            ratio, by_z = log_h(z)
            rows.append(ratio + (np.log(sd) + math.log(weight))[:, None])
            parts.append((by_z, z, sd))
        L = rows[0] if len(rows) == 1 else np.logaddexp.reduce(rows, axis=0)
        shares = [np.exp(row - L) for row in rows] if len(rows) > 1 else [np.ones(())]
        L = np.column_stack([L, np.full(len(L), -np.inf)])
        return _Excess(L, [(share, *part) for share, part in zip(shares, parts, strict=True)])

    def derivatives(self, G: Array, place: int) -> tuple[Array, Array]:
        """By the mean and the sd (m,) of a belief, where G (m, q) are those by L."""
        share, by_z, z, sd = self.parts[place]
        weighted = G[:, :-1] * share
        by_mean = (weighted * by_z).sum(axis=1) / sd
        return by_mean, (weighted * (1.0 - by_z * z)).sum(axis=1) / sd


def _length(L: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The logarithms (m, b) of the expected lengths in boxes, and what part of each lies above its box."""
    below, above = L[:, low], L[:, high]
    ratio = np.minimum(np.exp(above - below), 1.0 - 1e-15)
    return below + np.log1p(-ratio), ratio


@dataclass(frozen=True, eq=False)
class RayVolume:
    """The volume above a front, measured along rays from the reference.

    Along a ray of direction v, a point f reaches t = min_k (f_k - r_k) / v_k. In polar coordinates the volume
    that it adds is, up to a factor, the mean over rays of the integral of t^(k - 1) from where the front ends
    to where f does (Deng, Zhang 2019). So its expectation needs no more than the chances that f_k is above
    r_k + t v_k.
    """

    reference: Array
    rays: Array  # (r, k)
    ends: Array  # (r,) of the front

    @staticmethod
    def above(front: Array, reference: Array) -> RayVolume:
        normal = np.abs(np.random.default_rng(0).standard_normal((RAYS, len(reference))))
        rays = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        reached = ((front - reference)[:, None, :] / rays).min(axis=2)  # (n, r)
        return RayVolume(reference, rays, reached.max(axis=0, initial=0.0))

    def __call__(
        self, moments: Sequence[Sequence[Moments]], weights: Sequence[Sequence[float]]
    ) -> tuple[Array, Slopes]:
        t, width = self._stations(moments)  # (m, r, s)
        logs = (len(self.reference) - 1) * np.log(t) + np.log(WEIGHTS / 2.0) + np.log(width)[:, :, None]
        axes = []
        for k, (pairs, shares) in enumerate(zip(moments, weights, strict=True)):
            level = self.reference[k] + t * self.rays[:, k, None]
            z = [(mean[:, None, None] - level) / sd[:, None, None] for mean, sd in pairs]
            rows = [scipy.special.log_ndtr(one) + math.log(part) for one, part in zip(z, shares, strict=True)]
            chance = rows[0] if len(rows) == 1 else np.logaddexp.reduce(rows, axis=0)
            axes.append((z, chance))
            logs += chance
        score = _log_sum(logs.reshape(len(logs), -1))

        def slopes() -> list[list[Moments]]:
            share = np.exp(logs - score[:, None, None])
            found = []
            for (z, chance), pairs, shares in zip(axes, moments, weights, strict=True):
                found.append(
                    [
                        self._derivatives(share * np.exp(-0.5 * one**2 - chance), one, sd, part)
                        for one, (_, sd), part in zip(z, pairs, shares, strict=True)
                    ]
                )
            return found

        return score, slopes

    @staticmethod
    def _derivatives(density: Array, z: Array, sd: Array, weight: float) -> Moments:
        factor = weight / (math.sqrt(2.0 * math.pi) * sd)
        return density.sum(axis=(1, 2)) * factor, -(density * z).sum(axis=(1, 2)) * factor

    def _stations(self, moments: Sequence[Sequence[Moments]]) -> tuple[Array, Array]:
        """Where along each ray to look, and the width (m, r) of what is looked at."""
        reach, step = (np.full((len(moments[0][0][0]), len(self.rays)), np.inf) for _ in range(2))
        for k, pairs in enumerate(moments):
            top = np.max([mean + WIDEST * sd for mean, sd in pairs], axis=0)
            widest = np.max([sd for _, sd in pairs], axis=0)
            reach = np.minimum(reach, (top[:, None] - self.reference[k]) / self.rays[:, k])
            step = np.minimum(step, widest[:, None] / self.rays[:, k])
        width = np.maximum(reach - self.ends, step)
        return self.ends[:, None] + width[:, :, None] * (NODES + 1.0) / 2.0, width


def _log_sum(rows: Array) -> Array:
    """The logarithm (m,) of the sum of exp over each row."""
    top = rows.max(axis=1)
    return np.asarray(top + np.log(np.exp(rows - top[:, None]).sum(axis=1)))
