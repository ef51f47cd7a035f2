"""Randomizers given as matrices: every pair of inputs, against enumeration of all datasets."""

from __future__ import annotations

import inspect
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from components import assert_same
from engines import overlap
from enumeration import truth
from oracles import exact
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.randomizers.matrix_pairs import _distinct_decompositions


def random_matrix(rng, inputs, outputs, zeros=False):
    """Rows of multiples of 1/64, so that floats and fractions are the same."""
    weights = rng.dirichlet(np.ones(outputs), size=inputs) * (rng.random(outputs) > 0.3 * zeros)
    parts = np.floor(weights * 64.0) if zeros else 1.0 + np.floor(weights * (64.0 - outputs))
    parts[:, 0] += 64.0 - parts.sum(axis=1)
    return parts / 64.0


def largest(decompositions, eps, n, end):
    return max(
        getattr(exact(direction, eps, n), end)
        for decomposition in decompositions.values()
        for direction in (decomposition, decomposition.swap())
    )


def worst(rows, n, exp_eps, *, alike=False):
    """The largest divergence of neighbouring datasets; all others hold one input if `alike`."""
    inputs = range(len(rows))
    held = itertools.combinations_with_replacement(inputs, n - 1)
    crowds = [[x] * (n - 1) for x in inputs] if alike else list(held)
    return max(
        truth(rows[x0], rows[x1], [rows[x] for x in others], exp_eps)
        for x0, x1 in itertools.permutations(inputs, 2)
        for others in crowds
    )


@pytest.mark.parametrize("zeros", [False, True])
def test_no_dataset_exceeds_the_blankets_nor_falls_short_of_the_dataset_pairs(zeros):
    rng = np.random.default_rng(1)
    for _ in range(25 * FUZZ):
        inputs, outputs = rng.integers(2, 5), rng.integers(2, 4)
        randomizer = sb.MatrixRandomizer(random_matrix(rng, inputs, outputs, zeros))
        rows = [[Fraction(x) for x in row] for row in randomizer.P.tolist()]
        n, exp_eps = int(rng.integers(1, 4)), Fraction(int(rng.integers(8, 20)), 8)
        eps = math.log(exp_eps)
        above = largest(randomizer.blankets(), eps, n, "upper")
        assert above >= float(worst(rows, n, exp_eps)) * (1.0 - 1e-12)
        found = largest(randomizer.dataset_pairs(), eps, n, "lower")
        same = float(worst(rows, n, exp_eps, alike=True))
        assert found == pytest.approx(same, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize(
    "randomizer",
    [sb.KRR(5, 1.0), sb.Subset(2.0, 6, 2), sb.HadamardResponse(1.0, 6), sb.RAPPOR(1.0, 4)],
)
def test_one_pair_stands_for_all_of_a_symmetric_mechanism(randomizer):
    matrix = sb.MatrixRandomizer(randomizer.matrix())
    assert matrix.eps0 == pytest.approx(randomizer.eps0, rel=1e-12)
    assert matrix.eps0 >= math.log(np.max(matrix.P.max(axis=0) / matrix.P.min(axis=0)))
    assert list(matrix.blankets()) == ["0 against 1"]
    found, closed = matrix.blanket(), randomizer.blanket().merge()
    assert found.is_symmetric()
    assert found.rel_err < 1e-12
    assert_same(found, closed.a, closed.b, closed.c)
    for n, eps in itertools.product((1, 2, 5), (0.0, 0.3)):
        pairs = randomizer.dataset_pairs()
        ends = [largest(x, eps, n, "lower") for x in (matrix.dataset_pairs(), pairs)]
        assert ends[0] >= ends[1] * (1.0 - 1e-12)


def test_no_one_of_several_blankets_is_the_blanket():
    """The pair of inputs that is worst depends on ε."""
    randomizer = sb.MatrixRandomizer(
        [[0.5, 0.375, 0.125], [0.125, 0.75, 0.125], [0.375, 0.125, 0.5]]
    )
    assert len(randomizer.blankets()) > 1
    with pytest.raises(
        ValueError, match=r"^all pairs of inputs must have the same blanket .* got .* more: ask"
    ):
        randomizer.blanket()


def test_pairs_that_are_nearly_the_same_are_one_of_which_the_other_is_within_doubt():
    rows = np.full((3, 3), 0.2) + np.diag(np.full(3, 0.4))
    rows[2, 1] *= 1.0 + 1e-13
    matrix = sb.MatrixRandomizer(rows)
    (found,) = matrix.blankets().values()
    assert 1e-13 < found.rel_err < 1e-11


def test_either_direction_counts_as_the_same_pair():
    a, b, c = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.3, 0.1]])
    pairs = [("there", a, b, c), ("back", b[::-1], a[::-1], c[::-1]), ("other", a, b, c[::-1])]
    assert set(_distinct_decompositions((*pair, 0.0) for pair in pairs)) == {"there", "other"}


