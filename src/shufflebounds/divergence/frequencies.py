"""The characteristic function of a tilted law at runs of equally spaced frequencies.

Notation as in `law`: φ(t) = E_Q e^{itG}. With t = t′ + t″ on a grid,

    e^{itg} − 1 = (e^{it′g} − 1) + (e^{it″g} − 1) + (e^{it′g} − 1)(e^{it″g} − 1),

so that φ − 1 at R·C frequencies takes R + C times J tangents and a product of matrices. Each factor
keeps its relative precision near 0. The errors are derived in docs/engine.md, section 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, Tilted, U, characteristic
from shufflebounds.divergence.turns import away_from_one

# Frequencies times components: up to so many one by one, and so many at once as caches hold.
_FEW, _BLOCK = 2**12, 2**16


@dataclass(frozen=True, eq=False)
class Runs:
    """Frequencies (start + k·stride)·step for k = 0, …, length − 1 of each run, all exact floats.

    ``starts`` and ``lengths`` have shape (R,) and hold whole numbers; ``stride`` is one, too.
    """

    starts: FloatArray
    lengths: NDArray[np.int64]
    stride: int
    step: float

    @property
    def size(self) -> int:
        """How many frequencies there are."""
        return int(self.lengths.sum())

    def cut(self, width: int) -> Runs:
        """The same frequencies, in runs of at most `width`."""
        pieces = -(-self.lengths // width)
        piece = consecutive(np.zeros(pieces.size), pieces)
        lengths = np.minimum(np.repeat(self.lengths, pieces) - piece * width, width)
        starts = np.repeat(self.starts, pieces) + piece * float(width * self.stride)
        return Runs(starts, lengths.astype(np.int64), self.stride, self.step)

    def frequencies(self) -> FloatArray:
        """All of them, shape (size,)."""
        first = np.repeat(self.starts, self.lengths)
        return (first + consecutive(np.zeros(self.starts.size), self.lengths) * self.stride) * (
            self.step
        )


def consecutive(starts: FloatArray, lengths: NDArray[np.int64]) -> FloatArray:
    """Whole numbers that follow each start, as many as its length, the starts among them."""
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)


@dataclass(frozen=True, eq=False)
class Samples:
    """φ − 1 at frequencies t ≥ 0, and a bound of its error, all of shape (T,)."""

    t: FloatArray
    away: NDArray[np.complex128]
    err: FloatArray


def samples(law: Law, tilted: Tilted, runs: Runs) -> Iterator[Samples]:
    """φ − 1 at all frequencies of some runs, in the order of `Runs.frequencies`, by blocks."""
    if runs.size * law.values.size <= _FEW:
        t = runs.frequencies()
        yield Samples(t, *characteristic(law, tilted, t))
        return
    used = tilted.used
    g, w, err = law.values[used], tilted.weights[used], tilted.weight_err[used]
    widest = max(1, _BLOCK // max(1, g.size))
    width = min(math.isqrt(runs.size - 1) + 1, int(runs.lengths.max()), widest)
    rows = runs.cut(width)
    short = _away(np.arange(float(width)) * (runs.stride * runs.step), g)
    short_sum = short @ w
    relative = w * (err + 140.0 * U + 6.0 * law.sum_err)
    absolute = float((w * (1.0 + err)) @ (2.0 * U * np.abs(g) + law.value_err[used]))
    left_out = 2.0 * tilted.left_out + 2.0**-1000
    count = max(1, _BLOCK // max(g.size, width))
    inside = np.arange(width)
    for part in (slice(i, i + count) for i in range(0, rows.starts.size, count)):
        starts = rows.starts[part]
        long = w * _away(starts * runs.step, g)
        away = long @ short.T
        away += long.sum(axis=1)[:, None]
        away += short_sum
        t = (starts[:, None] + inside * float(runs.stride)) * runs.step
        reach = t[:, -1]
        slip = np.minimum(np.multiply.outer(reach, np.abs(g)), 2.0) @ relative
        slip += reach * absolute + left_out
        kept = inside < rows.lengths[part, None]
        yield Samples(t[kept], away[kept], np.repeat(slip, rows.lengths[part]))


def _away(t: FloatArray, g: FloatArray) -> NDArray[np.complex128]:
    """e^{itg} − 1, shape (T, J), real and imaginary part each good relatively."""
    y = np.multiply.outer(t, g)
    away = np.empty(y.shape, dtype=np.complex128)
    away.real, away.imag = away_from_one(y)
    return away
