"""Closed forms against the mechanisms' own matrices, and the matrices against the definitions."""

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.linalg import hadamard

import shufflebounds as sb
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, pairs_of_channel

UNARY = [sb.BLH, sb.RAPPOR, sb.OUE]
OVER_DOMAINS = [*UNARY, sb.HadamardResponse]
EPS0 = [0.1, 1.0, 4.0]
SMALL = [
    *itertools.product([sb.BLH, sb.RAPPOR, sb.OUE], [2, 3, 4, 6]),
    *itertools.product([sb.HadamardResponse], [2, 3, 4, 6, 7, 8, 15]),
]


def components(decomposition, eps0):
    """The merged masses (a, b, c) by the ratios a : c and b : c as powers of e^{ε₀}."""
    masses = {}
    for a, b, c in zip(decomposition.a, decomposition.b, decomposition.c, strict=True):
        key = tuple(round(math.log(x / c) / eps0, 6) + 0.0 for x in (a, b))
        masses[key] = np.add(masses.get(key, 0.0), [a, b, c])
    return masses


def assert_same(actual, expected, eps0, rel=1e-13):
    actual, expected = components(actual, eps0), components(expected, eps0)
    assert actual.keys() == expected.keys()
    for key, masses in expected.items():
        np.testing.assert_allclose(actual[key], masses, rtol=rel, atol=0.0)


TELLING_NOTHING = [
    (functools.partial(sb.KRR, 2), 0.0),
    (functools.partial(sb.KRR, 256), 254 / 256),
    *((make, 0.5) for make in OVER_DOMAINS),
]


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize("make", [make for make, _ in TELLING_NOTHING])
def test_ties_are_outputs_of_equal_likelihood(make, eps0):
    randomizer = make(eps0)
    for found in (randomizer.blanket(), *randomizer.dataset_pairs().values()):
        assert found.ties.tolist() == np.isclose(found.a, found.b, rtol=1e-9).tolist()


@pytest.mark.parametrize("eps0", [1e-300, 1e-15])
@pytest.mark.parametrize(("make", "share"), TELLING_NOTHING)
def test_what_rounding_makes_equal_is_not_tied(make, share, eps0):
    """At an ε₀ that floats cannot tell from 0 only what is equal by construction is."""
    randomizer = make(eps0)
    blanket = randomizer.blanket()
    assert math.isclose(blanket.a[blanket.ties].sum(), share, rel_tol=1e-9)
    assert not any(pair.ties.any() for pair in randomizer.dataset_pairs().values())


def test_equal_likelihoods_of_any_mechanism_are_not_tied():
    """They may differ by less than a rounding unless it is known that they do not."""
    rows = sb.KRR(3, 1.0).matrix()
    assert not any(pair.ties.any() for pair in pairs_of_channel(rows).values())
    assert all(pair.ties.any() for pair in pairs_of_channel(rows, 1.0).values())


def bit_vectors(size):
    """All tuples of bits, in the order of the integers that they are the binary digits of."""
    return [digits[::-1] for digits in itertools.product((0, 1), repeat=size)]


def likelihoods(randomizer, x):
    """The probabilities of all reports on x by the mechanism's definition, for e^{ε₀} = 4.

    In the order of the matrix's columns.
    """
    e, h, size = Fraction(4), Fraction(2), randomizer.domain_size
    if isinstance(randomizer, sb.BLH):
        return [
            Fraction(1, 2**size) * (e if function[x] == z else 1) / (e + 1)
            for z, function in itertools.product((1, 0), bit_vectors(size))
        ]
    if isinstance(randomizer, sb.HadamardResponse):
        order = next(2**k for k in itertools.count() if 2**k > size)
        weights = [e if sign > 0 else Fraction(1) for sign in hadamard(order)[x + 1]]
        return [weight / sum(weights) for weight in weights]
    if isinstance(randomizer, sb.RAPPOR):
        keep_one = keep_zero = h / (h + 1)
    else:
        keep_one, keep_zero = Fraction(1, 2), e / (e + 1)
    chances = []
    for report in bit_vectors(size):
        factors = [
            (keep_one if bit else 1 - keep_one) if i == x else (1 - keep_zero if bit else keep_zero)
            for i, bit in enumerate(report)
        ]
        chances.append(math.prod(factors))
    return chances