@pytest.mark.parametrize("n", [2, 100, 10_000])
@pytest.mark.parametrize(
    ("one", "largest_of", "best", "at", "share"),
    [
        (sb.epsilon, sb.worst_epsilon, sb.best_lower_epsilon, {"delta": 1e-4}, 0.98),
        (sb.delta, sb.worst_delta, sb.best_lower_delta, {"eps": 0.2}, 0.9),
    ],
)
def test_the_worst_is_that_of_the_worst_pair(one, largest_of, best, at, share, n):
    rng = np.random.default_rng(2)
    randomizer = sb.MatrixRandomizer(rng.dirichlet(np.ones(6), size=5) * 0.9 + 0.1 / 6)
    name, found = largest_of(randomizer.blankets(), n=n, **at)
    each = {x: one(y, n=n, **at) for x, y in randomizer.blankets().items()}
    largest = max(end.lower for end in each.values())
    assert largest <= min(found.upper, each[name].upper)
    assert overlap(found, each[name])
    name, lower = best(randomizer.dataset_pairs(), n=n, **at)
    each = {x: one(y, n=n, **at) for x, y in randomizer.dataset_pairs().items()}
    assert overlap(lower, each[name])
    assert lower.lower >= max(end.lower for end in each.values()) * share
    assert lower.lower <= found.upper


