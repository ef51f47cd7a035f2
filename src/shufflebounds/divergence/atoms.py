"""A law by falling size of its values, for the tree engine: recentred, with the laws of its tails.

Notation: the values h are those of G minus the likeliest one, the base; atom 0 may be the largest.
"Law j" is that of one draw given that it is none of the atoms before j: masses p_i/R_j for i ≥ j,
and what remains of R_j = 1 − Σ_{i<j} p_i sits at the base, 0. The proofs are in docs/engine.md,
section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import Law, U

# Tilts per decade, and the range: θ times the largest reach, and times the smallest value. Bounds
# hold at every tilt: which are tried decides speed and width (benchmarks/deployer_grid.py).
_PER_DECADE, _LOWEST, _HIGHEST, _MOST_TILTS = 3, 0.01, 300.0, 120
# How narrowly one draw may miss 0, as a share of what it must make up for.
_NARROWLY = 1e-3
# The smallest value that counts, as a share of the largest reach: tilts must be finite.
_TINY = 1e-200
# Tilts times atoms held in memory at once.
_BLOCK = 2**14
# A mass known no better than this may be anything from 0, or e^{−2·void}, to its largest. For
# others the factor 1.02 in `_shares` covers what the first order of their errors leaves out.
_DOUBTFUL, _VOID = 0.01, 400.0
# Where all other atoms may have less than this share, nothing is claimed of it.
_LEAST_REST = 0.01


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms away from the base, by falling |h| + error, and what is known of law j, j = 0, …, A.

    ``values``, ``masses`` have shape (A,); the true values lie within ``value_err`` (A,), the true
    masses within the relative distances ``mass_err`` (A,), which are at most about 1. ``base`` is
    the value that was subtracted, off by at most ``base_err``. ``left`` (A + 1,) are the R_j, good
    to the relative ``left_err`` (A + 1,), ``mean`` (A + 1,) the means of law j, good to
    ``mean_err`` (A + 1,).

    Of the draws from law j, ``log_share`` (A,) is log p_j/R_j and ``log_other`` (A,) that of the
    contrary; ``log_left`` (A + 1,) is log R_j/R_0. Their errors are absolute; those of
    ``log_left`` add up: R_i/R_j is known to within the difference of two, and ``rounding`` of the
    larger of both. ``odds`` (A,) are upper bounds of p_j/(R_j − p_j).
    """

    values: FloatArray
    value_err: FloatArray
    masses: FloatArray
    mass_err: FloatArray
    base: float
    base_err: float
    left: FloatArray
    left_err: FloatArray
    mean: FloatArray
    mean_err: FloatArray
    log_share: FloatArray
    share_err: FloatArray
    log_other: FloatArray
    other_err: FloatArray
    log_left: FloatArray
    log_left_err: FloatArray
    odds: FloatArray

    @property
    def size(self) -> int:
        """The number of atoms away from the base."""
        return self.values.size


def recentred(g: Law) -> Atoms:
    """The atoms of a law around its likeliest value, the residual atom being one of them."""
    values, value_err = np.append(g.values, 0.0), np.append(g.value_err, 0.0)
    # The residual lies anywhere in this interval, which may be all that is known of it.
    least, most = (
        max(0.0, g.residual - g.residual_err) * (1.0 - U),
        (g.residual + g.residual_err) * (1.0 + U),
    )
    rest = 0.5 * (least + most)
    rest_err = 0.5 * (most - least) / rest * (1.0 + 8.0 * U) + 4.0 * U if rest > 0.0 else 0.0
    masses, mass_err = np.append(g.masses, rest), np.append(g.mass_err + 0.0 * g.masses, rest_err)
    star = int(np.argmax(masses))
    keep = masses > 0.0
    keep[star] = False
    h = values - values[star]
    h_err = value_err + value_err[star] + U * np.abs(h)
    order = np.argsort(-(np.abs(h) + h_err)[keep], kind="stable")
    base_mass, base_mass_err = float(masses[star]), float(mass_err[star])
    h, h_err, masses, mass_err = (x[keep][order] for x in (h, h_err, masses, mass_err))

    rounding = (2.0 * masses.size + 8.0) * U
    left = base_mass + _tails(masses)
    slip = (base_mass * base_mass_err + _tails(masses * mass_err)) * (1.0 + 1e-9)
    left_err = slip / left + rounding
    mean = _tails(masses * h) / left
    slip = _tails(masses * (np.abs(h) * (mass_err + rounding) + (1.0 + mass_err) * h_err)) / left
    mean_err = (slip + np.abs(mean) * left_err) / (1.0 - left_err) * (1.0 + 1e-9)
    return Atoms(
        h,
        h_err,
        masses,
        mass_err,
        float(values[star]),
        float(value_err[star]),
        left,
        left_err,
        mean,
        mean_err,
        *_shares(masses, mass_err, left, left_err),
    )


