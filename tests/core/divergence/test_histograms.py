"""The histograms of few users, against the multinomial law in fractions."""

import math
from fractions import Fraction

import pytest
from engines import overlap
from oracles import exact

import shufflebounds as sb
from shufflebounds.divergence.enumeration import MAX_HISTOGRAMS, histogram_count, ranked_outcomes


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
    for eps in (0.0, 0.1, math.log(2.0)):
        end = found.divergence(eps)
        assert overlap(end, exact(decomposition, eps, n))
        assert end.upper - end.lower <= 1e-12


def test_many_components_are_left_to_other_engines():
    """Eight hundred components: the histograms of two users would take gigabytes."""
    blanket = sb.KRR(k=800, eps0=1.0).blanket()
    wide = sb.Decomposition(*([1 / 800] * 800 for _ in range(3)))
    assert histogram_count(wide, 2) < MAX_HISTOGRAMS
    assert ranked_outcomes(wide, 2) is None
    assert ranked_outcomes(blanket, 2) is not None