def test_a_report_that_gives_an_input_away():
    randomizer = sb.MatrixRandomizer([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    assert randomizer.eps0 == math.inf
    # Nobody else is sure to send the reports that tell, half of the time.
    assert sb.worst_epsilon(randomizer.blankets(), 100, 0.49)[1].lower == math.inf
    found = sb.worst_epsilon(randomizer.blankets(), 100, 0.51)[1]
    assert found.upper < 1e-6


def test_zeros_that_all_inputs_share_do_not_matter():
    rows = [[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]]
    assert sb.MatrixRandomizer(rows).eps0 == pytest.approx(math.log(3.0), rel=1e-14)
    assert len(sb.MatrixRandomizer(rows).blanket()) == 2
    assert sb.MatrixRandomizer([[0.5, 0.5], [0.5, 0.5]]).eps0 == 0.0


def test_entries_with_equal_logarithms_are_told_apart():
    low, high = 0.2111504381137186, 0.21115043811371864
    assert low < high
    assert math.log(low) == math.log(high)
    rest = [0.23028312771722534, 0.3474159960553374]
    rows = [[low, high, *rest], [high, low, *rest]]
    assert [sum(map(Fraction, row)) for row in rows] == [1, 1]
    randomizer = sb.MatrixRandomizer(rows)
    assert math.expm1(randomizer.eps0) > high / low - 1.0
    at_zero, *_ = sb.curve(randomizer, quantity="delta", n=1, eps=[0.0, 1.0]).enclosures
    assert at_zero.upper >= high - low


def test_rows_that_sum_to_one_but_for_rounding_count_as_uncertain():
    rough = sb.MatrixRandomizer([[0.7, 0.3 + 5e-10], [0.3, 0.7]])
    assert 5e-10 <= rough.blanket().rel_err < 1e-9


@pytest.mark.parametrize("missing", [1e-10, -9e-10])
def test_rows_of_ten_digits_may_be_asked_about(missing):
    """What the randomizer is taken to be covers rows as they stand, and divided by their sums."""
    rows = [[0.3 + missing, 0.7], [0.3 + missing, 0.7], [0.7, 0.3 + missing]]
    rough = sb.MatrixRandomizer(rows)
    for decomposition in (*rough.blankets().values(), *rough.dataset_pairs().values()):
        assert abs(missing) <= decomposition.rel_err < 4.0 * abs(missing)
    p, q = (Fraction(row[0]) / sum(map(Fraction, row)) for row in rows[::2])
    assert rough.eps0 >= math.log(q / p)
    found = sb.delta(rough, 0.1, 1)
    truth = float(q - Fraction(math.exp(0.1)) * p)
    assert found.lower < truth < found.upper
    assert found.relative_width < 1e-7


def test_zeros_that_tell_make_every_epsilon_too_small():
    rows = [[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.3, 0.2, 0.5, 0.0], [0.3, 0.5, 0.1, 0.1]]
    found = sb.epsilon(sb.MatrixRandomizer(rows), 100, 0.01)
    assert found == sb.Enclosure(math.inf, math.inf)


MISTAKES = [
    ([[0.5, 0.5]], "at least two rows"),
    ([0.5, 0.5], "2-dimensional array"),
    ([[], []], "2-dimensional array"),
    ([[0.5, 0.5], [1.0]], "rows of equal length"),
    ([[0.5, 0.5], ["a", 0.5]], "real numbers, got 'a'"),
    ([["0.5", "0.5"], ["0.5", "0.5"]], "real numbers, got '0.5'"),
    ([[0.5, 0.5], [None, 0.5]], "real numbers, got None"),
    (np.array([[0.5, 0.5], [0.5, 0.5]], dtype=complex), r"real numbers, got \(0.5\+0j\)"),
    ([[0.5, 0.5], [0.5 + 0.1j, 0.5]], "real numbers, got "),
    (np.eye(2, dtype=bool), "real numbers, got True"),
    (np.array([[True, Fraction(0)], [0.5, 0.5]], dtype=object), "real numbers, got True"),
    ([[0.5, 0.5], [1.5, -0.5]], "masses >= 0, got -0.5 in row 1"),
    ([[0.5, 0.5], [math.nan, 0.5]], "masses >= 0, got nan in row 1"),
    ([[0.5, 0.5], [math.inf, 0.5]], "masses >= 0, got inf in row 1"),
    ([[0.5, 0.5], [0.5, 0.4]], "rows that sum to 1, got 0.9 in row 1"),
    (np.ma.array([[0.5, 0.5], [0.3, 0.7]], mask=[[0, 0], [0, 1]]), "array without a mask"),
    ([[0.5, 0.5], np.ma.array([0.3, 0.7], mask=[0, 1])], "array without a mask"),
    ([[1.0, 1e-310], [0.5, 0.5]], "masses of 0 or >= 1e-300, got 1e-310 in row 0"),
]


@pytest.mark.parametrize(("rows", "message"), MISTAKES)
def test_mistakes_are_told_in_a_sentence(rows, message):
    with pytest.raises(ValueError, match=f"^P must .*{message}"):
        sb.MatrixRandomizer(rows)


def test_any_real_numbers_are_taken():
    half, eighth = Fraction(1, 2), Fraction(1, 8)
    exact = sb.MatrixRandomizer([[half, half], [eighth, 7 * eighth]])
    assert exact.matrix().tolist() == [[0.5, 0.5], [0.125, 0.875]]
    decimal = sb.MatrixRandomizer([[Decimal("0.5"), Decimal("0.5")], [0.125, 0.875]])
    assert (decimal.matrix() == exact.matrix()).all()
    assert sb.MatrixRandomizer(np.eye(2, dtype=int)).eps0 == math.inf


def test_no_candidates_have_no_worst():
    with pytest.raises(ValueError, match=r"^candidates must be decompositions by name"):
        sb.worst_epsilon(sb.MatrixRandomizer(np.eye(3)), 1000, 1e-6)
    with pytest.raises(ValueError, match=r"^pairs must be decompositions by name"):
        sb.best_lower_epsilon(sb.MatrixRandomizer(np.eye(3)), 1000, 1e-6)
    for ask in (sb.worst_epsilon, sb.best_lower_epsilon, sb.worst_delta, sb.best_lower_delta):
        argument = next(iter(inspect.signature(ask).parameters))
        at = {"delta": 0.1} if "epsilon" in ask.__name__ else {"eps": 0.1}
        with pytest.raises(ValueError, match=f"^{argument} must be decompositions by name"):
            ask({}, n=10, **at)
        with pytest.raises(ValueError, match=f"^{argument} must be a Decomposition"):
            ask({"": None}, n=10, **at)


def test_the_matrix_is_a_copy_that_nobody_changes():
    rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    randomizer = sb.MatrixRandomizer(rows)
    rows[0, 0] = 0.0
    assert randomizer.matrix()[0, 0] == 0.75
    with pytest.raises(ValueError, match="read-only"):
        randomizer.P[0, 0] = 1.0
