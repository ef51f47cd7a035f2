"""The bound for all pairs of rows of a matrix: against enumeration, and against one pair a time."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from enumeration import precise_exp, truth
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.core.datasets import Crowd
from shufflebounds.divergence.engine import divergence
from shufflebounds.divergence.pairs_of_rows import Screen
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.chords import chords


def log_uniform(inputs, outputs, eps0=2.0, seed=1):
    rows = np.exp(np.random.default_rng(seed).uniform(0.0, eps0, (inputs, outputs)))
    return rows / rows.sum(axis=1, keepdims=True)


def test_no_dataset_of_few_users_exceeds_the_bound():
    rng = np.random.default_rng(2)
    for _ in range(10 * FUZZ):
        rows = log_uniform(
            int(rng.integers(2, 4)), int(rng.integers(2, 4)), 3.0, rng.integers(2**32)
        )
        n, eps = int(rng.integers(1, 7)), float(rng.uniform(0.0, 1.5))
        exact = [[Fraction(x) / sum(map(Fraction, row)) for x in row] for row in rows.tolist()]
        exp_eps = precise_exp(eps)
        share = float(rng.uniform(0.05, 0.95)) * float(rows.min(axis=0).sum())
        screen = Screen(rows, 1e-15, eps, n, share) if n > 1 else None
        simple = None if screen is None else screen.simple_bounds()
        spreads = np.full((len(rows), len(rows)), math.inf)
        if screen is not None:
            screen.spread(spreads, 0.0)
        largest = 0.0
        for x0, x1 in itertools.permutations(range(len(rows)), 2):
            worst = max(
                float(truth(exact[x0], exact[x1], [exact[x] for x in held], exp_eps))
                for held in itertools.combinations_with_replacement(range(len(rows)), n - 1)
            )
            largest = max(largest, worst)
            if screen is not None and simple is not None:
                assert worst <= simple[x0, x1]
                assert worst <= spreads[x0, x1]
                assert worst <= screen.close_bound(x0, x1)
        bound = supremum(Crowd.of_all_rows(rows, 1e-15), eps, n)
        assert largest <= bound * (1.0 + 1e-12)


@pytest.mark.parametrize(("n", "eps"), [(300, 0.3), (1000, 0.16), (10_000, 0.05), (10**6, 0.005)])
def test_the_bounds_are_above_each_dataset_of_equal_others(n, eps):
    rows = log_uniform(6, 8, 2.5, seed=4)
    screen = Screen(rows, 1e-15, eps, n, min(12.0 / n, 0.5 * rows.min(axis=0).sum()))
    simple, spreads = screen.simple_bounds(), np.full((6, 6), math.inf)
    screen.spread(spreads, 0.0)
    for x0, x1 in itertools.permutations(range(6), 2):
        lower = max(
            divergence(sb.Decomposition(rows[x0], rows[x1], row, rel_err=1e-15), eps, n, 0.01).lower
            for row in rows
        )
        assert lower <= simple[x0, x1]
        assert lower <= spreads[x0, x1]
        assert lower <= screen.close_bound(x0, x1)


@pytest.mark.parametrize("n", [1000, 10_000, 10**6])
def test_one_crowd_of_all_pairs_has_the_bound_of_all_crowds(n):
    rows = log_uniform(7, 9, seed=3)
    many = sb.epsilon(sb.MatrixRandomizer(rows), n, 1e-6)
    crowd = Crowd.of_all_rows(rows, 1e-14)
    assert supremum(crowd, many.upper * 1.001, n) <= 1e-6
    assert supremum(crowd, many.lower * 0.999, n) > 1e-6


@pytest.mark.parametrize(("inputs", "outputs", "n"), [(24, 40, 500), (40, 60, 10_000)])
def test_a_matrix_without_symmetries_is_within_a_per_cent(inputs, outputs, n):
    randomizer = sb.MatrixRandomizer(log_uniform(inputs, outputs))
    answer = sb.epsilon(randomizer, n, 1e-6)
    # The blankets of hundreds of pairs take longer than the bound, and are not made.
    assert "_blankets" not in vars(randomizer)
    assert answer.upper <= answer.lower * 1.01
    below = sb.delta(randomizer, answer.upper, n)
    assert below.lower <= 1e-6
    assert sb.epsilon(sb.Subsampled(randomizer, 0.5), n, 1e-6).upper <= answer.upper


def test_blankets_decide_among_few_users():
    """The bound of all pairs claims nothing for 60 users."""
    rows = log_uniform(22, 20)
    randomizer = sb.MatrixRandomizer(rows)
    assert randomizer.crowds()[0].rows is not None
    answer = sb.epsilon(randomizer, 60, 1e-6)
    blankets = sb.worst_epsilon(randomizer.blankets(), 60, 1e-6)[1]
    assert answer.upper <= blankets.upper * 1.001


def test_few_users_are_screened_with_heads_of_each_pair():
    randomizer = sb.MatrixRandomizer(log_uniform(24, 30))
    answer = sb.epsilon(randomizer, 100, 1e-5)
    assert answer.upper <= answer.lower * 1.02


def test_rounds_are_far_below_those_of_blankets():
    randomizer = sb.MatrixRandomizer(log_uniform(21, 16))
    answer = sb.epsilon(randomizer, 10_000, 1e-6, rounds=10)
    assert answer.upper <= answer.lower * 1.012


def test_chords_are_above_a_convex_curve():
    places = np.array([0.0, 0.03, 0.1, 0.4])

    def curve(eps):
        """A square of a polynomial in e^ε where it falls: convex in e^ε."""
        return np.maximum(1.0 - 0.8 * np.exp(eps), 0.0) ** 2 + 1e-9 * np.exp(-eps)

    eps = np.linspace(0.0, 0.4, 101)
    assert (chords(np.array([places, curve(places)]), eps) >= curve(eps)).all()
    assert chords(np.array([places, curve(places)]), places).tolist() == curve(places).tolist()


def test_a_crowd_of_all_pairs_ends_at_the_largest_loss():
    rows = log_uniform(5, 6)
    crowd = Crowd.of_all_rows(rows, 1e-15)
    loss = max(math.log(x / y) for column in rows.T for x, y in itertools.permutations(column, 2))
    assert loss <= crowd.largest_loss <= loss + 1e-12
    assert supremum(crowd, crowd.largest_loss, 1) <= 1e-13
    assert supremum(crowd, 0.0, 1) >= max(
        0.5 * np.abs(rows[x] - rows[y]).sum() for x, y in itertools.combinations(range(5), 2)
    ) * (1.0 - 1e-14)