def _shares(
    masses: FloatArray, mass_err: FloatArray, left: FloatArray, left_err: FloatArray
) -> tuple[FloatArray, ...]:
    """The logarithms of `Atoms`, each followed by its error, and the odds."""
    share = masses / left[:-1]
    rel = (mass_err + left_err[:-1]) * 1.02 + 4.0 * U
    doubtful = rel > _DOUBTFUL  # any share up to the largest
    log_share = np.log(np.where(doubtful, share * (1.0 + rel), share)) - _VOID * doubtful
    share_err = np.where(doubtful, _VOID, rel)
    rest = 1.0 - share - share * rel
    with np.errstate(divide="ignore", invalid="ignore"):
        log_other = np.log1p(-share)
        other_err = 1.01 * share * rel / rest - 4.0 * U * log_other
        odds = share * (1.0 + rel) / rest * (1.0 + 1e-12)
    other_err[rest < _LEAST_REST] = np.inf
    log_left, log_left_err = np.zeros(left.size), np.zeros(left.size)
    np.cumsum(log_other, out=log_left[1:])
    np.cumsum(other_err, out=log_left_err[1:])
    return log_share, share_err, log_other, other_err, log_left, log_left_err, odds


def _tails(x: FloatArray) -> FloatArray:
    """Sums of x[j:] for j = 0, …, len(x), along the first axis."""
    sums = np.zeros((x.shape[0] + 1, *x.shape[1:]))
    sums[:-1] = np.cumsum(x[::-1], axis=0)[::-1]
    return sums


@dataclass(frozen=True, eq=False)
class Moments:
    """Bounds of log E e^{θH} of every law j, H a draw of it, and what one draw of an atom adds.

    ``theta`` (T,) > 0 are exact. ``upper`` (2, A + 1, T) are upper bounds at θ, then at −θ, inf
    where it overflows, ``lower`` (A + 1, T) lower bounds at θ, −inf where ``upper`` is inf. ``one``
    (A, T) are upper bounds of log p_i e^{θh_i}, and ``scale`` (T,) is log(eθ).
    """

    theta: FloatArray
    upper: FloatArray
    lower: FloatArray
    one: FloatArray
    scale: FloatArray


