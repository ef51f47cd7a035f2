"""The crowds of matrices: every triple of inputs is listed, and symmetries only save time."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from engines import overlap
from enumeration import precise_exp, truth
from strategies import FUZZ

import shufflebounds as sb
from shufflebounds.core.datasets import both_directions
from shufflebounds.divergence.supremum import supremum
from shufflebounds.randomizers import kinds
from shufflebounds.randomizers import matrix_pairs as matrix_module

# Two pairs of inputs have the same a, b and c in another order, but other third inputs.
TRAP = np.array([[1, 2, 6, 1], [6, 1, 1, 2], [1, 6, 2, 1], [1, 1, 2, 6]]) / 10.0


def one_bit_of_many(values, eps0):
    """A user reports one bit of its one-hot code, randomly chosen and flipped (dBitFlip, d = 1)."""
    p = math.exp(eps0 / 2.0) / (1.0 + math.exp(eps0 / 2.0))
    ones = np.where(np.eye(values) > 0.0, p, 1.0 - p)
    return np.hstack([ones, 1.0 - ones]) / values


def hadamard_rows(order, eps0):
    """A user reports one entry of its row of the Sylvester matrix, randomly chosen and flipped."""
    places = np.arange(order)
    is_plus = np.bitwise_count(places[:, None] & places) % 2 == 0
    p = math.exp(eps0) / (1.0 + math.exp(eps0))
    ones = np.where(is_plus, p, 1.0 - p)
    return np.hstack([ones, 1.0 - ones]) / order


def bloom(bits, p, q):
    """A user reports the noisy bits of one or two hash values."""
    rows = []
    for members in itertools.combinations_with_replacement(range(bits), 2):
        row = np.ones(1)
        for bit in range(bits):
            one = p if bit in members else q
            row = np.concatenate([row * (1.0 - one), row * one])
        rows.append(row)
    return np.array(rows)


def structured(rng):
    """A small matrix of integers: of few values, circulant, with a sum of two groups, or blocks."""
    inputs, outputs, kind = rng.integers(2, 7), rng.integers(2, 7), rng.integers(5)
    place = np.arange(inputs)
    if kind == 0:
        return rng.integers(1, 4, (inputs, outputs))
    if kind == 1:
        return np.hstack(
            [rng.integers(1, 5, inputs)[(place - place[:, None]) % inputs] for _ in range(2)]
        )
    if kind == 2:
        bits = np.arange(2 ** rng.integers(1, 4))
        return rng.integers(0, 3, bits.size)[bits ^ bits[:, None]] + (bits == 0)
    if kind == 3:
        group = place % 2 == place[:, None] % 2
        return np.where(group, 1 + rng.integers(2), 3) + 2 * (place == place[:, None])
    return np.ones((4, 6), dtype=int) + np.eye(4, 6, dtype=int) * rng.integers(0, 3, 6)


def probabilities(rng):
    """A structured matrix, its rows divided by their sums."""
    weights = structured(rng)
    weights[weights.sum(axis=1) == 0] += 1
    return weights / weights.sum(axis=1, keepdims=True)


def signature(a, b, c, law):
    """How often which ratios come together: masses by their rounded quadruples."""
    masses = Counter()
    for row in zip(a, b, c, law, strict=True):
        total = math.fsum(row)
        if total > 0.0:
            masses[tuple(round(x / total, 9) for x in row)] += total
    return frozenset((ratio, round(mass, 9)) for ratio, mass in masses.items())


def listed_signatures(crowds):
    """The signatures of all triples that crowds list."""
    return {
        signature(*(other.pieces(x) for x in (crowd.a, crowd.b, crowd.c)), other.law)
        for crowd in both_directions(crowds)
        for other in crowd.others.values()
    }


def all_signatures(matrix):
    """The signatures of all triples of inputs, the victim's two being different."""
    sure = matrix.min(axis=0)
    return {
        signature(matrix[x0], matrix[x1], sure, row)
        for x0, x1 in itertools.permutations(range(len(matrix)), 2)
        if not np.allclose(matrix[x0], matrix[x1], rtol=1e-12, atol=0.0)
        for row in matrix
    }


