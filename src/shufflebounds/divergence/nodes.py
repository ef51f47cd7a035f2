"""The nodes of the tree engine: what they are worth, and what they become once an atom is drawn.

All nodes of a set belong to one law j (`atoms`). A node stands for w E(B + v)₊, where B is the sum
of n′ draws of law j, w is the probability of the draws so far, and v is n times the base plus these
draws. Proofs: docs/proofs/engine.md, section 11.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.atoms import Atoms, Moments
from shufflebounds.divergence.law import BLOCK, Law, U


@dataclass(frozen=True, eq=False)
class Nodes:
    """Arrays of shape (N,): n′ (whole numbers), v, log w, and the errors of v and log w.

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

    def where(self, chosen: NDArray | slice) -> Nodes:
        """Return the chosen nodes, by mask, indices or slice."""
        return Nodes(
            self.draws[chosen],
            self.value[chosen],
            self.value_err[chosen],
            self.log_weight[chosen],
            self.weight_err[chosen],
        )

    def reach(self, sign: float | FloatArray) -> FloatArray:
        """Return `sign` times v, increased by the error of v and by the rounding of a sum."""
        margin = self.value_err * (1.0 + 8.0 * U) + 8.0 * U * np.abs(self.value)
        return np.asarray(sign * self.value + margin)

    def largest_log_weight(self) -> FloatArray:
        """Return log w, increased by its error and by the rounding of a sum."""
        margin = self.weight_err * (1.0 + 4.0 * U) + 8.0 * U * np.abs(self.log_weight)
        return self.log_weight + margin


def root(atoms: Atoms, n: float) -> Nodes:
    """Return the node of law 0 before any draw: n draws, v = n times the base, weight 1."""
    value = n * atoms.base
    err = n * atoms.base_err + 2.0 * U * abs(value)
    return Nodes(*(np.array([float(x)]) for x in (n, value, err, 0.0, 0.0)))


def mean(nodes: Nodes, atoms: Atoms, law: int) -> tuple[FloatArray, FloatArray]:
    """Return E(B + v) of each node and a bound of its error, both without the weight."""
    drift = nodes.draws * atoms.mean[law]
    err = nodes.value_err + nodes.draws * atoms.mean_err[law]
    return nodes.value + drift, err + 4.0 * U * (np.abs(nodes.value) + np.abs(drift))


