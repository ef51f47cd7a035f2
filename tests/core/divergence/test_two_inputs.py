"""The largest divergence over datasets of two inputs, against all of them in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
import shuffles
from cohorts import cohort_law
from cohorts import hockey_stick as hockey_stick_of
from enumeration import hockey_stick, shuffled
from hypothesis import given
from hypothesis import strategies as st
from oracles import _exp
from strategies import examples

import shufflebounds as sb
from shufflebounds.core.datasets import Crowd
from shufflebounds.divergence.cohort_two_inputs import CohortOfTwoInputs
from shufflebounds.divergence.two_inputs import Datasets, TwoInputs, convolved


@st.composite
def matrices(draw):
    """Two laws of two to four outputs; one of three may say nothing, and masses may be small."""
    size = draw(st.integers(2, 4))
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
    assert (laws is None) == np.array_equal(*rows)
    if laws is None:
        return
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start, n - 1))
    grid = np.array([0.0, eps, 2.0 * eps])
    found = Datasets(laws, (start, stop), n - 1).largest(grid, 1e-3)
    for k, x in enumerate(grid.tolist()):
        ends = [exact(rows, m, n - 1 - m, x) for m in range(start, stop + 1)]
        for place in (0, 1):
            low, high = max(e[place][0] for e in ends), max(e[place][1] for e in ends)
            lower, upper = float(found[place].lower[k]), float(found[place].upper[k])
            assert lower <= float(high) * (1.0 + 1e-9)
            assert float(low) * (1.0 - 1e-9) <= upper
            assert upper <= float(high) * 1.0011 + 1e-10


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
@examples(40)
def test_convolution_by_products_of_matrices(sizes, data):
    other = [data.draw(st.integers(1, 5)) for _ in sizes]
    rng = np.random.default_rng(sum(sizes) + 7 * sum(other))
    x, y = rng.random(sizes), rng.random(other)
    expected = np.zeros([i + j - 1 for i, j in zip(sizes, other, strict=True)])
    for place in np.ndindex(*sizes):
        where = tuple(slice(i, i + j) for i, j in zip(place, other, strict=True))
        expected[where] += x[place] * y
    assert np.allclose(convolved(x, y), expected, rtol=1e-13)


@given(matrices(), st.integers(1, 7), st.floats(0.02, 0.9), st.data())
@examples(40)
def test_largest_root_of_all_datasets(rows, n, share, data):
    """At the upper end no dataset has more than δ, and at the lower one some dataset has."""
    crowd = Crowd.of_laws(*rows, rows.min(axis=0), {"0": rows[0], "1": rows[1]})
    laws = TwoInputs.of(crowd, math.log(1e-40))
    if laws is None:
        return
    pairs = [(m, n - 1 - m) for m in range(n)]
    delta = share * float(max(end for x in pairs for _, end in exact(rows, *x, 0.0)))
    datasets = Datasets(laws, (0, n - 1), n - 1)
    low, high, first = datasets.root(delta, (0.0, 60.0), 1e-4, (0, 1))
    if high < math.inf:
        assert all(start <= delta for x in pairs for start, _ in exact(rows, *x, high))
        assert high <= low * (1.0 + 1.1e-4) + 1e-6
    if low > 0.0:
        ends = exact(rows, first, n - 1 - first, low * (1.0 - 1e-9))
        assert max(end for _, end in ends) >= delta * (1.0 - 1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_windows_leave_out_what_is_charged(rate):
    """Narrow windows raise the upper bound by no more than what they leave out."""
    crowd = sb.Subsampled(sb.KRR(2, 1.0), rate).crowds()[0]
    eps = np.array([0.0, 0.1, 0.4])
    wide, narrow = (
        Datasets(TwoInputs.of(crowd, math.log(x)), (0, 29), 29).largest(eps, 1e-3)
        for x in (1e-60, 1e-4)
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
def test_ends_are_those_of_the_worst_dataset(randomizer, n, delta):
    """Mixed datasets included, which need not be those of equal others."""
    rows = np.array([list(x.law) for x in randomizer.crowds()[0].others.values()])
    answer = sb.epsilon(randomizer, n, delta)
    laws = TwoInputs.of(randomizer.crowds()[0], math.log(1e-40))
    at = np.array([answer.upper, answer.upper * (1.0 - 5e-3)])
    values = [order.divergences(at) for m in range(n) for order in laws.outcomes(m, n - 1 - m)]
    assert rows.shape == (2, 2)
    assert max(lower[0] for lower, _ in values) <= delta
    assert max(upper[1] for _, upper in values) > delta
    assert answer.upper <= answer.lower * 1.006


def test_mixed_dataset_of_a_lower_end_is_named():
    R = sb.MatrixRandomizer([[0.8674, 0.1326], [0.0031, 0.9969]])
    bounds = sb.mechanism_epsilon(R, 93, 1.7e-6)
    assert bounds.others == "0 against 1 among 89 of 0, 3 of 1"
    assert bounds.enclosure.relative_width < 2e-4
    ends = sb.mechanism_delta(R, bounds.enclosure.lower, 93)
    assert ends.others == bounds.others
    assert ends.enclosure.lower <= 1.7e-6 * 1.01
    assert ends.enclosure.upper >= 1.7e-6 * 0.999


def test_inputs_that_are_not_listed_are_not_left_out():
    """A crowd of all pairs of a matrix lists one input only, and a third law is no mixture."""
    rows = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    assert TwoInputs.of(Crowd.of_all_rows(rows, 0.0), -50.0) is None
    laws = dict(zip("012", rows, strict=True))
    assert TwoInputs.of(Crowd.of_laws(*rows[:2], rows.min(axis=0), laws), -50.0) is None


@pytest.mark.parametrize("rounds", [2, 100])
def test_asymmetric_inputs_choose_between_four_orders(rounds):
    """Half of the others with either input: no class has both curves of the larger one."""
    R = sb.Subsampled(sb.MatrixRandomizer([[0.97, 0.03], [0.01, 0.99]]), 0.05)
    answer = sb.epsilon(R, 1000, 1e-5, rounds=rounds)
    assert answer.upper <= answer.lower * 1.01


@given(matrices(), st.integers(2, 7), st.floats(0.0, 2.0), st.data())
@examples(40)
def test_largest_divergence_of_all_datasets_of_a_cohort(rows, n, eps, data):
    """All subsets, in rationals."""
    if rows.shape[1] > 2:
        return
    size = data.draw(st.integers(1, n - 1))
    crowd = Crowd.of_laws(*rows, rows.min(axis=0), {"0": rows[0], "1": rows[1]})
    laws = CohortOfTwoInputs.of_cohort(crowd, math.log(1e-40), size, n)
    if laws is None:
        return
    exact_rows = [[Fraction(x) for x in row] for row in rows]
    exact_rows = [[x / sum(row) for x in row] for row in exact_rows]
    ends = Datasets(laws, (0, n - 1), n - 1).largest(np.array([eps]), 1e-3)
    for place, order in enumerate([(0, 1), (1, 0)]):
        values = []
        for m in range(n):
            others = [0] * m + [1] * (n - 1 - m)
            pair = [cohort_law(exact_rows, [x, *others], size) for x in order]
            values.append([hockey_stick_of(*pair, x) for x in _exp(Fraction(eps))[::-1]])
        low, high = (float(max(x[i] for x in values)) for i in (0, 1))
        assert ends[place].lower[0] <= high * (1.0 + 1e-9)
        assert low * (1.0 - 1e-9) <= ends[place].upper[0] <= high * 1.0011 + 1e-10


@pytest.mark.parametrize("rounds", [1, 100])
def test_cohorts_of_two_inputs_are_tight(rounds):
    answer = sb.epsilon(sb.Cohort(sb.KRR(2, 4.0), 100), 3012, 1e-5, rounds=rounds)
    assert answer.upper <= answer.lower * 1.005


def test_few_users_among_many_have_their_own_answer():
    """A larger n of the same question does not make that of a few users looser."""
    sampled = sb.Subsampled(sb.MatrixRandomizer([[0.375, 0.125, 0.5], [0.75, 0.1875, 0.0625]]), 0.5)
    several = sb.delta(sampled, 0.75, np.array([5, 400]))
    worst = sb.worst_dataset(
        sb.MatrixRandomizer([[0.1875, 0.0625, 0.25, 0.5], [0.375, 0.09375, 0.03125, 0.5]]),
        5,
        eps=0.75,
    )
    assert several[0].upper >= worst.enclosure.lower
    assert several[0].upper == pytest.approx(worst.enclosure.upper, rel=1e-3)
    assert several[1].lower <= several[1].upper < several[0].lower
