"""The tree engine: bounds of E[S₊] if large values are rare, conditioned on their draws.

The tilt of the Fourier engine (`fourier`) follows a rare jump, while the bulk of S may lie decades
below it. Here the draws of the largest atoms are enumerated one atom after the other, as far as
they can matter, until the Fourier engine can take over for the remaining draws. A node is closed as
soon as a Chernoff bound shows that its positive or its negative part is negligible. Proofs:
docs/proofs/engine.md, section 11.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.atoms import Atoms, Moments, atom_moments, recentred_atoms, tilts
from shufflebounds.divergence.fourier import fourier_bounds
from shufflebounds.divergence.law import Law, U
from shufflebounds.divergence.nodes import (
    Nodes,
    after_draws,
    after_one_draw,
    log_bounds_of_draws,
    log_draw_of_first,
    log_slack,
    mean,
    positive_parts,
    remaining_laws,
    root,
)
from shufflebounds.divergence.saddlepoint import saddlepoint

# Largest value, in standard deviations of the common draws, at which the Fourier engine may take
# over. Without a limit, its series are too long (benchmarks/deployer_grid.py, "Laplace": 1.3 times
# the time). All constants but the last two decide about speed and width only.
MAX_TAME_DEVIATIONS = 15.0
# Work of the Fourier engine for one node, in nodes of the tree.
LEAF_WORK = 200
# Work limit of the Fourier engine for one node, in its own units.
MOST_LEAF_WORK = 2.0**23
# Share of the remaining width that may be used by the nodes that a step closes, by the draws that
# it leaves out, and by the nodes that the Fourier engine evaluates.
STEP_SHARE = 0.2
# Largest number of atoms on whose draws a step conditions.
BLOCK_ATOMS = 32
# Largest number of draws of an atom that are enumerated; more draws are bounded.
MAX_DRAWS = 256
# Relative width of a first pass, whose purpose is to find the size of the result.
ROUGH_RTOL = 0.03
# Largest number of passes.
MAX_PASSES = 20
# Largest relative error of an R_j. The errors are taken to first order.
MAX_REMAINING_ERROR = 2e-3
# Smallest E[S₊] that is attempted, relative to the largest value, and one over the largest.
SMALLEST_SIZE = 1e-250


def tree_bounds(g: Law, n: float, rtol: float, most_work: int) -> tuple[float, float]:
    """Return bounds of log E[S₊], (−inf, inf) if the engine fails.

    `most_work` limits the nodes of one pass.
    """
    start = _start(g, n)
    if start is None:
        return -math.inf, math.inf
    low, high = 0.0, start.ceiling * (1.0 + 1e-12)
    aim: _Aim | None = _Aim.first(start)
    for _ in range(MAX_PASSES):
        if aim is None or not SMALLEST_SIZE < aim.size < 1.0 / SMALLEST_SIZE:
            break
        tree = _Tree.grown(start, n, aim.width(rtol), rtol, most_work)
        low, high = max(low, tree.low), min(high, tree.high)
        if high - low <= rtol * high:
            break
        aim = aim.following(low, high, start.rare, tree.is_complete)
    # Sums this small may have subnormal terms, which lack precision.
    low = low if low > SMALLEST_SIZE else 0.0
    scale = float(g.exponent) * math.log(2.0)
    log_low, log_high = (math.log(x) if x > 0.0 else -math.inf for x in (low, high))
    log_err = 1e-12 + 8.0 * U * abs(scale)
    return log_low + scale - log_err, (log_high + scale + log_err if high > 0.0 else math.inf)


class _Aim(NamedTuple):
    """An estimate of E[S₊], and whether it is only an upper bound of its order of magnitude."""

    size: float
    is_rough: bool

    @staticmethod
    def first(start: _Start) -> _Aim:
        """Return the size due to rare draws, or Chernoff's bound if common draws may count."""
        is_rough = start.rare < start.common or not start.ceiling < 1.0 / SMALLEST_SIZE
        return _Aim(start.ceiling if is_rough else start.rare, is_rough)

    def width(self, rtol: float) -> float:
        """Return the absolute width that a pass aims at."""
        return (max(ROUGH_RTOL, 0.5 * rtol) if self.is_rough else rtol) * self.size

    def following(self, low: float, high: float, rare: float, is_complete: bool) -> _Aim | None:
        """Return the aim after a pass with these bounds, None if another pass would fail, too."""
        if high <= 2.0 * low:
            # Bounds of this size are known; another pass helps if it has another aim.
            is_same = 0.7 * self.size < low < 3.0 * self.size and not self.is_rough
            return None if is_same else _Aim(low, False)
        if self.is_rough:
            # Chernoff's bounds are too large, by a limited factor.
            size = max(low, rare, 0.01 * high if is_complete else 0.0)
            return _Aim(size, size > max(low, rare)) if size < 0.7 * self.size else None
        return _Aim(low, False) if low > 3.0 * self.size else None