def matrices(count):
    rng = np.random.default_rng(5)
    yield TRAP
    for _ in range(count * FUZZ):
        yield probabilities(rng)


def test_every_triple_of_inputs_is_listed_and_no_other():
    for matrix in matrices(150):
        crowds = sb.MatrixRandomizer(matrix).crowds()
        listed = listed_signatures(crowds)
        # A symmetric crowd has one order only, whose kinds are those of both.
        both = listed | {
            signature(*(other.pieces(x) for x in (crowd.b, crowd.a, crowd.c)), other.law)
            for crowd in crowds
            for other in crowd.others.values()
        }
        truth_ = all_signatures(matrix)
        assert truth_ <= both
        assert listed <= truth_


def test_no_dataset_exceeds_the_crowds():
    rng = np.random.default_rng(8)
    for _ in range(12 * FUZZ):
        matrix = probabilities(rng)[:4]
        matrix = matrix[:, matrix.any(axis=0)]
        randomizer = sb.MatrixRandomizer(matrix)
        n, eps = int(rng.integers(2, 5)), float(rng.uniform(0.0, 1.0))
        rows = [[Fraction(x) for x in row] for row in matrix.tolist()]
        rows = [[x / sum(row) for x in row] for row in rows]
        exp_eps = precise_exp(eps)
        worst = max(
            truth(rows[x0], rows[x1], [rows[x] for x in held], exp_eps)
            for x0, x1 in itertools.permutations(range(len(rows)), 2)
            for held in itertools.combinations_with_replacement(range(len(rows)), n - 1)
        )
        above = [supremum(x, eps, n) for x in both_directions(randomizer.crowds())]
        assert float(worst) <= max(above, default=0.0) * (1.0 + 1e-12)


def with_noise(matrix, noise, seed=3):
    """Multiply the entries by 1 ± noise, and round a whole number of decimals instead."""
    if isinstance(noise, int):
        return np.round(matrix, noise)
    factors = np.random.default_rng(seed).uniform(-1.0, 1.0, matrix.shape)
    noisy = matrix * (1.0 + noise * factors)
    return noisy / noisy.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "matrix",
    [one_bit_of_many(27, 2.0), hadamard_rows(32, 2.0), bloom(5, 0.75, 0.25)],
    ids=["one bit", "Hadamard", "Bloom"],
)
def test_noise_in_the_entries_keeps_the_kinds(matrix):
    exact = sb.MatrixRandomizer(matrix)
    for noise in (1e-13, 1e-11, 12, 9):
        rows = with_noise(matrix, noise)
        if abs(rows.sum(axis=1) - 1.0).max() > 1e-9:
            continue
        noisy = sb.MatrixRandomizer(rows)
        assert len(noisy.crowds()) == len(exact.crowds())
        for n in (10_000, 10**6):
            ends, exact_ends = (sb.epsilon(x, n, 1e-6) for x in (noisy, exact))
            assert ends.upper == pytest.approx(exact_ends.upper, rel=1e-5)
            assert ends.lower == pytest.approx(exact_ends.lower, rel=1e-5)


def test_no_dataset_of_a_noisy_matrix_exceeds_its_crowds(monkeypatch):
    """Entries within 4·10⁻¹⁰ count as equal, and so do some rows."""
    monkeypatch.setattr(matrix_module, "_NOISE_GAP", 4e-10)
    monkeypatch.setattr(matrix_module, "_MAX_KINDS_OF_EXACT_ENTRIES", 0)
    rng = np.random.default_rng(9)
    for _ in range(12 * FUZZ):
        matrix = probabilities(rng)[:3]
        matrix = np.concatenate([matrix, matrix[:1]])[:, matrix.any(axis=0)]
        noisy = with_noise(matrix, 1e-10, rng)
        randomizer = sb.MatrixRandomizer(noisy)
        n, eps = int(rng.integers(2, 5)), float(rng.choice([0.0, 1e-10, 0.3]))
        rows = [[Fraction(x) for x in row] for row in noisy.tolist()]
        rows = [[x / sum(row) for x in row] for row in rows]
        worst = max(
            truth(rows[x0], rows[x1], [rows[x] for x in held], precise_exp(eps))
            for x0, x1 in itertools.permutations(range(len(rows)), 2)
            for held in itertools.combinations_with_replacement(range(len(rows)), n - 1)
        )
        crowds = randomizer.crowds()
        assert max(crowd.rel_err for crowd in crowds) > 1e-11
        assert float(worst) <= max(supremum(x, eps, n) for x in both_directions(crowds))
        answer = sb.delta(randomizer, eps, n)
        assert answer.lower <= float(worst) <= answer.upper


