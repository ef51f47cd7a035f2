"""Composed rounds against enumeration of real shuffles, closed forms, and other accountants."""

import itertools
import math
from functools import partial

import mpmath
import numpy as np
import pytest
import shuffles
from engines import overlap
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from scipy.stats import binom
from strategies import decompositions, epsilons, examples

import shufflebounds as sb
from shufflebounds.core.enclosure import WorkError, reached
from shufflebounds.core.work import budget
from shufflebounds.profiles import rounds as rounds_module
from shufflebounds.profiles.repeated import Repeated, RoundAnswer
from shufflebounds.questions import intervals
from shufflebounds.questions.composed import ANY_N, compose
from shufflebounds.questions.intervals import View, fewer_kinds, joined, round_kinds

LOPSIDED = sb.Decomposition([0.7, 0.2, 0.1], [0.25, 0.25, 0.5], [0.2, 0.2, 0.1])
TELLING = sb.Decomposition([0.875, 0.125, 0.0], [0.875, 0.0, 0.125], [0.5, 0.0, 0.0])


ROUNDS = st.tuples(decompositions(max_components=3, decades=20.0), st.integers(1, 3))
# Sums of masses may be off 1 by their roundings, which laws in fractions are freed from.
ROUNDING = 1e-12


@given(st.lists(ROUNDS, min_size=1, max_size=3), st.data())
@examples(40)
def test_composed_rounds_enclose_the_product_of_their_laws(rounds, data):
    """Of few users, in fractions, nasty laws included; each round may have its inputs turned."""
    times = data.draw(st.integers(1, 3 if len(rounds) == 1 else 2 if len(rounds) == 2 else 1))
    eps = data.draw(epsilons(rounds[0][0]) | st.floats(0.0, 3.0) | st.floats(0.0, 1e-3))
    composed = compose([(one, n, times) for one, n in rounds])
    found = reached(partial(composed.delta, eps))
    pairs = [shuffles.pair_of(one, n) for one, n in rounds for _ in range(times)]
    low, high = map(float, shuffles.largest([shuffles.product(pairs)], eps))
    assert found.lower <= high * (1.0 + ROUNDING)
    assert low <= found.upper * (1.0 + ROUNDING)
    mixed = shuffles.product([pairs[0], *map(shuffles.swapped, pairs[1:])])
    assert float(shuffles.divergence(mixed, eps)[0]) <= found.upper * (1.0 + ROUNDING)


@given(st.data(), st.integers(1, 3), st.floats(-8.0, -0.3).map(lambda x: 10.0**x))
@examples(30)
def test_epsilon_encloses_the_root(data, n, delta):
    decomposition = data.draw(decompositions(max_components=3))
    pair = shuffles.pair_of(decomposition, n)
    found = reached(partial(compose([(decomposition, n, 2)]).epsilon, delta, rtol=1e-2))
    orders = [shuffles.product([one, one]) for one in (pair, shuffles.swapped(pair))]
    if found.upper < math.inf:
        assert all(shuffles.divergence(one, found.upper)[0] <= delta for one in orders)
    if 0.0 < found.lower < math.inf:
        assert any(shuffles.divergence(one, found.lower)[1] >= delta for one in orders)
    if found.lower == math.inf:
        assert any(shuffles.divergence(one, 60.0)[1] >= delta for one in orders)


@given(st.data(), st.integers(1, 3))
@examples(15)
def test_any_of_several_pairs_may_be_the_worst_in_every_round(data, n):
    """The victim's inputs are another pair in each round, which no single pair covers."""
    several = [data.draw(decompositions(max_components=2)) for _ in range(2)]
    eps = data.draw(st.floats(0.0, 2.0))
    pairs = [shuffles.pair_of(one, n) for one in several]
    found = reached(partial(compose([(several, n, 2)]).delta, eps))
    orders = [*pairs, *map(shuffles.swapped, pairs)]
    for first, second in itertools.product(orders, repeat=2):
        whole = shuffles.product([first, second])
        assert shuffles.divergence(whole, eps)[0] <= found.upper
    # The lower end is that of one pair.
    ends = [shuffles.divergence(shuffles.product([one, one]), eps) for one in orders]
    assert found.lower <= max(high for _, high in ends)


