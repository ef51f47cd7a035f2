"""What matters of a law where its D is about δ: estimates that steer, and claim nothing."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.law import cumulants, law
from shufflebounds.divergence.saddlepoint import tilting_point

# Tilts that are tried, in terms of the one that suits D.
_TILTS = np.concatenate([2.0 ** np.arange(6.0, -12.5, -0.5), -(2.0 ** np.arange(-12.0, 6.5, 0.5))])
# How far around a value, relatively, others are as important.
_NEIGHBOURS = 0.15
# Components of a sketch: it is made of more, and has so many places along an axis where one or two
# of the ratios vary, by more than this.
_FEW, _ONE_AXIS, _TWO_AXES, _VARYING = 300, 400, 28, 1e-11


class Question(NamedTuple):
    """D near an `eps`, where it is about δ, with log D to be off by at most `loss`.

    That is asked for as far as no more than `most` components are needed. The sum of the other
    draws has a density of about f at −g, log f being the least of ``heights`` + ``tilts`` g. The
    tilts, shape (T,), descend; each gives the least up to its entry in ``reaches``, (T − 1,).
    """

    eps: float
    log_delta: float
    loss: float
    most: float
    tilts: FloatArray
    heights: FloatArray
    reaches: FloatArray

    @staticmethod
    def about(
        like: Decomposition, eps: float, n: int, delta: float, loss: float, most: float = math.inf
    ) -> Question:
        """By Chernoff's bounds for a similar decomposition, `like`."""
        g = law(like, eps)
        tilts = heights = np.zeros(0)
        if g.values.size and g.values.max() > 0.0:
            theta = tilting_point(g, n)
            tilts = theta * _TILTS
            with np.errstate(all="ignore"):
                x = tilts[:, None] * g.values
                top = np.maximum(x.max(axis=-1), 0.0)
                total = np.exp(x - top[:, None]) @ g.masses + g.rest * np.exp(-top)
                growth = np.expm1(x) @ g.masses
                k = np.where(top < 1.0, np.log1p(growth), top + np.log(total))
                spread = n * cumulants(g, theta)[2] + 1.0 / theta**2
                heights = n * k - 0.5 * np.log(2.0 * math.pi * spread)
            known = np.isfinite(heights)
            scale = math.ldexp(1.0, -g.exponent)
            tilts, heights = tilts[known] * scale, heights[known] + math.log(scale)
        reaches = np.maximum.accumulate(np.diff(heights) / -np.diff(tilts))
        return Question(eps, math.log(delta), loss, most, tilts, heights, reaches)

    def log_importance(self, ascending: FloatArray) -> FloatArray:
        """The logarithm of f/δ for ascending g, the most that it is in the neighbourhood of g."""
        # It is concave, so that it is largest at the point which is closest to its peak.
        gains = int(np.sum(self.tilts > 0.0))
        peak = math.inf if gains == self.tilts.size else -math.inf
        peak = float(self.reaches[gains - 1]) if 0 < gains < self.tilts.size else peak
        around = _NEIGHBOURS * np.abs(ascending)
        points = np.clip(peak, ascending - around, ascending + around)
        ends = np.searchsorted(points, self.reaches)
        which = np.repeat(np.arange(self.tilts.size), np.diff(ends, prepend=0, append=points.size))
        return self.heights[which] + self.tilts[which] * points - self.log_delta


@functools.lru_cache(maxsize=16)
def sketch(decomposition: Decomposition) -> Decomposition:
    """A rough likeness in some hundreds of components, to estimate with."""
    masses = np.stack([decomposition.a, decomposition.b, decomposition.c])
    if len(decomposition) <= _FEW or not masses.min() > 0.0:
        return decomposition
    logs = np.log(masses[:2] / masses[2])
    spans = np.ptp(logs, axis=1)
    varying = spans > _VARYING
    number = _TWO_AXES if varying.all() else _ONE_AXIS
    labels = np.zeros(len(decomposition), dtype=np.int64)
    for ratios, span in zip(logs[varying], spans[varying], strict=True):
        places = (ratios - ratios.min()) * (number / span)
        labels = labels * number + np.minimum(places, number - 1).astype(np.int64)
    held = np.stack([np.bincount(labels, weights=row) for row in masses]).astype(np.float64)
    a, b, c = held[:, held[2] > 0.0]
    return Decomposition(a, b, c, decomposition.rel_err)
