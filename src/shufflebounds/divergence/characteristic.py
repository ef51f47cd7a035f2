"""Tilted laws, and the characteristic function of one at equally spaced frequencies.

Notation as in `law`: φ(t) = E_Q e^{itG}, with G tilted by θ. The errors are derived in
docs/proofs/engine.md, section 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import BLOCK, Law, U, away_from_one, tilt


@dataclass(frozen=True, eq=False)
class TiltedLaws:
    """Laws tilted by θ of their own, and numbers of draws; shape (…) or (…, J).

    ``values``, ``weights`` and their errors are 0 where a weight is not used, and ``left_out`` is
    at most the sum of those weights. ``law`` has all values. ``spread`` is an estimate of the
    tilted variance of S.
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

    @staticmethod
    def of(law: Law, n: FloatArray, theta: FloatArray) -> TiltedLaws:
        """Return the laws tilted by θ; `n` and `theta` have shape (…)."""
        tilted = tilt(law, theta)
        used = tilted.used
        return TiltedLaws(
            law=law,
            n=n,
            theta=theta,
            log_mgf=tilted.log_mgf,
            log_mgf_err=tilted.log_mgf_err,
            values=np.where(used, law.values, 0.0),
            value_err=np.where(used, law.value_err, 0.0),
            weights=np.where(used, tilted.weights, 0.0),
            weight_err=np.where(used, tilted.weight_err, 0.0),
            left_out=tilted.left_out,
            spread=n * tilted.variance,
        )

    def at(self, rows: Any) -> TiltedLaws:
        """Return some of the laws, by their indices; one law for a single index."""
        fields = {name: x[rows] for name, x in vars(self).items() if name != "law"}
        return TiltedLaws(law=self.law.at(rows), **fields)

    def usable(self) -> NDArray[np.bool_]:
        """Return where round-off leaves something, and powers of θ and the spread are floats."""
        is_precise = (self.n * self.log_mgf_err < 1.0) & (self.left_out < 1.0)
        return is_precise & (self.theta > 1e-60) & (self.theta < 1e60) & (self.spread < 1e100)


def characteristic(
    point: TiltedLaws, step: float, first: int, count: int
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return φ(t) − 1 of one law at t = m·`step`, m = first, …, and its error; shape (count,).

    With t = t′ + t″ on a grid,

        e^{itg} − 1 = (e^{it′g} − 1) + (e^{it″g} − 1) + (e^{it′g} − 1)(e^{it″g} − 1),

    so that φ − 1 at R·C frequencies takes R + C times J tangents and a product of matrices. Each
    factor keeps its relative precision near 0. All m·`step` must be exact.
    """
    width = math.isqrt(count - 1) + 1
    short = np.arange(float(width)) * step
    long = np.arange(float(first), float(first + count), float(width)) * step
    away = np.zeros((long.size, width), dtype=np.complex128)
    size = max(1, BLOCK // width)
    for part in (slice(i, i + size) for i in range(0, point.values.size, size)):
        g, w = point.values[part], point.weights[part]
        inside, outside = _turns(short, g), w * _turns(long, g)
        away += outside @ inside.T
        away += outside.sum(axis=1)[:, None]
        away += inside @ w
    t = np.arange(float(first), float(first + count)) * step
    return away.ravel()[:count], _error(point, t)


def _error(point: TiltedLaws, t: FloatArray) -> FloatArray:
    """Return a bound of the error of φ(t) − 1 at t, shape (T,)."""
    w, err = point.weights, point.weight_err
    relative = w * (err + 160.0 * U + 6.0 * point.law.sum_err)
    size = np.abs(point.values)
    absolute = float(np.dot(w * (1.0 + err), 2.0 * U * size + point.value_err))
    # |e^{itg} − 1| is at most t|g| and at most 2.
    turned = np.minimum(t * float(relative @ size), 2.0 * float(relative.sum()))
    # Weights left out count in full, twice.
    bound = turned + t * absolute + (2.0 * float(point.left_out) + 2.0**-1000)
    return bound * (1.0 + 1e-9)


def _turns(t: FloatArray, g: FloatArray) -> NDArray[np.complex128]:
    """Return e^{itg} − 1, shape (T, J), real and imaginary part each good relatively."""
    y = np.multiply.outer(t, g)
    away = np.empty(y.shape, dtype=np.complex128)
    away.real, away.imag = away_from_one(y)
    return away
