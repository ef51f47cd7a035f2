"""Closed forms of Girgis et al. against 40 digits, enumeration, and one another."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.bounds import renyi_closed_forms as renyi
from shufflebounds.bounds.clones import same_input_clone
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import Setting
from shufflebounds.divergence.moments import few_moments
from shufflebounds.protocols.any_mechanism import AnyMechanism

SETTINGS = [(0.25, 10**4, 2), (0.5, 10**6, 9), (1.0, 300, 3), (3.0, 10**6, 17), (2.0, 10**12, 64)]


def special_moment(order, eps0, m):
    """Theorem 3.7."""
    e = mpmath.e ** mpmath.mpf(eps0)
    base = (e * e - 1) ** 2 / (2 * m * e * e)
    total = 1 + mpmath.binomial(order, 2) * (e - 1) ** 2 / (m * e)
    for i in range(3, order + 1):
        half = mpmath.mpf(i) / 2
        total += mpmath.binomial(order, i) * i * mpmath.gamma(half) * base**half
    return total


def few(eps0, n):
    return int(mpmath.floor((n - 1) / (2 * mpmath.e ** mpmath.mpf(eps0)))) + 1


def rare(eps0, n, order):
    eps0 = mpmath.mpf(eps0)
    return mpmath.e ** (eps0 * order - (n - 1) / (8 * mpmath.e**eps0))


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(40):
        yield


@pytest.mark.parametrize(("eps0", "n", "order"), SETTINGS)
def test_theorems_3_1_and_3_3(eps0, n, order):
    m, tail = few(eps0, n), rare(eps0, n, order)
    bulk = mpmath.e ** (order**2 * (mpmath.e ** mpmath.mpf(eps0) - 1) ** 2 / m)
    for form, moment in (
        (renyi.theorem_3_1, special_moment(order, eps0, m) + tail),
        (renyi.theorem_3_3, bulk + tail),
    ):
        exact = min(mpmath.log(moment) / (order - 1), mpmath.mpf(eps0))
        assert exact <= form(eps0, n, order) <= exact * (1 + 1e-7)


def test_orders_between():
    """(λ − 1)D_λ is interpolated, from 0 at λ = 1."""
    two, three = (renyi.theorem_3_1(1.0, 10**5, order) for order in (2, 3))
    middle = 1.5 * renyi.theorem_3_1(1.0, 10**5, 2.5)
    assert middle == pytest.approx(0.5 * (two + 2.0 * three), rel=1e-10)
    assert renyi.theorem_3_1(1.0, 10**5, 1.25) == pytest.approx(two, rel=1e-10)


@pytest.mark.parametrize(("eps0", "n", "order"), SETTINGS)
def test_corollary_3_5(eps0, n, order):
    e = mpmath.e ** mpmath.mpf(eps0)
    exact = mpmath.log(1 + mpmath.binomial(order, 2) * (e - 1) ** 2 / (n * e)) / (order - 1)
    found = renyi.corollary_3_5(eps0, n, order)
    assert exact * (1 - 1e-9) <= found <= exact
    assert renyi.corollary_3_5(eps0, n, order + 0.5) == found
    assert renyi.corollary_3_5(eps0, n, 1.5) == 0.0


@pytest.mark.parametrize("order", [2, 5, 12])
def test_theorem_3_4_is_the_printed_sum(order):
    """By central moments of the binomial law, of one direction; the larger one counts."""
    eps0, n = 1.0, 40
    e = mpmath.e
    p = 1 / (e + 1)
    total = 1 + mpmath.binomial(order, 2) * (e - 1) ** 2 / (n * e)
    for i in range(3, order + 1):
        moment = mpmath.fsum(
            mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k) * (k - n * p) ** i
            for k in range(n + 1)
        )
        assert moment >= 0  # which is what the corollary needs
        total += mpmath.binomial(order, i) * ((e * e - 1) / (n * e)) ** i * moment
    printed = mpmath.log(total) / (order - 1)
    found = renyi.theorem_3_4(eps0, n, order)
    assert printed <= found.upper
    assert renyi.corollary_3_5(eps0, n, order) <= found.lower
    reverse = sb.renyi(sb.KRR(2, eps0).dataset_pair().swap(), n, order)
    assert found.lower == pytest.approx(reverse.lower, rel=1e-9)


@pytest.mark.parametrize("eps0", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("n", [100, 10**4, 10**6])
def test_bounds_are_in_order(eps0, n):
    """Lower below the exact divergences, these below the closed forms, at every real order."""
    orders = [1.1, 2.0, 3.5, 20.0]
    clone = sb.renyi(sb.standard_clone(eps0), n, orders)
    stronger = sb.renyi(sb.stronger_clone(eps0), n, orders)
    blanket = sb.renyi(sb.KRR(2, eps0).blanket(), n, orders)
    for i, order in enumerate(orders):
        lower = renyi.theorem_3_4(eps0, n, order)
        assert renyi.corollary_3_5(eps0, n, order) <= lower.upper
        assert lower.lower <= blanket[i].upper
        assert blanket[i].lower <= stronger[i].upper
        assert stronger[i].lower <= clone[i].upper
        assert clone[i].lower <= renyi.theorem_3_1(eps0, n, order)
        assert clone[i].lower <= renyi.theorem_3_3(eps0, n, order)


@pytest.mark.parametrize("eps0", [0.1, 0.7, 1 / 3])
@pytest.mark.parametrize("rounds", [3, 10, 49])
@pytest.mark.parametrize("name", ["girgis_upper", "girgis_simple"])
def test_what_all_reports_reveal_is_rounded_up(name, rounds, eps0):
    """With two users the formulas say nothing, and T times ε₀ is what holds: no less."""
    for quantity, given in (("epsilon", {"delta": 1e-9}), ("renyi", {"order": 900.0})):
        setting = Setting(n=2, rounds=rounds, **given)
        answer = BOUNDS[name].answer(AnyMechanism(eps0), quantity, setting)
        trivial = Fraction(eps0) * rounds
        assert trivial <= Fraction(answer.enclosure.upper) <= trivial * (1 + Fraction(2) ** -51)


def test_far_orders_stay_finite():
    for name in ("girgis_upper", "girgis_simple", "girgis_lower", "girgis_lower_simple"):
        for order in (1.0 + 1e-9, 1e6):
            at = Setting(n=1000, order=order)
            answer = BOUNDS[name].answer(AnyMechanism(5.0), "renyi", at)
            assert 0.0 <= answer.enclosure.lower <= answer.enclosure.upper <= 5.0 * (1 + 1e-12)
            assert np.isfinite(answer.enclosure.upper)


def test_reduction_is_an_average_of_the_special_case():
    """Theorem 3.6 of 2-RR: m + 1 users with the same input, m binomial."""
    eps0, n, order = 1.0, 12, 4
    e = mpmath.e
    rows = [[e / (e + 1), 1 / (e + 1)], [1 / (e + 1), e / (e + 1)]]
    total = mpmath.mpf(0)
    for m in range(n):
        share = mpmath.binomial(n - 1, m) * (1 / e) ** m * (1 - 1 / e) ** (n - 1 - m)
        q = rows[1]  # of the others, and of the victim in D′
        for k in range(m + 2):
            mass = mpmath.binomial(m + 1, k) * q[0] ** k * q[1] ** (m + 1 - k)
            ratio = (k * rows[0][0] / q[0] + (m + 1 - k) * rows[0][1] / q[1]) / (m + 1)
            total += share * mass * ratio**order
    forward = mpmath.log(total) / (order - 1)
    pair = same_input_clone(sb.KRR(2, eps0).blanket(), eps0)
    found = sb.renyi(pair, n, order)
    assert forward <= found.upper
    assert found.lower <= max(forward, renyi.theorem_3_1(eps0, n, order))
    low, high = few_moments(pair.merge(), n, np.array([float(order)]))
    assert math.exp(low[0]) <= total - 1 <= math.exp(high[0])
    assert sb.renyi(sb.KRR(2, eps0).blanket(), n, order).lower <= found.upper
