"""The published pair of randomized bits: what it is, and that it is drawn as unproven only."""

import itertools
import math

import numpy as np
import pytest
from engines import overlap

import shufflebounds as sb
from shufflebounds.bounds.base import Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.bounds.variation_ratio import published_vector_bits
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import GenericReports, SingleMessage


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("eps0", [0.5, 2.0, 6.0])
def test_its_total_variation_is_that_of_the_bits(bits, eps0):
    pair = published_vector_bits(bits, eps0)
    keep = 1.0 / (1.0 + math.exp(-eps0 / bits))
    variation = sum(
        max(0.0, keep**k * (1 - keep) ** (bits - k) - (1 - keep) ** k * keep ** (bits - k))
        for k in (sum(sent) for sent in itertools.product((0, 1), repeat=bits))
    )
    assert float(np.maximum(pair.a - pair.b, 0.0).sum()) == pytest.approx(variation, rel=1e-12)
    assert float((pair.a / pair.b).max()) == pytest.approx(math.exp(eps0), rel=1e-12)


def test_one_bit_is_randomized_response():
    one, two = published_vector_bits(1, 2.0), sb.KRR(2, 2.0).blanket()
    found, expected = (sb.epsilon(pair, 10**4, 1e-6, rtol=1e-7) for pair in (one, two))
    assert overlap(found, expected)


def test_it_is_asked_for_by_joint_reports():
    bound = BOUNDS["vector_bits_published"]
    assert bound.kind is Kind.UNPROVEN
    reports = SingleMessage(sb.Joint([sb.KRR(2, 1.0)] * 4))
    setting = Setting(n=10**4, delta=1e-6, rounds=3)
    (found,) = bound.prepare(reports, "epsilon", Numerics())([setting])
    composed = sb.epsilon(published_vector_bits(4, 4.0), 10**4, 1e-6, rounds=3)
    assert found.enclosure == composed


@pytest.mark.parametrize(
    "sent",
    [
        SingleMessage(sb.KRR(3, 1.0)),
        SingleMessage(sb.Joint([sb.KRR(2, 1.0), sb.KRR(2, 2.0)])),
        SingleMessage(sb.Joint([sb.KRR(2, 1.0), sb.BLH(1.0)])),
        GenericReports(1.0),
    ],
)
def test_other_reports_are_refused(sent):
    with pytest.raises(ValueError, match="needs reports of alike randomized bits, krr with k = 2"):
        BOUNDS["vector_bits_published"].prepare(sent, "epsilon", Numerics())(
            [Setting(n=10, delta=1e-3)]
        )
