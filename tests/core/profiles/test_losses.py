"""Discrete losses above and below profiles, and their sums, against exact divergences."""

import math

import mpmath
import numpy as np
import pytest
import shuffles
from hypothesis import given
from hypothesis import strategies as st
from strategies import decompositions, examples

import shufflebounds as sb
from shufflebounds.divergence.enumeration import outcomes
from shufflebounds.profiles import loss_sum as loss_sums
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.loss_sum import LossSum
from shufflebounds.profiles.losses import Losses, losses_above, losses_of
from shufflebounds.profiles.profile import Quantity
from shufflebounds.profiles.rounds import RoundCurve, RoundKind, RoundQuestion, Rounds
from shufflebounds.questions.composed import ANY_N
from shufflebounds.questions.intervals import joined

ROUNDING = mpmath.mpf(10) ** -14


def curve(losses, eps):
    """δ(ε) of a discrete pair, for real ε, in 60 digits."""
    with mpmath.workdps(60):
        return mpmath.mpf(losses.infinite) + mpmath.fsum(
            -mpmath.expm1(mpmath.mpf(eps) - mpmath.mpf(float(loss))) * mpmath.mpf(float(mass))
            for loss, mass in zip(losses.values, losses.masses, strict=True)
            if loss > eps
        )


def curve_at(decomposition, n, nodes):
    """The enclosures of a decomposition at the nodes, in both orders."""
    found = RoundCurve(RoundKind.of(pair(decomposition, np.array([float(n)])), 1))
    found.add(nodes, np.full(nodes.size, 1e-6), 0.0)
    return found


NODES = st.lists(st.floats(1e-3, 1.0), min_size=3, max_size=30)


@given(st.data(), st.integers(1, 3), NODES, st.sampled_from([1e-6, 1e-2, 1.0, 30.0]))
@examples(80)
def test_losses_lie_on_their_sides(data, n, gaps, size):
    """At the nodes, between and beyond them, and at x < 1; nodes are anywhere."""
    decomposition = data.draw(decompositions(max_components=3))
    if data.draw(st.booleans()):
        # Most outcomes tell nothing: the curves have a kink at ε = 0.
        decomposition = sb.subsample(decomposition, 2.0 ** -data.draw(st.integers(1, 12)))
    nodes = np.append(0.0, size * np.cumsum(gaps))
    found = curve_at(decomposition, n, nodes)
    orders = found.kind.pairs[0]
    above = found.above()
    below = [found.below(orders), found.below(orders[::-1])]
    both = found.below_upper()
    exact = shuffles.pair_of(decomposition, n)
    some = st.floats(-1.2, 1.2).map(lambda x: x * float(nodes[-1]))
    places = st.one_of(some, st.sampled_from([*nodes.tolist(), *(-nodes).tolist()]))
    for eps in data.draw(st.lists(places, min_size=1, max_size=6)):
        most = 0
        for order, losses in zip((exact, shuffles.swapped(exact)), below, strict=True):
            low, high = (
                mpmath.mpf(end.numerator) / end.denominator
                for end in shuffles.divergence(order, eps)
            )
            most = max(most, high)
            assert curve(above, eps) >= low * (1 - ROUNDING)
            if losses is not None:
                assert curve(losses, eps) <= high * (1 + ROUNDING)
        if both is not None:
            assert curve(both, eps) <= most * (1 + ROUNDING)


@given(st.data(), st.integers(1, 3))
@examples(40)
def test_losses_of_few_outcomes_are_below_them(data, n):
    decomposition = data.draw(decompositions(max_components=3))
    counted = outcomes(decomposition, n)
    losses, exact = losses_of(counted), shuffles.pair_of(decomposition, n)
    for eps in data.draw(st.lists(st.floats(-4.0, 4.0), min_size=1, max_size=6)):
        high = shuffles.divergence(exact, eps)[1]
        assert curve(losses, eps) <= mpmath.mpf(high.numerator) / high.denominator * (1 + ROUNDING)


def test_losses_are_close():
    """A twentieth of a standard deviation of the loss between nodes leaves a few per cent."""
    blanket = sb.KRR(10, 2.0).blanket()
    sigma = math.sqrt(2.0 * math.pi) * sb.delta(blanket, 0.0, 10**5).upper
    found = curve_at(blanket, 10**5, sigma / 20.0 * np.arange(160))
    above, below = found.above(), found.below(found.kind.pairs[0])
    for eps in (-0.05, 0.0, 0.013, 0.03):
        high, low = curve(above, eps), curve(below, eps)
        assert 0 < high - low < 0.05 * min(high, 0.03)