@pytest.mark.parametrize(("kind", "size"), SMALL)
def test_matrix_is_the_definition(kind, size):
    randomizer = kind(math.log(4.0), size)
    exact = [likelihoods(randomizer, x) for x in range(size)]
    assert all(sum(row) == 1 for row in exact)
    assert max(max(column) / min(column) for column in zip(*exact, strict=True)) == 4
    matrix = randomizer.matrix()
    assert matrix.shape == (size, len(exact[0]))
    np.testing.assert_allclose(matrix, np.array(exact, dtype=float), rtol=1e-14)


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize(("kind", "size"), [*SMALL, *itertools.product([sb.KRR], [2, 3, 4, 6])])
def test_closed_forms_are_those_of_the_matrix(kind, size, eps0):
    randomizer = sb.KRR(size, eps0) if kind is sb.KRR else kind(eps0, size)
    matrix = randomizer.matrix()
    # Every pair of inputs: that all have one blanket is what makes the closed form a bound.
    blanket = randomizer.blanket()
    for x0, x1 in itertools.permutations(range(size), 2):
        brute = sb.Decomposition(matrix[x0], matrix[x1], matrix.min(axis=0))
        assert_same(blanket, brute, eps0)
    pairs = randomizer.dataset_pairs()
    others = {"x1": 1} if size == 2 else {"third": 2, "x1": 1}
    assert list(pairs) == list(others)
    for name, pair in pairs.items():
        assert_same(pair, sb.Decomposition(*matrix[[0, 1, others[name]]]), eps0)
        assert pair.c.sum() == pytest.approx(1.0, rel=1e-14)
    assert_same(randomizer.dataset_pair(), pairs[next(iter(others))], eps0)


def table_two(kind, eps0, size):
    """p, q and r at 50 digits as the paper's Table 2 has them (Hadamard response at K columns)."""
    e, h = mpmath.exp(mpmath.mpf(eps0)), mpmath.exp(mpmath.mpf(eps0) / 2)

    def power(base):
        return mpmath.mpf(0) if size is None else 1 / mpmath.mpf(base) ** (size - 1)

    p = 1 / (2 * (e + 1))
    if kind is sb.BLH:
        return p, p - power(2) / (e + 1), p + e * power(2) / (e + 1)
    if kind is sb.RAPPOR:
        p, tail = 1 / (h + 1) ** 2, power(1 + h) / (1 + h)
        return p, p / h - tail / h, h * p + h * tail
    if kind is sb.OUE:
        return p, p / e - power(1 + e) / (2 * e), e * p + power(1 + e) / 2
    columns = next(2**k for k in itertools.count() if 2**k > size) if size else mpmath.inf
    return p, p - 2 / (columns * (e + 1)), p + 2 * e / (columns * (e + 1))


