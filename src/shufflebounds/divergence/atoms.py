"""The atoms of a law by falling size of their values, and the nodes of the tree engine.

Notation: the values h are those of G minus the likeliest one, the base; atom 0 may be the largest.
"Law j" is that of one draw given that it is none of the atoms before j: masses p_i/R_j for i ≥ j,
and what remains of R_j = 1 − Σ_{i<j} p_i sits at the base, 0.

A node stands for w E(B + v)₊, where B is the sum of n′ draws of law j, w is the probability of the
draws so far, and v is n times the base plus these draws. Its children are conditioned on the first
of the next atoms that is drawn, and on how often. Proofs: docs/engine.md, section 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import Law, U

# Number of tilts per decade. Bounds hold at every tilt, so this and the next five numbers decide
# about speed and width only (benchmarks/deployer_grid.py).
_TILTS_PER_DECADE = 3
# Smallest tilt, times the largest reach of S.
_LOWEST_TILT = 0.01
# Largest tilt, times the smallest relevant value.
_HIGHEST_TILT = 300.0
# Largest number of tilts.
_MAX_TILTS = 120
# Smallest distance from 0 after one draw that is resolved, as a share of the distance before it.
_SMALLEST_MISS = 1e-3
# Smallest relevant value, as a share of the largest reach, so that tilts are finite.
_SMALLEST_VALUE = 1e-200
# Largest number of tilts times atoms in memory at once.
_BLOCK = 2**14
# Relative error above which a mass may be anything from 0 to its largest value. Below it, the
# factor 1.02 in `_shares` covers what the first order of the errors leaves out.
_MAX_MASS_ERROR = 0.01
# Error of the logarithm of such a mass; e to the power of minus twice this counts as 0.
_LOG_UNKNOWN = 400.0
# If all other atoms may have less than this share, nothing is claimed of it.
_MIN_OTHERS_SHARE = 0.01
# Largest number of tilts times nodes in memory at once.
_NODES_AT_ONCE = 2**13
# Numbers of draws of one atom from which on draws are bounded instead of enumerated, in the order
# of trial. Speed only (benchmarks/deployer_grid.py).
_COUNTS = np.array([2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257], dtype=np.float64)
# Largest number of nodes times atoms times tilts in memory at once.
_DRAWS_AT_ONCE = 2**13

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms away from the base, by falling |h| + error, and the properties of law j, j = 0, …, A.

    ``values`` and ``masses`` have shape (A,), with absolute errors of at most ``value_err`` (A,)
    and relative errors of at most ``mass_err`` (A,), which are at most about 1. ``base`` is the
    value that was subtracted, with an error of at most ``base_err``. ``remaining`` (A + 1,) are the
    R_j, with relative errors ``remaining_err`` (A + 1,). ``mean`` (A + 1,) are the means of law j,
    with errors ``mean_err`` (A + 1,).

    ``log_share`` (A,) is log p_j/R_j, ``log_other`` (A,) is log(1 − p_j/R_j), and ``log_remaining``
    (A + 1,) is log R_j/R_0. Their errors are absolute. Those of ``log_remaining`` add up: the error
    of log R_i/R_j is the difference of two, plus rounding. ``odds`` (A,) are upper bounds of
    p_j/(R_j − p_j).
    """

    values: FloatArray
    value_err: FloatArray
    masses: FloatArray
    mass_err: FloatArray
    base: float
    base_err: float
    remaining: FloatArray
    remaining_err: FloatArray
    mean: FloatArray
    mean_err: FloatArray
    log_share: FloatArray
    share_err: FloatArray
    log_other: FloatArray
    other_err: FloatArray
    log_remaining: FloatArray
    log_remaining_err: FloatArray
    odds: FloatArray

    @property
    def size(self) -> int:
        """The number of atoms away from the base."""
        return self.values.size