def exact_sum(rounds, eps):
    """δ(ε) of a sum of losses in 60 digits, by the convolution of all atoms."""
    with mpmath.workdps(60):
        total = {mpmath.mpf(0): mpmath.mpf(1)}
        finite = whole = mpmath.mpf(1)
        for losses, times in rounds:
            mass = mpmath.fsum(mpmath.mpf(float(x)) for x in losses.masses)
            finite, whole = finite * mass**times, whole * (mass + losses.infinite) ** times
            for _ in range(times):
                following = {}
                for value, p in total.items():
                    for loss, q in zip(losses.values, losses.masses, strict=True):
                        place = value + mpmath.mpf(float(loss))
                        following[place] = following.get(place, 0) + p * mpmath.mpf(float(q))
                total = following
        gains = (-mpmath.expm1(mpmath.mpf(eps) - x) * p for x, p in total.items() if x > eps)
        return whole - finite + mpmath.fsum(gains)


def random_losses(rng, size, decades):
    """Losses with masses over some decades that sum to about 1."""
    values = np.sort(rng.normal(size=size)) * 10.0 ** rng.uniform(-2.0, 0.5)
    masses = 10.0 ** -rng.uniform(0.0, decades, size)
    infinite = float(rng.choice([0.0, 1e-9, 1e-3]))
    return Losses(values, masses / masses.sum() * (1.0 - infinite), infinite)


@pytest.mark.parametrize("most_atoms", [1, loss_sums.MAX_ATOMS])
@pytest.mark.parametrize("seed", range(30))
def test_sums_of_losses_against_60_digits(seed, most_atoms, monkeypatch):
    """Of one kind and of two, at ε = 0, in the bulk and far out, by the series or by all atoms."""
    monkeypatch.setattr(loss_sums, "MAX_ATOMS", most_atoms)
    rng = np.random.default_rng([7, seed])
    rounds = [
        (random_losses(rng, int(rng.integers(2, 6)), rng.choice([1.0, 8.0])), int(times))
        for times in rng.integers(1, 5, int(rng.integers(1, 3)))
    ]
    loss_sum = LossSum(rounds)
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        eps = share * max(loss_sum.largest, 0.0)
        found, truth = loss_sum.delta(eps, 1e-4), exact_sum(rounds, eps)
        assert found.lower <= truth * (1 + mpmath.mpf(10) ** -12)
        assert truth * (1 - mpmath.mpf(10) ** -12) <= found.upper
    delta = float(exact_sum(rounds, 0.3 * max(loss_sum.largest, 0.0)))
    if loss_sum.infinite[1] < delta < 1.0:
        low, high = (loss_sum.root(delta, 1e-3, side) for side in (-1.0, 1.0))
        assert exact_sum(rounds, high) <= delta * (1 + 1e-12)
        assert low == 0.0 or exact_sum(rounds, low) >= delta * (1 - 1e-12)


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_an_epsilon_near_the_largest_loss(delta):
    """Few users share a rare report: two rounds of 2-RR where all others hold one input."""
    eps0, n = 5.0, 50
    found = sb.epsilon(sb.KRR(2, eps0), n, delta, rounds=2)
    assert found.relative_width < 1e-4
    with mpmath.workdps(40):
        likely = 1 / (1 + mpmath.exp(-mpmath.mpf(eps0)))

        def law(first):
            """Return the law of the number of reports of the first input."""
            others = [
                mpmath.binomial(n - 1, k) * likely**k * (1 - likely) ** (n - 1 - k)
                for k in range(n)
            ]
            return [
                (others[k - 1] * first if k else 0) + (others[k] * (1 - first) if k < n else 0)
                for k in range(n + 1)
            ]

        pairs = list(zip(law(likely), law(1 - likely), strict=True))

        def delta_at(eps):
            x = mpmath.exp(mpmath.mpf(eps))
            return mpmath.fsum(max(0, p * r - x * q * s) for p, q in pairs for r, s in pairs)

        assert delta_at(found.upper) <= delta <= delta_at(found.lower)


def binary_delta(p, eps0, times, eps):
    """δ(ε) of T losses ±ε₀ with the masses p and 1 − p, in 60 digits."""
    with mpmath.workdps(60):
        p = mpmath.mpf(p)
        return mpmath.fsum(
            mpmath.binomial(times, k) * p**k * (1 - p) ** (times - k) * gain
            for k in range(times + 1)
            if (gain := -mpmath.expm1(mpmath.mpf(eps) - (2 * k - times) * mpmath.mpf(eps0))) > 0
        )