@pytest.mark.parametrize("eps0", [1e-6, 1e-3, 0.1, 1.0, 4.0, 12.5, 50.0, 300.0])
@pytest.mark.parametrize("size", [2, 3, 10, 100, 1000, None])
@pytest.mark.parametrize("kind", OVER_DOMAINS)
def test_blanket_keeps_its_promise_of_accuracy(kind, size, eps0):
    with mpmath.workdps(50):
        e = mpmath.exp(mpmath.mpf(eps0))
        p, q, r = table_two(kind, eps0, size)
        exact = [(e * p, p, p), (p, e * p, p), (e * q, e * q, q), (r, r, r)]
        # Four columns leave none where both rows but not all others hold +1.
        if size == 2 or (kind is sb.HadamardResponse and size == 3):
            assert abs(q) < 1e-49 * p
            del exact[2]
        blanket = kind(eps0, size).blanket()
        entries = zip(blanket.a, blanket.b, blanket.c, strict=True)
        worst = max(
            abs(mpmath.mpf(float(got)) / want - 1)
            for component, expected in zip(entries, exact, strict=True)
            for got, want in zip(component, expected, strict=True)
        )
        assert worst <= blanket.rel_err == CLOSED_FORM_ERR


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 1.0, 4.0, 50.0, 300.0])
@pytest.mark.parametrize("kind", UNARY)
def test_dataset_pair_keeps_its_promise_of_accuracy(kind, eps0):
    # 1 − e/(e + 1) alone costs 130 digits at ε₀ = 300.
    with mpmath.workdps(200):
        e, h = mpmath.exp(mpmath.mpf(eps0)), mpmath.exp(mpmath.mpf(eps0) / 2)
        own, other = {
            sb.BLH: (e / (e + 1), mpmath.mpf(1) / 2),
            sb.RAPPOR: (h / (h + 1), 1 / (h + 1)),
            sb.OUE: (mpmath.mpf(1) / 2, 1 / (e + 1)),
        }[kind]
        exact = {}
        for bits in itertools.product((0, 1), repeat=3):
            rows = [
                mpmath.fprod(
                    chance if bit else 1 - chance
                    for bit, chance in zip(
                        bits, (own if i == x else other for i in range(3)), strict=True
                    )
                )
                for x in range(3)
            ]
            key = (bits[0] - bits[2], bits[1] - bits[2])
            exact[key] = [x + y for x, y in zip(exact.get(key, [0, 0, 0]), rows, strict=True)]
        pair = kind(eps0).dataset_pair()
        assert len(pair) == len(exact)
        for key, masses in components(pair, eps0).items():
            for got, want in zip(masses, exact[key], strict=True):
                assert abs(mpmath.mpf(float(got)) / want - 1) <= pair.rel_err < 4 * CLOSED_FORM_ERR


@pytest.mark.parametrize("kind", OVER_DOMAINS)
def test_mistakes_are_told_in_a_sentence(kind):
    for eps0 in (0.0, -1.0, math.nan, math.inf, 301.0, True, "1", None):
        with pytest.raises(ValueError, match=r"^eps0 must be .*0 < eps0 <= 300, got "):
            kind(eps0, 3)
    for size in (1, 0, -3, 2.0, math.nan, True, "3"):
        with pytest.raises(ValueError, match=r"^domain_size must be an integer >= 2, got "):
            kind(1.0, size)


@pytest.mark.parametrize("kind", OVER_DOMAINS)
def test_matrix_only_of_small_domains(kind):
    for size in (None, kind.LARGEST_MATRIX + 1):
        with pytest.raises(ValueError, match=rf"2 to {kind.LARGEST_MATRIX} .* got {size}$"):
            kind(1.0, size).matrix()
    largest = kind(1.0, kind.LARGEST_MATRIX).matrix()
    np.testing.assert_allclose(largest.sum(axis=1), 1.0, rtol=1e-13)


def test_the_matrix_of_many_values_is_not_written_out():
    with pytest.raises(ValueError, match=r"^k must be an integer from 2 to 4096, got 100000$"):
        sb.KRR(100_000, 1.0).matrix()


def test_matrix_refuses_probabilities_too_small_for_a_float():
    with pytest.raises(ValueError, match=r"^eps0 must be smaller .* got 300.0"):
        sb.RAPPOR(300.0, 6).matrix()


@pytest.mark.parametrize("size", [2, 4, None])
def test_unary_encoding_has_the_others_among_its_choices(size):
    """Bits whose chances are those of OUE, RAPPOR and BLH have their decompositions."""
    for other, noise in (
        (sb.OUE, 1 / (math.e**2 + 1)),
        (sb.RAPPOR, 1 / (math.e + 1)),
        (sb.BLH, 0.5),
    ):
        one = sb.UnaryEncoding(2.0, domain_size=size, noise=noise)
        for found, expected in (
            (one.blanket(), other(2.0, domain_size=size).blanket()),
            (one.dataset_pair(), other(2.0, domain_size=size).dataset_pair()),
        ):
            assert_same(found, expected, 2.0)
    with pytest.raises(ValueError, match="noise must be a number with 1e-100 <= noise < 1, got 1"):
        sb.UnaryEncoding(1.0, noise=1.0)
