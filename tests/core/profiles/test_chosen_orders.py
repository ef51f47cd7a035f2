"""Rounds whose order of the two datasets is chosen in each, against every choice, in fractions."""

import itertools
import math
from fractions import Fraction
from functools import cache, partial

import mpmath
import numpy as np
import pytest
import shuffles
from hypothesis import given
from hypothesis import strategies as st
from oracles import _exp
from strategies import decompositions, examples

import shufflebounds as sb
from shufflebounds.core.enclosure import reached
from shufflebounds.profiles.chosen_orders import ChosenOrders, LatticeLosses
from shufflebounds.profiles.losses import Losses
from shufflebounds.questions.composed import compose
from shufflebounds.questions.intervals import View, interval_of
from shufflebounds.subjects.base import Aim
from shufflebounds.subjects.reports import subject_of

ROUNDING = mpmath.mpf(10) ** -13


def worst(pairs, times, x):
    """max Σ (P − xQ)₊ over all ways to choose a pair in each round from what was seen, exactly."""

    @cache
    def largest(x, rounds):
        if rounds == 0:
            return max(1 - x, Fraction(0))
        return max(
            sum(p * largest(x * q / p, rounds - 1) for p, q in pair if p > 0) for pair in pairs
        )

    return largest(x, times)


def both_orders(pairs):
    return [order for pair in pairs for order in (pair, shuffles.swapped(pair))]


def asymmetric(max_components=3):
    return decompositions(max_components=max_components, decades=4.0).filter(
        lambda x: not x.is_symmetric()
    )


@given(asymmetric(), st.integers(1, 2), st.sampled_from([2, 2, 3]), st.floats(0.0, 2.0))
@examples(40)
def test_no_choice_of_orders_is_above_the_upper_end(decomposition, n, times, eps):
    orders = both_orders([shuffles.pair_of(decomposition, n)])
    if len(orders[0]) ** times > 1500:
        times = 2
    answer = reached(partial(compose([(decomposition, n, times)]).delta, eps))
    low, high = (worst(orders, times, x) for x in _exp(Fraction(eps))[::-1])
    assert low <= answer.upper * (1 + Fraction(1, 10**12))
    # The end is close to what choosing attains, as the losses of few outcomes are known exactly.
    if high > Fraction(1, 10**4):
        assert answer.upper <= high * Fraction(11, 10)


@given(asymmetric(2), asymmetric(2), st.floats(0.0, 1.0))
@examples(15)
def test_any_of_two_pairs_may_be_chosen_in_either_order(first, second, eps):
    n, times = 2, 2
    orders = both_orders([shuffles.pair_of(x, n) for x in (first, second)])
    answer = reached(partial(compose([((first, second), n, times)]).delta, eps))
    low, high = (worst(orders, times, x) for x in _exp(Fraction(eps))[::-1])
    assert low <= answer.upper * (1 + Fraction(1, 10**12))
    if high > Fraction(1, 10**3):
        assert answer.upper <= high * Fraction(11, 10)


def test_choosing_gains_and_is_less_than_the_larger_curve():
    """One order shows a rare outcome often, the other a frequent one rarely."""
    pair = sb.Decomposition([0.75, 0.25], [0.9375, 0.0625], [0.0, 0.0])
    rounds, eps = 6, 0.5
    answer = sb.delta(pair, eps, 1, rounds=rounds)
    orders = both_orders([shuffles.pair_of(pair, 1)])
    fixed = max(shuffles.divergence(shuffles.product([order] * rounds), eps)[1] for order in orders)
    chosen = worst(orders, rounds, _exp(Fraction(eps))[0])
    assert fixed < chosen
    assert float(chosen) <= answer.upper <= 1.02 * float(chosen)


LAWS = st.lists(
    st.tuples(st.floats(-2.0, 2.0), st.floats(0.0, 12.0).map(lambda x: 10.0**-x)),
    min_size=1,
    max_size=5,
)


def as_losses(rows):
    values, masses = (np.array(x) for x in zip(*rows, strict=True))
    return Losses(values, masses, 0.0)


@given(LAWS, st.sampled_from([0.5, 0.0625, 0.001]), st.floats(-2.5, 2.5))
@examples(60)
def test_a_split_keeps_both_masses_and_lifts_the_curve(rows, step, eps):
    losses = as_losses(rows)
    lattice = LatticeLosses.above(losses, step)
    with mpmath.workdps(60):
        unit = mpmath.mpf(step)
        used = [
            ((lattice.first + int(k)) * unit, mpmath.mpf(float(lattice.masses[k])))
            for k in np.flatnonzero(lattice.masses)
        ]
        given_ = [
            (mpmath.mpf(float(x)), mpmath.mpf(float(m)))
            for x, m in zip(losses.values, losses.masses, strict=True)
        ]
        for weight in (lambda x: mpmath.mpf(1), lambda x: mpmath.exp(-x)):
            before, after = (mpmath.fsum(m * weight(x) for x, m in law) for law in (given_, used))
            assert abs(after / before - 1) <= ROUNDING
        for at in {eps, *losses.values.tolist()}:
            before, after = (
                mpmath.fsum(m * max(-mpmath.expm1(at - x), 0) for x, m in law)
                for law in (given_, used)
            )
            assert before <= after * (1 + mpmath.mpf(10) ** -40)


