"""Estimates that steer the search for ε: close where they say so, and never claimed as bounds."""

import math

import pytest
from engines import fourier

import shufflebounds as sb
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