class _Start(NamedTuple):
    """Atoms and moments, upper bounds of E[S₊] for all and for common draws, and an estimate."""

    atoms: Atoms
    table: Moments
    is_tame: NDArray[np.bool_]
    ceiling: float
    common: float
    rare: float


@functools.lru_cache(maxsize=1)
def _start(g: Law, n: float) -> _Start | None:
    """Return the data with which the tree begins, None if the law is out of its range.

    The last answer is cached, because a pass with few nodes is often followed by one with more.
    """
    if not (g.values.size and g.values.max() > 0.0 and np.isfinite(g.value_err).all()):
        return None
    atoms = recentred_atoms(g)
    if not (atoms.size and atoms.values.max() > 0.0 and np.abs(atoms.values).max() * n < 1e150):
        return None
    if not (
        atoms.remaining_err[:-1].max() <= MAX_REMAINING_ERROR
        and np.isfinite(atoms.log_remaining_err[-1])
    ):
        return None
    table = atom_moments(atoms, tilts(atoms, n))
    is_tame = _is_tame(atoms, n)
    first_tame = int(np.argmax(is_tame)) if is_tame.any() else atoms.size
    ceiling, common = (
        float(_exp_array_up(log_slack(root(atoms, n), table, law, np.ones(1)))[0])
        for law in (0, first_tame)
    )
    return _Start(atoms, table, is_tame, ceiling, common, _rare_draw_estimate(atoms, n))


def _is_tame(atoms: Atoms, n: float) -> NDArray[np.bool_]:
    """Return a mask of the laws that the Fourier engine may evaluate, shape (A,).

    The common values of law j are those after the largest atoms of one draw on average.
    """
    h, expected = atoms.values, n * atoms.masses
    draws_before = np.concatenate([[0.0], np.cumsum(expected)])
    first = np.searchsorted(draws_before, draws_before[:-1] + 1.0) - 1
    variance = expected * (1.0 - atoms.masses) * h * h
    common_variance = np.append(np.cumsum(variance[::-1])[::-1], 0.0)[np.minimum(first, h.size)]
    return np.abs(h) <= MAX_TAME_DEVIATIONS * np.sqrt(common_variance / atoms.remaining[:-1])


def _rare_draw_estimate(atoms: Atoms, n: float) -> float:
    """Return an estimate of what rare draws add to E[S₊] with all other draws at their mean.

    The rare draws are single draws of the largest atoms, or the smallest sufficient number of draws
    of one atom. The estimate is the largest over several numbers of atoms, and mostly not above
    E[S₊].
    """
    ends = np.unique(np.linspace(0.0, atoms.size, 33).astype(np.int64))
    middle = n * (atoms.base + atoms.mean)
    gains = np.maximum(middle[ends, None] + atoms.values, 0.0)
    gains[np.arange(atoms.size) >= ends[:, None]] = 0.0
    gain_sums = np.maximum(middle[ends], 0.0) + n * (gains @ atoms.masses)
    single_draws = float((np.exp(n * atoms.log_remaining[ends]) * gain_sums).max())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        draws = np.floor(np.maximum(-middle[1:], 0.0) / atoms.values) + 1.0
        gain_of_draws = middle[1:] + draws * atoms.values
        log_probability = (
            draws * (np.log(n * atoms.masses / draws) + 1.0) + n * atoms.log_remaining[1:]
        )
        repeated = np.nan_to_num(
            np.where(atoms.values > 0.0, np.exp(log_probability) * gain_of_draws, 0.0)
        )
    return max(single_draws, float(repeated.max()))


