"""The tree engine: nodes are conditioned on the draws of the next atoms until all are closed.

Proofs: docs/engine.md, section 11.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.atoms import (
    Atoms,
    Moments,
    Nodes,
    grown,
    joined,
    log_of_drawn,
    log_slack,
    mean,
    moments,
    negligible,
    positive_parts,
    recentred,
    root,
    tilts,
    total,
)
from shufflebounds.divergence.convex_order import compress
from shufflebounds.divergence.law import Law, U, exp_down, tilt
from shufflebounds.divergence.saddlepoint import saddlepoint, tilting_point

# Bounds of log E[S₊] by the Fourier engine, given a law, n, a relative width and the most work.
Fourier = Callable[[Law, int, float, float], tuple[float, float]]

# Nodes that the Fourier engine evaluates. Proofs: docs/engine.md, section 11.

# Which nodes the Fourier engine gets decides speed only (benchmarks/deployer_grid.py).
#
# Values are tame that are at most so many deviations of the common ones, those with so many draws
# on average.
_TAME, _COMMON = 15.0, 1.0
# The least work that one is worth.
_LEAST_WORK = 2.0**22
# With more excess kurtosis than this the Fourier engine is slow, and draws still to be looked at.
_RARE = 4.0
# So many that came out too wide are enough to leave the others to the tree.
_MOST_FAILED = 2
# Relative widths to aim at, and what of the width allowed, given an estimate of the value.
_FINEST, _COARSEST, _CAUTION = 1e-10, 0.1, 0.5


def tame(atoms: Atoms, n: int) -> NDArray[np.bool_]:
    """From which atoms on the Fourier engine may well do; shape (A,).

    The common values of law j are those beyond the largest that are drawn so often together.
    """
    h, expected = atoms.values, n * atoms.masses
    drawn = np.concatenate([[0.0], np.cumsum(expected)])
    first = np.searchsorted(drawn, drawn[:-1] + _COMMON) - 1
    spread = expected * (1.0 - atoms.masses) * h * h
    common = np.append(np.cumsum(spread[::-1])[::-1], 0.0)[np.minimum(first, h.size)]
    return np.abs(h) <= _TAME * np.sqrt(common / atoms.left[:-1])


def leaves(
    atoms: Atoms,
    nodes: Nodes,
    slack: FloatArray,
    side: FloatArray,
    goal: float,
    precise: float,
    work: float,
    fourier: Fourier,
) -> tuple[NDArray[np.bool_], tuple[float, float]]:
    """Which nodes the Fourier engine could evaluate, and bounds of their sum.

    Aims at a width of `goal` in all, by at most so much `work`, as the engine counts it. A relative
    width of `precise` is always enough.
    """
    done = np.zeros(nodes.size, dtype=bool)
    low = high = 0.0
    # Half of the width and of the work evenly, half by how much a node may be worth.
    worth = np.exp(np.maximum(slack - max(float(slack.max()), -1e300), -600.0))
    share = 0.5 * (1.0 / nodes.size + worth / worth.sum())
    allowed, most_work = goal * share, np.maximum(work * share, _LEAST_WORK)
    middle, err = mean(nodes, atoms)
    failed = 0
    for i in range(nodes.size):
        if failed == _MOST_FAILED:
            break
        node = nodes.where(np.array([i]))
        g, n = leaf(atoms, node, float(side[i])), int(node.draws[0])
        estimate = saddlepoint(g, n)[0]
        log_estimate = float(estimate.log)
        if estimate.kurtosis > _RARE:
            continue
        size = float(slack[i])
        if math.isfinite(log_estimate):
            size = min(size, float(node.log_weight[0]) + log_estimate)
        rtol = _CAUTION * max(float(allowed[i]) / exp_up(size), precise)
        rtol = min(max(rtol, _FINEST), _COARSEST)
        ends = fourier(g, n, rtol, float(most_work[i]))
        log_weight, slip = float(node.log_weight[0]), float(node.weight_err[0])
        slip += 16.0 * U * (1.0 + abs(log_weight) + max(abs(x) for x in ends if x < math.inf))
        found = exp_down(log_weight - slip + ends[0]), exp_up(log_weight + slip + ends[1])
        done[i] = found[1] - found[0] <= max(2.0 * float(allowed[i]), precise * found[0])
        failed += not done[i]
        if done[i]:
            low, high = low + found[0], high + found[1]
            if side[i] < 0.0:  # what lies below 0 comes on top of the mean
                least = float(middle[i] - err[i])
                least *= exp_up(log_weight + slip) if least < 0.0 else exp_down(log_weight - slip)
                low += least
                high += exp_up(log_weight + slip) * float(middle[i] + err[i])
    return done, (low, high)


def leaf(atoms: Atoms, node: Nodes, side: float) -> Law:
    """The law whose n′-fold sum is ±(B + v) for one node; `side` is the sign."""
    j = int(node.law[0])
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


def exp_up(x: float) -> float:
    """e^x, at least 10⁻³⁰⁰ and finite: to be added to upper bounds, or multiplied by 1 − 10⁻¹²."""
    return math.exp(min(max(x, -690.0), 709.0))


# What is closed or left out is charged: how much of each decides speed and width
# (benchmarks/deployer_grid.py).
#
# Shares of the width for branches that are closed, for draws left out, and for leaves.
_CLOSED, _TAILS, _LEAVES = 0.3, 0.2, 0.4
# The relative width of a leaf that is always enough, in units of that of the whole.
_PRECISE = 0.3
# Nodes that the Fourier engine may evaluate at a step, and half of those that it may in all.
_MOST_LEAVES = 150
# What a leaf counts for of the work, in nodes; and what leaves may take for each node that could be
# had instead, as the Fourier engine counts its work, for so many atoms or more: few are soon drawn.
_LEAF_WORK, _WORK_PER_NODE, _MANY_ATOMS = 200, 2.0**13, 100
# The share of what may still be spent that a step may spend.
_SHARE = 0.2
# The same where the Fourier engine takes over.
_SPENT = 0.8
# Nodes times atoms times tilts that are looked at together, and the children wanted of them.
_MOST_BOUNDS, _MOST_CHILDREN = 2**17, 300


@dataclass(frozen=True)
class Found:
    """Bounds of E[S₊], what part of the distance is slack of closed nodes, and whether no limit
    was met.
    """

    low: float
    high: float
    slack: float
    complete: bool


def branched(
    atoms: Atoms,
    table: Moments,
    n: int,
    goal: float,
    rtol: float,
    most_work: int,
    fourier: Fourier,
) -> Found:
    """Bounds that are about `goal` apart, or `rtol` times themselves, by at most so many nodes."""
    branch = _Branch(atoms, table, tame(atoms, n), goal, rtol, most_work, fourier)
    low, high = branch.run(root(atoms, n))
    return Found(low * (1.0 - 1e-12), high * (1.0 + 1e-12), branch.slack, branch.complete)


@dataclass(frozen=True, eq=False)
class _Open:
    """Open nodes with their slack and the sign of what is small of them, shape (N,) each."""

    nodes: Nodes
    slack: FloatArray
    side: FloatArray

    def where(self, chosen: NDArray | slice) -> _Open:
        return _Open(self.nodes.where(chosen), self.slack[chosen], self.side[chosen])

    def and_more(self, others: _Open) -> _Open:
        if not others.nodes.size:
            return self
        return _Open(
            joined([self.nodes, others.nodes]),
            np.concatenate([self.slack, others.slack]),
            np.concatenate([self.side, others.side]),
        )


@dataclass
class _Branch:
    """Sums over closed nodes, and what of the width may still be spent."""

    atoms: Atoms
    table: Moments
    tame: NDArray[np.bool_]
    goal: float
    rtol: float
    most_work: int
    fourier: Fourier
    low: float = 0.0
    high: float = 0.0
    closable: float = math.nan
    cuttable: float = math.nan
    leaves: int = 0
    work: int = 0
    slack: float = 0.0
    complete: bool = True
    retry: float = math.inf

    def __post_init__(self) -> None:
        self.closable, self.cuttable = _CLOSED * self.goal, _TAILS * self.goal

    def run(self, nodes: Nodes) -> tuple[float, float]:
        """Bounds from `nodes`."""
        rest = self._close(nodes, _SHARE)
        while rest.nodes.size:
            nodes, j = rest.nodes, int(rest.nodes.law.min())
            if self.work > self.most_work or self.leaves > 2 * _MOST_LEAVES:
                self._count(nodes, rest.slack, *mean(nodes, self.atoms))
                self.complete = False
                break
            if nodes.size <= _MOST_LEAVES and self._tries(j, j + 1).any():
                rest = self._hand_over(rest, j)
                continue
            rest = self._draw(rest, j)
        return self.low, self.high

    def _close(self, nodes: Nodes, share: float) -> _Open:
        """Close what can be closed for a share of what may still be spent; the other nodes."""
        middle, err = mean(nodes, self.atoms)
        side = np.where(middle < 0.0, 1.0, -1.0)
        slack = log_slack(nodes, self.table, side)
        self.work += nodes.size
        spend(2e5 + 5e3 * nodes.size)
        closed = _closable(slack, share * self.closable)
        self._count(nodes.where(closed), slack[closed], middle[closed], err[closed])
        return _Open(nodes, slack, side).where(~closed)

    def _count(self, nodes: Nodes, slack: FloatArray, middle: FloatArray, err: FloatArray) -> None:
        """Count nodes, for good, by their means."""
        lost = total(slack)
        parts = positive_parts(nodes, middle, err)
        self.low, self.high = self.low + parts[0], self.high + parts[1] + lost
        self.closable, self.slack = self.closable - lost, self.slack + lost

    def _tries(self, j: int, end: int) -> NDArray[np.bool_]:
        """For which of atoms j, …, `end` − 1 the Fourier engine is worth a try."""
        part = slice(j, end)
        return self.tame[part] & (np.abs(self.atoms.values[part]) < self.retry)

    def _hand_over(self, rest: _Open, j: int) -> _Open:
        """Let the Fourier engine have a try; what it leaves, to be tried again further down."""
        # Mostly nothing will be left: most of what may still be spent saves it nodes.
        saved = _SPENT * self.cuttable
        self.closable, self.cuttable = self.closable + saved, self.cuttable - saved
        rest = self._close(rest.nodes, _SPENT)
        if not rest.nodes.size:
            return rest
        left = self.most_work - self.work
        if left < _LEAF_WORK * rest.nodes.size:
            self.work = self.most_work + 1
            return rest
        spent = _SPENT * max(self.closable, 0.0)
        self.closable -= spent
        goal = _LEAVES * self.goal + spent
        work = _WORK_PER_NODE * left * min(1.0, self.atoms.size / _MANY_ATOMS)
        precise = _PRECISE * self.rtol
        done, ends = leaves(
            self.atoms, rest.nodes, rest.slack, rest.side, goal, precise, work, self.fourier
        )
        self.leaves, self.work = self.leaves + done.size, self.work + _LEAF_WORK * done.size
        self.low, self.high = self.low + ends[0], self.high + ends[1]
        self.retry = 0.5 * abs(self.atoms.values[j])
        return rest.where(~done)

    def _draw(self, rest: _Open, j: int) -> _Open:
        """Condition the first nodes on the draws of the next few atoms."""
        atoms, table = self.atoms, self.table
        near = max(1, _MOST_BOUNDS // (rest.nodes.size * table.theta.size))
        end = min(j + near, atoms.size)
        rest = rest.where(np.argsort(rest.nodes.law, kind="stable"))
        first = rest.nodes.where(slice(int(np.searchsorted(rest.nodes.law, end))))
        bounds = log_of_drawn(first, atoms, table, j, end)
        allowance = _SHARE * self.cuttable
        left_out = negligible(bounds, 0.5 * allowance)
        # As many atoms as make a fair number of children, or down to where the Fourier engine may
        # take over, and beyond that if none of them is drawn.
        found = np.cumsum(bounds.shape[0] - np.count_nonzero(left_out, axis=0))
        most = _MOST_CHILDREN
        tries = np.flatnonzero(self._tries(j + 1, end))
        if tries.size:
            most = min(most, int(found[tries[0]]))
        end = j + max(1, int(np.searchsorted(found, most, side="right")))
        count = int(np.searchsorted(first.law, end))
        # Children take at least as many draws of an atom as it has on average.
        likely = first.draws.max() * atoms.masses[j:end] / atoms.left[j:end]
        pairs = np.diff(found[: end - j], prepend=0)
        if self.work + float(pairs @ (1.0 + likely)) > self.most_work:
            self.work = self.most_work + 1
            return rest
        part = slice(count), slice(end - j)
        new = grown(
            first.where(part[0]), atoms, table, bounds[part], left_out[part], j, end, allowance
        )
        self.high, self.cuttable = self.high + new.lost, self.cuttable - new.lost
        return self._close(new.nodes, _SHARE).and_more(rest.where(slice(count, None)))


def _closable(slack: FloatArray, allowance: float) -> NDArray[np.bool_]:
    """The nodes of least slack whose sum stays below an allowance."""
    order = np.argsort(slack)
    with np.errstate(over="ignore", under="ignore"):
        spent = np.cumsum(np.exp(slack[order]))
    closed = np.zeros(slack.size, dtype=bool)
    closed[order] = spent <= max(allowance, 0.0)
    return closed | np.isneginf(slack)


# The divergence where large values are rare: condition on their draws, largest first.
#
# The tilt of the Fourier engine (`fourier`) follows a rare jump, while the bulk of S may live
# decades below it. Here the draws of the largest atoms are enumerated, as far as they can matter,
# until what is left is tame and the Fourier engine can take over. A branch is closed as soon as a
# Chernoff bound says that its positive or its negative part is negligible. Proofs: docs/engine.md,
# section 11.

# Guesses of the size steer the passes and decide speed only (benchmarks/deployer_grid.py).
#
# Relative width of a first pass, which finds the size of the result, and the passes in all.
_ROUGH, _PASSES = 0.03, 8
# Another pass is made where the size turned out to be so many times larger, or that share of what
# was taken for it.
_MUCH_LARGER, _NO_LESS = 3.0, 0.7
# What is taken for the size where only Chernoff's bound is known, relative to that.
_CHERNOFF = 1e-2
# Numbers of atoms that this is tried with.
_ENDS = 33
# Nodes, and what leaves count for, before it gives up.
_MOST_WORK = 200_000
# More values than this are united first, in so many cells and then more, at most that many.
_MOST_ATOMS, _CELLS, _FINEST_CELLS = 1024, 256, 1024
# No R_j may be known less well than this, relatively: their errors are taken to first order.
_COARSE = 2e-3
# No size of E[S₊], relative to the largest value, beyond these is attempted.
_SMALLEST, _LARGEST = 1e-250, 1e300


def tree_bounds(
    g: Law, n: int, rtol: float, fourier: Fourier, most_work: int = _MOST_WORK
) -> tuple[float, float]:
    """Bounds of log E[S₊], from fewer values where there are many; (−inf, inf) if nothing is known.

    `fourier` evaluates nodes whose laws are tame; `most_work` limits the nodes of one pass.
    """
    if g.values.size <= _MOST_ATOMS or not (
        g.values.max() > 0.0 and np.isfinite(g.value_err).all()
    ):
        return _log_bounds(g, n, rtol, fourier, most_work)
    tilted = tilt(g, tilting_point(g, n))
    if not math.isfinite(tilted.log_mgf_err):
        return -math.inf, math.inf
    low, high, cells = -math.inf, math.inf, _CELLS
    while high - low > rtol and cells <= _FINEST_CELLS:
        if 2 * cells > g.values.size:
            return _log_bounds(g, n, rtol, fourier, most_work)
        below, above = compress(g, tilted.weights, cells)
        low = max(low, _log_bounds(below, n, 0.5 * rtol, fourier, most_work)[0])
        high = min(high, _log_bounds(above, n, 0.5 * rtol, fourier, most_work)[1])
        cells *= 4
    return low, high


def _log_bounds(
    g: Law, n: int, rtol: float, fourier: Fourier, most_work: int
) -> tuple[float, float]:
    """`tree_bounds` with every value as it is."""
    outlook = _outlook(g, n)
    if outlook is None:
        return -math.inf, math.inf
    atoms, table, ceiling, common, rare = outlook
    low, high = 0.0, ceiling * (1.0 + 1e-12)
    # Without any bound of the whole there is none of its parts.
    rough = rare < common or not ceiling < _LARGEST
    size, goal = ceiling if rough else rare, math.inf
    for _ in range(_PASSES):
        before, goal = goal, (max(_ROUGH, 0.5 * rtol) if rough else rtol) * size
        # What was not reached before is not reached for about as much.
        if not _SMALLEST < size < _LARGEST or _NO_LESS < goal / before < _MUCH_LARGER:
            break
        found = branched(atoms, table, n, goal, goal / size, most_work, fourier)
        low, high = max(low, found.low), min(high, found.high)
        if high - low <= rtol * high:
            break
        if high <= 2.0 * low or low > _MUCH_LARGER * size:
            # What leaves reached where little was asked of them says nothing.
            goal = math.inf if rough else goal
            size, rough = low, False
        elif rough and found.complete:
            # Chernoff's bound of the common draws is too large, but not by any factor.
            known = max(low, rare)
            size = max(known, _CHERNOFF * found.slack)
            rough = size > known
        else:
            break
    # Sums this small may be of subnormal floats, which know nothing of their last digits.
    low = low if low > _SMALLEST else 0.0
    scale = float(g.exponent) * math.log(2.0)
    log_low, log_high = (math.log(x) if x > 0.0 else -math.inf for x in (low, high))
    slop = 1e-12 + 8.0 * U * abs(scale)
    return log_low + scale - slop, (log_high + scale + slop if high > 0.0 else math.inf)


class _Outlook(NamedTuple):
    """Atoms and moments; upper bounds of E[S₊], also with the common draws only; a size of it."""

    atoms: Atoms
    table: Moments
    ceiling: float
    common: float
    rare: float


@functools.lru_cache(maxsize=1)
def _outlook(g: Law, n: int) -> _Outlook | None:
    """What the tree begins with; None where nothing is attempted.

    The last answer is kept, as one that was short of nodes is often followed by one with more.
    """
    if not (g.values.size and g.values.max() > 0.0 and np.isfinite(g.value_err).all()):
        return None
    atoms = recentred(g)
    if not (atoms.size and atoms.values.max() > 0.0 and np.abs(atoms.values).max() * n < 1e150):
        return None
    if not (atoms.left_err[:-1].max() <= _COARSE and np.isfinite(atoms.log_left_err[-1])):
        return None
    table = moments(atoms, tilts(atoms, n))
    ceiling, common = (_ceiling(atoms, table, n, j) for j in (0, _first_tame(atoms, n)))
    return _Outlook(atoms, table, ceiling, common, _rare_draws(atoms, n))


def _first_tame(atoms: Atoms, n: int) -> int:
    """The first law that the Fourier engine may evaluate; the last one if there is none."""
    found = np.flatnonzero(tame(atoms, n))
    return int(found[0]) if found.size else atoms.size


def _ceiling(atoms: Atoms, table: Moments, n: int, j: int) -> float:
    """An upper bound of E[S₊] if all draws were of law j."""
    node = replace(root(atoms, n), law=np.full(1, j))
    return exp_up(float(log_slack(node, table, np.ones(1))[0]))


def _rare_draws(atoms: Atoms, n: int) -> float:
    """About what rare draws add to E[S₊] with all others at their mean: single draws of the
    largest atoms, and as many draws of one atom as it takes.

    The best of several numbers of atoms: a size to aim with, mostly no larger than the result.
    """
    ends = np.unique(np.linspace(0.0, atoms.size, _ENDS).astype(np.int64))
    middle = n * (atoms.base + atoms.mean)
    gains = np.maximum(middle[ends, None] + atoms.values, 0.0)
    gains[np.arange(atoms.size) >= ends[:, None]] = 0.0
    found = np.maximum(middle[ends], 0.0) + n * (gains @ atoms.masses)
    single = float((np.exp(n * atoms.log_left[ends]) * found).max())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        draws = np.floor(np.maximum(-middle[1:], 0.0) / atoms.values) + 1.0
        worth = middle[1:] + draws * atoms.values
        log_chance = draws * (np.log(n * atoms.masses / draws) + 1.0) + n * atoms.log_left[1:]
        several = np.nan_to_num(np.where(atoms.values > 0.0, np.exp(log_chance) * worth, 0.0))
    return max(single, float(several.max()))
