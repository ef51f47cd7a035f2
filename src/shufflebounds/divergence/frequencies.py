"""Tilted laws of several points, and their characteristic functions at runs of frequencies.

Notation as in `law`: φ(t) = E_Q e^{itG}, of P points, each a law and a number of users. The errors
are derived in docs/engine.md, section 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import (
    BLOCK,
    Law,
    U,
    away_from_one,
    exp_down,
    tilt,
    tilted_moments,
)

Indices = NDArray[np.int64]

# Frequencies times components of a point up to which φ is evaluated frequency by frequency. Speed
# only (benchmarks/deployer_grid.py).
DIRECT = 2**14


@dataclass(frozen=True, eq=False)
class Points:
    """Laws of P points, tilted by θ of their own, and numbers of users; shape (P,) or (P, J).

    ``values``, ``weights`` and their errors are 0 where a weight is not used; ``law`` has all
    values. ``moments`` (P, 3) are bounds of the tilted variance, lower and upper, and an upper one
    of the fourth moment. ``spread`` is an estimate of the variance of S.
    """

    law: Law
    n: FloatArray
    theta: FloatArray
    log_mgf: FloatArray
    log_mgf_err: FloatArray
    values: FloatArray
    value_err: FloatArray
    weights: FloatArray
    weight_err: FloatArray
    left_out: FloatArray
    spread: FloatArray
    moments: FloatArray

    @staticmethod
    def of(law: Law, n: FloatArray, theta: FloatArray) -> Points:
        """Laws tilted by θ, all of shape (P,)."""
        tilted = tilt(law, theta)
        rows = law.values, law.value_err, tilted.weights, tilted.weight_err
        values, value_err, weights, weight_err = (np.where(tilted.used, x, 0.0) for x in rows)
        largest = (np.abs(law.values) + law.value_err).max(axis=-1)
        moments = tilted_moments(
            values, value_err, weights, weight_err, tilted.left_out, tilted.mean, largest
        )
        return Points(
            law=law,
            n=n,
            theta=theta,
            log_mgf=tilted.log_mgf,
            log_mgf_err=tilted.log_mgf_err,
            values=values,
            value_err=value_err,
            weights=weights,
            weight_err=weight_err,
            left_out=tilted.left_out,
            spread=n * tilted.variance,
            moments=np.stack(moments, axis=-1),
        )

    def at(self, rows: Any) -> Points:
        """Some of the points, by their indices."""
        fields = {name: x[rows] for name, x in vars(self).items() if name != "law"}
        return Points(law=self.law.at(rows), **fields)

    def usable(self) -> NDArray[np.bool_]:
        """Where round-off leaves something, and powers of θ and of the spread are floats."""
        is_known = (self.n * self.log_mgf_err < 1.0) & (self.left_out < 1.0)
        return is_known & (self.theta > 1e-60) & (self.theta < 1e60) & (self.spread < 1e100)

    def idle(self) -> list[float]:
        """Lower bounds of the tilted probabilities that all n draws are 0."""
        law = self.law
        moved = float(law.masses.sum()) * (
            1.0 + float(np.max(law.mass_err, initial=0.0)) + law.sum_err
        )
        if moved >= 1.0:
            return [0.0] * self.n.size
        log_rest = math.log1p(-moved)
        slip = self.log_mgf_err + 8.0 * U * (abs(log_rest) + np.abs(self.log_mgf))
        return [exp_down(x) for x in (self.n * (log_rest - self.log_mgf - slip)).tolist()]


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of equally spaced modes, in the order of the points that own them; shape (K,).

    Run k has the modes ``starts[k]`` + i ``strides[k]`` for 0 ≤ i < ``lengths[k]``, whole numbers.
    """

    owners: Indices
    starts: FloatArray
    strides: FloatArray
    lengths: Indices

    def modes(self) -> tuple[Indices, FloatArray]:
        """The owner of each mode and the mode, shape (sum of lengths,)."""
        before = np.cumsum(self.lengths) - self.lengths
        place = np.arange(int(self.lengths.sum())) - np.repeat(before, self.lengths)
        first, stride = np.repeat(self.starts, self.lengths), np.repeat(self.strides, self.lengths)
        return np.repeat(self.owners, self.lengths), first + stride * place

    def at(self, chosen: NDArray[np.bool_] | Indices) -> Runs:
        """Return some of the runs, given by a mask or by their indices."""
        return replace(self, **{name: x[chosen] for name, x in vars(self).items()})

    def cut(self, width: int) -> Runs:
        """The same modes in runs of at most `width`."""
        pieces = -(-self.lengths // width)
        before = np.cumsum(pieces) - pieces
        piece = np.arange(int(pieces.sum())) - np.repeat(before, pieces)
        strides = np.repeat(self.strides, pieces)
        starts = np.repeat(self.starts, pieces) + piece * width * strides
        lengths = np.minimum(np.repeat(self.lengths, pieces) - piece * width, width)
        return Runs(np.repeat(self.owners, pieces), starts, strides, lengths)


class Samples(NamedTuple):
    """φ − 1 at frequencies t ≥ 0 of points, and bounds of its error; all of shape (N,)."""

    owner: Indices
    t: FloatArray
    away: NDArray[np.complex128]
    err: FloatArray


def sample(points: Points, runs: Runs, step: FloatArray) -> Samples:
    """φ − 1 at the frequencies mode · step of all runs, in their order; `step` (P,) is exact."""
    owner, modes = runs.modes()
    t, components = modes * step[owner], points.values.shape[1]
    away, err = np.empty(t.size, dtype=np.complex128), np.empty(t.size)
    sizes = np.bincount(runs.owners, weights=runs.lengths, minlength=step.size)
    is_heavy = sizes * components > DIRECT
    direct = np.flatnonzero(~is_heavy[owner])
    spend(100.0 * t.size + components * (15.0 * direct.size + 5.0 * (t.size - direct.size)))
    width = max(1, BLOCK // components)
    for part in (direct[i : i + width] for i in range(0, direct.size, width)):
        away[part], err[part] = _one_by_one(points, owner[part], t[part])
    for row in np.flatnonzero(is_heavy).tolist():
        own = runs.at(runs.owners == row)
        away[owner == row], err[owner == row] = _by_products(points.at(row), own, step[row])
    return Samples(owner, t, away, err)


def _one_by_one(
    points: Points, owner: Indices, t: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """φ − 1 of the points `owner` at frequencies t, both of shape (N,)."""
    g, w = points.values[owner], points.weights[owner]
    relative, absolute, left_out = _errors(points, 24.0, 1.0)
    y = t[:, None] * g
    cosine, sine = away_from_one(y)
    away = np.vecdot(cosine, w) + 1j * np.vecdot(sine, w)
    size = np.minimum(np.abs(y), 2.0)
    err = np.vecdot(size, relative[owner]) + t * absolute[owner] + left_out[owner]
    return away, err


def _by_products(
    point: Points, runs: Runs, step: float
) -> tuple[NDArray[np.complex128], FloatArray]:
    """φ − 1 of one point at all frequencies of runs of one stride.

    With t = t′ + t″ on a grid,

        e^{itg} − 1 = (e^{it′g} − 1) + (e^{it″g} − 1) + (e^{it′g} − 1)(e^{it″g} − 1),

    so that φ − 1 at R·C frequencies takes R + C times J tangents and a product of matrices. Each
    factor keeps its relative precision near 0.
    """
    is_used = point.weights > 0.0
    g, w = point.values[is_used], point.weights[is_used]
    relative, absolute, left_out = _errors(point, 140.0, 6.0)
    relative = relative[is_used]
    size = int(runs.lengths.sum())
    widest = max(1, BLOCK // max(1, g.size))
    width = min(math.isqrt(size - 1) + 1, int(runs.lengths.max()), widest)
    rows, stride = runs.cut(width), float(runs.strides[0]) * step
    inside = np.arange(float(width))
    short = _turns(inside * stride, g)
    short_sum = short @ w
    count = max(1, BLOCK // max(g.size, width))
    away, err = np.empty(size, dtype=np.complex128), np.empty(size)
    done = 0
    for part in (slice(i, i + count) for i in range(0, rows.starts.size, count)):
        starts = rows.starts[part] * step
        long = w * _turns(starts, g)
        block = long @ short.T
        block += long.sum(axis=1)[:, None]
        block += short_sum
        last = starts + (width - 1) * stride
        slip = np.minimum(np.multiply.outer(last, np.abs(g)), 2.0) @ relative
        slip += last * absolute + left_out
        kept = inside < rows.lengths[part, None]
        end = done + int(rows.lengths[part].sum())
        away[done:end] = block[kept]
        err[done:end] = np.repeat(slip, rows.lengths[part])
        done = end
    return away, err


def _errors(
    points: Points, roundings: float, sums: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What φ − 1 may be off by: a weight for each |e^{itg} − 1|, a factor of t, and a constant."""
    w, err = points.weights, points.weight_err
    relative = w * (err + roundings * U + sums * points.law.sum_err)
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(points.values) + points.value_err)
    # Weights left out count in full, twice: |e^{itG} − 1| ≤ 2.
    return relative, absolute, 2.0 * points.left_out + 2.0**-1000


def _turns(t: FloatArray, g: FloatArray) -> NDArray[np.complex128]:
    """e^{itg} − 1, shape (T, J), real and imaginary part each good relatively."""
    y = np.multiply.outer(t, g)
    away = np.empty(y.shape, dtype=np.complex128)
    away.real, away.imag = away_from_one(y)
    return away
