"""dBitFlip: its columns against its matrix, and that against a direct sum."""

import itertools
import math

import numpy as np
import pytest
import shuffles

import shufflebounds as sb

SIZES = [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (5, 2), (6, 3), (6, 6)]


def direct(k, d, eps0):
    """R(x)(set, bits) as a loop over users' coins."""
    flip = 1.0 / (math.exp(eps0 / 2) + 1.0)
    rows = []
    for x in range(k):
        row = []
        for drawn in itertools.combinations(range(k), d):
            for bits in itertools.product((0, 1), repeat=d):
                agrees = (bit == (v == x) for v, bit in zip(drawn, bits, strict=True))
                row.append(math.prod(1 - flip if same else flip for same in agrees))
        rows.append(np.array(row) / math.comb(k, d))
    return np.array(rows)


@pytest.mark.parametrize(("k", "d"), SIZES)
def test_the_matrix(k, d):
    np.testing.assert_allclose(sb.DBitFlip(1.5, k, d).matrix(), direct(k, d, 1.5), rtol=1e-12)


@pytest.mark.parametrize(("k", "d"), SIZES)
@pytest.mark.parametrize("n", [1000, 10_000])
def test_it_has_the_bounds_of_its_matrix(k, d, n):
    mechanism = sb.DBitFlip(2.0, k, d)
    found = sb.epsilon(mechanism, n=n, delta=1e-6)
    expected = sb.epsilon(sb.MatrixRandomizer(direct(k, d, 2.0)), n=n, delta=1e-6)
    assert found.lower == pytest.approx(expected.lower, rel=1e-6)
    assert found.upper == pytest.approx(expected.upper, rel=1e-6)
    blanket = sb.epsilon(mechanism.blanket(), n=n, delta=1e-6)
    blankets = sb.MatrixRandomizer(direct(k, d, 2.0)).blankets()
    _, known = sb.worst_epsilon(blankets, n=n, delta=1e-6)
    assert blanket.upper == pytest.approx(known.upper, rel=1e-6)


@pytest.mark.parametrize(("k", "d"), [(2, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("eps", [0.1, 0.5])
def test_all_datasets_of_three_users(k, d, eps):
    datasets = shuffles.all_datasets(direct(k, d, 2.0), 3)
    _, exact = shuffles.largest(datasets.values(), eps)
    assert float(exact) <= sb.delta(sb.DBitFlip(2.0, k, d), eps=eps, n=3).upper * (1 + 1e-12)


@pytest.mark.parametrize(
    ("k", "lower", "upper"), [(27, 0.0087182, 0.0087206), (1024, 0.0012717, 0.0012728)]
)
def test_many_buckets(k, lower, upper):
    """Where kinds of rows of the matrix were counted by another program."""
    found = sb.epsilon(sb.DBitFlip(2.0, k), n=10_000, delta=1e-6)
    assert lower <= found.lower <= found.upper <= upper


def test_all_buckets_are_rappor():
    for k in (6, 40):
        found, known = (
            sb.epsilon(x, n=1000, delta=1e-6) for x in (sb.DBitFlip(2.0, k, k), sb.RAPPOR(2.0, k))
        )
        assert found.upper == pytest.approx(known.upper, rel=1e-6)


def test_huge_numbers_of_buckets():
    found = sb.epsilon(sb.DBitFlip(2.0, 10**12, 10**9), n=10**6, delta=1e-6)
    assert 0.0 <= found.lower <= found.upper < 1e-4


def test_parts_of_a_joint():
    """Two linked reports, against the product of the matrices."""
    parts = [sb.DBitFlip(1.0, 3, 1), sb.DBitFlip(0.5, 3, 2)]
    found = sb.epsilon(sb.Joint(parts), n=2000, delta=1e-6)
    rows = np.kron(*(part.matrix() for part in parts))
    expected = sb.epsilon(sb.MatrixRandomizer(rows), n=2000, delta=1e-6)
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.DBitFlip(1.0, 1), "domain_size must be an integer from 2"),
        (lambda: sb.DBitFlip(1.0, 4, 5), "d must be an integer from 1 to 4, got 5"),
        (lambda: sb.DBitFlip(1.0, 100, 50).matrix(), "domain_size must leave at most"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()
