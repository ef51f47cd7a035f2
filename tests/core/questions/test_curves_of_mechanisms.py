"""The curve, the advantage and the Rényi divergence of a mechanism: against all its datasets."""

import flint
import mpmath
import numpy as np
import pytest
import shuffles
from test_profile import assert_trade_off

import shufflebounds as sb

ORDERS = (1.05, 2.0, 3.7, 30.0)
CHANNELS = [
    (shuffles.BINARY, 25),
    (shuffles.BINARY, 1),
    (shuffles.TERNARY, 5),
    (shuffles.CROOKED, 5),
    (((1.0, 0.0), (0.5, 0.5), (0.25, 0.75)), 9),
]
each_channel = pytest.mark.parametrize(("channel", "n"), CHANNELS)


def mixed(datasets):
    """Two rounds, each on any dataset with the same two inputs of the victim, in either order."""
    return [
        shuffles.product([one, order])
        for first, one in datasets.items()
        for second, two in datasets.items()
        if first[:2] == second[:2]
        for order in (two, shuffles.swapped(two))
    ]


def repeated(pairs):
    """Two rounds on the same dataset."""
    return [shuffles.product([one, one]) for one in pairs]


@each_channel
def test_the_curve_of_a_mechanism_encloses_that_of_its_datasets(channel, n):
    """At, between and beyond the points, and at negative ε."""
    randomizer, datasets = sb.MatrixRandomizer(np.array(channel)), shuffles.all_datasets(channel, n)
    found = sb.profile(randomizer, n, smallest=1e-6, density=12.0)
    reach = (found.upper.size - 1) * found.step
    for eps in (-1.1 * reach, -0.3 * reach, 0.0, 7.0 * found.step, 0.503 * reach, 1.2 * reach):
        ends = found.delta(eps)
        assert ends.lower <= shuffles.largest(shuffles.uniform(datasets), eps)[1]
        assert shuffles.largest(datasets.values(), eps)[0] <= ends.upper


@pytest.mark.parametrize(("channel", "n"), [(shuffles.BINARY, 7), (shuffles.CROOKED, 2)])
def test_the_curve_of_two_rounds_encloses_that_of_all_datasets(channel, n):
    randomizer, datasets = sb.MatrixRandomizer(np.array(channel)), shuffles.all_datasets(channel, n)
    found = sb.profile(randomizer, n, rounds=2)
    everything, same = mixed(datasets), repeated(shuffles.uniform(datasets))
    for eps in (-0.7, 0.0, 0.31, 1.2):
        ends = found.delta(eps)
        assert ends.lower <= shuffles.largest(same, eps)[1]
        assert shuffles.largest(everything, eps)[0] <= ends.upper
    advantage = sb.advantage(randomizer, n, rounds=2)
    assert advantage.lower <= shuffles.largest(same, 0.0)[1]
    assert shuffles.largest(everything, 0.0)[0] <= advantage.upper
    assert_trade_off(found, everything, same)


@pytest.mark.parametrize(("channel", "n"), CHANNELS[1:])
def test_no_test_on_any_dataset_beats_the_trade_off_curve_of_a_mechanism(channel, n):
    randomizer, datasets = sb.MatrixRandomizer(np.array(channel)), shuffles.all_datasets(channel, n)
    found = sb.profile(randomizer, n)
    assert_trade_off(found, datasets.values(), shuffles.uniform(datasets))


@each_channel
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_renyi_divergence_of_a_mechanism_encloses_that_of_its_datasets(channel, n, rounds):
    randomizer, datasets = sb.MatrixRandomizer(np.array(channel)), shuffles.all_datasets(channel, n)
    found = sb.renyi(randomizer, n, ORDERS, rounds=rounds)
    for i, order in enumerate(ORDERS):
        known, everything = (
            rounds * max(renyi_of(one, order) for one in pairs)
            for pairs in (shuffles.uniform(datasets), datasets.values())
        )
        assert found[i].lower <= known * (1 + mpmath.mpf(10) ** -13)
        assert everything * (1 - mpmath.mpf(10) ** -13) <= found[i].upper
        assert known == mpmath.inf or found[i].lower >= (1 - 3e-3) * known


def renyi_of(pair, order):
    """The larger D_α of both orders of a pair, in 40 digits."""
    with flint.ctx.workprec(150), mpmath.workdps(40):
        return max(renyi_from(turned, order) for turned in (pair, shuffles.swapped(pair)))


def renyi_from(pair, order):
    """D_α of P from Q, in ball arithmetic: many times as fast as mpmath."""
    if any(p and not q for p, q in pair):
        return mpmath.inf
    masses = [(ball(p), ball(q)) for p, q in pair if q]
    total = sum((q * (p / q) ** flint.arb(float(order)) for p, q in masses), flint.arb(0))
    divergence = total.log() / flint.arb(float(order) - 1.0)
    assert divergence.rad() < 1e-35
    return mpmath.mpf(divergence.str(40, radius=False))


def ball(x):
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def test_inputs_that_agree_in_a_coordinate_count():
    """They are among the datasets of the mechanism, and not among those of its blanket's inputs."""
    joint = sb.Joint([sb.Duchi(2.0), sb.KRR(3, 2.0)])
    listed = max(sb.renyi(one, 10_000, 8.0).upper for one in joint.dataset_pairs().values())
    assert sb.renyi(joint, 10_000, 8.0).lower > 1.1 * listed
    listed = max(sb.advantage(one, 10_000).upper for one in joint.dataset_pairs().values())
    assert sb.advantage(joint, 10_000).lower > 1.05 * listed
