"""`exact` against brute force over ordered outputs, and against sums written down elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
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