@dataclass
class _Tree:
    """One pass over the tree: bounds of E[S₊], and what remains of the width and of the work.

    A pass is incomplete if it reached its work limit or lost more than the width.
    """

    start: _Start
    width: float
    rtol: float
    most_work: int
    low: float = 0.0
    high: float = 0.0
    work: float = 0.0
    is_complete: bool = True
    largest_leaf: float = math.inf

    @staticmethod
    def grown(start: _Start, n: float, width: float, rtol: float, most_work: int) -> _Tree:
        """Return the pass that aims at this absolute width, or at `rtol`."""
        tree = _Tree(start, width, rtol, most_work)
        tree._grow(root(start.atoms, n))
        tree.is_complete &= tree.width >= 0.0
        tree.low, tree.high = tree.low * (1.0 - 1e-12), tree.high * (1.0 + 1e-12)
        return tree

    def _grow(self, nodes: Nodes) -> None:
        """Add the values of all nodes below these, which are of law 0."""
        law, nodes = 0, self._close(nodes, 0)
        while nodes.size:
            end, is_drawn = self._next_block(nodes, law)
            if end == law:
                nodes = self._evaluate_leaves(nodes, law)
            elif is_drawn is not None:
                nodes = after_one_draw(nodes, self.start.atoms, law, end, is_drawn)
            else:
                nodes = self._draw(nodes, law)
            self.work += 1.0 + nodes.size
            if self.work > self.most_work:
                self._count(nodes, end, self._slack(nodes, end)[0])
                self.is_complete = False
                return
            law, nodes = end, self._close(nodes, end)

    def _next_block(self, nodes: Nodes, law: int) -> tuple[int, NDArray[np.bool_] | None]:
        """Return the end of the next atoms to condition on, and which of them nodes may draw.

        Two draws of these atoms are lost, and so is one draw of those that do not matter. The mask,
        (N, end − law), is None for a single atom of which more draws matter. The end is `law` where
        the Fourier engine should take over.
        """
        atoms, table = self.start.atoms, self.start.table
        block = slice(law, min(law + BLOCK_ATOMS, atoms.size))
        singles = log_bounds_of_draws(nodes, atoms, table, law, table.one_draw[block], 1)
        is_drawn = singles > self._log_share(singles.size)
        matters = np.flatnonzero(is_drawn.any(axis=0))
        size = block.stop - law
        if matters.size:
            # The Fourier engine takes over at the first tame law from which draws matter.
            leaf = _first_true(self._suits_fourier(nodes, block))
            size = min([size, *matters[matters >= leaf]])
            if size == 0:
                return law, None
        if matters.size and size > matters[0]:
            sums = log_draw_of_first(table, block)
            pairs = log_bounds_of_draws(nodes, atoms, table, law, sums, 2)
            rare_count = _first_true(np.any(pairs > self._log_share(nodes.size), axis=0))
            size = min(size, max(rare_count, int(matters[0])))
            if size == 0:
                return law + 1, None
            if size > matters[0]:
                self._lose(pairs[:, size - 1])
        self._lose(singles[:, :size][~is_drawn[:, :size]])
        return law + size, is_drawn[:, :size]

    def _lose(self, log_bounds: FloatArray) -> None:
        """Count draws that are left out, given bounds of the logarithms of what they add."""
        lost = _sum_of_exponentials(log_bounds)
        self._add(0.0, lost, lost)

    def _close(self, nodes: Nodes, law: int) -> Nodes:
        """Count the nodes whose slack fits into the width, and return the others."""
        slack = self._slack(nodes, law)[0]
        spend(2e5 + 5e3 * nodes.size)
        order = np.argsort(slack)
        with np.errstate(over="ignore", under="ignore"):
            slack_sums = np.cumsum(np.exp(slack[order]))
        is_closed = np.isneginf(slack)
        is_closed[order] |= slack_sums <= STEP_SHARE * max(self.width, 0.0)
        self._count(nodes.where(is_closed), law, slack[is_closed])
        return nodes.where(~is_closed)

    def _slack(self, nodes: Nodes, law: int) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the logs of the nodes' smaller parts, and the signs of these parts."""
        middle, _ = mean(nodes, self.start.atoms, law)
        sign = np.where(middle < 0.0, 1.0, -1.0)
        return log_slack(nodes, self.start.table, law, sign), sign

    def _count(self, nodes: Nodes, law: int, slack: FloatArray) -> None:
        """Add nodes to the sums by their means, with bounds of what that neglects."""
        neglected = _sum_of_exponentials(slack)
        low, high = positive_parts(nodes, *mean(nodes, self.start.atoms, law))
        self._add(low, high + neglected, neglected)

    def _add(self, low: float, high: float, width: float) -> None:
        """Add bounds of a part of E[S₊] whose distance takes this much of the width."""
        self.low, self.high, self.width = self.low + low, self.high + high, self.width - width

    def _log_share(self, count: int) -> float:
        """Return the logarithm of what each of `count` numbers may lose in one step."""
        return math.log(max(STEP_SHARE * self.width / (2.0 * count), 1e-300))

    def _draw(self, nodes: Nodes, law: int) -> Nodes:
        """Return the nodes conditioned on the number of draws of one atom; large ones are lost."""
        atoms, table = self.start.atoms, self.start.table
        one_draw = table.one_draw[law : law + 1]
        limits, log_tail = np.ones(nodes.size, dtype=np.int64), np.empty(nodes.size)
        log_share, count, rows = self._log_share(nodes.size), 1, np.arange(nodes.size)
        while rows.size:
            open_nodes = nodes.where(rows)
            bounds = log_bounds_of_draws(open_nodes, atoms, table, law, one_draw, count)[:, 0]
            limits[rows], log_tail[rows] = count, bounds
            rows = rows[bounds > log_share] if count < MAX_DRAWS else rows[:0]
            count *= 2
        self._lose(log_tail)
        return after_draws(nodes, atoms, law, limits)

    def _suits_fourier(self, nodes: Nodes, laws: slice) -> NDArray[np.bool_]:
        """Return a mask of the laws at which the Fourier engine should be tried for all nodes."""
        is_affordable = LEAF_WORK * nodes.size <= self.most_work - self.work
        is_smaller = np.abs(self.start.atoms.values[laws]) < self.largest_leaf
        mask: NDArray[np.bool_] = self.start.is_tame[laws] & is_smaller & is_affordable
        return mask

    def _evaluate_leaves(self, nodes: Nodes, law: int) -> Nodes:
        """Add the nodes that the Fourier engine can evaluate, and return the others."""
        # If it fails, it is tried again for values of half the size.
        self.largest_leaf = 0.5 * abs(self.start.atoms.values[law])
        self.work += LEAF_WORK * nodes.size
        slack, sign = self._slack(nodes, law)
        laws = remaining_laws(nodes, self.start.atoms, law, sign)
        estimate, theta, _ = saddlepoint(laws, nodes.draws)
        width = STEP_SHARE * max(self.width, 0.0) / nodes.size
        log_size = np.fmin(slack, nodes.log_weight + estimate.log)
        with np.errstate(over="ignore"):
            rtol = np.maximum(width * np.exp(-log_size), STEP_SHARE * self.rtol)
        log_bounds = fourier_bounds(
            laws, nodes.draws, np.minimum(0.5 * rtol, 1.0), MOST_LEAF_WORK, theta
        )
        low, high = _weighted(nodes, *log_bounds)
        is_narrow = high - low <= np.maximum(2.0 * width, STEP_SHARE * self.rtol * low)
        done = nodes.where(is_narrow)
        self._add_leaves(done, law, sign[is_narrow], low[is_narrow], high[is_narrow])
        return nodes.where(~is_narrow)

    def _add_leaves(
        self, leaves: Nodes, law: int, sign: FloatArray, low: FloatArray, high: FloatArray
    ) -> None:
        """Add nodes with bounds of w E(B + v)₊, where `sign` is 1, or of w E(B + v)₋."""
        self._add(float(low.sum()), float(high.sum()), float((high - low).sum()))
        # The positive part is the mean and the negative part.
        mirrored = leaves.where(sign < 0.0)
        middle, err = mean(mirrored, self.start.atoms, law)
        lowest, highest = _weighted(mirrored, np.zeros(middle.size), np.zeros(middle.size))
        low = (middle - err) * np.where(middle < err, highest, lowest)
        self._add(float(low.sum()), float((highest * (middle + err)).sum()), 0.0)


