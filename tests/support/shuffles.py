"""Shuffled reports enumerated in rationals and floats: the oracle of the tests of many rounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

import enumeration
import numpy as np
from oracles import _exp

from shufflebounds import Decomposition
from shufflebounds.randomizers.base import Randomizer

# Masses (p, q) of the outcomes of two distributions.
Pair = list[tuple[Fraction, Fraction]]

# Channels whose probabilities are floats, so that decompositions hold them exactly.
BINARY = ((0.75, 0.25), (0.25, 0.75))
TERNARY = ((0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.25, 0.25, 0.5))
CROOKED = ((0.5, 0.375, 0.125), (0.125, 0.25, 0.625), (0.25, 0.25, 0.5))


def blanket(channel: Sequence[Sequence[float]], one: int, other: int) -> Decomposition:
    """R(x₁⁰), R(x₁¹), inf_x R(x)."""
    rows = np.array(channel)
    return Decomposition(rows[one], rows[other], rows.min(axis=0))


def shuffled(
    channel: Sequence[Sequence[float]], one: int, other: int, others: Sequence[int]
) -> Pair:
    """Histograms of the reports where the victim holds `one` or `other`."""
    rows = [[Fraction(x) for x in row] for row in channel]
    p, q = (enumeration.shuffled([rows[x], *(rows[y] for y in others)]) for x in (one, other))
    return [(p.get(key, Fraction(0)), q.get(key, Fraction(0))) for key in p.keys() | q.keys()]


def all_datasets(channel: Sequence[Sequence[float]], n: int) -> dict[tuple[int, ...], Pair]:
    """Every pair of n users' datasets, by the victim's two inputs and what the others hold.

    The victim's inputs in one order only.
    """
    inputs = range(len(channel))
    return {
        (*pair, *held): shuffled(channel, *pair, held)
        for pair in itertools.combinations(inputs, 2)
        for held in itertools.combinations_with_replacement(inputs, n - 1)
    }


def uniform(datasets: dict[tuple[int, ...], Pair]) -> list[Pair]:
    """Those of them in which all others hold one input."""
    return [pair for (_, _, *held), pair in datasets.items() if len(set(held)) <= 1]


def pair_of(decomposition: Decomposition, n: int) -> Pair:
    """The histogram pair of a decomposition: what no component is sure of is seen as such."""
    a, b, c = ([Fraction(x) for x in getattr(decomposition, name).tolist()] for name in "abc")
    others = [*c, max(Fraction(0), 1 - sum(c))]
    p, q = (enumeration.shuffled([[*x, Fraction(0)], *[others] * (n - 1)]) for x in (a, b))
    # Floats sum to 1 up to rounding only, and these are to be probabilities.
    p_sum, q_sum = sum(p.values()), sum(q.values())
    return [
        (p.get(key, Fraction(0)) / p_sum, q.get(key, Fraction(0)) / q_sum)
        for key in p.keys() | q.keys()
    ]


def product(pairs: Sequence[Pair]) -> Pair:
    """Independent rounds; equal outcomes are united."""
    found: dict[tuple[Fraction, Fraction], int] = {(Fraction(1), Fraction(1)): 1}
    for pair in pairs:
        following: dict[tuple[Fraction, Fraction], int] = {}
        for (p, q), count in found.items():
            for x, y in pair:
                key = (p * x, q * y)
                following[key] = following.get(key, 0) + count
        found = following
    return [(count * p, count * q) for (p, q), count in found.items()]


def swapped(pair: Pair) -> Pair:
    return [(q, p) for p, q in pair]


def divergence(pair: Pair, eps: float) -> tuple[Fraction, Fraction]:
    """Bounds of D(ε), sixty digits apart; ε of either sign."""
    if eps < 0.0:
        low, high = divergence(swapped(pair), -eps)
        below, above = (1 / end for end in _exp(Fraction(-eps))[::-1])
        return 1 - above + below * low, 1 - below + above * high
    below, above = _exp(Fraction(eps))
    low, high = (
        sum((max(p - x * q, Fraction(0)) for p, q in pair), Fraction(0)) for x in (above, below)
    )
    return low, high


def largest(pairs: Iterable[Pair], eps: float) -> tuple[Fraction, Fraction]:
    """Bounds of the largest D(ε) of some pairs, in either order."""
    ends = [divergence(order, eps) for pair in pairs for order in (pair, swapped(pair))]
    return max(low for low, _ in ends), max(high for _, high in ends)


def channel(parts: Sequence[Randomizer]) -> np.ndarray:
    """All inputs of two coordinates; outputs of one ratio are one, which is no loss."""
    rows = np.kron(*(part.matrix() for part in parts))
    _, labels = np.unique(np.round(rows / rows.sum(axis=0), 9), axis=1, return_inverse=True)
    return np.stack([np.bincount(labels.ravel(), weights=row) for row in rows])


def in_floats(
    rows: np.ndarray, n: int, pairs: Sequence[tuple[int, int]] | None = None
) -> np.ndarray:
    """The laws (P, Q) of the histograms of n users, shape (datasets, 2, outcomes).

    Of some pairs of the victim's inputs, or of all in either order, and all others may hold.
    """
    pairs = pairs or list(itertools.permutations(range(len(rows)), 2))

    def sent(law: np.ndarray, row: np.ndarray) -> np.ndarray:
        return sum((x * np.roll(law, 1, axis=j) for j, x in enumerate(row[:-1])), row[-1] * law)

    nobody = np.zeros((n + 1,) * (rows.shape[1] - 1))
    nobody.flat[0] = 1.0
    crowds = itertools.combinations_with_replacement(rows, n - 1)
    found = np.array(
        [
            [sent(law, row).ravel() for row in rows[list(pair)]]
            for law in (reduce(sent, held, nobody) for held in crowds)
            for pair in pairs
        ]
    )
    return found[:, :, found.any(axis=(0, 1))]


def of_two_inputs(rows: np.ndarray, n: int, eps: float) -> np.ndarray:
    """D(ε) of the inputs 0 and 1 for all that the others may hold, of shape (datasets,)."""
    p, q = in_floats(rows, n, [(0, 1)]).swapaxes(0, 1)
    return np.maximum(p - math.exp(eps) * q, 0.0).sum(axis=-1)


def adaptive(rounds: Sequence[np.ndarray], eps: float) -> float:
    """The largest D(ε) where every round's dataset is chosen from all that was seen before."""

    def worst(x: np.ndarray, left: Sequence[np.ndarray]) -> np.ndarray:
        """Of each x, what the best choice from here on gives: max Σ (P − xQ)₊."""
        p, q = left[0][:, 0], left[0][:, 1]
        if len(left) == 1:
            return np.maximum(p - x[:, None, None] * q, 0.0).sum(axis=-1).max(axis=1)
        best = np.zeros(x.size)
        for one, other in zip(p, q, strict=True):
            ratios = np.divide(other, one, out=np.zeros_like(one), where=one > 0.0) * x[:, None]
            following = worst(ratios.ravel(), left[1:]).reshape(ratios.shape)
            best = np.maximum(best, (one * following).sum(axis=1))
        return best

    return float(worst(np.array([math.exp(eps)]), rounds)[0])