def recentred_atoms(g: Law) -> Atoms:
    """Return the atoms of a law around its likeliest value, including the residual atom."""
    values, value_err = np.append(g.values, 0.0), np.append(g.value_err, 0.0)
    # The residual lies anywhere in this interval.
    residual_low, residual_high = (
        max(0.0, g.residual - g.residual_err) * (1.0 - U),
        (g.residual + g.residual_err) * (1.0 + U),
    )
    residual = 0.5 * (residual_low + residual_high)
    residual_mass_err = (
        0.5 * (residual_high - residual_low) / residual * (1.0 + 8.0 * U) + 4.0 * U
        if residual > 0.0
        else 0.0
    )
    masses, mass_err = (
        np.append(g.masses, residual),
        np.append(g.mass_err + 0.0 * g.masses, residual_mass_err),
    )
    base_index = int(np.argmax(masses))
    is_atom = masses > 0.0
    is_atom[base_index] = False
    h = values - values[base_index]
    h_err = value_err + value_err[base_index] + U * np.abs(h)
    order = np.argsort(-(np.abs(h) + h_err)[is_atom], kind="stable")
    base_mass, base_mass_err = float(masses[base_index]), float(mass_err[base_index])
    h, h_err, masses, mass_err = (x[is_atom][order] for x in (h, h_err, masses, mass_err))

    rounding = (2.0 * masses.size + 8.0) * U
    remaining = base_mass + _tails(masses)
    error_sum = (base_mass * base_mass_err + _tails(masses * mass_err)) * (1.0 + 1e-9)
    remaining_err = error_sum / remaining + rounding
    mean = _tails(masses * h) / remaining
    error_sum = (
        _tails(masses * (np.abs(h) * (mass_err + rounding) + (1.0 + mass_err) * h_err)) / remaining
    )
    mean_err = (error_sum + np.abs(mean) * remaining_err) / (1.0 - remaining_err) * (1.0 + 1e-9)
    return Atoms(
        h,
        h_err,
        masses,
        mass_err,
        float(values[base_index]),
        float(value_err[base_index]),
        remaining,
        remaining_err,
        mean,
        mean_err,
        *_shares(masses, mass_err, remaining, remaining_err),
    )


def _shares(
    masses: FloatArray, mass_err: FloatArray, remaining: FloatArray, remaining_err: FloatArray
) -> tuple[FloatArray, ...]:
    """Return the logarithms of `Atoms`, each followed by its error, and the odds."""
    share = masses / remaining[:-1]
    relative_err = (mass_err + remaining_err[:-1]) * 1.02 + 4.0 * U
    # These shares may be anything up to the largest.
    doubtful = relative_err > _MAX_MASS_ERROR
    log_share = (
        np.log(np.where(doubtful, share * (1.0 + relative_err), share)) - _LOG_UNKNOWN * doubtful
    )
    share_err = np.where(doubtful, _LOG_UNKNOWN, relative_err)
    others_share = 1.0 - share - share * relative_err
    with np.errstate(divide="ignore", invalid="ignore"):
        log_other = np.log1p(-share)
        other_err = 1.01 * share * relative_err / others_share - 4.0 * U * log_other
        odds = share * (1.0 + relative_err) / others_share * (1.0 + 1e-12)
    other_err[others_share < _MIN_OTHERS_SHARE] = np.inf
    log_remaining, log_remaining_err = np.zeros(remaining.size), np.zeros(remaining.size)
    np.cumsum(log_other, out=log_remaining[1:])
    np.cumsum(other_err, out=log_remaining_err[1:])
    return log_share, share_err, log_other, other_err, log_remaining, log_remaining_err, odds


def _tails(x: FloatArray) -> FloatArray:
    """Return the sums of x[j:] for j = 0, …, len(x), along the first axis."""
    sums = np.zeros((x.shape[0] + 1, *x.shape[1:]))
    sums[:-1] = np.cumsum(x[::-1], axis=0)[::-1]
    return sums


@dataclass(frozen=True, eq=False)
class Moments:
    """Bounds of log E e^{θH} for a draw H of each law j, and the contribution of one draw.

    ``theta`` (T,) > 0 are exact. ``upper`` (2, A + 1, T) are upper bounds at θ, then at −θ, inf on
    overflow. ``lower`` (A + 1, T) are lower bounds at θ, −inf where ``upper`` is inf. ``one_draw``
    (A, T) are upper bounds of log p_i e^{θh_i}, and ``scale`` (T,) is log(eθ).
    """

    theta: FloatArray
    upper: FloatArray
    lower: FloatArray
    one_draw: FloatArray
    scale: FloatArray


