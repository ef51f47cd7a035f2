"""docs/proofs/closing-the-gap.md: its lemmas in rationals, its numbers, and what does not hold."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from enumeration import truth
from scipy import stats
from strategies import FUZZ

HALF = Fraction(1, 2)
BINARY = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]


def labelled(a, b, laws, t):
    """D_L of Lemma 1 from the laws of all lists of reports: a random user sends the victim's."""
    total, size = Fraction(0), len(laws)
    for y in itertools.product(range(len(a)), repeat=size):
        p, q = (
            sum(
                math.prod((law if i == j else laws[j])[y[j]] for j in range(size))
                for i in range(size)
            )
            for law in (a, b)
        )
        total += max(Fraction(0), p - t * q) / size
    return total


def positive_part(draws):
    """E(S)₊ of independent draws, each a list of (value, probability)."""
    return sum(
        math.prod(p for _, p in one) * max(Fraction(0), sum(g for g, _ in one))
        for one in itertools.product(*draws)
    )


def decomposition(a, b, c, n, t):
    """D(ε) of (a, b, c) and n users, by its definition."""
    parts = list(zip(a, b, c, strict=True))
    draw = [((x - t * y) / z, z) for x, y, z in parts if z > 0] + [(Fraction(0), 1 - sum(c))]
    return (
        sum(max(Fraction(0), x - t * y) for x, y, z in parts if z == 0)
        + positive_part([draw] * n) / n
    )


def by_lemma_2(a, b, rest, t):
    """D_L of users of whose laws `rest` is left."""
    tails = sum(rest[0])
    draws, apart = [], Fraction(0)
    for rho in rest:
        parts = [(x - t * y, z) for x, y, z in zip(a, b, rho, strict=True)]
        draws.append([(tails * u / z, z / tails) for u, z in parts if z > 0])
        apart += sum(max(Fraction(0), u) for u, z in parts if z == 0)
    return (positive_part(draws) + apart) / len(rest)


def lemmas(a, b, others, d, c, t):
    """The bound of Lemmas 1 to 3, each of the first two an equality where it says so."""
    heads, count = sum(d), len(others)
    rest = [[x - y for x, y in zip(law, d, strict=True)] for law in others]
    tails = [[x / (1 - heads) for x in rho] for rho in rest]
    left = [(x - y) / (1 - heads) for x, y in zip(c, d, strict=True)]
    residual = decomposition(a, b, left, count + 1, t)
    assert truth(a, b, tails, t) <= residual
    total = (1 - heads) ** count * residual
    for v in range(1, count + 1):
        sets = list(itertools.combinations(range(count), count - v + 1))
        for chosen in sets:
            found = by_lemma_2(a, b, [rest[i] for i in chosen], t)
            assert found == labelled(a, b, [tails[i] for i in chosen], t)
            chance = math.comb(count, v) * heads**v * (1 - heads) ** (count - v)
            total += chance * found / len(sets)
    return total


def test_three_users_by_hand():
    a, b = BINARY
    d, c = [Fraction(1, 8)] * 2, [Fraction(1, 4)] * 2
    assert truth(a, b, [a, b], Fraction(1)) == Fraction(20, 64)
    assert truth(a, b, [a, a], Fraction(1)) == truth(a, b, [b, b], Fraction(1)) == Fraction(18, 64)
    rest = [Fraction(5, 8), Fraction(1, 8)], [Fraction(1, 8), Fraction(5, 8)]
    assert by_lemma_2(a, b, rest[:1], Fraction(1)) == HALF
    assert by_lemma_2(a, b, rest, Fraction(1)) == Fraction(1, 4)
    assert by_lemma_2(a, b, [rest[0]] * 2, Fraction(1)) == Fraction(5, 12)
    assert decomposition(a, b, [Fraction(1, 6)] * 2, 3, Fraction(1)) == Fraction(13, 36)
    assert lemmas(a, b, [a, b], d, c, Fraction(1)) == Fraction(21, 64)
    assert lemmas(a, b, [a, a], d, c, Fraction(1)) == Fraction(25, 64)
    assert decomposition(a, b, c, 3, Fraction(1)) == Fraction(20, 64)


def random_law(rng, outputs):
    """Masses that are multiples of a small unit, some of them 0."""
    while not sum(found := rng.integers(0, 5, outputs) * (rng.random(outputs) < 0.8)):
        pass
    return [Fraction(int(x), int(found.sum())) for x in found]


