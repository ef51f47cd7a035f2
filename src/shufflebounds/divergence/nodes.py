"""Nodes of the sweep: what has been drawn of the largest atoms, and what that leaves to evaluate.

A node stands for w E(B + v)₊ with B the sum of n′ draws of law j (`atoms`): w is the probability
of what was drawn, v the base n times over plus what was drawn. The proofs are in docs/engine.md,
section 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.atoms import Atoms, Moments
from shufflebounds.divergence.law import U

# Tilts times nodes held in memory at once.
_BLOCK = 2**13


@dataclass(frozen=True, eq=False)
class Nodes:
    """Arrays of shape (N,): j, n′ (whole numbers), v, log w, and how far v and log w may be off.

    ``value_err`` and ``weight_err`` are absolute, the latter in log w.
    """

    law: NDArray[np.int64]
    draws: FloatArray
    value: FloatArray
    value_err: FloatArray
    log_weight: FloatArray
    weight_err: FloatArray

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.draws.size

    def where(self, chosen: NDArray | slice) -> Nodes:
        """The chosen ones, by mask, indices or slice."""
        return Nodes(
            self.law[chosen],
            self.draws[chosen],
            self.value[chosen],
            self.value_err[chosen],
            self.log_weight[chosen],
            self.weight_err[chosen],
        )


def joined(parts: list[Nodes]) -> Nodes:
    """All nodes of several sets."""
    if len(parts) == 1:
        return parts[0]
    names = ("law", "draws", "value", "value_err", "log_weight", "weight_err")
    return Nodes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def root(atoms: Atoms, n: int) -> Nodes:
    """The node before anything was drawn: n draws, v = n times the base, weight 1."""
    value = n * atoms.base
    err = n * atoms.base_err + 2.0 * U * abs(value)
    one = np.ones(1)
    return Nodes(np.zeros(1, np.int64), n * one, value * one, err * one, 0.0 * one, 0.0 * one)


def mean(nodes: Nodes, atoms: Atoms) -> tuple[FloatArray, FloatArray]:
    """E(B + v) of every node and a bound of its error, both without the weight."""
    drift = nodes.draws * atoms.mean[nodes.law]
    err = nodes.value_err + nodes.draws * atoms.mean_err[nodes.law]
    return nodes.value + drift, err + 4.0 * U * (np.abs(nodes.value) + np.abs(drift))


def log_slack(nodes: Nodes, table: Moments, sign: FloatArray) -> FloatArray:
    """Upper bounds of log w E(B + v)₊, where `sign` (N,) is 1, or of log w E(B + v)₋, where −1.

    Chernoff: x₊ ≤ e^{θx}/(eθ), at the best θ of the table. −inf where nothing is left to draw.
    """
    slack = np.empty(nodes.size)
    reach = sign * nodes.value + margin(nodes)
    side = (sign < 0.0).astype(np.int64)
    block = max(1, _BLOCK // table.theta.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, nodes.size, block):
            part = slice(start, start + block)
            bound = table.upper[side[part], nodes.law[part]]
            bound *= nodes.draws[part, None]
            bound += reach[part, None] * table.theta
            bound -= table.scale
            slack[part] = bound.min(axis=1)
        slack += nodes.log_weight + log_weight_margin(nodes)
    certain = (nodes.draws == 0.0) | (nodes.law == table.upper.shape[1] - 1)
    return np.where(certain, -np.inf, moved_up(slack))


def positive_parts(nodes: Nodes, middle: FloatArray, err: FloatArray) -> tuple[float, float]:
    """Bounds of Σ w (E(B + v))₊, lower and upper, given what `mean` says.

    The first is Jensen's lower bound of what the nodes stand for; the second only an upper bound of
    Σ w (E(B + v))₊ itself.
    """
    if not nodes.size:
        return 0.0, 0.0
    low, high = np.maximum(middle - err, 0.0), np.maximum(middle + err, 0.0)
    # A logarithm this low is that of nothing; rounded up for the upper end.
    lower = np.exp(np.maximum(nodes.log_weight - nodes.weight_err, -1e4)) * low
    with np.errstate(over="ignore", invalid="ignore"):
        # Weights known this badly may overflow; what is 0 stays so, whatever they are.
        upper = np.exp(np.maximum(nodes.log_weight + nodes.weight_err, -690.0)) * high
        upper[high == 0.0] = 0.0
    slop = 1e-12 + nodes.size * U
    return float(lower.sum()) * (1.0 - slop), float(upper.sum()) * (1.0 + slop)


def margin(nodes: Nodes) -> FloatArray:
    """What may be missing in v, for bounds that grow with v; it covers their own roundings too."""
    return nodes.value_err * (1.0 + 8.0 * U) + 8.0 * U * np.abs(nodes.value)


def log_weight_margin(nodes: Nodes) -> FloatArray:
    """What may be missing in log w, with the rounding of adding it."""
    return nodes.weight_err * (1.0 + 4.0 * U) + 4.0 * U * np.abs(nodes.log_weight)


def moved_up(x: FloatArray) -> FloatArray:
    """Sums of a few exponents, moved up by more than their roundings."""
    x = np.maximum(x, -1e300)  # the logarithm of nothing has no roundings
    return x + 1e-11 + 64.0 * U * np.abs(x)
