"""Bounds of D(ε) that need no engine, and what bounds of log E[S₊] say of D.

Proofs: docs/proofs/engine.md, sections 1 and 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import U, exp_down, underflow

# Smaller values are treated as 0: subnormal floats lose relative precision.
SMALLEST = 1e-304


def excess(
    decomposition: Decomposition, growth: float | FloatArray, where: NDArray[np.bool_]
) -> tuple[Any, Any]:
    """Return bounds of Σ (a − e^ε b)₊ over some components.

    `growth` is e^ε − 1, a float or of shape (P, 1); then the bounds have shape (P,).
    """
    a, b = decomposition.a[where], decomposition.b[where]
    product = growth * b
    value = (a - b) - product
    err = U * (np.abs(a - b) + 3.0 * product + 2.0 * np.abs(value)) + underflow(growth, b, product)
    err += 2.01 * decomposition.rel_err * (a + (1.0 + growth) * b)
    total = (a.size + 2.0) * U
    low, high = (np.maximum(value + side * err, 0.0).sum(axis=-1) for side in (-1.0, 1.0))
    return low * (1.0 - total), high * (1.0 + total)


def trivial_bounds(
    decomposition: Decomposition, growth: FloatArray, n: FloatArray, shared: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of the part of D that others can hide, from D at n = 1, D₁ = Σ (a − e^ε b)₊.

    D falls with n, and is never below D₁ times the probability that no other user draws a
    negative value. `growth` is e^ε − 1, shape (P, 1); `n` and the bounds have shape (P,).
    """
    low, high = excess(decomposition, growth, shared)
    c = decomposition.c[shared]
    a, b = decomposition.a[shared], decomposition.b[shared]
    # Which values may be negative.
    may_fall = a * (1.0 - 1e-9) < (1.0 + growth) * b * (1.0 + 1e-9 + 2.01 * decomposition.rel_err)
    negative = may_fall @ c
    negative *= 1.0 + decomposition.rel_err + (c.size + 4.0) * U
    rows = zip(negative.tolist(), n.tolist(), strict=True)
    return low * np.array([_miss_probability(*row) for row in rows]), high


def _miss_probability(mass: float, n: float) -> float:
    """Return the probability that n − 1 users all miss a set of at most this mass, rounded down."""
    if n == 1:
        return 1.0
    # The logarithm is negative: a factor above 1 lowers it.
    return exp_down((n - 1) * math.log1p(-mass) * (1.0 + 8.0 * U)) if mass < 1.0 else 0.0


def _exp_up(x: float) -> float:
    """Return e^x rounded up; never 0, so that an upper bound stays one."""
    return math.inf if x > 700.0 else math.exp(x) * (1.0 + 8.0 * U) + 5e-324


def combine_bounds(
    unshared: Sequence[float], trivial: Sequence[float], log_ends: Sequence[float], n: float
) -> tuple[float, float]:
    """Return bounds of D from those of its first sum, trivial ones of its second, and log E[S₊]."""
    if math.isnan(sum(unshared) + sum(trivial)):  # comparisons below would take it for small
        return 0.0, math.inf
    low = max(trivial[0], exp_down(log_ends[0] - math.log(n)))
    high = max(low, min(trivial[1], _exp_up(log_ends[1] - math.log(n))))
    lower, upper = unshared[0] + low, unshared[1] + high
    return (
        lower * (1.0 - 4.0 * U) if lower > SMALLEST else 0.0,
        max(upper * (1.0 + 4.0 * U), SMALLEST) if upper > 0.0 else 0.0,
    )
