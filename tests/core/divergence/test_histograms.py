"""The histograms of few users, against the multinomial law in fractions."""

import itertools
import math
from fractions import Fraction

import pytest

import shufflebounds as sb
from shufflebounds.divergence.enumeration import MAX_HISTOGRAMS, histogram_count, ranked_outcomes


def exact(a, b, c, n, growth):
    """Σ_h (P(h) − e^ε Q(h))₊, of multisets of n places, for e^ε = `growth`."""
    rest = 1 - sum(c)
    found = Fraction(0)
    for places in itertools.combinations_with_replacement(range(len(c) + (rest > 0)), n):
        counts = [places.count(j) for j in range(len(c))]
        ways = math.factorial(n)
        for count in (*counts, n - sum(counts)):
            ways //= math.factorial(count)
        mass = ways * rest ** (n - sum(counts))
        for count, each in zip(counts, c, strict=True):
            mass *= each**count
        gain, cost = (
            sum(h * end / (n * each) for h, end, each in zip(counts, ends, c, strict=True))
            for ends in (a, b)
        )
        found += max(mass * (gain - growth * cost), 0)
    return found


@pytest.mark.parametrize(("n", "size", "left"), [(1, 7, 1), (2, 9, 0), (3, 5, 4), (5, 3, 1)])
def test_more_and_fewer_components_than_users(n, size, left):
    """One report after the other, or one component after the other: both are all there are."""
    whole = 64
    c = [Fraction(1 + (3 * j) % 4, whole) for j in range(size)]
    c[0] += 1 - sum(c) - Fraction(left, whole)
    a, b = list(c), list(c)
    a[0], b[1] = a[0] + Fraction(left, whole), b[1] + Fraction(left, whole)
    step = Fraction(1, whole)
    a[1], a[2] = a[1] - step / 2, a[2] + step / 2
    decomposition = sb.Decomposition(*([float(x) for x in ends] for ends in (a, b, c)))
    found = ranked_outcomes(decomposition, n)
    assert found.ratios.size == histogram_count(decomposition, n)
    for growth in (Fraction(1), Fraction(9, 8), Fraction(2)):
        end = found.divergence(math.log(growth))
        d = exact(a, b, c, n, growth)
        assert end.lower * (1 - 1e-15) <= d <= end.upper * (1 + 1e-15)
        assert end.upper - end.lower <= 1e-12


def test_many_components_are_left_to_other_engines():
    """Eight hundred components: the histograms of two users would take gigabytes."""
    blanket = sb.KRR(k=800, eps0=1.0).blanket()
    wide = sb.Decomposition(*([1 / 800] * 800 for _ in range(3)))
    assert histogram_count(wide, 2) < MAX_HISTOGRAMS
    assert ranked_outcomes(wide, 2) is None
    assert ranked_outcomes(blanket, 2) is not None
