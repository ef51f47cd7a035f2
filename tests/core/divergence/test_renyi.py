"""Rényi divergences against enumeration in 50 digits, and their pieces against closed forms."""

import math

import mpmath
import numpy as np
import pytest
import shuffles
from engines import overlap
from hypothesis import event, given
from hypothesis import strategies as st
from strategies import decompositions, examples

import shufflebounds as sb
from shufflebounds.core.enclosure import reached
from shufflebounds.divergence.engine import log_divergence, log_divergences
from shufflebounds.divergence.moments import log_fall, log_polygon_terms, log_rise, log_total
from shufflebounds.profiles import direction, renyi_pairs
from shufflebounds.profiles.log_polygons import Polygons
from shufflebounds.profiles.profile import Interval, Max, Min
from shufflebounds.profiles.renyi import Renyi
from shufflebounds.questions.renyi import renyi

ORDERS = (1.05, 1.5, 2.0, 3.7, 8.0, 50.0)
TELLING = sb.Decomposition([0.875, 0.125, 0.0], [0.875, 0.0, 0.125], [0.5, 0.0, 0.0])
LOPSIDED = sb.Decomposition([0.7, 0.2, 0.1], [0.25, 0.25, 0.5], [0.2, 0.2, 0.1])
U = 2.0**-53


def real(x):
    return mpmath.mpf(x.numerator) / x.denominator if hasattr(x, "numerator") else mpmath.mpf(x)


def divergence_of(pair, order):
    """D_α of masses (p, q), the larger one of both directions."""
    found = []
    for turned in (pair, [(q, p) for p, q in pair]):
        if any(p > 0 and q == 0 for p, q in turned):
            return mpmath.inf
        total = mpmath.fsum(q * (p / q) ** order for p, q in turned if q > 0)
        found.append(mpmath.log(total) / (order - 1))
    return max(found)


