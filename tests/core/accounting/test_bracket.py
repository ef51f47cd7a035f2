"""Ends of ε from D at a few points, against functions that are convex in e^ε, in rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples

from shufflebounds.accounting.root_search import Bracket
from shufflebounds.core.enclosure import Enclosure

# A line from (0, height) to (zero, 0), as a function of e^ε − 1: D is the sum of some.
LINES = st.lists(
    st.tuples(st.integers(-12, 0).map(lambda k: Fraction(10) ** k), st.floats(-30.0, 60.0)),
    min_size=1,
    max_size=4,
)
MARGINS = st.tuples(*[st.sampled_from([0.0, 1e-15, 1e-9, 1e-4, 0.1]) for _ in range(2)])


class Lines:
    """D, piecewise linear and convex, never above 1; its arguments are exact."""

    def __init__(self, lines):
        share = Fraction(1, len(lines))
        self.lines = [(share * height, Fraction(math.exp(zero))) for height, zero in lines]

    def __call__(self, growth):
        return sum(
            height * (1 - growth / zero) for height, zero in self.lines if growth < zero
        ) + Fraction(0)

    def root(self, delta):
        """The least growth with D at most δ, exactly."""
        if self(Fraction(0)) <= delta:
            return Fraction(0)
        left = Fraction(0)
        for right in sorted(zero for _, zero in self.lines):
            if self(right) <= delta:
                high, low = self(left), self(right)
                return left + (right - left) * (high - delta) / (high - low)
            left = right
        raise AssertionError("D is 0 at its last zero")

    def enclosed(self, eps, below, above):
        """D at a float ε, to 60 digits, rounded outward and widened."""
        with mpmath.workdps(60):
            growth = mpmath.expm1(mpmath.mpf(eps))
            exact = Fraction(*map(int, growth.as_integer_ratio()))
        value = self(exact)
        low, high = float(value) * (1.0 - below), float(value) * (1.0 + above)
        return Enclosure(math.nextafter(low, 0.0) if low > 0.0 else 0.0, math.nextafter(high, 2.0))


def holds(bracket, growth):
    """Whether log(1 + growth) lies in the bracket, in 60 digits."""
    with mpmath.workdps(60):
        root = mpmath.log1p(mpmath.mpf(growth.numerator) / growth.denominator)
        return mpmath.mpf(bracket.low) <= root <= mpmath.mpf(bracket.high)


@given(
    lines=LINES,
    places=st.lists(st.tuples(st.floats(0.0, 60.0), MARGINS), min_size=1, max_size=8),
    near=st.lists(st.floats(-1e-3, 1e-3), max_size=4),
    exponent=st.floats(-14.0, -0.1),
    ended=st.booleans(),
)
@examples(400)
def test_the_root_lies_in_the_bracket(lines, places, near, exponent, ended):
    """Wherever D was evaluated, however well, and in whatever order."""
    function, delta = Lines(lines), 10.0**exponent
    root = function.root(Fraction(delta))
    last = max(zero for _, zero in function.lines)
    end = math.log1p(float(last)) * (1.0 + 1e-12) if ended else math.inf
    bracket = Bracket(delta, end)
    at = float(mpmath.log1p(mpmath.mpf(root.numerator) / root.denominator))
    places += [(at * (1.0 + x), (1e-6, 1e-6)) for x in near]
    for eps, margins in places:
        bracket.add(eps, function.enclosed(eps, *margins))
        assert holds(bracket, root), (bracket.low, bracket.high, float(root))


@given(lines=LINES, exponent=st.floats(-12.0, -0.5), spread=st.floats(1e-3, 0.3))
@examples(100)
def test_on_one_line_three_points_tell_the_root(lines, exponent, spread):
    """Two points on one side of the root and one beyond it, all on the same line."""
    function, delta = Lines(lines[:1]), 10.0**exponent
    root = function.root(Fraction(delta))
    assume(root > 0)
    zero = float(function.lines[0][1])
    bracket = Bracket(delta, math.inf)
    for share in (1.0 - spread, 1.0 - 0.5 * spread):
        eps = math.log1p(float(root) * share)
        bracket.add(eps, function.enclosed(eps, 0.0, 0.0))
    eps = math.log1p(min(float(root) * (1.0 + spread), 0.5 * (float(root) + zero)))
    bracket.add(eps, function.enclosed(eps, 0.0, 0.0))
    assert holds(bracket, root)
    # Differences of D along the line lose what is left of δ; of ε near 0, nothing.
    assert bracket.high - bracket.low <= 1e-9 * bracket.high * max(1.0, 1e-3 / delta)


def test_a_limit_equal_to_delta_is_no_lower_end():
    """D = δ from 0 on: the least ε is 0, though D is at least δ everywhere."""
    bracket = Bracket(0.5, math.inf)
    for eps in (0.0, 1.0, 2.0):
        bracket.add(eps, Enclosure(0.5, 0.5))
    assert bracket.low == 0.0
    assert bracket.high == 0.0


def test_what_says_nothing_leaves_the_ends():
    """But for the chord from D ≤ 2 at ε = 0 to the end."""
    bracket = Bracket(1e-6, 5.0)
    bracket.add(1.0, Enclosure(0.0, math.inf))
    assert bracket.low == 0.0
    assert 5.0 - 1e-6 < bracket.high <= 5.0
    bracket = Bracket(1e-6, math.inf)
    bracket.add(1.0, Enclosure(0.0, math.inf))
    assert (bracket.low, bracket.high) == (0.0, math.inf)