@given(st.data(), st.integers(1, 4))
@examples(30)
def test_the_recursion_is_above_every_choice_in_fractions(data, times):
    """Losses are lattice points with e^step = 2, so that every number is rational."""
    step = math.log(2.0)
    pairs = []
    for _ in range(data.draw(st.integers(1, 2))):
        rows = data.draw(
            st.lists(st.tuples(st.integers(1, 9), st.integers(-2, 2)), min_size=1, max_size=3)
        )
        # A pair of probabilities: the rest is seen under one hypothesis only, or loses nothing.
        p_sum = sum(Fraction(p) for p, _ in rows)
        q_sum = sum(Fraction(p) / Fraction(2) ** k for p, k in rows)
        unit = 2 * max(p_sum, q_sum)
        pair = [(Fraction(p) / unit, Fraction(p) / unit / Fraction(2) ** k) for p, k in rows]
        rest = [1 - sum(x[i] for x in pair) for i in (0, 1)]
        pairs.append([*pair, (rest[0], Fraction(0)), (Fraction(0), rest[1])])
    orders = both_orders(pairs)
    laws = []
    for order in orders:
        masses = np.zeros(7)
        for p, q in order:
            if p and q:
                masses[3 + round(math.log2(p / q))] += float(p)
        infinite = float(sum(p for p, q in order if q == 0))
        laws.append(LatticeLosses(-3, masses, infinite))
    size = data.draw(st.integers(1, 8))
    found = ChosenOrders.of(laws, step, size, times)
    for i, height in enumerate(found.heights.tolist()):
        truth = worst(orders, times, Fraction(2) ** i)
        assert float(truth) <= height * (1.0 + 1e-12)
        if size >= 2 * times + 1 and i <= 1:
            assert height <= float(truth) * (1.0 + 1e-9) + float(
                worst(orders, times, Fraction(2) ** size)
            )


@pytest.mark.parametrize("heights", [[0.5, 0.25, 0.25, 0.0625], [1.0, 0.125, 1e-3, 1e-12]])
def test_answers_between_points_are_those_of_chords(heights):
    step = 0.25
    chosen = ChosenOrders(step, np.array(heights))
    with mpmath.workdps(40):
        for i, part in itertools.product(range(3), (0.0, 0.3, 0.99)):
            eps = (i + part) * step
            x, left, right = (mpmath.exp(mpmath.mpf(y)) for y in (eps, i * step, (i + 1) * step))
            chord = heights[i] + (heights[i + 1] - heights[i]) * (x - left) / (right - left)
            upper = chosen.delta(eps, 1e-3).upper
            assert chord <= upper <= chord * (1 + ROUNDING) + 1e-15
            root = chosen.root(upper, 1e-3, 1.0)
            assert root <= eps * (1.0 + 1e-12) + 1e-12
    assert chosen.root(0.5 * heights[-1], 1e-3, 1.0) == math.inf
    assert chosen.root(1.0, 1e-3, 1.0) == 0.0
    assert chosen.delta(9.0, 1e-3).upper >= heights[-1]


@pytest.mark.parametrize(
    ("rounds", "delta", "width"),
    [
        (2, 1e-5, 0.006),
        (30, 1e-60, 0.006),
        (300, 0.05, 0.02),
        (2000, 1e-5, 0.006),
        (10**5, 1e-5, 0.03),
    ],
)
def test_ends_of_rare_reports_nearly_meet(rounds, delta, width):
    pair = sb.Subsampled(sb.KRR(2, 4.0), 0.0332).dataset_pair()
    answer = sb.epsilon(pair, 3012, delta, rounds=rounds)
    assert 0.0 < answer.lower <= answer.upper
    assert answer.relative_width <= width


def test_ends_of_continuous_reports_nearly_meet():
    """The two orders of a pair that is known in cells are those of its outer ends."""
    subject = subject_of(sb.Gaussian(2.0).dataset_pair())
    aim = Aim(rounds=50)
    interval = interval_of(subject, [200], aim, View.BLANKET)
    ends = interval.upper.roots(np.array([1e-5]), 1e-3)
    assert 0.0 < ends.lower[0] <= ends.upper[0] <= 1.01 * ends.lower[0]