def test_different_rows_of_equal_labels_have_a_crowd():
    """A pair of inputs that noise alone tells apart is not left out."""
    rows = np.repeat(one_bit_of_many(12, 1.0), 2, axis=0)
    exact = sb.MatrixRandomizer(rows)
    assert len(exact.crowds()) == 1
    differing, near = sb.MatrixRandomizer(with_noise(rows, 1e-11)).crowds()
    if (differing.a == differing.b).all():
        differing, near = near, differing
    assert (near.a == near.b).all()
    assert (differing.a != differing.b).any()
    assert supremum(near, 0.0, 100) > 1e-12
    assert supremum(near, 1e-9, 100) < 1e-10


def test_entries_further_apart_stay_different():
    rows = with_noise(hadamard_rows(32, 2.0), 3e-9)
    assert sb.MatrixRandomizer(rows).crowds()[0].rel_err < 1e-12


def test_one_pair_does_not_have_the_third_inputs_of_another():
    """With the third inputs of one pair of each kind, the bound would be 0.0705."""
    answer = sb.epsilon(sb.MatrixRandomizer(TRAP), 10_000, 1e-6)
    assert 0.08062 < answer.lower < answer.upper < 0.08066
    # Independently: the largest of all triples, each of which two datasets attain.
    attained = sb.best_lower_epsilon(
        {
            f"{x0} {x1} {x}": sb.Decomposition(TRAP[x0], TRAP[x1], TRAP[x])
            for x0, x1, x in itertools.product(range(4), repeat=3)
            if x0 != x1
        },
        10_000,
        1e-6,
    )[1]
    assert overlap(answer, attained)


@pytest.mark.parametrize("change", ["symmetries", "products"])
def test_symmetries_and_products_only_save_time(change, monkeypatch):
    cases = [*matrices(40), one_bit_of_many(12, 1.0), hadamard_rows(8, 1.0), bloom(3, 0.7, 0.2)]
    quick = [listed_signatures(sb.MatrixRandomizer(matrix).crowds()) for matrix in cases]
    if change == "symmetries":
        monkeypatch.setattr(kinds, "_symmetries", lambda labels: iter(()))
    else:
        monkeypatch.setattr(kinds, "_WORK_PER_SORTED_NUMBER", 0.0)
    for matrix, signatures in zip(cases, quick, strict=True):
        assert listed_signatures(sb.MatrixRandomizer(matrix).crowds()) == signatures


def test_symmetries_permute_the_columns():
    rng = np.random.default_rng(3)
    count = 0
    for matrix in (probabilities(rng) for _ in range(100)):
        labels = np.unique(matrix, return_inverse=True)[1].reshape(matrix.shape)
        for permutation in kinds._symmetries(labels):
            count += 1
            columns, permuted = (
                Counter(map(tuple, x.T.tolist())) for x in (matrix, matrix[permutation])
            )
            assert columns == permuted
    assert count > 50


def test_digits_identify_counts_exactly():
    rng = np.random.default_rng(4)
    for _ in range(50):
        sizes = rng.integers(1, 10 ** rng.integers(1, 6), size=rng.integers(1, 20))
        place_values = kinds._place_values(sizes)
        for row in place_values:
            used = np.flatnonzero(row)
            place_value = 1
            for i in used.tolist():
                assert row[i] == place_value
                place_value *= int(sizes[i]) + 1
            assert place_value <= 2**53
        assert (np.count_nonzero(place_values, axis=0) == 1).all()


