"""Children of the nodes of a sweep: by the first of the next atoms that is drawn, and how often.

The proofs are in docs/engine.md, section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.atoms import Atoms, Moments
from shufflebounds.divergence.law import U
from shufflebounds.divergence.nodes import Nodes, joined, log_weight_margin, margin, moved_up

# More draws of one atom than the last are bounded, not enumerated; from how many on is tried in
# this order.
_COUNTS = np.array([2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257], dtype=np.float64)
# Nodes times atoms times tilts held in memory at once.
_BLOCK = 2**13

Indices = NDArray[np.int64]


def log_of_drawn(nodes: Nodes, atoms: Atoms, table: Moments, start: int, end: int) -> FloatArray:
    """Bounds of log w E[(B + v)₊; atom i is drawn] for atoms i = start, …, end − 1 of every node.

    Shape (N, end − start); −inf for atoms that come before the law of a node.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        k = table.upper[0, nodes.law]
        each = k * (nodes.draws - 1.0)[:, None]
        each += (nodes.value + margin(nodes))[:, None] * table.theta
        each -= table.scale
        each = np.where(np.isfinite(k), each, np.inf)
    each += (nodes.log_weight + log_weight_margin(nodes) + np.log(nodes.draws))[:, None]
    each -= np.log(atoms.left * (1.0 - atoms.left_err - 8.0 * U))[nodes.law, None]
    one = table.one[start:end]
    found = np.empty((nodes.size, end - start))
    block = max(1, 2 * _BLOCK // max(1, each.size))
    for first in range(0, end - start, block):
        part = slice(first, first + block)
        found[:, part] = (each[:, None] + one[part]).min(axis=2)
    return np.where(np.arange(start, end) < nodes.law[:, None], -np.inf, moved_up(found))


def negligible(bounds: FloatArray, allowance: float) -> NDArray[np.bool_]:
    """Which of some bounds (logarithms) to charge: small ones whose sum is below an allowance."""
    chosen = np.isneginf(bounds)
    count = bounds.size - int(np.count_nonzero(chosen))
    for _ in range(2):
        if not count:
            break
        chosen |= bounds <= math.log(max(allowance, 1e-300) / (2.0 * count))
        count = bounds.size - int(np.count_nonzero(chosen))
        allowance *= 0.5
    return chosen


@dataclass(frozen=True, eq=False)
class Grown:
    """What becomes of nodes, and a bound of what else they stand for."""

    nodes: Nodes
    lost: float


def grown(
    nodes: Nodes,
    atoms: Atoms,
    table: Moments,
    bounds: FloatArray,
    left_out: NDArray[np.bool_],
    start: int,
    end: int,
    allowance: float,
) -> Grown:
    """Condition on the draws of atoms up to `end` − 1: nodes of law `end`, where none is drawn,
    and children by the first that is, and how often.

    `bounds` are those of `log_of_drawn` from `start` on, `left_out` tells which of these atoms
    count as lost if they are drawn. Aims at losing about `allowance`.
    """
    lost = total(bounds[left_out])
    parent, atom = np.nonzero(~left_out)
    atom += start
    idle = _idle(nodes, atoms, end)
    if not parent.size:
        return Grown(idle, lost)
    log_goal = math.log(max(allowance / (2.0 * parent.size), 1e-300))
    most, log_tail = _most_draws(nodes, atoms, table, parent, atom, log_goal)
    pair = np.repeat(np.arange(parent.size), most)
    drawn = np.arange(pair.size) - np.repeat(np.cumsum(most) - most, most) + 1
    possible = drawn <= nodes.draws[parent[pair]]
    pair, drawn = pair[possible], drawn[possible]
    ways = _log_binomials(nodes.draws[parent], int(most.max()))
    children = _drawn(
        nodes,
        atoms,
        parent[pair],
        atom[pair],
        drawn.astype(np.float64),
        tuple(x[pair, drawn] for x in ways),
    )
    return Grown(joined([idle, children]), lost + total(log_tail))


def _idle(nodes: Nodes, atoms: Atoms, end: int) -> Nodes:
    """The nodes given that no atom before `end` is drawn any more."""
    gained, slip = _passed(nodes.law, nodes.draws, atoms, end)
    slip += 4.0 * U * (np.abs(gained) + np.abs(nodes.log_weight))
    return Nodes(
        np.full(nodes.size, end),
        nodes.draws,
        nodes.value,
        nodes.value_err,
        nodes.log_weight + gained,
        nodes.weight_err + slip,
    )


def _passed(
    law: Indices, draws: FloatArray, atoms: Atoms, end: int | Indices
) -> tuple[FloatArray, FloatArray]:
    """n′ log R_end/R_j and its error."""
    log, err = atoms.log_left, atoms.log_left_err
    slip = (err[end] - err[law]) + 4.0 * atoms.size * U * (err[end] - log[end])
    return draws * (log[end] - log[law]), draws * np.where(law == end, 0.0, slip)


def _drawn(
    nodes: Nodes,
    atoms: Atoms,
    parent: Indices,
    atom: Indices,
    count: FloatArray,
    log_ways: tuple[FloatArray, ...],
) -> Nodes:
    """Children of some parents by so many draws of an atom, and none of those before it."""
    law, draws = nodes.law[parent], nodes.draws[parent]
    value, log_weight = nodes.value[parent], nodes.log_weight[parent]
    left = draws - count
    moved = count * atoms.values[atom]
    value_err = nodes.value_err[parent] + count * atoms.value_err[atom]
    value_err += 2.0 * U * (np.abs(value) + np.abs(moved))
    gained, slip = _passed(law, draws, atoms, atom)
    ways, size = log_ways
    shares, others = count * atoms.log_share[atom], left * atoms.log_other[atom]
    err = nodes.weight_err[parent] + slip
    err += count * atoms.share_err[atom] + np.abs(left) * atoms.other_err[atom]
    size = size + np.abs(shares) + np.abs(others) + np.abs(log_weight) + np.abs(gained)
    return Nodes(
        atom + 1,
        left,
        value + moved,
        value_err,
        log_weight + gained + ways + shares + others,
        err + 16.0 * U * size,
    )


def _log_binomials(draws: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Log C(n′, k) for k = 0, …, most, and what bounds its error, in units of 16 u; (N, most + 1).

    Columns with k > n′ hold no meaning.
    """
    k = np.arange(1.0, most + 1.0)
    steps = np.log(np.maximum(draws[:, None] - k + 1.0, 0.5) / k)
    ways = np.zeros((draws.size, most + 1))
    size = np.zeros_like(ways)
    np.cumsum(steps, axis=1, out=ways[:, 1:])
    np.cumsum(np.abs(steps) + 1.0, axis=1, out=size[:, 1:])
    return ways, size * (1.0 + np.arange(most + 1.0) / 8.0)


def _most_draws(
    nodes: Nodes, atoms: Atoms, table: Moments, parent: Indices, atom: Indices, log_goal: float
) -> tuple[Indices, FloatArray]:
    """How many draws of an atom to enumerate, and bounds of log w E(B + v)₊ of what more add."""
    # Fewer draws than likely are not worth trying.
    likely = nodes.draws[parent] * atoms.masses[atom] / atoms.left[atom]
    step = np.searchsorted(_COUNTS[:-1], likely)
    log_tail = np.empty(parent.size)
    open_ = np.arange(parent.size)
    while open_.size:
        count = _COUNTS[step[open_]]
        log_tail[open_] = _log_tail(nodes, atoms, table, parent[open_], atom[open_], count)
        more = (log_tail[open_] > log_goal) & (step[open_] < _COUNTS.size - 1)
        open_ = open_[more]
        step[open_] += 1
    return _COUNTS[step].astype(np.int64) - 1, log_tail


def _log_tail(
    nodes: Nodes,
    atoms: Atoms,
    table: Moments,
    parent: Indices,
    atom: Indices,
    count: FloatArray,
) -> FloatArray:
    """Bounds of log Σ_{k ≥ count} w E(B + v)₊ over children by k draws of an atom; shape (N,).

    Chernoff bounds of these children fall at least as fast as a geometric series of the ratio of
    the first two.
    """
    column = count.astype(np.int64)
    row = np.arange(parent.size)
    ways = _log_binomials(nodes.draws[parent], int(column.max()))
    first = _drawn(nodes, atoms, parent, atom, count, tuple(x[row, column] for x in ways))
    jump = atoms.values[atom]
    jump = jump + atoms.value_err[atom] + 12.0 * U * np.abs(jump)
    left, reach = np.maximum(first.draws, 0.0), first.value + margin(first)
    odds = left / (count + 1.0) * atoms.odds[atom] * (1.0 + 1e-12)
    tail = np.empty(parent.size)
    block = max(1, _BLOCK // table.theta.size)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for start in range(0, parent.size, block):
            part = slice(start, start + block)
            law = first.law[part]
            ratio = jump[part, None] * table.theta
            ratio -= table.lower[law]
            np.exp(ratio, out=ratio)
            ratio *= odds[part, None]
            np.minimum(ratio, 1.0, out=ratio)
            bound = table.upper[0, law]
            bound *= left[part, None]
            bound += reach[part, None] * table.theta
            bound -= np.log1p(np.negative(ratio, out=ratio), out=ratio)
            bound -= table.scale
            tail[part] = np.fmin.reduce(bound, axis=1)
    tail = np.where(np.isnan(tail), np.inf, tail)
    tail += first.log_weight + log_weight_margin(first)
    return np.where(first.draws >= 0.0, moved_up(tail), -np.inf)


def total(logs: FloatArray) -> float:
    """Σ e^x, rounded up."""
    with np.errstate(over="ignore"):
        return float(np.sum(np.exp(np.maximum(logs, -690.0)))) * (1.0 + 1e-12)
