"""Bounds from p, β and q: these against matrices, closed forms against what they bound."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from engines import overlap
from oracles import exact
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.optimal import three_groups
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.bounds.variation_ratio import (
    metric_clone,
    published_vector_bits,
)
from shufflebounds.bounds.variation_ratio_closed_forms import analytic, asymptotic
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.any_mechanism import AnyMechanism
from shufflebounds.protocols.histograms import HierarchicalHistogram
from shufflebounds.protocols.messages import BallsIntoBins, BinarySum, CheuZhilyaev, Dump
from shufflebounds.subjects.base import GivenSource
from shufflebounds.subjects.ratios import Ratios, largest_variation
from shufflebounds.subjects.reports import Reports

INF = math.inf


def epsilon(name, protocol, n, delta):
    return BOUNDS[name].answer(protocol, "epsilon", Setting(n=n, delta=delta))


def ratios_of(subject):
    """p, β and q of the messages of a subject with a single shuffle."""
    (shuffle,) = subject.shuffles(100)
    return shuffle.source.ratios()


def close_above(found, exact_value):
    assert exact_value <= Fraction(found) <= exact_value * (1 + Fraction(1, 10**13))


# p, β and q.

MECHANISMS = [
    sb.KRR(4, 1.5),
    sb.BLH(1.5, domain_size=4),
    sb.RAPPOR(1.5, domain_size=4),
    sb.OUE(1.5, domain_size=4),
    sb.HadamardResponse(1.5, domain_size=3),
    sb.HadamardBlocks(1.5, blocks=2, domain_size=4),
    sb.Subset(1.5, 6, 2),
    sb.PrivUnit(1.5, 0.3),
    sb.LocalHash(1.5, domain_size=3, hash_values=4),
    sb.Duchi(1.5),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_variation_is_the_largest_between_two_rows_of_the_matrix(mechanism):
    rows = mechanism.matrix()
    widest = max(
        np.maximum(one - other, 0.0).sum() for one, other in itertools.permutations(rows, 2)
    )
    found = ratios_of(Reports(mechanism))
    assert found.p == found.q == pytest.approx(math.exp(1.5), rel=1e-14)
    assert found.p >= mpmath.exp(mpmath.mpf(1.5))
    assert widest * (1 - 1e-14) <= found.beta <= widest * (1 + 1e-12)


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 2.0, 30.0, 300.0])
def test_nothing_but_eps0_is_the_general_mechanism(eps0):
    found = ratios_of(AnyMechanism(eps0))
    assert found.beta >= mpmath.tanh(mpmath.mpf(eps0) / 2)
    assert found.beta == pytest.approx(math.tanh(eps0 / 2), rel=1e-9)


def test_ratios_of_protocols_are_table_four():
    f, d = Fraction(1, 8), 5
    found = ratios_of(CheuZhilyaev(0.125))
    close_above(found.p, ((1 - f) / f) ** 2)
    close_above(found.beta, 1 - 2 * f)
    close_above(found.q, (1 - f) / f)
    found = ratios_of(Dump(5, 0.125))
    close_above(found.p, (1 - f) * (d - 1) / f)
    close_above(found.beta, ((1 - f) * (d - 1) - f) / (d - 1))
    close_above(found.q, (1 - f) * d)
    for protocol, q in [
        (BallsIntoBins(12, 3), 4),
        (BinarySum(), 2),
        (BinarySum(coin=0.125), 8),
        (Dump(5), 5),
    ]:
        found = ratios_of(protocol)
        assert (found.p, found.beta) == (INF, 1.0)
        close_above(found.q, q)
        # 2r ≤ 1 and q ≥ 1 + β
        sb.variation_ratio(found.p, found.beta, found.q)


def test_advanced_parallel_composition_is_the_mean_variation():
    """Theorem 6.1 for the levels of a hierarchical histogram."""
    e = math.exp(2.0)
    mean = sum((e - 1) / (e + 2**level - 1) for level in range(1, 7)) / 6
    assert ratios_of(HierarchicalHistogram(2.0, 64)).beta == pytest.approx(mean, rel=1e-12)


def test_protocols_without_numbers_say_so():
    silent = GivenSource(BinarySum().source.blankets)
    with pytest.raises(ValueError, match=r"^variation-ratio needs a randomizer with an eps0"):
        silent.ratios()
    with pytest.raises(ValueError, match=r"^no analysis of its authors is known of 3-RR$"):
        epsilon("original", Reports(sb.KRR(3, 1.0)), 100, 1e-6)
    with pytest.raises(
        ValueError, match=r"^no pair of datasets is known for a lower bound of Dump"
    ):
        epsilon("lower", Dump(5, 0.1), 100, 1e-6)


# The order of the bounds.


@pytest.mark.parametrize(
    ("protocol", "tight"),
    [
        (BallsIntoBins(16, 2), True),
        (BinarySum(), True),
        (Dump(10), True),
        (Dump(10, 0.25), False),  # the repaired pair takes residuals for what they are not
        (CheuZhilyaev(0.25), False),
    ],
)
def test_the_repaired_pair_of_protocols(protocol, tight):
    found = epsilon("variation_ratio", protocol, 3000, 1e-6).enclosure
    upper = epsilon("blanket", protocol, 3000, 1e-6).enclosure
    assert found.upper >= upper.lower
    assert (found.lower <= upper.upper) == tight
    published = epsilon("variation_ratio_published", protocol, 3000, 1e-6).enclosure
    agree = published.lower <= upper.upper and published.upper >= upper.lower
    # For fake users the published pair is below what other users' inputs leave open.
    assert agree == (not isinstance(protocol, CheuZhilyaev))


# Closed forms.

DELTAS = (0.3, 1e-3, 1e-9)


def capped(p, beta):
    """β, at most (p − 1)/(p + 1): random ones may be a rounding above."""
    return (
        mpmath.mpf(beta)
        if p == INF
        else min(mpmath.mpf(beta), (mpmath.mpf(p) - 1) / (mpmath.mpf(p) + 1))
    )


def printed_analytic(p, beta, q, n, delta):
    """ε of Theorem 4.2 as printed, without its condition on Ω, and whether the right one holds."""
    p, beta, q = mpmath.mpf(p), capped(p, beta), mpmath.mpf(q)
    alpha = mpmath.mpf(0) if p == INF else beta / (p - 1)
    r = (beta if p == INF else alpha * p) / q
    w = 1 - alpha - (beta if p == INF else alpha * p)
    log_inverse = mpmath.log(4 / mpmath.mpf(delta))
    omega = 2 * r * (n - 1) - mpmath.sqrt(min(6 * r, mpmath.mpf(0.5)) * (n - 1) * log_inverse)
    if omega <= 0:
        return None, False
    s, rest = mpmath.sqrt(omega * log_inverse / 2), w * r / (1 - 2 * r)
    below = alpha * omega + beta * (omega / 2 - s) + rest * (n - 1 - omega)
    slope = alpha + beta / 2 - rest
    holds = slope > 0 and slope * omega >= rest * (n - 1) + beta / 2 and below > 0
    return mpmath.log(1 + beta * (2 * s + 1) / below), holds


def parameters(count, seed):
    """Random p, β, q, n and δ of the published pair's domain."""
    rng = random.Random(seed)
    for _ in range(count):
        p = rng.choice([INF, *(1 + 10 ** rng.uniform(-2, 4) for _ in range(6))])
        beta = largest_variation(p) * rng.choice([1, rng.random(), rng.random() ** 3])
        common = beta if p == INF else p * beta / (p - 1)
        q = max(1.0, 2 * common) * (1 + 10 ** rng.uniform(-3, 3))
        if beta > 1e-6:
            yield p, beta, q, round(10 ** rng.uniform(0.5, 6)), 10 ** rng.uniform(-12, -0.3)


