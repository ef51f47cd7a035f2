"""Estimates of the curve of one epoch, which choose the nodes of many, against closed forms."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import shufflebounds as sb
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.round_estimates import Reach, estimated_curve


def gaussian_delta(shift, eps):
    """Return δ(ε) of two normal laws with variance 1 and a shift."""
    return ndtr(shift / 2 - eps / shift) - np.exp(eps) * ndtr(-shift / 2 - eps / shift)


def epoch_of_two_steps(sigma):
    """Return an upper profile of a replacement: normal laws with a shift of √2/σ."""
    scheme = sb.RandomAllocation(sigma, neighbours="replace")
    return pair(scheme.decomposition(2, 1e-6, epochs=10), np.array([2.0])).upper


@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_estimates_where_few_draws_matter(sigma):
    profile = epoch_of_two_steps(sigma)
    assert profile.has_rough_estimates
    eps, heights = estimated_curve(profile, Reach(1e-7))
    assert eps[0] == 0.0
    assert (np.diff(eps) > 0.0).all()
    assert (np.diff(heights) <= 0.0).all()
    exact = gaussian_delta(math.sqrt(2.0) / sigma, eps)
    assert exact[-1] < 1e-7
    is_relevant = exact > 1e-7
    np.testing.assert_allclose(np.log(heights[is_relevant]), np.log(exact[is_relevant]), atol=0.1)


def test_estimates_reach_as_far_as_delta_at_an_eps_asks_for():
    eps, heights = estimated_curve(epoch_of_two_steps(1.0), Reach(1e-290, eps=5.0, share=1e-2))
    exact = gaussian_delta(math.sqrt(2.0), np.array([5.0, eps[-1]]))
    assert eps[-1] > 5.0
    assert exact[1] < 1.2e-2 * exact[0]
    assert heights[-1] > 1e-7 * exact[0]


def test_many_draws_need_no_enclosures():
    profile = pair(sb.KRR(k=10, eps0=2.0).blanket(), np.array([10_000.0])).upper
    assert not profile.has_rough_estimates
