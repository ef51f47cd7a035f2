"""The tree of a sweep: nodes are conditioned on the draws of the next atoms until all are closed.

Proofs: docs/engine.md, section 11.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.atoms import Atoms, Moments
from shufflebounds.divergence.draws import grown, log_of_drawn, negligible, total
from shufflebounds.divergence.leaves import leaves, tame
from shufflebounds.divergence.nodes import Nodes, joined, log_slack, mean, positive_parts, root
from shufflebounds.divergence.uniting import spread, united

# Shares of the width for branches that are closed, for draws left out, and for leaves.
_CLOSED, _TAILS, _LEAVES = 0.3, 0.2, 0.4
# The relative width of a leaf that is always enough, in units of that of the whole.
_PRECISE = 0.3
_MOST_LEAVES = 150
# What a leaf counts for of the work, in nodes; and what leaves may take for each node that could be
# had instead, as the smooth engine counts its work, for so many atoms or more: few are soon drawn.
_LEAF_WORK, _WORK_PER_NODE, _MANY_ATOMS = 200, 2.0**13, 100
# The share of what may still be spent that a step may spend.
_SHARE = 0.2
# The same where the smooth engine takes over.
_SPENT = 0.8
# Nodes times atoms times tilts that are looked at together, and the children wanted of them.
_MOST_BOUNDS, _MOST_CHILDREN = 2**17, 300
# More nodes than this are united, in about so many cells for every number of draws left.
_MANY_NODES, _CELLS = 2000, 100
# Which ends of a branch are bounds.
_BOTH, _LOWER, _UPPER = "both", "lower", "upper"


@dataclass(frozen=True)
class Found:
    """Bounds of E[S₊], what part of the distance is slack of closed nodes, and whether no limit
    was met.
    """

    low: float
    high: float
    slack: float
    complete: bool


def tree_bounds(
    atoms: Atoms, table: Moments, n: int, goal: float, rtol: float, most_work: int
) -> Found:
    """Bounds that are about `goal` apart, or `rtol` times themselves, by at most so many nodes."""
    branch = _Branch(atoms, table, tame(atoms, n), goal, rtol, most_work)
    low, high = branch.run(root(atoms, n), _BOTH)
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

    def run(self, nodes: Nodes, end: str) -> tuple[float, float]:
        """Bounds from `nodes`; only that `end` is one where many nodes were united."""
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
            if nodes.size > _MANY_NODES:
                lower, upper = (each(nodes, rest.slack, _CELLS) for each in (united, spread))
                if lower.size == nodes.size:  # few are alike
                    lower = upper = nodes
                elif end == _BOTH:
                    high = copy(self).run(upper, _UPPER)[1]
                    return self.run(lower, _LOWER)[0], high
                rest = self._close(lower if end == _LOWER else upper, _SHARE)
            if rest.nodes.size:
                rest = self._draw(rest, int(rest.nodes.law.min()))
        return self.low, self.high

    def _close(self, nodes: Nodes, share: float) -> _Open:
        """Close what can be closed for a share of what may still be spent; the other nodes."""
        middle, err = mean(nodes, self.atoms)
        side = np.where(middle < 0.0, 1.0, -1.0)
        slack = log_slack(nodes, self.table, side)
        self.work += nodes.size
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
        """For which of atoms j, …, `end` − 1 the smooth engine is worth a try."""
        part = slice(j, end)
        return self.tame[part] & (np.abs(self.atoms.values[part]) < self.retry)

    def _hand_over(self, rest: _Open, j: int) -> _Open:
        """Let the smooth engine have a try; what it leaves, to be tried again further down."""
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
        done, ends = leaves(self.atoms, rest.nodes, rest.slack, rest.side, goal, precise, work)
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
        # As many atoms as make a fair number of children, or down to where the smooth engine may
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
