"""Cohorts of fixed size in exact rationals: all subsets, all datasets, all outcomes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

Law = Sequence[Fraction]
Outcomes = Mapping[tuple[int, ...], Fraction]


def histogram_law(laws: Sequence[Law]) -> dict[tuple[int, ...], Fraction]:
    """Return the law of the histogram of independent reports."""
    size = len(laws[0]) if laws else 0
    counts = {(0,) * size: Fraction(1)}
    for law in laws:
        grown: dict[tuple[int, ...], Fraction] = {}
        for histogram, mass in counts.items():
            for y, p in enumerate(law):
                if p:
                    key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
                    grown[key] = grown.get(key, Fraction(0)) + mass * p
        counts = grown
    return counts


def cohort_law(rows: Sequence[Law], dataset: Sequence[int], size: int) -> Outcomes:
    """Return the law of the histogram if `size` users of a dataset are drawn."""
    law: Counter[tuple[int, ...]] = Counter()
    drawn: Counter[tuple[int, ...]] = Counter(
        tuple(sorted(chosen)) for chosen in itertools.combinations(dataset, size)
    )
    for chosen, times in drawn.items():
        for histogram, mass in histogram_law([rows[x] for x in chosen]).items():
            law[histogram] += times * mass / math.comb(len(dataset), size)
    return law


def hockey_stick(p: Outcomes, q: Outcomes, zeta: Fraction) -> Fraction:
    """Return Σ(p − ζq)₊."""
    return sum((max(x - zeta * q.get(y, 0), 0) for y, x in p.items()), Fraction(0))


def product(p: Outcomes, q: Outcomes) -> Outcomes:
    """Return the law of a pair of independent outcomes."""
    return {(*x, *y): a * b for x, a in p.items() for y, b in q.items()}


def datasets(inputs: int, others: int) -> Iterable[tuple[int, ...]]:
    """Return all multisets of inputs of the other users."""
    return itertools.combinations_with_replacement(range(inputs), others)


def member(law: Law, sure: Law, share: Fraction) -> tuple[Fraction, ...]:
    """Return f a + (1 − f) c and, last, the mass of the further component."""
    absent = 1 - share
    masses = (share * x + absent * y for x, y in zip(law, sure, strict=True))
    return (*masses, absent * (1 - sum(sure)))


def shuffle_pair(a: Law, b: Law, c: Law, size: int, share: Fraction) -> tuple[Outcomes, Outcomes]:
    """Return the laws of a shuffle of `size` users with a′, b′ and c′ of their decomposition."""
    whole = (*c, 1 - sum(c))
    others = [whole] * (size - 1)
    return (
        histogram_law([member(a, c, share), *others]),
        histogram_law([member(b, c, share), *others]),
    )
