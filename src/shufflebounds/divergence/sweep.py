"""The divergence where large values are rare: condition on their draws, largest first.

The tilt of the smooth engine (`fourier`) follows a rare jump, while the bulk of S may live decades
below it. Here the draws of the largest atoms are enumerated, as far as they can matter, until what
is left is tame and the smooth engine can take over. A branch is closed as soon as a Chernoff
bound says that its positive or its negative part is negligible. Proofs: docs/engine.md, section 11.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.atoms import Atoms, Moments, moments, recentred, tilts
from shufflebounds.divergence.compress import compress
from shufflebounds.divergence.enclosing import enclose
from shufflebounds.divergence.law import Law, U, tilt
from shufflebounds.divergence.leaves import exp_up, tame
from shufflebounds.divergence.nodes import log_slack, root
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.tree import tree_bounds
from shufflebounds.enclosure import Enclosure

# Relative width of a first pass, which finds the size of the result, and the passes in all.
_ROUGH, _PASSES = 0.03, 8
# Another pass is made where the size turned out to be so many times larger, or that share of what
# was taken for it.
_MUCH_LARGER, _NO_LESS = 3.0, 0.7
# What is taken for the size where only Chernoff's bound is known, relative to that.
_CHERNOFF = 1e-2
# Numbers of atoms that this is tried with.
_ENDS = 33
_MOST_WORK = 200_000
# More values than this are united first, in so many cells and then more, at most that many.
_MOST_ATOMS, _CELLS, _FINEST_CELLS = 1024, 256, 1024
# No R_j may be known less well than this, relatively: their errors are taken to first order.
_COARSE = 2e-3
# No size of E[S₊], relative to the largest value, beyond these is attempted.
_SMALLEST, _LARGEST = 1e-250, 1e300


def sweep(decomposition: Decomposition, eps: float, n: int, rtol: float = 1e-4) -> Enclosure:
    """Enclosure of the divergence D(ε) of (a, b, c), in this one direction, for n ≥ 1 users.

    Like `fourier`, and for the laws that are hard for it: few, rare, large values above many small
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
    low, high, cells = -math.inf, math.inf, _CELLS
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
        found = tree_bounds(atoms, table, n, goal, goal / size, most_work)
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
    scale = g.exponent * math.log(2.0)
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
    """What a sweep begins with; None where nothing is attempted.

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
    ceiling, common = (_chernoff(atoms, table, n, j) for j in (0, _first_tame(atoms, n)))
    return _Outlook(atoms, table, ceiling, common, _rare_draws(atoms, n))


def _first_tame(atoms: Atoms, n: int) -> int:
    """The first law that the smooth engine may evaluate; the last one if there is none."""
    found = np.flatnonzero(tame(atoms, n))
    return int(found[0]) if found.size else atoms.size


def _chernoff(atoms: Atoms, table: Moments, n: int, j: int) -> float:
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
