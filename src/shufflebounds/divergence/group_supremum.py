"""`group_supremum`: an upper bound of D over all datasets of groups that share a shuffler.

Every other user i tosses a coin: with probability λ_i, that of its group, its report comes from one
law d̄ that all groups share, else from ρ_i = W_i − λ_i d̄. The victim hides among the users whose
coins show heads. Of the other users, the observer learns in which block a report was sent. A block
has one user of each of some groups, and its reports are not labelled. With z_j, ω_j as in
`supremum`, M_A(z) = Σ P_A e^{zG_A} for the users A of a block whose coins show tails, and Q_B(z)
the sum over A of |M_A(z)| times the probability of heads for all others of the block,

    D ≤ max (1/Λ) Σ_j ω_j Π_B Q_B(z_j) + Π_i (1 − λ_i) D_res + s,        Λ = Σ_B min Q_{B,1}/Q_B(θ),

where the maximum is over the inputs that all blocks of a kind hold, and Q_{B,1} is the part of Q_B
with one head. All this is proved in docs/proofs/personal-epsilon.md. The bound holds for every
choice of λ, d̄, blocks, θ, η and h.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.groups import MAX_BLOCK_USERS, GroupCrowd
from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.core.work import spend
from shufflebounds.divergence.convex_order import compress
from shufflebounds.divergence.coordinates import MAX_RELATIVE_ERROR
from shufflebounds.divergence.elementary import combine_bounds, excess
from shufflebounds.divergence.engine import LARGEST_EPS, divergence
from shufflebounds.divergence.group_spreads import MAX_MODES, GroupTails, log_of_spreads
from shufflebounds.divergence.law import Law, U, log_mgf, tilt, underflow
from shufflebounds.divergence.saddlepoint import log_estimate
from shufflebounds.divergence.supremum import (
    CELLS,
    TILTS,
    Integral,
    SupremumAim,
    aim_at,
    fractions_of_blanket,
    log_bound_of_parts,
    too_small,
)

# Average numbers of heads that are tried.
HEADS = (2.0, 3.5, 5.0, 7.0, 10.0, 14.0, 20.0, 28.0)
# The place of the number that is tried first. Speed only.
FIRST_PLACE = 4
# Most lists of reports of a block, for all combinations of inputs. Three groups of BLH have 80 000,
# which take 20 ms. Larger blocks are split.
MAX_BLOCK_SIZE = 100_000
# Largest relative excess of the variance of the sum if no block has several users, with which none
# has: k-RR has less than that.
SMALL_EXCESS = 2e-4
# Most combinations of inputs of all kinds of blocks that are compared one by one. The largest modes
# of all are looser at small ε: RAPPOR of two groups over 10 rounds, by 0.4 %.
MAX_COMBINED_TERMS = 200
# Logarithm of a ratio of products of all users below which a combination of inputs does not matter.
NEGLIGIBLE = -40.0
# Probability of no heads, relative to the main term, below which all groups provide cover.
RARE = 0.05
# Most shapes of blocks whose multisets are kept: 256 kB each at most.
MAX_KEPT_LABELS = 64
# Ratio of a bound to its estimate above which that without blocks of several users is tried: large
# values that are rare may decide.
MAX_SURPRISE = 1.3
# Ratio of the rough bound with blocks of one user each to that with larger blocks below which the
# former is computed as it is: it may be the smaller one.
ROUGH_RATIO = 1.1
# Smallest weight of a group, relative to the largest.
SMALLEST_WEIGHT = 1e-3


class Excess(NamedTuple):
    """u = a − e^ε b of each component, shape (K,), and bounds of its errors."""

    values: FloatArray
    err: FloatArray

    @staticmethod
    def of(a: FloatArray, b: FloatArray, eps: float, rel_err: float) -> Excess:
        """Return u of laws whose entries are off by `rel_err`, relatively."""
        growth = math.expm1(eps)
        product = growth * b
        difference = (a - b) - product
        err = U * (np.abs(a - b) + 3.0 * product + 2.0 * np.abs(difference))
        err = err + underflow(growth, b, product) + 1.01 * rel_err * (a + b + product)
        return Excess(difference, err)

    @property
    def largest_gain(self) -> float:
        """An upper bound of Σu₊."""
        gains = np.maximum(self.values + self.err, 0.0)
        return float(gains.sum()) * (1.0 + (gains.size + 2.0) * U)


class Tails(NamedTuple):
    """ρ of an input, (K,), its relative error, and the weight of its group, λ over the largest."""

    masses: FloatArray
    rel_err: float
    weight: float


def block_law(members: Sequence[Tails], u: Excess) -> Law:
    """Return the law of G of the unlabelled reports of some users, whose coins all show tails.

    The multisets of mass 0 are left out.
    """
    if len(members) > 1:
        members, u = _united_components(members, u)
    first, *others = members
    masses, rel_err = first.masses, first.rel_err
    gain, size, err = (first.weight * x for x in (u.values, np.abs(u.values), u.err))
    spend(1e4 + 40.0 * float(masses.size) ** len(members))
    for member in others:
        own_gain, own_err = member.weight * u.values, member.weight * u.err
        err = (
            np.multiply.outer(err + 1.01 * member.rel_err * size, member.masses)
            + np.multiply.outer(masses, own_err)
            + np.multiply.outer(1.01 * rel_err * masses, np.abs(own_gain))
        )
        gain = np.multiply.outer(gain, member.masses) + np.multiply.outer(masses, own_gain)
        size = np.multiply.outer(size, member.masses) + np.multiply.outer(masses, np.abs(own_gain))
        masses = np.multiply.outer(masses, member.masses)
        rel_err = compounded(rel_err, member.rel_err, 2.0 * U)
    if others:
        label = _multisets(masses.shape)
        masses, gain, size, err = (_sums(label, x) for x in (masses, gain, size, err))
    orders = float(math.factorial(len(members)))
    rel_err = compounded(rel_err, (orders + 2.0) * U)
    # The factor covers products of errors, each of which is at most `MAX_RELATIVE_ERROR`.
    err = (err + (orders + 6.0 * len(members)) * U * size) * (1.0 + 1e-2)
    used = masses > 0.0
    masses, gain, err = masses[used], gain[used], err[used]
    values = gain / masses
    value_err = (err + 1.01 * rel_err * np.abs(gain)) / masses + 4.0 * U * np.abs(values)
    exponent = np.frexp(np.max(values, initial=0.0))[1]
    residual = math.fsum([1.0, *(-masses).tolist()])
    residual_err = rel_err + 4.0 * U
    return Law(
        np.ldexp(values, -exponent),
        masses,
        np.asarray(exponent),
        np.ldexp(value_err, -exponent) + 2.0**-1060,
        rel_err,
        max(residual, 0.0),
        residual_err,
    )


def _united_components(members: Sequence[Tails], u: Excess) -> tuple[list[Tails], Excess]:
    """Return ρ of each user and u with components united that nothing tells apart."""
    rows, counts = np.unique(
        np.stack([u.values, u.err, *(x.masses for x in members)]), axis=1, return_counts=True
    )
    values, err, *masses = rows * counts
    united = [
        x._replace(masses=row, rel_err=compounded(x.rel_err, U))
        for x, row in zip(members, masses, strict=True)
    ]
    return united, Excess(values, err * (1.0 + 2.0 * U) + U * np.abs(values))


@lru_cache(MAX_KEPT_LABELS)
def _multisets(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return for each ordered tuple of components the number of its multiset, flat."""
    places = np.sort(np.indices(shape).reshape(len(shape), -1), axis=0)
    return np.unique(np.ravel_multi_index(tuple(places), shape), return_inverse=True)[1]