CASES = {
    "2-RR blanket": (sb.KRR(2, 1.0).blanket(), 60),
    "2-RR, others at x0": (sb.KRR(2, 1.0).dataset_pair(), 60),
    "3-RR, others at x2": (sb.KRR(3, 2.0).dataset_pair(), 30),
    "clone, few": (sb.standard_clone(3.0), 12),
    "clone": (sb.standard_clone(0.5), 60),
    "Laplace cells": (sb.Laplace(1.0, 1).blanket().inner, 10),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A decomposition, its n, and the truth at all orders."""
    decomposition, n = CASES[request.param]
    with mpmath.workdps(50):
        pair = [(real(p), real(q)) for p, q in shuffles.pair_of(decomposition, n)]
        return decomposition, n, [divergence_of(pair, mpmath.mpf(order)) for order in ORDERS]


def test_sums_enclose_enumeration(case):
    decomposition, n, truth = case
    found = renyi(decomposition, n, ORDERS, 1e-6)
    for value, enclosure in zip(truth, found, strict=True):
        assert enclosure.lower <= value <= enclosure.upper
        assert enclosure.relative_width < 1e-6


def test_polygons_enclose_enumeration(case, monkeypatch):
    """As with many users, from hockey-stick divergences alone."""
    decomposition, n, truth = case
    monkeypatch.setattr(renyi_pairs, "few_moments", lambda *_: None)
    found = reached(lambda: renyi(decomposition, n, ORDERS))
    for value, enclosure in zip(truth, found, strict=True):
        assert enclosure.lower <= value <= enclosure.upper
        assert enclosure.relative_width < 4e-3


@st.composite
def nasty(draw):
    """Two components and hardly a residual, or any, of many decades; and n."""
    if draw(st.booleans()):
        decades = draw(st.sampled_from([3.0, 12.0, 280.0]))
        return draw(decompositions(max_components=3, decades=decades)), draw(st.integers(1, 4))
    decades = draw(st.sampled_from([0.0, 3.0, 12.0, 280.0]))
    share = st.one_of(st.floats(0.01, 0.99), st.floats(0.0, decades).map(lambda x: 0.99 * 10.0**-x))
    a = draw(share)
    b = draw(st.one_of(share, st.just(1.0 - a), st.floats(3.0, 15.0).map(lambda x: a + 0.1**x)))
    c = draw(st.one_of(share, st.just(a), st.just(0.5)))
    off = draw(st.one_of(st.just(0.0), st.floats(-9.9e-10, 9.9e-10)))
    rest = draw(
        st.one_of(st.sampled_from([0.0, -1e-10]), st.floats(3.0, 17.0).map(lambda x: 0.1**x))
    )
    a, b, c = (min(x, 1.0 - 1e-9) for x in (a, b, c))
    made = [a, 1.0 - a + off], [b, 1.0 - b], [c * (1.0 - rest), (1.0 - c) * (1.0 - rest)]
    return sb.Decomposition(*made), draw(st.integers(1, 12))


orders = st.one_of(
    st.sampled_from(ORDERS),
    st.floats(1.0, 15.0).map(lambda x: 1.0 + 10.0**-x),
    st.floats(0.0, 5.9).map(lambda x: 1.0 + 10.0**x),
)


@given(nasty(), st.lists(orders, min_size=1, max_size=3))
@examples(40)
def test_sums_hold_for_any_decomposition(case, orders):
    """Masses of hundreds of decades, and orders of twenty."""
    assert_encloses(*case, orders)


@given(decompositions(max_components=3), st.integers(1, 4), st.sampled_from(ORDERS))
@examples(3)
def test_polygons_hold_for_any_decomposition(decomposition, n, order):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renyi_pairs, "few_moments", lambda *_: None)
        assert_encloses(decomposition, n, [order])


def assert_encloses(decomposition, n, orders):
    found = reached(lambda: renyi(decomposition, n, orders))
    with mpmath.workdps(650):
        pair = [(real(p), real(q)) for p, q in shuffles.pair_of(decomposition, n)]
        for order, ends in zip(orders, found, strict=True):
            truth = divergence_near(pair, mpmath.mpf(order))
            assert ends.lower <= truth <= ends.upper
            close = ends.upper <= 2 * truth and truth <= 2 * ends.lower
            event("within a factor 2" if close else "weak")


def divergence_near(pair, order):
    """`divergence_of`, where all ratios may be next to 1."""
    found = []
    for turned in (pair, shuffles.swapped(pair)):
        if any(p > 0 and q == 0 for p, q in turned):
            return mpmath.inf
        total = mpmath.fsum(
            q * ((p / q) ** order - 1 - order * (p / q - 1)) for p, q in turned if q > 0
        )
        found.append(mpmath.log1p(total) / (order - 1))
    return max(found)


def test_the_lower_end_where_hardly_anything_is_left():
    """All reports but 10⁻⁷ are on two components; a lone user's divergence is log(7/3)."""
    pair = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.49999995] * 2)
    found = renyi(pair, 1, 2.0, 1e-2)
    with mpmath.workdps(30):
        assert found.lower <= mpmath.log(mpmath.mpf(7) / 3) <= found.upper
    assert found.relative_width < 1e-9


def test_equal_entries_may_stand_for_others():
    """a = b as floats, which leaves (1 ± 10⁻⁴)/2 for what they are."""
    found = reached(lambda: renyi(sb.Decomposition([0.5] * 2, [0.5] * 2, [0.25] * 2, 1e-4), 1, 1e5))
    with mpmath.workdps(30):
        pair = [((1 + x) / 2, (1 - x) / 2) for x in (mpmath.mpf("1e-4"), -mpmath.mpf("1e-4"))]
        assert divergence_near(pair, mpmath.mpf(10) ** 5) <= found.upper


