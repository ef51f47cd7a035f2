"""Joints of randomizers given as matrices: every pattern of inputs, against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from strategies import FUZZ
from test_matrix import largest, random_matrix

import shufflebounds as sb
from shufflebounds.randomizers import joint as patterns
from shufflebounds.randomizers.joint import joint_of
from shufflebounds.subjects.reports import Reports, source_of

LOPSIDED = sb.MatrixRandomizer([[0.75, 0.25], [0.125, 0.875]])
KINDS = sb.MatrixRandomizer([[0.5, 0.375, 0.125], [0.125, 0.75, 0.125], [0.375, 0.125, 0.5]])


def kron(parts):
    """The joint as one matrix."""
    product = np.ones((1, 1))
    for part in parts:
        product = np.kron(product, part.matrix())
    return product


def joints(rng, count):
    """Joints of random matrices: different ones, equal ones, and with a mechanism beside them."""
    for i in range(count):
        one, other = (
            sb.MatrixRandomizer(random_matrix(rng, rng.integers(2, 4), 2, bool(i % 2)))
            for _ in range(2)
        )
        yield (one, other)
        yield (one, one)
        yield (one, sb.KRR(2, 1.0))


@pytest.mark.parametrize("n", [1, 3])
def test_a_joint_is_the_matrix_of_all_its_reports(n):
    rng = np.random.default_rng(2)
    for parts in joints(rng, FUZZ):
        whole, joint = sb.MatrixRandomizer(kron(parts)), sb.Joint(parts)
        eps = float(rng.uniform(0.0, 1.0))
        expected = largest(whole.blankets(), eps, n, "lower")
        assert largest(joint.blankets(), eps, n, "lower") == pytest.approx(expected, rel=1e-9)
        lower = largest(joint.dataset_pairs(), eps, n, "lower")
        assert lower <= largest(whole.dataset_pairs(), eps, n, "upper") * (1.0 + 1e-12)
        assert joint.eps0 == pytest.approx(whole.eps0, rel=1e-12)


@pytest.mark.parametrize("distance", [1, 2])
def test_a_distance_leaves_the_patterns_that_differ_in_so_many_coordinates(distance):
    parts = (LOPSIDED, KINDS)
    inputs = list(itertools.product(range(2), range(3)))
    rows = kron(parts)
    sure = rows.min(axis=0)
    alone = {
        (x0, x1): sb.Decomposition(rows[x0], rows[x1], sure, rel_err=1e-15)
        for x0, x1 in itertools.combinations(range(6), 2)
        if sum(i != j for i, j in zip(inputs[x0], inputs[x1], strict=True)) == distance
    }
    found = sb.Joint(parts).blankets(distance)
    for n, eps in ((1, 0.2), (3, 0.4)):
        expected = largest(alone, eps, n, "lower")
        assert largest(found, eps, n, "lower") == pytest.approx(expected, rel=1e-9)
    for one in sb.Joint(parts).patterns(distance):
        assert len(one.differing.split()) == distance


def test_not_to_differ_in_a_coordinate_may_be_worse():
    """Why all patterns count: exact values for ten users, of 2-RR and a lopsided part."""
    part = sb.MatrixRandomizer([[0.5, 0.5], [0.1, 0.9]])
    source = source_of(sb.Joint([sb.KRR(2, 3.0), part]))
    names = [source.blanket_inputs(name) for name in source.blankets]
    assert [(name.differing, name.inputs) for name in names] == [
        ("1 2", "any two, 0 against 1"),
        ("1", "any two, 0 in both"),
    ]
    both, one = (largest({"": each}, 1.0, 10, "lower") for each in source.blankets.values())
    assert one > 1.02 * both


def test_a_rare_report_of_a_matrix_is_a_matrix_with_one_more_output():
    rate = 0.25
    sampled = sb.Subsampled(KINDS, rate)
    rows = np.hstack([rate * KINDS.matrix(), np.full((3, 1), 1.0 - rate)])
    whole = sb.MatrixRandomizer(rows)
    for n, eps in ((1, 0.1), (2, 0.1), (4, 0.3)):
        for of in ("blankets", "dataset_pairs"):
            expected = largest(getattr(whole, of)(), eps, n, "lower")
            found = largest(getattr(sampled, of)(), eps, n, "lower")
            assert found == pytest.approx(expected, rel=1e-9)
    two, both = joint_of(sampled, 2), sb.MatrixRandomizer(np.kron(rows, rows))
    expected = largest(both.blankets(), 0.1, 2, "lower")
    assert largest(two.blankets(), 0.1, 2, "lower") == pytest.approx(expected, rel=1e-9)


def test_too_many_patterns_are_refused_before_they_are_made(monkeypatch):
    rng = np.random.default_rng(3)
    part = sb.MatrixRandomizer(rng.dirichlet(np.ones(8), size=12) * 0.9 + 0.1 / 8)
    limit = patterns.MOST_PATTERNS
    message = rf"^parts must leave at most {limit} combinations .* worst, got \d+ of 2 parts$"
    with pytest.raises(ValueError, match=message):
        joint_of(part, 2).patterns()
    with pytest.raises(ValueError, match=message):
        Reports(joint_of(part, 2)).check_size()
    monkeypatch.setattr(patterns, "LARGEST_JOINT", 10)
    with pytest.raises(ValueError, match=r"6 .* with 9 components each; at most 10 components"):
        joint_of(KINDS, 2).patterns()


def test_other_compositions_of_matrices_are_refused():
    with pytest.raises(ValueError, match=r"^parts must have inputs any two of which are alike"):
        sb.Parallel([(0.5, KINDS), (0.5, sb.KRR(3, 1.0))])
    with pytest.raises(ValueError, match=r"^parts must have blankets that are their own mirror"):
        sb.Parallel([(0.5, LOPSIDED), (0.5, sb.KRR(3, 1.0))])
    with pytest.raises(ValueError, match=r"^parts must not be joints of inputs that are not alike"):
        sb.Joint([joint_of(KINDS, 2), sb.KRR(3, 1.0)])
    with pytest.raises(ValueError, match=r"^all pairs of inputs must have the same blanket"):
        joint_of(KINDS, 2).blanket()


def test_a_part_that_one_input_gives_away_leaves_no_budget():
    telling = sb.MatrixRandomizer([[1.0, 0.0], [0.25, 0.75]])
    assert sb.Joint([telling, LOPSIDED]).eps0 == math.inf
    found = sb.epsilon(sb.Joint([telling, LOPSIDED]), n=50, delta=1e-6)
    assert 0.0 < found.lower <= found.upper
