"""The tree engine: bounds of E[S₊] if large values are rare, conditioned on their draws.

The tilt of the Fourier engine (`fourier`) follows a rare jump, while the bulk of S may lie decades
below it. Here the draws of the largest atoms are enumerated, as far as they can matter, until the
Fourier engine can take over for the remaining draws. A node is closed as soon as a Chernoff bound
shows that its positive or its negative part is negligible. Proofs: docs/engine.md, section 11.
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
    condition_on_draws,
    join_nodes,
    log_bounds_if_drawn,
    log_slack,
    mean,
    moments,
    negligible,
    positive_parts,
    recentred_atoms,
    root,
    tilts,
    total,
)
from shufflebounds.divergence.convex_order import compress
from shufflebounds.divergence.law import Law, U, exp_down, tilt
from shufflebounds.divergence.saddlepoint import saddlepoint, tilting_point

# A function from a law, n, a relative width and a work limit to bounds of log E[S₊].
Fourier = Callable[[Law, int, float, float], tuple[float, float]]

# Largest value, in standard deviations of the common draws, at which the Fourier engine may take
# over. All numbers below decide about speed and width only (benchmarks/deployer_grid.py).
_MAX_TAME_DEVIATIONS = 15.0
# Average number of draws of the largest atoms together that do not count as common.
_MIN_COMMON_DRAWS = 1.0
# Smallest work limit of the Fourier engine for one leaf, in its own units.
_MIN_LEAF_WORK = 2.0**22
# Largest excess kurtosis of a leaf. Beyond it the Fourier engine is slow, and more draws should be
# enumerated.
_MAX_LEAF_KURTOSIS = 4.0
# Number of leaves with too wide bounds after which the other nodes are left to the tree.
_MAX_FAILURES = 2
# Smallest relative width at which a leaf aims.
_MIN_LEAF_RTOL = 1e-10
# Largest relative width at which a leaf aims.
_MAX_LEAF_RTOL = 0.1
# Share of its allowed width at which a leaf aims, since its value is only estimated.
_LEAF_RTOL_FACTOR = 0.5
# Share of the width for nodes that are closed.
_CLOSED_SHARE = 0.3
# Share of the width for draws that are left out.
_LOST_SHARE = 0.2
# Share of the width for leaves.
_LEAF_SHARE = 0.4
# Relative width of a leaf that always suffices, in units of that of the whole.
_SUFFICIENT_RTOL = 0.3
# Largest number of nodes that the Fourier engine evaluates in one step, and half of the number that
# it evaluates in all.
_MAX_LEAVES = 150
# Work of a leaf, in nodes.
_LEAF_WORK = 200
# Work of the Fourier engine, in its own units, that replaces one node.
_WORK_PER_NODE = 2.0**13
# Number of atoms from which on that holds in full. Fewer atoms are quickly enumerated.
_ATOMS_FOR_FULL_WORK = 100
# Share of the remaining width that one step may use.
_STEP_SHARE = 0.2
# Share of the remaining width that a step of the Fourier engine may use.
_LEAF_STEP_SHARE = 0.8
# Largest number of nodes times atoms times tilts of one step.
_MAX_BOUNDS = 2**17
# Number of children at which one step aims.
_MAX_CHILDREN = 300
# Relative width of a first pass, whose purpose is to find the size of the result.
_ROUGH_RTOL = 0.03
# Largest number of passes.
_MAX_PASSES = 8
# Factor by which the size must exceed its estimate for another pass.
_MIN_GROWTH = 3.0
# Share of the previous goal below which another pass is made.
_MAX_SHRINKAGE = 0.7
# Estimate of the size, relative to Chernoff's bound, if only that is available.
_CHERNOFF_FACTOR = 1e-2
# Number of sets of largest atoms for which rare draws are estimated.
_ATOM_COUNTS = 33
# Largest work of one pass, in nodes.
_MAX_WORK = 200_000
# Largest number of values that are not compressed.
_MAX_ATOMS = 1024
# Number of cells of the first compression.
_CELLS = 256
# Largest number of cells of a compression.
_MAX_CELLS = 1024
# Largest relative error of an R_j. The errors are taken to first order.
_MAX_REMAINING_ERROR = 2e-3
# Smallest E[S₊], relative to the largest value, that is attempted.
_SMALLEST_SIZE = 1e-250
# Largest E[S₊], relative to the largest value, that is attempted.
_LARGEST_SIZE = 1e300


def tame(atoms: Atoms, n: int) -> NDArray[np.bool_]:
    """Return a mask of the atoms from which on the Fourier engine may take over, shape (A,).

    The common values of law j are those after the first `_MIN_COMMON_DRAWS` draws, on average.
    """
    h, expected = atoms.values, n * atoms.masses
    draws_before = np.concatenate([[0.0], np.cumsum(expected)])
    first = np.searchsorted(draws_before, draws_before[:-1] + _MIN_COMMON_DRAWS) - 1
    variance = expected * (1.0 - atoms.masses) * h * h
    common_variance = np.append(np.cumsum(variance[::-1])[::-1], 0.0)[np.minimum(first, h.size)]
    return np.abs(h) <= _MAX_TAME_DEVIATIONS * np.sqrt(common_variance / atoms.remaining[:-1])


def leaves(
    atoms: Atoms,
    nodes: Nodes,
    slack: FloatArray,
    side: FloatArray,
    goal: float,
    sufficient_rtol: float,
    work: float,
    fourier: Fourier,
) -> tuple[NDArray[np.bool_], tuple[float, float]]:
    """Return a mask of the nodes that the Fourier engine could evaluate, and bounds of their sum.

    The sum aims at a width of `goal`, with at most `work` in the engine's units. A relative width
    of `sufficient_rtol` always suffices.
    """
    is_done = np.zeros(nodes.size, dtype=bool)
    low = high = 0.0
    # Half of the width and of the work goes to all nodes equally, half in proportion to the slack.
    weight = np.exp(np.maximum(slack - max(float(slack.max()), -1e300), -600.0))
    share = 0.5 * (1.0 / nodes.size + weight / weight.sum())
    allowed_width, most_work = goal * share, np.maximum(work * share, _MIN_LEAF_WORK)
    middle, err = mean(nodes, atoms)
    failures = 0
    for i in range(nodes.size):
        if failures == _MAX_FAILURES:
            break
        node = nodes.where(np.array([i]))
        g, n = leaf(atoms, node, float(side[i])), int(node.draws[0])
        estimate = saddlepoint(g, n)[0]
        log_estimate = float(estimate.log)
        if estimate.kurtosis > _MAX_LEAF_KURTOSIS:
            continue
        size = float(slack[i])
        if math.isfinite(log_estimate):
            size = min(size, float(node.log_weight[0]) + log_estimate)
        rtol = _LEAF_RTOL_FACTOR * max(float(allowed_width[i]) / exp_up(size), sufficient_rtol)
        rtol = min(max(rtol, _MIN_LEAF_RTOL), _MAX_LEAF_RTOL)
        ends = fourier(g, n, rtol, float(most_work[i]))
        log_weight, log_err = float(node.log_weight[0]), float(node.weight_err[0])
        log_err += 16.0 * U * (1.0 + abs(log_weight) + max(abs(x) for x in ends if x < math.inf))
        bounds = exp_down(log_weight - log_err + ends[0]), exp_up(log_weight + log_err + ends[1])
        is_done[i] = bounds[1] - bounds[0] <= max(
            2.0 * float(allowed_width[i]), sufficient_rtol * bounds[0]
        )
        failures += not is_done[i]
        if is_done[i]:
            low, high = low + bounds[0], high + bounds[1]
            # The bounds are those of the negative part, which adds to the mean.
            if side[i] < 0.0:
                mean_low = float(middle[i] - err[i])
                mean_low *= (
                    exp_up(log_weight + log_err)
                    if mean_low < 0.0
                    else exp_down(log_weight - log_err)
                )
                low += mean_low
                high += exp_up(log_weight + log_err) * float(middle[i] + err[i])
    return is_done, (low, high)


def leaf(atoms: Atoms, node: Nodes, side: float) -> Law:
    """Return the law whose n′-fold sum is ±(B + v) for one node; `side` is the sign."""
    j = int(node.law[0])
    shift = float(node.value[0] / node.draws[0])
    shift_err = float(node.value_err[0] / node.draws[0]) * (1.0 + 4.0 * U)
    values = side * (np.append(atoms.values[j:], 0.0) + shift)
    mass_err = np.append(atoms.mass_err[j:], atoms.remaining_err[-1]) + atoms.remaining_err[j]
    value_err = np.append(atoms.value_err[j:], 0.0) + shift_err
    value_err = value_err * (1.0 + 4.0 * U) + 2.0 * U * (np.abs(values) + abs(shift))
    # The errors of K neglect products of both errors, hence twice the error for uncertain masses.
    value_err = np.where(mass_err > 0.01, 2.0 * value_err + 4.0 * U * np.abs(values), value_err)
    masses = np.append(atoms.masses[j:], atoms.remaining[-1]) / atoms.remaining[j]
    return Law(values, masses, 0, value_err, 1.02 * mass_err + 4.0 * U, 0.0, 0.0)


def exp_up(x: float) -> float:
    """Return e^x, at least 10⁻³⁰⁰ and finite, correct up to a relative 10⁻¹²."""
    return math.exp(min(max(x, -690.0), 709.0))


@dataclass(frozen=True)
class PassBounds:
    """Bounds of E[S₊], the part of their distance due to closed nodes, and whether it is complete.

    A pass is incomplete if it reached its work limit.
    """

    low: float
    high: float
    slack: float
    complete: bool


def branch_bounds(
    atoms: Atoms,
    table: Moments,
    n: int,
    goal: float,
    rtol: float,
    most_work: int,
    fourier: Fourier,
) -> PassBounds:
    """Return bounds that aim at a distance of `goal`, or at `rtol`, within `most_work` nodes."""
    search = _Search(atoms, table, tame(atoms, n), goal, rtol, most_work, fourier)
    low, high = search.run(root(atoms, n))
    return PassBounds(low * (1.0 - 1e-12), high * (1.0 + 1e-12), search.slack, search.complete)


@dataclass(frozen=True, eq=False)
class _Open:
    """Open nodes with their slack and the sign of their smaller part, shape (N,) each."""

    nodes: Nodes
    slack: FloatArray
    side: FloatArray

    def where(self, selection: NDArray | slice) -> _Open:
        """Return the selected nodes."""
        return _Open(self.nodes.where(selection), self.slack[selection], self.side[selection])

    def and_more(self, other_nodes: _Open) -> _Open:
        """Return the nodes of both sets."""
        if not other_nodes.nodes.size:
            return self
        return _Open(
            join_nodes([self.nodes, other_nodes.nodes]),
            np.concatenate([self.slack, other_nodes.slack]),
            np.concatenate([self.side, other_nodes.side]),
        )


@dataclass
class _Search:
    """Sums over closed nodes, and the parts of the width and of the work that remain."""

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
        self.closable, self.cuttable = _CLOSED_SHARE * self.goal, _LOST_SHARE * self.goal

    def run(self, nodes: Nodes) -> tuple[float, float]:
        """Return bounds of the sum over `nodes`."""
        open_nodes = self._close(nodes, _STEP_SHARE)
        while open_nodes.nodes.size:
            nodes, j = open_nodes.nodes, int(open_nodes.nodes.law.min())
            if self.work > self.most_work or self.leaves > 2 * _MAX_LEAVES:
                self._count(nodes, open_nodes.slack, *mean(nodes, self.atoms))
                self.complete = False
                break
            if nodes.size <= _MAX_LEAVES and self._leaf_candidates(j, j + 1).any():
                open_nodes = self._evaluate_leaves(open_nodes, j)
                continue
            open_nodes = self._draw(open_nodes, j)
        return self.low, self.high

    def _close(self, nodes: Nodes, share: float) -> _Open:
        """Close the nodes that fit into a share of the remaining width; return the others."""
        middle, err = mean(nodes, self.atoms)
        side = np.where(middle < 0.0, 1.0, -1.0)
        slack = log_slack(nodes, self.table, side)
        self.work += nodes.size
        spend(2e5 + 5e3 * nodes.size)
        closed = _closable(slack, share * self.closable)
        self._count(nodes.where(closed), slack[closed], middle[closed], err[closed])
        return _Open(nodes, slack, side).where(~closed)

    def _count(self, nodes: Nodes, slack: FloatArray, middle: FloatArray, err: FloatArray) -> None:
        """Add nodes to the sums by their means."""
        slack_sum = total(slack)
        mean_bounds = positive_parts(nodes, middle, err)
        self.low, self.high = self.low + mean_bounds[0], self.high + mean_bounds[1] + slack_sum
        self.closable, self.slack = self.closable - slack_sum, self.slack + slack_sum

    def _leaf_candidates(self, j: int, end: int) -> NDArray[np.bool_]:
        """Return a mask of the atoms j, …, `end` − 1 at which leaves should be tried."""
        columns = slice(j, end)
        return self.tame[columns] & (np.abs(self.atoms.values[columns]) < self.retry)

    def _evaluate_leaves(self, open_nodes: _Open, j: int) -> _Open:
        """Evaluate nodes by the Fourier engine, and return the others."""
        # Usually no nodes remain, so most of the remaining width is used to close nodes.
        reserve = _LEAF_STEP_SHARE * self.cuttable
        self.closable, self.cuttable = self.closable + reserve, self.cuttable - reserve
        open_nodes = self._close(open_nodes.nodes, _LEAF_STEP_SHARE)
        if not open_nodes.nodes.size:
            return open_nodes
        remaining_work = self.most_work - self.work
        if remaining_work < _LEAF_WORK * open_nodes.nodes.size:
            self.work = self.most_work + 1
            return open_nodes
        leaf_allowance = _LEAF_STEP_SHARE * max(self.closable, 0.0)
        self.closable -= leaf_allowance
        goal = _LEAF_SHARE * self.goal + leaf_allowance
        work = _WORK_PER_NODE * remaining_work * min(1.0, self.atoms.size / _ATOMS_FOR_FULL_WORK)
        sufficient_rtol = _SUFFICIENT_RTOL * self.rtol
        is_done, ends = leaves(
            self.atoms,
            open_nodes.nodes,
            open_nodes.slack,
            open_nodes.side,
            goal,
            sufficient_rtol,
            work,
            self.fourier,
        )
        self.leaves, self.work = self.leaves + is_done.size, self.work + _LEAF_WORK * is_done.size
        self.low, self.high = self.low + ends[0], self.high + ends[1]
        self.retry = 0.5 * abs(self.atoms.values[j])
        return open_nodes.where(~is_done)

    def _draw(self, open_nodes: _Open, j: int) -> _Open:
        """Return the open nodes, the first conditioned on the draws of the next few atoms."""
        atoms, table = self.atoms, self.table
        atom_limit = max(1, _MAX_BOUNDS // (open_nodes.nodes.size * table.theta.size))
        end = min(j + atom_limit, atoms.size)
        open_nodes = open_nodes.where(np.argsort(open_nodes.nodes.law, kind="stable"))
        first = open_nodes.nodes.where(slice(int(np.searchsorted(open_nodes.nodes.law, end))))
        bounds = log_bounds_if_drawn(first, atoms, table, j, end)
        allowance = _STEP_SHARE * self.cuttable
        left_out = negligible(bounds, 0.5 * allowance)
        # The step takes as many atoms as make `_MAX_CHILDREN` children, or up to the atom at which
        # the Fourier engine may take over, and beyond that if none of them is drawn.
        child_counts = np.cumsum(bounds.shape[0] - np.count_nonzero(left_out, axis=0))
        max_children = _MAX_CHILDREN
        candidates = np.flatnonzero(self._leaf_candidates(j + 1, end))
        if candidates.size:
            max_children = min(max_children, int(child_counts[candidates[0]]))
        end = j + max(1, int(np.searchsorted(child_counts, max_children, side="right")))
        count = int(np.searchsorted(first.law, end))
        # The enumeration covers at least the average number of draws of an atom.
        expected_draws = first.draws.max() * atoms.masses[j:end] / atoms.remaining[j:end]
        pairs = np.diff(child_counts[: end - j], prepend=0)
        if self.work + float(pairs @ (1.0 + expected_draws)) > self.most_work:
            self.work = self.most_work + 1
            return open_nodes
        rows_and_atoms = slice(count), slice(end - j)
        children = condition_on_draws(
            first.where(rows_and_atoms[0]),
            atoms,
            table,
            bounds[rows_and_atoms],
            left_out[rows_and_atoms],
            j,
            end,
            allowance,
        )
        self.high, self.cuttable = self.high + children.lost, self.cuttable - children.lost
        return self._close(children.nodes, _STEP_SHARE).and_more(
            open_nodes.where(slice(count, None))
        )


def _closable(slack: FloatArray, allowance: float) -> NDArray[np.bool_]:
    """Return a mask of the nodes of smallest slack whose sum stays below an allowance."""
    order = np.argsort(slack)
    with np.errstate(over="ignore", under="ignore"):
        slack_sums = np.cumsum(np.exp(slack[order]))
    closed = np.zeros(slack.size, dtype=bool)
    closed[order] = slack_sums <= max(allowance, 0.0)
    return closed | np.isneginf(slack)


def tree_bounds(
    g: Law, n: int, rtol: float, fourier: Fourier, most_work: int = _MAX_WORK
) -> tuple[float, float]:
    """Return bounds of log E[S₊], from a compressed law if there are many values.

    The bounds are (−inf, inf) if the engine fails. `fourier` evaluates nodes whose laws are tame;
    `most_work` limits the nodes of one pass.
    """
    if g.values.size <= _MAX_ATOMS or not (g.values.max() > 0.0 and np.isfinite(g.value_err).all()):
        return _log_bounds(g, n, rtol, fourier, most_work)
    tilted = tilt(g, tilting_point(g, n))
    if not math.isfinite(tilted.log_mgf_err):
        return -math.inf, math.inf
    low, high, cells = -math.inf, math.inf, _CELLS
    while high - low > rtol and cells <= _MAX_CELLS:
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
    """Return what `tree_bounds` does, without compression."""
    start = _outlook(g, n)
    if start is None:
        return -math.inf, math.inf
    atoms, table, ceiling, common, rare = start
    low, high = 0.0, ceiling * (1.0 + 1e-12)
    # If the whole has no finite bound, its parts have none, either.
    is_rough = rare < common or not ceiling < _LARGEST_SIZE
    size, goal = ceiling if is_rough else rare, math.inf
    for _ in range(_MAX_PASSES):
        previous_goal, goal = goal, (max(_ROUGH_RTOL, 0.5 * rtol) if is_rough else rtol) * size
        # A pass with nearly the same goal as the previous one would fail, too.
        if (
            not _SMALLEST_SIZE < size < _LARGEST_SIZE
            or _MAX_SHRINKAGE < goal / previous_goal < _MIN_GROWTH
        ):
            break
        pass_bounds = branch_bounds(atoms, table, n, goal, goal / size, most_work, fourier)
        low, high = max(low, pass_bounds.low), min(high, pass_bounds.high)
        if high - low <= rtol * high:
            break
        if high <= 2.0 * low or low > _MIN_GROWTH * size:
            # Leaves of a rough pass were not asked for precision, so their widths mean nothing.
            goal = math.inf if is_rough else goal
            size, is_rough = low, False
        elif is_rough and pass_bounds.complete:
            # Chernoff's bound of the common draws is too large, by a limited factor.
            lower_estimate = max(low, rare)
            size = max(lower_estimate, _CHERNOFF_FACTOR * pass_bounds.slack)
            is_rough = size > lower_estimate
        else:
            break
    # Sums this small may have subnormal terms, which lack precision.
    low = low if low > _SMALLEST_SIZE else 0.0
    scale = float(g.exponent) * math.log(2.0)
    log_low, log_high = (math.log(x) if x > 0.0 else -math.inf for x in (low, high))
    log_err = 1e-12 + 8.0 * U * abs(scale)
    return log_low + scale - log_err, (log_high + scale + log_err if high > 0.0 else math.inf)


class _Outlook(NamedTuple):
    """Atoms and moments, upper bounds of E[S₊] for all and for common draws, and an estimate."""

    atoms: Atoms
    table: Moments
    ceiling: float
    common: float
    rare: float


@functools.lru_cache(maxsize=1)
def _outlook(g: Law, n: int) -> _Outlook | None:
    """Return the data with which the tree begins, None if the law is out of its range.

    The last answer is cached, because a pass with few nodes is often followed by one with more.
    """
    if not (g.values.size and g.values.max() > 0.0 and np.isfinite(g.value_err).all()):
        return None
    atoms = recentred_atoms(g)
    if not (atoms.size and atoms.values.max() > 0.0 and np.abs(atoms.values).max() * n < 1e150):
        return None
    if not (
        atoms.remaining_err[:-1].max() <= _MAX_REMAINING_ERROR
        and np.isfinite(atoms.log_remaining_err[-1])
    ):
        return None
    table = moments(atoms, tilts(atoms, n))
    ceiling, common = (_ceiling(atoms, table, n, j) for j in (0, _first_tame(atoms, n)))
    return _Outlook(atoms, table, ceiling, common, _rare_draw_estimate(atoms, n))


def _first_tame(atoms: Atoms, n: int) -> int:
    """Return the first law that the Fourier engine may evaluate, or the last law if none is."""
    indices = np.flatnonzero(tame(atoms, n))
    return int(indices[0]) if indices.size else atoms.size


def _ceiling(atoms: Atoms, table: Moments, n: int, j: int) -> float:
    """Return an upper bound of E[S₊] if all draws were of law j."""
    node = replace(root(atoms, n), law=np.full(1, j))
    return exp_up(float(log_slack(node, table, np.ones(1))[0]))


def _rare_draw_estimate(atoms: Atoms, n: int) -> float:
    """Return an estimate of what rare draws add to E[S₊] with all other draws at their mean.

    The rare draws are single draws of the largest atoms, or the smallest sufficient number of draws
    of one atom. The estimate is the largest over several numbers of atoms, and mostly not above
    E[S₊].
    """
    ends = np.unique(np.linspace(0.0, atoms.size, _ATOM_COUNTS).astype(np.int64))
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
