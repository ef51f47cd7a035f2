"""How many rounds a budget affords, and what many rounds take."""

import math

import pytest

import shufflebounds as sb
from shufflebounds.accounting.calibration import most_rounds
from shufflebounds.accounting.composition import compose

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
