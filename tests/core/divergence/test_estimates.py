"""Estimates that steer the search for ε: close where they say so, and never claimed as bounds."""

import math

import mpmath as mp
import pytest
from engines import fourier

import shufflebounds as sb
from shufflebounds.accounting import problem
from shufflebounds.accounting.problem import start_of
from shufflebounds.divergence import estimates
from shufflebounds.divergence.estimates import log_estimate, refined_estimate


def log_mean(theta, density, reach):
    """Log ∫ x e^{−θx} p(x) dx over x > 0, in 30 digits."""
    with mp.workdps(30):
        ends = [0, *sorted({1 / mp.mpf(theta), mp.mpf(reach) / 4}), reach]
        return float(mp.log(mp.quad(lambda x: x * mp.exp(-theta * x) * density(x), ends)))


@pytest.mark.parametrize("theta", [0.01, 0.3, 1.0, 9.0, 11.0, 200.0])
@pytest.mark.parametrize("mean", [0.0, 0.1, 1.0, 5.0])
def test_a_normal_law_is_met_exactly(theta, mean):
    truth = log_mean(theta, lambda x: mp.npdf(x, mean, 1), mean + 12.0)
    found, _ = estimates.edgeworth(theta, mean, 1.0, 0.0, 0.0)
    assert found == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("theta", [0.3, 2.0, 9.9, 10.1, 40.0])
@pytest.mark.parametrize("shape", [100.0, 1e4])
def test_skewness_and_kurtosis_are_corrected_for(theta, shape):
    """A gamma law, moved to the mean of a tilted sum."""
    scale = 1.0 / math.sqrt(shape)
    mean = 2.0 / theta if theta > 1.0 else 1.0
    start = mean - shape * scale

    def density(x):
        y = (x - start) / scale
        return mp.exp((shape - 1) * mp.log(y) - y - mp.loggamma(shape)) / scale if y > 0 else 0

    truth = log_mean(theta, density, mean + 15.0)
    cumulants = (2.0 * shape * scale**3, 6.0 * shape * scale**4)
    found, doubt = estimates.edgeworth(theta, mean, 1.0, *cumulants)
    plain, _ = estimates.edgeworth(theta, mean, 1.0, 0.0, 0.0)
    assert abs(found - truth) <= max(0.05 * abs(plain - truth), 1e-5)
    assert abs(found - truth) <= doubt


@pytest.mark.parametrize(
    ("decomposition", "eps", "n"),
    [
        (sb.KRR(10, 4.0).blanket(), 0.3, 10**5),
        (sb.KRR(10, 4.0).dataset_pair(), 0.01, 10**7),
        (sb.RAPPOR(1.0).blanket(), 0.02, 10**4),
        (sb.standard_clone(2.0), 0.2, 10**4),
    ],
)
def test_refined_estimates_are_close_to_the_enclosure(decomposition, eps, n):
    truth = fourier(decomposition, eps, n, 1e-7)
    found = refined_estimate(decomposition, eps, n)
    missed = abs(found.log - math.log(truth.upper))
    assert missed <= max(found.doubt, 1e-4)
    assert missed < abs(log_estimate(decomposition, eps, n)[0] - math.log(truth.upper))


def test_what_vanishes_is_no_estimate():
    assert refined_estimate(sb.KRR(3, 1.0).blanket(), 2.0, 100).log == -math.inf


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
    question = problem.Problem.of(pair, n)
    start = start_of(question, delta, question.largest_loss())
    assert start.eps == pytest.approx(eps, rel=0.02)
    assert log_estimate(pair, eps, n)[0] > math.log(delta) + 1.0


def test_the_largest_draw_of_a_law_without_gains():
    pair = sb.KRR(k=3, eps0=1.0).dataset_pair()
    assert estimates.largest_draw_estimate(pair, 2.0, 10) == -math.inf
