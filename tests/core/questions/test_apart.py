"""ε of continuous randomizers: each end against D of all components."""

from __future__ import annotations

import pytest

import shufflebounds as sb
from shufflebounds.divergence.engine import divergence


def joint(side, eps0, reports, rate):
    randomizer = sb.Joint([sb.Laplace(eps0)] * reports) if reports > 1 else sb.Laplace(eps0)
    found = randomizer.blanket() if side == "blanket" else randomizer.dataset_pair()
    return found if rate == 1.0 else sb.subsample(found, rate)


QUESTIONS = {
    "smooth": ("blanket", 0.5, 4, 1.0, 10**6, 1e-8),
    "one report": ("blanket", 1.0, 1, 1.0, 10**4, 1e-6),
    "both directions": ("pair", 0.5, 4, 1.0, 10**7, 1e-6),
    "rare": ("blanket", 1.0, 2, 1e-4, 100, 1e-8),
    "rare pair": ("pair", 2.0, 4, 1e-4, 10**4, 1e-10),
    "next to where D drops": ("pair", 8.0, 4, 1.0, 10**5, 1e-8),
    "few draws of many reports": ("pair", 1.0, 8, 1e-4, 10**6, 1e-5),
    "near zero": ("blanket", 0.25, 4, 1e-4, 10**6, 1e-6),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_ends_against_all_components(question):
    """At the upper end D_outer is at most δ, below the lower one D_inner is not, in full."""
    *which, n, delta = question
    directions = joint(*which).directions
    found = sb.epsilon(joint(*which), n, delta)
    assert found.relative_width <= 4e-4
    # D falls by less than that within a rounding of ε, except next to a drop.
    fine = 1e-4
    assert max(divergence(outer, found.upper, n, fine).lower for _, outer in directions) <= delta
    before = found.lower * (1.0 - 1e-12)
    assert max(divergence(inner, before, n, fine).upper for inner, _ in directions) >= delta


@pytest.mark.parametrize(("eps0", "n", "delta"), [(8.0, 2, 0.98), (10.0, 3, 0.8), (5.0, 1, 0.9)])
def test_few_users_and_a_large_delta(eps0, n, delta):
    found = sb.epsilon(joint("pair", eps0, 2, 1.0), n, delta)
    assert found.relative_width <= 1e-3
    ends = [sb.delta(joint("pair", eps0, 2, 1.0), one, n) for one in (found.lower, found.upper)]
    assert ends[0].upper >= delta >= ends[1].lower
