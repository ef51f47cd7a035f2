"""Rounds of mechanisms: against all datasets, chosen anew in every round by what was seen."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from shuffles import adaptive, channel, in_floats
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.datasets import both_directions
from shufflebounds.core.enclosure import reached
from shufflebounds.core.setting import Setting
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.rounds import RoundCurve
from shufflebounds.questions.composed import compose
from shufflebounds.questions.intervals import (
    View,
    affordable_suprema,
    composed_pairs,
    joined,
    round_kinds,
)
from shufflebounds.subjects.base import Shuffle
from shufflebounds.subjects.reports import Reports, source_of

BINARY = np.array([[0.8, 0.2], [0.2, 0.8]])
CROOKED = np.array([[0.75, 0.25], [0.375, 0.625], [0.5, 0.5]])


def suprema_of(randomizer, n):
    """The bound for all datasets of one of several rounds, None if it is not affordable."""
    return affordable_suprema(source_of(randomizer), np.array([float(n)]), share_aims=False)


def two_rounds(randomizer, n):
    """Two rounds as one kind."""
    [kind] = round_kinds(joined([Shuffle(source_of(randomizer), n, 2)]), View.BEST)
    return kind


@pytest.mark.parametrize(
    ("rows", "n", "rounds", "eps"),
    [
        *((BINARY, 40, 2, eps) for eps in (0.1, 0.5)),
        *((CROOKED, 12, 2, eps) for eps in (0.1, 0.5)),
        (BINARY, 12, 3, 0.8),
    ],
)
def test_no_choice_of_datasets_exceeds_the_upper_end(rows, n, rounds, eps):
    randomizer = sb.MatrixRandomizer(rows)
    truth = adaptive([in_floats(rows, n)] * rounds, eps)
    ends = sb.delta(randomizer, eps, n, rounds=rounds)
    assert ends.lower <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= ends.upper
    if n > 20:  # so that it is not the blanket's
        blankets = sb.compose([(tuple(randomizer.blankets().values()), n, 2)])
        assert ends.upper < blankets.delta(eps).lower


def test_datasets_say_more_than_the_blanket_and_the_ends_meet():
    randomizer = sb.BLH(4.0)
    ends = sb.epsilon(randomizer, 10**4, 1e-6, rounds=30)
    blanket = sb.epsilon(randomizer.blanket(), 10**4, 1e-6, rounds=30)
    assert ends.upper < 0.75 * blanket.lower
    assert ends.relative_width < 0.02
    attained = [
        sb.epsilon(pair, 10**4, 1e-6, rounds=30) for pair in randomizer.dataset_pairs().values()
    ]
    assert ends.lower >= max(one.lower for one in attained) * (1 - 1e-3)


def test_the_blanket_counts_where_it_is_smaller():
    randomizer = sb.KRR(10, 1.0)
    blanket = sb.epsilon(randomizer.blanket(), 1000, 1e-6, rounds=2)
    assert sb.epsilon(randomizer, 1000, 1e-6, rounds=2).upper <= blanket.upper * (1 + 1e-12)


def test_kinds_of_rounds_mix():
    """A mechanism's rounds and a decomposition's: no less than either alone."""
    mechanism, other = sb.BLH(2.0), sb.KRR(4, 1.0).blanket()
    both = sb.compose([(mechanism, 500, 2), (other, 500, 1)]).epsilon(1e-4)
    for alone in ((mechanism, 500, 2), (other, 500, 1)):
        assert both.upper >= sb.compose([alone]).epsilon(1e-4).lower


def test_many_pairs_of_inputs_have_one_bound():
    rows = np.random.default_rng(3).dirichlet([3.0] * 3, size=9)
    randomizer = sb.MatrixRandomizer(rows)
    assert suprema_of(randomizer, 100) is not None
    ends = sb.compose([(randomizer, 100, 2)]).epsilon(1e-3)
    blankets = sb.compose([(tuple(randomizer.blankets().values()), 100, 2)]).epsilon(1e-3)
    assert 0.0 < ends.lower <= ends.upper <= blankets.upper * (1.0 + 1e-3)


def test_the_largest_curve_of_a_dozen_pairs_is_close_to_what_datasets_attain():
    randomizer = sb.MatrixRandomizer(np.random.default_rng(1).dirichlet(np.ones(4), size=4))
    assert suprema_of(randomizer, 10**4) is not None
    found = sb.compose([(randomizer, 10_000, 30)]).epsilon(1e-6)
    blankets = sb.compose([(tuple(randomizer.blankets().values()), 10_000, 30)]).epsilon(1e-6)
    assert found.upper < 1.01 * found.lower < 0.93 * blankets.upper


def test_the_bound_tight_composes():
    randomizer, rounds = sb.BLH(3.0), 3
    setting = Setting(n=1000, delta=1e-6, rounds=rounds)
    answer = BOUNDS["best"].answer(Reports(randomizer), "epsilon", setting)
    assert answer.enclosure == sb.epsilon(randomizer, 1000, 1e-6, rounds=rounds)


@pytest.mark.parametrize("seed", range(4))
def test_no_dataset_of_a_random_channel_is_above_the_pair_that_is_composed(seed):
    """At the points, between and beyond them, and at x < 1: of two to four inputs, zeros too."""
    rng = np.random.default_rng(seed)
    n, step = int(rng.integers(20, 36)), 0.05
    rows = rng.dirichlet([6.0, 6.0], size=2 + seed % 2)
    if seed == 3:
        rows = np.array([[1.0, 0.0], [0.6, 0.4], [0.3, 0.7]])
    curve = RoundCurve(two_rounds(sb.MatrixRandomizer(rows), n))
    nodes = step * np.arange(24.0)
    curve.add(nodes, np.full(nodes.size, 1e-3), 1e-9)
    losses = curve.above()
    found = in_floats(rows, n)
    reach = float(nodes[-1])
    for eps in [*nodes, *rng.uniform(-1.2 * reach, 1.2 * reach, 20)]:
        truth = float(np.maximum(found[:, 0] - math.exp(eps) * found[:, 1], 0.0).sum(1).max())
        gains = np.maximum(-np.expm1(eps - losses.values), 0.0)
        above = float(losses.masses @ gains) + losses.infinite
        assert truth * (1 - 1e-11) - 1e-14 <= above


def test_nodes_of_a_joint_have_the_largest_of_all_kinds_of_pairs():
    """Most nodes ask one kind, as the blankets of the others are smaller."""
    joint = sb.Joint([sb.BLH(1.0)] * 3)
    crowds = both_directions(joint.crowds())
    assert len(crowds) == 3
    curve = RoundCurve(two_rounds(joint, 10_000))
    nodes = 0.01 * np.arange(12.0)
    curve.add(nodes, np.full(nodes.size, 1e-3), 1e-9)
    for eps, bound in zip(nodes.tolist(), curve.largest, strict=True):
        every = max(supremum(crowd, eps, 10_000) for crowd in crowds)
        assert bound <= every * (1.0 + 1e-3) + 1e-9  # which is negligible
        attained = max(float(x.lower[list(nodes).index(eps)]) for x in curve.pairs.values())
        assert attained <= bound


@pytest.mark.parametrize(
    ("mechanism", "n", "rounds"),
    [
        (sb.Joint([sb.KRR(256, 2.0)] * 8), 2 * 10**6, 365),
        (sb.Joint([sb.KRR(256, 2.0)] * 3), 10**6, 30),
        (sb.BLH(1.0), 10**6, 365),
        (sb.Subset(domain_size=8, subset_size=2, eps0=2.0), 1000, 10),
        (sb.MatrixRandomizer(CROOKED), 50, 30),
        (sb.UnaryEncoding(eps0=18.732, noise=0.3), 748_416, 2),
    ],
)
def test_rough_nodes_do_not_become_the_answer(mechanism, n, rounds):
    """Lower ends reach what each dataset pair has by itself, or the question is refused."""
    try:
        found = sb.epsilon(mechanism, n, 1e-8, rounds=rounds)
    except sb.PrecisionError:
        return
    for pair in mechanism.known_datasets().values():
        try:
            own = compose([(pair, n, rounds)]).epsilon(1e-8)
        except sb.PrecisionError as error:
            own = error.enclosure
        assert own.lower <= found.lower + 2e-3 * found.upper
        assert own.lower <= found.upper


@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_rounds_of_many_different_parts_are_tight(rate):
    """Between what two datasets attain and what their blanket says."""
    parts = [sb.KRR(2, 0.5), sb.KRR(5, 0.6), sb.BLH(0.4), sb.KRR(16, 0.3), sb.RAPPOR(0.5)]
    joint = sb.Joint(parts) if rate == 1.0 else sb.Subsampled(sb.Joint(parts), rate)
    assert suprema_of(joint, 10**5) is not None
    found = sb.epsilon(joint, 10**5, 1e-6, rounds=30)
    assert found.lower <= found.upper <= 1.015 * found.lower
    assert found.upper < 0.85 * sb.epsilon(joint.blanket(), 10**5, 1e-6, rounds=30).lower


def test_parts_that_are_too_different_leave_the_blankets():
    joint = sb.Joint([sb.KRR(256, 2.0)] * 8)
    assert suprema_of(joint, 10**6) is None


# Joints, against every adaptive choice of datasets, enumerated.


# What floats may be off by, absolutely and relatively: outputs of nearly one ratio are one.
SLACK, LEAST = 1e-9, 1e-14
# Square of the outcomes of all datasets of a round, which is what two adaptive rounds cost.
AFFORDABLE = 1e8


def coordinate(rng):
    eps0 = rng.uniform(0.1, 4.0)
    two, three = (rng.multinomial(64 - k, np.ones(k) / k, size=2) + 1.0 for k in (2, 3))
    return (
        partial(sb.KRR, 2, eps0),
        partial(sb.KRR, 3, eps0),
        partial(sb.BLH, eps0, domain_size=2),
        partial(sb.RAPPOR, eps0, domain_size=2),
        partial(sb.MatrixRandomizer, two / 64.0),
        partial(sb.MatrixRandomizer, three / 64.0),
    )[rng.integers(6)]()


def shuffle(rng):
    """A joint, its number of users, at most four, and the laws of all its datasets."""
    joint = sb.Joint([coordinate(rng), coordinate(rng)])
    rows = channel(joint.parts)
    inputs, outputs = rows.shape
    n = int(rng.integers(1, 5))
    while n > 1:
        datasets = inputs * (inputs - 1) * math.comb(n + inputs - 2, n - 1)
        if (datasets * math.comb(n + outputs - 1, n)) ** 2 <= AFFORDABLE:
            break
        n -= 1
    return joint, n, in_floats(rows, n)


@pytest.mark.parametrize("seed", range(8 * FUZZ))
def test_no_choice_of_datasets_exceeds_two_rounds_of_joints(seed):
    rng = np.random.default_rng([26, seed])
    first, n, laws = shuffle(rng)
    second, m, others = (first, n, laws) if rng.random() < 0.7 else shuffle(rng)
    rounds = sb.compose([(first, n, 1), (second, m, 1)])
    eps = float(rng.uniform(0.0, 1.0) * rng.choice([0.0, 0.5, 2.0]))
    found, truth = reached(partial(rounds.delta, eps)), adaptive([laws, others], eps)
    assert found.lower <= truth * (1.0 + SLACK) + LEAST
    assert truth <= found.upper * (1.0 + SLACK) + LEAST
    delta = float(10.0 ** -rng.uniform(0.5, 5.0))
    found = reached(partial(rounds.epsilon, delta))
    if found.upper < math.inf:
        assert adaptive([laws, others], found.upper) <= delta * (1.0 + SLACK)
    if found.lower > 0.0:
        assert adaptive([laws, others], found.lower) >= delta * (1.0 - SLACK)


@pytest.mark.parametrize(
    ("randomizer", "n", "kept"),
    [
        (sb.KRR(10, 4.0), 10_000, ["third"]),
        # The two datasets of binary randomized response are mirror images.
        (sb.KRR(2, 1.0), 10_000, ["x0"]),
        (sb.BLH(3.0), 10_000, ["third", "x0"]),
        # Estimates are poor for few users.
        (sb.KRR(10, 4.0), 20, ["third", "x0", "x1"]),
    ],
)
def test_dataset_pairs_below_another_one_are_not_composed(randomizer, n, kept):
    shuffle = Shuffle(source_of(randomizer), n)
    assert sorted(composed_pairs(shuffle)) == sorted(kept)
    pairs = shuffle.dataset_pairs
    for rounds in (1, 3, 30):
        enclosures = {
            name: sb.epsilon(pair, n, 1e-6, rounds=rounds) for name, pair in pairs.items()
        }
        largest = max(enclosures[name].upper for name in kept)
        assert all(enclosure.lower <= largest for enclosure in enclosures.values())
