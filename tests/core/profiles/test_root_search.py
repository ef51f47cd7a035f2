"""The root in ε: brackets against functions convex in e^ε, searches near 0 and of the engine."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples

import shufflebounds as sb
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.profiles import direction
from shufflebounds.profiles.bracket import Bracket
from shufflebounds.profiles.root_search import Start, smallest_eps

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


# Searches, of functions that are known and of those of the engine.


EXPONENTS = st.floats(2.0, 15.0).map(lambda x: 10.0**-x)


class Clouded:
    """D(ε) = e^{−rate ε}/10 in enclosures no narrower than `noise`, off its middle by `lean`."""

    def __init__(self, rate, noise, lean):
        self.rate, self.noise, self.lean, self.aims = rate, noise, lean, []

    def __call__(self, eps, rtol):
        self.aims.append(rtol)
        width, value = max(rtol, self.noise), 0.1 * math.exp(-self.rate * eps)
        below, above = value * (1.0 - (0.5 + self.lean) * width), value * (1.0 + 0.4 * width)
        return Enclosure(below, above)


@given(
    distance=st.one_of(st.just(0.0), EXPONENTS, EXPONENTS.map(lambda x: -x)),
    rate=st.sampled_from([0.01, 1.0, 1e6]),
    noise=st.sampled_from([1e-13, 1e-9, 1e-6, 1e-3]),
    lean=st.sampled_from([-0.4, 0.0, 0.4]),
    slip=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
)
@examples(300)
def test_next_to_the_value_at_zero(distance, rate, noise, lean, slip):
    """It takes a bounded number of evaluations, however close δ is to D(0)."""
    delta = 0.1 * (1.0 - distance)
    root = max(0.0, -math.log1p(-distance) / rate)
    clouded = Clouded(rate, noise, lean)
    found = smallest_eps(clouded, delta, Start(slip * root, -0.9 * rate), math.inf, 1e-4)
    slack = 1e-15 / rate  # of 0.1 (1 − distance), rounded
    assert found.lower - slack <= root <= found.upper + slack
    assert len(clouded.aims) <= 60
    if distance <= -3.0 * noise and distance <= -1e-8:
        assert found == Enclosure(0.0, 0.0)
        assert len(clouded.aims) <= 8
    # As narrow as noise lets it be.
    if distance > 0.0 and 30.0 * noise < 1e-4 * distance:
        assert found.relative_width <= 1e-4
    assert found.upper <= 1.0002 * root + 40.0 * max(noise, 1e-9) / rate


def counted(monkeypatch):
    calls, evaluate = [], direction.divergences
    monkeypatch.setattr(
        direction,
        "divergences",
        lambda part, eps, *aims, **more: calls.extend(eps) or evaluate(part, eps, *aims, **more),
    )
    return calls


@pytest.mark.parametrize("deficit", [1e-2, 1e-4, 1e-6, 1e-9, 0.0])
def test_just_below_it_the_cost_is_bounded(monkeypatch, deficit):
    """What comes out holds: as a function of e^ε D falls by at most 1 per unit."""
    blanket, n = sb.KRR(10, 4.0).blanket(), 1000
    zero = sb.delta(blanket, 0.0, n, rtol=1e-5)
    target = (1.0 - deficit) * zero.lower
    calls = counted(monkeypatch)
    found = reached(lambda: sb.epsilon(blanket, n, target))
    assert len(calls) <= 25
    assert found.upper >= math.log1p(deficit * zero.lower)
    assert found.lower <= found.upper <= 1e-4 + deficit
    if deficit >= 1e-2:
        assert found.relative_width <= 1e-4


def test_a_limit_that_is_delta_itself_ends_the_search(monkeypatch):
    """D never falls below 1/2, up to rounding: neither its width nor its slope leads anywhere."""
    pair = sb.Decomposition([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.0], 2.0**-52)
    calls = counted(monkeypatch)
    with pytest.raises(sb.PrecisionError, match=r"lie in \[0.0, inf\]"):
        sb.epsilon(pair, 10, 0.5)
    assert len(calls) < 200


class Line:
    """D, a line in e^ε − 1 from `height` to 0 at 1, less well known at either end; 0 ≤ ε ≤ 690."""

    def __init__(self, height, noise):
        self.height, self.noise, self.asked = height, noise, []

    def __call__(self, eps, rtol):
        assert 0.0 <= eps <= 690.0
        assert 0.0 < rtol <= 1.0
        self.asked.append(eps)
        value, width = self.height * max(0.0, 1.0 - math.expm1(eps)), max(rtol, self.noise)
        return Enclosure(value * (1.0 - width), value * (1.0 + width))


@given(
    distance=st.floats(-17.0, -0.5).map(lambda x: 10.0**x),
    noise=st.sampled_from([0.0, 1e-6, 1e-3, 0.1]),
    start=st.sampled_from([math.nan, 5e-324, 1e-290, 1e-9, 0.5, math.inf]),
    slope=st.sampled_from([math.nan, 0.0, -1e-300, -1.0, -1e15, -math.inf]),
    doubt=st.sampled_from([0.0, 1e-6, math.inf]),
    rtol=st.floats(-9.0, -1.0).map(lambda x: 10.0**x),
)
@examples(400)
def test_wherever_it_starts_it_looks_where_there_is_something(
    distance, noise, start, slope, doubt, rtol
):
    """Never below 0, whatever the guesses and slopes."""
    line, delta = Line(0.5, noise), 0.5 * (1.0 - distance)
    found = smallest_eps(
        line, delta, Start(start, slope, doubt), math.log(2.0) * (1.0 + 1e-15), rtol
    )
    root = math.log1p(1.0 - 2.0 * delta)
    assert found.lower - 1e-15 <= root <= found.upper + 1e-15
    assert len(line.asked) <= 100


@pytest.mark.parametrize("start", [0.0, math.nan, 1.0])
@pytest.mark.parametrize("slope", [math.nan, -1.0])
def test_upper_ends_of_inf_leave_lower_ends(start, slope):
    def half_known(eps, _):
        assert 0.0 <= eps <= 690.0
        return Enclosure(0.5 * math.exp(-eps), math.inf)

    found = smallest_eps(half_known, 1e-3, Start(start, slope), math.inf, 1e-4)
    assert 0.0 <= found.lower <= math.log(500.0)
    assert found.upper == math.inf


@pytest.mark.parametrize(
    ("one", "reports", "side", "rate", "n", "delta"),
    [
        (sb.BLH(8.0), 8, "dataset_pair", 1e-4, 100, 1e-6),
        (sb.KRR(2, 8.0), 8, "dataset_pair", 0.01, 10_000, 1e-12),
        (sb.HadamardResponse(4.0), 16, "blanket", 1e-4, 10**7, 1e-12),
        (sb.BLH(8.0), 4, "blanket", 1e-4, 10**7, 1e-12),
        (sb.HadamardResponse(2.0), 16, "dataset_pair", 1.0, 1000, 1e-5),
    ],
)
def test_where_delta_falls_by_decades_within_the_width(one, reports, side, rate, n, delta):
    """A single draw more or less decides; D is found on either side of every end."""
    law = sb.subsample(getattr(sb.Joint([one] * reports), side)(), rate)
    found = sb.epsilon(law, n, delta)
    assert found.relative_width <= 1e-4
    # Evaluated without what a search remembers, nor by chords between points.
    assert sb.delta(law, found.lower * (1.0 - 1e-5), n, rtol=0.1).upper > delta
    assert sb.delta(law, found.upper * (1.0 + 1e-5), n, rtol=0.1).lower <= delta


@pytest.mark.parametrize(
    ("delta", "steep"), [(1.25e-3, 400.0), (1.3e-3, 400.0), (1.5e-3, 40.0), (2e-3, 4e4)]
)
def test_next_to_a_kink(delta, steep):
    """D falls steeply to where it hardly falls any more, just beyond where it is δ."""
    calls = []

    def kinked(eps, rtol):
        calls.append(eps)
        growth = math.expm1(eps)
        value = max(0.5 - steep * growth, 1.2e-3 * (1.0 - growth))
        return Enclosure(value * (1.0 - 0.2 * rtol), value * (1.0 + 0.2 * rtol))

    found = smallest_eps(kinked, delta, Start(0.05, -1.0, 1.0), math.log(2.0), 1e-4)
    assert found.lower <= math.log1p((0.5 - delta) / steep) <= found.upper
    assert found.relative_width <= 1e-4
    assert len(calls) <= 30


# Masses over hundreds of decades, at which a start, an engine or the search gave up or raised.
HARD = {
    "no slope": ([1.0, 2.4e-75], [1.0, 0.0], [1.5e-14, 1e-9], 0.000999, 1, 2.409152147621e-75),
    "tiny quotients": (
        [1.9e-158, 1.8e-18, 5.7e-47, 1.0, 5.6e-10],
        [1.9e-23, 1.0, 0.0, 2.9e-152, 5.9e-163],
        [7.3e-97, 2.3e-36, 3e-252, 4.1e-45, 4.6e-114],
        0.000999,
        10,
        3.5e-10,
    ),
    "subnormal base": (
        [2.1e-197, 2.7e-160, 2.2e-105, 0.9306, 1.7e-271, 6.6e-121, 0.0694, 1.0e-163],
        [1.5e-169, 6.2e-209, 3.9e-94, 1.7e-105, 9.2e-214, 1.7e-51, 1.0, 1.4e-154],
        [8.5e-117, 2.4e-163, 1.6e-281, 1.7e-196, 1.0, 0.0, 0.0, 1.1e-18],
        0.0,
        1084,
        1e-6,
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HARD)
def test_masses_over_hundreds_of_decades(name):
    a, b, c, rel_err, n, delta = HARD[name]
    a, b = ([x / math.fsum(one) for x in one] for one in (a, b))
    decomposition = sb.Decomposition(a, b, c, rel_err=rel_err)
    found = reached(lambda: sb.epsilon(decomposition, n, delta, rtol=1e-3))
    assert 0.0 <= found.lower <= found.upper
    if rel_err == 0.0:
        assert found.relative_width <= 1e-3


def test_where_guesses_lead_nowhere_it_halves():
    # A cliff that ends at 3, and a start far beyond it whose slope says the root is next to it.
    def evaluate(eps, rtol):
        value = 0.95e-6 + 1e-3 * max(math.exp(3.0) - math.exp(eps), 0.0)
        return Enclosure(value, value)

    found = smallest_eps(evaluate, 1e-6, Start(163.6623669, -26894.0, 0.1), 690.0, 1e-4)
    root = math.log(math.exp(3.0) - 0.05e-3)
    assert found.lower <= root <= found.upper
    assert found.relative_width < 1e-4


@pytest.mark.parametrize("end", [720.0, 1500.0, math.inf])
def test_where_nothing_tells_it_never_asks_beyond_the_floats(end):
    """D far above δ wherever e^ε is a float, and known to be 0 further out only."""
    asked = []

    def flat(eps, rtol):
        asked.append(eps)
        return Enclosure(0.5 * (1.0 - rtol), 0.5)

    found = smallest_eps(flat, 1e-3, Start(1.0), end, 1e-4)
    assert max(asked) <= 690.0
    assert found.lower >= max(asked)
    assert found.upper == end
