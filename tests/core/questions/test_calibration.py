"""Planning: the largest ε₀, fewest users and most rounds: enumeration, closed forms, scans."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracles import ANCHORS, exact_delta
from strategies import decompositions

import shufflebounds as sb
from shufflebounds import (
    KRR,
    Decomposition,
    Enclosure,
    Laplace,
    delta,
    fewest_users,
    largest_eps0,
    standard_clone,
)
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Ends
from shufflebounds.questions.composed import compose
from shufflebounds.questions.searches import most_rounds


def krr(eps0: float) -> Decomposition:
    return KRR(k=10, eps0=eps0).blanket()


def counted(monkeypatch) -> list:
    """Questions about δ from now on."""
    calls, evaluate = [], Direction.delta_ends

    def call(*args, **kwargs):
        calls.append(args)
        return evaluate(*args, **kwargs)

    monkeypatch.setattr(Direction, "delta_ends", call)
    return calls


# Fewest users.


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
@given(decompositions(max_components=3, decades=3.0), st.floats(0.0, 1.0), st.floats(0.02, 0.6))
def test_fewest_users_are_those_of_a_scan(decomposition, eps, target):
    """Every n in turn, enumerated, until D(ε) falls to δ."""
    for n in range(1, 25):
        divergence = exact_delta(decomposition, eps, n)
        # The engine must not be asked which side of δ a coincidence is on.
        assume(not divergence.lower * (1 - 1e-7) <= target <= divergence.upper * (1 + 1e-7))
        if divergence.upper <= target:
            assert fewest_users(decomposition, eps, target) == Enclosure(n, n)
            return
    assert fewest_users(decomposition, eps, target).lower > 24


@pytest.mark.parametrize(("eps0", "n", "eps", "target", "_"), ANCHORS)
def test_fewest_users_invert_known_divergences(eps0, n, eps, target, _):
    """A little more δ than D at n users, and n is enough; a little less, and it is not."""
    assert fewest_users(krr(eps0), eps, target * (1 + 1e-8)) == Enclosure(n, n)
    assert fewest_users(krr(eps0), eps, target * (1 - 1e-8)) == Enclosure(n + 1, n + 1)


def test_no_number_of_users_may_be_enough():
    """That n above 10¹⁵ are needed follows from D(0) ≥ E|S|/2n of about √(var/(2πn))."""
    assert fewest_users(krr(4.0), 0.0, 1e-9) == Enclosure(10**15 + 1, math.inf)
    telling = Decomposition([1.0, 0.0], [0.0, 1.0], [0.0, 0.0])
    assert fewest_users(telling, 2.0, 0.5) == Enclosure(10**15 + 1, math.inf)


def test_the_answer_widens_with_what_the_engine_cannot_tell():
    """In two cells, two Laplace decompositions are the ends: one may need fewer users, one more."""
    coarse, fine = Laplace(2.0, cells=2).blanket(), Laplace(2.0, cells=400).blanket()
    found = fewest_users(coarse, 0.2, 1e-6)
    inner, outer = (fewest_users(end, 0.2, 1e-6) for end in coarse.bounds())
    assert found.lower < found.upper
    assert found.lower <= inner.upper
    assert outer.lower <= found.upper
    truth = fewest_users(fine, 0.2, 1e-6)
    assert found.lower <= truth.lower
    assert truth.upper <= found.upper


# Largest ε₀.


@pytest.mark.parametrize("mechanism", [krr, standard_clone, lambda e: Laplace(eps0=e).blanket()])
@pytest.mark.parametrize(
    ("eps", "target", "n"),
    [
        (0.4, 1e-6, 10**4),
        (0.01, 1e-9, 10**9),
        (1.0, 1e-6, 1),
        (1.0, 1e-6, 50),
        (1e-3, 1e-2, 10**6),
        (0.5, 1e-300, 10**5),
    ],
)
def test_largest_eps0_can_be_deployed_and_no_more(mechanism, eps, target, n, monkeypatch):
    calls = counted(monkeypatch)
    found = largest_eps0(mechanism, eps, target, n)
    assert found.relative_width <= 1e-3
    assert len(calls) <= 25
    assert delta(mechanism(found.lower), eps, n).upper <= target
    assert delta(mechanism(found.upper), eps, n).lower >= target


@pytest.mark.parametrize(("eps0", "n", "eps", "target", "_"), ANCHORS)
def test_largest_eps0_inverts_known_divergences(eps0, n, eps, target, _):
    found = largest_eps0(krr, eps, target, n, rtol=1e-7)
    assert found.relative_width <= 1e-7
    assert found.lower * (1 - 1e-7) <= eps0 <= found.upper * (1 + 1e-7)


@pytest.mark.parametrize("eps", [1e-6, 0.3, 20.0, 299.0])
def test_local_privacy_needs_no_shuffling(eps):
    assert largest_eps0(krr, eps, 1e-6, 10).lower >= eps * (1 - 1e-3)


def test_no_eps0_may_be_too_large():
    """A set of probability below δ may reveal everything; so rare is the truth of this one."""

    def rarely_reports(eps0: float) -> Decomposition:
        e = math.exp(-eps0)
        a = np.array([1e-9, 1e-9 * e, 1.0 - 1e-9 * (1.0 + e)])
        return Decomposition(a, a[[1, 0, 2]], np.array([0.0, 0.0, a[2]]))

    assert largest_eps0(rarely_reports, 0.5, 1e-6, 100) == Enclosure(300.0, math.inf)


def test_what_is_no_local_randomizer_is_refused():
    with pytest.raises(ValueError, match="decompositions of eps0-LDP randomizers"):
        largest_eps0(lambda eps0: krr(5.0), 0.5, 1e-6, 10)


# Both.


@pytest.mark.parametrize("search", [largest_eps0, fewest_users])
def test_an_enclosure_that_stays_wide_still_ends_the_search(search, monkeypatch):
    """An engine that gets no closer than 30 % of the truth."""
    evaluate = Direction.delta_ends

    def vague(self, query):
        ends = evaluate(self, query)
        return Ends(ends.lower * 0.85, ends.upper * 1.15, ends.names, ends.is_short)

    monkeypatch.setattr(Direction, "delta_ends", vague)
    if search is fewest_users:
        found, truth = search(krr(4.0), 0.4, 4.15804652e-7), 10_000
    else:
        found, truth = search(krr, 0.4, 4.15804652e-7, 10_000), 4.0
    assert found.lower < truth < found.upper
    assert found.relative_width < 0.15


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-7])
def test_the_largest_eps0_of_no_eps_at_all_is_that_of_total_variation(delta):
    """One user of binary randomized response: D(0) = tanh(ε₀/2)."""
    found = largest_eps0(lambda eps0: KRR(2, eps0).blanket(), 0.0, delta, 1)
    assert found.lower <= 2.0 * math.atanh(delta) <= found.upper
    assert found.relative_width <= 1e-3


def test_a_randomizer_is_no_function_of_eps0():
    randomizer = KRR(k=10, eps0=1.0)
    with pytest.raises(ValueError, match=r"mechanism must be a function from eps0 .* got KRR\("):
        largest_eps0(randomizer, 0.5, 1e-6, 100)


# Rounds.


BLANKET = sb.KRR(10, 2.0).blanket()


@pytest.mark.parametrize("eps", [0.06, 0.3, 2.0])
def test_lower_rounds_do_and_one_more_than_upper_do_not(eps):
    found = most_rounds(BLANKET, eps, 1e-6, 10**5)
    assert 1 <= found.lower <= found.upper <= 1.01 * found.lower + 1
    assert compose([(BLANKET, 10**5, int(found.lower))]).delta(eps).lower <= 1e-6
    assert compose([(BLANKET, 10**5, int(found.upper) + 1)]).delta(eps).upper >= 1e-6


def test_not_even_one_and_all():
    once = sb.epsilon(BLANKET, 10**5, 1e-6)
    assert most_rounds(BLANKET, 0.9 * once.lower, 1e-6, 10**5) == sb.Enclosure(0, 0)
    assert most_rounds(BLANKET, 1.01 * once.upper, 1e-6, 10**5) == sb.Enclosure(1, 1)
    assert most_rounds(BLANKET, 300.0, 1e-6, 10**9) == sb.Enclosure(10**6, math.inf)


def test_local_reports_in_closed_form():
    """A lone user, δ tiny: every report costs all of ε₀."""
    found = most_rounds(sb.KRR(2, 1.0).blanket(), 7.5, 1e-12, 1)
    assert found == sb.Enclosure(7, 7)


def test_largest_eps0_of_many_rounds():
    found = sb.largest_eps0(
        lambda e: sb.KRR(10, e).blanket(), 0.5, 1e-6, 10**5, rounds=30, rtol=1e-2
    )
    assert found.relative_width <= 1e-2
    deployed, too_much = (sb.KRR(10, e).blanket() for e in (found.lower, found.upper))
    assert compose([(deployed, 10**5, 30)]).epsilon(1e-6).lower <= 0.5
    assert compose([(too_much, 10**5, 30)]).epsilon(1e-6).upper >= 0.5


def test_fewest_users_of_many_rounds():
    found = sb.fewest_users(BLANKET, 0.5, 1e-6, rounds=30)
    assert found.relative_width <= 0.01
    assert compose([(BLANKET, int(found.upper), 30)]).epsilon(1e-6).lower <= 0.5
    assert compose([(BLANKET, int(found.lower) - 1, 30)]).epsilon(1e-6).upper >= 0.5


def test_largest_eps0_next_to_a_kink():
    """δ of ten local reports has a kink at ε = 3ε₀; a poor first enclosure ends no search."""
    p, q = (math.exp(x) / (1.0 + math.exp(x)) for x in (0.5, -0.5))
    delta = sum(
        math.comb(10, k) * (p**k * q ** (10 - k) - math.exp(1.5) * q**k * p ** (10 - k))
        for k in range(7, 11)
    )
    found = sb.largest_eps0(sb.standard_clone, 1.5, delta, 1, rounds=10)
    assert found.lower <= 0.5 <= found.upper < 1.1 * found.lower