def binary_delta(eps0, times, eps):
    """δ(ε) of T binary randomized responses (Kairouz, Oh, Viswanath, ICML 2015)."""
    with mpmath.workdps(60):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(eps0)))
        terms = []
        for k in range(times + 1):
            gain = 1 - mpmath.exp(mpmath.mpf(eps) - (times - 2 * k) * mpmath.mpf(eps0))
            if gain <= 0:
                break
            terms.append(mpmath.binomial(times, k) * p ** (times - k) * (1 - p) ** k * gain)
        return mpmath.fsum(terms)


@pytest.mark.parametrize("times", [2, 3, 20, 100, 2000])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 4.0])
def test_local_reports_in_closed_form(eps0, times):
    """One user alone: T-fold composition of binary randomized response."""
    composed = compose([(sb.KRR(2, eps0).blanket(), 1, times)])
    spread = eps0 * math.sqrt(times)
    far = (0.97 if times <= 100 else 0.5) * eps0 * times
    for eps in (0.0, 0.3 * spread, min(2.0 * spread, 0.8 * eps0 * times), far):
        found, truth = reached(partial(composed.delta, eps)), binary_delta(eps0, times, eps)
        assert found.lower <= truth * (1 + mpmath.mpf(10) ** -12)
        assert truth * (1 - mpmath.mpf(10) ** -12) <= found.upper
        if eps < 0.9 * eps0 * times and truth > 1e-290:
            assert found.relative_width <= (0.05 if times <= 100 else 0.3)


def test_rare_losses_say_no_more_than_single_rounds():
    blanket, n, delta, rounds = sb.Subsampled(sb.KRR(2, 4.0), 1e-3).blanket(), 100, 1e-6, 10
    found = sb.epsilon(blanket, n, delta, rounds=rounds)
    basic = rounds * sb.epsilon(blanket, n, delta / rounds * (1.0 - 1e-12)).upper
    assert 0.0 < found.lower < found.upper <= basic * (1.0 + 1e-12)


@pytest.mark.parametrize(("n", "delta"), [(50, 1e-8), (50, 0.1), (10**6, 1e-8), (10**12, 1e-100)])
@pytest.mark.parametrize("times", [2, 30, 10**6])
def test_width_and_order(n, times, delta):
    blanket, pair = sb.KRR(10, 2.0).blanket(), sb.KRR(10, 2.0).dataset_pair()
    upper, lower = (
        reached(partial(compose([(d, n, times)]).epsilon, delta)) for d in (blanket, pair)
    )
    assert max(upper.relative_width, lower.relative_width) <= 1e-3
    assert 0.0 <= lower.lower <= upper.upper <= 2.0 * times * (1.0 + 1e-9)
    assert upper.upper >= sb.epsilon(blanket, n, delta).lower


def test_narrower_enclosures_lie_within_wider_ones():
    composed = compose([(sb.KRR(10, 2.0).blanket(), 10**5, 30)])
    wide, narrow = (composed.epsilon(1e-6, rtol=rtol) for rtol in (1e-2, 1e-4))
    assert narrow.relative_width <= 1e-4
    assert overlap(wide, narrow)


def test_one_round_is_one_round():
    blanket = sb.KRR(10, 2.0).blanket()
    composed = compose([(blanket, 10**4, 1)]).epsilon(1e-6)
    once = sb.epsilon(blanket, 10**4, 1e-6)
    assert overlap(composed, once)
    assert composed.relative_width <= 1e-3


def test_rounds_of_many_sizes():
    """A few rounds of few users dominate, however many of very many users there are beside them."""
    few, many = (sb.KRR(10, 2.0).blanket(), 10**3, 3), (sb.KRR(10, 2.0).blanket(), 10**12, 100)
    alone, both = compose([few]).epsilon(1e-6), compose([few, many]).epsilon(1e-6)
    assert both.relative_width <= 1e-3
    assert alone.lower <= both.upper <= alone.upper * 1.01


