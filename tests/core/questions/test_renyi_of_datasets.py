"""The upper end of a mechanism's Rényi divergences: crowd by crowd, against datasets."""

import math

import mpmath
import numpy as np
import pytest
import shuffles
from scipy import stats
from test_curves_of_mechanisms import renyi_of

import shufflebounds as sb
from shufflebounds.core.work import spend
from shufflebounds.profiles import datasets as suprema
from shufflebounds.profiles import renyi as renyi_of_interval
from shufflebounds.profiles.direction import pair
from shufflebounds.questions.plan import Plan
from shufflebounds.subjects.reports import subject_of

ORDERS = np.array([1.3, 2.0, 5.0, 40.0])
# Two outputs and three inputs; a blanket assumes far less noise than any of them makes.
COIN = ((0.75, 0.25), (0.5, 0.5), (0.25, 0.75))


def upper_of(randomizer, n, orders):
    """The upper ends of the bound for all datasets alone."""
    [(interval, _)] = Plan(subject_of(randomizer)).single_shuffles(n)
    return renyi_of_interval.Renyi(interval).all_datasets(orders, 2e-3)


@pytest.mark.parametrize("channel", [shuffles.TERNARY, shuffles.CROOKED])
def test_chords_over_exact_suprema_cover_every_dataset(channel, monkeypatch):
    """The largest D(ε) of all datasets in rationals takes the place of its bound."""
    n, asked = 5, []
    datasets = shuffles.all_datasets(channel, n)

    def supremum(crowd, eps, users, *_):
        asked.append(eps)
        return math.nextafter(float(shuffles.largest(datasets.values(), eps)[1]), 1.0)

    monkeypatch.setattr(suprema, "supremum", supremum)
    randomizer = sb.MatrixRandomizer(np.array(channel))
    upper = upper_of(randomizer, n, ORDERS)
    blankets = [sb.renyi(blanket, n, ORDERS).lower for blanket in randomizer.blankets().values()]
    assert asked
    monkeypatch.setattr(suprema, "supremum", lambda *_: spend(1.0))
    monkeypatch.setattr(renyi_of_interval, "MAX_WORK", 0.0)
    # Blankets remain where there is no work left.
    assert (upper_of(randomizer, n, ORDERS) > upper).all()
    for i, order in enumerate(ORDERS.tolist()):
        exact = max(renyi_of(pair, order) for pair in datasets.values())
        assert exact * (1 - mpmath.mpf(10) ** -13) <= upper[i]
        assert upper[i] < max(ends[i] for ends in blankets)


def renyi_in_floats(p, q, order):
    """D_α of two laws with positive masses, to about ten digits."""
    used = (p > 0.0) & (q > 0.0)
    logs = order * np.log(p[used]) - (order - 1.0) * np.log(q[used])
    return (logs.max() + math.log(np.exp(logs - logs.max()).sum())) / (order - 1.0)


def test_many_users_of_a_coin():
    """Their numbers of heads are sums of binomial ones, whatever they hold."""
    n, orders = 2_000, np.array([2.0, 8.0, 60.0])
    randomizer = sb.MatrixRandomizer(np.array(COIN))
    upper = upper_of(randomizer, n, orders)
    rng = np.random.default_rng(3)
    counts = [*(np.eye(3, dtype=int) * (n - 1)), *rng.multinomial(n - 1, np.ones(3) / 3, 6)]
    largest = np.zeros(orders.shape)
    for count in counts:
        heads = np.ones(1)
        for users, row in zip(count.tolist(), COIN, strict=True):
            heads = np.convolve(heads, stats.binom.pmf(np.arange(users + 1), users, row[0]))
        laws = [np.convolve(heads, row[::-1]) for row in COIN]
        values = [
            [renyi_in_floats(p, q, order) for order in orders.tolist()]
            for p in laws
            for q in laws
            if p is not q
        ]
        largest = np.maximum(largest, np.max(values, axis=0))
    assert (largest * (1.0 - 1e-8) <= upper).all()
    assert (upper <= 1.05 * largest).all()
    assert (upper < 0.7 * sb.renyi(randomizer.blanket(), n, orders).lower).all()


def test_numbers_of_the_interval_are_close_to_its_worst_pair():
    """There are 22 crowds, and the blanket is 24 % larger; so was the upper end once."""
    n, order = 10_000, 8.0
    divergence = sb.renyi(sb.Laplace(0.5, domain="interval"), n, order)
    assert divergence.relative_width < 0.02
    for x0, x1 in ((0.0, 1.0), (0.05, 0.95), (0.0, 0.7)):
        other = sb.MetricLaplace(0.5, x0=x0, x1=x1).dataset_pair()
        assert sb.renyi(other, n, order).lower <= divergence.upper


def test_blankets_stand_in_where_the_bound_for_all_datasets_is_no_float():
    """Its smallest value, 10⁻³⁰⁴, once counted as D of losses that are far rarer."""
    n, order = 1_000_000, 2_000.0
    divergence = sb.renyi(sb.BLH(2.0), n, order)
    assert divergence.relative_width < 0.005
    assert divergence.upper < 0.6 * sb.renyi(sb.BLH(2.0).blanket(), n, order).lower


def test_losses_without_a_bound_are_refused_at_once():
    with pytest.raises(ValueError, match=r"bounded losses, .* got Gaussian, .*; give it a clamp"):
        sb.renyi_epsilon(sb.Gaussian(2.0), 10_000, 1e-6)
    clamped = sb.Gaussian(2.0, clamp=6.0, grid=0.5)
    assert sb.epsilon(clamped, 10_000, 1e-6).lower <= sb.renyi_epsilon(clamped, 10_000, 1e-6).upper


def test_only_suprema_bound_all_datasets():
    """Another profile in their place would count as a divergence of 0."""
    blankets = pair(sb.KRR(3, 1.0).blanket(), np.array([100.0])).upper
    with pytest.raises(TypeError, match="must be the largest of suprema, got "):
        list(renyi_of_interval.suprema_of(blankets))