def test_analytic_is_theorem_4_2_where_its_condition_holds():
    inside = 0
    with mpmath.workdps(60):
        for p, beta, q, n, delta in parameters(200, 1):
            printed, holds = printed_analytic(p, beta, q, n, delta)
            found = analytic(Ratios(p, beta, q), n, delta)
            if holds:
                inside += 1
                assert abs(mpmath.mpf(str(found)) / printed - 1) < mpmath.mpf(10) ** -25
            elif found is not None and printed is not None:
                # It is the largest over a range that starts with the theorem's.
                assert mpmath.mpf(str(found)) >= printed * (1 - mpmath.mpf(10) ** -25)
    assert inside > 30


def test_the_printed_condition_of_theorem_4_2_lets_a_wrong_epsilon_pass():
    """p = 1000, β = 0.4, q = 15, n = 1000, δ = 10⁻⁶: w > 0, and ε is too small."""
    p, beta, q, n, delta = 1000.0, 0.4, 15.0, 1000, 1e-6
    printed, holds = printed_analytic(p, beta, q, n, delta)
    assert not holds
    # As the paper has it.
    alpha, log_inverse = beta / (p - 1), math.log(4 / delta)
    r = alpha * p / q
    w = 1 - alpha - alpha * p
    omega = 2 * r * (n - 1) - math.sqrt(min(6 * r, 0.5) * (n - 1) * log_inverse)
    asked = (2 * p * (beta + 1 + (beta - 1) * p) * (n - 1) + beta) / (
        q + p * (beta - 1 + (beta + 1) * p) - p * q
    )
    assert omega >= asked
    assert (p + 1) * alpha / 2 - w * r / (1 - 2 * r) >= 0
    pair = sb.variation_ratio(p, beta, q, published=True)
    assert sb.delta(pair, eps=float(printed), n=n).lower > delta
    ours = analytic(Ratios(p, beta, q), n, delta)
    assert ours is None or sb.delta(pair, eps=float(ours), n=n).upper <= delta


