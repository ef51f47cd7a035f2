"""What is handed to dp_accounting, and taken from it."""

import math
import sys

import numpy as np
import pytest
from scipy.stats import norm

import shufflebounds as sb
from shufflebounds.profiles.losses import Losses
from shufflebounds.questions.accountant import (
    _round_losses_down,
    _split_losses,
    from_profile,
    to_dp_accounting,
    to_renyi_accounting,
)
from shufflebounds.questions.composed import compose

COMPOSED = compose([(sb.KRR(10, 4.0).blanket(), 10**4, 30)])


def curve(losses, masses, infinite, eps):
    return infinite + float(masses @ np.maximum(0.0, -np.expm1(np.minimum(eps - losses, 0.0))))


def test_other_lattices_keep_their_side():
    rng = np.random.default_rng(1)
    index = np.arange(-50, 51)
    masses = rng.random(101) * (1.0 - 1e-3) / 60.0
    law = Losses(0.0078125 * (2 * index + 1), masses, 1e-3)
    for interval in (0.5, 0.03, 0.001):
        (start, above), (floor, below) = (
            _split_losses(law, interval),
            _round_losses_down(law, interval),
        )
        for eps in np.linspace(-1.5, 1.5, 61):
            truth = curve(law.values, masses, 1e-3, eps)
            upper = curve((start + np.arange(above.size)) * interval, above, 1e-3, eps)
            lower = curve((floor + np.arange(below.size)) * interval, below, 1e-3, eps)
            assert lower <= truth
            assert upper >= truth
        assert upper - lower < 2.0 * interval + 1e-12


def test_other_accountant_encloses_what_we_enclose():
    ours = COMPOSED.epsilon(1e-6)
    upper, lower = (
        to_dp_accounting(COMPOSED, pessimistic=side).get_epsilon_for_delta(1e-6)
        for side in (True, False)
    )
    assert lower <= ours.upper
    assert ours.lower <= upper
    assert 0.99 * ours.lower <= lower <= upper <= 1.01 * ours.upper