def _sums(label: NDArray[np.int64], masses: FloatArray) -> FloatArray:
    """Return the sum of the masses of each label."""
    return np.bincount(label, weights=masses.ravel()).astype(np.float64)


class Block(NamedTuple):
    """So many blocks of one user of each of some groups, which are given by their numbers."""

    groups: tuple[int, ...]
    number: int


def blocks_of(crowd: GroupCrowd, counts: Sequence[int]) -> list[Block]:
    """Return blocks that have every other user once, as large as is affordable.

    The groups of a block differ as much as they can.
    """
    order = sorted(range(len(counts)), key=lambda i: -float(crowd.sure[i].sum()))
    left, blocks = [*counts], []
    while any(left):
        active = [i for i in order if left[i]]
        stride = math.ceil(len(active) / MAX_BLOCK_USERS)
        groups = tuple(sorted(active[::stride]))
        while len(groups) > 1 and crowd.block_size(groups) > MAX_BLOCK_SIZE:
            groups = groups[:-1]
        number = min(left[i] for i in groups)
        left = [n - number if i in groups else n for i, n in enumerate(left)]
        blocks.append(Block(groups, number))
    return blocks


def single_users(counts: Sequence[int]) -> list[Block]:
    """Return blocks of one user each."""
    return [Block((i,), n) for i, n in enumerate(counts) if n]


