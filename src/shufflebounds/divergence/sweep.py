"""The divergence where large values are rare: condition on their draws, largest first.

The tilt of the smooth engine (`saddle`) follows a rare jump, while the bulk of S may live decades
below it. Here the draws of one atom after another are enumerated, as far as they can matter, until
what is left is tame and the smooth engine can take over. A branch is closed as soon as a Chernoff
bound says that its positive or its negative part is negligible. Proofs: docs/engine.md, section 11.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.atoms import Atoms, Moments, moments, recentred, tilts
from shufflebounds.divergence.compress import compress
from shufflebounds.divergence.law import Law, U, exp_down, tilt, tilting_point
from shufflebounds.divergence.nodes import (
    MOST_IDLE,
    Nodes,
    log_of_any,
    log_slack,
    mean,
    positive_parts,
    root,
    split,
    without,
)
from shufflebounds.divergence.saddle import enclose, log_mean_positive_part
from shufflebounds.divergence.uniting import spread, united
from shufflebounds.enclosure import Enclosure

# Relative width of a first pass, which finds the size of the result, and the passes in all.
_ROUGH, _PASSES = 0.03, 8
# A pass with more than this share of the width of the one before is not made.
_NO_LESS = 0.7
# Shares of the width for branches that are closed, for draws left out, and for leaves.
_CLOSED, _TAILS, _LEAVES = 0.3, 0.2, 0.4
# The smooth engine takes over where values are at most so many deviations of the common ones,
# those with so many draws on average.
_TAME, _COMMON = 15.0, 3.0
_MOST_WORK, _MOST_LEAVES, _LEAF_WORK = 200_000, 150, 2**23
# Nodes times tilts times atoms up to which several atoms at once are tried.
_MOST_PRUNED = 2**18
# More values than this are united first, as finely as that at most.
_MOST_ATOMS, _FINEST_CELLS = 256, 1024
# More nodes than this are united, in about so many cells for every number of draws left.
_MANY_NODES, _CELLS = 2000, 300
# Which ends of a branch are bounds.
END_BOTH, END_LOWER, END_UPPER = "both", "lower", "upper"
# No R_j may be known less well than this, relatively: their errors are taken to first order.
_COARSE = 2e-3
# No size of E[S₊], relative to the largest value, below this is attempted.
_SMALLEST = 1e-250


def sweep(decomposition: Decomposition, eps: float, n: int, rtol: float = 1e-4) -> Enclosure:
    """Enclosure of the divergence D(ε) of (a, b, c), in this one direction, for n ≥ 1 users.

    Like `saddle`, and for the laws that are hard for it: few, rare, large values above many small
    ones, or few draws that count at all.
    """
    return enclose(decomposition, eps, n, rtol, log_bounds)


def log_bounds(g: Law, n: int, rtol: float, most_work: int = _MOST_WORK) -> tuple[float, float]:
    """Bounds of log E[S₊], from fewer values where there are many; (−inf, inf) if nothing is known.

    `most_work` limits the nodes of one pass.
    """
    if g.values.size <= _MOST_ATOMS or not (
        g.values.max() > 0.0 and np.isfinite(g.value_err).all()
    ):
        return _log_bounds(g, n, rtol, most_work)
    tilted = tilt(g, tilting_point(g, n))
    if not math.isfinite(tilted.log_mgf_err):
        return -math.inf, math.inf
    low, high, cells = -math.inf, math.inf, _MOST_ATOMS
    while high - low > rtol and cells <= _FINEST_CELLS:
        if 2 * cells > g.values.size:
            return _log_bounds(g, n, rtol, most_work)
        below, above = compress(g, tilted.weights, cells)
        low = max(low, _log_bounds(below, n, 0.5 * rtol, most_work)[0])
        high = min(high, _log_bounds(above, n, 0.5 * rtol, most_work)[1])
        cells *= 4
    return low, high


def _log_bounds(g: Law, n: int, rtol: float, most_work: int) -> tuple[float, float]:
    """`log_bounds` with every value as it is."""
    nothing = (-math.inf, math.inf)
    if not (g.values.size and g.values.max() > 0.0 and np.isfinite(g.value_err).all()):
        return nothing
    atoms = recentred(g)
    if not (atoms.size and atoms.values.max() > 0.0 and np.abs(atoms.values).max() * n < 1e150):
        return nothing
    if not atoms.left_err[:-1].max() <= _COARSE:
        return nothing
    table = moments(atoms, tilts(atoms, n))
    start = root(atoms, n)
    size = _exp(log_slack(start, table, 0, np.ones(1))[0])
    low, high = 0.0, size * (1.0 + 1e-12)
    goal = math.inf
    for _ in range(_PASSES):
        rough = not high <= 2.0 * low
        before, goal = goal, (max(_ROUGH, 0.5 * rtol) if rough else rtol) * size
        # What was not reached before is not reached for hardly less.
        if not _SMALLEST < size < 1e300 or goal > _NO_LESS * before:
            break
        ends = _once(atoms, table, start, goal, most_work)
        low, high = max(low, ends[0]), min(high, ends[1])
        if high - low <= rtol * high or not rough:
            break
        size = low if high <= 2.0 * low else max(low, 0.1 * min(high, size))
    scale = g.exponent * math.log(2.0)
    log_low, log_high = (math.log(x) if x > 0.0 else -math.inf for x in (low, high))
    slop = 1e-12 + 8.0 * U * abs(scale)
    return log_low + scale - slop, (log_high + scale + slop if high > 0.0 else math.inf)


def _once(
    atoms: Atoms, table: Moments, nodes: Nodes, goal: float, most_work: int
) -> tuple[float, float]:
    """Bounds of E[S₊], lower and upper, that are about `goal` apart."""
    low, high = _Branch(atoms, table, goal, most_work).run(nodes, 0, END_BOTH)
    return low * (1.0 - 1e-12), high * (1.0 + 1e-12)


@dataclass
class _Branch:
    """Sums over closed nodes, and what of the width may still be spent."""

    atoms: Atoms
    table: Moments
    goal: float
    most_work: int
    low: float = 0.0
    high: float = 0.0
    closable: float = math.nan
    cuttable: float = math.nan
    leaves: int = 0
    work: int = 0
    retry: float = math.inf

    def __post_init__(self) -> None:
        self.closable, self.cuttable = _CLOSED * self.goal, _TAILS * self.goal

    def run(self, nodes: Nodes, j: int, end: str) -> tuple[float, float]:
        """Bounds from `nodes` of law j on; only that `end` is one where many nodes were united."""
        atoms = self.atoms
        while True:
            nodes, slack, side = self._close(nodes, j)
            tame = nodes.size and abs(atoms.values[j]) <= _TAME * _core(atoms, nodes, j)
            if tame and nodes.size <= _MOST_LEAVES and abs(atoms.values[j]) <= self.retry:
                nodes, slack = self._hand_over(nodes, j, slack, side)
            if not nodes.size:
                return self.low, self.high
            if nodes.size > _MANY_NODES:
                if end == END_BOTH:
                    upper = copy(self).run(spread(nodes, slack, _CELLS), j, END_UPPER)[1]
                    lower = self.run(united(nodes, slack, _CELLS), j, END_LOWER)[0]
                    return lower, upper
                nodes = (united if end == END_LOWER else spread)(nodes, slack, _CELLS)
            nodes, j = self._draw(nodes, j)

    def _close(self, nodes: Nodes, j: int) -> tuple[Nodes, FloatArray, FloatArray]:
        """Close what can be closed; the other nodes, their slack and the sign of what is small."""
        middle, _ = mean(nodes, self.atoms, j)
        side = np.where(middle < 0.0, 1.0, -1.0)
        slack = log_slack(nodes, self.table, j, side)
        self.work += nodes.size
        full = self.work > self.most_work or self.leaves > 2 * _MOST_LEAVES
        share = 2.0 / (self.atoms.size - j + 2.0)
        closed = np.full(nodes.size, True) if full else _closable(slack, share * self.closable)
        parts, lost = positive_parts(nodes.where(closed), self.atoms, j), _total(slack[closed])
        self.low, self.high = self.low + parts[0], self.high + parts[1] + lost
        self.closable -= lost
        return nodes.where(~closed), slack[~closed], side[~closed]

    def _hand_over(
        self, nodes: Nodes, j: int, slack: FloatArray, side: FloatArray
    ) -> tuple[Nodes, FloatArray]:
        """Let the smooth engine have a try; what it leaves, to be tried again further down."""
        done, ends = _leaves(self.atoms, nodes, j, slack, side, _LEAVES * self.goal)
        self.leaves += nodes.size
        self.low, self.high = self.low + ends[0], self.high + ends[1]
        self.retry = 0.5 * abs(self.atoms.values[j])
        return nodes.where(~done), slack[~done]

    def _draw(self, nodes: Nodes, j: int) -> tuple[Nodes, int]:
        """The nodes of the next law: children by draws of an atom, or none of several atoms."""
        atoms, table = self.atoms, self.table
        budget = math.log(max(2.0 / (atoms.size - j + 2.0) * self.cuttable, 1e-300))
        idle = 0
        if nodes.size * MOST_IDLE * table.theta.size <= _MOST_PRUNED:
            log_any = log_of_any(table, nodes, atoms, j)
            idle = int(np.argmax(np.append(log_any, math.inf) > budget))
        if idle:
            lost, nodes = _exp(float(log_any[idle - 1])), without(nodes, atoms, j, j + idle)
        else:
            parted = split(nodes, atoms, table, j, budget)
            lost, nodes = _total(parted.log_tail), parted.children
        self.high, self.cuttable = self.high + lost, self.cuttable - lost
        return nodes, j + max(idle, 1)


def _closable(slack: FloatArray, allowance: float) -> NDArray[np.bool_]:
    """The nodes of least slack whose sum stays below an allowance."""
    order = np.argsort(slack)
    with np.errstate(over="ignore", under="ignore"):
        spent = np.cumsum(np.exp(slack[order]))
    closed = np.zeros(slack.size, dtype=bool)
    closed[order] = spent <= max(allowance, 0.0)
    return closed | np.isneginf(slack)


def _core(atoms: Atoms, nodes: Nodes, j: int) -> float:
    """Standard deviation of what common draws add to most nodes."""
    n = float(nodes.draws.max())
    share, h = atoms.masses[j:] / atoms.left[j], atoms.values[j:]
    common = n * share >= _COMMON
    return math.sqrt(n * float(np.sum((share * (1.0 - share) * h * h)[common])))


def _leaves(
    atoms: Atoms, nodes: Nodes, j: int, slack: FloatArray, side: FloatArray, goal: float
) -> tuple[NDArray[np.bool_], tuple[float, float]]:
    """Which nodes the smooth engine could evaluate, and bounds of their sum."""
    done = np.zeros(nodes.size, dtype=bool)
    low = high = 0.0
    # Half of the width evenly, half by how much a node may be worth.
    worth = np.exp(np.maximum(slack - slack.max(), -600.0))
    allowed = 0.5 * goal * (1.0 / nodes.size + worth / worth.sum())
    middle, err = mean(nodes, atoms, j)
    for i in range(nodes.size):
        node = nodes.where(np.array([i]))
        rtol = min(max(3.0 * float(allowed[i]) / _exp(float(slack[i])), 1e-10), 0.1)
        ends = log_mean_positive_part(
            leaf(atoms, node, j, float(side[i])), int(node.draws[0]), rtol, _LEAF_WORK
        )
        log_weight, slip = float(node.log_weight[0]), float(node.weight_err[0])
        slip += 16.0 * U * (1.0 + abs(log_weight) + max(abs(x) for x in ends if x < math.inf))
        found = exp_down(log_weight - slip + ends[0]), _exp(log_weight + slip + ends[1])
        if found[1] - found[0] <= 2.0 * float(allowed[i]):
            done[i] = True
            low, high = low + found[0], high + found[1]
            if side[i] < 0.0:  # what lies below 0 comes on top of the mean
                least = float(middle[i] - err[i])
                least *= _exp(log_weight + slip) if least < 0.0 else exp_down(log_weight - slip)
                low += least
                high += _exp(log_weight + slip) * float(middle[i] + err[i])
    return done, (low, high)


def leaf(atoms: Atoms, node: Nodes, j: int, side: float) -> Law:
    """The law whose n′-fold sum is ±(B + v) for one node of law j; `side` is the sign."""
    shift = float(node.value[0] / node.draws[0])
    shift_err = float(node.value_err[0] / node.draws[0]) * (1.0 + 4.0 * U)
    values = side * (np.append(atoms.values[j:], 0.0) + shift)
    mass_err = np.append(atoms.mass_err[j:], atoms.left_err[-1]) + atoms.left_err[j]
    value_err = np.append(atoms.value_err[j:], 0.0) + shift_err
    value_err = value_err * (1.0 + 4.0 * U) + 2.0 * U * (np.abs(values) + abs(shift))
    # Twice where a mass may be far larger: the errors of K take products of both for small.
    value_err = np.where(mass_err > 0.01, 2.0 * value_err + 4.0 * U * np.abs(values), value_err)
    masses = np.append(atoms.masses[j:], atoms.left[-1]) / atoms.left[j]
    return Law(values, masses, 0, value_err, 1.02 * mass_err + 4.0 * U, 0.0, 0.0)


def _exp(x: float) -> float:
    """e^x, at least 10⁻³⁰⁰ and finite: to be added to upper bounds, or multiplied by 1 − 10⁻¹²."""
    return math.exp(min(max(x, -690.0), 709.0))


def _total(slack: FloatArray) -> float:
    """Σ e^x, rounded up."""
    with np.errstate(over="ignore"):
        return float(np.sum(np.exp(np.maximum(slack, -690.0)))) * (1.0 + 1e-12)