def moments(atoms: Atoms, theta: FloatArray) -> Moments:
    """Return bounds of log1p(Σ_{i≥j} p_i expm1(θh_i)/R_j) for all j, θ and both signs of θ."""
    shape = atoms.size + 1, theta.size
    upper, lower = np.empty((2, *shape)), np.empty(shape)
    one_draw = np.empty((atoms.size, theta.size))
    largest_masses = (atoms.masses * (1.0 + atoms.mass_err))[:, None]
    log_largest_masses = np.log(largest_masses)
    log_largest_masses += 8.0 * U * np.abs(log_largest_masses) + 1e-12
    exponent_err = (2.0 * U * np.abs(atoms.values) + atoms.value_err)[:, None] * (1.0 + 4.0 * U)
    step = max(1, _BLOCK // atoms.size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for start in range(0, theta.size, step):
            columns = slice(start, start + step)
            x, x_err = atoms.values[:, None] * theta[columns], exponent_err * theta[columns]
            one_draw[:, columns] = x + (x_err + 8.0 * U * np.abs(x)) + log_largest_masses
            k, err = _log_moment(atoms, x, x_err, largest_masses)
            upper[0, :, columns] = np.where(err <= 0.5, k + err, np.inf)
            lower[:, columns] = np.where(err <= 0.5, k - err, -np.inf)
            k, err = _log_moment(atoms, -x, x_err, largest_masses)
            upper[1, :, columns] = np.where(err <= 0.5, k + err, np.inf)
    return Moments(theta, upper, lower, one_draw, 1.0 + np.log(theta))


def _log_moment(
    atoms: Atoms, x: FloatArray, x_err: FloatArray, largest_masses: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return K_j and its error, given the exponents and their errors.

    The error is valid up to ½. It includes 8u|K|, for the product with a number of draws.
    `largest_masses` are upper bounds of the masses.
    """
    rounding = (2.0 * atoms.size + 16.0) * U + 1.01 * float(atoms.remaining_err.max())
    growth = np.expm1(x)
    err_terms = (growth + 1.0) * (x_err * (1.72 * largest_masses))
    # Errors grow with the tilt.
    if x_err[:, -1].max() >= 1.0:
        atom, column = np.nonzero(x_err >= 1.0)
        err_terms[atom, column] = largest_masses[atom, 0] * np.exp(
            x[atom, column] + x_err[atom, column]
        )
    growth *= atoms.masses[:, None]
    err_terms += np.abs(growth) * (atoms.mass_err + rounding)[:, None]
    total, err_terms = _tails(growth), _tails(err_terms)
    remaining = atoms.remaining[:, None]
    err_terms /= total + remaining
    total /= remaining
    k = np.log1p(total, out=total)
    return k, 2.0 * err_terms + 12.0 * U * np.abs(k) + 2.0**-1000


def tilts(atoms: Atoms, n: int) -> FloatArray:
    """Return tilts on a logarithmic grid, for the largest reach of S to the smallest value.

    Only positive reaches matter, since draws far below 0 have the same effect at any distance. The
    positions of S without a draw, and with one draw, matter as well: large tilts resolve their
    distance from 0.
    """
    h, masses = atoms.values, atoms.masses
    common = np.abs(h) <= float(h.max(initial=0.0))
    spread = math.sqrt(n * float(masses[common] @ h[common] ** 2))
    largest = max(float(h.max()), spread, n * atoms.base)
    relevant = np.abs(h[common & (n * masses > 1e-3) & (h != 0.0)])
    smallest = float(relevant.min(initial=largest))
    if atoms.base != 0.0:
        base_sum = abs(n * atoms.base)
        one_draw_values = np.abs(n * atoms.base + h[common]).min()
        smallest = min(smallest, base_sum, max(float(one_draw_values), _SMALLEST_MISS * base_sum))
    smallest = max(smallest, _SMALLEST_VALUE * largest)
    low, high = math.log10(_LOWEST_TILT / largest), math.log10(_HIGHEST_TILT / smallest)
    count = min(_MAX_TILTS, math.ceil((high - low) * _TILTS_PER_DECADE) + 2)
    return 10.0 ** np.linspace(low, high, count)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Arrays of shape (N,): j, n′ (whole numbers), v, log w, and the errors of v and log w.

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
        """Return the chosen nodes, by mask, indices or slice."""
        return Nodes(
            self.law[chosen],
            self.draws[chosen],
            self.value[chosen],
            self.value_err[chosen],
            self.log_weight[chosen],
            self.weight_err[chosen],
        )


def join_nodes(sets: list[Nodes]) -> Nodes:
    """Return all nodes of the sets."""
    if len(sets) == 1:
        return sets[0]
    names = ("law", "draws", "value", "value_err", "log_weight", "weight_err")
    return Nodes(*(np.concatenate([getattr(nodes, name) for nodes in sets]) for name in names))


def root(atoms: Atoms, n: int) -> Nodes:
    """Return the node before any draw: n draws, v = n times the base, weight 1."""
    value = n * atoms.base
    err = n * atoms.base_err + 2.0 * U * abs(value)
    ones = np.ones(1)
    return Nodes(np.zeros(1, np.int64), n * ones, value * ones, err * ones, 0.0 * ones, 0.0 * ones)


def mean(nodes: Nodes, atoms: Atoms) -> tuple[FloatArray, FloatArray]:
    """Return E(B + v) of each node and a bound of its error, both without the weight."""
    drift = nodes.draws * atoms.mean[nodes.law]
    err = nodes.value_err + nodes.draws * atoms.mean_err[nodes.law]
    return nodes.value + drift, err + 4.0 * U * (np.abs(nodes.value) + np.abs(drift))


def log_slack(nodes: Nodes, table: Moments, sign: FloatArray) -> FloatArray:
    """Return upper bounds of log w E(B + v)₊ for `sign` 1, or of log w E(B + v)₋ for `sign` −1.

    They are Chernoff's, x₊ ≤ e^{θx}/(eθ), at the best θ of the table, and −inf if no draw is left.
    """
    slack = np.empty(nodes.size)
    reach = sign * nodes.value + margin(nodes)
    side = (sign < 0.0).astype(np.int64)
    block = max(1, _NODES_AT_ONCE // table.theta.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, nodes.size, block):
            rows = slice(start, start + block)
            bound = table.upper[side[rows], nodes.law[rows]]
            bound *= nodes.draws[rows, None]
            bound += reach[rows, None] * table.theta
            bound -= table.scale
            slack[rows] = bound.min(axis=1)
        slack += nodes.log_weight + log_weight_margin(nodes)
    certain = (nodes.draws == 0.0) | (nodes.law == table.upper.shape[1] - 1)
    return np.where(certain, -np.inf, round_up_exponents(slack))


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


def margin(nodes: Nodes) -> FloatArray:
    """Return the error of v, for bounds that grow with v, including the rounding of the sum."""
    return nodes.value_err * (1.0 + 8.0 * U) + 8.0 * U * np.abs(nodes.value)


def log_weight_margin(nodes: Nodes) -> FloatArray:
    """Return the error of log w, including the rounding of the sum."""
    return nodes.weight_err * (1.0 + 4.0 * U) + 4.0 * U * np.abs(nodes.log_weight)


def round_up_exponents(x: FloatArray) -> FloatArray:
    """Return sums of a few exponents, increased by more than their roundings."""
    # The logarithm of 0 has no rounding.
    x = np.maximum(x, -1e300)
    return x + 1e-11 + 64.0 * U * np.abs(x)


def log_bounds_if_drawn(
    nodes: Nodes, atoms: Atoms, table: Moments, start: int, end: int
) -> FloatArray:
    """Return bounds of log w E[(B + v)₊; atom i is drawn] for atoms i = start, …, end − 1.

    They have shape (N, end − start), and are −inf for atoms that come before the law of a node.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        k = table.upper[0, nodes.law]
        log_bounds = k * (nodes.draws - 1.0)[:, None]
        log_bounds += (nodes.value + margin(nodes))[:, None] * table.theta
        log_bounds -= table.scale
        log_bounds = np.where(np.isfinite(k), log_bounds, np.inf)
    log_bounds += (nodes.log_weight + log_weight_margin(nodes) + np.log(nodes.draws))[:, None]
    log_bounds -= np.log(atoms.remaining * (1.0 - atoms.remaining_err - 8.0 * U))[nodes.law, None]
    one_draw = table.one_draw[start:end]
    result = np.empty((nodes.size, end - start))
    block = max(1, 2 * _DRAWS_AT_ONCE // max(1, log_bounds.size))
    for first in range(0, end - start, block):
        columns = slice(first, first + block)
        result[:, columns] = (log_bounds[:, None] + one_draw[columns]).min(axis=2)
    return np.where(np.arange(start, end) < nodes.law[:, None], -np.inf, round_up_exponents(result))


def negligible(bounds: FloatArray, allowance: float) -> NDArray[np.bool_]:
    """Return a mask of small bounds (logarithms) whose sum is below an allowance."""
    is_negligible = np.isneginf(bounds)
    count = bounds.size - int(np.count_nonzero(is_negligible))
    for _ in range(2):
        if not count:
            break
        is_negligible |= bounds <= math.log(max(allowance, 1e-300) / (2.0 * count))
        count = bounds.size - int(np.count_nonzero(is_negligible))
        allowance *= 0.5
    return is_negligible


@dataclass(frozen=True, eq=False)
class Children:
    """The nodes that replace others, and a bound of the part that is lost."""

    nodes: Nodes
    lost: float


def condition_on_draws(
    nodes: Nodes,
    atoms: Atoms,
    table: Moments,
    bounds: FloatArray,
    left_out: NDArray[np.bool_],
    start: int,
    end: int,
    allowance: float,
) -> Children:
    """Return the nodes conditioned on the draws of atoms up to `end` − 1.

    They are nodes of law `end` without such draws, and children by the first atom that is drawn and
    the number of its draws. `bounds` are those of `log_bounds_if_drawn` from `start` on; where
    `left_out` is True, the atom counts as lost if it is drawn. The loss aims at `allowance`.
    """
    lost = total(bounds[left_out])
    parent, atom = np.nonzero(~left_out)
    atom += start
    idle = _nodes_without_draws(nodes, atoms, end)
    if not parent.size:
        return Children(idle, lost)
    log_goal = math.log(max(allowance / (2.0 * parent.size), 1e-300))
    max_draws, log_tail = _draw_limits(nodes, atoms, table, parent, atom, log_goal)
    pair_of_child = np.repeat(np.arange(parent.size), max_draws)
    count = (
        np.arange(pair_of_child.size) - np.repeat(np.cumsum(max_draws) - max_draws, max_draws) + 1
    )
    possible = count <= nodes.draws[parent[pair_of_child]]
    pair_of_child, count = pair_of_child[possible], count[possible]
    ways = _log_binomials(nodes.draws[parent], int(max_draws.max()))
    children = _children(
        nodes,
        atoms,
        parent[pair_of_child],
        atom[pair_of_child],
        count.astype(np.float64),
        tuple(x[pair_of_child, count] for x in ways),
    )
    return Children(join_nodes([idle, children]), lost + total(log_tail))


def _nodes_without_draws(nodes: Nodes, atoms: Atoms, end: int) -> Nodes:
    """Return the nodes given that no atom before `end` is drawn any more."""
    log_gain, log_err = _log_no_draws(nodes.law, nodes.draws, atoms, end)
    log_err += 4.0 * U * (np.abs(log_gain) + np.abs(nodes.log_weight))
    return Nodes(
        np.full(nodes.size, end),
        nodes.draws,
        nodes.value,
        nodes.value_err,
        nodes.log_weight + log_gain,
        nodes.weight_err + log_err,
    )


def _log_no_draws(
    law: Indices, draws: FloatArray, atoms: Atoms, end: int | Indices
) -> tuple[FloatArray, FloatArray]:
    """Return n′ log R_end/R_j and its error."""
    log, err = atoms.log_remaining, atoms.log_remaining_err
    log_err = (err[end] - err[law]) + 4.0 * atoms.size * U * (err[end] - log[end])
    return draws * (log[end] - log[law]), draws * np.where(law == end, 0.0, log_err)


def _children(
    nodes: Nodes,
    atoms: Atoms,
    parent: Indices,
    atom: Indices,
    count: FloatArray,
    log_ways: tuple[FloatArray, ...],
) -> Nodes:
    """Return the children of `parent` by `count` draws of `atom`, and none of those before it."""
    law, draws = nodes.law[parent], nodes.draws[parent]
    value, log_weight = nodes.value[parent], nodes.log_weight[parent]
    remaining_draws = draws - count
    shift = count * atoms.values[atom]
    value_err = nodes.value_err[parent] + count * atoms.value_err[atom]
    value_err += 2.0 * U * (np.abs(value) + np.abs(shift))
    log_gain, gain_err = _log_no_draws(law, draws, atoms, atom)
    ways, size = log_ways
    share_terms, other_terms = (
        count * atoms.log_share[atom],
        remaining_draws * atoms.log_other[atom],
    )
    err = nodes.weight_err[parent] + gain_err
    err += count * atoms.share_err[atom] + np.abs(remaining_draws) * atoms.other_err[atom]
    size = size + np.abs(share_terms) + np.abs(other_terms) + np.abs(log_weight) + np.abs(log_gain)
    return Nodes(
        atom + 1,
        remaining_draws,
        value + shift,
        value_err,
        log_weight + log_gain + ways + share_terms + other_terms,
        err + 16.0 * U * size,
    )


def _log_binomials(draws: FloatArray, max_count: int) -> tuple[FloatArray, FloatArray]:
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


def _draw_limits(
    nodes: Nodes, atoms: Atoms, table: Moments, parent: Indices, atom: Indices, log_goal: float
) -> tuple[Indices, FloatArray]:
    """Return the numbers of draws to enumerate, and bounds of log w E(B + v)₊ over more draws."""
    # Limits below the expected number of draws are not tried.
    expected_draws = nodes.draws[parent] * atoms.masses[atom] / atoms.remaining[atom]
    step = np.searchsorted(_COUNTS[:-1], expected_draws)
    log_tail = np.empty(parent.size)
    open_pairs = np.arange(parent.size)
    while open_pairs.size:
        count = _COUNTS[step[open_pairs]]
        log_tail[open_pairs] = _log_tail(
            nodes, atoms, table, parent[open_pairs], atom[open_pairs], count
        )
        unfinished = (log_tail[open_pairs] > log_goal) & (step[open_pairs] < _COUNTS.size - 1)
        open_pairs = open_pairs[unfinished]
        step[open_pairs] += 1
    return _COUNTS[step].astype(np.int64) - 1, log_tail


def _log_tail(
    nodes: Nodes,
    atoms: Atoms,
    table: Moments,
    parent: Indices,
    atom: Indices,
    count: FloatArray,
) -> FloatArray:
    """Return bounds of log Σ_{k ≥ count} w E(B + v)₊ over children by k draws, shape (N,).

    Chernoff bounds of these children fall at least as fast as a geometric series with the ratio of
    the first two.
    """
    column = count.astype(np.int64)
    row = np.arange(parent.size)
    ways = _log_binomials(nodes.draws[parent], int(column.max()))
    first = _children(nodes, atoms, parent, atom, count, tuple(x[row, column] for x in ways))
    jump = atoms.values[atom]
    jump = jump + atoms.value_err[atom] + 12.0 * U * np.abs(jump)
    remaining_draws, reach = np.maximum(first.draws, 0.0), first.value + margin(first)
    odds = remaining_draws / (count + 1.0) * atoms.odds[atom] * (1.0 + 1e-12)
    tail = np.empty(parent.size)
    block = max(1, _DRAWS_AT_ONCE // table.theta.size)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for start in range(0, parent.size, block):
            rows = slice(start, start + block)
            law = first.law[rows]
            ratio = jump[rows, None] * table.theta
            ratio -= table.lower[law]
            np.exp(ratio, out=ratio)
            ratio *= odds[rows, None]
            np.minimum(ratio, 1.0, out=ratio)
            bound = table.upper[0, law]
            bound *= remaining_draws[rows, None]
            bound += reach[rows, None] * table.theta
            bound -= np.log1p(np.negative(ratio, out=ratio), out=ratio)
            bound -= table.scale
            tail[rows] = np.fmin.reduce(bound, axis=1)
    tail = np.where(np.isnan(tail), np.inf, tail)
    tail += first.log_weight + log_weight_margin(first)
    return np.where(first.draws >= 0.0, round_up_exponents(tail), -np.inf)


def total(logs: FloatArray) -> float:
    """Return Σ e^x, rounded up."""
    with np.errstate(over="ignore"):
        return float(np.sum(np.exp(np.maximum(logs, -690.0)))) * (1.0 + 1e-12)