def test_asymptotic_is_theorem_4_3():
    with mpmath.workdps(60):
        for p, beta, q, n, delta in parameters(200, 2):
            mp_p, mp_beta, mp_q = mpmath.mpf(p), capped(p, beta), mpmath.mpf(q)
            factor = 1 if p == INF else mp_p / (mp_p - 1)
            r = mp_beta * factor / mp_q
            found = asymptotic(Ratios(p, beta, q), n, delta)
            if n < 8 * mpmath.log(2 / mpmath.mpf(delta)) / r:
                assert found is None
                continue
            v = max(0, mpmath.mpf(4) / 9 * (1 - 3 * r) / (1 - 2 * r))
            least = mp_beta if p == INF else (1 + mp_p) * mp_beta / (mp_p - 1)
            noise = mpmath.sqrt(32 * mpmath.log(4 / mpmath.mpf(delta)) / (r * (n - 1)))
            expected = mpmath.log(1 + mp_beta / ((1 - v) * least + v) * (noise + 4 / (r * n)))
            assert abs(mpmath.mpf(str(found)) / expected - 1) < mpmath.mpf(10) ** -20


@pytest.mark.parametrize("formula", [analytic, asymptotic])
def test_closed_forms_bound_the_published_pair(formula):
    inside = 0
    for p, beta, q, n, delta in parameters(150 * FUZZ, 3):
        eps = formula(Ratios(p, beta, q), n, delta)
        if eps is not None and eps < math.log(p):
            inside += 1
            pair = sb.variation_ratio(p, beta, q, published=True)
            assert sb.delta(pair, eps=float(eps), n=n, rtol=1e-2).lower <= delta
    assert inside > 40


@pytest.mark.parametrize("name", ["variation_ratio_analytic", "variation_ratio_asymptotic"])
def test_outside_their_range_closed_forms_say_eps0_or_nothing(name):
    found = epsilon(name, Reports(sb.KRR(5, 3.0)), 20, 1e-6)
    assert (found.enclosure.lower, found.enclosure.upper) == (3.0, 3.0)
    assert not found.shortfall
    nothing = epsilon(name, BallsIntoBins(16), 5, 1e-6)
    assert nothing.enclosure.upper == INF
    assert nothing.shortfall.startswith(f"{name} says nothing")
    # A ratio of two laws is what is left of a user's ε₀.
    found = epsilon(name, CheuZhilyaev(0.25), 5, 1e-6)
    assert found.enclosure.upper == pytest.approx(math.log(9.0))
    many = epsilon(name, Reports(sb.KRR(5, 3.0)), 10**6, 1e-6).enclosure
    assert many.relative_width < 1e-15
    assert many.upper < 0.3
    assert (
        many.lower
        > epsilon("variation_ratio", Reports(sb.KRR(5, 3.0)), 10**6, 1e-6).enclosure.upper
    )


