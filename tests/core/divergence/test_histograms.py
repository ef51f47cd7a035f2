"""The histograms of few users, against the oracle in rationals."""

from engines import overlap
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from strategies import decompositions, epsilons, examples

import shufflebounds as sb
from shufflebounds.divergence.enumeration import MAX_HISTOGRAMS, histogram_count, ranked_outcomes


@given(st.data(), st.integers(1, 4), st.integers(1, 6))
@examples(100)
def test_histograms_against_the_oracle(data, n, size):
    """More and fewer components than users, of one report or one component after the other."""
    decomposition = data.draw(decompositions(max_components=size))
    eps = data.draw(epsilons(decomposition))
    found = ranked_outcomes(decomposition, n)
    if found is not None:
        ends = found.divergence(eps)
        assert overlap(ends, exact(decomposition, eps, n))
        assert ends.upper - ends.lower <= 1e-9
        assert found.ratios.size == histogram_count(decomposition, n) or not decomposition.c.all()


def test_many_components_are_left_to_other_engines():
    """Eight hundred components: the histograms of two users would take gigabytes."""
    blanket = sb.KRR(k=800, eps0=1.0).blanket()
    wide = sb.Decomposition(*([1 / 800] * 800 for _ in range(3)))
    assert histogram_count(wide, 2) < MAX_HISTOGRAMS
    assert ranked_outcomes(wide, 2) is None
    assert ranked_outcomes(blanket, 2) is not None