def test_no_dataset_exceeds_the_lemmas():
    """Any laws of others, with zeros; d may use up c, and c be less than they have in common."""
    rng = np.random.default_rng(43)
    tightest, cases = Fraction(0), 0
    while cases < 60 * FUZZ:
        n, outputs = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        a, b, *others = (random_law(rng, outputs) for _ in range(n + 1))
        c = [
            min(column) * Fraction(int(rng.integers(2, 4)), 3)
            for column in zip(*others, strict=True)
        ]
        d = [x * Fraction(int(rng.integers(0, 4)), 3) for x in c]
        if not 0 < sum(d) < 1:
            continue
        cases += 1
        t = Fraction(int(rng.integers(4, 12)), 4)
        true, bound = truth(a, b, others, t), lemmas(a, b, others, d, c, t)
        assert true <= bound
        if bound:
            tightest = max(tightest, true / bound)
    assert tightest > Fraction(9, 10)


def test_averages_of_products_are_below_those_of_powers():
    """Lemma 6."""
    rng = np.random.default_rng(44)
    for _ in range(60 * FUZZ):
        count, heads = int(rng.integers(1, 6)), Fraction(int(rng.integers(1, 8)), 8)
        alphas = [Fraction(int(x), 4) for x in rng.integers(0, 12, count)]
        total = Fraction(0)
        for v in range(1, count + 1):
            sets = list(itertools.combinations(alphas, count - v + 1))
            mean = sum(map(math.prod, sets)) / len(sets)
            total += math.comb(count + 1, v) * heads**v * (1 - heads) ** (count + 1 - v) * mean
        powers = [(heads + (1 - heads) * x) ** (count + 1) for x in alphas]
        assert total <= sum(powers) / count


def integral(a, b, rest, heads, n, t, theta, eta, h):
    """T_x where no ρ_x is 0, to many digits."""
    total, last = mpmath.mpf(0), math.ceil(12 / (eta * h))
    for j in range(-last, last + 1):
        z = mpmath.mpc(theta, j * h)
        main = sum(r * mpmath.exp(z * (x - t * y) / r) for x, y, r in zip(a, b, rest, strict=True))
        damping = mpmath.mpf(eta) ** 2 * (z**2).real / 2
        total += mpmath.exp(damping) / abs(z) ** 2 * (heads + abs(main)) ** n
    return total * h / (2 * mpmath.pi * n)


def test_theorem_of_three_users():
    a, b = (np.array([float(x) for x in law]) for law in BINARY)
    found = [integral(a, b, law - 0.125, 0.25, 3, 1.0, 0.4, 0.5, 0.2) for law in (a, b)]
    assert found == pytest.approx([0.50665, 0.48228], abs=1e-4)
    assert sum(found) / 2 + 13 / 64 == pytest.approx(0.70, abs=0.005)


def test_without_heads_there_is_no_bound():
    """18 users of a binary channel: one of them with another input, and no coins."""
    p, q, t = Fraction("0.65719"), Fraction("0.994871"), Fraction(math.exp(3.268926))
    a, b = [p, 1 - p], [q, 1 - q]
    mixed = truth(a, b, [a] * 16 + [b], t)
    assert float(mixed) == pytest.approx(4.0011e-9, rel=1e-4)
    assert float(truth(a, b, [a] * 17, t)) == pytest.approx(2.5941e-9, rel=1e-4)
    rows = [[float(x) for x in law] for law in (a, b)]
    bounds = [integral(*rows, rest, 0.0, 18, float(t), 0.09, 5.0, 0.02) for rest in rows]
    assert max(bounds) < 3.6905e-9 < mixed


def counts(law, users):
    """The law of the number of second reports of so many users."""
    return stats.binom.pmf(np.arange(users + 1), users, law[1])


def test_equal_others_are_nearly_the_worst_of_a_thousand_users():
    """Theorem 2, of 2-RR at ε₀ = 1: all datasets by convolution, and the formula."""
    n, e = 1000, math.e
    rows = np.array([[e, 1.0], [1.0, e]]) / (e + 1.0)
    t, spread = np.array([0.0, 1.0, 2.0, 2.6, 3.0]), (e - 1.0) / math.sqrt(e * n)  # √(V/n)
    gap, found = np.exp(t * spread)[:, np.newaxis], []
    for k in range(n):
        others = np.convolve(counts(rows[0], n - 1 - k), counts(rows[1], k))
        p, q = (np.convolve(others, row) for row in rows)
        both = [np.maximum(x - gap * y, 0.0).sum(axis=1) for x, y in ((p, q), (q, p))]
        found.append(np.maximum(*both))
    equal, worst = np.maximum(found[0], found[-1]), np.max(found, axis=0)
    assert (equal <= worst).all()
    assert (worst <= 1.006 * equal).all()
    formula = spread * (stats.norm.pdf(t) - t * stats.norm.sf(t))
    assert (0.999 * formula < equal).all()
    assert (equal < 1.52 * formula).all()
