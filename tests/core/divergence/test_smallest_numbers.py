"""Numbers near the end of what floats hold: products that underflow, tilts beyond all others."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.divergence.engine import divergences, log_divergences


def chain_with(a, b):
    """Masses that sum exactly to 1 on both sides: a and b, and others that are equal."""
    equal, left = [], 1 - sum(map(Fraction, b))
    while left > 0:
        mass = float(left)
        mass = mass if Fraction(mass) <= left else math.nextafter(mass, 0.0)
        equal.append(mass)
        left -= Fraction(mass)
    return [*equal, *a], [*equal, *b]


@pytest.mark.parametrize("c", [1e-300, 0.0, 0.25])
@pytest.mark.parametrize("eps", [7.7777e-18, 3e-17, 1.9e-16])
def test_a_product_that_underflows_counts_as_error(c, eps):
    """D is about 1e-316: its only loss is (e^ε − 1) b, which no float holds to its last digits."""
    unit = 2.0**-1047
    a, b = chain_with(
        [2.0**-995 + 5 * unit, 2.0**-995 - 5 * unit], [2.0**-995 + 4 * unit, 2.0**-995 - 4 * unit]
    )
    decomposition = sb.Decomposition(a, b, [0.0] * (len(a) - 2) + [c, 0.0])
    with mp.workprec(4000):
        truth = mp.log(mp.mpf(a[-2]) - mp.exp(mp.mpf(eps)) * mp.mpf(b[-2]))
        low, high = log_divergences(decomposition, np.array([eps]), 1, np.array([1e-9]))
        assert low[0] <= truth <= high[0]


@pytest.mark.parametrize(
    ("rows", "n", "eps"),
    [
        (
            (
                [1.0578397514840829e-79, 1.0],
                [1.0, 2.1859552420067138e-257],
                [1.0, 2.3046182435273415e-215],
            ),
            3679288958776,
            82.00909030861024,
        ),
        (
            (
                [3.2213731074312517e-63, 1.0],
                [3.0002445745907596e-63, 1.0],
                [2.8928156175900416e-63, 1.0],
            ),
            40061001662,
            1e-3,
        ),
    ],
)
def test_a_tilt_to_which_nothing_can_be_added_bounds_nothing(rows, n, eps):
    """θ + u is θ in floats, and Chernoff's bound at u = 0 says nothing."""
    decomposition = sb.Decomposition(*rows)
    enclosure = sb.delta(decomposition, eps, n)
    assert 0.0 <= enclosure.lower <= enclosure.upper <= 1.0 + 1e-12
    points = sb.delta(decomposition, [eps, 0.5 * eps], n)
    assert points.lower[0] <= enclosure.upper
    assert enclosure.lower <= points.upper[0]


def test_a_delta_above_that_at_zero_is_seen_at_zero():
    """The search asks for D(0) before it halves its way down to 0."""
    decomposition = sb.Decomposition([1e-10, 1 - 1e-10], [1e-30, 1.0], [1e-30, 1e-5], rel_err=2e-16)
    assert sb.delta(decomposition, 0.0, 10**6).upper < 1e-9
    assert sb.epsilon(decomposition, 10**6, 1e-9) == sb.Enclosure(0.0, 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_points_keep_their_own_limits(seed):
    """A point beside one that takes no engine is as narrow as alone: its target is its own."""
    rng = np.random.default_rng(seed)
    c = 10.0 ** -rng.uniform(0.0, 8.0, 5)
    a, b = (c * np.exp(4.0 * rng.random(5)) for _ in range(2))
    decomposition = sb.Decomposition(a / a.sum(), b / b.sum(), c / c.sum())
    eps, n, rtol = 2.0, 1000.0, 1e-5
    low, high = divergences(decomposition, np.array([eps]), np.array([n]), np.array([rtol]))
    if not high[0] > 1e-200:
        return
    lows, highs = divergences(
        decomposition,
        np.array([50.0, eps]),
        np.array([n, n]),
        np.array([rtol, rtol]),
        np.array([0.5, high[0]]),
    )
    assert highs[1] - lows[1] <= max(rtol * highs[1], 2.0 * (high[0] - low[0]))