@pytest.mark.parametrize(
    ("matrix", "mechanism"),
    [
        (sb.OUE(2.0, domain_size=10).matrix(), sb.OUE(2.0)),
        (sb.KRR(200, 2.0).matrix(), sb.KRR(200, 2.0)),
        (hadamard_rows(64, 2.0), sb.BLH(2.0)),
        (hadamard_rows(512, 2.0), sb.BLH(2.0)),
    ],
    ids=["OUE", "KRR", "64 rows", "512 rows"],
)
def test_a_matrix_has_the_bounds_of_its_mechanism(matrix, mechanism):
    """Rows of Hadamard matrices agree in half of the reports, and so do three of them: as BLH."""
    for n, delta in ((1000, 1e-4), (10_000, 1e-6)):
        answer = sb.epsilon(sb.MatrixRandomizer(matrix), n, delta)
        declared = sb.epsilon(mechanism, n, delta)
        assert overlap(answer, declared)
        assert answer.upper <= answer.lower * 1.001


@pytest.mark.parametrize("values", [27, 128, 512])
def test_one_bit_of_many_values_is_within_a_per_cent(values):
    """Reports of further values' bits are alike, so that three inputs have eight outputs."""
    answer = sb.epsilon(sb.MatrixRandomizer(one_bit_of_many(values, 2.0)), 10_000, 1e-6)
    p = math.exp(1.0) / (1.0 + math.exp(1.0))
    own = np.where(np.eye(3) > 0.0, p, 1.0 - p)
    alike = np.tile([p, 1.0 - p], (3, 1)) * (values - 3)
    rows = np.hstack([own, 1.0 - own, alike]) / values
    pairs = {str(x): sb.Decomposition(rows[0], rows[1], rows[x]) for x in range(3)}
    lower = sb.best_lower_epsilon(pairs, 10_000, 1e-6)[1]
    assert overlap(answer, lower)
    assert lower.lower <= answer.upper <= lower.upper * 1.001


def test_filters_of_eight_bits_are_within_a_per_cent():
    answer = sb.epsilon(sb.MatrixRandomizer(bloom(8, 0.75, 0.25)), 10_000, 1e-6)
    # Two disjoint pairs of bits, and a third: the worst of 6 bits is that of 8.
    few = sb.epsilon(sb.MatrixRandomizer(bloom(6, 0.75, 0.25)), 10_000, 1e-6)
    assert overlap(answer, few)
    assert answer.upper <= answer.lower * 1.001


def test_rounds_of_a_large_matrix_use_its_crowds():
    randomizer = sb.MatrixRandomizer(hadamard_rows(64, 2.0))
    answer = sb.epsilon(randomizer, 10_000, 1e-6, rounds=10)
    declared = sb.epsilon(sb.BLH(2.0), 10_000, 1e-6, rounds=10)
    assert answer.upper == pytest.approx(declared.upper, rel=1e-3)
    assert answer.lower == pytest.approx(declared.lower, rel=1e-3)


def test_a_joint_of_large_matrices_is_that_of_their_mechanism():
    """Inputs are alike if counting shows it, however many there are; not if two rows agree."""
    rows = hadamard_rows(256, 2.0)
    answer = sb.epsilon(sb.Joint([sb.MatrixRandomizer(rows)] * 2), 10_000, 1e-6)
    assert overlap(answer, sb.epsilon(sb.Joint([sb.BLH(2.0)] * 2), 10_000, 1e-6))
    assert answer.upper <= answer.lower * 1.001
    assert sb.MatrixRandomizer(rows).composable
    assert not sb.MatrixRandomizer(rows[[0, 0, 1, 2]]).composable
    assert not sb.MatrixRandomizer(TRAP).composable


def test_equal_rows_have_no_crowds():
    assert sb.MatrixRandomizer(np.full((5, 4), 0.25)).crowds() == ()
