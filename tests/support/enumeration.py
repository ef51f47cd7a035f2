"""Divergences of a few users in fractions, by enumeration of all that they may report."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import mpmath


def brute_force(a, b, c, exp_eps, n):
    """Hockey-stick divergence of the multisets, over all |Y|^n ordered reports; all rational."""
    elsewhere = len(c)
    others = [*enumerate(c), (elsewhere, 1 - sum(c))]
    law = defaultdict(lambda: [Fraction(0), Fraction(0)])
    for rest in itertools.product(others, repeat=n - 1):
        p = math.prod((mass for _, mass in rest), start=Fraction(1))
        if p == 0:
            continue
        for j in range(len(a)):
            histogram = tuple(sorted([j, *(y for y, _ in rest)]))
            law[histogram][0] += p * a[j]
            law[histogram][1] += p * b[j]
    return sum(max(p0 - exp_eps * p1, 0) for p0, p1 in law.values())


def rationals(decomposition):
    return [[Fraction(x) for x in getattr(decomposition, name).tolist()] for name in "abc"]


def precise_exp(eps):
    with mpmath.workdps(700):
        mantissa, exponent = mpmath.exp(mpmath.mpf(eps)).man_exp
    return Fraction(mantissa) * Fraction(2) ** exponent


def hockey_stick(first, second, exp_eps):
    """Σ(P − e^ε Q)₊ of two measures given as dictionaries."""
    outcomes = first.keys() | second.keys()
    return sum(max(first.get(z, 0) - exp_eps * second.get(z, 0), 0) for z in outcomes)


def shuffled(laws):
    """The law of the histogram of one report of each law; all laws over the same outputs."""
    base = len(laws) + 1
    histograms, unit = {0: 1}, 1
    for law in laws:
        denominator = math.lcm(*(Fraction(x).denominator for x in law))
        masses = [(base**y, int(x * denominator)) for y, x in enumerate(law) if x]
        unit *= denominator
        sums = defaultdict(int)
        for histogram, weight in histograms.items():
            for step, mass in masses:
                sums[histogram + step] += weight * mass
        histograms = sums
    return {histogram: Fraction(weight, unit) for histogram, weight in histograms.items()}


def truth(a, b, others, exp_eps):
    """D(ε) of the shuffled reports, the victim's first and the others' given by their laws."""
    return hockey_stick(shuffled([a, *others]), shuffled([b, *others]), exp_eps)