@pytest.mark.parametrize("times", [1, 7, 100, 1000])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 8.0])
def test_losses_on_a_lattice_against_60_digits(times, eps0):
    """The powers of φ have modulus 1 again and again, and atoms may lie at ε itself."""
    p = 1.0 / (1.0 + math.exp(-eps0))
    loss_sum = LossSum([(Losses(np.array([-eps0, eps0]), np.array([1.0 - p, p]), 0.0), times)])
    for eps in (0.0, eps0, 0.4 * eps0 * times, 0.95 * eps0 * times):
        found, truth = loss_sum.delta(eps, 1e-3), binary_delta(p, eps0, times, eps)
        assert found.lower <= truth * (1 + mpmath.mpf(10) ** -11)
        assert truth * (1 - mpmath.mpf(10) ** -11) <= found.upper
        assert found.relative_width < 0.1 or truth < 1e-290


def test_a_symmetric_curve_keeps_its_mass():
    """A pair above a curve that is known exactly has hardly more mass than 1."""
    nodes = np.linspace(0.0, 1.0, 6)
    upper = np.maximum(0.0, (math.e - np.exp(nodes)) / (math.e + 1.0))  # 2-RR at ε₀ = 1
    losses = losses_above(nodes, upper)
    assert 1.0 <= losses.total + losses.infinite < 1.0 + 1e-12


def test_bounds_that_underflow_at_large_losses_are_kept():
    """Masses between such nodes underflow. In 40 digits, the pair is above all of the bounds."""
    nodes = np.array([0.0, 293.0, *np.linspace(293.5, 295.0, 10), 300.0])
    upper = np.array([0.5, 0.1, *10.0 ** -np.linspace(10.0, 289.0, 10), 0.0])
    losses = losses_above(nodes, upper)
    assert np.isfinite(losses.masses).all()
    with mpmath.workdps(40):
        for node, bound in zip(nodes, upper, strict=True):
            terms = (
                mass * max(0, 1 - mpmath.exp(mpmath.mpf(node) - value))
                for value, mass in zip(losses.values, losses.masses, strict=True)
            )
            assert mpmath.fsum(terms) + losses.infinite >= bound


@pytest.mark.parametrize(
    ("a", "b", "n", "delta", "truth"),
    [
        (2.0**-16, 2.0**-19, 1, 1e-3, 1.012),
        (2.28e-5, 1.85e-6, 1, 1e-3, None),
        (2.28e-5, 1.85e-6, 1, 1e-9, None),
    ],
)
def test_rare_losses(a, b, n, delta, truth):
    """One report in thousands tells anything: in 60 digits, over both orders."""
    decomposition = sb.Decomposition([1.0 - a, a], [1.0 - b, b], [1.0 - b, b])
    found = sb.compose([(decomposition, n, 100)]).epsilon(delta)
    assert found.relative_width < 2e-3

    def delta_at(eps):
        p, q, x = mpmath.mpf(a), mpmath.mpf(b), mpmath.exp(mpmath.mpf(eps))
        return mpmath.fsum(
            mpmath.binomial(100, k)
            * max(0, p**k * (1 - p) ** (100 - k) - x * q**k * (1 - q) ** (100 - k))
            for k in range(101)
        )

    with mpmath.workdps(60):
        assert delta_at(found.upper) <= delta
        assert delta_at(found.lower * 0.998) >= delta
    if truth is not None:
        assert found.lower <= truth * 1.001
        assert truth * 0.999 <= found.upper


def test_equal_rounds_are_joined_however_they_are_written():
    blankets = [sb.KRR(10, 1.0).blanket(), sb.KRR(10, 1.0).blanket()]
    apart = sb.compose([(blankets[i % 2], 1000, 1) for i in range(6)])
    assert len(joined(apart.schedule.shuffles(ANY_N))) == 1
    assert apart.epsilon(1e-6) == sb.compose([(blankets[0], 1000, 6)]).epsilon(1e-6)
    mechanisms = sb.compose([(sb.KRR(10, 1.0), 1000, 1), (sb.KRR(10, 1.0), 1000, 2)])
    assert [x.shuffle.times for x in joined(mechanisms.schedule.shuffles(ANY_N))] == [3]


def test_nodes_are_few():
    """A month of a mechanism takes a hundred or two."""
    kind = RoundKind.of(pair(sb.KRR(10, 4.0).blanket(), np.array([1e5])), 30)
    sums = next(Rounds([kind]).sums(RoundQuestion(Quantity.EPSILON, 1e-6, 1e-3)))
    assert sums.curves[0].nodes.size < 250