def test_directions_that_differ_are_both_covered():
    composed = compose([(LOPSIDED, 500, 20)])
    turned = compose([(LOPSIDED.swap(), 500, 20)])
    assert overlap(composed.epsilon(1e-6), turned.epsilon(1e-6))
    with pytest.raises(sb.PrecisionError, match="rounds is known only to lie"):
        composed.epsilon(1e-6, rtol=1e-4)


def test_outputs_that_tell_add_up():
    composed = compose([(TELLING, 1000, 5)])
    limit = 1.0 - 0.875**5
    assert composed.epsilon(limit * 0.999).lower == math.inf
    assert composed.epsilon(limit * 1.001).upper < math.inf
    found = composed.delta(30.0)
    assert found.lower <= limit <= found.upper
    assert found.relative_width < 1e-6


def test_losses_beyond_the_largest_are_impossible():
    composed = compose([(sb.KRR(2, 1.0).blanket(), 3, 4)])
    assert composed.delta(4.001) == sb.Enclosure(0.0, 0.0)
    assert reached(partial(composed.epsilon, 1e-300)).upper <= 4.0 * (1.0 + 1e-12)


def test_same_inputs_tell_nothing():
    same = sb.Decomposition([0.5, 0.5], [0.5, 0.5], [0.25, 0.25])
    assert compose([(same, 10, 100)]).epsilon(1e-9) == sb.Enclosure(0.0, 0.0)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([(LOPSIDED, 5, 2)], "rtol must be"),
        ([], r"rounds must be one or more triples \(decomposition, n, times\), got \[\]"),
        ([(LOPSIDED, 5)], "rounds must be one or more triples"),
        (3, "rounds must be one or more triples"),
        ([(3, 5, 1)], "must be a Decomposition"),
        ([(LOPSIDED, 0, 1)], "n must be an integer from 1 to 1e15, got 0"),
        ([(LOPSIDED, 5, 10**6 + 1)], "rounds must be an integer from 1 to 1000000, got 1000001"),
        (
            [(LOPSIDED, 5, 10**6), (LOPSIDED, 6, 2)],
            "rounds, all added up, must be an integer from 1 to 1000000, got 1000002",
        ),
    ],
)
def test_bad_rounds(parts, message):
    with pytest.raises(ValueError, match=message):
        compose(parts).delta(1.0, rtol=0.5)


def test_rounds_of_the_public_functions():
    blanket = sb.KRR(10, 2.0).blanket()
    for_epsilon, for_delta = (compose([(blanket, 10**4, 30)]) for _ in range(2))
    assert sb.epsilon(blanket, 10**4, 1e-6, rounds=30) == for_epsilon.epsilon(1e-6)
    assert sb.delta(blanket, 0.5, 10**4, rounds=30) == for_delta.delta(0.5)


def test_several_points_of_many_rounds_are_those_of_each():
    blanket = sb.KRR(10, 2.0).blanket()
    for several, each in (
        (
            sb.epsilon(blanket, np.array([1000, 2000]), 1e-6, rounds=3),
            [sb.epsilon(blanket, n, 1e-6, rounds=3) for n in (1000, 2000)],
        ),
        (
            sb.epsilon(blanket, 1000, [1e-6, 1e-3], rounds=3),
            [sb.epsilon(blanket, 1000, delta, rounds=3) for delta in (1e-6, 1e-3)],
        ),
        (
            sb.delta(blanket, [0.1, 0.2], 1000, rounds=3),
            [sb.delta(blanket, eps, 1000, rounds=3) for eps in (0.1, 0.2)],
        ),
    ):
        assert list(several) == each
    with pytest.raises(ValueError, match="only one of n and delta may be an array"):
        sb.epsilon(blanket, [10, 20], [1e-6, 1e-3], rounds=2)