def _first_true(mask: NDArray) -> int:
    """Return the index of the first True, or the size of the mask if there is none."""
    return int(np.argmax(np.append(mask, True)))


def _weighted(nodes: Nodes, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds of w e^x for x between `low` and `high`, the upper one good to 10⁻¹²."""
    ends = np.maximum(np.where(np.isfinite(low), np.abs(low), 0.0), np.abs(high))
    err = nodes.weight_err + 16.0 * U * (1.0 + np.abs(nodes.log_weight) + ends)
    lowest, highest = nodes.log_weight - err + low, nodes.log_weight + err + high
    down = np.where(lowest < -700.0, 0.0, np.exp(np.clip(lowest, -700.0, 700.0)) * (1.0 - 8.0 * U))
    return down, _exp_array_up(highest)


def _exp_array_up(x: FloatArray) -> FloatArray:
    """Return e^x, at least 10⁻³⁰⁰ and finite, correct up to a relative 10⁻¹²."""
    return np.exp(np.clip(x, -690.0, 709.0))


def _sum_of_exponentials(logs: FloatArray) -> float:
    """Return Σ e^x, rounded up."""
    with np.errstate(over="ignore"):
        return float(np.sum(np.exp(np.maximum(logs, -690.0)))) * (1.0 + 1e-12)
