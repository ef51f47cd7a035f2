"""The largest divergence over datasets of two inputs, against all of them in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
import shuffles
from enumeration import hockey_stick, shuffled
from hypothesis import given
from hypothesis import strategies as st
from oracles import _exp
from strategies import examples

import shufflebounds as sb
from shufflebounds.core.datasets import Crowd
from shufflebounds.divergence.two_inputs import TwoInputs, largest_of


@st.composite
def matrices(draw):
    """Two laws of two or three outputs; one of three may say nothing, and masses may be small."""
    size = draw(st.integers(2, 3))
    weights = st.one_of(st.integers(1, 40), st.sampled_from([1000, 100_000]))
    rows = [[draw(weights) for _ in range(size)] for _ in range(2)]
    if size == 3 and draw(st.booleans()):
        # Users take part with some probability.
        total = sum(row[0] + row[1] for row in rows)
        rows = [[row[0], row[1], 4 * total - row[0] - row[1]] for row in rows]
    rows = np.array([[x / sum(row) for x in row] for row in rows])
    rows[:, -1] = 1.0 - rows[:, :-1].sum(axis=1)
    return rows


def exact(rows, first, second, eps):
    """Bounds of D in both orders if so many others hold either input."""
    laws = [[Fraction(x) for x in row] for row in rows]
    laws = [[x / sum(law) for x in law] for law in laws]
    others = [laws[0]] * first + [laws[1]] * second
    p, q = (shuffled([law, *others]) for law in laws)
    return [
        [hockey_stick(*pair, x) for x in _exp(Fraction(eps))[::-1]] for pair in ((p, q), (q, p))
    ]


@given(matrices(), st.integers(1, 7), st.floats(0.0, 3.0), st.data())
@examples(60)
def test_largest_divergence_of_all_datasets(rows, n, eps, data):
    crowd = Crowd.of_laws(*rows, rows.min(axis=0), {"0": rows[0], "1": rows[1]})
    laws = TwoInputs.of(crowd, math.log(1e-40))
    assert laws is not None
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start, n - 1))
    grid = np.array([0.0, eps, 2.0 * eps])
    found = largest_of(laws, grid, (start, stop), n - 1, 1e-3)
    for k, x in enumerate(grid.tolist()):
        ends = [exact(rows, m, n - 1 - m, x) for m in range(start, stop + 1)]
        for place in (0, 1):
            low, high = max(e[place][0] for e in ends), max(e[place][1] for e in ends)
            lower, upper = (float(side[k]) for side in found[place])
            assert lower <= float(high) * (1.0 + 1e-9)
            assert float(low) * (1.0 - 1e-9) <= upper
            assert upper <= float(high) * 1.0011 + 1e-10


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_windows_leave_out_what_is_charged(rate):
    """Narrow windows raise the upper bound by no more than what they leave out."""
    crowd = sb.Subsampled(sb.KRR(2, 1.0), rate).crowds()[0]
    eps = np.array([0.0, 0.1, 0.4])
    wide, narrow = (
        largest_of(TwoInputs.of(crowd, math.log(x)), eps, (0, 29), 29, 1e-3) for x in (1e-60, 1e-4)
    )
    for ends, rough in zip(wide, narrow, strict=True):
        assert (rough.upper >= ends.lower).all()
        assert (rough.lower <= ends.upper).all()
        assert (rough.upper <= ends.upper * 1.01 + 2e-3).all()


@given(st.floats(0.3, 4.0), st.floats(0.1, 1.0), st.integers(2, 4), st.floats(0.0, 2.0))
@examples(15)
def test_rounds_with_datasets_and_orders_that_are_chosen(eps0, rate, n, eps):
    R = sb.Subsampled(sb.KRR(2, eps0), rate)
    rows = R.crowds()[0]
    table = np.array([x.law for x in rows.others.values()])
    truth = shuffles.adaptive([shuffles.in_floats(table, n, [(0, 1), (1, 0)])] * 2, eps)
    answer = sb.delta(R, eps, n, rounds=2)
    assert truth * (1.0 - 1e-9) <= answer.upper


@pytest.mark.parametrize(
    ("randomizer", "n", "delta"),
    [
        (sb.KRR(2, 4.0), 40, 1e-3),
        (sb.KRR(2, 1.0), 18, 1e-3),
        (sb.MatrixRandomizer([[0.8674, 0.1326], [0.0031, 0.9969]]), 93, 1.7e-6),
    ],
)
def test_upper_end_is_that_of_the_worst_dataset(randomizer, n, delta):
    """Mixed datasets included, which need not be those of equal others."""
    rows = np.array([list(x.law) for x in randomizer.crowds()[0].others.values()])
    answer = sb.epsilon(randomizer, n, delta)
    laws = TwoInputs.of(randomizer.crowds()[0], math.log(1e-40))
    at = np.array([answer.upper, answer.upper * (1.0 - 5e-3)])
    values = [order.divergences(at) for m in range(n) for order in laws.outcomes(m, n - 1 - m)]
    assert rows.shape == (2, 2)
    assert max(lower[0] for lower, _ in values) <= delta
    assert max(upper[1] for _, upper in values) > delta