# The originals.


def test_original_of_fake_users():
    """Flips for its target are in protocols/test_designed_protocols.py."""
    # Users who send two blankets each have twice as many together.
    assert CheuZhilyaev(0.4, blankets=2).original_epsilon(500, 1e-6) == CheuZhilyaev(
        0.4
    ).original_epsilon(1000, 1e-6)
    assert CheuZhilyaev(0.4).original_epsilon(400, 1e-6) is None
    nothing = epsilon("original", CheuZhilyaev(0.4), 400, 1e-6)
    assert nothing.shortfall
    assert nothing.enclosure.upper == INF


def test_original_of_balls_into_bins():
    found = epsilon("original", BallsIntoBins(64, 4), 10**5, 1e-6).enclosure
    assert found.upper == pytest.approx(math.sqrt(32 * math.log(2e6) * 16 / 10**5), rel=1e-12)
    assert found.upper >= mpmath.sqrt(32 * mpmath.log(2 / mpmath.mpf(1e-6)) * 16 / 10**5)
    assert epsilon("original", BallsIntoBins(64, 4), 100, 1e-6).shortfall


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("target", [0.02, 0.3, 1.0, 2.0])
def test_originals_hold(target, delta):
    """They meet the protocols' divergence; docs/proofs/variation-ratio.md proves them."""
    need = 6.6 / math.tanh(target / 2) ** 2 * math.log(4 / delta)
    for factor in (4.001, 20.0, 1e4):
        messages = math.ceil(factor * need)
        flip = (1 - math.sqrt(1 - 4 * need / messages)) / 2
        protocol = CheuZhilyaev(flip)
        eps = protocol.original_epsilon(messages, delta)
        assert sb.delta(protocol.decomposition(), eps=eps, n=messages + 1, rtol=0.1).lower <= delta
    for bins in (2, 5, 1000):
        messages = math.ceil(32 * math.log(2 / delta) * bins / target**2)
        protocol = BallsIntoBins(bins)
        eps = protocol.original_epsilon(messages, delta)
        assert eps <= target
        assert sb.delta(protocol.decomposition(), eps=eps, n=messages + 1, rtol=0.1).lower <= delta


# Theorem 5.1.


@pytest.mark.parametrize("seed", range(20))
def test_three_groups_are_never_above_the_histogram(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 9, (3, 5)).astype(float)
    pair = sb.Decomposition(*(rows / rows.sum(axis=1, keepdims=True)))
    for exp_eps in (1.0, 1.5, 2.5):
        fine, coarse = (exact(one, math.log(exp_eps), 4) for one in (pair, three_groups(pair)))
        assert coarse.lower <= fine.upper


def test_theorem_5_1_takes_the_others_that_it_names():
    """3-subset of 8 values: the printed law, its p₀, β and q by counting sets of three."""
    e, n, eps = math.e, 12, 0.3
    sets = e * math.comb(7, 2) + math.comb(7, 3)
    alpha = math.comb(6, 2) / sets  # sets that hold x₁¹ and not x₁⁰, reported under x₁⁰
    r = (e * math.comb(5, 1) + math.comb(5, 2)) / sets  # the same sets under a third value
    printed = delta_of_counts(e * alpha, alpha, (r, r), n, eps)
    # If all others hold x₁¹ either set is as likely as x₁¹ makes it.
    others_at_x1 = delta_of_counts(e * alpha, alpha, (alpha, e * alpha), n, eps)
    assert printed < others_at_x1
    protocol = Reports(sb.Subset(1.0, 8, 3))
    for name, expected in (("merged_lower_printed", printed), ("merged_lower", others_at_x1)):
        enclosure = BOUNDS[name].answer(protocol, "delta", Setting(eps=eps, n=n)).enclosure
        assert enclosure.lower <= expected * (1.0 + 1e-12)
        assert enclosure.upper >= expected * (1.0 - 1e-12)
        assert enclosure.lower >= expected * (1.0 - 1e-3)