@dataclass(frozen=True, eq=False)
class Coins:
    """What heads report from, and the weights of groups, of which the largest is 1.

    ``heads_law`` (K,) is d of a group of weight 1; ``share`` is its sum.
    """

    crowd: GroupCrowd
    tau: FloatArray
    weights: FloatArray

    @cached_property
    def heads_law(self) -> FloatArray:
        """The masses of d of a group of weight 1."""
        return self.tau * self.crowd.crowd.c

    @cached_property
    def share(self) -> float:
        """λ of a group of weight 1."""
        return math.fsum(self.heads_law)

    def tails(self, group: int, input_: int) -> Tails | None:
        """Return ρ of an input of a group; None if round-off is too large."""
        law = self.crowd.laws[group][input_]
        weight = float(self.weights[group])
        heads_law = weight * self.heads_law
        masses = law - heads_law
        if (masses < 0.0).any() or too_small(masses):
            return None
        positive = masses > 0.0
        ratio = np.max((law + heads_law)[positive] / masses[positive], initial=1.0)
        rel_err = (1.01 * self.crowd.crowd.rel_err + 8.0 * U) * float(ratio)
        return Tails(masses, rel_err, weight) if rel_err < MAX_RELATIVE_ERROR else None


def group_supremum(
    crowd: GroupCrowd,
    counts: Sequence[int],
    eps: float,
    hopeless: float = 1.0,
    enough: float = 0.0,
) -> float:
    """Return an upper bound of D(ε) over all datasets, with the victim's inputs in this order.

    `counts` are the numbers of other users of each group. The bound is 1 if nothing better can be
    claimed, or if its estimate is above `hopeless`. Any bound that is at most `enough` will do.
    """
    eps = min(eps, LARGEST_EPS)
    u = Excess.of(crowd.crowd.a, crowd.crowd.b, eps, crowd.crowd.rel_err)
    alone = min(u.largest_gain, 1.0)
    if not any(counts) or alone <= enough:
        return alone
    errors = OverflowError, ZeroDivisionError, np.linalg.LinAlgError
    with np.errstate(all="ignore"), contextlib.suppress(*errors):
        spend(8e6)
        limit = math.log(hopeless) if hopeless < 1.0 else 0.0
        best: BlockBound | None = None
        single: tuple[float, BlockBound | None] = math.inf, None
        for groups in _nested_groups(crowd, counts):
            few, few_counts = crowd.only(groups), [counts[i] for i in groups]
            if enough > 0.0:
                single = min(single, _rough_bound(few, few_counts, eps, u), key=lambda x: x[0])
                if single[0] <= enough:
                    return single[0]
            bound = _best_bound(few, few_counts, eps, u, limit)
            if bound is not None:
                best, limit = bound, bound.aim.goal()
            if best is not None and best.aim.log_no_heads < best.aim.log_main + math.log(RARE):
                break
        if best is not None:
            value = _value(best, eps, u)
            if single[1] is not None and best.has_large_blocks and single[0] < ROUGH_RATIO * value:
                value = min(value, single[1].value())
            return min(alone, value)
    return alone


