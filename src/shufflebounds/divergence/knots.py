"""A divergence between bounds at some ε, and what its convexity says of integrals.

In x = e^ε the curve h(x) = D(P‖xQ) is convex: between points it lies below the chord of its upper
bounds, and above the lines that continue the chords next to it; see docs/renyi.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.law import U
from shufflebounds.divergence.logarithms import log_divergences
from shufflebounds.divergence.powers import chord_weights_err, log_chord_weights

# So many neighbours may support a line, and so near an end of a cell two lines may meet.
_NEIGHBOURS, _ASIDE = 3, 1e-3
# The relative width of cells that are not cut any more.
_NARROWEST = 1e-9
# Of the first points, so many are computed with care; the others, and deep tails, to this width.
_CAREFUL, _COARSEST = 24, 1e-2


@dataclass(frozen=True, eq=False)
class Knots:
    """Bounds of log D at ε = `eps`, ascending from 0 to where D is certainly 0, shape (K + 1,).

    They are of one decomposition in one order and n users, each computed with a relative width of
    `rtol` in mind.
    """

    decomposition: Decomposition
    n: int
    rtol: float
    eps: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray

    @staticmethod
    def at(decomposition: Decomposition, n: int, rtol: float, eps: FloatArray) -> Knots:
        """At the points `eps`, of which D is 0 at the last."""
        # Far out the first look is a rough one.
        aims = np.where(np.arange(eps.size - 1) < _CAREFUL, rtol, max(rtol, _COARSEST))
        low, high = log_divergences(decomposition, eps[:-1], n, aims)
        return Knots(decomposition, n, rtol, eps, *_falling(low, high))

    def split(self, pieces: NDArray[np.int64]) -> Knots:
        """Cells cut into so many pieces each, shape (K,), evenly in ε."""
        # Floats between must be many.
        pieces = np.where(np.diff(self.eps) > _NARROWEST * self.eps[1:], pieces, 1)
        cell = np.repeat(np.arange(pieces.size), pieces - 1)
        if not cell.size:
            return self
        number = np.concatenate([np.arange(1, count) for count in pieces])
        width = np.diff(self.eps)
        more = self.eps[cell] + width[cell] * (number / pieces[cell])
        more = np.setdiff1d(more, self.eps)
        # Where D has fallen by e^{−x}, it matters to orders at which log E[R^α] is about x.
        at = np.searchsorted(self.eps, more) - 1
        depth = np.minimum(self.log_upper[0] - self.log_upper[at], 1e6)
        aims = np.clip(0.5 * self.rtol * depth, self.rtol, max(self.rtol, _COARSEST))
        found = log_divergences(self.decomposition, more, self.n, aims)
        eps = np.concatenate([self.eps, more])
        order = np.argsort(eps, kind="stable")
        low = np.concatenate([self.log_lower, found[0]])[order]
        high = np.concatenate([self.log_upper, found[1]])[order]
        return Knots(
            self.decomposition, self.n, self.rtol, eps[order], *_falling(low[:-1], high[:-1])
        )

    def integrals(self, order: FloatArray, other: Knots, *, ahead: bool) -> tuple[FloatArray, ...]:
        """Bounds of log ∫ α(α − 1) y^{α−2} h(y) dy, or with y^{−α−1} if not `ahead`, cell by cell.

        `order` has shape (O, 1), the bounds (O, K); `other` is the divergence in the other order.
        """
        err = chord_weights_err(order, self.eps[1:]) + 64.0 * U
        first, last = log_chord_weights(order, self.eps[:-1], self.eps[1:], ahead=ahead)
        upper = np.logaddexp(first + self.log_upper[:-1], last + self.log_upper[1:])
        middle, heights = self._floor(other)
        left = log_chord_weights(order, self.eps[:-1], middle, ahead=ahead)
        right = log_chord_weights(order, middle, self.eps[1:], ahead=ahead)
        halves = [
            np.logaddexp(one[0] + heights[i], one[1] + heights[i + 1])
            for i, one in enumerate((left, right))
        ]
        lower = np.logaddexp(*halves)
        return np.minimum(lower - err - _slip(lower, 0.0), upper), upper + err + _slip(upper, 0.0)

    def _floor(self, other: Knots) -> tuple[FloatArray, FloatArray]:
        """A polygon below h: its vertex in each cell, (K,), and logs of its heights.

        Those at the beginning of the cell, the vertex and the end, (3, K).
        """
        begin, end = self.eps[:-1], self.eps[1:]
        width, scale = end - begin, self.log_upper[:-1]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
            start, stop = np.exp(self.log_lower[:-1] - scale), np.exp(self.log_lower[1:] - scale)
            start = start * (1.0 - _slip(self.log_lower[:-1], scale))
            stop = stop * (1.0 - _slip(self.log_lower[1:], scale))
            whole = np.expm1(width)
            down, up = self._falls(start, scale, other), self._rises(stop, scale, width)
            # In units of x and of h at the beginning of the cell.
            meet = (start - stop - up * whole) / (down - up)
            meet = np.clip(np.where(np.isnan(meet), 0.5 * whole, meet), 0.0, whole)
            aside = np.clip(np.log1p(meet), _ASIDE * width, (1.0 - _ASIDE) * width)
            middle = begin + aside
            middle = np.where((begin < middle) & (middle < end), middle, 0.5 * (begin + end))
            along = np.expm1(middle - begin)
            before, after = down * along, up * np.exp(middle - begin) * np.expm1(end - middle)
            height = np.minimum(
                start - before - 16.0 * U * (start + before),
                stop + after - 16.0 * U * (stop + after),
            )
            # A line that does not come so far leaves the height at the end.
            good = height > 0.0
            heights = np.log([np.where(good, start, stop), np.where(good, height, stop), stop])
        heights = np.where(np.isfinite(scale), scale + heights, -np.inf)
        return middle, heights - _slip(heights, 0.0)

    def _falls(self, start: FloatArray, scale: FloatArray, other: Knots) -> FloatArray:
        """How fast h may fall beyond the beginning of each cell, at most."""
        found = np.full(start.size, np.inf)
        for back in range(1, min(_NEIGHBOURS, start.size - 1) + 1):
            high = np.exp(self.log_upper[: -1 - back] - scale[back:])
            high = high * (1.0 + _slip(self.log_upper[: -1 - back], scale[back:]))
            gap = -np.expm1(self.eps[: -1 - back] - self.eps[back:-1])
            steep = np.maximum(high - start[back:], 0.0) / gap * (1.0 + 16.0 * U)
            found[back:] = np.fmin(found[back:], steep)
        # At x = 1, by what the other order says of x < 1: H(x) − 1 + x is x times it at 1/x.
        near = other.eps[1 : 1 + _NEIGHBOURS]
        gap = -np.expm1(-near)
        high = np.exp(other.log_upper[1 : 1 + _NEIGHBOURS] - near)
        here = start[0] * np.exp(scale[0])
        sizes = gap + high + here
        steep = ((gap - here) + high + 32.0 * U * sizes) / gap * (1.0 + 16.0 * U)
        unit = np.exp(scale[:1]) * (1.0 - _slip(scale[:1], 0.0))
        # A unit of 0 says nothing, neither does 0/0.
        found[0] = np.minimum(1.0, np.fmin.reduce(steep)) / unit[0] * (1.0 + 16.0 * U)
        return np.maximum(found, 0.0)

    def _rises(self, stop: FloatArray, scale: FloatArray, width: FloatArray) -> FloatArray:
        """How fast h rises before the end of each cell, at least."""
        found = np.zeros(stop.size)
        for on in range(1, min(_NEIGHBOURS, stop.size - 1) + 1):
            high = np.exp(self.log_upper[1 + on :] - scale[:-on])
            high = high * (1.0 + _slip(self.log_upper[1 + on :], scale[:-on]))
            gap = np.exp(width[:-on]) * np.expm1(self.eps[1 + on :] - self.eps[1:-on])
            steep = (stop[:-on] - high) / gap * (1.0 - 16.0 * U)
            found[:-on] = np.fmax(found[:-on], steep)
        return found


def _falling(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds that fall as D does, 0 at a further point."""
    low = np.maximum.accumulate(low[::-1])[::-1]
    return np.append(low, -np.inf), np.append(np.minimum.accumulate(high), -np.inf)


def _slip(log_value: FloatArray, log_scale: FloatArray | float) -> FloatArray:
    """The relative error of e^{difference}."""
    apart = np.abs(log_value - log_scale)
    return 8.0 * U * (2.0 + np.where(np.isfinite(apart), apart, 0.0))
