"""`exact` against brute force over ordered outputs, and against sums written down elsewhere."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from enumeration import brute_force, precise_exp, rationals
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from strategies import decompositions, epsilons, examples

from shufflebounds import Decomposition


def next_float(x, steps):
    for _ in range(steps):
        x = math.nextafter(x, math.inf)
    return x


@examples(250)
@given(st.data(), st.sampled_from([(4, 12.0, 4), (4, 12.0, 4), (3, 290.0, 3)]))
def test_brute_force(data, shape):
    """Uncertain entries are in core/test_uncertain_entries.py."""
    *masses, most = shape
    decomposition = data.draw(decompositions(*masses))
    n = data.draw(st.integers(1, most))
    eps = data.draw(epsilons(decomposition))
    truth = brute_force(*rationals(decomposition), precise_exp(eps), n)
    found = exact(decomposition, eps, n)
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    if decomposition.rel_err == 0.0:  # where sums are exact
        assert found.upper <= next_float(found.lower, 2)


def test_rel_err_covers_a_residual_that_the_floats_do_not_show():
    """A report on the rare component is hidden by any on the other, but not by one elsewhere."""
    a, b, c, rel_err = [0.01, 0.99], [0.0, 1.0], np.array([0.01, 0.99]), 1e-4
    found = exact(Decomposition(a, b, c, rel_err=rel_err), 1.0, 2)
    truth = exact(Decomposition(a, b, c * (1.0 - 0.99 * rel_err)), 1.0, 2)
    assert 1.009 * exact(Decomposition(a, b, c), 1.0, 2).upper < truth.lower
    assert truth.upper <= found.upper


@pytest.mark.parametrize("n", [2, 25])
@pytest.mark.parametrize("eps", [0.1, 0.4])
def test_masses_of_very_different_size_for_many_users(n, eps):
    """The residual then has nearly a thousand bits; sums over all histograms by mpmath."""
    a, b, c = [0.5, 0.375, 0.125], [0.375, 0.5, 0.125], [1e-250, 0.4, 1e-30]
    found = exact(Decomposition(a, b, c), eps, n)
    with mpmath.workdps(600):
        masses = [mpmath.mpf(x) for x in c]
        values = [
            (mpmath.mpf(x) - mpmath.exp(eps) * mpmath.mpf(y)) / z
            for x, y, z in zip(a, b, masses, strict=True)
        ]
        rest, total = 1 - sum(masses), mpmath.mpf(0)
        for h in itertools.product(range(n + 1), repeat=3):
            if sum(h) <= n:
                ways = math.factorial(n)
                for count in (*h, n - sum(h)):
                    ways //= math.factorial(count)
                weight = (
                    ways
                    * rest ** (n - sum(h))
                    * mpmath.fprod(z**k for z, k in zip(masses, h, strict=True))
                )
                total += weight * max(0, mpmath.fdot(h, values))
        truth = total / n
        assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)
    assert found.upper <= next_float(found.lower, 2)