def _rough_bound(
    crowd: GroupCrowd, counts: Sequence[int], eps: float, u: Excess
) -> tuple[float, BlockBound | None]:
    """Return a number that takes less time, and is mostly a few per cent above a bound; and that.

    The number is inf if there is none. Blocks have one user each.
    """
    blocks = single_users(counts)
    weights = _best_weights(crowd, blocks, u)[0]
    for heads in reversed(HEADS[: FIRST_PLACE + 2]):
        bound = _bound_with_heads(crowd, counts, eps, u, blocks, weights, heads)
        if bound is not None:
            return bound.value_of_spreads(), bound
    return math.inf, None


def _value(bound: BlockBound, eps: float, u: Excess) -> float:
    """Return a bound, or that without blocks of several users if it is far above its estimate."""
    value = bound.value()
    if not bound.has_large_blocks or value < MAX_SURPRISE * math.exp(bound.aim.goal()):
        return value
    blocks = single_users(bound.counts)
    weights = _best_weights(bound.crowd, blocks, u)[0]
    other = _best_heads(bound.crowd, bound.counts, eps, u, 0.0, blocks, weights)
    return value if other is None else min(value, other.value())


def _nested_groups(crowd: GroupCrowd, counts: Sequence[int]) -> Iterator[list[int]]:
    """Yield all groups, then all but the one that is sure of least mass, and so on.

    The attacker may know the reports of the groups that are left out.
    """
    groups = [i for i, n in enumerate(counts) if n]
    groups.sort(key=lambda i: -float(crowd.sure[i].sum()))
    for size in range(len(groups), 0, -1):
        yield sorted(groups[:size])


def _best_bound(
    crowd: GroupCrowd, counts: Sequence[int], eps: float, u: Excess, limit: float
) -> BlockBound | None:
    """Return the bound whose estimate is the smallest; None if none is below e^`limit`."""
    blocks = single_users(counts)
    weights, variance = _best_weights(crowd, blocks, u)
    if len(blocks) > 1:
        larger_blocks = blocks_of(crowd, counts)
        other_weights, least = _best_weights(crowd, larger_blocks, u)
        if variance > least * (1.0 + SMALL_EXCESS):
            bound = _best_heads(crowd, counts, eps, u, limit, larger_blocks, other_weights)
            if bound is not None:
                return bound
    return _best_heads(crowd, counts, eps, u, limit, blocks, weights)


def _best_heads(
    crowd: GroupCrowd,
    counts: Sequence[int],
    eps: float,
    u: Excess,
    limit: float,
    blocks: Sequence[Block],
    weights: FloatArray,
) -> BlockBound | None:
    """Return the bound with the number of heads whose estimate is the smallest, below e^`limit`.

    Estimates fall with the number of heads and then rise.
    """

    @cache
    def bound_and_goal(place: int) -> tuple[BlockBound | None, float]:
        """Return the bound with a number of heads, and the log of its estimate."""
        bound = _bound_with_heads(crowd, counts, eps, u, blocks, weights, HEADS[place])
        return bound, math.inf if bound is None else bound.aim.goal()

    best = min(FIRST_PLACE, len(HEADS) - 1)
    while best > 0 and bound_and_goal(best)[0] is None:
        best -= 1
    for step in (1, -1):
        while 0 <= (after := best + step) < len(HEADS):
            if not bound_and_goal(after)[1] < bound_and_goal(best)[1]:
                break
            best = after
    bound, goal = bound_and_goal(best)
    return bound if goal < limit else None


