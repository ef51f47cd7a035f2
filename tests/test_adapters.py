"""What is handed to dp_accounting, where it is installed."""

import importlib.util

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.accounting.adapters import _floored, _split, to_dp_accounting
from shufflebounds.accounting.composed import compose
from shufflebounds.divergence.losses import LossLaw

COMPOSED = compose([(sb.KRR(10, 4.0).blanket(), 10**4, 30)])


def curve(losses, masses, infinite, eps):
    return infinite + float(masses @ np.maximum(0.0, -np.expm1(np.minimum(eps - losses, 0.0))))


def test_other_lattices_keep_their_side():
    rng = np.random.default_rng(1)
    index = np.arange(-50, 51)
    masses = rng.random(101) * (1.0 - 1e-3) / 60.0
    law = LossLaw(0.015625, 0.0078125, index, masses, 1e-3)
    for interval in (0.5, 0.03, 0.001):
        (start, above), (floor, below) = _split(law, interval), _floored(law, interval)
        for eps in np.linspace(-1.5, 1.5, 61):
            truth = curve(law.law.values, masses, 1e-3, eps)
            upper = curve((start + np.arange(above.size)) * interval, above, 1e-3, eps)
            lower = curve((floor + np.arange(below.size)) * interval, below, 1e-3, eps)
            assert lower <= truth
            assert upper >= truth
        assert upper - lower < 2.0 * interval + 1e-12


def test_other_accountant_encloses_what_we_enclose():
    pytest.importorskip("dp_accounting")
    ours = COMPOSED.epsilon(1e-6)
    upper, lower = (
        to_dp_accounting(COMPOSED, pessimistic=side).get_epsilon_for_delta(1e-6)
        for side in (True, False)
    )
    assert lower <= ours.upper
    assert ours.lower <= upper
    assert 0.99 * ours.lower <= lower <= upper <= 1.01 * ours.upper


def test_composes_with_rounds_of_others():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    gaussian = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-3)
    both = to_dp_accounting(COMPOSED, interval=1e-3).compose(gaussian)
    eps = both.get_epsilon_for_delta(1e-6)
    assert eps > max(gaussian.get_epsilon_for_delta(1e-6), COMPOSED.epsilon(1e-6).upper)


def test_without_it_the_extra_is_named():
    if importlib.util.find_spec("dp_accounting"):
        pytest.skip("dp_accounting is installed")
    with pytest.raises(ImportError, match=r"shufflebounds\[accounting\]"):
        to_dp_accounting(COMPOSED)


def test_bad_interval():
    with pytest.raises(ValueError, match=r"interval must be a number from 1e-09 to 1, got 0\.0"):
        to_dp_accounting(COMPOSED, interval=0.0)
