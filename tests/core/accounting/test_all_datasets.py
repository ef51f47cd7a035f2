"""The fewest users and the largest ε₀ by the suprema of crowds, against enumerated datasets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.accounting import every_dataset
from shufflebounds.accounting.every_dataset import all_datasets_eps0, all_datasets_users

EPS, DELTA = 0.3, 0.05


def uneven(eps0: float) -> sb.MatrixRandomizer:
    """Three inputs, of which no two pairs are alike, at an ε₀."""
    e = math.exp(eps0)
    rows = np.array([[e, 1.0, 1.0], [1.0, e, 1.0], [1.0, (e + 1.0) / 2.0, (e + 1.0) / 2.0]])
    return sb.MatrixRandomizer(rows / rows.sum(axis=1, keepdims=True))


def worst(randomizer: sb.Randomizer, n: int) -> float:
    """δ(ε) of the worst of all datasets, by enumeration."""
    return sb.worst_dataset(randomizer, n, eps=EPS).enclosure.lower


@pytest.mark.parametrize("eps0", [0.5, 1.0, 1.5])
def test_so_many_users_are_enough_for_every_dataset(eps0):
    randomizer = uneven(eps0)
    blanket = max(sb.fewest_users(one, EPS, DELTA).upper for one in randomizer.blankets().values())
    found = all_datasets_users(randomizer.crowds(), EPS, DELTA, 1, blanket)
    assert 1 <= found <= blanket
    for n in (found, found + 1, found + 2):
        assert worst(randomizer, int(n)) <= DELTA


@pytest.mark.parametrize("n", [5, 20])
def test_so_large_an_eps0_does_for_every_dataset(n):
    found = all_datasets_eps0(lambda eps0: uneven(eps0).crowds(), EPS, DELTA, n, EPS, 5.0)
    assert EPS <= found <= 5.0
    assert worst(uneven(found), n) <= DELTA


def test_what_is_returned_was_evaluated_there(monkeypatch):
    """Even where the suprema go up and down, as those of no sane mechanism do."""
    seen = {}

    def wild(crowd, eps, n, *_):
        seen[n] = 1e-3 if n % 7 < 3 else 1.0
        return seen[n]

    monkeypatch.setattr(every_dataset, "supremum", wild)
    crowds = sb.KRR(3, 1.0).crowds()
    for high in (50, 1000, 10**6 + 5):
        found = all_datasets_users(crowds, EPS, DELTA, 10, high)
        assert found == high or seen[found] <= DELTA


def test_without_crowds_the_blanket_is_all_that_is_known():
    assert all_datasets_users([], EPS, DELTA, 1, 77) == 77
    assert all_datasets_users([], EPS, DELTA, 1, math.inf) == math.inf
    assert all_datasets_eps0(lambda _: (), EPS, DELTA, 10, 0.5, 3.0) == 0.5

    def only_small(eps0):
        return sb.KRR(3, eps0).crowds() if eps0 <= 0.5 else ()

    found = all_datasets_eps0(only_small, EPS, DELTA, 10, 0.4, 3.0)
    assert found <= 0.5


@pytest.mark.parametrize("holds", [True, False])
def test_eps0_is_the_very_number_that_was_looked_at(monkeypatch, holds):
    """1/(1/x) is not always x: neither end of the search may be left by a rounding."""
    seen = set()

    def crowds(eps0):
        seen.add(eps0)
        return sb.KRR(3, eps0).crowds()

    monkeypatch.setattr(every_dataset, "supremum", lambda *_: 0.5 * DELTA if holds else 1.0)
    for low in np.random.default_rng(5).uniform(0.1, 3.0, 50).tolist():
        high = low * 1.01
        found = all_datasets_eps0(crowds, EPS, DELTA, 10, low, high)
        assert low <= found <= high
        assert found in seen if holds else found == low