def _bound_with_heads(
    crowd: GroupCrowd,
    counts: Sequence[int],
    eps: float,
    u: Excess,
    blocks: Sequence[Block],
    weights: FloatArray,
    heads: float,
) -> BlockBound | None:
    """Return the bound with an average number of heads, None if there is none."""
    mean_weight = float(weights @ np.asarray(counts)) / sum(counts)
    tau = fractions_of_blanket(crowd.crowd, eps, heads / sum(counts) / mean_weight)
    if tau is None:
        return None
    coins = Coins(crowd, tau, weights)
    log_no_heads = float(np.asarray(counts) @ np.log1p(-coins.share * weights))
    log_no_heads += _log_remaining(coins, eps, 1 + sum(counts))
    aim = _aim(coins, blocks, u, log_no_heads)
    return None if aim is None else BlockBound(crowd, tuple(counts), eps, u, blocks, coins, aim)


def _log_remaining(coins: Coins, eps: float, n: int) -> float:
    """Return an estimate of the log of the divergence that the blanket without heads leaves."""
    crowd = coins.crowd.crowd
    left = crowd.c * (1.0 - coins.tau)
    if too_small(left):
        return 0.0
    estimate = float(log_estimate(Decomposition(crowd.a, crowd.b, left), eps, n).log)
    return min(0.0, float(np.nan_to_num(estimate)))


def _widest_inputs(crowd: GroupCrowd, u: Excess) -> list[int]:
    """Return for each group the input with the largest Σ u²/R(x)."""
    return [
        int(np.argmax(np.where(rows > 0.0, u.values**2 / rows, 0.0).sum(axis=1)))
        for rows in crowd.laws
    ]


def _best_weights(
    crowd: GroupCrowd, blocks: Sequence[Block], u: Excess
) -> tuple[FloatArray, float]:
    """Return the weights of groups for which the variance of the sum of all G is smallest, and it.

    For each block it is a quadratic form of the weights. It is that for one head on average.
    """
    inputs = _widest_inputs(crowd, u)
    size = len(inputs)
    form, users = np.zeros((size, size)), np.zeros(size)
    for block in blocks:
        members = [Tails(crowd.laws[i][inputs[i]], 0.0, 1.0) for i in block.groups]
        gains = []
        for k in range(len(members)):
            only_one = [x._replace(weight=float(i == k)) for i, x in enumerate(members)]
            law = block_law(only_one, u)
            gains.append(np.ldexp(law.values, law.exponent))
        matrix = np.array(gains) * law.masses @ np.array(gains).T
        form[np.ix_(block.groups, block.groups)] += block.number * matrix
        users[list(block.groups)] += block.number
    form += np.diag(np.where(users == 0.0, 1.0, 1e-12 * np.diag(form)))
    weights = np.linalg.solve(form, users)
    largest, heads = float(weights.max()), float(users @ weights)
    if not (0.0 < largest < math.inf and heads > 0.0):
        return np.ones(size), math.inf
    return np.clip(weights / largest, SMALLEST_WEIGHT, 1.0), 1.0 / heads


def _aim(
    coins: Coins, blocks: Sequence[Block], u: Excess, log_no_heads: float
) -> SupremumAim | None:
    """Return the aim with the line of integration that suits the widest inputs of all groups."""
    inputs = _widest_inputs(coins.crowd, u)
    tails = [coins.tails(*pair) for pair in enumerate(inputs)]
    if any(x is None for x in tails):
        return None
    laws, counts = [], np.array([float(block.number) for block in blocks])
    for block in blocks:
        law = block_law([x for i in block.groups if (x := tails[i]) is not None], u)
        laws.append((law.masses, np.ldexp(law.values, law.exponent)))
    width = max(masses.size for masses, _ in laws)
    masses, values = (
        np.array([np.pad(x[k], (0, width - x[k].size)) for x in laws]) for k in range(2)
    )
    if not float(values.max()) > 0.0:
        return None
    theta, log_main, sigma = _tilt_of_blocks(values, masses, counts)
    return aim_at(coins.tau, theta, log_main, sigma, log_no_heads)


