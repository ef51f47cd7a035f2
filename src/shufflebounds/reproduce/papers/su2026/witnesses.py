"""What the paper says of single laws and datasets, held against exact ones; no curve shows it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shufflebounds.accounting import every_dataset
from shufflebounds.accounting.questions import epsilon
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.reproduce.papers.judging import (
    IN_PART,
    NOT_REPRODUCED,
    Evidence,
    Judgement,
    of_cases,
    percentage,
)

# k, ε₀, n and δ.
_FEW = (
    (3, 0.5, 10, 1e-3),
    (3, 1.0, 4, 1e-2),
    (3, 1.0, 8, 1e-3),
    (3, 3.0, 6, 1e-3),
    (4, 1.0, 6, 1e-3),
    (4, 3.0, 5, 1e-3),
)


def worst_dataset(_: Evidence) -> Judgement:
    """All datasets of few users of k-RR against the one whose others hold a third value."""
    holds, found = [], []
    for k, eps0, n, delta in _FEW:
        randomizer = KRR(k, eps0)
        third = epsilon(randomizer.dataset_pairs()["third"], n, delta)
        worst = every_dataset.worst_dataset(randomizer, n, delta=delta)
        holds.append(worst.enclosure.lower <= third.upper)
        excess = worst.enclosure.lower / third.upper - 1.0
        found.append((excess, f"{k}-RR, ε₀ = {eps0:g}, n = {n}", worst))
    excess, setting, worst = max(found, key=lambda one: one[0])
    held = " and ".join(f"{count} hold {x}" for x, count in enumerate(worst.others) if count)
    judged = of_cases(
        holds,
        "settings",
        f"ε of another dataset is up to {percentage(excess, up=False)} larger",
        f"largest: {setting}, where the victim holds {worst.victim[0]} or {worst.victim[1]} and "
        f"of the others {held}",
    )
    return judged if judged.reproduced else replace(judged, verdict=NOT_REPRODUCED)


def lower_support(_: Evidence) -> Judgement:
    """Values of the lower bound's GPARV at ε₀/10, where others hold a third or any value."""
    sizes = set()
    for k, eps0 in itertools.product((4, 5, 10, 100), (1.0, 4.0)):
        randomizer = KRR(k, eps0)
        first, second = randomizer.matrix()[:2]
        uniform = Decomposition(first, second, np.full(k, 1.0 / k))
        pairs = randomizer.dataset_pairs()["third"], uniform
        sizes.add(tuple(_values(pair, eps0 / 10.0) for pair in pairs))
    listed = ", ".join(f"{third} and {uniform}" for third, uniform in sorted(sizes))
    return of_cases([one == (4, 3) for one in sizes], "results", f"{listed} values")


def _values(pair: Decomposition, eps: float) -> int:
    values, masses = pair.gparv(eps)
    return len(np.unique(np.round(values[masses > 1e-12], 9)))


# The counts of two values of k-RR among n reports, one of which is the first value.

Law = Mapping[tuple[int, int], Fraction]
_RATIO = Fraction(2)  # e^ε₀


def blanket_counts(k: int, n: int) -> Law:
    """That of n − 1 others, who report either value with the blanket's probability or neither."""
    p = 1 / (_RATIO + k - 1)
    return {
        (i + 1, j): math.comb(n - 1, i)
        * _binomial(n - 1 - i, p / (1 - p), j)
        * p**i
        * (1 - p) ** (n - 1 - i)
        for i in range(n)
        for j in range(n - i)
    }


def corrected_counts(k: int, n: int, left: int) -> Law:
    """N others report from the blanket, and N₁ of the N − N₀ + `left` that are not the first."""
    gamma = k / (_RATIO + k - 1)
    law: dict[tuple[int, int], Fraction] = {}
    for drawn in range(n):
        for i in range(drawn + 1):
            share = _binomial(n - 1, gamma, drawn) * _binomial(drawn, Fraction(1, k), i)
            trials = max(drawn - (i + 1) + left, 0)
            for j in range(trials + 1):
                mass = share * _binomial(trials, Fraction(1, k - 1), j)
                law[i + 1, j] = law.get((i + 1, j), Fraction(0)) + mass
    return law


def dependent_counts(_: Evidence) -> Judgement:
    """The independent law and the corrected one against the right one."""
    n, holds, distances = 6, [], []
    for k in (2, 3, 10):
        right = blanket_counts(k, n)
        p = 1 / (_RATIO + k - 1)
        independent = {
            (i + 1, j): _binomial(n - 1, p, i) * _binomial(n - 1, p, j)
            for i, j in itertools.product(range(n), repeat=2)
        }
        distances.append(
            [_distance(right, one) for one in (independent, corrected_counts(k, n, 0))]
        )
        holds.append(distances[-1][0] > 0 and distances[-1][1] == 0)
    first, second = (
        f"{float(min(found)):.2g} to {float(max(found)):.2g}"
        for found in zip(*distances, strict=True)
    )
    judged = of_cases(
        holds,
        "values of k",
        f"the total variation distance from the right law is {first} for independent counts, and "
        f"{second} for the correction as printed",
        f"of n = {n} users at e^ε₀ = {_RATIO}",
    )
    # That the counts depend on each other holds everywhere.
    return judged if judged.reproduced else replace(judged, verdict=IN_PART)


def _binomial(trials: int, chance: Fraction, count: int) -> Fraction:
    return math.comb(trials, count) * chance**count * (1 - chance) ** (trials - count)


def _distance(one: Law, other: Law) -> Fraction:
    """Total variation."""
    keys = {*one, *other}
    return sum(
        (max(Fraction(0), one.get(x, Fraction(0)) - other.get(x, Fraction(0))) for x in keys),
        Fraction(0),
    )
