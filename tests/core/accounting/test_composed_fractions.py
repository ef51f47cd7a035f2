"""Compositions of few users against products of their laws in fractions, nasty ones included."""

from __future__ import annotations

from functools import partial

import hypothesis.strategies as st
import shuffles
from hypothesis import given
from strategies import decompositions, epsilons, examples

import shufflebounds as sb
from shufflebounds.core.enclosure import reached

ROUNDS = st.tuples(decompositions(max_components=3, decades=20.0), st.integers(1, 3))
# Sums of masses may be off 1 by their roundings, which laws in fractions are freed from.
ROUNDING = 1e-12


@examples(15)
@given(st.lists(ROUNDS, min_size=1, max_size=2), st.integers(1, 2), st.data())
def test_composed_rounds_enclose_the_product(rounds, times, data):
    eps = data.draw(epsilons(rounds[0][0]) | st.floats(0.0, 3.0))
    composed = sb.compose([(one, n, times) for one, n in rounds])
    found = reached(partial(composed.delta, eps))
    whole = shuffles.product([shuffles.pair_of(one, n) for one, n in rounds for _ in range(times)])
    ends = [shuffles.divergence(pair, eps) for pair in (whole, shuffles.swapped(whole))]
    low, high = (float(max(end[i] for end in ends)) for i in (0, 1))
    assert found.lower <= high * (1.0 + ROUNDING)
    assert low <= found.upper * (1.0 + ROUNDING)
