"""Rounds of joints of mechanisms: against every adaptive choice of datasets, enumerated."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from shuffles import adaptive, channel, in_floats
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.core.enclosure import reached

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