def log_slack(nodes: Nodes, table: Moments, law: int, sign: FloatArray) -> FloatArray:
    """Return upper bounds of log w E(B + v)₊ for `sign` 1, or of log w E(B + v)₋ for `sign` −1.

    They are Chernoff's, x₊ ≤ e^{θx}/(eθ), at the best θ of the table, and −inf if no draw is left.
    """
    slack = np.empty(nodes.size)
    reach, side = nodes.reach(sign), (sign < 0.0).astype(np.int64)
    step = max(1, BLOCK // table.theta.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in (slice(i, i + step) for i in range(0, nodes.size, step)):
            bound = table.upper[side[rows], law] * nodes.draws[rows, None]
            bound += reach[rows, None] * table.theta
            bound -= table.scale
            slack[rows] = bound.min(axis=1)
        slack += nodes.largest_log_weight()
    is_certain = (nodes.draws == 0.0) | (law == table.upper.shape[1] - 1)
    return np.where(is_certain, -np.inf, _round_up_exponents(slack))


def log_bounds_of_draws(
    nodes: Nodes, atoms: Atoms, table: Moments, law: int, log_draw: FloatArray, count: int
) -> FloatArray:
    """Return bounds of log w E[(B + v)₊; at least `count` draws are in a set], for S sets of atoms.

    `log_draw` (S, T) are upper bounds of log Σ p_i e^{θh_i} over each set; the bounds have shape
    (N, S). The number C(M, count) of ways to choose `count` of the M draws in the set is at least 1
    in this event, and its mean times e^{θ(B + v)} is C(n′, count) times the power of the sum over
    R_j, times e^{(n′ − count) K_j(θ) + θv}.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        k = table.upper[0, law]
        common = (nodes.draws[:, None] - count) * k
        common += nodes.reach(1.0)[:, None] * table.theta
        common -= table.scale
        common = np.where(np.isfinite(k), common, np.inf)
    ways, ways_size = log_binomials(nodes.draws, count)
    log_remaining = np.log(atoms.remaining[law] * (1.0 - atoms.remaining_err[law] - 8.0 * U))
    per_draw = -log_remaining + 16.0 * U * abs(log_remaining)
    factor = nodes.largest_log_weight() + ways[:, count] + 16.0 * U * ways_size[:, count]
    common += (factor + count * per_draw)[:, None]
    bounds = np.empty((nodes.size, log_draw.shape[0]))
    step = max(1, BLOCK // max(1, common.size))
    for sets in (slice(i, i + step) for i in range(0, log_draw.shape[0], step)):
        bounds[:, sets] = (common[:, None] + count * log_draw[sets]).min(axis=2)
    return np.where(nodes.draws[:, None] < count, -np.inf, _round_up_exponents(bounds))


def log_draw_of_first(table: Moments, atoms: slice) -> FloatArray:
    """Return upper bounds of log Σ p_i e^{θh_i} over the first 1, 2, … of at most 64 atoms."""
    sums: FloatArray = np.logaddexp.accumulate(table.one_draw[atoms], axis=0)
    # Each step errs by less than 4u of the result, and of 1.
    return sums + 1e-12 + 256.0 * U * np.abs(sums)


def _round_up_exponents(x: FloatArray) -> FloatArray:
    """Return sums of a few exponents, increased by more than their roundings."""
    # The logarithm of 0 has no rounding.
    x = np.maximum(x, -1e300)
    return x + 1e-11 + 64.0 * U * np.abs(x)


def positive_parts(nodes: Nodes, middle: FloatArray, err: FloatArray) -> tuple[float, float]:
    """Return lower and upper bounds of Σ w (E(B + v))₊, given the answer of `mean`.

    By Jensen, the first is a lower bound of Σ w E(B + v)₊, too. The second is not an upper bound of
    that sum.
    """
    if not nodes.size:
        return 0.0, 0.0
    low, high = np.maximum(middle - err, 0.0), np.maximum(middle + err, 0.0)
    # Lower logarithms count as this one, which underflows to 0 here, but not for the upper end.
    lower = np.exp(np.maximum(nodes.log_weight - nodes.weight_err, -1e4)) * low
    with np.errstate(over="ignore", invalid="ignore"):
        # Weights with large errors may overflow. A product with 0 is 0 all the same.
        upper = np.exp(np.maximum(nodes.log_weight + nodes.weight_err, -690.0)) * high
        upper[high == 0.0] = 0.0
    slop = 1e-12 + nodes.size * U
    return float(lower.sum()) * (1.0 - slop), float(upper.sum()) * (1.0 + slop)


def after_one_draw(
    nodes: Nodes, atoms: Atoms, law: int, end: int, is_drawn: NDArray[np.bool_]
) -> Nodes:
    """Return the nodes of law `end` given that at most one draw is an atom from `law` to `end` − 1.

    The first N nodes have no such draw. One more follows for each node and atom that `is_drawn`, of
    shape (N, end − law), says.
    """
    idle = _with_log_factor(nodes, *_log_no_draws(atoms, law, end, nodes.draws))
    parent, atom = np.nonzero(is_drawn)
    atom += law
    before = nodes.where(parent)
    log_none, none_err = _log_no_draws(atoms, law, end, before.draws - 1.0)
    log_first, first_err = _log_no_draws(atoms, law, atom, np.ones(atom.size))
    log_draw = np.log(before.draws) + atoms.log_share[atom]
    size = np.abs(log_none) + np.abs(log_first) + np.log(before.draws)
    size += np.abs(atoms.log_share[atom]) + 1.0
    err = none_err + first_err + atoms.share_err[atom] + 8.0 * U * size
    drawn = _with_log_factor(before, log_none + log_first + log_draw, err)
    value_err = before.value_err + atoms.value_err[atom]
    value_err += 2.0 * U * (np.abs(before.value) + np.abs(atoms.values[atom]))
    value = before.value + atoms.values[atom]
    pairs = zip(
        vars(idle).values(),
        (before.draws - 1.0, value, value_err, drawn.log_weight, drawn.weight_err),
        strict=True,
    )
    return Nodes(*(np.concatenate(pair) for pair in pairs))


def _log_no_draws(
    atoms: Atoms, law: int, end: int | NDArray[np.int64], draws: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log of (R_end/R_j)^draws, the probability of no atom before `end`, and its error."""
    log, err = atoms.log_remaining, atoms.log_remaining_err
    log_err = (err[end] - err[law]) + 4.0 * atoms.size * U * (err[end] - log[end])
    return draws * (log[end] - log[law]), draws * log_err


def _with_log_factor(nodes: Nodes, log_factor: FloatArray, err: FloatArray) -> Nodes:
    """Return the nodes with their weights times a factor, given its logarithm and the error."""
    rounding = 8.0 * U * (np.abs(log_factor) + np.abs(nodes.log_weight))
    log_weight, weight_err = nodes.log_weight + log_factor, nodes.weight_err + err + rounding
    return replace(nodes, log_weight=log_weight, weight_err=weight_err)


def after_draws(nodes: Nodes, atoms: Atoms, law: int, limits: NDArray[np.int64]) -> Nodes:
    """Return the nodes of law `law` + 1 by the number of draws of atom `law`, below `limits` (N,).

    A node with n′ draws has the numbers of draws 0, …, min(n′, limit − 1).
    """
    sizes = np.minimum(limits, nodes.draws + 1.0).astype(np.int64)
    parent = np.repeat(np.arange(nodes.size), sizes)
    number = np.arange(parent.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ways, ways_size = (x[parent, number] for x in log_binomials(nodes.draws, int(sizes.max()) - 1))
    before, count = nodes.where(parent), number.astype(np.float64)
    others = before.draws - count
    shift = count * atoms.values[law]
    value_err = before.value_err + count * atoms.value_err[law]
    log_shares, log_others = count * atoms.log_share[law], others * atoms.log_other[law]
    weight_err = before.weight_err + count * atoms.share_err[law] + others * atoms.other_err[law]
    size = ways_size + np.abs(log_shares) + np.abs(log_others) + np.abs(before.log_weight)
    return Nodes(
        others,
        before.value + shift,
        value_err + 2.0 * U * (np.abs(before.value) + np.abs(shift)),
        before.log_weight + ways + log_shares + log_others,
        weight_err + 16.0 * U * size,
    )


def log_binomials(draws: FloatArray, max_count: int) -> tuple[FloatArray, FloatArray]:
    """Return log C(n′, k) for k = 0, …, max_count, and bounds of its error in units of 16 u.

    Both have shape (N, max_count + 1). Columns with k > n′ are meaningless.
    """
    k = np.arange(1.0, max_count + 1.0)
    steps = np.log(np.maximum(draws[:, None] - k + 1.0, 0.5) / k)
    ways = np.zeros((draws.size, max_count + 1))
    size = np.zeros_like(ways)
    np.cumsum(steps, axis=1, out=ways[:, 1:])
    np.cumsum(np.abs(steps) + 1.0, axis=1, out=size[:, 1:])
    return ways, size * (1.0 + np.arange(max_count + 1.0) / 8.0)


def remaining_laws(nodes: Nodes, atoms: Atoms, law: int, sign: FloatArray) -> Law:
    """Return the laws, as rows, whose n′-fold sums are `sign` (N,) times B + v of each node."""
    shift = nodes.value / nodes.draws
    shift_err = nodes.value_err / nodes.draws * (1.0 + 4.0 * U)
    values = sign[:, None] * (np.append(atoms.values[law:], 0.0) + shift[:, None])
    mass_err = np.append(atoms.mass_err[law:], atoms.remaining_err[-1]) + atoms.remaining_err[law]
    value_err = np.append(atoms.value_err[law:], 0.0) + shift_err[:, None]
    value_err = value_err * (1.0 + 4.0 * U) + 2.0 * U * (np.abs(values) + np.abs(shift)[:, None])
    # The errors of K neglect products of both errors, hence twice the error for uncertain masses.
    value_err = np.where(mass_err > 0.01, 2.0 * value_err + 4.0 * U * np.abs(values), value_err)
    masses = np.append(atoms.masses[law:], atoms.remaining[-1]) / atoms.remaining[law]
    exponent = np.zeros(nodes.size, dtype=np.int64)
    return Law(values, masses, exponent, value_err, 1.02 * mass_err + 4.0 * U, 0.0, 0.0)