def _tilt_of_blocks(
    values: FloatArray, masses: FloatArray, counts: FloatArray
) -> tuple[float, float, float]:
    """Return the θ with the smallest estimate for the sum of all blocks, that, and its spread.

    The arrays have shapes (blocks, J) and (blocks,). The estimate takes the sum to be normal.
    """
    spread = math.sqrt(float(counts @ np.sum(masses * np.clip(values, -1e100, 1e100) ** 2, axis=1)))
    low, high = np.log([0.1 / spread, 60.0 / float(values.max())])
    low = min(low, high - 1.0)
    while True:
        theta = np.exp(np.linspace(low, high, TILTS))
        x = theta[:, None, None] * values
        growth = (masses * np.expm1(x)).sum(axis=-1)
        weights = masses * np.exp(x) / (1.0 + growth)[..., None]
        mean = (weights * values).sum(axis=-1)
        variance = (weights * values**2).sum(axis=-1) - mean**2
        sigma = np.sqrt(np.maximum(variance, 0.0) @ counts)
        y = theta * sigma / math.sqrt(2.0)
        normal = y + np.sqrt(y * y + 4.0 / math.pi)
        logs = np.log1p(growth) @ counts
        logs -= np.log(normal * theta * math.sqrt(math.pi) * counts.sum())
        best = int(np.argmin(np.where(np.isnan(logs), np.inf, logs)))
        spacing = float(high - low) / (TILTS - 1)
        if not spacing > 1e-2:
            return float(theta[best]), float(logs[best]), float(sigma[best])
        middle = low + best * spacing
        low, high = middle - spacing, middle + spacing


@dataclass(frozen=True, eq=False)
class BlockBound:
    """The bound with one choice of coins and one line of integration."""

    crowd: GroupCrowd
    counts: tuple[int, ...]
    eps: float
    u: Excess
    blocks: Sequence[Block]
    coins: Coins
    aim: SupremumAim

    @property
    def has_large_blocks(self) -> bool:
        """Whether a block has several users."""
        return any(len(block.groups) > 1 for block in self.blocks)

    def value(self) -> float:
        """Return the bound; inf if round-off prevents any."""
        kinds = [[*self._terms(block)] for block in self.blocks]
        if any(term is None for terms in kinds for term in terms):
            return math.inf
        terms = [[x for x in row if x is not None] for row in kinds]
        counts = [block.number for block in self.blocks]
        heads_left = math.fsum(
            n * min(x.one_head for x in row) for n, row in zip(counts, terms, strict=True)
        ) * (1.0 - 1e-12)
        log_sum = _largest_log(terms, counts)
        return math.inf if log_sum is None else self._value(log_sum, heads_left)

    def value_of_spreads(self) -> float:
        """Return a larger bound by the variances of laws, for blocks of one user each."""
        coins, groups = self.coins, []
        for i, number in enumerate(self.counts):
            tails = [coins.tails(i, x) for x in range(len(self.crowd.laws[i]))] if number else []
            rows = [x for x in tails if x is not None]
            if len(rows) < len(tails):
                return math.inf
            if rows:
                masses, rel_err = np.array([x.masses for x in rows]), max(x.rel_err for x in rows)
                groups.append(GroupTails(masses, rel_err, rows[0].weight, number))
        share, size = coins.share * (1.0 + 8.0 * U), min(self.aim.modes + 1, MAX_MODES)
        line = self.aim.theta, self.aim.step, size
        bounds = log_of_spreads(groups, self.u.values, self.u.err, share, *line)
        return math.inf if bounds is None else self._value(*bounds)

    def _value(self, log_sum: float, heads_left: float) -> float:
        """Return the bound for the log of the sum of modes, and Λ."""
        if not heads_left > 0.0:
            return math.inf
        unshared = max(self._unshared(law) for rows in self.crowd.laws for law in rows)
        ends = combine_bounds((0.0, unshared), (0.0, math.inf), (-math.inf, log_sum), heads_left)
        return (ends[1] + self._no_heads()) * (1.0 + 4.0 * U)

    def _unshared(self, law: FloatArray) -> float:
        """Return an upper bound of Σu₊ over the components that an input never sends."""
        blanket = self.crowd.crowd.blanket()
        return float(excess(blanket, math.expm1(self.eps), law == 0.0)[1])

    def _no_heads(self) -> float:
        """Return an upper bound of the term for no heads at all.

        The tails of every user are at least the part of the blanket that heads leave.
        """
        share = self.coins.share * (1.0 - 8.0 * U)
        exponents = [
            n * math.log1p(-share * float(w))
            for n, w in zip(self.counts, self.coins.weights, strict=True)
        ]
        probability = math.exp(math.fsum(exponents) * (1.0 - 16.0 * U)) * (1.0 + 8.0 * U) + 5e-324
        crowd, largest = self.crowd.crowd, min(self.u.largest_gain, 1.0)
        left = crowd.c * (1.0 - self.coins.tau)
        if not too_small(left):
            rel_err = 1.01 * crowd.rel_err * 20.0 + 32.0 * U
            remaining = Decomposition(crowd.a, crowd.b, left, rel_err).merge()
            users = 1 + sum(self.counts)
            largest = min(largest, divergence(remaining, self.eps, users, 0.05).upper)
        return probability * largest * (1.0 + 8.0 * U)

    def _terms(self, block: Block) -> Iterator[BlockTerm | None]:
        """Yield the terms of a block for all combinations of inputs of its users."""
        for inputs in self.crowd.combinations(block.groups):
            members = [self.coins.tails(*x) for x in zip(block.groups, inputs, strict=True)]
            tails = [x for x in members if x is not None]
            yield BlockTerm.of(tails, self) if len(tails) == len(members) else None