def moments(atoms: Atoms, theta: FloatArray) -> Moments:
    """Tabulate log1p(Σ_{i≥j} p_i expm1(θh_i)/R_j) with its error, for both signs of θ."""
    shape = atoms.size + 1, theta.size
    upper, lower = np.empty((2, *shape)), np.empty(shape)
    one = np.empty((atoms.size, theta.size))
    most = (atoms.masses * (1.0 + atoms.mass_err))[:, None]
    log_most = np.log(most)
    log_most += 8.0 * U * np.abs(log_most) + 1e-12
    doubt = (2.0 * U * np.abs(atoms.values) + atoms.value_err)[:, None] * (1.0 + 4.0 * U)
    step = max(1, _BLOCK // atoms.size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for start in range(0, theta.size, step):
            part = slice(start, start + step)
            x, x_err = atoms.values[:, None] * theta[part], doubt * theta[part]
            one[:, part] = x + (x_err + 8.0 * U * np.abs(x)) + log_most
            k, err = _log_moment(atoms, x, x_err, most)
            upper[0, :, part] = np.where(err <= 0.5, k + err, np.inf)
            lower[:, part] = np.where(err <= 0.5, k - err, -np.inf)
            k, err = _log_moment(atoms, -x, x_err, most)
            upper[1, :, part] = np.where(err <= 0.5, k + err, np.inf)
    return Moments(theta, upper, lower, one, 1.0 + np.log(theta))


def _log_moment(
    atoms: Atoms, x: FloatArray, x_err: FloatArray, most: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """K_j from the exponents and their errors, and its error, which means nothing beyond ½.

    The error includes 8u|K|, for the product with a number of draws. `most` are the largest masses.
    """
    rounding = (2.0 * atoms.size + 16.0) * U + 1.01 * float(atoms.left_err.max())
    growth = np.expm1(x)
    slip = (growth + 1.0) * (x_err * (1.72 * most))
    # Errors grow with the tilt.
    if x_err[:, -1].max() >= 1.0:
        atom, vague = np.nonzero(x_err >= 1.0)
        slip[atom, vague] = most[atom, 0] * np.exp(x[atom, vague] + x_err[atom, vague])
    growth *= atoms.masses[:, None]
    slip += np.abs(growth) * (atoms.mass_err + rounding)[:, None]
    total, slip = _tails(growth), _tails(slip)
    left = atoms.left[:, None]
    slip /= total + left
    total /= left
    k = np.log1p(total, out=total)
    return k, 2.0 * slip + 12.0 * U * np.abs(k) + 2.0**-1000


def tilts(atoms: Atoms, n: int) -> FloatArray:
    """Tilts on a logarithmic grid, from the largest reach of S to the smallest value that counts.

    What draws far below 0 are worth does not depend on how far, hence positive reaches only. Where
    S is without a draw, or with one, counts as well: large tilts tell that from 0.
    """
    h, masses = atoms.values, atoms.masses
    common = np.abs(h) <= float(h.max(initial=0.0))
    spread = math.sqrt(n * float(masses[common] @ h[common] ** 2))
    largest = max(float(h.max()), spread, n * atoms.base)
    counted = np.abs(h[common & (n * masses > 1e-3) & (h != 0.0)])
    smallest = float(counted.min(initial=largest))
    if atoms.base != 0.0:
        missing = abs(n * atoms.base)
        after = np.abs(n * atoms.base + h[common]).min()
        smallest = min(smallest, missing, max(float(after), _NARROWLY * missing))
    smallest = max(smallest, _TINY * largest)
    low, high = math.log10(_LOWEST / largest), math.log10(_HIGHEST / smallest)
    count = min(_MOST_TILTS, math.ceil((high - low) * _PER_DECADE) + 2)
    return 10.0 ** np.linspace(low, high, count)


# Nodes of the tree: what has been drawn of the largest atoms, and what that leaves to evaluate.
#
# A node stands for w E(B + v)₊ with B the sum of n′ draws of law j (`atoms`): w is the probability
# of what was drawn, v the base n times over plus what was drawn. The proofs are in docs/engine.md,
# section 11.

# Tilts times nodes held in memory at once.
_NODES_AT_ONCE = 2**13


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
    block = max(1, _NODES_AT_ONCE // table.theta.size)
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


# Children of nodes: by the first of the next atoms that is drawn, and how often.
#
# The proofs are in docs/engine.md, section 11.

# More draws of one atom than the last are bounded, not enumerated; from how many on is tried in
# this order. That decides speed only (benchmarks/deployer_grid.py).
_COUNTS = np.array([2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257], dtype=np.float64)
# Nodes times atoms times tilts held in memory at once.
_DRAWS_AT_ONCE = 2**13

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
    block = max(1, 2 * _DRAWS_AT_ONCE // max(1, each.size))
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
    block = max(1, _DRAWS_AT_ONCE // table.theta.size)
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