def test_without_it_the_extra_is_named(monkeypatch):
    for name in {"dp_accounting", *(x for x in sys.modules if x.startswith("dp_accounting."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'dp-accounting>=0.6'"):
        to_dp_accounting(COMPOSED)


def test_bad_interval():
    with pytest.raises(ValueError, match=r"interval must be .* 1e-09 <= interval <= 1, got 0\.0"):
        to_dp_accounting(COMPOSED, interval=0.0)


def test_orders_for_a_renyi_accountant():
    """Sums of the largest divergences of each round."""
    blanket, clone = sb.KRR(10, 4.0).blanket(), sb.standard_clone(1.0)
    orders, found = to_renyi_accounting(compose([(blanket, 10**4, 30), (clone, 50, 2)]), [2.0, 9.0])
    assert orders.tolist() == [2.0, 9.0]
    sums = 30 * sb.renyi(blanket, 10**4, orders).upper + 2 * sb.renyi(clone, 50, orders).upper
    assert np.all(np.abs(found / sums - 1.0) < 2e-3)
    with pytest.raises(ValueError, match=r"order must be a finite number with 1 < order"):
        to_renyi_accounting(COMPOSED, [2.0, 1.0])
    with pytest.raises(ValueError, match=r"orders must be one or more, got none"):
        to_renyi_accounting(COMPOSED, [])


def test_a_renyi_accountant_converts_them():
    from dp_accounting import rdp

    orders, found = to_renyi_accounting(COMPOSED)
    theirs, _ = rdp.compute_epsilon(orders, found, 1e-6)
    ours = sb.epsilon_of_orders(orders, found, 1e-6)
    assert theirs == pytest.approx(ours, rel=1e-6)
    assert ours >= sb.renyi_epsilon(sb.KRR(10, 4.0).blanket(), 10**4, 1e-6, rounds=30).lower


def test_a_renyi_accountant_needs_half_the_noise_multiplier_for_a_replacement():
    """A replacement moves a sum by up to 2: α 2²/(2σ²) at σ = 20, the closed form."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant().compose(GaussianDpEvent(20.0 / 2))
    exact = 2.0 * np.asarray(accountant.orders) / 20.0**2
    assert np.asarray(accountant.rdp) == pytest.approx(exact, rel=1e-12)


def gaussian(mu):
    """The privacy profile of the Gaussian mechanism of this sensitivity over its deviation."""

    def delta(eps):
        tails = (norm.cdf(side * 0.5 * mu - eps / mu) for side in (1.0, -1.0))
        return np.maximum(next(tails) - np.exp(eps) * next(tails), 0.0)

    return delta


@pytest.mark.parametrize(("mu", "rounds"), [(0.5, 1), (0.5, 4), (0.1, 25), (3.0, 2)])
def test_a_profile_of_others_is_a_round(mu, rounds):
    """Gaussian mechanisms compose to one whose profile is known."""
    upper = compose([(from_profile(gaussian(mu)), 1, rounds)]).epsilon(1e-6).upper
    whole = gaussian(mu * math.sqrt(rounds))
    assert whole(upper) <= 1e-6 * (1 + 1e-9)
    assert whole(upper * (1 - 1e-3)) >= 1e-6


@pytest.mark.parametrize("gives", [0.5, 1.0])
def test_a_profile_that_never_falls_is_a_loss_without_end(gives):
    one = from_profile(lambda eps: np.full(eps.shape, gives))
    assert compose([(one, 1, 1)]).delta(1.0).upper >= gives


@pytest.mark.parametrize("mu", [0.3, 20.0])
def test_a_profile_may_err_by_rounding_but_is_not_trusted_below_its_error(mu):
    """An FFT leaves -1e-13 where δ is smaller, and 1 + 1e-13 where it is 1."""

    def rounded(eps):
        return gaussian(mu)(eps) + np.where(np.arange(eps.size) % 2, 1e-13, -1e-13)

    found = compose([(from_profile(rounded, interval=0.01), 1, 1)])
    for eps in (0.0, 0.5, 3.0):
        assert gaussian(mu)(np.array([eps]))[0] <= found.delta(eps).upper
    assert found.delta(500.0).upper >= 1e-13


def test_what_is_no_profile():
    for bad in (
        lambda eps: eps,
        lambda eps: 0.5,
        lambda eps: np.full(eps.shape, np.nan),
        lambda eps: gaussian(0.3)(eps) - 2e-12,
    ):
        with pytest.raises(ValueError, match="delta must return a probability for each epsilon"):
            from_profile(bad)


def test_an_accountant_of_shuffles_and_other_events():
    import dp_accounting as dp

    from shufflebounds.questions.dp_events import Accountant, ShuffleEvent

    month = dp.SelfComposedDpEvent(ShuffleEvent(sb.KRR(10, 2.0), 10**4), 30)
    ours = sb.epsilon(sb.KRR(10, 2.0), 10**4, 1e-6, rounds=30).upper
    accountant = Accountant().compose(month)
    assert accountant.get_epsilon(1e-6) == ours
    assert accountant.neighboring_relation is dp.NeighboringRelation.REPLACE_ONE
    assert accountant.ledger == month
    noise = dp.GaussianDpEvent(20.0)
    both = Accountant().compose(dp.ComposedDpEvent([month, noise])).compose(noise, 3)
    alone = compose([(from_profile(gaussian(2.0 * math.sqrt(4.0) / 20.0)), 1, 1)]).epsilon(1e-6)
    assert max(ours, alone.upper) < both.get_epsilon(1e-6) < ours + alone.upper
    assert both.get_delta(both.get_epsilon(1e-6)) <= 1.01e-6
    assert not accountant.supports(dp.LaplaceDpEvent(1.0))
    with pytest.raises(ValueError, match="randomizer must be a Randomizer"):
        ShuffleEvent("krr", 10)
    twice = Accountant().compose(dp.RandomizedResponseDpEvent(0.5, 2), 2)
    # Of two true answers with probability 3/4 each.
    exact = (9.0 - math.exp(0.5)) / 16.0
    assert exact <= twice.get_delta(0.5) <= 1.001 * exact


def test_an_event_without_privacy_leaves_none():
    import dp_accounting as dp

    from shufflebounds.questions.dp_events import Accountant, ShuffleEvent

    for event in (dp.NonPrivateDpEvent(), dp.GaussianDpEvent(0.0)):
        both = Accountant().compose(ShuffleEvent(sb.KRR(10, 2.0), 10**4), 30).compose(event)
        assert both.get_epsilon(1e-6) == math.inf
        assert both.get_delta(1.0) == 1.0
        with pytest.raises(ValueError, match="delta"):
            both.get_epsilon(1.5)


def test_a_thousand_steps_of_training_among_shuffles():
    """Poisson-sampled steps are composed at once; a loss without end leaves ε finite."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant

    from shufflebounds.questions.dp_events import Accountant, ShuffleEvent

    steps = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000)
    alone = PLDAccountant(dp.NeighboringRelation.REPLACE_ONE).compose(steps).get_epsilon(1e-6)
    both = Accountant().compose(ShuffleEvent(sb.KRR(256, 2.0), 2_000_000), 28).compose(steps)
    assert alone < both.get_epsilon(1e-6) < 1.01 * alone
