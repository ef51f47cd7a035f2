"""Profiles against exact divergences."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import shuffles
from engines import overlap
from hypothesis import given
from hypothesis import strategies as st
from strategies import decompositions, examples

import shufflebounds as sb
from shufflebounds.questions.profile import SampledProfile, advantage, profile


@given(st.data(), st.integers(1, 3))
@examples(40)
def test_profile_at_any_epsilon(data, n):
    decomposition = data.draw(decompositions(max_components=3))
    found = profile(decomposition, n, density=data.draw(st.sampled_from([2.0, 20.0])))
    pair = shuffles.pair_of(decomposition, n)
    reach = (found.upper.size - 1) * found.step
    some = st.one_of(st.floats(-1.2, 1.2).map(lambda x: x * reach), st.floats(-4.0, 4.0))
    for eps in data.draw(st.lists(some, min_size=1, max_size=6)):
        ends = [shuffles.divergence(one, eps) for one in (pair, shuffles.swapped(pair))]
        enclosure = found.delta(eps)
        assert enclosure.lower <= max(high for _, high in ends)
        assert max(low for low, _ in ends) <= enclosure.upper


@given(st.data(), st.integers(1, 3), st.floats(1e-6, 0.999))
@examples(40)
def test_profile_at_any_delta(data, n, delta):
    decomposition = data.draw(decompositions(max_components=3))
    found = profile(decomposition, n, density=10.0).epsilon(delta)
    pair = shuffles.pair_of(decomposition, n)
    orders = (pair, shuffles.swapped(pair))
    if found.upper < math.inf:
        assert all(shuffles.divergence(one, found.upper)[0] <= delta for one in orders)
    assert any(shuffles.divergence(one, found.lower)[1] >= delta for one in orders)


def test_profile_of_many_rounds():
    blanket = sb.KRR(10, 2.0).blanket()
    found = profile(blanket, 10**5, rounds=30, smallest=1e-9)
    for eps in (0.0, 0.1, 0.15):
        one, two = found.delta(eps), sb.delta(blanket, eps, 10**5, rounds=30)
        assert overlap(one, two)
        assert one.relative_width < 0.15
    assert found.epsilon(1e-6).relative_width < 0.01


@given(st.data(), st.integers(1, 3))
@examples(25)
def test_no_test_beats_the_trade_off_curve(data, n):
    """Against every threshold test on the likelihood ratio, randomised between two of them."""
    decomposition = data.draw(decompositions(max_components=3))
    found = profile(decomposition, n, density=10.0)
    assert_trade_off(found, [shuffles.pair_of(decomposition, n)])


def assert_trade_off(found, pairs, known=None):
    """All curves of pairs lie above ``lower``, the lower hull of those known below ``upper``."""
    corners = trade_off_corners(pairs)
    attained = corners if known is None else trade_off_corners(known)
    for alpha in (0.0, 0.05, 0.3, 0.5, 0.9, 1.0):
        ends = found.false_negatives(alpha)
        values = [np.interp(alpha, *zip(*one, strict=True)) for one in corners]
        assert min(values) >= ends.lower - 1e-12
        mixed = min(
            a[1] + (alpha - a[0]) / (b[0] - a[0]) * (b[1] - a[1])
            for a, b in itertools.product([c for one in attained for c in one], repeat=2)
            if a[0] <= alpha <= b[0] and a[0] < b[0]
        )
        assert mixed <= ends.upper + 1e-12


def trade_off_corners(pairs):
    """Rates of false positives and negatives of the best tests, of both orders of each pair."""
    corners = []
    for pair in [order for one in pairs for order in (one, shuffles.swapped(one))]:
        # x₁⁰ is rejected where its likelihood is smallest beside the other's.
        order = sorted(pair, key=lambda x: x[0] / x[1] if x[1] else math.inf)
        corners.append([(0.0, 1.0)])
        alpha, beta = 0, 1
        for p, q in order:
            alpha, beta = alpha + p, beta - q
            corners[-1].append((float(alpha), float(beta)))
        corners[-1].append((1.0, 0.0))  # masses are floats that sum to about 1
    return corners


def test_trade_off_is_narrow():
    found = profile(sb.KRR(10, 2.0).blanket(), 10**4, rounds=30)
    for alpha in (0.01, 0.1, 0.5):
        ends = found.false_negatives(alpha)
        assert 0.0 < ends.lower <= ends.upper < 1.0 - alpha
        assert ends.upper - ends.lower < 0.01


def test_trade_off_of_no_information_is_not_undercut():
    """f(α) = 1 − α, which is no float."""
    nothing = profile(sb.Decomposition([1.0], [1.0], [0.5]), 1)
    for alpha in (0.3 * np.random.default_rng(1).random(300)).tolist():
        assert Fraction(nothing.false_negatives(alpha).upper) >= 1 - Fraction(alpha)


def test_trade_off_beyond_floats():
    """e^ε of the last points overflows; without false positives f is 1 − H there."""
    found = SampledProfile(
        300.0, np.array([1.0, 1.0, 0.75, 0.5]), np.array([1.0, 1.0, 0.75, 0.5]), 0.25
    )
    ends = found.false_negatives(0.0)
    assert 0.5 - 1e-12 <= ends.lower <= 0.5
    assert ends.upper >= 0.75  # beyond, H may fall to its limit


def test_a_curve_at_its_limit():
    """H(x) = 1 − x/2 until x = 1 and ½ beyond: the smallest ε with δ(ε) ≤ ½ is 0."""
    half = np.full(4, 0.5)
    assert SampledProfile(0.5, half, half, 0.5).epsilon(0.5).lower <= 0.0


def test_advantage_is_total_variation():
    pair = shuffles.pair_of(shuffles.blanket(shuffles.TERNARY, 0, 1), 3)
    blanket = shuffles.blanket(shuffles.TERNARY, 0, 1)
    one = advantage(blanket, 3)
    assert one.lower <= float(sum(abs(p - q) for p, q in pair)) / 2.0 <= one.upper
    two = advantage(blanket, 3, rounds=2)
    whole = shuffles.product([pair, pair])
    truth = float(sum(abs(p - q) for p, q in whole)) / 2.0
    assert two.lower <= truth <= two.upper
    close = advantage(blanket, 3, rounds=2, rtol=1e-3)
    assert close.lower <= truth <= close.upper
    assert close.relative_width <= 1e-3


def test_mistakes_are_told_in_a_sentence():
    """Those of users and rounds are in tests/contract."""
    blanket = sb.KRR(10, 2.0).blanket()
    with pytest.raises(ValueError, match="delta must be a finite number"):
        profile(blanket, 10, smallest=0.0)
    with pytest.raises(ValueError, match=r"density must be .* 1 <= density <= 1000, got 0\.0"):
        profile(blanket, 10, density=0.0)
    found = profile(blanket, 1000)
    with pytest.raises(ValueError, match="eps must be a finite number"):
        found.delta(math.nan)
    with pytest.raises(ValueError, match="delta must be"):
        found.epsilon(1.0)
    with pytest.raises(ValueError, match="false_positives must be"):
        found.false_negatives(1.5)
    with pytest.raises(ValueError, match="false_positives must be a number that a float holds"):
        found.false_negatives(Fraction(1, 3))
