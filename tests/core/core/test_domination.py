"""Decompositions that make others superfluous, against exact divergences."""

from __future__ import annotations

import numpy as np
from oracles import exact
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.core.domination import exceeds, undominated


def random_decomposition(rng, size, alike=None):
    """Masses that are multiples of 2⁻²⁰, so that sums are exact."""
    arrays = rng.dirichlet(np.ones(size), size=3)
    if alike is not None and rng.random() < 0.7:
        arrays = 0.6 * alike + 0.4 * arrays
    arrays = np.maximum(np.floor(arrays * 2.0**20), 1.0) * 2.0**-20
    arrays[:, 0] += 1.0 - arrays.sum(axis=1)
    arrays[2] *= rng.choice([1.0, 0.5, 0.125])
    return sb.Decomposition(*arrays)


def everywhere(larger, smaller, slack=1e-11):
    """Whether exact divergences agree that one is the larger, for few users."""
    return all(
        exact(one, eps, n).upper * (1.0 + slack) + 1e-14 >= exact(other, eps, n).lower
        for one, other in ((larger, smaller), (larger.swap(), smaller.swap()))
        for eps in (0.0, 0.1, 0.4, 1.0)
        for n in (1, 2, 4)
    )


def test_what_exceeds_has_the_larger_divergence():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(150 * FUZZ):
        one = random_decomposition(rng, rng.integers(2, 4))
        alike = np.stack([one.a, one.b, one.c / one.c.sum()])
        other = random_decomposition(rng, len(one), alike)
        for large, small in ((one, other), (other, one)):
            if exceeds(large, small):
                found += 1
                assert everywhere(large, small)
    assert found > 10


def test_processing_is_exceeded_by_what_it_processes():
    rng = np.random.default_rng(6)
    for _ in range(60 * FUZZ):
        one = random_decomposition(rng, rng.integers(2, 6))
        # In floats that make all products and sums exact, as those of the masses are.
        kernel = np.floor(rng.dirichlet(np.ones(3), size=len(one)) * 2.0**20) * 2.0**-20
        kernel[:, 0] += 1.0 - kernel.sum(axis=1)
        processed = sb.Decomposition(one.a @ kernel, one.b @ kernel, one.c @ kernel)
        assert exceeds(one, processed)
        assert exceeds(one, one)
        fewer = sb.Decomposition(one.a, one.b, 0.9 * one.c)
        assert exceeds(fewer, one)
        assert not exceeds(one, fewer)


def test_of_two_kinds_of_pairs_one_is_left():
    spread = sb.Decomposition([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.25])
    narrow = sb.Decomposition([0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.25, 0.25, 0.25], rel_err=1e-9)
    other = sb.Decomposition([0.999, 0.001], [0.99, 0.01], [0.9, 0.001])
    kept = undominated({"spread": spread, "narrow": narrow, "other": other})
    assert list(kept) == ["spread", "other"]
    # It must answer for the uncertainty of what it stands for.
    assert 1e-9 < kept["spread"].rel_err < 1.1e-9
    assert kept["other"] is other


def test_nothing_is_said_of_reports_that_nobody_else_sends_nor_of_continuous_ones():
    alone = sb.Decomposition([0.5, 0.5], [0.25, 0.75], [0.0, 0.5])
    candidates = {"alone": alone, "again": alone, "laplace": sb.Laplace(1.0).blanket()}
    assert undominated(candidates) == candidates
    assert undominated({}) == {}