@pytest.mark.parametrize(
    ("is_expensive", "message"),
    [
        (True, "epsilon is not known well enough; more would cost too much work"),
        (False, r"2 rounds is known only to lie in \[0.0, 20.0\].* \(so at 2 of 3 points\)"),
    ],
)
def test_the_error_of_several_points_has_the_enclosures_of_all(is_expensive, message, monkeypatch):
    def too_wide(rounds, question):
        n = float(rounds.kinds[0].pairs[0][0].n[0])
        if n == 10.0:
            return RoundAnswer(1.0, 1.0, False)
        if is_expensive:
            raise WorkError("it would cost too much work", sb.Enclosure(0.0, n))
        return RoundAnswer(0.0, n, True)

    monkeypatch.setattr(Repeated, "answer", too_wide)
    blanket = sb.KRR(10, 2.0).blanket()
    with pytest.raises(sb.PrecisionError, match=message) as error:
        sb.epsilon(blanket, [10, 20, 30], 1e-6, rounds=2)
    assert error.value.enclosure.upper.tolist() == [1.0, 20.0, 30.0]
    with pytest.raises(sb.PrecisionError) as alone:
        sb.epsilon(blanket, 20, 1e-6, rounds=2)
    assert alone.value.enclosure == sb.Enclosure(0.0, 20.0)


def test_another_accountant_agrees():
    """dp_accounting's connect-the-dots composition of the same enumerated pair."""
    from dp_accounting.pld import pld_pmf as pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    decomposition, times = sb.KRR(3, 1.0).blanket(), 10
    step = 4e-3
    grid = step * np.arange(-300, 301)
    pair = shuffles.pair_of(decomposition, 8)
    deltas = [float(shuffles.divergence(pair, float(eps))[1]) for eps in grid]
    one = pmf.create_pmf_pessimistic_connect_dots(step, np.arange(-300, 301), deltas)
    other = pld.PrivacyLossDistribution(one).self_compose(times)
    found = compose([(decomposition, 8, times)])
    for eps in (0.5, 1.0, 2.0):
        ours, theirs = (
            reached(partial(found.delta, eps, rtol=0.02)),
            other.get_delta_for_epsilon(eps),
        )
        assert ours.lower <= theirs * (1.0 + 1e-6) + 1e-12
        assert theirs <= ours.upper * 1.02 + 1e-12


def test_next_to_no_privacy_loss_at_all(monkeypatch):
    """Pairs of masses far above 1 say nothing, and the largest loss of all rounds still does."""
    monkeypatch.setattr("shufflebounds.core.work.BUDGET", 1e9)
    with pytest.raises(sb.PrecisionError) as caught:
        sb.epsilon(sb.KRR(2, 1e-12).blanket(), 10, 1e-14, rounds=100)
    assert 0.0 < caught.value.enclosure.lower < caught.value.enclosure.upper <= 1.01e-10
    # One rare report among four is 5/4 times as likely, two rounds of them 25/16 < √e: it takes two
    # in a round.
    monkeypatch.undo()
    rare = sb.Decomposition([1.0, 1e-30], [1.0, 2e-30], [1.0, 1e-30])
    found = reached(partial(sb.delta, rare, 0.5, 4, rounds=2))
    assert found.lower <= 1e-57
    assert found.upper <= 1e-33


def test_a_year_of_different_numbers_of_users():
    """Between as many rounds of the fewest and of the most users, each time."""
    daily = sb.KRR(256, 2.0).blanket()
    users = np.random.default_rng(1).integers(1_000_000, 2_000_000, 120).tolist()
    found = compose([(daily, n, 1) for n in users]).epsilon(1e-8, rtol=0.05)
    few, many = (compose([(daily, n, 120)]).epsilon(1e-8) for n in (min(users), max(users)))
    assert many.lower <= found.lower < found.upper <= few.upper
    # ε goes about like the root of the sum of 1/n; the enclosure is up to 0.05 wide.
    typical = compose([(daily, round(120 / sum(1 / n for n in users)), 120)]).epsilon(1e-8)
    assert 0.96 * typical.lower < found.lower < found.upper < 1.04 * typical.upper


def epsilon_of_sums_of_bits(users, keep, delta, step):
    """ε of rounds in which n users report a bit by 2-RR and all others hold 1, within rounding.

    Losses are rounded to multiples of `step`, up and down, and convolved: (lower, upper).
    """
    ends = []
    for rounding in (np.floor, np.ceil):
        law, first = np.ones(1), 0
        for n in users:
            others = binom.pmf(np.arange(-1, n + 1), n - 1, keep)
            others = others[(others > 1e-200) | (np.arange(-1, n + 1) == -1)]
            p, q = (x * others[:-1] + (1.0 - x) * others[1:] for x in (keep, 1.0 - keep))
            places = rounding(np.log(p / q) / step).astype(int)
            masses = np.bincount(places - places.min(), p)
            law, first = fftconvolve(law, masses), first + places.min()
        losses = step * (first + np.arange(law.size))
        low, high = 0.0, losses[-1]
        for _ in range(50):
            eps = 0.5 * (low + high)
            excess = losses > eps
            is_above = law[excess] @ -np.expm1(eps - losses[excess]) > delta
            low, high = (eps, high) if is_above else (low, eps)
        ends.append(high)
    return ends


