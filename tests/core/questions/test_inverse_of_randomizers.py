"""Inverse questions of a randomizer itself, against all of its datasets, enumerated."""

import math
from functools import partial

import numpy as np
import pytest
from shuffles import BINARY, CROOKED, TERNARY, all_datasets, largest, product

import shufflebounds as sb
from shufflebounds.core.enclosure import reached
from shufflebounds.profiles import datasets

DELTA = 0.02
# Users whose datasets are enumerated in moments.
MOST = 7


@pytest.mark.parametrize("channel", [BINARY, TERNARY, CROOKED])
@pytest.mark.parametrize("eps", [0.1, 0.4])
def test_fewest_users_hold_for_every_dataset(channel, eps):
    found = sb.fewest_users(sb.MatrixRandomizer(np.array(channel)), eps, DELTA)
    worst = (largest(all_datasets(channel, n).values(), eps)[1] for n in range(1, MOST))
    tight = next((n for n, delta in enumerate(worst, start=1) if delta <= DELTA), math.inf)
    assert found.lower <= tight <= found.upper or found.lower >= MOST


def uneven(eps0):
    """Three inputs, of which no two pairs are alike, at an ε₀."""
    e = math.exp(eps0)
    rows = np.array([[e, 1.0, 1.0], [1.0, e, 1.0], [1.0, (e + 1.0) / 2.0, (e + 1.0) / 2.0]])
    return sb.MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("n", [5, 20])
def test_the_largest_eps0_does_for_every_dataset(n):
    found = sb.largest_eps0(uneven, 0.3, 0.05, n)
    assert sb.worst_dataset(uneven(found.lower), n, eps=0.3).enclosure.lower <= 0.05
    assert sb.worst_dataset(uneven(found.upper), n, eps=0.3).enclosure.upper >= 0.05


def test_what_all_datasets_meet_was_evaluated_there(monkeypatch):
    """Even where the suprema go up and down, as those of no sane mechanism do."""
    seen = {}

    def wild(crowd, eps, n, *_):
        seen[n] = 1e-9 if n % 7 < 3 else 1.0
        return seen[n]

    blanket = sb.fewest_users(sb.BLH(4.0).blanket(), 0.5, 1e-6).upper
    monkeypatch.setattr(datasets, "supremum", wild)
    found = int(sb.fewest_users(sb.BLH(4.0), 0.5, 1e-6).upper)
    assert found == blanket or seen[found] < 1e-6


@pytest.mark.parametrize("channel", [BINARY, TERNARY])
def test_most_rounds_of_one_is_the_question_at_a_point(channel):
    randomizer, n = sb.MatrixRandomizer(np.array(channel)), 9
    truth = sb.epsilon(randomizer, n, DELTA)
    assert sb.most_rounds(randomizer, 1.01 * truth.upper, DELTA, n).lower >= 1
    assert sb.most_rounds(randomizer, 0.99 * truth.lower, DELTA, n) == sb.Enclosure(0, 0)


@pytest.mark.parametrize(
    "randomizer", [sb.BLH(4.0), sb.Joint([sb.OUE(1.0)] * 2), sb.HadamardResponse(3.0)]
)
def test_a_mechanism_needs_fewer_users_than_its_blanket(randomizer):
    found = sb.fewest_users(randomizer, 0.5, 1e-6)
    assert found.upper < sb.fewest_users(randomizer.blanket(), 0.5, 1e-6).lower
    assert sb.delta(randomizer, 0.5, int(found.upper)).upper <= 1e-6
    assert sb.delta(randomizer, 0.5, int(found.lower) - 1).lower > 1e-6
    assert found.upper <= 1.05 * found.lower


def test_the_largest_eps0_of_a_mechanism():
    found = sb.largest_eps0(sb.BLH, 0.5, 1e-6, 10**5)
    assert found.lower > sb.largest_eps0(lambda x: sb.BLH(x).blanket(), 0.5, 1e-6, 10**5).upper
    assert sb.delta(sb.BLH(found.lower), 0.5, 10**5).upper <= 1e-6
    assert sb.delta(sb.BLH(found.upper), 0.5, 10**5).lower > 1e-6
    assert found.relative_width <= 0.02


def test_rounds_of_a_mechanism():
    found = sb.most_rounds(sb.BLH(4.0), 0.5, 1e-6, 10**4, rtol=1e-2)
    assert found.lower > sb.most_rounds(sb.BLH(4.0).blanket(), 0.5, 1e-6, 10**4).upper
    several = sb.compose([(sb.BLH(4.0), 10**4, int(found.lower))])
    assert reached(partial(several.epsilon, 1e-6, rtol=1e-2)).upper <= 0.5
    several = sb.compose([(sb.BLH(4.0), 10**4, int(found.upper) + 1)])
    assert reached(partial(several.epsilon, 1e-6, rtol=1e-2)).lower > 0.5


@pytest.mark.parametrize(("channel", "eps"), [(BINARY, 1.5), (TERNARY, 0.5), (CROOKED, 2.5)])
def test_two_rounds_of_every_dataset(channel, eps):
    """Enumerated: the same datasets in both rounds, which adaptive ones can only exceed."""
    found = sb.fewest_users(sb.MatrixRandomizer(np.array(channel)), eps, 0.05, rounds=2)
    for n, met in ((int(found.upper), True), (int(found.lower) - 1, False)):
        twice = [product([pair] * 2) for pair in all_datasets(channel, n).values()]
        assert (largest(twice, eps)[1] <= 0.05) == met