def delta_of_counts(likely, unlikely, r, n, eps):
    """D(ε) of two counts: n − 1 others add to them with probabilities `r`, the victim by its x."""

    def law(first, second):
        rest = 1.0 - first - second
        return {
            (i, j): sum(
                chance * others.get((i - di, j - dj), 0.0)
                for chance, di, dj in ((first, 1, 0), (second, 0, 1), (rest, 0, 0))
            )
            for i in range(n + 1)
            for j in range(n + 1 - i)
        }

    others = {
        (i, j): math.comb(n - 1, i)
        * math.comb(n - 1 - i, j)
        * r[0] ** i
        * r[1] ** j
        * (1.0 - sum(r)) ** (n - 1 - i - j)
        for i in range(n)
        for j in range(n - i)
    }
    one, other = law(likely, unlikely), law(unlikely, likely)
    return max(
        sum(max(p[x] - math.exp(eps) * q[x], 0.0) for x in p)
        for p, q in ((one, other), (other, one))
    )


# The clone under metric privacy.


@pytest.mark.parametrize(("x0", "x1"), [(0.0, 1.0), (0.5, 1.5), (1.0, 3.0)])
def test_metric_clone_covers_laplace_noise_and_is_no_better_than_variation_ratio(x0, x1):
    """On [0, 3]: the inputs x0 and x1, all others at either end or between."""
    distance = x1 - x0
    ends = [(abs(x - x0), abs(x - x1)) for x in (0.0, 3.0)]
    clone = metric_clone(distance, ends)
    ratios = sb.metric_variation_ratio(distance, max(max(pair) for pair in ends))
    for eps in (0.1, 0.5):
        more, less = (sb.delta(pair, eps=eps, n=50) for pair in (clone, ratios))
        assert more.upper >= less.lower
    # Every other input is sure of it: the densities at any report, of any input.
    reports = np.linspace(-4.0, 7.0, 45)
    both = sum(np.exp(-np.abs(reports - x)) for x in (x0, x1))
    for x in np.linspace(0.0, 3.0, 13):
        assert (clone.c[0] * both <= np.exp(-np.abs(reports - x)) * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, [(1.0, 1.0)]), "distance must be .* got 0.0"),
        ((1.0, []), r"distances must be pairs of numbers from 0 to 300, got \[\]"),
        ((1.0, [(1.0, -1.0)]), "distances must be pairs of numbers from 0 to 300"),
        ((1.0, [(0.1, 0.2)]), "distances must hold a pair of 1.0 or more together"),
        ((1.0, [1.0]), "distances must be pairs of distances"),
    ],
)
def test_mistakes_of_metric_distances(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        metric_clone(*arguments)


# The published pair of randomized bits: what it is, and that it is drawn as unproven only.


def test_one_bit_is_randomized_response():
    one, two = published_vector_bits(1, 2.0), sb.KRR(2, 2.0).blanket()
    found, expected = (sb.epsilon(pair, 10**4, 1e-6, rtol=1e-7) for pair in (one, two))
    assert overlap(found, expected)


def test_it_is_asked_for_by_joint_reports():
    bound = BOUNDS["vector_bits_published"]
    assert bound.kind is Kind.UNPROVEN
    reports = Reports(sb.Joint([sb.KRR(2, 1.0)] * 4))
    setting = Setting(n=10**4, delta=1e-6, rounds=3)
    found = bound.answer(reports, "epsilon", setting)
    composed = sb.epsilon(published_vector_bits(4, 4.0), 10**4, 1e-6, rounds=3)
    assert found.enclosure == composed


@pytest.mark.parametrize(
    "sent",
    [
        Reports(sb.KRR(3, 1.0)),
        Reports(sb.Joint([sb.KRR(2, 1.0), sb.KRR(2, 2.0)])),
        Reports(sb.Joint([sb.KRR(2, 1.0), sb.BLH(1.0)])),
        AnyMechanism(1.0),
    ],
)
def test_other_reports_are_refused(sent):
    with pytest.raises(ValueError, match="needs reports of alike randomized bits, krr with k = 2"):
        epsilon("vector_bits_published", sent, 10, 1e-3)