@dataclass(frozen=True, eq=False)
class BlockTerm:
    """Q_B of a block whose users hold given inputs.

    ``law`` is that of G of all its users. ``extra`` bounds the part of Q_B(z) with heads, less the
    probability of heads, relative to Q_B(θ), and ``one_head`` is a lower bound of Q_{B,1}/Q_B(θ),
    in units of λ of a group of weight 1.
    """

    law: Law
    aim: SupremumAim
    heads: float
    extra: float
    one_head: float

    @staticmethod
    def of(members: Sequence[Tails], bound: BlockBound) -> BlockTerm | None:
        """Return the term, None if round-off is too large."""
        aim, share = bound.aim, bound.coins.share * (1.0 + 8.0 * U)
        law = block_law(members, bound.u)
        if law.values.size > 2 * CELLS:
            # The moments of the compressed law are larger, and Q_B(θ) has to be that of its modes.
            at = np.array(math.ldexp(aim.theta, int(law.exponent)))
            law = compress(law, tilt(law, at).weights, CELLS)[1]
        whole = _moment(law, aim.theta)
        if whole is None:
            return None
        heads = law.residual + law.residual_err
        with_heads, one_head = 0.0, 0.0
        for size in range(len(members)):
            for tails in itertools.combinations(range(len(members)), size):
                others = [x for i, x in enumerate(members) if i not in tails]
                moment = (1.0, 1.0)
                if tails:
                    found = _moment(block_law([members[i] for i in tails], bound.u), aim.theta)
                    if found is None:
                        return None
                    moment = found
                chance = math.prod(share * x.weight for x in others) * (1.0 + 8.0 * U)
                with_heads += chance * moment[1] * (1.0 + 4.0 * U)
                if len(others) == 1:
                    one_head += others[0].weight * moment[0] * (1.0 - 4.0 * U)
        least = max(law.residual - law.residual_err, 0.0)
        total = whole[0] + least
        extra = max(with_heads - least, 0.0) / total * (1.0 + 8.0 * U) if len(members) > 1 else 0.0
        largest = (whole[1] + max(with_heads, heads)) * (1.0 + 8.0 * U)
        return BlockTerm(law, aim, heads, extra, one_head / largest * (1.0 - 8.0 * U))

    @cached_property
    def rough(self) -> Integral | None:
        """The integral with Q(z) ≤ Q(θ)."""
        return Integral.of(self.law, self.aim, self.heads, is_rough=True, extra=self.extra)

    @cached_property
    def close(self) -> Integral | None:
        """The integral as it is."""
        return Integral.of(self.law, self.aim, self.heads, extra=self.extra)


