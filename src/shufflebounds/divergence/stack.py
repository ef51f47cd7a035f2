"""Tilted laws of several points of one decomposition, for `stacked`.

Arrays have shape (P,), P points, or (P, J), J components with c > 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.estimates import tilting_points
from shufflebounds.divergence.law import VAGUE, Law, Tilted, U, log_mgfs

Indices = NDArray[np.int64]

# Numbers held in memory at once: what a cache holds.
BLOCK = 2**16


@dataclass(frozen=True, eq=False)
class Stack:
    """Tilted laws of several points; the fields of `Tilted`.

    ``values``, ``weights`` and their errors are 0 where they are not used, ``law`` has them all.
    ``eta`` is the standard deviation of the smoothing, ``rtol`` the relative width to aim at.
    """

    law: Law
    n: FloatArray
    rtol: FloatArray
    eta: FloatArray
    theta: FloatArray
    log_mgf: FloatArray
    log_mgf_err: FloatArray
    values: FloatArray
    value_err: FloatArray
    weights: FloatArray
    weight_err: FloatArray
    left_out: FloatArray
    mean: FloatArray
    variance: FloatArray

    @staticmethod
    def tilted(g: Law, n: FloatArray, rtol: FloatArray) -> Stack:
        """Laws at their tilting points, and an η to begin with."""
        theta = tilting_points(g, n)
        k, err = (x[:, 0] for x in log_mgfs(g, theta[:, None]))
        exponent = theta[:, None] * g.values
        # As in `law.tilt`: in two halves, since p may be as small as e^exponent is large.
        half = np.exp(0.5 * (exponent - k[:, None]))
        weights = g.masses * half * half
        kept = weights > 0.0
        slip = 1.01 * g.mass_err + 14.0 * U
        slip = slip + 2.0 * U * (np.where(kept, np.abs(exponent), 0.0) + np.abs(k)[:, None])
        slip = slip + err[:, None] + theta[:, None] * g.value_err
        weight_err = np.expm1(slip)
        used = (weights > 1e-290) & (weight_err < VAGUE)
        exponent = np.where(kept, exponent, exponent * (1.0 - 4.0 * U))
        half = np.exp(0.5 * (exponent - k[:, None] + slip))
        left_out = np.where(used, 0.0, g.masses * half * half).sum(axis=-1)
        left_out = left_out * (1.0 + 1e-9) + np.where(used.all(axis=-1), 0.0, 2.0**-1000)
        known = (g.values, g.value_err, weights, weight_err)
        values, value_err, weights, weight_err = (np.where(used, x, 0.0) for x in known)
        mean = np.vecdot(weights, values)
        variance = np.vecdot(weights, (values - mean[:, None]) ** 2)
        variance += np.maximum(0.0, 1.0 - weights.sum(axis=-1)) * mean**2
        # Finer than round-off allows would only cost time.
        rtol = np.maximum(np.maximum(rtol, 4.0 * n * err), 1e-12)
        eta = np.sqrt(0.7 * rtol) / theta
        return Stack(
            law=g,
            n=n,
            rtol=rtol,
            eta=eta,
            theta=theta,
            log_mgf=k,
            log_mgf_err=err,
            values=values,
            value_err=value_err,
            weights=weights,
            weight_err=weight_err,
            left_out=left_out,
            mean=mean,
            variance=variance,
        )

    def smooth(self) -> NDArray[np.bool_]:
        """Where round-off leaves something."""
        used = (self.n * self.log_mgf_err < 1.0) & (self.left_out < 1.0) & (self.variance > 0.0)
        # Far from where their powers leave the range of floats.
        used &= (self.theta > 1e-60) & (self.theta < 1e60)
        return used & (self.variance < 1e100)

    def at(self, rows: NDArray[np.bool_]) -> Stack:
        """The part for some of the points."""
        if rows.all():
            return self
        fields = {name: x[rows] for name, x in vars(self).items() if name != "law"}
        return Stack(law=laws_at(self.law, rows), **fields)

    def columns(self) -> Tilted:
        """What `log_moments` needs, to broadcast against two sides."""
        theta, k, err = (x[:, None] for x in (self.theta, self.log_mgf, self.log_mgf_err))
        rest: dict[str, Any] = {"used": None, "left_out": 0.0, "mean": 0.0, "variance": 0.0}
        return Tilted(theta, k, err, self.weights, self.weight_err, **rest)  # type: ignore[arg-type]


def moments(stack: Stack) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`series._tilted_moments` of each point."""
    values, w, err = stack.values, stack.weights, stack.weight_err
    mean = np.abs(stack.mean)
    h = values - stack.mean[:, None]
    off = stack.value_err + 4.0 * U * (np.abs(values) + mean[:, None])
    at_zero = np.maximum(0.0, 1.0 - w.sum(axis=-1))
    zero_err = np.vecdot(w, err) + stack.left_out + 8.0 * U
    distance = np.vecdot(w, err * np.abs(values) + (1.0 + err) * off) + 8.0 * U * mean
    # What was left out may be anywhere.
    far = np.abs(stack.law.values).max(axis=-1) + mean
    distance += stack.left_out * far
    variance = np.vecdot(w, h**2) + at_zero * mean**2
    slip = np.vecdot(w, err * h**2 + (1.0 + err) * (2.0 * np.abs(h) + off) * off)
    slip += zero_err * mean**2 + distance**2 + 1e-9 * variance + stack.left_out * far**2
    reach = np.abs(h) + off + distance[:, None]
    fourth = np.vecdot((1.0 + err) * w, reach**4) + (at_zero + zero_err) * (mean + distance) ** 4
    fourth += stack.left_out * far**4
    return variance - slip, variance + slip, fourth * (1.0 + 1e-9)


def laws_at(g: Law, rows: Indices | NDArray[np.bool_]) -> Law:
    """The laws of some of the points."""
    return replace(g, values=g.values[rows], value_err=g.value_err[rows], exponent=g.exponent[rows])


def blocks(size: int, cost: int) -> list[slice]:
    """Stretches of `size` items that take `cost` numbers each."""
    step = max(1, BLOCK // cost)
    return [slice(start, start + step) for start in range(0, size, step)]
