"""Crowds of joints: against all datasets of small ones, enumerated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from shuffles import channel, in_floats
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.divergence import supremum as module
from shufflebounds.divergence.supremum import AimedBound, SupremumAim

KRR2, KRR3 = sb.KRR(2, math.log(3.0)), sb.KRR(3, math.log(2.0))
BITS, UNARY = sb.BLH(math.log(3.0), domain_size=2), sb.RAPPOR(math.log(4.0), domain_size=2)


def some_bound(crowd, eps, n, rng):
    """The least of a few aims that the bound would not choose itself."""
    if (crowd.a <= math.exp(eps) * crowd.b).all():
        return 0.0
    found = []
    for size in (0.1, 0.4, 0.8):
        tau = size * rng.random(crowd.c.size)
        values = [
            module._remaining_values(crowd, held, eps, tau)[1] for held in crowd.others.values()
        ]
        low, high = min(x.min() for x in values), max(x.max() for x in values)
        for theta in np.array([0.5, 1.0, 2.0]) / (high * math.sqrt(n)):
            eta, step = 0.1 / theta, 2.0 * math.pi / (n * (high - low) + 10.0 / theta)
            aim = SupremumAim(tau, theta, eta, step, math.ceil(6.0 / (eta * step)), 0.0, 0.0)
            found.append(AimedBound(crowd, eps, n, aim).at(n))
    return min(found)


@pytest.mark.parametrize(
    ("parts", "n"),
    [
        ((KRR2, KRR2), 4),
        ((KRR3, KRR2), 3),
        ((BITS, KRR2), 3),
        ((BITS, BITS), 3),
        ((UNARY, KRR2), 3),
    ],
    ids=lambda given: given if isinstance(given, int) else " ".join(one.label for one in given),
)
def test_no_dataset_of_a_joint_exceeds_its_bound(parts, n):
    rng, crowds = np.random.default_rng(91), sb.Joint(parts).crowds()
    p, q = in_floats(channel(parts), n).swapaxes(0, 1)
    for eps in (0.0, 0.5):
        truth = float(np.maximum(p - math.exp(eps) * q, 0.0).sum(axis=-1).max())
        for _ in range(FUZZ):
            bound = max(some_bound(crowd, eps, n, rng) for crowd in crowds)
            assert truth <= bound * (1.0 + 1e-12)
            assert bound <= 9.0 * truth


def test_pieces_of_an_input_are_its_law_by_ratio():
    """Of 4 RAPPOR reports, 4096 outputs: every input has a few dozen pieces."""
    part = sb.RAPPOR(1.0, domain_size=3)
    rows = part.matrix()
    (crowd,) = (one for one in sb.Joint([part] * 4).crowds() if not one.differing)
    for name, held in crowd.others.items():
        assert held.part.size < 150
        law = np.ones(1)
        for x in name.split():
            law = np.multiply.outer(law, rows[{"x0": 0, "x1": 1, "third": 2}[x]]).ravel()
        outputs = [np.ones(1)] * 3
        for _ in range(4):
            laws = zip(outputs, (rows[0], rows[1], rows.min(axis=0)), strict=True)
            outputs = [np.multiply.outer(x, y).ravel() for x, y in laws]
        # f-divergences of the four, which tell ratios apart.
        pieces = [held.pieces(x) for x in (crowd.a, crowd.b, crowd.c)]
        for p, q, r in ((0.3, 0.9, -0.2), (1.7, -0.6, 0.5), (-0.6, 0.3, 1.1)):
            expected, found = (
                float(np.sum(w * (a / w) ** p * (b / w) ** q * (c / w) ** r))
                for a, b, c, w in ((*outputs, law), (*pieces, held.law))
            )
            assert found == pytest.approx(expected, rel=1e-12)