def _moment(law: Law, theta: float) -> tuple[float, float] | None:
    """Return bounds of Σ P e^{θG}, None if round-off is too large."""
    at = np.array([math.ldexp(theta, int(law.exponent))])
    k, err = (float(x[0]) for x in log_mgf(law, at))
    if not err < 0.1:
        return None
    low = math.exp(k - err) * (1.0 - 8.0 * U) - law.residual - law.residual_err
    high = math.exp(k + err) * (1.0 + 8.0 * U) - max(law.residual - law.residual_err, 0.0)
    slack = 4.0 * U * (1.0 + math.exp(k))
    return max(low - slack, 0.0), high + slack


def _largest_log(terms: Sequence[Sequence[BlockTerm]], counts: Sequence[int]) -> float | None:
    """Return an upper bound of the largest log of the integral over all combinations of terms.

    If they are many, each kind of block has the largest |Q(z)| of all of its terms at every z. The
    answer is None if round-off prevents any.
    """
    if math.prod(len(row) for row in terms) <= MAX_COMBINED_TERMS:
        return _largest_of_combinations(terms, counts)
    parts = []
    for row, number in zip(terms, counts, strict=True):
        largest = _largest_of_kind(row, NEGLIGIBLE / number)
        if largest is None:
            return None
        parts.append(largest)
    return _log_of(parts, counts)


def _largest_of_combinations(
    terms: Sequence[Sequence[BlockTerm]], counts: Sequence[int]
) -> float | None:
    """Return an upper bound of the largest log of the integral, combination by combination."""
    rough: list[tuple[float, tuple[BlockTerm, ...]]] = []
    for row in itertools.product(*terms):
        log = _log_of([x.rough for x in row], counts)
        if log is None:
            return None
        rough.append((log, row))
    largest = -math.inf
    for log, row in sorted(rough, key=lambda pair: -pair[0]):
        if log <= largest:
            break
        close = _log_of([x.close for x in row], counts)
        if close is None:
            return None
        largest = max(largest, min(close, log))
    return largest


def _log_of(parts: Sequence[Integral | None], counts: Sequence[int]) -> float | None:
    """Return the log of an upper bound of an integral, None if round-off prevents any."""
    usable = [x for x in parts if x is not None]
    if len(usable) < len(parts):
        return None
    log = log_bound_of_parts(list(zip(usable, counts, strict=True)))
    return log if log < math.inf else None


def _largest_of_kind(terms: Sequence[BlockTerm], negligible: float) -> Integral | None:
    """Return the integral of the largest |Q(z)| of some terms; None if round-off prevents any.

    Those whose log Q(θ) is that far from the largest one are bounded by Q(θ).
    """
    rough = [x.rough for x in terms]
    known = [x for x in rough if x is not None]
    if len(known) < len(terms):
        return None
    log_mgf = max(x.log_mgf for x in known)
    integrals = []
    for term, part in zip(terms, known, strict=True):
        is_negligible = part.log_mgf + part.largest_log_q - log_mgf < negligible
        close = part if is_negligible else term.close
        if close is None:
            return None
        integrals.append(close)
    return Integral.largest(integrals)