def test_nearly_equal_numbers_of_users_are_joined():
    mechanism, users = sb.KRR(2, 1.0), [100 + i // 2 for i in range(80)]
    rounds = compose([(mechanism.dataset_pair(), n, 1) for n in users])
    joint = joined(rounds.schedule.shuffles(ANY_N), 1.1)
    ends = [(x.shuffle.draws, x.last.most_draws) for x in joint]
    assert sum(x.shuffle.times for x in joint) == 80
    assert all(fewest <= most <= 1.1 * fewest for fewest, most in ends)
    assert {n for end in ends for n in end} <= set(users)


@pytest.mark.parametrize("subject", [sb.KRR(2, 1.0), sb.KRR(2, 1.0).dataset_pair()])
@pytest.mark.parametrize(("fewest", "most_kinds"), [(100, 8), (1000, 200)])
def test_many_kinds_enclose_the_convolution_of_all_of_their_laws(
    subject, fewest, most_kinds, monkeypatch
):
    """Many kinds are joined; from 1000 users on, a randomizer's rounds share their aims."""
    monkeypatch.setattr(intervals, "MAX_KINDS", most_kinds)
    users = [fewest + i * fewest // 100 for i in range(16)]
    rounds = compose([(subject, n, 1) for n in users])
    kinds = fewer_kinds(rounds.schedule.shuffles(ANY_N))
    has_families = any(x.family is not None for x in round_kinds(kinds, View.BEST))
    assert has_families == (fewest >= 1000 and isinstance(subject, sb.KRR))
    together = rounds.epsilon(1e-6)
    low, high = epsilon_of_sums_of_bits(users, 1.0 / (1.0 + math.exp(-1.0)), 1e-6, 4e-4)
    assert low <= together.upper
    assert together.lower <= high
    assert together.relative_width < 0.1


def test_rounds_are_joined_as_little_as_possible(monkeypatch):
    counts = [10, 11, 12, 1000, 1001, 2000]
    decomposition = sb.KRR(2, 1.0).blanket()
    rounds = compose([(decomposition, n, 1) for n in counts]).schedule.shuffles(ANY_N)

    def ends(most_kinds):
        monkeypatch.setattr(intervals, "MAX_KINDS", most_kinds)
        kinds = fewer_kinds(rounds)
        return [(x.shuffle.draws, x.last.most_draws, x.shuffle.times) for x in kinds]

    assert ends(9) == [(n, n, 1) for n in counts]
    assert ends(5) == [(10, 10, 1), (11, 11, 1), (12, 12, 1), (1000, 1001, 2), (2000, 2000, 1)]
    assert ends(3) == [(10, 12, 3), (1000, 1001, 2), (2000, 2000, 1)]
    assert ends(1) == [(10, 2000, 6)]


def test_what_costs_too_much_still_has_the_bound_of_the_fewest_users():
    """The error said nothing but the sum of all largest losses once."""
    mechanism, users = sb.OUE(2.0), range(10_000, 12_000, 20)
    with budget(1e8), pytest.raises(WorkError) as caught:
        compose([(mechanism, n, 1) for n in users]).epsilon(1e-8, rtol=1e-4)
    few, many = (compose([(mechanism, n, 100)]).epsilon(1e-8) for n in (10_000, 11_980))
    assert many.lower * 0.9 <= caught.value.enclosure.lower
    assert caught.value.enclosure.upper <= few.upper * 1.2


def test_what_costs_too_much_is_answered_if_its_ends_meet():
    """It was refused once, as known only to lie in [0, 0].

    The laws of the number of ones of 5000 users have a total variation distance of at most its
    largest probability, which is about 1/sqrt(2 pi 5000 p (1 - p)) < 0.02.
    """
    with budget(1e6):
        together = compose([(sb.KRR(2, 1.0), n, 1) for n in (5000, 6000)]).epsilon(0.05)
    assert together == sb.Enclosure(0.0, 0.0)


@pytest.mark.parametrize("users", [(1000, 1000), (1000, 4000)])
def test_wide_ends_of_rounds_that_could_be_narrow_are_refused(users, monkeypatch):
    """Those of different numbers of users were returned without a word once."""
    monkeypatch.setattr(rounds_module, "MAX_CHOICES", 1)
    monkeypatch.setattr(rounds_module, "NODE_SHARE", 3000.0)
    asymmetric = sb.Decomposition([0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.3, 0.3, 0.1])
    with pytest.raises(sb.PrecisionError, match="relative width"):
        compose([(asymmetric, n, 3) for n in users]).epsilon(1e-6)


def exact_delta(x, y, times, eps):
    """δ of rounds in which one user sends a rare report, with probability x or y: in 60 digits."""
    with mpmath.workdps(60):
        x, y = mpmath.mpf(x), mpmath.mpf(y)
        orders = []
        for p, q in ((x, y), (y, x)):
            terms = (
                mpmath.binomial(times, k)
                * (p**k * (1 - p) ** (times - k) - mpmath.exp(eps) * q**k * (1 - q) ** (times - k))
                for k in range(times + 1)
            )
            orders.append(mpmath.fsum(term for term in terms if term > 0))
        return max(orders)


RARE = [(2.279e-5, 1.853e-6), (2.0**-16, 2.0**-19), (1e-4, 3e-8), (3e-9, 1e-9)]


@pytest.mark.parametrize(("x", "y"), RARE)
@pytest.mark.parametrize("delta", [1e-9, 1e-15, 1e-20, 1e-40])
def test_rare_losses_are_enclosed_or_refused(x, y, delta):
    """What rounding makes infinite exceeded a δ of 10⁻¹⁵ once: ε was as wide as all losses."""
    rare = sb.Decomposition([1.0 - x, x], [1.0 - y, y], [1.0 - y, y])
    try:
        found = sb.epsilon(rare, 1, delta, rounds=100)
    except sb.PrecisionError as error:
        found = error.enclosure
    else:
        # One pair of datasets is all that there is, and its orders hardly differ from the largest.
        assert found.relative_width <= 2e-3
    assert exact_delta(x, y, 100, found.upper) <= delta * (1.0 + ROUNDING)
    if found.lower:
        assert exact_delta(x, y, 100, found.lower) >= delta * (1.0 - ROUNDING)


def test_tiny_deltas_of_rare_losses():
    x, y = RARE[0]
    rare = sb.Decomposition([1.0 - x, x], [1.0 - y, y], [1.0 - y, y])
    found = sb.delta(rare, 15.0, 1, rounds=100)
    assert found.lower <= exact_delta(x, y, 100, 15.0) * (1.0 + 1e-9)
    assert exact_delta(x, y, 100, 15.0) <= found.upper * (1.0 + 1e-9)
    assert found.relative_width <= 0.05


def test_an_explicit_width_joins_numbers_of_users():
    """It took four times as long as no width, and was refused for lack of work."""
    rounds = [(sb.KRR(2, 2.0), 10**5 + 10 * i, 2) for i in range(30)]
    found = compose(rounds).epsilon(1e-6, rtol=0.1)
    default = compose(rounds).epsilon(1e-6)
    assert found.relative_width <= 0.1
    assert max(found.lower, default.lower) <= min(found.upper, default.upper)


def test_rounds_without_a_largest_loss_have_an_epsilon():
    """With a mechanism among them, of which more is proven than attained."""
    telling = sb.Decomposition([0.5, 0.5 - 1e-9, 1e-9], [0.5, 0.5, 0.0], [0.5, 0.4, 0.0])
    found = compose([(sb.KRR(10, 2.0), 10**4, 3), (telling, 1000, 1)]).epsilon(1e-6)
    assert 0.0 < found.lower <= found.upper < 1.0
