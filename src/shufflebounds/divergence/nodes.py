"""Nodes of the sweep: what has been drawn of the largest atoms, and what that leaves to evaluate.

A node stands for w E(B + v)₊ with B the sum of n′ draws of law j (`atoms`): w is the probability
of what was drawn, v the base n times over plus what was drawn. The proofs are in docs/engine.md,
section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.atoms import Atoms, Moments
from shufflebounds.divergence.law import U

# More draws of one atom than this are bounded, not enumerated.
_DRAWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# Atoms of which none may be drawn, looked at together.
MOST_IDLE = 64
# A mass known no better than this may be anything from 0, or e^{−2·void}, to its largest.
_DOUBTFUL, _VOID = 0.01, 400.0
# Tilts times nodes held in memory at once.
_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Nodes:
    """Arrays of shape (N,): n′ (whole numbers), v, log w, and how far these may be off.

    ``value_err`` and ``weight_err`` are absolute, the latter in log w.
    """

    draws: FloatArray
    value: FloatArray
    value_err: FloatArray
    log_weight: FloatArray
    weight_err: FloatArray

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.draws.size

    def where(self, chosen: NDArray) -> Nodes:
        """The chosen ones, by mask or indices."""
        return Nodes(
            self.draws[chosen],
            self.value[chosen],
            self.value_err[chosen],
            self.log_weight[chosen],
            self.weight_err[chosen],
        )


def mean(nodes: Nodes, atoms: Atoms, j: int) -> tuple[FloatArray, FloatArray]:
    """E(B + v) of every node and a bound of its error, both without the weight."""
    drift = nodes.draws * atoms.mean[j]
    err = nodes.value_err + nodes.draws * atoms.mean_err[j]
    return nodes.value + drift, err + 4.0 * U * (np.abs(nodes.value) + np.abs(drift))


def log_slack(nodes: Nodes, table: Moments, j: int, sign: FloatArray) -> FloatArray:
    """Upper bounds of log w E(B + v)₊, where `sign` (N,) is 1, or of log w E(B + v)₋, where −1.

    Chernoff: x₊ ≤ e^{θx}/(eθ), at the best θ of the table. −inf where nothing is left to draw.
    """
    slack = np.empty(nodes.size)
    shift = 1.0 + np.log(table.theta)
    reach = sign * nodes.value + margin(nodes)
    block = max(1, _BLOCK // table.theta.size)
    for start in range(0, nodes.size, block):
        part = slice(start, start + block)
        k = np.where(sign[part, None] > 0.0, table.upper[0, j], table.upper[1, j])
        with np.errstate(invalid="ignore"):
            bound = nodes.draws[part, None] * k + np.multiply.outer(reach[part], table.theta)
        slack[part] = np.min(np.where(np.isnan(bound), np.inf, bound) - shift, axis=1)
    slack += nodes.log_weight + nodes.weight_err + 4.0 * U * np.abs(nodes.log_weight)
    certain = j == table.upper.shape[1] - 1
    return np.where((nodes.draws > 0.0) & (not certain), _up(slack), -np.inf)


def positive_parts(nodes: Nodes, atoms: Atoms, j: int) -> tuple[float, float]:
    """Bounds of Σ w (E(B + v))₊, lower and upper: Jensen's lower bound of what the nodes stand for.

    The second is only an upper bound of Σ w (E(B + v))₊ itself.
    """
    middle, err = mean(nodes, atoms, j)
    low, high = np.maximum(middle - err, 0.0), np.maximum(middle + err, 0.0)
    # A logarithm this low is that of nothing; rounded up for the upper end.
    lower = np.exp(np.maximum(nodes.log_weight - nodes.weight_err, -1e4)) * low
    upper = np.exp(np.maximum(nodes.log_weight + nodes.weight_err, -690.0)) * high
    slop = 1e-12 + nodes.size * U
    return float(lower.sum()) * (1.0 - slop), float(upper.sum()) * (1.0 + slop)


def root(atoms: Atoms, n: int) -> Nodes:
    """The node before anything was drawn: n draws, v = n times the base, weight 1."""
    value = n * atoms.base
    err = n * atoms.base_err + 2.0 * U * abs(value)
    one = np.ones(1)
    return Nodes(n * one, value * one, err * one, 0.0 * one, 0.0 * one)


def without(nodes: Nodes, atoms: Atoms, j: int, end: int) -> Nodes:
    """The nodes given that atoms j, …, `end` − 1 are not drawn any more, now of law `end`."""
    share = float(atoms.masses[j:end].sum()) / float(atoms.left[j])
    err = float(atoms.masses[j:end] @ atoms.mass_err[j:end]) / float(atoms.left[j])
    err += share * (float(atoms.left_err[j]) + 2.0 * (end - j + 4.0) * U)
    log_rest, rest_err = _log_rest(share, err)
    gained = nodes.draws * log_rest
    slip = nodes.draws * rest_err + 4.0 * U * (np.abs(gained) + np.abs(nodes.log_weight))
    return Nodes(
        nodes.draws,
        nodes.value,
        nodes.value_err,
        nodes.log_weight + gained,
        nodes.weight_err + slip,
    )


def _log_rest(share: float, err: float) -> tuple[float, float]:
    """log(1 − share) and its error, where the share is known to within `err`."""
    found = math.log1p(-share)
    return found, 1.01 * err / (1.0 - share - err) + 4.0 * U * abs(found)


@dataclass(frozen=True, eq=False)
class Split:
    """The children of some nodes by the draws of one atom, and bounds of log w E(B + v)₊ of what
    more draws add, shape (N,).
    """

    children: Nodes
    log_tail: FloatArray


def split(nodes: Nodes, atoms: Atoms, table: Moments, j: int, log_goal: float) -> Split:
    """Children of law j + 1 for 0, 1, … draws of atom j, as many as the tail needs.

    Stops where all tails together are at most e^{log_goal}, or at the most draws allowed.
    """
    share = float(atoms.masses[j] / atoms.left[j])
    rel = float(atoms.mass_err[j] + atoms.left_err[j]) * 1.02 + 4.0 * U
    for count in _DRAWS:
        drawn = np.arange(count + 1.0)
        left = nodes.draws[:, None] - drawn
        log_weight, err = _log_weights(nodes, drawn, left, share, rel)
        jump = count * float(atoms.values[j]), count * float(atoms.value_err[j])
        first = Nodes(
            left[:, -1],
            nodes.value + jump[0],
            nodes.value_err + jump[1] + 4.0 * U * (np.abs(nodes.value) + abs(jump[0])),
            log_weight[:, -1],
            err[:, -1],
        )
        log_tail = _log_tail(first, atoms, table, j, count, share * (1.0 + rel))
        if _log_sum(log_tail) <= log_goal:
            break
    drawn, left, log_weight, err = drawn[:-1], left[:, :-1], log_weight[:, :-1], err[:, :-1]
    h, h_err = float(atoms.values[j]), float(atoms.value_err[j])
    moved = drawn * h
    value = nodes.value[:, None] + moved
    value_err = nodes.value_err[:, None] + drawn * h_err
    value_err = value_err + 2.0 * U * (np.abs(nodes.value)[:, None] + np.abs(moved))
    possible = left >= 0.0
    children = Nodes(
        *(
            x[possible]
            for x in (left, value, value_err, log_weight, np.broadcast_to(err, left.shape))
        )
    )
    return Split(children, log_tail)


def _log_binomials(draws: FloatArray, k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log C(n′, k) for k = 0, 1, …, and what bounds its error, in units of 16 u; (N, K + 1) each.

    Columns with k > n′ hold no meaning.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(np.maximum(draws[:, None] - k + 1.0, 0.5) / k)
    ways = np.zeros((draws.size, k.size + 1))
    size = np.zeros_like(ways)
    np.cumsum(steps, axis=1, out=ways[:, 1:])
    np.cumsum(np.abs(steps) + 1.0, axis=1, out=size[:, 1:])
    return ways, size * (1.0 + np.arange(k.size + 1.0) / 8.0)


def _log_weights(
    nodes: Nodes, drawn: FloatArray, left: FloatArray, share: float, rel: float
) -> tuple[FloatArray, FloatArray]:
    """Log w of the children by their draws, and its error, shape (N, K) each."""
    log_share, share_err = math.log(share), rel
    if rel > _DOUBTFUL:  # any share up to the largest
        log_share, share_err = math.log(share * (1.0 + rel)) - _VOID, _VOID
    log_rest, rest_err = _log_rest(share, share * rel)
    log_ways, size = _log_binomials(nodes.draws, drawn[1:])
    log_weight = nodes.log_weight[:, None] + log_ways + drawn * log_share + left * log_rest
    size += drawn * abs(log_share) + np.abs(left) * abs(log_rest)
    err = nodes.weight_err[:, None] + drawn * share_err + np.abs(left) * rest_err
    return log_weight, err + 16.0 * U * (size + np.abs(nodes.log_weight)[:, None])


def _log_tail(
    first: Nodes, atoms: Atoms, table: Moments, j: int, count: int, share: float
) -> FloatArray:
    """Bounds of log Σ_{k ≥ count} w E(B + v)₊ over children by k draws of atom j; shape (N,).

    `first` are the children by `count` draws. Chernoff bounds of the others fall at least as fast
    as a geometric series of the ratio of the first two. `share` is an upper bound.
    """
    h = float(atoms.values[j])
    jump = h + float(atoms.value_err[j]) + 4.0 * U * abs(h)
    theta, shift = table.theta, 1.0 + np.log(table.theta)
    reach = first.value + margin(first)
    tail = np.empty(first.size)
    block = max(1, _BLOCK // theta.size)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        odds = share / (1.0 - share) * (1.0 + 1e-12)
        one_more = odds * np.exp(theta * jump + 4.0 * U * theta * abs(jump) - table.lower[j + 1])
        for start in range(0, first.size, block):
            part = slice(start, start + block)
            left = first.draws[part]
            ratio = np.multiply.outer(np.maximum(left, 0.0) / (count + 1.0), one_more)
            bound = np.multiply.outer(left, table.upper[0, j + 1])
            bound += np.multiply.outer(reach[part], theta)
            bound -= shift + np.log1p(-np.minimum(ratio * (1.0 + 1e-12), 1.0))
            tail[part] = np.min(np.where(np.isnan(bound), np.inf, bound), axis=1)
    tail += first.log_weight + first.weight_err + 4.0 * U * np.abs(first.log_weight)
    return np.where(first.draws >= 0.0, _up(tail), -np.inf)


def margin(nodes: Nodes) -> FloatArray:
    """What may be missing in v, for bounds that grow with v; it covers their own roundings too."""
    return nodes.value_err * (1.0 + 8.0 * U) + 8.0 * U * np.abs(nodes.value)


def _log_sum(logs: FloatArray) -> float:
    """Log Σ e^x of an array, to aim with."""
    top = float(logs.max(initial=-np.inf))
    if not math.isfinite(top):
        return top
    return top + math.log(float(np.exp(logs - top).sum()))


def log_of_any(table: Moments, nodes: Nodes, atoms: Atoms, j: int) -> FloatArray:
    """Bounds of log Σ w E[(B + v)₊; some draw is one of atoms j, …, j + i] for i = 0, 1, …

    Of the next atoms, at most `MOST_IDLE`. Σ_i E[(B + v)₊; draw i is one of F] is at most
    n′ (M_F/M) M^{n′} e^{θv}/(eθ), M_F being the part of the moment M that comes from F.
    """
    theta, shift = table.theta, 1.0 + np.log(table.theta)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        near = slice(j, j + MOST_IDLE)
        x = np.multiply.outer(atoms.values[near], theta)
        x += np.multiply.outer(atoms.value_err[near], theta) + 4.0 * U * np.abs(x)
        most = atoms.masses[near] * (1.0 + atoms.mass_err[near]) / atoms.left[j]
        some = np.log(most)[:, None] + x
        top = some.max(axis=0)
        # What underflows may be multiplied by as large a number, and is rounded up.
        some = np.log(np.cumsum(np.exp(np.maximum(some - top, -600.0)), axis=0)) + top
        some += 1e-9 + 64.0 * U * np.abs(top)
        reach = nodes.value + margin(nodes)
        bound = (nodes.draws - 1.0)[:, None] * table.upper[0, j] + np.multiply.outer(reach, theta)
        bound -= shift
        bound = np.where(np.isnan(bound), np.inf, bound)
        bound += (nodes.log_weight + nodes.weight_err + np.log(nodes.draws))[:, None]
        best = np.fmin.reduce(some[None] + bound[:, None, :], axis=2)
        best = np.where(np.isnan(best), np.inf, best)
    top = best.max(axis=0)
    with np.errstate(invalid="ignore"):
        total = top + np.log(np.exp(best - top).sum(axis=0))
    return np.where(np.isfinite(top), _up(total), top)


def _up(x: FloatArray) -> FloatArray:
    """Sums of a few exponents, moved up by more than their roundings."""
    return x + 1e-11 + 64.0 * U * np.abs(x)