@pytest.mark.parametrize("nudge", [0.0, 1e-12, 1e-9, 1e-7, 1e-4])
def test_polygons_that_vanish_at_once(monkeypatch, nudge):
    """D is below all floats, or their neighbours' rounding, soon beyond 0."""
    monkeypatch.setattr(renyi_pairs, "few_moments", lambda *_: None)
    a = np.array([1.0 - 1e-9, 1e-9])
    b = a * (1.0 + nudge * np.array([0.0, 1.0]))
    b /= b.sum()
    found = reached(lambda: renyi(sb.Decomposition(a, b, [0.0, 0.0]), 1, 1.05))
    with mpmath.workdps(60):
        sums = sum(map(real, a)), sum(map(real, b))
        pair = [(real(p) / sums[0], real(q) / sums[1]) for p, q in zip(a, b, strict=True)]
        truth = divergence_of(pair, 1.05)
        assert found.lower <= truth * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(10) ** -15
        assert truth <= found.upper + mpmath.mpf(10) ** -15
        assert found.upper < 1e-12


@pytest.mark.parametrize("n", [2, 50, 2000])
@pytest.mark.parametrize("eps0", [0.1, 2.0])
def test_binomial_sum_of_two_atoms(n, eps0):
    """Both directions of 2-RR with all others at x0, D′/D = 1 + (e² − 1)/(ne) (k − np)."""
    pair = sb.KRR(2, eps0).dataset_pair()
    orders = (1.05, 2.0, 7.5, 50.0, 3e3, 1e5)
    found = reached(lambda: renyi(pair, n, orders, 1e-5))
    with mpmath.workdps(40):
        e = mpmath.e ** mpmath.mpf(eps0)
        p = 1 / (e + 1)
        ratios = [1 + (e * e - 1) / (n * e) * (k - n * p) for k in range(n + 1)]
        masses = [mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        for order, enclosure in zip(orders, found, strict=True):
            alpha = mpmath.mpf(order)
            ends = [
                mpmath.fsum(m * r**power for m, r in zip(masses, ratios, strict=True))
                for power in (alpha, 1 - alpha)
            ]
            assert enclosure.lower <= mpmath.log(max(ends)) / (alpha - 1) <= enclosure.upper
            assert enclosure.relative_width <= 1e-5


@pytest.mark.parametrize("rtol", [None, 1e-4])
@pytest.mark.parametrize("n", [3_000, 10**6, 10**8])
def test_width(n, rtol):
    found = renyi(sb.standard_clone(2.0), n, (1.05, 2.0, 16.0, 200.0), rtol)
    assert np.all(found.relative_width <= (rtol or 2e-3))
    assert np.all(np.diff(found.upper) > 0.0)


def test_width_at_the_largest_orders():
    """The sums rest on D below e^{-10⁵}."""
    orders = [0.5e6, 0.7e6, 1e6]
    found = renyi(sb.standard_clone(2.0), 10**6, orders)
    assert np.all(found.relative_width <= 2e-3)
    assert found[2].lower <= 2.0
    # (α − 1)D_α is convex in α.
    low, at, high = ((order - 1.0) * ends.upper for order, ends in zip(orders, found, strict=True))
    at *= found[1].lower / found[1].upper
    assert at <= 0.6 * low + 0.4 * high


def test_limits():
    """At order 1 the mean loss, at infinity the largest one; D ≤ αε²/2."""
    blanket = sb.KRR(3, 1.0).blanket()
    near = renyi(blanket, 40, [1.0 + 1e-9, 1.0 + 1e-6])
    assert near[0].lower <= near[1].upper
    assert near[1].lower <= near[0].upper * (1.0 + 1e-5)
    far = renyi(blanket, 4, 1e6)
    assert 0.999 < far.lower <= far.upper <= 1.0 + 1e-12
    assert renyi(blanket, 4, 1.5).upper <= 0.75


def test_far_in_the_tail():
    """Divergences that no float holds: between what two orders below and above say."""
    clone = sb.standard_clone(1.0)
    low, at, high = renyi(clone, 10_000, [4_900.0, 5_000.0, 5_100.0])
    assert low.lower <= at.upper
    assert at.lower <= high.upper
    assert at.relative_width <= 2e-3
    # (α − 1)D_α is convex in α.
    middle = 0.5 * (4_899.0 * low.upper + 5_099.0 * high.upper)
    assert 4_999.0 * at.lower <= middle


def test_continuous_randomizers():
    blanket = sb.Laplace(1.0).blanket()
    found = renyi(blanket, 10**5, [2.0, 20.0])
    inner, outer = (renyi(end, 10**5, [2.0, 20.0]) for end in blanket.bounds())
    assert np.all(found.relative_width < 3e-3)
    assert np.all(found.lower <= inner.upper)
    assert np.all(outer.lower <= found.upper)


@pytest.mark.parametrize("domain", ["binary", "interval"])
@pytest.mark.parametrize("eps0", [0.3, 2.0])
def test_a_lone_report_with_laplace_noise(eps0, domain):
    """Two Laplace laws at distance 1 in closed form; the worst pair of [0, 1] is its ends."""
    randomizer = sb.Laplace(eps0) if domain == "binary" else sb.Laplace(eps0, domain=domain)
    orders = [1.2, 2.0, 30.0, 4e3]
    found = renyi(randomizer, 1, orders)
    for order, ends in zip(orders, found, strict=True):
        with mpmath.workdps(40):
            x, alpha = mpmath.mpf(eps0), mpmath.mpf(order)
            total = alpha * mpmath.e ** ((alpha - 1) * x) + (alpha - 1) * mpmath.e ** (-alpha * x)
            assert ends.lower <= mpmath.log(total / (2 * alpha - 1)) / (alpha - 1) <= ends.upper
        assert ends.relative_width < 0.02


def test_tiny_divergences_of_many_users():
    """D_α is α/2 times the variance of P/Q up to terms that are 10⁻⁶ of it."""
    eps0, n = 0.1, 10**12
    found = renyi(sb.KRR(2, eps0).dataset_pair(), n, [1.5, 2.0, 9.0])
    with mpmath.workdps(60):
        # The ratio is 1 + (e² − 1)/(ne)(k − np), k ~ Bin(n, p).
        e = mpmath.e ** mpmath.mpf(eps0)
        p, step = 1 / (e + 1), (e * e - 1) / (n * e)
        for order, ends in zip((1.5, 2.0, 9.0), found, strict=True):
            square = n * p * (1 - p) * step**2
            value = mpmath.mpf(order) / 2 * square
            assert ends.lower <= value * (1 + mpmath.mpf(10) ** -4)
            assert value * (1 - mpmath.mpf(10) ** -4) <= ends.upper
    assert np.all(found.relative_width <= 2e-3)


def test_an_interval_of_several_pairs():
    """The divergence of the largest of pairs is the largest of their divergences."""
    decompositions, n, orders = [sb.KRR(2, 0.8).blanket(), LOPSIDED], 4, np.array([1.3, 4.0, 60.0])
    users = np.array([float(n)])
    parts = [direction.pair(decomposition, users).upper for decomposition in decompositions]
    largest = Max(parts)
    low, high, _ = Renyi(Interval(largest, largest)).bounds(orders, 1e-6)
    # An upper bound of all datasets counts only where it is the smallest.
    loose = direction.pair(sb.KRR(2, 3.0).blanket(), users).upper
    _, smallest, _ = Renyi(Interval(parts[0], Min([loose, largest]))).bounds(orders, 1e-6)
    for i, order in enumerate(orders.tolist()):
        with mpmath.workdps(50):
            truth = max(
                divergence_of(
                    [(real(p), real(q)) for p, q in shuffles.pair_of(decomposition, n)],
                    mpmath.mpf(order),
                )
                for decomposition in decompositions
            )
            assert low[i] <= truth <= high[i] <= low[i] * (1 + 1e-6)
            assert truth <= smallest[i] <= high[i] * (1 + 1e-6)


@given(
    st.floats(-8.0, 5.0).map(lambda x: 1.0 + 10.0**x),
    st.floats(-9.0, 1.5).map(lambda x: 10.0**x),
)
@examples(100)
def test_powers(order, loss):
    """φ, with a relative error within the claimed one."""
    with mpmath.workdps(80):
        alpha, size = mpmath.mpf(order), mpmath.mpf(loss)
        claimed = (4096.0 + 8.0 * order * loss) * U
        for found, ratio in ((log_rise, mpmath.e**size), (log_fall, mpmath.e**-size)):
            value = mpmath.log(ratio**alpha - 1 - alpha * (ratio - 1))
            assert abs(float(found(np.array(order), np.array(loss))) - value) <= claimed


@given(st.data(), st.integers(1, 3), st.floats(0.0, 1.0))
@examples(40)
def test_logarithms_of_divergences(data, n, share):
    decomposition = data.draw(decompositions(max_components=3))
    low, high = log_divergence(decomposition, share, n, 1e-3)
    with mpmath.workdps(60):
        below, above = shuffles.divergence(shuffles.pair_of(decomposition, n), share)
        room = 1e-13
        assert mpmath.exp(low) <= real(above) * (1 + room) + room
        assert real(below) <= mpmath.exp(high) * (1 + room) + room


def test_logarithms_where_floats_end():
    """D of the clone as floats tell it, and its decay beyond."""
    clone = sb.standard_clone(1.0)
    eps = np.array([0.0, 0.05, 0.2, 0.5, 0.8])
    low, high = log_divergences(clone, eps, 10_000, np.full(5, 1e-6))
    for one, (below, above) in zip(eps, zip(low, high, strict=True), strict=True):
        direct = sb.delta(clone, float(one), 10_000) if one < 0.5 else None
        if direct is not None:
            assert math.exp(below) <= direct.upper
            assert direct.lower <= math.exp(above)
    assert high[4] < -700.0
    assert np.all(high - low < 1e-3)
    assert np.all(np.diff(high) < 0.0)


polygons = st.lists(
    st.tuples(st.floats(-6.0, 0.7), st.floats(-3.0, 2.5)), min_size=1, max_size=6
).map(lambda x: [(10.0**width, 10.0**drop) for width, drop in x])


@given(polygons, st.floats(-6.0, 2.5).map(lambda x: 1.0 + 10.0**x), st.booleans())
@examples(60)
def test_terms_are_integrals_of_polygons(steps, order, reverse):
    """Any polygon, convex or not, against the antiderivative in 60 digits."""
    eps = np.cumsum([0.0, *(width for width, _ in steps)])
    logs = np.append(-np.cumsum([0.0, *(drop for _, drop in steps[1:])]), -np.inf)
    with mpmath.workdps(60 + int(0.5 * order * eps[-1])):
        value = polygon_integral(eps, logs, 1 - mpmath.mpf(order) if reverse else order)
        for side in (-1.0, 1.0):
            terms = log_polygon_terms(eps, logs, np.array([order]), side)
            found = float(log_total(terms[int(reverse)], side)[0])
            assert side * (found - mpmath.log(value)) >= 0
            assert abs(found - mpmath.log(value)) < 1e-9 * (1.0 + order)


def test_terms_far_beyond_floats():
    """Heights of e^{−10⁵} at orders up to 10⁶, and cells without a width, which add nothing."""
    eps = np.array([0.0, 0.5, 0.5, 0.8, 1.0])
    logs = np.array([-1.0, -3e4, -3e4, -1e5, -np.inf])
    distinct = [0, 1, 3, 4]
    for order in (1.0 + 1e-9, 2.0, 1e4, 1e6):
        with mpmath.workdps(100):
            places = [mpmath.e ** mpmath.mpf(x) for x in eps[distinct].tolist()]
            heights = [mpmath.e ** mpmath.mpf(x) for x in logs[distinct][:-1].tolist()] + [0]
            power, value = mpmath.mpf(order), mpmath.mpf(0)
            for x, y, u, v in zip(places, places[1:], heights, heights[1:], strict=False):
                slope = (v - u) / (y - x)
                value += (u - slope * x) * power * (y ** (power - 1) - x ** (power - 1))
                value += slope * (power - 1) * (y**power - x**power)
            value = mpmath.log(value)
        low, high = (
            log_total(log_polygon_terms(eps, logs, np.array([order]), side)[0], side)
            for side in (-1.0, 1.0)
        )
        assert low[0] <= value <= high[0]
        assert high[0] - low[0] <= 1e-9 * (1.0 + abs(value))


def polygon_integral(eps, logs, order):
    """∫ α(α − 1) y^{α−2} h(y) dy of a polygon h, whose pieces have antiderivatives."""
    power, total = mpmath.mpf(order), mpmath.mpf(0)
    places = [mpmath.e ** mpmath.mpf(x) for x in eps]
    heights = [mpmath.e ** mpmath.mpf(x) if x > -math.inf else mpmath.mpf(0) for x in logs]
    for x, y, u, v in zip(places, places[1:], heights, heights[1:], strict=False):
        slope = (v - u) / (y - x)
        total += (u - slope * x) * power * (y ** (power - 1) - x ** (power - 1))
        total += slope * (power - 1) * (y**power - x**power)
    return total


@given(st.data(), st.integers(2, 4), st.floats(-3.0, 3.0).map(lambda x: 1.0 + 10.0**x))
@examples(20)
def test_polygons_lie_on_their_sides(data, n, order):
    """Polygons through vague bounds at few nodes, against the integral of the exact curves."""
    a, b = (data.draw(st.floats(0.55, 0.9)) for _ in range(2))
    decomposition = sb.Decomposition([a, 1 - a], [1 - b, b], [0.4 * (1 - b), 0.4 * (1 - a)])
    end = max(math.log(a / (1 - b)), math.log(b / (1 - a))) * (1 + 1e-12)
    inner = sorted(data.draw(st.sets(st.integers(1, 99), min_size=1, max_size=6)))
    eps = np.array([0.0, *(end * x / 100.0 for x in inner), end])
    vague = data.draw(st.sampled_from([0.0, 1e-3, 0.3]))
    pairs, logs = [shuffles.pair_of(decomposition, n)], []
    pairs.append(shuffles.swapped(pairs[0]))
    for pair in pairs:
        heights = [
            float(sum(max(p - real(math.exp(x)) * q, 0) for p, q in exact(pair))) for x in eps
        ]
        low, high = (
            np.log(
                np.array(
                    [x * (1 + side * vague * data.draw(st.floats(0.0, 1.0))) for x in heights[:-1]]
                )
                + 1e-300
            )
            for side in (-1.0, 1.0)
        )
        low = np.maximum.accumulate((np.where(low < -600, -np.inf, low) - 1e-12)[::-1])[::-1]
        logs.append((np.append(low, -np.inf), np.append(np.minimum(high + 1e-12, 0.0), -np.inf)))
    polygons = Polygons(lambda *_: logs)
    polygons.add(eps, np.ones(eps.shape))
    low, high = polygons.moments(np.array([order]))
    with mpmath.workdps(40 + int(2 * order)):
        truth = max(
            mpmath.fsum(q * ((p / q) ** order - 1 - order * (p / q - 1)) for p, q in exact(pair))
            for pair in pairs
        )
        assert low[0] - 1e-9 <= mpmath.log(truth) <= high[0] + 1e-9
        event("something below" if low[0] > -math.inf else "nothing below")


def exact(pair):
    """The outcomes of a pair, as numbers of mpmath."""
    return [(real(p), real(q)) for p, q in pair if p or q]


def test_too_narrow_to_reach(monkeypatch):
    monkeypatch.setattr(renyi_pairs, "MAX_CHOICES", 0)
    monkeypatch.setattr(renyi_pairs.Polygons, "follow", lambda *_: False)
    with pytest.raises(sb.PrecisionError, match=r"Renyi divergence at order 2\.0") as caught:
        renyi(sb.standard_clone(1.0), 10**5, 2.0, 1e-6)
    wide = caught.value.enclosure
    monkeypatch.undo()
    narrow = renyi(sb.standard_clone(1.0), 10**5, 2.0)
    assert overlap(wide, narrow)
