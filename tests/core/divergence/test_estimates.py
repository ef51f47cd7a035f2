"""Estimates that steer the search for ε: close where they say so, and never claimed as bounds."""

import math

import pytest
from engines import fourier

import shufflebounds as sb
from shufflebounds.divergence.largest_draw import largest_draw_estimate
from shufflebounds.divergence.saddlepoint import log_estimate


@pytest.mark.parametrize(
    ("decomposition", "eps", "n"),
    [
        (sb.KRR(10, 4.0).blanket(), 0.3, 10**5),
        (sb.KRR(10, 4.0).dataset_pair(), 0.01, 10**7),
        (sb.RAPPOR(1.0).blanket(), 0.02, 10**4),
        (sb.standard_clone(2.0), 0.2, 10**4),
    ],
)
def test_estimates_are_as_close_to_the_enclosure_as_they_say(decomposition, eps, n):
    truth = fourier(decomposition, eps, n, 1e-7)
    found = log_estimate(decomposition, eps, n)
    assert abs(found.log - math.log(truth.upper)) <= found.doubt < 0.01
    steep = math.log(fourier(decomposition, 1.001 * eps, n, 1e-7).upper / truth.upper)
    assert found.slope == pytest.approx(steep / (0.001 * eps), rel=0.1)


def test_what_vanishes_is_no_estimate():
    assert log_estimate(sb.KRR(3, 1.0).blanket(), 2.0, 100).log == -math.inf


RARE = [
    # Randomizer, reports, rate, users, δ: few of the draws count.
    (sb.KRR(k=10, eps0=1.0), 16, 1e-4, 10**4, 1e-6),
    (sb.KRR(k=256, eps0=4.0), 8, 1e-4, 10**5, 1e-6),
    (sb.OUE(eps0=0.5), 16, 1e-4, 1000, 1e-5),
    (sb.BLH(eps0=8.0), 16, 1.0, 10**8, 1e-6),
    (sb.RAPPOR(eps0=2.0), 8, 1e-2, 10**4, 1e-8),
]


@pytest.mark.parametrize(("randomizer", "reports", "rate", "n", "delta"), RARE)
def test_the_largest_draw_tells_epsilon_where_few_count(randomizer, reports, rate, n, delta):
    """To some percent, where saddlepoint estimates of D there are off by factors at least."""
    pair = sb.subsample(sb.Joint([randomizer] * reports).dataset_pair(), rate)
    eps = sb.epsilon(pair, n, delta, rtol=1e-3).upper
    estimates = [largest_draw_estimate(pair, share * eps, n) for share in (0.98, 1.02)]
    assert estimates[0] > math.log(delta) > estimates[1]
    assert log_estimate(pair, eps, n)[0] > math.log(delta) + 1.0


def test_the_largest_draw_of_a_law_without_gains():
    pair = sb.KRR(k=3, eps0=1.0).dataset_pair()
    assert largest_draw_estimate(pair, 2.0, 10) == -math.inf
